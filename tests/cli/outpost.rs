//! What Outpost keeps: a storage folder with several sessions, and conversations that are forked and cut.

use super::*;

const GATE: &str = r#"{"owner":null,"checkpoint":{"format":1,"identity":"i","executionId":"e1","records":[{"key":"ship",
    "status":"paused","attempts":0,"pause":{"kind":"approval","prompt":"Ship 2.0?","actors":["lead"],"id":"g1",
    "requestedAt":"2026-02-03T10:01:00.000Z"}}],"values":{},"usage":{"attempts":0,"tokens":{}}}}"#;

const RUN: &str = r#"{"version":1,"id":"run-1","kind":"dispatch","status":"done","heartbeatAt":"x","seq":0}"#;

const CONVERSATION: &str = r#"{"type":"session","version":1,"id":"c1","model":"m","createdAt":"2026-02-03T10:00:00.000Z"}
{"type":"message","message":{"role":"user","content":[{"type":"text","text":"one"}]}}
{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"done"}]}}
{"type":"message","message":{"role":"user","content":[{"type":"text","text":"two"}]}}
{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"done too"}]}}
"#;

fn storage() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (key, body) in [("checkpoints/0a.json", GATE), ("runs/run-1/index", RUN)] {
        let path = folder.path().join(format!("objects/{key}.object"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let size = body.len();
        let at = "2026-02-03T10:00:00.000Z";
        let header = format!(r#"{{"key":"{key}","revision":"r","size":{size},"modifiedAt":"{at}"}}"#);
        fs::write(path, format!("{header:<1024}{body}")).unwrap();
    }
    folder
}

#[test]
fn a_storage_folder_holds_several_sessions() {
    let folder = storage();
    let listed = stepline(["sessions", text(folder.path()), "--json"]).json();
    let sessions = listed["sessions"].as_array().unwrap();
    let states: Vec<_> = sessions.iter().map(|one| (one["id"].as_str(), one["status"].as_str())).collect();
    assert_eq!(states, [(Some("e1"), Some("paused")), (Some("run-1"), Some("done"))]);

    let unnamed = stepline(["steps", text(folder.path())]);
    assert_eq!(unnamed.status, 2);
    assert!(unnamed.err.contains("--session ID") && unnamed.err.contains("run-1"), "{}", unnamed.err);
    for name in ["e1", "checkpoints/0a.json"] {
        let named = stepline(["steps", text(folder.path()), "--session", name, "--json"]).json();
        let step = &named["steps"][0];
        assert_eq!((&step["kind"], &step["stepId"]), (&Value::from("questionAnswer"), &Value::from("g1")));
        assert_eq!((&step["summary"], &step["outcome"]), (&Value::from("Ship 2.0?"), &Value::from("pending")));
        let approval = &step["markers"][1];
        assert_eq!((&approval["decision"], &approval["prompt"]), (&Value::from("pending"), &Value::from("Ship 2.0?")));
    }
    let refused = stepline(["revert", text(folder.path()), "--session", "e1", "--step", "1", "--preview"]);
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("cannot be resumed"), "{}", refused.err);
}

#[test]
fn a_conversation_is_forked_reverted_and_put_back() {
    let (folder, path) = file_with("c1.jsonl", CONVERSATION.as_bytes());
    let fork = stepline(["fork", text(&path), "--step", "1", "--json"]).json();
    assert_eq!((&fork["steps"], &fork["from"]["sessionId"]), (&Value::from(1), &Value::from("c1")));
    let forked = PathBuf::from(fork["path"].as_str().unwrap());
    assert_eq!(forked.parent(), Some(folder.path()));
    let session = stepline(["steps", text(&forked), "--json"]).json()["session"].clone();
    assert_eq!((&session["steps"], &session["id"]), (&Value::from(1), &fork["sessionId"]));
    assert_eq!(session["parent"]["sessionId"], "c1");

    let done = stepline(["revert", text(&path), "--step", "2", "--yes", "--json"]).json();
    assert_eq!((&done["keepsSteps"], &done["prefillText"]), (&Value::from(1), &Value::from("two")));
    assert_eq!(stepline(["steps", text(&path), "--json"]).json()["session"]["steps"], 1);
    stepline(["undo", done["receipt"].as_str().unwrap(), "--json"]).json();
    assert_eq!(fs::read_to_string(&path).unwrap(), CONVERSATION);
}
