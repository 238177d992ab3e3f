//! A trajectory that was read: the session it makes, and where its records are.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::cut;
use super::events::{REASONING, call_of, result_of};
use super::outline::Outline;
use super::question;
use super::record::text_of;
use crate::formats::document;
use crate::formats::{Body, Cut, Fork, Origin, Recording, Refusal, ReplayTurn, Revert, record, replay};
use crate::model::{Event, EventKind, Locator, Outcome, Place, Session, Step, StepKind, Timestamp, Usage};
use crate::store::{ReadError, SourceFile, Span, Watch};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum What {
    User,
    Agent,
    System,
    /// A source that the format does not have.
    Unknown,
    #[default]
    Unreadable,
}

/// All that is kept of a record.
#[derive(Clone, Debug)]
pub struct Kept {
    pub span: Span,
    /// Its number in its list, from 0.
    pub index: u32,
    /// The path of the embedded trajectory that it belongs to.
    pub owner: Option<Arc<str>>,
    /// Its `step_id`, or its place in the list where it has none.
    pub id: u64,
    pub what: What,
    /// It is a subagent's.
    pub is_side: bool,
    pub at: Option<Timestamp>,
    pub usage: Usage,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            span: Span { offset: 0, len: 0, line: 1 },
            index: 0,
            owner: None,
            id: 0,
            what: What::Unreadable,
            is_side: false,
            at: None,
            usage: Usage::default(),
        }
    }
}

impl Kept {
    /// The offset after its last byte.
    pub fn end(&self) -> u64 {
        self.span.offset.saturating_add(self.span.len.into())
    }

    pub fn is_node(&self) -> bool {
        self.what != What::Unreadable
    }
}

/// A trajectory, with the file to read its texts from.
pub struct Trajectory {
    pub session: Session,
    pub files: Vec<Arc<SourceFile>>,
    /// Those of the session first, then those of embedded trajectories.
    pub records: Vec<Kept>,
    /// How many are the session's own.
    pub main: usize,
    /// The record of each step.
    pub anchors: Vec<usize>,
    pub outline: Outline,
    /// The fields of the document but its lists.
    pub head: Map<String, Value>,
}

impl Trajectory {
    /// The records of the session itself.
    pub fn main(&self) -> &[Kept] {
        self.records.get(..self.main).unwrap_or_default()
    }

    pub fn step(&self, number: u32) -> Result<&Step, Refusal> {
        self.session.step(number).ok_or(Refusal::NoStep { step: number, steps: self.session.steps.len() })
    }

    pub fn anchor(&self, number: u32) -> Option<usize> {
        self.anchors.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
    }

    fn kept(&self, place: Place) -> Option<&Kept> {
        self.records.get(place.record as usize).filter(|_| place.file == 0)
    }

    /// A record as JSON; null where it is none.
    fn value(&self, kept: &Kept) -> Result<Value, ReadError> {
        let Some(file) = self.files.first() else { return Ok(Value::Null) };
        let bytes = file.read_at(kept.span.offset, kept.span.len as usize)?;
        Ok(document::parse(&bytes).map(|document| document.value).unwrap_or_default())
    }

    /// The records of a step's turn: those after its own up to the next step's.
    fn turn(&self, number: u32) -> &[Kept] {
        let Some(own) = self.anchor(number) else { return &[] };
        let end = match (self.anchor(number.saturating_add(1)), self.session.step(number.saturating_add(1))) {
            (Some(next), Some(step)) => next + usize::from(step.kind == StepKind::QuestionAnswer),
            _ => self.main().len(),
        };
        self.main().get(own + 1..end.max(own + 1)).unwrap_or_default()
    }

    fn prompt_of(&self, number: u32) -> Result<String, ReadError> {
        let (Some(step), Some(kept)) =
            (self.session.step(number), self.anchor(number).and_then(|at| self.records.get(at)))
        else {
            return Ok(String::new());
        };
        let value = self.value(kept)?;
        Ok(match step.kind {
            StepKind::Prompt => value.get("message").map(|text| text_of(text, &mut Vec::new())).unwrap_or_default(),
            StepKind::QuestionAnswer => questions(&value, step.place.block),
        })
    }
}

