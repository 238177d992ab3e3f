//! Journal entries as events: calls joined with their results, repeated texts folded.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::value::RawValue;

use super::entry::{Entry, Raw};
use super::kind::Kind;
use super::labels::{label, short, text_bytes};
use super::markers::{event_kind, fact};
use super::workflow::{self, Asking};
use crate::formats::json;
use crate::formats::labels::line;
use crate::model::{Event, EventKind, Fact, Marker, NodeId, Place, Tool, ToolState};

/// Bytes of streamed pieces that are compared with the whole text after them.
const MAX_PIECES_BYTES: usize = 1024 * 1024;

/// The events of a journal so far, and what the current turn's next entries may refer to.
#[derive(Clone, Debug, Default)]
pub struct Events {
    pub list: Vec<Event>,
    /// The current turn's calls: a call id is unique only within its turn.
    calls: HashMap<Box<str>, usize>,
    /// Hash of the last `text` of the turn.
    last_text: Option<u64>,
    /// Streamed pieces that no `text` has repeated yet.
    pieces: Vec<usize>,
    pieces_text: String,
    /// Gates and questions of a workflow that wait for a person.
    asked: HashMap<String, usize>,
    /// The record that asked, and the one that answered it.
    pub answers: HashMap<u32, u32>,
}

impl Events {
    /// Forgets what the turn before may have referred to.
    pub fn start_turn(&mut self) {
        self.calls.clear();
        self.last_text = None;
        self.drop_pieces();
    }

    /// Appends an event of the current turn, or a decision among them.
    pub fn push_turn_event(&mut self, number: u32, entry: &Entry<'_>, record_bytes: u32) {
        let mut event = event(number, 0, entry, record_bytes);
        let index = self.list.len();
        match entry.kind() {
            Kind::Tool => {
                if let Some(call_id) = entry.call_id.as_str() {
                    self.calls.insert(call_id.into(), index);
                }
            }
            Kind::ToolResult => event.folded = self.join_result(entry, &event),
            Kind::ToolOutput => {
                let name = self.call(entry).and_then(|call| call.tool.as_ref()).map(|tool| tool.name.clone());
                event.folded = name.is_some();
                if let (Some(tool), Some(name)) = (&mut event.tool, name) {
                    tool.name = name;
                }
            }
            Kind::ToolDenied => event.folded = self.deny(entry),
            Kind::TextDelta => self.hold_piece(entry.text, index),
            Kind::Text => {
                self.fold_pieces(entry.text);
                self.last_text = entry.text.map(hash);
            }
            Kind::Result => {
                self.fold_pieces(entry.text);
                event.folded = self.last_text.is_some() && self.last_text == entry.text.map(hash);
            }
            _ => {}
        }
        self.list.push(event);
    }

    /// Appends something that lies beside the turn's own events.
    pub fn push_extra(&mut self, number: u32, entry: &Entry<'_>, record_bytes: u32) {
        let mut event = event(number, Place::EXTRA, entry, record_bytes);
        if entry.kind() == Kind::Workflow {
            let happened = workflow::of(entry);
            event.duration_ms = happened.duration_ms().filter(|ms| ms.is_finite()).map(|ms| ms.round() as i64);
            match happened.asking() {
                Some((Asking::Asks, what)) => {
                    self.asked.insert(what, self.list.len());
                }
                Some((Asking::Answers, what)) => self.answer(&what, &mut event),
                None => {}
            }
        }
        self.list.push(event);
    }

    /// Gives an answer to what was asked: the two are one approval or question, which was waited for.
    fn answer(&mut self, what: &str, answer: &mut Event) {
        let Some(asked) = self.asked.remove(what).and_then(|index| self.list.get_mut(index)) else { return };
        let waited = asked.at.zip(answer.at).map(|(from, to)| to.since(from));
        let Some(mut marker) = answer.marker.take() else { return };
        if let Fact::Approval { waited_ms, .. } = &mut marker.fact {
            *waited_ms = waited;
        }
        marker.at = asked.at;
        self.answers.insert(asked.place.record, answer.place.record);
        asked.duration_ms = waited;
        asked.marker = Some(marker);
        answer.folded = true;
    }

