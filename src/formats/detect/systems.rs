//! Rules for what Outpost keeps beside its sessions, for the errors of servers, and for databases.

use serde_json::Value;

use super::agents::{at, is_text, text};
use super::{Sample, Shape};

fn ten(yes: bool) -> u32 {
    if yes { 10 } else { 0 }
}

/// The header of an object file: JSON padded to 1024 bytes, the object's own bytes after it. Objects that make sessions
/// have readers.
pub(super) fn outpost_object(record: &Value) -> u32 {
    const SESSIONS: [&str; 4] = ["logs", "checkpoints", "conversations", "runs"];
    let is_session = SESSIONS.iter().any(|area| text(record, "key").split('/').next() == Some(area));
    let header = is_text(record, "key") && is_text(record, "revision") && at(record, &["size"]).is_u64();
    ten(header && is_text(record, "modifiedAt") && !is_session)
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
