//! Finding the whole entries in an array element that is none: one damaged string lets the rest of an array look like
//! a single element.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::lenient::Text;

/// Starts of objects that are tried before the rest is given up.
const TRIES: usize = 100_000;

/// Cuts a damaged element into parts `(offset, text)`: whole entries, and what lies between them.
pub fn parts(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut broken_from = 0;
    let mut at = 0;
    // A value may start right here: at the start, and after a whole entry.
    let mut may_start = true;
    let mut tries = 0;
    while tries < TRIES {
        let Some(start) = next_start(text, at, may_start) else { break };
        tries += 1;
        match entry_end(text, start) {
            Some(end) => {
                push_broken(&mut parts, text, broken_from, start);
                parts.push((start, text.get(start..end).unwrap_or_default()));
                at = end;
                broken_from = end;
                may_start = true;
            }
            None => {
                at = start + 1;
                may_start = false;
            }
        }
    }
    push_broken(&mut parts, text, broken_from, text.len());
    parts
}

/// The next place where an entry may start: an object after a comma, or after blanks only.
fn next_start(text: &str, from: usize, may_start: bool) -> Option<usize> {
    let rest = text.get(from..)?;
    if may_start {
        let start = from + rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',').len();
        if text.get(start..)?.starts_with('{') {
            return Some(start);
        }
    }
    memchr::memchr_iter(b'{', rest.as_bytes())
        .map(|hop| from + hop)
        .find(|start| text.get(..*start).is_some_and(|before| before.trim_ascii_end().ends_with(',')))
}

/// Where the entry that starts at `start` ends; `None` when there is none.
fn entry_end(text: &str, start: usize) -> Option<usize> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Kinded<'a> {
        #[serde(borrow)]
        kind: Text<'a>,
    }
    let rest = text.get(start..)?;
    let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
    let value = stream.next()?.ok()?;
    serde_json::from_str::<Kinded>(value.get()).ok()?.kind.as_str()?;
    Some(start + stream.byte_offset())
}

/// Keeps what lies between entries, unless it is only punctuation of the array.
fn push_broken<'a>(parts: &mut Vec<(usize, &'a str)>, text: &'a str, from: usize, to: usize) {
    let punctuation = |c: char| c.is_ascii_whitespace() || c == ',' || c == ']';
    let Some(between) = text.get(from..to) else { return };
    let start = from + between.len() - between.trim_start_matches(punctuation).len();
    let between = between.trim_matches(punctuation);
    if !between.is_empty() {
        parts.push((start, between));
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn entries_after_a_damaged_string_are_found() {
        let text = r#"{"kind":"text","text":"abc},{"kind":"tool","input":{"a":[1,{"b":2}]}}, {"kind":"x"}]"#;
        assert_eq!(
            parts(text),
            [
                (0, r#"{"kind":"text","text":"abc}"#),
                (28, r#"{"kind":"tool","input":{"a":[1,{"b":2}]}}"#),
                (71, r#"{"kind":"x"}"#)
            ]
        );
    }

    #[test]
    fn two_entries_without_a_comma_are_two() {
        assert_eq!(parts(r#"{"kind":"a"} {"kind":"b"}"#), [(0, r#"{"kind":"a"}"#), (13, r#"{"kind":"b"}"#)]);
        assert_eq!(parts("rubbish"), [(0, "rubbish")]);
        assert_eq!(parts(r#"{"kind":"a","#), [(0, r#"{"kind":"a""#)]);
    }
}
