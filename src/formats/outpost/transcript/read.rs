//! Reading a transcript in one pass: every line counted once, its messages made steps and events.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::line::{Block, Kind, Line, Said, result_text};
use super::{Message, Record, Transcript};
use crate::formats::labels::line;
use crate::formats::outpost::content::Content;
use crate::formats::outpost::labels::{main_argument, shorten};
use crate::formats::outpost::stored_document::notice;
use crate::formats::{Observer, OpenError, json};
use crate::model::{
    Agent, Capability, Event, EventKind, Fact, FormatName, Locator, Marker, NodeId, Parent, Place, Problem,
    ProblemKind, Report, Session, Timestamp, TitleSource, Tool, ToolState, Usage, summarise,
};
use crate::store::{Found, SourceFile, Span};

/// Why the first prompt can neither be reverted nor forked before.
pub const NOTHING_BEFORE: &str = "there is nothing before it: an empty conversation would be left";

pub fn read(
    content: Content,
    files: Vec<Arc<SourceFile>>,
    source: PathBuf,
    id: String,
    observer: &dyn Observer,
) -> Result<Transcript, OpenError> {
    let mut reader = Reader::default();
    content.lines(observer.watch(), &mut |found| reader.take(found))?;
    if reader.messages.is_empty() && reader.header.is_none() {
        let reason = "no conversation of Outpost's own harness: it has no header and no messages".to_owned();
        return Err(OpenError::Empty { reason, path: source });
    }
    Ok(reader.finish(content, files, source, id))
}

/// What the header says.
#[derive(Default)]
struct Header {
    id: Option<String>,
    model: Option<String>,
    created_at: Option<Timestamp>,
    /// The conversation that this one was forked from.
    parent: Option<String>,
}

/// A step that begins.
pub struct Mark {
    pub message: usize,
    pub first_event: usize,
    pub block: u16,
    pub head: String,
    pub text_bytes: u32,
    pub model: Option<String>,
}

/// What was read so far.
#[derive(Default)]
pub struct Reader {
    pub records: Vec<Record>,
    header: Option<Header>,
    pub messages: Vec<Message>,
    pub marks: Vec<Mark>,
    pub events: Vec<Event>,
    /// The events of calls, by their ids.
    calls: HashMap<Box<str>, usize>,
    model: Option<String>,
    /// Lines so far.
    lines: u32,
    report: Report,
}

impl Reader {
    fn take(&mut self, found: Found<'_>) {
        if found.oversized {
            self.unreadable(found.span, ProblemKind::Unreadable, "too long to be read");
            return;
        }
        let readable = json::readable(found.bytes);
        let parts = json::split_line(&readable.text);
        let last = parts.len().saturating_sub(1);
        if parts.is_empty() {
            self.unreadable(found.span, ProblemKind::Unreadable, "nothing but NUL bytes");
        }
        for (index, (at, part)) in parts.into_iter().enumerate() {
            let part = part.trim_end();
            let span = readable.span(found.span, at, part.len());
            if let Some(repair) = readable.repair {
                self.problem(span, ProblemKind::Repaired, repair.to_owned());
            }
            let mut spare = String::new();
            let parsed = if part.starts_with('{') { json::record::<Line>(part, &mut spare).ok() } else { None };
            match parsed {
                Some(parsed) => {
                    let exact = Some(part).filter(|_| readable.repair.is_none());
                    self.accept(span, &parsed, exact);
                }
                None if found.terminated || index < last => {
                    self.unreadable(span, ProblemKind::Unreadable, "the line is no JSON object");
                }
                None => self.unreadable(span, ProblemKind::Torn, "the last line is cut off"),
            }
        }
    }

    fn number(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }

    /// Node id of the line that is being read.
    fn node(&self) -> NodeId {
        NodeId::Number(self.lines.into())
    }

    fn add_line(&mut self, span: Span, kind: Kind) {
        self.records.push(Record { span, kind, line: self.lines, index: None, held: None });
    }

