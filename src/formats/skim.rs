//! Taking a JSON object apart without reading what is not wanted.
//!
//! A session's file is mostly long strings that no index needs. [`Skim`] hops over them, and accepts exactly those texts
//! that the strict parser accepts and that hold no control characters, raw or as line ends between values: one record of
//! a log is like that. What it is unsure about it gives up on (`None`), and the caller asks the strict parser.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::quotes::Quotes;

/// Containers inside more than so many others are left to the strict parser.
const MAX_DEPTH: u32 = 120;

/// The text of a JSON value, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    pub fn get(self) -> &'a str {
        self.0
    }
}

impl<'a> From<&'a RawValue> for Raw<'a> {
    fn from(value: &'a RawValue) -> Self {
        Self(value.get())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'de RawValue>::deserialize(deserializer).map(Self::from)
    }
}

/// A place in a text of JSON.
pub struct Skim<'a> {
    text: &'a str,
    at: usize,
    quotes: Quotes,
}

impl<'a> Skim<'a> {
    /// `None` for a text with control characters.
    pub fn new(text: &'a str) -> Option<Self> {
        Some(Self { text, at: 0, quotes: Quotes::of(text.as_bytes())? })
    }

    /// Whether nothing but blanks is left.
    pub fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    pub fn position(&self) -> usize {
        self.at
    }

    /// The text from an earlier position to this one.
    pub fn since(&self, start: usize) -> Option<&'a str> {
        self.text.get(start..self.at)
    }

    /// The same as the text of a value.
    pub fn raw_since(&self, start: usize) -> Option<Raw<'a>> {
        self.since(start).map(Raw)
    }

    /// The next byte that is no blank.
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    /// Hands each key of an object, without its quotes, to `each`, which must take the value. Keys with escapes are left to
    /// the strict parser.
    pub fn fields(&mut self, mut each: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            if self.peek()? != b'"' {
                return None;
            }
            let (key, has_escapes) = self.string()?;
            if has_escapes {
                return None;
            }
            self.take(b':')?;
            each(self, key)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Lets `each` take the items of an array.
    pub fn items(&mut self, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            each(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Takes a value of any kind.
    pub fn value(&mut self) -> Option<Raw<'a>> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => self.pass_string()?,
            b'{' | b'[' => self.container()?,
            _ => self.word()?,
        }
        self.text.get(start..self.at).map(Raw)
    }

    /// Takes a string: what is between its quotes, and whether that holds escapes.
    pub fn string(&mut self) -> Option<(&'a str, bool)> {
        let start = self.at + 1;
        let end = self.quotes.next(start)?;
        self.at = end + 1;
        Some((self.text.get(start..end)?, self.quotes.has_escapes(start, end)))
    }

    /// Moves past a string.
    fn pass_string(&mut self) -> Option<()> {
        self.at = self.quotes.next(self.at + 1)? + 1;
        Some(())
    }

    /// Moves past an object or an array, without recursion.
    fn container(&mut self) -> Option<()> {
        // One bit a container that is open: 1 for an object.
        let (mut open, mut depth) = (0_u128, 0_u32);
        loop {
            // A value is wanted.
            match self.peek()? {
                bracket @ (b'{' | b'[') => {
                    if depth >= MAX_DEPTH {
                        return None;
                    }
                    let is_object = bracket == b'{';
                    open = open << 1 | u128::from(is_object);
                    depth += 1;
                    self.at += 1;
                    let next = self.peek()?;
                    if next == if is_object { b'}' } else { b']' } {
                        self.at += 1;
                        open >>= 1;
                        depth -= 1;
                    } else {
                        if is_object {
                            self.key()?;
                        }
                        continue;
                    }
                }
                b'"' => self.pass_string()?,
                _ => self.word()?,
            }
            // The value is over: what it stands in goes on, or ends too.
            loop {
                if depth == 0 {
                    return Some(());
                }
                let is_object = open & 1 == 1;
                match self.peek()? {
                    b',' => {
                        self.at += 1;
                        if is_object {
                            self.key()?;
                        }
                        break;
                    }
                    b'}' if is_object => self.at += 1,
                    b']' if !is_object => self.at += 1,
                    _ => return None,
                }
                open >>= 1;
                depth -= 1;
            }
        }
    }

    fn key(&mut self) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        self.pass_string()?;
        self.take(b':')
    }

    /// Moves past a number, `true`, `false` or `null`.
    fn word(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let len = rest
            .iter()
            .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'))
            .unwrap_or(rest.len());
        let word = rest.get(..len)?;
        let is_value = matches!(word, b"true" | b"false" | b"null") || is_number(word);
        is_value.then(|| self.at += len)
    }
}

