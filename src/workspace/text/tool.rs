//! How a tool call is shown: its headline, and the form of its input. The names are those that agents use; a tool that
//! is not known is shown by its own name, its main argument and its input as JSON.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::LARGE_INPUT_BYTES;
use super::diff::Diff;
use super::indent::{Encoded, indent};
use super::lines::{LongText, one_line, visible};

/// Characters of a headline's subject; the rest is in the input below it.
const SUBJECT_CHARS: usize = 200;
/// Edits of one call that are compared.
const MAX_EDITS: usize = 200;
const MAX_ITEMS: usize = 500;
/// Lists and objects in a huge input that are small enough to be made values of.
const SMALL_FIELD_BYTES: usize = 64 * 1024;

/// A tool call, ready to be drawn.
#[derive(Clone, Debug, Default)]
pub struct ToolText {
    /// What was done: `edit`, `exec`, `read`, or the tool's own name.
    pub verb: String,
    /// To what: a path, a command, a pattern. One line.
    pub subject: String,
    /// What else there is to say in few words: `lines 1–40`, `in src`.
    pub note: String,
    pub form: Form,
}

/// How the input is shown below the headline.
#[derive(Clone, Debug, Default)]
pub enum Form {
    /// The headline says it all.
    #[default]
    Nothing,
    Diff(Diff),
    /// A command, a file's content, a plan: as it is.
    Text(LongText),
    /// JSON, indented.
    Json(LongText),
}

impl Form {
    pub fn bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Diff(diff) => diff.bytes(),
            Self::Text(text) | Self::Json(text) => text.bytes(),
        }
    }
}

/// What a tool does, as far as its name says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Exec,
    Edit,
    Write,
    Read,
    Search,
    Fetch,
    SearchWeb,
    Delegate,
    List,
    Ask,
    Plan,
    Patch,
    /// One tool for several things; its `command` says which.
    Editor,
    Unknown,
}

fn does(name: &str) -> Does {
    // `mcp__server__tool` and `functions.exec` are named by their last part.
    let last = name.rsplit("__").next().and_then(|name| name.rsplit('.').next()).unwrap_or(name);
    let plain: String = last.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    match plain.as_str() {
        "bash" | "shell" | "exec" | "execute" | "execcommand" | "executecommand" | "runcommand" | "runterminalcmd"
        | "runshellcommand" | "localshell" | "localshellcall" | "shellcommand" | "terminal" | "powershell" => {
            Does::Exec
        }
        "edit" | "multiedit" | "editfile" | "strreplace" | "replace" | "searchreplace" | "notebookedit"
        | "replaceinfile" => Does::Edit,
        "strreplaceeditor" | "strreplacebasededittool" | "editor" => Does::Editor,
        "write" | "writefile" | "createfile" | "create" | "writetofile" | "savefile" => Does::Write,
        "read" | "readfile" | "view" | "viewfile" | "cat" | "openfile" | "readmanyfiles" | "notebookread" => Does::Read,
        "grep" | "glob" | "search" | "rg" | "find" | "searchfiles" | "grepsearch" | "filesearch" | "codebasesearch"
        | "ls" | "listdir" | "listfiles" | "listdirectory" | "searchfilecontent" => Does::Search,
        "webfetch" | "fetch" | "fetchurl" | "browse" => Does::Fetch,
        "websearch" | "googlewebsearch" => Does::SearchWeb,
        "task" | "agent" | "subagent" | "spawnagent" | "delegate" => Does::Delegate,
        "todowrite" | "todo" | "updateplan" | "tasklist" | "writetodos" => Does::List,
        "askuserquestion" | "askuser" | "ask" => Does::Ask,
        "exitplanmode" | "plan" => Does::Plan,
        "applypatch" | "patch" => Does::Patch,
        _ => Does::Unknown,
    }
}

