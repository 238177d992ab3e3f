//! Journals that Outpost keeps as chains of objects.

use std::path::Path;

use proptest::prelude::*;
use serde_json::json;

use super::super::chain;
use super::super::object::tests::write;
use super::*;
use crate::formats::{Cut, Effect, OpenError};
use crate::model::{EventKind, FormatName, Locator, Outcome, ProblemKind, Session, Timestamp};

const LOG: &str = "0a000000-0000-4000-8000-00000000000a";

/// A store that holds one journal, in a folder that goes with it.
struct Store {
    folder: tempfile::TempDir,
    /// Keys of the segments, the oldest first.
    keys: Vec<String>,
}

fn reference(key: &str, revision: &str) -> Value {
    json!({ "key": key, "revision": revision, "size": 1, "modifiedAt": "2026-02-03T10:00:00.000Z" })
}

impl Store {
    /// Each entry is a segment that names the one before it, as Outpost appends them.
    fn of(entries: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = |number: usize| format!("logs/{LOG}/{:08x}", number.wrapping_mul(0x9E37_79B1) as u32);
        let store = Self { keys: (0..entries.len()).map(key).collect(), folder };
        for (number, entry) in entries.iter().enumerate() {
            store.segment(number, entry);
        }
        let head = store.keys.last().map(|key| reference(key, &format!("r{}", entries.len() - 1)));
        store.index(json!({ "closed": true, "head": head }));
        store
    }

    fn segment(&self, number: usize, entry: &Value) {
        let previous = number.checked_sub(1).map(|before| reference(&self.keys[before], &format!("r{before}")));
        self.body(number, &json!({ "previous": previous, "event": entry }));
    }

    fn body(&self, number: usize, body: &Value) {
        write(self.root(), &self.keys[number], &format!("r{number}"), body.to_string().as_bytes());
    }

