//! `export`: what is listed, what is written, and what is never in it.

use super::*;

const KEY: &str = "ghp_0123456789abcdefABCDEF0123456789abcd";

/// A Claude Code session of two steps that says a key, an address, a password and a user's name, some of it in escapes.
fn private_session() -> (tempfile::TempDir, PathBuf) {
    let first = concat!(
        r#"{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/home/mallory/shop","sessionId":"5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10","#,
        r#""version":"2.1.330","type":"user","message":{"role":"user","content":"Write to \u0061da@example.com\nand use ghp_0123456789\u0061bcdefABCDEF0123456789abcd <b>now</b>"},"#,
        r#""uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-11-12T13:02:04.000Z"}"#
    );
    let answer = concat!(
        r#"{"parentUuid":"00000000-0000-4000-8000-000000000001","isSidechain":false,"userType":"external","cwd":"/home/mallory/shop","sessionId":"5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10","#,
        r#""version":"2.1.330","type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"curl https://mallory:hunter2x@example.com","api_key":"ghp_0123456789abcdefABCDEF0123456789abcd"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}},"#,
        r#""uuid":"00000000-0000-4000-8000-000000000002","timestamp":"2026-11-12T13:02:12.000Z"}"#
    );
    let result = concat!(
        r#"{"parentUuid":"00000000-0000-4000-8000-000000000002","isSidechain":false,"userType":"external","cwd":"/home/mallory/shop","sessionId":"5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10","#,
        r#""version":"2.1.330","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"{\"mail\":\"ada\\u0040example.com\",\"who\":\"mallory\"}"}]},"#,
        r#""toolUseResult":{"stdout":"hunter2x","originalFile":"what was there before"},"uuid":"00000000-0000-4000-8000-000000000003","timestamp":"2026-11-12T13:02:13.000Z"}"#
    );
    let second = concat!(
        r#"{"parentUuid":"00000000-0000-4000-8000-000000000003","isSidechain":false,"userType":"external","cwd":"/home/mallory/shop","sessionId":"5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10","#,
        r#""version":"2.1.330","type":"user","message":{"role":"user","content":"Thank you"},"#,
        r#""uuid":"00000000-0000-4000-8000-000000000004","timestamp":"2026-11-12T13:03:04.000Z"}"#
    );
    file_with("session.jsonl", format!("{first}\n{answer}\n{result}\n{second}\n").as_bytes())
}

