//! The events of a walk, each made from the index when it is looked at.

use std::sync::Arc;

use super::approval::Ruling;
use super::chain::Walk;
use super::events::{Entry, Form, Linked, Links, Timeline, build};
use super::index::{Index, NONE, Piece, Record, Symbol, What};
use super::pieces::fallback_label;
use super::question::{self, Fate};
use crate::formats::labels::line;
use crate::model::{
    Asked, Event, EventKind, EventSource, Events, Evidence, Fact, Glance, Marker, Place, SubagentStatus, Timestamp,
    Tool, ToolState,
};

/// The events of a walk of the file with number `file`.
pub(super) fn events(index: &Arc<Index>, walk: &Arc<Walk>, links: Links, file: u16, timeline: Timeline) -> Events {
    let (index, walk, entries) = (Arc::clone(index), Arc::clone(walk), timeline.entries);
    Events::made(Arc::new(Made { index, walk, links, file, entries }))
}

/// The events of an agent's walk.
pub(super) fn alone(index: &Arc<Index>, walk: Walk, file: u16, loose: &[(u32, u32)]) -> Events {
    let timeline = build(index, &walk, &[], &Links::default(), loose);
    events(index, &Arc::new(walk), Links::default(), file, timeline)
}

struct Made {
    index: Arc<Index>,
    walk: Arc<Walk>,
    links: Links,
    file: u16,
    entries: Vec<Entry>,
}

/// A record's piece and where it stands.
#[derive(Clone, Copy)]
struct Spot<'a> {
    record: &'a Record,
    record_number: u32,
    piece: &'a Piece,
    piece_number: u32,
}

/// What the result of a call says.
#[derive(Clone, Copy)]
struct Outcome<'a> {
    at: Spot<'a>,
    is_error: bool,
    ruling: Option<&'a Ruling>,
}

impl EventSource for Made {
    fn count(&self) -> usize {
        self.entries.len()
    }

    fn glance(&self, index: usize) -> Option<Glance> {
        let entry = *self.entries.get(index)?;
        let call = self.call_of(entry);
        let glance = match entry.form {
            Form::Call => {
                let spot = self.spot(entry.record, entry.piece)?;
                let outcome = self.outcome(call);
                let state = state(outcome);
                Glance {
                    text_bytes: with_result(spot, outcome),
                    tool: Some(state),
                    marker: (state == ToolState::Failed).then_some(crate::model::MarkerKind::Failure),
                    ..self.glance_at(EventKind::Tool, spot)
                }
            }
            Form::Approval => {
                let outcome = self.outcome(call)?;
                let ruling = outcome.ruling?;
                Glance {
                    text_bytes: 0,
                    folded: true,
                    marker: Some(ruling.marker_kind()),
                    decision: Some(ruling.decision),
                    ..self.glance_at(EventKind::Approval, outcome.at)
                }
            }
            Form::Plain if self.index.marker(entry.piece).is_none() => {
                let spot = self.spot(entry.record, entry.piece)?;
                self.glance_at(plain_kind(spot.piece.what), spot)
            }
            _ => Glance::from(&self.event(index)?),
        };
        let call = (call != NONE).then_some(u64::from(call));
        Some(Glance { call, ..glance })
    }

    fn event(&self, index: usize) -> Option<Event> {
        let entry = *self.entries.get(index)?;
        if entry.form == Form::Fallback {
            return self.fallback(entry);
        }
        let spot = self.spot(entry.record, entry.piece)?;
        match entry.form {
            Form::Plain | Form::Fallback => Some(self.plain(spot)),
            Form::Call => Some(self.call(spot)),
            Form::Question(nth) => self.question(spot, nth),
            Form::LoneResult => Some(self.lone_result(spot)),
            Form::Approval => self.approval(spot),
            Form::Interrupted => self.interrupted(spot),
            Form::Started(nth) => {
                let linked = self.links.by_call.get(&self.call_of(entry))?.get(usize::from(nth))?;
                Some(self.subagent(spot, linked, linked.status))
            }
            Form::Ended => self.ended(spot),
        }
    }
}

