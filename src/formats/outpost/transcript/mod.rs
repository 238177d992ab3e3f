//! Transcripts of Outpost's own harness: the conversation as it is sent to the model, one record a line.
//!
//! A user's message with a text is a step. Nothing but the header has a time. A `compaction` line replaces the messages
//! before it: at the start of a fork it brings the inherited history, whose prompts are steps like all others; later it is
//! the harness's own summary, and the prompts before it stay as they were. Node ids are the numbers of records, from 0, and
//! `record:index` for the messages inside a compaction.

mod line;
mod plans;
mod read;
mod replay;
mod steps;

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::content::Content;
use crate::formats::{
    Body, Cut, Fork, Observer, OpenError, Origin, Recording, Refusal, ReplayTurn, Revert, json, record,
};
use crate::model::{Event, EventKind, Locator, NodeId, Place, Problem, Session, ToolState};
use crate::store::{ReadError, SourceFile, Span, Watch};
use line::{Block, Kind, Line, Said, result_text};

/// Where a record is and what it is: a line, or a message inside the line that a fork begins with.
#[derive(Debug)]
struct Record {
    span: Span,
    kind: Kind,
    /// Number of its line, from 0.
    line: u32,
    /// Which message of the line it is; `None` where it is the line.
    index: Option<u32>,
    /// Its text, where it had to be repaired and the file has it in no one place.
    held: Option<Box<str>>,
}

impl Record {
    fn node(&self) -> NodeId {
        match self.index {
            None => NodeId::Number(self.line.into()),
            Some(index) => NodeId::Text(format!("{}:{index}", self.line).into()),
        }
    }
}

/// A message of the conversation.
#[derive(Debug)]
struct Message {
    record: u32,
    /// Calls that it makes and results that it brings.
    calls: Vec<Box<str>>,
    results: Vec<Box<str>>,
}

/// A transcript, with the bytes to read its texts from.
pub struct Transcript {
    session: Session,
    files: Vec<Arc<SourceFile>>,
    content: Content,
    records: Vec<Record>,
    /// All messages but those of the harness's own compactions, in order.
    messages: Vec<Message>,
    /// The message of each step.
    prompts: Vec<usize>,
    /// The bytes were put together from objects, so that nothing can be cut.
    is_stored: bool,
}

/// Reads a transcript that is a file of its own.
pub fn open(file: Arc<SourceFile>, observer: &dyn Observer) -> Result<Transcript, OpenError> {
    let source = file.path().to_owned();
    let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    read::read(Content::File(Arc::clone(&file)), vec![file], source, stem, observer)
}

/// Reads a transcript that was put together from objects. `opened` is what the user named, `id` goes where the header
/// has none.
pub fn open_stored(
    content: Content,
    files: Vec<Arc<SourceFile>>,
    opened: &std::path::Path,
    id: String,
    observer: &dyn Observer,
) -> Result<Transcript, OpenError> {
    read::read(content, files, opened.to_owned(), id, observer)
}

/// The start of the first prompt in the first lines of a transcript, and its model.
pub fn glance(bytes: &[u8]) -> (Option<String>, Option<String>) {
    let (mut prompt, mut model) = (None, None);
    for text in bytes.split(|byte| *byte == b'\n') {
        let text = json::readable(text).text;
        let Ok(line) = serde_json::from_str::<Line>(&text) else { continue };
        model = model.or_else(|| line.model_name());
        prompt = line.said().iter().find(|said| said.is_prompt()).map(|said| crate::model::summarise(&said.text()));
        if prompt.is_some() {
            break;
        }
    }
    (prompt, model)
}

impl Transcript {
    /// Adds what was noticed before the transcript was read.
    pub fn notice(&mut self, problem: Problem) {
        self.session.report.notice(problem);
    }

    fn record_of(&self, number: u32) -> Option<&Record> {
        self.records.get(number as usize)
    }

    /// The text of a record; empty where it cannot be taken apart.
    fn recorded(&self, number: u32) -> Result<String, ReadError> {
        let Some(record) = self.record_of(number).filter(|record| record.kind != Kind::Unreadable) else {
            return Ok(String::new());
        };
        match &record.held {
            Some(held) => Ok(held.to_string()),
            None => Ok(json::readable(&self.content.read(record.span)?).text.into_owned()),
        }
    }

