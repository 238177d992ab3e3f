//! The sample sessions beside the repository, compared with what is expected of them.

use std::path::PathBuf;

use serde_json::Value;

use super::build::{opened, stored};
use crate::formats::devin::scene::INTERRUPTED;
use crate::formats::{Patient, sessions_of, testing};
use crate::model::{Decision, EventKind, Fact, Session, ToolState};

fn samples() -> Option<PathBuf> {
    testing::samples("devin")
}

#[test]
fn every_expected_step_mark_and_warning_is_there() {
    let Some(folder) = samples() else { return };
    let database = folder.join("realistic/cli/sessions.db");
    let expected = std::fs::read(folder.join("realistic/expected_steps.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_slice(&expected).unwrap();
    assert_eq!(expected.len(), 17);
    for expected in expected {
        let id = expected["session"].as_str().unwrap();
        let session = opened(&database, id);
        let session = session.session();
        assert_eq!(session.title.as_deref(), expected["title"].as_str(), "{id}");
        assert_eq!(session.nodes as u64, expected["nodes"].as_u64().unwrap(), "{id}");
        assert_eq!(serde_json::to_value(&session.head).unwrap(), expected["head"], "{id}");
        let stored = stored(&database, id);
        let chain: Vec<i64> =
            (0..stored.assembled.chain.nodes.len()).map(|at| stored.node_at(at).unwrap().id).collect();
        assert_eq!(Value::from(chain), expected["chain"], "{id}");
        steps(id, session, &expected);
        marks(id, session, &expected);
        warnings(id, session, &expected);
    }
}

fn steps(id: &str, session: &Session, expected: &Value) {
    let expected = expected["steps"].as_array().unwrap();
    assert_eq!(session.steps.len(), expected.len(), "{id}");
    for (step, expected) in session.steps.iter().zip(expected) {
        let got = serde_json::json!({
            "kind": step.kind,
            "stepId": step.step_id,
            "userMessageId": step.user_message_id,
            "toolCallId": step.tool_call_id,
            "questionNodeId": step.question_node_id,
            "revertTargetNodeId": step.revert_target,
            "forkTargetNodeId": step.fork_target,
            "summary": step.summary,
            "stepNumber": step.number,
        });
        for (field, got) in got.as_object().unwrap() {
            assert_eq!(*got, expected[field], "{id}, step {}: {field}", step.number);
        }
    }
}

/// What became of a call, in the words of the expected file.
fn state(session: &Session, call: &str, state: ToolState) -> &'static str {
    let markers = session.events.all().iter().filter(|event| event.place.is_extra() || event.tool.is_none());
    let decision = markers.filter_map(|event| event.marker.as_deref()).find_map(|marker| match &marker.fact {
        Fact::Approval { tool_call_id, decision, .. } if tool_call_id.as_deref() == Some(call) => Some(*decision),
        _ => None,
    });
    match (state, decision) {
        (ToolState::Done, None) => "ran",
        (ToolState::Denied, Some(Decision::Denied)) => "rejected",
        (ToolState::Denied, Some(Decision::Blocked)) => "blocked",
        (ToolState::Pending, Some(Decision::Pending)) => "pending",
        (ToolState::Failed, None) => "failed",
        other => panic!("{call}: {other:?}"),
    }
}

fn marks(id: &str, session: &Session, expected: &Value) {
    let mut got = Vec::new();
    let mut events = session.events.all().iter().peekable();
    while let Some(event) = events.next() {
        let node = serde_json::to_value(&event.node).unwrap();
        if let Some(tool) = event.tool.as_deref().filter(|_| event.kind != EventKind::ToolResult) {
            let call = tool.call_id.as_deref().unwrap();
            let is_stopped =
                events.peek().is_some_and(|next| next.kind == EventKind::Interruption && next.node == event.node);
            let state = if is_stopped { "cancelled" } else { state(session, call, tool.state) };
            got.push(
                serde_json::json!({"node": node, "mark": "tool", "tool": tool.name, "call": call, "state": state}),
            );
        } else if &*event.label == INTERRUPTED {
            got.push(serde_json::json!({"node": node, "mark": "interrupted"}));
        } else if let Some(change) = event
            .label
            .strip_prefix("the model changed: ")
            .or_else(|| (event.kind == EventKind::Fallback).then_some(&*event.label))
        {
            let (from, to) = change.split_once(" → ").unwrap();
            got.push(serde_json::json!({"node": node, "mark": "model_change", "frm": from, "to": to}));
        }
    }
    assert_eq!(Value::from(got), expected["marks"], "{id}");
}

fn warnings(id: &str, session: &Session, expected: &Value) {
    let expected = expected["warnings"].as_array().unwrap();
    let problems: Vec<&str> = session.report.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(problems.len(), expected.len(), "{id}: {problems:?}");
    for warning in expected.iter().map(|warning| warning.as_str().unwrap()) {
        // A head that cannot be used is told in other words.
        let words = match warning.split_once(" unusable") {
            Some((head, _)) => {
                format!("{},", head.replace("main_chain_id ", "main_chain_id is ").replace("None", "null"))
            }
            None => warning.to_owned(),
        };
        assert!(problems.iter().any(|problem| problem.contains(&words)), "{id}: {warning} in {problems:?}");
    }
}

#[test]
fn every_sample_opens_adds_up_and_reads_its_texts() {
    let Some(folder) = samples() else { return };
    for source in ["realistic", "fixtures_v17"] {
        for path in ["cli/sessions.db", "User/acp-messages", "User/globalStorage/state.vscdb"] {
            let path = folder.join(source).join(path);
            let Ok(found) = sessions_of(&[path], &Patient) else { continue };
            for listed in found.sessions {
                let recording = crate::formats::open_session(&listed.reference, &Patient).unwrap();
                let records = recording.session().report.records;
                let fates = records.read + records.unknown + records.duplicate + records.unreadable + records.torn;
                assert_eq!(records.total, fates, "{:?}", listed.reference);
                for event in recording.session().events.all() {
                    recording.body(event).unwrap();
                    recording.raw(event.place).unwrap();
                    assert!(recording.origin(event.place).is_some());
                }
                for step in &recording.session().steps {
                    recording.prompt(step.number).unwrap();
                    recording.replay(step.number, &mut |_| Ok(())).unwrap();
                }
            }
        }
    }
}

#[test]
fn times_are_seconds_or_milliseconds() {
    let Some(folder) = samples() else { return };
    let found = sessions_of(&[folder.join("fixtures_v17/cli/sessions.db")], &Patient).unwrap();
    assert_eq!(found.sessions.len(), 3);
    assert!(found.sessions.iter().all(|session| session.started_at.unwrap().to_rfc3339().starts_with("2026-0")));
    let found = sessions_of(&[folder.join("realistic/cli/sessions.db")], &Patient).unwrap();
    let ghosts: Vec<_> = found.sessions.iter().filter(|session| session.status.is_some()).collect();
    assert_eq!((found.sessions.len(), ghosts.len()), (18, 1));
    assert_eq!(found.sessions.iter().filter(|session| session.is_hidden).count(), 1);
}

#[test]
fn a_copy_of_the_desktop_program_has_the_same_steps() {
    let Some(folder) = samples() else { return };
    let folder = folder.join("realistic");
    let list = sessions_of(&[folder.join("User/globalStorage/state.vscdb")], &Patient).unwrap();
    let [only] = list.sessions.as_slice() else { panic!("{list:?}") };
    assert_eq!((only.id.as_deref(), only.title.as_deref()), (Some("quiet-harbor"), Some("Create a cart module")));
    let copy = crate::formats::open_session(&only.reference, &Patient).unwrap();
    let own = opened(&folder.join("cli/sessions.db"), "quiet-harbor");
    let steps = |session: &Session| -> Vec<_> {
        let steps = session.steps.iter();
        steps
            .map(|step| (step.kind, step.user_message_id.clone(), step.tool_call_id.clone(), step.summary.clone()))
            .collect()
    };
    assert_eq!(steps(copy.session()), steps(own.session()));
    assert_eq!(copy.session().cwd.as_deref(), Some("/ws/shop"));
    assert!(copy.session().steps.iter().all(|step| step.revert_target.is_none() && step.revert_refusal.is_some()));

    let both = [folder.join("cli/sessions.db"), folder.join("User/acp-messages"), folder.join("User/globalStorage")];
    let list = sessions_of(&both, &Patient).unwrap();
    assert_eq!(list.sessions.len(), 18, "the copy is the session of the database");
    let listed = list.sessions.iter().find(|session| session.is_named("quiet-harbor")).unwrap();
    let joined = crate::formats::open_session(&listed.reference, &Patient).unwrap();
    assert_eq!((joined.files().len(), joined.session().steps.len()), (2, 4));
    for event in joined.session().events.all() {
        joined.body(event).unwrap();
    }
}
