//! What Outpost tells of its runs since 11.0: a snapshot, the events beside it, and the report of a dispatch.
//!
//! A run has no prompts of its own. Its steps are the questions and gates that a person answers and, where the events of an
//! agent are among those of the run, the agent's prompts; a snapshot alone has no steps. Node ids are sequence numbers of
//! events, keys of tasks and ids of dispatches.

mod events;
mod report;
mod snapshot;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::document_session::{DocumentSession, Heading};
use super::fields::{dollars, text, time, usage};
use super::happenings::Source;
use super::object;
use super::objects::Objects;
use super::stored_document::{self, StoredDocument, notice};
use crate::formats::{Observer, OpenError};
use crate::model::{FormatName, Locator, ProblemKind, Timestamp, summarise};
use crate::store::{SourceFile, now};

const REFUSAL: &str = "a run's projection is what Outpost tells of a run: it keeps no state that could be gone on with";

/// Events of a run and bytes of their objects, as many as Outpost's own readers take.
const MAX_EVENTS: usize = 100_000;
const MAX_EVENT_BYTES: u64 = 64 * 1024 * 1024;

/// Opens a bare snapshot or a report.
pub fn open(path: &Path) -> Result<DocumentSession, OpenError> {
    let document = stored_document::bare(path)?;
    if document.value.get("heartbeatAt").is_none() && document.value.get("failedTools").is_some() {
        return Ok(report::session(document));
    }
    Ok(session(document, Vec::new(), path, None))
}

/// Opens a stored run with its events; `opened` is what the user named.
pub fn open_stored(
    objects: &Objects,
    id: &str,
    opened: &Path,
    observer: &dyn Observer,
) -> Result<DocumentSession, OpenError> {
    let index = objects.find(&format!("runs/{id}/index"));
    let events = events::stored(objects, id, observer)?;
    let document = match index {
        Some(path) => stored_document::in_object(&path)?,
        None => match events.first() {
            Some(first) => without_index(&first.path)?,
            None => return Err(OpenError::NoSession { wanted: format!("runs/{id}"), path: opened.to_owned() }),
        },
    };
    Ok(session(document, events, opened, Some(id)))
}

/// Opens a snapshot that lies alone, without the rest of its storage.
pub fn open_alone(path: &Path) -> Result<DocumentSession, OpenError> {
    let document = stored_document::in_object(path)?;
    if document.value.get("event").is_some() {
        let mut source = without_index(path)?;
        source.report.notice(notice("event", ProblemKind::Structure, "one event of a run, without the others"));
        let event = events::Stored { number: 1, path: path.into(), value: Some(document.value) };
        return Ok(session(source, vec![event], path, None));
    }
    Ok(session(document, Vec::new(), path, None))
}

fn without_index(path: &Path) -> Result<StoredDocument, OpenError> {
    let mut report = crate::model::Report::default();
    report.notice(notice("index", ProblemKind::Structure, "the run's index is not there: only its events are"));
    Ok(StoredDocument { file: Arc::new(SourceFile::open(path)?), value: Value::Null, report })
}

/// How a run stands now. Outpost writes `running` and lets it lapse: after `expiresAt` nobody runs it any more.
pub fn status(snapshot: &Value, now: Timestamp) -> &str {
    match text(snapshot, "status") {
        "running" if time(snapshot, "expiresAt").is_some_and(|expires| expires < now) => "abandoned",
        status => status,
    }
}

/// What a list calls a run.
pub fn title(snapshot: &Value) -> String {
    let name = match text(snapshot, "workflow") {
        "" => text(snapshot, "id"),
        name => name,
    };
    summarise(&format!("{} {name}", text(snapshot, "kind")))
}

fn session(document: StoredDocument, stored: Vec<events::Stored>, opened: &Path, id: Option<&str>) -> DocumentSession {
    let snapshot = &document.value;
    let mut report = document.report;
    if snapshot.is_object() {
        report.records.count_read();
    }
    if snapshot.get("complete").and_then(Value::as_bool) == Some(false) {
        let message = "observations were lost while the run was written: not all that happened is here";
        report.notice(notice("complete", ProblemKind::Structure, message));
    }
    let path: Arc<Path> = document.file.path().into();
    let source = Source { path, locator: Locator::Key("snapshot".to_owned()), record: Arc::new(snapshot.clone()) };
    let mut usage = usage(snapshot, "usage");
    usage.cost = dollars(snapshot.get("accounting").and_then(|accounting| accounting.get("cost")));
    let id = match (text(snapshot, "id"), id) {
        ("", Some(id)) => id.to_owned(),
        ("", None) => document.file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        (own, _) => super::labels::shorten(own),
    };
    let facts = snapshot::Snapshot { value: snapshot, source: &source, now: now() };
    let mut heading = Heading {
        id,
        title: snapshot.is_object().then(|| title(snapshot)),
        format: FormatName::OutpostRun,
        opened: opened.to_owned(),
        started_at: time(snapshot, "startedAt"),
        ended_at: time(snapshot, "updatedAt"),
        usage,
        nodes: 0,
        report,
        refusal: REFUSAL,
    };
    if stored.is_empty() {
        let happenings = facts.all();
        heading.nodes = happenings.len();
        return DocumentSession::new(heading, vec![document.file], happenings);
    }
    let events = events::in_order(&stored, &facts, &mut heading.report);
    heading.nodes = stored.len();
    DocumentSession::in_order(heading, vec![document.file], events)
}

/// The numbers of the events that are stored for a run, in order.
fn numbers(objects: &Objects, id: &str) -> Vec<u64> {
    let names = objects.children(&format!("runs/{id}/events"), MAX_EVENTS).objects;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The document of a stored event; `None` where it cannot be read.
fn value_of(path: &Path) -> Option<Value> {
    serde_json::from_slice(&object::look(path).ok()?.bytes().ok()?).ok()
}
