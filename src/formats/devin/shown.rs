//! The messages of a copy that the desktop program keeps, as steps and events.

use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;

use super::calls::{self, CallState, Fate};
use super::desktop::Info;
use super::pointers::Pointer;
use super::question;
use super::rows::about_file;
use super::tables::{Table, integer, text};
use crate::formats::document;
use crate::formats::labels::line;
use crate::model::{
    Agent, Asked, Capability, Decision, Event, EventKind, Fact, FormatName, Locator, Marker, NodeId, Place, Problem,
    ProblemKind, Report, Session, Step, StepKind, Timestamp, TitleSource, Tool, ToolState, Usage, summarise,
};
use crate::store::{Fault, Watch};

/// Longer messages are reported, not read, in bytes.
pub(super) const MAX_MESSAGE_BYTES: i64 = 256 * 1024 * 1024;
/// No session has more messages.
const MAX_MESSAGES: usize = 1_000_000;
pub(super) const NO_NODES: &str = "the desktop program's copy does not say which nodes its messages are; open sessions.db of the command line for that";

/// One message as the reader goes over it.
pub(super) struct Message {
    pub kind: String,
    pub content: Value,
}

impl Message {
    pub fn parse(kind: Option<String>, payload: &str) -> Option<Self> {
        let document = document::parse(payload.as_bytes())?;
        let is_whole = document.flaw.is_none_or(|flaw| flaw == document::Flaw::Mended);
        let mut value = document.value;
        if !is_whole || !value.is_object() {
            return None;
        }
        let own = value.get("kind").and_then(Value::as_str).map(str::to_owned);
        let content = value.get_mut("content").map(Value::take).unwrap_or_default();
        Some(Self { kind: own.or(kind).unwrap_or_default(), content })
    }

    /// The updates that a text came in.
    pub fn updates(&self) -> &[Value] {
        match &self.content {
            Value::Array(updates) => updates,
            update => std::slice::from_ref(update),
        }
    }

    pub fn text(&self) -> String {
        let texts = self.updates().iter().filter_map(|update| update.get("content")?.get("text")?.as_str());
        texts.collect()
    }

    /// Something that the first update tells about itself.
    pub fn about(&self, key: &str) -> Option<&str> {
        self.updates().iter().find_map(|update| update.get("_meta")?.get(key)?.as_str())
    }

    /// What a tool call came to, as text.
    pub fn output(&self) -> Option<String> {
        let blocks = self.content.get("content")?.as_array()?;
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("content")?.get("text")?.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    pub fn input(&self) -> Option<&Value> {
        self.content.get("rawInput")
    }

    pub fn tool_name(&self) -> String {
        let meta = self.content.get("_meta").and_then(|meta| meta.get("cognition.ai/inferenceToolName"));
        let name = meta.or_else(|| self.content.get("kind")).and_then(Value::as_str);
        name.unwrap_or("tool").to_owned()
    }
}

/// What is gathered while the messages are gone through.
#[derive(Default, Clone)]
pub(super) struct Reading {
    pub positions: Vec<i64>,
    events: Vec<Event>,
    steps: Vec<Step>,
    report: Report,
}

impl Reading {
    pub fn messages(&mut self, connection: &Connection, table: &Table, watch: Watch<'_>) -> Result<(), Fault> {
        let query = format!(
            "SELECT position, {}, CASE WHEN octet_length(payload) <= {MAX_MESSAGE_BYTES} THEN payload END \
             FROM messages ORDER BY position",
            table.select(&["kind"])
        );
        let mut statement = connection.prepare(&query)?;
        let mut rows = statement.query([])?;
        loop {
            watch.step(self.positions.len() as u64, 0)?;
            let row = match rows.next() {
                Ok(Some(row)) if self.positions.len() < MAX_MESSAGES => row,
                Ok(_) => return Ok(()),
                Err(error) if self.positions.is_empty() => return Err(error.into()),
                Err(_) => {
                    self.report.records.count(ProblemKind::Torn);
                    let message = "the database is damaged: the messages end early, and more may be missing".to_owned();
                    self.report.notice(Problem { kind: ProblemKind::Torn, ..about_file(message) });
                    return Ok(());
                }
            };
            let position = integer(row, 0)?.unwrap_or_default();
            let kind = text(row, 1)?;
            let message = text(row, 2)?.and_then(|payload| Message::parse(kind, &payload));
            self.take(position, message.as_ref());
        }
    }

