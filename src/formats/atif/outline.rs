//! Where the parts of a trajectory lie, found in one streaming pass by brackets and strings alone.
//!
//! A document may be hundreds of megabytes of token ids, so it is never held whole: what is kept are the places of the
//! outermost fields, and of the elements of the arrays that hold records.

use std::ops::Range;

use crate::store::{ReadError, SourceFile, Span, Watch};

const CHUNK_BYTES: usize = 256 * 1024;
/// Elements of one array whose places are kept.
const MAX_ELEMENTS: usize = 2_000_000;
/// Bytes of a key that are kept; the format's own keys are shorter.
const MAX_KEY_BYTES: usize = 64;
/// The arrays whose elements are records.
const LISTED: [&str; 2] = ["steps", "subagent_trajectories"];

/// The outermost object of a document, or of a document inside another.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    pub fields: Vec<Field>,
    /// The offset of the opening brace.
    pub open: u64,
    /// The offset of the closing brace; `None` when the document is cut off.
    pub close: Option<u64>,
    /// Where something follows the document that is no blank.
    pub after: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub value: Range<u64>,
    /// The value has an end.
    pub whole: bool,
    /// Set for an array of records.
    pub list: Option<Elements>,
}

/// The elements of an array.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    pub spans: Vec<Span>,
    /// The offset of the closing bracket.
    pub close: Option<u64>,
    /// The last element has no end.
    pub torn: bool,
    /// Elements past the ones that are kept.
    pub left_out: u64,
}

impl Outline {
    /// The last field of that name, as a strict reader would take it.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().rev().find(|field| field.name == name)
    }

    pub fn list(&self, name: &str) -> Option<&Elements> {
        self.field(name)?.list.as_ref()
    }
}

/// Outlines the object that begins in `range` of the file.
pub fn outline(file: &SourceFile, range: Range<u64>, line: u32, watch: Watch<'_>) -> Result<Outline, ReadError> {
    let mut scanner = Scanner { line, ..Scanner::default() };
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = range.start;
    while at < range.end {
        watch.step(at, file.len())?;
        let wanted = usize::try_from(range.end - at).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        let Some(buffer) = chunk.get_mut(..wanted) else { break };
        let read = file.fill(at, buffer)?;
        if read == 0 {
            return Err(ReadError::Shrunk { path: file.path().to_owned() });
        }
        scanner.take(chunk.get(..read).unwrap_or_default(), at);
        at += read as u64;
    }
    Ok(scanner.finish())
}

/// What the next byte outside of strings may be.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Expect {
    #[default]
    Root,
    Key,
    Colon,
    Value,
    /// Inside a value of the outermost object.
    Rest,
    Nothing,
}

#[derive(Default)]
struct Scanner {
    outline: Outline,
    expect: Expect,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The string is a key of the outermost object.
    in_key: bool,
    key: Vec<u8>,
    field: Option<Field>,
    /// The element that is being passed: its offset and its line.
    element: Option<(u64, u32)>,
    /// The offset behind the last byte that is no blank.
    end: u64,
    line: u32,
}

