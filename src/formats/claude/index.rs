//! What is kept in memory of a file: a small row for each record, and one piece for each thing worth showing in it.
//!
//! A session may have a million records. What only few of them have stands in tables of its own, and texts stay in the
//! file: a label is kept only where showing it must not need the file.

use std::collections::HashMap;

use super::approval::Ruling;
use super::question::Asked;
pub(super) use super::symbols::{BySymbol, Ids, NONE, Symbol, Symbols};
use crate::model::{EventKind, Marker, NodeId, Report, Timestamp, Usage};
use crate::store::Span;

/// A table by numbers that Stepline itself gave.
type Table<V> = HashMap<u32, V, foldhash::fast::RandomState>;

/// What became of a record, and which part it plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    System,
    Attachment,
    Progress,
    /// A link of the chain whose type is not known.
    Stranger,
    /// Understood, no link of the chain.
    Loose,
    /// No link of the chain, of a type that is not known.
    Unknown,
    Duplicate,
    Unreadable,
}

impl Role {
    /// Whether a record of this role can be the last one of the chain. New types of records have joined the chain before:
    /// one that is not known yet leads like others.
    pub fn can_lead(self) -> bool {
        matches!(self, Self::User | Self::Assistant | Self::System | Self::Attachment | Self::Progress | Self::Stranger)
    }
}

/// Facts about a record, each one bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(u16);

impl Flags {
    /// Belongs to a subagent, not to the main chain.
    pub const SIDE: Self = Self(1);
    /// Its parent follows from the order of the file.
    pub const IMPLIED: Self = Self(1 << 1);
    /// It has no id of its own.
    pub const NAMELESS: Self = Self(1 << 2);
    /// The turn is over.
    pub const TURN_END: Self = Self(1 << 3);
    /// The model changes for a reason that is on record.
    pub const MODEL_REASON: Self = Self(1 << 4);
    /// The answer was cut off.
    pub const ABORTED: Self = Self(1 << 5);
    /// An error of the service in the place of an answer.
    pub const API_ERROR: Self = Self(1 << 6);
    /// Text for the model only, such as what a slash command stands for.
    pub const EXPANSION: Self = Self(1 << 7);
    /// Names a record that goes when that record goes.
    pub const REFERS: Self = Self(1 << 8);
    /// Notes about the queue and the last prompt, worth nothing without their turn.
    pub const BOOKKEEPING: Self = Self(1 << 9);
    /// Another record starts on the same line before it.
    pub const SHARES_LINE: Self = Self(1 << 10);
    /// Stands where an answer should, since none came.
    pub const NO_ANSWER: Self = Self(1 << 11);

    pub fn set(&mut self, flag: Self, on: bool) {
        if on {
            self.0 |= flag.0;
        }
    }

    pub fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }
}

/// One record of the file. Records are counted from 0 in file order, the unreadable ones too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub span: Span,
    /// Milliseconds since 1970; `i64::MIN` without a time.
    at_ms: i64,
    /// Its id; `NONE` for what is no link of the chain.
    pub node: Symbol,
    /// `parentUuid`, or the previous record's id where order decides.
    pub parent: Symbol,
    /// Index of what is known of an answer of the model; `NONE` for other records.
    answer: u32,
    /// Index of what it says of session, folder and version.
    pub scene: u32,
    first_piece: u32,
    pub flags: Flags,
    pub role: Role,
}

impl Record {
    pub fn new(span: Span, role: Role) -> Self {
        Self {
            span,
            at_ms: i64::MIN,
            node: NONE,
            parent: NONE,
            answer: NONE,
            scene: NONE,
            first_piece: 0,
            flags: Flags::default(),
            role,
        }
    }

    pub fn at(&self) -> Option<Timestamp> {
        (self.at_ms != i64::MIN).then_some(Timestamp(self.at_ms))
    }

    pub fn set_at(&mut self, at: Option<Timestamp>) {
        self.at_ms = at.map_or(i64::MIN, |at| at.0);
    }
}

/// What a record says of the response that it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// Number of its `message.id`.
    pub message: u32,
    /// `message.model`, unless it is the stand-in for no model.
    pub model: Symbol,
    /// Index of its counters; `NONE` without.
    pub usage: u32,
}

impl Answer {
    const NOTHING: Self = Self { message: NONE, model: NONE, usage: NONE };
}

/// What consecutive records have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scene {
    pub session: Symbol,
    pub cwd: Symbol,
    pub version: Symbol,
    /// Session that the records were copied from.
    pub forked: Symbol,
}

