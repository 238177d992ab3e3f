//! Telling formats apart by their first bytes, never by the name alone.
//!
//! A [`Sample`] is the start of a file, read tolerantly: records that the window cuts off count with the keys seen so far.
//! Each format gives points for it; the most points win, at least 2. The scale, the same for all formats:
//!
//! | points | for |
//! | --- | --- |
//! | 10 | a header that no other format has |
//! | 6 to 8 | a record that no other format has |
//! | 3 to 4 | a record that is hard to mistake |
//! | 1 to 2 | a record that is usual for the format, and that others have too |
//!
//! Points of records add up. No rule looks at the order of keys: it is never fixed.

mod agents;
mod known;
mod strangers;
mod systems;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Format;
use super::prefix::{End, first_value, is_blank};
use crate::model::FormatName;
use crate::store::{Database, Framing, ReadError, SourceFile};
pub(super) use agents::acp as acp_points;
use known::{KNOWN, Known};

/// Bytes looked at.
const WINDOW_BYTES: usize = 64 * 1024;
/// Records looked at.
const MAX_RECORDS: usize = 40;
/// How far the end of a first line is looked for that is longer than the window.
const MAX_FIRST_LINE_BYTES: u64 = 16 * 1024 * 1024;
/// Fewer points are no recognition.
const MIN_POINTS: u32 = 2;
/// A second format with so many points makes a file a mixed one.
const MIXED_POINTS: u32 = 4;

/// The start of a file.
#[derive(Debug)]
pub struct Sample {
    pub path: PathBuf,
    pub shape: Shape,
    /// Up to 40 records: lines, elements of an array, or the one document. Keys after the window's end are absent.
    ///
    /// Of an SQLite file it is `{"tables": […]}`, of a text that is no JSON its start as one string.
    pub records: Vec<Value>,
}

/// What kind of container a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One JSON record a line.
    Lines,
    /// One JSON array; records are its elements, `[` is at this offset.
    Array {
        start: u64,
    },
    /// One JSON document over several lines that is no array.
    Document,
    Sqlite,
    Gzip,
    Zstd,
    Zip,
    Utf16,
    Html,
    Empty,
    Other,
    /// A folder that may count as one file, such as an object store; there are no records in its sample.
    Folder,
}

impl Sample {
    pub fn take(source: &SourceFile) -> Result<Self, ReadError> {
        let window = window(source, 0)?;
        let (mut shape, mut records) = look(&window);
        // The window may hold a part of the schema only, or words of a message that look like one.
        if shape == Shape::Sqlite
            && let Ok(names) = Database::new(source.path()).tables()
        {
            records = vec![json!({ "tables": names })];
        }
        // One line can be longer than the window, and a file whose head is missing may begin inside such a line.
        if matches!(shape, Shape::Lines | Shape::Other)
            && memchr::memchr(b'\n', window.trim_ascii_start()).is_none()
            && let Some(next_line) = line_after(source, window.len() as u64)?
        {
            let more = lines(&self::window(source, next_line)?);
            if !more.is_empty() {
                records.retain(Value::is_object);
                records.extend(more);
                records.truncate(MAX_RECORDS);
                shape = Shape::Lines;
            }
        }
        Ok(Self { path: source.path().to_owned(), shape, records })
    }

    /// Of a folder nothing is looked at here: a format that takes whole folders looks itself.
    pub fn folder(path: &Path) -> Self {
        Self { path: path.to_owned(), shape: Shape::Folder, records: Vec::new() }
    }

    /// How a reader should cut the file.
    pub fn framing(&self) -> Framing {
        match self.shape {
            Shape::Array { start } => Framing::Array { start },
            _ => Framing::Lines,
        }
    }

    /// The same file with this record alone.
    fn only(&self, record: &Value) -> Self {
        Self { path: self.path.clone(), shape: self.shape, records: vec![record.clone()] }
    }
}

