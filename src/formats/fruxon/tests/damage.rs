//! Files as they are found: cut off, mended, hostile; and everything that proptest makes of them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::story::{self, NOON};
use super::{Folder, alone, summaries};
use crate::formats::{Cut, OpenError, Recording};
use crate::model::{EventKind, ProblemKind, Records};
use crate::store::Watch;

/// Every shape, by a name whose ending does not matter.
fn every_shape() -> Vec<String> {
    let mut all: Vec<String> = story::sandbox().into_iter().map(|(_, content)| content).collect();
    all.extend([story::topic(), story::fork_answer()].map(|value| serde_json::to_string_pretty(&value).unwrap()));
    all.push(story::draft_runs());
    all.extend(super::shapes::more().into_iter().map(|value| value.to_string()));
    all
}

fn sums_up(records: Records) -> bool {
    records.total == records.read + records.unknown + records.duplicate + records.unreadable + records.torn
}

/// Opens whatever is there and uses all of it.
fn exercise(recording: &dyn Recording) {
    let session = recording.session();
    assert!(sums_up(session.report.records));
    for step in &session.steps {
        recording.prompt(step.number).unwrap();
        recording.replay(step.number, &mut |_| Ok(())).unwrap();
        assert!(step.events.end <= session.events.len());
        let _ = recording.revert(step.number, Watch::none());
        if let Ok(fork) = recording.fork(Cut::After(step.number), Watch::none()) {
            assert!(fork.steps <= step.number);
        }
    }
    for event in session.events.all() {
        recording.body(event).unwrap();
        recording.raw(event.place).unwrap();
        assert!(recording.origin(event.place).is_some(), "{event:?}");
        assert!(event.label.chars().count() <= 160);
    }
    recording.replay_turns().unwrap();
}

fn try_alone(content: &[u8]) {
    let folder = Folder::new(&[]);
    let path = folder.folder.path().join("x.json");
    std::fs::write(&path, content).unwrap();
    match crate::formats::open(&path, &crate::formats::Patient) {
        Ok(recording) => exercise(&*recording),
        Err(OpenError::Read(error)) => panic!("{error}"),
        Err(_) => {}
    }
}

#[test]
fn a_row_that_is_cut_off_is_torn_and_the_rest_is_there() {
    let whole = story::messages();
    let cut = &whole[..whole.rfind("Try again").unwrap()];
    let (_folder, recording) = alone("m.json", cut);
    let session = recording.session();
    assert_eq!(summaries(session), ["Where is my lamp?", "Send it back.", "And the money?"]);
    assert_eq!((session.report.records.read, session.report.records.torn), (6, 1));
    assert_eq!(session.report.problems[0].locator.words(), "entry 6");
    assert!(session.events.all().iter().any(|event| event.kind == EventKind::Unreadable));
    exercise(&*recording);
    let fork = recording.fork(Cut::After(2), Watch::none()).unwrap();
    assert_eq!(fork.steps, 2);
}

#[test]
fn a_line_that_is_no_json_is_shown() {
    let mut lines = story::stream();
    lines.insert_str(lines.find('\n').unwrap() + 1, "warning: slow network\n");
    let (_folder, recording) = alone("s.ndjson", &lines);
    let session = recording.session();
    assert_eq!((session.report.records.unreadable, session.steps.len()), (1, 1));
    let lost = session.events.all().iter().find(|event| event.kind == EventKind::Unreadable).unwrap();
    assert_eq!(recording.body(lost).unwrap().text, "warning: slow network");
    assert_eq!(recording.origin(lost.place).unwrap().locator.words(), "line 2");
    let rows = story::page(&[story::asks(0, "Hi"), json!({"odd": 1}), json!(7)]);
    let (_folder, recording) = alone("m.json", rows);
    assert_eq!(recording.session().report.records.unknown, 2);
}

#[test]
fn notices_marks_and_numbers_json_has_not_are_read() {
    let trace = serde_json::to_string_pretty(&story::fallback_trace()).unwrap().replacen("0.5", "NaN", 1);
    let (_folder, recording) = alone("t.json", format!("\u{feff}Logging in…\n[warning] old version\n{trace}"));
    let session = recording.session();
    assert_eq!(session.steps[0].step_id.to_string(), "r2");
    assert_eq!(session.report.problems[0].kind, ProblemKind::Repaired);
    let (_folder, recording) = alone("m.json", format!("note\n{}", story::messages()));
    assert_eq!(recording.session().steps.len(), 4);
}

#[test]
fn a_document_that_is_cut_off_is_read_as_far_as_it_goes() {
    let trace = serde_json::to_string_pretty(&story::fallback_trace()).unwrap();
    let (_folder, recording) = alone("t.json", &trace[..trace.len() * 3 / 4]);
    let session = recording.session();
    assert_eq!((session.steps.len(), session.report.records.torn), (1, 1));
    exercise(&*recording);
}

#[test]
fn values_of_another_type_are_absent() {
    let row = json!({"from": 7, "text": {"a": [1]}, "at": "1790000000000", "executionRecordId": 5});
    let (_folder, recording) = alone("m.json", json!([row, {"from": [], "text": null, "at": {}}]));
    assert_eq!(recording.session().events.len(), 1, "a numeric id is an id");
    exercise(&*recording);
    let record =
        json!({"id": "r", "startTime": "x", "status": 5, "agentId": [], "totalCost": "1.5", "inputTokens": "12"});
    let (_folder, recording) = alone("r.json", json!([record]));
    let usage = recording.session().steps[0].usage;
    assert_eq!((usage.cost, usage.input), (Some(1.5), Some(12)));
}

