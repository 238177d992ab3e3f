//! Short texts for rows and markers, made without reading long ones to their end.

use crate::formats::json;
use crate::formats::labels::{LABEL_CHARS, line, marker_text};
use crate::formats::skim::Raw;

/// The label of a raw JSON string; empty when it is none.
pub(super) fn line_of(raw: Raw<'_>) -> Box<str> {
    // White space at the start may be long; four labels' worth is enough for all but the oddest.
    line(&json::string_start(raw, 4 * LABEL_CHARS).unwrap_or_default())
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
    fn errors_are_told_by_their_first_line() {
        assert_eq!(error_line("<tool_use_error>No such tool</tool_use_error>"), "No such tool");
        assert_eq!(error_line("\nExit code 1\nmore"), "Exit code 1");
        assert_eq!(error_line(""), "");
    }
}
