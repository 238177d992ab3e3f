//! Logs opened together with the checkpoint of their execution.

use super::checkpoints::{at, checkpoint, gate};
use super::*;
use crate::formats::SessionRef;
use crate::model::{Decision, EventKind, Fact, QuestionState};

const EXECUTION: &str = "aaaaaaaa-0000-4000-8000-000000000000";

/// A journal of one turn that ends with a question, in the given execution.
fn journal(execution: &str, more: &[Value]) -> Value {
    let ask = r#"<interaction>{"kind":"question","question":"Which licence?","choices":["MIT"]}</interaction>"#;
    let mut entries = vec![
        json!({ "kind": "prompt", "text": "Add a header" }),
        json!({ "kind": "text", "text": ask }),
        json!({ "kind": "summary", "durationMs": 1, "status": 0, "tokens": { "input": 1, "cached": 0, "output": 1 } }),
    ];
    entries.extend(more.iter().cloned());
    let mut entries = enveloped(Value::Array(entries));
    for entry in &mut entries {
        entry["scope"] = json!({ "dispatchId": "d1", "executionId": execution, "taskKey": "ask" });
    }
    Value::Array(entries)
}

fn records() -> Value {
    json!([
        { "key": "ask", "status": "done", "attempts": 1, "startedAt": at(0), "finishedAt": at(40), "interaction": {
            "request": { "kind": "question", "question": "Which licence?", "choices": ["MIT"], "id": "q1", "requestedAt": at(1) },
            "answer": { "requestId": "q1", "actor": "owner", "value": "MIT", "answeredAt": at(20) } } },
        gate("approval", Some(("approve", "done")))
    ])
}

fn write(folder: &std::path::Path, name: &str, value: &Value) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, value.to_string()).unwrap();
    path
}

fn approvals(recording: &dyn Recording) -> Vec<(Decision, Option<String>, Option<String>)> {
    let facts = recording.session().events.all().iter().filter_map(|event| Some(event.marker.as_ref()?.fact.clone()));
    facts
        .filter_map(|fact| match fact {
            Fact::Approval { decision, by, asked, .. } => Some((decision, by, asked.prompt)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_journal_gets_its_answers_and_approvals() {
    let folder = tempfile::tempdir().unwrap();
    let log = write(folder.path(), "journal.json", &journal(EXECUTION, &[]));
    let state = write(folder.path(), "state.json", &checkpoint(records()));
    let other = write(folder.path(), "other.json", &journal("another", &[]));
    let sessions = formats::sessions_of(&[folder.path().to_owned()], &Patient).unwrap().sessions;
    let paths = |path: &PathBuf| {
        let found = sessions.iter().find(|listed| listed.reference.path() == path).unwrap();
        found.reference.paths.clone()
    };
    assert_eq!(paths(&log), [log.clone(), state.clone()]);
    assert_eq!(paths(&other), std::slice::from_ref(&other));
    assert_eq!(paths(&state), std::slice::from_ref(&state), "a person was asked something in it, so it is listed too");

    let recording = formats::open_session(&SessionRef { paths: paths(&log), key: None }, &Patient).unwrap();
    look_at_everything(recording.as_ref());
    let plain = formats::open(&log, &Patient).unwrap();
    assert_eq!(recording.session().steps.len(), plain.session().steps.len());
    assert_eq!(recording.files().len(), 2);
    let question = recording.session().events.all().iter().find(|event| event.kind == EventKind::Question).unwrap();
    let Fact::Question { answers, state: answered, .. } = &question.marker.as_ref().unwrap().fact else { panic!() };
    assert_eq!((answers.join(""), *answered), ("MIT".to_owned(), QuestionState::Answered));
    assert_eq!(recording.origin(question.place).unwrap().path, state, "the answer is the checkpoint's");
    assert!(recording.body(question).unwrap().text.ends_with("owner: MIT"));
    // Decided later than anything in the journal: it stands at the end of the last turn.
    let approved = (Decision::Granted, Some("lead".to_owned()), Some("Ship 2.0?".to_owned()));
    assert_eq!(approvals(recording.as_ref()), [approved]);
    assert_eq!(recording.session().events.all().last().unwrap().kind, EventKind::Approval);
    let mut lines = Vec::new();
    let mut emit = |line: Value| {
        lines.push(line);
        Ok(())
    };
    recording.replay(1, &mut emit).unwrap();
    assert_eq!(lines.len(), 2, "replay keeps to the journal's rules");
    assert!(recording.fork(formats::Cut::After(1), Watch::none()).is_ok());
}

#[test]
fn a_checkpoint_of_another_execution_is_not_joined() {
    let folder = tempfile::tempdir().unwrap();
    let log = write(folder.path(), "journal.json", &journal("another", &[]));
    let state = write(folder.path(), "state.json", &checkpoint(records()));
    let recording = formats::open_session(&SessionRef { paths: vec![log, state], key: None }, &Patient).unwrap();
    assert_eq!(approvals(recording.as_ref()), []);
    assert_eq!(recording.files().len(), 1);
}

#[test]
fn the_textless_events_of_a_gate_are_filled_in() {
    let workflow = |kind: &str, status: &str| {
        json!({ "kind": "workflow", "source": "workflow",
            "event": { "executionId": EXECUTION, "type": kind, "key": "ship", "status": status } })
    };
    let prompt = Some("Ship 2.0?".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let state = write(folder.path(), "state.json", &checkpoint(records()));
    for (events, expected) in [
        (
            vec![workflow("gate", "paused"), workflow("decision", "done")],
            vec![(Decision::Granted, Some("lead".to_owned()), prompt.clone())],
        ),
        // The log ends at the gate: the decision is the checkpoint's.
        (vec![workflow("gate", "paused")], vec![(Decision::Granted, Some("lead".to_owned()), prompt.clone())]),
    ] {
        let log = write(folder.path(), "journal.json", &journal(EXECUTION, &events));
        let paths = vec![log, state.clone()];
        let recording = formats::open_session(&SessionRef { paths, key: None }, &Patient).unwrap();
        look_at_everything(recording.as_ref());
        assert_eq!(approvals(recording.as_ref()), expected);
    }
}

#[test]
fn a_checkpoint_without_questions_is_listed_with_its_log_only() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "journal.json", &journal(EXECUTION, &[]));
    let plain = checkpoint(json!([{ "key": "ask", "status": "done", "attempts": 1, "startedAt": at(0) }]));
    write(folder.path(), "state.json", &plain);
    let sessions = formats::sessions_of(&[folder.path().to_owned()], &Patient).unwrap().sessions;
    assert_eq!(sessions.len(), 1);
}
