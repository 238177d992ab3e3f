//! `sessions`, `steps`, `show`, `check`, and what is said of files that are no sessions.

use super::*;

#[test]
fn steps_have_every_field_of_the_contract() {
    let document = stepline(["steps", text(&sample()), "--json"]).json();
    let session = &document["session"];
    assert_eq!(session["id"], "5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10");
    assert_eq!(session["title"], "Cart module with SQLite storage");
    assert_eq!(session["format"], "claude-code");
    assert_eq!(session["agent"]["version"], "2.1.330");
    assert_eq!(session["cwd"], "/home/ada/shop");
    assert_eq!(session["branches"], 1);
    assert_eq!(session["steps"], 15);
    assert_eq!(session["usage"]["cost"], 1.8421);
    assert_eq!(session["capabilities"], serde_json::json!(["fork", "revert", "replay", "resume"]));

    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 15);
    for (index, step) in steps.iter().enumerate() {
        assert_eq!(step["stepNumber"], index + 1);
        for field in [
            "kind",
            "stepId",
            "userMessageId",
            "toolCallId",
            "questionNodeId",
            "revertTargetNodeId",
            "forkTargetNodeId",
            "summary",
            "at",
            "endedAt",
            "events",
            "model",
            "usage",
            "markers",
            "outcome",
        ] {
            assert!(step.get(field).is_some(), "step {} has no {field}", index + 1);
        }
    }
    assert_eq!(steps[0]["revertTargetNodeId"], Value::Null);
    assert_eq!(steps[3]["kind"], "questionAnswer");
    assert_eq!(steps[3]["summary"], "Which licence? -> MIT");
    assert_eq!(steps[3]["userMessageId"], Value::Null);
    assert_eq!(steps[3]["toolCallId"], "toolu_013cart");
    assert_eq!(steps[7]["summary"], "Keep the version at 1.9 for now, only note 2.0 in the cha...");
    assert_eq!(steps[13]["outcome"], "interrupted");
    let kinds: Vec<&str> =
        steps[9]["markers"].as_array().unwrap().iter().map(|marker| marker["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["question", "approval", "approval", "retry", "retry", "fallback", "failure", "approval"]);
}

#[test]
fn markers_say_who_decided_and_why() {
    let document = stepline(["show", text(&sample()), "--step", "10", "--json"]).json();
    let events = document["events"].as_array().unwrap();
    let markers: Vec<&Value> = events.iter().map(|event| &event["marker"]).filter(|marker| !marker.is_null()).collect();
    let denial = markers.iter().find(|marker| marker["decision"] == "denied").unwrap();
    assert_eq!(denial["tool"], "Bash");
    assert_eq!(denial["by"], "user");
    assert_eq!(denial["reason"], "keep the build");
    assert_eq!(denial["waitedMs"], 4000);
    assert_eq!(denial["evidence"], "recorded");
    let fallback = markers.iter().find(|marker| marker["kind"] == "fallback").unwrap();
    assert_eq!((&fallback["from"], &fallback["to"]), (&"claude-opus-5".into(), &"claude-sonnet-5".into()));
    assert_eq!(fallback["trigger"], "overloaded");
    let failed = events.iter().find(|event| event["tool"]["input"]["command"] == "pytest -q").unwrap();
    assert_eq!(failed["tool"]["isError"], true);
    assert!(failed["tool"]["output"].as_str().unwrap().starts_with("FAILED tests/test_cart.py::test_add"));
    let denied = events.iter().find(|event| event["tool"]["input"]["command"] == "rm -rf build").unwrap();
    assert_eq!(denied["marker"], Value::Null, "a denied call is no failure");
}

#[test]
fn a_change_of_model_that_nothing_records_is_inferred() {
    let document = stepline(["steps", text(&sample()), "--json"]).json();
    let marker = &document["steps"][6]["markers"][0];
    assert_eq!(marker["kind"], "fallback");
    assert_eq!(marker["evidence"], "inferred");
    assert_eq!(marker["trigger"], Value::Null);
}

#[test]
fn plain_output_obeys_no_escape_of_a_session() {
    let record = r#"{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"red \u001b[31m and \u202e back"}}"#;
    let (_folder, path) = file_with("escape.jsonl", record.as_bytes());
    let ended = stepline(["steps", text(&path)]);
    assert_eq!(ended.status, 0, "{}", ended.err);
    assert!(ended.out.contains("red"));
    assert!(!ended.out.contains(['\u{1b}', '\u{202e}']), "{:?}", ended.out);
}

#[test]
fn check_accounts_for_every_line() {
    let sample = fs::read_to_string(sample()).unwrap();
    let lines: Vec<&str> = sample.lines().collect();
    let mut content = String::new();
    content.push_str(&lines[..20].join("\n"));
    content.push_str("\nthis is no record\n");
    content.push_str(lines[10]);
    content.push_str("\n\0\0\0\0\n");
    content.push_str(r#"{"type":"from-the-future","sessionId":"s"}"#);
    content.push('\n');
    content.push_str(&lines[20..].join("\n"));
    content.push_str("\n{\"type\":\"user\",\"uu");
    let (_folder, path) = file_with("damaged.jsonl", content.as_bytes());
    let document = stepline(["check", text(&path), "--json"]).json();
    let expected = serde_json::json!({
        "total": lines.len() + 5, "read": lines.len(), "unknown": 1, "duplicate": 1, "unreadable": 2, "torn": 1,
    });
    assert_eq!(document["records"], expected);
    let problems = document["problems"].as_array().unwrap();
    let garbage = problems.iter().find(|problem| problem["line"] == 21).unwrap();
    assert_eq!(garbage["kind"], "unreadable");
    assert_eq!(garbage["offset"].as_u64().unwrap() as usize, content.find("this is no record").unwrap());
    assert!(problems.iter().any(|problem| problem["kind"] == "torn" && problem["line"] == lines.len() + 5));
    assert_eq!(stepline(["steps", text(&path), "--json"]).json()["session"]["steps"], 15, "all steps are still there");
}

#[test]
fn files_of_other_kinds_get_one_sentence() {
    for (name, content, expected) in [
        ("empty.jsonl", "", "empty"),
        ("notes.txt", "just some words\nand more", "not a session of a known format"),
        ("rollout.jsonl", r#"{"type":"session_meta","timestamp":"t","payload":{"id":"x"}}"#, "Codex"),
        ("table.csv", "a,b\n1,2\n", "not a session of a known format"),
    ] {
        let (_folder, path) = file_with(name, content.as_bytes());
        let ended = stepline(["steps", text(&path), "--json"]);
        assert_eq!(ended.status, 3, "{name}");
        assert_eq!(ended.out, "", "{name}");
        assert_eq!(ended.err.lines().count(), 1, "{name}: {}", ended.err);
        assert!(ended.err.starts_with("stepline: ") && ended.err.contains(expected), "{name}: {}", ended.err);
        assert!(ended.err.trim_end().ends_with(text(&path)), "{name}: the path comes last: {}", ended.err);
    }
    let gone = stepline(["steps", "/no/such/file.jsonl"]);
    assert_eq!((gone.status, gone.err.as_str()), (3, "stepline: there is no such file: /no/such/file.jsonl\n"));
}

#[test]
fn a_folder_lists_its_sessions_and_wants_one_named() {
    let (folder, path) = copy_of_sample();
    let journal = r#"[{"kind":"prompt","source":"agent","pass":1,"text":"Say hi."},
        {"kind":"result","source":"agent","pass":1,"text":"hi"},
        {"kind":"summary","source":"agent","pass":1,"durationMs":1,"status":0,"tokens":{"input":1,"cached":0,"output":1}}]"#;
    fs::write(folder.path().join("journal.json"), journal).unwrap();
    fs::write(folder.path().join("package.json"), "{}").unwrap();
    let listed = stepline(["sessions", text(folder.path()), "--json"]).json();
    let mut formats: Vec<&str> =
        listed["sessions"].as_array().unwrap().iter().map(|session| session["format"].as_str().unwrap()).collect();
    formats.sort_unstable();
    assert_eq!(formats, ["claude-code", "outpost-journal"]);

    let unnamed = stepline(["steps", text(folder.path())]);
    assert_eq!(unnamed.status, 2);
    assert!(unnamed.err.contains("--session ID") && unnamed.err.contains("5f0c2a9e"), "{}", unnamed.err);
    let id = path.file_stem().unwrap().to_str().unwrap();
    let named = stepline(["steps", text(folder.path()), "--session", id, "--json"]).json();
    assert_eq!(named["session"]["steps"], 15);
}

#[test]
fn standard_input_is_a_source() {
    let content = fs::read(sample()).unwrap();
    let ended = with_input(["steps", "-", "--json"], &content);
    assert_eq!(ended.json()["session"]["steps"], 15);
}

#[test]
fn wrong_usage_ends_with_two() {
    for arguments in [
        vec!["show", "x.jsonl"],
        vec!["steps"],
        vec!["undo", "a", "b"],
        vec!["fork", "x", "--step", "many"],
        vec!["revert", "x", "--step", "1"],
        vec!["revert", "x", "--step", "1", "--yes", "--preview"],
        vec!["steps", "x", "--nonsense"],
    ] {
        let ended = stepline(&arguments);
        assert_eq!(ended.status, 2, "{arguments:?}: {}", ended.err);
        assert!(ended.err.starts_with("stepline: "), "{arguments:?}: {}", ended.err);
    }
    assert_eq!(stepline(["show", text(&sample()), "--step", "99"]).status, 1);
}
