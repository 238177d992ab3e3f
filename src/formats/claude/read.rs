//! The streaming pass over a file: every record parsed once, a row and its pieces kept.

use crate::formats::lenient::Text;
use crate::formats::{json, labels};
use crate::model::{EventKind, Locator, Problem, ProblemKind, Timestamp};
use crate::store::{Found, Framing, LineReader, ReadError, SourceFile, Span, Watch, scan};

use super::index::{Answer, Flags, Index, NONE, Record, Role, Scene, Symbol};
use super::parts;
use super::pieces;
use super::record::{Envelope, Link};
use super::skimmed;
use super::usage;

/// Types of the records that form the chain.
fn chain_role(kind: &str) -> Option<Role> {
    Some(match kind {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        "attachment" => Role::Attachment,
        "progress" => Role::Progress,
        _ => return None,
    })
}

/// Types of the records outside the chain.
const LOOSE: [&str; 24] = [
    "summary",
    "ai-title",
    "custom-title",
    "agent-name",
    "agent-setting",
    "last-prompt",
    "mode",
    "permission-mode",
    "queue-operation",
    "file-history-snapshot",
    "file-history-delta",
    "tools-used",
    "atis-latch",
    "cost-state",
    "api-request",
    "api-request-shape",
    "api-request-blob",
    "pr-link",
    "bridge-session",
    "worktree-state",
    "relocated",
    "frame-link",
    // A workflow's journal.
    "started",
    "result",
];

/// Reads a file into an index. `pause` is called after every record with the offset behind it.
pub(super) fn read(
    file: &SourceFile,
    framing: Framing,
    watch: Watch<'_>,
    pause: &mut dyn FnMut(u64, &Index),
) -> Result<Index, ReadError> {
    if framing == Framing::Lines && file.len() >= parts::FROM_BYTES {
        return parts::read(file, parts::PART_BYTES, watch, pause);
    }
    let mut reader = Reader::new(file, matches!(framing, Framing::Array { .. }));
    let mut visit = |found: Found<'_>| {
        reader.take(found);
        pause(found.span.offset + u64::from(found.span.len), &reader.index);
    };
    let lines = match framing {
        Framing::Lines => LineReader::default().scan(file, 0..file.len(), watch, &mut visit)?,
        Framing::Array { .. } => scan(file, framing, watch, &mut visit).map(|()| 0)?,
    };
    Ok(reader.finish(lines))
}

/// Reads records one after the other.
pub(super) struct Reader<'f> {
    file: &'f SourceFile,
    index: Index,
    /// Ids of the last main and the last side record of the chain, for records whose parent only order tells.
    last_main: u32,
    last_side: u32,
    permission_mode: Option<String>,
    /// The first record that sets it, and the mode.
    first_mode: Option<(u32, String)>,
    /// A record has set or taken away the title that a person gave.
    titled: bool,
}

impl<'f> Reader<'f> {
    pub(super) fn new(file: &'f SourceFile, is_array: bool) -> Self {
        let mut index = Index::default();
        index.is_array = is_array;
        Self::into(file, index)
    }

    /// Reads on into an index.
    pub(super) fn into(file: &'f SourceFile, mut index: Index) -> Self {
        let (last_main, last_side) = index.last_of_chain();
        let permission_mode = index.permission_mode.take();
        Self { file, index, last_main, last_side, permission_mode, first_mode: None, titled: false }
    }

    /// What was read, as a part of a file: the index, the first record that sets the permission mode, the last mode, and
    /// whether there is a title in it.
    pub(super) fn into_part(self) -> (Index, Option<(u32, String)>, Option<String>, bool) {
        (self.index, self.first_mode, self.permission_mode, self.titled)
    }

    /// The index of a file with so many line feeds.
    pub(super) fn finish(mut self, lines: u64) -> Index {
        self.index.permission_mode = self.permission_mode;
        self.index.lines = lines;
        self.index.titles.summaries.shrink_to_fit();
        self.index
    }