impl ToolText {
    /// How a call of `name` with `input` (JSON) is shown.
    pub fn new(name: &str, input: &str) -> Self {
        if input.len() > LARGE_INPUT_BYTES
            && let Some(tool) = Self::of_large(name, input)
        {
            return tool;
        }
        match serde_json::from_str::<Value>(input) {
            Ok(Value::Object(fields)) => Self::of_object(name, &fields),
            Ok(Value::String(text)) => match does(name) {
                Does::Patch => Self::patch(&text),
                Does::Exec => Self::command(&text, ""),
                _ => Self::of_text(name, text),
            },
            Ok(Value::Null) => Self { verb: shown_name(name), ..Self::default() },
            Ok(value) => Self { verb: shown_name(name), form: pretty(&value), ..Self::default() },
            // Not JSON, or deeper than is sane to lay out: as it is.
            Err(_) => Self::of_text(name, input.to_owned()),
        }
    }

    /// The same for a huge input: no value is made of what is in its lists and objects. `None` where it is no object.
    fn of_large(name: &str, input: &str) -> Option<Self> {
        let raw: BTreeMap<String, &RawValue> = serde_json::from_str(input).ok()?;
        let shallow = |raw: &RawValue| {
            let is_plain = !raw.get().starts_with(['{', '[']) || raw.get().len() < SMALL_FIELD_BYTES;
            is_plain.then(|| serde_json::from_str(raw.get()).ok()).flatten().unwrap_or(Value::Null)
        };
        let fields: Map<String, Value> = raw.into_iter().map(|(key, raw)| (key, shallow(raw))).collect();
        let tool = Self::of_object(name, &fields);
        drop(fields);
        Some(match tool.form {
            // Here the fields that were left out are missed.
            Form::Json(_) | Form::Nothing => match indent(input, Encoded::Named) {
                Some(text) => Self { form: Form::Json(LongText::new(text)), ..tool },
                None => Self { form: Form::Text(LongText::new(input)), ..tool },
            },
            _ => tool,
        })
    }

    /// A change of a file that is recorded as a patch.
    pub fn file_change(path: &str, patch: &str) -> Self {
        let diff = Diff::of_patch(patch);
        let (added, removed) = diff.counts();
        let note = format!("+{added} −{removed}");
        Self::with("file change", path, &note, Form::Diff(diff))
    }