impl Made {
    fn spot(&self, record: u32, piece: u32) -> Option<Spot<'_>> {
        let index = &self.index;
        Some(Spot {
            record: index.record(record)?,
            record_number: record,
            piece: index.piece(piece)?,
            piece_number: piece,
        })
    }

    /// The call that an event is, or belongs to.
    fn call_of(&self, entry: Entry) -> Symbol {
        match (entry.form, self.index.piece(entry.piece).map(|piece| piece.what)) {
            (Form::Fallback, _) => NONE,
            (_, Some(What::Call { id, .. })) => id,
            (_, Some(What::Result { call, .. })) => call,
            _ => NONE,
        }
    }

    fn outcome(&self, call: Symbol) -> Option<Outcome<'_>> {
        let piece = *self.walk.results.get(&call)?;
        let at = self.spot(self.index.record_of(piece)?, piece)?;
        let What::Result { is_error, ruling, .. } = at.piece.what else { return None };
        Some(Outcome { at, is_error, ruling: self.index.rulings.get(ruling) })
    }

    fn place(&self, spot: Spot) -> Place {
        Place { file: self.file, record: spot.record_number, block: spot.piece.block }
    }

    fn glance_at(&self, kind: EventKind, spot: Spot) -> Glance {
        Glance {
            kind,
            at: spot.record.at(),
            place: self.place(spot),
            text_bytes: spot.piece.bytes,
            folded: false,
            tool: None,
            call: None,
            marker: None,
            decision: None,
        }
    }

    fn event_at(&self, kind: EventKind, spot: Spot, label: Box<str>) -> Event {
        let event = Event::new(kind, self.index.node_id(spot.record_number), self.place(spot), label);
        Event { at: spot.record.at(), text_bytes: spot.piece.bytes, ..event }
    }

    /// An event that is not a piece of its own.
    fn extra(&self, kind: EventKind, spot: Spot, label: &str, fact: Fact, evidence: Evidence) -> Event {
        let marker = Marker { fact, evidence, at: spot.record.at() };
        Event { text_bytes: 0, marker: Some(Box::new(marker)), ..self.event_at(kind, spot, line(label)) }
    }

    fn plain(&self, spot: Spot) -> Event {
        let kind = plain_kind(spot.piece.what);
        let label = self.index.label(spot.piece_number);
        let label = match kind {
            EventKind::Unreadable => line(&format!("line {}: {label}", spot.record.span.line)),
            _ => label.into(),
        };
        let marker = self.index.marker(spot.piece_number).map(|marker| Box::new(marker.clone()));
        Event { marker, ..self.event_at(kind, spot, label) }
    }

    fn fallback(&self, entry: Entry) -> Option<Event> {
        let index = &self.index;
        let record = index.record(entry.record)?;
        let (from, to) = (index.text(entry.piece), index.text(index.answer(record).model));
        let label = fallback_label(from.as_deref(), to.as_deref());
        let fact = Fact::Fallback { from, to, trigger: None, reset_at: None, message: None };
        let piece = &Piece { what: What::Text, bytes: 0, block: 0 };
        let spot = Spot { record, record_number: entry.record, piece, piece_number: NONE };
        Some(self.extra(EventKind::Fallback, spot, &label, fact, Evidence::Inferred))
    }

    fn tool_name(&self, spot: Spot) -> String {
        let name = if let What::Call { name, .. } = spot.piece.what { name } else { NONE };
        self.index.text(name).unwrap_or_default()
    }

    fn call(&self, spot: Spot) -> Event {
        let id = if let What::Call { id, .. } = spot.piece.what { id } else { NONE };
        let outcome = self.outcome(id);
        let state = state(outcome);
        let result_at = outcome.and_then(|outcome| outcome.at.record.at());
        let failed = outcome.filter(|_| state == ToolState::Failed).map(|outcome| {
            let more = self.index.result_more(outcome.at.piece_number);
            let message = more.and_then(|more| more.error.as_deref()).unwrap_or_default().to_owned();
            Box::new(Marker::recorded(Fact::Failure { code: None, message }, result_at))
        });
        let tool = Tool {
            name: self.tool_name(spot),
            call_id: self.index.text(id),
            state,
            result: outcome.map(|outcome| self.place(outcome.at)),
        };
        Event {
            tool: Some(Box::new(tool)),
            text_bytes: with_result(spot, outcome),
            duration_ms: lasted(spot.record.at(), result_at),
            marker: failed,
            ..self.event_at(EventKind::Tool, spot, self.index.label(spot.piece_number).into())
        }
    }

    fn approval(&self, spot: Spot) -> Option<Event> {
        let What::Call { id, .. } = spot.piece.what else { return None };
        let Outcome { at, ruling, .. } = self.outcome(id)?;
        let ruling = ruling?;
        let fact = Fact::Approval {
            tool: self.tool_name(spot),
            tool_call_id: self.index.text(id),
            decision: ruling.decision,
            by: ruling.by.clone(),
            reason: ruling.reason.clone(),
            waited_ms: if ruling.by_person() { lasted(spot.record.at(), at.record.at()) } else { None },
            asked: Asked::default(),
        };
        let reason = ruling.reason.as_deref().unwrap_or_default();
        Some(Event { folded: true, ..self.extra(EventKind::Approval, at, reason, fact, Evidence::Recorded) })
    }

    fn interrupted(&self, spot: Spot) -> Option<Event> {
        let What::Call { id, .. } = spot.piece.what else { return None };
        let at = self.outcome(id)?.at;
        let message = format!("{} was interrupted", self.tool_name(spot));
        let fact = Fact::Interruption { message: message.clone() };
        Some(self.extra(EventKind::Interruption, at, &message, fact, Evidence::Recorded))
    }

    fn subagent(&self, spot: Spot, linked: &Linked, status: SubagentStatus) -> Event {
        let fact = Fact::Subagent { id: linked.id.clone(), name: linked.name.clone(), status };
        let label = linked.name.as_deref().unwrap_or(&linked.id);
        self.extra(EventKind::Subagent, spot, label, fact, Evidence::Recorded)
    }

    fn ended(&self, spot: Spot) -> Option<Event> {
        let notified = self.index.notified(spot.piece_number)?;
        let status = if notified.completed { SubagentStatus::Finished } else { SubagentStatus::Failed };
        if let Some(linked) = self.links.by_id.get(&notified.task) {
            return Some(self.subagent(spot, linked, status));
        }
        let linked = Linked {
            id: self.index.text(notified.task).unwrap_or_default(),
            name: Some(notified.summary.to_string()).filter(|summary| !summary.is_empty()),
            status,
        };
        Some(self.subagent(spot, &linked, status))
    }

    fn question(&self, spot: Spot, nth: u16) -> Option<Event> {
        let What::Call { id, .. } = spot.piece.what else { return None };
        let asked = self.index.questions(spot.piece_number).get(usize::from(nth))?;
        let outcome = self.outcome(id);
        let fate = Fate {
            has_result: outcome.is_some(),
            is_error: outcome.is_some_and(|outcome| outcome.is_error),
            ruling: outcome.and_then(|outcome| outcome.ruling),
            answers: outcome.map_or(&[], |outcome| self.index.answers_in(outcome.at.piece_number)),
        };
        let tool = Tool {
            name: question::TOOL.to_owned(),
            call_id: self.index.text(id),
            state: state(outcome),
            result: outcome.map(|outcome| self.place(outcome.at)),
        };
        Some(Event {
            text_bytes: with_result(spot, outcome),
            duration_ms: lasted(spot.record.at(), outcome.and_then(|outcome| outcome.at.record.at())),
            tool: Some(Box::new(tool)),
            marker: Some(Box::new(Marker::recorded(question::fact(asked, &fate), spot.record.at()))),
            ..self.event_at(EventKind::Question, spot, line(&asked.question))
        })
    }

    fn lone_result(&self, spot: Spot) -> Event {
        let (call, outcome) = match spot.piece.what {
            What::Result { call, is_error, ruling, .. } => {
                (call, Some(Outcome { at: spot, is_error, ruling: self.index.rulings.get(ruling) }))
            }
            _ => (NONE, None),
        };
        let tool = Tool {
            name: "tool".to_owned(),
            call_id: self.index.text(call),
            state: state(outcome),
            result: Some(self.place(spot)),
        };
        Event { tool: Some(Box::new(tool)), ..self.event_at(EventKind::ToolResult, spot, Box::default()) }
    }
}

/// The kind of event that a piece is by itself.
fn plain_kind(what: What) -> EventKind {
    match what {
        What::Text => EventKind::Text,
        What::Thinking => EventKind::Thinking,
        What::Ready(kind) => kind,
        _ => EventKind::Notice,
    }
}

fn state(outcome: Option<Outcome>) -> ToolState {
    match outcome {
        None => ToolState::Pending,
        Some(Outcome { ruling: Some(ruling), .. }) if ruling.refused() => ToolState::Denied,
        Some(outcome) if outcome.is_error => ToolState::Failed,
        Some(_) => ToolState::Done,
    }
}

fn with_result(spot: Spot, outcome: Option<Outcome>) -> u32 {
    spot.piece.bytes.saturating_add(outcome.map_or(0, |outcome| outcome.at.piece.bytes))
}

fn lasted(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<i64> {
    Some(to?.since(from?))
}