    pub(super) fn take(&mut self, found: Found<'_>) {
        if found.oversized {
            let limit = crate::store::MAX_RECORD_BYTES / (1024 * 1024);
            self.unreadable(found.span, ProblemKind::Unreadable, &format!("longer than {limit} MiB"), false);
            return;
        }
        let readable = json::readable(found.bytes);
        let text: &str = &readable.text;
        if text.is_empty() {
            let kind = if found.terminated { ProblemKind::Unreadable } else { ProblemKind::Torn };
            self.unreadable(found.span, kind, "nothing but NUL bytes", false);
            return;
        }
        // What follows the array in an export: the rest of the object around it.
        if self.index.is_array && text.starts_with(['}', ',']) {
            return;
        }
        if let Some(repair) = readable.repair {
            self.note(found.span, ProblemKind::Repaired, repair);
        }
        if self.part(text, readable.span(found.span, 0, text.len()), false) {
            return;
        }
        let parts = json::split_line(text);
        let count = parts.len();
        if count > 1 {
            self.note(found.span, ProblemKind::Repaired, "more than one record on the line");
        }
        for (number, (at, part)) in parts.into_iter().enumerate() {
            let span = readable.span(found.span, at, part.trim_end().len());
            if count > 1 && self.part(part, span, number > 0) {
                continue;
            }
            let last = number + 1 == count;
            match serde_json::from_str::<&serde_json::value::RawValue>(part) {
                Ok(_) => self.unknown(span, "a JSON value that is no record", number > 0),
                Err(_) if last && !found.terminated => {
                    self.unreadable(span, ProblemKind::Torn, "cut off, or still being written", number > 0);
                }
                Err(error) => self.unreadable(span, ProblemKind::Unreadable, &reason(&error), number > 0),
            }
        }
    }

    /// Takes a text that should be one record. False when it is none.
    fn part(&mut self, text: &str, span: Span, shares_line: bool) -> bool {
        if !text.starts_with('{') {
            return false;
        }
        if let Some(envelope) = skimmed::envelope(text) {
            self.record(&envelope, span, shares_line);
            return true;
        }
        if let Ok(envelope) = serde_json::from_str(text) {
            self.record(&envelope, span, shares_line);
            return true;
        }
        let mut spare = String::new();
        let Ok(envelope) = json::record::<Envelope>(text, &mut spare) else { return false };
        // Before what is found of the record itself, as with all repairs.
        let repair = if text.contains(|c: char| c < ' ') {
            "raw control characters were read as spaces"
        } else {
            "half of a surrogate pair was replaced, or a doubled key dropped"
        };
        self.note(span, ProblemKind::Repaired, repair);
        self.record(&envelope, span, shares_line);
        true
    }

    fn record(&mut self, envelope: &Envelope, span: Span, shares_line: bool) {
        let kind = envelope.kind.or_empty();
        let uuid = envelope.uuid.as_str().filter(|uuid| !uuid.is_empty());
        let role = match chain_role(kind) {
            // Progress notes without an id hang on nothing.
            Some(Role::Progress) if uuid.is_none() => Role::Loose,
            Some(role) => role,
            None if LOOSE.contains(&kind) => Role::Loose,
            None if uuid.is_some() && envelope.parent_uuid != Link::Absent => Role::Stranger,
            None => Role::Unknown,
        };
        let mut record = blank(span, role, shares_line);
        if let Some(uuid) = uuid
            && role != Role::Unknown
            && role != Role::Loose
        {
            let node = self.index.symbols.intern(uuid);
            if let Some(first) = self.index.find(node) {
                push_twin(&mut self.index, span, node, shares_line);
                let message = same_again(self.file, &self.index, first, span, node);
                self.problem(span, ProblemKind::Duplicate, message);
                return;
            }
            record.node = node;
        }
        record.set_at(envelope.timestamp.as_str().and_then(Timestamp::parse));
        match role {
            Role::Loose => self.loose(envelope, &mut record),
            Role::Unknown => {
                let words = if kind.is_empty() { "a record without a type".to_owned() } else { unknown_type(kind) };
                self.push_with(record, NONE, |sink| sink.ready(0, EventKind::Unknown, None, &words, span.len));
                self.problem(span, ProblemKind::Unknown, words);
                return;
            }
            Role::Stranger => {
                let logical = self.link(envelope, &mut record);
                let words = unknown_type(kind);
                self.push_with(record, logical, |sink| sink.ready(0, EventKind::Unknown, None, &words, span.len));
                self.problem(span, ProblemKind::Unknown, words);
                return;
            }
            _ => {
                let logical = self.link(envelope, &mut record);
                let number = self.index.next();
                if let Some(agent) = envelope.agent_id.as_str()
                    && record.flags.has(Flags::SIDE)
                {
                    let agent = self.index.symbols.intern(agent);
                    self.index.agents.insert(number, agent);
                }
                self.push_with(record, logical, |sink| pieces::of_chain_record(envelope, sink));
            }
        }
        self.index.report.records.count_read();
    }

