//! The records of a transcript and the chain they form.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepline::model::Timestamp;

use crate::random::Random;

const MODELS: [&str; 2] = ["claude-opus-4-8", "claude-sonnet-4-6"];
/// 2026-11-02, 08:00 UTC.
const START: Timestamp = Timestamp(1_793_606_400_000);

/// Writes records, each the child of the one before.
pub struct Chain<'a> {
    out: &'a mut dyn Write,
    pub random: Random,
    pub bytes: u64,
    pub records: u64,
    session_id: String,
    leaf: Option<String>,
    prompt_id: String,
    prompts: u64,
    model: &'static str,
    now: Timestamp,
}

impl<'a> Chain<'a> {
    pub fn new(out: &'a mut dyn Write, seed: u64) -> Self {
        Self {
            out,
            random: Random::new(seed),
            bytes: 0,
            records: 0,
            session_id: format!("00000000-0000-4000-8000-{seed:012x}"),
            leaf: None,
            prompt_id: String::new(),
            prompts: 0,
            model: MODELS[0],
            now: START,
        }
    }

    /// The record that the next one will be a child of.
    pub fn leaf(&self) -> Option<String> {
        self.leaf.clone()
    }

    /// Goes on from an earlier record; what came after it stays as a branch.
    pub fn rewind(&mut self, leaf: Option<String>) {
        self.leaf = leaf;
    }

    /// A record outside the chain.
    pub fn loose(&mut self, mut record: Value) -> io::Result<()> {
        record["sessionId"] = json!(self.session_id);
        self.line(&record)
    }

    pub fn prompt(&mut self, text: &str) -> io::Result<()> {
        self.prompts += 1;
        self.prompt_id = self.random.uuid();
        let message_id = self.random.uuid();
        let snapshot = json!({"messageId": message_id, "trackedFileBackups": {}, "timestamp": self.now.to_rfc3339()});
        self.loose(json!({"type": "file-history-snapshot", "messageId": message_id, "snapshot": snapshot}))?;
        self.pass(60_000);
        let fields = json!({
            "promptId": self.prompt_id, "type": "user", "message": {"role": "user", "content": text},
            "permissionMode": "default", "origin": {"kind": "human"}, "promptSource": "typed", "turnOrigin": "human",
            "turnPosition": {"promptIndex": self.prompts, "turnIndex": self.prompts},
        });
        self.chained(fields, Some(message_id)).map(drop)
    }

    /// One answer of the model: a record for each block. Returns their ids.
    pub fn assistant(&mut self, blocks: Vec<Value>) -> io::Result<Vec<String>> {
        let id = format!("msg_{:016x}", self.random.next());
        let request = self.random.uuid();
        let last = blocks.len().saturating_sub(1);
        let usage = json!({
            "input_tokens": self.random.range(2, 40), "cache_creation_input_tokens": self.random.range(0, 4000),
            "cache_read_input_tokens": self.random.range(10_000, 150_000),
            "output_tokens": self.random.range(20, 900), "service_tier": "standard",
        });
        let mut uuids = Vec::new();
        for (at, block) in blocks.into_iter().enumerate() {
            self.pass(4000);
            let stop = (at == last).then(|| if block["type"] == "tool_use" { "tool_use" } else { "end_turn" });
            let message = json!({
                "id": id, "type": "message", "role": "assistant", "model": self.model, "content": [block],
                "stop_reason": stop, "stop_sequence": null, "usage": usage,
            });
            let fields = json!({
                "message": message, "apiBlockIndex": at, "requestRef": request, "requestedModel": MODELS[0],
                "type": "assistant", "effort": "medium",
            });
            uuids.push(self.chained(fields, None)?);
        }
        Ok(uuids)
    }

    pub fn tool_result(&mut self, id: &str, content: Value, failed: bool, fields: Value) -> io::Result<()> {
        self.pass(8000);
        let block = json!({"tool_use_id": id, "type": "tool_result", "content": content, "is_error": failed});
        let mut record = json!({
            "promptId": self.prompt_id, "type": "user", "message": {"role": "user", "content": [block]},
        });
        merge(&mut record, fields);
        self.chained(record, None).map(drop)
    }

    pub fn system(&mut self, subtype: &str, fields: Value) -> io::Result<()> {
        let mut record = json!({"type": "system", "subtype": subtype, "isMeta": false});
        merge(&mut record, fields);
        self.chained(record, None).map(drop)
    }

    pub fn api_error(&mut self, attempt: usize) -> io::Result<()> {
        self.pass(2000);
        let error = json!({"status": 529, "message": "Overloaded", "formatted": "529 Overloaded"});
        let fields = json!({
            "level": "error", "error": error, "retryInMs": 600 * attempt, "retryAttempt": attempt, "maxRetries": 10,
        });
        self.system("api_error", fields)
    }

    /// The model that answers changes.
    pub fn fallback(&mut self) -> io::Result<()> {
        let from = self.model;
        self.model = if from == MODELS[0] { MODELS[1] } else { MODELS[0] };
        let fields = json!({
            "content": format!("Switched to {} due to high demand for {from}", self.model), "level": "warning",
            "trigger": "overloaded", "originalModel": from, "fallbackModel": self.model,
        });
        self.system("model_fallback", fields)
    }

    pub fn interruption(&mut self) -> io::Result<()> {
        let block = json!({"type": "text", "text": "[Request interrupted by user]"});
        let fields = json!({
            "promptId": self.prompt_id, "type": "user", "message": {"role": "user", "content": [block]},
            "rowSource": "harness",
        });
        self.chained(fields, None).map(drop)
    }

    /// A new root that says what it follows, and the summary that the model goes on from.
    pub fn compaction(&mut self, summary: &str) -> io::Result<()> {
        let logical = self.leaf.take();
        let metadata = json!({"trigger": "auto", "preTokens": 168_000, "postTokens": 9000, "durationMs": 41_000});
        let fields = json!({
            "logicalParentUuid": logical, "content": "Conversation compacted", "level": "info",
            "compactMetadata": metadata,
        });
        self.system("compact_boundary", fields)?;
        let text = format!("This session is being continued from a previous conversation.\n\n{summary}");
        let fields = json!({
            "type": "user", "message": {"role": "user", "content": text}, "isCompactSummary": true,
            "isVisibleInTranscriptOnly": true,
        });
        self.chained(fields, None).map(drop)
    }

    /// Writes a record of the chain and returns its id.
    fn chained(&mut self, fields: Value, uuid: Option<String>) -> io::Result<String> {
        let uuid = uuid.unwrap_or_else(|| self.random.uuid());
        let mut record = json!({"parentUuid": self.leaf, "isSidechain": false});
        merge(&mut record, fields);
        merge(
            &mut record,
            json!({
                "uuid": uuid, "timestamp": self.now.to_rfc3339(), "session_id": self.session_id,
                "userType": "external", "entrypoint": "cli", "cwd": "/home/user/shop",
                "sessionId": self.session_id, "version": "2.1.332", "gitBranch": "main",
            }),
        );
        self.line(&record)?;
        self.leaf = Some(uuid.clone());
        Ok(uuid)
    }

    fn line(&mut self, record: &Value) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        self.bytes += line.len() as u64;
        self.records += 1;
        self.out.write_all(&line)
    }

    /// Lets up to so many milliseconds pass.
    fn pass(&mut self, limit_ms: usize) {
        self.now.0 += self.random.range(1, limit_ms) as i64;
    }
}

fn merge(record: &mut Value, fields: Value) {
    if let (Value::Object(record), Value::Object(fields)) = (record, fields) {
        record.extend(fields);
    }
}
