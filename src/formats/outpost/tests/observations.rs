//! Logs of nested observations, of one dispatch and of several.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::formats::testing;
use crate::formats::{Cut, Effect, OpenError, SessionRef};
use crate::model::{
    Capability, Decision, EventKind, Fact, FormatName, Locator, NodeId, Outcome, ProblemKind, QuestionState, Session,
    StepKind,
};

const RUN: &str = "e0000000-0000-4000-8000-00000000000e";

/// A record of a log: who wrote it, and the event.
fn observed(seq: usize, source: &str, scope: Value, event: Value) -> Value {
    let at = format!("2026-02-03T10:{:02}:{:02}.000Z", seq / 60, seq % 60);
    json!({ "seq": seq, "at": at, "source": source, "scope": scope, "event": event })
}

/// The entries of a flat journal as a dispatch of the run wrote them.
fn nested(dispatch: &str, entries: Value) -> Vec<Value> {
    let entries = enveloped(entries).into_iter().enumerate();
    let nest = |(number, mut entry): (usize, Value)| {
        let fields = entry.as_object_mut().unwrap();
        let source = fields.shift_remove("source").unwrap();
        for field in ["at", "seq", "scope"] {
            fields.shift_remove(field);
        }
        let scope = json!({ "executionId": RUN, "taskKey": "t", "dispatchId": dispatch });
        observed(number, source.as_str().unwrap(), scope, entry)
    };
    entries.map(nest).collect()
}

fn workflow(seq: usize, event: Value) -> Value {
    let mut event = event;
    event["executionId"] = json!(RUN);
    event["workflow"] = json!("release");
    observed(seq, "workflow", json!({ "executionId": RUN }), json!({ "kind": "workflow", "event": event }))
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn adds_up(session: &Session) {
    let records = session.report.records;
    let fates = records.read + records.unknown + records.duplicate + records.unreadable + records.torn;
    assert_eq!((fates, records.total), (records.total, session.nodes as u64), "{records:?}");
}

fn open_key(opened: &Opened, key: &str) -> Result<Arc<dyn Recording>, OpenError> {
    formats::open_session(&SessionRef { paths: vec![opened.path.clone()], key: Some(key.to_owned()) }, &Patient)
}

#[test]
fn a_nested_log_is_read_as_the_journal_in_it() {
    let records = nested("d1", worked_example());
    let flat = open(worked_example());
    for (name, text) in [("o.jsonl", lines(&records)), ("o.json", Value::Array(records.clone()).to_string())] {
        let opened = open_bytes(name, text.as_bytes());
        let (session, expected) = (opened.recording.session(), flat.recording.session());
        adds_up(session);
        assert_eq!((session.format, session.id.as_str()), (FormatName::OutpostObservations, "d1"));
        assert_eq!(session.events.len(), expected.events.len());
        for (event, other) in session.events.all().iter().zip(expected.events.all()) {
            assert_eq!((event.kind, &event.node, &event.label), (other.kind, &other.node, &other.label));
            assert_eq!(opened.recording.body(event).unwrap(), flat.recording.body(other).unwrap());
        }
        assert_eq!(opened.lines(), flat.lines());
        let place = session.steps[1].place;
        let raw: Value = serde_json::from_slice(&opened.recording.raw(place).unwrap()).unwrap();
        assert_eq!(raw, records[4], "as it stands in the log");
        let locator = opened.recording.origin(place).unwrap().locator;
        assert_eq!(locator, if name.ends_with('l') { Locator::Line(5) } else { Locator::Index(4) });

        let fork = opened.recording.fork(Cut::After(2), Watch::none()).unwrap();
        assert_eq!((fork.steps, fork.file_name.as_str()), (2, "o.step-2.json"));
        let revert = opened.recording.revert(2, Watch::none()).unwrap();
        assert!(matches!(revert.effect, Effect::Export(fork) if fork.steps == 1));
        let again = opened.reopen(&fork);
        assert_eq!(
            (again.recording.session().format, again.recording.session().steps.len()),
            (FormatName::OutpostJournal, 2)
        );
        assert_eq!(again.recording.session().report.problems, []);
    }
}

/// Two dispatches of one run, interleaved with each other and with the run's own events.
fn two() -> Vec<Value> {
    let turn = |text: &str| {
        json!([
            { "kind": "prompt", "text": text, "pass": 1 },
            { "kind": "text", "text": text },
            { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } },
            { "kind": "dispatch-finished", "source": "sandbox", "status": "done" }
        ])
    };
    let (one, other) = (nested("d1", turn("one")), nested("d2", turn("two")));
    let mut records = vec![
        observed(0, "git", json!({}), json!({ "kind": "operation", "id": "o", "name": "lock", "status": "failed" })),
        workflow(1, json!({ "type": "start" })),
    ];
    for (a, b) in one.into_iter().zip(other) {
        records.extend([a, b]);
    }
    records.push(observed(30, "agent", json!({ "executionId": RUN }), json!({ "kind": "prompt", "text": "nobody's" })));
    records.push(workflow(31, json!({ "type": "finish", "status": "done", "durationMs": 30000 })));
    records
}

