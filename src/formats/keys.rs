//! Editing a record without reading it as JSON: the spans of its top-level keys, and new bytes put in their places.
//!
//! What is not edited stays byte for byte: unknown fields, the order of keys, escapes, white space, bytes that are no UTF-8.

use std::borrow::Cow;
use std::ops::Range;

use crate::store::Rewrite;

/// A top-level key of an object and where its value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key<'a> {
    /// As written, without its quotes.
    pub name: &'a [u8],
    pub value: Range<usize>,
}

/// The keys of the object in `bytes`, and where its closing brace is; `None` when it is no whole object.
pub(super) fn top_level(bytes: &[u8]) -> Option<(Vec<Key<'_>>, usize)> {
    let mut keys = Vec::with_capacity(24);
    let mut at = skip_blank(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    at = skip_blank(bytes, at + 1);
    loop {
        match bytes.get(at)? {
            b'}' => return Some((keys, at)),
            b'"' => {}
            _ => return None,
        }
        let end = string_end(bytes, at)?;
        let name = bytes.get(at + 1..end - 1)?;
        at = skip_blank(bytes, end);
        if bytes.get(at) != Some(&b':') {
            return None;
        }
        let start = skip_blank(bytes, at + 1);
        let end = value_end(bytes, start)?;
        keys.push(Key { name, value: start..end });
        at = skip_blank(bytes, end);
        match bytes.get(at)? {
            b',' => at = skip_blank(bytes, at + 1),
            b'}' => {}
            _ => return None,
        }
    }
}

fn skip_blank(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// The offset behind the string whose opening quote is at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let start = at + 1;
    at = start;
    loop {
        // A text has many escapes and few of them are quotes: those alone are stopped at.
        at += memchr::memchr(b'"', bytes.get(at..)?)?;
        let before = bytes.get(start..at)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        at += 1;
        if before % 2 == 0 {
            return Some(at);
        }
    }
}

/// The offset behind the value at `at`.
fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_u32;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at)?;
                if depth == 0 {
                    return Some(at);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return Some(trim_end(bytes, at)),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b',' if depth == 0 => return Some(trim_end(bytes, at)),
            _ => {}
        }
        at += 1;
    }
}

fn trim_end(bytes: &[u8], mut end: usize) -> usize {
    while end > 0 && bytes.get(end - 1).is_some_and(u8::is_ascii_whitespace) {
        end -= 1;
    }
    end
}

/// Bytes to be put in the place of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit<'a> {
    pub range: Range<usize>,
    pub bytes: Cow<'a, [u8]>,
}

/// Sets top-level keys: their values are replaced wherever they stand, missing ones are added before the closing brace.
/// `must` says which of the missing ones to add. `None` when the bytes are no whole object.
pub(super) fn set<'v>(bytes: &[u8], values: &'v [(&str, impl AsRef<str>, Missing)]) -> Option<Vec<Edit<'v>>> {
    let (keys, end) = top_level(bytes)?;
    let mut edits = Vec::with_capacity(values.len() + 1);
    let mut added = String::new();
    for (name, value, missing) in values {
        let value = value.as_ref();
        let mut found = false;
        for key in keys.iter().filter(|key| key.name == name.as_bytes()) {
            found = true;
            edits.push(Edit { range: key.value.clone(), bytes: value.as_bytes().into() });
        }
        if !found && *missing == Missing::Add {
            if !keys.is_empty() || !added.is_empty() {
                added.push(',');
            }
            for part in ["\"", name, "\":", value] {
                added.push_str(part);
            }
        }
    }
    if !added.is_empty() {
        edits.push(Edit { range: end..end, bytes: added.into_bytes().into() });
    }
    edits.sort_by_key(|edit| edit.range.start);
    Some(edits)
}

/// Appends the record at `offset` of the source with some of its keys set.
pub(in crate::formats) fn splice(
    rewrite: &mut Rewrite,
    offset: u64,
    bytes: &[u8],
    values: &[(&str, impl AsRef<str>, Missing)],
) {
    let mut at = 0;
    // A record that was mended before it could be read may be no whole object; then it stays as it is.
    for edit in set(bytes, values).unwrap_or_default() {
        rewrite.copy(offset + at as u64, edit.range.start.saturating_sub(at) as u64);
        rewrite.push(&edit.bytes);
        at = edit.range.end;
    }
    rewrite.copy(offset + at as u64, bytes.len().saturating_sub(at) as u64);
}

