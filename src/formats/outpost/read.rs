//! Reading a journal in one pass: every record counted once, every entry given to the turns and the events.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use super::check;
use super::entries::{Entries, Form};
use super::entry::Entry;
use super::events::Events;
use super::flatten;
use super::journal::{Journal, Record};
use super::kind::Kind;
use super::labels::shorten;
use super::markers::event_kind;
use super::session_filter::{Belongs, SessionFilter};
use super::tokens::Tokens;
use super::turn_details::TurnDetails;
use super::turns::{Role, Turns};
use crate::formats::recover;
use crate::formats::{Observer, json};
use crate::model::{EventKind, FormatName, Locator, Problem, ProblemKind, Report, Timestamp};
use crate::store::{Found, Framing, ReadError, SourceFile, Span, scan};

/// Bytes read after which a partial recording is given.
const PARTIAL_AFTER_BYTES: [u64; 4] = [1 << 20, 4 << 20, 16 << 20, 64 << 20];

/// Reads a whole journal.
pub fn read(file: Arc<SourceFile>, framing: Framing, observer: &dyn Observer) -> Result<Journal, ReadError> {
    let source = file.path().to_owned();
    let entries = Entries::file(file, framing, Form::Flat);
    Ok(read_file(Reader::new(entries, source, FormatName::OutpostJournal), observer)?.finish())
}

/// Reads all entries of the reader's one file.
pub fn read_file(mut reader: Reader, observer: &dyn Observer) -> Result<Reader, ReadError> {
    let Some((file, framing)) = reader.entries.files.first().cloned().zip(reader.entries.framing()) else {
        return Ok(reader);
    };
    let mut partials = Partials::default();
    scan(&file, framing, observer.watch(), &mut |found| {
        let end = found.span.offset.saturating_add(found.span.len.into());
        reader.take(found);
        partials.reach(end, &reader, observer);
    })?;
    reader.check_end();
    Ok(reader)
}

/// Gives what was read so far after a few sizes.
#[derive(Default)]
pub struct Partials {
    given: usize,
}

impl Partials {
    /// So many bytes were read.
    pub fn reach(&mut self, bytes: u64, reader: &Reader, observer: &dyn Observer) {
        if PARTIAL_AFTER_BYTES.get(self.given).is_some_and(|after| bytes >= *after) {
            self.given += 1;
            if observer.wants_partial() {
                observer.partial(Arc::new(reader.clone().finish()));
            }
        }
    }
}

/// What was read so far.
#[derive(Clone)]
pub struct Reader {
    pub entries: Entries,
    /// What the session is called by: its file, or the folder that its objects are below.
    pub source: PathBuf,
    pub format: FormatName,
    /// Which of the observations are read; all entries where nothing is to be chosen.
    pub filter: Option<SessionFilter>,
    /// Entries that were passed over because they are another session's.
    pub passed: u32,
    /// What the session is called when it has no prompt.
    pub title: Option<String>,
    /// Its id where no entry names its dispatch.
    pub log: Option<String>,
    pub records: Vec<Record>,
    pub turns: Turns,
    pub events: Events,
    /// One a turn.
    pub details: Vec<TurnDetails>,
    pub report: Report,
    pub dispatch_id: Option<String>,
    pub conversation: Option<String>,
    pub cwd: Option<String>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub dispatch_usage: Option<Tokens>,
    /// The model of the candidate that the last hand-over named.
    candidate_model: Option<String>,
}

impl Reader {
    pub fn new(entries: Entries, source: PathBuf, format: FormatName) -> Self {
        Self {
            entries,
            source,
            format,
            filter: None,
            passed: 0,
            title: None,
            log: None,
            records: Vec::new(),
            turns: Turns::default(),
            events: Events::default(),
            details: Vec::new(),
            report: Report::default(),
            dispatch_id: None,
            conversation: None,
            cwd: None,
            started_at: None,
            ended_at: None,
            dispatch_usage: None,
            candidate_model: None,
        }
    }

    fn number(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }

    /// The number of the record that comes next in an array of its file.
    fn index(&self) -> u32 {
        self.number().saturating_add(self.passed)
    }

    /// Takes a record as the scan found it: an entry, more than one, or none.
    fn take(&mut self, found: Found<'_>) {
        if found.oversized {
            self.unreadable(found.span, ProblemKind::Unreadable, "too long to be read");
            return;
        }
        let readable = json::readable(found.bytes);
        let text = readable.text.as_ref();
        if text.is_empty() {
            self.unreadable(found.span, fate(found.terminated), "nothing but NUL bytes");
            return;
        }
        // Without the NULs around it: they belong to the gap, so that a fork leaves them out.
        let span = readable.span(found.span, 0, text.len());
        if let Some(repair) = readable.repair {
            self.problem(span, ProblemKind::Repaired, repair.to_owned());
        }
        if self.follows_the_array(found) {
            self.unreadable(span, ProblemKind::Unreadable, "lies after the end of the array");
            return;
        }
        let Err(reason) = self.entry(span, text) else { return };
        let parts = match self.entries.framing() {
            Some(Framing::Array { .. }) => recover::parts(text),
            _ => json::split_line(text),
        };
        if parts.len() <= 1 {
            self.unreadable(span, fate(found.terminated), &reason);
            return;
        }
        let last = parts.len() - 1;
        for (index, (at, part)) in parts.into_iter().enumerate() {
            let part = part.trim_end();
            let span = readable.span(found.span, at, part.len());
            if let Err(reason) = self.entry(span, part) {
                self.unreadable(span, fate(found.terminated || index < last), &reason);
            }
        }
    }

