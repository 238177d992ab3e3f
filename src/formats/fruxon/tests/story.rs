//! The story: agent `desk`, participant `p-1`, sandbox session `fs_1`, four turns. Times are seconds after noon.

use serde_json::{Value, json};

/// Noon of a day in 2026, in milliseconds.
pub const NOON: i64 = 1_790_000_000_000;

pub fn at(seconds: i64) -> i64 {
    NOON + seconds * 1000
}

pub fn asks(seconds: i64, text: &str) -> Value {
    json!({"from": "p-1", "text": text, "at": at(seconds), "executionRecordId": null})
}

pub fn replies(seconds: i64, text: &str, run: &str) -> Value {
    json!({"from": "fruxon", "text": text, "at": at(seconds), "executionRecordId": run})
}

/// Four prompts; the last has no reply.
pub fn rows() -> Vec<Value> {
    vec![
        asks(0, "Where is my lamp?"),
        replies(5, "On its way.", "r1"),
        asks(60, "Send it back."),
        replies(69, "Done.", "r2"),
        asks(120, "And the money?"),
        replies(190, "A colleague said no.", "r3"),
        asks(300, "Try again."),
    ]
}

/// A page of rows, one a line.
pub fn page(rows: &[Value]) -> String {
    let lines: Vec<String> = rows.iter().map(|row| format!("    {row}")).collect();
    format!(
        "{{\n  \"items\": [\n{}\n  ],\n  \"nextPageToken\": null,\n  \"totalCount\": {}\n}}\n",
        lines.join(",\n"),
        rows.len()
    )
}

pub fn messages() -> String {
    page(&rows())
}

/// A try of a model.
pub fn tried(provider: &str, model: &str, from: i64, to: i64, error: Option<&str>, steps: Vec<Value>) -> Value {
    json!({
        "id": "agent.llm", "type": "LLM_STEP", "steps": steps, "error": error,
        "status": if error.is_some() { "ERROR" } else { "SUCCESS" },
        "llmStepTrace": {"providerId": provider, "model": model, "inputTokens": 10, "outputTokens": 2, "inputCost": 0.5},
        "startTime": at(from), "endTime": at(to), "duration": (to - from) * 1000,
    })
}

pub fn called(call: &str, tool: &str, from: i64, result: Value) -> Value {
    json!({
        "id": call, "type": "TOOL", "status": "SUCCESS", "startTime": at(from), "endTime": at(from + 1), "duration": 1000,
        "toolTrace": {"tool": {"integrationId": "shop", "id": tool}, "parameters": {"order": "7"}, "displayName": tool},
        "result": {"strValue": null, "jsonValue": result, "fileLink": null}, "steps": [],
    })
}

pub fn judged(from: i64, verdict: &str) -> Value {
    json!({
        "id": "judge", "type": "JUDGE", "status": "SUCCESS", "startTime": at(from), "endTime": at(from + 1),
        "llmStepTrace": {"providerId": "j", "model": "judge"},
        "result": {"strValue": verdict}, "steps": [],
    })
}

/// A trace of these tries.
pub fn trace(run: &str, from: i64, to: i64, tries: Vec<Value>) -> Value {
    json!({
        "status": "COMPLETED", "rootExecutionId": run,
        "trace": {
            "agentExecutionRecordId": run, "agentId": "desk", "agentRevision": 3, "startTime": at(from), "endTime": at(to),
            "traces": [{"id": "agent", "type": "FLOW_STEP", "steps": tries, "startTime": at(from), "endTime": at(to)}],
        },
    })
}

/// Run r2: one model fails, another answers.
pub fn fallback_trace() -> Value {
    let calls = vec![called("call-1", "find", 63, json!({"id": "7"}))];
    trace(
        "r2",
        60,
        69,
        vec![tried("a", "big", 61, 62, Some("529 overloaded"), vec![]), tried("b", "small", 62, 68, None, calls)],
    )
}

/// The approvals of r3, denied, and r4, still open.
pub fn approvals() -> Value {
    let held = |id: &str, run: &str, from: i64| {
        json!({
            "id": id, "agentId": "desk", "sessionId": "ts_1", "executionRecordId": run, "gateType": "PROMPT_TOOL",
            "toolCallId": format!("call-{run}"), "toolKey": "shop.refund", "outboundMessage": "Refund 5 EUR?",
            "proposedParameters": {"amount": 5}, "authorizedApprovers": ["lead@example.test"], "status": "PENDING",
            "decision": null, "respondedAt": null, "createdAt": at(from), "expiresAt": at(9000),
        })
    };
    let mut denied = held("ap-3", "r3", 125);
    denied["status"] = json!("RESPONDED");
    denied["decision"] = json!("REJECT");
    denied["respondedAt"] = json!(at(185));
    denied["respondedBy"] = json!("lead@example.test");
    denied["responseText"] = json!("Over the limit.");
    json!({"items": [held("ap-4", "r4", 305), denied]})
}

pub fn record(run: &str, status: &str, from: i64, to: Option<i64>) -> Value {
    json!({
        "id": run, "agentId": "desk", "agentRevision": 3, "status": status, "startTime": at(from),
        "endTime": to.map(at), "inputTokens": 100, "outputTokens": 7, "totalCost": "0.25", "runType": "ROOT",
        "rootExecutionId": run, "deliveryStatus": "NOT_APPLICABLE", "subject": format!("about {run}"),
    })
}

pub fn records() -> Value {
    let mut parked = record("r4", "WAITING_FOR_ASYNC", 301, None);
    parked["waitingFor"] = json!({"kind": "APPROVAL", "approvalRequestId": "ap-4", "waitingSince": at(305)});
    json!([
        parked,
        record("r3", "COMPLETED", 121, Some(190)),
        record("r2", "COMPLETED", 60, Some(69)),
        record("r1", "COMPLETED", 1, Some(5))
    ])
}