impl Scanner {
    fn take(&mut self, bytes: &[u8], offset: u64) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let place = offset + at as u64;
            if self.in_string {
                at += self.pass_string(bytes.get(at..).unwrap_or_default(), place);
                continue;
            }
            if byte == b'\n' {
                self.line = self.line.saturating_add(1);
            }
            if !byte.is_ascii_whitespace() && byte != 0 {
                self.outside(byte, place);
                if self.expect != Expect::Nothing {
                    self.end = place + 1;
                }
            }
            at += 1;
        }
    }

    /// Passes as much of a string as there is; the number of bytes passed.
    fn pass_string(&mut self, bytes: &[u8], place: u64) -> usize {
        if std::mem::take(&mut self.escaped) {
            self.keep(bytes.get(..1).unwrap_or_default());
            self.end = place + 1;
            return 1;
        }
        let hop = memchr::memchr2(b'"', b'\\', bytes);
        let text = bytes.get(..hop.unwrap_or(bytes.len())).unwrap_or_default();
        let breaks = memchr::memchr_iter(b'\n', text).count();
        self.line = self.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        self.keep(text);
        let passed = hop.map_or(bytes.len(), |hop| hop + 1);
        self.end = place + passed as u64;
        match hop.and_then(|hop| bytes.get(hop)) {
            Some(b'"') => {
                self.in_string = false;
                if std::mem::take(&mut self.in_key) {
                    self.expect = Expect::Colon;
                }
            }
            Some(_) => {
                self.escaped = true;
                self.keep(b"\\");
            }
            None => {}
        }
        passed
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.in_key {
            let room = MAX_KEY_BYTES.saturating_sub(self.key.len());
            self.key.extend(bytes.iter().take(room));
        }
    }

    fn outside(&mut self, byte: u8, place: u64) {
        match self.expect {
            Expect::Root if byte == b'{' => {
                self.outline.open = place;
                self.depth = 1;
                self.expect = Expect::Key;
            }
            Expect::Root | Expect::Colon if byte != b':' => {}
            Expect::Key => match byte {
                b'"' => {
                    self.in_string = true;
                    self.in_key = true;
                    self.key.clear();
                }
                b'}' => self.close(place),
                _ => {}
            },
            Expect::Colon => self.expect = Expect::Value,
            Expect::Value => self.start_value(byte, place),
            Expect::Rest => self.inside(byte, place),
            Expect::Nothing => {
                self.outline.after.get_or_insert(place);
            }
            Expect::Root => {}
        }
    }

    fn start_value(&mut self, byte: u8, place: u64) {
        let name = String::from_utf8_lossy(&self.key).into_owned();
        let list = (byte == b'[' && LISTED.contains(&name.as_str())).then(Elements::default);
        self.field = Some(Field { name, value: place..place, whole: false, list });
        self.expect = Expect::Rest;
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b',' | b'}' => self.inside(byte, place),
            _ => {}
        }
    }

    /// A byte of the value of a field.
    fn inside(&mut self, byte: u8, place: u64) {
        let listed = self.depth == 2 && self.field.as_ref().is_some_and(|field| field.list.is_some());
        if listed && matches!(byte, b',' | b']') {
            self.end_element(true);
        } else if listed && self.element.is_none() {
            self.element = Some((place, self.line));
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            // A stray brace between elements belongs to the damage, not to the document.
            b'}' if listed => {}
            b'}' if self.depth == 1 => {
                self.end_field(true);
                self.close(place);
            }
            b'}' | b']' if self.depth > 1 => {
                self.depth -= 1;
                if listed && let Some(list) = self.field.as_mut().and_then(|field| field.list.as_mut()) {
                    list.close = Some(place);
                }
            }
            b',' if self.depth == 1 => {
                self.end_field(true);
                self.expect = Expect::Key;
            }
            _ => {}
        }
    }

    fn end_element(&mut self, whole: bool) {
        let Some((offset, line)) = self.element.take() else { return };
        let Some(list) = self.field.as_mut().and_then(|field| field.list.as_mut()) else { return };
        list.torn = !whole;
        if list.spans.len() >= MAX_ELEMENTS {
            list.left_out += 1;
            return;
        }
        let len = u32::try_from(self.end.saturating_sub(offset)).unwrap_or(u32::MAX);
        list.spans.push(Span { offset, len, line });
    }

    fn end_field(&mut self, whole: bool) {
        if let Some(mut field) = self.field.take() {
            field.value.end = self.end.max(field.value.start);
            field.whole = whole;
            self.outline.fields.push(field);
        }
    }

    fn close(&mut self, place: u64) {
        self.outline.close = Some(place);
        self.expect = Expect::Nothing;
    }

    fn finish(mut self) -> Outline {
        if self.element.is_some() {
            self.end_element(false);
        }
        self.end_field(false);
        self.outline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Outline {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, text).unwrap();
        let file = SourceFile::open(&path).unwrap();
        outline(&file, 0..file.len(), 1, Watch::none()).unwrap()
    }

    fn elements<'a>(text: &'a str, outline: &Outline) -> Vec<(&'a str, u32)> {
        let spans = &outline.list("steps").unwrap().spans;
        let cut = |span: &Span| &text[span.offset as usize..span.offset as usize + span.len as usize];
        spans.iter().map(|span| (cut(span), span.line)).collect()
    }

    #[test]
    fn fields_and_elements_are_found_where_they_lie() {
        let text =
            "\n{ \"schema_version\" : \"ATIF-v1.7\", \"steps\":[\n {\"a\":\"],[\\\"\"} ,{\"b\":[{}]}\n], \"n\": -1 }\n";
        let found = of(text);
        assert_eq!(elements(text, &found), [("{\"a\":\"],[\\\"\"}", 3), ("{\"b\":[{}]}", 3)]);
        let value = |name: &str| {
            let range = found.field(name).unwrap().value.clone();
            &text[range.start as usize..range.end as usize]
        };
        assert_eq!((value("schema_version"), value("n")), ("\"ATIF-v1.7\"", "-1"));
        assert_eq!((found.open, found.close), (1, Some(text.len() as u64 - 2)));
        assert!(found.list("steps").unwrap().close.is_some());
    }

    #[test]
    fn a_cut_document_keeps_what_stood_before() {
        let text = "{\"steps\":[{\"a\":1},{\"b\":\"x";
        let found = of(text);
        assert_eq!(elements(text, &found), [("{\"a\":1}", 1), ("{\"b\":\"x", 1)]);
        assert!(found.list("steps").unwrap().torn);
        assert_eq!(found.close, None);
        for cut in 0..text.len() {
            of(&text[..cut]);
        }
    }

    #[test]
    fn other_arrays_and_empty_ones_have_no_elements() {
        assert!(of("{\"x\":[{},{}]}").list("x").is_none());
        assert_eq!(of("{\"steps\":[ ]}").list("steps").unwrap().spans, []);
        assert!(of("{\"steps\":7}").list("steps").is_none());
        assert!(of("{\"a\":1} x").after.is_some());
    }
}
