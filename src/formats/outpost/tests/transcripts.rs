//! Transcripts of Outpost's own harness, and forks in its own form.

use super::*;
use crate::formats::{Cut, Effect};
use crate::model::{EventKind, Fact, NodeId, Outcome, ToolState};

pub fn header() -> Value {
    json!({ "type": "session", "version": 2, "id": "c1", "model": "m1", "createdAt": "2026-02-03T10:00:00.000Z" })
}

pub fn user(text: &str) -> Value {
    json!({ "type": "message", "message": { "role": "user", "content": [{ "type": "text", "text": text }] } })
}

fn said(text: &str) -> Value {
    json!({ "type": "message", "message": { "role": "assistant", "content": [{ "type": "text", "text": text }] } })
}

fn call(id: &str) -> Value {
    let block = json!({ "type": "tool-call", "id": id, "name": "bash", "input": { "command": "ls" } });
    json!({ "type": "message", "message": { "role": "assistant", "content": [block] } })
}

fn result(id: &str, is_error: bool) -> Value {
    let block = json!({ "type": "tool-result", "callId": id, "content": "files", "isError": is_error });
    json!({ "type": "message", "message": { "role": "user", "content": [block] } })
}

pub fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Two turns, the first with a call.
pub fn conversation() -> Vec<Value> {
    vec![header(), user("one"), call("t1"), result("t1", false), said("done"), user("two"), said("done too")]
}

fn opened(all: &[Value]) -> Opened {
    open_bytes("c1.jsonl", lines(all).as_bytes())
}

fn summaries(opened: &Opened) -> Vec<&str> {
    opened.recording.session().steps.iter().map(|step| step.summary.as_str()).collect()
}

