//! JSON as session files really hold it: cut off, doubled, not quite UTF-8, with half a surrogate pair.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::skim::Raw;
use crate::store::Span;

/// A record's text made readable, and what had to be done for it.
pub struct Readable<'a> {
    pub text: Cow<'a, str>,
    /// For the reading report; `None` when the bytes were fine.
    pub repair: Option<&'static str>,
    /// How many bytes of the record lie before the text, and the bytes it was made of.
    lead: usize,
    inner: &'a [u8],
}

/// Makes UTF-8 of a record: NULs around it go, bytes that are no UTF-8 become U+FFFD.
pub fn readable(bytes: &[u8]) -> Readable<'_> {
    let range = inside_blanks(bytes);
    let lead = range.start;
    let inner = bytes.get(range).unwrap_or_default();
    let after = lead + inner.len();
    let padded = bytes.get(..lead).is_some_and(|lead| lead.contains(&0))
        || bytes.get(after..).is_some_and(|rest| rest.contains(&0));
    match simdutf8::basic::from_utf8(inner) {
        Ok(text) => Readable {
            text: Cow::Borrowed(text),
            repair: padded.then_some("NUL bytes beside the record were passed over"),
            lead,
            inner,
        },
        Err(_) => Readable {
            text: Cow::Owned(String::from_utf8_lossy(inner).into_owned()),
            repair: Some("bytes that are not UTF-8 were replaced"),
            lead,
            inner,
        },
    }
}

impl Readable<'_> {
    /// Where `len` bytes of the text from `at` lie in the file, for the record that lies at `span`.
    pub fn span(&self, span: Span, at: usize, len: usize) -> Span {
        let (start, end) = match self.text {
            Cow::Borrowed(_) => (at, at + len),
            Cow::Owned(_) => (raw_offset(self.inner, at), raw_offset(self.inner, at + len)),
        };
        Span {
            offset: span.offset.saturating_add((self.lead + start) as u64),
            len: u32::try_from(end.saturating_sub(start)).unwrap_or(u32::MAX),
            line: span.line,
        }
    }
}

/// Where `part` lies in `whole`, if it is a stretch of its very bytes.
pub fn offset_in(whole: &str, part: &str) -> Option<usize> {
    let at = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    (at + part.len() <= whole.len()).then_some(at)
}

/// NULs are blanks too: a machine that went down leaves whole blocks of them in a file.
fn inside_blanks(bytes: &[u8]) -> Range<usize> {
    let is_text = |byte: &u8| *byte != 0 && !byte.is_ascii_whitespace();
    let start = bytes.iter().position(is_text).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(is_text).map_or(start, |last| last + 1);
    start..end
}

/// The offset in `bytes` of the byte at `at` in their text, in which every invalid sequence became U+FFFD.
fn raw_offset(bytes: &[u8], at: usize) -> usize {
    let (mut raw, mut text) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if text + valid >= at {
            return raw + (at - text);
        }
        raw += valid + chunk.invalid().len();
        text += valid + if chunk.invalid().is_empty() { 0 } else { char::REPLACEMENT_CHARACTER.len_utf8() };
    }
    raw
}

/// The same text with every half of a surrogate pair (`\ud83d` without its other half) as `\ufffd`. Lengths and
/// therefore offsets stay as they are.
pub fn mend_surrogates(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut mended = bytes.to_vec();
    let unit = |at: usize| -> Option<u16> {
        let escape = bytes.get(at..at + 6)?;
        let hex = escape.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    };
    let mut at = 0;
    while let Some(hop) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
        at += hop;
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                if let Some(escape) = mended.get_mut(at..at + 6) {
                    escape.copy_from_slice(b"\\ufffd");
                }
                at += 6;
            }
            Some(_) => at += 6,
            // Another escape: pass the escaped byte too, it may be a backslash.
            None => at += 2,
        }
    }
    String::from_utf8(mended).unwrap_or_else(|_| text.to_owned())
}

/// The text of a raw JSON string, whatever it holds; `None` when the value is no string.
pub fn string<'a>(raw: impl Into<Raw<'a>>) -> Option<String> {
    let text = raw.into().get();
    if !text.starts_with('"') {
        return None;
    }
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&mend_surrogates(text))).ok()
}

