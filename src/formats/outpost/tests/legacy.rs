//! Logs as Outpost wrote them before it stored events as objects.

use serde_json::json;

use super::*;
use crate::formats::detect::{Sample, Shape};
use crate::formats::{Cut, Effect};
use crate::model::{FormatName, Outcome, ProblemKind};

fn lines(entries: Value) -> String {
    let mut text = String::new();
    for (second, mut entry) in entries.as_array().unwrap().clone().into_iter().enumerate() {
        entry["at"] = json!(format!("2025-11-03T10:00:{second:02}.000Z"));
        text.push_str(&format!("{entry}\n"));
    }
    text
}

/// Two passes as 5.x wrote them, the second still running.
fn two_passes() -> Value {
    json!([
        { "kind": "dispatch-start", "label": "nightly" },
        { "kind": "phase", "name": "preparing prompt", "pass": 1, "label": "nightly" },
        { "kind": "prompt", "text": "Add a header.", "pass": 1, "label": "nightly" },
        { "kind": "tool", "name": "Bash", "input": { "command": "ls" }, "pass": 1 },
        { "kind": "tool-result", "callId": "t", "name": "Bash", "isError": false, "preview": "a.rs", "pass": 1 },
        { "kind": "tool-denied", "callId": "u", "name": "Write", "reason": "read only", "pass": 1 },
        { "kind": "result", "text": "Done.", "pass": 1 },
        { "kind": "usage", "tokens": { "input": 3, "cached": 1, "output": 2 }, "pass": 1 },
        { "kind": "summary", "durationMs": 5, "status": 0, "tokens": { "input": 3, "cached": 1, "output": 2 }, "pass": 1 },
        { "kind": "prompt", "text": "Again.", "pass": 2 },
        { "kind": "text", "text": "On it.", "pass": 2 }
    ])
}

#[test]
fn lines_without_a_source_are_a_legacy_log() {
    let points = |shape, records: Value| {
        let records = records.as_array().unwrap().clone();
        (super::super::LEGACY.recognise)(&Sample { path: PathBuf::new(), shape, records })
    };
    let old = json!([{ "at": "t", "kind": "dispatch-start" }]);
    assert_eq!(points(Shape::Lines, old.clone()), 4);
    assert_eq!(points(Shape::Array { start: 0 }, old), 0);
    for others in [
        json!([{ "at": "t", "kind": "dispatch-start", "source": "sandbox" }]),
        json!([{ "at": "t", "kind": "tool" }, { "at": "t", "kind": "tool", "source": "agent" }]),
        json!([{ "at": "t", "kind": "animal" }]),
        json!([{ "at": 7, "kind": "tool" }]),
        json!([{ "kind": "tool" }]),
    ] {
        assert_eq!(points(Shape::Lines, others.clone()), 0, "{others}");
    }
}

#[test]
fn an_old_log_has_the_steps_of_a_journal() {
    let opened = open_bytes("nightly-2025.jsonl", lines(two_passes()).as_bytes());
    let session = opened.recording.session();
    assert_eq!((session.format, session.id.as_str()), (FormatName::OutpostLegacyLog, "nightly-2025"));
    assert_eq!((session.nodes, session.report.records.read, session.steps.len()), (11, 11, 2));
    assert_eq!((opened.step(1).outcome, opened.step(2).outcome), (Outcome::Done, Outcome::Pending));
    assert_eq!((opened.step(1).usage.input, opened.own_events(1).len()), (Some(3), 5));
    assert_eq!(opened.lines()[0]["event"]["kind"], "tool");
    let refused: Vec<_> =
        session.report.problems.iter().map(|problem| (problem.kind, problem.message.as_str())).collect();
    assert_eq!(refused.len(), 1);
    assert!(refused[0].0 == ProblemKind::Refused && refused[0].1.contains("have no source"));
    assert_eq!(opened.recording.resume_command("s", &opened.path), None, "Outpost does not replay it");
}

#[test]
fn a_cut_old_log_is_an_old_log() {
    let opened = open_bytes("old.jsonl", lines(two_passes()).as_bytes());
    let revert = opened.recording.revert(2, Watch::none()).unwrap();
    assert_eq!((revert.keeps_steps, revert.prefill.as_deref()), (1, Some("Again.")));
    assert!(matches!(revert.effect, Effect::Cut(_)));
    let fork = opened.recording.fork(Cut::After(1), Watch::none()).unwrap();
    assert_eq!(fork.file_name, "old.step-1.jsonl");
    let again = opened.reopen(&fork);
    assert_eq!(again.recording.session().format, FormatName::OutpostLegacyLog);
    assert_eq!((again.recording.session().steps.len(), again.recording.session().nodes), (1, 9));
}