/// The questions of a call as text.
fn questions(record: &Value, block: u16) -> String {
    let call = call_of(block).and_then(|number| record.get("tool_calls")?.get(number));
    let raw = call.and_then(|call| serde_json::value::to_raw_value(call.get("arguments")?).ok());
    let mut text = String::new();
    for asked in question::asked(raw.as_deref()) {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&asked.question);
        for option in asked.options {
            text.push_str("\n- ");
            text.push_str(&option);
        }
    }
    text
}

fn result_text(record: &Value, place: Option<Place>, attachments: &mut Vec<String>) -> Option<String> {
    let result = record.get("observation")?.get("results")?.get(result_of(place?.block)?)?;
    Some(result.get("content").map(|content| text_of(content, attachments)).unwrap_or_default())
}

/// A record as replay gives it: without its number and time, and without what only a trainer reads.
fn stripped(mut record: Value) -> Value {
    if let Value::Object(fields) = &mut record {
        for key in ["step_id", "timestamp"] {
            fields.shift_remove(key);
        }
        if let Some(Value::Object(metrics)) = fields.get_mut("metrics") {
            for key in ["prompt_token_ids", "completion_token_ids", "logprobs"] {
                metrics.shift_remove(key);
            }
        }
    }
    record
}

impl Recording for Trajectory {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let kept = self.kept(place)?;
        let locator = match &kept.owner {
            Some(owner) => Locator::Key(format!("{owner}.steps[{}]", kept.index)),
            None => Locator::Index(kept.index.into()),
        };
        Some(Origin { path: self.files.first()?.path().to_owned(), locator, offset: Some(kept.span.offset) })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        match (self.files.first(), self.kept(place)) {
            (Some(file), Some(kept)) => record::raw(file, kept.span),
            _ => Ok(Vec::new()),
        }
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        let (Some(kept), Some(file)) = (self.kept(event.place), self.files.first()) else { return Ok(Body::default()) };
        if kept.what == What::Unreadable {
            return Ok(Body { text: record::start_text(file, kept.span)?, ..Body::default() });
        }
        let value = self.value(kept)?;
        let mut body = Body::default();
        match event.kind {
            EventKind::Fallback | EventKind::Subagent => body.text = event.label.to_string(),
            EventKind::Tool | EventKind::Question => {
                let call = call_of(event.place.block).and_then(|number| value.get("tool_calls")?.get(number));
                body.input = call.and_then(|call| call.get("arguments")).map(Value::to_string);
                let place = event.tool.as_ref().and_then(|tool| tool.result);
                let holder =
                    place.filter(|place| place.record != event.place.record).and_then(|place| self.kept(place));
                let other = holder.map(|kept| self.value(kept)).transpose()?;
                body.output = result_text(other.as_ref().unwrap_or(&value), place, &mut body.attachments);
                if event.kind == EventKind::Question {
                    body.text = questions(&value, event.place.block);
                }
            }
            EventKind::ToolResult => body.output = result_text(&value, Some(event.place), &mut body.attachments),
            EventKind::Unknown => body.text = serde_json::to_string_pretty(&value).unwrap_or_default(),
            _ => {
                let key = if event.place.block == REASONING { "reasoning_content" } else { "message" };
                body.text = match result_text(&value, Some(event.place), &mut body.attachments) {
                    Some(text) => text,
                    None => value.get(key).map(|text| text_of(text, &mut body.attachments)).unwrap_or_default(),
                };
            }
        }
        Ok(body)
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        self.prompt_of(step_number)
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        let Some(step) = self.session.step(step_number) else { return Ok(()) };
        let mut texts = Vec::new();
        for kept in self.turn(step_number) {
            let value = self.value(kept)?;
            if kept.what == What::Agent && !kept.is_side {
                let text = value.get("message").map(|text| text_of(text, &mut Vec::new())).unwrap_or_default();
                texts.extend(Some(text).filter(|text| !text.is_empty()));
            }
            emit(json!({ "turn": step_number, "event": stripped(value) }))?;
        }
        if step.outcome == Outcome::Failed {
            return emit(replay::failure_line(step, self.session.events_of(step)));
        }
        emit(replay::last_line(step, &texts, &self.session.id))
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        replay::turns(&self.session.steps, |step| self.prompt_of(step.number))
    }

    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
        cut::fork(self, cut, watch)
    }

    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
        cut::revert(self, step_number, watch)
    }
}