#[test]
fn dispatches_of_one_log_are_sessions_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    std::fs::write(&path, lines(&two())).unwrap();
    assert!(matches!(formats::open(&path, &Patient), Err(OpenError::Several { .. })));
    let source = formats::sessions_of(std::slice::from_ref(&path), &Patient).unwrap();
    let mut listed: Vec<_> = source
        .sessions
        .iter()
        .map(|session| (session.id.clone().unwrap(), session.title.clone().unwrap(), session.status.clone().unwrap()))
        .collect();
    listed.sort();
    let row = |id: &str, title: &str| (id.to_owned(), title.to_owned(), "done".to_owned());
    assert_eq!(listed, [row("d1", "one"), row("d2", "two"), row(RUN, "workflow release")]);

    for listed in &source.sessions {
        let recording = formats::open_session(&listed.reference, &Patient).unwrap();
        let session = recording.session();
        adds_up(session);
        assert_eq!(Some(&session.id), listed.id.as_ref());
        let labels: Vec<_> = session.events.all().iter().map(|event| &*event.label).collect();
        if session.id == RUN {
            assert_eq!((session.steps.len(), session.nodes, session.capabilities.len()), (0, 4, 1));
            assert_eq!(
                labels,
                ["operation lock failed", "workflow release started", "workflow release done after 30 s"]
            );
            continue;
        }
        assert_eq!((session.steps.len(), session.nodes), (1, 8));
        assert!(labels.contains(&"workflow release started"));
        let fork = recording.fork(Cut::After(1), Watch::none()).unwrap();
        let path = folder.path().join(&fork.file_name);
        write_new(&path, &fork.rewrite, Watch::none()).unwrap();
        let again = formats::open(&path, &Patient).unwrap();
        assert_eq!((again.session().nodes, again.session().steps.len()), (4, 1), "its own entries alone");
        std::fs::remove_file(path).unwrap();
    }
    let opened =
        Opened { recording: formats::open_session(&source.sessions[0].reference, &Patient).unwrap(), folder, path };
    assert!(matches!(open_key(&opened, "d3"), Err(OpenError::NoSession { .. })));
}

