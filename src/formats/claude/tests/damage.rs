//! Files as they are found: cut off, doubled, padded, not UTF-8, exported; and everything that proptest makes of them.

use std::sync::Arc;
use std::sync::Mutex;

use proptest::prelude::*;
use serde_json::json;

use super::build::{Script, ask, tool_use};
use super::shapes::session;
use super::{open_bytes, open_path};
use crate::formats::detect::{Sample, Shape};
use crate::formats::{Cut, Observer, Recording};
use crate::model::{EventKind, Locator, ProblemKind, Records};
use crate::store::{SourceFile, Watch, write_new};

fn records(recording: &dyn Recording) -> Records {
    recording.session().report.records
}

fn problems(recording: &dyn Recording) -> Vec<(Locator, ProblemKind)> {
    let problems = recording.session().report.problems.iter();
    problems.map(|problem| (problem.locator.clone(), problem.kind)).collect()
}

/// A session with something of everything.
pub fn rich() -> Script {
    let mut script = Script::new();
    script
        .loose("mode", json!({"mode": "normal"}))
        .loose("queue-operation", json!({"operation": "enqueue", "content": "x"}));
    script.loose("file-history-snapshot", json!({"messageId": "u1", "snapshot": {}}));
    script.prompt("u1", "Store the cart").block(
        "a1",
        "m1",
        json!({"type": "thinking", "thinking": "Hm", "signature": "s"}),
        3,
    );
    script.block("a2", "m1", json!({"type": "text", "text": "One question."}), 10);
    script.block("a3", "m1", tool_use("t1", "AskUserQuestion", ask("Which storage?")), 30);
    script.result("r1", "t1", "answered", json!({"toolUseResult": {"answers": {"Which storage?": "SQLite"}}}));
    script.calls("a4", "t2", "Write", json!({"file_path": "/s/cart.rs", "content": "x"}));
    script.result(
        "r2",
        "t2",
        "created",
        json!({"toolUseResult": {"type": "create", "filePath": "/s/cart.rs"},
        "permissionDecision": {"decision": "accept", "source": "user_temporary"}}),
    );
    script.says("a5", "Stored.").ends("d1").loose("last-prompt", json!({"lastPrompt": "x", "leafUuid": "d1"}));
    script.prompt("u2", "Wrong turn").says("a6", "Oh.").back_to("d1").prompt("u3", "Both files");
    script.block("a7", "m7", tool_use("t3", "Bash", json!({"command": "cat a", "description": "read a"})), 4);
    script.block("a8", "m7", tool_use("t4", "Edit", json!({"file_path": "/s/cart.rs"})), 8);
    script.back_to("a7").result("r3", "t3", "a", json!({"toolUseResult": {"stdout": "a", "interrupted": false}}));
    script.back_to("a8").result("r4", "t4", "b", json!({"toolUseResult": {"type": "update"}})).says("a9", "Read.");
    script.chain(
        "b1",
        "system",
        json!({"parentUuid": null, "logicalParentUuid": "a9", "subtype": "compact_boundary", "content": "c"}),
    );
    script.user("s1", json!("Summary"), json!({"isCompactSummary": true}));
    script.chain(
        "q1",
        "attachment",
        json!({"attachment": {"type": "queued_command", "prompt": "and hurry", "origin": {"kind": "human"}}}),
    );
    script.calls("a10", "t5", "Bash", json!({"command": "make"})).error("r5", "t5", "Exit code 2", json!({}));
    script.user("c1", json!("<command-name>/review</command-name>"), json!({}));
    script.user("x1", json!("Review it"), json!({"isMeta": true})).says("a11", "Fine.");
    script.prompt("u4", "Last").calls("a12", "t6", "Bash", json!({"command": "make install"}));
    script.loose("custom-title", json!({"customTitle": "Cart"}));
    script
}

