//! JSON cut into its strings and what lies between them, as it comes by: one string in memory, whatever the file.
//!
//! The cutter is no parser: it goes on over anything. What is damaged comes out as strings and stretches between them all
//! the same, so that no byte goes past unseen.

use super::RedactError;
use super::escapes::View;

/// Longer strings are refused.
pub(super) const MAX_STRING_BYTES: usize = 512 * 1024 * 1024;

/// Stretches between strings are handed over in parts of about this length; in JSON they are a few bytes.
const MAX_BETWEEN_BYTES: usize = 256 * 1024;

/// A piece of JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// What stands between the quotes of a string, as written; `closed` is false where no quote ends it.
    String { content: &'a [u8], role: Role<'a>, closed: bool },
    /// Brackets, commas, numbers, blanks, or whatever else is no string.
    Between { bytes: &'a [u8], name: Option<&'a str> },
}

/// What a string is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role<'a> {
    /// The name of a value.
    Key,
    /// A value and the name it goes by; elements of an array go by the name of the array.
    Value(Option<&'a str>),
}

/// Where a token begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    /// From 1.
    pub line: u64,
    /// In bytes from the start.
    pub offset: u64,
}

pub(super) type Visit<'a> = dyn FnMut(At, Token<'_>) -> Result<(), RedactError> + 'a;

/// Cuts what it is fed.
pub(super) struct Cutter {
    state: State,
    between: Vec<u8>,
    string: Vec<u8>,
    name: Option<String>,
    /// The object that the name was in has ended, or another has begun.
    is_named_out: bool,
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Outside,
    Inside,
    /// A string has ended; whether it was a key shows with the next byte that is no blank.
    After,
}

impl Cutter {
    pub fn new() -> Self {
        let at = At { line: 1, offset: 0 };
        Self { state: State::Outside, between: Vec::new(), string: Vec::new(), name: None, is_named_out: false, at }
    }

