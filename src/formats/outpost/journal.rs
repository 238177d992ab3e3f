//! A journal that was read: the session it makes, and where its entries are.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::cut;
use super::entries::{Entries, Form};
use super::entry::Entry;
use super::kind::Kind;
use super::question;
use super::read::Reader;
use super::tokens::Tokens;
use super::turn_details::TurnDetails;
use super::turns::{Role, Turn, Turns};
use crate::formats::labels::line;
use crate::formats::{Body, Cut, Fork, Origin, Recording, Refusal, ReplayTurn, Revert, json};
use crate::model::{
    Agent, Capability, Event, EventKind, Fact, Locator, Marker, NodeId, Outcome, Place, Problem, ProblemKind,
    QuestionState, Session, Step, StepKind, TitleSource, Usage, summarise,
};
use crate::store::{Framing, ReadError, SourceFile, Span, Watch};

/// A turn's text is searched for a question only up to this size; questions are short and at its end.
const MAX_ASKING_BYTES: u64 = 16 * 1024 * 1024;

/// Choices of a question that its marker holds.
const MAX_CHOICES: usize = 64;

/// All that is kept of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub span: Span,
    /// Its number in an array of its file, from 0.
    pub index: u32,
    pub kind: Kind,
    pub role: Role,
    /// Outpost would refuse the journal because of it.
    pub refused: bool,
    /// It tells of what lies around the session: no journal of its dispatch has it.
    pub is_shared: bool,
}

impl Record {
    /// The offset after its last byte.
    pub fn end(&self) -> u64 {
        self.span.offset.saturating_add(self.span.len.into())
    }
}

/// A journal, with the place to read its texts from.
pub struct Journal {
    pub session: Session,
    pub entries: Entries,
    pub records: Vec<Record>,
    pub turns: Turns,
    /// Which record answered what another one asked a person.
    pub answers: HashMap<u32, u32>,
}

impl Reader {
    /// Makes the session of what was read.
    pub fn finish(mut self) -> Journal {
        self.check_turns();
        let session = self.session();
        let (entries, records, turns, answers) = (self.entries, self.records, self.turns, self.events.answers);
        let mut journal = Journal { session, entries, records, turns, answers };
        journal.session.steps = journal.steps(&self.details, self.events.list.len());
        journal.session.events = self.events.list.into();
        journal.ask(&self.details);
        journal.join_questions();
        if journal.is_workflow() {
            journal.session.steps = journal.asked_steps();
        }
        journal
    }

    fn check_turns(&mut self) {
        let has_turns = !self.turns.list().is_empty();
        let message = if self.entries.form == Form::Nested && !has_turns {
            "Outpost does not replay the events of a workflow: it goes on from the workflow's checkpoint"
        } else if self.entries.form == Form::Nested {
            "Outpost does not replay observations as they are: a fork of them is a journal, which it does replay"
        } else if !has_turns {
            "Outpost would refuse this journal: it contains no agent turns"
        } else if !self.turns.sourced {
            "Outpost would refuse this journal: its entries have no source, as before 7.0, so it finds no agent turns"
        } else {
            return;
        };
        self.report.notice(Problem {
            locator: Locator::Key("turns".into()),
            offset: None,
            kind: ProblemKind::Refused,
            message: message.into(),
            file: None,
        });
    }

    fn session(&mut self) -> Session {
        let path = &self.source;
        let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let named = self.dispatch_id.take().or(self.log.take()).or(self.conversation.take());
        let id = named.or_else(|| stem(path)).unwrap_or_default();
        let sum = self.turns.list().iter().fold(Tokens::default(), |sum, turn| sum.plus(turn.usage()));
        let usage = match (sum.is_zero(), self.dispatch_usage) {
            (false, _) => sum.usage(),
            (true, Some(tokens)) => tokens.usage(),
            (true, None) if self.turns.list().is_empty() => Usage::default(),
            (true, None) => sum.usage(),
        };
        let prompt = self.details.first().map(|detail| summarise(&detail.head)).filter(|title| !title.is_empty());
        // A workflow has no turns of its own, so there is nothing to cut.
        let can_cut = !self.turns.list().is_empty() || self.entries.form == Form::Flat;
        let mut capabilities = vec![Capability::Fork, Capability::Revert, Capability::Replay];
        capabilities.retain(|capability| can_cut || *capability == Capability::Replay);
        Session {
            id,
            title: prompt.or(self.title.take()),
            title_source: TitleSource::FirstPrompt,
            format: self.format,
            source: path.clone(),
            agent: Agent { name: Some("Outpost".into()), version: None },
            model: self.details.iter().rev().find_map(|detail| detail.model.clone()),
            cwd: self.cwd.take(),
            started_at: self.started_at,
            ended_at: self.ended_at,
            head: self.records.len().checked_sub(1).map(|last| NodeId::Number(last as u64)),
            nodes: self.records.len(),
            branches: Vec::new(),
            parent: None,
            relatives: Vec::new(),
            usage,
            steps: Vec::new(),
            events: Vec::new().into(),
            subagents: Vec::new(),
            capabilities,
            report: std::mem::take(&mut self.report),
        }
    }
}

