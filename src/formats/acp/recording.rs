//! One session of a recorded stream, with the file to read its texts from.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::asks::list;
use super::cut;
use super::envelope::unwrap;
use super::route::text;
use super::updates::{block_text, blocks_text, output_text, plan_text};
use crate::formats::document;
use crate::formats::{Body, Cut, Fork, Origin, Recording, Refusal, ReplayTurn, Revert, record, replay};
use crate::model::{Event, EventKind, Fact, Locator, Outcome, Place, Session, Step, StepKind};
use crate::store::{ReadError, SourceFile, Span, Watch};

/// Where a step is in its stream, in records.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Those with the prompt's text.
    pub said: Vec<u32>,
    pub record: Option<u32>,
    /// The first one that goes with it.
    pub first: Option<u32>,
    /// The last one that stays with it.
    pub last: Option<u32>,
}

pub struct Recorded {
    pub session: Session,
    pub files: Vec<Arc<SourceFile>>,
    pub records: Vec<(Span, u32)>,
    pub openings: Vec<(u32, u32)>,
    /// The session's number in the stream.
    pub own: u32,
    /// All records of an event, where there are more than the one it is placed at.
    pub members: HashMap<Place, Vec<u32>>,
    /// Records of dead branches, first and last.
    pub dead: Vec<(u32, u32)>,
    /// One a step.
    pub parts: Vec<Part>,
}

impl Recorded {
    pub fn step(&self, number: u32) -> Result<&Step, Refusal> {
        self.session.step(number).ok_or(Refusal::NoStep { step: number, steps: self.session.steps.len() })
    }