    /// Whether a record of an array lies after the `]`: an element has a `,` or a `]` after it.
    fn follows_the_array(&self, found: Found<'_>) -> bool {
        let Some(file) = self.entries.files.first() else { return false };
        if self.entries.framing() == Some(Framing::Lines) || !found.terminated {
            return false;
        }
        let end = found.span.offset.saturating_add(found.span.len.into());
        let mut after = [0; 64];
        if file.len().saturating_sub(end) > after.len() as u64 {
            return false;
        }
        let read = file.fill(end, &mut after).unwrap_or(after.len());
        after.get(..read).unwrap_or_default().trim_ascii().is_empty()
    }

    /// Takes the record of an object of its own.
    pub fn take_object(&mut self, span: Span, text: &str) {
        if let Err(reason) = self.entry(span, text) {
            self.unreadable(span, ProblemKind::Unreadable, &reason);
        }
    }

    /// Takes an entry; the reason when the text is none.
    fn entry(&mut self, span: Span, text: &str) -> Result<(), String> {
        if !text.starts_with('{') {
            return Err(match serde_json::from_str::<serde::de::IgnoredAny>(text) {
                Ok(_) => "entry is not an object, which Outpost would refuse".into(),
                Err(error) => error.to_string(),
            });
        }
        let flat = match self.entries.form {
            Form::Flat => Cow::Borrowed(text),
            Form::Nested => flatten::flatten(text)?,
        };
        let mut spare = String::new();
        let entry: Entry = json::record(&flat, &mut spare).map_err(|error| error.to_string())?;
        match self.filter.as_ref().map_or(Belongs::Own, |filter| filter.belongs(&entry)) {
            Belongs::Not => self.passed = self.passed.saturating_add(1),
            belongs => self.accept(span, &entry, belongs == Belongs::Shared),
        }
        Ok(())
    }

    /// `is_shared`: it tells of what lies around the session, and is no part of its turns.
    fn accept(&mut self, span: Span, entry: &Entry<'_>, is_shared: bool) {
        let number = self.number();
        let kind = entry.kind();
        if kind == Kind::Unknown {
            self.report.records.count(ProblemKind::Unknown);
            let name = entry.kind.as_str().map_or_else(|| "without a kind".to_owned(), |kind| format!("kind {kind}"));
            self.problem(span, ProblemKind::Unknown, shorten(&format!("entry of unknown kind: {name}")));
        } else {
            self.report.records.count_read();
        }
        if !is_shared {
            self.note_session(entry);
        }
        let was_open = self.turns.list().len().checked_sub(1).filter(|_| self.turns.is_open());
        let role = if is_shared { Role::Outside } else { self.turns.take(number, entry) };
        if let Some(index) = was_open
            && self.turns.list().get(index).is_some_and(|turn| turn.end == Some(number))
            && let Some(detail) = self.details.get_mut(index)
        {
            detail.ended_at = entry.time();
        }
        let refusal = if is_shared { None } else { check::refusal(entry, role) };
        let refused = refusal.is_some();
        if let Some(reason) = refusal {
            // Outpost counts entries, whatever they are kept in.
            let is_counted =
                self.entries.form == Form::Flat && !matches!(self.entries.framing(), Some(Framing::Array { .. }));
            let reason = if is_counted { format!("{reason} (entry {number})") } else { reason };
            self.problem(span, ProblemKind::Refused, reason);
        }
        self.records.push(Record { span, index: self.index(), kind, role, refused, is_shared });
        self.tell(number, role, entry, span.len);
    }

    /// Notes what an entry says about the session as a whole.
    fn note_session(&mut self, entry: &Entry<'_>) {
        if let Some(at) = entry.time() {
            self.started_at.get_or_insert(at);
            self.ended_at = Some(at);
        }
        if self.dispatch_id.is_none() {
            self.dispatch_id = entry.scope.0.as_ref().and_then(|scope| scope.dispatch_id.to_owned_option());
        }
        match entry.kind() {
            Kind::Conversation => self.conversation = entry.id.to_owned_option().or(self.conversation.take()),
            Kind::Phase if self.cwd.is_none() => self.cwd = entry.directory.to_owned_option(),
            Kind::DispatchFinished if entry.usage.is_some() => self.dispatch_usage = Some(Tokens::read(entry.usage)),
            _ => {}
        }
    }

