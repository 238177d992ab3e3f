//! Claude Code transcripts: one JSON record a line, appended while the agent works; also the export of its web version,
//! one object with the records in `loglines`.
//!
//! The file is read once, in one pass, into a small index (`read`, `pieces`); the graph of its records (`chain`) gives
//! the steps and events (`steps`, `events`). Texts are read again when they are wanted (`text`). Nothing in a file names
//! a path that is opened.

mod append;
mod approval;
mod chain;
mod events;
mod fork;
mod index;
mod kept;
mod labels;
mod listing;
mod made;
mod numbers;
mod parts;
mod pieces;
pub(super) mod prompt;
mod question;
mod read;
mod recognise;
mod record;
mod replay;
mod revert;
mod search;
mod session;
mod skimmed;
mod steps;
mod subagents;
mod symbols;
mod system;
mod text;
mod thin;
mod usage;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use self::index::Index;
use self::session::{Assembled, assemble};
use self::subagents::AgentFile;
use super::detect::Sample;
use super::search::{Hit, Pattern};
use super::{
    Body, Cut, Fork, Format, Observer, OpenError, Origin, Reading, Recording, Refusal, ReplayTurn, Revert, mixed_notice,
};
use crate::formats;
use crate::model::{Event, EventKind, FormatName, Locator, Place, Session, Step};
use crate::store::{ReadError, SourceFile, Span, Watch};

pub const FORMAT: Format = Format {
    name: FormatName::ClaudeCode,
    description: "Claude Code transcript (.jsonl)",
    recognise: recognise::points,
    first_prompt: listing::first_prompt,
    read: Reading::Alone(open),
};

const MIB: u64 = 1024 * 1024;

/// After how many bytes a partial recording is given.
const PARTIAL_AT: [u64; 5] = [MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB];

fn open(source: Arc<SourceFile>, sample: &Sample, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    read_whole(source, sample, observer).map_err(|error| match error {
        OpenError::Read(error) => given_up(error),
        other => other,
    })
}

fn given_up(error: ReadError) -> OpenError {
    match error {
        ReadError::Cancelled(cancelled) => OpenError::Cancelled(cancelled),
        other => OpenError::Read(other),
    }
}

fn read_whole(
    source: Arc<SourceFile>,
    sample: &Sample,
    observer: &dyn Observer,
) -> Result<Arc<dyn Recording>, OpenError> {
    let framing = recognise::framing(&source, sample)?;
    let mut due = PARTIAL_AT.iter().copied().filter(|_| observer.wants_partial()).peekable();
    let index = read::read(&source, framing, observer.watch(), &mut |offset, index| {
        if due.next_if(|due| offset >= *due).is_some() {
            while due.next_if(|due| offset >= *due).is_some() {}
            observer.partial(Arc::new(Transcript::new(Arc::clone(&source), index.clone(), Vec::new(), true)));
        }
    })?;
    if index.records.is_empty() {
        let reason = "the file holds no records".to_owned();
        return Err(OpenError::Empty { reason, path: source.path().to_owned() });
    }
    let (agents, problems) = subagents::read_all(source.path(), &index, &[], observer)?;
    let mut transcript = Transcript::new(source, index, agents, false);
    let report = &mut transcript.assembled.session.report;
    problems.into_iter().chain(mixed_notice(sample)).for_each(|problem| report.notice(problem));
    Ok(Arc::new(transcript))
}

/// By id where Claude Code looks for sessions (`projects/PROJECT/ID.jsonl`), by path anywhere else.
fn resume_command(session_id: &str, path: &Path) -> String {
    let projects = path.parent().and_then(Path::parent).and_then(Path::file_name);
    if projects.is_some_and(|name| name == "projects") && path.file_stem().is_some_and(|stem| stem == session_id) {
        return format!("claude --resume {session_id}");
    }
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    if text.chars().all(plain) {
        return format!("claude --resume {text}");
    }
    // Quoted for a POSIX shell: only a quote itself has to leave the quotes.
    format!("claude --resume '{}'", text.replace('\'', "'\\''"))
}

/// A transcript that was read.
struct Transcript {
    assembled: Assembled,
    /// Shared with what is made of it when it is wanted: events, and forks that are being written.
    index: Arc<Index>,
    agents: Vec<AgentFile>,
    files: Vec<Arc<SourceFile>>,
    /// The rest of the file is still being read.
    partial: bool,
}

impl Transcript {
    fn new(source: Arc<SourceFile>, mut index: Index, agents: Vec<AgentFile>, partial: bool) -> Self {
        index.shrink_to_fit();
        let index = Arc::new(index);
        let assembled = assemble(&source, &index, &agents);
        let files = std::iter::once(source).chain(agents.iter().map(|agent| Arc::clone(&agent.source))).collect();
        Self { assembled, index, agents, files, partial }
    }

