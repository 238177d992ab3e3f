//! Who allowed or refused a tool call, as far as its result says.
//!
//! Files since 2.1.3xx carry a `permissionDecision`; somewhat older ones only a kind of denial; the oldest only the text
//! that the model was given instead of a result. A grant is known only from the first.

use super::record::PermissionDecision;
use crate::formats::labels::{MARKER_BYTES, cut};
use crate::model::{Decision, MarkerKind};

/// What a tool result says about permission.
#[derive(Debug, Default)]
pub(super) struct Facts<'a> {
    pub recorded: Option<&'a PermissionDecision<'a>>,
    /// `toolDenialKind`.
    pub denial_kind: Option<&'a str>,
    /// `userFeedback`.
    pub feedback: Option<&'a str>,
    pub is_error: bool,
    /// The start of the result's text.
    pub text: &'a str,
    /// `toolUseResult` where it is a string.
    pub outcome: Option<&'a str>,
}

/// How a call came to run, or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ruling {
    pub decision: Decision,
    pub by: Option<String>,
    pub reason: Option<String>,
}

impl Ruling {
    fn new(decision: Decision, by: Option<&str>, reason: Option<&str>) -> Self {
        Self { decision, by: by.map(str::to_owned), reason: reason.map(|reason| cut(reason, MARKER_BYTES)) }
    }

    /// The call never ran.
    pub fn refused(&self) -> bool {
        matches!(self.decision, Decision::Denied | Decision::Blocked)
    }

    pub fn marker_kind(&self) -> MarkerKind {
        if self.refused() { MarkerKind::Denial } else { MarkerKind::Approval }
    }

    /// A person was asked.
    pub fn by_person(&self) -> bool {
        matches!(self.decision, Decision::Denied | Decision::Granted)
    }
}

/// Texts given to the model when a person refused.
const PERSON_REFUSED: [&str; 2] =
    ["The user doesn't want to proceed with this tool use", "The user doesn't want to take this action right now"];

/// What the facts of a result say; `None` when they say nothing of permission.
pub(super) fn ruling(facts: &Facts) -> Option<Ruling> {
    let feedback = facts.feedback.filter(|text| !text.is_empty()).or_else(|| feedback_in(facts.text));
    if let Some(recorded) = facts.recorded
        && let Some(ruling) = recorded_ruling(recorded, feedback)
    {
        return Some(ruling);
    }
    match facts.denial_kind {
        Some("user-rejected") => return Some(Ruling::new(Decision::Denied, Some("user"), feedback)),
        Some("permission-rule") => return Some(Ruling::new(Decision::Blocked, Some("rule"), None)),
        Some(kind @ "automode-unavailable") => return Some(Ruling::new(Decision::Blocked, Some("mode"), Some(kind))),
        Some(kind) if !kind.is_empty() => return Some(Ruling::new(Decision::Blocked, Some(kind), None)),
        _ => {}
    }
    if !facts.is_error {
        return None;
    }
    let text = facts.text.trim_start();
    if facts.outcome == Some("User rejected tool use") || PERSON_REFUSED.iter().any(|start| text.starts_with(start)) {
        return Some(Ruling::new(Decision::Denied, Some("user"), feedback));
    }
    if text.starts_with("Permission to use ") && text.contains("has been denied") {
        return Some(Ruling::new(Decision::Blocked, Some("rule"), None));
    }
    // Written where nobody could be asked.
    text.starts_with("Claude requested permissions to ").then(|| Ruling::new(Decision::Blocked, None, None))
}

fn recorded_ruling(recorded: &PermissionDecision, feedback: Option<&str>) -> Option<Ruling> {
    let accepted = match recorded.decision.as_str()? {
        "accept" => true,
        "reject" => false,
        _ => return None,
    };
    let code = recorded.reason_code.as_str().filter(|code| *code != "unknown" && !code.is_empty());
    let source = recorded.source.or_empty();
    if source.starts_with("user_") {
        let decision = if accepted { Decision::Granted } else { Decision::Denied };
        return Some(Ruling::new(decision, Some("user"), feedback.or(code)));
    }
    let decision = if accepted { Decision::Auto } else { Decision::Blocked };
    let rule = recorded.rule_source.as_str().filter(|rule| !rule.is_empty());
    let by = match recorded.reason_type.as_str().filter(|kind| !kind.is_empty()) {
        _ if source == "hook" => Some("hook"),
        Some(kind @ ("rule" | "mode" | "hook" | "classifier")) => Some(kind),
        _ if rule.is_some() => Some("rule"),
        Some(kind) => Some(kind),
        None => Some(source).filter(|source| !source.is_empty()),
    };
    Some(Ruling::new(decision, by, code.or(rule)))
}

