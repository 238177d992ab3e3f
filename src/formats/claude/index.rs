//! What is kept in memory of a file: a small row for each record, and one piece for each thing worth showing in it.

use std::collections::HashMap;
use std::sync::Arc;

use super::approval::Ruling;
use super::question::Asked;
use crate::model::{EventKind, Marker, NodeId, Report, Timestamp, Usage};
use crate::store::Span;

/// A string that occurs again and again: an id, a model, a tool's name.
pub(super) type Symbol = u32;

/// No symbol, no record.
pub(super) const NONE: u32 = u32::MAX;

/// Each string once.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    names: Vec<Arc<str>>,
    by_name: HashMap<Arc<str>, Symbol, foldhash::fast::RandomState>,
}

impl Symbols {
    pub fn intern(&mut self, name: &str) -> Symbol {
        if let Some(symbol) = self.by_name.get(name) {
            return *symbol;
        }
        self.share(&name.into())
    }

    /// The same for a string that another table has: it is shared, not copied.
    pub fn share(&mut self, name: &Arc<str>) -> Symbol {
        if let Some(symbol) = self.by_name.get(name) {
            return *symbol;
        }
        let symbol = u32::try_from(self.names.len()).unwrap_or(NONE);
        self.names.push(Arc::clone(name));
        self.by_name.insert(Arc::clone(name), symbol);
        symbol
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.by_name.get(name).copied()
    }

    pub fn name(&self, symbol: Symbol) -> Option<&Arc<str>> {
        self.names.get(symbol as usize)
    }
}

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
    pub role: Role,
    pub flags: Flags,
    /// Its id; `NONE` for what is no link of the chain.
    pub node: Symbol,
    /// `parentUuid`, or the previous record's id where order decides.
    pub parent: Symbol,
    /// `logicalParentUuid`; for loose records the id they refer to, for duplicates their own.
    pub logical: Symbol,
    /// `message.id`.
    pub message: Symbol,
    /// `message.model`, unless it is the stand-in for no model.
    pub model: Symbol,
    /// Session that the record was copied from.
    pub forked: Symbol,
    /// Index of what it says of session, folder and version.
    pub scene: u32,
    pub at: Option<Timestamp>,
    /// Index of its counters; `NONE` without.
    pub usage: u32,
    pub first_piece: u32,
    pub piece_count: u32,
}

/// What consecutive records have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scene {
    pub session: Symbol,
    pub cwd: Symbol,
    pub version: Symbol,
}

/// One thing in a record that may become an event or a step.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub what: What,
    pub block: u16,
    pub bytes: u32,
    pub label: Box<str>,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// A person's prompt; the label is its summary.
    Prompt {
        queued: bool,
    },
    /// A slash command; the label is `/x args`.
    Command,
    /// What a local command printed.
    LocalOutput,
    /// What a subagent was told to do, as a hash.
    Brief(u64),
    Text,
    Thinking,
    Call(Box<Call>),
    Result(Box<Outcome>),
    Notification(Box<Notified>),
    /// An event that is what it is whatever stands around it.
    Ready(EventKind, Option<Box<Marker>>),
}

/// A tool call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub id: Symbol,
    pub name: Symbol,
    /// What `AskUserQuestion` asks; empty for other tools.
    pub questions: Vec<Asked>,
    /// Hash of the prompt given to a subagent; 0 without.
    pub prompt_hash: u64,
    /// What a subagent is to do, in a few words.
    pub task: Option<Box<str>>,
}

/// A tool result.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub call: Symbol,
    pub is_error: bool,
    pub error: Option<Box<str>>,
    pub ruling: Option<Ruling>,
    /// `(question, answer)`.
    pub answers: Vec<(String, String)>,
    pub interrupted: bool,
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
    pub usages: Vec<Usage>,
    pub scenes: Vec<Scene>,
    pub symbols: Symbols,
    /// Record of each symbol that is an id; `NONE` for other symbols.
    pub node_of: Vec<u32>,
    /// Ids of the agents that side records name.
    pub agents: HashMap<u32, Symbol>,
    pub titles: Titles,
    pub cost: Option<f64>,
    /// The session that the last record outside the chain names.
    pub loose_session: Option<Symbol>,
    pub report: Report,
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
    pub fn push_record(&mut self, record: Record) {
        let number = u32::try_from(self.records.len()).unwrap_or(NONE);
        self.node_of.resize(self.node_of.len().max(record.node.wrapping_add(1) as usize), NONE);
        if let Some(place) = self.node_of.get_mut(record.node as usize) {
            *place = number;
        }
        self.records.push(record);
    }

    /// The number of this scene; one that lasts is kept once.
    pub fn push_scene(&mut self, scene: Scene) -> u32 {
        if self.scenes.last() != Some(&scene) {
            self.scenes.push(scene);
        }
        u32::try_from(self.scenes.len()).map_or(NONE, |count| count - 1)
    }

    pub fn record(&self, at: u32) -> Option<&Record> {
        self.records.get(at as usize)
    }

    /// A record's pieces with their indices.
    pub fn pieces_of(&self, record: &Record) -> impl Iterator<Item = (u32, &Piece)> {
        let start = record.first_piece;
        let range = start as usize..(start + record.piece_count) as usize;
        (start..).zip(self.pieces.get(range).unwrap_or_default())
    }

    /// The record with this id.
    pub fn find(&self, node: Symbol) -> Option<u32> {
        self.node_of.get(node as usize).copied().filter(|record| *record != NONE)
    }

    pub fn name(&self, symbol: Symbol) -> Option<&str> {
        self.symbols.name(symbol).map(|name| &**name)
    }

    pub fn text(&self, symbol: Symbol) -> Option<String> {
        self.name(symbol).map(str::to_owned)
    }

    /// The id of a record; records without one are known by their line.
    pub fn node_id(&self, at: u32) -> NodeId {
        let record = self.record(at);
        match record.and_then(|record| self.symbols.name(record.node)) {
            Some(name) => NodeId::Text(Arc::clone(name)),
            None => NodeId::Text(format!("line {}", record.map_or(0, |record| record.span.line)).into()),
        }
    }

    pub fn scene_of(&self, record: &Record) -> Option<&Scene> {
        self.scenes.get(record.scene as usize)
    }
}

/// A hash by which two texts are held to be the same prompt.
pub(super) fn prompt_hash(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(text.trim().as_bytes());
    hasher.finish() | 1
}
