//! Files that are cut off, mixed up or made to do harm.

use std::sync::Mutex;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::formats::detect::{Sample, Shape};
use crate::formats::{Cut, Observer};
use crate::model::{EventKind, Locator, ProblemKind, Session};
use crate::store::SourceFile;

fn problems(session: &Session) -> Vec<(ProblemKind, Locator)> {
    session.report.problems.iter().map(|problem| (problem.kind, problem.locator.clone())).collect()
}

fn adds_up(session: &Session) {
    let records = session.report.records;
    assert_eq!(
        records.read + records.unknown + records.duplicate + records.unreadable + records.torn,
        records.total,
        "{records:?}"
    );
    assert_eq!(records.total, session.nodes as u64);
}

#[test]
fn lines_that_are_no_entries_are_shown_and_left_out_of_forks() {
    let text = "{\"kind\":\"prompt\",\"source\":\"agent\",\"seq\":1,\"text\":\"a\"}\n\
                7\n\
                {\"kind\":\"text\",\"source\":\"agent\",\"seq\":2,\"text\":\"b\"}{\"kind\":\"text\",\"source\":\"agent\",\"seq\":3,\"text\":\"c\"}\n\
                {\"text\":\"no kind\",\"source\":\"agent\"}\n\
                \n\
                {\"kind\":\"text\",\"text\":\"";
    let mut bytes: Vec<u8> = text.as_bytes().to_vec();
    bytes.extend_from_slice(b"\xff");
    let opened = open_bytes("journal.jsonl", &bytes);
    let session = opened.recording.session();
    adds_up(session);
    let records = session.report.records;
    assert_eq!((records.total, records.read, records.unknown), (6, 3, 1));
    assert_eq!((records.unreadable, records.torn), (1, 1));
    assert_eq!(
        problems(session),
        [
            (ProblemKind::Unreadable, Locator::Line(2)),
            (ProblemKind::Unknown, Locator::Line(4)),
            (ProblemKind::Refused, Locator::Line(4)),
            (ProblemKind::Repaired, Locator::Line(6)),
            (ProblemKind::Torn, Locator::Line(6)),
        ]
    );
    let kinds: Vec<_> = opened.events(1).iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [EventKind::Unreadable, EventKind::Text, EventKind::Text, EventKind::Unknown, EventKind::Unreadable]
    );
    assert_eq!(opened.recording.body(&opened.events(1)[0]).unwrap().text, "7");

    let made = opened.recording.fork(Cut::After(1), Watch::none()).unwrap();
    assert_eq!(
        made.warnings[1..],
        [
            "2 records left out that cannot be read: Outpost refuses a journal for one bad entry",
            "Outpost would refuse 1 kept entry; the reading report names them"
        ]
    );
    let again = opened.reopen(&made);
    assert_eq!(again.recording.session().report.records.total, 4);
    assert_eq!(again.own_events(1).len(), 3);
    assert_eq!(again.bytes().lines().count(), 4, "one entry a line now");
}

#[test]
fn nothing_but_nuls_is_a_record_that_counts() {
    let entry = r#"{"kind":"prompt","source":"agent","seq":1,"text":"a"}"#;
    let lines = open_bytes("journal.jsonl", format!("{entry}\n\0\0\0\n{entry}\n\0\0").as_bytes());
    let array = open_bytes("journal.json", format!("[{entry},\n\0\0,{entry}]\n\0\0").as_bytes());
    for (opened, torn) in [(lines, 1), (array, 0)] {
        let session = opened.recording.session();
        adds_up(session);
        let records = session.report.records;
        assert_eq!((records.total, records.read, records.unreadable, records.torn), (4, 2, 2 - torn, torn));
        assert_eq!(session.report.problems[0].message, "nothing but NUL bytes");
        let made = opened.recording.fork(Cut::After(2), Watch::none()).unwrap();
        let again = opened.reopen(&made);
        assert_eq!(again.recording.session().report.records.total, 2);
        assert_eq!(again.recording.session().report.problems, []);
    }
}

#[test]
fn two_records_on_a_line_are_two_though_a_byte_of_one_is_no_utf8() {
    let line = b"\0{\"kind\":\"prompt\",\"source\":\"agent\",\"seq\":1,\"text\":\"a\xff\"}\
                 {\"kind\":\"text\",\"source\":\"agent\",\"seq\":2,\"text\":\"b\xe2\x82c\"}\n";
    let opened = open_bytes("journal.jsonl", line);
    let session = opened.recording.session();
    adds_up(session);
    assert_eq!((session.report.records.read, session.report.records.total), (2, 2));
    assert_eq!(opened.recording.prompt(1).unwrap(), "a\u{fffd}");
    assert_eq!(opened.recording.body(&opened.events(1)[0]).unwrap().text, "b\u{fffd}c");
    let made = opened.recording.fork(Cut::After(1), Watch::none()).unwrap();
    let again = opened.reopen(&made);
    assert_eq!(again.recording.session().report.records.read, 2);
    assert_eq!(again.own_events(1).len(), 1);
}