#[test]
fn seconds_are_told_from_milliseconds() {
    let row = json!({"from": "p", "text": "Hi", "at": NOON / 1000});
    let (_folder, recording) = alone("m.json", json!([row]));
    assert_eq!(recording.session().steps[0].at.unwrap().0, NOON);
    let kinds: Vec<ProblemKind> = recording.session().report.problems.iter().map(|problem| problem.kind).collect();
    assert_eq!(kinds, [ProblemKind::Structure, ProblemKind::Repaired], "no reply, and seconds");
}

#[test]
fn steps_inside_steps_end_somewhere() {
    let mut step = story::called("c", "find", 1, json!(1));
    for _ in 0..40 {
        step = json!({"id": "s", "type": "TOOL", "toolTrace": {"tool": {"id": "t"}}, "steps": [step]});
    }
    let (_folder, recording) = alone("t.json", story::trace("r", 0, 9, vec![step]));
    let session = recording.session();
    assert_eq!(session.events.all().iter().filter(|event| event.kind == EventKind::Tool).count(), 11);
    super::event(session, "deeper steps are in the raw record only");
}

#[test]
fn many_records_are_read_in_time() {
    let row = |n: i64| if n % 2 == 0 { story::asks(n, "Hi") } else { story::replies(n, "Hello", &format!("r{n}")) };
    let rows: Vec<Value> = (0..20_000).map(row).collect();
    let record = |n: i64| story::record(&format!("r{n}"), "COMPLETED", n, Some(n));
    let records: Vec<Value> = (0..20_000).map(record).collect();
    let approvals: Vec<Value> = (0..20_000)
        .map(|n| json!({"id": format!("a{n}"), "toolKey": "t", "status": "PENDING", "executionRecordId": format!("r{n}")}))
        .collect();
    let calls: Vec<Value> =
        (0..20_000).map(|n| json!({"type": "tool_call", "toolCallId": format!("c{n}"), "toolName": "t"})).collect();
    let start = json!({"type": "start", "schema_version": 1, "stream": "sandbox", "session": "fs_1"});
    let stream: String = std::iter::once(&start).chain(&calls).map(|line| format!("{line}\n")).collect();
    let begun = std::time::Instant::now();
    let folder = Folder::new(&[
        ("a.json", json!(rows).to_string()),
        ("b.json", json!(records).to_string()),
        ("c.json", json!(approvals).to_string()),
    ]);
    let listed = folder.sessions().sessions;
    let messages = listed.iter().find(|listed| listed.id.as_deref() == Some("a")).unwrap();
    assert_eq!(folder.named(messages.id.as_deref().unwrap()).session().steps.len(), 10_000);
    let (_folder, recording) = alone("s.ndjson", stream);
    assert_eq!(recording.session().events.len(), 20_000);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_file_that_ends_early_opens_or_is_refused(shape in 0_usize..30, part in 0_usize..1000) {
        let all = every_shape();
        let content = &all[shape % all.len()];
        try_alone(&content.as_bytes()[..content.len() * part / 1000]);
    }

    #[test]
    fn any_changed_bytes_open_or_are_refused(
        shape in 0_usize..30,
        changes in proptest::collection::vec((0_usize..100_000, prop_oneof![Just(b'{'), Just(b']'), Just(b'"'), Just(b','), Just(b'0'), any::<u8>()]), 1..6),
    ) {
        let all = every_shape();
        let mut content = all[shape % all.len()].clone().into_bytes();
        for (at, byte) in changes {
            let at = at % content.len();
            content[at] = byte;
        }
        try_alone(&content);
    }

    #[test]
    fn any_value_in_any_field_opens(shape in 0_usize..30, field in 0_usize..200, odd in 0_usize..7) {
        let all = every_shape();
        let content = &all[shape % all.len()];
        let Ok(mut value) = serde_json::from_str::<Value>(content) else { return Ok(()) };
        let odd = [json!(null), json!(-1), json!("x"), json!([]), json!({}), json!(1e300), json!(true)][odd].clone();
        let mut left = field;
        replace(&mut value, &mut left, &odd);
        try_alone(value.to_string().as_bytes());
    }

    #[test]
    fn damaged_files_are_joined_without_a_panic(cuts in proptest::collection::vec(500_usize..1000, 8)) {
        let files: Vec<(&str, String)> = story::sandbox()
            .into_iter()
            .zip(cuts)
            .map(|((name, content), cut)| (name, content[..content.floor_char_boundary(content.len() * cut / 1000)].to_owned()))
            .collect();
        let folder = Folder::new(&files);
        for listed in folder.sessions().sessions {
            exercise(&*crate::formats::open_session(&listed.reference, &crate::formats::Patient).unwrap());
        }
    }
}

/// Puts `odd` where the walk through the value comes to its `left`th field.
fn replace(value: &mut Value, left: &mut usize, odd: &Value) {
    if *left == 0 {
        *value = odd.clone();
    }
    *left = left.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, left, odd)),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, item)| replace(item, left, odd)),
        _ => {}
    }
}
