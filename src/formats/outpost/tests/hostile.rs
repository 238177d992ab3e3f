//! Damage: whatever the bytes are, what can be read is read, and nothing brings the program down.

use proptest::prelude::*;

use super::checkpoints::{at, checkpoint, gate};
use super::transcripts::{conversation, lines};
use super::*;

/// Opens bytes that may be anything; looks at all of it if they open.
fn try_everything(name: &str, bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    if let Ok(recording) = formats::open(&path, &Patient) {
        look_at_everything(recording.as_ref());
    }
}

fn state() -> String {
    checkpoint(json!([
        { "key": "build", "status": "done", "attempts": 2, "startedAt": at(0), "finishedAt": at(60),
          "rounds": [{ "round": 1, "phase": "check", "check": { "done": true } }] },
        gate("approval", Some(("approve", "done"))),
        { "key": "ask", "status": "waiting-input", "attempts": 1,
          "interaction": { "request": { "question": "Which?", "choices": ["a"], "id": "q", "requestedAt": at(70) } } }
    ]))
    .to_string()
}

fn run() -> String {
    json!({ "version": 1, "id": "r", "kind": "dispatch", "status": "running", "heartbeatAt": at(1), "startedAt": at(0),
        "tasks": [{ "key": "a", "status": "failed", "error": "x" }],
        "dispatches": [{ "id": "d", "status": "done", "commits": [{ "oid": "c", "subject": "s" }], "passes": [{ "pass": 1 }] }],
        "errors": [{ "message": "m" }] })
    .to_string()
}

#[test]
fn a_truncated_checkpoint_is_read_to_where_it_ends() {
    let whole = state();
    for end in 0..whole.len() {
        try_everything("state.json", whole.get(..end).unwrap().as_bytes());
    }
    let cut = whole.find("\"ask\"").unwrap();
    let opened = open_bytes("state.json", whole.get(..cut).unwrap().as_bytes());
    assert_eq!(opened.recording.session().steps.len(), 1);
    assert!(problems(opened.recording.as_ref())[0].starts_with("the file ends inside the document"));
    assert_eq!(opened.recording.session().report.records.torn, 1);
}

#[test]
fn values_of_the_wrong_type_are_absent() {
    for records in [
        json!("none"),
        json!({ "a": 1 }),
        json!([7, null, "x", [], {}]),
        json!([{ "key": 7, "status": [], "attempts": -1, "startedAt": 1_700_000_000_000_u64, "finishedAt": {} }]),
        json!([{ "key": "a", "status": "done", "pause": "x", "decision": 7, "interaction": [], "quota": 1, "rounds": {} }]),
        json!([{ "key": "a", "status": "odd", "pause": {}, "decision": {}, "interaction": { "request": {}, "answer": [] } }]),
        json!([{ "key": "a", "pause": { "prompt": 1, "actors": "x", "requestedAt": at(9) }, "decision": { "decidedAt": at(1) } }]),
    ] {
        let mut document = checkpoint(json!([]));
        document["records"] = records.clone();
        document["values"] = json!([1]);
        document["usage"] = json!("much");
        let opened = open_bytes("state.json", document.to_string().as_bytes());
        look_at_everything(opened.recording.as_ref());
        let is_negative = |event: &Event| event.duration_ms.is_some_and(|ms| ms < 0);
        assert!(!opened.recording.session().events.all().iter().any(is_negative), "{records}");
        if !records.is_array() {
            assert!(problems(opened.recording.as_ref()).contains(&"the checkpoint has no list of records"));
        }
    }
}

#[test]
fn documents_that_are_nested_deep_are_read() {
    let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(20_000), "]".repeat(20_000));
    let state = state().replace("\"out\"", &deep("1"));
    try_everything("state.json", state.as_bytes());
    try_everything("run.json", run().replace("\"x\"", &deep("1")).as_bytes());
    let transcript = lines(&conversation()).replace(r#"{"command":"ls"}"#, &deep("1"));
    let opened = open_bytes("c.jsonl", transcript.as_bytes());
    assert_eq!(opened.recording.session().steps.len(), 2);
    look_at_everything(opened.recording.as_ref());
}

