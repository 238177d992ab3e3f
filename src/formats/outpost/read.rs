//! Reading a journal in one pass: every record counted once, every entry given to the turns and the events.

use std::sync::Arc;

use super::check;
use super::entry::Entry;
use super::events::Events;
use super::journal::{Journal, Note, Record};
use super::kind::Kind;
use super::labels::shorten;
use super::markers::event_kind;
use super::recover;
use super::tokens::Tokens;
use super::turns::{Role, Turns};
use crate::formats::{Observer, json};
use crate::model::{EventKind, Locator, Problem, ProblemKind, Report, Timestamp};
use crate::store::{Found, Framing, ReadError, SourceFile, Span, scan};

/// Bytes read after which a partial recording is given.
const PARTIAL_AFTER_BYTES: [u64; 4] = [1 << 20, 4 << 20, 16 << 20, 64 << 20];
/// UTF-16 units of a prompt that its summary is made from.
const PROMPT_HEAD: usize = 400;

/// Reads a whole journal.
pub fn read(file: Arc<SourceFile>, framing: Framing, observer: &dyn Observer) -> Result<Journal, ReadError> {
    let mut reader = Reader::new(Arc::clone(&file), framing);
    let mut partials = PARTIAL_AFTER_BYTES.iter().peekable();
    scan(&file, framing, observer.watch(), &mut |found| {
        let end = found.span.offset.saturating_add(found.span.len.into());
        reader.take(found);
        if partials.next_if(|after| end >= **after).is_some() && observer.wants_partial() {
            observer.partial(Arc::new(reader.clone().finish()));
        }
    })?;
    reader.check_end();
    Ok(reader.finish())
}