/// The format that recognises the sample best, or one sentence that says what the file is and what to do.
///
/// When two formats have records in the file, it is that of the first record: see [`mixed_in`].
pub fn choose<'a>(registry: &'a [Format], sample: &Sample) -> Result<&'a Format, String> {
    match winner(&candidates(registry, sample), sample) {
        Some(Candidate { judge: Judge::Reader(format), .. }) => Ok(format),
        Some(Candidate { judge: Judge::Known(known), .. }) => Err(known.sentence(registry)),
        None => Err(known::unknown(registry, sample)),
    }
}

/// The format that takes this folder as one, if there is one.
pub fn folder_format<'a>(registry: &'a [Format], path: &Path) -> Option<&'a Format> {
    let sample = Sample::folder(path);
    registry.iter().find(|format| (format.recognise)(&sample) >= MIN_POINTS)
}

/// The systems whose files can be opened: `Outpost and Claude Code`.
pub fn systems_of(registry: &[Format]) -> String {
    let mut systems: Vec<&str> = Vec::new();
    // A case holds a session of one of the others.
    for system in registry.iter().filter(|format| format.name != FormatName::Case).map(|format| format.name.system()) {
        if !systems.contains(&system) {
            systems.push(system);
        }
    }
    known::listed(&systems)
}

/// What else is in a mixed file, by name, beside the format that [`choose`] goes with; empty for nearly every file.
pub fn mixed_in(registry: &[Format], sample: &Sample) -> Vec<&'static str> {
    let candidates = candidates(registry, sample);
    let Some(winner) = winner(&candidates, sample).map(Candidate::name) else { return Vec::new() };
    let others = candidates.iter().filter(|other| other.points >= MIXED_POINTS).map(Candidate::name);
    others.filter(|name| *name != winner).collect()
}

#[derive(Clone, Copy)]
enum Judge<'a> {
    Reader(&'a Format),
    Known(&'static Known),
}

struct Candidate<'a> {
    judge: Judge<'a>,
    points: u32,
}

impl Candidate<'_> {
    fn name(&self) -> &'static str {
        match self.judge {
            Judge::Reader(format) => format.name.title(),
            Judge::Known(known) => known.what,
        }
    }
}

impl Judge<'_> {
    fn points(&self, sample: &Sample) -> u32 {
        match self {
            Self::Reader(format) => (format.recognise)(sample),
            Self::Known(known) => known.points(sample),
        }
    }
}

/// All formats that recognise the sample, those that can be opened first.
fn candidates<'a>(registry: &'a [Format], sample: &Sample) -> Vec<Candidate<'a>> {
    let judges = registry.iter().map(Judge::Reader).chain(KNOWN.iter().map(Judge::Known));
    judges
        .map(|judge| Candidate { judge, points: judge.points(sample) })
        .filter(|candidate| candidate.points >= MIN_POINTS)
        .collect()
}

fn winner<'a, 'f>(candidates: &'a [Candidate<'f>], sample: &Sample) -> Option<&'a Candidate<'f>> {
    let strong: Vec<_> = candidates.iter().filter(|candidate| candidate.points >= MIXED_POINTS).collect();
    if strong.len() > 1 {
        // A mixed file: the first record that means anything to one of them decides.
        for record in &sample.records {
            let alone = sample.only(record);
            let judged = strong.iter().map(|candidate| (candidate.judge.points(&alone), *candidate));
            if let Some((_, candidate)) = first_max(judged.filter(|(points, _)| *points > 0)) {
                return Some(candidate);
            }
        }
    }
    first_max(candidates.iter().map(|candidate| (candidate.points, candidate))).map(|(_, candidate)| candidate)
}

/// The entry with the most points, the first of several.
fn first_max<T>(entries: impl Iterator<Item = (u32, T)>) -> Option<(u32, T)> {
    entries.reduce(|best, next| if next.0 > best.0 { next } else { best })
}