#[test]
fn a_decision_belongs_to_its_gate_and_an_answer_to_its_question() {
    let mut records = nested("d1", json!([{ "kind": "prompt", "text": "go" }]));
    records.extend([
        workflow(1, json!({ "type": "gate", "key": "ship", "status": "paused" })),
        workflow(1, json!({ "type": "task", "key": "ship", "status": "paused" })),
        workflow(2, json!({ "type": "gate", "key": "hold", "status": "paused" })),
        workflow(3, json!({ "type": "input-request", "key": "ask", "status": "waiting-input" })),
        workflow(61, json!({ "type": "decision", "key": "ship", "status": "done" })),
        workflow(62, json!({ "type": "input-answer", "key": "ask" })),
        workflow(63, json!({ "type": "retry", "key": "build", "attempt": 2, "delayMs": 1500 })),
        workflow(64, json!({ "type": "quota", "key": "build", "resetAt": "2026-02-03T15:00:00.000Z" })),
        workflow(65, json!({ "type": "loop", "key": "build", "round": 2, "phase": "check" })),
        workflow(66, json!({ "type": "budget-exceeded" })),
        workflow(67, json!({ "type": "task", "key": "build", "status": "failed", "error": "exit 1", "attempt": 2, "durationMs": 2100 })),
        workflow(68, json!({ "type": "task", "key": "publish", "status": "skipped" })),
        workflow(69, json!({ "type": "finish", "status": "failed", "terminationCode": "process" })),
    ]);
    let opened = open_bytes("o.jsonl", lines(&records).as_bytes());
    let events: Vec<_> = opened.events(1).iter().filter(|event| !event.folded).collect();
    let rows: Vec<_> = events.iter().map(|event| (event.kind, &*event.label)).collect();
    assert_eq!(
        rows,
        [
            (EventKind::Approval, "ship waits for a decision"),
            (EventKind::Notice, "task ship paused"),
            (EventKind::Approval, "hold waits for a decision"),
            (EventKind::Question, "ask waits for an answer"),
            (EventKind::Retry, "task build is tried again in 1.5 s (attempt 2)"),
            (EventKind::Quota, "task build paused on a limit"),
            (EventKind::Notice, "task build loop check, round 2"),
            (EventKind::Quota, "the budget is exceeded"),
            (EventKind::Failure, "task build failed after 2.1 s (attempt 2)"),
            (EventKind::Notice, "task publish skipped"),
            (EventKind::Failure, "workflow release failed"),
        ]
    );
    let fact = |index: usize| events[index].marker.as_ref().unwrap().fact.clone();
    assert!(matches!(fact(0), Fact::Approval { decision: Decision::Granted, waited_ms: Some(60_000), .. }));
    assert!(matches!(fact(2), Fact::Approval { decision: Decision::Pending, waited_ms: None, .. }));
    assert!(matches!(fact(3), Fact::Question { state: QuestionState::Answered, .. }));
    assert!(matches!(fact(8), Fact::Failure { message, .. } if message == "exit 1"));
    assert!(matches!(fact(10), Fact::Failure { code: Some(code), .. } if code == "process"));
    assert_eq!(opened.own_events(1).len(), 0);
}

#[test]
fn a_question_in_a_turn_and_its_workflows_are_one() {
    let block = r#"<interaction>{"kind":"question","question":"Which licence?","choices":["MIT"]}</interaction>"#;
    for (task, is_joined) in [("t", true), ("another", false)] {
        let mut records =
            nested("d1", json!([{ "kind": "prompt", "text": "go" }, { "kind": "result", "text": block }]));
        records.extend([
            workflow(10, json!({ "type": "input-request", "key": task })),
            workflow(40, json!({ "type": "input-answer", "key": task })),
        ]);
        let opened = open_bytes("o.jsonl", lines(&records).as_bytes());
        let marked: Vec<_> = opened.events(1).iter().filter_map(|event| event.marker.as_ref()).collect();
        assert_eq!(marked.len(), if is_joined { 1 } else { 2 });
        let Fact::Question { question, state, .. } = &marked[0].fact else { panic!("a question") };
        let expected = if is_joined { QuestionState::Answered } else { QuestionState::Pending };
        assert_eq!((question.as_str(), *state), ("Which licence?", expected));
    }
}

#[test]
fn the_steps_of_a_workflow_are_what_it_asked_a_person() {
    let records = [
        workflow(0, json!({ "type": "start" })),
        workflow(1, json!({ "type": "gate", "key": "ship", "status": "paused" })),
        workflow(2, json!({ "type": "task", "key": "ship", "status": "paused" })),
        workflow(3, json!({ "type": "decision", "key": "ship", "status": "rejected" })),
        workflow(4, json!({ "type": "input-request", "key": "ask" })),
    ];
    let opened = open_bytes("o.jsonl", lines(&records).as_bytes());
    let session = opened.recording.session();
    assert_eq!((session.id.as_str(), session.title.as_deref()), (RUN, Some("workflow release")));
    let steps: Vec<_> = session
        .steps
        .iter()
        .map(|step| {
            (step.kind, step.summary.as_str(), step.outcome, step.step_id.clone(), step.user_message_id.clone())
        })
        .collect();
    assert_eq!(
        steps,
        [
            (
                StepKind::QuestionAnswer,
                "ship waits for a decision",
                Outcome::Done,
                NodeId::Number(1),
                Some(NodeId::Number(3))
            ),
            (StepKind::QuestionAnswer, "ask waits for an answer", Outcome::Pending, NodeId::Number(4), None),
        ]
    );
    assert_eq!(opened.events(1).len(), 3);
    assert_eq!(opened.recording.prompt(2).unwrap(), "ask waits for an answer");
    assert_eq!(opened.lines()[0]["event"]["event"]["type"], "gate");
    assert!(opened.recording.fork(Cut::After(1), Watch::none()).is_err());
    assert_eq!(session.capabilities, [Capability::Replay]);
}