impl Journal {
    /// One step a turn.
    fn steps(&self, details: &[TurnDetails], events: usize) -> Vec<Step> {
        let turns = self.turns.list();
        let mut steps = Vec::with_capacity(turns.len());
        for (index, (turn, detail)) in turns.iter().zip(details).enumerate() {
            let is_last = index + 1 == turns.len();
            let events_end = details.get(index + 1).map_or(events, |next| next.first_event);
            let step_id = NodeId::Number(turn.start.into());
            let revert_target = cut::last_kept_before(self, index).map(|number| NodeId::Number(number.into()));
            steps.push(Step {
                number: u32::try_from(index + 1).unwrap_or(u32::MAX),
                kind: StepKind::Prompt,
                step_id: step_id.clone(),
                user_message_id: Some(step_id),
                tool_call_id: None,
                question_node_id: None,
                revert_refusal: (index == 0).then(|| cut::NOTHING_LEFT.to_owned()),
                revert_target: revert_target.filter(|_| index > 0),
                fork_target: cut::last_kept_before(self, index + 1).map(|number| NodeId::Number(number.into())),
                fork_refusal: None,
                summary: summarise(&detail.head),
                at: detail.at,
                ended_at: detail.ended_at,
                place: Place { file: 0, record: turn.prompt.unwrap_or(turn.start), block: 0 },
                text_bytes: detail.prompt_bytes,
                origin: detail.origin,
                events: detail.first_event..events_end,
                model: detail.model.clone(),
                usage: turn.usage().usage(),
                outcome: self.outcome(turn, is_last),
            });
        }
        steps
    }

    fn outcome(&self, turn: &Turn, is_last: bool) -> Outcome {
        if turn.handover.is_some() {
            Outcome::HandedOver
        } else if turn.interrupted && !turn.is_unfinished() {
            Outcome::Interrupted
        } else if !turn.is_unfinished() {
            Outcome::Done
        } else if is_last && self.turns.is_open() {
            // Nothing ended it and nothing says that the dispatch is over.
            Outcome::Pending
        } else {
            Outcome::Failed
        }
    }

    /// Adds the questions that turns end with, each after the text that holds it.
    fn ask(&mut self, details: &[TurnDetails]) {
        let asked: Vec<(usize, Event)> = (0..details.len())
            .filter(|index| details.get(*index).is_some_and(|detail| detail.may_ask))
            .filter_map(|index| self.question(index))
            .collect();
        if asked.is_empty() {
            return;
        }
        let places: Vec<usize> = asked.iter().map(|(at, _)| *at).collect();
        let shifted = |index: usize| index + places.partition_point(|at| *at <= index);
        for step in &mut self.session.steps {
            step.events = shifted(step.events.start)..shifted(step.events.end);
        }
        // Both lists are in the order of the turns.
        let events = std::mem::take(self.session.events.list_mut());
        let merged = self.session.events.list_mut();
        merged.reserve_exact(events.len() + asked.len());
        let mut asked = asked.into_iter().peekable();
        for (at, event) in events.into_iter().enumerate() {
            merged.extend(asked.next_if(|(place, _)| *place == at).map(|(_, question)| question));
            merged.push(event);
        }
        merged.extend(asked.map(|(_, question)| question));
    }

    /// The question that a turn ends with, and the index that its event gets.
    fn question(&self, index: usize) -> Option<(usize, Event)> {
        let turn = self.turns.list().get(index)?;
        let size: u64 = self.members(turn).map(|(_, record)| u64::from(record.span.len)).sum();
        if size > MAX_ASKING_BYTES {
            return None;
        }
        let question = question::find(&self.turn_text(turn).ok()?)?;
        let range = self.session.steps.get(index)?.events.clone();
        let holder = self
            .session
            .events
            .all()
            .get(range.clone())?
            .iter()
            .rposition(|event| event.kind == EventKind::Text && !event.place.is_extra())?;
        let text = self.session.events.all().get(range.start + holder)?;
        let event = Event {
            kind: EventKind::Question,
            node: text.node.clone(),
            at: text.at,
            duration_ms: None,
            place: Place { block: Place::EXTRA, ..text.place },
            label: line(&question.question),
            text_bytes: u32::try_from(question.question.len()).unwrap_or(u32::MAX),
            tool: None,
            marker: Some(Box::new(Marker::recorded(
                Fact::Question {
                    question: super::labels::shorten(&question.question),
                    options: question
                        .choices
                        .iter()
                        .take(MAX_CHOICES)
                        .map(|choice| super::labels::shorten(choice))
                        .collect(),
                    answers: Vec::new(),
                    state: QuestionState::Pending,
                },
                text.at,
            ))),
            folded: false,
        };
        Some((range.start + holder + 1, event))
    }

