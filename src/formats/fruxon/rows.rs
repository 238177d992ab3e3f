//! Messages: the rows of a sandbox session, of a topic's transcript, of a test chat and of the channel ledger.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::facts::Spot;
use super::field::{any_time, at, id, spoken, text, word};
use super::inbound::unframed;
use super::kind::Kind;
use super::read::FileData;
use crate::model::Timestamp;

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Author {
    Participant,
    Agent,
    /// A colleague who took over.
    Operator,
    /// The platform or a tool: nothing that anybody said.
    Platform,
}

/// A message.
pub struct Row<'a> {
    pub file: usize,
    pub record: usize,
    pub kind: Kind,
    pub author: Author,
    /// As it is stored, with its frame.
    pub text: Cow<'a, str>,
    pub at: Option<Timestamp>,
    pub run: Option<String>,
    /// Its own id, where rows have one.
    pub id: Option<String>,
    /// What its reader should know: `withheld: …`, `interrupted`.
    pub note: Option<String>,
}

impl Row<'_> {
    pub fn spot(&self) -> Spot {
        Spot::new(self.file, self.record)
    }

    /// Under which key its text is.
    pub fn text_key(&self, files: &[FileData]) -> &'static str {
        match self.kind {
            Kind::Row => "text",
            Kind::Channel if self.spot().value(files).get("message").is_some() => "message",
            _ => "content",
        }
    }
}

/// What a row says, as it is stored.
pub fn content(row: &Value, kind: Kind) -> Cow<'_, str> {
    match kind {
        Kind::Row => spoken(at(row, &["text"])),
        Kind::Topic => spoken(at(row, &["content"])),
        _ => spoken(row.get("message").or(row.get("content")).unwrap_or(&Value::Null)),
    }
}

/// When it was said; where that is not recorded, when it was stored.
pub fn said_at(row: &Value, kind: Kind) -> Option<Timestamp> {
    any_time(row, if kind == Kind::Row { &["at"] } else { &["occurredAt", "createdAt"] })
}

/// Whether the agent's side said it.
pub fn is_agent_side(row: &Value, kind: Kind) -> bool {
    author(row, kind, &[]) != Author::Participant
}

/// Who wrote a row, where `agents` are known to be agents.
pub fn author(row: &Value, kind: Kind, agents: &[String]) -> Author {
    let is_agent =
        |from: &str| from == "fruxon" || text(row, "agentId") == Some(from) || agents.iter().any(|a| a == from);
    match kind {
        Kind::Topic => match (word(row, "author").as_str(), word(row, "role").as_str()) {
            ("PARTICIPANT", _) => Author::Participant,
            ("HUMAN_OPERATOR", _) => Author::Operator,
            ("PLATFORM", _) | (_, "SYSTEM" | "TOOL" | "DEVELOPER") => Author::Platform,
            ("AGENT", _) => Author::Agent,
            (_, "USER") => Author::Participant,
            _ => Author::Agent,
        },
        Kind::Row if id(row, "executionRecordId").is_some() => Author::Agent,
        _ if word(row, "origin") == "PLATFORM_NOTICE" => Author::Platform,
        _ if word(row, "origin") == "HUMAN_RELAY" => Author::Operator,
        _ => match text(row, "from") {
            Some(from) if is_agent(from) => Author::Agent,
            _ => Author::Participant,
        },
    }
}

/// The messages among the records, in the order in which they were said.
pub fn rows_of<'a>(files: &'a [FileData], records: &[(usize, usize)], agents: &[String]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for (file, record) in records {
        let Some(read) = files.get(*file).and_then(|data| data.records.get(*record)) else { continue };
        let Some(kind) = read.kind.filter(|kind| kind.is_row()) else { continue };
        let value = &read.value;
        rows.push(Row {
            file: *file,
            record: *record,
            kind,
            author: author(value, kind, agents),
            text: content(value, kind),
            at: said_at(value, kind),
            run: id(value, "executionRecordId"),
            id: id(value, "id"),
            note: note(value),
        });
    }
    sort(&mut rows);
    rows
}

/// Takes out the rows that another file has too, and gives them back. The first file's row stays, and learns its run.
pub fn take_copies(rows: &mut Vec<Row<'_>>) -> Vec<(usize, usize)> {
    let mut copies = Vec::new();
    let mut first: HashMap<(Option<i64>, Option<String>, Author, String), usize> = HashMap::new();
    let mut kept: Vec<Row<'_>> = Vec::with_capacity(rows.len());
    rows.sort_by_key(|row| (row.file, row.record));
    for row in rows.drain(..) {
        let author = if row.author == Author::Participant { Author::Participant } else { Author::Agent };
        let key = (row.at.map(|at| at.0), row.id.clone(), author, unframed(&row.text).trim().to_owned());
        let known = first.get(&key).and_then(|place| kept.get_mut(*place)).filter(|known| known.file != row.file);
        match known {
            Some(known) if row.at.is_some() => {
                known.run = known.run.take().or(row.run.clone());
                copies.push((row.file, row.record));
            }
            _ => {
                first.entry(key).or_insert(kept.len());
                kept.push(row);
            }
        }
    }
    *rows = kept;
    sort(rows);
    copies
}

/// Transcript rows by their number and not by time, all others by time; rows without any stay behind the row before them.
fn sort(rows: &mut Vec<Row<'_>>) {
    let number = |row: &Row<'_>| row.id.as_deref().and_then(|id| id.parse::<i128>().ok());
    let by_number = !rows.is_empty() && rows.iter().all(|row| row.kind == Kind::Topic && number(row).is_some());
    let mut last = i128::MIN;
    let keys: Vec<i128> = rows
        .iter()
        .map(|row| {
            let key = if by_number { number(row) } else { row.at.map(|at| at.0.into()) };
            last = key.unwrap_or(last);
            last
        })
        .collect();
    let mut keyed: Vec<(i128, Row<'_>)> = keys.into_iter().zip(rows.drain(..)).collect();
    keyed.sort_by_key(|(key, _)| *key);
    rows.extend(keyed.into_iter().map(|(_, row)| row));
}

fn note(row: &Value) -> Option<String> {
    let withheld = text(row, "withheldReason").map(|reason| format!("withheld: {reason}"));
    let interrupted = (row.get("interrupted") == Some(&Value::Bool(true))).then(|| "interrupted".to_owned());
    let blocked = text(row, "target").map(|target| format!("blocked send to {target}"));
    withheld.or(interrupted).or(blocked)
}