#[test]
fn observations_of_nobody_in_particular_are_one_session() {
    let mut records = nested("d", json!([{ "kind": "prompt", "text": "go" }, { "kind": "text", "text": "x" }]));
    for record in &mut records {
        record["scope"] = json!({});
    }
    let opened = open_bytes("o.jsonl", lines(&records).as_bytes());
    assert_eq!((opened.recording.session().steps.len(), opened.own_events(1).len()), (1, 1));
    assert_eq!(opened.recording.session().id, "o");
}

#[test]
fn records_that_cannot_be_read_are_shown_in_their_place() {
    let mut text = lines(&nested("d", json!([{ "kind": "prompt", "text": "go" }, { "kind": "text", "text": "x" }])));
    text.push_str("{\"seq\":3,\"source\":\"agent\",\"scope\":7,\"event\":9}\n{\"seq\":NaN,\"event\":{}}\n7\n");
    text.push_str(
        "{\"seq\":9,\"at\":\"x\",\"source\":\"agent\",\"scope\":{\"dispatchId\":\"d\"},\"event\":{\"kind\":\"te",
    );
    let opened = open_bytes("o.jsonl", text.as_bytes());
    let session = opened.recording.session();
    adds_up(session);
    let records = session.report.records;
    assert_eq!((records.read, records.unreadable, records.torn), (2, 3, 1));
    let first = session.report.problems.iter().find(|problem| problem.kind == ProblemKind::Unreadable).unwrap();
    assert_eq!((&first.locator, first.message.as_str()), (&Locator::Line(3), "the observation has no event"));
    let unreadable = opened.events(1).iter().find(|event| event.kind == EventKind::Unreadable).unwrap();
    assert!(opened.recording.body(unreadable).unwrap().text.contains("\"event\":9"));
}

#[test]
fn the_public_sample_is_read_as_its_description_says() {
    let path = testing::samples("outpost/examples/31-observation-hub/state/observations.jsonl");
    let Some(path) = path else {
        println!("left out: there are no sample files on this machine");
        return;
    };
    let recording = formats::open(&path, &Patient).unwrap();
    let session = recording.session();
    adds_up(session);
    assert_eq!((session.nodes, session.steps.len()), (146, 1));
    let own: Vec<_> = session.events_of(&session.steps[0]).iter().filter(|event| !event.place.is_extra()).collect();
    assert_eq!(own.len(), 94);
    let raw = |event: &Event| String::from_utf8(recording.raw(event.place).unwrap()).unwrap();
    assert_eq!(own.iter().filter(|event| raw(event).contains(r#""kind":"text-delta""#)).count(), 59);
    let usage = session.steps[0].usage;
    assert_eq!((usage.input, usage.cache_read, usage.output), (Some(14589), Some(7680), Some(263)));
    let changes = recording.replay_turns().unwrap()[0].changes.clone();
    assert!(matches!(changes, Some(formats::ReplayChanges::Unavailable { .. })));
    let labels: Vec<_> = session.events.all().iter().map(|event| &*event.label).collect();
    assert!(labels.contains(&"task files done after 0.2 s") && labels.contains(&"task summary done after 21 s"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn damaged_logs_never_bring_the_reader_down(
        damage in proptest::collection::vec((0..4_000_usize, any::<u8>()), 0..12),
        end in 0..6_000_usize,
    ) {
        let mut bytes = lines(&two()).into_bytes();
        for (at, byte) in damage {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        bytes.truncate(end);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        std::fs::write(&path, &bytes).unwrap();
        let sessions = formats::sessions_of(std::slice::from_ref(&path), &Patient).map(|source| source.sessions);
        for listed in sessions.unwrap_or_default().iter().filter(|listed| listed.format == FormatName::OutpostObservations) {
            let recording = formats::open_session(&listed.reference, &Patient).unwrap();
            let session = recording.session();
            adds_up(session);
            for event in session.events.all() {
                recording.body(event).unwrap();
            }
            for step in &session.steps {
                let fork = recording.fork(Cut::After(step.number), Watch::none()).unwrap();
                let path = folder.path().join(format!("fork-{}-{}.json", listed.id.as_deref().unwrap_or_default().len(), step.number));
                let _ = std::fs::remove_file(&path);
                write_new(&path, &fork.rewrite, Watch::none()).unwrap();
                prop_assert_eq!(formats::open(&path, &Patient).unwrap().session().steps.len() as u32, step.number);
            }
        }
    }
}