    /// Memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.verb.len() + self.subject.len() + self.note.len() + self.form.bytes()
    }

    fn of_text(name: &str, text: String) -> Self {
        let subject = one_line(&text, SUBJECT_CHARS);
        let form = if subject == text { Form::Nothing } else { Form::Text(LongText::new(text)) };
        Self { verb: shown_name(name), subject, note: String::new(), form }
    }

    fn of_object(name: &str, fields: &Map<String, Value>) -> Self {
        let path =
            || first(fields, &["file_path", "path", "notebook_path", "filePath", "target_file", "filename", "file"]);
        let does = match does(name) {
            Does::Editor => match string(fields, "command") {
                Some("view") => Does::Read,
                Some("create") => Does::Write,
                Some("str_replace" | "insert") => Does::Edit,
                _ => Does::Unknown,
            },
            other => other,
        };
        match does {
            Does::Exec => match command(fields) {
                Some(text) => Self::command(&text, string(fields, "description").unwrap_or_default()),
                None => Self::unknown(name, fields),
            },
            Does::Edit => match (path(), edits(fields)) {
                (Some(path), Some(diff)) => Self {
                    verb: "edit".into(),
                    subject: one_line(path, SUBJECT_CHARS),
                    note: if flag(fields, "replace_all") { "every occurrence".into() } else { String::new() },
                    form: Form::Diff(diff),
                },
                _ => Self::unknown(name, fields),
            },
            Does::Write => match (path(), first(fields, &["content", "file_text", "contents", "text", "code"])) {
                (Some(path), Some(content)) => Self::with(
                    "write",
                    path,
                    if content.is_empty() { "an empty file" } else { "" },
                    Form::Text(LongText::new(content)),
                ),
                _ => Self::unknown(name, fields),
            },
            Does::Read => match path() {
                Some(path) => Self::with("read", path, &range(fields), Form::Nothing),
                None => Self::unknown(name, fields),
            },
            Does::Search => Self::search(name, fields),
            Does::Fetch => match first(fields, &["url", "uri"]) {
                Some(url) => Self::with("fetch", url, string(fields, "prompt").unwrap_or_default(), Form::Nothing),
                None => Self::unknown(name, fields),
            },
            Does::SearchWeb => match first(fields, &["query", "q", "search_term"]) {
                Some(query) => Self::with("search the web", query, "", Form::Nothing),
                None => Self::unknown(name, fields),
            },
            Does::Delegate => Self::delegate(name, fields),
            Does::List => Self::list(name, fields),
            Does::Ask => match first_question(fields) {
                Some(question) => Self::with("ask", question, "", Form::Nothing),
                None => Self::unknown(name, fields),
            },
            Does::Plan => match string(fields, "plan") {
                Some(plan) => Self::with("plan", plan, "", Form::Text(LongText::new(plan))),
                None => Self::unknown(name, fields),
            },
            Does::Patch => match first(fields, &["patch", "input", "diff"]) {
                Some(patch) => Self::patch(patch),
                None => Self::unknown(name, fields),
            },
            Does::Editor | Does::Unknown => Self::unknown(name, fields),
        }
    }

    fn with(verb: &str, subject: &str, note: &str, form: Form) -> Self {
        Self { verb: verb.into(), subject: one_line(subject, SUBJECT_CHARS), note: one_line(note, 80), form }
    }

    fn command(text: &str, description: &str) -> Self {
        let subject = one_line(text, SUBJECT_CHARS);
        let form = if subject == text.trim() { Form::Nothing } else { Form::Text(LongText::new(text)) };
        Self { verb: "exec".into(), subject, note: one_line(description, 80), form }
    }

    fn search(name: &str, fields: &Map<String, Value>) -> Self {
        let pattern = first(fields, &["pattern", "query", "regex", "glob", "search_term"]);
        let place = first(fields, &["path", "dir_path", "directory", "target_directories", "include"]);
        match (pattern, place) {
            (Some(pattern), place) => {
                let note =
                    place.filter(|place| !place.is_empty()).map(|place| format!("in {place}")).unwrap_or_default();
                Self::with("search", pattern, &note, Form::Nothing)
            }
            (None, Some(place)) => Self::with("list", place, "", Form::Nothing),
            (None, None) => Self::unknown(name, fields),
        }
    }

    fn delegate(name: &str, fields: &Map<String, Value>) -> Self {
        let task = first(fields, &["description", "task", "name", "prompt", "message"]);
        let Some(task) = task else { return Self::unknown(name, fields) };
        let form = match first(fields, &["prompt", "message", "task"]) {
            Some(prompt) if one_line(prompt, SUBJECT_CHARS) != task => Form::Text(LongText::new(prompt)),
            _ => Form::Nothing,
        };
        Self::with("delegate", task, first(fields, &["subagent_type", "agent_type"]).unwrap_or_default(), form)
    }

    fn list(name: &str, fields: &Map<String, Value>) -> Self {
        let items = ["todos", "plan", "items", "tasks"].iter().find_map(|key| fields.get(*key)?.as_array());
        let Some(items) = items else { return Self::unknown(name, fields) };
        let mut text = String::new();
        let mut done = 0;
        for item in items.iter().take(MAX_ITEMS) {
            let state = item.get("status").and_then(Value::as_str).unwrap_or_default();
            let mark = match state {
                "completed" | "done" => "[x]",
                "in_progress" => "[>]",
                _ => "[ ]",
            };
            done += usize::from(mark == "[x]");
            let what =
                ["content", "step", "description", "title", "text"].iter().find_map(|key| item.get(*key)?.as_str());
            text.push_str(&format!("{mark} {}\n", one_line(what.unwrap_or_default(), SUBJECT_CHARS)));
        }
        let subject = format!("{done} of {} done", items.len());
        Self { verb: "task list".into(), subject, note: String::new(), form: Form::Text(LongText::new(text)) }
    }

    fn patch(patch: &str) -> Self {
        let files: Vec<&str> = (patch.lines())
            .filter_map(|line| {
                let starts = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/"];
                starts.iter().find_map(|start| line.strip_prefix(start))
            })
            .take(MAX_ITEMS)
            .collect();
        let note = if files.len() > 1 { format!("and {} more", files.len() - 1) } else { String::new() };
        Self::with("edit", files.first().unwrap_or(&"by patch"), &note, Form::Diff(Diff::of_patch(patch)))
    }

    fn unknown(name: &str, fields: &Map<String, Value>) -> Self {
        let known = [
            "command",
            "file_path",
            "path",
            "query",
            "pattern",
            "url",
            "subject",
            "title",
            "name",
            "description",
            "prompt",
            "message",
            "text",
            "id",
            "taskId",
            "task_id",
            "skill",
        ];
        let main = first(fields, &known).or_else(|| fields.values().find_map(Value::as_str)).unwrap_or_default();
        let subject = one_line(main, SUBJECT_CHARS);
        let all_said = fields.is_empty() || (fields.len() == 1 && subject == main && !main.is_empty());
        let form = if all_said { Form::Nothing } else { pretty(&Value::Object(fields.clone())) };
        Self { verb: shown_name(name), subject, note: String::new(), form }
    }
}

