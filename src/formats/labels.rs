//! How much of a text the rows and markers of every format hold.

use crate::model::one_line;

/// Characters in the label of an event.
pub const LABEL_CHARS: usize = 160;
/// Bytes of a text kept inside a marker.
pub const MARKER_BYTES: usize = 2048;

/// One line that stands for a text.
pub fn line(text: &str) -> Box<str> {
    one_line(text, LABEL_CHARS).into()
}

/// At most `limit` bytes of `text`, cut between characters.
pub fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit.saturating_sub(3));
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// A text for a marker: at most 2 KiB.
pub fn marker_text(text: &str) -> String {
    cut(text.trim(), MARKER_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("ééé", 5), "é…");
    }
}