#[test]
fn the_last_line_may_be_torn() {
    let mut bytes = rich().bytes();
    bytes.extend_from_slice(br#"{"type":"assistant","uuid":"a99","parentUuid":"a12","mess"#);
    let (_folder, recording) = open_bytes(&bytes);
    assert_eq!(records(&*recording).torn, 1);
    assert_eq!(recording.session().events.all().last().map(|event| event.kind), Some(EventKind::Unreadable));
    // A whole last line without a line feed is a record like others.
    let whole = rich().bytes();
    let (_folder, recording) = open_bytes(whole.trim_ascii_end());
    assert_eq!(records(&*recording).torn, 0);
}

#[test]
fn a_record_may_follow_a_torn_one_on_its_line() {
    let mut script = Script::new();
    script.prompt("u1", "One").says("a1", "1");
    let torn = format!("{}{}", r#"{"type":"assistant","uuid":"zz","message":{"content":[{"#, script.lines[1]);
    script.lines[1] = torn;
    let (_folder, recording) = open_bytes(&script.bytes());
    assert_eq!(recording.session().head, Some(crate::model::NodeId::Text("a1".into())));
    let records = records(&*recording);
    assert_eq!((records.read, records.unreadable), (2, 1));
    assert_eq!(
        problems(&*recording),
        [(Locator::Line(2), ProblemKind::Repaired), (Locator::Line(2), ProblemKind::Unreadable)]
    );
    let two = format!("{}{}\n", script.lines[0], script.lines[0].replace("u1", "u2").replace("null", "\"u1\""));
    let (_folder, recording) = open_bytes(two.as_bytes());
    assert_eq!(recording.session().steps.len(), 2);
    super::actions::check_forks(&*recording, "two on a line");
    super::actions::check_reverts(&*recording, "two on a line");
}

#[test]
fn padding_marks_and_foreign_bytes_are_read_over() {
    let script = rich();
    let mut bytes = b"\xEF\xBB\xBF".to_vec();
    for (number, line) in script.lines.iter().enumerate() {
        match number {
            4 => bytes.extend_from_slice(
                &line
                    .replace("Hm", "H?m")
                    .into_bytes()
                    .iter()
                    .map(|byte| if *byte == b'?' { 0xFF } else { *byte })
                    .collect::<Vec<_>>(),
            ),
            5 => bytes.extend_from_slice(line.replace("One", r"\ud83d One").as_bytes()),
            6 => {
                bytes.extend_from_slice(&[0; 512]);
                bytes.extend_from_slice(line.as_bytes());
            }
            _ => bytes.extend_from_slice(line.as_bytes()),
        }
        bytes.extend_from_slice(b"\r\n");
    }
    let (_folder, recording) = open_bytes(&bytes);
    let plain = session(&script);
    let summaries =
        |session: &crate::model::Session| session.steps.iter().map(|step| step.summary.clone()).collect::<Vec<_>>();
    assert_eq!(summaries(recording.session()), summaries(&plain));
    assert_eq!(records(&*recording), plain.report.records);
    let repaired: Vec<_> = problems(&*recording)
        .into_iter()
        .filter(|(_, kind)| *kind == ProblemKind::Repaired)
        .map(|(locator, _)| locator)
        .collect();
    assert_eq!(repaired, [Locator::Line(5), Locator::Line(7)]);
    super::actions::check_forks(&*recording, "padded");
    super::actions::check_reverts(&*recording, "padded");
}

#[test]
fn values_that_are_no_records_are_kept_and_shown() {
    let mut script = Script::new();
    script.prompt("u1", "One").raw("42").raw("[1]").raw("nonsense").raw("\"text\"").raw("{}");
    let (_folder, recording) = open_bytes(&script.bytes());
    let records = records(&*recording);
    assert_eq!((records.total, records.read, records.unknown, records.unreadable), (6, 1, 4, 1));
    let unreadable = recording.session().events.all().iter().find(|event| event.kind == EventKind::Unreadable).unwrap();
    assert_eq!(recording.body(unreadable).unwrap().text, "nonsense");
}

#[test]
fn of_a_huge_record_that_cannot_be_read_the_start_is_shown() {
    let mut script = Script::new();
    script.prompt("u1", "One").raw(&format!("{{\"type\":{}", "x".repeat(9 * 1024 * 1024 - 8)));
    let (_folder, recording) = open_bytes(&script.bytes());
    let event = &recording.session().events.all()[0];
    let text = recording.body(event).unwrap().text;
    assert_eq!(text.len(), 8 * 1024 * 1024 + "\n… 1048576 bytes more".len());
    assert!(text.starts_with("{\"type\":xxx") && text.ends_with("\n… 1048576 bytes more"));
    let raw = recording.raw(event.place).unwrap();
    assert_eq!(String::from_utf8(raw).unwrap(), text);
}

#[test]
fn problems_are_listed_up_to_a_bound() {
    let mut script = Script::new();
    script.prompt("u1", "One").chain("u2", "user", json!({"parentUuid": "lost", "message": {"content": "Two"}}));
    for _ in 0..10_005 {
        script.raw("x");
    }
    let (_folder, recording) = open_bytes(&script.bytes());
    let report = &recording.session().report;
    assert_eq!(report.records.unreadable, 10_005);
    assert_eq!(report.problems.len(), 10_002);
    let messages: Vec<_> = report.problems[10_000..].iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        ["its parent is not in the file; the chain begins here", "5 more problems are not listed"],
        "what concerns the whole file is told whatever else there is"
    );
}

#[test]
fn depth_and_length_have_no_say() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let mut script = Script::new();
    script.prompt("u1", "Deep");
    script.raw(&format!(
        r#"{{"type":"assistant","uuid":"a1","parentUuid":"u1","more":{deep},"message":{{"id":"m","content":[{{"type":"tool_use","id":"t","name":"X","input":{deep}}}]}}}}"#
    ));
    script.raw(&format!(
        r#"{{"type":"user","uuid":"r1","parentUuid":"a1","toolUseResult":{deep},"message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"{}"}}]}}}}"#,
        "x".repeat(20 * 1024 * 1024)
    ));
    let (_folder, recording) = open_bytes(&script.bytes());
    assert_eq!(records(&*recording).read, 3);
    let event = &recording.session().events.all()[0];
    assert_eq!(event.kind, EventKind::Tool);
    assert!(event.label.chars().count() <= 160);
    recording.body(event).unwrap();
    super::actions::check_forks(&*recording, "deep");
}

