//! A text of any length as lines that can be drawn one by one, and what of it must not be drawn as it is.

use std::borrow::Cow;

use crate::model::start_line;
pub use crate::model::visible;

/// Bytes of a line from which it is cut: a minified file is one line of megabytes.
const LINE_BYTES: usize = 2_000;

/// A text cut into lines for drawing: at line feeds, and where a line is long. Its lines together are the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LongText {
    text: String,
    /// Where each line starts. Texts are at most some 100 MB, so that u32 holds it.
    starts: Vec<u32>,
    own_lines: usize,
}

impl LongText {
    pub fn new(text: impl Into<String>) -> Self {
        let text: String = text.into();
        let mut starts = Vec::new();
        let mut own_lines = 0;
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).chain([text.len()]) {
            own_lines += usize::from(from < end);
            cut(&text, from, end, &mut starts);
            from = end;
        }
        starts.shrink_to_fit();
        Self { text, starts, own_lines }
    }

    /// How many lines are drawn; a line feed at the end starts none.
    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// How many lines the text itself has.
    pub fn own_line_count(&self) -> usize {
        self.own_lines
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

    /// Whether a line is the start of one of the text's own lines, not the rest of a long one.
    pub fn is_start(&self, index: usize) -> bool {
        let start = self.starts.get(index).map_or(0, |start| *start as usize);
        start == 0 || self.text.as_bytes().get(start - 1) == Some(&b'\n')
    }

    /// The whole text as it was recorded, for copying; never drawn.
    pub fn original(&self) -> &str {
        &self.text
    }

    /// Memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.starts.len() * size_of::<u32>()
    }
}

/// Notes the starts of the pieces of the line in `from..end`.
fn cut(text: &str, mut from: usize, end: usize, starts: &mut Vec<u32>) {
    while from < end {
        starts.push(from as u32);
        if end - from <= LINE_BYTES + 2 {
            return;
        }
        from = text.floor_char_boundary(from + LINE_BYTES);
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
    fn a_hundred_megabytes_are_cut_in_a_moment() {
        let start = std::time::Instant::now();
        let text = LongText::new("0123456789abcdef".repeat(6_000_000));
        assert_eq!(text.line_count(), 48_000);
        assert!(start.elapsed().as_secs() < 5);
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

    proptest! {
        #[test]
        fn the_lines_together_are_the_text(text in "([a-zé日\\r\\n]{0,40}|[é]{1900,2100}\\r?\\n?){0,12}") {
            let long = LongText::new(text.as_str());
            let whole: String = (0..long.line_count()).map(|index| long.raw_line(index)).collect();
            prop_assert_eq!(whole, text);
            for index in 0..long.line_count() {
                prop_assert!(long.raw_line(index).len() <= LINE_BYTES + 2);
            }
        }
    }
}
