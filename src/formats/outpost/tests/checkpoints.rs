//! Checkpoints: gates and questions as steps, and what tasks came to.

use super::*;
use crate::model::{Decision, EventKind, Fact, Outcome, QuestionState, StepKind, Timestamp};

/// The moment `seconds` after 10:00:00.
pub fn at(seconds: u32) -> String {
    format!("2026-02-03T10:{:02}:{:02}.000Z", seconds / 60, seconds % 60)
}

/// A checkpoint with these records; tasks that are done have an output.
pub fn checkpoint(records: Value) -> Value {
    let done = |record: &&Value| record["status"] == "done";
    let values: serde_json::Map<String, Value> = records
        .as_array()
        .into_iter()
        .flatten()
        .filter(done)
        .map(|record| (record["key"].as_str().unwrap().to_owned(), json!({ "kind": "json", "value": "out" })))
        .collect();
    json!({
        "format": 1, "identity": "0a", "executionId": "aaaaaaaa-0000-4000-8000-000000000000",
        "records": records, "values": values,
        "usage": { "attempts": 3, "tokens": { "input": 10, "cached": 4, "output": 2 } }
    })
}

pub fn gate(kind: &str, decision: Option<(&str, &str)>) -> Value {
    let mut gate = json!({
        "key": "ship", "status": "paused", "attempts": 0,
        "pause": { "kind": kind, "prompt": "Ship 2.0?", "actors": ["lead", "boss"], "id": "g1", "requestedAt": at(61) }
    });
    if let Some((action, status)) = decision {
        gate["status"] = json!(status);
        gate["finishedAt"] = json!(at(100));
        gate["decision"] = json!({
            "executionId": "aaaaaaaa-0000-4000-8000-000000000000", "key": "ship", "requestId": "g1",
            "action": action, "actor": "lead", "reason": "looks good", "decidedAt": at(100)
        });
    }
    gate
}

fn opened(records: Value) -> Opened {
    open_bytes("state.json", checkpoint(records).to_string().as_bytes())
}

fn facts(opened: &Opened) -> Vec<Fact> {
    let markers = opened.recording.session().events.all().iter().filter_map(|event| event.marker.as_ref());
    markers.map(|marker| marker.fact.clone()).collect()
}

#[test]
fn a_gate_that_waits_is_a_pending_step() {
    let opened = opened(json!([
        { "key": "build", "status": "done", "attempts": 1, "startedAt": at(0), "finishedAt": at(60) },
        gate("approval", None),
        { "key": "publish", "status": "waiting", "attempts": 0 }
    ]));
    let session = opened.recording.session();
    assert_eq!(session.id, "aaaaaaaa-0000-4000-8000-000000000000");
    assert_eq!((session.usage.input, session.usage.cache_read, session.usage.output), (Some(10), Some(4), Some(2)));
    assert_eq!(session.steps.len(), 1);
    let step = opened.step(1);
    assert_eq!((step.kind, step.outcome), (StepKind::QuestionAnswer, Outcome::Pending));
    assert_eq!((step.step_id.to_string(), step.summary.as_str()), ("g1".to_owned(), "Ship 2.0?"));
    assert_eq!(step.at, Timestamp::parse(&at(61)));
    assert_eq!(step.events.start, 2, "the task before the gate belongs to no step");
    assert_eq!(opened.recording.prompt(1).unwrap(), "Ship 2.0?");
    let Fact::Question { options, answers, state, .. } = &facts(&opened)[0] else { panic!() };
    assert_eq!((options.join(" "), answers.len(), *state), ("approve reject".to_owned(), 0, QuestionState::Pending));
    let Fact::Approval { tool, decision, by, waited_ms, asked, .. } = &facts(&opened)[1] else { panic!() };
    assert_eq!((tool.as_str(), *decision, by, *waited_ms), ("ship", Decision::Pending, &None, None));
    assert_eq!(asked.prompt.as_deref(), Some("Ship 2.0?"));
    assert_eq!(asked.actors, ["lead", "boss"]);
}

#[test]
fn a_decision_says_who_why_and_how_long_it_took() {
    for (kind, action, status, decision) in [
        ("approval", "approve", "done", Decision::Granted),
        ("pause", "resume", "done", Decision::Granted),
        ("approval", "reject", "rejected", Decision::Denied),
    ] {
        let mut record = gate(kind, Some((action, status)));
        record["decision"]["verification"] = json!({ "keyId": "k1", "verifiedAt": at(101) });
        let opened =
            opened(json!([record, { "key": "publish", "status": "skipped", "attempts": 0, "finishedAt": at(102) }]));
        assert_eq!(opened.step(1).outcome, Outcome::Done);
        assert_eq!(opened.step(1).summary, format!("Ship 2.0? -> {action}: looks good"));
        assert_eq!(opened.recording.session().title.as_deref(), Some("Ship 2.0?"));
        let Fact::Question { options, answers, .. } = &facts(&opened)[0] else { panic!() };
        assert_eq!(options[0], if kind == "pause" { "resume" } else { "approve" });
        assert_eq!(answers, &[format!("{action}: looks good")]);
        let Fact::Approval { decision: given, by, reason, waited_ms, asked, .. } = &facts(&opened)[1] else { panic!() };
        assert_eq!((*given, by.as_deref(), reason.as_deref()), (decision, Some("lead"), Some("looks good")));
        assert_eq!(*waited_ms, Some(39_000));
        assert_eq!(asked.verification, Some(format!("key k1, {}", at(101))));
        let labels: Vec<&str> = opened.events(1).iter().map(|event| &*event.label).collect();
        assert_eq!(labels, ["Ship 2.0?", &format!("ship: {action} by lead: looks good"), "task publish skipped"]);
    }
}

