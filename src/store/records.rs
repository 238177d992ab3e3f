//! Cutting a file into records in one streaming pass: lines, or the elements of a JSON array.

use std::ops::Range;

use super::{ReadError, SourceFile, Watch};

/// A record longer than this is reported, not read: no session needs it, and memory is not endless.
pub const MAX_RECORD_BYTES: usize = 512 * 1024 * 1024;

/// Bytes read at a time: with what is made of them they stay in the cache of a core.
const CHUNK_BYTES: usize = 256 * 1024;
/// Bytes read at first where only the end of a line is looked for.
const TAIL_BYTES: usize = 16 * 1024;

/// How a file separates its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One record a line.
    Lines,
    /// The elements of the JSON array whose `[` is at this byte offset.
    Array { start: u64 },
}

/// Where a record lies in its file: all that is kept of it in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub offset: u64,
    pub len: u32,
    /// Line it starts on, from 1.
    pub line: u32,
}

/// A record as the scan came upon it.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    pub span: Span,
    /// Without its line end; empty when `oversized`.
    pub bytes: &'a [u8],
    /// False for a last record that nothing ends: a line without line feed, an element without `,` or `]` after it.
    pub terminated: bool,
    /// Longer than [`MAX_RECORD_BYTES`]; its bytes were passed over.
    pub oversized: bool,
}

