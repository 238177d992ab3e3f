//! The stored events of a run: nested observations, one an object, numbered without gaps.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::snapshot::Snapshot;
use super::{MAX_EVENT_BYTES, numbers, value_of};
use crate::formats::outpost::entry::Entry;
use crate::formats::outpost::events::Events;
use crate::formats::outpost::fields::text;
use crate::formats::outpost::happenings::{Asking, Happening, Item, Ready, Replayed, Source};
use crate::formats::outpost::kind::Kind;
use crate::formats::outpost::objects::Objects;
use crate::formats::outpost::stored_document::notice;
use crate::formats::{Observer, OpenError};
use crate::model::{
    Event, EventKind, Fact, Locator, Marker, NodeId, Problem, ProblemKind, QuestionState, Report, StepKind,
};

/// An event of a run, as it was found.
pub struct Stored {
    /// Its name, and its `seq` if nothing is wrong.
    pub number: u64,
    pub path: Arc<Path>,
    /// `None` where it cannot be read.
    pub value: Option<Value>,
}

/// Reads the events of a run, as many as Outpost's own readers would.
pub fn stored(objects: &Objects, id: &str, observer: &dyn Observer) -> Result<Vec<Stored>, OpenError> {
    let numbers = numbers(objects, id);
    let mut events = Vec::with_capacity(numbers.len());
    let mut bytes = 0;
    for (index, number) in numbers.iter().enumerate() {
        observer.watch().step(index as u64, numbers.len() as u64)?;
        let Some(path) = objects.find(&format!("runs/{id}/events/{number}")) else { continue };
        bytes += std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        if bytes > MAX_EVENT_BYTES {
            break;
        }
        events.push(Stored { number: *number, value: value_of(&path), path: path.into() });
    }
    Ok(events)
}

/// The events in their order, then what only the snapshot says.
pub fn in_order(stored: &[Stored], snapshot: &Snapshot<'_>, report: &mut Report) -> Vec<Ready> {
    let mut reader = Reader { decided: decided(stored), ..Reader::default() };
    let mut expected = 1;
    for (index, stored) in stored.iter().enumerate() {
        if stored.number != expected {
            let message = format!("event {expected} of the run is not there; the next one is {}", stored.number);
            report.push(notice(&format!("events/{expected}"), ProblemKind::Structure, &message));
        }
        expected = stored.number.saturating_add(1);
        reader.take(u32::try_from(index).unwrap_or(u32::MAX), stored, report);
    }
    if let Some(seq) = snapshot.value.get("seq").and_then(Value::as_u64)
        && seq >= expected
    {
        let message = format!("the run has {seq} events, the last one that is there is {}", expected - 1);
        report.notice(notice("events", ProblemKind::Structure, &message));
    }
    reader.finish(snapshot)
}

/// The keys of gates that are decided and of questions that are answered, with how often.
fn decided(stored: &[Stored]) -> HashMap<String, usize> {
    let mut decided = HashMap::new();
    for workflow in stored.iter().filter_map(|stored| workflow(stored.value.as_ref()?)) {
        if matches!(text(workflow, "type"), "decision" | "input-answer") {
            *decided.entry(text(workflow, "key").to_owned()).or_default() += 1;
        }
    }
    decided
}

/// The workflow event inside an observation.
fn workflow(observation: &Value) -> Option<&Value> {
    let event = observation.get("event").filter(|event| text(event, "kind") == "workflow")?;
    event.get("event")
}

#[derive(Default)]
struct Reader {
    events: Events,
    items: Vec<Item>,
    steps: HashMap<usize, Asking>,
    decided: HashMap<String, usize>,
}

