//! Reading a large file on all cores: stretches of it are indexed side by side, and their indices joined in file order.
//!
//! A stretch is indexed as if the file began with it. What only the whole file tells is put right when it is joined: line
//! numbers, ids by line, parents by order, records that an earlier stretch has too, what changed against an earlier record.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crossbeam_channel::{Sender, bounded};

use super::index::{Answer, BySymbol, Extra, Flags, Index, More, NONE, Piece, Record, Role, Scene, Symbol, What};
use super::read::{Reader, nameless, permission_mode_note, push_twin, same_again};
use crate::model::{EventKind, Locator, Problem, ProblemKind};
use crate::store::{LineReader, ReadError, SourceFile, Watch};

/// Files from this size on are read in parts.
pub(super) const FROM_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes of a part: small enough for the first ones to be there at once, large enough for joining to cost little.
pub(super) const PART_BYTES: u64 = 1024 * 1024;
/// Parts that are read but not joined, at most.
const WAITING: usize = 8;
/// More threads than this would only wait for the one that joins.
const MOST_THREADS: usize = 8;

/// A part of a file, indexed.
struct Part {
    reader_index: Index,
    /// The first record that sets the permission mode, and the mode; the last mode.
    first_mode: Option<(u32, String)>,
    last_mode: Option<String>,
    titled: bool,
    /// Line feeds in it.
    lines: u64,
}

/// Reads the lines of a file into an index. `pause` is called after every part with the offset behind it.
pub(super) fn read(
    file: &SourceFile,
    part_bytes: u64,
    watch: Watch<'_>,
    pause: &mut dyn FnMut(u64, &Index),
) -> Result<Index, ReadError> {
    let stop = AtomicBool::new(false);
    let next = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    thread::scope(|scope| {
        let (sender, parts) = bounded(WAITING);
        for _ in 0..threads {
            let (sender, stop, next) = (sender.clone(), &stop, &next);
            scope.spawn(move || read_parts(file, part_bytes, next, stop, &sender));
        }
        drop(sender);
        let mut join = Join::new(file);
        let mut early = BTreeMap::new();
        let mut wanted = 0;
        let mut result = Ok(());
        for (number, part) in &parts {
            early.insert(number, part);
            while let Some(part) = early.remove(&wanted) {
                wanted += 1;
                let end = (wanted * part_bytes).min(file.len());
                result = watch.step(end, file.len()).map_err(ReadError::from).and(part.map(|part| join.add(part)));
                if result.is_err() {
                    break;
                }
                pause(end, &join.index);
            }
            if result.is_err() {
                // Those who read on hear that nobody listens any more.
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
        drop(parts);
        result.map(|()| join.finish())
    })
}

fn read_parts(
    file: &SourceFile,
    part_bytes: u64,
    next: &AtomicU64,
    stop: &AtomicBool,
    sender: &Sender<(u64, Result<Part, ReadError>)>,
) {
    let mut lines = LineReader::default();
    // A part is about as full as the one before it.
    let mut room = Index::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let start = number * part_bytes;
        if start >= file.len() || stop.load(Ordering::Relaxed) {
            return;
        }
        let part = read_part(file, room, &mut lines, start..(start + part_bytes).min(file.len()), stop);
        room = part.as_ref().map(|part| Index::with_room_of(&part.reader_index)).unwrap_or_default();
        if sender.send((number, part)).is_err() {
            return;
        }
    }
}

fn read_part(
    file: &SourceFile,
    index: Index,
    lines: &mut LineReader,
    range: Range<u64>,
    stop: &AtomicBool,
) -> Result<Part, ReadError> {
    let mut reader = Reader::into(file, index);
    let watch = Watch::new(stop, &|_, _| {});
    let lines = lines.scan(file, range, watch, &mut |found| reader.take(found))?;
    let (reader_index, first_mode, last_mode, titled) = reader.into_part();
    Ok(Part { reader_index, first_mode, last_mode, titled, lines })
}

/// The index of what has been joined so far.
struct Join<'f> {
    file: &'f SourceFile,
    index: Index,
    last_main: Symbol,
    last_side: Symbol,
    permission_mode: Option<String>,
    lines: u64,
}

impl<'f> Join<'f> {
    fn new(file: &'f SourceFile) -> Self {
        let index = Index::default();
        Self { file, index, last_main: NONE, last_side: NONE, permission_mode: None, lines: 0 }
    }

