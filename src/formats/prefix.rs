//! Reading the first JSON value of bytes that may end anywhere.
//!
//! What a strict parser refuses is taken as session files hold it: a value that the end of the bytes cuts off keeps the
//! keys seen so far, `NaN` and `Infinity` are null, half surrogates and bytes that are no UTF-8 become U+FFFD. What is read
//! to tell formats apart is small: long strings are cut and deep containers are empty.

use serde_json::{Map, Number, Value};

use crate::formats::json::mend_surrogates;

/// How much of a value is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Containers inside more than so many others are passed over and read as null.
    pub depth: u32,
    /// Longer strings are cut.
    pub string_bytes: usize,
    /// Whether the start of a string is kept that the end of the bytes cuts off.
    pub keeps_cut_strings: bool,
}

/// What tells formats apart.
pub(super) const GLANCE: Limits = Limits { depth: 64, string_bytes: 1024, keeps_cut_strings: false };

/// The key under which the web export of an agent wraps its records in one document.
const WRAPPING_KEY: &str = "loglines";

/// How reading a value ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Where the value ends.
    Whole,
    /// Where the bytes end, inside the value.
    Cut,
    /// Where the bytes stop being JSON.
    Broken,
}

/// The first value of some bytes.
#[derive(Debug)]
pub(super) struct First {
    /// What could be read; `None` when that was nothing.
    pub value: Option<Value>,
    pub end: End,
    /// Where reading stopped.
    pub at: usize,
    /// Where the `[` of an array of records is that the outermost object wraps.
    pub wrapped: Option<usize>,
}

/// Glances at the value at the start of `bytes`.
pub(super) fn first_value(bytes: &[u8]) -> First {
    first_value_within(bytes, GLANCE)
}

/// Reads the value at the start of `bytes`.
pub(super) fn first_value_within(bytes: &[u8], limits: Limits) -> First {
    let mut reader = Reader { bytes, at: 0, wrapped: None, limits };
    let (value, end) = reader.value(0);
    First { value, end, at: reader.at, wrapped: reader.wrapped }
}

/// Whether the byte may stand between values: JSON's blanks, and the NULs that crashes leave.
pub(super) fn is_blank(byte: u8) -> bool {
    byte == 0 || byte.is_ascii_whitespace()
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    wrapped: Option<usize>,
    limits: Limits,
}

