//! One session of a stream while it is read: its events in order, the steps among them, and what still waits.

use std::collections::HashMap;

use serde_json::Value;

use super::asks::Ask;
use super::envelope::Moment;
use super::history::Retold;
use super::list::AgentStep;
use super::route::Request;
use super::usage::Meter;
use crate::formats::labels::line;
use crate::model::{
    Branch, Event, EventKind, Fact, Marker, NodeId, Outcome, Place, StepKind, Timestamp, Tool, Usage, summarise,
};

/// So much of a text that is still growing is kept, for its label.
pub const MAX_HEAD_BYTES: usize = 1024;

/// What is known of a step while the stream is read.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Tells drafts apart when some of them are taken back.
    pub key: u32,
    pub kind: StepKind,
    /// The request, the replayed chunk or the answer that makes it a step.
    pub record: u32,
    /// The first record that goes when it is reverted.
    pub first: u32,
    /// The last record of its turn; set when something else begins.
    pub last: Option<u32>,
    /// The records of the prompt's text.
    pub said: Vec<u32>,
    /// Index of the first event of its turn.
    pub event: usize,
    pub message_id: Option<String>,
    pub call_id: Option<String>,
    /// The start of a prompt that comes in pieces.
    pub head: String,
    pub summary: String,
    pub text_bytes: u32,
    pub at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub origin: Option<&'static str>,
    pub model: Option<String>,
    pub usage: Usage,
    pub outcome: Outcome,
}

/// A text or a thought that further chunks may be added to.
pub struct Growing {
    event: usize,
    kind: EventKind,
    message_id: Option<String>,
    head: String,
}

/// A tool call that further updates may change.
pub struct Call {
    pub event: usize,
    pub record: u32,
    pub moment: Moment,
    /// What it asks the user, where it is a question.
    pub questions: Value,
    pub is_question: bool,
    /// Its question has been shown.
    pub was_asked: bool,
}

pub struct Builder {
    pub id: String,
    pub title: Option<String>,
    pub cwd: Option<String>,
    pub model: Option<String>,
    /// A model that the client asked for.
    pub asked_model: Option<String>,
    /// Number of the line of the record that is being taken, from 0.
    pub line: u32,
    pub record: u32,
    pub moment: Moment,
    pub events: Vec<Event>,
    /// All records of an event, where there are more than the one it is placed at.
    pub members: HashMap<Place, Vec<u32>>,
    pub drafts: Vec<Draft>,
    next_key: u32,
    /// Prompts that have not been answered: the request's record and the draft's key.
    pub running: Vec<(u32, u32)>,
    pub branches: Vec<Branch>,
    /// Records of dead branches, first and last.
    pub dead: Vec<(u32, u32)>,
    pub growing: Option<Growing>,
    pub calls: HashMap<String, Call>,
    pub asks: HashMap<u32, Ask>,
    pub retold: Option<Retold>,
    /// The agent's own list of steps, and the record that it came with.
    pub list: Option<(u32, Vec<AgentStep>)>,
    pub meter: Meter,
    /// What all turns used, those of dead branches too.
    pub spent: Usage,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub nodes: usize,
    pub last_record: u32,
}

