//! Events, made of whatever record tells of them, and where the text behind each is.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::approvals::Approval;
use super::facts::Spot;
use super::field::{spoken, text};
use super::read::FileData;
use crate::formats::labels::{MARKER_BYTES, line};
use crate::model::{Asked, Decision, Event, EventKind, Fact, Marker, NodeId, Place, Timestamp, Tool, ToolState};

/// How the text behind an event is read out of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// What is there: a string as it is, all else as JSON.
    Said,
    /// A step that calls a tool.
    ToolStep,
    /// A frame that calls a tool; `more` has the frame of its result.
    ToolFrame,
    /// A held call.
    Held,
    /// One try of a model.
    Try,
    /// The verdict of a quality check.
    Verdict,
    /// The record's bytes, whatever they are.
    Raw,
    /// The event's own label is all there is, beside the record.
    Note,
}

/// Where the text behind an event is.
#[derive(Clone, Debug)]
pub struct Detail {
    pub spot: Spot,
    /// Further parts of a text that came in pieces, or the frame of a result.
    pub more: Vec<Spot>,
    pub how: How,
}

/// Makes the events of a session, turn by turn.
pub struct Maker<'a> {
    pub files: &'a [FileData],
    pub details: HashMap<Place, Detail>,
    blocks: HashMap<(usize, usize), u16>,
    /// The run or row that the events belong to.
    pub node: NodeId,
    /// The events of the current turn so far.
    pub turn: Vec<Event>,
    /// Its calls, and what is said in it.
    calls: HashSet<String>,
    texts: HashSet<String>,
}

impl<'a> Maker<'a> {
    pub fn new(files: &'a [FileData]) -> Self {
        let node = NodeId::Text("".into());
        Self {
            files,
            details: HashMap::new(),
            blocks: HashMap::new(),
            node,
            turn: Vec::new(),
            calls: HashSet::new(),
            texts: HashSet::new(),
        }
    }

    /// A place of its own for a fact: events of one record are told apart by their block.
    pub fn place(&mut self, spot: &Spot, how: How, more: Vec<Spot>) -> Place {
        let block = self.blocks.entry((spot.file, spot.record)).or_insert(0);
        let place = Place {
            file: u16::try_from(spot.file).unwrap_or(u16::MAX),
            record: u32::try_from(spot.record).unwrap_or(u32::MAX),
            block: *block,
        };
        // The last block stands for events that do not count.
        *block = block.saturating_add(1).min(Place::EXTRA - 1);
        self.details.insert(place, Detail { spot: spot.clone(), more, how });
        place
    }

    /// Adds an event and gives it back for what else there is to say.
    pub fn add(&mut self, kind: EventKind, spot: &Spot, how: How, at: Option<Timestamp>, label: &str) -> &mut Event {
        let place = self.place(spot, how, Vec::new());
        let text_bytes = match how {
            How::Said => spoken(spot.value(self.files)).len(),
            How::Note => 0,
            _ => label.len(),
        };
        let text_bytes = u32::try_from(text_bytes).unwrap_or(u32::MAX);
        self.turn.push_mut(Event { at, text_bytes, ..Event::new(kind, self.node.clone(), place, line(label)) })
    }

    /// Adds a notice that is one line.
    pub fn note(&mut self, spot: &Spot, at: Option<Timestamp>, label: &str) {
        self.add(EventKind::Notice, spot, How::Note, at, label);
    }

    /// Adds an event with a fact that the file states.
    pub fn mark(&mut self, kind: EventKind, spot: &Spot, at: Option<Timestamp>, label: &str, fact: Fact) -> &mut Event {
        let event = self.add(kind, spot, How::Note, at, label);
        event.marker = Some(Box::new(Marker::recorded(fact, at)));
        event
    }

    /// Adds what was said at a spot.
    pub fn say(&mut self, kind: EventKind, spot: &Spot, at: Option<Timestamp>) -> &mut Event {
        let said = spoken(spot.value(self.files));
        if kind == EventKind::Text {
            self.texts.insert(said.trim().to_owned());
        }
        self.add(kind, spot, How::Said, at, &said)
    }

    /// Whether a tool call with this id is among the turn's events.
    pub fn has_call(&self, call: &str) -> bool {
        self.calls.contains(call)
    }

    pub fn note_call(&mut self, call: Option<&str>) {
        self.calls.extend(call.map(str::to_owned));
    }

    /// Whether the turn's events say this text already.
    pub fn says(&self, text: &str) -> bool {
        self.texts.contains(text.trim())
    }

