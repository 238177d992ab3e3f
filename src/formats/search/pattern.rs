//! What is looked for: words or a regular expression, made ready once for a whole search.

use std::ops::Range;

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

use super::sieve::Sieve;
use crate::store::{Cancelled, Watch};

/// Nobody types more than this; a pasted page is no query.
const MOST_CHARS: usize = 1_000;
/// Memory that a compiled expression may take, in bytes. `\w{500}` takes more.
const MOST_COMPILED_BYTES: usize = 4 * 1024 * 1024;
/// A text of more bytes is looked through in parts, so that a search of it can be called off.
const PART_BYTES: usize = 1024 * 1024;
/// Matches after which a search asks whether it is still wanted.
const PATIENCE: usize = 4_096;

/// What a user asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Query {
    pub text: String,
    /// `Cart` is not `cart`.
    pub match_case: bool,
    /// `cart` is not a part of `carts`.
    pub whole_word: bool,
    /// The text is a regular expression, in the syntax of the `regex` crate; `^` and `$` are the ends of a line.
    pub is_regex: bool,
}

/// A query made ready.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    sieve: Sieve,
    /// A match lies within one line: long texts can be looked through in parts.
    within_lines: bool,
}

/// Why a query cannot be searched for, in one sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("There is nothing to search for")]
    Empty,
    #[error("The text is too long to search for: {MOST_CHARS} characters at most")]
    TooLong,
    #[error("This is no regular expression: {reason}, at character {at}")]
    Syntax { reason: String, at: usize },
    #[error("This regular expression is too large")]
    TooLarge,
}

/// What of a text matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// How many there are in all.
    pub count: usize,
    /// The first of them, as bytes of the text.
    pub first: Vec<Range<usize>>,
}

impl Pattern {
    pub fn new(query: &Query) -> Result<Self, PatternError> {
        if query.text.is_empty() {
            return Err(PatternError::Empty);
        }
        if query.text.chars().count() > MOST_CHARS {
            return Err(PatternError::TooLong);
        }
        let source = if query.is_regex { query.text.clone() } else { regex_syntax::escape(&query.text) };
        let parsed = ParserBuilder::new()
            .case_insensitive(!query.match_case)
            .multi_line(true)
            .build()
            .parse(&source)
            .map_err(|error| refusal(&error))?;
        let whole = if query.whole_word { format!(r"\b{{start-half}}(?:{source})\b{{end-half}}") } else { source };
        let regex = RegexBuilder::new(&whole)
            .case_insensitive(!query.match_case)
            .multi_line(true)
            .size_limit(MOST_COMPILED_BYTES)
            .build()
            .map_err(|_| PatternError::TooLarge)?;
        let sieve =
            if query.is_regex { Sieve::of_regex(&parsed) } else { Sieve::of_words(&query.text, query.match_case) };
        Ok(Self { regex, sieve, within_lines: !query.is_regex && !query.text.contains('\n') })
    }

    /// By which records can be told apart that cannot hold a match.
    pub fn sieve(&self) -> &Sieve {
        &self.sieve
    }

    /// The matches in a text, of which the first `keep` are kept. Matches of nothing are none.
    pub fn find(&self, text: &str, keep: usize, watch: Watch<'_>) -> Result<Matches, Cancelled> {
        let mut matches = Matches::default();
        let mut start = 0;
        while start < text.len() {
            watch.check()?;
            let end = if self.within_lines { end_of_part(text, start) } else { text.len() };
            let part = text.get(start..end).unwrap_or_default();
            for (number, found) in self.regex.find_iter(part).filter(|found| !found.is_empty()).enumerate() {
                if number % PATIENCE == PATIENCE - 1 {
                    watch.check()?;
                }
                matches.count += 1;
                if matches.first.len() < keep {
                    matches.first.push(start + found.start()..start + found.end());
                }
            }
            start = end;
        }
        Ok(matches)
    }
}

