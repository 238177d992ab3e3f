//! Writes what the other systems keep, at size: a database of Devin's with many sessions, an Outpost journal.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::prose;
use crate::random::Random;

/// What was written into a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseSummary {
    pub sessions: u64,
    /// Prompts of one session; all have the same number.
    pub steps: u64,
}

/// The tables of schema version 17 that hold sessions, as the agent's migrations leave them.
const SCHEMA: &str = "
CREATE TABLE sessions(id TEXT PRIMARY KEY, working_directory TEXT NOT NULL, backend_type TEXT NOT NULL,
  model TEXT NOT NULL, agent_mode TEXT NOT NULL, created_at INTEGER NOT NULL, last_activity_at INTEGER NOT NULL,
  title TEXT, main_chain_id INTEGER, shell_last_seen_index INTEGER DEFAULT 0, cogs_json TEXT, workspace_dirs TEXT,
  hidden INTEGER NOT NULL DEFAULT 0, metadata TEXT);
CREATE TABLE message_nodes(row_id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
  node_id INTEGER NOT NULL, parent_node_id INTEGER, chat_message TEXT NOT NULL, created_at INTEGER NOT NULL,
  metadata TEXT, UNIQUE(session_id, node_id));
CREATE TABLE tool_call_state(session_id TEXT NOT NULL, tool_call_id TEXT NOT NULL, tool_call_json TEXT,
  tool_call_update_json TEXT, PRIMARY KEY(session_id, tool_call_id));
CREATE TABLE subagent_heads(session_id TEXT NOT NULL, agent_id TEXT NOT NULL, chain_node_id INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, PRIMARY KEY(session_id, agent_id));
CREATE TABLE refinery_schema_history(version INTEGER PRIMARY KEY, name TEXT, applied_on TEXT, checksum TEXT);
INSERT INTO refinery_schema_history VALUES (17, 'subagent_heads', '2026-09-14T00:00:00Z', '0');
CREATE INDEX idx_message_nodes_session ON message_nodes(session_id);
";

/// Writes a database of about so many bytes, the rows of its sessions mixed as they are where sessions run side by side.
pub fn write_database(path: &Path, bytes: u64, sessions: u64, seed: u64) -> Result<DatabaseSummary> {
    let mut random = Random::new(seed);
    let mut connection = Connection::open(path)?;
    connection.execute_batch(SCHEMA)?;
    let share = bytes / sessions.max(1);
    // A turn is a prompt, three calls with their results, and an answer.
    let result_bytes = 8_000_usize;
    let turns = (share / (3 * result_bytes as u64 + 6_000)).max(1);
    let transaction = connection.transaction()?;
    for number in 0..sessions {
        let at = 1_790_000_000 + i64::try_from(number)? * 3_600;
        let last = i64::try_from(turns * 8)? - 1;
        transaction.execute(
            "INSERT INTO sessions(id, working_directory, backend_type, model, agent_mode, created_at, last_activity_at,
             title, main_chain_id, hidden) VALUES (?1, '/home/ada/shop', 'windsurf', 'swe-1-6', 'accept-edits', ?2, ?3, ?4, ?5, 0)",
            params![format!("session-{number}"), at, at + 3_000, prose::sentence(&mut random, 12), last],
        )?;
    }
    let mut insert = transaction.prepare(
        "INSERT INTO message_nodes(session_id, node_id, parent_node_id, chat_message, created_at, metadata)
         VALUES (?1, ?2, ?3, ?4, ?5, 'null')",
    )?;
    for turn in 0..turns {
        for number in 0..sessions {
            let at = 1_790_000_000 + i64::try_from(number * 3_600 + turn * 20)?;
            for (offset, message) in turn_of(&mut random, at, result_bytes).into_iter().enumerate() {
                let node = i64::try_from(turn * 8)? + i64::try_from(offset)?;
                let parent = (node > 0).then_some(node - 1);
                insert.execute(params![format!("session-{number}"), node, parent, message.to_string(), at])?;
            }
        }
    }
    drop(insert);
    transaction.commit()?;
    Ok(DatabaseSummary { sessions, steps: turns })
}