/// A tool's own name, as a headline begins: `mcp__github__search` reads `github search`.
fn shown_name(name: &str) -> String {
    let name = name.strip_prefix("mcp__").map_or_else(|| name.to_owned(), |rest| rest.replace("__", " "));
    let name = one_line(&name, 60);
    if name.is_empty() { "tool".into() } else { name }
}

fn string<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    fields.get(key)?.as_str()
}

fn first<'a>(fields: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| string(fields, key))
}

fn flag(fields: &Map<String, Value>, key: &str) -> bool {
    fields.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The command line: a string, or a list of words of which the last is the script when a shell is called.
fn command(fields: &Map<String, Value>) -> Option<String> {
    let value = ["command", "cmd", "script"].iter().find_map(|key| fields.get(*key))?;
    let words = match value {
        Value::String(text) => return Some(text.clone()),
        Value::Array(words) => words.iter().map(Value::as_str).collect::<Option<Vec<&str>>>()?,
        _ => return None,
    };
    match words.as_slice() {
        ["bash" | "sh" | "/bin/bash" | "/bin/sh" | "zsh", "-c" | "-lc", script] => Some((*script).to_owned()),
        words => Some(words.join(" ")),
    }
}

fn edits(fields: &Map<String, Value>) -> Option<Diff> {
    const OLD: [&str; 5] = ["old_string", "old_str", "oldText", "old_text", "search"];
    const NEW: [&str; 6] = ["new_string", "new_str", "newText", "new_text", "replace", "new_source"];
    if let Some(Value::Array(edits)) = fields.get("edits") {
        let pair = |edit: &'_ Value| {
            let fields = edit.as_object()?;
            Some((first(fields, &OLD).unwrap_or_default().to_owned(), first(fields, &NEW)?.to_owned()))
        };
        let pairs: Vec<(String, String)> = edits.iter().take(MAX_EDITS).filter_map(pair).collect();
        return Some(Diff::of_edits(pairs.iter().map(|(old, new)| (old.as_str(), new.as_str()))));
    }
    let (old, new) = (first(fields, &OLD), first(fields, &NEW).or_else(|| first(fields, &["insert_text"])));
    if old.is_none() && new.is_none() {
        return None;
    }
    Some(Diff::of_edits([(old.unwrap_or_default(), new.unwrap_or_default())]))
}

/// Which lines are read, where not all are.
fn range(fields: &Map<String, Value>) -> String {
    let number = |key: &str| fields.get(key).and_then(Value::as_u64);
    if let Some(Value::Array(range)) = fields.get("view_range")
        && let [Some(from), Some(to)] = [range.first().and_then(Value::as_i64), range.get(1).and_then(Value::as_i64)]
    {
        return if to < 0 { format!("from line {from}") } else { format!("lines {from}–{to}") };
    }
    match (number("offset"), number("limit")) {
        (Some(from), Some(count)) => format!("lines {from}–{}", from.saturating_add(count).saturating_sub(1)),
        (Some(from), None) => format!("from line {from}"),
        (None, Some(count)) => format!("first {count} lines"),
        (None, None) => String::new(),
    }
}

fn first_question(fields: &Map<String, Value>) -> Option<&str> {
    let questions = fields.get("questions").and_then(Value::as_array);
    let listed = questions.and_then(|questions| questions.first()?.get("question")?.as_str());
    listed.or_else(|| string(fields, "question"))
}

fn pretty(value: &Value) -> Form {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Form::Json(LongText::new(text)),
        Err(_) => Form::Text(LongText::new(visible(&value.to_string()).into_owned())),
    }
}

#[cfg(test)]
#[path = "tool_tests.rs"]
mod tests;
