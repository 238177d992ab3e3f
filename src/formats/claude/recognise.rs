//! How sure it is that a file is a Claude Code transcript, and how its records are framed.

use serde_json::Value;

use crate::formats::detect::{Sample, Shape};
use crate::store::{Framing, ReadError, SourceFile};

/// Points of a record of the chain, or of a loose one that no other format has.
const SURE: u32 = 6;

/// Adds up the points of a sample's records; the export of the web version is known by its one key.
pub(super) fn points(sample: &Sample) -> u32 {
    match sample.shape {
        Shape::Lines | Shape::Array { .. } => sample.records.iter().map(record_points).fold(0, u32::saturating_add),
        Shape::Document => sample
            .records
            .iter()
            .map(|document| {
                let is_export = document.get("loglines").is_some_and(|lines| lines.is_array() || lines.is_null());
                if is_export { 10 } else { record_points(document) }
            })
            .fold(0, u32::saturating_add),
        _ => 0,
    }
}

fn record_points(record: &Value) -> u32 {
    if record.get("loglines").is_some_and(Value::is_array) {
        return 10;
    }
    let text = |key: &str| record.get(key).and_then(Value::as_str);
    let has = |key: &str| record.get(key).is_some();
    let kind = text("type").unwrap_or_default();
    // Qwen Code writes the same envelope around other messages.
    let message = record.get("message");
    let is_qwen = message.is_some_and(|message| message.get("parts").is_some())
        || has("systemPayload")
        || has("provenance")
        || has("toolCallResult");
    if is_qwen {
        return 0;
    }
    let is_chain = matches!(kind, "user" | "assistant" | "system" | "attachment" | "progress");
    if is_chain && text("uuid").is_some() && has("parentUuid") {
        return SURE;
    }
    let is_named = match kind {
        "summary" => has("leafUuid"),
        "file-history-snapshot" => has("messageId"),
        "queue-operation" => has("operation"),
        _ => false,
    };
    if is_named {
        return SURE;
    }
    let is_loose = matches!(
        kind,
        "mode"
            | "permission-mode"
            | "ai-title"
            | "custom-title"
            | "last-prompt"
            | "agent-name"
            | "agent-setting"
            | "cost-state"
            | "bridge-session"
            | "tools-used"
            | "atis-latch"
            | "worktree-state"
            | "pr-link"
            | "file-history-delta"
    );
    if is_loose && text("sessionId").is_some() {
        return 4;
    }
    let is_trimmed = matches!(kind, "user" | "assistant")
        && message.is_some_and(|message| message.get("content").is_some())
        && (has("sessionId") || has("timestamp"))
        && !has("id")
        && !has("session_id");
    if is_trimmed { 2 } else { 0 }
}

/// How the file's records are framed. The array of an export is found by its key.
pub(super) fn framing(source: &SourceFile, sample: &Sample) -> Result<Framing, ReadError> {
    if sample.shape != Shape::Document {
        return Ok(sample.framing());
    }
    let mut head = vec![0; 64 * 1024];
    let read = source.fill(0, &mut head)?;
    let found = head.get(..read).and_then(loglines_start).and_then(|start| u64::try_from(start).ok());
    Ok(found.map_or(Framing::Lines, |start| Framing::Array { start }))
}

/// Offset of the `[` after the key `loglines`.
fn loglines_start(bytes: &[u8]) -> Option<usize> {
    let key = b"\"loglines\"";
    memchr::memmem::find_iter(bytes, key).find_map(|at| {
        let after = at + key.len();
        let rest = bytes.get(after..)?;
        let colon =
            rest.iter().position(|byte| !byte.is_ascii_whitespace()).filter(|at| rest.get(*at) == Some(&b':'))?;
        let value = rest.get(colon + 1..)?;
        let bracket =
            value.iter().position(|byte| !byte.is_ascii_whitespace()).filter(|at| value.get(*at) == Some(&b'['))?;
        Some(after + colon + 1 + bracket)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn records_score_by_what_only_this_format_has() {
        for (record, expected) in [
            (json!({"type": "user", "uuid": "a", "parentUuid": null, "sessionId": "s"}), 6),
            (json!({"type": "progress", "uuid": "a", "parentUuid": "b"}), 6),
            (json!({"type": "summary", "summary": "x", "leafUuid": "a"}), 6),
            (json!({"type": "file-history-snapshot", "messageId": "a"}), 6),
            (json!({"type": "queue-operation", "operation": "enqueue"}), 6),
            (json!({"type": "permission-mode", "permissionMode": "plan", "sessionId": "s"}), 4),
            (json!({"type": "user", "message": {"content": "x"}, "timestamp": "t"}), 2),
            // Qwen Code, the agent's standard output, other chats.
            (json!({"type": "user", "uuid": "a", "parentUuid": null, "message": {"parts": []}}), 0),
            (json!({"type": "system", "uuid": "a", "parentUuid": null, "systemPayload": {}}), 0),
            (json!({"type": "system", "subtype": "init", "session_id": "s", "uuid": "a"}), 0),
            (json!({"type": "assistant", "message": {"content": []}, "session_id": "s", "timestamp": "t"}), 0),
            (json!({"role": "user", "message": {"content": "x"}}), 0),
            (json!(7), 0),
        ] {
            assert_eq!(record_points(&record), expected, "{record}");
        }
    }

    #[test]
    fn the_array_of_an_export_is_found() {
        assert_eq!(loglines_start(b"{\"loglines\": [1]}"), Some(13));
        assert_eq!(loglines_start(b"{\"a\":\"loglines\",\"loglines\"\n:\n [1]}"), Some(30));
        assert_eq!(loglines_start(b"{\"loglines\":7}"), None);
    }
}
