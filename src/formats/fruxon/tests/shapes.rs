//! The rarer shapes, each opened alone.

use serde_json::{Value, json};

use super::story::{self, at};
use super::{alone, event, facts, summaries};
use crate::formats::testing::replayed;
use crate::model::{EventKind, Fact, FormatName, Outcome};

fn steps_trace() -> Value {
    let mut trace = story::fallback_trace();
    let steps = trace["trace"]["traces"].take();
    trace["trace"].as_object_mut().unwrap().remove("traces");
    trace["trace"]["steps"] = steps;
    trace
}

fn projected() -> Value {
    json!({"executionRecordId": "r2", "rawSpanCount": 4, "traces": story::fallback_trace()["trace"]["traces"]})
}

fn spans() -> Value {
    let span = |name: &str, code: u8| {
        json!({
            "name": name, "startTimeUnixNano": (at(1) * 1_000_000).to_string(), "endTimeUnixNano": (at(3) * 1_000_000).to_string(),
            "status": {"code": code, "message": "timeout"},
        })
    };
    json!({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [span("chat", 1), span("tool", 2)]}]}]})
}

fn raw_spans() -> Value {
    json!({"executionRecordId": "r2", "spans": [{"name": "chat", "startTimeUnixNano": at(1) * 1_000_000, "rawJson": "{}"}]})
}

fn result() -> Value {
    json!({
        "agentExecutionRecordId": "r2", "agentId": "desk", "parameters": {"message": "Send it back.", "lang": "en"},
        "result": {"strValue": "Done.", "jsonValue": null, "fileLink": null}, "createdAt": at(70),
    })
}

fn executed() -> Value {
    json!({
        "response": "Done.", "executionRecordId": "r2", "sessionId": "ts_1", "links": [],
        "trace": {"agentId": "desk", "agentRevision": 3, "startTime": at(60), "endTime": at(69), "parameters": {"q": "Hi"},
            "traces": [], "inputTokens": 5, "outputTokens": 1, "totalCost": 0.1},
    })
}

fn scenarios() -> Value {
    let frames = json!([
        {"type": "tool_call", "toolName": "shop__find", "toolCallId": "c"},
        {"type": "tool_result", "toolCallId": "c", "outcome": "completed"},
        {"type": "reply", "text": "Here.", "at": at(1)},
        {"type": "turn_complete", "outcome": "replied"},
    ]);
    json!({"passed": false, "total": 2, "results": [
        {"name": "finds", "agent": "desk", "passed": true, "assertions": [{"kind": "replied", "passed": true}], "transcript": frames},
        {"name": "pays", "agent": "desk", "passed": false, "failures": ["no payment"], "transcript": []},
    ]})
}

fn stage() -> Value {
    json!({
        "id": "s", "stageId": "st", "seedKind": "TYPED", "executionRecordId": "r7", "userQuery": "Sort this", "output": "Sorted.",
        "verdict": {"kind": "ADVANCE", "toStatus": "open"}, "cost": "0.2", "simulatedCalls": [{"tool": "x"}],
    })
}

fn evaluation() -> Value {
    json!([{"sampleId": "s", "parameters": {"text": "Hi"}, "baseRevisionResult": {"response": "A"},
        "candidateRevisionResult": {"response": "B"}, "verdict": {"outcome": "CANDIDATE", "reason": "kinder"}}])
}

fn impact() -> Value {
    json!({"executionId": "r2", "runGroupId": "g", "configs": [{"displayName": "Shop", "diff": {"added": [1], "modified": [], "removed": []}}]})
}

fn channel() -> Value {
    let row = |from: &str, text: &str, seconds: i64| json!({"id": format!("m{seconds}"), "from": from, "message": text, "conversationId": "c1", "createdAt": at(seconds)});
    json!({"items": [row("fruxon", "Hello.", 5), row("+49", "Hi", 1), row("fruxon:7", "Me too", 9)]})
}

fn audit() -> Value {
    let event = |kind: &str, seconds: i64| {
        json!({"id": kind, "approvalRequestId": "ap", "agentId": "desk", "toolKey": "shop.refund", "eventType": kind,
            "actor": "lead", "createdAt": at(seconds), "decision": if kind == "RESPONDED" { "APPROVE" } else { "" }})
    };
    json!([event("RESPONDED", 65), event("REQUESTED", 5)])
}

/// One of each, for the tests of damage.
pub fn more() -> Vec<Value> {
    vec![
        steps_trace(),
        projected(),
        spans(),
        raw_spans(),
        result(),
        executed(),
        scenarios(),
        stage(),
        evaluation(),
        impact(),
        channel(),
        audit(),
        story::fallback_trace()["trace"].clone(),
    ]
}

#[test]
fn every_envelope_of_a_trace_tells_the_same() {
    for trace in [steps_trace(), projected(), story::fallback_trace()["trace"].clone()] {
        let (_folder, recording) = alone("t.json", &trace);
        let session = recording.session();
        assert_eq!((session.id.as_str(), session.format), ("r2", FormatName::FruxonTrace), "{trace}");
        assert!(matches!(facts(session, 1).as_slice(), [Fact::Fallback { .. }]));
        assert!(session.events.all().iter().any(|event| event.kind == EventKind::Tool));
    }
}

#[test]
fn spans_are_shown_as_they_are() {
    let (_folder, recording) = alone("o.json", spans());
    let session = recording.session();
    assert_eq!(session.events.len(), 2);
    assert_eq!((session.events.all()[0].duration_ms, session.events.all()[0].at.unwrap().0), (Some(2000), at(1)));
    assert_eq!(session.events.all()[1].kind, EventKind::Failure);
    let (_folder, recording) = alone("o.json", raw_spans());
    assert_eq!(recording.session().events.len(), 1);
}

