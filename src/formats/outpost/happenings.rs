//! What happened by the records of small documents, each with the record that says so, and the events made of it.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::spoken;
use super::labels::shorten;
use crate::formats::labels::line;
use crate::model::{Event, EventKind, Fact, Locator, Marker, NodeId, Place, StepKind, Timestamp};

/// A record that tells of something.
#[derive(Clone, Debug)]
pub struct Source {
    pub path: Arc<Path>,
    pub locator: Locator,
    pub record: Arc<Value>,
}

/// A record that tells of something, and what of it an event shows.
#[derive(Debug)]
pub struct Item {
    pub source: Source,
    pub replayed: Replayed,
    /// The text behind the event; without one it is the replayed part of the record.
    pub text: Option<String>,
}

/// An event that is in its place.
pub struct Ready {
    pub event: Event,
    pub item: Item,
    /// A step begins with it.
    pub step: Option<Asking>,
}

/// The part of a record that is an event's own.
#[derive(Clone, Copy, Debug)]
pub enum Replayed {
    /// These fields, where they are there.
    Fields(&'static [&'static str]),
    /// What is under this field.
    Under(&'static str),
}

/// Something that a record tells.
#[derive(Clone, Debug)]
pub struct Happening {
    pub kind: EventKind,
    pub node: NodeId,
    /// One without a time comes after the one before it.
    pub at: Option<Timestamp>,
    pub duration_ms: Option<i64>,
    pub label: String,
    /// The text behind it, where that is more than the label.
    pub text: Option<String>,
    pub marker: Option<Marker>,
    pub source: Source,
    pub replayed: Replayed,
    /// A step begins with it.
    pub step: Option<Asking>,
}

/// What a step asks.
#[derive(Clone, Debug)]
pub struct Asking {
    pub id: NodeId,
    pub kind: StepKind,
    pub question: String,
    /// What a person answered; `None` while nobody has.
    pub answer: Option<String>,
    /// Nobody has answered yet.
    pub is_pending: bool,
    pub origin: Option<&'static str>,
}

impl Happening {
    /// `node` is the system's own id of what the record tells of: a task's key, a dispatch's id.
    pub fn new(kind: EventKind, node: &str, at: Option<Timestamp>, label: String, source: &Source) -> Self {
        Self {
            kind,
            node: NodeId::Text(shorten(node).into()),
            at,
            duration_ms: None,
            label,
            text: None,
            marker: None,
            source: source.clone(),
            replayed: Replayed::Fields(&[]),
            step: None,
        }
    }

    /// With a fact that the record states.
    pub fn recorded(self, fact: Fact) -> Self {
        let marker = Some(Marker::recorded(fact, self.at));
        Self { marker, ..self }
    }

    /// With a fact that was concluded.
    pub fn inferred(self, fact: Fact) -> Self {
        let marker = Some(Marker::inferred(fact, self.at));
        Self { marker, ..self }
    }

    pub fn text(self, text: String) -> Self {
        Self { text: Some(text), ..self }
    }

    /// As an event in its place.
    pub fn ready(self) -> Ready {
        let text = self.text.or_else(|| Some(self.label.clone()));
        let item = Item { source: self.source, replayed: self.replayed, text };
        let event = Event {
            kind: self.kind,
            node: self.node,
            at: self.at,
            duration_ms: self.duration_ms,
            place: Place { file: 0, record: 0, block: 0 },
            label: line(&self.label),
            text_bytes: u32::try_from(item.text().len()).unwrap_or(u32::MAX),
            tool: None,
            marker: self.marker.map(Box::new),
            folded: false,
        };
        Ready { event, item, step: self.step }
    }

    /// With the part of the record that replay gives for it.
    pub fn replayed(self, replayed: Replayed) -> Self {
        Self { replayed, ..self }
    }
}

impl Item {
    /// The part of the record that is this event's own.
    pub fn part(&self) -> Value {
        match self.replayed {
            Replayed::Under(field) => self.source.record.get(field).cloned().unwrap_or_default(),
            Replayed::Fields(fields) => {
                let field = |name: &&str| Some(((*name).to_owned(), self.source.record.get(*name)?.clone()));
                Value::Object(fields.iter().filter_map(field).collect::<Map<_, _>>())
            }
        }
    }

    /// The text behind the event.
    pub fn text(&self) -> String {
        self.text.clone().unwrap_or_else(|| match self.part() {
            Value::Object(fields) if fields.is_empty() => String::new(),
            part => spoken(&part),
        })
    }
}
