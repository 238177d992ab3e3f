//! Journals that Outpost keeps as chains of objects.

mod damaged;

use std::path::Path;

use serde_json::json;

use super::super::chain;
use super::super::object::tests::write;
use super::super::objects::Objects;
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

    fn objects(&self) -> Objects {
        Objects::below(self.root())
    }

    fn open(&self) -> Arc<dyn Recording> {
        chain::open(&self.objects(), LOG, &Patient).unwrap()
    }
}

fn example() -> Vec<Value> {
    enveloped(worked_example())
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
    for (event, other) in session.events.all().iter().zip(expected.events.all()) {
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
    assert_eq!(replayed_all(chained.as_ref()), file.lines());
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
    let summary = chain::summary(&store.objects(), LOG);
    assert_eq!((summary.id.as_str(), summary.title.as_deref()), ("3b7e0000-0000-4000-8000-000000000001", Some("A")));
    assert_eq!((summary.status.as_str(), summary.segments), ("done", 14));
    assert_eq!(summary.started_at, Timestamp::parse("2026-02-03T10:00:00.000Z"));
    assert_eq!(summary.ended_at, Timestamp::parse("2026-02-03T10:00:13.000Z"));
    store.index(json!({ "closed": false, "head": reference(&store.keys[12], "r12") }));
    assert_eq!(chain::summary(&store.objects(), LOG).status, "running or crashed");
    store.index(json!({ "closed": true, "head": reference(&store.keys[12], "r12") }));
    assert_eq!(chain::summary(&store.objects(), LOG).status, "closed");
    assert_eq!(chain::summary(&store.objects(), "no such").segments, 0);
    assert!(matches!(chain::open(&store.objects(), "no-such", &Patient), Err(OpenError::Empty { .. })));
    assert!(matches!(chain::open(&store.objects(), "../x", &Patient), Err(OpenError::Empty { .. })));
}
