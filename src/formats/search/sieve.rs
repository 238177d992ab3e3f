//! Telling by its bytes that a JSON record cannot hold a match, without taking it apart. Never the other way round: a
//! record that passes may hold none.
//!
//! Of everything that a match must hold, the longest stretch is looked for that stands in JSON as it is read: no quotes
//! and backslashes, nothing at which texts are joined or JSON is laid out anew. JSON can write any character as an
//! escape, so a record with an escape of one of the stretch's characters passes too.

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, Hir, HirKind, literal::Extractor};

/// Characters of a stretch; more of it tell no more.
const MOST_CHARS: usize = 64;
/// Bytes that lie in two neighbouring pieces of a record that is too large to be looked at as a whole: more than any
/// stretch or escape takes.
pub const OVERLAP_BYTES: usize = 1_024;

/// What the bytes of a record must hold.
#[derive(Clone, Debug, Default)]
pub struct Sieve {
    /// `None`: every record passes.
    literals: Option<Regex>,
    /// UTF-16 units of the characters in the literals, sorted.
    units: Vec<u16>,
    /// Numbers that JSON can write in several ways; only where a literal can be a part of one.
    numbers: Option<Regex>,
}

impl Sieve {
    /// For plain words.
    pub(super) fn of_words(text: &str, match_case: bool) -> Self {
        Self::new(&[stretch(text)], match_case)
    }

    /// For an expression: for the literals of which every match holds one.
    pub(super) fn of_regex(parsed: &Hir) -> Self {
        let mut best: Vec<String> = Vec::new();
        required(parsed, &mut |literals| {
            let shortest = |literals: &[String]| literals.iter().map(String::len).min().unwrap_or(0);
            if shortest(&literals) > shortest(&best) {
                best = literals;
            }
        });
        let stretches: Vec<&str> = best.iter().map(String::as_str).collect();
        // The parser has put in the other cases of letters.
        Self::new(&stretches, true)
    }

    fn new(stretches: &[&str], match_case: bool) -> Self {
        if stretches.is_empty() || stretches.iter().any(|stretch| stretch.is_empty()) {
            return Self::default();
        }
        let source: Vec<String> = stretches.iter().map(|stretch| regex_syntax::escape(stretch)).collect();
        let literals = RegexBuilder::new(&source.join("|")).case_insensitive(!match_case).build();
        let mut units = Vec::new();
        for character in stretches.iter().flat_map(|stretch| stretch.chars()) {
            for character in if match_case { vec![character] } else { cases(character) } {
                units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
            }
        }
        units.sort_unstable();
        units.dedup();
        let is_numeric = |stretch: &&str| stretch.bytes().all(|byte| b"0123456789.eE+-".contains(&byte));
        let numbers = stretches.iter().any(is_numeric).then(|| Regex::new(NUMBERS).ok());
        match (literals, numbers) {
            (Ok(literals), None) => Self { literals: Some(literals), units, numbers: None },
            (Ok(literals), Some(Some(numbers))) => Self { literals: Some(literals), units, numbers: Some(numbers) },
            _ => Self::default(),
        }
    }

    /// Whether it tells nothing: every record passes.
    pub fn is_open(&self) -> bool {
        self.literals.is_none()
    }

    /// Calls `pass` with the places in `bytes` that make their records pass, in passes over all of them of which each is
    /// in order; `pass` says from where on the next one is of use, such as the end of the record.
    pub fn sift(&self, bytes: &[u8], pass: &mut dyn FnMut(usize) -> usize) {
        let mut from = 0;
        let Some(literals) = &self.literals else {
            while from < bytes.len() {
                from = pass(from).max(from + 1);
            }
            return;
        };
        for regex in [Some(literals), self.numbers.as_ref()].into_iter().flatten() {
            from = 0;
            while let Some(found) = (from <= bytes.len()).then(|| regex.find_at(bytes, from)).flatten() {
                from = pass(found.start()).max(found.start() + 1);
            }
        }
        let finder = memchr::memmem::Finder::new(b"\\u");
        from = 0;
        while let Some(hop) = bytes.get(from..).and_then(|rest| finder.find(rest)) {
            let at = from + hop;
            from = if self.may_hide(bytes.get(at + 2..at + 6)) { pass(at).max(at + 2) } else { at + 2 };
        }
    }

    /// Whether the four digits of an escape stand for a character of a literal, or for one that is written another way
    /// when JSON is laid out anew.
    fn may_hide(&self, digits: Option<&[u8]>) -> bool {
        let Some(digits) = digits else { return true };
        let unit = std::str::from_utf8(digits).ok().and_then(|digits| u16::from_str_radix(digits, 16).ok());
        match unit {
            // It is no escape; what holds it is no JSON and is shown as it stands.
            None => false,
            Some(unit @ 0..0x20) => {
                matches!(unit, 0x08 | 0x09 | 0x0a | 0x0c | 0x0d) || digits.iter().any(u8::is_ascii_uppercase)
            }
            Some(unit) => self.units.binary_search(&unit).is_ok(),
        }
    }
}

