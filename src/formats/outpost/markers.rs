//! What an operator looks for in a journal: the facts behind its markers.

use super::entry::Entry;
use super::kind::Kind;
use super::labels::{label, short, shorten};
use super::workflow;
use crate::model::{Asked, Commit, Decision, EventKind, Fact, SubagentStatus};

/// The kind of event that an entry is.
pub fn event_kind(entry: &Entry<'_>) -> EventKind {
    match entry.kind() {
        Kind::Text | Kind::Result | Kind::TextDelta => EventKind::Text,
        Kind::Reasoning => EventKind::Thinking,
        Kind::Tool => EventKind::Tool,
        Kind::ToolResult | Kind::ToolOutput => EventKind::ToolResult,
        Kind::ToolDenied | Kind::StopPrevented => EventKind::Approval,
        Kind::Steer => EventKind::Steering,
        Kind::Quota | Kind::Stuck => EventKind::Quota,
        Kind::Stopped if stops_early(entry.reason.or_empty()) => EventKind::Interruption,
        Kind::Failure | Kind::ModelError => EventKind::Failure,
        Kind::ModelRetry => EventKind::Retry,
        Kind::ModelRoute if falls_back(entry.reason.or_empty()) => EventKind::Fallback,
        Kind::Fallback => EventKind::Fallback,
        Kind::ModelRoute | Kind::Decision | Kind::DecisionRequest | Kind::DecisionResponse => EventKind::Decision,
        Kind::Compaction => EventKind::Compaction,
        Kind::Subagent => EventKind::Subagent,
        Kind::FileChange => EventKind::FileChange,
        Kind::WorkspaceCommits => EventKind::Commits,
        Kind::DispatchFinished if entry.fault().is_some() => EventKind::Failure,
        Kind::DispatchFinished if entry.status.is("cancelled") => EventKind::Interruption,
        Kind::Workflow => workflow::of(entry).event_kind(),
        Kind::Unknown => EventKind::Unknown,
        Kind::Unreadable => EventKind::Unreadable,
        _ => EventKind::Notice,
    }
}

/// The fact that an entry states, if it is one that is marked.
pub fn fact(entry: &Entry<'_>) -> Option<Fact> {
    Some(match entry.kind() {
        Kind::ToolDenied => Fact::Approval {
            tool: shorten(entry.name.or_empty()),
            tool_call_id: entry.call_id.to_owned_option(),
            decision: Decision::Blocked,
            by: Some("rule".into()),
            reason: entry.reason.as_str().map(shorten),
            waited_ms: None,
            asked: Asked::default(),
        },
        // The agent wanted to stop, and a hook refused that.
        Kind::StopPrevented => Fact::Approval {
            tool: "stop".into(),
            tool_call_id: None,
            decision: Decision::Blocked,
            by: Some("hook".into()),
            reason: entry.message.map(|raw| short(Some(raw))),
            waited_ms: None,
            asked: Asked::default(),
        },
        Kind::Steer => Fact::Steering { text: short(entry.text), mode: shorten(entry.mode.or_empty()) },
        Kind::Quota => Fact::Quota { message: short(entry.message), reset_at: entry.reset_time() },
        // A limit too: how often the same thing may be done.
        Kind::Stuck => Fact::Quota { message: label(entry).into(), reset_at: None },
        Kind::Stopped if stops_early(entry.reason.or_empty()) => {
            Fact::Interruption { message: entry.reason.or_empty().to_owned() }
        }
        Kind::Failure | Kind::ModelError => Fact::Failure { code: None, message: short(entry.message) },
        Kind::ModelRetry => Fact::Retry {
            attempt: entry.attempt.0,
            max_attempts: None,
            status: None,
            message: entry.message.map(|raw| short(Some(raw))),
        },
        Kind::ModelRoute if falls_back(entry.reason.or_empty()) => Fact::Fallback {
            from: None,
            to: entry.model_name(),
            trigger: entry.reason.to_owned_option(),
            reset_at: None,
            message: None,
        },
        Kind::Fallback => Fact::Fallback {
            from: Entry::candidate(entry.from).name.as_str().map(shorten),
            to: Entry::candidate(entry.to).name.as_str().map(shorten),
            trigger: entry.failure.as_str().map(shorten),
            reset_at: entry.reset_time(),
            message: entry.message.map(|raw| short(Some(raw))),
        },
        Kind::Compaction => {
            Fact::Compaction { trigger: entry.strategy.as_str().map(shorten), tokens_before: None, tokens_after: None }
        }
        Kind::Subagent => Fact::Subagent {
            id: shorten(entry.id.or_empty()),
            name: entry.name.as_str().map(shorten),
            status: match entry.status.or_empty() {
                "finished" => SubagentStatus::Finished,
                "failed" => SubagentStatus::Failed,
                _ => SubagentStatus::Started,
            },
        },
        Kind::WorkspaceCommits => {
            Fact::Commits { commits: commits(entry), unavailable: entry.unavailable().as_deref().map(shorten) }
        }
        Kind::DispatchFinished => return dispatch(entry),
        Kind::Workflow => return workflow::of(entry).fact(),
        _ => return None,
    })
}

fn stops_early(reason: &str) -> bool {
    matches!(reason, "steered" | "aborted" | "idle-timeout" | "deadline" | "stuck" | "oversized-event")
}

/// The classifier was not sure, or not there: the default model served.
fn falls_back(reason: &str) -> bool {
    matches!(reason, "confidence" | "unavailable")
}

fn dispatch(entry: &Entry<'_>) -> Option<Fact> {
    if let Some(fault) = entry.fault() {
        let message = shorten(fault.message.as_str().unwrap_or("the dispatch failed"));
        return Some(Fact::Failure { code: fault.code.as_str().map(shorten), message });
    }
    entry.status.is("cancelled").then(|| Fact::Interruption { message: "the dispatch was cancelled".into() })
}

/// The recorded commits by id and subject.
fn commits(entry: &Entry<'_>) -> Vec<Commit> {
    entry
        .recorded_commits()
        .unwrap_or_default()
        .iter()
        .map(|commit| Commit { id: shorten(commit.oid.or_empty()), subject: subject(commit.message.or_empty()) })
        .collect()
}

/// The first line of a commit's message.
pub fn subject(message: &str) -> String {
    shorten(message.trim_start().lines().next().unwrap_or_default().trim_end())
}