/// Gives the record with some of its keys set to `put`, part by part.
pub(super) fn put<E>(
    bytes: &[u8],
    values: &[(&str, impl AsRef<str>, Missing)],
    mut put: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut at = 0;
    // As in `splice`: what is no whole object stays as it is.
    for edit in set(bytes, values).unwrap_or_default() {
        put(bytes.get(at..edit.range.start).unwrap_or_default())?;
        put(&edit.bytes)?;
        at = edit.range.end;
    }
    put(bytes.get(at..).unwrap_or_default())
}

/// The record with some of its keys set and its raw control characters as spaces, for a reader that takes none; `None`
/// where it holds none of them but white space between its parts.
pub(super) fn without_controls(bytes: &[u8], values: &[(&str, impl AsRef<str>, Missing)]) -> Option<Vec<u8>> {
    let is_control = |byte: &u8| *byte < b' ';
    // In pieces that are looked at whole: that is many bytes at a time.
    let has_control = |piece: &[u8]| piece.iter().fold(false, |found, byte| found | is_control(byte));
    if !bytes.chunks(256).any(has_control) || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() {
        return None;
    }
    let mut mended: Vec<u8> = bytes.iter().map(|byte| if is_control(byte) { b' ' } else { *byte }).collect();
    // From the end, so that ranges stay right.
    for edit in set(&mended, values)?.into_iter().rev() {
        mended.splice(edit.range, edit.bytes.iter().copied());
    }
    Some(mended)
}

/// What to do about a key that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) enum Missing {
    Add,
    Leave,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(text: &str, values: &[(&str, impl AsRef<str>, Missing)]) -> String {
        let mut out = Vec::new();
        let mut at = 0;
        for edit in set(text.as_bytes(), values).unwrap() {
            out.extend_from_slice(&text.as_bytes()[at..edit.range.start]);
            out.extend_from_slice(&edit.bytes);
            at = edit.range.end;
        }
        out.extend_from_slice(&text.as_bytes()[at..]);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_top_level_keys_are_found() {
        let text = br#" {"a" : 1 , "b":{"a":[2,"}"]},"c\"":"\\" ,"d":true} "#;
        let (keys, end) = top_level(text).unwrap();
        let found: Vec<_> = keys
            .iter()
            .map(|key| (std::str::from_utf8(key.name).unwrap(), std::str::from_utf8(&text[key.value.clone()]).unwrap()))
            .collect();
        assert_eq!(found, [("a", "1"), ("b", r#"{"a":[2,"}"]}"#), (r#"c\""#, r#""\\""#), ("d", "true")]);
        assert_eq!(text[end], b'}');
        assert_eq!(top_level(b"{}").unwrap(), (vec![], 1));
        for broken in ["", "[]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{a:1}", "{\"a\":\"x"] {
            assert_eq!(top_level(broken.as_bytes()), None, "{broken}");
        }
    }

    #[test]
    fn values_are_replaced_and_missing_keys_added() {
        let new = || "\"new\"".to_owned();
        let values =
            [("id", new(), Missing::Add), ("old_id", new(), Missing::Leave), ("from", "{}".into(), Missing::Add)];
        assert_eq!(apply(r#"{"id":"x","more": 1.50 }"#, &values), r#"{"id":"new","more": 1.50 ,"from":{}}"#);
        assert_eq!(
            apply(r#"{"old_id":"x","id":null,"id":1,"from":[]}"#, &values),
            r#"{"old_id":"new","id":"new","id":"new","from":{}}"#
        );
        assert_eq!(apply("{}", &values), r#"{"id":"new","from":{}}"#);
        assert_eq!(apply(r#"{"inner":{"id":1}}"#, &values), r#"{"inner":{"id":1},"id":"new","from":{}}"#);
    }

    fn made(bytes: &[u8], values: &[(&str, String, Missing)]) -> Vec<u8> {
        let mut made = Vec::new();
        let take = |part: &[u8]| -> Result<(), std::convert::Infallible> {
            made.extend_from_slice(part);
            Ok(())
        };
        put(bytes, values, take).unwrap();
        made
    }

    #[test]
    fn a_record_is_made_as_it_would_be_edited() {
        let values = [("id", "\"new\"".to_owned(), Missing::Add), ("from", "{}".to_owned(), Missing::Leave)];
        for text in [
            r#"{"id":"x","a":"quotes \" and \\ and \\\" end \\"}"#,
            r#"{"a":{"id":"\\\\"},"from":[1,"]"], "b" : "\"id\":1" }"#,
            "{}",
        ] {
            assert_eq!(String::from_utf8(made(text.as_bytes(), &values)).unwrap(), apply(text, &values));
        }
        assert_eq!(made(b"{\"id\":", &values), b"{\"id\":", "what is no whole object stays as it is");
    }
}
