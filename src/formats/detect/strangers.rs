//! Rules for files beside sessions that hold none, and for files that only look like sessions.

use serde_json::Value;

use super::agents::{acp, at, has, has_all, has_any, is_text, kind, text};
use super::{Sample, Shape};

fn is_named(sample: &Sample, name: &str) -> bool {
    sample.path.file_name().is_some_and(|file| file == name)
}

pub(super) fn claude_meta(document: &Value) -> bool {
    is_text(document, "agentType") && has_any(document, &["toolUseId", "spawnDepth", "description"])
}

/// Every line of it: a transcript may have a copy of some.
pub(super) fn claude_journal(sample: &Sample) -> u32 {
    let is_entry =
        |record: &Value| ["started", "result"].contains(&kind(record)) && has_all(record, &["key", "agentId"]);
    if !sample.records.is_empty() && sample.records.iter().all(is_entry) { 6 } else { 0 }
}

pub(super) fn claude_history(record: &Value) -> u32 {
    if has(record, "display") && has_all(record, &["timestamp", "project"]) { 6 } else { 0 }
}

pub(super) fn codex_history(record: &Value) -> u32 {
    let prompt = is_text(record, "session_id") && is_text(record, "text") && at(record, &["ts"]).is_number();
    if prompt && !has(record, "type") { 6 } else { 0 }
}

pub(super) fn codex_index(record: &Value) -> u32 {
    if has_all(record, &["id", "thread_name", "updated_at"]) { 6 } else { 0 }
}

pub(super) fn gemini_log(element: &Value) -> bool {
    has_all(element, &["sessionId", "messageId", "message"])
}

pub(super) fn copilot_workspace(sample: &Sample) -> u32 {
    if sample.shape == Shape::Other && is_named(sample, "workspace.yaml") { 6 } else { 0 }
}

pub(super) fn cline_metadata(document: &Value) -> bool {
    has_all(document, &["files_in_context", "model_usage"])
        || (has_all(document, &["id", "ts", "task"]) && has_any(document, &["tokensIn", "totalCost"]))
}

pub(super) fn receipt(document: &Value) -> bool {
    has_all(document, &["backup", "stepNumber", "revertedAt"])
}

pub(super) fn notes(document: &Value) -> bool {
    text(document, "stepline") == "notes" && has(document, "version")
}

pub(super) fn droid(record: &Value) -> u32 {
    if kind(record) == "session_start" && is_text(record, "id") && !has(record, "uuid") { 10 } else { 0 }
}

/// Its header is that of Pi but for the time.
pub(super) fn dsh(record: &Value) -> u32 {
    if kind(record) == "session" && at(record, &["createdAt"]).is_number() { 10 } else { 0 }
}

pub(super) fn cursor(record: &Value) -> u32 {
    let message = has(record, "role") && !at(record, &["message", "content"]).is_null();
    if message && !has_any(record, &["type", "uuid"]) { 2 } else { 0 }
}

pub(super) fn grok(record: &Value) -> u32 {
    let row = ["system", "user", "assistant", "reasoning"].contains(&kind(record)) && has(record, "content");
    let other = ["id", "uuid", "sessionId", "session_id", "timestamp", "message"];
    if row && !has_any(record, &other) { 2 } else { 0 }
}

pub(super) fn kimi(record: &Value) -> u32 {
    if kind(record) == "metadata" && has(record, "protocol_version") { 10 } else { 0 }
}

pub(super) fn copilot_hooks(sample: &Sample) -> u32 {
    const EVENTS: [&str; 5] = ["userpromptsubmitted", "sessionstart", "sessionend", "pretooluse", "posttooluse"];
    let is_event = |record: &&Value| {
        let names = ["event", "type", "hook", "hookEventName"].map(|key| text(record, key).to_ascii_lowercase());
        names.iter().any(|name| EVENTS.contains(&name.as_str()))
    };
    let named = sample.path.to_string_lossy().ends_with(".events.jsonl");
    let events = sample.records.iter().filter(is_event).count();
    if named && events > 0 { 6 } else { 0 }
}

/// The Model Context Protocol, language servers, and the server of the Codex app, which leaves `jsonrpc` out.
pub(super) fn json_rpc(sample: &Sample) -> u32 {
    let is_call = |record: &Value| {
        has(record, "jsonrpc") || (is_text(record, "method") && has(record, "params") && !has(record, "type"))
    };
    let calls = |record: &Value| is_call(record) || is_call(at(record, &["msg"])) || is_call(at(record, &["message"]));
    let foreign = !sample.records.iter().any(|record| acp(record) > 0);
    if foreign && sample.records.first().is_some_and(calls) { 3 } else { 0 }
}

pub(super) fn training(record: &Value) -> u32 {
    let messages = at(record, &["messages"]).as_array().map(Vec::as_slice).unwrap_or_default();
    let own = ["info", "version", "sessionId", "working_dir"];
    let chat = !messages.is_empty() && messages.iter().all(|message| has_all(message, &["role", "content"]));
    if chat && !has_any(record, &own) { 2 } else { 0 }
}

pub(super) fn chat(sample: &Sample) -> u32 {
    let is_message = |record: &Value| {
        has_all(record, &["role", "content"]) && !has_any(record, &["type", "uuid", "sessionId", "timestamp"])
    };
    let records = sample.records.as_slice();
    if !records.is_empty() && records.iter().all(is_message) { 2 } else { 0 }
}
