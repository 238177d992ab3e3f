//! Texts seen through the escapes of JSON strings, however often they were escaped: a tool's output that holds JSON that
//! holds a string says `\\u0040` for `@`.
//!
//! A [`View`] is a text with one layer of escapes taken off, and knows where in the text under it each part came from.

use std::ops::Range;

/// A text with one layer of escapes taken off.
pub(super) struct View {
    pub text: String,
    /// In order.
    escapes: Vec<Escape>,
}

/// Where an escape stood, and what it stands for.
#[derive(Clone, Copy)]
struct Escape {
    /// Its bytes in the text under the view.
    under: (usize, usize),
    /// The bytes in the view that it became.
    here: (usize, usize),
}

impl View {
    /// Takes one layer of escapes off; `None` where there is none. What is no escape of JSON stays as it is.
    pub fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        memchr::memchr(b'\\', bytes)?;
        let mut view = Self { text: String::with_capacity(text.len()), escapes: Vec::new() };
        let mut copied = 0;
        let mut at = 0;
        while let Some(hop) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
            at += hop;
            let Some((character, len)) = decode(bytes.get(at..).unwrap_or_default()) else {
                at += 1;
                continue;
            };
            view.text.push_str(text.get(copied..at).unwrap_or_default());
            let start = view.text.len();
            view.text.push(character);
            view.escapes.push(Escape { under: (at, at + len), here: (start, view.text.len()) });
            at += len;
            copied = at;
        }
        if view.escapes.is_empty() {
            return None;
        }
        view.text.push_str(text.get(copied..).unwrap_or_default());
        Some(view)
    }

    /// The bytes under the view that a stretch of it came from, whole escapes.
    pub fn under(&self, range: &Range<usize>) -> Range<usize> {
        self.place(range.start, |escape| escape.under.0)..self.place_of_end(range.end)
    }

    fn place(&self, at: usize, inside: impl Fn(&Escape) -> usize) -> usize {
        let after = self.escapes.partition_point(|escape| escape.here.0 <= at);
        match after.checked_sub(1).and_then(|index| self.escapes.get(index)) {
            Some(escape) if at < escape.here.1 => inside(escape),
            Some(escape) => escape.under.1 + (at - escape.here.1),
            None => at,
        }
    }

    /// The same for the end of a stretch: one inside an escape takes it whole.
    fn place_of_end(&self, at: usize) -> usize {
        match at.checked_sub(1) {
            Some(last) => match self.escapes.partition_point(|escape| escape.here.0 <= last).checked_sub(1) {
                Some(index) => self.escapes.get(index).map_or(at, |escape| {
                    if last < escape.here.1 { escape.under.1 } else { escape.under.1 + (at - escape.here.1) }
                }),
                None => at,
            },
            None => self.place(at, |escape| escape.under.0),
        }
    }
}

/// The character that an escape at the start of `bytes` stands for, and how many bytes it is long.
fn decode(bytes: &[u8]) -> Option<(char, usize)> {
    let character = match bytes.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(bytes),
        _ => return None,
    };
    Some((character, 2))
}

fn unicode(bytes: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u32> {
        let hex = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        hex.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
    };
    let first = unit(0)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 6));
    }
    if (0xD800..0xDC00).contains(&first)
        && let Some(second @ 0xDC00..0xE000) = unit(6)
    {
        return char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)).map(|whole| (whole, 12));
    }
    // Half a surrogate pair.
    Some((char::REPLACEMENT_CHARACTER, 6))
}

/// Where in a text a stretch of a view of it came from.
pub(super) type Under<'a> = dyn Fn(&Range<usize>) -> Range<usize> + 'a;

/// Hands the text to `visit` as it is and with each layer of escapes taken off, with a function that says where in the
/// text a stretch of the view came from. Each layer at least halves the longest run of backslashes: there are few.
///
/// What is `quoted` is the content of a JSON string: with its escapes on it says nothing.
pub(super) fn each_view(text: &str, quoted: bool, visit: &mut dyn FnMut(&str, &Under<'_>)) {
    let mut views: Vec<View> = View::of(text).into_iter().collect();
    if !quoted || views.is_empty() {
        visit(text, &|range| range.clone());
    }
    while let Some(last) = views.last() {
        let under = |range: &Range<usize>| views.iter().rev().fold(range.clone(), |range, view| view.under(&range));
        visit(&last.text, &under);
        match View::of(&last.text) {
            Some(view) => views.push(view),
            None => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_knows_where_each_part_came_from() {
        let text = r"a\u0040b\\n\ud83d\ude00\x\ud83d";
        let view = View::of(text).unwrap();
        assert_eq!(view.text, "a@b\\n😀\\x\u{fffd}");
        let under = |part: &str| {
            let at = view.text.find(part).unwrap();
            &text[view.under(&(at..at + part.len()))]
        };
        assert_eq!(under("@"), r"\u0040");
        assert_eq!(under("a@b"), r"a\u0040b");
        assert_eq!(under("\\n"), r"\\n");
        assert_eq!(under("😀"), r"\ud83d\ude00");
        assert_eq!(under("\\x"), r"\x");
        assert_eq!(under("\u{fffd}"), r"\ud83d");
        assert!(View::of("no escape").is_none() && View::of(r"C:\x").is_none());
    }

    proptest::proptest! {
        #[test]
        fn all_layers_of_escapes_are_taken_off(text in "(a|@|\"|\\\\|\n|é|😀){0,20}", layers in 0_usize..4) {
            let mut escaped = text.clone();
            for _ in 0..layers {
                let quoted = serde_json::to_string(&escaped).unwrap();
                escaped = quoted[1..quoted.len() - 1].to_owned();
            }
            let mut seen = false;
            each_view(&escaped, false, &mut |view, under| {
                seen |= view == text;
                assert_eq!(under(&(0..view.len())), 0..escaped.len());
            });
            proptest::prop_assert!(seen);
        }
    }
}
