//! Forks and reverts byte by byte, and the lines of a replay.

use std::sync::Arc;

use serde_json::{Value, json};

use super::build::{SESSION, Script, ask, tool_use};
use super::damage::rich;
use super::{open_bytes, open_path};
use crate::formats::testing::replayed;
use crate::formats::{Cut, FileAction, FileActionKind, Recording, Refusal};
use crate::model::StepKind;
use crate::store::{ReadError, Rewrite, Watch, write_new};

fn written(rewrite: &Rewrite) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("written");
    write_new(&path, rewrite, Watch::none()).unwrap();
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

fn uuids(lines: &[String]) -> Vec<String> {
    let id = |line: &String| {
        let record: Value = serde_json::from_str(line).unwrap();
        record.get("uuid").or(record.get("type")).and_then(Value::as_str).unwrap().to_owned()
    };
    lines.iter().map(id).collect()
}

fn fork(recording: &dyn Recording, cut: Cut) -> (Vec<String>, Vec<String>, u32) {
    let fork = recording.fork(cut, Watch::none()).unwrap();
    (written(&fork.rewrite), fork.warnings, fork.steps)
}

#[test]
fn a_fork_edits_nothing_but_identity() {
    let mut script = Script::new();
    script.raw(r#"{"mode":"normal","type":"mode","sessionId":"x"}"#);
    script.raw(r#"{ "odd" : [1.50, "\u0041\ud83d"], "type":"user","uuid":"u1","parentUuid":null,"sessionId":"x","session_id":"x","forkedFrom":{"sessionId":"older"},"message":{"content":"One","sessionId":"kept"} }"#);
    script.raw(r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":"1"}}"#);
    let (_folder, recording) = open_bytes(&script.bytes());
    let fork = recording.fork(Cut::After(1), Watch::none()).unwrap();
    let id = &fork.session_id;
    assert_eq!(fork.file_name, format!("{id}.jsonl"));
    assert_eq!(
        written(&fork.rewrite),
        [
            format!(
                r#"{{ "odd" : [1.50, "\u0041\ud83d"], "type":"user","uuid":"u1","parentUuid":null,"sessionId":"{id}","session_id":"{id}","forkedFrom":{{"sessionId":"x","messageUuid":"u1"}},"message":{{"content":"One","sessionId":"kept"}} }}"#
            ),
            format!(
                r#"{{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{{"content":"1"}},"sessionId":"{id}","forkedFrom":{{"sessionId":"x","messageUuid":"a1"}}}}"#
            ),
            format!(r#"{{"type":"custom-title","customTitle":"One (fork of step 1)","sessionId":"{id}"}}"#),
        ]
    );
}

#[test]
fn a_fork_keeps_the_chain_and_what_belongs_to_it() {
    let (_folder, recording) = open_bytes(&rich().bytes());
    let summaries: Vec<_> = recording.session().steps.iter().map(|step| step.summary.as_str()).collect();
    assert_eq!(summaries, ["Store the cart", "Which storage? -> SQLite", "Both files", "and hurry", "/review", "Last"]);
    let (lines, warnings, steps) = fork(&*recording, Cut::After(3));
    // The abandoned turn is not there, the result beside the chain is, and before the record the agent goes on from.
    assert_eq!(
        uuids(&lines),
        [
            "u1",
            "a1",
            "a2",
            "a3",
            "r1",
            "a4",
            "r2",
            "a5",
            "d1",
            "u3",
            "a7",
            "r3",
            "a8",
            "r4",
            "a9",
            "b1",
            "s1",
            "custom-title"
        ]
    );
    assert_eq!((warnings.len(), steps), (0, 3));
    // The prompt's turn goes on over a question, which is a step of its own: the fork ends before it is asked.
    let (lines, warnings, steps) = fork(&*recording, Cut::After(1));
    assert_eq!(uuids(&lines), ["u1", "custom-title"]);
    assert_eq!(warnings, ["step 1 goes on with the question of step 2; the fork ends before it was asked"]);
    assert_eq!(steps, 1);
    // A question step ends with its answer; before it, the whole response that asked is gone.
    assert_eq!(uuids(&fork(&*recording, Cut::After(2)).0), ["u1", "a1", "a2", "a3", "r1", "custom-title"]);
    let (lines, _, steps) = fork(&*recording, Cut::Before(2));
    assert_eq!((uuids(&lines), steps), (vec!["u1".into(), "custom-title".into()], 1));
    assert!(lines[1].contains("Cart (fork before step 2)"));
    assert!(recording.fork(Cut::Before(1), Watch::none()).is_err());
    assert!(recording.fork(Cut::After(7), Watch::none()).is_err());
}

#[test]
fn a_call_without_a_result_is_cut_off_at_the_end() {
    let (_folder, recording) = open_bytes(&rich().bytes());
    let (lines, warnings, steps) = fork(&*recording, Cut::After(6));
    assert_eq!(uuids(&lines).iter().rev().take(2).collect::<Vec<_>>(), ["custom-title", "u4"]);
    assert_eq!(warnings, ["1 tool call without a result was left out at the end"]);
    assert_eq!(steps, 6);
}

#[test]
fn a_call_without_a_result_is_taken_out_of_the_middle() {
    let mut script = Script::new();
    script.prompt("u1", "One").says("a1", "Trying.").calls("a2", "t1", "Bash", json!({"command": "x"}));
    script.prompt("u2", "Two").says("a3", "Yes.");
    let (_folder, recording) = open_bytes(&script.bytes());
    let (lines, warnings, steps) = fork(&*recording, Cut::After(2));
    assert_eq!(uuids(&lines), ["u1", "a1", "u2", "a3", "custom-title"]);
    assert!(lines[2].starts_with(r#"{"parentUuid":"a1","isSidechain":false"#), "linked to what is left");
    assert_eq!((warnings, steps), (vec!["1 tool call without a result was left out".to_owned()], 2));
    super::actions::check_forks(&*recording, "middle");
}

#[test]
fn a_question_asked_beside_another_call_keeps_both_results() {
    let mut script = Script::new();
    script.prompt("u1", "One").block("a1", "m1", tool_use("t1", "AskUserQuestion", ask("Which?")), 5);
    script.block("a2", "m1", tool_use("t2", "Bash", json!({"command": "ls"})), 9);
    script.result("r1", "t1", "answered", json!({"toolUseResult": {"answers": {"Which?": "SQLite"}}}));
    script.result("r2", "t2", "files", json!({})).says("a3", "Good.");
    let (_folder, recording) = open_bytes(&script.bytes());
    let (lines, warnings, steps) = fork(&*recording, Cut::After(2));
    assert_eq!(uuids(&lines), ["u1", "a1", "a2", "r1", "r2", "custom-title"]);
    assert_eq!((warnings.len(), steps), (0, 2));
}

#[test]
fn a_fork_of_a_fork_of_a_rewound_session_is_right() {
    let mut script = Script::new();
    script.prompt("u1", "One").says("a1", "1").prompt("u2", "Lost").says("a2", "2");
    script.back_to("a1").prompt("u3", "Found").says("a3", "3").prompt("u4", "Last").says("a4", "4");
    let (folder, recording) = open_bytes(&script.bytes());
    let reopen = |recording: &dyn Recording, step| -> Arc<dyn Recording> {
        let fork = recording.fork(Cut::After(step), Watch::none()).unwrap();
        let path = folder.path().join(&fork.file_name);
        write_new(&path, &fork.rewrite, Watch::none()).unwrap();
        open_path(&path)
    };
    let first = reopen(&*recording, 2);
    let parent = first.session().parent.clone().unwrap();
    assert_eq!((parent.session_id.as_str(), parent.step_number), (SESSION, Some(2)));
    assert_eq!(first.session().branches, []);
    let second = reopen(&*first, 1);
    let summaries: Vec<_> = second.session().steps.iter().map(|step| step.summary.as_str()).collect();
    assert_eq!(summaries, ["One"]);
    let parent = second.session().parent.clone().unwrap();
    assert_eq!((parent.session_id, parent.step_number), (first.session().id.clone(), Some(1)));
    super::actions::check_forks(&*first, "fork of a fork");
}

#[test]
fn a_revert_takes_out_what_came_of_a_step_and_nothing_else() {
    let script = rich();
    let (_folder, recording) = open_bytes(&script.bytes());
    let revert = recording.revert(3, Watch::none()).unwrap();
    let kept: Vec<String> = written(revert.rewrite());
    let names = uuids(&kept);
    // The branch that was left before stays; the record it parted from moves behind it.
    assert_eq!(
        names,
        [
            "mode",
            "queue-operation",
            "file-history-snapshot",
            "u1",
            "a1",
            "a2",
            "a3",
            "r1",
            "a4",
            "r2",
            "a5",
            "last-prompt",
            "u2",
            "a6",
            "custom-title",
            "d1",
            "last-prompt"
        ]
    );
    let (note, rest) = kept.split_last().unwrap();
    assert!(rest.iter().all(|line| script.lines.contains(line)), "every line as it was");
    // The agent goes on from the record of the last of these notes, not from the last record of the file.
    assert_eq!(*note, format!(r#"{{"type":"last-prompt","leafUuid":"d1","sessionId":"{SESSION}"}}"#));
    assert_eq!(revert.warnings.len(), 1);
    assert_eq!((revert.keeps_steps, revert.prefill.as_deref()), (2, Some("Both files")));
    // u3, the response of a7 and a8, r3 is beside the chain, r4, a9, s1, a10, r5, c1, x1, a11, u4, a12.
    assert_eq!(revert.dropped.messages, 12);
    assert_eq!(revert.dropped.file_actions, [FileAction { path: "/s/cart.rs".into(), kind: FileActionKind::Restore }]);
    assert_eq!(
        revert.dropped.irreversible,
        [("Bash".to_owned(), "cat a".to_owned()), ("Bash".to_owned(), "make".to_owned())]
    );
    assert_eq!(revert.dropped.pending_approvals, [("Bash".to_owned(), Some("t6".to_owned()))]);
}

#[test]
fn a_reverted_file_says_where_to_go_on_even_behind_a_torn_line() {
    let mut script = Script::new();
    script.prompt("u1", "One").says("a1", "1").loose("last-prompt", json!({"leafUuid": "a1"}));
    script.prompt("u2", "Lost").says("a2", "2").back_to("a1").prompt("u3", "Two").says("a3", "3");
    let mut bytes = script.bytes();
    bytes.extend_from_slice(br#"{"type":"assistant","uu"#);
    let (folder, recording) = open_bytes(&bytes);
    let revert = recording.revert(2, Watch::none()).unwrap();
    let path = folder.path().join("reverted.jsonl");
    write_new(&path, revert.rewrite(), Watch::none()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let note = format!("{{\"type\":\"last-prompt\",\"leafUuid\":\"a1\",\"sessionId\":\"{SESSION}\"}}\n");
    assert!(text.ends_with(&format!("\n{note}")), "{text}");
    let reverted = open_path(&path);
    assert_eq!(reverted.session().head, recording.session().steps[1].revert_target);
    assert_eq!(reverted.session().head, Some(crate::model::NodeId::Text("a1".into())));
    assert_eq!(reverted.session().branches.len(), 1);
}

#[test]
fn a_revert_of_a_question_gives_no_prompt_back() {
    let (_folder, recording) = open_bytes(&rich().bytes());
    let revert = recording.revert(2, Watch::none()).unwrap();
    let names = uuids(&written(revert.rewrite()));
    assert_eq!(names, ["mode", "queue-operation", "file-history-snapshot", "u1", "custom-title", "last-prompt"]);
    assert_eq!((revert.keeps_steps, revert.prefill), (1, None));
    // Created by the first of the dropped edits: it was not there before.
    assert_eq!(revert.dropped.file_actions, [FileAction { path: "/s/cart.rs".into(), kind: FileActionKind::Delete }]);
    assert!(recording.revert(1, Watch::none()).is_err());
}

#[test]
fn notes_about_dropped_records_go_with_them() {
    let mut script = Script::new();
    script.prompt("u1", "One").says("a1", "1").loose("last-prompt", json!({"leafUuid": "a1"}));
    script
        .loose("queue-operation", json!({"operation": "enqueue"}))
        .loose("file-history-snapshot", json!({"messageId": "u2"}));
    script.prompt("u2", "Two").loose("queue-operation", json!({"operation": "dequeue"})).says("a2", "2");
    script.loose("mode", json!({"mode": "normal"})).loose("last-prompt", json!({"leafUuid": "a2"}));
    script.loose("cost-state", json!({"totalCostUSD": 1.0})).raw("{torn");
    let (_folder, recording) = open_bytes(&script.bytes());
    let revert = recording.revert(2, Watch::none()).unwrap();
    let mut expected: Vec<_> = [0, 1, 2, 3, 8, 10, 11].iter().map(|line| script.lines[*line].clone()).collect();
    expected.push(format!(r#"{{"type":"last-prompt","leafUuid":"a1","sessionId":"{SESSION}"}}"#));
    assert_eq!(written(revert.rewrite()), expected);
    assert_eq!(revert.warnings, Vec::<String>::new());
}

#[test]
fn records_that_only_order_links_stay_linked() {
    let mut script = Script::new();
    script.raw(r#"{"type":"user","uuid":"u1","message":{"content":"One"}}"#);
    script.raw(r#"{"type":"assistant","uuid":"a1","message":{"content":"1"}}"#);
    script.raw(r#"{"type":"user","uuid":"u2","parentUuid":"u1","message":{"content":"Beside"}}"#);
    script.raw(r#"{"type":"user","uuid":"u3","parentUuid":"a1","message":{"content":"Two"}}"#);
    let (_folder, recording) = open_bytes(&script.bytes());
    assert_eq!(recording.session().steps.len(), 2);
    let revert = recording.revert(2, Watch::none()).unwrap();
    let kept = written(revert.rewrite());
    assert_eq!(uuids(&kept), ["u1", "u2", "a1", "last-prompt"]);
    assert_eq!(kept[2], r#"{"type":"assistant","uuid":"a1","message":{"content":"1"},"parentUuid":"u1"}"#);
    super::actions::check_reverts(&*recording, "implied");
    super::actions::check_forks(&*recording, "implied");
}

#[test]
fn a_replay_gives_records_without_their_envelope() {
    let mut script = Script::new();
    script.prompt("u1", "One").calls("a1", "t1", "Bash", json!({"command": "ls"})).result(
        "r1",
        "t1",
        "files",
        json!({}),
    );
    script
        .chain("h1", "attachment", json!({"attachment": {"type": "date"}}))
        .says("a2", "First.")
        .says("a3", "Second.")
        .ends("d1");
    let failed = json!({"isApiErrorMessage": true, "apiErrorStatus": 529, "message": {"model": "<synthetic>", "content": [{"type": "text", "text": "Overloaded"}]}});
    script.prompt("u2", "Two").chain("e1", "assistant", failed);
    let (_folder, recording) = open_bytes(&script.bytes());
    let lines = replayed(&*recording, 1..=2);
    assert_eq!(lines.len(), 8);
    let result = json!({"turn": 1, "event": {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "files"}]}
    }});
    assert_eq!(lines[1].to_string(), result.to_string(), "in the order of the record's keys");
    assert_eq!(lines[4]["event"]["subtype"], "turn_duration");
    let usage = json!({"input": 15, "output": 30, "cacheRead": 300, "cacheWrite": 21, "reasoning": 6, "cost": null});
    let end =
        json!({"turn": 1, "usage": usage, "text": "First.\nSecond.", "conversation": SESSION, "interrupted": false});
    assert_eq!(lines[5], end);
    assert_eq!(lines[6]["event"]["isApiErrorMessage"], true);
    assert_eq!(lines[7], json!({"turn": 2, "failure": {"code": "529", "message": "Overloaded"}}));
    assert_eq!(replayed(&*recording, 2..=2), lines[6..]);
    assert_eq!(replayed(&*recording, 3..=3), [json!(null); 0]);
}

#[test]
fn prompts_are_what_replays_are_compared_by() {
    let (_folder, recording) = open_bytes(&rich().bytes());
    let prompts: Vec<_> =
        recording.replay_turns().unwrap().into_iter().map(|turn| (turn.prompt, turn.changes)).collect();
    let expected = [Some("Store the cart"), None, Some("Both files"), Some("and hurry"), Some("/review"), Some("Last")];
    assert_eq!(prompts, expected.map(|prompt| (prompt.map(str::to_owned), None)));
    let question = recording.session().steps.iter().find(|step| step.kind == StepKind::QuestionAnswer).unwrap();
    assert_eq!(
        recording.prompt(question.number).unwrap(),
        "Which storage?\n- SQLite: one file\n- Postgres: a server\n→ SQLite"
    );
}

#[test]
fn a_plan_can_be_called_off_and_tells_how_far_it_is() {
    let (_folder, recording) = open_bytes(&rich().bytes());
    let cancelled = std::sync::atomic::AtomicBool::new(false);
    let told = std::sync::Mutex::new(Vec::new());
    let tell = |done, total| told.lock().unwrap().push((done, total));
    let watch = Watch::new(&cancelled, &tell);
    recording.fork(Cut::After(3), watch).unwrap();
    recording.revert(3, watch).unwrap();
    let told = told.lock().unwrap().clone();
    assert!(told.len() > 2 && told.iter().all(|(done, total)| done <= total && *total > 0), "{told:?}");
    cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
    let watch = Watch::new(&cancelled, &|_, _| {});
    for result in [recording.fork(Cut::After(3), watch).map(drop), recording.revert(3, watch).map(drop)] {
        assert!(matches!(result, Err(Refusal::Read(ReadError::Cancelled(_)))));
    }
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_no_turn_without_a_prompt() {
    let (_folder, recording) = open_bytes(&rich().bytes());
    let path = &recording.session().source;
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10).unwrap();
    assert!(matches!(recording.replay_turns(), Err(ReadError::Shrunk { .. })));
}

#[test]
fn no_fork_ends_with_a_step_that_it_would_not_have() {
    // A command whose answer begins with a question is a step by that answer alone.
    let mut script = Script::new();
    script.prompt("u1", "One").says("a1", "1").user("c1", json!("<command-name>/review</command-name>"), json!({}));
    script.block("a2", "m2", tool_use("t1", "AskUserQuestion", ask("Which?")), 3);
    script.result("r1", "t1", "answered", json!({"toolUseResult": {"answers": {"Which?": "SQLite"}}}));
    script.says("a3", "Done.");
    let (_folder, recording) = open_bytes(&script.bytes());
    let steps = &recording.session().steps;
    assert_eq!(steps.len(), 3);
    assert!(steps[1].fork_refusal.as_deref().unwrap().contains("the question of step 3"));
    assert!(steps[0].fork_refusal.is_none() && steps[2].fork_refusal.is_none());
    assert!(recording.fork(Cut::After(2), Watch::none()).is_err());
    for cut in [Cut::Before(2), Cut::Before(3), Cut::After(1)] {
        assert_eq!(recording.fork(cut, Watch::none()).unwrap().steps, 1, "{cut:?}");
    }
    super::actions::check_forks(&*recording, "command and question");
    super::actions::check_reverts(&*recording, "command and question");
}

#[test]
fn of_two_questions_in_one_response_the_first_alone_makes_no_fork() {
    let mut script = Script::new();
    script.prompt("u1", "One");
    script.block("a1", "m1", tool_use("t1", "AskUserQuestion", ask("Which?")), 3);
    script.block("a2", "m1", tool_use("t2", "AskUserQuestion", ask("And?")), 3);
    script.result("r1", "t1", "answered", json!({"toolUseResult": {"answers": {"Which?": "SQLite"}}}));
    script
        .result("r2", "t2", "answered", json!({"toolUseResult": {"answers": {"And?": "SQLite"}}}))
        .says("a3", "Done.");
    let (_folder, recording) = open_bytes(&script.bytes());
    let refused: Vec<_> = recording.session().steps.iter().map(|step| step.fork_refusal.is_some()).collect();
    assert_eq!(refused, [false, true, false]);
    super::actions::check_forks(&*recording, "two questions");
}
