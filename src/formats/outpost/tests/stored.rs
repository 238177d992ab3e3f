//! The storage folder: its list, its conversations, and keys that would lead elsewhere.

use sha2::{Digest, Sha256};

use super::checkpoints::{checkpoint, gate};
use super::transcripts::{conversation, lines};
use super::*;
use crate::formats::Effect;
use crate::model::FormatName;

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

const SNAPSHOT: &str = "conversations/demo/harness/c1/snapshots/s1";

/// Stores a transcript in chunks, and gives its manifest.
fn store_chunks(store: &Store, chunks: &[&[u8]]) -> Value {
    let mut references = Vec::new();
    for (number, bytes) in chunks.iter().enumerate() {
        let key = format!("{SNAPSHOT}/files/0/{number}");
        store.put(&key, bytes);
        let reference = json!({ "key": key, "revision": "r1", "size": bytes.len() });
        references.push(json!({ "reference": reference, "sha256": sha256(bytes), "size": bytes.len() }));
    }
    let size: usize = chunks.iter().map(|chunk| chunk.len()).sum();
    json!({ "format": 1, "files": [{ "path": "c1.jsonl", "kind": "file", "mode": 384, "size": size, "chunks": references }] })
}

fn put_manifest(store: &Store, manifest: &Value) -> PathBuf {
    store.put(&format!("{SNAPSHOT}/manifest"), manifest.to_string())
}

fn steps(recording: &dyn Recording) -> usize {
    recording.session().steps.len()
}

#[test]
fn a_conversation_is_put_together_from_its_chunks() {
    let store = Store::new();
    let text = lines(&conversation());
    let (first, second) = text.as_bytes().split_at(text.len() / 2);
    let manifest_path = put_manifest(&store, &store_chunks(&store, &[first, second]));
    for path in [&manifest_path, &store.path(&format!("{SNAPSHOT}/files/0/1"))] {
        let recording = formats::open(path, &Patient).unwrap();
        assert_eq!(steps(recording.as_ref()), 2);
        assert_eq!(problems(recording.as_ref()), [""; 0]);
        look_at_everything(recording.as_ref());
    }
    let recording = store.open("conversations/demo/harness/c1");
    assert_eq!(recording.session().id, "c1");
    let last = recording.session().events.all().last().unwrap();
    let origin = recording.origin(last.place).unwrap();
    assert_eq!(origin.path, store.path(&format!("{SNAPSHOT}/files/0/1")));
    assert!(origin.offset.unwrap() > 1024);
    // What is stored is not changed: a revert writes a new file, and not into the storage.
    let revert = recording.revert(2, Watch::none()).unwrap();
    assert!(matches!(revert.effect, Effect::Export(_)));
    assert_eq!(recording.session().source, store.root());
}

#[test]
fn chunks_that_are_missing_or_changed_are_named() {
    let text = lines(&conversation());
    let (first, second) = text.as_bytes().split_at(text.find("{\"type\":\"message\"").unwrap());
    let store = Store::new();
    let manifest = put_manifest(&store, &store_chunks(&store, &[first, second]));
    store.put(&format!("{SNAPSHOT}/files/0/1"), text.replace("two", "2wo").split_at(first.len()).1);
    let changed = formats::open(&manifest, &Patient).unwrap();
    assert_eq!(problems(changed.as_ref()), ["chunk 1 does not have the SHA-256 that the snapshot gives it"]);
    assert_eq!(steps(changed.as_ref()), 2, "it is shown all the same");

    store.put_raw(&format!("{SNAPSHOT}/files/0/1"), &object(&format!("{SNAPSHOT}/files/0/1"), "r2", second));
    let rewritten = formats::open(&manifest, &Patient).unwrap();
    assert_eq!(problems(rewritten.as_ref()), ["chunk 1 is another version than the one that the snapshot names"]);

    std::fs::remove_file(store.path(&format!("{SNAPSHOT}/files/0/1"))).unwrap();
    let missing = formats::open(&manifest, &Patient).unwrap();
    assert_eq!(steps(missing.as_ref()), 0);
    assert!(problems(missing.as_ref()).contains(&"chunk 1 of the snapshot is not there"));
    assert_accounted(missing.as_ref());
}

#[test]
fn references_never_leave_the_objects_folder() {
    let text = lines(&conversation());
    let store = Store::new();
    let outside = store.root().join("secret.object");
    std::fs::write(&outside, object("secret", "r1", text.as_bytes())).unwrap();
    let absolute = outside.with_extension("").to_string_lossy().into_owned();
    for key in ["../secret", "conversations/../../secret", &absolute, "", ".", "a//b", "objects/../secret"] {
        let mut manifest = store_chunks(&store, &[text.as_bytes()]);
        manifest["files"][0]["chunks"][0]["reference"]["key"] = json!(key);
        let path = put_manifest(&store, &manifest);
        let error = formats::open(&path, &Patient).err().expect("nothing of it is read").to_string();
        assert!(error.contains("no header and no messages"), "{key}: {error}");
    }
    for key in ["conversations/../secret", "runs/..", "checkpoints/../../secret", "logs/../x", "secret"] {
        let reference = formats::SessionRef { paths: vec![store.root().to_owned()], key: Some(key.to_owned()) };
        assert!(formats::open_session(&reference, &Patient).is_err(), "{key}");
    }
}