/// What none of the files that are handed on may say.
fn assert_clean(text: &str) {
    for secret in [KEY, "ada@example.com", "ada\\u0040", "hunter2x", "mallory", "what was there before"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn nothing_is_written_before_the_list_was_seen() {
    let (folder, path) = private_session();
    for arguments in [&["--preview"][..], &[]] {
        let mut command = vec!["export", text(&path), "--to", "html"];
        command.extend(arguments);
        let ended = stepline(command);
        assert_eq!(ended.status, i32::from(arguments.is_empty()), "{}", ended.err);
        assert!(ended.out.contains("replace email 1"), "{}", ended.out);
        assert!(ended.out.contains("line 1, offset 0"), "{}", ended.out);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    let both = stepline(["export", text(&path), "--to", "html", "--yes", "--preview"]);
    assert_eq!(both.status, 2);
}

#[test]
fn the_review_list_has_every_hit_with_its_place_and_decision() {
    let (_folder, path) = private_session();
    let plan = stepline(["export", text(&path), "--to", "json", "--preview", "--json", "--keep", "email"]).json();
    let values: Vec<_> = plan["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| (value["kind"].as_str().unwrap(), &value["decision"]))
        .collect();
    assert_eq!(values.iter().filter(|(kind, _)| *kind == "email").count(), 1);
    assert!(values.iter().all(|(kind, decision)| *decision == if *kind == "email" { "keep" } else { "replace" }));
    let hits = plan["hits"].as_array().unwrap();
    let key = hits.iter().find(|hit| hit["kind"] == "key" && hit["key"] == "text").unwrap();
    assert_eq!((&key["value"], &key["place"]), (&KEY.into(), &"step 1, line 1, offset 0".into()));
    assert!(key["before"].as_str().unwrap().ends_with("and use "));
    let places: u64 = plan["values"].as_array().unwrap().iter().map(|value| value["places"].as_u64().unwrap()).sum();
    assert_eq!(hits.len() as u64, places);
}

#[test]
fn no_form_says_what_was_replaced() {
    let (folder, path) = private_session();
    for form in ["markdown", "html", "json"] {
        let out = folder.path().join(form);
        let receipt = stepline(["export", text(&path), "--to", form, "--yes", "--json", "--out", text(&out)]).json();
        assert_eq!(receipt["path"], text(&out));
        let written = fs::read_to_string(&out).unwrap();
        assert_clean(&written);
        assert!(written.contains("[redacted email 1]") && written.contains("Thank you"), "{written}");
        assert_eq!(receipt["bytes"], written.len());
    }
    let json: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("json")).unwrap()).unwrap();
    assert_eq!(json["steps"].as_array().unwrap().len(), 2);
    assert_eq!(json["session"]["cwd"], "/home/[redacted user 1]/shop");
    assert_eq!(json["steps"][0]["turn"][0]["tool"]["input"]["api_key"], "[redacted key 1]");
    assert_eq!(json["steps"][0]["stepNumber"], 1);
}

#[test]
fn a_page_needs_nothing_and_runs_nothing() {
    let (folder, path) = private_session();
    let out = folder.path().join("page.html");
    stepline(["export", text(&path), "--to", "html", "--yes", "--out", text(&out)]);
    let page = fs::read_to_string(&out).unwrap();
    assert!(page.contains("default-src 'none'") && page.contains("prefers-color-scheme:dark"));
    assert!(page.contains("id=\"step-1\"") && page.contains("href=\"#step-2\""));
    assert!(page.contains("&lt;b&gt;now&lt;/b&gt;") && !page.contains("<script") && !page.contains("src="));
}

#[test]
fn steps_are_chosen_and_a_file_that_is_there_is_not_touched() {
    let (folder, path) = copy_of_sample();
    let out = folder.path().join("part.json");
    let receipt =
        stepline(["export", text(&path), "--to", "json", "--steps", "2..3", "--yes", "--json", "--out", text(&out)])
            .json();
    assert_eq!((&receipt["firstStep"], &receipt["lastStep"], &receipt["steps"]), (&2.into(), &3.into(), &2.into()));
    let before = fs::read(&out).unwrap();
    let again = stepline(["export", text(&path), "--to", "json", "--yes", "--out", text(&out)]);
    assert_eq!(again.status, 1);
    assert!(again.err.contains("already"), "{}", again.err);
    assert_eq!(fs::read(&out).unwrap(), before);
    for (steps, status) in [("3..2", 1), ("0..2", 1), ("2..99", 1), ("a..b", 2)] {
        let ended = stepline(["export", text(&path), "--to", "json", "--steps", steps, "--yes"]);
        assert_eq!(ended.status, status, "{steps}: {}", ended.err);
    }
    assert_eq!(stepline(["export", text(&path), "--to", "pdf", "--yes"]).status, 2);
    assert_eq!(stepline(["export", text(&path), "--to", "json", "--yes", "--pattern", "("]).status, 2);
}

#[test]
fn an_export_goes_beside_the_session_or_to_standard_output() {
    let (folder, path) = private_session();
    stepline(["export", text(&path), "--to", "markdown", "--steps", "2", "--yes"]);
    let beside = fs::read_to_string(folder.path().join("session-step-2.md")).unwrap();
    assert!(beside.contains("## Step 2 · ▸ prompt") && !beside.contains("Step 1"), "{beside}");
    let printed = stepline(["export", text(&path), "--to", "json", "--yes", "--out", "-"]).json();
    assert_eq!(printed["session"]["steps"], 2);
    let open = stepline(["export", text(&path), "--to", "json", "--no-redact", "--out", "-", "--yes"]);
    assert!(open.out.contains(KEY), "redaction is only off when it is said so");
}

#[test]
fn own_patterns_are_replaced_too() {
    let (_folder, path) = private_session();
    let ended = stepline(["export", text(&path), "--to", "json", "--yes", "--out", "-", "--pattern", "Thank (you)"]);
    assert!(ended.out.contains("Thank [redacted pattern 1]"), "{}", ended.out);
}

#[test]
fn a_case_opens_again_and_says_nothing_private() {
    let (folder, path) = private_session();
    let case = folder.path().join("for-support.zip");
    let plan = stepline(["export", text(&path), "--to", "case", "--preview", "--json"]).json();
    let places: Vec<_> = plan["hits"].as_array().unwrap().iter().map(|hit| hit["place"].as_str().unwrap()).collect();
    assert!(places.iter().any(|place| place.starts_with("session/") && place.contains(".jsonl, line 1, offset ")));
    assert_eq!(plan["leftOut"]["oldContents"], 1);
    let receipt =
        stepline(["export", text(&path), "--to", "case", "--steps", "1", "--yes", "--json", "--out", text(&case)])
            .json();
    assert_eq!(receipt["steps"], 1);

    let steps = stepline(["steps", text(&case), "--json"]).json();
    assert_eq!(
        (&steps["session"]["format"], &steps["session"]["source"]),
        (&"claude-code".into(), &text(&case).into())
    );
    assert_eq!(steps["steps"].as_array().unwrap().len(), 1);
    assert_eq!(steps["session"]["cwd"], "/home/[redacted user 1]/shop");
    assert_clean(&steps.to_string());
    let shown = stepline(["show", text(&case), "--step", "1", "--json"]).json();
    assert_clean(&shown.to_string());
    assert_eq!(shown["events"][0]["tool"]["input"]["api_key"], "[redacted key 1]");
    assert_eq!(stepline(["check", text(&case), "--json"]).json()["problems"], serde_json::json!([]));
    let listed = stepline(["sessions", text(&case), "--json"]).json();
    assert_eq!(listed["sessions"][0]["steps"], 1);

    // A case is forked and reverted beside itself, and stays as it is.
    let before = fs::read(&case).unwrap();
    let forked = stepline(["fork", text(&case), "--step", "1", "--json"]).json();
    assert_eq!(Path::new(forked["path"].as_str().unwrap()).parent(), Some(folder.path()));
    assert_eq!(fs::read(&case).unwrap(), before);
}

#[test]
fn a_case_of_every_step_holds_these_steps() {
    let (folder, path) = copy_of_sample();
    let all = stepline(["steps", text(&path), "--json"]).json()["steps"].as_array().unwrap().len();
    for last in [1, 7, all] {
        let case = folder.path().join(format!("{last}.zip"));
        let steps = format!("..{last}");
        stepline(["export", text(&path), "--to", "case", "--steps", &steps, "--yes", "--json", "--out", text(&case)])
            .json();
        let opened = stepline(["steps", text(&case), "--json"]).json();
        assert_eq!(opened["steps"].as_array().unwrap().len(), last);
        assert!(!opened.to_string().contains("/home/ada"));
    }
}

#[test]
fn notes_go_along() {
    let (folder, path) = private_session();
    let notes = concat!(
        r#"{"stepline":"notes","version":1,"sessions":{"5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10":{"notes":["#,
        r#"{"step":1,"stepId":"00000000-0000-4000-8000-000000000001","bookmark":true,"text":"ask mallory about it"},"#,
        r#"{"step":2,"stepId":"00000000-0000-4000-8000-000000000004","bookmark":false,"text":"the second"}]}}}"#
    );
    fs::write(folder.path().join("session.jsonl.stepline-notes.json"), notes).unwrap();
    let page = folder.path().join("page.html");
    stepline(["export", text(&path), "--to", "html", "--steps", "1", "--yes", "--out", text(&page)]);
    let written = fs::read_to_string(&page).unwrap();
    assert!(written.contains("ask [redacted user 1] about it") && !written.contains("the second"), "{written}");
    let case = folder.path().join("case.zip");
    stepline(["export", text(&path), "--to", "case", "--yes", "--out", text(&case)]);
    let again = stepline(["export", text(&case), "--to", "json", "--yes", "--out", "-"]).json();
    assert_eq!(again["steps"][0]["note"]["text"], "ask [redacted user 1] about it");
    assert_eq!(again["steps"][1]["note"]["text"], "the second");
    let listed = stepline(["sessions", text(folder.path()), "--json"]).json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "notes are no session");
}