    pub fn take(&mut self, position: i64, message: Option<&Message>) {
        let record = u32::try_from(self.positions.len()).unwrap_or(u32::MAX);
        self.positions.push(position);
        let place = Place { file: 0, record, block: 0 };
        let node = super::chain::node_id(position);
        let Some(message) = message else {
            self.report.records.count(ProblemKind::Unreadable);
            self.report.push(Problem {
                locator: Locator::Row(position),
                kind: ProblemKind::Unreadable,
                ..about_file(format!("message {position} is not a JSON object, or too long"))
            });
            let label = format!("message {position} cannot be read");
            return self.events.push(plain(node, place, EventKind::Unreadable, &label));
        };
        self.report.records.count_read();
        let at = message.about("timestamp").and_then(Timestamp::parse);
        match message.kind.as_str() {
            "user_message" => {
                let text = message.text();
                let id = message.about("cognition.ai/clientMessageId").map(|id| NodeId::Text(id.into()));
                self.step(Step {
                    step_id: id.clone().unwrap_or_else(|| node.clone()),
                    user_message_id: id,
                    summary: summarise(&line(&text)),
                    at,
                    text_bytes: super::recorded::bytes_of(&text),
                    ..step(place, StepKind::Prompt)
                });
            }
            "tool_call" => self.call(node, place, message),
            kind => {
                let text = message.text();
                let kind = match kind {
                    "agent_message" => EventKind::Text,
                    "agent_thought" => EventKind::Thinking,
                    "plan" => EventKind::Notice,
                    _ => EventKind::Unknown,
                };
                let label = if kind == EventKind::Notice { plan(&message.content) } else { text.clone() };
                let bytes = super::recorded::bytes_of(if kind == EventKind::Notice { &label } else { &text });
                self.events.push(Event { at, text_bytes: bytes, ..plain(node, place, kind, &label) });
            }
        }
    }

    pub fn step(&mut self, step: Step) {
        let number = u32::try_from(self.steps.len() + 1).unwrap_or(u32::MAX);
        let start = self.events.len();
        self.steps.push(Step { number, events: start..start, ..step });
    }

