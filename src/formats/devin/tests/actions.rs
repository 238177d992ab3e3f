//! Forks, previews of reverts, replay, and facts from other recordings.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::build::{Made, answer, asks, call, chose, prompt, question, result, system};
use crate::formats::acp::Said;
use crate::formats::devin::joined::join;
use crate::formats::testing::replayed;
use crate::formats::{Cut, Effect, FileActionKind, Fork, Recording, Refusal, Revert};
use crate::model::{Asked, Capability, Decision, Evidence, Fact, Place, Timestamp};
use crate::store::{Piece, Watch};

/// Prompts, a question in a turn, two questions in a message, calls.
fn made() -> Made {
    Made::chain(&[
        system("rules"),
        prompt("first"),
        call("c", "exec"),
        result("c", "out", json!({})),
        question(&[asks("q", "Which?")]),
        chose("q", "B"),
        answer("one"),
        prompt("second"),
        question(&[asks("x", "Left?"), asks("y", "Right?"), asks("z", "None?")]),
        chose("x", "A"),
        chose("y", "B"),
        result("z", "Canceled due to user interrupt", json!({"chisel/tool_failure": {"reason": "Canceled"}})),
        json!({"role": "user", "content": "continue", "metadata": {"telemetry": {"source": "cache_keepalive"}}}),
        answer("two"),
        prompt("third"),
        call("open", "exec"),
    ])
}

fn fork(recording: &dyn Recording, cut: Cut) -> (Fork, Value) {
    let fork = recording.fork(cut, Watch::none()).unwrap();
    let [Piece::New(bytes)] = fork.rewrite.pieces() else { panic!("all of it is new") };
    let document = serde_json::from_slice(bytes).unwrap();
    (fork, document)
}

/// How many prompts and answered questions a document has.
fn steps_in(document: &Value) -> usize {
    let steps = document["steps"].as_array().unwrap();
    let prompts = steps.iter().filter(|step| step["source"] == "user").count();
    let answered = steps.iter().map(|step| {
        let calls = step["tool_calls"].as_array().into_iter().flatten();
        let results: Vec<&Value> = step["observation"]["results"].as_array().into_iter().flatten().collect();
        let is_answered = |call: &&Value| {
            call["function_name"] == "ask_user_question"
                && results.iter().any(|result| result["source_call_id"] == call["tool_call_id"])
        };
        calls.filter(is_answered).count()
    });
    prompts + answered.sum::<usize>()
}

#[test]
fn a_fork_of_a_step_holds_that_step_and_all_before_it() {
    let made = made();
    let recording = made.open();
    for number in 1..=6 {
        let (fork, document) = fork(&*recording, Cut::After(number));
        assert_eq!(steps_in(&document), number as usize, "after {number}");
        assert_eq!(fork.steps, number, "after {number}");
        assert_eq!(fork.file_name, format!("s-step{number}.json"));
        assert!(fork.warnings[0].contains(&format!("/fork {number}")));
        assert_eq!(document["session_id"], fork.session_id.as_str());
        assert_ne!(document["session_id"], "s");
        assert_eq!(document["extra"]["forked_from"], json!({"session_id": "s", "step_number": number}));
        let ids: Vec<u64> =
            document["steps"].as_array().unwrap().iter().map(|step| step["step_id"].as_u64().unwrap()).collect();
        assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>());
        assert_eq!(document["final_metrics"]["total_steps"], ids.len());
    }
    let (fork, document) = fork(&*recording, Cut::Before(3));
    assert_eq!((fork.steps, steps_in(&document)), (2, 2));
    assert_eq!(document["final_metrics"]["total_completion_tokens"], 15);
    assert!(matches!(recording.fork(Cut::After(7), Watch::none()), Err(Refusal::NoStep { step: 7, steps: 6 })));
}

#[test]
fn a_fork_keeps_calls_with_their_results_and_no_old_contents_of_files() {
    let undo = json!({"chisel/undo": [{"kind": "restore_file", "path": "/x", "original_content": "SECRET"}]});
    let made =
        Made::chain(&[system("rules"), prompt("go"), call("c", "edit"), result("c", "Edited.", undo), answer("done")]);
    let (_, document) = fork(&*made.open(), Cut::After(1));
    let step = &document["steps"][2];
    assert_eq!(step["tool_calls"][0]["arguments"], json!({"command": "ls"}));
    assert_eq!(step["observation"]["results"], json!([{"source_call_id": "c", "content": "Edited."}]));
    assert_eq!(step["metrics"], json!({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 2}));
    assert!(!document.to_string().contains("SECRET"));
    assert_eq!(document["steps"].as_array().unwrap().len(), 4, "the result is not a step of its own");
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02X}")).collect()
}

fn revert(recording: &dyn Recording, step: u32) -> Revert {
    recording.revert(step, Watch::none()).unwrap()
}

