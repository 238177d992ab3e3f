//! Rules for what Outpost keeps beside journals, for what Fruxon returns, and for databases.

use serde_json::Value;

use super::agents::{at, first, has, has_all, has_any, is_text, kind, text};
use super::{Sample, Shape};

fn ten(yes: bool) -> u32 {
    if yes { 10 } else { 0 }
}

/// The header of an object file: JSON padded to 1024 bytes, the object's own bytes after it. Those of journals are read.
pub(super) fn outpost_object(record: &Value) -> u32 {
    let header = is_text(record, "key") && is_text(record, "revision") && at(record, &["size"]).is_u64();
    ten(header && is_text(record, "modifiedAt") && !text(record, "key").starts_with("logs/"))
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

/// The first row of a page, of an array, or of lines.
fn first_row(sample: &Sample) -> &Value {
    let row = sample.records.first().unwrap_or(&Value::Null);
    if at(row, &["items"]).is_array() { first(at(row, &["items"])) } else { row }
}

pub(super) fn fruxon_messages(sample: &Sample) -> u32 {
    let row = first_row(sample);
    let sandbox = has_all(row, &["from", "text", "at"]);
    let topic = has_all(row, &["role", "content", "sessionId"]) && !has_any(row, &["uuid", "type"]);
    let channel = has_all(row, &["from", "conversationId"]) && has_any(row, &["message", "content"]);
    ten(sandbox || topic || channel)
}

pub(super) fn fruxon_approvals(sample: &Sample) -> u32 {
    let row = first_row(sample);
    let request = has_all(row, &["toolKey", "status"]) || has(row, "gateType");
    ten(request || has_all(row, &["eventType", "approvalRequestId"]))
}

pub(super) fn fruxon_executions(sample: &Sample) -> u32 {
    let row = first_row(sample);
    let record = has_all(row, &["startTime", "status", "agentId"]) && !has(row, "depth");
    ten(record || has(row, "baseRevisionResult"))
}

pub(super) fn fruxon_trace(document: &Value) -> bool {
    let trace = at(document, &["trace"]);
    let whole = has_any(trace, &["traces", "steps"]) && has(document, "status") && !has(document, "response");
    let bare = has_all(document, &["traces", "agentExecutionRecordId"]);
    whole || bare || has_all(document, &["executionRecordId", "rawSpanCount"])
}

pub(super) fn fruxon_result(document: &Value) -> bool {
    has_all(document, &["response", "executionRecordId", "trace"])
        || has_all(document, &["parameters", "result", "agentExecutionRecordId"])
        || has_all(document, &["configs", "runGroupId"])
        || (has(document, "passed") && has(first(at(document, &["results"])), "transcript"))
}

pub(super) fn fruxon_tree(document: &Value) -> bool {
    has_all(document, &["nodes", "rootExecutionId"])
}

/// Lines as the command line prints them, or server-sent events as the server sends them.
pub(super) fn fruxon_stream(sample: &Sample) -> u32 {
    let Some(start) = sample.records.first() else { return 0 };
    if let (Shape::Other, Value::String(text)) = (sample.shape, start) {
        let events = text.starts_with("event:") || text.starts_with(':');
        return ten(events && text.lines().any(|line| line.starts_with("data:")));
    }
    let named = ["sandbox", "test_chats"].contains(&text(start, "stream"));
    let header = kind(start) == "start" && has(start, "schema_version") && (named || has(start, "agent"));
    ten(header || (kind(start) == "message" && has_all(start, &["from", "text", "at"])))
}

pub(super) fn fruxon_answer(document: &Value) -> bool {
    has(document, "prefillText") && has_any(document, &["droppedRuns", "copiedMessages"])
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
