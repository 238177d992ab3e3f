//! Notes and bookmarks on steps and events: what a person adds to a session, kept beside it and never in it.
//!
//! One file holds the notes of all sessions of a source. It is JSON:
//!
//! ```json
//! {"stepline": "notes", "version": 1, "sessions": {
//!   "SESSION ID": {"notes": [
//!     {"step": 4, "stepId": "…", "node": null, "block": null, "bookmark": true, "text": "…", "at": "2026-…Z"}]}}}
//! ```
//!
//! `node` and `block` name the event that the note is on, as the format itself does; without them it is on the step. A
//! step is found by its id, and by its number where no step has that id. Keys that are not known here are kept.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use super::{Event, NodeId, Session, Timestamp};

const VERSION: u64 = 1;

/// The notes of a source, by session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NotesFile {
    whole: Map<String, Value>,
}

/// The notes on one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    list: Vec<Note>,
}

/// A bookmark, a text, or both, on a step or an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub on: Target,
    pub bookmark: bool,
    pub text: String,
    /// When it was last changed.
    pub at: Option<Timestamp>,
    rest: Map<String, Value>,
}

/// What a note is on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The number that the step had when the note was made.
    pub step: u32,
    pub step_id: String,
    /// The event's node, as text, and which block of it.
    pub event: Option<(String, u16)>,
}

/// Why a file of notes is not read, and therefore not written either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotNotes {
    #[error("it holds no notes")]
    Other,
    #[error("it was written by a later version of Stepline")]
    Later,
}

impl Target {
    /// A step, by its number.
    pub fn step(session: &Session, number: u32) -> Option<Self> {
        let step = session.step(number)?;
        Some(Self { step: number, step_id: step.step_id.to_string(), event: None })
    }

    /// An event of a step's turn.
    pub fn event(session: &Session, number: u32, event: &Event) -> Option<Self> {
        let step = Self::step(session, number)?;
        Some(Self { event: Some((event.node.to_string(), event.place.block)), ..step })
    }

    /// The step in a session that may be another than that in which the note was made: a fork, a cut, a file that grew.
    pub fn number_in(&self, session: &Session) -> Option<u32> {
        let has_id = |number: u32| session.step(number).is_some_and(|step| step.step_id.to_string() == self.step_id);
        if self.step_id.is_empty() || has_id(self.step) {
            return session.step(self.step).map(|step| step.number);
        }
        session.steps.iter().find(|step| step.step_id.to_string() == self.step_id).map(|step| step.number)
    }

    fn is_on(&self, event: &Event) -> bool {
        self.event.as_ref().is_some_and(|(node, block)| {
            *block == event.place.block
                && match &event.node {
                    NodeId::Text(text) => **text == **node,
                    NodeId::Number(number) => number.to_string() == *node,
                }
        })
    }
}

impl Notes {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn list(&self) -> &[Note] {
        &self.list
    }

    pub fn get(&self, on: &Target) -> Option<&Note> {
        self.list.iter().find(|note| note.on.is_same(on))
    }

    /// The note on an event of a step.
    pub fn on_event(&self, step_id: &str, event: &Event) -> Option<&Note> {
        self.list.iter().find(|note| note.on.step_id == step_id && note.on.is_on(event))
    }

    /// Sets a note; one that says nothing is taken away.
    pub fn set(&mut self, on: Target, bookmark: bool, text: &str, at: Timestamp) {
        let place = self.list.iter().position(|note| note.on.is_same(&on));
        let rest = place.and_then(|place| self.list.get(place)).map(|note| note.rest.clone()).unwrap_or_default();
        let keeps = bookmark || !text.trim().is_empty() || !rest.is_empty();
        let note = Note { on, bookmark, text: text.to_owned(), at: Some(at), rest };
        match (place.and_then(|place| self.list.get_mut(place)), keeps) {
            (Some(old), true) => *old = note,
            (Some(_), false) => self.list.retain(|old| !old.on.is_same(&note.on)),
            (None, true) => self.list.push(note),
            (None, false) => {}
        }
        self.list.sort_by(|a, b| (a.on.step, &a.on.event).cmp(&(b.on.step, &b.on.event)));
    }

    /// Those on steps of a range, by the numbers that these have in `session`.
    pub fn within(&self, session: &Session, steps: RangeInclusive<u32>) -> Self {
        let is_in = |note: &&Note| note.on.number_in(session).is_some_and(|number| steps.contains(&number));
        Self { list: self.list.iter().filter(is_in).cloned().collect() }
    }

    fn from_json(value: &Value) -> Self {
        let list = value.get("notes").and_then(Value::as_array).into_iter().flatten().filter_map(Note::from_json);
        Self { list: list.collect() }
    }

    /// `{notes}`, as it stands in a file.
    pub fn to_json(&self) -> Value {
        json!({ "notes": self.list.iter().map(Note::to_json).collect::<Vec<_>>() })
    }
}

impl Target {
    /// The same step and event, whatever number the step had.
    fn is_same(&self, other: &Self) -> bool {
        let same_step = if self.step_id.is_empty() { self.step == other.step } else { self.step_id == other.step_id };
        same_step && self.event == other.event
    }
}