/// A session that touched files of a workspace, which is beside the database.
fn touched() -> Made {
    let folder = |name: &str| format!("{{ws}}/{name}");
    let undo = |records: Value| json!({ "chisel/undo": records });
    let made = Made::chain(&[system("rules"), prompt("first")]);
    let ws = made.folder.path().join("ws").to_string_lossy().into_owned();
    let outside = made.folder.path().join("outside.txt").to_string_lossy().into_owned();
    let records = [
        json!([{"kind": "delete_created_file", "path": folder("new.txt"), "expected_post_hash": hash("v1"), "created_dirs": []}]),
        json!([
            {"kind": "restore_file", "path": folder("new.txt"), "original_content": "v1", "expected_post_hash": hash("v2")},
            {"kind": "restore_file", "path": folder("hand.txt"), "original_content": "old", "expected_post_hash": hash("agent")},
            {"kind": "irreversible", "tool_name": "exec", "description": "rm notes.txt"},
        ]),
        json!([
            {"kind": "undelete", "path": folder("gone.txt"), "original_content": "was"},
            {"kind": "rename", "path": folder("a.txt")},
            {"kind": "restore_file", "path": folder("missing.txt"), "original_content": "x", "expected_post_hash": hash("x")},
            {"kind": "restore_file", "path": outside, "original_content": "x", "expected_post_hash": hash("x")},
            {"kind": "restore_file", "path": folder("link.txt"), "original_content": "x", "expected_post_hash": hash("x")},
            "no object",
        ]),
    ];
    let mut last = 1;
    for (number, records) in records.iter().enumerate() {
        let records: Value = serde_json::from_str(&records.to_string().replace("{ws}", &ws)).unwrap();
        let id = format!("c{number}");
        made.node(last + 1, Some(last), call(&id, "edit")).node(
            last + 2,
            Some(last + 1),
            result(&id, "ok", undo(records)),
        );
        last += 2;
        if number == 0 {
            made.node(last + 1, Some(last), prompt("second"));
            last += 1;
        }
    }
    made.head(Some(last));
    made
}

#[test]
fn a_preview_says_what_the_agent_would_do_to_files() {
    let made = touched();
    let ws = made.folder.path().join("ws");
    std::fs::create_dir(&ws).unwrap();
    for (name, content) in [("new.txt", "v2"), ("hand.txt", "by hand")] {
        std::fs::write(ws.join(name), content).unwrap();
    }
    std::fs::write(made.folder.path().join("outside.txt"), "other").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(made.folder.path().join("outside.txt"), ws.join("link.txt")).unwrap();
    let name = |path: &str| Path::new(path).file_name().unwrap().to_string_lossy().into_owned();

    let recording = made.open();
    let all = revert(&*recording, 1);
    let actions: Vec<_> = all.dropped.file_actions.iter().map(|action| (name(&action.path), action.kind)).collect();
    let expected = [
        ("new.txt", FileActionKind::Delete),
        ("hand.txt", FileActionKind::Restore),
        ("gone.txt", FileActionKind::Recreate),
        ("missing.txt", FileActionKind::Restore),
        ("outside.txt", FileActionKind::Restore),
        ("link.txt", FileActionKind::Restore),
    ];
    assert_eq!(actions, expected.map(|(name, kind)| (name.to_owned(), kind)), "the first record decides");
    let conflicts: Vec<_> = all.dropped.conflicts.iter().map(|path| name(path)).collect();
    assert_eq!(conflicts, ["hand.txt", "missing.txt"], "the last record says what the agent left");
    assert_eq!(all.dropped.irreversible, [("exec".to_owned(), "rm notes.txt".to_owned())]);
    for words in ["unknown kind, “rename”", "is no object", "outside of the session's folders"] {
        assert!(all.warnings.iter().any(|warning| warning.contains(words)), "{words}: {:?}", all.warnings);
    }
    assert_eq!((all.keeps_steps, all.prefill.as_deref(), all.dropped.messages), (0, Some("first"), 5));
    assert!(matches!(&all.effect, Effect::Preview(how) if how.contains("/revert 1")));
    assert!(all.estimate.unwrap().contains("Devin's own preview wins"));

    let second = revert(&*recording, 2);
    assert_eq!(second.dropped.file_actions[0].kind, FileActionKind::Restore, "what the first step made stays");
    assert_eq!(second.keeps_steps, 1);
    assert!(recording.session().capabilities.contains(&Capability::RevertPreview));
    assert!(!recording.session().capabilities.contains(&Capability::Revert));
}

#[test]
fn a_workspace_that_is_elsewhere_is_no_conflict() {
    let made = touched();
    let plan = revert(&*made.open(), 1);
    assert_eq!(plan.dropped.conflicts, [""; 0]);
    assert!(plan.warnings.iter().any(|warning| warning.contains("not on this machine")), "{:?}", plan.warnings);
    assert_eq!(plan.dropped.file_actions.len(), 6);
}

#[test]
fn a_preview_of_a_question_asks_again_and_open_calls_are_called_off() {
    let made = made();
    let recording = made.open();
    let question = revert(&*recording, 2);
    assert_eq!((question.keeps_steps, question.prefill), (1, None));
    let both = revert(&*recording, 5);
    assert_eq!(both.keeps_steps, 3, "the message that asked both goes");
    let third = revert(&*recording, 6);
    assert_eq!(third.dropped.pending_approvals, [("exec".to_owned(), Some("open".to_owned()))]);
    assert_eq!(third.keeps_steps, 5);
}