#[test]
fn a_question_is_a_step_with_its_answer() {
    let interaction = |answer: Value| {
        json!({
            "key": "ask", "status": "done", "attempts": 2, "startedAt": at(21), "finishedAt": at(30),
            "interaction": {
                "state": { "turns": 2 },
                "request": { "kind": "question", "question": "Which licence?", "choices": ["MIT", "Apache-2.0"],
                    "allowFreeText": false, "id": "q1", "key": "ask", "requestedAt": at(10) },
                "answer": answer
            }
        })
    };
    let answer = json!({ "key": "ask", "requestId": "q1", "actor": "owner", "value": "MIT", "answeredAt": at(20) });
    let opened = opened(json!([interaction(answer.clone())]));
    assert_eq!(opened.step(1).step_id.to_string(), "q1");
    let kinds: Vec<EventKind> = opened.events(1).iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Question, EventKind::Notice, EventKind::Text], "answered turns are no retries");
    assert_eq!(opened.events(1)[0].duration_ms, Some(10_000));
    assert_eq!(
        facts(&opened),
        [Fact::Question {
            question: "Which licence?".into(),
            options: vec!["MIT".into(), "Apache-2.0".into()],
            answers: vec!["MIT".into()],
            state: QuestionState::Answered,
        }]
    );
    assert_eq!(
        opened.recording.body(&opened.events(1)[0]).unwrap().text,
        "Which licence?\n- MIT\n- Apache-2.0\n\nowner: MIT"
    );
    let last = opened.lines().pop().unwrap();
    assert_eq!(last["text"], "MIT");

    let mut other = answer;
    other["requestId"] = json!("q0");
    let open = super::checkpoints::opened(json!([interaction(other)]));
    assert_eq!(open.step(1).outcome, Outcome::Pending, "the answer is one to an earlier question");
}

#[test]
fn tasks_are_told_in_the_order_of_their_times() {
    let opened = opened(json!([
        { "key": "late", "status": "failed", "attempts": 3, "startedAt": at(50), "finishedAt": at(55), "error": "boom" },
        { "key": "early", "status": "paused", "attempts": 1, "startedAt": at(1),
          "quota": { "requestedAt": at(5), "message": "limit", "resetAt": at(600) } },
        { "key": "loop", "status": "cancelled", "attempts": 1, "startedAt": at(20), "finishedAt": at(10),
          "rounds": [{ "round": 1, "phase": "check", "check": { "done": false, "feedback": "again" } }] }
    ]));
    let session = opened.recording.session();
    assert_eq!(session.steps.len(), 0);
    let labels: Vec<&str> = session.events.all().iter().map(|event| &*event.label).collect();
    assert_eq!(
        labels,
        [
            "task early started",
            "early paused: limit",
            "task loop was cancelled",
            "task loop started",
            "loop round 1: check, not done: again",
            "3 attempts of late are recorded",
            "task late started",
            "task late failed: boom",
        ]
    );
    assert_eq!(session.events.all()[2].duration_ms, None, "time does not go back");
    let markers: Vec<(String, bool)> = session
        .events
        .all()
        .iter()
        .filter_map(|event| event.marker.as_ref())
        .map(|marker| (marker.kind().word().to_owned(), marker.evidence == crate::model::Evidence::Recorded))
        .collect();
    let marker = |word: &str, is_recorded| (word.to_owned(), is_recorded);
    assert_eq!(
        markers,
        [marker("quota", true), marker("interruption", true), marker("retry", false), marker("failure", true)]
    );
    assert_eq!(session.title.as_deref(), Some("workflow late, early, loop"));
}

#[test]
fn nothing_of_a_checkpoint_can_be_cut() {
    let opened = opened(json!([gate("approval", None)]));
    let fork = opened.recording.fork(formats::Cut::After(1), Watch::none()).unwrap_err().to_string();
    assert!(fork.contains("cannot be resumed"), "{fork}");
    assert!(opened.recording.revert(1, Watch::none()).is_err());
    assert!(opened.step(1).revert_refusal.is_some());
    let missing = opened.recording.fork(formats::Cut::After(9), Watch::none()).unwrap_err().to_string();
    assert_eq!(missing, "there is no step 9; the session has 1");
}

#[test]
fn an_enveloped_checkpoint_is_read_bare_or_as_an_object() {
    let store = Store::new();
    let held = json!({ "owner": "p1", "checkpoint": checkpoint(json!([gate("approval", None)])) }).to_string();
    let path = store.put("checkpoints/0a.json", &held);
    let object = formats::open(&path, &Patient).unwrap();
    let bare = open_bytes("state.json", held.as_bytes());
    for recording in [&object, &bare.recording] {
        assert_eq!(recording.session().steps.len(), 1);
        assert_eq!(problems(recording.as_ref()), ["a process holds this checkpoint, or died while it held it"]);
        look_at_everything(recording.as_ref());
    }
    let place = object.session().events.all()[0].place;
    assert_eq!(object.origin(place).unwrap().path, path);
    assert_eq!(object.origin(place).unwrap().locator, crate::model::Locator::Index(0));
    assert_eq!(serde_json::from_slice::<Value>(&object.raw(place).unwrap()).unwrap()["pause"]["id"], "g1");
    let empty = open_bytes(
        "state.json",
        br#"{"owner":null,"checkpoint":null,"format":1,"identity":"","executionId":"","records":[]}"#,
    );
    assert_eq!(empty.recording.session().events.len(), 0);
}
