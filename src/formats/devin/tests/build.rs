//! Databases made by hand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::formats::devin::stored::{self, Stored};
use crate::formats::{Patient, Recording, SessionRef, open_session};

/// The tables that sessions need, as the newest layout has them.
pub(super) const TABLES: &str = "
    CREATE TABLE sessions(id TEXT PRIMARY KEY, working_directory TEXT, model TEXT, agent_mode TEXT, created_at INTEGER,
        last_activity_at INTEGER, title TEXT, main_chain_id INTEGER, workspace_dirs TEXT, hidden INTEGER DEFAULT 0);
    CREATE TABLE message_nodes(row_id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, node_id INTEGER,
        parent_node_id INTEGER, chat_message TEXT, created_at INTEGER, metadata TEXT, UNIQUE(session_id, node_id));
    CREATE INDEX by_session ON message_nodes(session_id);
    CREATE TABLE tool_call_state(session_id TEXT, tool_call_id TEXT, tool_call_json TEXT, tool_call_update_json TEXT,
        PRIMARY KEY(session_id, tool_call_id));
    CREATE TABLE subagent_heads(session_id TEXT, agent_id TEXT, chain_node_id INTEGER, updated_at INTEGER,
        PRIMARY KEY(session_id, agent_id));
    CREATE TABLE refinery_schema_history(version int4 PRIMARY KEY, name TEXT);
    INSERT INTO refinery_schema_history VALUES(17, 'subagent_heads');";

/// A database with one session, `s`.
pub(super) struct Made {
    pub folder: tempfile::TempDir,
    pub connection: Connection,
}

impl Made {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join("sessions.db")).unwrap();
        // A test's database need not survive a power cut.
        connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY").unwrap();
        connection.execute_batch(TABLES).unwrap();
        let made = Self { folder, connection };
        made.session("s", 1_793_000_000);
        made
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("sessions.db")
    }

    pub fn session(&self, id: &str, created_at: i64) {
        let row = "INSERT INTO sessions(id, working_directory, model, created_at, last_activity_at) VALUES(?1, ?2, 'm', ?3, ?3)";
        let cwd = self.folder.path().join("ws").to_string_lossy().into_owned();
        self.connection.execute(row, (id, cwd, created_at)).unwrap();
    }

    pub fn head(&self, head: Option<i64>) {
        self.connection.execute("UPDATE sessions SET main_chain_id = ?1 WHERE id = 's'", [head]).unwrap();
    }

    /// A message of the session `s`; its id is `m` and the node's, unless it has another.
    pub fn node(&self, id: i64, parent: Option<i64>, message: Value) -> &Self {
        self.node_with(id, parent, message, &json!({}))
    }

    pub fn node_with(&self, id: i64, parent: Option<i64>, mut message: Value, row: &Value) -> &Self {
        let fields = message.as_object_mut().unwrap();
        fields.entry("message_id").or_insert(format!("m{id}").into());
        let metadata = fields.entry("metadata").or_insert(json!({})).as_object_mut().unwrap();
        let minutes = id.rem_euclid(60);
        metadata.entry("created_at").or_insert(format!("2026-10-26T07:{minutes:02}:00Z").into());
        self.raw_in("s", id, parent, &message.to_string(), &row.to_string());
        self
    }

    pub fn raw_in(&self, session: &str, id: i64, parent: Option<i64>, message: &str, row: &str) {
        let insert = "INSERT INTO message_nodes(session_id, node_id, parent_node_id, chat_message, metadata) VALUES(?1, ?2, ?3, ?4, ?5)";
        self.connection.execute(insert, (session, id, parent, message, row)).unwrap();
    }

    /// A chain of messages with the ids 0, 1, 2 and so on, the last of which is the head.
    pub fn chain(messages: &[Value]) -> Self {
        let made = Self::new();
        for (id, message) in (0..).zip(messages) {
            made.node(id, (id > 0).then_some(id - 1), message.clone());
        }
        made.head(i64::try_from(messages.len()).ok().map(|len| len - 1));
        made
    }

    pub fn state(&self, call: &str, update: &Value) {
        let row = "INSERT INTO tool_call_state VALUES('s', ?1, '{}', ?2)";
        self.connection.execute(row, (call, update.to_string())).unwrap();
    }

    pub fn open(&self) -> Arc<dyn Recording> {
        opened(&self.path(), "s")
    }

    pub fn stored(&self) -> Stored {
        stored(&self.path(), "s")
    }
}

pub(super) fn opened(path: &Path, id: &str) -> Arc<dyn Recording> {
    let reference = SessionRef { paths: vec![path.to_owned()], key: Some(id.to_owned()) };
    open_session(&reference, &Patient).unwrap()
}

pub(super) fn stored(path: &Path, id: &str) -> Stored {
    stored::open(path, id, &Patient).unwrap()
}

pub(super) fn system(text: &str) -> Value {
    json!({"role": "system", "content": text})
}

pub(super) fn prompt(text: &str) -> Value {
    json!({"role": "user", "content": text, "metadata": {"is_user_input": true, "telemetry": {"source": "user"}}})
}

pub(super) fn answer(text: &str) -> Value {
    reply(text, "swe", &[])
}

/// An answer by a model, with calls as `(id, tool, arguments)`.
pub(super) fn reply(text: &str, model: &str, calls: &[(&str, &str, Value)]) -> Value {
    let calls: Vec<Value> =
        calls.iter().map(|(id, name, arguments)| json!({"id": id, "name": name, "arguments": arguments})).collect();
    json!({"role": "assistant", "content": text, "tool_calls": calls, "metadata": {
        "generation_model": model,
        "finish_reason": if calls.is_empty() { "stop" } else { "tool_calls" },
        "metrics": {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 2},
    }})
}

pub(super) fn call(id: &str, tool: &str) -> Value {
    reply("", "swe", &[(id, tool, json!({"command": "ls"}))])
}

pub(super) fn asks(id: &str, question: &str) -> (String, Value) {
    let options = json!([{"label": "A"}, {"label": "B"}]);
    (id.to_owned(), json!({"questions": [{"question": question, "options": options}]}))
}

pub(super) fn question(calls: &[(String, Value)]) -> Value {
    let calls: Vec<_> = calls.iter().map(|(id, asked)| (id.as_str(), "ask_user_question", asked.clone())).collect();
    reply("", "swe", &calls)
}

pub(super) fn result(call: &str, text: &str, extensions: Value) -> Value {
    json!({"role": "tool", "content": text, "tool_call_id": call, "metadata": {"extensions": extensions}})
}

pub(super) fn chose(call: &str, label: &str) -> Value {
    let answers = json!({"answers": [{"question_index": 0, "selected": [label]}]});
    result(call, "User answered", json!({"chisel/user_question_answers": answers}))
}