/// The bytes at `offset`, as many as are looked at.
fn window(source: &SourceFile, offset: u64) -> Result<Vec<u8>, ReadError> {
    let mut window = vec![0; WINDOW_BYTES];
    let read = source.fill(offset, &mut window)?;
    window.truncate(read);
    Ok(window)
}

/// Where the first line after `offset` begins, if that is not too far.
fn line_after(source: &SourceFile, offset: u64) -> Result<Option<u64>, ReadError> {
    let mut at = offset;
    while at < source.len().min(offset + MAX_FIRST_LINE_BYTES) {
        let bytes = window(source, at)?;
        if let Some(end) = memchr::memchr(b'\n', &bytes) {
            return Ok(Some(at + end as u64 + 1));
        }
        if bytes.is_empty() {
            break;
        }
        at += bytes.len() as u64;
    }
    Ok(None)
}

/// The container and the records of a file that starts with `window`.
fn look(window: &[u8]) -> (Shape, Vec<Value>) {
    if let Some(shape) = container(window) {
        return (shape, if shape == Shape::Sqlite { vec![tables(window)] } else { Vec::new() });
    }
    let mark = if window.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let unmarked = window.get(mark..).unwrap_or_default();
    let Some(blank) = unmarked.iter().position(|byte| !is_blank(*byte)) else {
        let cut = window.len() >= WINDOW_BYTES;
        return if cut { (Shape::Other, vec![json!("")]) } else { (Shape::Empty, Vec::new()) };
    };
    let text = unmarked.get(blank..).unwrap_or_default();
    match text.first() {
        Some(b'{' | b'[') => json_text(text, (mark + blank) as u64),
        _ => lines_or_text(text),
    }
}

/// Containers that their first bytes give away.
fn container(window: &[u8]) -> Option<Shape> {
    const MAGIC: [(&[u8], Shape); 6] = [
        (b"SQLite format 3\0", Shape::Sqlite),
        (b"\x28\xB5\x2F\xFD", Shape::Zstd),
        (b"\x1F\x8B", Shape::Gzip),
        (b"PK\x03\x04", Shape::Zip),
        (b"\xFF\xFE", Shape::Utf16),
        (b"\xFE\xFF", Shape::Utf16),
    ];
    if let Some((_, shape)) = MAGIC.iter().find(|(magic, _)| window.starts_with(magic)) {
        return Some(*shape);
    }
    match window {
        // UTF-16 without a byte order mark: every other byte of plain text is NUL.
        [b'{' | b'[', 0, second, 0, ..] | [0, b'{' | b'[', 0, second, ..] if *second != 0 => Some(Shape::Utf16),
        _ => None,
    }
}

/// The tables of an SQLite file whose schema lies in the window, as its statements are stored there.
fn tables(window: &[u8]) -> Value {
    const STATEMENT: &[u8] = b"CREATE TABLE ";
    let name = |at: usize| {
        let rest = window.get(at + STATEMENT.len()..)?;
        let rest = rest.strip_prefix(b"IF NOT EXISTS ").unwrap_or(rest);
        let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
        let len = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
        Some(String::from_utf8_lossy(rest.get(..len)?).into_owned())
    };
    let names: Vec<_> = memchr::memmem::find_iter(window, STATEMENT).filter_map(name).collect();
    json!({ "tables": names })
}

