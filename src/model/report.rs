//! The reading report: every record of a file accounted for.

use serde::Serialize;

/// Problems of records that are listed one by one; the counts go on.
pub const MAX_PROBLEMS: usize = 10_000;

/// What became of a file's records, and what was noticed while reading.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub records: Records,
    pub problems: Vec<Problem>,
    /// Problems past [`MAX_PROBLEMS`]; while there are any, the last problem of the list says how many.
    unlisted: u64,
}

impl Report {
    /// Lists a problem of a record, while there are not too many of them.
    pub fn push(&mut self, problem: Problem) {
        if self.unlisted == 0 && self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.leave_out(1);
        }
    }

    /// Lists a notice about the file as a whole: there are few of these, and none may be lost among many others.
    pub fn notice(&mut self, problem: Problem) {
        self.problems.insert(self.listed(), problem);
    }

    /// Takes out the problem of a last record that was not whole yet, at this offset. `None` where that is not the last
    /// problem, or not the only one of the record.
    pub fn take_torn(&mut self, offset: u64) -> Option<()> {
        let (last, others) = self.problems.split_last()?;
        let is_it = last.kind == ProblemKind::Torn && last.offset == Some(offset) && self.unlisted == 0;
        let is_only_one = others.last().is_none_or(|before| before.locator != last.locator);
        if !is_it || !is_only_one {
            return None;
        }
        self.problems.pop();
        self.records.torn -= 1;
        self.records.total -= 1;
        Some(())
    }

    /// Takes over the problems of another file that belongs to this one.
    pub fn take_problems(&mut self, other: &Self, file: &str) {
        for problem in other.problems.iter().take(other.listed()) {
            self.push(Problem { file: Some(file.to_owned()), ..problem.clone() });
        }
        if other.unlisted > 0 {
            self.leave_out(other.unlisted);
        }
    }

    /// Takes over what another part of the same file was found to hold, its problems in this order.
    pub fn append(&mut self, records: Records, problems: Vec<Problem>, unlisted: u64) {
        let (mine, other) = (&mut self.records, records);
        mine.total += other.total;
        mine.read += other.read;
        mine.unknown += other.unknown;
        mine.duplicate += other.duplicate;
        mine.unreadable += other.unreadable;
        mine.torn += other.torn;
        problems.into_iter().for_each(|problem| self.push(problem));
        if unlisted > 0 {
            self.leave_out(unlisted);
        }
    }

    /// Takes the report apart: the problems that are listed, and how many are not.
    pub fn into_problems(mut self) -> (Vec<Problem>, u64) {
        self.problems.truncate(self.listed());
        (self.problems, self.unlisted)
    }

    /// How many problems there are in the list, without the one that tells of those that are not.
    fn listed(&self) -> usize {
        self.problems.len().saturating_sub(usize::from(self.unlisted > 0))
    }

    fn leave_out(&mut self, count: u64) {
        if self.unlisted > 0 {
            self.problems.pop();
        }
        self.unlisted += count;
        let message = match self.unlisted {
            1 => "1 more problem is not listed".to_owned(),
            count => format!("{count} more problems are not listed"),
        };
        self.problems.push(Problem {
            locator: Locator::Key("records".to_owned()),
            offset: None,
            kind: ProblemKind::Structure,
            message,
            file: None,
        });
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(line: u64) -> Problem {
        let message = String::new();
        Problem { locator: Locator::Line(line), offset: None, kind: ProblemKind::Unreadable, message, file: None }
    }

    fn last(report: &Report) -> &str {
        &report.problems.last().unwrap().message
    }

    #[test]
    fn problems_past_the_bound_are_told_by_their_number() {
        let mut report = Report::default();
        for line in 0..MAX_PROBLEMS as u64 {
            report.push(problem(line));
        }
        assert_eq!(report.problems.len(), MAX_PROBLEMS);
        report.push(problem(0));
        assert_eq!(last(&report), "1 more problem is not listed");
        report.push(problem(0));
        assert_eq!((report.problems.len(), last(&report)), (MAX_PROBLEMS + 1, "2 more problems are not listed"));

        report.notice(Problem { message: "of the whole file".to_owned(), ..problem(0) });
        assert_eq!(report.problems[MAX_PROBLEMS].message, "of the whole file");
        assert_eq!(last(&report), "2 more problems are not listed");

        let mut whole = Report::default();
        whole.push(problem(1));
        whole.take_problems(&report, "agent.jsonl");
        assert_eq!(whole.problems[1].file.as_deref(), Some("agent.jsonl"));
        assert_eq!((whole.problems.len(), last(&whole)), (MAX_PROBLEMS + 1, "4 more problems are not listed"));
    }
}