/// Numbers that other digits can stand for, where a value can stand: with a power, tiny, with more digits than are kept,
/// less than nothing.
const NUMBERS: &str = r"(?-u)[:,\[\s](?:-?(?:[0-9.]+[eE]|0\.0000|[0-9.]{16})|-0)";

/// The longest part of a text that stands in JSON as it is, wherever it comes from: without its ends' blanks, which may
/// be the layout's.
fn stretch(text: &str) -> &str {
    let breaks =
        |c: char| c.is_control() || matches!(c, '"' | '\\' | '/' | ':' | ',' | '{' | '}' | '[' | ']' | '\u{fffd}');
    let parts = text.split(breaks).map(|part| part.trim_matches(' '));
    let longest = parts.max_by_key(|part| part.len()).unwrap_or_default();
    longest.char_indices().nth(MOST_CHARS).map_or(longest, |(end, _)| longest.get(..end).unwrap_or_default())
}

/// Hands over sets of stretches, of each of which every match holds one.
fn required(hir: &Hir, each: &mut dyn FnMut(Vec<String>)) {
    let literals = Extractor::new().extract(hir);
    let whole = |bytes: &[u8]| {
        let end = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        stretch(std::str::from_utf8(bytes.get(..end).unwrap_or_default()).unwrap_or_default()).to_owned()
    };
    if let Some(literals) = literals.literals().filter(|literals| !literals.is_empty()) {
        each(literals.iter().map(|literal| whole(literal.as_bytes())).collect());
    }
    match hir.kind() {
        HirKind::Concat(parts) => parts.iter().for_each(|part| required(part, each)),
        HirKind::Capture(capture) => required(&capture.sub, each),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub, each),
        _ => {}
    }
}

/// A character in every case that matches it.
fn cases(character: char) -> Vec<char> {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
    if class.try_case_fold_simple().is_err() {
        return vec![character];
    }
    class.iter().flat_map(|range| range.start()..=range.end()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Pattern, Query};

    fn passes(query: &Query, record: &str) -> bool {
        let mut passed = false;
        Pattern::new(query).unwrap().sieve().sift(record.as_bytes(), &mut |_| {
            passed = true;
            record.len()
        });
        passed
    }

    #[test]
    fn what_may_hold_a_match_passes_however_it_is_written() {
        let words = |text: &str| Query { text: text.to_owned(), ..Query::default() };
        for (text, record) in [
            ("cart", r#"{"a":"my Cart"}"#),
            ("cart", r#"{"a":"my \u0043art"}"#),
            ("key", r#"{"a":"\u212aey"}"#),
            ("src/cart.py", r#"{"a":"src\/cart.py"}"#),
            ("say \"cheese\"", r#"{"a":"say \"cheese\""}"#),
            ("one\ntwenty", r#"{"a":"one\ntwenty"}"#),
            ("日本語", r#"{"a":"\u65e5\u672c\u8a9e"}"#),
            ("日本語", r#"{"a":"日本語"}"#),
            ("😀", r#"{"a":"\ud83D\uDE00"}"#),
            ("nx", r#"{"a":"\u000ax"}"#),
            ("100000", r#"{"a": 1e5}"#),
            ("1e-6", r#"[0.000001]"#),
            ("1e22", r#"{"a":10000000000000000000000}"#),
            ("\\", r#"{}"#),
            ("\u{fffd}", r#"{}"#),
        ] {
            assert!(passes(&words(text), record), "{text} in {record}");
        }
        for (text, record) in [
            ("cart", r#"{"a":"card"}"#),
            ("cart", r#"{"a":"\u001b[0m \u65e5"}"#),
            ("cart/x", r#"{"a":"dart/x"}"#),
            ("nx", r#"{"a":"\u001bx"}"#),
        ] {
            assert!(!passes(&words(text), record), "{text} in {record}");
        }
    }

    #[test]
    fn an_expression_is_known_by_a_literal_inside_it() {
        let regex = |text: &str| Query { text: text.to_owned(), is_regex: true, match_case: true, ..Query::default() };
        for (text, record) in [
            (r"\w+Error: (no such \w+)", "an OperationalError: no such table"),
            ("(foo|bar)+$", "a bar"),
            ("(?i)cart", "CART"),
            (r"\d+", "nothing of the kind is known of it"),
        ] {
            assert!(passes(&regex(text), record), "{text} in {record}");
        }
        assert!(!passes(&regex(r"\w+Error: (no such \w+)"), "an OperationalError: none such"));
        assert!(!passes(&regex("(foo|bar)+$"), "a baz"));
        assert!(!passes(&regex("(?i)cart"), "CARD"));
    }
}