impl Reader {
    fn take(&mut self, number: u32, stored: &Stored, report: &mut Report) {
        let locator = Locator::Key(format!("events/{}", stored.number));
        let value = stored.value.clone().unwrap_or_default();
        let flat = flattened(&value);
        let recorded = flat.to_string();
        let entry: Entry = serde_json::from_str(&recorded).unwrap_or_default();
        let bytes = u32::try_from(recorded.len()).unwrap_or(u32::MAX);
        let before = self.events.list.len();
        let kind = entry.kind();
        if flat.is_null() {
            let message = "the event of the run cannot be read".to_owned();
            report.records.count(ProblemKind::Unreadable);
            report.push(Problem {
                locator: locator.clone(),
                offset: None,
                kind: ProblemKind::Unreadable,
                message,
                file: None,
            });
            self.events.push_unreadable(number, "the event of the run cannot be read", 0);
        } else {
            match kind {
                Kind::Unknown => report.records.count(ProblemKind::Unknown),
                _ => report.records.count_read(),
            }
            if kind == Kind::Prompt {
                self.events.start_turn();
            }
            match kind.is_surrounding() {
                true => self.events.push_extra(number, &entry, bytes),
                false => self.events.push_turn_event(number, &entry, bytes),
            }
        }
        if let Some(event) = self.events.list.get_mut(before) {
            event.node = NodeId::Number(stored.number);
            if let Some(asking) = step_of(event, &value, &mut self.decided) {
                self.steps.insert(before, asking);
            }
        }
        let said = ["text", "message"].iter().find_map(|key| value.get("event")?.get(*key)?.as_str());
        self.items.push(Item {
            text: said.map(str::to_owned),
            replayed: Replayed::Under("event"),
            source: Source { path: stored.path.clone(), locator, record: Arc::new(value) },
        });
    }

    fn finish(mut self, snapshot: &Snapshot<'_>) -> Vec<Ready> {
        let has = |kind: EventKind| self.events.list.iter().any(|event| event.kind == kind);
        let rest = snapshot.rest(has(EventKind::Failure), has(EventKind::Commits));
        let events = self.events.list.into_iter().zip(self.items).enumerate();
        let mut ready: Vec<Ready> =
            events.map(|(index, (event, item))| Ready { event, item, step: self.steps.remove(&index) }).collect();
        ready.extend(rest.into_iter().map(Happening::ready));
        ready
    }
}

/// The step that begins with an event: a prompt, a gate, or a question. The events of a workflow have no texts; those
/// are in its checkpoint.
fn step_of(event: &mut Event, observation: &Value, decided: &mut HashMap<String, usize>) -> Option<Asking> {
    let id = event.node.clone();
    if let Some(inner) = observation.get("event").filter(|inner| text(inner, "kind") == "prompt") {
        let question = text(inner, "text").to_owned();
        return Some(Asking { id, kind: StepKind::Prompt, question, answer: None, is_pending: false, origin: None });
    }
    let workflow = workflow(observation)?;
    let key = text(workflow, "key");
    let (question, origin) = match text(workflow, "type") {
        "gate" => (format!("{key}: approve or reject?"), Some("gate")),
        "input-request" => (format!("{key} asks a question"), None),
        _ => return None,
    };
    let left = decided.entry(key.to_owned()).or_default();
    let is_pending = *left == 0;
    *left = left.saturating_sub(1);
    if origin.is_none() {
        event.kind = EventKind::Question;
        let state = if is_pending { QuestionState::Pending } else { QuestionState::Answered };
        let fact = Fact::Question { question: question.clone(), options: Vec::new(), answers: Vec::new(), state };
        event.marker = Some(Box::new(Marker::recorded(fact, event.at)));
    }
    Some(Asking { id, kind: StepKind::QuestionAnswer, question, answer: None, is_pending, origin })
}

/// A nested observation as a journal has it: the event's fields with the envelope beside them. Null where there is none.
fn flattened(observation: &Value) -> Value {
    let Some(event) = observation.get("event").and_then(Value::as_object) else { return Value::Null };
    let mut flat: Map<String, Value> = event.clone();
    for field in ["seq", "at", "source", "scope"] {
        if let Some(value) = observation.get(field) {
            flat.insert(field.to_owned(), value.clone());
        }
    }
    Value::Object(flat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_observations_are_flattened() {
        let nested =
            json!({"seq": 2, "at": "t", "source": "agent", "scope": {}, "event": {"kind": "text", "text": "x"}});
        let flat = json!({"kind": "text", "text": "x", "seq": 2, "at": "t", "source": "agent", "scope": {}});
        assert_eq!(flattened(&nested), flat);
        assert_eq!(flattened(&json!({"event": 7})), Value::Null);
    }
}
