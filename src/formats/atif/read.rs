//! Reading a trajectory: its outline first, then its records one by one.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::events::{MESSAGE, Maker};
use super::finish::Draft;
use super::outline::{Elements, Outline, outline};
use super::record::{self, Record, raw_text};
use super::trajectory::{Kept, Trajectory, What};
use crate::formats::claude::prompt::{Spoken, classify};
use crate::formats::document::{self, Flaw};
use crate::formats::labels::marker_text;
use crate::formats::recover;
use crate::formats::{Observer, json};
use crate::model::{
    Event, EventKind, Fact, Locator, NodeId, Problem, ProblemKind, Report, StepKind, Subagent, summarise,
};
use crate::store::{MAX_RECORD_BYTES, ReadError, SourceFile, Span};

/// Fields of the document that are larger are not looked into.
const MAX_FIELD_BYTES: u64 = 16 * 1024 * 1024;
/// As much of a damaged file is searched for records.
const MAX_RECOVERED_BYTES: u64 = 256 * 1024 * 1024;

/// Starts of texts that carry a conversation on after its context was compacted.
const COMPACTED: [&str; 2] = [
    "This session is being continued from a previous conversation",
    "You are continuing work from a previous conversation",
];
/// Devin's note about an answer that the user broke off; Claude Code's is told with its other texts.
const BROKEN_OFF: &str = "[Response interrupted by user]";

pub fn read(file: Arc<SourceFile>, observer: &dyn Observer) -> Result<Trajectory, ReadError> {
    let mut outline = outline(&file, 0..file.len(), 1, observer.watch())?;
    let mut reader = Reader {
        file: Arc::clone(&file),
        observer,
        records: Vec::new(),
        events: Vec::new(),
        drafts: Vec::new(),
        subagents: Vec::new(),
        sidechains: HashMap::new(),
        report: Report::default(),
        model: None,
        served: Vec::new(),
        command: None,
        copies_count: false,
        is_misnumbered: false,
        cwd: None,
    };
    let head = reader.head(&outline)?;
    reader.check_document(&outline, &head);
    let named = |key: &str| head.get(key).and_then(|value| value.get("name")).and_then(Value::as_str);
    // What such a document copied is its own history; elsewhere it is the context of another trajectory.
    reader.copies_count = named("agent") == Some("devin")
        || head.get("extra").is_some_and(|extra| extra.get("forked_from").is_some_and(Value::is_object));
    if let Some(list) = outline.list("steps") {
        let is_sound = outline.close.is_some() && outline.after.is_none() && list.close.is_some();
        if !reader.main(list, is_sound)? {
            outline.close = None;
        }
    }
    reader.embedded(&outline, 0, "")?;
    Ok(reader.finish(outline, head))
}

pub struct Reader<'a> {
    pub file: Arc<SourceFile>,
    pub observer: &'a dyn Observer,
    pub records: Vec<Kept>,
    pub events: Vec<Event>,
    pub drafts: Vec<Draft>,
    pub subagents: Vec<Subagent>,
    /// Subagents whose records lie among those of the session, by agent id.
    pub sidechains: HashMap<String, usize>,
    pub report: Report,
    /// The model of the last response of the turn.
    model: Option<String>,
    /// The models of the responses of the session, each with its record.
    pub served: Vec<(usize, String)>,
    /// A slash command that is a step if the model answers it.
    command: Option<Draft>,
    copies_count: bool,
    /// A number out of its order has been told of; one is enough.
    is_misnumbered: bool,
    pub cwd: Option<String>,
}