    /// Fills in what places the record, whose id is known, in the chain; gives its logical parent.
    fn link(&mut self, envelope: &Envelope, record: &mut Record) -> Symbol {
        let is_side = envelope.is_sidechain.0 || envelope.agent_id.as_str().is_some_and(|agent| !agent.is_empty());
        record.flags.set(Flags::SIDE, is_side);
        let is_named = record.node != NONE;
        if !is_named {
            record.flags.set(Flags::NAMELESS, true);
            let name = nameless(&self.index, record);
            record.node = self.index.symbols.intern(&name);
        }
        let (symbols, messages) = (&mut self.index.symbols, &mut self.index.messages);
        let logical = envelope.logical_parent_uuid.as_str().filter(|uuid| !uuid.is_empty());
        let logical = logical.map_or(NONE, |uuid| symbols.intern(uuid));
        record.parent = match &envelope.parent_uuid {
            Link::To(parent) if is_named && !parent.is_empty() => symbols.intern(parent),
            Link::Null | Link::To(_) if is_named => NONE,
            _ if logical != NONE => NONE,
            _ => {
                record.flags.set(Flags::IMPLIED, true);
                if is_side { self.last_side } else { self.last_main }
            }
        };
        let forked = envelope
            .forked_from
            .0
            .as_ref()
            .and_then(|from| from.session_id.as_str())
            .map_or(NONE, |id| symbols.intern(id));
        let message = envelope.message.0.as_ref();
        let mut intern = |text: Option<&Text>| {
            text.and_then(Text::as_str).filter(|text| !text.is_empty()).map_or(NONE, |text| symbols.intern(text))
        };
        let message_id = message.and_then(|message| message.id.as_str()).filter(|id| !id.is_empty());
        let model = message.map(|message| &message.model);
        let is_synthetic = model.is_some_and(|model| model.is("<synthetic>"));
        let mut answer = Answer {
            message: message_id.map_or(NONE, |id| messages.number(id)),
            model: if is_synthetic { NONE } else { intern(model) },
            usage: NONE,
        };
        let scene = Scene {
            session: intern(Some(if envelope.session_id.0.is_some() {
                &envelope.session_id
            } else {
                &envelope.session_id_snake
            })),
            cwd: intern(Some(&envelope.cwd)),
            version: intern(Some(&envelope.version)),
            forked,
        };
        record.scene = self.index.push_scene(scene);
        if let Some(tokens) = message.and_then(|message| message.usage.0.as_ref())
            && record.role == Role::Assistant
            && !is_synthetic
        {
            answer.usage = self.index.counters.push(&usage::of(tokens));
        }
        self.index.push_answer(record, answer);
        if is_side {
            self.last_side = record.node;
        } else {
            self.last_main = record.node;
        }
        logical
    }

    /// Takes what a record outside the chain says.
    fn loose(&mut self, envelope: &Envelope, record: &mut Record) {
        let session = envelope.session_id.as_str().or(envelope.session_id_snake.as_str());
        if let Some(session) = session.filter(|session| !session.is_empty()) {
            self.index.loose_session = Some(self.index.symbols.intern(session));
        }
        let titles = &mut self.index.titles;
        let mut note = None;
        match envelope.kind.or_empty() {
            "custom-title" => {
                self.titled = true;
                titles.custom = title(&envelope.custom_title);
            }
            "ai-title" => titles.generated = title(&envelope.ai_title).or(titles.generated.take()),
            "summary" => {
                let leaf = envelope.leaf_uuid.as_str().map(|uuid| self.index.symbols.intern(uuid));
                if let Some(summary) = title(&envelope.summary) {
                    titles.summarise(summary, leaf);
                }
            }
            "cost-state" => self.index.cost = envelope.total_cost_usd.0.or(self.index.cost),
            "permission-mode" => {
                if let Some(mode) = envelope.permission_mode.as_str() {
                    if self.permission_mode.as_deref().is_some_and(|before| before != mode) {
                        note = Some(permission_mode_note(mode));
                    }
                    let number = self.index.next();
                    self.first_mode.get_or_insert_with(|| (number, mode.to_owned()));
                    self.permission_mode = Some(mode.to_owned());
                }
            }
            "queue-operation" | "last-prompt" | "progress" => record.flags.set(Flags::BOOKKEEPING, true),
            _ => {}
        }
        let mut refers_to = NONE;
        if let Some(subject) = envelope.message_id.as_str().or(envelope.leaf_uuid.as_str()) {
            record.flags.set(Flags::REFERS, true);
            refers_to = self.index.symbols.intern(subject);
        }
        self.push_with(*record, refers_to, |sink| {
            if let Some(note) = note {
                sink.notice(0, &note, 0);
            }
        });
    }

