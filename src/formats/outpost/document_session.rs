//! Sessions made of small documents: checkpoints, runs and their reports. What happened by their records is put in the
//! order of its times and held in memory.
//!
//! Outpost has no prompts there. What a person decides is a boundary of user input all the same: each gate and each
//! question that a workflow waits for is a step, whose answer is the decision.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::fields::spoken;
use super::happenings::{Asking, Happening, Item, Ready};
use super::stored_document::notice;
use crate::formats::{Body, Cut, Fork, Origin, Recording, Refusal, ReplayTurn, Revert};
use crate::model::{
    Agent, Capability, Event, EventKind, Fact, FormatName, NodeId, Outcome, Place, ProblemKind, QuestionState, Report,
    Session, Step, StepKind, Timestamp, TitleSource, Usage, summarise,
};
use crate::store::{ReadError, SourceFile, Watch};

/// Facts of one session; a document that is read to 256 MiB can hold more records than anybody looks at.
const MAX_FACTS: usize = 500_000;

/// A session made of documents.
#[derive(Debug)]
pub struct DocumentSession {
    pub session: Session,
    pub files: Vec<Arc<SourceFile>>,
    /// What the events were told by; their places count in here.
    items: Vec<Item>,
    /// The whole question of each step.
    questions: Vec<String>,
    /// Why nothing of it can be forked or reverted.
    refusal: &'static str,
}

/// What is known of a session beside what happened.
pub struct Heading {
    pub id: String,
    pub title: Option<String>,
    pub format: FormatName,
    /// What was opened.
    pub opened: PathBuf,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub usage: Usage,
    /// How many recorded things with an identity there are.
    pub nodes: usize,
    pub report: Report,
    pub refusal: &'static str,
}

impl Heading {
    fn session(self, head: Option<NodeId>, first: Option<Timestamp>, end: Option<Timestamp>) -> Session {
        Session {
            id: self.id,
            title: self.title,
            title_source: TitleSource::FirstPrompt,
            format: self.format,
            source: self.opened,
            agent: Agent { name: Some("Outpost".into()), version: None },
            model: None,
            cwd: None,
            started_at: self.started_at.or(first),
            ended_at: self.ended_at.or(end),
            head,
            nodes: self.nodes,
            branches: Vec::new(),
            parent: None,
            relatives: Vec::new(),
            usage: self.usage,
            steps: Vec::new(),
            events: Vec::new().into(),
            subagents: Vec::new(),
            capabilities: vec![Capability::Replay],
            report: self.report,
        }
    }
}

impl DocumentSession {
    /// Puts what happened in the order of its times, things of one time as they were told.
    pub fn new(heading: Heading, files: Vec<Arc<SourceFile>>, happenings: Vec<Happening>) -> Self {
        let mut last = None;
        let mut ordered: Vec<(Option<Timestamp>, Happening)> = Vec::with_capacity(happenings.len());
        for happening in happenings {
            last = happening.at.or(last);
            ordered.push((last, happening));
        }
        ordered.sort_by_key(|(at, _)| *at);
        Self::in_order(heading, files, ordered.into_iter().map(|(_, happening)| happening.ready()).collect())
    }

    /// Makes the session of events that are in their order.
    pub fn in_order(mut heading: Heading, files: Vec<Arc<SourceFile>>, mut events: Vec<Ready>) -> Self {
        if events.len() > MAX_FACTS {
            let message = format!("only the first {MAX_FACTS} of {} facts are shown", events.len());
            heading.report.notice(notice("records", ProblemKind::Structure, &message));
            events.truncate(MAX_FACTS);
        }
        let refusal = heading.refusal;
        let times = || events.iter().filter_map(|ready| ready.event.at);
        let (first, end) = (times().min(), times().max());
        let head = events.last().map(|ready| ready.event.node.clone());
        let session = heading.session(head, first, end);
        let mut made = Self { session, files, items: Vec::new(), questions: Vec::new(), refusal };
        for ready in events {
            made.add(ready);
        }
        made.close_steps();
        if made.session.title.is_none() {
            made.session.title = made.questions.first().map(|question| summarise(question));
        }
        made
    }

    fn add(&mut self, ready: Ready) {
        let record = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        let mut event = ready.event;
        event.place = Place { file: 0, record, block: event.place.block };
        if let Some(asking) = ready.step {
            self.begin_step(asking, event.at, event.place);
        }
        self.session.events.list_mut().push(event);
        self.items.push(ready.item);
    }

