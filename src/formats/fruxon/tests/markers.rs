//! What is marked in a trace, and what is only concluded.

use serde_json::{Value, json};

use super::story::{at, called, judged, trace, tried};
use super::{alone, event, facts, labels};
use crate::model::{Decision, EventKind, Evidence, Fact, MarkerKind, Outcome, QuestionState, ToolState};

fn kinds(tries: Vec<Value>) -> Vec<(MarkerKind, Evidence)> {
    let (_folder, recording) = alone("t.json", trace("r", 0, 99, tries));
    let events = recording.session().events.all();
    events.iter().filter_map(|event| event.marker.as_ref()).map(|marker| (marker.kind(), marker.evidence)).collect()
}

#[test]
fn another_model_is_a_fallback_and_never_recorded_as_one() {
    let tries = vec![tried("a", "big", 1, 2, Some("529"), vec![]), tried("b", "small", 2, 3, None, vec![])];
    let (_folder, recording) = alone("t.json", trace("r", 0, 4, tries.clone()));
    let fact = facts(recording.session(), 1);
    let Some(Fact::Fallback { from, to, message, .. }) = fact.first() else { panic!("{fact:?}") };
    assert_eq!((from.as_deref(), to.as_deref(), message.as_deref()), (Some("a/big"), Some("b/small"), Some("529")));
    assert_eq!(recording.session().model.as_deref(), Some("small"));
    assert_eq!(kinds(tries), [(MarkerKind::Fallback, Evidence::Inferred)]);
    // Tries are compared in the order of their times, not of the file.
    let turned = vec![tried("b", "small", 2, 3, None, vec![]), tried("a", "big", 1, 2, Some("529"), vec![])];
    assert_eq!(kinds(turned), [(MarkerKind::Fallback, Evidence::Inferred)]);
    // The same model of another provider is another model.
    let moved = vec![tried("a", "big", 1, 2, None, vec![]), tried("b", "big", 2, 3, None, vec![])];
    assert_eq!(kinds(moved), [(MarkerKind::Fallback, Evidence::Inferred)]);
}

#[test]
fn the_same_model_after_an_error_is_a_retry() {
    let tries = vec![tried("a", "big", 1, 2, Some("500"), vec![]), tried("a", "big", 2, 3, None, vec![])];
    assert_eq!(kinds(tries), [(MarkerKind::Retry, Evidence::Inferred)]);
}

#[test]
fn a_quality_check_that_says_no_is_no_fallback() {
    let verdict = r#"{"metrics":[{"key":"tone","score":0.2}],"aggregate":0.4,"summary":"Rude."}"#;
    // Escaped twice, as some are.
    let twice = serde_json::to_string(verdict).unwrap();
    for verdict in [verdict, &twice] {
        let tries =
            vec![tried("a", "big", 1, 5, None, vec![judged(3, verdict)]), tried("a", "big", 6, 7, None, vec![])];
        let (_folder, recording) = alone("t.json", trace("r", 0, 8, tries.clone()));
        assert_eq!(kinds(tries), []);
        let session = recording.session();
        assert!(
            labels(session, &session.steps[0]).iter().any(|label| label.starts_with("quality check, rewritten: 0.40"))
        );
        let check = event(session, "quality check 0.40: Rude.");
        assert!(recording.body(check).unwrap().text.contains("\"aggregate\": 0.4"));
    }
    // Judges and summaries use models of their own.
    let mut summary = tried("j", "other", 2, 3, None, vec![]);
    summary["type"] = json!("SUMMARIZATION");
    let tries = vec![tried("a", "big", 1, 2, None, vec![]), summary, tried("a", "big", 4, 5, None, vec![])];
    assert_eq!(kinds(tries), [(MarkerKind::Compaction, Evidence::Recorded)]);
}

