//! Rules for the files and the output of other agents. The points are those of the scale in [`super`].

use serde_json::Value;

use super::Sample;

/// Whether the record has this key, with whatever value.
pub(super) fn has(record: &Value, key: &str) -> bool {
    record.get(key).is_some()
}

pub(super) fn has_all(record: &Value, keys: &[&str]) -> bool {
    keys.iter().all(|key| has(record, key))
}

pub(super) fn has_any(record: &Value, keys: &[&str]) -> bool {
    keys.iter().any(|key| has(record, key))
}

/// The string under a key, else `""`.
pub(super) fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn is_text(record: &Value, key: &str) -> bool {
    record.get(key).is_some_and(Value::is_string)
}

/// What is under a path of keys; null when nothing is.
pub(super) fn at<'a>(record: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().try_fold(record, |value, key| value.get(key)).unwrap_or(&Value::Null)
}

/// The record's `type`.
pub(super) fn kind(record: &Value) -> &str {
    text(record, "type")
}

pub(super) fn first(value: &Value) -> &Value {
    value.get(0).unwrap_or(&Value::Null)
}

fn sum(sample: &Sample, rule: fn(&Value) -> u32) -> u32 {
    sample.records.iter().map(rule).sum()
}

pub(super) fn codex(record: &Value) -> u32 {
    const KINDS: [&str; 6] =
        ["response_item", "event_msg", "turn_context", "compacted", "world_state", "token_usage_record"];
    let enveloped = has_any(record, &["timestamp", "uuid", "payload"]);
    match kind(record) {
        "session_meta" if has(record, "payload") => 10,
        kind if KINDS.contains(&kind) && has_all(record, &["payload", "timestamp"]) => 4,
        // The oldest rollouts have no envelope.
        "" if is_text(record, "id")
            && is_text(record, "timestamp")
            && has(record, "instructions")
            && !has(record, "payload") =>
        {
            6
        }
        "function_call" if has(record, "call_id") && is_text(record, "arguments") && !enveloped => 1,
        "function_call_output" if has(record, "call_id") && !enveloped => 1,
        _ if text(record, "record_type") == "state" => 3,
        _ => 0,
    }
}

pub(super) fn codex_document(document: &Value) -> bool {
    at(document, &["session"]).is_object() && at(document, &["items"]).is_array()
}

fn copilot_record(record: &Value) -> u32 {
    let kind = kind(record);
    match at(record, &["data"]).is_object() {
        true if kind == "session.start" => 10,
        true if (kind.contains('.') || kind == "abort") && has_all(record, &["id", "timestamp", "parentId"]) => 3,
        _ => 0,
    }
}

/// Only the printed form has records that are not kept.
fn is_ephemeral(record: &Value) -> bool {
    at(record, &["ephemeral"]) == &Value::Bool(true)
}

pub(super) fn copilot(sample: &Sample) -> u32 {
    if sample.records.iter().any(is_ephemeral) { 0 } else { sum(sample, copilot_record) }
}

pub(super) fn copilot_stream(sample: &Sample) -> u32 {
    if sample.records.iter().any(is_ephemeral) { sum(sample, copilot_record) } else { 0 }
}

pub(super) fn pi(sample: &Sample) -> u32 {
    // What Pi prints begins with the header of the real file.
    if sum(sample, pi_stream) > 0 {
        return 0;
    }
    sum(sample, |record| match kind(record) {
        "session"
            if is_text(record, "id") && is_text(record, "timestamp") && has(record, "cwd") && !has(record, "data") =>
        {
            10
        }
        "message" if !at(record, &["message", "role"]).is_null() && is_text(record, "timestamp") => {
            let id = text(record, "id");
            let short_id = id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            let number = at(record, &["message", "timestamp"]).is_number();
            if has(record, "parentId") && (number || short_id) { 2 } else { 0 }
        }
        _ => 0,
    })
}

pub(super) fn pi_stream(record: &Value) -> u32 {
    const KINDS: [&str; 5] = ["agent_start", "turn_start", "message_start", "message_update", "message_end"];
    if KINDS.contains(&kind(record)) && !has_any(record, &["id", "data", "payload"]) { 6 } else { 0 }
}

pub(super) fn gemini(record: &Value) -> u32 {
    let first_message = first(at(record, &["messages"]));
    match kind(record) {
        _ if is_text(record, "sessionId") && is_text(record, "projectHash") => 10,
        _ if ["user", "gemini"].contains(&kind(first_message)) && has(first_message, "content") => 10,
        _ if has_any(record, &["$set", "$rewindTo"]) => 3,
        "user" | "gemini" | "info" | "error" | "warning"
            if is_text(record, "id") && has(record, "content") && !has(record, "uuid") =>
        {
            2
        }
        _ => 0,
    }
}

pub(super) fn gemini_checkpoint(sample: &Sample) -> u32 {
    let [record, ..] = sample.records.as_slice() else { return 0 };
    let is_content = |value: &Value| has(value, "parts") && ["user", "model"].contains(&text(value, "role"));
    let history = first(at(record, &["history"]));
    if is_content(record) || has(history, "parts") || ["user", "model"].contains(&text(history, "role")) {
        10
    } else {
        0
    }
}

