//! A log together with the checkpoint of its workflow: the log has the events, the checkpoint what was asked and decided.
//!
//! They are joined by the id of the execution. A question belongs to the log when its task's key is among those of the
//! log's events. A gate belongs to it when the log has the text-less events of that gate; a log of one dispatch never has
//! any, and is given all gates of its execution.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::checkpoint;
use super::document_session::DocumentSession;
use super::fields::text;
use crate::formats::detect::Sample;
use crate::formats::joined::Joined;
use crate::formats::source::Part;
use crate::formats::{Listed, Recording};
use crate::model::{Decision, Event, EventKind, Fact, FormatName, Place, Session, Timestamp};
use crate::store::SourceFile;

/// Events of a log that are looked at for its execution and its tasks.
const MAX_SCOPES: usize = 64;

/// Whether a part is a log that a checkpoint can say more about.
pub fn is_log(part: &Part) -> bool {
    use FormatName::{OutpostJournal, OutpostLegacyLog, OutpostObservations};
    matches!(part.format.name, OutpostJournal | OutpostLegacyLog | OutpostObservations)
}

/// The checkpoints among some parts, by the execution that they belong to.
#[derive(Default)]
pub struct Executions {
    checkpoints: HashMap<String, Vec<PathBuf>>,
}

impl Executions {
    /// Looks at the start of each file; at nothing where there is nothing to join.
    pub fn of(parts: &[Part]) -> Self {
        let mut found = Self::default();
        if !parts.iter().any(is_log) {
            return found;
        }
        for part in parts.iter().filter(|part| part.format.name == FormatName::OutpostCheckpoint) {
            for id in records(part).iter().filter_map(|record| id_of(checkpoint::content(record))) {
                found.checkpoints.entry(id).or_default().push(part.path.clone());
            }
        }
        found
    }

    /// Adds to the sessions of a log the checkpoints that they are to be opened with, and gives their paths.
    pub fn refer(&self, part: &Part, sessions: &mut [Listed]) -> Vec<PathBuf> {
        if self.checkpoints.is_empty() || !is_log(part) {
            return Vec::new();
        }
        let scope = |record: &Value| id_of(record.get("scope")?);
        let Some(execution) = records(part).iter().find_map(scope) else { return Vec::new() };
        let paths = self.checkpoints.get(&execution).cloned().unwrap_or_default();
        for session in sessions {
            session.reference.paths.extend(paths.iter().cloned());
        }
        paths
    }
}

fn records(part: &Part) -> Vec<Value> {
    let sample = SourceFile::open(&part.path).and_then(|file| Sample::take(&file));
    sample.map(|sample| sample.records).unwrap_or_default()
}

fn id_of(value: &Value) -> Option<String> {
    Some(text(value, "executionId").to_owned()).filter(|id| !id.is_empty())
}

/// A log with the checkpoints of its execution; the log as it is where there are none.
pub fn with_checkpoints(
    log: Arc<dyn Recording>,
    find: impl FnOnce(&str) -> Vec<DocumentSession>,
) -> Arc<dyn Recording> {
    let scope = Scope::of(log.as_ref());
    let Some(execution) = scope.execution.clone() else { return log };
    let checkpoints: Vec<DocumentSession> =
        find(&execution).into_iter().filter(|checkpoint| checkpoint.session.id == execution).collect();
    if checkpoints.is_empty() { log } else { Arc::new(join(log, &scope, checkpoints)) }
}

/// Where in a workflow a log belongs.
#[derive(Default)]
struct Scope {
    execution: Option<String>,
    tasks: HashSet<String>,
}

impl Scope {
    fn of(log: &dyn Recording) -> Self {
        let mut found = Self::default();
        let mut last = None;
        for event in log.session().events.all().iter().take(MAX_SCOPES) {
            // Events of one record have one scope.
            if last.replace(event.place.record) == Some(event.place.record) {
                continue;
            }
            let raw = log.raw(event.place).unwrap_or_default();
            let Ok(record) = serde_json::from_slice::<Value>(&raw) else { continue };
            // The entry is the record, or lies inside that of a chain.
            found.take(&record);
            found.take(record.get("event").unwrap_or(&Value::Null));
        }
        found
    }

    fn take(&mut self, entry: &Value) {
        let scope = entry.get("scope").unwrap_or(&Value::Null);
        self.execution = self.execution.take().or_else(|| id_of(scope)).or_else(|| id_of(entry));
        let task = text(scope, "taskKey");
        if !task.is_empty() {
            self.tasks.insert(task.to_owned());
        }
    }
}

fn join(log: Arc<dyn Recording>, scope: &Scope, checkpoints: Vec<DocumentSession>) -> Joined {
    let mut joined = Joined::new(log);
    let has_gates = joined.session.events.all().iter().any(|event| textless_gate(event).is_some());
    let mut added = Vec::new();
    for checkpoint in checkpoints {
        let checkpoint = Arc::new(checkpoint);
        let file = joined.add(checkpoint.clone());
        let mut join = Join { session: &mut joined.session, checkpoint: &checkpoint.session, file, added: &mut added };
        join.gates(has_gates);
        join.questions(scope);
        let name = checkpoint.files.first().and_then(|file| file.path().file_name());
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        joined.session.report.take_problems(&checkpoint.session.report, &name);
    }
    insert(&mut joined.session, added);
    joined
}

