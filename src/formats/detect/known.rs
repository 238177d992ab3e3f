//! Files that cannot be opened yet, or are no sessions at all, by name: a person who opens one is told what it is.
//!
//! A format that gets a reader of its own loses its entry here.

use std::path::Path;

use serde_json::Value;

use super::{Sample, Shape, agents, strangers, systems};
use crate::formats::Format;

/// A kind of file that is known by name only.
#[derive(Debug)]
pub(super) struct Known {
    /// As a sentence names it: `a Codex rollout`.
    pub what: &'static str,
    /// What to do instead, where that is more than to wait for a version that can open it.
    advice: Option<&'static str>,
    rule: Rule,
}

/// How a kind of file gets its points.
#[derive(Debug)]
enum Rule {
    /// By each record; the points add up.
    Record(fn(&Value) -> u32),
    /// By the one document of the file: 10 points.
    Document(fn(&Value) -> bool),
    /// By the elements of the file's one array: 10 points when the first is one of its own.
    Element(fn(&Value) -> bool),
    /// By the sample as a whole.
    Sample(fn(&Sample) -> u32),
}

use Rule::{Document, Element, Record, Sample as Whole};

impl Known {
    const fn format(what: &'static str, rule: Rule) -> Self {
        Self { what, advice: None, rule }
    }

    const fn other(what: &'static str, advice: &'static str, rule: Rule) -> Self {
        Self { what, advice: Some(advice), rule }
    }

    pub fn points(&self, sample: &Sample) -> u32 {
        let ten = |yes: bool| if yes { 10 } else { 0 };
        match (&self.rule, sample.records.as_slice()) {
            (Record(rule), records) => records.iter().map(rule).sum(),
            (Document(rule), [document]) if matches!(sample.shape, Shape::Document | Shape::Lines) => {
                ten(rule(document))
            }
            (Element(rule), [first, ..]) if matches!(sample.shape, Shape::Array { .. }) => ten(rule(first)),
            (Whole(rule), _) => rule(sample),
            _ => 0,
        }
    }

    /// What the user is told.
    pub fn sentence(&self, registry: &[Format]) -> String {
        match self.advice {
            Some(advice) => format!("this is {}; {advice}", self.what),
            None => format!("this is {}; this version opens those of {}", self.what, super::systems_of(registry)),
        }
    }
}

