//! Runs: snapshots, stored events, reports.

use super::checkpoints::at;
use super::*;
use crate::model::{Decision, EventKind, Evidence, Fact, Outcome, StepKind};

fn snapshot() -> Value {
    json!({
        "version": 1, "id": "run-1", "kind": "workflow", "workflow": "release", "status": "failed", "seq": 0,
        "complete": true, "startedAt": at(0), "updatedAt": at(90), "heartbeatAt": at(80), "expiresAt": at(120),
        "tasks": [
            { "key": "build", "status": "done", "attempts": 1, "usage": {}, "startedAt": at(1), "finishedAt": at(30) },
            { "key": "test", "status": "failed", "attempts": 2, "usage": {}, "startedAt": at(31), "finishedAt": at(60),
              "error": { "code": "timeout", "message": "too slow" } }
        ],
        "dispatches": [
            { "id": "d1", "status": "done", "taskKey": "build", "agent": "codex", "commits": [{ "oid": "c1", "subject": "Build" }],
              "usage": {}, "passes": [{ "pass": 1, "usage": { "input": 5, "cached": 1, "output": 2 } }] },
            { "id": "d2", "status": "failed", "taskKey": "test", "commits": [], "usage": {}, "passes": [],
              "error": { "code": "timeout", "message": "too slow" } }
        ],
        "commits": [{ "oid": "c1", "subject": "Build" }],
        "usage": { "input": 5, "cached": 1, "output": 2 },
        "accounting": { "attempts": 3, "tokens": {}, "cost": { "currency": "USD", "amount": 0.25, "complete": true } },
        "errors": [{ "code": "timeout", "message": "too slow" }]
    })
}

fn labels(recording: &dyn Recording) -> Vec<&str> {
    recording.session().events.all().iter().map(|event| &*event.label).collect()
}

#[test]
fn a_snapshot_tells_of_tasks_dispatches_and_commits() {
    let opened = open_bytes("run.json", snapshot().to_string().as_bytes());
    assert_eq!(
        labels(opened.recording.as_ref()),
        [
            "workflow release started",
            "task build started",
            "pass 1 of codex: 5 tokens in, 1 cached, 2 out",
            "dispatch of codex done",
            "Build",
            "task build done",
            "task test started",
            "dispatch of an agent failed: too slow",
            "task test failed: too slow",
            "run failed",
        ]
    );
    let session = opened.recording.session();
    assert_eq!((session.id.as_str(), session.steps.len()), ("run-1", 0), "no person was asked anything");
    assert_eq!((session.usage.input, session.usage.cost), (Some(5), Some(0.25)));
    let Fact::Failure { code, message } = &session.events.all()[8].marker.as_ref().unwrap().fact else { panic!() };
    assert_eq!((code.as_deref(), message.as_str()), (Some("timeout"), "too slow"));
    assert!(matches!(session.events.all()[4].marker.as_ref().unwrap().fact, Fact::Commits { .. }));
    look_at_everything(opened.recording.as_ref());
}

#[test]
fn a_run_that_shows_no_life_is_abandoned_and_that_is_concluded() {
    let mut running = snapshot();
    running["status"] = json!("running");
    let opened = open_bytes("run.json", running.to_string().as_bytes());
    let last = opened.recording.session().events.all().last().unwrap();
    let marker = last.marker.as_ref().unwrap();
    assert_eq!((last.kind, marker.evidence), (EventKind::Interruption, Evidence::Inferred));
    running["expiresAt"] = json!("2999-01-01T00:00:00.000Z");
    let opened = open_bytes("run.json", running.to_string().as_bytes());
    assert_eq!(&*opened.recording.session().events.all().last().unwrap().label, "run running");
}

fn event(number: u32, event: Value) -> Value {
    json!({ "seq": number, "observationSeq": number, "at": at(number), "source": "workflow",
        "scope": { "executionId": "e1", "taskKey": "ship" }, "event": event })
}

fn workflow(kind: &str, key: &str, status: &str) -> Value {
    json!({ "kind": "workflow", "event": { "executionId": "e1", "workflow": "release", "type": kind, "key": key, "status": status } })
}