/// What was read so far.
#[derive(Clone)]
pub struct Reader {
    pub file: Arc<SourceFile>,
    pub framing: Framing,
    pub records: Vec<Record>,
    pub turns: Turns,
    pub events: Events,
    /// One a turn.
    pub notes: Vec<Note>,
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
    fn new(file: Arc<SourceFile>, framing: Framing) -> Self {
        Self {
            file,
            framing,
            records: Vec::new(),
            turns: Turns::default(),
            events: Events::default(),
            notes: Vec::new(),
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
        let parts = match self.framing {
            Framing::Lines => json::split_line(text),
            Framing::Array { .. } => recover::parts(text),
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
        if self.framing == Framing::Lines || !found.terminated {
            return false;
        }
        let end = found.span.offset.saturating_add(found.span.len.into());
        let mut after = [0; 64];
        if self.file.len().saturating_sub(end) > after.len() as u64 {
            return false;
        }
        let read = self.file.fill(end, &mut after).unwrap_or(after.len());
        after.get(..read).unwrap_or_default().trim_ascii().is_empty()
    }

    /// Takes an entry; the reason when the text is none.
    fn entry(&mut self, span: Span, text: &str) -> Result<(), String> {
        if !text.starts_with('{') {
            return Err(match serde_json::from_str::<serde::de::IgnoredAny>(text) {
                Ok(_) => "entry is not an object".into(),
                Err(error) => error.to_string(),
            });
        }
        let mut spare = String::new();
        let entry: Entry = json::record(text, &mut spare).map_err(|error| error.to_string())?;
        self.accept(span, &entry);
        Ok(())
    }

    fn accept(&mut self, span: Span, entry: &Entry<'_>) {
        let number = self.number();
        let kind = entry.kind();
        if kind == Kind::Unknown {
            self.report.records.count(ProblemKind::Unknown);
            let name = entry.kind.as_str().map_or_else(|| "without a kind".to_owned(), |kind| format!("kind {kind}"));
            self.problem(span, ProblemKind::Unknown, shorten(&format!("entry of unknown kind: {name}")));
        } else {
            self.report.records.count_read();
        }
        self.note_session(entry);
        let was_open = self.turns.list().len().checked_sub(1).filter(|_| self.turns.is_open());
        let role = self.turns.take(number, entry);
        if let Some(index) = was_open
            && self.turns.list().get(index).is_some_and(|turn| turn.end == Some(number))
            && let Some(note) = self.notes.get_mut(index)
        {
            note.ended_at = entry.time();
        }
        let refusal = check::refusal(entry, role);
        let refused = refusal.is_some();
        if let Some(reason) = refusal {
            self.problem(span, ProblemKind::Refused, reason);
        }
        self.records.push(Record { span, kind, role, refused });
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

    /// Adds an entry to the notes and events of its turn.
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
                if let Some(note) = self.notes.last_mut() {
                    note.prompted(entry);
                }
                if kind == Kind::Steer {
                    self.events.push_extra(number, entry, record_bytes);
                }
            }
            Role::Event | Role::Decision => {
                self.events.push_turn_event(number, entry, record_bytes);
                let Some(note) = self.notes.last_mut() else { return };
                match kind {
                    Kind::ModelRoute | Kind::ModelRequest => note.model = entry.model_name().or(note.model.take()),
                    Kind::Text | Kind::Result => {
                        note.may_ask |= entry
                            .text
                            .is_some_and(|raw| memchr::memmem::find(raw.get().as_bytes(), b"interaction").is_some());
                    }
                    _ => {}
                }
            }
            Role::HandsOver => {
                self.events.push_extra(number, entry, record_bytes);
                if let Some(note) = self.notes.last_mut()
                    && note.model.is_none()
                {
                    note.model = Entry::candidate(entry.from).model.to_owned_option();
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
        let mut note = Note {
            at: entry.time(),
            origin,
            model: self.candidate_model.clone(),
            first_event: self.events.list.len(),
            ..Note::default()
        };
        note.prompted(entry);
        self.notes.push(note);
    }

    /// Counts and shows a record that is no entry.
    fn unreadable(&mut self, span: Span, fate: ProblemKind, reason: &str) {
        let number = self.number();
        self.report.records.count(fate);
        self.problem(span, fate, reason.to_owned());
        self.records.push(Record { span, kind: Kind::Unreadable, role: Role::Outside, refused: false });
        self.events.push_unreadable(number, reason, span.len);
    }

    fn problem(&mut self, span: Span, kind: ProblemKind, message: String) {
        let locator = match self.framing {
            Framing::Lines => Locator::Line(span.line.into()),
            Framing::Array { .. } => Locator::Index(self.number().into()),
        };
        self.report.push(Problem { locator, offset: Some(span.offset), kind, message, file: None });
    }

    /// Says when the end of the file is not the end of its array.
    fn check_end(&mut self) {
        let Framing::Array { start } = self.framing else { return };
        let end = self.records.last().map_or(start + 1, Record::end);
        let mut tail = [0; 64];
        let read = self.file.fill(end, &mut tail).unwrap_or(0);
        let is_torn = self.report.problems.last().is_some_and(|problem| problem.kind == ProblemKind::Torn);
        let follows = tail.get(..read).unwrap_or_default().trim_ascii_start();
        let follows = follows.strip_prefix(b",").unwrap_or(follows).trim_ascii_start();
        if !follows.starts_with(b"]") && read < tail.len() && !is_torn && self.last_is_entry() {
            self.report.notice(Problem {
                locator: Locator::Index(self.number().into()),
                offset: Some(self.file.len()),
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

impl Note {
    /// Takes a prompt's text: the first one, one that replaces it, or a further instruction of a resuming steer.
    fn prompted(&mut self, entry: &Entry<'_>) {
        let mut head = entry.text.and_then(|raw| json::string_start(raw, PROMPT_HEAD)).unwrap_or_default();
        // A prompt may begin with more white space than a summary's worth of text.
        if head.trim().is_empty()
            && let Some(whole) = entry.text.and_then(json::string)
        {
            head = whole.trim_start().chars().take(PROMPT_HEAD).collect();
        }
        let bytes = entry.text.map_or(0, json::string_bytes);
        if entry.kind() != Kind::Steer {
            self.head = head;
            self.prompt_bytes = bytes;
            return;
        }
        if self.steered.len() < PROMPT_HEAD {
            self.steered.push_str(&head);
            self.steered.push_str("\n\n");
        }
        self.steered_bytes = self.steered_bytes.saturating_add(bytes);
        self.head.clone_from(&self.steered);
        self.prompt_bytes = self.steered_bytes;
    }
}