/// One thing in a record that may become an event or a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub what: What,
    /// Bytes of its text as it stands in the file: a first guess of how tall it will be. 0 only where there is none.
    pub bytes: u32,
    pub block: u16,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A person's prompt; the label is its summary.
    Prompt {
        queued: bool,
    },
    /// A slash command; the label is `/x args`.
    Command,
    /// What a local command printed.
    LocalOutput,
    /// What a subagent was told to do.
    Brief,
    Text,
    Thinking,
    Call {
        /// It asks the user; what, is in its [`CallMore`].
        asks: bool,
        id: Symbol,
        name: Symbol,
    },
    Result {
        is_error: bool,
        interrupted: bool,
        call: Symbol,
        /// Index of how the call was allowed or refused; `NONE` where that is not recorded.
        ruling: u32,
    },
    Notification,
    /// An event that is what it is whatever stands around it.
    Ready(EventKind),
}

/// What a piece has beyond its row.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra {
    /// One line that stands for it, where that is not read from the file when it is wanted.
    pub label: Box<str>,
    pub more: More,
}

#[derive(Clone, Debug, Default)]
pub(super) enum More {
    #[default]
    Nothing,
    Marker(Box<Marker>),
    Call(Box<CallMore>),
    Result(Box<ResultMore>),
    Notified(Box<Notified>),
    /// A hash of what a subagent was told.
    Brief(u64),
}

/// Of a call that asks the user or starts an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct CallMore {
    /// What `AskUserQuestion` asks; empty for other tools.
    pub questions: Vec<Asked>,
    /// Hash of the prompt given to a subagent; 0 without.
    pub prompt_hash: u64,
    /// What a subagent is to do, in a few words.
    pub task: Option<Box<str>>,
}

/// Of a result that is more than a plain success.
#[derive(Clone, Debug)]
pub(super) struct ResultMore {
    pub error: Option<Box<str>>,
    /// `(question, answer)`.
    pub answers: Vec<(String, String)>,
    /// Agent or workflow run that the call started; `NONE` without.
    pub agent: Symbol,
    /// The agent goes on in the background.
    pub launched: bool,
}

/// The end of a background task.
#[derive(Clone, Debug)]
pub(super) struct Notified {
    pub task: Symbol,
    pub call: Symbol,
    pub completed: bool,
    pub summary: Box<str>,
}

/// A file's index.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    pub records: Vec<Record>,
    pub pieces: Vec<Piece>,
    /// By piece; most have nothing.
    extras: Table<Extra>,
    answers: Vec<Answer>,
    pub counters: Counters,
    pub rulings: Rulings,
    pub scenes: Vec<Scene>,
    pub symbols: Symbols,
    /// Record of each symbol that is the id of one.
    node_of: BySymbol,
    /// `message.id` of answers.
    pub messages: Ids,
    /// `logicalParentUuid`; for loose records the id they refer to, for duplicates their own.
    logical: Table<Symbol>,
    /// Ids of the agents that side records name.
    pub agents: Table<Symbol>,
    pub titles: Titles,
    pub cost: Option<f64>,
    /// The session that the last record outside the chain names.
    pub loose_session: Option<Symbol>,
    pub report: Report,
    /// The permission mode that the last record which sets one sets.
    pub permission_mode: Option<String>,
    /// Line feeds in the file.
    pub lines: u64,
    /// The records are elements of a JSON array, not lines.
    pub is_array: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Titles {
    pub custom: Option<String>,
    pub generated: Option<String>,
    /// Summaries with the id of the record they speak of.
    pub summaries: Vec<(String, Option<Symbol>)>,
}

impl Titles {
    /// Old files begin with the summaries of other sessions; the newest is all that is ever shown.
    pub fn summarise(&mut self, summary: String, leaf: Option<Symbol>) {
        if self.summaries.len() > 64 {
            self.summaries.remove(0);
        }
        self.summaries.push((summary, leaf));
    }
}

impl Index {
    /// Empty, with room for as much as another index holds.
    pub fn with_room_of(other: &Self) -> Self {
        Self {
            records: Vec::with_capacity(other.records.len()),
            pieces: Vec::with_capacity(other.pieces.len()),
            symbols: Symbols::with_room_of(&other.symbols),
            node_of: BySymbol::with_room_of(&other.node_of),
            ..Self::default()
        }
    }

    /// The number that the next record gets.
    pub fn next(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(NONE)
    }