    fn index(&self, body: Value) {
        write(self.root(), &format!("logs/{LOG}/index"), "ri", body.to_string().as_bytes());
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn path(&self, number: usize) -> PathBuf {
        self.root().join(format!("objects/{}.object", self.keys[number]))
    }

    fn open(&self) -> Arc<dyn Recording> {
        chain::open(self.root(), LOG, &Patient).unwrap()
    }
}

fn example() -> Vec<Value> {
    enveloped(worked_example())
}

fn played(recording: &dyn Recording) -> Vec<Value> {
    let mut lines = Vec::new();
    for step in &recording.session().steps {
        recording
            .replay(step.number, &mut |line| {
                lines.push(line);
                Ok(())
            })
            .unwrap();
    }
    lines
}

fn adds_up(session: &Session) {
    let records = session.report.records;
    let fates = records.read + records.unknown + records.duplicate + records.unreadable + records.torn;
    assert_eq!((fates, records.total), (records.total, session.nodes as u64), "{records:?}");
}

fn problem(session: &Session, kind: ProblemKind, words: &str) -> String {
    let found = session.report.problems.iter().find(|problem| problem.kind == kind && problem.message.contains(words));
    match found.map(|problem| &problem.locator) {
        Some(Locator::Key(key)) => key.clone(),
        other => panic!("{words}: {other:?} in {:?}", session.report.problems),
    }
}

#[test]
fn a_chain_is_read_as_the_journal_that_it_is() {
    let store = Store::of(&example());
    let (chained, file) = (store.open(), open(worked_example()));
    let (session, expected) = (chained.session(), file.recording.session());
    assert_eq!(
        (session.format, &session.id, &session.title),
        (FormatName::OutpostStorage, &expected.id, &expected.title)
    );
    assert_eq!(session.report.problems, []);
    adds_up(session);
    assert_eq!(session.events.len(), expected.events.len());
    for (event, other) in session.events.iter().zip(&expected.events) {
        assert_eq!(
            (event.kind, &event.node, &event.label, &event.marker),
            (other.kind, &other.node, &other.label, &other.marker)
        );
        assert_eq!(chained.body(event).unwrap(), file.recording.body(other).unwrap());
    }
    for (step, other) in session.steps.iter().zip(&expected.steps) {
        assert_eq!((&step.step_id, step.outcome, step.usage), (&other.step_id, other.outcome, other.usage));
        assert_eq!((&step.fork_target, &step.revert_target), (&other.fork_target, &other.revert_target));
        assert_eq!(chained.prompt(step.number).unwrap(), file.recording.prompt(step.number).unwrap());
    }
    assert_eq!(played(chained.as_ref()), file.lines());
    assert_eq!(chained.replay_turns().unwrap(), file.recording.replay_turns().unwrap());

    let place = session.steps[1].place;
    let origin = chained.origin(place).unwrap();
    assert_eq!(origin.path, store.path(4));
    assert_eq!(origin.locator, Locator::Key(store.keys[4].clone()));
    let raw: Value = serde_json::from_slice(&chained.raw(place).unwrap()).unwrap();
    assert_eq!(raw, example()[4]);
    assert!(chained.files()[0].path().ends_with("index.object"));
}

#[test]
fn what_is_kept_of_a_chain_becomes_a_journals_file() {
    let store = Store::of(&example());
    let recording = store.open();
    for steps in 1..=3 {
        let fork = recording.fork(Cut::After(steps), Watch::none()).unwrap();
        assert!(fork.warnings.iter().any(|warning| warning.contains("never rewritten")));
        let path = store.root().join(&fork.file_name);
        write_new(&path, &fork.rewrite, Watch::none()).unwrap();
        let again = formats::open(&path, &Patient).unwrap();
        assert_eq!(again.session().format, FormatName::OutpostJournal);
        assert_eq!(again.session().steps.len() as u32, steps);
        assert_eq!(again.prompt(steps).unwrap(), recording.prompt(steps).unwrap());
    }
    let revert = recording.revert(3, Watch::none()).unwrap();
    assert_eq!((revert.keeps_steps, revert.prefill.as_deref()), (2, Some("Use tabs")));
    let Effect::Export(fork) = revert.effect else { panic!("objects are not rewritten") };
    assert_eq!(fork.file_name, format!("journal-{}.before-step-3.json", recording.session().id));
    let path = store.root().join(&fork.file_name);
    write_new(&path, &fork.rewrite, Watch::none()).unwrap();
    assert_eq!(formats::open(&path, &Patient).unwrap().session().steps.len(), 2);
}

#[test]
fn entries_of_6_x_have_no_envelope() {
    let store = Store::of(&[
        json!({ "kind": "dispatch-start", "at": "2026-02-03T10:00:00.000Z", "label": "old" }),
        json!({ "kind": "prompt", "at": "2026-02-03T10:00:01.000Z", "text": "go", "pass": 1 }),
        json!({ "kind": "result", "at": "2026-02-03T10:00:02.000Z", "text": "done", "pass": 1 }),
        json!({ "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } }),
    ]);
    let recording = store.open();
    let session = recording.session();
    assert_eq!((session.id.as_str(), session.steps.len(), session.steps[0].outcome), (LOG, 1, Outcome::Done));
    assert!(session.report.problems[0].message.contains("before 7.0"));
}

#[test]
fn without_an_index_the_segment_that_none_names_is_the_head() {
    let store = Store::of(&example());
    std::fs::remove_file(store.root().join(format!("objects/logs/{LOG}/index.object"))).unwrap();
    let recording = store.open();
    assert_eq!(recording.session().steps.len(), 3);
    assert!(problem(recording.session(), ProblemKind::Structure, "no index").ends_with("/index"));

    // Two may be it now: the numbers decide.
    std::fs::remove_file(store.path(9)).unwrap();
    let recording = store.open();
    let session = recording.session();
    assert_eq!((session.steps.len(), session.nodes), (3, 13));
    problem(session, ProblemKind::Structure, "order of their events' numbers");

    store.index(json!("rubbish"));
    problem(store.open().session(), ProblemKind::Structure, "index cannot be read");
}

#[test]
fn missing_segments_are_told_and_the_rest_is_shown() {
    let store = Store::of(&example());
    std::fs::remove_file(store.path(3)).unwrap();
    let recording = store.open();
    let session = recording.session();
    adds_up(session);
    assert_eq!((session.nodes, session.steps.len()), (13, 3));
    assert_eq!(problem(session, ProblemKind::Structure, "at least 1 segment, at most 8"), store.keys[3]);
    assert_eq!(problem(session, ProblemKind::Structure, "not connected"), store.keys[4]);
    assert_eq!(recording.prompt(1).unwrap(), "A");
    let fork = recording.fork(Cut::After(2), Watch::none()).unwrap();
    assert!(fork.warnings.iter().any(|warning| warning.contains("are missing")));

    for number in 4..14 {
        let _ = std::fs::remove_file(store.path(number));
    }
    let recording = store.open();
    assert_eq!(recording.session().nodes, 3, "the head itself is gone");
    assert_eq!(problem(recording.session(), ProblemKind::Structure, "is missing"), store.keys[13]);
}

#[test]
fn segments_that_were_never_committed_are_left_out() {
    let store = Store::of(&example());
    store.index(json!({ "closed": false, "head": reference(&store.keys[11], "r11") }));
    let recording = store.open();
    let session = recording.session();
    adds_up(session);
    assert_eq!(session.nodes, 12);
    assert_eq!(session.steps[2].outcome, Outcome::Done);
    problem(session, ProblemKind::Structure, "never committed");
}

#[test]
fn what_does_not_fit_together_is_told_and_shown() {
    let store = Store::of(&example());
    // Another revision than the next segment names.
    let body = std::fs::read(store.path(2)).unwrap()[1024..].to_vec();
    write(store.root(), &store.keys[2], "other", &body);
    // A header that is no JSON, one that lies about the size, a body that is cut off.
    let bytes = std::fs::read(store.path(5)).unwrap();
    std::fs::write(store.path(5), [&vec![b' '; 1024], &bytes[1024..]].concat()).unwrap();
    let bytes = std::fs::read(store.path(6)).unwrap();
    std::fs::write(store.path(6), [bytes.as_slice(), b"  "].concat()).unwrap();
    let bytes = std::fs::read(store.path(9)).unwrap();
    std::fs::write(store.path(9), &bytes[..bytes.len() - 20]).unwrap();
    let recording = store.open();
    let session = recording.session();
    adds_up(session);
    assert_eq!((session.nodes, session.report.records.unreadable, session.steps.len()), (14, 1, 3));
    for (number, words) in
        [(2, "its revision is other"), (5, "header is no JSON"), (6, "its header says"), (9, "its header says")]
    {
        let key = &store.keys[number];
        let told = session.report.problems.iter().any(|problem| {
            problem.locator == Locator::Key(key.clone())
                && problem.kind == ProblemKind::Refused
                && problem.message.contains(words)
        });
        assert!(told, "{words}: {:?}", session.report.problems);
    }
    assert_eq!(problem(session, ProblemKind::Unreadable, "cannot be read"), store.keys[9]);
    let unreadable = session.events.iter().find(|event| event.kind == EventKind::Unreadable).unwrap();
    assert!(recording.body(unreadable).unwrap().text.contains("\"text\":\"ok\""));
}

#[test]
fn wrong_types_and_numbers_that_json_does_not_have_cost_one_entry() {
    let store = Store::of(&example());
    for (number, body) in [
        (1, r#"{"previous":7,"event":[1]}"#.to_owned()),
        (2, format!(r#"{{"previous":{},"event":{{"kind":"quota","x":NaN}}}}"#, reference(&store.keys[1], "r1"))),
        (6, format!(r#"{{"previous":{}}}"#, reference(&store.keys[5], "r5"))),
    ] {
        write(store.root(), &store.keys[number], &format!("r{number}"), body.as_bytes());
    }
    let session_of = store.open();
    let session = session_of.session();
    adds_up(session);
    assert_eq!((session.nodes, session.report.records.unreadable), (14, 3));
    assert_eq!(
        session.steps.len(),
        3,
        "the first one names none before it, but the oldest is there: {:?}",
        session.report.problems
    );
}

#[test]
fn chains_that_lead_round_or_away_end_there() {
    let store = Store::of(&example());
    store.body(0, &json!({ "previous": reference(&store.keys[13], "r13"), "event": example()[0] }));
    let recording = store.open();
    assert_eq!(recording.session().nodes, 14);
    assert_eq!(problem(recording.session(), ProblemKind::Refused, "comes back"), store.keys[13]);
    // Nothing leads into the circle.
    std::fs::remove_file(store.root().join(format!("objects/logs/{LOG}/index.object"))).unwrap();
    assert_eq!(store.open().session().nodes, 14);

    let secret = store.root().join("secret.object");
    std::fs::copy(store.path(3), &secret).unwrap();
    let store2 = Store::of(&example());
    for key in ["../secret", "../../secret", "/etc/passwd", "logs/../../secret", "logs\\x", ""] {
        store2.body(3, &json!({ "previous": reference(key, "r2"), "event": example()[3] }));
        let recording = store2.open();
        adds_up(recording.session());
        assert_eq!(problem(recording.session(), ProblemKind::Structure, "no key of an object"), key);
        assert_eq!(recording.session().nodes, 14, "the others are there, by their numbers");
    }
    // Not a log's.
    store2.body(3, &json!({ "previous": reference("checkpoints/a", "r2"), "event": example()[3] }));
    assert_eq!(problem(store2.open().session(), ProblemKind::Structure, "is missing"), "checkpoints/a");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let store = Store::of(&example());
    let away = store.root().join("away.object");
    std::fs::rename(store.path(5), &away).unwrap();
    std::os::unix::fs::symlink(&away, store.path(5)).unwrap();
    let recording = store.open();
    assert_eq!(recording.session().nodes, 13);
    assert_eq!(problem(recording.session(), ProblemKind::Structure, "is missing"), store.keys[5]);
}

#[test]
fn an_object_opened_by_itself_opens_its_chain() {
    let store = Store::of(&example());
    for path in [store.path(4), store.root().join(format!("objects/logs/{LOG}/index.object"))] {
        let recording = formats::open(&path, &Patient).unwrap();
        assert_eq!((recording.session().steps.len(), recording.session().source.as_path()), (3, store.root()));
    }
    let sessions = formats::sessions_of(&[store.root().to_owned()], &Patient).unwrap().sessions;
    assert_eq!(sessions.len(), 1);
    assert_eq!((sessions[0].title.as_deref(), sessions[0].status.as_deref()), (Some("A"), Some("done")));
    assert_eq!(formats::open_session(&sessions[0].reference, &Patient).unwrap().session().steps.len(), 3);

    let alone = store.root().join("alone.object");
    std::fs::copy(store.path(4), &alone).unwrap();
    let recording = formats::open(&alone, &Patient).unwrap();
    let session = recording.session();
    assert_eq!((session.nodes, session.steps.len(), recording.prompt(1).unwrap().as_str()), (1, 1, "A"));
    assert!(matches!(recording.fork(Cut::After(1), Watch::none()), Ok(fork) if fork.steps == 1));
    assert!(problem(session, ProblemKind::Structure, "one entry of a journal").contains("file"));
}

#[test]
fn a_summary_reads_the_ends() {
    let store = Store::of(&example());
    let summary = chain::summary(store.root(), LOG);
    assert_eq!((summary.id.as_str(), summary.title.as_deref()), ("3b7e0000-0000-4000-8000-000000000001", Some("A")));
    assert_eq!((summary.status.as_str(), summary.segments), ("done", 14));
    assert_eq!(summary.started_at, Timestamp::parse("2026-02-03T10:00:00.000Z"));
    assert_eq!(summary.ended_at, Timestamp::parse("2026-02-03T10:00:13.000Z"));
    store.index(json!({ "closed": false, "head": reference(&store.keys[12], "r12") }));
    assert_eq!(chain::summary(store.root(), LOG).status, "running or crashed");
    store.index(json!({ "closed": true, "head": reference(&store.keys[12], "r12") }));
    assert_eq!(chain::summary(store.root(), LOG).status, "closed");
    assert_eq!(chain::summary(store.root(), "no such").segments, 0);
    assert!(matches!(chain::open(store.root(), "no-such", &Patient), Err(OpenError::Empty { .. })));
    assert!(matches!(chain::open(store.root(), "../x", &Patient), Err(OpenError::Empty { .. })));
}

/// A turn of this many entries.
fn long(entries: usize) -> Vec<Value> {
    let mut list = vec![json!({ "kind": "prompt", "text": "go" })];
    list.extend((2..entries).map(|number| json!({ "kind": "text", "text": format!("{number}") })));
    list.push(json!({ "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } }));
    enveloped(json!(list))
}

#[test]
fn a_long_chain_is_read_in_time_that_grows_with_its_length() {
    let store = Store::of(&long(3_000));
    let recording = store.open();
    assert_eq!((recording.session().nodes, recording.session().report.problems.len()), (3_000, 0));
    assert_eq!(chain::summary(store.root(), LOG).segments, 3_000);
}

#[test]
#[ignore = "writes 100 001 files"]
fn more_than_outpost_reads_is_read_and_told() {
    let store = Store::of(&long(100_001));
    let start = std::time::Instant::now();
    let recording = store.open();
    println!("read in {:?}", start.elapsed());
    assert_eq!(recording.session().nodes, 100_001);
    assert!(problem(recording.session(), ProblemKind::Refused, "more than 100000").starts_with("logs/"));
}

#[test]
fn a_body_larger_than_outpost_allows_is_told() {
    let mut entries = example();
    entries[9]["text"] = json!("x".repeat(64 * 1024 * 1024));
    let store = Store::of(&entries);
    let recording = store.open();
    let session = recording.session();
    adds_up(session);
    assert_eq!((session.nodes, session.steps.len(), session.report.records.unreadable), (14, 3, 1));
    assert_eq!(problem(session, ProblemKind::Refused, "larger than 64 MiB"), store.keys[9]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn damaged_objects_never_bring_the_reader_down(
        damage in proptest::collection::vec((0..15_usize, 0..2_000_usize, any::<u8>(), any::<bool>()), 1..6),
    ) {
        let store = Store::of(&example());
        for (number, at, byte, cuts) in damage {
            let path = match number {
                14 => store.root().join(format!("objects/logs/{LOG}/index.object")),
                number => store.path(number),
            };
            let mut bytes = std::fs::read(&path).unwrap();
            if cuts {
                bytes.truncate(at);
            } else if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            std::fs::write(&path, bytes).unwrap();
        }
        let recording = store.open();
        let session = recording.session();
        adds_up(session);
        chain::summary(store.root(), LOG);
        for event in &session.events {
            recording.body(event).unwrap();
            recording.raw(event.place).unwrap();
            prop_assert!(recording.origin(event.place).is_some());
        }
        played(recording.as_ref());
        for step in &session.steps {
            let fork = recording.fork(Cut::After(step.number), Watch::none()).unwrap();
            let path = store.root().join(format!("fork-{}.json", step.number));
            write_new(&path, &fork.rewrite, Watch::none()).unwrap();
            prop_assert_eq!(formats::open(&path, &Patient).unwrap().session().steps.len() as u32, step.number);
        }
    }
}