/// Eight messages.
fn turn_of(random: &mut Random, at: i64, result_bytes: usize) -> Vec<Value> {
    let time = |after: i64| format!("2026-09-22T{:02}:{:02}:{:02}Z", at / 3_600 % 24, at / 60 % 60, (at + after) % 60);
    let prompt = random.uuid();
    let mut messages = vec![json!({
        "message_id": prompt, "role": "user", "content": prose::sentence(random, 12),
        "metadata": {"is_user_input": true, "created_at": time(0), "telemetry": {"source": "user"},
                     "extensions": {"chisel/client-message-id": prompt}},
    })];
    for call in 0..3 {
        let id = format!("call_{:016x}", random.next());
        messages.push(json!({
            "message_id": random.uuid(), "role": "assistant", "content": prose::sentence(random, 12),
            "tool_calls": [{"id": id, "name": "exec", "index": 0, "kind": "function",
                            "arguments": {"command": format!("cargo test {call}")}}],
            "metadata": {"created_at": time(1), "generation_model": "swe-1-6", "finish_reason": "tool_calls",
                         "metrics": {"input_tokens": 900, "output_tokens": 60, "cache_read_tokens": 700}},
        }));
        messages.push(json!({
            "message_id": random.uuid(), "role": "tool", "tool_call_id": id, "content": random.base64(result_bytes),
            "metadata": {"created_at": time(2), "telemetry": {"source": "tool_result"},
                         "extensions": {"chisel/tool_result_meta": {"success": true, "kind": "text"}}},
        }));
    }
    messages.push(json!({
        "message_id": random.uuid(), "role": "assistant", "content": prose::sentence(random, 12),
        "metadata": {"created_at": time(3), "generation_model": "swe-1-6", "finish_reason": "stop"},
    }));
    messages
}

/// Writes a journal of about so many bytes as one array; the number of its turns.
pub fn write_journal(path: &Path, bytes: u64, seed: u64) -> Result<u64> {
    let mut random = Random::new(seed);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (mut written, mut seq, mut turns) = (0_u64, 0_u64, 0_u64);
    let scope = json!({"dispatchId": random.uuid(), "pass": 1});
    let mut entry = |out: &mut dyn Write, kind: &str, mut fields: Value| -> Result<u64> {
        seq += 1;
        let minutes = seq / 60;
        fields["kind"] = json!(kind);
        fields["seq"] = json!(seq);
        fields["at"] = json!(format!("2026-02-03T{:02}:{:02}:{:02}.000Z", minutes / 60 % 24, minutes % 60, seq % 60));
        fields["source"] = json!("agent");
        fields["scope"] = scope.clone();
        let text = format!("{}{fields}", if seq == 1 { "[" } else { ",\n" });
        out.write_all(text.as_bytes())?;
        Ok(text.len() as u64)
    };
    while written < bytes {
        turns += 1;
        written += entry(&mut out, "prompt", json!({"text": prose::sentence(&mut random, 12)}))?;
        for call in 0..6 {
            let id = format!("t{turns}-{call}");
            let command = json!({"command": prose::sentence(&mut random, 12)});
            written += entry(&mut out, "tool", json!({"name": "Bash", "input": command, "callId": id}))?;
            let preview = random.base64(2_000);
            let result =
                json!({"callId": id, "name": "Bash", "isError": false, "preview": preview, "characters": 2_000});
            written += entry(&mut out, "tool-result", result)?;
        }
        written += entry(&mut out, "result", json!({"text": prose::sentence(&mut random, 12)}))?;
        let tokens = json!({"input": 900, "cached": 0, "output": 40});
        written += entry(&mut out, "summary", json!({"durationMs": 2900, "status": 0, "tokens": tokens}))?;
    }
    out.write_all(b"]\n")?;
    out.into_inner()?.sync_all()?;
    Ok(turns)
}
