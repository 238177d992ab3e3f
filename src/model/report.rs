//! The reading report: every record of a file accounted for.

use serde::Serialize;

/// What became of a file's records, and what was noticed while reading.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub records: Records,
    pub problems: Vec<Problem>,
}

/// How many records there are of each fate; the five fates add up to `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Records {
    pub total: u64,
    pub read: u64,
    /// Well-formed, of a kind that the reader does not know: kept and shown as recorded.
    pub unknown: u64,
    /// The same record once more.
    pub duplicate: u64,
    pub unreadable: u64,
    /// The last record, cut off or still being written.
    pub torn: u64,
}

impl Records {
    /// Counts a record that was understood.
    pub fn count_read(&mut self) {
        self.total += 1;
        self.read += 1;
    }

    /// Counts a record with the fate that `kind` names; notices about records count nothing.
    pub fn count(&mut self, kind: ProblemKind) {
        let fate = match kind {
            ProblemKind::Unknown => &mut self.unknown,
            ProblemKind::Duplicate => &mut self.duplicate,
            ProblemKind::Unreadable => &mut self.unreadable,
            ProblemKind::Torn => &mut self.torn,
            ProblemKind::Repaired | ProblemKind::Structure | ProblemKind::Refused => return,
        };
        *fate += 1;
        self.total += 1;
    }
}

/// One thing that a reader noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    #[serde(flatten)]
    pub locator: Locator,
    /// Byte offset of the record in its file.
    pub offset: Option<u64>,
    pub kind: ProblemKind,
    pub message: String,
    /// The file it is in, when that is not the opened file.
    pub file: Option<String>,
}

/// Where a problem is, in the file's own counting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Locator {
    /// Line number, from 1.
    Line(u64),
    /// Row id of a database.
    Row(i64),
    /// Element number of an array, from 0.
    Index(u64),
    /// Key of an object store, or a field's name.
    Key(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ProblemKind {
    Unknown,
    Duplicate,
    Unreadable,
    Torn,
    /// Read after a repair, such as a replaced byte that is not UTF-8.
    Repaired,
    /// The records are readable, what they say of each other is not: a missing parent, a cycle.
    Structure,
    /// Readable here, but the system that wrote it would refuse it.
    Refused,
}

impl ProblemKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Duplicate => "duplicate",
            Self::Unreadable => "unreadable",
            Self::Torn => "torn",
            Self::Repaired => "repaired",
            Self::Structure => "structure",
            Self::Refused => "refused",
        }
    }
}

impl Locator {
    /// As an error names it: `line 12`, `entry 3`.
    pub fn words(&self) -> String {
        match self {
            Self::Line(number) => format!("line {number}"),
            Self::Row(id) => format!("row {id}"),
            Self::Index(index) => format!("entry {index}"),
            Self::Key(key) => format!("key {key}"),
        }
    }
}
