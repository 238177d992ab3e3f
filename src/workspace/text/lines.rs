//! A text of any length as lines that can be drawn one by one, and what of it must not be drawn as it is.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

use super::sweep::sweep;
use crate::model::start_line;
pub use crate::model::visible;

/// Bytes of a line from which it is cut: a minified file is one line of megabytes.
const LINE_BYTES: usize = 2_000;

/// A line is rather cut after a blank, when there is one among this many bytes before its end.
const BLANK_BYTES: usize = 200;
/// What follows a cut decides whether it goes through a character: so much of it is looked at.
const AHEAD_BYTES: usize = 64;

/// A text cut into lines for drawing: at line feeds, and where a line is long. Its lines together are the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LongText {
    text: String,
    /// Where each line starts. Texts are at most some 100 MB, so that u32 holds it.
    starts: Vec<u32>,
    /// Which lines go on with the line before them, in their order; most texts have none.
    continued: Vec<u32>,
}

impl LongText {
    pub fn new(text: impl Into<String>) -> Self {
        let text: String = text.into();
        let mut cut = Self::default();
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).chain([text.len()]) {
            cut.cut(&text, from, end);
            from = end;
        }
        cut.starts.shrink_to_fit();
        cut.continued.shrink_to_fit();
        cut.text = text;
        cut
    }

    /// Notes the starts of the pieces of the line in `from..end`.
    fn cut(&mut self, text: &str, mut from: usize, end: usize) {
        let mut is_start = true;
        while from < end {
            if !std::mem::take(&mut is_start) {
                self.continued.push(self.starts.len() as u32);
            }
            self.starts.push(from as u32);
            if end - from <= LINE_BYTES + 2 {
                return;
            }
            from = cut_at(text, from);
        }
    }

    /// How many lines are drawn; a line feed at the end starts none.
    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// How many lines the text itself has.
    pub fn own_line_count(&self) -> usize {
        self.starts.len() - self.continued.len()
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A line as it can be drawn, without its line end. Empty past the end.
    pub fn line(&self, index: usize) -> Cow<'_, str> {
        visible(self.bare_line(index))
    }

    /// A line as it is in the text, without its line end.
    pub fn bare_line(&self, index: usize) -> &str {
        let raw = self.raw_line(index);
        let line = raw.strip_suffix('\n').unwrap_or(raw);
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// A line as it is in the text, with its line end.
    pub fn raw_line(&self, index: usize) -> &str {
        self.text.get(self.start(index)..self.start(index + 1)).unwrap_or_default()
    }

    /// Where a line starts, in bytes of the text; its end past the end.
    pub fn start(&self, index: usize) -> usize {
        self.starts.get(index).map_or(self.text.len(), |start| *start as usize)
    }

    /// The line that a byte of the text is on.
    pub fn line_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= byte).saturating_sub(1)
    }

    /// The length of some lines together, in bytes, with their line feeds; found without looking at them.
    pub fn bytes_of(&self, lines: Range<usize>) -> usize {
        let start = |index: usize| self.starts.get(index).map_or(self.text.len(), |start| *start as usize);
        start(lines.end).saturating_sub(start(lines.start))
    }

    /// Whether a line is the start of one of the text's own lines, not the rest of a long one.
    pub fn is_start(&self, index: usize) -> bool {
        u32::try_from(index).is_ok_and(|index| self.continued.binary_search(&index).is_err())
    }

    /// Which of the text's own lines a drawn line is, or is a part of; from 1.
    pub fn own_line(&self, index: usize) -> usize {
        index + 1 - self.continued.partition_point(|line| *line as usize <= index)
    }

    /// The whole text as it was recorded, for copying; never drawn.
    pub fn original(&self) -> &str {
        &self.text
    }

    /// Memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.text.len() + (self.starts.len() + self.continued.len()) * size_of::<u32>()
    }
}

impl Drop for LongText {
    fn drop(&mut self) {
        sweep(std::mem::take(&mut self.text).into_bytes());
    }
}

/// Where the piece of a long line that starts at `from` ends: after a blank where there is one, else between two
/// characters as a reader sees them. Looks at no more than the piece, however long the line is.
fn cut_at(text: &str, from: usize) -> usize {
    let end = text.floor_char_boundary(from + LINE_BYTES);
    let tail = text.as_bytes().get(end.saturating_sub(BLANK_BYTES)..end).unwrap_or_default();
    let next = text.as_bytes().get(end);
    if let Some(blank) = memchr::memrchr(b' ', tail) {
        let at = end - tail.len() + blank + 1;
        // A mark may stand on the blank itself.
        if text.as_bytes().get(at).is_some_and(u8::is_ascii) {
            return at;
        }
    }
    if tail.last().is_some_and(u8::is_ascii) && next.is_some_and(|next| next.is_ascii() && *next != b'\n') {
        return end;
    }
    let piece = text.get(from..text.floor_char_boundary(end + AHEAD_BYTES)).unwrap_or_default();
    let mut cursor = GraphemeCursor::new(end - from, piece.len(), true);
    if cursor.is_boundary(piece, 0) == Ok(true) {
        return end;
    }
    match cursor.prev_boundary(piece, 0) {
        // A piece that is one character, with marks without end, is cut through.
        Ok(Some(at)) if at > 0 => from + at,
        _ => end,
    }
}

