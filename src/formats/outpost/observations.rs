//! Observation logs: what a user's own sink wrote down, one observation a record, with the event inside its envelope.
//!
//! One log may hold several dispatches and the workflow around them, interleaved. Each dispatch is a session, read by the
//! rules of a journal with the workflow's events as context; so is the workflow itself.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::entries::{Entries, Form};
use super::entry::Scope;
use super::read::{Reader, read_file};
use super::session_filter::SessionFilter;
use crate::formats::detect::Sample;
use crate::formats::lenient::{Object, Text};
use crate::formats::source::Part;
use crate::formats::{Listed, Observer, OpenError, Recording, SessionRef, json, mixed_notice};
use crate::model::{FormatName, Timestamp, summarise};
use crate::store::{Framing, SourceFile, scan};

/// Sessions of one log that are told apart; a log of more is a hostile one.
const MAX_SESSIONS: usize = 100_000;

const BECOMES_A_JOURNAL: &str =
    "Outpost does not replay observation logs: this is a new file, a journal of this dispatch's own entries";

/// The sessions of a log: one a dispatch, and one a workflow that wrote events of its own.
pub fn list(part: &Part, observer: &dyn Observer) -> Result<Vec<Listed>, OpenError> {
    let (_, sessions) = look(&part.path, observer)?;
    let only = sessions.only().map(|session| session.filter.id().to_owned());
    let listed = |session: Group| {
        let is_only = only.as_deref() == Some(session.filter.id()) && sessions.list.len() == 1;
        let id = session.filter.id().to_owned();
        let key = (!is_only).then(|| id.clone());
        let plain = Listed::new(SessionRef { paths: vec![part.path.clone()], key }, FormatName::OutpostObservations);
        Listed {
            id: Some(id),
            title: session.title,
            started_at: session.started_at,
            ended_at: session.ended_at.or(plain.ended_at),
            status: session.status,
            ..plain
        }
    };
    match sessions.list.is_empty() {
        // Nobody in particular wrote these.
        true => Ok(vec![Listed::new(SessionRef::file(&part.path), FormatName::OutpostObservations)]),
        false => Ok(sessions.list.iter().cloned().map(listed).collect()),
    }
}

/// Opens the session of a dispatch or a workflow by its id. Without one it is the only dispatch's, or the only workflow's
/// where there is no dispatch.
pub fn open(part: &Part, key: Option<&str>, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let (file, sessions) = look(&part.path, observer)?;
    let session = sessions.chosen(key, &part.path)?;
    let sample = Sample::take(&file)?;
    let entries = Entries::file(file, sample.framing(), Form::Nested);
    let mut reader = reader(entries, &part.path, FormatName::OutpostObservations, session);
    if let Some(notice) = mixed_notice(&sample) {
        reader.report.notice(notice);
    }
    Ok(Arc::new(read_file(reader, observer)?.finish()))
}

fn reader(mut entries: Entries, source: &Path, format: FormatName, session: Option<&Group>) -> Reader {
    entries.warnings.push(BECOMES_A_JOURNAL.to_owned());
    let mut reader = Reader::new(entries, source.to_owned(), format);
    if let Some(session) = session {
        reader.filter = Some(session.filter.clone());
        reader.log = Some(session.filter.id().to_owned());
        reader.title.clone_from(&session.title);
        if let SessionFilter::Workflow(_) = session.filter {
            (reader.started_at, reader.ended_at) = (session.started_at, session.ended_at);
        }
    }
    reader
}

/// A first pass over a log: who wrote in it.
fn look(path: &Path, observer: &dyn Observer) -> Result<(Arc<SourceFile>, Sessions), OpenError> {
    let file = Arc::new(SourceFile::open(path)?);
    let framing: Framing = Sample::take(&file)?.framing();
    let mut sessions = Sessions::default();
    scan(&file, framing, observer.watch(), &mut |found| sessions.take(&json::readable(found.bytes).text))?;
    Ok((file, sessions))
}

