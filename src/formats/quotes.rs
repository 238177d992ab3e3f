//! Where the strings of a text of JSON end, found for the whole text at once.
//!
//! Strings of sessions are long, and full of escapes: looking for the end of each byte by byte is what reading a large
//! file would spend its time on. Here 64 bytes are looked at together, and nothing is decided byte by byte.

use fearless_simd::{Level, dispatch, prelude::*, u8x64};

const BLOCK: usize = 64;

/// The quotes and backslashes of a text, one bit a byte, in words of 64 bytes.
#[derive(Clone, Debug, Default)]
pub struct Quotes(Vec<Word>);

#[derive(Clone, Copy, Debug)]
struct Word {
    /// Quotes that no backslash escapes.
    quotes: u64,
    backslashes: u64,
}

impl Quotes {
    /// `None` for a text with control characters, or with a backslash before what cannot be escaped.
    pub fn of(text: &[u8]) -> Option<Self> {
        dispatch!(Level::new(), simd => words(simd, text)).map(Self)
    }

    /// The first quote at `from` or after it that ends a string.
    #[inline]
    pub fn next(&self, from: usize) -> Option<usize> {
        let mut at = from / BLOCK;
        let mut quotes = self.0.get(at)?.quotes & (u64::MAX << (from % BLOCK));
        while quotes == 0 {
            at += 1;
            quotes = self.0.get(at)?.quotes;
        }
        Some(at * BLOCK + quotes.trailing_zeros() as usize)
    }

    /// Whether there is a backslash from `start` to before `end`.
    #[inline]
    pub fn has_escapes(&self, start: usize, end: usize) -> bool {
        let (first, last) = (start / BLOCK, end / BLOCK);
        let before = !(u64::MAX << (end % BLOCK));
        let in_word = |at: usize, mask: u64| self.0.get(at).is_some_and(|word| word.backslashes & mask != 0);
        let from = u64::MAX << (start % BLOCK);
        if first == last {
            return in_word(first, from & before);
        }
        in_word(first, from) || (first + 1..last).any(|at| in_word(at, u64::MAX)) || in_word(last, before)
    }
}

#[inline(always)]
fn words<S: Simd>(simd: S, text: &[u8]) -> Option<Vec<Word>> {
    let mut words = Vec::with_capacity(text.len() / BLOCK + 1);
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    let mut is_escaped = false;
    let mut at = 0;
    for block in blocks {
        words.push(word(simd, block, &mut is_escaped, text, at)?);
        at += BLOCK;
    }
    if !rest.is_empty() {
        // Blanks mean nothing.
        let mut block = [b' '; BLOCK];
        block.get_mut(..rest.len())?.copy_from_slice(rest);
        words.push(word(simd, &block, &mut is_escaped, text, at)?);
    }
    // A backslash at the end escapes nothing.
    (!is_escaped).then_some(words)
}

/// The word of a block, which begins at `at` in the text. `is_escaped` says whether its first byte is escaped by the
/// block before it, and then the same of the next block.
#[inline(always)]
fn word<S: Simd>(simd: S, block: &[u8; BLOCK], is_escaped: &mut bool, text: &[u8], at: usize) -> Option<Word> {
    let bytes = u8x64::simd_from(simd, *block);
    if bytes.simd_lt(b' ').any_true() {
        return None;
    }
    let bits = |byte: u8| bytes.simd_eq(byte).to_bitmask();
    let quotes = bits(b'"');
    let backslashes = bits(b'\\');
    if backslashes == 0 && !*is_escaped {
        return Some(Word { quotes, backslashes });
    }
    let escaped = escaped(backslashes, is_escaped);
    // Nearly all escapes are of these; the others are looked at.
    let mut others = escaped & !(bits(b'n') | quotes | backslashes);
    while others != 0 {
        let place = others.trailing_zeros() as usize;
        others &= others - 1;
        let is_escape = match block.get(place)? {
            b'/' | b'b' | b'f' | b'r' | b't' => true,
            b'u' => text.get(at + place + 1..at + place + 5)?.iter().all(u8::is_ascii_hexdigit),
            _ => false,
        };
        if !is_escape {
            return None;
        }
    }
    Some(Word { quotes: quotes & !escaped, backslashes })
}

/// Which bytes a backslash escapes. Of a run of backslashes every second one is escaped itself: adding the starts of the
/// runs that begin at odd bits to the runs carries through them, which tells how long each is without a loop (the way of
/// Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019).
fn escaped(backslashes: u64, is_escaped: &mut bool) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let first = u64::from(*is_escaped);
    let backslashes = backslashes & !first;
    let follows = backslashes << 1 | first;
    let odd_starts = backslashes & !EVEN & !follows;
    let (carried, leaves) = odd_starts.overflowing_add(backslashes);
    *is_escaped = leaves;
    (EVEN ^ (carried << 1)) & follows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same byte by byte.
    fn slowly(text: &[u8]) -> Option<Vec<usize>> {
        let mut ends = Vec::new();
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            match byte {
                0..=31 => return None,
                b'"' => ends.push(at),
                b'\\' => match text.get(at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 1,
                    Some(b'u') if text.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => at += 1,
                    _ => return None,
                },
                _ => {}
            }
            at += 1;
        }
        Some(ends)
    }

    fn quickly(text: &[u8]) -> Option<Vec<usize>> {
        let quotes = Quotes::of(text)?;
        let next = |from: usize| quotes.next(from);
        Some(std::iter::successors(next(0), |at| next(at + 1)).collect())
    }

    #[test]
    fn ends_of_strings_are_found_across_blocks() {
        for pad in 0..140 {
            for tail in [
                "\"",
                "\\\"",
                "\\\\\"",
                "\\\\\\\"\"",
                "\\u00e9\"",
                "\\u00\"",
                "\\x",
                "\\t\\\\\"",
                "\u{1}\"",
                "é\"",
                "\\",
            ] {
                let text = format!("{}{tail}{}", "x".repeat(pad), "\"y".repeat(pad % 3));
                assert_eq!(quickly(text.as_bytes()), slowly(text.as_bytes()), "{text}");
            }
        }
        assert_eq!(quickly(b""), Some(Vec::new()));
    }

    #[test]
    fn escapes_are_seen_where_they_are() {
        let text = format!("{}\\n{}", "x".repeat(70), "y".repeat(70));
        let quotes = Quotes::of(text.as_bytes()).unwrap();
        for (start, end, expected) in [
            (0, 70, false),
            (0, 71, true),
            (70, 71, true),
            (71, 142, false),
            (0, 142, true),
            (3, 3, false),
            (142, 142, false),
        ] {
            assert_eq!(quotes.has_escapes(start, end), expected, "{start}..{end}");
        }
    }

    proptest! {
        #[test]
        fn all_ends_are_found(text in "[\"\\\\nut0-9a-f x\u{1}é]{0,200}|([\"x]|\\\\\\\\|\\\\\"|\\\\n|\\\\u00e9){0,100}") {
            prop_assert_eq!(quickly(text.as_bytes()), slowly(text.as_bytes()));
        }
    }
}
