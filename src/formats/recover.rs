//! Finding the whole entries in an array element that is none: one damaged string lets the rest of an array look like
//! a single element.

use serde::Deserialize;

use crate::formats::json;
use crate::formats::lenient::Text;

/// How many times its own length may be read before the rest of an element is given up: objects nested in each other
/// would be read once for each of them.
const READS: usize = 16;

/// Cuts a damaged element into parts `(offset, text)`: whole entries, and what lies between them.
pub fn parts(text: &str) -> Vec<(usize, &str)> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Kinded<'a> {
        #[serde(borrow)]
        kind: Text<'a>,
    }
    parts_where(text, |value| serde_json::from_str::<Kinded>(value).is_ok_and(|entry| entry.kind.as_str().is_some()))
}

/// The same of an array of other records, which `is_record` knows among whole objects.
pub(in crate::formats) fn parts_where(text: &str, is_record: impl Fn(&str) -> bool) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut broken_from = 0;
    let mut at = 0;
    // A value may start right here: at the start, and after a whole entry.
    let mut may_start = true;
    let mut budget = text.len().saturating_mul(READS);
    while budget > 0 {
        let Some(start) = next_start(text, at, may_start) else { break };
        let (end, read) = entry_end(text.get(start..).unwrap_or_default(), &is_record);
        budget = budget.saturating_sub(read);
        match end.map(|end| start + end) {
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

/// Length of the entry at the start of `text`, when there is one, and how many bytes were read to find out.
fn entry_end(text: &str, is_record: impl Fn(&str) -> bool) -> (Option<usize>, usize) {
    let value = match json::value(text) {
        Ok(value) => value.get(),
        Err(error) => return (None, position(text, &error)),
    };
    (is_record(value).then_some(value.len()), 2 * value.len())
}

/// The byte offset of an error, nearly.
fn position(text: &str, error: &serde_json::Error) -> usize {
    let line = match error.line() {
        0 | 1 => 0,
        line => memchr::memchr_iter(b'\n', text.as_bytes()).nth(line - 2).unwrap_or(0),
    };
    line + error.column() + 1
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
    fn objects_in_objects_are_given_up_in_time() {
        let nested = r#"{"x":[1,"#.repeat(20_000);
        assert_eq!(parts(&nested).len(), 1);
        let closed = format!("rubbish,{}1{}", nested, "]}".repeat(20_000));
        assert_eq!(parts(&closed).len(), 1);
    }

    #[test]
    fn two_entries_without_a_comma_are_two() {
        assert_eq!(parts(r#"{"kind":"a"} {"kind":"b"}"#), [(0, r#"{"kind":"a"}"#), (13, r#"{"kind":"b"}"#)]);
        assert_eq!(parts("rubbish"), [(0, "rubbish")]);
        assert_eq!(parts(r#"{"kind":"a","#), [(0, r#"{"kind":"a""#)]);
    }
}
