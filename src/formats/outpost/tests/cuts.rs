//! Forks and reverts, written and opened again.

use serde_json::json;

use super::*;
use crate::formats::{Cut, FileAction, FileActionKind, Fork, Refusal};
use crate::model::Outcome;
use crate::store::ReadError;

const NO_COMMITS: &str = r#"No recorded commits belong to these steps: replay it with divergence: "warn""#;

fn fork(opened: &Opened, cut: Cut) -> Fork {
    opened.recording.fork(cut, Watch::none()).unwrap()
}

/// What has to stay the same of each kept step.
fn kept(opened: &Opened, steps: u32) -> Vec<(String, Vec<Value>, Value)> {
    let lines = opened.lines();
    (1..=steps)
        .map(|number| {
            let of_turn: Vec<_> = lines.iter().filter(|line| line["turn"] == number).cloned().collect();
            let events = of_turn.iter().filter(|line| line["event"].is_object()).cloned().collect();
            let end = of_turn.last().cloned().unwrap_or_default();
            (opened.recording.prompt(number).unwrap(), events, end)
        })
        .collect()
}

#[test]
fn a_fork_after_the_last_step_keeps_every_byte() {
    for opened in [open(worked_example()), open_lines(worked_example())] {
        let before = opened.bytes();
        let made = fork(&opened, Cut::After(3));
        assert_eq!(made.steps, 3);
        assert_eq!(made.warnings, Vec::<String>::new());
        assert_eq!(made.session_id, "3b7e0000-0000-4000-8000-000000000001");
        assert!(made.file_name.starts_with("journal.step-3.json"));
        assert_eq!(opened.reopen(&made).bytes(), before);
    }
}

#[test]
fn a_fork_leaves_out_the_hand_over_it_would_end_in() {
    let opened = open(worked_example());
    let made = fork(&opened, Cut::After(1));
    assert_eq!(
        made.warnings,
        [
            "Step 1 was handed over to codex; the handover is left out because a journal may not end in one, so Outpost will report step 1 as failed (process)",
            NO_COMMITS
        ]
    );
    let again = opened.reopen(&made);
    let session = again.recording.session();
    assert_eq!((session.steps.len(), session.nodes), (1, 3));
    assert_eq!(again.own_events(1).len(), 2);
    assert_eq!(again.lines().last().unwrap()["failure"]["code"], "process");
    assert!(again.bytes().ends_with("}]"), "the array is closed as the original was");
}

#[test]
fn what_an_agent_wrote_after_a_left_out_hand_over_does_not_become_the_turns() {
    let opened = open(json!([
        { "kind": "prompt", "text": "A" },
        { "kind": "text", "text": "a" },
        { "kind": "fallback", "from": { "index": 0, "name": "x" }, "to": { "index": 1, "name": "y" }, "failure": "quota", "message": "m" },
        { "kind": "warning", "message": "between" },
        { "kind": "operation", "source": "git", "id": "o", "name": "n", "status": "started" },
        { "kind": "phase", "name": "preparing prompt" },
        { "kind": "prompt", "text": "A" },
        { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } }
    ]));
    let made = fork(&opened, Cut::After(1));
    assert_eq!(opened.step(1).fork_target, Some(crate::model::NodeId::Number(4)));
    let again = opened.reopen(&made);
    assert_eq!(again.recording.session().nodes, 3, "prompt, text, operation");
    assert_eq!(again.own_events(1).len(), 1);
}

#[test]
fn a_fork_after_a_steered_turn_gives_it_a_summary_of_its_own() {
    for opened in [open(worked_example()), open_lines(worked_example())] {
        let before = kept(&opened, 2);
        let made = fork(&opened, Cut::After(2));
        assert_eq!(made.warnings.len(), 2);
        assert!(made.warnings[0].contains("one summary entry was added"));
        assert_eq!(made.warnings[1], NO_COMMITS);
        let again = opened.reopen(&made);
        assert_eq!(again.recording.session().steps.len(), 2);
        assert_eq!(kept(&again, 2), before);
        assert_eq!(again.step(2).outcome, Outcome::Interrupted);
        let last = again.bytes().trim_end().trim_end_matches(']').rsplit_once("{\"at\"").unwrap().1.to_owned();
        let last: Value = serde_json::from_str(&format!("{{\"at\"{last}")).unwrap();
        assert_eq!(
            last,
            json!({ "at": "2026-02-03T10:00:07.000Z", "kind": "summary", "durationMs": 3000, "status": 0,
                "tokens": { "input": 3, "cached": 0, "output": 1 }, "seq": 16, "source": "agent",
                "scope": { "dispatchId": "3b7e0000-0000-4000-8000-000000000001" } })
        );
    }
}

