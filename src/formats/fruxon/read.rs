//! A file of Fruxon's, cut into records: the rows of a page or an array, the lines or frames of a stream, or one document.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::field::{self, text};
use super::kind::{Kind, is_event_stream, starts_stream};
use crate::formats::document::{self, Flaw};
use crate::formats::json;
use crate::formats::prefix::{End, first_value, is_blank};
use crate::model::{Locator, Problem, ProblemKind};
use crate::store::{Framing, ReadError, SourceFile, Span, Watch, scan};

/// How a file holds its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// An array whose `[` is at this offset, alone or as the `items` of a page.
    Rows {
        start: u64,
        in_page: bool,
    },
    Lines,
    /// Server-sent events.
    Events,
    /// One document that begins at this offset: notices may stand before it.
    Document {
        start: usize,
    },
}

/// A record, and what became of it.
#[derive(Clone, Debug)]
pub struct Record {
    /// Events of a server are kept in the form that the command line prints them in.
    pub value: Value,
    pub span: Span,
    pub kind: Option<Kind>,
    pub problem: Option<(ProblemKind, String)>,
}

impl Record {
    /// Whether nothing of it can be used.
    pub fn is_lost(&self) -> bool {
        self.kind.is_none()
            && matches!(self.problem, Some((ProblemKind::Torn | ProblemKind::Unreadable | ProblemKind::Unknown, _)))
    }
}

/// A file that was read.
pub struct FileData {
    pub file: Arc<SourceFile>,
    pub container: Container,
    pub records: Vec<Record>,
    /// The page says that there is another one after it.
    pub has_next_page: bool,
}

impl FileData {
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub fn path_buf(&self) -> PathBuf {
        self.path().to_owned()
    }

    pub fn locator(&self, record: usize) -> Locator {
        match self.container {
            Container::Rows { .. } => Locator::Index(record as u64),
            Container::Lines | Container::Events => {
                Locator::Line(self.records.get(record).map_or(1, |record| record.span.line.into()))
            }
            Container::Document { .. } => Locator::Key("document".to_owned()),
        }
    }

    pub fn problem(&self, index: usize) -> Option<Problem> {
        let record = self.records.get(index)?;
        let (kind, message) = record.problem.clone()?;
        Some(Problem { locator: self.locator(index), offset: Some(record.span.offset), kind, message, file: None })
    }
}

/// Reads a file whole. Larger ones than a document may be are refused.
pub fn load(path: &Path, watch: Watch<'_>) -> Result<FileData, ReadError> {
    let file = Arc::new(SourceFile::open(path)?);
    if file.len() > document::MAX_DOCUMENT_BYTES {
        let limit = document::MAX_DOCUMENT_BYTES / (1024 * 1024);
        let reason = format!("the file is larger than {limit} MiB, the most that is read of Fruxon's files");
        return Err(ReadError::Open { reason, path: path.to_owned() });
    }
    let bytes = file.read_at(0, usize::try_from(file.len()).unwrap_or(usize::MAX))?;
    let (container, has_next_page) = container_of(&bytes);
    let mut records = match container {
        Container::Rows { start, in_page } => rows(&file, &bytes, start, in_page, watch)?,
        Container::Lines => lines(&file, watch)?,
        Container::Events => events(&bytes),
        Container::Document { start } => whole(&bytes, start).into_iter().collect(),
    };
    let mut in_stream = container == Container::Events;
    for record in &mut records {
        if !matches!(container, Container::Document { .. })
            && record.problem.as_ref().is_some_and(|(kind, _)| *kind != ProblemKind::Repaired)
        {
            continue;
        }
        in_stream |= starts_stream(&record.value);
        record.kind = match Kind::of(&record.value) {
            Some(kind) => Some(kind),
            None if in_stream && record.value.is_object() => Some(Kind::Frame),
            None => None,
        };
        if record.kind.is_none() && record.problem.is_none() {
            record.problem = Some((ProblemKind::Unknown, "a record of no known kind".to_owned()));
        } else if record.problem.is_none() && field::is_in_seconds(&record.value) {
            record.problem = Some((ProblemKind::Repaired, "times in seconds were read as such".to_owned()));
        }
    }
    Ok(FileData { file, container, records, has_next_page })
}

/// How a file holds its records, and whether it is a page with another one after it.
fn container_of(bytes: &[u8]) -> (Container, bool) {
    let unmarked = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mark = bytes.len() - unmarked.len();
    let head = String::from_utf8_lossy(unmarked.get(..unmarked.len().min(4096)).unwrap_or_default());
    if is_event_stream(&head) {
        return (Container::Events, false);
    }
    let Some(start) = document::start_of(unmarked) else { return (Container::Lines, false) };
    let text = unmarked.get(start..).unwrap_or_default();
    let offset = mark + start;
    if text.first() == Some(&b'[') {
        return (Container::Rows { start: offset as u64, in_page: false }, false);
    }
    let first = first_value(text);
    let after = text.get(first.at..).unwrap_or_default();
    let another = after.iter().find(|byte| !is_blank(**byte)) == Some(&b'{');
    let broken_line = first.end == End::Broken && memchr::memmem::find(text, b"\n{").is_some();
    let value = first.value.unwrap_or_default();
    if (first.end == End::Whole && another) || broken_line || starts_stream(&value) {
        return (Container::Lines, false);
    }
    match items_of(text) {
        Some(at) => {
            let start = (offset + at) as u64;
            (Container::Rows { start, in_page: true }, field::id(&value, "nextPageToken").is_some())
        }
        None => (Container::Document { start: offset }, false),
    }
}

