//! From the pieces along a walk to the events of the timeline.

use std::collections::{HashMap, HashSet};

use super::chain::Walk;
use super::index::{Call, Flags, Index, NONE, Notified, Outcome, Piece, Record, Role, Symbol, What};
use super::question::{self, Fate};
use super::steps::Mark;
use crate::formats::labels::line;
use crate::model::{Asked, Event, EventKind, Fact, Marker, Place, SubagentStatus, Timestamp, Tool, ToolState};

/// What is known of subagents while the events of their caller are made.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    pub by_call: HashMap<Symbol, Vec<Linked>>,
    pub by_id: HashMap<Symbol, Linked>,
}

#[derive(Clone, Debug)]
pub(super) struct Linked {
    pub id: String,
    pub name: Option<String>,
    /// As far as the call's own result says.
    pub status: SubagentStatus,
}

/// The events of a walk.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    pub events: Vec<Event>,
    /// For each mark, the index of the first event after it.
    pub starts: Vec<usize>,
}

/// Makes the events of a walk. `loose` are records outside the chain by the chain position after which they were
/// written (`NONE`: before all), in file order.
pub(super) fn build(
    index: &Index,
    walk: &Walk,
    marks: &[Mark],
    links: &Links,
    file: u16,
    loose: &[(u32, u32)],
) -> Timeline {
    let calls = walk
        .all
        .iter()
        .filter_map(|stop| index.record(stop.record))
        .flat_map(|record| index.pieces_of(record))
        .filter_map(|(_, piece)| if let What::Call(call) = &piece.what { Some(call) } else { None })
        .map(|call| (call.id, call.name))
        .collect();
    let mut builder = Builder {
        index,
        walk,
        links,
        file,
        calls,
        shown: HashSet::new(),
        model: NONE,
        reason: false,
        timeline: Timeline::default(),
    };
    let mut loose = loose.iter().peekable();
    while let Some((_, record)) = loose.next_if(|(after, _)| *after == NONE) {
        builder.record(*record, false, &mut [].iter().peekable());
    }
    let mut marks = marks.iter().peekable();
    let mut stops = walk.all.iter().peekable();
    while let Some(stop) = stops.next() {
        builder.record(stop.record, stop.on_chain, &mut marks);
        if stops.peek().is_none_or(|next| next.position != stop.position) {
            while let Some((_, record)) = loose.next_if(|(after, _)| *after == stop.position) {
                builder.record(*record, false, &mut [].iter().peekable());
            }
        }
    }
    builder.timeline
}

type Marks<'a, 'b> = std::iter::Peekable<std::slice::Iter<'b, Mark>>;

struct Builder<'a> {
    index: &'a Index,
    walk: &'a Walk,
    links: &'a Links,
    file: u16,
    /// Names of the tools called on the walk, by call id.
    calls: HashMap<Symbol, Symbol>,
    /// Calls that have their event already.
    shown: HashSet<Symbol>,
    model: Symbol,
    /// A reason for another model is on record since the last answer.
    reason: bool,
    timeline: Timeline,
}

/// Where an event was read from.
#[derive(Clone, Copy)]
struct From<'a> {
    record: &'a Record,
    number: u32,
    block: u16,
}

impl<'a> Builder<'a> {
    fn record(&mut self, number: u32, on_chain: bool, marks: &mut Marks) {
        let index = self.index;
        let Some(record) = index.record(number) else { return };
        self.reason |= record.flags.has(Flags::MODEL_REASON);
        if on_chain && record.role == Role::Assistant && record.model != NONE {
            self.model_of(record, number);
        }
        for (at, piece) in index.pieces_of(record) {
            let from = From { record, number, block: piece.block };
            if marks.next_if(|mark| mark.record == number && mark.piece == at).is_some() {
                self.timeline.starts.push(self.timeline.events.len());
                if let What::Call(call) = &piece.what {
                    self.questions(from, piece, call);
                }
                continue;
            }
            self.piece(from, piece);
        }
    }

    fn piece(&mut self, from: From, piece: &Piece) {
        match &piece.what {
            What::Prompt { .. } | What::Command | What::Brief(_) => self.plain(from, EventKind::Notice, piece),
            What::LocalOutput if piece.label.is_empty() => {}
            What::LocalOutput => self.plain(from, EventKind::Notice, piece),
            What::Text => self.plain(from, EventKind::Text, piece),
            What::Thinking => self.plain(from, EventKind::Thinking, piece),
            What::Call(call) if call.questions.is_empty() => self.call(from, piece, call),
            What::Call(call) => self.questions(from, piece, call),
            What::Result(result) => self.lone_result(from, piece, result),
            What::Notification(notified) => self.notification(from, piece, notified),
            What::Ready(kind, marker) => {
                let mut event = Event { marker: marker.clone(), ..self.event(from, *kind, piece) };
                if *kind == EventKind::Unreadable {
                    event.label = line(&format!("line {}: {}", from.record.span.line, piece.label));
                }
                self.timeline.events.push(event);
            }
        }
    }