#[test]
fn the_added_summary_covers_the_turns_before_in_its_pass() {
    let opened = open(json!([
        { "kind": "prompt", "text": "A", "pass": 1 },
        { "kind": "usage", "tokens": { "input": 10, "cached": 1, "output": 5 } },
        { "kind": "stopped", "reason": "steered" },
        { "kind": "steer", "mode": "resumed", "text": "one", "pass": 1 },
        { "kind": "usage", "tokens": { "input": 2, "cached": 0, "output": 1 } },
        { "kind": "steer", "mode": "resumed", "text": "two", "pass": 1 },
        { "kind": "text", "text": "x" },
        { "kind": "summary", "tokens": { "input": 20, "cached": 1, "output": 9 } }
    ]));
    let before = kept(&opened, 2);
    let again = {
        let made = fork(&opened, Cut::After(2));
        opened.reopen(&made)
    };
    assert_eq!(kept(&again, 2), before);
    assert!(again.bytes().contains(r#""tokens":{"input":12,"cached":1,"output":6},"pass":1"#));
}

#[test]
fn every_fork_holds_its_steps_as_they_were() {
    let entries = json!([
        { "kind": "dispatch-start", "source": "sandbox" },
        { "kind": "phase", "name": "preparing prompt" },
        { "kind": "prompt", "text": "one" },
        { "kind": "phase", "name": "running" },
        { "kind": "tool", "name": "Bash", "input": { "command": "make" }, "callId": "t" },
        { "kind": "tool-result", "callId": "t", "name": "Bash", "isError": false, "preview": "ok", "characters": 2 },
        { "kind": "result", "text": "first" },
        { "kind": "summary", "tokens": { "input": 5, "cached": 2, "output": 1 } },
        { "kind": "workspace-commits", "source": "git", "baseline": { "commit": "c", "tree": "t" }, "commits": [] },
        { "kind": "phase", "name": "preparing prompt" },
        { "kind": "phase", "name": "still preparing" },
        { "kind": "prompt", "text": "two" },
        { "kind": "usage", "tokens": { "input": 1, "cached": 1, "output": 1 } },
        { "kind": "prompt", "text": "three" },
        { "kind": "result", "text": "third" },
        { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } },
        { "kind": "dispatch-finished", "source": "sandbox", "status": "failed", "error": { "code": "timeout", "message": "late" } }
    ]);
    for number in 1..=3 {
        for (cut, steps) in [(Cut::After(number), number), (Cut::Before(number), number - 1)] {
            let opened = open(entries.clone());
            if steps == 0 {
                assert!(matches!(opened.recording.fork(cut, Watch::none()), Err(Refusal::Rule(_))));
                continue;
            }
            let mut before = kept(&opened, steps);
            let made = fork(&opened, cut);
            assert_eq!(made.steps, steps);
            assert_eq!(made.warnings, Vec::<String>::new(), "{cut:?}: the commits of step 1 are kept");
            let target = opened.step(steps).fork_target.clone();
            let again = opened.reopen(&made);
            assert_eq!(again.recording.session().steps.len(), steps as usize, "{cut:?}");
            assert_eq!(again.recording.session().head, target, "{cut:?}");
            if steps == 2 {
                // The dispatch's error is gone with its end.
                before[1].2 = json!({ "turn": 2, "failure": { "code": "process", "message": "The recorded turn did not finish" } });
            }
            assert_eq!(kept(&again, steps), before, "{cut:?}");
        }
    }
}

#[test]
fn separators_are_the_files_own() {
    let pretty = "\u{feff}[\n  {\"kind\": \"prompt\", \"source\": \"agent\", \"seq\": 1, \"text\": \"a\"},\n  {\"kind\": \"summary\", \"source\": \"agent\", \"seq\": 2, \"tokens\": {}},\n  {\"kind\": \"prompt\", \"source\": \"agent\", \"seq\": 3, \"text\": \"b\"}\n]\n";
    let pretty = pretty.trim_start_matches('\u{feff}');
    let opened = open_bytes("journal", pretty.as_bytes());
    let made = fork(&opened, Cut::Before(2));
    assert_eq!(made.file_name, "journal.before-step-2");
    assert_eq!(
        opened.reopen(&made).bytes(),
        "[\n  {\"kind\": \"prompt\", \"source\": \"agent\", \"seq\": 1, \"text\": \"a\"},\n  {\"kind\": \"summary\", \"source\": \"agent\", \"seq\": 2, \"tokens\": {}}\n]\n"
    );
}

#[test]
fn a_revert_says_what_goes() {
    let literal = include_str!("../../../../tests/fixtures/outpost/literal.patch");
    let identity = json!({ "name": "Ada", "email": "a@b", "date": "1 +0000" });
    let opened = open(json!([
        { "kind": "prompt", "text": "one" },
        { "kind": "result", "text": "first" },
        { "kind": "summary", "tokens": { "input": 5, "cached": 2, "output": 1 } },
        { "kind": "prompt", "text": "two\n" },
        { "kind": "tool", "name": "shell", "input": { "command": "make install" }, "callId": "t" },
        { "kind": "tool", "name": "Read", "input": { "path": "x" }, "callId": "u" },
        { "kind": "file-change", "changes": [{ "path": "old.txt", "kind": "delete" }, { "path": "a.txt", "kind": "update" }] },
        { "kind": "text", "text": "second" },
        { "kind": "result", "text": "second" },
        { "kind": "summary", "tokens": { "input": 5, "cached": 2, "output": 1 } },
        { "kind": "workspace-commits", "source": "git", "baseline": { "commit": "c", "tree": "t" },
          "commits": [{ "oid": "o", "tree": "u", "message": "m\n", "patch": literal, "author": identity, "committer": identity }] }
    ]));
    let revert = opened.recording.revert(2, Watch::none()).unwrap();
    assert_eq!((revert.keeps_steps, revert.prefill.as_deref()), (1, Some("two\n")));
    assert_eq!(revert.dropped.messages, 2, "the prompt, and the answer that text and result both give");
    assert_eq!(revert.dropped.irreversible, [("shell".to_owned(), "make install".to_owned())]);
    assert_eq!(revert.dropped.pending_approvals, []);
    let action = |path: &str, kind| FileAction { path: path.to_owned(), kind };
    assert_eq!(
        revert.dropped.file_actions,
        [
            action("old.txt", FileActionKind::Recreate),
            action("a.txt", FileActionKind::Restore),
            action("big.txt", FileActionKind::Delete)
        ]
    );
    assert_eq!(revert.warnings, [NO_COMMITS]);
    let before = fork(&opened, Cut::Before(2));
    assert_eq!(revert.rewrite().pieces(), before.rewrite.pieces());

    let error = opened.recording.revert(1, Watch::none()).unwrap_err();
    assert_eq!(error.to_string(), "nothing would be left: Outpost refuses a journal without turns");
    let error = opened.recording.revert(3, Watch::none()).unwrap_err();
    assert_eq!(error.to_string(), "there is no step 3; the session has 2");
    assert!(opened.recording.fork(Cut::After(0), Watch::none()).is_err());
}

#[test]
fn a_plan_can_be_called_off() {
    let opened = open(worked_example());
    let cancelled = std::sync::atomic::AtomicBool::new(true);
    let watch = Watch::new(&cancelled, &|_, _| {});
    let fork = opened.recording.fork(Cut::After(2), watch).map(drop);
    let revert = opened.recording.revert(2, watch).map(drop);
    for result in [fork, revert] {
        assert!(matches!(result, Err(Refusal::Read(ReadError::Cancelled(_)))));
    }
}

#[test]
fn a_plan_tells_how_far_it_is() {
    let opened = open(worked_example());
    let (cancelled, told) = (std::sync::atomic::AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
    let tell = |done, total| told.lock().unwrap().push((done, total));
    opened.recording.revert(2, Watch::new(&cancelled, &tell)).unwrap();
    let told = told.into_inner().unwrap();
    assert!(!told.is_empty());
    assert!(told.iter().all(|(done, total)| done <= total && *total == opened.bytes().len() as u64), "{told:?}");
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_no_turn_without_a_prompt() {
    let opened = open(worked_example());
    std::fs::OpenOptions::new().write(true).open(&opened.path).unwrap().set_len(10).unwrap();
    assert!(matches!(opened.recording.replay_turns(), Err(ReadError::Shrunk { .. })));
}
