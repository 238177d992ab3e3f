//! The desktop program's list of its copies, in the database of its settings.
//!
//! That database also holds tokens and personal data: it is asked for the keys of these three kinds and for no others.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::Value;

use super::tables::{Table, moment, text};
use crate::formats::{Listed, OpenError, SessionRef};
use crate::model::{FormatName, Timestamp};
use crate::store::{Database, Fault};

const COPY: &str = "windsurf.acp.messageStore.session.acp/";
const INFORMATION: &str = "windsurf.acp.sessioninfo.session.acp/";
const WORKSPACE: &str = "windsurfSpace.sessionWorkspace/";
/// Longer values are passed over, in bytes.
const MAX_VALUE_BYTES: i64 = 1024 * 1024;
/// No program keeps more.
const MAX_KEYS: usize = 10_000;

/// Where a copy of a session is, and what the list says of the session.
#[derive(Clone, Debug)]
pub(super) struct Pointer {
    pub session_id: String,
    pub copy: PathBuf,
    pub title: Option<String>,
    pub cwd: Option<String>,
    pub updated_at: Option<Timestamp>,
    /// The list itself.
    path: PathBuf,
}

impl Pointer {
    /// One line about its session; `None` when the copy is not there any more.
    pub fn listed(&self) -> Option<Listed> {
        self.copy.is_file().then(|| {
            let paths = vec![self.copy.clone(), self.path.clone()];
            let reference = SessionRef { paths, key: Some(self.session_id.clone()) };
            let listed = Listed::new(reference, FormatName::DevinDesktop);
            Listed {
                title: self.title.clone(),
                cwd: self.cwd.clone(),
                ended_at: self.updated_at.or(listed.ended_at),
                ..listed
            }
        })
    }
}

/// Whether a settings database knows of sessions.
pub(super) fn has_any(path: &Path) -> bool {
    let any = |connection: &Connection| -> Result<bool, Fault> {
        for prefix in [COPY, INFORMATION, WORKSPACE] {
            if !values(connection, prefix, 1)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    };
    Database::new(path).read(any).unwrap_or(false)
}

/// The sessions that a settings database knows of, where their copies are.
pub(super) fn read(path: &Path) -> Result<Vec<Pointer>, OpenError> {
    let [copies, information, workspaces] = Database::new(path).read(|connection| {
        Ok([
            values(connection, COPY, MAX_KEYS)?,
            values(connection, INFORMATION, MAX_KEYS)?,
            values(connection, WORKSPACE, MAX_KEYS)?,
        ])
    })?;
    let by_session = |values: Vec<(String, Value)>| -> HashMap<String, Value> { values.into_iter().collect() };
    let (information, workspaces) = (by_session(information), by_session(workspaces));
    let Some(folder) = path.parent().and_then(Path::parent).map(|user| user.join("acp-messages")) else {
        return Ok(Vec::new());
    };
    let pointers = copies.into_iter().filter_map(|(key, value)| {
        let uuid = value.get("uuid")?.as_str().filter(|uuid| is_plain(uuid))?;
        let about = information.get(&key).and_then(|value| value.get("info"));
        let told = |name: &str| about.and_then(|about| about.get(name)?.as_str()).map(str::to_owned);
        let workspace = || {
            let folders = workspaces.get(&key).or_else(|| workspaces.get(&format!("acp/{key}")))?.get("folders")?;
            folders.get(0)?.as_str()?.strip_prefix("file://").map(str::to_owned)
        };
        Some(Pointer {
            session_id: key.split_once('/').map_or(key.as_str(), |(_, id)| id).to_owned(),
            copy: folder.join(format!("{uuid}.db")),
            title: told("title").filter(|title| !title.trim().is_empty()),
            cwd: told("cwd").or_else(workspace),
            updated_at: value.get("lastUpdated").and_then(Value::as_i64).map(moment),
            path: path.to_owned(),
        })
    });
    Ok(pointers.collect())
}

/// An id that names a file and leads nowhere else.
fn is_plain(uuid: &str) -> bool {
    (8..=64).contains(&uuid.len()) && uuid.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// The values of keys that begin so, by the rest of the key.
fn values(connection: &Connection, prefix: &str, limit: usize) -> Result<Vec<(String, Value)>, Fault> {
    if !Table::probe(connection, "ItemTable")?.has_all(&["key", "value"]) {
        return Ok(Vec::new());
    }
    // A prefix as a range of keys, which the index answers: no other value is touched.
    let mut end = prefix.to_owned();
    end.pop();
    end.push('0');
    let query = format!(
        "SELECT key, value FROM ItemTable \
         WHERE key >= ?1 AND key < ?2 AND octet_length(value) <= {MAX_VALUE_BYTES} LIMIT {limit}"
    );
    let mut statement = connection.prepare(&query)?;
    let mut rows = statement.query([prefix, end.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (Some(key), Some(value)) = (text(row, 0)?, text(row, 1)?) else { continue };
        if let (Some(rest), Ok(value)) = (key.strip_prefix(prefix), serde_json::from_str(&value)) {
            found.push((rest.to_owned(), value));
        }
    }
    Ok(found)
}