    /// Adds a record with the pieces that were added since the last one.
    pub fn push_record(&mut self, mut record: Record, first_piece: usize) {
        let number = self.next();
        self.node_of.set(record.node, number);
        record.first_piece = u32::try_from(first_piece).unwrap_or(NONE);
        self.records.push(record);
    }

    /// Takes out the last record where it is a line that was not whole yet, and gives the offset of that line.
    pub fn take_torn(&mut self) -> Option<u64> {
        let record = *self.records.last().filter(|record| !record.flags.has(Flags::SHARES_LINE))?;
        self.report.take_torn(record.span.offset)?;
        self.records.pop();
        self.pieces.truncate(record.first_piece as usize);
        self.extras.retain(|piece, _| *piece < record.first_piece);
        Some(record.span.offset)
    }

    pub fn push_piece(&mut self, piece: Piece, extra: Extra) {
        if !extra.label.is_empty() || !matches!(extra.more, More::Nothing) {
            self.extras.insert(u32::try_from(self.pieces.len()).unwrap_or(NONE), extra);
        }
        self.pieces.push(piece);
    }

    /// The number of this scene; one that lasts is kept once.
    pub fn push_scene(&mut self, scene: Scene) -> u32 {
        if self.scenes.last() != Some(&scene) {
            self.scenes.push(scene);
        }
        last_index(self.scenes.len())
    }

    /// Notes what a record says of its response; consecutive records of one response that say the same share it.
    pub fn push_answer(&mut self, record: &mut Record, answer: Answer) {
        if answer == Answer::NOTHING {
            return;
        }
        if self.answers.last() != Some(&answer) {
            self.answers.push(answer);
        }
        record.answer = last_index(self.answers.len());
    }

    /// The ids of the last main and the last side record of the chain.
    pub fn last_of_chain(&self) -> (Symbol, Symbol) {
        let last = |side: bool| {
            let is_it = |record: &&Record| record.role.can_lead() && record.flags.has(Flags::SIDE) == side;
            self.records.iter().rev().find(is_it).map_or(NONE, |record| record.node)
        };
        (last(false), last(true))
    }

    pub fn set_logical(&mut self, record: u32, symbol: Symbol) {
        if symbol != NONE {
            self.logical.insert(record, symbol);
        }
    }

    /// Gives back the memory that was set aside for more records.
    pub fn shrink_to_fit(&mut self) {
        self.records.shrink_to_fit();
        self.pieces.shrink_to_fit();
        self.answers.shrink_to_fit();
        self.counters.shrink_to_fit();
        self.symbols.settle();
        self.messages.settle();
        self.node_of.shrink_to_fit();
    }

    pub fn record(&self, at: u32) -> Option<&Record> {
        self.records.get(at as usize)
    }

    /// The records with their numbers.
    pub fn numbered(&self) -> impl DoubleEndedIterator<Item = (u32, &Record)> + Clone {
        (0..self.next()).zip(&self.records)
    }

    pub fn answer(&self, record: &Record) -> Answer {
        self.answers.get(record.answer as usize).copied().unwrap_or(Answer::NOTHING)
    }

    pub fn logical(&self, record: u32) -> Symbol {
        self.logical.get(&record).copied().unwrap_or(NONE)
    }

    /// A record's pieces with their numbers.
    pub fn pieces_of(&self, record: u32) -> impl DoubleEndedIterator<Item = (u32, &Piece)> {
        let start = self.record(record).map_or(0, |record| record.first_piece);
        let after = self.records.get(record as usize + 1).map(|next| next.first_piece as usize);
        let end = if self.record(record).is_some() { after.unwrap_or(self.pieces.len()) } else { 0 };
        let pieces = self.pieces.get(start as usize..end).unwrap_or_default();
        (start..start + u32::try_from(pieces.len()).unwrap_or(0)).zip(pieces)
    }

    pub fn piece(&self, number: u32) -> Option<&Piece> {
        self.pieces.get(number as usize)
    }

    /// The record that a piece is of.
    pub fn record_of(&self, piece: u32) -> Option<u32> {
        let after = self.records.partition_point(|record| record.first_piece <= piece);
        after.checked_sub(1).and_then(|record| u32::try_from(record).ok())
    }

    pub fn extra(&self, piece: u32) -> Option<&Extra> {
        self.extras.get(&piece)
    }

    pub fn label(&self, piece: u32) -> &str {
        self.extra(piece).map_or("", |extra| &extra.label)
    }

    pub fn marker(&self, piece: u32) -> Option<&Marker> {
        if let More::Marker(marker) = &self.extra(piece)?.more { Some(marker) } else { None }
    }

