//! Short texts for rows and markers, made without reading long ones to their end.

use serde_json::Value;

use crate::formats::labels::{line, marker_text};

/// The arguments by which people know a call, the best first.
pub(super) const ARGUMENTS: [&str; 13] = [
    "command",
    "file_path",
    "notebook_path",
    "absolute_path",
    "pattern",
    "query",
    "url",
    "path",
    "skill",
    "subject",
    "description",
    "prompt",
    "plan",
];

/// The label of a call: its main argument.
pub(super) fn of_call(name: &str, input: &Value) -> Box<str> {
    let argument = |key: &&str| input.get(key).and_then(Value::as_str);
    let main = if matches!(name, "Task" | "Agent") {
        ["description", "prompt"].iter().find_map(argument)
    } else {
        ARGUMENTS.iter().find_map(|key| argument(key).filter(|text| !text.is_empty()))
    };
    line(main.unwrap_or_default())
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