#[test]
fn prompts_are_steps_and_calls_have_their_results() {
    let opened = opened(&conversation());
    let session = opened.recording.session();
    assert_eq!((session.id.as_str(), session.model.as_deref(), session.nodes), ("c1", Some("m1"), 6));
    assert_eq!(summaries(&opened), ["one", "two"]);
    let step = opened.step(1);
    assert_eq!((&step.step_id, &step.fork_target), (&NodeId::Number(1), &Some(NodeId::Number(4))));
    assert_eq!((opened.step(2).revert_target.clone(), step.at), (Some(NodeId::Number(4)), None));
    assert_eq!((step.outcome, opened.step(2).outcome), (Outcome::Done, Outcome::Done));
    let tool = &opened.events(1)[0];
    assert_eq!((&*tool.label, tool.tool.as_ref().unwrap().state), ("ls", ToolState::Done));
    assert!(opened.events(1)[1].folded);
    let body = opened.recording.body(tool).unwrap();
    assert_eq!((body.input.as_deref(), body.output.as_deref()), (Some(r#"{"command":"ls"}"#), Some("files")));
    assert_eq!(opened.recording.body(&opened.events(1)[2]).unwrap().text, "done");
    assert_eq!(opened.recording.prompt(2).unwrap(), "two");
    let lines = opened.lines();
    assert_eq!(lines.len(), 6);
    assert_eq!((&lines[3]["text"], &lines[3]["conversation"]), (&json!("done"), &json!("c1")));
    look_at_everything(opened.recording.as_ref());
}

#[test]
fn a_call_without_a_result_at_the_end_is_an_interruption_that_was_concluded() {
    let opened = opened(&[header(), user("one"), call("t1")]);
    assert_eq!(opened.step(1).outcome, Outcome::Interrupted);
    let marker = opened.events(1)[0].marker.as_ref().unwrap();
    assert_eq!(marker.evidence, crate::model::Evidence::Inferred);
    assert!(matches!(marker.fact, Fact::Interruption { .. }));
    let failed = super::transcripts::opened(&[header(), user("one"), call("t1"), result("t1", true)]);
    assert!(matches!(failed.events(1)[0].marker.as_ref().unwrap().fact, Fact::Failure { .. }));
    assert_eq!(super::transcripts::opened(&[header(), user("one")]).step(1).outcome, Outcome::Pending);
}

#[test]
fn a_subagents_conversation_is_no_fork() {
    let mut all = conversation();
    all[0]["parentConversation"] = json!("c0");
    all[0]["parentCallId"] = json!("t9");
    let opened = opened(&all);
    let session = opened.recording.session();
    assert_eq!((session.steps.len(), &session.parent), (2, &None));
    assert_eq!(
        &*session.events.all()[0].label,
        "a subagent's conversation, started by the call t9 of the conversation c0"
    );
    let listed = formats::sessions_of(&[opened.folder.path().to_owned()], &Patient).unwrap().sessions;
    assert!(listed[0].is_hidden && listed[0].is_named("c1"));
}

#[test]
fn routes_and_unknown_parts_are_kept() {
    let route = |reason: &str| json!({ "type": "model-selection", "step": 1, "choice": "x", "model": { "name": "m2" }, "reason": reason });
    let part = json!({ "type": "message", "message": { "role": "assistant", "content": [{ "type": "picture" }, 7] } });
    let opened =
        opened(&[header(), user("one"), route("selected"), route("unavailable"), part, json!({ "type": "later" })]);
    let kinds: Vec<EventKind> = opened.events(1).iter().map(|event| event.kind).collect();
    let expected =
        [EventKind::Decision, EventKind::Fallback, EventKind::Unknown, EventKind::Unknown, EventKind::Unknown];
    assert_eq!(kinds, expected);
    assert_eq!(opened.recording.session().model.as_deref(), Some("m2"));
    assert_eq!(opened.recording.session().report.records.unknown, 1);
    look_at_everything(opened.recording.as_ref());
}

#[test]
fn the_harness_own_compaction_leaves_the_prompts_before_it() {
    let compaction = json!({ "type": "compaction", "messages": [user("summary")["message"], said("kept")["message"]] });
    let mut all = conversation();
    all.extend([compaction, user("three"), said("yes")]);
    let opened = opened(&all);
    assert_eq!(summaries(&opened), ["one", "two", "three"]);
    let marked = &opened.events(2)[1];
    assert_eq!(marked.kind, EventKind::Compaction);
    assert_eq!(opened.recording.body(marked).unwrap().text, "summary\n\nkept");

    // A fork behind it shows the model what it saw: the history, the compaction, what followed.
    let fork = opened.recording.fork(Cut::After(3), Watch::none()).unwrap();
    let reopened = opened.reopen(&fork);
    assert_eq!(summaries(&reopened), ["one", "two", "three"]);
    let kinds: Vec<String> = reopened.bytes().lines().map(kind_of).collect();
    assert_eq!(kinds, ["session", "compaction", "compaction", "message", "message"]);
}

fn kind_of(line: &str) -> String {
    serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned()
}

#[test]
fn a_fork_of_step_n_has_n_steps_and_the_messages_as_they_were() {
    let mut all = conversation();
    all[1]["message"]["later"] = json!({ "kept": 1.0 });
    for step in 1..=2 {
        let opened = opened(&all);
        let original = opened.bytes();
        let fork = opened.recording.fork(Cut::After(step), Watch::none()).unwrap();
        assert_eq!((fork.steps, fork.warnings.len()), (step, 0));
        assert_eq!(fork.file_name, format!("{}.jsonl", fork.session_id));
        let path = opened.path.clone();
        let reopened = opened.reopen(&fork);
        assert_eq!(std::fs::read_to_string(path).unwrap(), original, "the original is not touched");
        let session = reopened.recording.session();
        assert_eq!(session.steps.len(), step as usize);
        assert_eq!((&session.id, session.parent.as_ref().unwrap().session_id.as_str()), (&fork.session_id, "c1"));
        assert_eq!(session.steps[0].step_id, NodeId::Text("1:0".into()));
        let bytes = reopened.bytes();
        let written: Vec<Value> = bytes.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(written.len(), 2);
        assert_eq!((&written[0]["version"], &written[0]["model"]), (&json!(2), &json!("m1")));
        let kept = if step == 1 { 5 } else { 7 };
        let messages: Vec<Value> = all[1..kept].iter().map(|line| line["message"].clone()).collect();
        assert_eq!(written[1]["messages"], json!(messages));
        look_at_everything(reopened.recording.as_ref());

        // A fork of the fork, and one before its last step.
        let again = reopened.recording.fork(Cut::After(step), Watch::none()).unwrap();
        let again = reopened.reopen(&again);
        assert_eq!(again.recording.session().steps.len(), step as usize);
        if step == 2 {
            let before = again.recording.fork(Cut::Before(2), Watch::none()).unwrap();
            assert_eq!(again.reopen(&before).recording.session().steps.len(), 1);
        }
    }
}

#[test]
fn a_fork_does_not_end_in_an_open_call() {
    let opened = opened(&[header(), user("one"), said("ok"), call("t1"), user("two"), call("t2")]);
    for step in 1..=2 {
        let fork = opened.recording.fork(Cut::After(step), Watch::none()).unwrap();
        assert_eq!(
            fork.warnings,
            ["1 message is left out at the end: a call there has no result, and a fork may not end in one"]
        );
        let path = opened.folder.path().join(&fork.file_name);
        write_new(&path, &fork.rewrite, Watch::none()).unwrap();
        assert_eq!(formats::open(&path, &Patient).unwrap().session().steps.len(), step as usize);
    }
    let before = opened.recording.fork(Cut::Before(1), Watch::none()).unwrap_err().to_string();
    assert!(before.contains("nothing before it"), "{before}");
}

#[test]
fn a_revert_cuts_the_file_before_the_prompt() {
    let opened = opened(&conversation());
    let revert = opened.recording.revert(2, Watch::none()).unwrap();
    assert_eq!((revert.keeps_steps, revert.prefill.as_deref(), revert.dropped.messages), (1, Some("two"), 2));
    let path = opened.folder.path().join("cut.jsonl");
    write_new(&path, revert.rewrite(), Watch::none()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), lines(&conversation()[..5]));
    assert!(opened.recording.revert(1, Watch::none()).is_err());
    assert!(opened.step(1).revert_refusal.is_some());
}

#[test]
fn what_a_fork_inherited_is_reverted_by_an_export() {
    let opened = opened(&conversation());
    let fork = opened.recording.fork(Cut::After(2), Watch::none()).unwrap();
    let forked = opened.reopen(&fork);
    let revert = forked.recording.revert(2, Watch::none()).unwrap();
    let Effect::Export(export) = &revert.effect else { panic!("the file must not be cut") };
    assert_eq!(revert.keeps_steps, 1);
    assert_eq!(forked.reopen(export).recording.session().steps.len(), 1);
}

#[test]
fn damaged_lines_are_shown_and_the_rest_is_read() {
    let text = format!(
        "{}oops\n{{\"type\":\"message\",\"message\":{{\"role\":7}}}}\n{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"plain\"}}}}\n{{\"type\":\"mess",
        lines(&conversation())
    );
    let opened = open_bytes("c1.jsonl", text.as_bytes());
    let session = opened.recording.session();
    assert_eq!(summaries(&opened), ["one", "two", "plain"]);
    let records = session.report.records;
    assert_eq!((records.total, records.read, records.unreadable, records.torn), (11, 9, 1, 1));
    let unreadable = session.events.all().iter().find(|event| event.kind == EventKind::Unreadable).unwrap();
    assert_eq!(opened.recording.raw(unreadable.place).unwrap(), b"oops");
    assert_eq!(opened.recording.origin(unreadable.place).unwrap().locator, crate::model::Locator::Line(8));
    look_at_everything(opened.recording.as_ref());
    // The fork leaves out what Outpost would refuse.
    let fork = opened.recording.fork(Cut::After(3), Watch::none()).unwrap();
    assert!(fork.warnings[0].contains("left out that Outpost would refuse"), "{:?}", fork.warnings);
    let reopened = opened.reopen(&fork);
    assert_eq!(reopened.recording.session().report.problems, []);
    assert_eq!(reopened.recording.session().steps.len(), 3);
}
