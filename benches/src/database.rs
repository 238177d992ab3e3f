//! What reading a database costs a program that does nothing with it.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

fn open(path: &Path) -> Result<Connection> {
    Ok(Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)
}

/// Selects what a list shows of all sessions.
pub fn select_sessions(path: &Path) -> Result<()> {
    let connection = open(path)?;
    let mut select = connection.prepare("SELECT id, title, model, last_activity_at FROM sessions")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        std::hint::black_box(row.get::<_, String>(0)?);
        std::hint::black_box(row.get::<_, Option<String>>(1)?);
    }
    Ok(())
}

/// The session that was worked on last.
pub fn last_session(path: &Path) -> Result<String> {
    let query = "SELECT id FROM sessions ORDER BY last_activity_at DESC LIMIT 1";
    Ok(open(path)?.query_row(query, [], |row| row.get(0))?)
}

/// Selects the messages of that session, and parses and drops each.
pub fn select_rows(path: &Path) -> Result<()> {
    let session = last_session(path)?;
    let connection = open(path)?;
    let mut select =
        connection.prepare("SELECT chat_message FROM message_nodes WHERE session_id = ?1 ORDER BY node_id")?;
    let mut rows = select.query([session])?;
    while let Some(row) = rows.next()? {
        let value: Value = serde_json::from_str(row.get_ref(0)?.as_str()?)?;
        std::hint::black_box(&value);
    }
    Ok(())
}