#[test]
fn stored_events_have_gates_questions_and_prompts_as_steps() {
    let store = Store::new();
    let events = [
        workflow("start", "", ""),
        json!({ "kind": "prompt", "text": "Add a header" }),
        json!({ "kind": "tool", "name": "bash", "input": { "command": "ls" }, "callId": "t1" }),
        json!({ "kind": "tool-result", "callId": "t1", "name": "bash", "isError": false, "preview": "files", "characters": 5 }),
        workflow("gate", "ship", "paused"),
        workflow("decision", "ship", "rejected"),
        workflow("input-request", "ask", "waiting-input"),
    ];
    for (index, one) in events.into_iter().enumerate() {
        let number = u32::try_from(index + 1).unwrap();
        store.put(&format!("runs/run-1/events/{number}"), event(number, one).to_string());
    }
    let mut snapshot = snapshot();
    snapshot["seq"] = json!(7);
    store.put("runs/run-1/index", snapshot.to_string());
    let recording = store.open("runs/run-1");
    look_at_everything(recording.as_ref());
    assert_eq!(problems(recording.as_ref()), [""; 0]);
    let session = recording.session();
    let kinds: Vec<(StepKind, Outcome)> = session.steps.iter().map(|step| (step.kind, step.outcome)).collect();
    assert_eq!(
        kinds,
        [
            (StepKind::Prompt, Outcome::Done),
            (StepKind::QuestionAnswer, Outcome::Done),
            (StepKind::QuestionAnswer, Outcome::Pending)
        ]
    );
    assert_eq!(recording.prompt(1).unwrap(), "Add a header");
    let tool = session.events.all().iter().find(|event| event.kind == EventKind::Tool).unwrap();
    let body = recording.body(tool).unwrap();
    assert_eq!((body.input.as_deref(), body.output.as_deref()), (Some(r#"{"command":"ls"}"#), Some("files")));
    let decided: Vec<Decision> = session
        .events
        .iter()
        .filter_map(|event| match &event.marker.as_ref()?.fact {
            Fact::Approval { decision, .. } => Some(*decision),
            _ => None,
        })
        .collect();
    assert_eq!(decided, [Decision::Denied], "a gate and its decision are one approval");
    let place = session.events.all()[1].place;
    assert_eq!(recording.origin(place).unwrap().path, store.path("runs/run-1/events/2"));

    // Events that are missing or cannot be read are told; what is there is shown.
    std::fs::remove_file(store.path("runs/run-1/events/3")).unwrap();
    std::fs::remove_file(store.path("runs/run-1/events/7")).unwrap();
    store.put("runs/run-1/events/4", "oops");
    let damaged = store.open("runs/run-1");
    look_at_everything(damaged.as_ref());
    assert_eq!(
        problems(damaged.as_ref()),
        [
            "event 3 of the run is not there; the next one is 4",
            "the event of the run cannot be read",
            "the run has 7 events, the last one that is there is 6"
        ]
    );
    std::fs::remove_file(store.path("runs/run-1/index")).unwrap();
    assert_eq!(store.open("runs/run-1").session().steps.len(), 2);
}

#[test]
fn a_report_has_no_steps_and_says_what_failed() {
    let report = json!({
        "version": 1, "completed": true, "text": "All done.", "durationMs": 1200, "usage": { "input": 1, "cached": 0, "output": 1 },
        "cost": null, "failedTools": [{ "tool": "bash", "command": "make", "preview": "no rule", "pass": 1, "subagentId": null }],
        "omittedFailures": 2, "warnings": ["slow"], "branch": "work/a", "commits": [{ "oid": "c1", "subject": "Fix" }],
        "diff": { "files": [{ "paths": ["a.rs"], "added": 3, "removed": 1, "binary": false }] }
    });
    let opened = open_bytes("report.json", report.to_string().as_bytes());
    assert_eq!(
        labels(opened.recording.as_ref()),
        [
            "bash make failed: no rule",
            "2 more failures of tools are left out",
            "warning: slow",
            "a.rs +3 -1",
            "Fix",
            "All done.",
            "dispatch completed"
        ]
    );
    assert_eq!(opened.recording.session().steps.len(), 0);
    look_at_everything(opened.recording.as_ref());
}