#[test]
fn of_a_huge_record_that_cannot_be_read_the_start_is_shown() {
    let entry = r#"{"kind":"prompt","source":"agent","seq":1,"text":"a"}"#;
    let huge = format!("{{\"kind\":{}", "x".repeat(9 * 1024 * 1024 - 8));
    let opened = open_bytes("journal.jsonl", format!("{entry}\n{huge}\n").as_bytes());
    let event = &opened.events(1)[0];
    assert_eq!(event.kind, EventKind::Unreadable);
    let text = opened.recording.body(event).unwrap().text;
    assert_eq!(text.len() - text.rfind('\n').unwrap(), "\n… 1048576 bytes more".len());
    assert!(text.starts_with("{\"kind\":xxx") && text.ends_with("\n… 1048576 bytes more"));
    let raw = opened.recording.raw(event.place).unwrap();
    assert_eq!(String::from_utf8(raw).unwrap(), text);
}

#[test]
fn problems_are_listed_up_to_a_bound() {
    let entry = r#"{"kind":"prompt","source":"agent","seq":1,"text":"a"}"#;
    let opened = open_bytes("journal.jsonl", format!("{entry}\n{}", "7\n".repeat(10_005)).as_bytes());
    let report = &opened.recording.session().report;
    assert_eq!(report.records.unreadable, 10_005);
    assert_eq!(report.problems.len(), 10_001);
    let last = report.problems.last().unwrap();
    assert_eq!((last.kind, last.message.as_str()), (ProblemKind::Structure, "5 more problems are not listed"));
}

#[test]
fn an_array_that_is_cut_off_ends_in_a_torn_entry() {
    let whole = json!(enveloped(worked_example())).to_string();
    for end in [whole.len() - 1, whole.len() - 20] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.json");
        std::fs::write(&path, &whole[..end]).unwrap();
        let recording = open_as_array(&path);
        let session = recording.session();
        adds_up(session);
        assert_eq!(session.steps.len(), 3);
        let expected = if end == whole.len() - 1 { ProblemKind::Structure } else { ProblemKind::Torn };
        assert_eq!(session.report.problems[0].kind, expected);
        let made = recording.fork(Cut::After(3), Watch::none()).unwrap();
        let fork = folder.path().join("fork.json");
        write_new(&fork, &made.rewrite, Watch::none()).unwrap();
        let entries: Vec<Value> = serde_json::from_slice(&std::fs::read(&fork).unwrap()).unwrap();
        assert_eq!(entries.len(), if end == whole.len() - 1 { 14 } else { 13 });
    }
}

/// Opens a file as an array, whatever the detection makes of it.
fn open_as_array(path: &std::path::Path) -> Arc<dyn Recording> {
    let sample = Sample { path: path.to_owned(), shape: Shape::Array { start: 0 }, records: Vec::new() };
    let file = Arc::new(SourceFile::open(path).unwrap());
    super::super::open(file, &sample, &Patient).unwrap()
}

#[test]
fn one_damaged_string_does_not_swallow_the_rest_of_an_array() {
    let whole = json!(enveloped(worked_example())).to_string();
    let damaged = whole.replacen("\"message\":\"limit\"", "\"message\":\"limit", 1);
    assert_ne!(whole, damaged);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.json");
    std::fs::write(&path, damaged).unwrap();
    let recording = open_as_array(&path);
    let session = recording.session();
    adds_up(session);
    assert_eq!((session.report.records.read, session.report.records.unreadable), (13, 1));
    assert_eq!(session.steps.len(), 3);
    let made = recording.fork(Cut::After(3), Watch::none()).unwrap();
    let fork = folder.path().join("fork.json");
    write_new(&fork, &made.rewrite, Watch::none()).unwrap();
    let entries: Vec<Value> = serde_json::from_slice(&std::fs::read(&fork).unwrap()).unwrap();
    assert_eq!(entries.len(), 13);
}

#[test]
fn what_follows_the_array_is_no_entry() {
    let entry = r#"{"kind":"prompt","source":"agent","seq":1,"text":"a"}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.json");
    std::fs::write(&path, format!("[{entry},{entry}] {entry}\n")).unwrap();
    let recording = open_as_array(&path);
    let session = recording.session();
    adds_up(session);
    assert_eq!((session.steps.len(), session.report.records.unreadable), (2, 1));
    let made = recording.fork(Cut::After(2), Watch::none()).unwrap();
    let fork = folder.path().join("fork.json");
    write_new(&fork, &made.rewrite, Watch::none()).unwrap();
    assert_eq!(std::fs::read_to_string(fork).unwrap().trim_end(), format!("[{entry},{entry}]"));
}