    /// Adds a held call.
    pub fn approval(&mut self, approval: &Approval) {
        let waited = approval.requested.zip(approval.responded).map(|(from, to)| to.since(from)).filter(|ms| *ms >= 0);
        let fact = Fact::Approval {
            tool: short(&approval.tool),
            tool_call_id: approval.call.clone(),
            decision: approval.decision,
            by: approval.by.as_deref().map(short),
            reason: approval.reason.as_deref().map(short),
            waited_ms: waited,
            asked: Asked {
                prompt: approval.prompt.as_deref().map(short),
                actors: approval.actors.iter().take(64).map(|actor| short(actor)).collect(),
                verification: None,
            },
        };
        let state = match approval.decision {
            Decision::Denied | Decision::Blocked | Decision::Cancelled => ToolState::Denied,
            Decision::Granted | Decision::Auto => ToolState::Done,
            Decision::Pending => ToolState::Pending,
        };
        let label = approval.prompt.as_deref().unwrap_or(&approval.tool);
        let at = approval.requested.or(approval.responded);
        let tool = Tool { name: short(&approval.tool), call_id: approval.call.clone(), state, result: None };
        let evidence = if approval.is_inferred { Marker::inferred } else { Marker::recorded };
        let event = self.add(EventKind::Approval, &approval.spot, How::Held, at, label);
        event.tool = Some(Box::new(tool));
        event.duration_ms = waited;
        event.marker = Some(Box::new(evidence(fact, at)));
    }

    /// The turn's events in the order of their times; those without one stay behind the event before them. What belongs
    /// inside a tool call's row is folded into it.
    pub fn take_turn(&mut self) -> Vec<Event> {
        self.calls.clear();
        self.texts.clear();
        let mut last = i64::MIN;
        let mut keyed: Vec<(i64, Event)> = Vec::with_capacity(self.turn.len());
        for event in self.turn.drain(..) {
            last = event.at.map_or(last, |at| at.0);
            keyed.push((last, event));
        }
        keyed.sort_by_key(|(key, _)| *key);
        let mut events: Vec<Event> = keyed.into_iter().map(|(_, event)| event).collect();
        fold(&mut events);
        events
    }
}

/// Puts each approval right behind the tool call that it held, folded into its row.
fn fold(events: &mut Vec<Event>) {
    let mut calls: HashMap<String, usize> = HashMap::new();
    let mut held: Vec<Event> = Vec::new();
    let mut kept: Vec<Event> = Vec::with_capacity(events.len());
    let has_call = |event: &Event, all: &HashSet<String>| call_of(event).is_some_and(|call| all.contains(call));
    let all: HashSet<String> = events
        .iter()
        .filter(|event| event.kind == EventKind::Tool)
        .filter_map(|event| call_of(event).map(str::to_owned))
        .collect();
    for mut event in events.drain(..) {
        if event.kind == EventKind::Approval && has_call(&event, &all) {
            event.folded = true;
            held.push(event);
        } else {
            if let (EventKind::Tool, Some(call)) = (event.kind, call_of(&event)) {
                calls.entry(call.to_owned()).or_insert(kept.len());
            }
            kept.push(event);
        }
    }
    // From the back, so that places before stay as they are.
    let mut held: Vec<(usize, Event)> = held
        .into_iter()
        .map(|event| (call_of(&event).and_then(|call| calls.get(call)).copied().unwrap_or(0), event))
        .collect();
    held.sort_by_key(|(place, _)| *place);
    for (place, event) in held.into_iter().rev() {
        if let Some(tool) = kept.get_mut(place).and_then(|call| call.tool.as_mut())
            && let Some(Fact::Approval { decision: Decision::Denied | Decision::Cancelled, .. }) =
                event.marker.as_ref().map(|marker| &marker.fact)
        {
            tool.state = ToolState::Denied;
        }
        kept.insert((place + 1).min(kept.len()), event);
    }
    *events = kept;
}

fn call_of(event: &Event) -> Option<&str> {
    event.tool.as_ref()?.call_id.as_deref()
}

/// A text inside a marker.
pub fn short(text: &str) -> String {
    match text.len() <= MARKER_BYTES {
        true => text.to_owned(),
        false => format!("{}…", text.get(..text.floor_char_boundary(MARKER_BYTES)).unwrap_or_default()),
    }
}

/// The name of a trace's tool as approvals spell it: `shopify.get_order`.
pub fn step_tool(trace: &Value) -> String {
    let tool = trace.get("tool").unwrap_or(&Value::Null);
    let name = text(tool, "id").or(text(tool, "name")).or(text(trace, "displayName")).unwrap_or_default();
    match text(tool, "integrationId") {
        Some(integration) => format!("{integration}.{name}"),
        None => name.to_owned(),
    }
}