/// Whether these bytes are a whole number by JSON's grammar, and none that is too large for the strict parser.
fn is_number(word: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = word.strip_prefix(b"-").unwrap_or(word);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.first() == Some(&b'0')) {
        return false;
    }
    let mut rest = rest.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or_default();
    }
    // Exponents are rare, and may be too large: the strict parser knows.
    rest.is_empty() && whole <= 300
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    fn skims(text: &str) -> bool {
        let Some(mut skim) = Skim::new(text) else { return false };
        skim.value().is_some() && skim.is_at_end()
    }

    #[test]
    fn values_are_taken_as_they_stand() {
        for text in [
            "{}",
            "[]",
            r#"{"a":1,"b":[true,false,null,-2.5],"c":{"d":{}},"e":"x\"\\\u00e9y"}"#,
            "[ [ ] , { } , \"\" ]",
            "-0",
            "12.50",
            "\"a long string, longer than what is looked at byte by byte, with \\n an escape\"",
        ] {
            let mut skim = Skim::new(text).unwrap();
            assert_eq!(skim.value().map(Raw::get), Some(text));
            assert!(skim.is_at_end());
        }
    }

    #[test]
    fn what_is_no_json_is_given_up() {
        for text in [
            "",
            "{",
            "[1",
            "{\"a\"}",
            "{\"a\":}",
            "{,}",
            "[,]",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            "-",
            ".5",
            "tru",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"abc",
            "{a:1}",
            "[1 2]",
            "nul",
            "+1",
            "{\"a\":1 \"b\":2}",
            "[}",
            "{]",
            "1e5",
            "\u{1}",
        ] {
            assert!(!skims(text), "{text}");
        }
    }

    #[test]
    fn fields_and_items_are_handed_over() {
        let mut skim = Skim::new(r#" {"a":[1,"x"], "b":{"c":2}} "#).unwrap();
        let mut seen = Vec::new();
        skim.fields(|skim, key| {
            if key == "a" {
                return skim.items(|skim| {
                    seen.push(format!("item {}", skim.value()?.get()));
                    Some(())
                });
            }
            seen.push(format!("{key} {}", skim.value()?.get()));
            Some(())
        })
        .unwrap();
        assert!(skim.is_at_end());
        assert_eq!(seen, ["item 1", "item \"x\"", "b {\"c\":2}"]);
    }

    fn json_like() -> impl Strategy<Value = String> {
        let pieces = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\"a\"",
            "\"b\":",
            "1",
            "-",
            "0",
            ".5",
            "true",
            "null",
            "\\\"",
            "\\u00e9",
            "\\ud800",
            " ",
            "é",
            "x",
            "\"long enough to leave the first sixteen bytes\"",
            "1e9",
            "\\",
        ];
        proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..40).prop_map(|parts| parts.concat())
    }

    fn valid() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "[ -~é\\n\\t\"]{0,40}".prop_map(Into::into),
        ];
        leaf.prop_recursive(6, 64, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                proptest::collection::vec(("[a-z\"]{0,4}", inner), 0..6)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn nothing_is_taken_that_the_strict_parser_refuses(text in json_like()) {
            if skims(&text) {
                prop_assert!(serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{}", text);
            }
        }

        #[test]
        fn what_is_written_is_taken(value in valid()) {
            prop_assert!(skims(&value.to_string()), "{}", value);
        }
    }
}
