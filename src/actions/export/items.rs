//! What an export tells, item by item: the session, then each step with the events of its turn. Each item is one JSON
//! document in the shapes of the command line, with what a page needs beside them. One is in memory at a time.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use super::ExportError;
use crate::actions::redact::Spot;
use crate::actions::shapes;
use crate::formats::{Origin, Recording};
use crate::model::{Event, Note, Notes, Place, Target, ToolState, clock, words};
use crate::store::Watch;

/// What an item tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// `session`, with the `warnings` of the reading report.
    Session,
    /// `step`, with its `text`.
    Step(u32),
    /// `show`'s event.
    Event { step: u32, index: usize },
}

impl Item {
    pub fn spot(self) -> Spot {
        match self {
            Self::Session => Spot::Session,
            Self::Step(number) => Spot::Step { number, event: None },
            Self::Event { step, index } => Spot::Step { number: step, event: Some(index) },
        }
    }
}

/// Hands over the session and each of the steps, in order.
pub fn each(
    recording: &dyn Recording,
    notes: &Notes,
    steps: RangeInclusive<u32>,
    watch: Watch<'_>,
    visit: &mut dyn FnMut(Item, Value) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let session = recording.session();
    let mut head = shapes::session(session);
    add(&mut head, "warnings", json!(session.report.problems));
    add(&mut head, "firstStep", json!(steps.start()));
    add(&mut head, "lastStep", json!(steps.end()));
    visit(Item::Session, head)?;
    let chosen: Vec<_> = session.steps.iter().filter(|step| steps.contains(&step.number)).collect();
    let total: u64 = chosen.iter().map(|step| step.events.len() as u64 + 1).sum();
    let mut done = 0;
    for step in chosen {
        watch.step(done, total)?;
        let mut shape = shapes::step(session, step);
        add(&mut shape, "text", Value::from(recording.prompt(step.number)?));
        add(&mut shape, "clock", json!(step.at.map(|at| clock(at, "%Y-%m-%d %H:%M:%S"))));
        let note = Target::step(session, step.number).and_then(|on| notes.get(&on));
        add(&mut shape, "note", json!(note.map(Note::to_json)));
        visit(Item::Step(step.number), shape)?;
        for (index, event) in step.events.clone().zip(session.events.range(step.events.clone())) {
            done += 1;
            watch.step(done, total)?;
            let mut shape = told(recording, &event)?;
            let note = Target::event(session, step.number, &event).and_then(|on| notes.get(&on));
            add(&mut shape, "note", json!(note.map(Note::to_json)));
            visit(Item::Event { step: step.number, index }, shape)?;
        }
        done += 1;
    }
    watch.step(total, total)?;
    Ok(())
}

/// An event in the shape of `show`, with the words that a person reads.
fn told(recording: &dyn Recording, event: &Event) -> Result<Value, ExportError> {
    let mut shape = shapes::event(event, &recording.body(event)?);
    let state = event.tool.as_deref().map(|tool| match tool.state {
        ToolState::Pending => "no result",
        ToolState::Done => "done",
        ToolState::Failed => "failed",
        ToolState::Denied => "denied",
    });
    add(&mut shape, "state", json!(state));
    add(&mut shape, "kindWord", json!(event.kind.word()));
    add(&mut shape, "markerKind", json!(event.marker.as_deref().map(|marker| marker.kind().word())));
    add(&mut shape, "markerWords", json!(event.marker.as_deref().map(words::marker)));
    add(&mut shape, "clock", json!(event.at.map(|at| clock(at, "%H:%M:%S"))));
    add(&mut shape, "folded", json!(event.folded));
    add(&mut shape, "origin", recording.origin(event.place).map_or(Value::Null, |origin| origin_shape(&origin)));
    Ok(shape)
}

fn origin_shape(origin: &Origin) -> Value {
    let mut shape = json!(origin.locator);
    add(&mut shape, "offset", json!(origin.offset));
    add(&mut shape, "file", json!(origin.path.file_name().map(|name| name.to_string_lossy())));
    shape
}

fn add(shape: &mut Value, key: &str, value: Value) {
    if let Some(fields) = shape.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

/// Where a hit is, for a person: `step 4, line 12, offset 4711`.
pub fn spot_words(recording: &dyn Recording, spot: Spot, files: &[String]) -> String {
    let at = |place: Place| {
        let origin = recording.origin(place)?;
        let offset = origin.offset.map(|offset| format!(", offset {offset}")).unwrap_or_default();
        Some(format!(", {}{offset}", origin.locator.words()))
    };
    let session = recording.session();
    match spot {
        Spot::Session => "session".to_owned(),
        Spot::Step { number, event: None } => {
            let place = session.step(number).and_then(|step| at(step.place)).unwrap_or_default();
            format!("step {number}{place}")
        }
        Spot::Step { number, event: Some(index) } => {
            let glance = session.events.glance(index);
            let kind = glance.map_or("event", |glance| glance.kind.word());
            let place = glance.and_then(|glance| at(glance.place)).unwrap_or_default();
            format!("step {number}, {kind}{place}")
        }
        Spot::File { file, line, offset } => {
            let name = files.get(file).map_or("file", String::as_str);
            format!("{name}, line {line}, offset {offset}")
        }
    }
}

/// A field of an item; null where there is none.
pub fn field<'a>(item: &'a Value, key: &str) -> &'a Value {
    item.get(key).unwrap_or(&Value::Null)
}

/// A field of an item that is a text; empty where it is none.
pub fn text<'a>(item: &'a Value, key: &str) -> &'a str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The fields that an export as JSON does not have: they say for people what others say already.
pub fn without_words(mut item: Value) -> Value {
    if let Some(fields) = item.as_object_mut() {
        for key in ["state", "kindWord", "markerKind", "clock", "folded"] {
            fields.shift_remove(key);
        }
    }
    item
}

/// A field of an item as readable text: a string as it is, anything else as JSON on several lines.
pub fn readable(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    }
}

/// The marks of the steps, each with how often it is there.
pub fn count_markers(markers: &Value) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for marker in markers.as_array().into_iter().flatten().filter_map(Value::as_object) {
        let word = word_of(marker);
        match counts.iter_mut().find(|(other, _)| *other == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts
}

/// A denied approval is a kind of its own wherever it is shown.
fn word_of(marker: &Map<String, Value>) -> String {
    let field = |key: &str| marker.get(key).and_then(Value::as_str).unwrap_or_default();
    match (field("kind"), field("decision")) {
        ("approval", "denied" | "blocked") => "denial".to_owned(),
        ("approval", "auto") => "auto approval".to_owned(),
        (kind, _) => kind.to_owned(),
    }
}