#[test]
fn an_export_opens_in_the_order_of_its_array() {
    let content = br#"{"v":1,"loglines":[
      {"type":"user","timestamp":"2026-03-01T10:00:00Z","message":{"role":"user","content":"Add two numbers"}},
      {"type":"assistant","timestamp":"2026-03-01T10:00:05Z","message":{"content":[{"type":"text","text":"Sure."},
        {"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}},
      {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}},
      {"type":"user","message":{"content":"Thanks"}}
    ], "more": {}}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("export.json");
    std::fs::write(&path, content).unwrap();
    let source = Arc::new(SourceFile::open(&path).unwrap());
    let document = serde_json::from_slice(content).unwrap();
    for shape in [Shape::Document, Shape::Array { start: 18 }] {
        let sample = Sample { path: path.clone(), shape, records: vec![serde_json::Value::clone(&document)] };
        assert_eq!((super::super::FORMAT.recognise)(&sample), 10);
        let recording = super::super::open(Arc::clone(&source), &sample, &crate::formats::Patient).unwrap();
        let session = recording.session();
        let summaries: Vec<_> = session.steps.iter().map(|step| step.summary.as_str()).collect();
        assert_eq!(summaries, ["Add two numbers", "Thanks"]);
        let kinds: Vec<_> = session.events.all().iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [EventKind::Text, EventKind::Tool]);
        assert_eq!((session.report.records.total, session.report.records.read), (4, 4));
        assert_eq!(session.id, "export");
        assert!(recording.fork(Cut::After(1), Watch::none()).is_err() && recording.revert(2, Watch::none()).is_err());
        assert!(session.steps[1].fork_refusal.as_deref().unwrap().contains("export"));
    }
}