    /// Takes a line. `exact` is its text where the file has just these bytes.
    fn accept(&mut self, span: Span, parsed: &Line<'_>, exact: Option<&str>) {
        let kind = parsed.kind();
        let number = self.number();
        match kind {
            Kind::Session => self.session(span, parsed),
            Kind::Message => {
                self.add_line(span, kind);
                match parsed.said().first() {
                    Some(said) => self.say(number, self.node(), said),
                    None => {
                        let message = "Outpost would refuse it: a message without a role";
                        self.problem(span, ProblemKind::Refused, message.to_owned());
                    }
                }
            }
            Kind::Compaction if self.messages.is_empty() => self.history(span, &parsed.said(), exact),
            Kind::Compaction => self.compaction(span, &parsed.said()),
            Kind::ModelSelection => {
                self.add_line(span, kind);
                self.selection(number, parsed);
            }
            _ => {
                self.add_line(span, Kind::Unknown);
                let label = format!("unknown record {}", parsed.kind.or_empty());
                self.push(EventKind::Unknown, place(number, 0), self.node(), &label, span.len);
                let message = format!("Outpost would refuse it: unknown type \"{}\"", shorten(parsed.kind.or_empty()));
                self.report.records.count(ProblemKind::Unknown);
                self.problem(span, ProblemKind::Unknown, message);
            }
        }
        if kind != Kind::Unknown {
            self.report.records.count_read();
        }
        self.lines = self.lines.saturating_add(1);
    }

    fn session(&mut self, span: Span, parsed: &Line<'_>) {
        if self.header.is_some() || !self.records.is_empty() {
            self.problem(
                span,
                ProblemKind::Refused,
                "Outpost would refuse it: a header that is not the first line".into(),
            );
        }
        if !matches!(parsed.version.0, Some(1 | 2)) {
            self.problem(span, ProblemKind::Refused, "Outpost would refuse it: the version is neither 1 nor 2".into());
        }
        if let (None, Some(caller)) = (&self.header, parsed.parent_conversation.as_str()) {
            let call = parsed.parent_call_id.or_empty();
            let label = format!("a subagent's conversation, started by the call {call} of the conversation {caller}");
            let number = self.number();
            self.push(EventKind::Notice, place(number, Place::EXTRA), self.node(), &label, 0);
        }
        self.add_line(span, Kind::Session);
        let model = parsed.model_name();
        self.model = model.clone().or(self.model.take());
        self.header.get_or_insert(Header {
            id: parsed.id.as_str().map(shorten),
            model,
            created_at: Timestamp::parse(parsed.created_at.or_empty()),
            parent: parsed.parent.as_str().map(shorten),
        });
    }

