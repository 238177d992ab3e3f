//! The one line that stands for an event.

use serde::Deserialize;

use super::entry::{Entry, Raw, object};
use super::kind::Kind;
use super::markers::subject;
use super::workflow;
use crate::formats::json;
use crate::formats::labels::{LABEL_CHARS, MARKER_BYTES, line};
use crate::formats::lenient::{List, Text};

/// The start of a raw text, for a marker: at most 2 KiB.
pub fn short(raw: Raw<'_>) -> String {
    shorten(&raw.and_then(|raw| json::string_start(raw, MARKER_BYTES)).unwrap_or_default())
}

/// The start of a text, for a marker: at most 2 KiB.
pub fn shorten(text: &str) -> String {
    first(text, MARKER_BYTES).to_owned()
}

/// The start of a raw text as a label; of another value its JSON.
fn start(raw: Raw<'_>) -> Box<str> {
    let Some(raw) = raw else { return "".into() };
    match json::string_start(raw, 2 * LABEL_CHARS) {
        Some(text) => line(&text),
        None => line(first(raw.get(), 4 * LABEL_CHARS)),
    }
}

/// At most `bytes` bytes of `text`.
fn first(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

/// The arguments that say best what a call does, in the order they are looked for.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments<'a> {
    #[serde(borrow)]
    command: Raw<'a>,
    #[serde(borrow)]
    cmd: Raw<'a>,
    #[serde(borrow)]
    file_path: Raw<'a>,
    #[serde(borrow, rename = "filePath")]
    file_path_camel: Raw<'a>,
    #[serde(borrow)]
    path: Raw<'a>,
    #[serde(borrow)]
    pattern: Raw<'a>,
    #[serde(borrow)]
    query: Raw<'a>,
    #[serde(borrow)]
    url: Raw<'a>,
    #[serde(borrow)]
    description: Raw<'a>,
    #[serde(borrow)]
    prompt: Raw<'a>,
}

/// A tool call's main argument.
pub fn main_argument(input: Raw<'_>) -> Box<str> {
    let Some(arguments) = object::<Arguments>(input) else { return start(input) };
    let main = arguments
        .command
        .or(arguments.cmd)
        .or(arguments.file_path)
        .or(arguments.file_path_camel)
        .or(arguments.path.filter(|path| path.get() != "\"\""))
        .or(arguments.pattern)
        .or(arguments.query)
        .or(arguments.url)
        .or(arguments.description)
        .or(arguments.prompt);
    match main {
        // A command may be given as a list of words.
        Some(raw) if raw.get().starts_with('[') => match serde_json::from_str::<List<Text>>(raw.get()) {
            Ok(words) => line(&words.0.iter().take(64).map(Text::or_empty).collect::<Vec<_>>().join(" ")),
            Err(_) => start(Some(raw)),
        },
        Some(raw) => start(Some(raw)),
        None => start(input.filter(|raw| raw.get() != "{}")),
    }
}

/// What an entry's row says.
pub fn label(entry: &Entry<'_>) -> Box<str> {
    let said = |text: &str| line(text);
    match entry.kind() {
        Kind::Text | Kind::TextDelta | Kind::Result | Kind::Reasoning | Kind::ToolOutput | Kind::Stderr => {
            start(entry.text)
        }
        Kind::Steer | Kind::Prompt | Kind::CommandOutput => start(entry.text),
        Kind::Tool => main_argument(entry.input),
        Kind::ToolResult => start(entry.preview),
        Kind::ToolDenied => said(&format!("{}: {}", entry.name.or_empty(), entry.reason.or_empty())),
        Kind::Raw => start(entry.value),
        Kind::Failure | Kind::ModelError | Kind::Quota | Kind::Warning | Kind::StopPrevented => start(entry.message),
        Kind::ModelRetry => {
            let attempt = entry.attempt.0.map_or_else(String::new, |attempt| format!("attempt {attempt} "));
            said(&format!("{attempt}{}", short(entry.message)))
        }
        Kind::Usage | Kind::MessageUsage | Kind::Summary => {
            let tokens = entry.counted();
            said(&format!("{} tokens in, {} cached, {} out", tokens.input, tokens.cached, tokens.output))
        }
        Kind::Fallback => {
            let (from, to) = (Entry::candidate(entry.from), Entry::candidate(entry.to));
            said(&format!("{} → {}: {}", from.name.or_empty(), to.name.or_empty(), short(entry.message)))
        }
        Kind::ModelRoute => said(&format!("{} ({})", entry.model_name().unwrap_or_default(), entry.reason.or_empty())),
        Kind::WorkspaceCommits => said(&commits(entry)),
        Kind::DispatchFinished => said(&match entry.fault() {
            Some(fault) => format!("dispatch failed: {}", fault.message.or_empty()),
            None => format!("dispatch {}", entry.status.or_empty()),
        }),
        Kind::Workflow => said(&workflow::of(entry).label()),
        Kind::Unknown => said(entry.kind.as_str().unwrap_or("entry without a kind")),
        kind => said(&note(kind, entry)),
    }
}

