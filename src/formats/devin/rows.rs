//! Reading the rows of one session.

use std::collections::HashMap;

use rusqlite::{Connection, Row};

use super::calls::CallState;
use super::chain::{Forest, Node};
use super::recorded::{Recorded, RowMetadata, object};
use super::tables::{Table, integer, next, text, time};
use crate::model::{Locator, Problem, ProblemKind, Report, Timestamp};
use crate::store::{Fault, Watch};

/// The newest layout that this reader was written for.
const NEWEST_VERSION: i64 = 17;
/// Longer messages are reported, not read, in bytes.
const MAX_MESSAGE_BYTES: i64 = 256 * 1024 * 1024;
/// No session has more messages: each takes some hundred bytes of memory.
const MAX_NODES: usize = 1_000_000;

/// The row of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionRow {
    pub id: String,
    pub title: Option<String>,
    pub cwd: Option<String>,
    pub model: Option<String>,
    pub created_at: Option<Timestamp>,
    pub last_activity_at: Option<Timestamp>,
    pub head: Option<i64>,
    pub workspace_dirs: Vec<String>,
    pub mode: Option<String>,
    pub is_hidden: bool,
    /// There are messages of this session, but no row about it.
    pub is_ghost: bool,
}

/// Everything that is kept of a session in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub session: SessionRow,
    pub forest: Forest,
    pub states: HashMap<String, CallState>,
    /// The newest messages of subagents, by their ids.
    pub agent_heads: Vec<(String, i64)>,
    pub report: Report,
}

/// The tables of the database that hold sessions.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub sessions: Table,
    pub nodes: Table,
    states: Table,
    heads: Table,
    pub version: Option<i64>,
}

impl Layout {
    pub fn probe(connection: &Connection) -> Result<Self, Fault> {
        let history = Table::probe(connection, "refinery_schema_history")?;
        let version = if history.has("version") {
            connection.query_row("SELECT max(version) FROM refinery_schema_history", [], |row| {
                Ok(integer(row, 0).ok().flatten())
            })?
        } else {
            None
        };
        Ok(Self {
            sessions: Table::probe(connection, "sessions")?,
            nodes: Table::probe(connection, "message_nodes")?,
            states: Table::probe(connection, "tool_call_state")?,
            heads: Table::probe(connection, "subagent_heads")?,
            version,
        })
    }

