//! The files of Devin that were opened together, and the sessions in them.
//!
//! A session is in the command line's database; the desktop program keeps a copy of what it showed, and a list of where
//! these copies are. What only a copy knows, or a recording of the protocol between agent and client, is added to the
//! session of the database (see `joined`).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::desktop::{self, Copy};
use super::joined::{self, Other};
use super::pointers::{self, Pointer};
use super::rows::{Layout, SessionRow};
use super::steps;
use super::stored;
use crate::formats::acp;
use crate::formats::{Family, Listed, Observer, OpenError, Part, Recording, SessionRef};
use crate::model::FormatName;
use crate::store::{Database, Fault, ReadError};

pub static FAMILY: Family = Family {
    list: |parts, observer| list(parts, observer).map_err(told),
    open: |parts, key, observer| open(parts, key, observer).map_err(told),
};

/// That reading was called off is told as such.
fn told(error: OpenError) -> OpenError {
    match error {
        OpenError::Read(ReadError::Cancelled(cancelled)) => OpenError::Cancelled(cancelled),
        other => other,
    }
}

/// Copies that are looked at beside a session: the desktop program itself keeps about fifty.
const MAX_COPIES: usize = 200;

/// What was opened, by what it is.
#[derive(Default)]
struct Parts {
    databases: Vec<PathBuf>,
    copies: Vec<PathBuf>,
    lists: Vec<PathBuf>,
    /// Recordings of the protocol between agent and client, Devin's or another agent's.
    recordings: Vec<Part>,
}

impl Parts {
    fn of(parts: &[Part]) -> Self {
        let mut sorted = Self::default();
        for part in parts {
            let list = match part.format.name {
                FormatName::Acp => {
                    sorted.recordings.push(part.clone());
                    continue;
                }
                FormatName::DevinCli => &mut sorted.databases,
                _ if desktop::is_copy(&part.path) => &mut sorted.copies,
                _ => &mut sorted.lists,
            };
            list.push(part.path.clone());
        }
        sorted.copies.truncate(MAX_COPIES);
        sorted
    }

    /// What the lists of the desktop program say of its copies.
    fn pointers(&self) -> Result<Vec<Pointer>, OpenError> {
        let mut found = Vec::new();
        for list in &self.lists {
            found.extend(pointers::read(list)?);
        }
        Ok(found)
    }

    /// The files from which the session of a database is read: the database, and the copies that may be of the session.
    fn of_session(&self, database: &Path) -> Vec<PathBuf> {
        let recordings = self.recordings.iter().map(|part| &part.path);
        let rest = self.copies.iter().chain(&self.lists).chain(recordings).cloned();
        std::iter::once(database.to_owned()).chain(rest).collect()
    }
}