/// The rows of plain notes: what they are, and their one or two values.
fn note(kind: Kind, entry: &Entry<'_>) -> String {
    let number = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    match kind {
        Kind::Step => format!("model request {}", number(entry.index.0)),
        Kind::Conversation => format!("conversation {}", entry.id.or_empty()),
        Kind::InstructionsLoaded => format!("{} instruction files loaded", number(entry.count.0)),
        Kind::SkillsLoaded => format!("skills loaded: {}", start(entry.names)),
        Kind::Hook => format!("hook ran: {}", entry.phase.or_empty()),
        Kind::Compaction => format!("history reduced: {}", entry.strategy.or_empty()),
        Kind::Stopped => format!("stopped: {}", entry.reason.or_empty()),
        Kind::Subagent => format!("subagent {} {}", entry.name.or_empty(), entry.status.or_empty()),
        Kind::FileChange => start(entry.changes).into(),
        Kind::Finished => "agent finished".into(),
        Kind::Stuck => format!(
            "repeats {} {} times: {}",
            entry.name.as_str().unwrap_or(entry.activity.or_empty()),
            number(entry.repeats.0),
            entry.action.or_empty()
        ),
        Kind::ModelRequest => format!("request to {}", entry.model_name().unwrap_or_default()),
        Kind::ModelResponse => "model response".into(),
        Kind::Decision => format!(
            "decision {} by {} {}",
            entry.status.or_empty(),
            entry.provider.or_empty(),
            entry.model_name().unwrap_or_default()
        ),
        Kind::DecisionRequest => "decision request".into(),
        Kind::DecisionResponse => "decision response".into(),
        Kind::Operation => format!("operation {} {}", entry.name.or_empty(), entry.status.or_empty()),
        Kind::Candidate => format!("candidate {}", entry.status.or_empty()),
        Kind::Queue => format!("queue {} {}", entry.id.or_empty(), entry.status.or_empty()),
        _ => entry.kind.or_empty().to_owned(),
    }
}

fn commits(entry: &Entry<'_>) -> String {
    if let Some(reason) = entry.unavailable() {
        return format!("commits not recorded: {reason}");
    }
    let commits = entry.recorded_commits().unwrap_or_default();
    let subjects: Vec<_> = commits.iter().take(8).map(|commit| subject(commit.message.or_empty())).collect();
    match commits.len() {
        0 => "no commits".to_owned(),
        1 => format!("1 commit: {}", subjects.concat()),
        count => format!("{count} commits: {}", subjects.join(", ")),
    }
}

/// Bytes of text behind an entry; `record` is the length of the whole record.
pub fn text_bytes(entry: &Entry<'_>, record: u32) -> u32 {
    let bytes = |raw: Raw<'_>| raw.map_or(0, json::string_bytes);
    match entry.kind() {
        Kind::Tool => entry.input.filter(|raw| raw.get() != "{}").map_or(0, json::string_bytes),
        Kind::ToolResult => bytes(entry.preview),
        Kind::Raw => bytes(entry.value),
        Kind::ToolDenied => u32::try_from(entry.reason.or_empty().len()).unwrap_or(u32::MAX),
        Kind::Unknown
        | Kind::FileChange
        | Kind::ModelRequest
        | Kind::ModelResponse
        | Kind::DecisionRequest
        | Kind::DecisionResponse
        | Kind::Workflow
        | Kind::WorkspaceCommits => record,
        _ => bytes(entry.text).max(bytes(entry.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(input: &str) -> String {
        main_argument(Some(serde_json::from_str(input).unwrap())).into()
    }

    #[test]
    fn a_call_is_named_by_its_main_argument() {
        assert_eq!(argument(r#"{"timeout":5,"command":"npm  test\n"}"#), "npm test");
        assert_eq!(argument(r#"{"command":["ls","-l"]}"#), "ls -l");
        assert_eq!(argument(r#"{"path":"","pattern":"*.rs"}"#), "*.rs");
        assert_eq!(argument(r#"{"n":1}"#), r#"{"n":1}"#);
        assert_eq!(argument("{}"), "");
        assert_eq!(argument(r#""text""#), "text");
    }

    #[test]
    fn a_long_argument_becomes_a_short_line() {
        let long = argument(&format!(r#"{{"command":"{}"}}"#, "é".repeat(400)));
        assert_eq!(long.chars().count(), 160);
        assert!(long.ends_with('…'));
    }
}