#[test]
fn a_checkpoint_that_outpost_would_find_too_large_is_read_with_a_notice() {
    let mut document: Value = serde_json::from_str(&state()).unwrap();
    document["values"]["build"]["value"] = json!("x".repeat(17 * 1024 * 1024));
    let opened = open_bytes("state.json", document.to_string().as_bytes());
    assert_eq!(opened.recording.session().steps.len(), 2);
    assert!(problems(opened.recording.as_ref())[0].contains("larger than 16 MiB"));
}

#[test]
fn an_object_with_a_wrong_header_says_so() {
    let store = Store::new();
    let body = state();
    let mut bytes = object("checkpoints/0a.json", "r1", body.as_bytes());
    bytes.truncate(bytes.len() - 1);
    let path = store.put_raw("checkpoints/0a.json", &bytes);
    let recording = formats::open(&path, &Patient).unwrap();
    assert!(problems(recording.as_ref()).iter().any(|problem| problem.contains("its header says")));
    assert_eq!(recording.session().steps.len(), 2);
}

fn samples() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("state.json", state().into_bytes()),
        ("state.object", object("checkpoints/0a.json", "r1", state().as_bytes())),
        ("run.json", run().into_bytes()),
        ("c.jsonl", lines(&conversation()).into_bytes()),
        ("c.object", object("conversations/harness/c/snapshots/s/files/0/0", "r1", lines(&conversation()).as_bytes())),
        ("e.object", object("runs/r/events/1", "r1", run().as_bytes())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn mutated_files_are_read_without_a_panic(which in 0_usize..6, cut in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(), does_cut in any::<bool>()) {
        let (name, mut bytes) = samples().swap_remove(which);
        if does_cut {
            bytes.truncate(cut.index(bytes.len()) + 1);
        }
        let at = at.index(bytes.len());
        bytes[at] = byte;
        try_everything(name, &bytes);
    }

    #[test]
    fn a_fork_of_step_n_has_n_steps(turns in prop::collection::vec(0_u8..5, 1..8), compacted in prop::option::of(0_usize..8)) {
        let mut all = vec![super::transcripts::header()];
        for (number, shape) in turns.iter().enumerate() {
            all.push(super::transcripts::user(&format!("prompt {number}")));
            let id = format!("t{number}");
            let call = json!({ "type": "tool-call", "id": id, "name": "bash", "input": {} });
            if *shape > 0 {
                all.push(json!({ "type": "message", "message": { "role": "assistant", "content": [call] } }));
            }
            if *shape > 1 {
                let result = json!({ "type": "tool-result", "callId": id, "content": "x" });
                all.push(json!({ "type": "message", "message": { "role": "user", "content": [result] } }));
            }
            if compacted == Some(number) {
                all.push(json!({ "type": "compaction", "messages": [super::transcripts::user("summary")["message"]] }));
            }
        }
        let opened = open_bytes("c.jsonl", lines(&all).as_bytes());
        prop_assert_eq!(opened.recording.session().steps.len(), turns.len());
        for number in 1..=turns.len() {
            let step = u32::try_from(number).unwrap();
            let fork = opened.recording.fork(formats::Cut::After(step), Watch::none()).unwrap();
            let path = opened.folder.path().join(&fork.file_name);
            write_new(&path, &fork.rewrite, Watch::none()).unwrap();
            prop_assert_eq!(formats::open(&path, &Patient).unwrap().session().steps.len(), number);
            if number > 1 {
                let revert = opened.recording.revert(step, Watch::none()).unwrap();
                let path = opened.folder.path().join(format!("cut-{number}.jsonl"));
                write_new(&path, revert.rewrite(), Watch::none()).unwrap();
                prop_assert_eq!(formats::open(&path, &Patient).unwrap().session().steps.len(), number - 1);
            }
        }
    }
}
