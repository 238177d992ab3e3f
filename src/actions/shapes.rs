//! The JSON of sessions, steps and events, as the command line prints it and an export writes it: a contract. Fields are
//! added freely, none is renamed.

use serde_json::{Value, json};

use crate::formats::Body;
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