    /// What a fork inherited is the conversation so far: each message is a record of its own.
    fn history(&mut self, span: Span, said: &[Said<'_>], exact: Option<&str>) {
        let line = self.number();
        self.add_line(span, Kind::History);
        let label = format!("{} messages of the conversation that this one was forked from", said.len());
        self.push(EventKind::Notice, place(line, Place::EXTRA), self.node(), &label, 0);
        for (index, message) in said.iter().enumerate() {
            let text = message.raw.get();
            let within = exact.and_then(|line| json::offset_in(line, text));
            let record = Record {
                span: within.map_or(span, |at| Span {
                    offset: span.offset + at as u64,
                    len: u32::try_from(text.len()).unwrap_or(u32::MAX),
                    line: span.line,
                }),
                kind: Kind::Inherited,
                line: self.lines,
                index: Some(u32::try_from(index).unwrap_or(u32::MAX)),
                held: within.is_none().then(|| text.into()),
            };
            let (number, node) = (self.number(), record.node());
            self.records.push(record);
            self.say(number, node, message);
        }
    }

    /// What the harness reduced is not told twice.
    fn compaction(&mut self, span: Span, said: &[Said<'_>]) {
        let number = self.number();
        self.add_line(span, Kind::Compaction);
        let label = format!("{} messages take the place of all before them", said.len());
        let bytes = said.iter().map(|said| said.raw.get().len()).sum::<usize>();
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let fact = Fact::Compaction { trigger: None, tokens_before: None, tokens_after: None };
        let event = self.push(EventKind::Compaction, place(number, 0), self.node(), &label, bytes);
        event.marker = Some(Box::new(Marker::recorded(fact, None)));
    }

    fn selection(&mut self, number: u32, parsed: &Line<'_>) {
        let name = parsed.model_name();
        let reason = parsed.reason.or_empty();
        // The classifier was not sure, or not there: the default model served.
        let falls_back = matches!(reason, "confidence" | "unavailable");
        let kind = if falls_back { EventKind::Fallback } else { EventKind::Decision };
        let label = format!("{} ({reason})", name.as_deref().unwrap_or(parsed.choice.or_empty()));
        let event = self.push(kind, place(number, 0), self.node(), &label, 0);
        if falls_back {
            let fact = Fact::Fallback {
                from: None,
                to: name.as_deref().map(shorten),
                trigger: Some(reason.to_owned()),
                reset_at: None,
                message: None,
            };
            event.marker = Some(Box::new(Marker::recorded(fact, None)));
        }
        self.model = name.or(self.model.take());
    }

    fn say(&mut self, number: u32, node: NodeId, message: &Said<'_>) {
        let ids = |kind: &str, id: fn(&Block<'_>) -> Option<Box<str>>| -> Vec<Box<str>> {
            message.blocks.iter().filter(|block| block.kind.is(kind)).filter_map(id).collect()
        };
        self.messages.push(Message {
            record: number,
            calls: ids("tool-call", |block| block.id.as_str().map(Into::into)),
            results: ids("tool-result", |block| block.call_id.as_str().map(Into::into)),
        });
        let mut first_text = None;
        for (block, part) in message.blocks.iter().enumerate() {
            let block = u16::try_from(block).unwrap_or(u16::MAX).min(Place::EXTRA - 1);
            match message.is_user && part.kind.is("text") {
                true => first_text = first_text.or(Some(block)),
                false => self.part(place(number, block), node.clone(), part),
            }
        }
        if message.is_prompt() {
            self.begin_step(message, first_text.unwrap_or(0));
        }
    }

    fn begin_step(&mut self, message: &Said<'_>, block: u16) {
        let text = message.text();
        self.marks.push(Mark {
            message: self.messages.len().saturating_sub(1),
            first_event: self.events.len(),
            block,
            head: summarise(&text),
            text_bytes: u32::try_from(text.len()).unwrap_or(u32::MAX),
            model: self.model.clone(),
        });
    }

    fn part(&mut self, place: Place, node: NodeId, part: &Block<'_>) {
        let bytes = |raw: Option<&serde_json::value::RawValue>| raw.map_or(0, json::string_bytes);
        let start = |raw: Option<&serde_json::value::RawValue>| {
            raw.and_then(|raw| json::string_start(raw, 400)).unwrap_or_default()
        };
        match part.kind.or_empty() {
            "text" => {
                self.push(EventKind::Text, place, node, &start(part.text), bytes(part.text));
            }
            "reasoning" => {
                let said = part.text.or(part.data);
                self.push(EventKind::Thinking, place, node, &start(said), bytes(said));
            }
            "tool-call" => {
                let index = self.events.len();
                let call_id = part.id.to_owned_option();
                let name = shorten(part.name.or_empty());
                let tool = Tool { name, call_id, state: ToolState::Pending, result: None };
                let event = self.push(EventKind::Tool, place, node, &main_argument(part.input), bytes(part.input));
                event.tool = Some(Box::new(tool));
                if let Some(id) = part.id.as_str() {
                    self.calls.insert(id.into(), index);
                }
            }
            "tool-result" => self.result(place, node, part),
            other => {
                let label = format!("unknown part {other}");
                self.push(EventKind::Unknown, place, node, &label, 0);
            }
        }
    }

    fn result(&mut self, place: Place, node: NodeId, part: &Block<'_>) {
        let text = result_text(part);
        let state = if part.is_error.0 { ToolState::Failed } else { ToolState::Done };
        let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let call = part.call_id.as_str().and_then(|id| self.calls.remove(id));
        let mut name = String::new();
        if let Some(call) = call.and_then(|index| self.events.get_mut(index)) {
            call.text_bytes = call.text_bytes.saturating_add(bytes);
            if let Some(tool) = &mut call.tool {
                tool.result = Some(place);
                tool.state = state;
                name = tool.name.clone();
            }
            if part.is_error.0 {
                let fact = Fact::Failure { code: None, message: shorten(&text) };
                call.marker = Some(Box::new(Marker::recorded(fact, None)));
            }
        }
        let event = self.push(EventKind::ToolResult, place, node, &text, bytes);
        event.folded = call.is_some();
        let call_id = part.call_id.to_owned_option();
        event.tool = Some(Box::new(Tool { name, call_id, state, result: Some(place) }));
    }

    fn push(&mut self, kind: EventKind, place: Place, node: NodeId, label: &str, text_bytes: u32) -> &mut Event {
        self.events.push_mut(Event { text_bytes, ..Event::new(kind, node, place, line(label)) })
    }

    fn unreadable(&mut self, span: Span, kind: ProblemKind, reason: &str) {
        let number = self.number();
        self.push(EventKind::Unreadable, place(number, Place::EXTRA), self.node(), reason, span.len);
        self.report.records.count(kind);
        self.problem(span, kind, reason.to_owned());
        self.add_line(span, Kind::Unreadable);
        self.lines = self.lines.saturating_add(1);
    }

    fn problem(&mut self, span: Span, kind: ProblemKind, message: String) {
        let locator = Locator::Line(span.line.into());
        self.report.push(Problem { locator, offset: Some(span.offset), kind, message, file: None });
    }

    /// A call at the end that nothing answers: Outpost takes it for interrupted when the conversation goes on.
    fn mark_open_calls(&mut self) {
        let Some(last) = self.messages.last().filter(|last| !last.calls.is_empty()) else { return };
        for index in last.calls.iter().filter_map(|id| self.calls.get(id)) {
            if let Some(event) = self.events.get_mut(*index) {
                let message = "the conversation ends before the call has a result".to_owned();
                event.marker = Some(Box::new(Marker::inferred(Fact::Interruption { message }, None)));
            }
        }
    }

    fn finish(mut self, content: Content, files: Vec<Arc<SourceFile>>, source: PathBuf, id: String) -> Transcript {
        self.mark_open_calls();
        let header = self.header.take();
        if header.is_none() {
            let message = "Outpost would refuse it: the first line is no header";
            self.report.notice(notice("session", ProblemKind::Refused, message));
        }
        let header = header.unwrap_or_default();
        if matches!(content, Content::Held(_)) {
            self.report.problems.iter_mut().for_each(|problem| place_problem(problem, &content));
        }
        let steps = self.steps();
        let session = Session {
            id: header.id.unwrap_or(id),
            title: steps.first().map(|step| step.summary.clone()).filter(|title| !title.is_empty()),
            title_source: TitleSource::FirstPrompt,
            format: FormatName::OutpostTranscript,
            source,
            agent: Agent { name: Some("Outpost".into()), version: None },
            model: self.model.take().or(header.model),
            cwd: None,
            started_at: header.created_at,
            ended_at: None,
            head: self.records.last().map(Record::node),
            nodes: self.messages.len(),
            branches: Vec::new(),
            parent: header.parent.map(|session_id| Parent { session_id, step_number: None }),
            relatives: Vec::new(),
            usage: Usage::default(),
            steps,
            events: self.events.into(),
            subagents: Vec::new(),
            capabilities: vec![Capability::Fork, Capability::Revert, Capability::Replay],
            report: self.report,
        };
        Transcript {
            session,
            files,
            is_stored: matches!(content, Content::Held(_)),
            content,
            records: self.records,
            messages: self.messages,
            prompts: self.marks.iter().map(|mark| mark.message).collect(),
        }
    }
}

/// Of what was put together, a problem lies in one of its pieces.
fn place_problem(problem: &mut Problem, content: &Content) {
    if let Some((path, offset)) = problem.offset.and_then(|at| content.place(at)) {
        problem.offset = Some(offset);
        problem.file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    }
}

fn place(record: u32, block: u16) -> Place {
    Place { file: 0, record, block }
}