impl Reader<'_> {
    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !is_blank(byte) {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    fn value(&mut self, depth: u32) -> (Option<Value>, End) {
        match self.peek() {
            None => (None, End::Cut),
            Some(b'{' | b'[') if depth >= self.limits.depth => (Some(Value::Null), self.skip_container()),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let (text, end) = self.string();
                (text.map(Value::String), end)
            }
            Some(_) => self.word(),
        }
    }

    fn object(&mut self, depth: u32) -> (Option<Value>, End) {
        let mut fields = Map::new();
        self.at += 1;
        let end = loop {
            match self.peek() {
                None => break End::Cut,
                Some(b'}') => {
                    self.at += 1;
                    break End::Whole;
                }
                Some(b',') => self.at += 1,
                Some(b'"') => match self.field(depth, &mut fields) {
                    End::Whole => {}
                    end => break end,
                },
                Some(_) => break End::Broken,
            }
        };
        (Some(Value::Object(fields)), end)
    }

    /// One key and its value. A key whose value the end of the bytes leaves nothing of is absent.
    fn field(&mut self, depth: u32, fields: &mut Map<String, Value>) -> End {
        let key = match self.string() {
            (Some(key), End::Whole) => key,
            (_, End::Whole) => return End::Broken,
            (_, end) => return end,
        };
        match self.peek() {
            None => return End::Cut,
            Some(b':') => self.at += 1,
            Some(_) => return End::Broken,
        }
        if depth == 0 && key == WRAPPING_KEY && self.peek() == Some(b'[') {
            self.wrapped = Some(self.at);
        }
        let (value, end) = self.value(depth + 1);
        if let Some(value) = value {
            fields.insert(key, value);
        }
        end
    }

    fn array(&mut self, depth: u32) -> (Option<Value>, End) {
        let mut items = Vec::new();
        self.at += 1;
        let end = loop {
            match self.peek() {
                None => break End::Cut,
                Some(b']') => {
                    self.at += 1;
                    break End::Whole;
                }
                Some(b',') => self.at += 1,
                Some(_) => {
                    let (item, end) = self.value(depth + 1);
                    items.extend(item);
                    if end != End::Whole {
                        break end;
                    }
                }
            }
        };
        (Some(Value::Array(items)), end)
    }

    /// A string. One that the end of the bytes cuts off is `None`, unless it would have been cut anyway or is kept so.
    fn string(&mut self) -> (Option<String>, End) {
        let start = self.at + 1;
        let end = self.pass_string();
        let text = match end {
            End::Whole => Some(self.text(start, self.at - 1)),
            End::Cut if self.keeps_cut(start) => Some(self.text(start, self.at)),
            End::Cut | End::Broken => None,
        };
        (text, end)
    }

    fn keeps_cut(&self, start: usize) -> bool {
        self.limits.keeps_cut_strings || self.at.saturating_sub(start) > self.limits.string_bytes
    }

    /// Moves from the opening quote of a string past the closing one. A raw line feed is no part of a string.
    fn pass_string(&mut self) -> End {
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(hop) = memchr::memchr3(b'"', b'\\', b'\n', rest) else { break };
            match rest.get(hop) {
                Some(b'"') => {
                    self.at += hop + 1;
                    return End::Whole;
                }
                Some(b'\\') => self.at += hop + 2,
                _ => return End::Broken,
            }
        }
        self.at = self.bytes.len();
        End::Cut
    }

    /// The start of the string between two offsets, its escapes resolved if they can be.
    fn text(&self, start: usize, end: usize) -> String {
        let raw = self.bytes.get(start..end.min(start.saturating_add(self.limits.string_bytes))).unwrap_or_default();
        let text = String::from_utf8_lossy(raw);
        if !text.contains('\\') {
            return text.into_owned();
        }
        let quoted = format!("\"{}\"", mend_surrogates(&text));
        serde_json::from_str(&quoted).unwrap_or_else(|_| text.into_owned())
    }

    /// `true`, `false`, `null`, a number, and the numbers that JSON does not have. One at the end of the bytes may go on
    /// there, so it is `None`.
    fn word(&mut self) -> (Option<Value>, End) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let len = rest.iter().position(|byte| !part(byte)).unwrap_or(rest.len());
        let word = std::str::from_utf8(rest.get(..len).unwrap_or_default()).unwrap_or_default();
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" | "NaN" | "Infinity" | "-Infinity" => Value::Null,
            _ if word.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
                word.parse::<Number>().map_or(Value::Null, Value::Number)
            }
            _ => return (None, if len == rest.len() { End::Cut } else { End::Broken }),
        };
        self.at += len;
        if len == rest.len() { (None, End::Cut) } else { (Some(value), End::Whole) }
    }

    /// Moves past a container by its brackets and strings alone, without recursion.
    fn skip_container(&mut self) -> End {
        let mut depth = 0_u32;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => match self.pass_string() {
                    End::Whole => continue,
                    end => return end,
                },
                b'{' | b'[' => depth = depth.saturating_add(1),
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return End::Whole;
            }
        }
        End::Cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> (Option<Value>, End) {
        let first = first_value(text.as_bytes());
        (first.value, first.end)
    }

    #[test]
    fn whole_values_read_as_a_strict_parser_reads_them() {
        for text in [
            r#"{"a":1,"b":[true,false,null,-2.5e3,"x\u00e9\ud83d\ude00\n"],"c":{"d":{}}}"#,
            "[ ]",
            " \n {\"a\" : \"\" }",
            r#"["\\","\"",18446744073709551615]"#,
        ] {
            let strict: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read(text), (Some(strict), End::Whole), "{text}");
        }
    }

    #[test]
    fn a_value_cut_off_keeps_the_keys_seen_so_far() {
        assert_eq!(read(r#"{"a":1,"b":{"c":2,"d":"x"#), (Some(json!({"a": 1, "b": {"c": 2}})), End::Cut));
        assert_eq!(read(r#"{"a":12"#), (Some(json!({})), End::Cut), "the number may go on");
        assert_eq!(read(r#"{"a":tru"#), (Some(json!({})), End::Cut));
        assert_eq!(read(r#"{"a":1,"b"#), (Some(json!({"a": 1})), End::Cut));
        assert_eq!(read(r#"{"a":1,"b":"#), (Some(json!({"a": 1})), End::Cut));
        assert_eq!(read(r#"[{"a":1},{"#), (Some(json!([{"a": 1}, {}])), End::Cut));
        assert_eq!(read(r#"{"a":"\"#), (Some(json!({})), End::Cut));
    }

    #[test]
    fn what_agents_write_and_json_forbids_is_accepted() {
        assert_eq!(
            read(r#"{"a":NaN,"b":-Infinity,"c":"\ud83d lone","d":1e999}"#),
            (Some(json!({"a": null, "b": null, "c": "\u{fffd} lone", "d": null})), End::Whole)
        );
        let first = first_value(b"{\"a\":\"\xff\xfe\"}");
        assert_eq!((first.value, first.end), (Some(json!({"a": "\u{fffd}\u{fffd}"})), End::Whole));
        assert_eq!(read("{\"a\":\"tab\tinside\"}").0, Some(json!({"a": "tab\tinside"})));
        assert_eq!(read("{\"a\":\0 1}"), (Some(json!({"a": 1})), End::Whole));
    }

    #[test]
    fn what_is_no_json_ends_where_it_stops() {
        assert_eq!(read("[INFO] started"), (Some(json!([])), End::Broken));
        assert_eq!(read("{\"a\":1,\"b\":\"line\nfeed\"}"), (Some(json!({"a": 1})), End::Broken));
        assert_eq!(read("{a:1}").1, End::Broken);
        assert_eq!(read(""), (None, End::Cut));
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let deep = "[".repeat(100_000);
        assert_eq!(first_value(deep.as_bytes()).end, End::Cut);
        let closed = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(first_value(closed.as_bytes()).at, 200);
        let objects = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
        assert_eq!(first_value(objects.as_bytes()).end, End::Whole);

        let long = format!(r#"{{"a":"{}","b":2}}"#, "é".repeat(5000));
        let (Some(value), End::Whole) = read(&long) else { panic!() };
        assert!(value["a"].as_str().unwrap().len() <= GLANCE.string_bytes + 3);
        assert_eq!(value["b"], 2);
        let cut = format!(r#"{{"a":"{}"#, "x".repeat(5000));
        assert!(read(&cut).0.unwrap().get("a").is_some(), "a long string that the end cuts off is still there");
    }

    #[test]
    fn the_wrapped_array_is_found_in_the_outermost_object_only() {
        let text = r#"{"a":{"loglines":[]}, "loglines" : [{"b":1}]}"#;
        assert_eq!(first_value(text.as_bytes()).wrapped, text.rfind('['));
        assert_eq!(first_value(br#"{"loglines":"x"}"#).wrapped, None);
    }
}