    pub fn call_more(&self, piece: u32) -> Option<&CallMore> {
        if let More::Call(more) = &self.extra(piece)?.more { Some(more) } else { None }
    }

    pub fn questions(&self, piece: u32) -> &[Asked] {
        self.call_more(piece).map_or(&[], |more| &more.questions)
    }

    pub fn result_more(&self, piece: u32) -> Option<&ResultMore> {
        if let More::Result(more) = &self.extra(piece)?.more { Some(more) } else { None }
    }

    pub fn answers_in(&self, piece: u32) -> &[(String, String)] {
        self.result_more(piece).map_or(&[], |more| &more.answers)
    }

    pub fn notified(&self, piece: u32) -> Option<&Notified> {
        if let More::Notified(notified) = &self.extra(piece)?.more { Some(notified) } else { None }
    }

    /// The hash of what a subagent was told, where a piece is that.
    pub fn brief(&self, piece: u32) -> Option<u64> {
        if let More::Brief(hash) = self.extra(piece)?.more { Some(hash) } else { None }
    }

    /// The record with this id.
    pub fn find(&self, node: Symbol) -> Option<u32> {
        self.node_of.get(node)
    }

    pub fn name(&self, symbol: Symbol) -> Option<std::borrow::Cow<'_, str>> {
        self.symbols.name(symbol)
    }

    pub fn text(&self, symbol: Symbol) -> Option<String> {
        self.name(symbol).map(std::borrow::Cow::into_owned)
    }

    /// The id of a record; records without one are known by their line.
    pub fn node_id(&self, at: u32) -> NodeId {
        let record = self.record(at);
        match record.and_then(|record| self.name(record.node)) {
            Some(name) => NodeId::Text(name.into()),
            None => NodeId::Text(format!("line {}", record.map_or(0, |record| record.span.line)).into()),
        }
    }

    pub fn scene_of(&self, record: &Record) -> Option<&Scene> {
        self.scenes.get(record.scene as usize)
    }

    /// The session that a record was copied from.
    pub fn forked(&self, record: &Record) -> Symbol {
        self.scene_of(record).map_or(NONE, |scene| scene.forked)
    }
}

fn last_index(len: usize) -> u32 {
    u32::try_from(len).map_or(NONE, |len| len.saturating_sub(1))
}

/// The counters of responses, each in a fifth of a [`Usage`]'s room.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    list: Vec<[u32; 5]>,
    /// Those with a number that needs more than 32 bits.
    large: Table<Usage>,
}

impl Counters {
    /// The index of these counters; `u32::MAX` stands for a counter that is not recorded.
    pub fn push(&mut self, usage: &Usage) -> u32 {
        let wide = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning];
        let small = wide.map(|count| count.map_or(u32::MAX, |count| u32::try_from(count).unwrap_or(u32::MAX)));
        let is_large = wide.into_iter().flatten().any(|count| count >= u64::from(u32::MAX));
        if is_large || self.list.last() != Some(&small) || self.large.contains_key(&last_index(self.list.len())) {
            self.list.push(small);
        }
        let index = last_index(self.list.len());
        if is_large {
            self.large.insert(index, *usage);
        }
        index
    }

    pub fn get(&self, index: u32) -> Option<Usage> {
        if let Some(usage) = self.large.get(&index) {
            return Some(*usage);
        }
        let [input, output, cache_read, cache_write, reasoning] =
            self.list.get(index as usize)?.map(|count| (count != u32::MAX).then_some(u64::from(count)));
        Some(Usage { input, output, cache_read, cache_write, reasoning, cost: None })
    }

    fn shrink_to_fit(&mut self) {
        self.list.shrink_to_fit();
    }
}

/// How calls were allowed or refused: few different ones, but for those in a person's own words.
#[derive(Clone, Debug, Default)]
pub(super) struct Rulings {
    list: Vec<Ruling>,
    known: HashMap<Ruling, u32>,
}

impl Rulings {
    pub fn push(&mut self, ruling: Ruling) -> u32 {
        let next = u32::try_from(self.list.len()).unwrap_or(NONE);
        *self.known.entry(ruling).or_insert_with_key(|ruling| {
            self.list.push(ruling.clone());
            next
        })
    }

    pub fn get(&self, index: u32) -> Option<&Ruling> {
        self.list.get(index as usize)
    }
}

/// A hash by which two texts are held to be the same prompt.
pub(super) fn prompt_hash(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(text.trim().as_bytes());
    hasher.finish() | 1
}
