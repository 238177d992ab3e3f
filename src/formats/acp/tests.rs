//! Recordings through the doors that everybody uses: `formats::sessions_of` and `formats::open`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::formats::testing::replayed;
use crate::formats::{self, Cut, Effect, Patient, Recording, SessionRef};
use crate::model::{
    Decision, Event, EventKind, Evidence, Fact, Marker, NodeId, Outcome, QuestionState, Step, StepKind, ToolState,
};
use crate::store::{Watch, write_new};

struct Opened {
    folder: tempfile::TempDir,
    recording: Arc<dyn Recording>,
}

impl Opened {
    fn steps(&self) -> &[Step] {
        &self.recording.session().steps
    }

    fn events(&self, number: u32) -> &[Event] {
        let session = self.recording.session();
        session.events_of(session.step(number).unwrap())
    }

    fn facts(&self, number: u32) -> Vec<&Fact> {
        self.events(number).iter().filter_map(|event| Some(&event.marker.as_deref()?.fact)).collect()
    }

    fn summaries(&self) -> Vec<&str> {
        self.steps().iter().map(|step| step.summary.as_str()).collect()
    }
}

fn lines(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

fn write(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stream.ndjson");
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

fn open(messages: &[Value]) -> Opened {
    let (folder, path) = write(lines(messages).as_bytes());
    let recording = formats::open(&path, &Patient).unwrap();
    Opened { folder, recording }
}

fn call(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn told(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn result(id: u64, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn update(kind: &str, mut fields: Value) -> Value {
    fields["sessionUpdate"] = json!(kind);
    told("session/update", json!({ "sessionId": "s", "update": fields }))
}

fn said(kind: &str, text: &str) -> Value {
    update(kind, json!({ "content": { "type": "text", "text": text } }))
}

fn prompt(id: u64, text: &str) -> Value {
    call(id, "session/prompt", json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": text }] }))
}

fn stop(id: u64) -> Value {
    result(id, json!({ "stopReason": "end_turn" }))
}

fn start() -> Vec<Value> {
    vec![
        call(1, "initialize", json!({ "protocolVersion": 1 })),
        result(
            1,
            json!({ "protocolVersion": 1, "agentCapabilities": {}, "agentInfo": { "name": "A", "version": "2" },
            "authMethods": [{ "id": "secret-way" }] }),
        ),
        call(2, "session/new", json!({ "cwd": "/w", "mcpServers": [] })),
        result(2, json!({ "sessionId": "s" })),
    ]
}

fn asks_permission(id: u64, call_id: &str) -> Value {
    call(
        id,
        "session/request_permission",
        json!({ "sessionId": "s", "toolCall": { "toolCallId": call_id, "title": "rm x", "kind": "execute" }, "options": [
            { "optionId": "y", "name": "Allow once", "kind": "allow_once" },
            { "optionId": "n", "name": "Reject", "kind": "reject_once" }] }),
    )
}

fn chooses(id: u64, option: &str) -> Value {
    result(id, json!({ "outcome": { "outcome": "selected", "optionId": option } }))
}

/// Two prompts with a tool call each, one allowed and one refused, and a third that the client cancels.
fn story() -> Vec<Value> {
    let mut messages = start();
    messages.extend([
        prompt(3, "First"),
        update("tool_call", json!({ "toolCallId": "c1", "title": "rm x", "kind": "execute", "status": "pending" })),
        asks_permission(0, "c1"),
        chooses(0, "y"),
        update("tool_call_update", json!({ "toolCallId": "c1", "status": "completed",
            "rawInput": { "command": "rm x" }, "content": [{ "type": "content", "content": { "type": "text", "text": "gone" } }] })),
        said("agent_message_chunk", "All "),
        said("agent_message_chunk", "done."),
        result(3, json!({ "stopReason": "end_turn",
            "usage": { "inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "cachedReadTokens": 4 } })),
        prompt(4, "Second"),
        asks_permission(1, "c2"),
        chooses(1, "n"),
        update("tool_call_update", json!({ "toolCallId": "c2", "status": "failed", "rawOutput": { "code": "rejected" } })),
        said("agent_thought_chunk", "Then not."),
        stop(4),
        prompt(5, "Third"),
        asks_permission(2, "c3"),
        told("session/cancel", json!({ "sessionId": "s" })),
        result(5, json!({ "stopReason": "cancelled" })),
    ]);
    messages
}

#[test]
fn prompts_are_steps_and_choices_are_approvals() {
    let opened = open(&story());
    let session = opened.recording.session();
    assert_eq!(opened.summaries(), ["First", "Second", "Third"]);
    assert_eq!(
        (session.id.as_str(), session.cwd.as_deref(), session.agent.name.as_deref()),
        ("s", Some("/w"), Some("A"))
    );
    let outcomes: Vec<_> = opened.steps().iter().map(|step| step.outcome).collect();
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::Interrupted]);
    let decisions: Vec<_> = (1..=3)
        .flat_map(|number| opened.facts(number))
        .filter_map(|fact| match fact {
            Fact::Approval { decision, by, asked, .. } => Some((*decision, by.as_deref(), asked.prompt.as_deref())),
            _ => None,
        })
        .collect();
    let shown = Some("rm x\nAllow once · Reject");
    assert_eq!(
        decisions,
        [
            (Decision::Granted, Some("user"), shown),
            (Decision::Denied, Some("user"), shown),
            (Decision::Cancelled, None, shown)
        ]
    );
    let kinds: Vec<_> = opened.events(1).iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Tool, EventKind::Approval, EventKind::Text]);
    let body = opened.recording.body(&opened.events(1)[0]).unwrap();
    assert_eq!((body.input.as_deref(), body.output.as_deref()), (Some(r#"{"command":"rm x"}"#), Some("gone")));
    assert_eq!(opened.recording.body(&opened.events(1)[2]).unwrap().text, "All done.");
    assert_eq!(opened.events(2)[0].tool.as_ref().unwrap().state, ToolState::Denied);
    assert_eq!(opened.facts(3).iter().filter(|fact| matches!(fact, Fact::Interruption { .. })).count(), 1);
    assert_eq!((opened.steps()[0].usage.input, opened.steps()[0].usage.cache_read), (Some(6), Some(4)));
    assert_eq!(opened.steps()[1].revert_target, Some(NodeId::Number(11)), "the line before the prompt, from 0");
    assert_eq!(opened.steps()[1].fork_target, Some(NodeId::Number(17)));
    assert!(!session.events.all().iter().any(|event| event.label.contains("secret")));
}

#[test]
fn a_form_that_is_filled_in_is_a_step() {
    let schema = json!({ "properties": {
        "q0": { "description": "Which?", "oneOf": [{ "const": "A" }, { "const": "B" }] },
        "q1": { "title": "Why?", "type": "string" } } });
    let ask = |id: u64| {
        call(
            id,
            "elicitation/create",
            json!({ "sessionId": "s", "mode": "form", "message": "Two", "requestedSchema": schema }),
        )
    };
    let mut messages = start();
    messages.extend([
        prompt(3, "Plan"),
        said("agent_message_chunk", "First:"),
        update(
            "tool_call",
            json!({ "toolCallId": "q", "kind": "other", "_meta": { "eventType": "ask_user_question" } }),
        ),
        ask(7),
        result(7, json!({ "action": "accept", "content": { "q0": "B", "q1": "so" } })),
        said("agent_message_chunk", "Good."),
        ask(8),
        result(8, json!({ "action": "decline" })),
        stop(3),
    ]);
    let opened = open(&messages);
    assert_eq!(opened.summaries(), ["Plan", "Which? -> B; Why? -> so"]);
    let step = &opened.steps()[1];
    assert_eq!((step.kind, step.tool_call_id.as_deref()), (StepKind::QuestionAnswer, Some("q")));
    assert_eq!((step.outcome, step.revert_target.clone()), (Outcome::Done, Some(NodeId::Number(5))));
    let states: Vec<_> = opened
        .facts(2)
        .iter()
        .filter_map(|fact| match fact {
            Fact::Question { question, answers, state, .. } => Some((question.as_str(), answers.len(), *state)),
            _ => None,
        })
        .collect();
    assert_eq!(
        states,
        [
            ("Which?", 1, QuestionState::Answered),
            ("Why?", 1, QuestionState::Answered),
            ("Which?", 0, QuestionState::Declined),
            ("Why?", 0, QuestionState::Declined)
        ]
    );
    for number in 1..=2 {
        let fork = opened.recording.fork(Cut::After(number), Watch::none()).unwrap();
        let path = opened.folder.path().join(&fork.file_name);
        write_new(&path, &fork.rewrite, Watch::none()).unwrap();
        assert_eq!(formats::open(&path, &Patient).unwrap().session().steps.len(), number as usize);
    }
}

fn listed(id: &str, summary: &str, revert: u64, fork: u64) -> Value {
    json!({ "kind": "prompt", "stepId": id, "userMessageId": id, "revertTargetNodeId": revert, "forkTargetNodeId": fork,
        "summary": summary })
}

fn list(steps: &[Value]) -> Value {
    told("_cognition.ai/revert/stepsUpdated", json!({ "sessionId": "s", "steps": steps }))
}

fn answered(id: u64, message: &str) -> Value {
    result(id, json!({ "stopReason": "end_turn", "_meta": { "cognition.ai/userMessageId": message } }))
}

/// A command, two prompts, a revert of the second, and another one in its place.
fn rewound() -> Vec<Value> {
    let (one, two, other) = (listed("m1", "One", 9, 15), listed("m2", "Two", 15, 20), listed("m3", "Other", 15, 25));
    let mut messages = start();
    messages.extend([
        prompt(3, "/context"),
        stop(3),
        prompt(4, "One"),
        answered(4, "m1"),
        prompt(5, "Two"),
        said("agent_message_chunk", "wrong"),
        answered(5, "m2"),
        list(&[one.clone(), two]),
        call(6, "_cognition.ai/revert/execute", json!({ "sessionId": "s", "stepId": "m2" })),
        list(std::slice::from_ref(&one)),
        told(
            "_cognition.ai/revert/historyRewound",
            json!({ "sessionId": "s", "revertTargetNodeId": 15, "firstRemovedUserMessageId": "m2" }),
        ),
        result(6, json!({ "forkedSessionId": "s", "outcomes": [] })),
        prompt(7, "Other"),
        list(&[one, other]),
        said("agent_message_chunk", "right"),
        answered(7, "m3"),
    ]);
    messages
}

#[test]
fn the_agents_own_list_wins_and_a_rewind_leaves_a_branch() {
    let opened = open(&rewound());
    let session = opened.recording.session();
    assert_eq!(opened.summaries(), ["One", "Other"]);
    assert_eq!(opened.steps()[1].step_id, NodeId::Text("m3".into()));
    assert_eq!(opened.steps()[1].fork_target, Some(NodeId::Number(25)));
    assert_eq!(session.head, Some(NodeId::Number(25)));
    let branches: Vec<_> = session.branches.iter().map(|branch| branch.summary.as_str()).collect();
    assert_eq!(branches, ["Two"]);
    assert!(!session.events.all().iter().any(|event| &*event.label == "wrong"));
    let replayed: String = replayed(opened.recording.as_ref(), 1..=2).iter().map(Value::to_string).collect();
    assert!(replayed.contains("right") && !replayed.contains("wrong"));
}

#[test]
fn a_history_that_is_told_again_is_counted_once() {
    let chunk = |id: &str, text: &str| {
        update(
            "user_message_chunk",
            json!({ "content": { "type": "text", "text": text }, "_meta": { "cognition.ai/clientMessageId": id } }),
        )
    };
    let load = |id: u64| call(id, "session/load", json!({ "sessionId": "s", "cwd": "/w", "mcpServers": [] }));
    let mut messages = start();
    messages.truncate(2);
    messages.extend([
        load(2),
        chunk("m1", "One "),
        chunk("m1", "and more"),
        said("agent_message_chunk", "1"),
        chunk("m2", "Two"),
        json!({ "jsonrpc": "2.0", "id": 2, "error": { "code": -32015, "message": "locked" } }),
        load(3),
        chunk("m1", "One "),
        chunk("m1", "and more"),
        said("agent_message_chunk", "1"),
        chunk("m2", "Two"),
        result(3, json!({ "modes": {} })),
        prompt(4, "Three"),
        chunk("m3", "Three"),
        answered(4, "m3"),
    ]);
    let opened = open(&messages);
    assert_eq!(opened.summaries(), ["One and more", "Two", "Three"]);
    assert_eq!(opened.recording.prompt(1).unwrap(), "One and more");
    let origins: Vec<_> = opened.steps().iter().map(|step| step.origin).collect();
    assert_eq!(origins, [Some("replayed"), Some("replayed"), None]);
    assert_eq!(opened.steps()[2].user_message_id, Some(NodeId::Text("m3".into())));
}

#[test]
fn an_echo_of_a_prompt_is_no_second_one() {
    let mut messages = start();
    messages.extend([
        prompt(3, "One"),
        result(3, json!({})),
        update("user_message_chunk", json!({ "messageId": "m1", "content": { "type": "text", "text": "One" } })),
        said("agent_message_chunk", "1"),
    ]);
    let opened = open(&messages);
    assert_eq!(opened.summaries(), ["One"]);
    assert_eq!(opened.steps()[0].step_id, NodeId::Text("m1".into()));
    assert_eq!(opened.events(1).len(), 1);
}

#[test]
fn why_a_turn_stopped_is_marked_once() {
    let mut messages = start();
    messages.extend([
        prompt(3, "One"),
        told(
            "_cognition.ai/connection_retry",
            json!({ "sessionId": "s", "attempt": 2, "maxAttempts": 5, "isStreamRetry": true }),
        ),
        told(
            "_cognition.ai/agent_stopped",
            json!({ "sessionId": "s", "cause": "quota_exhausted", "errorMessage": "no more" }),
        ),
        json!({ "jsonrpc": "2.0", "id": 3, "error": { "code": -32011, "message": "Resource exhausted" } }),
        prompt(4, "Two"),
        json!({ "jsonrpc": "2.0", "id": 4, "error": { "code": -32603, "message": "broken", "data": "in parts" } }),
        prompt(5, "Three"),
        update(
            "config_option_update",
            json!({ "configOptions": [{ "id": "model", "category": "model", "currentValue": "m1" }] }),
        ),
        update(
            "config_option_update",
            json!({ "configOptions": [{ "id": "model", "category": "model", "currentValue": "m2" }] }),
        ),
        update("compaction_update", json!({ "status": "completed", "summary": "short" })),
        stop(5),
    ]);
    let opened = open(&messages);
    let words = |number: u32| opened.facts(number).iter().map(|fact| fact.kind().word()).collect::<Vec<_>>();
    assert_eq!((words(1), words(2)), (vec!["retry", "quota"], vec!["failure"]));
    assert_eq!(words(3), ["fallback", "compaction"]);
    assert_eq!(
        opened.steps().iter().map(|step| step.outcome).collect::<Vec<_>>(),
        [Outcome::Failed, Outcome::Failed, Outcome::Done]
    );
    let marker: &Marker = opened.events(3).iter().find_map(|event| event.marker.as_deref()).unwrap();
    assert_eq!(marker.evidence, Evidence::Inferred, "nobody says that it was a fallback");
    assert_eq!(opened.steps()[2].model.as_deref(), Some("m2"));
}

#[test]
fn several_sessions_of_a_stream_are_chosen_by_their_id() {
    let mut messages = story();
    let other = |value: Value| serde_json::from_str::<Value>(&value.to_string().replace("\"s\"", "\"t\"")).unwrap();
    messages.push(call(9, "session/load", json!({ "sessionId": "gone" })));
    messages.push(json!({ "jsonrpc": "2.0", "id": 9, "error": { "code": -32016, "message": "not found" } }));
    messages.push(other(prompt(10, "Elsewhere")));
    messages.push(stop(10));
    let (folder, path) = write(lines(&messages).as_bytes());
    let source = formats::sessions_of(std::slice::from_ref(&path), &Patient).unwrap();
    let mut ids: Vec<_> = source.sessions.iter().filter_map(|session| session.id.clone()).collect();
    ids.sort();
    assert_eq!(ids, ["s", "t"]);
    assert!(formats::open(&path, &Patient).is_err());
    let reference = SessionRef { paths: vec![path], key: Some("t".into()) };
    let recording = formats::open_session(&reference, &Patient).unwrap();
    assert_eq!(recording.session().steps[0].summary, "Elsewhere");
    let fork = recording.fork(Cut::After(1), Watch::none()).unwrap();
    let path = folder.path().join(&fork.file_name);
    write_new(&path, &fork.rewrite, Watch::none()).unwrap();
    assert_eq!(formats::open(&path, &Patient).unwrap().session().id, "t", "only its own lines are in the fork");
}

#[test]
fn facts_name_the_prompt_in_whose_turn_they_are() {
    let (_folder, path) = write(lines(&story()).as_bytes());
    let part = formats::Part {
        path,
        shape: crate::formats::detect::Shape::Lines,
        format: formats::REGISTRY.iter().find(|format| format.name == crate::model::FormatName::Acp).unwrap(),
        title: None,
    };
    let recorded = super::recorded(&part, "s", &Patient).unwrap().unwrap();
    let facts = super::facts(&recorded);
    assert_eq!(facts.len(), 4);
    assert_eq!((facts[0].user_message_id.as_deref(), facts[0].tool_call_id.as_deref()), (Some("4"), Some("c1")));
    assert!(super::recorded(&part, "none", &Patient).unwrap().is_none());
}

#[test]
fn a_revert_is_a_shorter_recording() {
    let opened = open(&story());
    let revert = opened.recording.revert(2, Watch::none()).unwrap();
    assert_eq!((revert.keeps_steps, revert.prefill.as_deref()), (1, Some("Second")));
    let Effect::Export(fork) = revert.effect else { panic!("the agent's session is not ours to cut") };
    let path = opened.folder.path().join(&fork.file_name);
    write_new(&path, &fork.rewrite, Watch::none()).unwrap();
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(lines(&story()).starts_with(&kept), "lines stay byte for byte");
    assert_eq!(formats::open(&path, &Patient).unwrap().session().steps.len(), 1);
}

#[test]
fn lines_that_are_no_messages_are_accounted_for() {
    let mut text = lines(&story());
    text.push_str("not JSON\n{\"a\":1}\n");
    text.push_str(&told("made/up", json!({ "sessionId": "s" })).to_string());
    text.push('\n');
    text.push_str(&result(99, json!({})).to_string());
    text.push_str("\nContent-Length: 12\r\n\r\n");
    text.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"session/upd");
    let (_folder, path) = write(text.as_bytes());
    let recording = formats::open(&path, &Patient).unwrap();
    let records = recording.session().report.records;
    assert_eq!((records.unreadable, records.unknown, records.torn), (1, 2, 1));
    assert_eq!(records.total, story().len() as u64 + 5);
    assert!(recording.session().report.problems.iter().any(|problem| problem.message.contains("without a request")));
    let unreadable = recording.session().events.all().iter().find(|event| event.kind == EventKind::Unreadable).unwrap();
    assert_eq!(recording.body(unreadable).unwrap().text, "not JSON");
}

#[test]
fn answers_that_devin_puts_on_the_call_are_a_step() {
    let mut messages = start();
    messages.extend([
        prompt(3, "Plan"),
        update(
            "tool_call",
            json!({ "toolCallId": "q#1", "kind": "other", "_meta": { "eventType": "ask_user_question",
            "cognition.ai/questions": [{ "question": "Which?", "options": [{ "label": "A" }, { "label": "B" }] }] } }),
        ),
        update(
            "tool_call_update",
            json!({ "toolCallId": "q#1", "status": "completed",
            "_meta": { "cognition.ai/answers": [{ "question_index": 0, "selected_options": ["B"] }] } }),
        ),
        stop(3),
    ]);
    let opened = open(&messages);
    assert_eq!(opened.summaries(), ["Plan", "Which? -> B"]);
    assert_eq!(opened.steps()[1].tool_call_id.as_deref(), Some("q#1"));
    assert_eq!(opened.recording.prompt(2).unwrap(), "Which?\n- A\n- B");
}

#[test]
fn deep_and_framed_messages_are_read() {
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    let mut text = lines(&story());
    text.push_str(&format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"sessionId\":\"s\",\"update\":{deep}}}}}\n"
    ));
    let (_folder, path) = write(text.as_bytes());
    assert_eq!(formats::open(&path, &Patient).unwrap().session().steps.len(), 3);

    let mut framed = String::new();
    for message in story() {
        let message = message.to_string();
        framed.push_str(&format!("Content-Length: {}\r\n\r\n{message}\n", message.len()));
    }
    let (_folder, path) = write(framed.as_bytes());
    let recording = formats::open(&path, &Patient).unwrap();
    assert_eq!((recording.session().steps.len(), recording.session().report.records.total), (3, story().len() as u64));
    use_all(&path);
}

/// Everything that is read on demand, on whatever could be opened.
fn use_all(path: &Path) {
    let Ok(recording) = formats::open(path, &Patient) else { return };
    let session = recording.session();
    let records = session.report.records;
    let sum = records.read + records.unknown + records.duplicate + records.unreadable + records.torn;
    assert_eq!(records.total, sum);
    for event in session.events.all() {
        recording.body(event).unwrap();
        recording.raw(event.place).unwrap();
        recording.origin(event.place).unwrap();
    }
    for step in &session.steps {
        recording.prompt(step.number).unwrap();
        recording.replay(step.number, &mut |_| Ok(())).unwrap();
        let _ = recording.revert(step.number, Watch::none());
        if let Ok(fork) = recording.fork(Cut::After(step.number), Watch::none()) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("fork.ndjson");
            write_new(&path, &fork.rewrite, Watch::none()).unwrap();
            let steps = formats::open(&path, &Patient).unwrap().session().steps.len();
            assert_eq!(steps, step.number as usize, "fork of step {}", step.number);
        }
    }
}

#[test]
fn a_stream_cut_anywhere_is_read() {
    let text = lines(&story());
    let (_folder, path) = write(b"");
    for cut in (0..text.len()).step_by(11) {
        std::fs::write(&path, &text[..cut]).unwrap();
        use_all(&path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_mutated_stream_is_read(at in 0.0..1.0_f64, byte in any::<u8>(), removed in 0_usize..60) {
        let mut bytes = lines(&story()).into_bytes();
        let at = (at * bytes.len() as f64) as usize;
        bytes.splice(at..(at + removed).min(bytes.len()), [byte]);
        let (_folder, path) = write(&bytes);
        use_all(&path);
    }

    #[test]
    fn messages_in_any_order_are_read(
            order in Just([story(), rewound()].concat()).prop_shuffle(),
            kept in 1_usize..40,
        ) {
        let (_folder, path) = write(lines(&order[..kept.min(order.len())]).as_bytes());
        let Ok(recording) = formats::open(&path, &Patient) else { return Ok(()) };
        let session = recording.session();
        for step in &session.steps {
            recording.prompt(step.number).unwrap();
            recording.replay(step.number, &mut |_| Ok(())).unwrap();
            prop_assert!(step.events.end <= session.events.len());
        }
        for pair in session.steps.windows(2) {
            prop_assert!(pair[0].events.end <= pair[1].events.start);
        }
    }
}

#[test]
fn samples_are_read_and_cut() {
    let samples = formats::detect::samples();
    let is_stream = |path: &&PathBuf| path.to_string_lossy().contains("/acp/");
    for path in samples.iter().filter(is_stream) {
        use_all(path);
        let report = &formats::open(path, &Patient).unwrap().session().report.clone();
        assert_eq!(report.records.read, report.records.total, "{}", path.display());
    }
}