    fn finish(mut self) -> Index {
        self.index.permission_mode = self.permission_mode;
        self.index.lines = self.lines;
        self.index.titles.summaries.shrink_to_fit();
        self.index
    }

    fn add(&mut self, part: Part) {
        let Part { reader_index: mut other, first_mode, last_mode, titled, lines } = part;
        let report = std::mem::take(&mut other.report);
        let mut fates = report.records;
        let (mut problems, unlisted) = report.into_problems();
        let base = u32::try_from(self.lines).unwrap_or(u32::MAX);
        for problem in &mut problems {
            if let Locator::Line(line) = &mut problem.locator {
                *line += self.lines;
            }
        }
        let messages = vec![NONE; other.messages.len()];
        let mut symbols = Symbols { names: BySymbol::default(), messages, other: &other };
        let mut again = Vec::new();
        let before = self.index.records.len();
        for (number, record) in other.records.iter().enumerate() {
            let mut record = *record;
            record.span.line = record.span.line.saturating_add(base);
            let (local, number) = (record, u32::try_from(number).unwrap_or(NONE));
            record.node = symbols.join(&mut self.index, record.node);
            if let Some(first) = self.earlier(&record) {
                let problem = self.again(first, &record);
                let before = (ProblemKind::Unknown, record.role == Role::Stranger);
                if before.1 {
                    fates.unknown -= 1;
                    problems.retain(|other| other.kind != before.0 || other.offset != problem.offset);
                } else {
                    fates.read -= 1;
                }
                fates.duplicate += 1;
                again.push(problem);
                continue;
            }
            if record.role == Role::Duplicate {
                let node = symbols.join(&mut self.index, other.logical(number));
                let first = self.index.find(node).filter(|first| (*first as usize) < before);
                self.compare(first, &record, node, &mut problems);
            }
            let note = first_mode.as_ref().filter(|(of, _)| *of == number).and_then(|(_, mode)| {
                let before = self.permission_mode.as_deref()?;
                (before != mode).then(|| permission_mode_note(mode))
            });
            self.place(&mut symbols, &mut record, &local, number);
            let first_piece = self.index.pieces.len();
            self.pieces(&mut symbols, number, note);
            if let Some(agent) = other.agents.get(&number) {
                let agent = symbols.join(&mut self.index, *agent);
                self.index.agents.insert(self.index.next(), agent);
            }
            self.index.push_record(record, first_piece);
        }
        if !again.is_empty() {
            problems.extend(again);
            problems.sort_by_key(|problem| problem.offset);
        }
        self.titles(&mut symbols, &other, titled);
        self.index.report.append(fates, problems, unlisted);
        self.permission_mode = last_mode.or(self.permission_mode.take());
        self.lines += lines;
    }

    /// The record of an earlier part that has the same id.
    fn earlier(&self, record: &Record) -> Option<u32> {
        let has_id = record.node != NONE && !record.flags.has(Flags::NAMELESS);
        let can_repeat = !matches!(record.role, Role::Duplicate | Role::Unknown | Role::Loose);
        (has_id && can_repeat).then(|| self.index.find(record.node)).flatten()
    }

    /// A record that its part has twice was compared with the first of the part; `first` may be an earlier part's.
    fn compare(&self, first: Option<u32>, record: &Record, node: Symbol, problems: &mut [Problem]) {
        let Some(first) = first else { return };
        let offset = Some(record.span.offset);
        let start = problems.partition_point(|problem| problem.offset < offset);
        let here = problems.iter_mut().skip(start).take_while(|problem| problem.offset == offset);
        for problem in here.filter(|problem| problem.kind == ProblemKind::Duplicate) {
            problem.message = same_again(self.file, &self.index, first, record.span, node);
        }
    }

    /// Takes a record that is there already.
    fn again(&mut self, first: u32, record: &Record) -> Problem {
        let message = same_again(self.file, &self.index, first, record.span, record.node);
        push_twin(&mut self.index, record.span, record.node, record.flags.has(Flags::SHARES_LINE));
        let locator = Locator::Line(u64::from(record.span.line));
        Problem { locator, offset: Some(record.span.offset), kind: ProblemKind::Duplicate, message, file: None }
    }