    fn begin_step(&mut self, asking: Asking, at: Option<Timestamp>, place: Place) {
        let is_question = asking.kind == StepKind::QuestionAnswer;
        let start = self.session.events.len();
        self.session.steps.push(Step {
            number: u32::try_from(self.session.steps.len() + 1).unwrap_or(u32::MAX),
            kind: asking.kind,
            user_message_id: (!is_question).then(|| asking.id.clone()),
            tool_call_id: None,
            question_node_id: is_question.then(|| asking.id.clone()),
            step_id: asking.id,
            revert_target: None,
            fork_target: None,
            summary: match &asking.answer {
                Some(answer) => summarise(&format!("{} -> {answer}", asking.question)),
                None => summarise(&asking.question),
            },
            at,
            ended_at: None,
            place,
            text_bytes: u32::try_from(asking.question.len()).unwrap_or(u32::MAX),
            origin: asking.origin,
            events: start..start,
            model: None,
            usage: Usage::default(),
            outcome: if asking.is_pending { Outcome::Pending } else { Outcome::Done },
            fork_refusal: Some(self.refusal.to_owned()),
            revert_refusal: Some(self.refusal.to_owned()),
        });
        self.questions.push(asking.question);
    }

    /// Gives each step the events up to the next one, and what came of them.
    fn close_steps(&mut self) {
        let mut end = self.session.events.len();
        for step in self.session.steps.iter_mut().rev() {
            step.events = step.events.start..end;
            end = step.events.start;
            let events = self.session.events.all().get(step.events.clone()).unwrap_or_default();
            step.ended_at = events.iter().filter_map(|event| event.at).max();
            if step.outcome == Outcome::Done && events.iter().any(|event| event.kind == EventKind::Failure) {
                step.outcome = Outcome::Failed;
            }
        }
    }

    fn item(&self, place: Place) -> Option<&Item> {
        self.items.get(place.record as usize)
    }

    fn step_index(&self, number: u32) -> Option<usize> {
        usize::try_from(number).ok()?.checked_sub(1).filter(|index| *index < self.session.steps.len())
    }

    /// The answers that a person gave to a step's question.
    fn answers(&self, step: &Step) -> Vec<String> {
        let given = self.session.events_of(step).iter().find_map(|event| match &event.marker.as_ref()?.fact {
            Fact::Question { answers, state: QuestionState::Answered, .. } => Some(answers.clone()),
            _ => None,
        });
        given.unwrap_or_default()
    }

    fn refuse(&self, number: u32) -> Refusal {
        match self.step_index(number) {
            Some(_) => Refusal::Rule(self.refusal.to_owned()),
            None => Refusal::NoStep { step: number, steps: self.session.steps.len() },
        }
    }
}

impl Recording for DocumentSession {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let source = &self.item(place)?.source;
        Some(Origin { path: source.path.to_path_buf(), locator: source.locator.clone(), offset: None })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        Ok(self.item(place).map(|item| item.source.record.to_string().into_bytes()).unwrap_or_default())
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        let Some(item) = self.item(event.place) else { return Ok(Body::default()) };
        let Some(tool) = &event.tool else { return Ok(Body { text: item.text(), ..Body::default() }) };
        let result = tool.result.and_then(|place| self.item(place)).map(Item::part);
        Ok(Body {
            input: item.part().get("input").map(Value::to_string),
            output: result.map(|result| result.get("preview").map(spoken).unwrap_or_default()),
            ..Body::default()
        })
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        let question = self.step_index(step_number).and_then(|index| self.questions.get(index));
        Ok(question.cloned().unwrap_or_default())
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        let Some(step) = self.session.step(step_number) else { return Ok(()) };
        let events = self.session.events_of(step);
        for item in events.iter().filter_map(|event| self.item(event.place)) {
            emit(json!({ "turn": step_number, "event": item.part() }))?;
        }
        let failure = events.iter().rev().find_map(|event| match &event.marker.as_ref()?.fact {
            Fact::Failure { code, message } => Some(json!({ "code": code, "message": message })),
            _ => None,
        });
        if let Some(failure) = failure {
            return emit(json!({ "turn": step_number, "failure": failure }));
        }
        emit(json!({
            "turn": step_number,
            "usage": step.usage,
            "text": self.answers(step).join("\n"),
            "conversation": null,
            "interrupted": false,
        }))
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        let turn = |(step, question): (&Step, &String)| ReplayTurn {
            prompt: (step.kind == StepKind::Prompt).then(|| question.clone()),
            changes: None,
        };
        Ok(self.session.steps.iter().zip(&self.questions).map(turn).collect())
    }

    fn fork(&self, cut: Cut, _: Watch<'_>) -> Result<Fork, Refusal> {
        let (Cut::After(number) | Cut::Before(number)) = cut;
        Err(self.refuse(number))
    }

    fn revert(&self, step_number: u32, _: Watch<'_>) -> Result<Revert, Refusal> {
        Err(self.refuse(step_number))
    }
}