/// One line a kind. Where two give the same points, the first is named.
pub(super) static KNOWN: &[Known] = &[
    // What other agents keep.
    Known::format("a Codex rollout", Record(agents::codex)),
    Known::format("a Codex session of 2025", Document(agents::codex_document)),
    Known::format("a Copilot CLI session", Whole(agents::copilot)),
    Known::format("a Pi session", Whole(agents::pi)),
    Known::format("a Gemini CLI session", Record(agents::gemini)),
    Known::format("a Gemini CLI checkpoint", Whole(agents::gemini_checkpoint)),
    Known::format("a Qwen Code session", Record(agents::qwen)),
    Known::format("a Goose session", Record(agents::goose)),
    Known::format("an OpenCode export", Document(agents::opencode_export)),
    Known::format("one file of OpenCode's storage folder", Document(agents::opencode_file)),
    Known::format("a Cline task", Element(agents::cline_messages)),
    Known::format("the model's side of a Cline task", Whole(agents::cline_history)),
    Known::format("a Cline session", Document(agents::cline_session)),
    // What agents print.
    Known::format("the output of `claude -p` or `qwen` as a stream of JSON", Record(agents::claude_stream)),
    Known::format("the output of `codex exec --json`", Record(agents::codex_stream)),
    Known::format("the output of `copilot --output-format json`", Whole(agents::copilot_stream)),
    Known::format("the output of `pi --mode json`", Record(agents::pi_stream)),
    Known::format("the output of `opencode run --format json`", Record(agents::opencode_stream)),
    Known::format("the output of `gemini --output-format stream-json`", Record(agents::gemini_stream)),
    // What Outpost keeps beside its sessions.
    Known::format("an object of an Outpost storage folder", Record(systems::outpost_object)),
    Known::other(
        "an error that a server answered with",
        "its `title` and `detail` say what went wrong",
        Document(systems::problem),
    ),
    // Databases.
    Known::format(
        "OpenCode's session database",
        Whole(|sample| systems::tables(sample, &["session", "message", "part"])),
    ),
    Known::other(
        "Copilot CLI's session index",
        "the sessions are the files events.jsonl below session-state",
        Whole(|sample| systems::tables(sample, &["sessions", "turns", "checkpoints"])),
    ),
    Known::other(
        "Cline's session index",
        "the sessions are in the folder data/sessions",
        Whole(|sample| systems::tables(sample, &["sessions", "subagent_spawn_queue"])),
    ),
    Known::format("Goose's session database", Whole(|sample| systems::tables(sample, &["sessions", "messages"]))),
    Known::other(
        "Codex's session index",
        "the sessions are the rollout files in the folder sessions",
        Whole(|sample| systems::tables(sample, &["threads"])),
    ),
    Known::other(
        "an editor's settings database",
        "it holds no session",
        // Fewer points than a reader gives that knows some of its keys.
        Whole(|sample| systems::tables(sample, &["ItemTable"]).min(3)),
    ),
    // What lies beside sessions.
    Known::other(
        "the side file of a Claude Code subagent",
        "open the .jsonl of the same name beside it",
        Document(strangers::claude_meta),
    ),
    Known::other(
        "the journal of a Claude Code workflow",
        "open the agent-….jsonl files beside it",
        Whole(strangers::claude_journal),
    ),
    Known::other(
        "Claude Code's log of prompts",
        "the sessions are the .jsonl files below the folder projects",
        Record(strangers::claude_history),
    ),
    Known::other(
        "Codex's log of prompts",
        "the sessions are the rollout files in the folder sessions",
        Record(strangers::codex_history),
    ),
    Known::other(
        "Codex's list of session titles",
        "the sessions are the rollout files in the folder sessions",
        Record(strangers::codex_index),
    ),
    Known::other(
        "Gemini CLI's log of prompts",
        "the sessions are in the folder chats beside it",
        Element(strangers::gemini_log),
    ),
    Known::other(
        "Copilot CLI's note about a session",
        "the session is events.jsonl beside it",
        Whole(strangers::copilot_workspace),
    ),
    Known::other(
        "Cline's data about a task",
        "its messages are in ui_messages.json beside it",
        Document(strangers::cline_metadata),
    ),
    Known::other(
        "the receipt of a revert",
        "`stepline undo` takes the revert back with it",
        Document(strangers::receipt),
    ),
    Known::other("the notes on a session", "open the session beside it", Document(strangers::notes)),
    // What only looks like a session, or is one of an agent that nobody asked for.
    Known::format("a Factory Droid session", Record(strangers::droid)),
    Known::format("a dsh session", Record(strangers::dsh)),
    Known::format("a Cursor transcript", Record(strangers::cursor)),
    Known::format("a Grok CLI history", Record(strangers::grok)),
    Known::format("a Kimi session", Record(strangers::kimi)),
    Known::format("a log of Copilot hooks", Whole(strangers::copilot_hooks)),
    Known::other(
        "a recording of JSON-RPC that is not the Agent Client Protocol",
        "it holds no session",
        Whole(strangers::json_rpc),
    ),
    Known::other(
        "chat data for training a model",
        "it has messages but no record of what an agent did",
        Record(strangers::training),
    ),
    Known::other(
        "a plain list of chat messages",
        "it has no ids, times or decisions to make steps of",
        Whole(strangers::chat),
    ),
];

/// One sentence for a file that no rule knows.
pub(super) fn unknown(registry: &[Format], sample: &Sample) -> String {
    let unpack = |with: &str, command: &str| format!("this file is compressed with {with}; unpack it first: {command}");
    match sample.shape {
        Shape::Gzip => unpack("gzip", "gunzip --keep FILE"),
        Shape::Zstd => unpack("zstd", "unzstd FILE"),
        Shape::Zip => {
            "this is a zip archive (or an office document); unpack it and open the session file in it".to_owned()
        }
        Shape::Utf16 => "this text is in UTF-16; convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8 FILE".to_owned(),
        Shape::Html => {
            "this is an HTML or XML page; pages hold no session that can be read back: open the agent's own file"
                .to_owned()
        }
        Shape::Empty => "there is nothing in this file".to_owned(),
        Shape::Sqlite => database(&sample.path),
        Shape::Folder => "a folder is no session".to_owned(),
        Shape::Other => match sample.records.first() {
            Some(Value::String(start)) if start.is_empty() => {
                "not a session: the first 64 KB are blank or NUL bytes".to_owned()
            }
            Some(_) => "not a session of a known format but a text without JSON records".to_owned(),
            None => "not a session of a known format but a binary file".to_owned(),
        },
        Shape::Lines | Shape::Array { .. } | Shape::Document => {
            let systems = super::systems_of(registry);
            format!("not a session of a known format: looked for records of {systems} in the first 64 KB")
        }
    }
}

/// A database whose tables tell nothing: its schema is long, or it is another program's.
fn database(path: &Path) -> String {
    let guess = match name(path).as_str() {
        "sessions.db" => "Devin or Goose",
        name if name.starts_with("opencode") => "OpenCode",
        "session-store.db" => "Copilot CLI",
        name if name.starts_with("state_") => "Codex",
        _ => return "this is an SQLite database, without the tables of a known agent".to_owned(),
    };
    format!("this is an SQLite database, by its name that of {guess}; it has no tables of sessions that can be read")
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// `a, b and c`.
pub(super) fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [most @ .., end] => format!("{} and {end}", most.join(", ")),
    }
}
