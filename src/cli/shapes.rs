//! The JSON of the command line: a contract. Fields are added freely, none is renamed.

use serde_json::{Value, json};

use crate::actions::{ForkReceipt, RevertPlan};
use crate::formats::{Body, FileActionKind, Listed};
use crate::model::{Event, Marker, Session, Step};

/// `session`.
pub fn session(session: &Session) -> Value {
    json!({
        "id": session.id,
        "title": session.title,
        "format": session.format,
        "source": session.source.to_string_lossy(),
        "agent": session.agent,
        "model": session.model,
        "cwd": session.cwd,
        "startedAt": session.started_at,
        "endedAt": session.ended_at,
        "head": session.head,
        "nodes": session.nodes,
        "branches": session.branches.len(),
        "parent": session.parent,
        "relatives": session.relatives,
        "usage": session.usage,
        "steps": session.steps.len(),
        "capabilities": session.capabilities,
        "subagents": session.subagents.len(),
    })
}

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

/// `step`.
pub fn step(session: &Session, step: &Step) -> Value {
    let own = session.events.glances(step.events.clone()).filter(|event| !event.place.is_extra());
    let markers: Vec<Marker> =
        session.events.marked(step.events.clone()).filter_map(|event| Some(*event.into_owned().marker?)).collect();
    json!({
        "stepNumber": step.number,
        "kind": step.kind,
        "stepId": step.step_id,
        "userMessageId": step.user_message_id,
        "toolCallId": step.tool_call_id,
        "questionNodeId": step.question_node_id,
        "revertTargetNodeId": step.revert_target,
        "forkTargetNodeId": step.fork_target,
        "summary": step.summary,
        "at": step.at,
        "endedAt": step.ended_at,
        "events": own.count(),
        "model": step.model,
        "usage": step.usage,
        "markers": markers,
        "outcome": step.outcome,
        "origin": step.origin,
    })
}

/// `show`'s event, with its text where it was read.
pub fn event(event: &Event, body: &Body) -> Value {
    json!({
        "node": event.node,
        "kind": event.kind,
        "at": event.at,
        "durationMs": event.duration_ms,
        "text": if body.text.is_empty() { Value::Null } else { Value::from(body.text.as_str()) },
        "tool": event.tool.as_ref().map(|tool| json!({
            "name": tool.name,
            "callId": tool.call_id,
            "input": body.input.as_deref().map(input),
            "output": body.output,
            "isError": tool.state.is_error(),
        })),
        "marker": event.marker,
        "label": if event.label.is_empty() { &body.label } else { &event.label },
        "attachments": body.attachments,
    })
}

/// A tool's input as JSON; as a string where it is nested too deep to be JSON in JSON.
fn input(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
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