/// Hands every record of `file` to `visit`, in file order. Blank lines are no records.
///
/// Reads to the length the file had when it was opened, so that a file that grows gives one consistent picture.
pub fn scan(
    file: &SourceFile,
    framing: Framing,
    watch: Watch<'_>,
    visit: &mut dyn FnMut(Found<'_>),
) -> Result<(), ReadError> {
    let start = match framing {
        Framing::Lines => byte_order_mark(file)?,
        Framing::Array { start } => start.saturating_add(1),
    };
    let mut cutter: Box<dyn Cutter> = match framing {
        Framing::Lines => Box::new(Lines),
        Framing::Array { .. } => Box::new(Elements::default()),
    };
    let mut pending = Pending { bytes: Vec::new(), passed_over: 0, offset: start, line: 1 };
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut position = start;
    while position < file.len() {
        watch.step(position, file.len())?;
        let wanted = usize::try_from(file.len() - position).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        let Some(buffer) = chunk.get_mut(..wanted) else { break };
        let read = file.fill(position, buffer)?;
        if read == 0 {
            return Err(ReadError::Shrunk { path: file.path().to_owned() });
        }
        let mut rest = chunk.get(..read).unwrap_or_default();
        while let Some((record_end, next)) = cutter.cut(rest) {
            let (record, after) = rest.split_at(next.min(rest.len()));
            pending.finish(record.get(..record_end).unwrap_or(record), true, visit);
            pending.skip(record, record_end);
            rest = after;
        }
        pending.extend(rest);
        position += read as u64;
    }
    // Whatever follows a closed array is no record of it, but it is there: it is handed over like one.
    pending.finish(&[], cutter.is_closed(), visit);
    watch.step(file.len(), file.len())?;
    Ok(())
}

/// Reads ranges of files, line by line, all through the same memory.
#[derive(Default)]
pub struct LineReader {
    chunk: Vec<u8>,
    gathered: Vec<u8>,
}

impl LineReader {
    /// Hands the lines that begin in `range` to `visit`, to their ends even where those lie behind it. Lines are counted
    /// from 1 in the range; how many line feeds end lines of the range is returned, so that the ranges of a file can be
    /// counted on.
    ///
    /// Ranges that meet hand over each line of the file once, whatever their borders cut through.
    pub fn scan(
        &mut self,
        file: &SourceFile,
        range: Range<u64>,
        watch: Watch<'_>,
        visit: &mut dyn FnMut(Found<'_>),
    ) -> Result<u64, ReadError> {
        let Self { chunk, gathered } = self;
        chunk.resize(CHUNK_BYTES, 0);
        gathered.clear();
        let first = byte_order_mark(file)?;
        let bytes = std::mem::take(gathered);
        let mut pending = Pending { bytes, passed_over: 0, offset: range.start.max(first), line: 1 };
        // The line that the range's start cuts through is of the range before it; a line feed just before the start ends
        // one.
        let mut is_inside = range.start > first;
        let mut position = if is_inside { range.start - 1 } else { first };
        while position < file.len() && pending.offset < range.end {
            watch.step(position, file.len())?;
            let Some(buffer) = chunk.get_mut(..wanted(position, range.end, file.len(), pending.bytes.len())) else {
                break;
            };
            let read = file.fill(position, buffer)?;
            if read == 0 {
                return Err(ReadError::Shrunk { path: file.path().to_owned() });
            }
            let mut rest = chunk.get(..read).unwrap_or_default();
            if is_inside {
                let Some(end) = memchr::memchr(b'\n', rest) else {
                    position += read as u64;
                    if position >= range.end {
                        break;
                    }
                    continue;
                };
                pending.offset = position + end as u64 + 1;
                rest = rest.get(end + 1..).unwrap_or_default();
                is_inside = false;
            }
            while pending.offset < range.end
                && let Some(end) = memchr::memchr(b'\n', rest)
            {
                let (record, after) = rest.split_at(end + 1);
                pending.finish(record.get(..end).unwrap_or(record), true, visit);
                pending.skip_line(record, end);
                rest = after;
            }
            if pending.offset < range.end {
                pending.extend(rest);
            }
            position += read as u64;
        }
        if !is_inside && pending.offset < range.end {
            pending.finish(&[], false, visit);
        }
        *gathered = pending.bytes;
        Ok(u64::from(pending.line) - 1)
    }
}

/// How many bytes to read at `position`: not more than belong to the range that ends at `end`, and behind it, where the
/// end of its last line is looked for, few at first and more for a long line.
fn wanted(position: u64, end: u64, len: u64, gathered: usize) -> usize {
    let inside = usize::try_from(end.saturating_sub(position)).unwrap_or(usize::MAX);
    let wanted = if inside > 0 { inside } else { gathered.max(TAIL_BYTES) }.min(CHUNK_BYTES);
    usize::try_from(len - position).map_or(wanted, |left| left.min(wanted))
}

/// Bytes of the UTF-8 byte order mark at the start of the file: 3 or 0.
fn byte_order_mark(file: &SourceFile) -> Result<u64, ReadError> {
    let mut start = [0; 3];
    let read = file.fill(0, &mut start)?;
    Ok(if read == 3 && start == *b"\xEF\xBB\xBF" { 3 } else { 0 })
}

/// The record that is being gathered across chunks.
struct Pending {
    bytes: Vec<u8>,
    /// Bytes of an oversized record that were not gathered.
    passed_over: u64,
    offset: u64,
    line: u32,
}

impl Pending {
    fn extend(&mut self, bytes: &[u8]) {
        if self.passed_over > 0 || self.bytes.len() + bytes.len() > MAX_RECORD_BYTES {
            self.passed_over += (self.bytes.len() + bytes.len()) as u64;
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Gives the gathered bytes and `tail` to `visit` as one record, unless they are blank.
    fn finish(&mut self, tail: &[u8], terminated: bool, visit: &mut dyn FnMut(Found<'_>)) {
        let oversized = self.passed_over > 0;
        let whole: &[u8] = if oversized {
            &[]
        } else if self.bytes.is_empty() {
            tail
        } else {
            self.bytes.extend_from_slice(tail);
            &self.bytes
        };
        let trimmed = whole.trim_ascii();
        if trimmed.is_empty() && !oversized {
            return;
        }
        let lead = whole.len() - whole.trim_ascii_start().len();
        let leading_lines = memchr::memchr_iter(b'\n', whole.get(..lead).unwrap_or_default()).count();
        let len = if oversized { self.passed_over } else { trimmed.len() as u64 };
        visit(Found {
            span: Span {
                offset: self.offset + lead as u64,
                len: u32::try_from(len).unwrap_or(u32::MAX),
                line: self.line.saturating_add(u32::try_from(leading_lines).unwrap_or(u32::MAX)),
            },
            bytes: trimmed,
            terminated,
            oversized,
        });
    }

    /// Moves past the record just finished: what was gathered, and `record`, whose own text ended at `record_end`.
    fn skip(&mut self, record: &[u8], record_end: usize) {
        // `finish` has appended the record's text to what was gathered, if anything was.
        let tail = if self.bytes.is_empty() { record } else { record.get(record_end..).unwrap_or_default() };
        let breaks = memchr::memchr_iter(b'\n', &self.bytes).count() + memchr::memchr_iter(b'\n', tail).count();
        let len = tail.len();
        self.pass(len, breaks);
    }

    /// The same for a record that is a line: there is no line feed in it but the one that ends it.
    fn skip_line(&mut self, record: &[u8], record_end: usize) {
        let tail = if self.bytes.is_empty() { record.len() } else { record.len() - record_end };
        self.pass(tail, 1);
    }

    fn pass(&mut self, tail: usize, breaks: usize) {
        self.line = self.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        self.offset += self.passed_over + (self.bytes.len() + tail) as u64;
        self.passed_over = 0;
        // One huge record must not hold its memory for the rest of the file.
        if self.bytes.capacity() > 8 * 1024 * 1024 {
            self.bytes = Vec::new();
        } else {
            self.bytes.clear();
        }
    }
}

/// Finds the end of the record that is being gathered.
trait Cutter {
    /// `(end of the record's text, start of what follows)` in `bytes`, or `None` when the record goes on past them.
    fn cut(&mut self, bytes: &[u8]) -> Option<(usize, usize)>;

    /// True when what is left at the end of the file belongs to no record.
    fn is_closed(&self) -> bool;
}

struct Lines;

impl Cutter for Lines {
    fn cut(&mut self, bytes: &[u8]) -> Option<(usize, usize)> {
        memchr::memchr(b'\n', bytes).map(|end| (end, end + 1))
    }

    fn is_closed(&self) -> bool {
        false
    }
}

/// Elements of an array, by brackets and strings alone: an element that is no JSON inside still ends where it ends.
#[derive(Default)]
struct Elements {
    depth: u32,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl Cutter for Elements {
    fn cut(&mut self, bytes: &[u8]) -> Option<(usize, usize)> {
        if self.closed {
            return None;
        }
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.in_string {
                if self.escaped {
                    self.escaped = false;
                    at += 1;
                    continue;
                }
                // Most bytes of a session are inside strings: hop to the next one that matters.
                match memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
                    None => return None,
                    Some(hop) => {
                        at += hop;
                        match bytes.get(at) {
                            Some(b'"') => self.in_string = false,
                            _ => self.escaped = true,
                        }
                    }
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                    b'}' | b']' if self.depth > 0 => self.depth -= 1,
                    b',' if self.depth == 0 => return Some((at, at + 1)),
                    b']' => {
                        self.closed = true;
                        return Some((at, at + 1));
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        None
    }

    fn is_closed(&self) -> bool {
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn records(content: &[u8], framing: Framing) -> Vec<(u64, u32, String, bool)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let source = SourceFile::open(file.path()).unwrap();
        let mut found = Vec::new();
        scan(&source, framing, Watch::none(), &mut |record| {
            let start = usize::try_from(record.span.offset).unwrap();
            assert_eq!(
                &content[start..start + record.span.len as usize],
                record.bytes,
                "the span is where the bytes are"
            );
            found.push((
                record.span.offset,
                record.span.line,
                String::from_utf8_lossy(record.bytes).into_owned(),
                record.terminated,
            ));
        })
        .unwrap();
        found
    }

    #[test]
    fn ranges_that_meet_hand_over_each_line_once() {
        for content in
            ["a\n\nbb\r\nccc\n  \nd", "\u{feff}first\nsecond\n", "\n\n\n", "one line without an end", "x\n", ""]
        {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(content.as_bytes()).unwrap();
            let source = SourceFile::open(file.path()).unwrap();
            let whole = records(content.as_bytes(), Framing::Lines);
            let mut reader = LineReader::default();
            for size in 1..=content.len().max(1) as u64 {
                let (mut found, mut lines, mut start) = (Vec::new(), 0, 0);
                while start < source.len() {
                    let end = (start + size).min(source.len());
                    lines += reader
                        .scan(&source, start..end, Watch::none(), &mut |record| {
                            let text = String::from_utf8_lossy(record.bytes).into_owned();
                            let line = record.span.line + u32::try_from(lines).unwrap();
                            found.push((record.span.offset, line, text, record.terminated));
                        })
                        .unwrap();
                    start = end;
                }
                assert_eq!(found, whole, "{content:?} in ranges of {size}");
            }
        }
    }

    fn entry(offset: u64, line: u32, text: &str, terminated: bool) -> (u64, u32, String, bool) {
        (offset, line, text.to_owned(), terminated)
    }

    #[test]
    fn lines_have_offsets_and_numbers() {
        assert_eq!(
            records(b"{\"a\":1}\r\n\n  {\"b\":2}\n{\"c\"", Framing::Lines),
            [entry(0, 1, "{\"a\":1}", true), entry(12, 3, "{\"b\":2}", true), entry(20, 4, "{\"c\"", false)]
        );
        assert_eq!(records(b"", Framing::Lines), []);
        assert_eq!(records(b"\n\n", Framing::Lines), []);
    }

    #[test]
    fn a_line_longer_than_a_chunk_is_one_record() {
        let long = "x".repeat(3 * CHUNK_BYTES + 5);
        let content = format!("a\n{long}\nb");
        let found = records(content.as_bytes(), Framing::Lines);
        assert_eq!(found.len(), 3);
        assert_eq!(found[1], entry(2, 2, &long, true));
        assert_eq!(found[2], entry(2 + long.len() as u64 + 1, 3, "b", false));
    }

    #[test]
    fn elements_end_where_brackets_say() {
        assert_eq!(
            records(b"[{\"a\":\"],\\\"\"},\n [1,2] , 7\n]  ", Framing::Array { start: 0 }),
            [entry(1, 1, "{\"a\":\"],\\\"\"}", true), entry(16, 2, "[1,2]", true), entry(24, 2, "7", true)]
        );
        assert_eq!(
            records(b"[{\"a\":1},{\"b\":", Framing::Array { start: 0 }),
            [entry(1, 1, "{\"a\":1}", true), entry(9, 1, "{\"b\":", false)]
        );
        assert_eq!(records(b"[]", Framing::Array { start: 0 }), []);
    }

    #[test]
    fn an_element_across_chunks_keeps_its_place() {
        let long = format!("{{\"a\":\"{}\"}}", "y".repeat(2 * CHUNK_BYTES));
        let content = format!("[\n{long},\n{{}}]");
        let found = records(content.as_bytes(), Framing::Array { start: 0 });
        assert_eq!(found[0], entry(2, 2, &long, true));
        assert_eq!(found[1], entry(2 + long.len() as u64 + 2, 3, "{}", true));
    }
}