    /// Joins what places a record in the chain.
    fn place(&mut self, symbols: &mut Symbols<'_>, record: &mut Record, local: &Record, number: u32) {
        if record.flags.has(Flags::NAMELESS) {
            record.node = self.index.symbols.intern(&nameless(&self.index, record));
        }
        let logical = symbols.join(&mut self.index, symbols.other.logical(number));
        self.index.set_logical(self.index.next(), logical);
        let answer = symbols.other.answer(local);
        let answer = Answer {
            message: symbols.join_message(&mut self.index, answer.message),
            model: symbols.join(&mut self.index, answer.model),
            usage: symbols.other.counters.get(answer.usage).map_or(NONE, |usage| self.index.counters.push(&usage)),
        };
        self.index.push_answer(record, answer);
        let is_side = record.flags.has(Flags::SIDE);
        record.parent = if record.flags.has(Flags::IMPLIED) {
            if is_side { self.last_side } else { self.last_main }
        } else {
            symbols.join(&mut self.index, local.parent)
        };
        if let Some(scene) = symbols.other.scenes.get(local.scene as usize) {
            let [session, cwd, version, forked] = [scene.session, scene.cwd, scene.version, scene.forked]
                .map(|symbol| symbols.join(&mut self.index, symbol));
            record.scene = self.index.push_scene(Scene { session, cwd, version, forked });
        }
        if record.role.can_lead() {
            *(if is_side { &mut self.last_side } else { &mut self.last_main }) = record.node;
        }
    }

    /// Joins a record's pieces, with a note after them.
    fn pieces(&mut self, symbols: &mut Symbols<'_>, record: u32, note: Option<String>) {
        let other = symbols.other;
        for (number, piece) in other.pieces_of(record) {
            let mut piece = *piece;
            let mut extra = other.extra(number).cloned().unwrap_or_default();
            match &mut piece.what {
                What::Call { id, name, .. } => {
                    *id = symbols.join(&mut self.index, *id);
                    *name = symbols.join(&mut self.index, *name);
                }
                What::Result { call, ruling, .. } => {
                    *call = symbols.join(&mut self.index, *call);
                    let known = other.rulings.get(*ruling);
                    *ruling = known.map_or(NONE, |known| self.index.rulings.push(known.clone()));
                }
                _ => {}
            }
            match &mut extra.more {
                More::Result(more) => more.agent = symbols.join(&mut self.index, more.agent),
                More::Notified(notified) => {
                    notified.task = symbols.join(&mut self.index, notified.task);
                    notified.call = symbols.join(&mut self.index, notified.call);
                }
                _ => {}
            }
            self.index.push_piece(piece, extra);
        }
        if let Some(note) = note {
            let what = What::Ready(EventKind::Notice);
            let extra = Extra { label: note.into(), more: More::Nothing };
            self.index.push_piece(Piece { what, block: 0, bytes: 0 }, extra);
        }
    }

    /// Joins what records outside the chain say.
    fn titles(&mut self, symbols: &mut Symbols<'_>, other: &Index, titled: bool) {
        if titled {
            self.index.titles.custom.clone_from(&other.titles.custom);
        }
        if other.titles.generated.is_some() {
            self.index.titles.generated.clone_from(&other.titles.generated);
        }
        for (summary, leaf) in &other.titles.summaries {
            let leaf = leaf.map(|leaf| symbols.join(&mut self.index, leaf));
            self.index.titles.summarise(summary.clone(), leaf);
        }
        self.index.cost = other.cost.or(self.index.cost);
        if let Some(session) = other.loose_session {
            self.index.loose_session = Some(symbols.join(&mut self.index, session));
        }
    }
}

/// From a part's symbols to those of the whole.
struct Symbols<'a> {
    names: BySymbol,
    /// By the part's numbers; `NONE` where one was not wanted yet.
    messages: Vec<u32>,
    other: &'a Index,
}

impl Symbols<'_> {
    fn join(&mut self, index: &mut Index, symbol: Symbol) -> Symbol {
        if symbol == NONE {
            return NONE;
        }
        self.names.get(symbol).unwrap_or_else(|| {
            let joined = index.symbols.intern_held(self.other.symbols.held(symbol));
            self.names.set(symbol, joined);
            joined
        })
    }

    fn join_message(&mut self, index: &mut Index, message: u32) -> u32 {
        let Some(known) = self.messages.get_mut(message as usize) else { return NONE };
        if *known == NONE {
            *known = self.other.messages.hash(message).map_or(NONE, |hash| index.messages.number_of(hash));
        }
        *known
    }
}