/// The key of a gate of which an event says no more than that it was asked or decided.
fn textless_gate(event: &Event) -> Option<&str> {
    match &event.marker.as_ref()?.fact {
        Fact::Approval { tool, tool_call_id: None, asked, .. } if asked.prompt.is_none() => Some(tool),
        _ => None,
    }
}

/// One checkpoint that is joined to a log.
struct Join<'a> {
    session: &'a mut Session,
    checkpoint: &'a Session,
    file: u16,
    added: &'a mut Vec<Event>,
}

impl Join<'_> {
    fn place(&self, event: &Event) -> Place {
        // Beside the events that the log counts.
        Place { file: self.file, record: event.place.record, block: Place::EXTRA }
    }

    fn add(&mut self, event: &Event) {
        self.added.push(Event { place: self.place(event), ..event.clone() });
    }

    fn gates(&mut self, has_gates: bool) {
        for event in self.checkpoint.events.all().iter().filter(|event| event.kind == EventKind::Approval) {
            let Some(Fact::Approval { tool, decision, .. }) = event.marker.as_ref().map(|marker| &marker.fact) else {
                continue;
            };
            let place = self.place(event);
            // The log may tell the same gate more than once; it is one decision, said at the last of these.
            let own = self.session.events.list_mut().iter_mut().rev().find(|own| textless_gate(own) == Some(tool));
            let is_there = own.is_some();
            let is_told = own.is_some_and(|own| say_more(own, event, *decision, place));
            if !is_told && (is_there || !has_gates) {
                self.add(event);
            }
        }
    }

    fn questions(&mut self, scope: &Scope) {
        let events = self.checkpoint.events.all();
        let is_gate =
            |node: &Event| events.iter().any(|event| event.kind == EventKind::Approval && event.node == node.node);
        for event in events.iter().filter(|event| event.kind == EventKind::Question && !is_gate(event)) {
            let Some(Fact::Question { question: asked, .. }) = event.marker.as_ref().map(|marker| &marker.fact) else {
                continue;
            };
            if !scope.tasks.contains(&event.node.to_string()) {
                continue;
            }
            let is_asked = |own: &&mut Event| {
                let fact = own.marker.as_ref().map(|marker| &marker.fact);
                matches!(fact, Some(Fact::Question { question, .. }) if question == asked)
            };
            let place = self.place(event);
            // Of a question that was asked again the last one is the one that was answered.
            match self.session.events.list_mut().iter_mut().rev().find(is_asked) {
                Some(own) => {
                    own.marker.clone_from(&event.marker);
                    own.place = place;
                    own.label.clone_from(&event.label);
                    own.text_bytes = event.text_bytes;
                }
                None => self.add(event),
            }
        }
    }
}

/// Puts into the event of a gate what the checkpoint knows of it; false where the two say different things.
fn say_more(own: &mut Event, event: &Event, known: Decision, place: Place) -> bool {
    let about = match own.marker.as_ref().map(|marker| &marker.fact) {
        Some(Fact::Approval { decision, .. }) => *decision,
        _ => Decision::Pending,
    };
    // A log that ends at the gate knows nothing of the decision yet.
    if about != Decision::Pending && about != known {
        return false;
    }
    own.marker.clone_from(&event.marker);
    own.place = place;
    own.text_bytes = event.text_bytes;
    true
}

/// Puts events into the steps whose turns they fall in, each after the last event that is not later.
fn insert(session: &mut Session, added: Vec<Event>) {
    if added.is_empty() {
        return;
    }
    let began = |at: Option<Timestamp>| {
        let after = |step: &crate::model::Step| step.at.zip(at).is_some_and(|(began, at)| began <= at);
        session.steps.iter().rposition(after)
    };
    let mut by_step: HashMap<Option<usize>, Vec<Event>> = HashMap::new();
    for event in added {
        // One without a time stands at the end.
        let step = if event.at.is_none() { session.steps.len().checked_sub(1) } else { began(event.at) };
        by_step.entry(step).or_default().push(event);
    }
    let old = std::mem::take(session.events.list_mut());
    let first = session.steps.first().map_or(old.len(), |step| step.events.start);
    let part = |range: std::ops::Range<usize>| old.get(range).unwrap_or_default().to_vec();
    let mut events = merged(part(0..first), by_step.remove(&None).unwrap_or_default());
    for (index, step) in session.steps.iter_mut().enumerate() {
        let start = events.len();
        events.extend(merged(part(step.events.clone()), by_step.remove(&Some(index)).unwrap_or_default()));
        step.events = start..events.len();
    }
    session.events = events.into();
}

fn merged(mut events: Vec<Event>, added: Vec<Event>) -> Vec<Event> {
    for event in added {
        let is_before = |other: &Event| event.at.is_none() || other.at.is_some_and(|at| Some(at) <= event.at);
        let place = events.iter().rposition(is_before).map_or(0, |last| last + 1);
        events.insert(place, event);
    }
    events
}