/// What the user wrote on refusing, which the model is told after these words.
fn feedback_in(text: &str) -> Option<&str> {
    const BEFORE: &str = "the user said:";
    // Nearly no result has it, and all are looked at.
    let at = memchr::memmem::find(text.as_bytes(), BEFORE.as_bytes())?;
    let said = text.get(at + BEFORE.len()..)?;
    Some(said.trim()).filter(|said| !said.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(json: &str) -> Option<Ruling> {
        let recorded: PermissionDecision = serde_json::from_str(json).unwrap();
        ruling(&Facts { recorded: Some(&recorded), ..Facts::default() })
    }

    fn is(decision: Decision, by: Option<&str>, reason: Option<&str>) -> Option<Ruling> {
        Some(Ruling::new(decision, by, reason))
    }

    #[test]
    fn a_person_grants_once_or_for_the_session() {
        let once = r#"{"decision":"accept","source":"user_temporary","grantScope":"once","reasonCode":"unknown"}"#;
        assert_eq!(recorded(once), is(Decision::Granted, Some("user"), None));
        let always = r#"{"decision":"accept","source":"user_permanent"}"#;
        assert_eq!(recorded(always), is(Decision::Granted, Some("user"), None));
    }

    #[test]
    fn a_person_refuses_with_words() {
        let decision: PermissionDecision =
            serde_json::from_str(r#"{"decision":"reject","source":"user_reject","reasonCode":"unknown"}"#).unwrap();
        let facts = Facts { recorded: Some(&decision), feedback: Some("keep it"), is_error: true, ..Facts::default() };
        assert_eq!(ruling(&facts), is(Decision::Denied, Some("user"), Some("keep it")));
        let facts = Facts {
            recorded: Some(&decision),
            is_error: true,
            text: "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nkeep it",
            ..Facts::default()
        };
        assert_eq!(ruling(&facts), is(Decision::Denied, Some("user"), Some("keep it")));
    }

    #[test]
    fn rules_modes_hooks_and_classifiers_decide_alone() {
        for (json, expected) in [
            (
                r#"{"decision":"accept","source":"config","reasonType":"rule","ruleSource":"projectSettings"}"#,
                is(Decision::Auto, Some("rule"), Some("projectSettings")),
            ),
            (r#"{"decision":"accept","source":"config","reasonType":"mode"}"#, is(Decision::Auto, Some("mode"), None)),
            (
                r#"{"decision":"reject","source":"config","reasonType":"classifier","reasonCode":"classifier:unsafe"}"#,
                is(Decision::Blocked, Some("classifier"), Some("classifier:unsafe")),
            ),
            (
                r#"{"decision":"reject","source":"config","reasonType":"subcommandResults","ruleSource":"projectSettings","reasonCode":"rule:projectSettings"}"#,
                is(Decision::Blocked, Some("rule"), Some("rule:projectSettings")),
            ),
            (
                r#"{"decision":"accept","source":"config","reasonType":"subcommandResults"}"#,
                is(Decision::Auto, Some("subcommandResults"), None),
            ),
            (
                r#"{"decision":"reject","source":"hook","reasonType":"hook","reasonCode":"hook:PreToolUse"}"#,
                is(Decision::Blocked, Some("hook"), Some("hook:PreToolUse")),
            ),
            (r#"{"decision":"accept","source":"hook"}"#, is(Decision::Auto, Some("hook"), None)),
            (r#"{"decision":"accept","source":"config"}"#, is(Decision::Auto, Some("config"), None)),
        ] {
            assert_eq!(recorded(json), expected, "{json}");
        }
    }

    #[test]
    fn what_nobody_was_asked_about_nobody_refused() {
        let decision: PermissionDecision =
            serde_json::from_str(r#"{"decision":"reject","source":"config","reasonCode":"unknown"}"#).unwrap();
        let facts =
            Facts { recorded: Some(&decision), denial_kind: Some("user-rejected"), is_error: true, ..Facts::default() };
        assert_eq!(ruling(&facts), is(Decision::Blocked, Some("config"), None));
    }

    #[test]
    fn a_kind_of_denial_stands_alone_in_files_without_decisions() {
        let by_kind = |kind| ruling(&Facts { denial_kind: Some(kind), is_error: true, ..Facts::default() });
        assert_eq!(by_kind("user-rejected"), is(Decision::Denied, Some("user"), None));
        assert_eq!(by_kind("permission-rule"), is(Decision::Blocked, Some("rule"), None));
        assert_eq!(by_kind("automode-unavailable"), is(Decision::Blocked, Some("mode"), Some("automode-unavailable")));
        assert_eq!(by_kind("new-kind"), is(Decision::Blocked, Some("new-kind"), None));
    }

    #[test]
    fn the_oldest_files_say_it_in_words() {
        let by_text = |text| ruling(&Facts { is_error: true, text, ..Facts::default() });
        assert_eq!(
            by_text(
                "The user doesn't want to proceed with this tool use. The tool use was rejected, the user said: not now"
            ),
            is(Decision::Denied, Some("user"), Some("not now"))
        );
        assert_eq!(
            by_text("The user doesn't want to take this action right now. STOP"),
            is(Decision::Denied, Some("user"), None)
        );
        assert_eq!(
            by_text("Permission to use Bash with command x has been denied."),
            is(Decision::Blocked, Some("rule"), None)
        );
        assert_eq!(
            by_text("Claude requested permissions to write to /a, but you haven't granted it yet."),
            is(Decision::Blocked, None, None)
        );
        let facts = Facts { is_error: true, outcome: Some("User rejected tool use"), ..Facts::default() };
        assert_eq!(ruling(&facts), is(Decision::Denied, Some("user"), None));
        assert_eq!(by_text("File not found"), None);
        let quoted = Facts { text: "The user doesn't want to proceed with this tool use", ..Facts::default() };
        assert_eq!(ruling(&quoted), None, "a result that is no error may quote the words");
    }
}
