//! `replay`: lines in order, a fork's replay a prefix of the original's, divergences by their kinds.

use super::*;

/// Two turns: the first handed over to the second candidate, commits at the end.
const JOURNAL: &str = r#"[
{"kind":"dispatch-start","at":"2026-02-03T10:00:00.000Z","seq":1,"source":"sandbox","scope":{"dispatchId":"d1"}},
{"kind":"prompt","text":"Add a header.","at":"2026-02-03T10:00:01.000Z","seq":2,"source":"agent","pass":1,"scope":{"dispatchId":"d1","pass":1}},
{"kind":"tool","name":"Edit","input":{"path":"a.rs"},"callId":"t1","at":"2026-02-03T10:00:02.000Z","seq":3,"source":"agent","pass":1,"label":"x","scope":{"dispatchId":"d1","pass":1}},
{"kind":"result","text":"Done.","at":"2026-02-03T10:00:03.000Z","seq":4,"source":"agent","pass":1,"scope":{"dispatchId":"d1","pass":1}},
{"kind":"summary","durationMs":2000,"status":0,"tokens":{"input":9,"cached":0,"output":4},"at":"2026-02-03T10:00:03.100Z","seq":5,"source":"agent","pass":1,"scope":{"dispatchId":"d1","pass":1}},
{"kind":"prompt","text":"Go on.","at":"2026-02-03T10:01:00.000Z","seq":6,"source":"agent","pass":2,"scope":{"dispatchId":"d1","pass":2}},
{"kind":"text","text":"All done.","at":"2026-02-03T10:01:02.000Z","seq":7,"source":"agent","pass":2,"scope":{"dispatchId":"d1","pass":2}},
{"kind":"summary","durationMs":2000,"status":0,"tokens":{"input":5,"cached":1,"output":2},"at":"2026-02-03T10:01:02.100Z","seq":8,"source":"agent","pass":2,"scope":{"dispatchId":"d1","pass":2}},
{"kind":"workspace-commits","at":"2026-02-03T10:01:03.000Z","seq":9,"source":"git","scope":{"dispatchId":"d1"},"baseline":{"commit":"1111111111111111111111111111111111111111","tree":"2222222222222222222222222222222222222222"},"commits":[{"oid":"3333333333333333333333333333333333333333","tree":"4444444444444444444444444444444444444444","author":{"name":"Ada","email":"ada@example.invalid","date":"1770112803 +0100"},"committer":{"name":"Ada","email":"ada@example.invalid","date":"1770112803 +0100"},"message":"Add header\n","patch":""}]},
{"kind":"dispatch-finished","status":"done","completed":true,"usage":{"input":14,"cached":1,"output":6},"at":"2026-02-03T10:01:04.000Z","seq":10,"source":"sandbox","scope":{"dispatchId":"d1"}}]"#;

#[test]
fn events_come_in_order_without_their_envelope() {
    let (_folder, path) = file_with("journal.json", JOURNAL.as_bytes());
    let lines = stepline(["replay", text(&path), "--json"]).lines();
    assert_eq!(
        lines[0],
        serde_json::json!({"turn":1,"event":{"kind":"tool","name":"Edit","input":{"path":"a.rs"},"callId":"t1"}})
    );
    assert_eq!(lines[1], serde_json::json!({"turn":1,"event":{"kind":"result","text":"Done."}}));
    assert_eq!(lines[2]["text"], "Done.");
    assert_eq!(lines[2]["usage"]["input"], 9);
    assert_eq!(lines[2]["usage"]["output"], 4);
    let last = lines.last().unwrap();
    assert_eq!(last["turns"], 2);
    assert_eq!((&last["usage"]["input"], &last["usage"]["cacheRead"]), (&14.into(), &1.into()));
    let second: Vec<Value> = stepline(["replay", text(&path), "--from", "2", "--json"]).lines();
    assert!(second[..second.len() - 1].iter().all(|line| line["turn"] == 2));
}