impl Reader<'_> {
    pub fn problem(&mut self, locator: Locator, offset: u64, kind: ProblemKind, message: impl Into<String>) {
        self.report.push(Problem { locator, offset: Some(offset), kind, message: message.into(), file: None });
    }

    /// The fields of a document but its lists of records.
    pub fn head(&mut self, outline: &Outline) -> Result<serde_json::Map<String, Value>, ReadError> {
        let mut head = serde_json::Map::new();
        for field in outline.fields.iter().filter(|field| field.list.is_none()) {
            let len = field.value.end.saturating_sub(field.value.start);
            let locator = Locator::Key(marker_text(&field.name));
            if len > MAX_FIELD_BYTES {
                self.problem(locator, field.value.start, ProblemKind::Structure, "too large to be looked into");
                continue;
            }
            let bytes = self.file.read_at(field.value.start, usize::try_from(len).unwrap_or(0))?;
            let value = serde_json::from_slice(&bytes).ok();
            let mended = || document::parse(&bytes).filter(|document| document.flaw == Some(Flaw::Mended));
            match value.or_else(|| mended().map(|document| document.value)) {
                Some(value) => {
                    head.insert(field.name.clone(), value);
                }
                None => self.problem(locator, field.value.start, ProblemKind::Structure, "the field cannot be read"),
            }
        }
        Ok(head)
    }

    fn check_document(&mut self, outline: &Outline, head: &serde_json::Map<String, Value>) {
        let version = head.get("schema_version").and_then(Value::as_str).unwrap_or_default();
        let at = |name: &str| outline.field(name).map_or(outline.open, |field| field.value.start);
        if !version.starts_with("ATIF-v1.") {
            let message = format!("version {} is not known: read as far as it is like version 1", marker_text(version));
            self.problem(Locator::Key("schema_version".into()), at("schema_version"), ProblemKind::Structure, message);
        }
        if outline.list("steps").is_none() {
            self.problem(
                Locator::Key("steps".into()),
                at("steps"),
                ProblemKind::Structure,
                "there is no list of steps",
            );
        }
        if outline.close.is_none() {
            let message = "the file ends inside the document; what stood before is shown";
            self.problem(Locator::Key("document".into()), self.file.len(), ProblemKind::Structure, message);
        }
        if let Some(after) = outline.after {
            let message = "something follows the end of the document";
            self.problem(Locator::Key("document".into()), after, ProblemKind::Structure, message);
        }
        if let Some(path) = head.get("continued_trajectory_ref").and_then(Value::as_str) {
            let message = format!("the trajectory goes on in another file: {}", marker_text(path));
            let key = "continued_trajectory_ref";
            self.problem(Locator::Key(key.into()), at(key), ProblemKind::Structure, message);
        }
    }

    /// Reads the records of the session. `false` when the end of their list is not where brackets say: after a lost
    /// quote all that follows is taken for what it is not, so records are looked for in the rest of the file.
    fn main(&mut self, list: &Elements, is_sound: bool) -> Result<bool, ReadError> {
        let mut number = 0;
        for (index, span) in list.spans.iter().enumerate() {
            self.observer.watch().step(span.offset, self.file.len())?;
            let torn = list.torn && index + 1 == list.spans.len();
            let rest = self.file.len().saturating_sub(span.offset);
            if !is_sound && rest <= MAX_RECOVERED_BYTES && !self.is_record(*span)? {
                let len = u32::try_from(rest).unwrap_or(u32::MAX);
                let rest = Span { len, ..*span };
                self.element(rest, true, &mut number, &mut |reader, at, record| reader.main_record(at, record))?;
                return Ok(false);
            }
            self.element(*span, torn, &mut number, &mut |reader, at, record| reader.main_record(at, record))?;
        }
        if list.left_out > 0 {
            let message = format!("{} further records are not read: there are too many", list.left_out);
            self.problem(Locator::Key("steps".into()), self.file.len(), ProblemKind::Structure, message);
        }
        Ok(true)
    }

    fn is_record(&self, span: Span) -> Result<bool, ReadError> {
        let bytes = self.file.read_at(span.offset, span.len as usize)?;
        Ok(record::read(&json::readable(&bytes).text, &mut String::new()).is_ok())
    }

    /// Takes one element of a list; a broken one may hold several records.
    pub fn element(
        &mut self,
        span: Span,
        torn: bool,
        number: &mut u32,
        take: &mut dyn FnMut(&mut Self, usize, &Record<'_>),
    ) -> Result<(), ReadError> {
        if span.len as usize > MAX_RECORD_BYTES {
            self.unreadable(span, number, ProblemKind::Unreadable, "too long to be read");
            return Ok(());
        }
        let bytes = self.file.read_at(span.offset, span.len as usize)?;
        let readable = json::readable(&bytes);
        let mut refused = match self.record(span, &readable.text, readable.repair, number, take) {
            Ok(()) => return Ok(()),
            Err(refused) => refused,
        };
        let is_record = |text: &str| serde_json::from_str::<Record>(text).is_ok_and(|record| record.source.0.is_some());
        let parts = recover::parts_where(&readable.text, is_record);
        let last = parts.len().saturating_sub(1);
        for (index, (at, part)) in parts.into_iter().enumerate() {
            let own = readable.span(span, at, part.len());
            if last > 0 {
                match self.record(own, part, readable.repair, number, take) {
                    Ok(()) => continue,
                    Err(error) => refused = error,
                }
            }
            let fate = if torn && index == last { ProblemKind::Torn } else { ProblemKind::Unreadable };
            self.unreadable(own, number, fate, &refused);
        }
        Ok(())
    }

    fn record(
        &mut self,
        span: Span,
        text: &str,
        repair: Option<&'static str>,
        number: &mut u32,
        take: &mut dyn FnMut(&mut Self, usize, &Record<'_>),
    ) -> Result<(), String> {
        let mut spare = String::new();
        let (record, mended) = record::read(text, &mut spare)?;
        let locator = Locator::Index((*number).into());
        let repair = repair.or(mended.then_some("numbers or characters that JSON does not have were replaced"));
        if let Some(repair) = repair {
            self.problem(locator.clone(), span.offset, ProblemKind::Repaired, repair);
        }
        let id = record.step_id.0.unwrap_or_else(|| u64::from(*number) + 1);
        if record.step_id.0 != Some(u64::from(*number) + 1) && !std::mem::replace(&mut self.is_misnumbered, true) {
            let stands = record.step_id.0.map_or_else(|| "no step_id".to_owned(), |id| format!("step_id {id}"));
            let message =
                format!("{stands} stands where {} should: records are told by their order", number.saturating_add(1));
            self.problem(locator.clone(), span.offset, ProblemKind::Structure, message);
        }
        let what = match record.source.as_str() {
            Some("user") => What::User,
            Some("agent") => What::Agent,
            Some("system") => What::System,
            _ => What::Unknown,
        };
        if what == What::Unknown {
            self.report.records.count(ProblemKind::Unknown);
            let message = format!("record of unknown source: {}", marker_text(record.source.or_empty()));
            self.problem(locator, span.offset, ProblemKind::Unknown, message);
        } else {
            self.report.records.count_read();
        }
        let at = self.records.len();
        let usage = record.metrics.0.as_ref().map(record::Metrics::usage).unwrap_or_default();
        let side = record.agent_id().is_some();
        self.records.push(Kept {
            span,
            index: *number,
            owner: None,
            id,
            what,
            is_side: side,
            at: record.time(),
            usage,
        });
        *number = number.saturating_add(1);
        take(self, at, &record);
        Ok(())
    }

    fn unreadable(&mut self, span: Span, number: &mut u32, fate: ProblemKind, reason: &str) {
        self.report.records.count(fate);
        self.problem(Locator::Index((*number).into()), span.offset, fate, reason);
        let at = self.records.len();
        let id = u64::from(*number) + 1;
        self.records.push(Kept { span, index: *number, id, what: What::Unreadable, ..Kept::default() });
        *number = number.saturating_add(1);
        self.maker(at).push(EventKind::Unreadable, MESSAGE, reason).text_bytes = span.len;
    }

    pub fn maker(&mut self, record: usize) -> Maker<'_> {
        let kept = self.records.get(record);
        Maker {
            record: u32::try_from(record).unwrap_or(u32::MAX),
            node: NodeId::Number(kept.map_or(0, |kept| kept.id)),
            at: kept.and_then(|kept| kept.at),
            events: &mut self.events,
        }
    }

    fn main_record(&mut self, at: usize, record: &Record<'_>) {
        if let Some(agent) = record.agent_id() {
            self.sidechain(at, agent, record);
            return;
        }
        if self.cwd.is_none() {
            self.cwd = record.extra.0.as_ref().and_then(|extra| extra.cwd.to_owned_option());
        }
        if record.source.is("agent") {
            self.response(at, record);
            return;
        }
        self.command = None;
        let text = raw_text(record.message);
        match record.source.as_str() {
            Some("user") => self.user(at, record, &text),
            Some("system") => self.note(at, &text),
            _ => {
                self.maker(at).push(EventKind::Unknown, MESSAGE, &text);
            }
        }
        self.maker(at).calls(record);
    }

    fn response(&mut self, at: usize, record: &Record<'_>) {
        if let Some(command) = self.command.take() {
            // The note about the command becomes the step.
            self.events.truncate(command.event);
            self.drafts.push(command);
            self.model = None;
        }
        let before = self.model.take();
        let first = self.events.len();
        let answered = self.maker(at).response(record, before.as_deref());
        self.model = record.model().map(marker_text).or(before);
        if let Some(model) = record.model() {
            self.served.push((at, marker_text(model)));
        }
        // What was copied from another trajectory is context here, its questions too.
        let counts = self.copies_count || !record.is_copied_context.0;
        for answered in answered.into_iter().filter(|_| counts) {
            self.drafts.push(Draft {
                kind: StepKind::QuestionAnswer,
                record: at,
                event: answered.event.max(first),
                call_id: answered.call_id,
                origin: None,
                summary: answered.summary,
                text_bytes: answered.text_bytes,
            });
        }
    }

    fn user(&mut self, at: usize, record: &Record<'_>, text: &str) {
        if record.is_copied_context.0 && !self.copies_count {
            self.maker(at).push(EventKind::Notice, MESSAGE, text);
            return;
        }
        if COMPACTED.iter().any(|start| text.trim_start().starts_with(start)) {
            self.compaction(at, text);
            return;
        }
        let draft = |reader: &Self, summary: &str| Draft {
            kind: StepKind::Prompt,
            record: at,
            event: reader.events.len(),
            call_id: None,
            origin: record.is_queued().then_some("queued"),
            summary: summarise(summary),
            text_bytes: u32::try_from(text.len()).unwrap_or(u32::MAX),
        };
        match classify(text) {
            Spoken::Interruption(words) => self.interruption(at, words),
            Spoken::Person(words) if words.starts_with(BROKEN_OFF) => self.interruption(at, words),
            Spoken::Person(words) => {
                let draft = draft(self, words);
                self.drafts.push(draft);
                self.model = None;
            }
            Spoken::Empty => {
                let draft = draft(self, "");
                self.drafts.push(draft);
                self.model = None;
            }
            Spoken::Command(command) => {
                self.command = Some(draft(self, &command));
                self.maker(at).push(EventKind::Notice, MESSAGE, &command);
            }
            Spoken::Notification(notification) => {
                self.maker(at).push(EventKind::Notice, MESSAGE, notification.summary);
            }
            Spoken::LocalOutput(words) | Spoken::Harness(words) => {
                self.maker(at).push(EventKind::Notice, MESSAGE, words);
            }
        }
    }

    fn interruption(&mut self, at: usize, words: &str) {
        let fact = Fact::Interruption { message: marker_text(words) };
        self.maker(at).concluded(EventKind::Interruption, MESSAGE, words, fact);
    }

    fn compaction(&mut self, at: usize, text: &str) {
        let fact = Fact::Compaction { trigger: None, tokens_before: None, tokens_after: None };
        self.maker(at).concluded(EventKind::Compaction, MESSAGE, text, fact);
    }

    fn note(&mut self, at: usize, text: &str) {
        let words = text.trim_start();
        if words.starts_with(BROKEN_OFF) {
            self.interruption(at, words);
        } else if COMPACTED.iter().any(|start| words.starts_with(start)) {
            self.compaction(at, text);
        } else if !words.is_empty() {
            self.maker(at).push(EventKind::Notice, MESSAGE, text);
        }
    }
}
