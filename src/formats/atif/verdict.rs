//! How a tool call ended, by what its result says: the format has no field for approvals.

use super::record::{CallResult, raw_text};
use crate::formats::labels::marker_text;
use crate::formats::lenient::Object;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Ran,
    /// The converter's own flag says so.
    Failed,
    /// A person refused it, and perhaps said why.
    Denied(Option<String>),
    /// A rule refused it.
    Blocked,
    /// The user interrupted it.
    Cancelled,
}

/// Starts of what agents tell the model of a call that the user refused.
const DENIED: [&str; 3] = [
    "Tool execution was rejected",
    "The user doesn't want to proceed with this tool use",
    "The user rejected this tool call",
];
/// What stands before the user's own words in such a text.
const FEEDBACK: [&str; 2] = ["the user said:\n", "User feedback: "];

/// What a result says, and its text.
pub fn of(result: &CallResult<'_>) -> (Verdict, String) {
    let text = raw_text(result.content);
    let start = text.trim_start();
    let Object(extra) = &result.extra;
    let is_error = extra.as_ref().is_some_and(|extra| {
        extra.tool_result_is_error.0 || extra.success.is_some_and(|success| success.get() == "false")
    });
    let verdict = if DENIED.iter().any(|words| start.starts_with(words)) {
        Verdict::Denied(feedback(start))
    } else if start.starts_with("Canceled due to user interrupt") {
        Verdict::Cancelled
    } else if start.starts_with("Blocked by policy") {
        Verdict::Blocked
    } else if is_error {
        Verdict::Failed
    } else {
        Verdict::Ran
    };
    (verdict, text)
}

/// The user's words, up to what the converter adds below them.
fn feedback(text: &str) -> Option<String> {
    let rest = FEEDBACK.iter().find_map(|lead| text.split_once(lead)).map(|(_, rest)| rest)?;
    let own = rest.split("\n\n[").next().unwrap_or(rest);
    let own = own.split("\n{\"").next().unwrap_or(own).trim();
    (!own.is_empty()).then(|| marker_text(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_words_are_taken_out_of_a_refusal() {
        let claude = "The user doesn't want to proceed … the user said:\nkeep the file please\n\n[error] tool failed";
        assert_eq!(feedback(claude).as_deref(), Some("keep the file please"));
        let copilot = "The user rejected this tool call. User feedback: do not move\n{\"code\": \"denied\"}";
        assert_eq!(feedback(copilot).as_deref(), Some("do not move"));
        assert_eq!(feedback("Tool execution was rejected by the user"), None);
    }
}