/// The sessions of all parts. A damaged file hides only its own.
fn list(parts: &[Part], observer: &dyn Observer) -> Result<Vec<Listed>, OpenError> {
    let parts = Parts::of(parts);
    let mut listed = Vec::new();
    let mut first_error = None;
    for database in &parts.databases {
        observer.watch().step(0, 0)?;
        match in_database(database, &parts) {
            Ok(sessions) => listed.extend(sessions),
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    let stored: HashSet<String> = listed.iter().filter_map(|session| session.id.clone()).collect();
    let mut copies = HashSet::new();
    for list in &parts.lists {
        match pointers::read(list) {
            Ok(pointers) => {
                copies.extend(pointers.iter().map(|pointer| pointer.copy.clone()));
                let unknown = pointers.iter().filter(|pointer| !stored.contains(&pointer.session_id));
                listed.extend(unknown.filter_map(Pointer::listed));
            }
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    for copy in parts.copies.iter().filter(|copy| !copies.contains(*copy)) {
        observer.watch().step(0, 0)?;
        match desktop::listed(copy) {
            Ok(copy) => listed.push(copy),
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    // A recording of a session that is stored says more about that one.
    let recorded = acp::list(&parts.recordings, observer)?.into_iter();
    listed.extend(recorded.filter(|session| session.id.as_ref().is_none_or(|id| !stored.contains(id))));
    match first_error {
        Some(error) if listed.is_empty() => Err(error),
        _ => Ok(listed),
    }
}

/// The sessions of a database. Their messages are not touched.
fn in_database(path: &Path, parts: &Parts) -> Result<Vec<Listed>, OpenError> {
    let database = Database::new(path);
    let mut refusal = None;
    let (sessions, ids) = database.read(|connection| -> Result<_, Fault> {
        let layout = Layout::probe(connection)?;
        refusal = layout.refusal();
        if refusal.is_some() {
            return Ok(Default::default());
        }
        Ok((layout.sessions(connection)?, layout.ids_of_messages(connection)?))
    })?;
    if let Some(reason) = refusal {
        return Err(OpenError::Empty { reason: reason.to_owned(), path: path.to_owned() });
    }
    // Nothing of a large database is read for a list but what its rows tell of themselves.
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let known: HashSet<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    let ghosts = ids.into_iter().filter(|id| !known.contains(id.as_str()));
    let ghosts = ghosts.map(|id| SessionRow { id, is_ghost: true, ..SessionRow::default() });
    let ghosts: Vec<SessionRow> = ghosts.collect();
    let listed = sessions.iter().chain(&ghosts).map(|session| {
        let reference = SessionRef { paths: parts.of_session(path), key: Some(session.id.clone()) };
        Listed {
            reference,
            format: FormatName::DevinCli,
            id: Some(session.id.clone()),
            title: session.title.clone(),
            cwd: session.cwd.clone(),
            model: session.model.clone(),
            started_at: session.created_at,
            ended_at: session.last_activity_at.or(session.created_at),
            status: session.is_ghost.then(|| "messages without a session".to_owned()),
            is_hidden: session.is_hidden,
            bytes,
        }
    });
    Ok(listed.collect())
}

fn open(parts: &[Part], key: Option<&str>, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let path = parts.first().map(|part| part.path.clone()).unwrap_or_default();
    let sorted = Parts::of(parts);
    let Some(key) = key else {
        if sorted.recordings.len() == parts.len() {
            return acp::open(&sorted.recordings, None, observer);
        }
        let listed = list(parts, observer)?;
        return match listed.as_slice() {
            [] => Err(OpenError::Empty { reason: "there is no session in it".to_owned(), path }),
            [one] => open_listed(&sorted, &one.reference, observer),
            _ => Err(OpenError::Several { path }),
        };
    };
    for database in &sorted.databases {
        if has_session(database, key)? {
            return open_stored(&sorted, database, key, observer);
        }
    }
    let pointers = sorted.pointers()?;
    if let Some(pointer) = pointers.iter().find(|pointer| pointer.session_id == key) {
        return desktop::open(&pointer.copy, Some(pointer), observer);
    }
    let copy = sorted.copies.iter().find(|copy| copy.file_stem().is_some_and(|stem| stem == key));
    match copy {
        Some(copy) => desktop::open(copy, pointers.iter().find(|pointer| pointer.copy == *copy), observer),
        None if !sorted.recordings.is_empty() => acp::open(&sorted.recordings, Some(key), observer),
        None => Err(OpenError::NoSession { wanted: key.to_owned(), path }),
    }
}

fn open_listed(
    sorted: &Parts,
    reference: &SessionRef,
    observer: &dyn Observer,
) -> Result<Arc<dyn Recording>, OpenError> {
    let database = sorted.databases.iter().find(|database| *database == reference.path());
    match (database, &reference.key) {
        (Some(database), Some(key)) => open_stored(sorted, database, key, observer),
        _ if sorted.recordings.iter().any(|part| part.path == reference.path()) => {
            acp::open(&sorted.recordings, reference.key.as_deref(), observer)
        }
        _ => {
            let pointers = sorted.pointers()?;
            let pointer = pointers.iter().find(|pointer| pointer.copy == reference.path());
            desktop::open(reference.path(), pointer, observer)
        }
    }
}

fn has_session(database: &Path, id: &str) -> Result<bool, OpenError> {
    Ok(Database::new(database).read(|connection| {
        let layout = Layout::probe(connection)?;
        if layout.refusal().is_some() {
            return Ok(false);
        }
        let counted = "SELECT EXISTS(SELECT 1 FROM message_nodes WHERE session_id = ?1)";
        Ok(layout.session(connection, id)?.is_some() || connection.query_row(counted, [id], |row| row.get(0))?)
    })?)
}

/// A session of the database, with the copies that the desktop program has of it.
fn open_stored(
    sorted: &Parts,
    database: &Path,
    key: &str,
    observer: &dyn Observer,
) -> Result<Arc<dyn Recording>, OpenError> {
    let stored = stored::open(database, key, observer)?;
    let prompts: HashSet<String> = (stored.assembled.anchors.iter())
        .filter_map(|anchor| stored.node_at(anchor.position))
        .map(steps::step_id)
        .collect();
    let mut others: Vec<Other> = Vec::new();
    for part in &sorted.recordings {
        observer.watch().step(0, 0)?;
        if let Ok(Some(recorded)) = acp::recorded(part, key, observer) {
            let said = acp::facts(&recorded);
            others.push((Arc::new(recorded), said));
        }
    }
    for copy in &sorted.copies {
        observer.watch().step(0, 0)?;
        // A copy that cannot be read is no reason not to open the session.
        if desktop::is_of(copy, &prompts)
            && let Ok(copy) = Copy::read(copy, None, observer)
        {
            others.push((Arc::new(copy), Vec::new()));
        }
    }
    Ok(joined::join(Arc::new(stored), others))
}