#[test]
fn the_replay_of_a_fork_is_a_prefix_of_the_replay_of_the_original() {
    let (folder, path) = file_with("journal.json", JOURNAL.as_bytes());
    let all = stepline(["replay", text(&path), "--json"]).out;
    let out = folder.path().join("fork.json");
    stepline(["fork", text(&path), "--step", "1", "--out", text(&out), "--json"]).json();
    let forked = stepline(["replay", text(&out), "--json"]).out;
    let turn: Vec<&str> = forked.lines().filter(|line| line.contains("\"turn\":")).collect();
    assert_eq!(turn.len(), 3);
    assert!(all.starts_with(&turn.join("\n")), "{all}\n{forked}");

    let (folder, path) = copy_of_sample();
    let all = stepline(["replay", text(&path), "--json"]).out;
    let all: Vec<&str> = all.lines().collect();
    // Steps 3 and 9 go on over a question, 4 and 10 are questions: their forks end within the turn.
    for number in ["1", "2", "5", "6", "7", "8", "11", "12", "13", "14", "15"] {
        let out = folder.path().join(format!("fork-{number}.jsonl"));
        let id = stepline(["fork", text(&path), "--step", number, "--out", text(&out), "--json"]).json()["sessionId"]
            .clone();
        // A fork is a conversation of its own: only its id differs.
        let forked = stepline(["replay", text(&out), "--json"])
            .out
            .replace(id.as_str().unwrap(), "5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10");
        let turns: Vec<&str> = forked.lines().filter(|line| line.contains("\"turn\":")).collect();
        assert_eq!(turns, all[..turns.len()], "fork of {number}");
    }
}

#[test]
fn a_prompt_is_compared_to_the_last_byte() {
    let (folder, path) = file_with("journal.json", JOURNAL.as_bytes());
    let prompt = folder.path().join("prompt.txt");
    fs::write(&prompt, "Add a header.").unwrap();
    assert_eq!(stepline(["replay", text(&path), "--json", "--prompt", text(&prompt)]).status, 0);
    fs::write(&prompt, "Add a header.\n").unwrap();
    let ended = stepline(["replay", text(&path), "--json", "--prompt", text(&prompt)]);
    assert_eq!(ended.status, 1);
    assert_eq!(
        ended.lines()[0],
        serde_json::json!({"turn":1,"divergence":{"kind":"prompt","expected":"Add a header.","actual":"Add a header.\n"}})
    );
}

#[test]
fn another_run_diverges_by_kind() {
    let (folder, path) = file_with("journal.json", JOURNAL.as_bytes());
    let other = folder.path().join("other.json");
    let kinds = |changed: &str| -> Vec<(u64, String)> {
        fs::write(&other, changed).unwrap();
        let ended = stepline(["replay", text(&path), "--json", "--against", text(&other)]);
        let found: Vec<(u64, String)> = ended
            .lines()
            .iter()
            .filter(|line| line["divergence"].is_object())
            .map(|line| (line["turn"].as_u64().unwrap(), line["divergence"]["kind"].as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(ended.status, i32::from(!found.is_empty()));
        found
    };
    assert_eq!(kinds(JOURNAL), []);
    assert_eq!(kinds(&JOURNAL.replace("Go on.", "Stop.")), [(2, "prompt".into())]);
    assert_eq!(kinds(&JOURNAL.replace("\"tree\":\"2222", "\"tree\":\"2223")), [(2, "baseline".into())]);
    assert_eq!(kinds(&JOURNAL.replace("\"tree\":\"4444", "\"tree\":\"4445")), [(2, "tree".into())]);
    let longer = JOURNAL.replace(
        "{\"kind\":\"workspace-commits\"",
        "{\"kind\":\"prompt\",\"text\":\"More.\",\"source\":\"agent\",\"pass\":3,\"seq\":11},\n{\"kind\":\"summary\",\"durationMs\":1,\"status\":0,\"tokens\":{\"input\":1,\"cached\":0,\"output\":1},\"source\":\"agent\",\"pass\":3,\"seq\":12},\n{\"kind\":\"workspace-commits\"",
    );
    assert!(kinds(&longer).contains(&(3, "exhausted".into())));
    let unrecorded = folder.path().join("unrecorded.json");
    fs::write(
        &unrecorded,
        JOURNAL.lines().filter(|line| !line.contains("workspace-commits")).collect::<Vec<_>>().join("\n"),
    )
    .unwrap();
    let ended = stepline(["replay", text(&unrecorded), "--json", "--against", text(&path)]);
    assert!(ended.lines().iter().any(|line| line["divergence"]["kind"] == "unrecorded"), "{}", ended.out);
}