    fn unknown(&mut self, span: Span, message: &str, shares_line: bool) {
        let record = blank(span, Role::Unknown, shares_line);
        self.push_with(record, NONE, |sink| sink.ready(0, EventKind::Unknown, None, message, span.len));
        self.problem(span, ProblemKind::Unknown, message.to_owned());
    }

    fn unreadable(&mut self, span: Span, kind: ProblemKind, message: &str, shares_line: bool) {
        let record = blank(span, Role::Unreadable, shares_line);
        self.push_with(record, NONE, |sink| sink.ready(0, EventKind::Unreadable, None, message, span.len));
        self.problem(span, kind, message.to_owned());
    }

    /// Adds a record with its pieces and the record that it refers to.
    fn push_with(&mut self, mut record: Record, logical: Symbol, fill: impl FnOnce(&mut pieces::Sink<'_>)) {
        let first_piece = self.index.pieces.len();
        self.index.set_logical(self.index.next(), logical);
        fill(&mut pieces::Sink { index: &mut self.index, record: &mut record });
        self.index.push_record(record, first_piece);
    }

    /// Counts a record's fate and lists it.
    fn problem(&mut self, span: Span, kind: ProblemKind, message: String) {
        self.index.report.records.count(kind);
        self.note(span, kind, &message);
    }

    fn note(&mut self, span: Span, kind: ProblemKind, message: &str) {
        let locator = if self.index.is_array {
            // A problem is noted after its record was taken, except for what was repaired before it could be read.
            let before = u64::from(kind != ProblemKind::Repaired);
            Locator::Index((self.index.records.len() as u64).saturating_sub(before))
        } else {
            Locator::Line(u64::from(span.line))
        };
        let message = labels::cut(message, 400);
        self.index.report.push(Problem { locator, offset: Some(span.offset), kind, message, file: None });
    }
}

fn blank(span: Span, role: Role, shares_line: bool) -> Record {
    let mut record = Record::new(span, role);
    record.flags.set(Flags::SHARES_LINE, shares_line);
    record
}

/// Adds a record that is there already. Its id is kept: where the first one goes, this one goes too.
pub(super) fn push_twin(index: &mut Index, span: Span, node: Symbol, shares_line: bool) {
    index.set_logical(index.next(), node);
    index.push_record(blank(span, Role::Duplicate, shares_line), index.pieces.len());
}

/// The name of a record without an id.
pub(super) fn nameless(index: &Index, record: &Record) -> String {
    // In an array several records may share a line.
    if index.is_array {
        format!("entry {}", index.records.len())
    } else if record.flags.has(Flags::SHARES_LINE) {
        format!("line {}, byte {}", record.span.line, record.span.offset)
    } else {
        format!("line {}", record.span.line)
    }
}

/// What is said of a record that is in the file before, in the record `first`.
pub(super) fn same_again(file: &SourceFile, index: &Index, first: u32, span: Span, node: Symbol) -> String {
    let name = labels::cut(&index.name(node).unwrap_or_default(), 80);
    let first = index.record(first).map(|record| record.span);
    let read = |span: Span| file.read_at(span.offset, span.len as usize);
    // What cannot be read just now is found out elsewhere.
    let differs = first.is_some_and(|first| {
        first.len != span.len || matches!((read(first), read(span)), (Ok(first), Ok(again)) if first != again)
    });
    if differs {
        format!("the record {name} once more: same id, other content; the first is shown")
    } else {
        format!("the record {name} once more")
    }
}

pub(super) fn permission_mode_note(mode: &str) -> String {
    format!("permission mode: {mode}")
}

fn title(text: &Text) -> Option<String> {
    text.as_str().map(str::trim).filter(|text| !text.is_empty()).map(|text| labels::cut(text, 400))
}

fn unknown_type(kind: &str) -> String {
    format!("unknown record type {:?}", labels::cut(kind, 80))
}

/// Why a text is no JSON, without the position that only makes sense inside the one line.
fn reason(error: &serde_json::Error) -> String {
    format!("not JSON: {error}")
}