/// The first `limit` UTF-16 units of a raw JSON string or a few more, without reading the rest of it.
pub fn string_start<'a>(raw: impl Into<Raw<'a>>, limit: usize) -> Option<String> {
    let raw = raw.into();
    let text = raw.get();
    // A byte stands for one unit at most: a short string has no more than are wanted.
    if text.len() <= limit + 2 {
        return string(raw);
    }
    let inner = text.strip_prefix('"')?;
    let (mut end, mut units) = (0, 0);
    while units < limit {
        let rest = inner.as_bytes().get(end..inner.len().min(end + limit - units)).unwrap_or_default();
        let hop = memchr::memchr2(b'\\', b'"', rest);
        let plain_end = inner.floor_char_boundary(end + hop.unwrap_or(rest.len()));
        let plain = inner.get(end..plain_end)?;
        units += if plain.is_ascii() { plain.len() } else { plain.encode_utf16().count() };
        end = plain_end;
        match (hop, inner.as_bytes().get(end)?) {
            (Some(_), b'\\') => {
                end += if inner.as_bytes().get(end + 1) == Some(&b'u') { 6 } else { 2 };
                units += 1;
            }
            (Some(_), _) => break,
            // The stretch ends inside a character.
            (None, _) if plain.is_empty() => {
                let character = inner.get(end..)?.chars().next()?;
                end += character.len_utf8();
                units += character.len_utf16();
            }
            (None, _) => {}
        }
    }
    let whole = format!("\"{}\"", inner.get(..end)?);
    let mut start: String =
        serde_json::from_str(&whole).or_else(|_| serde_json::from_str(&mend_surrogates(&whole))).ok()?;
    // The cut may have parted a surrogate pair.
    if start.ends_with('\u{fffd}') {
        start.pop();
    }
    Some(start)
}

/// Bytes of text that a raw JSON string holds, nearly: escapes count as written.
pub fn string_bytes<'a>(raw: impl Into<Raw<'a>>) -> u32 {
    u32::try_from(raw.into().get().len().saturating_sub(2)).unwrap_or(u32::MAX)
}

/// Reads a record as `T`: as it is; else with half surrogates mended and raw control characters as spaces, which keeps
/// all offsets; else, where keys are doubled, with the last of each.
pub fn record<'a, T: Deserialize<'a>>(text: &'a str, spare: &'a mut String) -> Result<T, serde_json::Error> {
    let first = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mended = mend_surrogates(text).replace(|c: char| c < ' ', " ");
    *spare = match serde_json::from_str::<serde_json::Value>(&mended) {
        Ok(value) => value.to_string(),
        Err(_) => mended,
    };
    serde_json::from_str(spare).map_err(|_| first)
}

/// Cuts the text of one line into the records on it: usually one; two where a writer died between a record and its line feed.
///
/// Each part comes with its offset in `text`. A part that is no JSON value is returned too, so that every byte belongs
/// to a part: what cannot be read reaches to the end of the line, or to the whole record that the line ends with.
pub fn split_line(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        at += inside_blanks(rest.as_bytes()).start;
        let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else { break };
        match value(rest) {
            Ok(value) if rest.starts_with(['{', '[']) => {
                parts.push((at, value.get()));
                at += value.get().len();
            }
            _ => {
                let whole = whole_object_at_end(rest).unwrap_or(rest.len());
                let (broken, kept) = rest.split_at(whole);
                parts.push((at, broken));
                if !kept.is_empty() {
                    parts.push((at + whole, kept));
                }
                break;
            }
        }
    }
    parts
}

/// The JSON value at the start of `text`, which may go on after it; a broken one is read no further than to the break.
pub fn value(text: &str) -> Result<&RawValue, serde_json::Error> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    stream.next().unwrap_or_else(|| serde_json::from_str(""))
}

/// Where, after the start, an object with keys begins that ends exactly where `text` ends.
///
/// There is one such place at most, and it is found from the end: read backwards from its last bracket, a whole object
/// has come to its start when all of its brackets are closed. What lies before it is not looked at, however much of it
/// could be the start of an object too; so a long broken line is read three times and not once for each `{` in it.
fn whole_object_at_end(text: &str) -> Option<usize> {
    let bytes = text.trim_ascii_end().as_bytes();
    let mut depth = 0_usize;
    let mut end = bytes.len();
    if bytes.last() != Some(&b'}') {
        return None;
    }
    while let Some(at) = end.checked_sub(1) {
        match bytes.get(at) {
            // Outside of strings a quote is the end of one.
            Some(b'"') => end = string_start_before(bytes, at)?,
            Some(b'}' | b']') => {
                depth += 1;
                end = at;
            }
            Some(b'{' | b'[') => {
                depth -= 1;
                end = at;
                if depth == 0 {
                    break;
                }
            }
            _ => end = at,
        }
    }
    let object = text.get(end..).filter(|object| end > 0 && object.starts_with("{\""))?;
    value(object).is_ok_and(|value| value.get().len() == bytes.len() - end).then_some(end)
}