/// The start of a text as one line that can be drawn: at most `limit` characters, longer ones end in an ellipsis.
pub fn one_line(text: &str, limit: usize) -> String {
    visible(&start_line(text, limit)).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let text = LongText::new(text);
        (0..text.line_count()).map(|index| text.line(index).into_owned()).collect()
    }

    #[test]
    fn lines_end_at_line_feeds_of_either_kind() {
        assert_eq!(lines("a\nb\r\n\nc\n"), ["a", "b", "", "c"]);
        assert_eq!(lines(""), Vec::<String>::new());
        assert_eq!(lines("\n"), [""]);
        assert_eq!(lines("10%\r20%"), ["10%⟨CR⟩20%"]);
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let text = "é".repeat(3_000);
        let long = LongText::new(format!("{text}\nend"));
        assert_eq!((long.line_count(), long.own_line_count()), (4, 2));
        assert_eq!(long.line(0).len(), 2_000);
        assert_eq!((0..4).map(|index| long.is_start(index)).collect::<Vec<_>>(), [true, false, false, true]);
        assert_eq!(long.line(0).into_owned() + &long.line(1) + &long.line(2), text);
        assert_eq!(long.line(9), "");
    }

    #[test]
    fn lines_are_cut_after_a_blank_and_never_through_what_a_reader_sees_as_one_character() {
        let words = LongText::new("lengthy ".repeat(1_000));
        assert!((0..words.line_count()).all(|index| words.line(index).ends_with(' ')));
        // A family of four with joiners, 25 bytes; a letter with marks, 7 bytes.
        for character in ["👩\u{200d}👩\u{200d}👧\u{200d}👦", "e\u{301}\u{302}\u{303}", "🇨🇭"] {
            let text = LongText::new(character.repeat(2_000));
            assert!(text.line_count() > 3);
            for index in 0..text.line_count() {
                assert_eq!(text.raw_line(index).len() % character.len(), 0, "{character} in line {index}");
            }
        }
        let marks = LongText::new(format!("e{}", "\u{301}".repeat(9_000)));
        assert!(marks.line_count() > 3, "marks without end are cut through");
    }

    #[test]
    fn the_rest_of_a_long_line_has_the_number_of_its_line() {
        let text = LongText::new(format!("a\n{}\nb\n", "x".repeat(5_000)));
        assert_eq!((0..text.line_count()).map(|index| text.own_line(index)).collect::<Vec<_>>(), [1, 2, 2, 2, 3]);
        assert_eq!((text.line_count(), text.own_line_count()), (5, 3));
        assert_eq!((text.bytes_of(0..1), text.bytes_of(0..5), text.bytes_of(4..9)), (2, 5_005, 2));
    }

    #[test]
    fn what_cannot_be_seen_is_spelled_out_and_copied_as_it_was() {
        assert_eq!(visible("\u{1b}[31mred\0"), "⟨ESC⟩[31mred⟨NUL⟩");
        assert_eq!(visible("a\u{202e}b\u{2066}c\u{200b}"), "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩");
        assert_eq!(visible("\u{85}\u{e0041}\u{feff}"), "⟨U+0085⟩⟨U+E0041⟩⟨U+FEFF⟩");
        assert!(matches!(visible("tab\tand 日本語, وثّق, 👩\u{200d}💻"), Cow::Borrowed(_)));
        assert_eq!(LongText::new("a\u{1b}b\r\n").original(), "a\u{1b}b\r\n");
    }

    #[test]
    fn one_line_of_a_text_is_short() {
        assert_eq!(one_line(" a\n\tb ", 10), "a b");
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line(&"x".repeat(1_000_000), 6), "xxxxx…");
        assert_eq!(one_line("abc d", 3), "ab…");
        assert_eq!(one_line("a\u{202e}b", 10), "a⟨U+202E⟩b");
    }

    /// Some short lines, or one that is cut: of characters of one byte and of several.
    fn part() -> impl Strategy<Value = String> {
        let long = (prop::sample::select(vec!["é", "e\u{301}", "🇨🇭", "a ", "x"]), 600..2_100_usize, "\r?\n?");
        prop_oneof!["[a-zé日\\r\\n]{0,40}", long.prop_map(|(unit, times, end)| unit.repeat(times) + &end)]
    }

    proptest! {
        #[test]
        fn the_lines_together_are_the_text(parts in prop::collection::vec(part(), 0..12)) {
            let text = parts.concat();
            let long = LongText::new(text.as_str());
            let whole: String = (0..long.line_count()).map(|index| long.raw_line(index)).collect();
            prop_assert_eq!(whole, text);
            for index in 0..long.line_count() {
                prop_assert!(long.raw_line(index).len() <= LINE_BYTES + 2);
            }
        }
    }
}
