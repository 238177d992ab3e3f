//! Steps: where on the active chain a person spoke, and what the turns after it came to.

use std::collections::HashMap;
use std::ops::Range;

use super::chain::{Walk, is_api_error, reached_model};
use super::events::Timeline;
use super::index::{Flags, Index, NONE, Role, Symbol, What};
use super::numbers::Numbers;
use super::question;
use super::usage::Responses;
use crate::model::{EventKind, NodeId, Outcome, Place, Step, StepKind, Timestamp, Usage};

/// Where a step begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Record and piece of the prompt, or of the call that asks.
    pub record: u32,
    pub piece: u32,
    /// Position of the record in the chain.
    pub position: u32,
    /// Position of the record with the answer, for a question.
    pub answer: Option<u32>,
    pub origin: Option<&'static str>,
}

/// The steps of a walk, in the order of the chain.
///
/// A prompt is a step; a slash command is one when the model ran it; a question is one when its answer is on the chain.
pub(super) fn marks(index: &Index, walk: &Walk) -> Vec<Mark> {
    let mut marks = Vec::new();
    let positions = answer_positions(index, walk);
    let mut asked = Numbers::default();
    for (position, number) in (0_u32..).zip(&walk.chain) {
        let Some(record) = index.record(*number) else { continue };
        for (piece_number, piece) in index.pieces_of(*number) {
            let mut mark = Mark { record: *number, piece: piece_number, position, answer: None, origin: None };
            match piece.what {
                What::Prompt { queued } => mark.origin = queued.then_some("queued"),
                What::Command if reached_model(index, &walk.chain, position as usize) => mark.origin = Some("command"),
                What::Call { asks: true, id, .. } if !record.flags.has(Flags::SIDE) => {
                    let Some(answer) = answer_on_chain(index, walk, id) else { continue };
                    let Some(answer) = positions.get(&answer).filter(|answer| **answer > position) else { continue };
                    if !asked.insert(id) {
                        continue;
                    }
                    mark.answer = Some(*answer);
                }
                _ => continue,
            }
            marks.push(mark);
        }
    }
    marks
}

/// The positions in the chain of the records that answer questions.
fn answer_positions(index: &Index, walk: &Walk) -> HashMap<u32, u32> {
    let pieces = walk.chain.iter().flat_map(|number| index.pieces_of(*number));
    let answers = pieces.filter_map(|(_, piece)| match piece.what {
        What::Call { asks: true, id, .. } => answer_on_chain(index, walk, id),
        _ => None,
    });
    let mut positions: HashMap<u32, u32> = answers.map(|answer| (answer, NONE)).collect();
    if !positions.is_empty() {
        for (at, record) in (0..).zip(&walk.chain) {
            if let Some(position) = positions.get_mut(record) {
                *position = at;
            }
        }
    }
    positions.retain(|_, position| *position != NONE);
    positions
}

/// The record that answers a question, when it holds answers.
fn answer_on_chain(index: &Index, walk: &Walk, call: Symbol) -> Option<u32> {
    let piece = *walk.results.get(&call)?;
    match index.piece(piece)?.what {
        What::Result { is_error: false, .. } if !index.answers_in(piece).is_empty() => index.record_of(piece),
        _ => None,
    }
}

/// Positions in the chain that a step's targets name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Targets {
    pub revert: Option<u32>,
    pub fork: Option<u32>,
}

/// The targets of every step.
///
/// A prompt's turn goes on to the next prompt, over the questions in it. A revert of a question takes back the whole
/// response that asked: its target is the record before the first of that response.
pub(super) fn targets(index: &Index, walk: &Walk, marks: &[Mark]) -> Vec<Targets> {
    let message_of = |record: u32| index.record(record).map_or(NONE, |record| index.answer(record).message);
    let asking = marks.iter().filter(|mark| mark.answer.is_some()).map(|mark| (message_of(mark.record), NONE));
    let mut responses: HashMap<u32, u32> = asking.filter(|(message, _)| *message != NONE).collect();
    if !responses.is_empty() {
        for (at, record) in (0..).zip(&walk.chain) {
            if let Some(first) = responses.get_mut(&message_of(*record)).filter(|first| **first == NONE) {
                *first = at;
            }
        }
    }
    let mut before_next = u32::try_from(walk.chain.len()).ok().and_then(|len| len.checked_sub(1));
    let mut targets = Vec::with_capacity(marks.len());
    for mark in marks.iter().rev() {
        targets.push(match mark.answer {
            Some(answer) => {
                let message = message_of(mark.record);
                let first = responses.get(&message).copied().unwrap_or(mark.position);
                Targets { revert: first.min(mark.position).checked_sub(1), fork: Some(answer) }
            }
            None => {
                let fork = before_next;
                before_next = mark.position.checked_sub(1);
                Targets { revert: mark.position.checked_sub(1), fork }
            }
        });
    }
    targets.reverse();
    targets
}