    pub fn call(&mut self, node: NodeId, place: Place, message: &Message) {
        let recorded = message.content.to_string();
        let state = CallState::read(Some(&recorded), Some(&recorded)).unwrap_or_default();
        let fate = calls::fate(Some(&state), None);
        let name = message.tool_name();
        let id = message.content.get("toolCallId").and_then(Value::as_str).map(str::to_owned);
        let input = message.input().map(Value::to_string).unwrap_or_default();
        let output = message.output().unwrap_or_default();
        let tool = Tool {
            name: name.clone(),
            call_id: id.clone(),
            state: match fate {
                Fate::Pending => ToolState::Pending,
                Fate::Ran => ToolState::Done,
                Fate::Failed | Fate::Cancelled => ToolState::Failed,
                Fate::Rejected | Fate::Blocked => ToolState::Denied,
            },
            result: (fate != Fate::Pending).then_some(place),
        };
        let asked = if name == question::TOOL { question::asked(&input) } else { Vec::new() };
        let answers =
            message.content.get("_meta").and_then(|meta| meta.get("cognition.ai/answers")).map(question::answers);
        if let Some(answers) = answers.as_deref().filter(|_| !asked.is_empty()) {
            self.step(Step {
                step_id: id.as_deref().map_or_else(|| node.clone(), |id| NodeId::Text(id.into())),
                tool_call_id: id.clone(),
                summary: question::summary(&asked, answers),
                text_bytes: super::recorded::bytes_of(&input),
                ..step(place, StepKind::QuestionAnswer)
            });
        }
        let label = state.title.as_deref().unwrap_or(&name);
        let made = Event {
            text_bytes: super::recorded::bytes_of(&input).saturating_add(super::recorded::bytes_of(&output)),
            tool: Some(Box::new(tool)),
            ..plain(node, place, EventKind::Tool, label)
        };
        for (number, asked) in asked.iter().enumerate() {
            let fact = question::fact(asked, number, answers.as_deref(), fate != Fate::Pending);
            let marker = Some(Box::new(Marker::recorded(fact, None)));
            self.events.push(Event { kind: EventKind::Question, label: line(&asked.question), marker, ..made.clone() });
        }
        if !asked.is_empty() {
            return;
        }
        let marker = match fate {
            Fate::Failed => Some(Fact::Failure { code: None, message: line(&output).into() }),
            _ => None,
        };
        let refused = (fate == Fate::Rejected).then(|| Fact::Approval {
            tool: name.clone(),
            tool_call_id: id,
            decision: Decision::Denied,
            by: output.contains("by the user").then(|| "user".to_owned()),
            reason: Some(line(&output).into()),
            waited_ms: None,
            asked: Asked::default(),
        });
        let stopped = (fate == Fate::Cancelled).then(|| format!("{name} was called off by the user"));
        self.events.push(Event { marker: marker.map(|fact| Box::new(Marker::recorded(fact, None))), ..made.clone() });
        let beside = |kind, fact| Event {
            marker: Some(Box::new(Marker::recorded(fact, None))),
            ..plain(made.node.clone(), place, kind, &output)
        };
        if let Some(fact) = refused {
            self.events.push(Event { folded: true, ..beside(EventKind::Approval, fact) });
        }
        if let Some(message) = stopped {
            self.events.push(beside(EventKind::Interruption, Fact::Interruption { message }));
        }
    }

    pub fn session(&self, path: &Path, info: &Info, pointer: Option<&Pointer>) -> Session {
        let mut steps = self.steps.clone();
        let starts: Vec<usize> =
            steps.iter().map(|step| step.events.start).skip(1).chain([self.events.len()]).collect();
        for (step, end) in steps.iter_mut().zip(starts) {
            step.events.end = end;
        }
        let title = pointer.and_then(|pointer| pointer.title.clone()).or_else(|| info.title.clone());
        let first_prompt = steps.first().map(|step| step.summary.clone()).filter(|summary| !summary.is_empty());
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let times: Vec<Timestamp> = steps.iter().filter_map(|step| step.at).collect();
        Session {
            id: pointer.map_or(stem, |pointer| pointer.session_id.clone()),
            title_source: if title.is_some() { TitleSource::Generated } else { TitleSource::FirstPrompt },
            title: title.or(first_prompt),
            format: FormatName::DevinDesktop,
            source: path.to_owned(),
            agent: Agent { name: Some("Devin".to_owned()), version: None },
            model: None,
            cwd: pointer.and_then(|pointer| pointer.cwd.clone()),
            started_at: times.iter().min().copied(),
            ended_at: pointer.and_then(|pointer| pointer.updated_at).or_else(|| times.iter().max().copied()),
            head: None,
            nodes: self.positions.len(),
            branches: Vec::new(),
            parent: None,
            relatives: Vec::new(),
            usage: Usage::default(),
            steps,
            events: self.events.clone().into(),
            subagents: Vec::new(),
            capabilities: vec![Capability::Replay],
            report: self.report.clone(),
        }
    }
}

/// The entries of a plan, one after the other.
pub(super) fn plan(content: &Value) -> String {
    let entries = content.get("entries").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let entries: Vec<&str> = entries.iter().filter_map(|entry| entry.get("content")?.as_str()).collect();
    format!("plan: {}", entries.join("; "))
}

pub(super) fn step(place: Place, kind: StepKind) -> Step {
    Step {
        fork_refusal: Some(NO_NODES.to_owned()),
        revert_refusal: Some(NO_NODES.to_owned()),
        ..Step::new(kind, NodeId::Number(0), place)
    }
}

pub(super) fn plain(node: NodeId, place: Place, kind: EventKind, label: &str) -> Event {
    Event::new(kind, node, place, line(label))
}