    /// Notes a change of the answering model; one without a reason on record is a fallback that we conclude.
    fn model_of(&mut self, record: &Record, number: u32) {
        let before = std::mem::replace(&mut self.model, record.model);
        let reason = std::mem::take(&mut self.reason);
        if before == NONE || before == record.model || reason {
            return;
        }
        let (from, to) = (self.index.text(before), self.index.text(record.model));
        let label = super::pieces::fallback_label(from.as_deref(), to.as_deref());
        let fact = Fact::Fallback { from, to, trigger: None, reset_at: None, message: None };
        let marker = Marker::inferred(fact, record.at);
        let place = From { record, number, block: 0 };
        self.extra(place, EventKind::Fallback, &label, marker, false);
    }

    fn call(&mut self, from: From, piece: &Piece, call: &Call) {
        if call.id != NONE && !self.shown.insert(call.id) {
            return;
        }
        let (result, result_piece) =
            self.result_of(call).map_or((None, None), |(from, piece)| (Some(from), Some(piece)));
        let outcome = result_piece.and_then(outcome_of);
        let state = match outcome {
            None => ToolState::Pending,
            Some(outcome) if outcome.ruling.as_ref().is_some_and(super::approval::Ruling::refused) => ToolState::Denied,
            Some(outcome) if outcome.is_error => ToolState::Failed,
            Some(_) => ToolState::Done,
        };
        let tool = Tool {
            name: self.index.text(call.name).unwrap_or_default(),
            call_id: self.index.text(call.id),
            state,
            result: result.map(|result| self.place(result)),
        };
        let name = tool.name.clone();
        let mut event = self.event(from, EventKind::Tool, piece);
        event.tool = Some(Box::new(tool));
        event.text_bytes = piece.bytes.saturating_add(result_piece.map_or(0, |piece| piece.bytes));
        event.duration_ms = lasted(from.record.at, result.and_then(|result| result.record.at));
        if state == ToolState::Failed
            && let Some(outcome) = outcome
        {
            let message = outcome.error.as_deref().unwrap_or_default().to_owned();
            let at = result.and_then(|result| result.record.at);
            event.marker = Some(Box::new(Marker::recorded(Fact::Failure { code: None, message }, at)));
        }
        self.timeline.events.push(event);
        if let (Some(result), Some(outcome)) = (result, outcome) {
            self.approval(from, result, call, outcome, &name);
            if outcome.interrupted {
                let fact = Fact::Interruption { message: format!("{name} was interrupted") };
                let marker = Marker::recorded(fact, result.record.at);
                self.extra(result, EventKind::Interruption, &format!("{name} was interrupted"), marker, false);
            }
        }
        let links = self.links;
        for linked in links.by_call.get(&call.id).map(Vec::as_slice).unwrap_or_default() {
            self.subagent(from, linked, linked.status);
        }
    }

    fn subagent(&mut self, from: From, linked: &Linked, status: SubagentStatus) {
        let fact = Fact::Subagent { id: linked.id.clone(), name: linked.name.clone(), status };
        let marker = Marker::recorded(fact, from.record.at);
        self.extra(from, EventKind::Subagent, linked.name.as_deref().unwrap_or(&linked.id), marker, false);
    }

    fn approval(&mut self, from: From, result: From, call: &Call, outcome: &Outcome, name: &str) {
        let Some(ruling) = &outcome.ruling else { return };
        let fact = Fact::Approval {
            tool: name.to_owned(),
            tool_call_id: self.index.text(call.id),
            decision: ruling.decision,
            by: ruling.by.clone(),
            reason: ruling.reason.clone(),
            waited_ms: if ruling.by_person() { lasted(from.record.at, result.record.at) } else { None },
            asked: Asked::default(),
        };
        let marker = Marker::recorded(fact, result.record.at);
        self.extra(result, EventKind::Approval, ruling.reason.as_deref().unwrap_or_default(), marker, true);
    }

