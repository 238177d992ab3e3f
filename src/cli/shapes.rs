//! The JSON of the command line: a contract. Fields are added freely, none is renamed.

use serde_json::{Value, json};

pub use crate::actions::shapes::{event, session, step};
use crate::actions::{ForkReceipt, RevertPlan};
use crate::formats::{FileActionKind, Listed};

/// `session`, of one that was not read: what only reading tells is null.
pub fn listed(listed: &Listed) -> Value {
    json!({
        "id": listed.id,
        "title": listed.title,
        "format": listed.format,
        "source": listed.reference.path().to_string_lossy(),
        "agent": { "name": listed.format.system(), "version": null },
        "model": listed.model,
        "cwd": listed.cwd,
        "startedAt": listed.started_at,
        "endedAt": listed.ended_at,
        "head": null,
        "nodes": null,
        "branches": null,
        "parent": null,
        "relatives": null,
        "usage": null,
        "steps": null,
        "capabilities": null,
        "subagents": null,
        "status": listed.status,
        "hidden": listed.is_hidden,
    })
}

/// `fork`.
pub fn fork(receipt: &ForkReceipt) -> Value {
    json!({
        "sessionId": receipt.session_id,
        "path": receipt.path.to_string_lossy(),
        "steps": receipt.steps,
        "from": { "sessionId": receipt.from_session, "stepNumber": receipt.from_step },
        "resumeCommand": receipt.resume_command,
        "warnings": receipt.warnings,
    })
}

/// `revert`, without what is known only once it is done.
pub fn revert(plan: &RevertPlan) -> Value {
    let dropped = &plan.revert.dropped;
    json!({
        "stepNumber": plan.step_number,
        "keepsSteps": plan.revert.keeps_steps,
        "drops": {
            "steps": plan.dropped_steps,
            "messages": dropped.messages,
            "runs": plan.dropped_runs,
            "events": plan.dropped_events,
            "cancelledRuns": dropped.cancelled_runs,
            "consoleRows": dropped.console_rows,
        },
        "cancelledApprovals": dropped.pending_approvals.iter()
            .map(|(tool, call)| json!({ "tool": tool, "toolCallId": call })).collect::<Vec<_>>(),
        "prefillText": plan.revert.prefill,
        "prefillOccurredAt": plan.revert.prefill_at,
        "fileActions": dropped.file_actions.iter()
            .map(|action| json!({ "path": action.path, "kind": file_action(action.kind) })).collect::<Vec<_>>(),
        "conflicts": dropped.conflicts.iter().map(|path| json!({ "path": path })).collect::<Vec<_>>(),
        "irreversible": dropped.irreversible.iter()
            .map(|(tool, description)| json!({ "tool": tool, "description": description })).collect::<Vec<_>>(),
        "wouldRefuse": plan.would_refuse,
        "estimate": plan.revert.estimate,
        "rewind": plan.revert.rewind,
        "warnings": plan.revert.warnings,
    })
}

pub fn file_action(kind: FileActionKind) -> &'static str {
    match kind {
        FileActionKind::Restore => "restore",
        FileActionKind::Delete => "delete",
        FileActionKind::Recreate => "recreate",
    }
}