#[test]
fn a_live_lock_is_told_and_a_stale_one_is_not() {
    let made = made();
    std::fs::create_dir(made.folder.path().join("session_locks")).unwrap();
    let lock = made.folder.path().join("session_locks/s.lock");
    let how = |recording: &dyn Recording| match revert(recording, 1).effect {
        Effect::Preview(how) => how,
        other => panic!("{other:?}"),
    };
    std::fs::write(&lock, "4294967294").unwrap();
    assert!(!how(&*made.open()).contains("has the session open"));
    std::fs::write(&lock, std::process::id().to_string()).unwrap();
    if cfg!(target_os = "linux") {
        assert!(how(&*made.open()).contains("has the session open"));
    }
}

#[test]
fn replay_gives_the_messages_of_a_turn_without_what_is_private() {
    let undo = json!({"chisel/undo": [{"original_content": "SECRET"}], "chisel/tool_failure": {"reason": "X"}});
    let made = Made::chain(&[
        system("rules"),
        prompt("go"),
        call("c", "exec"),
        result("c", "out", undo),
        answer("done"),
        prompt("more"),
    ]);
    let recording = made.open();
    let lines = replayed(recording.as_ref(), [1]);
    assert_eq!(lines.len(), 4);
    assert_eq!(
        lines[1],
        json!({"turn": 1, "event": {"role": "tool", "content": "out", "tool_call_id": "c",
            "extensions": {"chisel/tool_failure": {"reason": "X"}}}})
    );
    assert_eq!(
        (&lines[3]["text"], &lines[3]["interrupted"], &lines[3]["usage"]["output"]),
        (&json!("done"), &json!(false), &json!(10))
    );
    let turns: Vec<_> = recording.replay_turns().unwrap().into_iter().map(|turn| turn.prompt).collect();
    assert_eq!(turns, [Some("go".to_owned()), Some("more".to_owned())]);
}

#[test]
fn facts_of_other_recordings_are_put_where_they_belong() {
    let place = Place { file: 0, record: 7, block: 0 };
    let approval = |decision| Fact::Approval {
        tool: "exec".to_owned(),
        tool_call_id: Some("open".to_owned()),
        decision,
        by: Some("user".to_owned()),
        reason: None,
        waited_ms: Some(1200),
        asked: Asked::default(),
    };
    let said = |prompt: Option<&str>, call: Option<&str>, at: &str, fact: Fact| Said {
        user_message_id: prompt.map(str::to_owned),
        tool_call_id: call.map(str::to_owned),
        node_place: place,
        at: Timestamp::parse(at),
        fact,
    };
    let retry = Fact::Retry { attempt: Some(1), max_attempts: Some(3), status: None, message: None };
    let quota = Fact::Quota { message: "used up".to_owned(), reset_at: None };
    let (base, other) = (made(), Made::chain(&[system("rules"), prompt("x")]));
    let before = base.open();
    let joined = join(
        base.open(),
        vec![(
            other.open(),
            vec![
                said(None, Some("open"), "2026-10-26T07:16:00Z", approval(Decision::Granted)),
                said(Some("m1"), None, "2026-10-26T07:02:30Z", retry.clone()),
                said(Some("m7"), None, "2026-10-26T08:00:00Z", quota.clone()),
                said(Some("nobody"), None, "2026-10-26T08:00:00Z", quota.clone()),
            ],
        )],
    );
    let session = joined.session();
    assert_eq!(
        session.events.len(),
        before.session().events.len() + 3 - 1,
        "one conclusion makes way for what is recorded"
    );
    let of_step = |number: u32| -> Vec<(Fact, Evidence)> {
        let events = session.events_of(session.step(number).unwrap());
        events
            .iter()
            .filter_map(|event| event.marker.as_deref())
            .map(|marker| (marker.fact.clone(), marker.evidence))
            .collect()
    };
    assert_eq!(of_step(1), [(retry, Evidence::Recorded)]);
    // The turn of the third step goes on over the questions in it.
    assert_eq!(of_step(5).last(), Some(&(quota, Evidence::Recorded)));
    assert_eq!(of_step(6), [(approval(Decision::Granted), Evidence::Recorded)]);
    for (step, old) in session.steps.iter().zip(&before.session().steps) {
        let labels = |events: &[crate::model::Event]| -> Vec<String> {
            events.iter().filter(|event| event.tool.is_some()).map(|event| event.label.to_string()).collect()
        };
        assert_eq!(labels(session.events_of(step)), labels(before.session().events_of(old)), "step {}", step.number);
    }
    let added = session
        .events
        .iter()
        .find(|event| event.marker.as_ref().is_some_and(|marker| matches!(marker.fact, Fact::Retry { .. })));
    let added = added.unwrap();
    assert_eq!(usize::from(added.place.file), before.files().len());
    joined.body(&added).unwrap();
    for event in session.events.all() {
        joined.origin(event.place);
        joined.raw(event.place).unwrap();
    }
}