    /// Reads a line again; nothing of it where it is none.
    fn with_line<T>(&self, number: u32, take: impl FnOnce(&Line<'_>) -> T) -> Result<T, ReadError> {
        let text = self.recorded(number)?;
        let mut spare = String::new();
        Ok(take(&json::record(&text, &mut spare).unwrap_or_default()))
    }

    /// Reads a message again; `None` where the record is none.
    fn with_message<T>(&self, number: u32, take: impl FnOnce(Option<&Said<'_>>) -> T) -> Result<T, ReadError> {
        if self.record_of(number).is_some_and(|record| record.kind == Kind::Inherited) {
            let text = self.recorded(number)?;
            let raw: Option<&RawValue> = serde_json::from_str(&text).ok();
            return Ok(take(raw.and_then(line::said).as_ref()));
        }
        self.with_line(number, |line| take(line.said().first()))
    }

    /// The whole text of a message.
    fn text_of(&self, message: &Message) -> Result<String, ReadError> {
        self.with_message(message.record, |said| said.map(Said::text).unwrap_or_default())
    }

    fn prompt_of(&self, step_number: u32) -> Option<&Message> {
        let index = usize::try_from(step_number).ok()?.checked_sub(1)?;
        self.messages.get(*self.prompts.get(index)?)
    }

    /// Of a record that cannot be taken apart, the start.
    fn start_of(&self, span: Span) -> Result<Vec<u8>, ReadError> {
        match &self.content {
            Content::File(file) => record::raw(file, span),
            content => content.read(span),
        }
    }

    fn body_of(&self, event: &Event) -> Result<Body, ReadError> {
        let place = event.place;
        if matches!(event.kind, EventKind::Unreadable | EventKind::Unknown | EventKind::Decision | EventKind::Fallback)
        {
            let bytes = self.raw(place)?;
            return Ok(Body { text: String::from_utf8_lossy(&bytes).into_owned(), ..Body::default() });
        }
        if event.kind == EventKind::Compaction {
            return self.with_line(place.record, |line| {
                let texts = line.said().iter().map(Said::text).filter(|text| !text.is_empty()).collect::<Vec<_>>();
                Body { text: texts.join("\n\n"), ..Body::default() }
            });
        }
        let mut body = self.with_block(place, |block| match event.kind {
            EventKind::Tool => Body { input: block.input.map(|raw| raw.get().to_owned()), ..Body::default() },
            EventKind::ToolResult => Body { output: Some(result_text(block)), ..Body::default() },
            _ => Body { text: spoken(block), ..Body::default() },
        })?;
        let result =
            event.tool.as_ref().filter(|tool| tool.state != ToolState::Pending && event.kind == EventKind::Tool);
        if let Some(place) = result.and_then(|tool| tool.result) {
            body.output = Some(self.with_block(place, result_text)?);
        }
        Ok(body)
    }

    fn with_block<T: Default>(&self, place: Place, take: impl FnOnce(&Block<'_>) -> T) -> Result<T, ReadError> {
        self.with_message(place.record, |said| {
            said.and_then(|said| said.blocks.get(usize::from(place.block))).map(take).unwrap_or_default()
        })
    }
}

/// The text of a block: what was said, or thought where that is readable.
fn spoken(block: &Block<'_>) -> String {
    let text = block.text.or(block.data).map(|raw| json::string(raw).unwrap_or_else(|| raw.get().to_owned()));
    text.unwrap_or_default()
}

impl Recording for Transcript {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let span = self.record_of(place.record)?.span;
        let (path, offset) = self.content.place(span.offset)?;
        Some(Origin { path, locator: Locator::Line(span.line.into()), offset: Some(offset) })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        match self.record_of(place.record) {
            Some(Record { held: Some(held), .. }) => Ok(held.as_bytes().to_vec()),
            Some(record) => self.start_of(record.span),
            None => Ok(Vec::new()),
        }
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        self.body_of(event)
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        self.prompt_of(step_number).map_or(Ok(String::new()), |message| self.text_of(message))
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        replay::replay(self, step_number, emit)
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        let prompts = self.prompts.iter().filter_map(|index| self.messages.get(*index));
        prompts.map(|message| Ok(ReplayTurn { prompt: Some(self.text_of(message)?), changes: None })).collect()
    }

    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
        plans::fork(self, cut, watch)
    }

    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
        plans::revert(self, step_number, watch)
    }
}