pub(super) fn qwen(record: &Value) -> u32 {
    let keys = ["systemPayload", "provenance", "toolCallResult"];
    match has(record, "uuid") {
        true if !at(record, &["message", "parts"]).is_null() => 8,
        true if has(record, "parentUuid") && has_any(record, &keys) => 6,
        _ => 0,
    }
}

pub(super) fn goose(record: &Value) -> u32 {
    let role = text(record, "role");
    if has(record, "working_dir") {
        let export = has_any(record, &["conversation", "extension_data"]);
        let header = !has_any(record, &["role", "type"]);
        return if export {
            10
        } else if header {
            8
        } else {
            0
        };
    }
    let message = ["user", "assistant"].contains(&role)
        && at(record, &["created"]).is_i64()
        && at(record, &["content"]).is_array();
    if message { 2 } else { 0 }
}

pub(super) fn opencode_export(document: &Value) -> bool {
    let info = at(document, &["info"]);
    (text(info, "id").starts_with("ses_") || has(info, "projectID")) && has(document, "messages")
}

pub(super) fn opencode_file(document: &Value) -> bool {
    const PARTS: [&str; 12] = [
        "text",
        "reasoning",
        "file",
        "tool",
        "step-start",
        "step-finish",
        "snapshot",
        "patch",
        "agent",
        "retry",
        "compaction",
        "subtask",
    ];
    let session = has_all(document, &["id", "projectID", "time"]);
    let message = has_all(document, &["id", "sessionID", "role"]);
    let part = has(document, "messageID") || text(document, "id").starts_with("prt_");
    session || message || (has(document, "id") && part && PARTS.contains(&kind(document)))
}

pub(super) fn cline_messages(element: &Value) -> bool {
    at(element, &["ts"]).is_number() && ["ask", "say"].contains(&kind(element))
}

/// Any chat looks like it: the name or the wrapping of the first prompt must tell.
pub(super) fn cline_history(sample: &Sample) -> u32 {
    let Some(prompt) = sample.records.iter().find(|record| text(record, "role") == "user") else { return 0 };
    if has_any(prompt, &["type", "uuid", "message"]) {
        return 0;
    }
    let named = sample.path.file_name().is_some_and(|name| name == "api_conversation_history.json");
    let content = at(prompt, &["content"]);
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = blocks.iter().map(|block| text(block, "text")).chain(content.as_str());
    let tags = ["<task>", "<environment_details>", "<feedback>"];
    let wrapped = texts.into_iter().any(|text| tags.iter().any(|tag| text.contains(tag)));
    if named || wrapped { 6 } else { 0 }
}

pub(super) fn cline_session(document: &Value) -> bool {
    let manifest = has_all(document, &["session_id", "source"]);
    let messages = has_any(document, &["sessionId", "agent"]) && has_any(document, &["messages", "updated_at"]);
    at(document, &["version"]) == 1 && (manifest || messages)
}

/// JSON-RPC of the Agent Client Protocol, bare or one level down in whatever recorded it.
pub(in crate::formats) fn acp(record: &Value) -> u32 {
    const ENVELOPES: [&str; 7] = ["msg", "message", "data", "payload", "line", "raw", "frame"];
    let inside = ENVELOPES.iter().filter_map(|key| record.get(key)).find_map(|inside| match inside {
        Value::Object(_) => Some(inside.clone()),
        Value::String(line) => match super::first_value(line.as_bytes()).value {
            // Some recorders quote twice.
            Some(Value::String(line)) => super::first_value(line.as_bytes()).value,
            value => value,
        },
        _ => None,
    });
    acp_message(record).max(inside.as_ref().map_or(0, acp_message))
}

fn acp_message(message: &Value) -> u32 {
    const METHODS: [&str; 4] = ["session/", "fs/", "terminal/", "elicitation/"];
    let method = text(message, "method");
    let result = at(message, &["result"]);
    // The Model Context Protocol has a date there.
    let version = at(message, &["params", "protocolVersion"]);
    match method {
        "initialize" if version.is_u64() => 3,
        _ if METHODS.iter().any(|start| method.starts_with(start)) => 3,
        _ if has(message, "jsonrpc") && has_any(result, &["stopReason", "agentCapabilities"]) => 2,
        _ => 0,
    }
}

pub(super) fn claude_stream(record: &Value) -> u32 {
    match is_text(record, "session_id") {
        true if kind(record) == "system" && text(record, "subtype") == "init" => 10,
        true if has(record, "uuid") && !has(record, "parentUuid") => 2,
        _ => 0,
    }
}

pub(super) fn codex_stream(record: &Value) -> u32 {
    match kind(record) {
        "thread.started" => 10,
        kind if kind.starts_with("item.") && at(record, &["item"]).is_object() => 2,
        kind if kind.starts_with("turn.") && !has_any(record, &["data", "payload"]) => 2,
        _ => 0,
    }
}

pub(super) fn opencode_stream(record: &Value) -> u32 {
    const KINDS: [&str; 6] = ["step_start", "text", "tool_use", "step_finish", "reasoning", "error"];
    if is_text(record, "sessionID") && KINDS.contains(&kind(record)) { 4 } else { 0 }
}

pub(super) fn gemini_stream(record: &Value) -> u32 {
    match kind(record) {
        "init" if has_all(record, &["session_id", "timestamp"]) => 5,
        "tool_use" | "tool_result" if has(record, "tool_id") => 2,
        "message" if has_all(record, &["role", "delta"]) => 2,
        _ => 0,
    }
}