/// A dispatch or a workflow that wrote in a log.
#[derive(Clone, Debug)]
struct Group {
    filter: SessionFilter,
    title: Option<String>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    status: Option<String>,
}

/// In the order in which they first wrote.
#[derive(Default)]
struct Sessions {
    list: Vec<Group>,
    index: HashMap<String, usize>,
}

/// What tells who wrote an observation, and how far it has come.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head<'a> {
    #[serde(borrow)]
    at: Text<'a>,
    #[serde(borrow)]
    scope: Object<Scope<'a>>,
    #[serde(borrow)]
    event: Object<EventHead<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EventHead<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    event: Object<WorkflowHead<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkflowHead<'a> {
    #[serde(borrow, rename = "type")]
    name: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    workflow: Text<'a>,
}

impl Sessions {
    /// The one that is meant when none is named.
    fn only(&self) -> Option<&Group> {
        let is_dispatch = |session: &&Group| matches!(session.filter, SessionFilter::Dispatch { .. });
        let mut dispatches = self.list.iter().filter(is_dispatch);
        match (dispatches.next(), dispatches.next(), self.list.as_slice()) {
            (Some(one), None, _) | (None, _, [one]) => Some(one),
            _ => None,
        }
    }

    /// The one with this id, or the only one; `None` where nobody in particular wrote anything.
    fn chosen(&self, key: Option<&str>, path: &Path) -> Result<Option<&Group>, OpenError> {
        let path = || path.to_owned();
        let Some(key) = key else {
            let several = || OpenError::Several { path: path() };
            return if self.list.is_empty() { Ok(None) } else { self.only().map(Some).ok_or_else(several) };
        };
        let found = self.list.iter().find(|session| session.filter.id() == key);
        found.map(Some).ok_or_else(|| OpenError::NoSession { wanted: key.to_owned(), path: path() })
    }

    fn take(&mut self, text: &str) {
        let mut spare = String::new();
        if !text.starts_with('{') {
            return;
        }
        let Ok(head) = json::record::<Head>(text, &mut spare) else { return };
        let scope = head.scope.0.unwrap_or_default();
        let execution = scope.execution_id.to_owned_option();
        let event = head.event.0.unwrap_or_default();
        let filter = match (scope.dispatch_id.to_owned_option(), execution) {
            (Some(id), execution) => SessionFilter::Dispatch { id, execution },
            (None, Some(execution)) if event.kind.is("workflow") => SessionFilter::Workflow(execution),
            _ => return,
        };
        let Some(session) = self.session(filter) else { return };
        if let Some(at) = Timestamp::parse(head.at.or_empty()) {
            session.started_at.get_or_insert(at);
            session.ended_at = Some(at);
        }
        match event.kind.or_empty() {
            "prompt" if session.title.is_none() => session.title = event.text.as_str().map(summarise),
            "dispatch-finished" => session.status = event.status.to_owned_option(),
            "workflow" => session.note_workflow(&event.event.0.unwrap_or_default()),
            _ => {}
        }
    }

    fn session(&mut self, filter: SessionFilter) -> Option<&mut Group> {
        let index = match self.index.get(filter.id()) {
            Some(index) => *index,
            None if self.list.len() >= MAX_SESSIONS => return None,
            None => {
                self.index.insert(filter.id().to_owned(), self.list.len());
                let status = Some("running".to_owned());
                self.list.push(Group { filter, title: None, started_at: None, ended_at: None, status });
                self.list.len() - 1
            }
        };
        self.list.get_mut(index)
    }
}

impl Group {
    fn note_workflow(&mut self, event: &WorkflowHead<'_>) {
        if self.title.is_none() {
            self.title = event.workflow.as_str().map(|name| summarise(&format!("workflow {name}")));
        }
        match event.name.or_empty() {
            "finish" => self.status = event.status.to_owned_option(),
            "start" | "resume" => self.status = Some("running".to_owned()),
            _ => {}
        }
    }
}
