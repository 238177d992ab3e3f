//! Telling Outpost's files apart by their records. The points are those of the scale in `detect`.

use serde_json::Value;

use super::fields::text;
use super::kind::Kind;
use crate::formats::detect::{Sample, Shape};
use crate::model::summarise;

/// The first prompt among the sample's entries, as one line.
pub fn first_prompt(sample: &Sample) -> Option<String> {
    let prompt = sample.records.iter().find(|entry| text(entry, "kind") == "prompt")?;
    Some(summarise(prompt.get("text")?.as_str()?))
}

/// 10 points for an entry with the envelope of 7.0 and later, 6 for one whose kind and source are known, 4 for a known
/// kind with a time in an array. On lines, those are older logs.
pub fn journal(sample: &Sample) -> u32 {
    let sourceless = match sample.shape {
        Shape::Array { .. } => 4,
        Shape::Lines => 0,
        _ => return 0,
    };
    sample.records.iter().map(|record| entry(record, sourceless)).max().unwrap_or(0)
}

fn entry(record: &Value, sourceless: u32) -> u32 {
    let Some(kind) = record.get("kind").and_then(Value::as_str) else { return 0 };
    let is_known = Kind::of(kind) != Kind::Unknown;
    let has_scope = record.get("scope").is_some_and(Value::is_object);
    match record.get("source").and_then(Value::as_str) {
        Some(_) if record.get("seq").is_some_and(Value::is_u64) && (is_known || has_scope) => 10,
        Some(source) if is_known && is_source(source) => 6,
        None if is_old_entry(record) => sourceless,
        _ => 0,
    }
}

/// 4 points for lines with a known kind and a time, none of which says who wrote it.
pub fn legacy(sample: &Sample) -> u32 {
    let has_source = sample.records.iter().any(|record| record.get("source").is_some());
    if sample.shape == Shape::Lines && !has_source && sample.records.iter().any(is_old_entry) { 4 } else { 0 }
}

fn is_old_entry(record: &Value) -> bool {
    let is_known = record.get("kind").and_then(Value::as_str).is_some_and(|kind| Kind::of(kind) != Kind::Unknown);
    is_known && record.get("at").is_some_and(Value::is_string)
}

fn is_source(name: &str) -> bool {
    const SOURCES: [&str; 10] =
        ["agent", "harness", "workflow", "sandbox", "git", "hooks", "transfer", "conversation", "recovery", "decision"];
    SOURCES.contains(&name)
}

fn ten(yes: bool) -> u32 {
    if yes { 10 } else { 0 }
}

fn has_all(record: &Value, keys: &[&str]) -> bool {
    keys.iter().all(|key| record.get(*key).is_some())
}

pub fn observation(record: &Value) -> u32 {
    let has_kind = record.get("event").is_some_and(|event| event.get("kind").is_some_and(Value::is_string));
    if has_kind && has_all(record, &["seq", "source", "scope"]) { 8 } else { 0 }
}

/// The header of a harness transcript.
pub fn transcript(record: &Value) -> u32 {
    let version = record.get("version").and_then(Value::as_u64);
    let is_header = text(record, "type") == "session" && matches!(version, Some(1 | 2));
    ten(is_header && has_all(record, &["id", "model", "createdAt"]))
}

/// Bare, or below `checkpoint` beside its owner.
pub fn checkpoint(record: &Value) -> u32 {
    let is_bare = |record: &Value| {
        record.get("format").is_some_and(|format| format == 1)
            && has_all(record, &["identity", "executionId", "records"])
    };
    let is_held = has_all(record, &["owner"]) && record.get("checkpoint").is_some_and(is_bare);
    ten(is_bare(record) || is_held)
}

pub fn run(document: &Value) -> u32 {
    let is_run = matches!(text(document, "kind"), "dispatch" | "workflow");
    let is_snapshot =
        is_run && document.get("version").is_some_and(|version| version == 1) && has_all(document, &["heartbeatAt"]);
    ten(is_snapshot || has_all(document, &["version", "completed", "durationMs", "failedTools"]))
}