/// Where the `[` of the outermost object's `items` is, by brackets and strings alone.
fn items_of(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_u32, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at)?;
                let key = bytes.get(at + 1..end)?;
                at = end;
                if depth == 1 && key == b"items" {
                    let rest = bytes.get(end + 1..)?;
                    let mut marks = rest.iter().enumerate().filter(|(_, byte)| !is_blank(**byte));
                    if let (Some((_, b':')), Some((bracket, b'['))) = (marks.next(), marks.next()) {
                        return Some(end + 1 + bracket);
                    }
                }
            }
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the string that begins at `at` ends.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// A record of some bytes. What is cut off or no JSON is kept as far as it goes, with the problem.
fn record(bytes: &[u8], span: Span, terminated: bool) -> Record {
    let (value, problem) = match document::parse(bytes) {
        Some(parsed) => {
            let problem = parsed.flaw.map(|flaw| {
                let kind = match flaw {
                    Flaw::Mended => ProblemKind::Repaired,
                    Flaw::Cut { .. } if !terminated => ProblemKind::Torn,
                    Flaw::Cut { .. } | Flaw::Broken { .. } => ProblemKind::Unreadable,
                };
                (kind, flaw.message())
            });
            (parsed.value, problem)
        }
        None => (Value::Null, Some((ProblemKind::Unreadable, "this is no JSON".to_owned()))),
    };
    Record { value, span, kind: None, problem }
}

fn rows(
    file: &SourceFile,
    bytes: &[u8],
    start: u64,
    in_page: bool,
    watch: Watch<'_>,
) -> Result<Vec<Record>, ReadError> {
    let mut rows = Vec::new();
    let mut end = usize::try_from(start).unwrap_or(usize::MAX).saturating_add(1);
    let mut is_closed = false;
    scan(file, Framing::Array { start }, watch, &mut |found| {
        let offset = usize::try_from(found.span.offset).unwrap_or(usize::MAX);
        is_closed |= bytes.get(end..offset).unwrap_or_default().contains(&b']');
        end = offset.saturating_add(found.span.len as usize);
        if !is_closed {
            rows.push(record(found.bytes, found.span, found.terminated));
        } else if !in_page {
            let problem = Some((ProblemKind::Unreadable, "this stands after the end of the list".to_owned()));
            rows.push(Record { value: Value::Null, span: found.span, kind: None, problem });
        }
    })?;
    Ok(rows)
}

fn lines(file: &SourceFile, watch: Watch<'_>) -> Result<Vec<Record>, ReadError> {
    let mut records = Vec::new();
    scan(file, Framing::Lines, watch, &mut |found| {
        let line = json::readable(found.bytes);
        let parts = json::split_line(&line.text);
        for (at, part) in parts {
            let span = line.span(found.span, at, part.len());
            records.push(record(part.as_bytes(), span, found.terminated));
        }
    })?;
    Ok(records)
}

fn whole(bytes: &[u8], start: usize) -> Option<Record> {
    let bytes = bytes.get(start..)?.trim_ascii_end();
    let span = Span { offset: start as u64, len: u32::try_from(bytes.len()).unwrap_or(u32::MAX), line: 1 };
    (!bytes.is_empty()).then(|| record(bytes, span, false))
}

/// The frames of server-sent events; comments are none.
fn events(bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    let mut frame = Pending::default();
    let (mut offset, mut number) = (0_usize, 1_u32);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let content = line.trim_ascii_end();
        let text = String::from_utf8_lossy(content);
        let text = text.trim_start_matches('\u{feff}');
        if text.is_empty() {
            records.extend(frame.finish());
        } else if !text.starts_with(':') {
            frame.add(text, offset, offset + content.len(), number);
        }
        offset += line.len();
        number = number.saturating_add(1);
    }
    records.extend(frame.finish());
    records
}

/// The frame that is being gathered.
#[derive(Default)]
struct Pending {
    name: String,
    data: Vec<String>,
    place: Option<(usize, u32)>,
    end: usize,
}

impl Pending {
    fn add(&mut self, line: &str, start: usize, end: usize, number: u32) {
        self.place.get_or_insert((start, number));
        self.end = end;
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.trim().to_lowercase(),
            "data" => self.data.push(value.to_owned()),
            _ => {}
        }
    }

    fn finish(&mut self) -> Option<Record> {
        let Self { name, data, place, end } = std::mem::take(self);
        let (start, line) = place?;
        let len = u32::try_from(end.saturating_sub(start)).unwrap_or(u32::MAX);
        let span = Span { offset: start as u64, len, line };
        if data.is_empty() {
            let problem = Some((ProblemKind::Unknown, "a frame without data".to_owned()));
            return Some(Record { value: Value::Null, span, kind: None, problem });
        }
        let mut record = record(data.join("\n").as_bytes(), span, true);
        record.value = printed(&name, std::mem::take(&mut record.value));
        Some(record)
    }
}

/// An event of a server as the command line prints it: `type` and the fields beside it.
fn printed(name: &str, data: Value) -> Value {
    let kind = text(&data, "kind").map(str::to_lowercase).filter(|_| data.get("at").is_some() || name != "testchat");
    let mut fields = Map::new();
    fields.insert("type".to_owned(), Value::from(kind.as_deref().unwrap_or(name)));
    let mut data = match data {
        Value::Object(data) => data,
        other => Map::from_iter([("data".to_owned(), other)]),
    };
    if let Some(kind) = kind {
        data.shift_remove("kind");
        let said = data.get("text").cloned().unwrap_or_default();
        if let Value::Object(inner) = field::nested(&said).into_owned() {
            data.shift_remove("text");
            fields.extend(inner.into_iter().filter(|(key, _)| key != "type"));
        } else if kind == "turn_complete" {
            data.shift_remove("text");
            fields.insert("outcome".to_owned(), said);
        }
    }
    for (key, value) in data {
        fields.entry(key).or_insert(value);
    }
    Value::Object(fields)
}
