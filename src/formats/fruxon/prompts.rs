//! What a turn's prompt is: a message, a text inside another record, or a sentence for the files that do not hold it.

use serde_json::Value;

use super::facts::{Facts, Spot};
use super::field::{at, text};
use super::kind::Kind;
use super::read::FileData;
use super::walk;

pub const NOBODY_WROTE: &str = "(no participant wrote: the agent began)";
pub const STREAM_ONLY: &str = "(a stream does not hold the participant's message)";
pub const APPROVAL_ONLY: &str = "(a list of approvals does not hold the participant's message)";
const RUN_ONLY: &str = "(these files do not hold the message that started the run)";

/// Where a prompt's text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A message, by its number among the rows.
    Row(usize),
    Text(Spot),
    /// A sentence that says why there is none.
    Unknown(&'static str),
}

/// The text at a spot, where there is one.
pub fn of_text(files: &[FileData], spot: Spot) -> Prompt {
    if spot.value(files).is_null() { Prompt::Unknown(RUN_ONLY) } else { Prompt::Text(spot) }
}

/// What a run was given: its parameters, what its model was told, or the one line of its record.
pub fn of_run(files: &[FileData], facts: &Facts<'_>, run: usize) -> Option<Prompt> {
    let run = facts.runs.get(run)?;
    let inputs = run.results.iter().flat_map(|(kind, spot)| match kind {
        Kind::Stage => vec![spot.below("userQuery"), spot.below("input")],
        Kind::Execute => vec![spot.below("trace").below("parameters")],
        _ => vec![spot.below("parameters")],
    });
    let spot = inputs
        .filter_map(|spot| parameter(files, spot))
        .next()
        .or_else(|| run.traces.iter().find_map(|trace| told(files, trace)))
        .or_else(|| run.record.as_ref().map(|spot| spot.below("subject")).filter(|spot| is_said(spot.value(files))));
    Some(spot.map_or(Prompt::Unknown(RUN_ONLY), Prompt::Text))
}

/// The first prompt of what is shown as it is.
pub fn of_other(files: &[FileData], kind: Kind, spot: &Spot) -> Prompt {
    match kind {
        Kind::Evaluation => parameter(files, spot.below("parameters")).map_or(Prompt::Unknown(RUN_ONLY), Prompt::Text),
        _ => Prompt::Unknown(RUN_ONLY),
    }
}

fn is_said(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    }
}

/// The one text among a run's parameters, or the one that is called like a message, or all of them.
fn parameter(files: &[FileData], spot: Spot) -> Option<Spot> {
    const NAMES: [&str; 8] = ["message", "userQuery", "user_query", "query", "prompt", "input", "text", "question"];
    let value = spot.value(files);
    let Value::Object(fields) = value else { return is_said(value).then_some(spot) };
    let mut texts = fields.iter().filter(|(_, value)| value.is_string());
    let named = NAMES.iter().find(|name| text(value, name).is_some()).map(|name| (*name).to_owned());
    let only = texts.next().filter(|_| fields.len() == 1).map(|(key, _)| key.clone());
    match named.or(only) {
        // In a pointer `~` and `/` stand for something else.
        Some(key) => Some(spot.below(key.replace('~', "~0").replace('/', "~1"))),
        None => is_said(value).then_some(spot),
    }
}

/// The last message of a person that a trace says its model was told.
fn told(files: &[FileData], trace: &Spot) -> Option<Spot> {
    walk::steps(files, trace).into_iter().find_map(|step| {
        let list = step.spot.below("llmStepTrace").below("llmMessages");
        let messages = at(step.value, &["llmStepTrace", "llmMessages"]).as_array()?;
        let is_user = |message: &Value| text(message, "role").is_some_and(|role| role.eq_ignore_ascii_case("user"));
        let place = messages.iter().rposition(|message| is_user(message) && text(message, "content").is_some())?;
        Some(list.below(place).below("content"))
    })
}
