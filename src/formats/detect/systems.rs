//! Rules for what Outpost keeps beside journals, for the errors of servers, and for databases.

use serde_json::Value;

use super::agents::{at, has, has_all, is_text, kind, text};
use super::{Sample, Shape};

fn ten(yes: bool) -> u32 {
    if yes { 10 } else { 0 }
}

/// The header of an object file: JSON padded to 1024 bytes, the object's own bytes after it.
pub(super) fn outpost_object(record: &Value) -> u32 {
    let header = is_text(record, "key") && is_text(record, "revision") && at(record, &["size"]).is_u64();
    ten(header && is_text(record, "modifiedAt"))
}

pub(super) fn outpost_observation(record: &Value) -> u32 {
    let event = at(record, &["event"]);
    if is_text(event, "kind") && has_all(record, &["seq", "source", "scope"]) { 8 } else { 0 }
}

pub(super) fn outpost_transcript(record: &Value) -> u32 {
    let version = at(record, &["version"]);
    ten(kind(record) == "session" && (version == 1 || version == 2) && has_all(record, &["id", "model", "createdAt"]))
}

/// Bare, or below `checkpoint` beside its owner.
pub(super) fn outpost_checkpoint(record: &Value) -> u32 {
    let bare = |record: &Value| {
        at(record, &["format"]) == 1 && has_all(record, &["identity", "executionId"]) && has(record, "records")
    };
    ten(bare(record) || (has(record, "owner") && bare(at(record, &["checkpoint"]))))
}

pub(super) fn outpost_run(document: &Value) -> bool {
    let is_run = ["dispatch", "workflow"].contains(&text(document, "kind"));
    is_run && at(document, &["version"]) == 1 && has(document, "heartbeatAt")
}

pub(super) fn outpost_report(document: &Value) -> bool {
    has_all(document, &["version", "completed", "durationMs", "failedTools"])
}

/// The JSON in which servers describe errors (RFC 9457).
pub(super) fn problem(document: &Value) -> bool {
    at(document, &["status"]).as_u64().is_some_and(|status| (400..600).contains(&status)) && is_text(document, "title")
}

/// An SQLite file that has all these tables.
pub(super) fn tables(sample: &Sample, names: &[&str]) -> u32 {
    let tables = sample.records.first().map(|record| at(record, &["tables"])).and_then(Value::as_array);
    let has_table = |name: &&str| tables.is_some_and(|tables| tables.iter().any(|table| table == *name));
    ten(sample.shape == Shape::Sqlite && names.iter().all(has_table))
}
