//! From the pieces along a walk to the events of the timeline: which events there are, a few bytes for each.

use std::collections::HashMap;

use super::chain::Walk;
use super::index::{Flags, Index, NONE, Record, Role, Symbol, What};
use super::numbers::Numbers;
use super::steps::Mark;
use crate::model::SubagentStatus;

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

/// What an event is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub record: u32,
    /// The piece that it is of; of an approval and of an interrupted call the piece that calls.
    pub piece: u32,
    pub form: Form,
}

/// How an event is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A piece as it is.
    Plain,
    Call,
    /// One of the questions of a call, counted from 0.
    Question(u16),
    /// A result whose call is not on the walk.
    LoneResult,
    /// How a call was allowed or refused.
    Approval,
    /// A call that was cut off while it ran.
    Interrupted,
    /// One of the subagents that a call started, counted from 0.
    Started(u16),
    /// A subagent's end, as a notification tells it.
    Ended,
    /// Another model answers, for no reason that is on record. The piece is the symbol of the model before.
    Fallback,
}

/// The events of a walk.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    pub entries: Vec<Entry>,
    /// For each mark, the index of the first event after it.
    pub starts: Vec<usize>,
}

/// Finds the events of a walk. `loose` are records outside the chain by the chain position after which they were
/// written (`NONE`: before all), in file order.
pub(super) fn build(index: &Index, walk: &Walk, marks: &[Mark], links: &Links, loose: &[(u32, u32)]) -> Timeline {
    let mut builder = Builder {
        index,
        walk,
        links,
        called: Numbers::default(),
        shown: Numbers::default(),
        ended: notified_calls(index),
        model: NONE,
        reason: false,
        // There is about one event for each piece.
        timeline: Timeline { entries: Vec::with_capacity(index.pieces.len()), starts: Vec::with_capacity(marks.len()) },
    };
    for stop in walk.stops() {
        builder.note_calls(stop.record);
    }
    let mut loose = loose.iter().peekable();
    while let Some((_, record)) = loose.next_if(|(after, _)| *after == NONE) {
        builder.record(*record, false, &mut [].iter().peekable());
    }
    let mut marks = marks.iter().peekable();
    let mut stops = walk.stops().peekable();
    while let Some(stop) = stops.next() {
        builder.record(stop.record, stop.on_chain, &mut marks);
        if stops.peek().is_none_or(|next| next.position != stop.position) {
            while let Some((_, record)) = loose.next_if(|(after, _)| *after == stop.position) {
                builder.record(*record, false, &mut [].iter().peekable());
            }
        }
    }
    builder.timeline.entries.shrink_to_fit();
    builder.timeline
}

/// The calls that notifications speak of; which tools were called is found out on the way.
fn notified_calls(index: &Index) -> HashMap<Symbol, Symbol> {
    let notifications = (0..).zip(&index.pieces).filter(|(_, piece)| matches!(piece.what, What::Notification));
    notifications.filter_map(|(number, _)| Some((index.notified(number)?.call, NONE))).collect()
}

type Marks<'a, 'b> = std::iter::Peekable<std::slice::Iter<'b, Mark>>;

struct Builder<'a> {
    index: &'a Index,
    walk: &'a Walk,
    links: &'a Links,
    /// Ids of the calls on the walk, and of those that have their event already.
    called: Numbers,
    shown: Numbers,
    /// Names of the tools of calls that notifications speak of.
    ended: HashMap<Symbol, Symbol>,
    model: Symbol,
    /// A reason for another model is on record since the last answer.
    reason: bool,
    timeline: Timeline,
}

impl Builder<'_> {
    fn note_calls(&mut self, record: u32) {
        for (_, piece) in self.index.pieces_of(record) {
            let What::Call { id, name, .. } = piece.what else { continue };
            if id != NONE {
                self.called.insert(id);
            }
            if let Some(tool) = self.ended.get_mut(&id) {
                *tool = name;
            }
        }
    }

    fn push(&mut self, record: u32, piece: u32, form: Form) {
        self.timeline.entries.push(Entry { record, piece, form });
    }

    fn record(&mut self, number: u32, on_chain: bool, marks: &mut Marks) {
        let index = self.index;
        let Some(record) = index.record(number) else { return };
        self.reason |= record.flags.has(Flags::MODEL_REASON);
        if on_chain && record.role == Role::Assistant {
            self.model_of(record, number);
        }
        for (at, piece) in index.pieces_of(number) {
            if marks.next_if(|mark| mark.record == number && mark.piece == at).is_some() {
                self.timeline.starts.push(self.timeline.entries.len());
                if let What::Call { id, .. } = piece.what {
                    self.questions(number, at, id);
                }
                continue;
            }
            match piece.what {
                What::LocalOutput if index.label(at).is_empty() => {}
                What::Call { asks: true, id, .. } => self.questions(number, at, id),
                What::Call { id, .. } => self.call(number, at, id),
                What::Result { call, .. } => {
                    if !self.called.contains(&call) {
                        self.push(number, at, Form::LoneResult);
                    }
                }
                What::Notification => self.notification(number, at),
                _ => self.push(number, at, Form::Plain),
            }
        }
    }

    /// Notes a change of the answering model; one without a reason on record is a fallback that we conclude.
    fn model_of(&mut self, record: &Record, number: u32) {
        let model = self.index.answer(record).model;
        if model == NONE {
            return;
        }
        let before = std::mem::replace(&mut self.model, model);
        let reason = std::mem::take(&mut self.reason);
        if before != NONE && before != model && !reason {
            self.push(number, before, Form::Fallback);
        }
    }

    /// Whether a call has its event already; it has from now on.
    fn is_shown(&mut self, call: Symbol) -> bool {
        call != NONE && !self.shown.insert(call)
    }

    fn call(&mut self, record: u32, piece: u32, id: Symbol) {
        if self.is_shown(id) {
            return;
        }
        self.push(record, piece, Form::Call);
        let result = self.walk.results.get(&id).and_then(|piece| self.index.piece(*piece));
        if let Some(What::Result { ruling, interrupted, .. }) = result.map(|piece| piece.what) {
            if ruling != NONE {
                self.push(record, piece, Form::Approval);
            }
            if interrupted {
                self.push(record, piece, Form::Interrupted);
            }
        }
        for (_, nth) in self.links.by_call.get(&id).into_iter().flatten().zip(0_u16..) {
            self.push(record, piece, Form::Started(nth));
        }
    }

    fn questions(&mut self, record: u32, piece: u32, id: Symbol) {
        if self.is_shown(id) {
            return;
        }
        for (_, nth) in self.index.questions(piece).iter().zip(0_u16..) {
            self.push(record, piece, Form::Question(nth));
        }
    }

    fn notification(&mut self, record: u32, piece: u32) {
        let Some(notified) = self.index.notified(piece) else { return };
        let tool = self.ended.get(&notified.call).and_then(|name| self.index.name(*name));
        // Commands run in the background end in the same words.
        let is_command = tool.is_some_and(|tool| !matches!(&*tool, "Task" | "Agent" | "Workflow"));
        let is_known = self.links.by_id.contains_key(&notified.task);
        self.push(record, piece, if is_known || !is_command { Form::Ended } else { Form::Plain });
    }
}
