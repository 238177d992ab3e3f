//! JSON indented as it is written, in one pass over its text: a value made of it would take ten times its memory.

use serde::de::IgnoredAny;

/// Deeper JSON is not indented: each level would make every line in it longer.
const MAX_DEPTH: usize = 128;
/// A string of so many characters of Base64 and nothing else is an image or a file: nobody reads it.
const ENCODED_BYTES: usize = 16 * 1024;
/// Of such a string, so much is shown.
const ENCODED_SHOWN: usize = 64;

/// What becomes of a long string of Base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoded {
    Whole,
    /// Its start, and how long it is.
    Named,
}

/// The same JSON on several lines, its strings and numbers as they are written; `None` where it is no JSON, or too deep.
pub fn indent(json: &str, encoded: Encoded) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(json).ok()?;
    let bytes = json.as_bytes();
    // Much of a minified document is punctuation; growing from there costs less than reserving too much.
    let mut out = String::with_capacity(json.len() + json.len() / 8);
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'"' => {
                let end = string_end(bytes, at)?;
                string(&mut out, json.get(at..end)?, encoded);
                at = end;
                continue;
            }
            b'{' | b'[' => {
                out.push(char::from(byte));
                let next = at + 1 + blanks(bytes.get(at + 1..)?);
                if matches!(bytes.get(next), Some(b'}' | b']')) {
                    out.push(char::from(*bytes.get(next)?));
                    at = next + 1;
                    continue;
                }
                depth += 1;
                if depth > MAX_DEPTH {
                    return None;
                }
                line(&mut out, depth);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(char::from(byte));
            }
            b',' => {
                out.push(',');
                line(&mut out, depth);
            }
            b':' => out.push_str(": "),
            b' ' | b'\t' | b'\n' | b'\r' => {}
            // Numbers and words: what is valid JSON has only ASCII here.
            other => out.push(char::from(other)),
        }
        at += 1;
    }
    Some(out)
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    (0..depth).for_each(|_| out.push_str("  "));
}

fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// Where the string that begins at `at` ends, its quotes included.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut from = at + 1;
    loop {
        let found = from + memchr::memchr2(b'"', b'\\', bytes.get(from..)?)?;
        match bytes.get(found) {
            Some(b'"') => return Some(found + 1),
            _ => from = found + 2,
        }
    }
}

fn string(out: &mut String, quoted: &str, encoded: Encoded) {
    let is_encoded = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    let inner = quoted.as_bytes().get(1..quoted.len() - 1).unwrap_or_default();
    if encoded == Encoded::Whole || inner.len() < ENCODED_BYTES || !inner.iter().all(is_encoded) {
        out.push_str(quoted);
        return;
    }
    out.push_str(quoted.get(..ENCODED_SHOWN + 1).unwrap_or_default());
    out.push_str(&format!("… {} characters of Base64 are not shown\"", inner.len()));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn json_is_indented_as_serde_does_it_and_its_strings_stay_as_written() {
        let value = json!({"a": [1, -2.5e3, {}], "b": {"c": [], "d": "x,{[\":\\"}, "e": null});
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(indent(&value.to_string(), Encoded::Named).unwrap(), pretty);
        assert_eq!(indent(&pretty, Encoded::Named).unwrap(), pretty, "what is indented already stays");
        assert_eq!(indent(r#" {"a" : "\u00e9é"} "#, Encoded::Named).unwrap(), "{\n  \"a\": \"\\u00e9é\"\n}");
        assert_eq!(indent("[ ]", Encoded::Named).unwrap(), "[]");
    }

    #[test]
    fn what_is_no_json_or_too_deep_is_left_alone() {
        for text in ["", "{", "{\"a\": 1} {}", "[1,]", "\"open"] {
            assert_eq!(indent(text, Encoded::Named), None, "{text}");
        }
        assert_eq!(indent(&("[".repeat(200) + &"]".repeat(200)), Encoded::Named), None);
    }

    #[test]
    fn long_base64_is_named_and_not_shown() {
        let text = json!({"data": "QUJD".repeat(10_000), "text": "a b ".repeat(10_000)}).to_string();
        let shown = indent(&text, Encoded::Named).unwrap();
        assert!(shown.contains("… 40000 characters of Base64 are not shown\""), "{}", &shown[..200]);
        assert!(shown.len() < 41_000, "{}", shown.len());
        assert!(shown.contains(&"a b ".repeat(10_000)));
        let whole = indent(&text, Encoded::Whole).unwrap();
        assert!(whole.contains(&"QUJD".repeat(10_000)), "{}", whole.len());
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\{}\\[\\],: é\\n]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[a-z\"\\\\]{0,4}", inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_the_same_value_in_the_form_of_serde(value in values()) {
            prop_assert_eq!(indent(&value.to_string(), Encoded::Named).unwrap(), serde_json::to_string_pretty(&value).unwrap());
        }
    }
}