impl Builder {
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: None,
            cwd: None,
            model: None,
            asked_model: None,
            line: 0,
            record: 0,
            moment: Moment::default(),
            events: Vec::new(),
            members: HashMap::new(),
            drafts: Vec::new(),
            next_key: 0,
            running: Vec::new(),
            branches: Vec::new(),
            dead: Vec::new(),
            growing: None,
            calls: HashMap::new(),
            asks: HashMap::new(),
            retold: None,
            list: None,
            meter: Meter::default(),
            spent: Usage::default(),
            started_at: None,
            ended_at: None,
            nodes: 0,
            last_record: 0,
        }
    }

    /// Turns to the next record of the session.
    pub fn at_record(&mut self, record: u32, line: u32, moment: Moment) {
        self.last_record = self.record;
        (self.record, self.line, self.moment) = (record, line, moment);
        self.nodes += 1;
        self.started_at = self.started_at.or(moment.at);
        self.ended_at = moment.at.or(self.ended_at);
    }

    /// Whether what comes now is here already, from before it was told again.
    pub fn is_known(&self) -> bool {
        self.retold.as_ref().is_some_and(|retold| retold.is_known)
    }

    pub fn push(&mut self, kind: EventKind, text: &str) -> usize {
        self.growing = None;
        self.push_growing(kind, text)
    }

    fn push_growing(&mut self, kind: EventKind, text: &str) -> usize {
        let place = Place { file: 0, record: self.record, block: 0 };
        let event = Event::new(kind, NodeId::Number(self.line.into()), place, line(text));
        self.events.push(Event { at: self.moment.at, text_bytes: bytes(text), ..event });
        let index = self.events.len() - 1;
        self.place_apart(index);
        index
    }

    /// Events of one record differ in their block.
    fn place_apart(&mut self, index: usize) {
        let before = index.checked_sub(1).and_then(|before| self.events.get(before)).map(|event| event.place);
        if let (Some(before), Some(event)) = (before, self.events.get_mut(index))
            && before.record == event.place.record
        {
            event.place.block = before.block.saturating_add(1);
        }
    }

    /// A fact that the stream states.
    pub fn mark(&mut self, kind: EventKind, text: &str, fact: Fact) -> usize {
        let index = self.push(kind, text);
        let marker = Marker::recorded(fact, self.moment.at);
        if let Some(event) = self.events.get_mut(index) {
            event.marker = Some(Box::new(marker));
        }
        index
    }

    /// Notes that the current record belongs to an event too.
    pub fn join(&mut self, event: usize) {
        if let Some(event) = self.events.get(event) {
            self.members.entry(event.place).or_insert_with(|| vec![event.place.record]).push(self.record);
        }
    }

    pub fn event(&mut self, index: usize) -> Option<&mut Event> {
        self.events.get_mut(index)
    }

    pub fn tool(&mut self, index: usize) -> Option<&mut Tool> {
        self.events.get_mut(index)?.tool.as_deref_mut()
    }

    /// A piece of a text or a thought: added to the one before it unless that was of another kind or message.
    pub fn chunk(&mut self, kind: EventKind, message_id: Option<&str>, text: &str) {
        if self.is_known() {
            return;
        }
        if let Some(retold) = &mut self.retold {
            retold.in_prompt = false;
        }
        match &mut self.growing {
            Some(growing) if growing.kind == kind && growing.message_id.as_deref() == message_id => {
                if growing.head.len() < MAX_HEAD_BYTES {
                    growing.head.push_str(text);
                }
                let (index, label) = (growing.event, line(&growing.head));
                if let Some(event) = self.events.get_mut(index) {
                    event.label = label;
                    event.text_bytes = event.text_bytes.saturating_add(bytes(text));
                }
                self.join(index);
            }
            _ => {
                let event = self.push_growing(kind, text);
                let message_id = message_id.map(str::to_owned);
                self.growing = Some(Growing { event, kind, message_id, head: text.to_owned() });
            }
        }
    }

    pub fn draft(&mut self, kind: StepKind, summary: String, text_bytes: u32) -> Draft {
        self.next_key = self.next_key.saturating_add(1);
        Draft {
            key: self.next_key,
            kind,
            record: self.record,
            first: self.record,
            last: None,
            said: vec![self.record],
            event: self.events.len(),
            message_id: None,
            call_id: None,
            head: String::new(),
            summary,
            text_bytes,
            at: self.moment.at,
            ended_at: None,
            origin: None,
            model: self.model.clone(),
            usage: Usage::default(),
            outcome: Outcome::Pending,
        }
    }

    /// The user sent a prompt.
    pub fn prompt(&mut self, words: &str) {
        self.end_retelling();
        self.end_turn();
        self.growing = None;
        let mut draft = self.draft(StepKind::Prompt, summarise(words), bytes(words));
        if !self.running.is_empty() {
            draft.origin = Some("steering");
        }
        self.running.push((self.record, draft.key));
        self.drafts.push(draft);
    }

    /// The user answered a question whose first event is at `event`.
    pub fn answered(&mut self, event: usize, first: u32, call_id: Option<String>, summary: String) {
        let mut draft = self.draft(StepKind::QuestionAnswer, summary, 0);
        draft.text_bytes = self.events.get(event).map_or(0, |event| event.text_bytes);
        (draft.event, draft.first, draft.call_id) = (event, first, call_id);
        draft.last = Some(self.record);
        let place = self.drafts.partition_point(|other| other.event <= event);
        self.drafts.insert(place, draft);
    }

    /// Closes the turn that goes on, before something else begins.
    pub fn end_turn(&mut self) {
        let last = self.last_record;
        for draft in self.drafts.iter_mut().rev() {
            draft.last = draft.last.or(Some(last.max(draft.record)));
            // The prompts before it were closed when it began.
            if draft.kind == StepKind::Prompt {
                break;
            }
        }
    }

    pub fn draft_of(&mut self, key: u32) -> Option<&mut Draft> {
        self.drafts.iter_mut().rev().find(|draft| draft.key == key)
    }

    /// The draft whose prompt was answered by the response to this request.
    pub fn finished(&mut self, request: &Request) -> Option<u32> {
        let place = self.running.iter().position(|(record, _)| *record == request.record)?;
        Some(self.running.remove(place).1)
    }

    /// A turn of the last step goes on, as the agent was told to.
    pub fn resumed(&mut self) {
        if let Some(draft) = self.drafts.last() {
            self.running.push((self.record, draft.key));
        }
    }
}

pub fn bytes(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
