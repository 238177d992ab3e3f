//! Short texts for rows and markers, made without reading long ones to their end.

use serde_json::value::RawValue;

use crate::formats::json;
use crate::formats::labels::{LABEL_CHARS, MARKER_BYTES, line};

/// The label of a raw JSON string; empty when it is none.
pub(super) fn line_of(raw: &RawValue) -> Box<str> {
    // White space at the start may be long; two labels' worth is enough for all but the oddest.
    line(&json::string_start(raw, 2 * LABEL_CHARS).unwrap_or_default())
}

/// At most `limit` bytes of `text`, cut between characters.
pub(in crate::formats) fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit.saturating_sub(3));
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// A text for a marker: at most 2 KiB.
pub(in crate::formats) fn marker_text(text: &str) -> String {
    cut(text.trim(), MARKER_BYTES)
}

/// The first line of an error, without the tags that wrap it.
pub(super) fn error_line(text: &str) -> String {
    let inner = text.trim().trim_start_matches("<tool_use_error>").trim_start();
    let first = inner.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    marker_text(first.trim_end().trim_end_matches("</tool_use_error>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("ééé", 5), "é…");
    }

    #[test]
    fn errors_are_told_by_their_first_line() {
        assert_eq!(error_line("<tool_use_error>No such tool</tool_use_error>"), "No such tool");
        assert_eq!(error_line("\nExit code 1\nmore"), "Exit code 1");
        assert_eq!(error_line(""), "");
    }
}