    /// Why no session of it can be read; `None` when they can.
    pub fn refusal(&self) -> Option<&'static str> {
        if self.version.is_some_and(|version| version < 5) {
            return Some(
                "the database is of a version of Devin before the fifth layout, which this reader does not know",
            );
        }
        let nodes = self.nodes.has_all(&["session_id", "node_id", "parent_node_id", "chat_message"]);
        let is_readable = self.sessions.has("id") && nodes;
        (!is_readable).then_some("the database lacks the tables or columns that hold Devin's sessions")
    }

    /// A session's own row; `None` when there is none.
    pub fn session(&self, connection: &Connection, id: &str) -> Result<Option<SessionRow>, Fault> {
        let query = format!("SELECT {} FROM sessions WHERE id = ?1", self.session_columns());
        let mut statement = connection.prepare(&query)?;
        let mut rows = statement.query([id])?;
        next(&mut rows)?.map(session_row).transpose()
    }

    /// The rows of all sessions.
    pub fn sessions(&self, connection: &Connection) -> Result<Vec<SessionRow>, Fault> {
        let mut statement = connection.prepare(&format!("SELECT {} FROM sessions", self.session_columns()))?;
        let mut rows = statement.query([])?;
        let mut sessions = Vec::new();
        while let Some(row) = next(&mut rows)? {
            sessions.push(session_row(row)?);
        }
        Ok(sessions)
    }

    fn session_columns(&self) -> String {
        self.sessions.select(&[
            "id",
            "title",
            "working_directory",
            "model",
            "created_at",
            "last_activity_at",
            "main_chain_id",
            "workspace_dirs",
            "hidden",
            "agent_mode",
        ])
    }

    /// The ids of sessions that have messages.
    pub fn ids_of_messages(&self, connection: &Connection) -> Result<Vec<String>, Fault> {
        // Answered from the index alone: no message is touched.
        let mut statement = connection.prepare("SELECT DISTINCT session_id FROM message_nodes")?;
        let mut rows = statement.query([])?;
        let mut ids = Vec::new();
        while let Some(row) = next(&mut rows)? {
            ids.extend(text(row, 0)?);
        }
        Ok(ids)
    }

    /// Everything of one session.
    pub fn read(&self, connection: &Connection, id: &str, watch: Watch<'_>) -> Result<Rows, Fault> {
        let session = self.session(connection, id)?;
        let is_ghost = session.is_none();
        let session = session.unwrap_or_else(|| SessionRow { id: id.to_owned(), is_ghost, ..SessionRow::default() });
        let mut rows = Rows { session, ..Rows::default() };
        if self.version.is_some_and(|version| version > NEWEST_VERSION) {
            let version = self.version.unwrap_or_default();
            let message = format!("the database has layout {version}; this reader knows those up to {NEWEST_VERSION}");
            rows.report.notice(about_file(message));
        }
        if is_ghost {
            rows.report.notice(about_file("the session's own row is missing: only its messages are there".to_owned()));
        }
        self.read_nodes(connection, id, watch, &mut rows)?;
        self.read_states(connection, id, &mut rows)?;
        self.read_heads(connection, id, &mut rows)?;
        Ok(rows)
    }

    fn read_nodes(&self, connection: &Connection, id: &str, watch: Watch<'_>, rows: &mut Rows) -> Result<(), Fault> {
        let counted = "SELECT count(*) FROM message_nodes WHERE session_id = ?1";
        let total: i64 = connection.query_row(counted, [id], |row| row.get(0))?;
        let total = u64::try_from(total).unwrap_or(0);
        let query = format!(
            "SELECT {}, node_id, {}, octet_length(chat_message), \
             CASE WHEN octet_length(chat_message) <= {MAX_MESSAGE_BYTES} THEN chat_message END \
             FROM message_nodes WHERE session_id = ?1 ORDER BY node_id",
            self.nodes.row(),
            self.nodes.select(&["parent_node_id", "metadata"])
        );
        let mut statement = connection.prepare(&query)?;
        let mut found = statement.query([id])?;
        let mut done = 0;
        loop {
            watch.step(done, total)?;
            let row = match found.next() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                Err(error) => {
                    rows.stopped(error, "messages")?;
                    break;
                }
            };
            done += 1;
            if rows.forest.nodes.len() >= MAX_NODES {
                let message = format!("the session has {total} messages; the first {MAX_NODES} are read");
                rows.report.notice(about_file(message));
                break;
            }
            rows.take_node(row)?;
        }
        Ok(())
    }

    fn read_states(&self, connection: &Connection, id: &str, rows: &mut Rows) -> Result<(), Fault> {
        if !self.states.has_all(&["session_id", "tool_call_id"]) {
            return Ok(());
        }
        let columns = self.states.select(&["tool_call_id", "tool_call_json", "tool_call_update_json"]);
        let query = format!("SELECT {columns}, {} FROM tool_call_state WHERE session_id = ?1", self.states.row());
        let mut statement = connection.prepare(&query)?;
        let mut found = statement.query([id])?;
        loop {
            let row = match found.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(()),
                Err(error) => return rows.stopped(error, "states of tool calls"),
            };
            let at = integer(row, 3)?.unwrap_or_default();
            let (call, update) = (text(row, 1)?, text(row, 2)?);
            let Some(call_id) = text(row, 0)? else {
                rows.problem(at, ProblemKind::Unreadable, "a state of a tool call without the call's id".to_owned());
                continue;
            };
            match CallState::read(call.as_deref(), update.as_deref()) {
                Some(state) => {
                    rows.report.records.count_read();
                    rows.states.insert(call_id, state);
                }
                None => {
                    let message = "the state of a tool call is not a JSON object".to_owned();
                    rows.problem(at, ProblemKind::Unreadable, message);
                }
            }
        }
    }

    fn read_heads(&self, connection: &Connection, id: &str, rows: &mut Rows) -> Result<(), Fault> {
        if !self.heads.has_all(&["session_id", "agent_id", "chain_node_id"]) {
            return Ok(());
        }
        let row = self.heads.row();
        let query = format!("SELECT agent_id, chain_node_id, {row} FROM subagent_heads WHERE session_id = ?1");
        let mut statement = connection.prepare(&query)?;
        let mut found = statement.query([id])?;
        loop {
            let row = match found.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(()),
                Err(error) => return rows.stopped(error, "heads of subagents"),
            };
            match (text(row, 0)?, integer(row, 1)?) {
                (Some(agent), Some(head)) => {
                    rows.report.records.count_read();
                    rows.agent_heads.push((agent, head));
                }
                _ => {
                    let at = integer(row, 2)?.unwrap_or_default();
                    rows.problem(at, ProblemKind::Unreadable, "a subagent's head without id or node".to_owned());
                }
            }
        }
    }
}