/// The tree of r1: a sub-task.
pub fn tree() -> Value {
    let node = |id: &str, parent: Option<&str>, depth: u32, kind: &str| {
        json!({
            "id": id, "agentId": "desk", "parentExecutionRecordId": parent, "depth": depth, "runType": kind,
            "status": "COMPLETED", "startTime": at(1 + i64::from(depth)), "endTime": at(4), "subject": "look it up",
        })
    };
    json!({"rootExecutionId": "r1", "nodes": [node("r1", None, 0, "ROOT"), node("r1a", Some("r1"), 1, "SUB_TASK")], "totals": {"runs": 2}})
}

/// The frames of turn 3 of the sandbox, one a line.
pub fn stream() -> String {
    [
        json!({"type": "start", "schema_version": 1, "stream": "sandbox", "session": "fs_1"}),
        json!({"type": "tool_call", "toolName": "shop__refund", "toolCallId": "call-r3", "argsSummary": "amount=5"}),
        json!({"type": "pending_approval", "requestId": "ap-3", "toolKey": "shop.refund", "message": "Refund 5 EUR?"}),
        json!({"type": "turn_complete", "outcome": "suspended"}),
        json!({"type": "tool_result", "toolCallId": "call-r3", "outcome": "refused", "refusalReason": "rejected", "message": "Over the limit."}),
        json!({"type": "reply", "text": "A colleague said no.", "at": at(190)}),
        json!({"type": "turn_complete", "outcome": "replied"}),
        json!({"type": "stopped"}),
    ]
    .map(|frame| format!("{frame}\n"))
    .concat()
}

/// The same as events of the server, for turn 4.
pub fn events() -> String {
    let frame = |name: &str, data: Value| format!("event: {name}\ndata: {data}\n\n");
    let inner = json!({"requestId": "ap-4", "toolKey": "shop.refund", "message": "Refund 5 EUR?"}).to_string();
    let call = json!({"toolName": "shop__refund", "toolCallId": "call-r4", "argsSummary": "amount=5"}).to_string();
    [
        ": keep-alive\n\n".to_owned(),
        frame("tool_call", json!({"kind": "TOOL_CALL", "text": call, "at": at(304)})),
        frame("pending_approval", json!({"kind": "PENDING_APPROVAL", "text": inner, "at": at(305)})),
        frame("turn_complete", json!({"kind": "TURN_COMPLETE", "text": "suspended", "at": at(306)})),
    ]
    .concat()
}

pub fn rewind() -> Value {
    json!({
        "sessionId": "fs_1", "targetSessionId": "ts_1", "droppedRuns": 2, "cancelledRuns": 1, "droppedMessages": 2,
        "droppedConsoleRows": 3, "prefillText": "And the money?", "prefillOccurredAt": at(120),
    })
}

pub fn fork_answer() -> Value {
    json!({
        "sessionId": "fs_9", "agentId": "desk", "participantId": "p-2", "sourceSessionId": "ts_8", "targetSessionId": "ts_9",
        "copiedMessages": 2, "prefillText": "Eve (@eve) at 2026-05-01 10:00 UTC:\nOnce more?", "prefillOccurredAt": at(0),
    })
}

/// A topic's transcript, newest first as the command line prints it.
pub fn topic() -> Value {
    let row = |id: u32, role: &str, author: &str, text: &str, seconds: i64| {
        json!({
            "id": id.to_string(), "role": role, "author": author, "content": text, "createdAt": at(900), "occurredAt": at(seconds),
            "sessionId": "ts_8", "executionRecordId": if author == "HUMAN_OPERATOR" { "" } else { "q1" },
        })
    };
    json!([
        row(14, "ASSISTANT", "HUMAN_OPERATOR", "I take over.", 40),
        row(13, "USER", "PARTICIPANT", "Eve (@eve) at 2026-05-01 10:00 UTC:\nOnce more?", 30),
        row(12, "ASSISTANT", "AGENT", "Hello Eve.", 10),
        row(11, "USER", "PARTICIPANT", "Eve (@eve) at 2026-05-01 09:59 UTC:\nHi", 0),
    ])
}

/// Two runs of a draft, the second failed.
pub fn draft_runs() -> String {
    [
        json!({"type": "start", "schema_version": 2, "agent": "desk"}),
        json!({"type": "tool_call", "id": "c1", "name": "find", "arguments": {"order": 7}, "integration_id": "shop", "start_time_ms": at(1)}),
        json!({"type": "tool_result", "id": "c1", "status": "succeeded", "result": {"id": 7}, "end_time_ms": at(2)}),
        json!({"type": "text", "delta": "It is "}),
        json!({"type": "text", "delta": "here."}),
        json!({"type": "usage", "input_tokens": 30, "output_tokens": 4}),
        json!({"type": "done", "agent": "desk", "record_id": "d1", "session_id": "ts_d", "total_cost": 0.5}),
        json!({"type": "start", "schema_version": 2, "agent": "desk"}),
        json!({"type": "error", "message": "no provider", "code": "PROVIDER"}),
    ]
    .map(|frame| format!("{frame}\n"))
    .concat()
}

/// Everything that belongs to the sandbox session.
pub fn sandbox() -> Vec<(&'static str, String)> {
    vec![
        ("a-messages.json", messages()),
        ("b-trace.json", fallback_trace().to_string()),
        ("c-approvals.json", approvals().to_string()),
        ("d-records.json", records().to_string()),
        ("e-tree.json", tree().to_string()),
        ("f-stream.ndjson", stream()),
        ("g-stream.sse", events()),
        ("h-rewind.json", rewind().to_string()),
    ]
}