    fn questions(&mut self, from: From, piece: &Piece, call: &Call) {
        if call.id != NONE && !self.shown.insert(call.id) {
            return;
        }
        let result = self.result_of(call);
        let outcome = result.and_then(|(_, piece)| outcome_of(piece));
        let answers = outcome.map(|outcome| outcome.answers.as_slice()).unwrap_or_default();
        let fate = Fate {
            has_result: outcome.is_some(),
            is_error: outcome.is_some_and(|outcome| outcome.is_error),
            ruling: outcome.and_then(|outcome| outcome.ruling.as_ref()),
            answers,
        };
        let refused = fate.ruling.is_some_and(super::approval::Ruling::refused);
        for asked in &call.questions {
            let mut event = self.event(from, EventKind::Question, piece);
            event.label = line(&asked.question);
            event.text_bytes = piece.bytes.saturating_add(result.map_or(0, |(_, piece)| piece.bytes));
            event.duration_ms = lasted(from.record.at, result.and_then(|(from, _)| from.record.at));
            event.tool = Some(Box::new(Tool {
                name: question::TOOL.to_owned(),
                call_id: self.index.text(call.id),
                state: match outcome {
                    None => ToolState::Pending,
                    Some(_) if refused => ToolState::Denied,
                    Some(outcome) if outcome.is_error => ToolState::Failed,
                    Some(_) => ToolState::Done,
                },
                result: result.map(|(from, _)| self.place(from)),
            }));
            event.marker = Some(Box::new(Marker::recorded(question::fact(asked, &fate), from.record.at)));
            self.timeline.events.push(event);
        }
    }

    /// A result whose call is not on the walk; others are part of their call's event.
    fn lone_result(&mut self, from: From, piece: &Piece, outcome: &Outcome) {
        if outcome.call != NONE && self.calls.contains_key(&outcome.call) {
            return;
        }
        let mut event = self.event(from, EventKind::ToolResult, piece);
        event.tool = Some(Box::new(Tool {
            name: "tool".to_owned(),
            call_id: self.index.text(outcome.call),
            state: match &outcome.ruling {
                Some(ruling) if ruling.refused() => ToolState::Denied,
                _ if outcome.is_error => ToolState::Failed,
                _ => ToolState::Done,
            },
            result: Some(event.place),
        }));
        self.timeline.events.push(event);
    }

    fn notification(&mut self, from: From, piece: &Piece, notified: &Notified) {
        let status = if notified.completed { SubagentStatus::Finished } else { SubagentStatus::Failed };
        if let Some(linked) = self.links.by_id.get(&notified.task) {
            let linked = linked.clone();
            return self.subagent(from, &linked, status);
        }
        let tool = self.calls.get(&notified.call).and_then(|name| self.index.name(*name));
        // Commands run in the background end in the same words.
        if tool.is_some_and(|tool| !matches!(tool, "Task" | "Agent" | "Workflow")) {
            return self.plain(from, EventKind::Notice, piece);
        }
        let linked = Linked {
            id: self.index.text(notified.task).unwrap_or_default(),
            name: Some(notified.summary.to_string()).filter(|summary| !summary.is_empty()),
            status,
        };
        self.subagent(from, &linked, status);
    }

    fn result_of(&self, call: &Call) -> Option<(From<'a>, &'a Piece)> {
        let (index, walk) = (self.index, self.walk);
        let (number, piece) = walk.results.get(&call.id)?;
        let record = index.record(*number)?;
        let piece = index.pieces.get(*piece as usize)?;
        Some((From { record, number: *number, block: piece.block }, piece))
    }

    fn plain(&mut self, from: From, kind: EventKind, piece: &Piece) {
        let event = self.event(from, kind, piece);
        self.timeline.events.push(event);
    }

    /// An event that is not a piece of its own.
    fn extra(&mut self, from: From, kind: EventKind, label: &str, marker: Marker, folded: bool) {
        self.timeline.events.push(Event {
            kind,
            node: self.index.node_id(from.number),
            at: from.record.at,
            duration_ms: None,
            place: self.place(from),
            label: line(label),
            text_bytes: 0,
            tool: None,
            marker: Some(Box::new(marker)),
            folded,
        });
    }

    fn event(&self, from: From, kind: EventKind, piece: &Piece) -> Event {
        let event = Event::new(kind, self.index.node_id(from.number), self.place(from), piece.label.clone());
        Event { at: from.record.at, text_bytes: piece.bytes, ..event }
    }

    fn place(&self, from: From) -> Place {
        Place { file: self.file, record: from.number, block: from.block }
    }
}

fn outcome_of(piece: &Piece) -> Option<&Outcome> {
    if let What::Result(outcome) = &piece.what { Some(outcome) } else { None }
}

fn lasted(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<i64> {
    Some(to?.since(from?))
}
