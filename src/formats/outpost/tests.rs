//! Outpost's files through the door that everybody uses: `formats::open`.

mod chain;
mod checkpoints;
mod cuts;
mod damaged;
mod detection;
mod events;
mod hostile;
mod joins;
mod legacy;
mod observations;
mod runs;
mod samples;
mod steps;
mod stored;
mod transcripts;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::formats::testing::{replayed, replayed_all};
use crate::formats::{self, Patient, Recording};
use crate::model::{Event, Step};
use crate::store::{Watch, write_new};

/// A journal in a folder of its own, which goes with it.
struct Opened {
    folder: tempfile::TempDir,
    path: PathBuf,
    recording: Arc<dyn Recording>,
}

impl Opened {
    fn events(&self, number: u32) -> &[Event] {
        let session = self.recording.session();
        session.events_of(session.step(number).unwrap())
    }

    /// The turn's own events, without the extra ones.
    fn own_events(&self, number: u32) -> Vec<&Event> {
        self.events(number).iter().filter(|event| !event.place.is_extra()).collect()
    }

    fn step(&self, number: u32) -> &Step {
        self.recording.session().step(number).unwrap()
    }

    fn lines(&self) -> Vec<Value> {
        replayed_all(self.recording.as_ref())
    }

    /// Writes a fork beside the journal and opens that.
    fn reopen(self, fork: &formats::Fork) -> Opened {
        let path = self.folder.path().join(&fork.file_name);
        write_new(&path, &fork.rewrite, Watch::none()).unwrap();
        let recording = formats::open(&path, &Patient).unwrap();
        Opened { folder: self.folder, path, recording }
    }

    fn bytes(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }
}

fn open_bytes(name: &str, bytes: &[u8]) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let recording = formats::open(&path, &Patient).unwrap();
    Opened { folder, path, recording }
}

/// An object file of Outpost's local transport.
fn object(key: &str, revision: &str, body: &[u8]) -> Vec<u8> {
    let at = "2026-02-03T10:00:00.000Z";
    let header = json!({ "key": key, "revision": revision, "size": body.len(), "modifiedAt": at });
    let mut bytes = format!("{:<1024}", header.to_string()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A storage folder that goes with it.
struct Store {
    folder: tempfile::TempDir,
}

impl Store {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn root(&self) -> &std::path::Path {
        self.folder.path()
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root().join(format!("objects/{key}.object"))
    }

    fn put(&self, key: &str, body: impl AsRef<[u8]>) -> PathBuf {
        self.put_raw(key, &object(key, "r1", body.as_ref()))
    }

    fn put_raw(&self, key: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The sessions, by their keys.
    fn listed(&self) -> Vec<formats::Listed> {
        let mut sessions = formats::sessions_of(&[self.root().to_owned()], &Patient).unwrap().sessions;
        sessions.sort_by(|a, b| a.reference.key.cmp(&b.reference.key));
        sessions
    }

    fn open(&self, key: &str) -> Arc<dyn Recording> {
        let paths = vec![self.root().to_owned()];
        formats::open_session(&formats::SessionRef { paths, key: Some(key.to_owned()) }, &Patient).unwrap()
    }
}

/// The words of the reading report's problems.
fn problems(recording: &dyn Recording) -> Vec<&str> {
    recording.session().report.problems.iter().map(|problem| problem.message.as_str()).collect()
}

/// The fates of all records add up.
fn assert_accounted(recording: &dyn Recording) {
    let records = recording.session().report.records;
    let fates = records.read + records.unknown + records.duplicate + records.unreadable + records.torn;
    assert_eq!(records.total, fates, "{records:?}");
}

/// Everything that a window or a command would ask for.
fn look_at_everything(recording: &dyn Recording) {
    assert_accounted(recording);
    let session = recording.session();
    for event in session.events.all() {
        let _ = (recording.body(event), recording.raw(event.place), recording.origin(event.place));
    }
    let mut end = session.steps.first().map_or(0, |step| step.events.start);
    for step in &session.steps {
        assert_eq!(step.events.start, end, "steps follow each other");
        end = step.events.end;
        recording.prompt(step.number).unwrap();
        recording.replay(step.number, &mut |_| Ok(())).unwrap();
        let _ = recording.fork(formats::Cut::After(step.number), Watch::none());
        let _ = recording.revert(step.number, Watch::none());
    }
    assert!(session.steps.is_empty() || end == session.events.len());
    recording.replay_turns().unwrap();
}

/// Opens entries written as a JSON array; each gets an envelope around the fields given.
fn open(entries: Value) -> Opened {
    open_bytes("journal.json", Value::Array(enveloped(entries)).to_string().as_bytes())
}

/// The same entries, one a line.
fn open_lines(entries: Value) -> Opened {
    let mut text = String::new();
    for entry in enveloped(entries) {
        text.push_str(&entry.to_string());
        text.push('\n');
    }
    open_bytes("journal.jsonl", text.as_bytes())
}

/// Adds `at` (a second apart from 10:00:00), `seq`, `source` and `scope` where they are not given.
fn enveloped(entries: Value) -> Vec<Value> {
    let Value::Array(entries) = entries else { panic!("a list of entries") };
    let mut enveloped = Vec::new();
    for (number, mut entry) in entries.into_iter().enumerate() {
        if let Some(fields) = entry.as_object_mut() {
            fields.entry("at").or_insert(json!(format!("2026-02-03T10:{:02}:{:02}.000Z", number / 60, number % 60)));
            fields.entry("source").or_insert(json!("agent"));
            fields.entry("seq").or_insert(json!(number * 2 + 1));
            fields.entry("scope").or_insert(json!({ "dispatchId": "3b7e0000-0000-4000-8000-000000000001" }));
        }
        enveloped.push(entry);
    }
    enveloped
}

/// The worked example of Outpost's replay rules: a hand-over, then a turn that steering stops and resumes.
fn worked_example() -> Value {
    json!([
        { "kind": "prompt", "text": "A" },
        { "kind": "usage", "tokens": { "input": 10, "cached": 0, "output": 5 } },
        { "kind": "quota", "message": "limit" },
        { "kind": "fallback", "from": { "index": 0, "name": "claude", "model": "model-a" },
          "to": { "index": 1, "name": "codex", "model": "model-b" }, "failure": "quota", "message": "limit",
          "resetAt": "2026-02-03T15:00:00.000Z" },
        { "kind": "prompt", "text": "A" },
        { "kind": "conversation", "id": "c9" },
        { "kind": "usage", "tokens": { "input": 3, "cached": 0, "output": 1 } },
        { "kind": "stopped", "reason": "steered" },
        { "kind": "steer", "mode": "resumed", "text": "Use tabs" },
        { "kind": "text", "text": "ok" },
        { "kind": "usage", "tokens": { "input": 4, "cached": 0, "output": 2 } },
        { "kind": "summary", "durationMs": 9, "status": 0, "tokens": { "input": 7, "cached": 0, "output": 3 } },
        { "kind": "workspace-commits", "source": "git", "baseline": { "commit": "c0", "tree": "t0" },
          "commits": [{ "oid": "c1", "tree": "t1", "message": "Add tabs\n\nmore\n", "patch": "",
            "author": { "name": "Ada", "email": "ada@example.invalid", "date": "1770112803 +0100" },
            "committer": { "name": "Ada", "email": "ada@example.invalid", "date": "1770112803 +0100" } }] },
        { "kind": "dispatch-finished", "source": "sandbox", "status": "done", "completed": true,
          "usage": { "input": 17, "cached": 0, "output": 8 } }
    ])
}