impl Note {
    fn from_json(value: &Value) -> Option<Self> {
        let mut rest = value.as_object()?.clone();
        let mut take = |key: &str| rest.shift_remove(key).unwrap_or_default();
        let text = |value: Value| match value {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let step = take("step").as_u64().and_then(|step| u32::try_from(step).ok())?;
        let step_id = text(take("stepId")).unwrap_or_default();
        let node = text(take("node"));
        let block = take("block").as_u64().and_then(|block| u16::try_from(block).ok()).unwrap_or(0);
        Some(Self {
            on: Target { step, step_id, event: node.map(|node| (node, block)) },
            bookmark: take("bookmark").as_bool().unwrap_or(false),
            text: text(take("text")).unwrap_or_default(),
            at: text(take("at")).and_then(|at| Timestamp::parse(&at)),
            rest,
        })
    }

    /// The note as it stands in a file.
    pub fn to_json(&self) -> Value {
        let (node, block) = self.on.event.as_ref().map_or((None, None), |(node, block)| (Some(node), Some(block)));
        let mut value = json!({
            "step": self.on.step,
            "stepId": self.on.step_id,
            "node": node,
            "block": block,
            "bookmark": self.bookmark,
            "text": self.text,
            "at": self.at,
        });
        if let Some(fields) = value.as_object_mut() {
            fields.extend(self.rest.clone());
        }
        value
    }
}

impl NotesFile {
    pub fn parse(bytes: &[u8]) -> Result<Self, NotNotes> {
        let Ok(Value::Object(whole)) = serde_json::from_slice(bytes) else { return Err(NotNotes::Other) };
        match (whole.get("stepline").and_then(Value::as_str), whole.get("version").and_then(Value::as_u64)) {
            (Some("notes"), Some(0..=VERSION)) => Ok(Self { whole }),
            (Some("notes"), Some(_)) => Err(NotNotes::Later),
            _ => Err(NotNotes::Other),
        }
    }

    /// The notes on a session; none where there are none.
    pub fn of(&self, session_id: &str) -> Notes {
        let sessions = self.whole.get("sessions");
        sessions.and_then(|sessions| sessions.get(session_id)).map(Notes::from_json).unwrap_or_default()
    }

    /// The notes of the only session in it.
    pub fn only(&self) -> Notes {
        let sessions = self.whole.get("sessions").and_then(Value::as_object);
        let mut sessions = sessions.into_iter().flat_map(Map::values);
        sessions.next().map(Notes::from_json).unwrap_or_default()
    }

    /// Replaces the notes on a session; all else in the file stays.
    pub fn set(&mut self, session_id: &str, notes: &Notes) {
        self.whole.insert("stepline".to_owned(), json!("notes"));
        self.whole.insert("version".to_owned(), json!(VERSION));
        let sessions = self.whole.entry("sessions").or_insert_with(|| json!({}));
        if !sessions.is_object() {
            *sessions = json!({});
        }
        let Some(sessions) = sessions.as_object_mut() else { return };
        let mut entry = sessions.get(session_id).and_then(Value::as_object).cloned().unwrap_or_default();
        if let Value::Object(fields) = notes.to_json() {
            entry.extend(fields);
        }
        sessions.insert(session_id.to_owned(), Value::Object(entry));
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(&self.whole).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(step: u32) -> Target {
        Target { step, step_id: format!("id-{step}"), event: None }
    }

    #[test]
    fn notes_come_back_as_they_were_set() {
        let mut notes = Notes::default();
        notes.set(target(3), true, "", Timestamp(0));
        notes.set(Target { event: Some(("n".to_owned(), 2)), ..target(1) }, false, "why?", Timestamp(1_000));
        let mut file = NotesFile::default();
        file.set("s", &notes);
        let read = NotesFile::parse(&file.to_bytes()).unwrap();
        assert_eq!((read.of("s"), read.of("other")), (notes.clone(), Notes::default()));
        assert_eq!(notes.list()[0].on.step, 1);
        notes.set(target(3), false, " ", Timestamp(2));
        assert_eq!(notes.list().len(), 1, "a note that says nothing is none");
    }

    #[test]
    fn what_is_not_known_is_kept() {
        let text = r#"{"stepline":"notes","version":1,"by":"x","sessions":{"t":{"notes":[7]},"s":{"colour":1,"notes":[{"step":1,"stepId":"a","tag":"y"}]}}}"#;
        let mut file = NotesFile::parse(text.as_bytes()).unwrap();
        let mut notes = file.of("s");
        let on = Target { step: 1, step_id: "a".to_owned(), event: None };
        notes.set(on.clone(), true, "t", Timestamp(0));
        file.set("s", &notes);
        let value: Value = serde_json::from_slice(&file.to_bytes()).unwrap();
        assert_eq!((&value["by"], &value["sessions"]["s"]["colour"]), (&json!("x"), &json!(1)));
        assert_eq!(value["sessions"]["s"]["notes"][0]["tag"], "y");
        assert_eq!(value["sessions"]["t"]["notes"], json!([7]));
        assert!(notes.get(&on).unwrap().bookmark);
        assert_eq!(NotesFile::parse(br#"{"stepline":"notes","version":2}"#), Err(NotNotes::Later));
        assert_eq!(NotesFile::parse(b"[]"), Err(NotNotes::Other));
    }
}