#[test]
fn odd_values_are_read_for_what_they_are() {
    let opened = open(json!([
        { "kind": "prompt", "text": ["not", "a", "text"] },
        { "kind": "tool", "name": 7, "input": [[]], "callId": {} },
        { "kind": "usage", "tokens": { "input": -1, "cached": "x", "output": 1e300 } },
        { "kind": "conversation", "id": null },
        { "kind": "summary", "tokens": [] },
        { "kind": "workspace-commits", "commits": { "a": 1 }, "baseline": 7 },
        { "kind": "dispatch-finished", "error": "x", "source": "sandbox" }
    ]));
    let session = opened.recording.session();
    adds_up(session);
    assert_eq!(session.steps.len(), 1);
    assert_eq!(opened.recording.prompt(1).unwrap(), "");
    let refused: Vec<_> = session
        .report
        .problems
        .iter()
        .filter(|problem| problem.kind == ProblemKind::Refused)
        .map(|problem| problem.locator.clone())
        .collect();
    assert_eq!(refused, [0, 2, 3, 4, 5, 6].map(Locator::Index));
    for event in session.events.all() {
        opened.recording.body(event).unwrap();
    }
    opened.lines();
}

#[test]
fn deep_nesting_is_kept_as_text() {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let text = format!(
        r#"[{{"kind":"prompt","source":"agent","seq":1,"text":"a"}},{{"kind":"tool","source":"agent","seq":2,"name":"x","input":{deep}}}]"#
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.json");
    std::fs::write(&path, text).unwrap();
    let recording = open_as_array(&path);
    let event = &recording.session().events.all()[0];
    assert_eq!(recording.body(event).unwrap().input.as_deref(), Some(deep.as_str()));
    let mut lines = 0;
    recording
        .replay(1, &mut |_| {
            lines += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(lines, 2);
}

#[test]
fn a_large_journal_is_shown_while_it_is_read() {
    struct Waiting(Mutex<Vec<usize>>);
    impl Observer for Waiting {
        fn watch(&self) -> Watch<'_> {
            Watch::none()
        }
        fn partial(&self, recording: Arc<dyn Recording>) {
            self.0.lock().unwrap().push(recording.session().steps.len());
        }
        fn wants_partial(&self) -> bool {
            true
        }
    }
    let turn = [
        json!({ "kind": "prompt", "source": "agent", "seq": 1, "text": "x".repeat(100_000) }),
        json!({ "kind": "summary", "source": "agent", "seq": 2, "tokens": { "input": 1, "cached": 0, "output": 1 } }),
    ];
    let text: String = (0..50).flat_map(|_| turn.iter().map(|entry| format!("{entry}\n"))).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    std::fs::write(&path, text).unwrap();
    let sample = Sample { path: path.clone(), shape: Shape::Lines, records: Vec::new() };
    let waiting = Waiting(Mutex::new(Vec::new()));
    let file = Arc::new(SourceFile::open(&path).unwrap());
    let recording = super::super::open(file, &sample, &waiting).unwrap();
    assert_eq!(recording.session().steps.len(), 50);
    assert_eq!(*waiting.0.lock().unwrap(), [11, 42], "after 1 MiB and after 4 MiB");
}

/// A journal as bytes, in both framings.
fn fixture(lines: bool) -> Vec<u8> {
    let entries = enveloped(worked_example());
    if lines {
        entries.iter().map(|entry| format!("{entry}\n")).collect::<String>().into_bytes()
    } else {
        json!(entries).to_string().into_bytes()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_journals_never_panic_and_every_record_counts(
        lines: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..6),
    ) {
        let mut bytes = fixture(lines);
        for (index, byte, what) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = index.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes[at] = *b"\"{}[],:\\\n\0"[..].get(usize::from(byte) % 10).unwrap_or(&0),
                2 => { bytes.remove(at); }
                _ => bytes.truncate(at.max(1)),
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.json");
        std::fs::write(&path, &bytes).unwrap();
        let shape = if lines { Shape::Lines } else { Shape::Array { start: 0 } };
        let sample = Sample { path: path.clone(), shape, records: Vec::new() };
        let file = Arc::new(SourceFile::open(&path).unwrap());
        let recording = super::super::open(file, &sample, &Patient).unwrap();
        let session = recording.session();
        adds_up(session);
        for event in session.events.all() {
            recording.body(event).unwrap();
        }
        recording.replay_turns().unwrap();
        for step in &session.steps {
            recording.replay(step.number, &mut |_| Ok(())).unwrap();
            let fork = recording.fork(Cut::After(step.number), Watch::none()).unwrap();
            let to = folder.path().join(format!("fork-{}", step.number));
            write_new(&to, &fork.rewrite, Watch::none()).unwrap();
            let sample = Sample { path: to.clone(), shape, records: Vec::new() };
            let file = Arc::new(SourceFile::open(&to).unwrap());
            let again = super::super::open(file, &sample, &Patient).unwrap();
            prop_assert_eq!(again.session().steps.len(), step.number as usize);
            prop_assert_eq!(again.prompt(step.number).unwrap(), recording.prompt(step.number).unwrap());
            prop_assert_eq!(again.session().report.records.unreadable, 0);
            let _ = recording.revert(step.number, Watch::none());
        }
    }
}