/// Why a file's steps can be neither forked nor reverted; `None` when they can.
pub(super) type Bar = Option<&'static str>;

/// The steps with their turns.
pub(super) fn steps(
    index: &Index,
    walk: &Walk,
    marks: &[Mark],
    timeline: &Timeline,
    responses: &Responses,
    bar: Bar,
) -> Vec<Step> {
    let all = targets(index, walk, marks);
    let mut counted = Numbers::default();
    let mut steps = Vec::with_capacity(marks.len());
    let end = u32::try_from(walk.chain.len()).unwrap_or(NONE);
    // What was answered before the first step is no step's.
    let before = 0..marks.first().map_or(end, |mark| mark.position);
    turn(index, walk, before, responses, &mut counted);
    for (at, (mark, targets)) in marks.iter().zip(&all).enumerate() {
        let next = marks.get(at + 1);
        let turn = turn(index, walk, mark.position..next.map_or(end, |next| next.position), responses, &mut counted);
        let Some(record) = index.record(mark.record) else { continue };
        let Some(piece) = index.piece(mark.piece) else { continue };
        let node =
            |position: Option<u32>| position.and_then(|at| walk.chain.get(at as usize)).map(|at| index.node_id(*at));
        let step_id = index.node_id(mark.record);
        let label = index.label(mark.piece);
        let (kind, summary, call_id) = match piece.what {
            What::Call { id, .. } => {
                let answers = walk.results.get(&id).map_or(&[][..], |piece| index.answers_in(*piece));
                (StepKind::QuestionAnswer, question::summary(index.questions(mark.piece), answers), index.text(id))
            }
            What::Command => (StepKind::Prompt, crate::model::summarise(label), None),
            _ => (StepKind::Prompt, label.to_owned(), None),
        };
        let is_question = kind == StepKind::QuestionAnswer;
        let event_end = timeline.starts.get(at + 1).copied().unwrap_or(timeline.entries.len());
        let revert_target = node(targets.revert);
        let revert_refusal = match bar {
            Some(bar) => Some(bar.to_owned()),
            None if revert_target.is_none() => Some(NOTHING_BEFORE.to_owned()),
            None => None,
        };
        steps.push(Step {
            number: u32::try_from(at + 1).unwrap_or(u32::MAX),
            kind,
            user_message_id: (!is_question).then(|| step_id.clone()),
            tool_call_id: call_id,
            question_node_id: is_question.then(|| step_id.clone()),
            step_id,
            revert_target,
            fork_target: node(targets.fork),
            summary,
            at: record.at(),
            ended_at: turn.ended_at,
            place: Place { file: 0, record: mark.record, block: piece.block },
            text_bytes: piece.bytes,
            origin: mark.origin,
            events: timeline.starts.get(at).copied().unwrap_or(event_end)..event_end,
            model: index.text(turn.model),
            usage: turn.usage,
            outcome: turn.outcome(next.is_none(), is_question),
            fork_refusal: bar.map(str::to_owned).or_else(|| {
                let cut = *all.get(at + 1).filter(|_| next.is_some_and(|next| next.answer.is_some()))?;
                let is_whole = cut.revert.is_some_and(|end| is_whole(index, walk, mark, end));
                (!is_whole).then(|| ASKS_AT_ONCE.replace("{}", &(at + 2).to_string()))
            }),
            revert_refusal,
        });
    }
    steps
}