    /// A log of observations without turns of its own.
    fn is_workflow(&self) -> bool {
        self.turns.list().is_empty() && self.entries.form == Form::Nested
    }

    /// The numbers and records of a turn's events and decisions, in order.
    pub fn members(&self, turn: &Turn) -> impl Iterator<Item = (u32, &Record)> {
        let start = turn.start as usize;
        let end = turn.end.map_or(self.records.len(), |end| end as usize + 1).min(self.records.len());
        let records = self.records.get(start..end).unwrap_or_default();
        (turn.start..).zip(records).filter(|(_, record)| matches!(record.role, Role::Event | Role::Decision))
    }

    /// The turn of the step with this number.
    pub fn turn(&self, step_number: u32) -> Option<&Turn> {
        self.turns.list().get(usize::try_from(step_number).ok()?.checked_sub(1)?)
    }

    /// The text of an entry's record, read from the file now; empty for a number that there is not. Of a record that is
    /// no entry, and may be of any length, the start.
    pub fn text_of(&self, number: u32) -> Result<String, ReadError> {
        let Some(record) = self.records.get(number as usize) else { return Ok(String::new()) };
        match record.kind {
            Kind::Unreadable => self.entries.start_text(number, record.span),
            _ => self.entries.text(number, record.span),
        }
    }

    /// Reads an entry again; an unreadable one is an empty entry.
    pub fn with_entry<T>(&self, number: u32, take: impl FnOnce(&Entry<'_>) -> T) -> Result<T, ReadError> {
        let text = self.text_of(number)?;
        let mut spare = String::new();
        Ok(take(&json::record(&text, &mut spare).unwrap_or_default()))
    }

    /// The `text` of an entry.
    pub fn said(&self, number: u32) -> Result<String, ReadError> {
        self.with_entry(number, |entry| entry.text.and_then(json::string).unwrap_or_default())
    }

    /// The prompt of a turn: that of its `prompt` entry, or its steering joined with a blank line.
    pub fn prompt_text(&self, turn: &Turn) -> Result<String, ReadError> {
        match turn.prompt {
            Some(number) => self.said(number),
            None => Ok(self.steering(turn)?.join("\n\n")),
        }
    }

    pub fn steering(&self, turn: &Turn) -> Result<Vec<String>, ReadError> {
        turn.resumed_by.iter().map(|number| self.said(*number)).collect()
    }

    fn record(&self, place: Place) -> Option<&Record> {
        self.records.get(place.record as usize).filter(|_| place.file == 0)
    }
}

impl Recording for Journal {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.entries.files
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let record = self.record(place)?;
        self.entries.origin(place.record, record.index, record.span)
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        self.record(place).map_or(Ok(Vec::new()), |record| self.entries.raw(place.record, record.span))
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        self.body_of(event)
    }

    fn resume_command(&self, _: &str, path: &Path) -> Option<String> {
        if !self.turns.sourced {
            // Outpost finds no turns in it.
            return None;
        }
        // A string of JSON is a string of TypeScript.
        let path = serde_json::to_string(&path.to_string_lossy()).ok()?;
        let read = format!("readFileSync({path}, \"utf8\")");
        let journal = match self.entries.journal_file() {
            None | Some((_, Framing::Array { .. })) => format!("JSON.parse({read})"),
            Some((_, Framing::Lines)) => format!("{read}.trim().split(\"\\n\").map((line) => JSON.parse(line))"),
        };
        Some(format!("createReplayAgent({{ journal: {journal}, divergence: \"warn\" }})"))
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        self.turn(step_number).map_or_else(|| Ok(self.asked_text(step_number)), |turn| self.prompt_text(turn))
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        match self.turn(step_number) {
            Some(turn) => self.replay_turn(step_number, turn, emit),
            None => self.replay_asked(step_number, emit),
        }
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        self.comparable_turns()
    }

    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
        cut::fork(self, cut, watch)
    }

    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
        cut::revert(self, step_number, watch)
    }
}