impl Rows {
    fn take_node(&mut self, row: &Row<'_>) -> Result<(), Fault> {
        let at = integer(row, 0)?.unwrap_or_default();
        let Some(id) = integer(row, 1)? else {
            self.problem(at, ProblemKind::Unreadable, "the message's node_id is no number".to_owned());
            return Ok(());
        };
        if self.forest.nodes.last().is_some_and(|last| last.id == id) {
            self.problem(at, ProblemKind::Duplicate, format!("node {id} is there once more"));
            return Ok(());
        }
        let mut spare = String::new();
        let about = text(row, 3)?.unwrap_or_default();
        let about = object::<RowMetadata>(&about, &mut spare).map(|(about, _)| about).unwrap_or_default();
        let message = match text(row, 5)? {
            Some(recorded) => {
                let mut spare = String::new();
                let read = object::<Recorded>(&recorded, &mut spare);
                read.map(|(message, repair)| (message.envelope(), repair))
            }
            None => None,
        };
        match &message {
            Some((_, repair)) => {
                self.report.records.count_read();
                if let Some(repair) = repair {
                    self.problem(at, ProblemKind::Repaired, format!("node {id}: {repair}"));
                }
            }
            None => {
                let is_huge = integer(row, 4)?.is_some_and(|len| len > MAX_MESSAGE_BYTES);
                let what = if is_huge { "is longer than 256 MiB" } else { "is not a JSON object" };
                self.problem(at, ProblemKind::Unreadable, format!("node {id}: chat_message {what}"));
            }
        }
        self.forest.nodes.push(Node {
            id,
            parent: integer(row, 2)?,
            row: at,
            summarized_from: about.summarized_from.and_then(|from| from.0),
            is_prefix: about.is_system_prefix.0,
            tokens_before: about.num_tokens_preceding.0,
            message: message.map(|(message, _)| message),
        });
        Ok(())
    }

    /// Notes a problem of a row, and counts the row where the kind is a fate of it.
    fn problem(&mut self, row: i64, kind: ProblemKind, message: String) {
        self.report.records.count(kind);
        self.report.push(Problem { locator: Locator::Row(row), offset: None, kind, message, file: None });
    }

    /// Notes that a table ends early because the database is damaged; other errors are handed on.
    fn stopped(&mut self, error: rusqlite::Error, what: &str) -> Result<(), Fault> {
        use rusqlite::ErrorCode::{DatabaseCorrupt, SystemIoFailure, TooBig};
        if !matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | SystemIoFailure | TooBig)) {
            return Err(error.into());
        }
        self.report.records.count(ProblemKind::Torn);
        self.report.notice(Problem {
            kind: ProblemKind::Torn,
            ..about_file(format!("the database is damaged: the {what} end early, and more may be missing"))
        });
        Ok(())
    }
}

pub(super) fn about_file(message: String) -> Problem {
    let locator = Locator::Key("sessions.db".to_owned());
    Problem { locator, offset: None, kind: ProblemKind::Structure, message, file: None }
}

fn session_row(row: &Row<'_>) -> Result<SessionRow, Fault> {
    let full = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let folders = text(row, 7)?.and_then(|text| serde_json::from_str::<Vec<String>>(&text).ok()).unwrap_or_default();
    Ok(SessionRow {
        id: text(row, 0)?.unwrap_or_default(),
        title: full(text(row, 1)?),
        cwd: full(text(row, 2)?),
        model: full(text(row, 3)?),
        created_at: time(row, 4)?,
        last_activity_at: time(row, 5)?,
        head: integer(row, 6)?,
        workspace_dirs: folders,
        is_hidden: integer(row, 8)?.is_some_and(|hidden| hidden != 0),
        mode: full(text(row, 9)?),
        is_ghost: false,
    })
}