/// Whether a step is still one where the chain ends at position `end`: a question with its answer, a command that ran.
fn is_whole(index: &Index, walk: &Walk, mark: &Mark, end: u32) -> bool {
    let is_command = index.piece(mark.piece).is_some_and(|piece| matches!(piece.what, What::Command));
    let chain = walk.chain.get(..=end as usize).unwrap_or_default();
    mark.answer.unwrap_or(mark.position) <= end && (!is_command || reached_model(index, chain, mark.position as usize))
}

/// A fork after a step ends before the next question is asked, with the whole response that asks it.
const ASKS_AT_ONCE: &str = "the question of step {} is asked before anything else shows that this is a step: \
                            a fork that ends before it would not have this one";

pub(super) const NOTHING_BEFORE: &str = "there is nothing before it: reverting it would leave an empty session";

/// What a turn came to.
struct Turn {
    model: Symbol,
    usage: Usage,
    ended_at: Option<Timestamp>,
    tail: Tail,
}

/// What a turn ended with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    Nothing,
    Answer,
    OpenCall,
    Failure,
    Interruption,
    /// Something that is no end: a result, a thought.
    Middle,
}

impl Turn {
    fn outcome(&self, is_last: bool, is_question: bool) -> Outcome {
        match self.tail {
            Tail::Answer => Outcome::Done,
            Tail::Failure => Outcome::Failed,
            Tail::Interruption => Outcome::Interrupted,
            Tail::OpenCall if is_last => Outcome::Pending,
            Tail::Nothing if is_last && !is_question => Outcome::Pending,
            _ => Outcome::Unknown,
        }
    }
}

/// Goes over the records of a turn, which are those at the chain positions in `range`. Responses in `counted` are paid
/// for already.
fn turn(index: &Index, walk: &Walk, range: Range<u32>, responses: &Responses, counted: &mut Numbers) -> Turn {
    let mut turn = Turn { model: NONE, usage: Usage::default(), ended_at: None, tail: Tail::Nothing };
    let mut over = None;
    // The last request failed, as far as the records tell.
    let mut failing = false;
    for stop in walk.stops_in(range) {
        let Some(record) = index.record(stop.record) else { continue };
        if record.role == Role::Assistant {
            let answer = index.answer(record);
            if answer.model != NONE && stop.on_chain {
                turn.model = answer.model;
            }
            if (answer.message == NONE || counted.insert(answer.message))
                && let Some(usage) = responses.of(index, answer.message, answer.usage)
            {
                turn.usage.add(&usage);
            }
        }
        if stop.on_chain {
            turn.ended_at = record.at().or(turn.ended_at);
        }
        if record.flags.has(Flags::TURN_END) {
            over = record.at();
            if !matches!(turn.tail, Tail::Failure | Tail::Interruption) {
                turn.tail = Tail::Answer;
            }
        }
        turn.tail = tail(index, walk, stop.record, turn.tail);
        if record.flags.has(Flags::NO_ANSWER) && !matches!(turn.tail, Tail::Answer | Tail::Failure) {
            turn.tail = if failing { Tail::Failure } else { Tail::Interruption };
        }
        failing = is_api_error(index, stop.record) || (failing && record.role != Role::Assistant);
    }
    turn.ended_at = over.or(turn.ended_at);
    turn
}

fn tail(index: &Index, walk: &Walk, record: u32, mut tail: Tail) -> Tail {
    for (_, piece) in index.pieces_of(record) {
        tail = match piece.what {
            What::Text => Tail::Answer,
            What::Thinking => Tail::Middle,
            What::Call { id, .. } if id == NONE || !walk.results.contains_key(&id) => Tail::OpenCall,
            What::Call { .. } => Tail::Middle,
            What::Result { interrupted: true, .. } => Tail::Interruption,
            What::Result { .. } => {
                if tail == Tail::OpenCall {
                    Tail::OpenCall
                } else {
                    Tail::Middle
                }
            }
            What::Ready(EventKind::Failure) => Tail::Failure,
            What::Ready(EventKind::Interruption) => Tail::Interruption,
            _ => tail,
        };
    }
    tail
}

/// The id of the last record of the chain.
pub(super) fn head(index: &Index, walk: &Walk) -> Option<NodeId> {
    walk.chain.last().map(|record| index.node_id(*record))
}