    pub fn part(&self, number: u32) -> Option<&Part> {
        self.parts.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    fn span(&self, place: Place) -> Option<Span> {
        self.records.get(place.record as usize).filter(|_| place.file == 0).map(|(span, _)| *span)
    }

    /// The message of a record; null where it holds none.
    fn message(&self, record: u32) -> Result<Value, ReadError> {
        let (Some((span, _)), Some(file)) = (self.records.get(record as usize), self.files.first()) else {
            return Ok(Value::Null);
        };
        let bytes = file.read_at(span.offset, span.len as usize)?;
        let value = document::parse(&bytes).map(|document| document.value).unwrap_or_default();
        Ok(unwrap(value).map(|wrapped| wrapped.message).unwrap_or_default())
    }

    fn update(&self, record: u32) -> Result<Value, ReadError> {
        let mut message = self.message(record)?;
        let params = message.get_mut("params").map(Value::take).unwrap_or_default();
        Ok(match params.get("update").or_else(|| params.get("toolCall")) {
            Some(update) => update.clone(),
            None => params,
        })
    }

    fn members(&self, place: Place) -> Vec<u32> {
        self.members.get(&place).cloned().unwrap_or_else(|| vec![place.record])
    }

    fn tool_body(&self, event: &Event) -> Result<Body, ReadError> {
        let mut body = Body::default();
        for record in self.members(event.place) {
            let update = self.update(record)?;
            if let Some(input) = update.get("rawInput").filter(|input| !input.is_null()) {
                body.input = Some(input.to_string());
            }
            let output = output_text(&update);
            if !output.is_empty() {
                body.output = Some(output);
            }
            if !list(&update, "locations").is_empty() {
                let paths = list(&update, "locations").iter().filter_map(|location| text(location, "path"));
                body.attachments = paths.map(|path| format!("location: {path}")).collect();
            }
        }
        Ok(body)
    }

    fn said_in(&self, records: &[u32]) -> Result<String, ReadError> {
        let mut words = String::new();
        for record in records {
            let update = self.update(*record)?;
            match update.get("prompt") {
                Some(_) => words.push_str(&blocks_text(list(&update, "prompt"))),
                None => words.push_str(&block_text(update.get("content").unwrap_or(&Value::Null))),
            }
        }
        Ok(words)
    }

    fn prompt_of(&self, step: &Step) -> Result<String, ReadError> {
        let said = self.part(step.number).map(|part| part.said.as_slice()).unwrap_or_default();
        if step.kind == StepKind::Prompt && !said.is_empty() {
            return self.said_in(said);
        }
        let asked = self.session.events_of(step).iter().find_map(|event| match &event.marker.as_deref()?.fact {
            Fact::Question { question, options, .. } => Some((question.clone(), options.clone())),
            _ => None,
        });
        let Some((mut words, options)) = asked else { return Ok(step.summary.clone()) };
        for option in options {
            words.push_str("\n- ");
            words.push_str(&option);
        }
        Ok(words)
    }

    /// The records of a step's turn, without its own and without those of other sessions.
    fn turn(&self, step: &Step) -> Vec<u32> {
        let Some(part) = self.part(step.number) else { return Vec::new() };
        let (Some(own), Some(last)) = (part.record, part.last) else { return Vec::new() };
        let later = self.parts.iter().skip(step.number as usize).find_map(|part| part.first);
        let end = match step.kind {
            // After its answer the turn of a question goes on.
            StepKind::QuestionAnswer => later.map_or(self.records.len(), |later| later as usize),
            StepKind::Prompt => last as usize + 1,
        };
        let is_dead = |record: &u32| self.dead.iter().any(|(first, last)| (first..=last).contains(&record));
        let own_records = self.records.iter().enumerate().take(end).skip(own as usize + 1);
        let own_records = own_records.filter(|(_, (_, owner))| *owner == self.own);
        own_records.filter_map(|(at, _)| u32::try_from(at).ok()).filter(|record| !is_dead(record)).collect()
    }
}

impl Recording for Recorded {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let span = self.span(place)?;
        let path = self.files.first()?.path().to_owned();
        Some(Origin { path, locator: Locator::Line(span.line.into()), offset: Some(span.offset) })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        match (self.files.first(), self.span(place)) {
            (Some(file), Some(span)) => record::raw(file, span),
            _ => Ok(Vec::new()),
        }
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        let record = event.place.record;
        let said = |text: String| Ok(Body { text, ..Body::default() });
        match event.kind {
            EventKind::Tool => self.tool_body(event),
            EventKind::Text | EventKind::Thinking => said(self.said_in(&self.members(event.place))?),
            EventKind::Approval | EventKind::Question => said(asked_text(event)),
            EventKind::Fallback | EventKind::Interruption => said(event.label.to_string()),
            EventKind::Unreadable => match (self.files.first(), self.span(event.place)) {
                (Some(file), Some(span)) => said(record::start_text(file, span)?),
                _ => said(String::new()),
            },
            EventKind::FileChange => {
                let update = self.update(record)?;
                let path = text(&update, "path").unwrap_or_default();
                said(format!("{path}\n{}", text(&update, "content").unwrap_or_default()))
            }
            _ => {
                let update = self.update(record)?;
                if update.get("entries").is_some() {
                    return said(plan_text(&update));
                }
                let message = self.message(record)?;
                let own = ["params", "result", "error"].iter().find_map(|key| message.get(*key));
                said(serde_json::to_string_pretty(own.unwrap_or(&message)).unwrap_or_default())
            }
        }
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        self.session.step(step_number).map_or(Ok(String::new()), |step| self.prompt_of(step))
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        let Some(step) = self.session.step(step_number) else { return Ok(()) };
        for record in self.turn(step) {
            let mut message = self.message(record)?;
            if let Value::Object(fields) = &mut message {
                fields.shift_remove("jsonrpc");
                fields.shift_remove("id");
            }
            emit(json!({ "turn": step_number, "event": message }))?;
        }
        let events = self.session.events_of(step);
        if step.outcome == Outcome::Failed {
            let failure = events.iter().rev().filter(|event| event.kind != EventKind::Tool);
            let failure = failure.filter_map(|event| event.marker.as_deref()).find_map(|marker| match &marker.fact {
                Fact::Failure { code, message } => Some(json!({ "code": code, "message": message })),
                Fact::Quota { message, .. } => Some(json!({ "code": "quota", "message": message })),
                _ => None,
            });
            return emit(json!({ "turn": step_number, "failure": failure }));
        }
        let mut words = Vec::new();
        for event in events.iter().filter(|event| event.kind == EventKind::Text) {
            words.push(self.said_in(&self.members(event.place))?);
        }
        emit(replay::last_line(step, &words, &self.session.id))
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        replay::turns(&self.session.steps, |step| self.prompt_of(step))
    }

    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
        cut::fork(self, cut, watch)
    }

    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
        cut::revert(self, step_number, watch)
    }
}

/// What the user was asked, and what they said.
fn asked_text(event: &Event) -> String {
    match event.marker.as_deref().map(|marker| &marker.fact) {
        Some(Fact::Approval { asked, reason, .. }) => {
            let reason = reason.as_ref().map(|reason| format!("\n→ {reason}")).unwrap_or_default();
            format!("{}{reason}", asked.prompt.as_deref().unwrap_or_default())
        }
        Some(Fact::Question { question, options, answers, .. }) => {
            let options: String = options.iter().map(|option| format!("\n- {option}")).collect();
            let answers = if answers.is_empty() { String::new() } else { format!("\n→ {}", answers.join(", ")) };
            format!("{question}{options}{answers}")
        }
        _ => event.label.to_string(),
    }
}