/// A text that begins with a bracket, `offset` bytes into the file: one document, one array, or records on lines.
fn json_text(text: &[u8], offset: u64) -> (Shape, Vec<Value>) {
    let first = first_value(text);
    let (inside, after) = text.split_at(first.at.min(text.len()));
    let several_lines = inside.contains(&b'\n');
    // Text after the value on its last line: it is the inside of a record whose start is missing.
    let line_end = memchr::memchr(b'\n', after).unwrap_or(after.len());
    let alone = match first.end {
        End::Whole => starts_record(after.get(..line_end).unwrap_or_default()).unwrap_or(true),
        End::Cut => true,
        End::Broken => false,
    };
    let next = after.iter().copied().find(|byte| !is_blank(*byte));
    let lines_follow = first.end == End::Whole && next == Some(b'{');
    // What goes on like the inside of a document whose head is missing cannot be cut into records.
    let is_inside = first.end == End::Whole && matches!(next, Some(b',' | b']' | b'}'));
    let broken = first.end == End::Broken;
    match document(first.value, first.wrapped, offset) {
        Some((shape @ Shape::Array { .. }, records))
            if (alone && !lines_follow) || (broken && records.iter().any(Value::is_object)) =>
        {
            (shape, records)
        }
        Some((Shape::Document, records)) if alone && several_lines => (Shape::Document, records),
        otherwise => match lines(text) {
            // In a damaged document over several lines, one line alone may look like a record.
            records if records.len() > usize::from(broken && several_lines) => (Shape::Lines, records),
            // Damaged inside, or followed by a stray word: still what it began as.
            _ if !is_inside => otherwise.unwrap_or_else(|| plain(text)),
            _ => plain(text),
        },
    }
}

/// A whole document as shape and records. An object that wraps its records in an array counts as that array.
fn document(value: Option<Value>, wrapped: Option<usize>, offset: u64) -> Option<(Shape, Vec<Value>)> {
    let (start, mut records) = match (value?, wrapped) {
        (Value::Array(items), _) => (offset, items),
        (Value::Object(mut fields), Some(bracket)) => match fields.shift_remove("loglines") {
            Some(Value::Array(items)) => (offset + bracket as u64, items),
            _ => return None,
        },
        (object @ Value::Object(_), None) => return Some((Shape::Document, vec![object])),
        _ => return None,
    };
    records.truncate(MAX_RECORDS);
    Some((Shape::Array { start }, records))
}

/// Whether the next byte that is no blank starts an object; `None` when there is none.
fn starts_record(bytes: &[u8]) -> Option<bool> {
    bytes.iter().find(|byte| !is_blank(**byte)).map(|byte| *byte == b'{')
}

/// The records on the lines of a text, without the lines that are none. The end of the text may cut off the last.
fn lines(text: &[u8]) -> Vec<Value> {
    let mut records = Vec::new();
    let mut lines = text.split(|byte| *byte == b'\n').peekable();
    while let Some(mut rest) = lines.next() {
        // Two records can be on one line where a writer died between a record and its line feed.
        while starts_record(rest) == Some(true) && records.len() < MAX_RECORDS {
            let first = first_value(rest);
            rest = rest.get(first.at..).unwrap_or_default();
            let complete = match first.end {
                End::Whole => starts_record(rest).unwrap_or(true),
                End::Cut => lines.peek().is_none(),
                End::Broken => false,
            };
            let fields = first.value.filter(|value| value.as_object().is_some_and(|fields| !fields.is_empty()));
            records.extend(fields.filter(|_| complete));
            if first.end != End::Whole {
                break;
            }
        }
    }
    records
}

/// A text that does not begin with JSON: its head may be missing, or a notice may stand before the records.
fn lines_or_text(text: &[u8]) -> (Shape, Vec<Value>) {
    let records = lines(text);
    if !records.is_empty() {
        return (Shape::Lines, records);
    }
    if text.first() == Some(&b'<') {
        return (Shape::Html, Vec::new());
    }
    plain(text)
}

/// What holds no JSON: a text, or bytes that are none.
fn plain(text: &[u8]) -> (Shape, Vec<Value>) {
    let start = text.get(..text.len().min(1024)).unwrap_or_default();
    let readable = match std::str::from_utf8(start) {
        Ok(_) => true,
        // The cut may have parted a character.
        Err(error) => error.error_len().is_none(),
    };
    let is_text = readable && !start.contains(&0);
    let record = is_text.then(|| Value::String(String::from_utf8_lossy(start).into_owned()));
    (Shape::Other, record.into_iter().collect())
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::samples;