    /// Adds an entry to the details and events of its turn.
    fn tell(&mut self, number: u32, role: Role, entry: &Entry<'_>, record_bytes: u32) {
        let kind = entry.kind();
        match role {
            Role::Starts => {
                self.start_turn(entry);
                if kind == Kind::Steer {
                    self.events.push_extra(number, entry, record_bytes);
                }
            }
            Role::Prompts => {
                if let Some(detail) = self.details.last_mut() {
                    detail.prompted(entry);
                }
                if kind == Kind::Steer {
                    self.events.push_extra(number, entry, record_bytes);
                }
            }
            Role::Event | Role::Decision => {
                self.events.push_turn_event(number, entry, record_bytes);
                let Some(detail) = self.details.last_mut() else { return };
                match kind {
                    Kind::ModelRoute | Kind::ModelRequest => detail.model = entry.model_name().or(detail.model.take()),
                    Kind::Text | Kind::Result => {
                        detail.may_ask |= entry
                            .text
                            .is_some_and(|raw| memchr::memmem::find(raw.get().as_bytes(), b"interaction").is_some());
                    }
                    _ => {}
                }
            }
            Role::HandsOver => {
                self.events.push_extra(number, entry, record_bytes);
                if let Some(detail) = self.details.last_mut()
                    && detail.model.is_none()
                {
                    detail.model = Entry::candidate(entry.from).model.to_owned_option();
                }
                self.candidate_model = Entry::candidate(entry.to).model.to_owned_option();
            }
            Role::Commits => self.events.push_extra(number, entry, record_bytes),
            Role::Ends => {}
            Role::Finishes | Role::Outside => {
                if is_shown_outside(entry) {
                    self.events.push_extra(number, entry, record_bytes);
                }
            }
        }
    }

    fn start_turn(&mut self, entry: &Entry<'_>) {
        let origin = match self.turns.list() {
            [.., turn] if !turn.resumed_by.is_empty() => Some("steering"),
            [.., before, _] if before.handover.is_some() => Some("handover"),
            [] | [_] => None,
            _ => Some("further pass"),
        };
        self.events.start_turn();
        let mut detail = TurnDetails {
            at: entry.time(),
            origin,
            model: self.candidate_model.clone(),
            first_event: self.events.list.len(),
            ..TurnDetails::default()
        };
        detail.prompted(entry);
        self.details.push(detail);
    }

    /// Counts and shows a record that is no entry.
    pub fn unreadable(&mut self, span: Span, fate: ProblemKind, reason: &str) {
        let number = self.number();
        self.report.records.count(fate);
        self.problem(span, fate, reason.to_owned());
        let (index, kind, role) = (self.index(), Kind::Unreadable, Role::Outside);
        self.records.push(Record { span, index, kind, role, refused: false, is_shared: false });
        self.events.push_unreadable(number, reason, span.len);
    }

    pub fn problem(&mut self, span: Span, kind: ProblemKind, message: String) {
        let locator = match (self.entries.key(self.number()), self.entries.framing()) {
            (Some(key), _) => Locator::Key(key.to_owned()),
            (None, Some(Framing::Lines)) => Locator::Line(span.line.into()),
            (None, _) => Locator::Index(self.index().into()),
        };
        self.report.push(Problem { locator, offset: Some(span.offset), kind, message, file: None });
    }

    /// Says when the end of the file is not the end of its array.
    fn check_end(&mut self) {
        if self.passed > 0 {
            return;
        }
        let Some((file, Framing::Array { start })) = self.entries.files.first().zip(self.entries.framing()) else {
            return;
        };
        let end = self.records.last().map_or(start + 1, Record::end);
        let mut tail = [0; 64];
        let read = file.fill(end, &mut tail).unwrap_or(0);
        let is_torn = self.report.problems.last().is_some_and(|problem| problem.kind == ProblemKind::Torn);
        let follows = tail.get(..read).unwrap_or_default().trim_ascii_start();
        let follows = follows.strip_prefix(b",").unwrap_or(follows).trim_ascii_start();
        if !follows.starts_with(b"]") && read < tail.len() && !is_torn && self.last_is_entry() {
            self.report.notice(Problem {
                locator: Locator::Index(self.index().into()),
                offset: Some(file.len()),
                kind: ProblemKind::Structure,
                message: "the array is not closed: it was cut off, or is still being written".into(),
                file: None,
            });
        }
    }

    fn last_is_entry(&self) -> bool {
        self.records.last().is_none_or(|record| record.kind != Kind::Unreadable)
    }
}

/// A record that is no entry: torn when it is the last and nothing ends it.
fn fate(terminated: bool) -> ProblemKind {
    if terminated { ProblemKind::Unreadable } else { ProblemKind::Torn }
}

/// Whether an entry that belongs to no turn is shown after the turn before it. Plain notes of the dispatch are not.
fn is_shown_outside(entry: &Entry<'_>) -> bool {
    match entry.kind() {
        Kind::Operation => entry.status.is("failed"),
        Kind::Warning | Kind::Workflow | Kind::Candidate | Kind::Queue => true,
        _ => event_kind(entry) != EventKind::Notice,
    }
}