    /// Appends a record that could not be read.
    pub fn push_unreadable(&mut self, number: u32, reason: &str, record_bytes: u32) {
        let mut event = event(number, Place::EXTRA, &Entry::default(), record_bytes);
        event.kind = EventKind::Unreadable;
        event.label = line(reason);
        self.list.push(event);
    }

    fn call(&mut self, entry: &Entry<'_>) -> Option<&mut Event> {
        let index = *self.calls.get(entry.call_id.as_str()?)?;
        self.list.get_mut(index)
    }

    /// Gives a result to its call; false when the call is not in this turn.
    fn join_result(&mut self, entry: &Entry<'_>, result: &Event) -> bool {
        let Some(call) = self.call(entry) else { return false };
        call.duration_ms = call.at.zip(result.at).map(|(from, to)| to.since(from));
        call.text_bytes = call.text_bytes.saturating_add(result.text_bytes);
        if let Some(tool) = &mut call.tool {
            tool.result = Some(result.place);
            if tool.state != ToolState::Denied {
                tool.state = if entry.is_error.0 { ToolState::Failed } else { ToolState::Done };
                if entry.is_error.0 {
                    let fact = Fact::Failure { code: None, message: short(entry.preview) };
                    call.marker = Some(Box::new(Marker::recorded(fact, result.at)));
                }
            }
        }
        true
    }

    fn deny(&mut self, entry: &Entry<'_>) -> bool {
        let Some(call) = self.call(entry) else { return false };
        if let Some(tool) = &mut call.tool {
            tool.state = ToolState::Denied;
            // A result that came first was the refusal's.
            call.marker = None;
        }
        true
    }

    fn hold_piece(&mut self, text: Raw<'_>, index: usize) {
        self.pieces.push(index);
        if self.pieces_text.len() < MAX_PIECES_BYTES
            && let Some(text) = text.and_then(json::string)
        {
            self.pieces_text.push_str(&text);
        }
    }

    /// Folds the streamed pieces that a whole text repeats.
    fn fold_pieces(&mut self, text: Raw<'_>) {
        if self.pieces.is_empty() {
            return;
        }
        let whole = text.and_then(json::string).unwrap_or_default();
        if whole.contains(self.pieces_text.trim()) {
            for index in &self.pieces {
                if let Some(event) = self.list.get_mut(*index) {
                    event.folded = true;
                }
            }
        }
        self.drop_pieces();
    }

    fn drop_pieces(&mut self) {
        self.pieces.clear();
        self.pieces_text.clear();
    }
}

fn event(number: u32, block: u16, entry: &Entry<'_>, record_bytes: u32) -> Event {
    let at = entry.time();
    let kind = event_kind(entry);
    let place = Place { file: 0, record: number, block };
    Event {
        kind,
        node: NodeId::Number(number.into()),
        at,
        duration_ms: entry.took_ms().map(|ms| ms.round() as i64),
        place,
        label: label(entry),
        text_bytes: text_bytes(entry, record_bytes),
        tool: matches!(kind, EventKind::Tool | EventKind::ToolResult).then(|| Box::new(tool(entry, place))),
        marker: fact(entry).map(|fact| Box::new(Marker::recorded(fact, at))),
        folded: false,
    }
}

/// A call without its result, or a result without its call.
fn tool(entry: &Entry<'_>, place: Place) -> Tool {
    let is_result = entry.kind() == Kind::ToolResult;
    Tool {
        name: super::labels::shorten(entry.name.or_empty()),
        call_id: entry.call_id.to_owned_option(),
        state: match (is_result, entry.is_error.0) {
            (true, true) => ToolState::Failed,
            (true, false) => ToolState::Done,
            _ => ToolState::Pending,
        },
        result: is_result.then_some(place),
    }
}

fn hash(raw: &RawValue) -> u64 {
    let mut hasher = DefaultHasher::new();
    raw.get().hash(&mut hasher);
    hasher.finish()
}