    /// The file to cut; an error while it is still being read.
    fn whole_source(&self) -> Result<&Arc<SourceFile>, Refusal> {
        let unread = || Refusal::Rule("the file is still being read".to_owned());
        self.files.first().filter(|_| !self.partial).ok_or_else(unread)
    }

    fn index_of(&self, file: u16) -> Option<&Index> {
        match usize::from(file).checked_sub(1) {
            None => Some(&self.index),
            Some(agent) => self.agents.get(agent).map(|agent| &*agent.index),
        }
    }

    fn span(&self, place: Place) -> Option<Span> {
        self.index_of(place.file)?.record(place.record).map(|record| record.span)
    }

    fn read(&self, place: Place) -> Result<text::Read, ReadError> {
        match (self.files.get(usize::from(place.file)), self.index_of(place.file)) {
            (Some(file), Some(index)) => text::record(file, index, place),
            _ => Ok(text::Read::default()),
        }
    }

    /// The record of an event and that of its result.
    fn read_event(&self, event: &Event) -> Result<(text::Read, Option<text::Read>), ReadError> {
        // Of what is not known all is shown, and the answers to a question are in what is kept of its result.
        let is_question = event.kind == EventKind::Question;
        let whole = is_question || matches!(event.kind, EventKind::Unknown | EventKind::Unreadable);
        let read = self.read_for(event.place, whole)?;
        let result = event.tool.as_ref().and_then(|tool| tool.result);
        let result = result.map(|place| self.read_for(place, is_question)).transpose()?;
        Ok((read, result))
    }

    /// The same for one event: of a huge record, what it does not need is left out.
    fn read_for(&self, place: Place, whole: bool) -> Result<text::Read, ReadError> {
        match (self.files.get(usize::from(place.file)), self.index_of(place.file)) {
            (Some(file), Some(index)) if !whole => text::part_of_record(file, index, place),
            _ => self.read(place),
        }
    }

    fn prompt_of(&self, step: &Step) -> Result<String, ReadError> {
        let read = self.read(step.place)?;
        let answer = self.answer_of(step).map(|place| self.read(place)).transpose()?;
        Ok(text::prompt(&read, &self.index, step.place, answer.as_ref()))
    }

    /// Where a question step's answer is.
    fn answer_of(&self, step: &Step) -> Option<Place> {
        let answer = self.assembled.marks.get(self.place_of(step.number).ok()?)?.answer?;
        Some(Place { file: 0, record: *self.assembled.walk.chain.get(answer as usize)?, block: 0 })
    }

    /// Where in the lists of steps and marks a step is.
    fn place_of(&self, number: u32) -> Result<usize, Refusal> {
        let steps = self.assembled.session.steps.len();
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        place.filter(|place| *place < steps).ok_or(Refusal::NoStep { step: number, steps })
    }

    fn step(&self, number: u32) -> Result<&Step, Refusal> {
        let steps = self.assembled.session.steps.len();
        self.assembled.session.step(number).ok_or(Refusal::NoStep { step: number, steps })
    }
}

impl Recording for Transcript {
    fn session(&self) -> &Session {
        &self.assembled.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    fn is_appended_to(&self) -> bool {
        true
    }

    fn grown(&self, observer: &dyn Observer) -> Result<Option<Arc<dyn Recording>>, OpenError> {
        append::grown(self, observer).map_err(given_up)
    }

    fn resume_command(&self, session_id: &str, path: &Path) -> Option<String> {
        Some(resume_command(session_id, path))
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let (file, span) = (self.files.get(usize::from(place.file))?, self.span(place)?);
        let locator = Locator::Line(span.line.into());
        Some(Origin { path: file.path().to_owned(), locator, offset: Some(span.offset) })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        match (self.files.get(usize::from(place.file)), self.span(place)) {
            (Some(file), Some(span)) => formats::record::raw(file, span),
            _ => Ok(Vec::new()),
        }
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        let (mut read, result) = self.read_event(event)?;
        Ok(text::body(event, &mut read, result.as_ref()))
    }

    fn image(&self, event: &Event, attachment: usize) -> Result<Option<String>, ReadError> {
        let (mut read, result) = self.read_event(event)?;
        Ok(text::image(event, &mut read, result.as_ref(), attachment))
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        self.assembled.session.step(step_number).map_or(Ok(String::new()), |step| self.prompt_of(step))
    }

    fn search(&self, pattern: &Pattern, watch: Watch<'_>, hit: &mut dyn FnMut(Hit)) -> Result<(), ReadError> {
        search::search(self, pattern, watch, hit)
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        replay::replay(self, step_number, emit)
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        replay::turns(self)
    }

    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
        fork::plan(self, cut, watch)
    }

    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
        revert::plan(self, step_number, watch)
    }
}