#[test]
fn the_last_try_that_fails_is_a_failure() {
    let judge = judged(2, r#"{"aggregate":0.4}"#);
    let tries = vec![tried("a", "big", 1, 3, Some("aggregate score 0.40 is below threshold 0.70"), vec![judge])];
    assert_eq!(kinds(tries.clone()), [(MarkerKind::Failure, Evidence::Recorded)]);
    let (_folder, recording) = alone("t.json", trace("r", 0, 8, tries));
    event(recording.session(), "failed the check: ");
    // A check that broke on the first try.
    let mut broken = judged(2, "");
    broken["error"] = json!("timeout");
    let (_folder, recording) = alone("t.json", trace("r", 0, 8, vec![tried("a", "big", 1, 3, None, vec![broken])]));
    event(recording.session(), "the reply went out unchecked");
    let over = vec![tried("a", "big", 1, 3, None, vec![called("c", "escalate_to_human", 2, json!(1))])];
    let (_folder, recording) = alone("t.json", trace("r", 0, 8, over));
    event(recording.session(), "handed to a person");
}

#[test]
fn tools_fail_wait_and_are_told_with_their_texts() {
    let mut failed = called("c2", "pay", 4, json!(null));
    failed["status"] = json!("ERROR");
    failed["error"] = json!("no answer");
    let mut open = called("c3", "wait", 5, json!(null));
    open["status"] = json!("UNSPECIFIED");
    open["endTime"] = json!(0);
    open["duration"] = json!(-at(5));
    let calls = vec![called("c1", "find", 2, json!({"id": 7})), failed, open];
    let (_folder, recording) = alone("t.json", trace("r", 0, 8, vec![tried("a", "big", 1, 8, None, calls)]));
    let session = recording.session();
    let tools: Vec<_> = session.events.all().iter().filter(|event| event.kind == EventKind::Tool).collect();
    let states: Vec<ToolState> = tools.iter().map(|event| event.tool.as_ref().unwrap().state).collect();
    assert_eq!(states, [ToolState::Done, ToolState::Failed, ToolState::Pending]);
    assert_eq!((tools[0].duration_ms, tools[2].duration_ms), (Some(1000), None));
    let body = recording.body(tools[0]).unwrap();
    assert_eq!((body.input.as_deref(), body.output.as_deref()), (Some("{\"order\":\"7\"}"), Some("{\"id\":7}")));
    assert_eq!(recording.body(tools[1]).unwrap().output.as_deref(), Some("no answer"));
    assert_eq!(session.steps[0].outcome, Outcome::Done, "a run may complete although a tool failed");
    let shown = recording.body(event(session, "a/big")).unwrap().text;
    assert!(shown.contains("provider: a") && shown.contains("model: big") && shown.contains("10 input"), "{shown}");
    assert_eq!(recording.origin(tools[0].place).unwrap().locator.words(), "key trace.traces.0.steps.0.steps.0");
}

fn decided(changes: Value) -> (Decision, Evidence, Option<String>) {
    let mut row = json!({
        "id": "ap", "gateType": "PROMPT_TOOL", "toolKey": "shop.refund", "executionRecordId": "r", "status": "PENDING",
        "createdAt": at(1), "decision": "",
    });
    for (key, value) in changes.as_object().unwrap() {
        row[key] = value.clone();
    }
    let (_folder, recording) = alone("a.json", json!([row]));
    let events = recording.session().events.all();
    let marker = events.iter().find_map(|event| event.marker.as_deref()).unwrap();
    let Fact::Approval { decision, reason, .. } = &marker.fact else { panic!() };
    (*decision, marker.evidence, reason.clone())
}

#[test]
fn approvals_end_in_every_way() {
    let text = |text: &str| Some(text.to_owned());
    for (changes, expected) in [
        (json!({}), (Decision::Pending, Evidence::Recorded, None)),
        (json!({"status": "RESPONDED", "decision": "APPROVE"}), (Decision::Granted, Evidence::Recorded, None)),
        (
            json!({"status": "responded", "decision": "reject", "responseText": "No."}),
            (Decision::Denied, Evidence::Recorded, text("No.")),
        ),
        (json!({"status": "EXPIRED"}), (Decision::Cancelled, Evidence::Recorded, text("expired"))),
        (
            json!({"status": "CANCELLED", "responseText": "late"}),
            (Decision::Cancelled, Evidence::Recorded, text("cancelled: late")),
        ),
        (
            json!({"status": "RESPONDED", "responseText": "Approve it"}),
            (Decision::Granted, Evidence::Inferred, text("Approve it")),
        ),
        (json!({"status": "RESPONDED", "responseText": "why?"}), (Decision::Denied, Evidence::Inferred, text("why?"))),
    ] {
        assert_eq!(decided(changes.clone()), expected, "{changes}");
    }
}

#[test]
fn refused_calls_of_a_stream_say_why() {
    for (reason, decision, said) in [
        ("rejected", Decision::Denied, "Too much."),
        ("expired", Decision::Cancelled, "expired"),
        ("withdrawn", Decision::Cancelled, "withdrawn: Too much."),
    ] {
        let lines = [
            json!({"type": "start", "schema_version": 1, "stream": "sandbox", "session": "fs_1"}),
            json!({"type": "tool_call", "toolName": "shop__refund", "toolCallId": "c"}),
            json!({"type": "pending_approval", "requestId": "ap", "toolKey": "shop.refund", "message": "Refund?"}),
            json!({"type": "tool_result", "toolCallId": "c", "outcome": "refused", "refusalReason": reason, "message": "Too much."}),
            json!({"type": "turn_complete", "outcome": "silent"}),
        ];
        let (_folder, recording) = alone("s.ndjson", lines.map(|line| format!("{line}\n")).concat());
        let session = recording.session();
        let fact = facts(session, 1);
        let [Fact::Approval { decision: got, reason: why, .. }] = fact.as_slice() else { panic!("{fact:?}") };
        assert_eq!((*got, why.as_deref()), (decision, Some(said)));
        let tool = session.events.all().iter().find(|event| event.kind == EventKind::Tool).unwrap();
        assert_eq!(tool.tool.as_ref().unwrap().state, ToolState::Denied);
        assert!(session.events.all().iter().any(|event| event.kind == EventKind::Approval && event.folded));
        event(session, "the agent chose not to answer");
    }
}

#[test]
fn runs_end_as_their_records_say() {
    for (status, outcome, marker) in [
        ("COMPLETED", Outcome::Done, None),
        ("failed", Outcome::Failed, Some(MarkerKind::Failure)),
        ("REJECTED", Outcome::Failed, Some(MarkerKind::Failure)),
        ("CANCELLED", Outcome::Interrupted, Some(MarkerKind::Interruption)),
        ("IN_PROGRESS", Outcome::Pending, None),
        ("SOMETHING_NEW", Outcome::Unknown, None),
    ] {
        let mut record = super::story::record("r", status, 0, Some(1));
        record["rejectionReason"] = json!("BUDGET_EXCEEDED");
        record["deliveryStatus"] = json!("WITHHELD");
        let (_folder, recording) = alone("r.json", record);
        let session = recording.session();
        assert_eq!(session.steps[0].outcome, outcome, "{status}");
        assert_eq!(
            session.events.all().iter().find_map(|event| event.marker.as_ref()).map(|marker| marker.kind()),
            marker
        );
        event(session, "the reply was not delivered: WITHHELD");
        assert!(session.capabilities.len() == 1 && session.steps[0].fork_refusal.is_some());
    }
}

#[test]
fn a_run_that_waits_for_a_person_asks_a_question() {
    let mut record = super::story::record("r", "WAITING_FOR_ASYNC", 0, None);
    record["waitingFor"] =
        json!({"kind": "CONSULT", "displayName": "Ann", "participantKind": "PERSON", "waitingSince": at(1)});
    let (_folder, recording) = alone("r.json", record);
    let fact = facts(recording.session(), 1);
    assert!(matches!(fact.as_slice(), [Fact::Question { state: QuestionState::Pending, .. }]), "{fact:?}");
}