/// Where the string begins whose closing quote is at `end`: at the quote before it that no backslash stands for.
fn string_start_before(bytes: &[u8], end: usize) -> Option<usize> {
    let mut end = end;
    loop {
        let before = bytes.get(..end)?;
        let quote = memchr::memrchr(b'"', before)?;
        let backslashes = before.get(..quote)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            return Some(quote);
        }
        end = quote;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn half_surrogates_are_replaced_whole_pairs_stay() {
        assert_eq!(mend_surrogates(r#""\ud83d\ude00 \ud83d x \\ud83d""#), r#""\ud83d\ude00 \ufffd x \\ud83d""#);
        assert_eq!(string(&*raw(r#""a\ud83d""#)).unwrap(), "a\u{fffd}");
        assert_eq!(string(&*raw(r#""\ud83d\ude00""#)).unwrap(), "😀");
        assert_eq!(string(&*raw("7")), None);
    }

    #[test]
    fn the_start_of_a_long_string_never_ends_in_half_an_escape() {
        for filler in ["x", "é", r"\n", r"\u00e9", r"\\", r"\ud83d\ude00"] {
            for shift in 0..14 {
                let text = format!("\"{}{}\"", "-".repeat(shift), filler.repeat(4000));
                let start = string_start(&*raw(&text), 40).unwrap();
                assert!(string(&*raw(&text)).unwrap().starts_with(&start), "{filler} {shift}");
                assert!(start.encode_utf16().count() >= 30, "{filler} {shift}: {start:?}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn the_start_of_a_string_is_its_start(text in "(a|é|😀|\n|\"|\\\\| ){0,80}", limit in 1_usize..60) {
            let quoted = serde_json::to_string(&text).unwrap();
            let start = string_start(&*raw(&quoted), limit).unwrap();
            proptest::prop_assert!(text.starts_with(&start));
            let (wanted, got) = (text.encode_utf16().count().min(limit), start.encode_utf16().count());
            proptest::prop_assert!(got >= wanted, "{got} of {wanted}");
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            let start = string_start(&*raw(&format!("\"{escaped}\"")), limit).unwrap();
            proptest::prop_assert!(text.starts_with(&start));
        }
    }

    #[test]
    fn a_line_may_hold_more_than_one_record() {
        assert_eq!(split_line(r#"{"a":1}"#), [(0, r#"{"a":1}"#)]);
        assert_eq!(split_line(r#"{"a":1}{"b":2}"#), [(0, r#"{"a":1}"#), (7, r#"{"b":2}"#)]);
        assert_eq!(split_line("\0\0{\"a\":1}"), [(2, "{\"a\":1}")]);
        let torn = r#"{"a":{"x":"y{"type":"b","c":{"d":1}}"#;
        assert_eq!(split_line(torn), [(0, r#"{"a":{"x":"y"#), (12, r#"{"type":"b","c":{"d":1}}"#)]);
        assert_eq!(split_line("rubbish"), [(0, "rubbish")]);
        assert_eq!(split_line(r#"{"a":1} rubbish"#), [(0, r#"{"a":1}"#), (8, "rubbish")]);
        let escaped = r#"{"a":"x{"k":"\"}{\\","l":["]",{}]} "#;
        assert_eq!(split_line(escaped)[1], (7, r#"{"k":"\"}{\\","l":["]",{}]} "#));
        for broken in [r#"{"a":{"b"}}"#, r#"{"a":[{}"#, r#"x}"#, r#"x"}"#, r#"x]}"#] {
            assert_eq!(split_line(broken), [(0, broken)]);
        }
    }

    #[test]
    fn a_long_broken_line_is_read_a_few_times_only() {
        let torn = r#"{"a":[{"b":1},"#.repeat(500_000);
        let record = r#"{"type":"b","c":{"d":1}}"#;
        let nested = r#"{"x":"#.repeat(500_000);
        let start = std::time::Instant::now();
        assert_eq!(split_line(&format!("{torn}x{record}")).last(), Some(&(torn.len() + 1, record)));
        assert_eq!(split_line(&format!("{nested}{record}")).last(), Some(&(nested.len(), record)));
        assert_eq!(split_line(&format!("{nested}1 1{}", "}".repeat(500_000))).len(), 1);
        assert!(start.elapsed().as_secs() < 20);
    }

    #[test]
    fn parts_of_a_mended_text_are_found_in_the_file() {
        let bytes = b"\0 {\"a\":\"\xFF\"}{\"b\":\"\xE2\x82\"}\0";
        let record = readable(bytes);
        let span = Span { offset: 100, len: u32::try_from(bytes.len()).unwrap(), line: 7 };
        let spans: Vec<_> = split_line(&record.text)
            .into_iter()
            .map(|(at, part)| record.span(span, at, part.len()))
            .map(|span| (span.offset, span.len, span.line))
            .collect();
        assert_eq!(spans, [(102, 9, 7), (111, 10, 7)]);
    }

    #[test]
    fn raw_control_characters_are_read_as_spaces() {
        let mut spare = String::new();
        let value: serde_json::Value = record("{\"a\":\"x\0\u{1}y\",\t\"b\":1}", &mut spare).unwrap();
        assert_eq!(value, serde_json::json!({"a": "x  y", "b": 1}));
    }

    #[test]
    fn doubled_keys_take_the_last_value() {
        #[derive(serde::Deserialize)]
        struct Record {
            a: u8,
        }
        let mut spare = String::new();
        assert_eq!(record::<Record>(r#"{"a":1,"a":2}"#, &mut spare).unwrap().a, 2);
    }
}