/// The end of the line that a part of the usual size ends in.
fn end_of_part(text: &str, start: usize) -> usize {
    let about = start.saturating_add(PART_BYTES);
    let rest = text.as_bytes().get(about..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |hop| about + hop + 1)
}

/// The parser's word for what is wrong, and where.
fn refusal(error: &regex_syntax::Error) -> PatternError {
    let (reason, at) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span().start),
        _ => return PatternError::TooLarge,
    };
    // Some of its words go on with an explanation.
    let reason = reason.lines().next().unwrap_or_default().split(". ").next().unwrap_or_default().to_owned();
    PatternError::Syntax { reason, at: at.column }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &Query, text: &str) -> Vec<String> {
        let matches = Pattern::new(query).unwrap().find(text, 10, Watch::none()).unwrap();
        assert!(matches.count >= matches.first.len());
        matches.first.into_iter().map(|range| text[range].to_owned()).collect()
    }

    fn words(text: &str) -> Query {
        Query { text: text.to_owned(), ..Query::default() }
    }

    #[test]
    fn words_are_found_in_any_case_unless_it_matters() {
        assert_eq!(found(&words("cart"), "Cart, carts, CART; ΚΑΡΤ"), ["Cart", "cart", "CART"]);
        assert_eq!(found(&words("σίσυφος"), "ΣΊΣΥΦΟΣ"), ["ΣΊΣΥΦΟΣ"]);
        assert_eq!(found(&Query { match_case: true, ..words("cart") }, "Cart, carts"), ["cart"]);
        assert_eq!(found(&Query { whole_word: true, ..words("cart") }, "carts cart Cart_x"), ["cart"]);
        assert_eq!(found(&Query { whole_word: true, ..words("->") }, "a->b c -> d"), ["->"]);
        assert_eq!(found(&words("a.b("), "a.b( axb("), ["a.b("]);
    }

    #[test]
    fn expressions_know_lines_and_match_more_than_nothing() {
        let regex = |text: &str| Query { is_regex: true, ..words(text) };
        assert_eq!(found(&regex(r"^\w+"), "one two\nthree"), ["one", "three"]);
        assert_eq!(found(&regex("x*"), "axxb"), ["xx"]);
        assert_eq!(found(&Query { whole_word: true, ..regex("a|ab") }, "ab a"), ["ab", "a"]);
    }

    #[test]
    fn what_cannot_be_searched_for_is_said_in_a_sentence() {
        let error =
            |text: &str| Pattern::new(&Query { is_regex: true, ..words(text) }).err().map(|error| error.to_string());
        assert_eq!(error("a(b").unwrap(), "This is no regular expression: unclosed group, at character 2");
        assert_eq!(
            error(r"\p{Nonsense}").unwrap(),
            "This is no regular expression: Unicode property not found, at character 1"
        );
        assert_eq!(error(r"(\w{999}){999}").unwrap(), "This regular expression is too large");
        assert!(error(&"x".repeat(1_001)).unwrap().starts_with("The text is too long"));
        assert_eq!(error("").unwrap(), "There is nothing to search for");
        assert!(error("(?=a)").unwrap().starts_with("This is no regular expression: look-around"));
    }

    #[test]
    fn a_long_text_is_searched_in_parts_without_a_loss() {
        let line = format!("{}needle\n", "x".repeat(999));
        let text = line.repeat(3_000);
        let matches = Pattern::new(&words("NEEDLE")).unwrap().find(&text, 2, Watch::none()).unwrap();
        assert_eq!((matches.count, matches.first), (3_000, vec![999..1_005, 2_005..2_011]));
        let cancelled = std::sync::atomic::AtomicBool::new(true);
        let watch = Watch::new(&cancelled, &|_, _| {});
        assert_eq!(Pattern::new(&words("x")).unwrap().find(&text, 2, watch), Err(Cancelled));
    }
}