/// Four turns; the prompt of the third is torn in the middle of the file.
fn torn_in_the_middle() -> Script {
    let mut script = Script::new();
    script
        .prompt("u1", "One")
        .says("a1", "1")
        .prompt("u2", "Two")
        .says("a2", "2")
        .loose("mode", json!({"mode": "normal"}));
    script
        .prompt("u3", "Three")
        .loose("mode", json!({"mode": "normal"}))
        .says("a3", "3")
        .prompt("u4", "Four")
        .says("a4", "4");
    script.lines[5].truncate(100);
    script
}

#[test]
fn what_is_before_an_unreadable_record_stays_in_the_session() {
    let (folder, recording) = open_bytes(&torn_in_the_middle().bytes());
    let session = recording.session();
    let summaries: Vec<_> = session.steps.iter().map(|step| step.summary.as_str()).collect();
    assert_eq!(summaries, ["One", "Two", "Four"]);
    assert_eq!(
        problems(&*recording),
        [(Locator::Line(6), ProblemKind::Unreadable), (Locator::Line(8), ProblemKind::Structure)]
    );
    assert_eq!(
        session.report.problems[1].message,
        "its parent is not in the file and line 6 before it cannot be read; it is taken to follow the record of line 4"
    );
    // In a fork the link is written down, for the agent knows of no bridge.
    let fork = recording.fork(Cut::After(3), Watch::none()).unwrap();
    assert_eq!(fork.warnings, ["the record on line 6 could not be read and is not in the fork"]);
    let path = folder.path().join(&fork.file_name);
    write_new(&path, &fork.rewrite, Watch::none()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let answer = text.lines().find(|line| line.contains("\"a3\"")).unwrap();
    assert!(answer.starts_with("{\"parentUuid\":\"a2\","), "{answer}");
    let copy = open_path(&path);
    assert_eq!((copy.session().steps.len(), problems(&*copy)), (3, vec![]));
    assert_eq!(
        recording.fork(Cut::After(1), Watch::none()).unwrap().warnings,
        Vec::<String>::new(),
        "cut before the damage"
    );
    let revert = recording.revert(3, Watch::none()).unwrap();
    assert_eq!(revert.keeps_steps, 2);
    assert_eq!(revert.warnings, ["the record on line 6 could not be read and stays as it is"]);
    super::actions::check_forks(&*recording, "bridged");
    super::actions::check_reverts(&*recording, "bridged");
}

#[test]
fn a_bridged_record_that_a_revert_moves_keeps_its_place() {
    let mut script = torn_in_the_middle();
    script.back_to("a3").prompt("u5", "Five");
    // Reverting the last step goes back to the bridged record, behind which a branch was left.
    let (_folder, recording) = open_bytes(&script.bytes());
    assert_eq!(recording.session().steps.len(), 3);
    assert_eq!(recording.revert(3, Watch::none()).unwrap().warnings.len(), 2);
    super::actions::check_reverts(&*recording, "bridged and moved");
}

#[test]
fn a_missing_parent_without_damage_stays_a_root() {
    let mut whole = torn_in_the_middle();
    whole.lines.remove(5);
    let (_folder, recording) = open_bytes(&whole.bytes());
    let steps = |recording: &dyn Recording| recording.session().steps.len();
    assert_eq!(steps(&*recording), 1);
    assert_eq!(recording.session().report.problems[0].message, "its parent is not in the file; the chain begins here");
    // Damage elsewhere says nothing of it.
    whole.lines.insert(3, "{torn".to_owned());
    let (_folder, recording) = open_bytes(&whole.bytes());
    assert_eq!(steps(&*recording), 1);
    // Nor do records of another session follow each other.
    let mut foreign = torn_in_the_middle();
    for line in foreign.lines.iter_mut().take(5) {
        *line = line.replace("5e551011", "5e551012");
    }
    let (_folder, recording) = open_bytes(&foreign.bytes());
    assert_eq!(steps(&*recording), 1);
}

#[test]
fn a_bridge_never_leads_to_what_comes_after_it() {
    // The line before the damage is one that was written out of its place: it comes last.
    let mut script = torn_in_the_middle();
    script.back_to("a4").prompt("u5", "Five").back_to("u5").says("a5", "5");
    let early = script.lines.remove(10);
    script.lines.insert(5, early);
    let (_folder, recording) = open_bytes(&script.bytes());
    let summaries: Vec<_> = recording.session().steps.iter().map(|step| step.summary.as_str()).collect();
    assert_eq!(summaries, ["Four", "Five"]);
    assert_eq!(recording.session().report.problems[1].message, "its parent is not in the file; the chain begins here");
    super::actions::check_reverts(&*recording, "bridge back");
}

#[test]
fn a_revert_makes_no_bridge_where_there_was_none() {
    // The compaction's logical parent is a record after it, which goes; the damage before it is then all that is left.
    let boundary = json!({"parentUuid": null, "logicalParentUuid": "a1", "subtype": "compact_boundary"});
    let mut script = Script::new();
    script.prompt("u0", "Elsewhere").raw("{torn").chain("b1", "system", boundary);
    script.user("s1", json!("Summary"), json!({"isCompactSummary": true})).prompt("u1", "One").says("a1", "1");
    let (_folder, recording) = open_bytes(&script.bytes());
    assert_eq!(recording.session().steps.len(), 1);
    super::actions::check_reverts(&*recording, "no bridge");
}

/// A chain that comes back on itself and begins with the record `a0`, which names the prompt after it as its parent.
/// Damage stands before it, and before that a prompt of another root: taken for the parent, it would be a step.
fn begins_in_a_circle() -> Script {
    let mut script = Script::new();
    script.prompt("u1", "Elsewhere").raw("{torn").back_to("u2").says("a0", "0").prompt("u2", "Again");
    script
}

#[test]
fn a_chain_that_begins_in_a_circle_begins_there_after_a_revert_too() {
    let (folder, recording) = open_bytes(&begins_in_a_circle().bytes());
    assert_eq!(recording.session().steps.len(), 1);
    let revert = recording.revert(1, Watch::none()).unwrap();
    assert_eq!((revert.keeps_steps, revert.warnings.len()), (0, 0));
    let path = folder.path().join("reverted.jsonl");
    write_new(&path, revert.rewrite(), Watch::none()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let root = text.lines().find(|line| line.contains("\"a0\"")).unwrap();
    assert!(root.starts_with("{\"parentUuid\":null,"), "{root}");
    super::actions::check_reverts(&*recording, "circle");
    super::actions::check_forks(&*recording, "circle");
    // The same where the damage comes before it only once it has moved to the end.
    let mut script = Script::new();
    script.back_to("u2").says("a0", "0").prompt("u2", "Again").back_to("").prompt("u1", "Elsewhere").raw("{torn");
    script.back_to("u2").says("a2", "2");
    let (_folder, recording) = open_bytes(&script.bytes());
    assert_eq!(recording.session().steps.len(), 1);
    assert_eq!(recording.revert(1, Watch::none()).unwrap().warnings.len(), 1, "it moves");
    super::actions::check_reverts(&*recording, "circle and moved");
    // And where a logical parent would stand in for the one that went.
    let mut script = Script::new();
    script.prompt("u1", "Elsewhere").raw("{torn");
    script.back_to("u2").chain("b1", "system", json!({"logicalParentUuid": "u1", "subtype": "compact_boundary"}));
    script.prompt("u2", "Again").says("a2", "2");
    let (_folder, recording) = open_bytes(&script.bytes());
    assert_eq!(recording.session().steps.len(), 1);
    super::actions::check_reverts(&*recording, "circle and compaction");
    super::actions::check_forks(&*recording, "circle and compaction");
}

#[test]
fn a_circle_opens_in_the_same_place_after_a_revert() {
    // Two compactions in a circle, of which the first is taken for the beginning; the revert moves it behind the other.
    let mut script = Script::new();
    script.chain("b1", "system", json!({"logicalParentUuid": "u1", "subtype": "compact_boundary"}));
    let second = json!({"parentUuid": null, "logicalParentUuid": "b1", "subtype": "compact_boundary"});
    script.chain("b2", "system", second).prompt("u1", "Left").back_to("b1").prompt("u2", "Here");
    let (_folder, recording) = open_bytes(&script.bytes());
    let summaries: Vec<_> = recording.session().steps.iter().map(|step| step.summary.as_str()).collect();
    assert_eq!(summaries, ["Here"]);
    super::actions::check_reverts(&*recording, "opened");
    super::actions::check_forks(&*recording, "opened");
}

#[test]
fn a_fork_has_no_circle() {
    let (folder, recording) = open_bytes(&begins_in_a_circle().bytes());
    let fork = recording.fork(Cut::After(1), Watch::none()).unwrap();
    assert_eq!(fork.steps, 1);
    let path = folder.path().join(&fork.file_name);
    write_new(&path, &fork.rewrite, Watch::none()).unwrap();
    let copy = open_path(&path);
    assert_eq!((copy.session().steps.len(), problems(&*copy)), (1, vec![]));
    // Nor does one come about where the first record of the chain is left out.
    let mut script = Script::new();
    script.back_to("u2").calls("a0", "t0", "Bash", json!({"command": "make"})).says("a1", "1").prompt("u2", "Again");
    let (folder, recording) = open_bytes(&script.bytes());
    let fork = recording.fork(Cut::After(1), Watch::none()).unwrap();
    assert_eq!(fork.warnings, ["1 tool call without a result was left out"]);
    let path = folder.path().join(&fork.file_name);
    write_new(&path, &fork.rewrite, Watch::none()).unwrap();
    assert_eq!(problems(&*open_path(&path)), []);
    super::actions::check_forks(&*recording, "no circle");
}

#[test]
fn raw_control_characters_in_a_text_are_read_as_spaces() {
    let mut script = Script::new();
    script.prompt("u1", "One").says("a1", "one\u{1}two").prompt("u2", "Two").says("a2", "2");
    let raw = script.lines[1].replace("\\u0001", "\0\u{1}\0");
    assert!(raw.contains("one\0\u{1}\0two"));
    script.lines[1] = raw;
    let (folder, recording) = open_bytes(&script.bytes());
    let session = recording.session();
    assert_eq!((session.steps.len(), records(&*recording).read), (2, 4));
    assert_eq!(problems(&*recording), [(Locator::Line(2), ProblemKind::Repaired)]);
    assert_eq!(session.report.problems[0].message, "raw control characters were read as spaces");
    assert_eq!(recording.body(&session.events.all()[0]).unwrap().text, "one   two");
    // The agent reads no such line: a fork must have a better one.
    let fork = recording.fork(Cut::After(2), Watch::none()).unwrap();
    let path = folder.path().join(&fork.file_name);
    write_new(&path, &fork.rewrite, Watch::none()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[1]["message"]["content"][0]["text"], "one   two");
    assert_eq!(lines[1]["forkedFrom"]["messageUuid"], "a1");
    super::actions::check_forks(&*recording, "controls");
    super::actions::check_reverts(&*recording, "controls");
}

#[test]
fn what_was_repaired_is_told_before_what_became_of_it() {
    let mut script = Script::new();
    script.prompt("u1", "One\u{1}").says("a1", "1");
    script.lines[0] = script.lines[0].replace("\\u0001", "\u{1}");
    script.lines.push(script.lines[0].clone());
    // Opened in parts too, of which a later one does not know yet that its record is there before.
    let (_folder, recording) = open_bytes(&script.bytes());
    assert_eq!(
        problems(&*recording),
        [
            (Locator::Line(1), ProblemKind::Repaired),
            (Locator::Line(3), ProblemKind::Repaired),
            (Locator::Line(3), ProblemKind::Duplicate)
        ]
    );
    // In an array too it is told of the element that it is in.
    let content = format!("{{\"loglines\":[\n{},\n{}\n]}}", script.lines[1], script.lines[0]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("export.json");
    std::fs::write(&path, &content).unwrap();
    let source = Arc::new(SourceFile::open(&path).unwrap());
    let records = vec![serde_json::from_str(&format!("{{\"loglines\":[{}]}}", script.lines[1])).unwrap()];
    let sample = Sample { path, shape: Shape::Array { start: 12 }, records };
    let recording = super::super::open(source, &sample, &crate::formats::Patient).unwrap();
    assert_eq!(recording.session().nodes, 2);
    assert_eq!(problems(&*recording)[0], (Locator::Index(1), ProblemKind::Repaired));
}

#[test]
fn copies_are_compared_with_the_first_of_the_file() {
    let mut script = Script::new();
    script.prompt("u1", "One");
    let (first, other) = (script.lines[0].clone(), script.lines[0].replace("One", "Two"));
    // In the second half, which is read by itself too, the other one comes first.
    for number in 0..4 {
        script.says(&format!("a{number}"), "1");
    }
    script.raw(&other).raw(&first).raw(&other);
    let (_folder, recording) = open_bytes(&script.bytes());
    let messages: Vec<_> = recording.session().report.problems.iter().map(|problem| problem.message.as_str()).collect();
    let other = "the record u1 once more: same id, other content; the first is shown";
    assert_eq!(messages, [other, "the record u1 once more", other]);
}

struct Waiting(Mutex<Vec<(usize, usize)>>);

impl Observer for Waiting {
    fn watch(&self) -> Watch<'_> {
        Watch::none()
    }
    fn partial(&self, recording: Arc<dyn Recording>) {
        assert!(recording.fork(Cut::After(1), Watch::none()).is_err(), "half a file is not cut");
        self.0.lock().unwrap().push((recording.session().steps.len(), recording.session().events.len()));
    }
    fn wants_partial(&self) -> bool {
        true
    }
}

#[test]
fn a_large_file_is_shown_while_it_is_read() {
    let mut script = Script::new();
    for turn in 0..600 {
        script.prompt(&format!("u{turn}"), &format!("Turn {turn}")).says(&format!("a{turn}"), &"word ".repeat(2000));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.jsonl");
    std::fs::write(&path, script.bytes()).unwrap();
    let source = Arc::new(SourceFile::open(&path).unwrap());
    let sample = Sample::take(&source).unwrap();
    let waiting = Waiting(Mutex::default());
    let whole = super::super::open(source, &sample, &waiting).unwrap();
    let partial = waiting.0.into_inner().unwrap();
    assert_eq!(partial.len(), 2, "after 1 and 4 MiB");
    assert!(partial[0].0 > 50 && partial[0].0 < partial[1].0 && partial[1].0 < 600, "{partial:?}");
    assert_eq!(whole.session().steps.len(), 600);
}

#[test]
fn a_file_without_records_does_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.jsonl");
    std::fs::write(&path, "\n\n").unwrap();
    let source = Arc::new(SourceFile::open(&path).unwrap());
    let sample = Sample::take(&source).unwrap();
    assert!(super::super::open(source, &sample, &crate::formats::Patient).is_err());
}

/// Everything that can be asked of a recording, for whatever it says.
fn ask_everything(recording: &dyn Recording) {
    let session = recording.session();
    let records = session.report.records;
    assert_eq!(records.total, records.read + records.unknown + records.duplicate + records.unreadable + records.torn);
    for event in session.events.all().iter().chain(session.subagents.iter().flat_map(|agent| agent.events.all())) {
        assert!(event.label.chars().count() <= 160);
        let _ = recording.body(event).unwrap();
        assert!(recording.origin(event.place).is_some());
    }
    for pair in session.steps.windows(2) {
        assert_eq!(pair[0].events.end, pair[1].events.start);
    }
    for step in &session.steps {
        recording.prompt(step.number).unwrap();
        let _ = recording.fork(Cut::Before(step.number), Watch::none());
        recording.replay(step.number, &mut |_| Ok(())).unwrap();
    }
    assert_eq!(recording.replay_turns().unwrap().len(), session.steps.len());
}

#[derive(Clone, Debug)]
enum Harm {
    Flip(usize, u8),
    Cut(usize, usize),
    Double(usize),
    Drop(usize),
    Swap(usize, usize),
    Retarget(usize, usize),
    Truncate(usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    let at = 0..20_000_usize;
    prop_oneof![
        (at.clone(), any::<u8>()).prop_map(|(at, byte)| Harm::Flip(at, byte)),
        (at.clone(), 1..200_usize).prop_map(|(at, len)| Harm::Cut(at, len)),
        at.clone().prop_map(Harm::Double),
        at.clone().prop_map(Harm::Drop),
        (at.clone(), at.clone()).prop_map(|(a, b)| Harm::Swap(a, b)),
        (at.clone(), at.clone()).prop_map(|(a, b)| Harm::Retarget(a, b)),
        at.prop_map(Harm::Truncate),
    ]
}

fn apply(harms: &[Harm]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = rich().lines.into_iter().map(String::into_bytes).collect();
    let names = ["u1", "a1", "a3", "r1", "d1", "u3", "a7", "a8", "r3", "b1", "q1", "c1", "a12"];
    let mut truncate = None;
    for harm in harms {
        if lines.is_empty() {
            break;
        }
        let count = lines.len();
        match *harm {
            Harm::Flip(at, byte) => {
                let line = &mut lines[at % count];
                if !line.is_empty() {
                    let place = at / count % line.len();
                    line[place] = byte;
                }
            }
            Harm::Cut(at, len) => {
                let line = &mut lines[at % count];
                let start = (at / count).min(line.len());
                line.drain(start..(start + len).min(line.len()));
            }
            Harm::Double(at) => {
                let line = lines[at % count].clone();
                lines.insert(at / count % count, line);
            }
            Harm::Drop(at) => {
                lines.remove(at % count);
            }
            Harm::Swap(a, b) => lines.swap(a % count, b % count),
            Harm::Retarget(at, to) => {
                let line = String::from_utf8_lossy(&lines[at % count]).into_owned();
                if let Some((head, rest)) = line.split_once("\"parentUuid\":")
                    && let Some((_, tail)) = rest.split_once(',')
                {
                    lines[at % count] =
                        format!("{head}\"parentUuid\":\"{}\",{tail}", names[to % names.len()]).into_bytes();
                }
            }
            Harm::Truncate(at) => truncate = Some(at),
        }
    }
    let mut bytes = lines.join(&b'\n');
    if let Some(at) = truncate {
        bytes.truncate(at % (bytes.len() + 1));
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(64), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn harmed_files_never_bring_the_reader_down(harms in proptest::collection::vec(harm(), 1..8)) {
        let bytes = apply(&harms);
        if bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
            let (_folder, recording) = open_bytes(&bytes);
            ask_everything(&*recording);
            super::actions::check_forks_of_harmed(&*recording, "harmed");
            super::actions::check_reverts(&*recording, "harmed");
        }
    }
}

#[test]
fn a_rich_session_answers_everything() {
    let (folder, recording) = open_bytes(&rich().bytes());
    ask_everything(&*recording);
    super::actions::check_forks(&*recording, "rich");
    super::actions::check_reverts(&*recording, "rich");
    // Opening by content finds this format.
    let path = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    assert_eq!(open_path(&path).session().steps.len(), recording.session().steps.len());
    let found = crate::formats::open(&path, &crate::formats::Patient).unwrap();
    assert_eq!(found.session().format, crate::model::FormatName::ClaudeCode);
}