#[test]
fn what_a_run_was_given_is_its_prompt() {
    for (content, prompt, reply) in
        [(result(), "Send it back.", "Done."), (executed(), "Hi", "Done."), (stage(), "Sort this", "Sorted.")]
    {
        let (_folder, recording) = alone("r.json", content);
        let session = recording.session();
        assert_eq!(summaries(session), [prompt]);
        assert!(session.events.all().iter().any(|event| event.kind == EventKind::Text && &*event.label == reply));
        assert_eq!(recording.replay_turns().unwrap()[0].prompt.as_deref(), Some(prompt));
    }
    let (_folder, recording) = alone("t.json", story::fallback_trace());
    assert!(recording.prompt(1).unwrap().starts_with('('), "a sentence where no file holds the message");
    assert_eq!(recording.replay_turns().unwrap()[0].prompt, None);
}

#[test]
fn calls_that_are_listed_beside_a_record_are_told() {
    let mut record = story::record("r1", "COMPLETED", 0, Some(1));
    record["toolCalls"] = json!([
        {"path": "1.1", "tool": "shop.find", "displayName": "Find", "status": "SUCCESS", "arguments": {"order": 7}, "resultPreview": "[7]"},
        {"path": "1.2", "tool": "shop.pay", "status": "ERROR", "arguments": {}, "resultPreview": "no answer"},
    ]);
    let (_folder, recording) = alone("r.json", json!([record]));
    let session = recording.session();
    let find = event(session, "Find");
    let body = recording.body(find).unwrap();
    assert_eq!((body.input.as_deref(), body.output.as_deref()), (Some("{\"order\":7}"), Some("[7]")));
    assert!(matches!(facts(session, 1).as_slice(), [Fact::Failure { message, .. }] if message == "no answer"));
}

#[test]
fn scenarios_are_steps() {
    let (_folder, recording) = alone("s.json", scenarios());
    let session = recording.session();
    assert_eq!(summaries(session), ["finds", "pays"]);
    assert_eq!([session.steps[0].outcome, session.steps[1].outcome], [Outcome::Done, Outcome::Failed]);
    event(session, "assertion replied · passed");
    assert!(matches!(facts(session, 2).as_slice(), [Fact::Failure { message, .. }] if message == "no payment"));
}

#[test]
fn evaluations_and_impacts_are_told() {
    let (_folder, recording) = alone("e.json", evaluation());
    assert_eq!(summaries(recording.session()), ["Hi"]);
    event(recording.session(), "verdict: CANDIDATE · kinder");
    let (_folder, recording) = alone("i.json", impact());
    event(recording.session(), "simulated Shop: 1 added, 0 modified, 0 removed");
}

#[test]
fn channels_are_sorted_and_told_apart_by_who_wrote() {
    let (_folder, recording) = alone("c.json", channel());
    let session = recording.session();
    assert_eq!((session.id.as_str(), session.format), ("c1", FormatName::FruxonTranscript));
    assert_eq!(summaries(session), ["Hi", "Me too"]);
    assert_eq!(session.steps[0].user_message_id.as_ref().unwrap().to_string(), "m1");
    let mut other = channel();
    other["items"][2]["conversationId"] = json!("c2");
    let folder = super::Folder::new(&[("c.json", other.to_string())]);
    assert_eq!(folder.sessions().sessions.len(), 2);
}

#[test]
fn audit_events_make_one_approval() {
    let (_folder, recording) = alone("a.json", audit());
    let fact = facts(recording.session(), 1);
    let [Fact::Approval { by, waited_ms, decision, .. }] = fact.as_slice() else { panic!("{fact:?}") };
    assert_eq!((by.as_deref(), *waited_ms), (Some("lead"), Some(60_000)));
    assert_eq!(*decision, crate::model::Decision::Granted);
}

#[test]
fn a_draft_run_is_a_step() {
    let (_folder, recording) = alone("d.ndjson", story::draft_runs());
    let session = recording.session();
    assert_eq!((session.id.as_str(), session.steps.len()), ("ts_d", 2));
    assert_eq!(session.steps[0].step_id.to_string(), "d1");
    assert_eq!((session.steps[0].usage.input, session.steps[0].usage.cost), (Some(30), Some(0.5)));
    let said = session.events.all().iter().find(|event| event.kind == EventKind::Text).unwrap();
    assert_eq!(recording.body(said).unwrap().text, "It is here.");
    assert_eq!(session.steps[1].outcome, Outcome::Failed);
    let lines = replayed(recording.as_ref(), [1]);
    assert_eq!(lines.last().unwrap()["text"], "It is here.");
    assert_eq!(lines.last().unwrap()["interrupted"], false);
    let lines = replayed(recording.as_ref(), [2]);
    assert_eq!(lines.last().unwrap()["failure"]["code"], "PROVIDER");
}

#[test]
fn a_transcript_has_the_numbers_of_its_rows() {
    let (_folder, recording) = alone("t.json", story::topic());
    let session = recording.session();
    assert_eq!(summaries(session), ["Hi", "Once more?"]);
    let ids: Vec<Value> = session.steps.iter().map(|step| json!([step.step_id, step.user_message_id])).collect();
    assert_eq!(ids, [json!(["q1", 11]), json!([13, 13])], "one run answers both: its id is taken");
    assert_eq!(session.steps[1].outcome, Outcome::HandedOver);
    event(session, "a colleague took over");
}