#[test]
fn a_storage_lists_what_is_in_it() {
    let store = Store::new();
    store.put(
        "checkpoints/0a.json",
        json!({ "owner": null, "checkpoint": checkpoint(json!([gate("approval", None)])) }).to_string(),
    );
    put_manifest(&store, &store_chunks(&store, &[lines(&conversation()).as_bytes()]));
    store.put("conversations/claude/d1/snapshots/s1/manifest", "{}");
    store.put(
        "runs/run-1/index",
        json!({ "version": 1, "id": "run-1", "kind": "workflow", "workflow": "release", "status": "done",
            "startedAt": "2026-02-03T10:00:00.000Z", "heartbeatAt": "x", "updatedAt": "2026-02-03T10:05:00.000Z" })
        .to_string(),
    );
    store.put("artifacts/0b.blob", "x");
    std::fs::write(store.path("checkpoints/0a.json").with_extension("object.123.tmp"), "half").unwrap();
    std::fs::write(
        store.root().join("journal.json"),
        r#"[{"kind":"prompt","source":"agent","seq":1,"scope":{},"text":"Hi"}]"#,
    )
    .unwrap();
    std::fs::write(store.root().join("notes.json"), "{}").unwrap();
    let listed = store.listed();
    let rows: Vec<_> = listed
        .iter()
        .map(|one| {
            let key = one.reference.key.as_deref().unwrap_or("-");
            (
                key,
                one.id.as_deref().unwrap_or("-"),
                one.title.as_deref().unwrap_or("-"),
                one.status.as_deref().unwrap_or("-"),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("-", "-", "Hi", "-"),
            ("checkpoints/0a.json", "aaaaaaaa-0000-4000-8000-000000000000", "Ship 2.0?", "paused"),
            ("conversations/claude/d1", "d1", "a conversation of claude, as that agent keeps it", "-"),
            ("conversations/demo/harness/c1", "c1", "one", "-"),
            ("runs/run-1", "run-1", "workflow release", "done"),
        ]
    );
    for one in listed.iter().filter(|one| one.reference.key.as_deref() != Some("conversations/claude/d1")) {
        let recording = formats::open_session(&one.reference, &Patient).unwrap();
        look_at_everything(recording.as_ref());
    }
    // The bare id is enough, and so is the folder of the objects or of the repository.
    assert!(listed[3].is_named("c1"));
    let reference = formats::SessionRef { paths: vec![store.root().join("objects")], key: Some("run-1".to_owned()) };
    assert_eq!(formats::open_session(&reference, &Patient).unwrap().session().format, FormatName::OutpostRun);
    let error = formats::open_session(&listed[2].reference, &Patient).err().unwrap().to_string();
    assert!(error.contains("a conversation of claude, kept by Outpost"), "{error}");
}

#[test]
fn the_newest_snapshot_of_a_conversation_is_opened() {
    let store = Store::new();
    put_manifest(&store, &store_chunks(&store, &[lines(&conversation()).as_bytes()]));
    let old = json!({ "key": "conversations/demo/harness/c1/snapshots/s0/manifest", "revision": "r", "size": 2,
        "modifiedAt": "2026-01-01T00:00:00.000Z" });
    store.put_raw(
        "conversations/demo/harness/c1/snapshots/s0/manifest",
        format!("{:<1024}{{}}", old.to_string()).as_bytes(),
    );
    assert_eq!(steps(store.open("conversations/demo/harness/c1").as_ref()), 2);
    assert_eq!(steps(store.open("conversations/demo/harness/c1/snapshots/s1/manifest").as_ref()), 2);
}

#[test]
fn an_object_that_lies_alone_is_opened_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let alone = |name: &str, key: &str, body: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, object(key, "r1", body.as_bytes())).unwrap();
        formats::open(&path, &Patient)
    };
    let chunk = alone("a.object", &format!("{SNAPSHOT}/files/0/0"), &lines(&conversation())).unwrap();
    assert_eq!(steps(chunk.as_ref()), 2);
    assert!(problems(chunk.as_ref())[0].contains("lies alone"));
    let state = checkpoint(json!([gate("approval", None)])).to_string();
    assert_eq!(steps(alone("b.object", "checkpoints/0a.json", &state).unwrap().as_ref()), 1);
    let event = json!({ "seq": 1, "at": "2026-02-03T10:00:00.000Z", "source": "agent", "scope": {},
        "event": { "kind": "prompt", "text": "Hi" } });
    assert_eq!(steps(alone("c.object", "runs/r/events/1", &event.to_string()).unwrap().as_ref()), 1);
    let entry = json!({ "previous": null, "event": { "kind": "prompt", "text": "Hi", "source": "agent" } });
    let entry = alone("d.object", "logs/a/b", &entry.to_string()).unwrap();
    assert_eq!(steps(entry.as_ref()), 1);
    assert!(problems(entry.as_ref()).iter().any(|problem| problem.contains("one entry of a journal")));
    let error = alone("e.object", &format!("{SNAPSHOT}/manifest"), "{}").err().unwrap().to_string();
    assert!(error.contains("is one piece of a session"), "{error}");
}