    pub fn feed(&mut self, bytes: &[u8], visit: &mut Visit<'_>) -> Result<(), RedactError> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            rest = match self.state {
                State::Inside => self.inside(rest, visit)?,
                State::After => {
                    if !first.is_ascii_whitespace() {
                        self.end_string(*first == b':', true, visit)?;
                        self.state = State::Outside;
                        continue;
                    }
                    self.between.push(*first);
                    rest.get(1..).unwrap_or_default()
                }
                State::Outside => self.outside(rest, visit)?,
            };
        }
        Ok(())
    }

    /// Hands over what is left.
    pub fn finish(&mut self, visit: &mut Visit<'_>) -> Result<(), RedactError> {
        match std::mem::replace(&mut self.state, State::Outside) {
            State::Outside => {}
            State::After => self.end_string(false, true, visit)?,
            State::Inside => self.end_string(false, false, visit)?,
        }
        self.end_between(visit)
    }

    fn outside<'b>(&mut self, bytes: &'b [u8], visit: &mut Visit<'_>) -> Result<&'b [u8], RedactError> {
        let end = memchr::memchr(b'"', bytes).unwrap_or(bytes.len()).min(MAX_BETWEEN_BYTES);
        let (between, rest) = bytes.split_at(end);
        self.is_named_out |= between.iter().any(|byte| matches!(byte, b'{' | b'}'));
        self.between.extend_from_slice(between);
        if self.between.len() >= MAX_BETWEEN_BYTES {
            self.end_between(visit)?;
        }
        Ok(match rest.split_first() {
            Some((b'"', rest)) => {
                self.end_between(visit)?;
                self.state = State::Inside;
                rest
            }
            _ => rest,
        })
    }

    fn inside<'b>(&mut self, bytes: &'b [u8], visit: &mut Visit<'_>) -> Result<&'b [u8], RedactError> {
        // The byte before may have been the backslash of an escape.
        let open = self.string.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
        let mut at = usize::from(open);
        let end = loop {
            let Some(hop) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) else {
                break None;
            };
            at += hop;
            match bytes.get(at) {
                Some(b'"') => break Some(at),
                _ => at += 2,
            }
        };
        let content = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        if self.string.len() + content.len() > MAX_STRING_BYTES {
            return Err(RedactError::TooLong);
        }
        self.string.extend_from_slice(content);
        let Some(end) = end else { return Ok(&[]) };
        // A writer that died inside a string: the quote is the first of the record on the next line.
        if self.string.ends_with(b"\n{") {
            let torn = self.string.len() - 2;
            self.string.truncate(torn);
            self.end_string(false, false, visit)?;
            self.name = None;
            self.between.extend_from_slice(b"\n{");
            self.end_between(visit)?;
        } else {
            self.state = State::After;
        }
        Ok(bytes.get(end + 1..).unwrap_or_default())
    }

    /// Hands the string over that has ended, and forgets it.
    fn end_string(&mut self, is_key: bool, closed: bool, visit: &mut Visit<'_>) -> Result<(), RedactError> {
        let content = std::mem::take(&mut self.string);
        let role = if is_key { Role::Key } else { Role::Value(self.name.as_deref()) };
        let at = At { offset: self.at.offset + 1, ..self.at };
        visit(at, Token::String { content: &content, role, closed })?;
        if is_key {
            let written = String::from_utf8_lossy(&content);
            self.name = Some(View::of(&written).map_or_else(|| written.into_owned(), |view| view.text));
        }
        self.pass(&content);
        self.at.offset += 1 + u64::from(closed);
        // The buffer is used again.
        self.string = content;
        self.string.clear();
        Ok(())
    }

    fn end_between(&mut self, visit: &mut Visit<'_>) -> Result<(), RedactError> {
        if self.between.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.between);
        visit(self.at, Token::Between { bytes: &bytes, name: self.name.as_deref() })?;
        if std::mem::take(&mut self.is_named_out) {
            self.name = None;
        }
        self.pass(&bytes);
        self.between = bytes;
        self.between.clear();
        Ok(())
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.at.offset += bytes.len() as u64;
        self.at.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of a text that is fed `part` bytes at a time: strings with their names, and all bytes again.
    fn cut(text: &[u8], part: usize) -> (Vec<(String, String)>, Vec<u8>) {
        let mut strings = Vec::new();
        let mut whole = Vec::new();
        let mut visit = |at: At, token: Token<'_>| {
            match token {
                Token::String { content, role, closed } => {
                    assert_eq!(at.offset, whole.len() as u64 + 1);
                    let role = match role {
                        Role::Key => "(key)",
                        Role::Value(name) => name.unwrap_or("-"),
                    };
                    strings.push((role.to_owned(), String::from_utf8_lossy(content).into_owned()));
                    whole.push(b'"');
                    whole.extend_from_slice(content);
                    whole.extend(closed.then_some(b'"'));
                }
                Token::Between { bytes, .. } => {
                    assert_eq!(at.offset, whole.len() as u64);
                    whole.extend_from_slice(bytes);
                }
            }
            Ok(())
        };
        let mut cutter = Cutter::new();
        for part in text.chunks(part) {
            cutter.feed(part, &mut visit).unwrap();
        }
        cutter.finish(&mut visit).unwrap();
        (strings, whole)
    }

    #[test]
    fn strings_come_with_the_name_they_go_by() {
        let (strings, _) = cut(br#"{"a": "x\"y", "b\u0031" :["1","2"], "c":{"d":3}, "e":"z"} "alone""#, 4);
        let pairs: Vec<_> = strings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [
            ("(key)", "a"),
            ("a", "x\\\"y"),
            ("(key)", "b\\u0031"),
            ("b1", "1"),
            ("b1", "2"),
            ("(key)", "c"),
            ("(key)", "d"),
            ("(key)", "e"),
            ("e", "z"),
            ("-", "alone"),
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn a_torn_record_does_not_swallow_the_next() {
        let (strings, _) = cut(b"{\"a\":\"torn\n{\"b\":\"x\"}", 1000);
        assert_eq!(strings.last(), Some(&("b".to_owned(), "x".to_owned())));
    }

    proptest::proptest! {
        #[test]
        fn no_byte_is_lost_and_none_added(text in "(\"|\\\\|\\{|\\}|:|,|\n| |a|é){0,60}", part in 1_usize..9) {
            let (strings, whole) = cut(text.as_bytes(), part);
            proptest::prop_assert_eq!(&whole, text.as_bytes());
            proptest::prop_assert_eq!(strings, cut(text.as_bytes(), 1000).0);
        }
    }
}
