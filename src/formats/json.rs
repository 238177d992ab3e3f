//! JSON as session files really hold it: cut off, doubled, not quite UTF-8, with half a surrogate pair.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A record's text made readable, and what had to be done for it.
pub struct Readable<'a> {
    pub text: Cow<'a, str>,
    /// For the reading report; `None` when the bytes were fine.
    pub repair: Option<&'static str>,
}

/// Makes UTF-8 of a record: NULs around it go, bytes that are no UTF-8 become U+FFFD.
pub fn readable(bytes: &[u8]) -> Readable<'_> {
    let inner = strip_nuls(bytes);
    let padded = inner.len() < bytes.len();
    match std::str::from_utf8(inner) {
        Ok(text) => Readable {
            text: Cow::Borrowed(text),
            repair: padded.then_some("NUL bytes beside the record were passed over"),
        },
        Err(_) => Readable {
            text: Cow::Owned(String::from_utf8_lossy(inner).into_owned()),
            repair: Some("bytes that are not UTF-8 were replaced"),
        },
    }
}

fn strip_nuls(bytes: &[u8]) -> &[u8] {
    let blank = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let start = bytes.iter().position(|byte| !blank(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    bytes.get(start..end).unwrap_or_default()
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
pub fn string(raw: &RawValue) -> Option<String> {
    let text = raw.get();
    if !text.starts_with('"') {
        return None;
    }
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&mend_surrogates(text))).ok()
}

/// The first `limit` UTF-16 units or more of a raw JSON string, without reading the rest of it.
pub fn string_start(raw: &RawValue, limit: usize) -> Option<String> {
    let text = raw.get();
    // Six bytes at most stand for one character of the basic plane.
    if text.len() <= limit * 6 + 2 {
        return string(raw);
    }
    let bytes = text.as_bytes();
    let mut end = 1;
    while end < limit * 6 {
        end += match (bytes.get(end), bytes.get(end + 1)) {
            (Some(b'\\'), Some(b'u')) => 6,
            (Some(b'\\'), _) => 2,
            _ => 1,
        };
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let whole = format!("{}\"", text.get(..end)?);
    let mut start: String =
        serde_json::from_str(&whole).or_else(|_| serde_json::from_str(&mend_surrogates(&whole))).ok()?;
    // The cut may have parted a surrogate pair.
    if start.ends_with('\u{fffd}') {
        start.pop();
    }
    Some(start)
}

/// Bytes of text that a raw JSON string holds, nearly: escapes count as written.
pub fn string_bytes(raw: &RawValue) -> u32 {
    u32::try_from(raw.get().len().saturating_sub(2)).unwrap_or(u32::MAX)
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

/// Cuts the bytes of one line into the records on it: usually one; two where a writer died between a record and its line feed.
///
/// Each part comes with its offset in `text`. A part that is no JSON value is returned too, so that every byte belongs
/// to a part: a torn record before a whole one is found by looking for the last start of an object whose value reaches
/// the end of the line.
pub fn split_line(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let blank = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\0').len();
        at += blank;
        let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else { break };
        match value_end(rest) {
            Some(end) if rest.starts_with(['{', '[']) => {
                parts.push((at, rest.get(..end).unwrap_or(rest)));
                at += end;
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

/// Length of the JSON value at the start of `text`.
fn value_end(text: &str) -> Option<usize> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    stream.next()?.ok()?;
    Some(stream.byte_offset())
}

/// Where, after the start, an object begins that ends exactly where `text` ends.
fn whole_object_at_end(text: &str) -> Option<usize> {
    /// A torn line of megabytes has as many `{"` as it likes; a whole record after it is among the first to fit.
    const TRIES: usize = 256;
    memchr::memmem::find_iter(text.as_bytes(), b"{\"")
        .filter(|start| *start > 0)
        .take(TRIES)
        .find(|start| text.get(*start..).is_some_and(|rest| value_end(rest) == Some(rest.trim_end().len())))
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
        assert_eq!(string(&raw(r#""a\ud83d""#)).unwrap(), "a\u{fffd}");
        assert_eq!(string(&raw(r#""\ud83d\ude00""#)).unwrap(), "😀");
        assert_eq!(string(&raw("7")), None);
    }

    #[test]
    fn the_start_of_a_long_string_never_ends_in_half_an_escape() {
        for filler in ["x", "é", r"\n", r"\u00e9", r"\\", r"\ud83d\ude00"] {
            for shift in 0..14 {
                let text = format!("\"{}{}\"", "-".repeat(shift), filler.repeat(4000));
                let start = string_start(&raw(&text), 40).unwrap();
                assert!(string(&raw(&text)).unwrap().starts_with(&start), "{filler} {shift}");
                assert!(start.encode_utf16().count() >= 30, "{filler} {shift}: {start:?}");
            }
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
