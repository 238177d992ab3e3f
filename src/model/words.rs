//! The sentences of window and command line: what is said of a marker, a count, a moment.

use super::{Asked, Decision, Evidence, Fact, Marker, QuestionState, SubagentStatus, Timestamp, clock, duration_words};

/// What is said of a marker in one line.
pub fn marker(marker: &Marker) -> String {
    let mut text = fact(&marker.fact);
    if marker.evidence == Evidence::Inferred {
        text.push_str(" · inferred");
    }
    text
}

fn fact(fact: &Fact) -> String {
    let or = |text: &Option<String>, default: &str| text.clone().unwrap_or_else(|| default.to_owned());
    let mut parts: Vec<String> = Vec::new();
    match fact {
        Fact::Question { state, answers, .. } => parts.push(match state {
            QuestionState::Answered => format!("answered: {}", answers.join(", ")),
            QuestionState::Declined => "declined".into(),
            QuestionState::NotShown => "not shown to anybody".into(),
            QuestionState::Pending => "not answered".into(),
        }),
        Fact::Approval { decision, by, reason, waited_ms, asked, .. } => {
            parts.push(decided(*decision, by.as_deref(), asked));
            if let Some(reason) = reason.as_deref().filter(|_| !matches!(decision, Decision::Auto)) {
                parts.push(format!("“{reason}”"));
            }
            parts.extend(waited_ms.map(|waited| format!("waited {}", duration_words(waited))));
            parts.extend(asked.verification.as_ref().map(|how| format!("signed, verified: {how}")));
        }
        Fact::Fallback { from, to, trigger, reset_at, .. } => {
            parts.push(format!("{} → {}", or(from, "?"), or(to, "?")));
            parts.extend(trigger.clone());
            parts.extend(reset_at.map(|at| format!("resets {}", clock(at, "%H:%M"))));
        }
        Fact::Retry { attempt, max_attempts, status, message } => {
            parts.push(match (attempt, max_attempts) {
                (Some(attempt), Some(max)) => format!("retry {attempt} of {max}"),
                (Some(attempt), None) => format!("retry {attempt}"),
                _ => "retry".into(),
            });
            let status = status.map(|status| status.to_string());
            let said = |status: &String| message.as_deref().is_some_and(|message| message.starts_with(status.as_str()));
            parts.extend(status.filter(|status| !said(status)));
            parts.extend(message.clone());
        }
        Fact::Failure { code, message } => {
            parts.extend(code.clone());
            parts.push(message.clone());
        }
        Fact::Quota { message, reset_at } => {
            parts.push(message.clone());
            parts.extend(reset_at.map(|at| format!("resets {}", clock(at, "%H:%M"))));
        }
        Fact::Interruption { message } => parts.push(message.clone()),
        Fact::Steering { text, mode } => parts.push(format!("{mode}: {text}")),
        Fact::Commits { commits, unavailable } => match unavailable {
            Some(reason) => parts.push(format!("commits not recorded: {reason}")),
            None => parts.push(count(commits.len() as u64, "commit", "commits")),
        },
        Fact::Compaction { trigger, tokens_before, tokens_after } => {
            parts.push("history compacted".into());
            parts.extend(trigger.clone());
            if let (Some(before), Some(after)) = (tokens_before, tokens_after) {
                parts.push(format!("{} → {} tokens", figure(*before), figure(*after)));
            } else if let Some(before) = tokens_before {
                parts.push(format!("{} tokens before", figure(*before)));
            }
        }
        Fact::Subagent { id, name, status } => {
            parts.push(format!("subagent {}", name.as_deref().unwrap_or(id)));
            parts.push(
                match status {
                    SubagentStatus::Started => "started",
                    SubagentStatus::Finished => "finished",
                    SubagentStatus::Failed => "failed",
                }
                .into(),
            );
        }
    }
    parts.join(" · ")
}

/// Who decided an approval, and how; who may decide while nobody has.
fn decided(decision: Decision, by: Option<&str>, asked: &Asked) -> String {
    let by = by.map(|by| format!(" by {}", if by == "user" { "the user" } else { by })).unwrap_or_default();
    match decision {
        Decision::Granted => format!("approved{by}"),
        Decision::Denied => format!("denied{by}"),
        Decision::Auto => format!("auto{}", by.replace(" by ", ": ")),
        Decision::Blocked => format!("blocked{by}"),
        Decision::Pending if asked.actors.is_empty() => "waiting for approval".into(),
        Decision::Pending => format!("waiting for approval by {}", asked.actors.join(", ")),
        Decision::Cancelled => "approval cancelled".into(),
    }
}

/// A whole number with thin spaces between its thousands.
pub fn figure(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text
}

/// What a figure gained or lost, with its sign: `+12`, `−3`, `±0`.
pub fn difference(from: u64, to: u64) -> String {
    match from.cmp(&to) {
        std::cmp::Ordering::Less => format!("+{}", figure(to - from)),
        std::cmp::Ordering::Equal => "±0".to_owned(),
        std::cmp::Ordering::Greater => format!("−{}", figure(from - to)),
    }
}

/// What a span of milliseconds gained or lost: `+12 s`, `−1 min 30 s`, `±0`.
pub fn duration_difference(from_ms: i64, to_ms: i64) -> String {
    let gained = to_ms.saturating_sub(from_ms);
    match gained {
        0 => "±0".to_owned(),
        _ if gained > 0 => format!("+{}", duration_words(gained)),
        _ => format!("−{}", duration_words(gained.saturating_neg())),
    }
}

/// `1 step`, `27 steps`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", figure(number), if number == 1 { one } else { many })
}

/// Bytes as people say them: `813 bytes`, `12 KB`, `1.4 GB`.
pub fn bytes(number: u64) -> String {
    match number {
        0..1_000 => format!("{number} bytes"),
        1_000..1_000_000 => format!("{} KB", number / 1_000),
        1_000_000..1_000_000_000 => format!("{}.{} MB", number / 1_000_000, number % 1_000_000 / 100_000),
        _ => format!("{}.{} GB", number / 1_000_000_000, number % 1_000_000_000 / 100_000_000),
    }
}

/// The time of day of a moment, or a dash.
pub fn time(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "–".to_owned(), |at| clock(at, "%H:%M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_grouped_by_thousands() {
        assert_eq!(figure(7), "7");
        assert_eq!(figure(12_481), "12\u{2009}481");
        assert_eq!(figure(1_234_567), "1\u{2009}234\u{2009}567");
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1_400_000_000), "1.4 GB");
    }

    #[test]
    fn approvals_say_who_decided_and_inference_is_named() {
        let approval = Fact::Approval {
            tool: "Bash".into(),
            tool_call_id: None,
            decision: Decision::Denied,
            by: Some("user".into()),
            reason: Some("keep the build".into()),
            waited_ms: Some(6_200),
            asked: Asked::default(),
        };
        assert_eq!(marker(&Marker::recorded(approval, None)), "denied by the user · “keep the build” · waited 6.2 s");
        let fallback = Fact::Fallback {
            from: Some("a".into()),
            to: Some("b".into()),
            trigger: None,
            reset_at: None,
            message: None,
        };
        assert_eq!(marker(&Marker::inferred(fallback, None)), "a → b · inferred");
    }
}
