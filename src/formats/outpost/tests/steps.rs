//! Steps, usage, outcomes, replay lines.

use serde_json::json;

use super::*;
use crate::formats::{ReplayChanges, ReplayTurn};
use crate::model::{EventKind, Fact, NodeId, Outcome, ProblemKind, Usage};

fn usage(input: u64, output: u64) -> Usage {
    Usage { input: Some(input), output: Some(output), cache_read: Some(0), ..Usage::default() }
}

fn node(number: u64) -> Option<NodeId> {
    Some(NodeId::Number(number))
}

#[test]
fn the_worked_example_has_three_steps() {
    for opened in [open(worked_example()), open_lines(worked_example())] {
        let session = opened.recording.session();
        assert_eq!(session.id, "3b7e0000-0000-4000-8000-000000000001");
        assert_eq!(session.title.as_deref(), Some("A"));
        assert_eq!(session.model.as_deref(), Some("model-b"));
        assert_eq!(session.head, node(13));
        assert_eq!(session.usage, usage(17, 8));
        assert_eq!((session.report.records.total, session.report.records.read), (14, 14));
        assert_eq!(session.report.problems, []);

        let [first, second, third] = &session.steps[..] else { panic!("three steps") };
        assert_eq!((&first.step_id, first.origin, first.outcome), (&NodeId::Number(0), None, Outcome::HandedOver));
        assert_eq!((&second.step_id, second.origin), (&NodeId::Number(4), Some("handover")));
        assert_eq!((&third.step_id, third.origin), (&NodeId::Number(8), Some("steering")));
        assert_eq!((second.outcome, third.outcome), (Outcome::Interrupted, Outcome::Done));
        assert_eq!([first.usage, second.usage, third.usage], [usage(10, 5), usage(3, 1), usage(4, 2)]);
        assert_eq!(third.summary, "Use tabs");
        assert_eq!(first.model.as_deref(), Some("model-a"));
        assert_eq!((first.revert_target.clone(), first.fork_target.clone()), (None, node(2)), "without the fallback");
        assert_eq!((second.revert_target.clone(), second.fork_target.clone()), (node(2), node(7)));
        assert_eq!((third.revert_target.clone(), third.fork_target.clone()), (node(7), node(13)));
        assert_eq!(
            first.revert_refusal.as_deref(),
            Some("nothing would be left: Outpost refuses a journal without turns")
        );
        assert_eq!(second.revert_refusal, None);
        assert_eq!(third.ended_at.unwrap().to_rfc3339(), "2026-02-03T10:00:11.000Z");
        assert_eq!(opened.recording.prompt(3).unwrap(), "Use tabs");

        let kinds = |number| opened.own_events(number).iter().map(|event| event.kind).collect::<Vec<_>>();
        assert_eq!(kinds(1), [EventKind::Notice, EventKind::Quota]);
        assert_eq!(kinds(2), [EventKind::Notice, EventKind::Notice, EventKind::Interruption]);
        assert_eq!(kinds(3), [EventKind::Text, EventKind::Notice]);
        let extra: Vec<_> = opened
            .recording
            .session()
            .events
            .iter()
            .filter(|event| event.place.is_extra())
            .map(|event| (event.kind, event.node.clone()))
            .collect();
        let number = NodeId::Number;
        assert_eq!(
            extra,
            [(EventKind::Fallback, number(3)), (EventKind::Steering, number(8)), (EventKind::Commits, number(12))]
        );
    }
}

#[test]
fn the_worked_example_plays_back() {
    let lines = open(worked_example()).lines();
    let none = serde_json::Value::Null;
    let used = |input: u64, output: u64| json!({ "input": input, "output": output, "cacheRead": 0, "cacheWrite": none, "reasoning": none, "cost": none });
    assert_eq!(
        lines,
        [
            json!({ "turn": 1, "event": { "kind": "usage", "tokens": { "input": 10, "cached": 0, "output": 5 } } }),
            json!({ "turn": 1, "event": { "kind": "quota", "message": "limit" } }),
            json!({ "turn": 1, "event": { "kind": "fallback",
                "from": { "index": 0, "name": "claude", "model": "model-a" },
                "to": { "index": 1, "name": "codex", "model": "model-b" },
                "failure": "quota", "message": "limit", "resetAt": "2026-02-03T15:00:00.000Z" } }),
            json!({ "turn": 2, "event": { "kind": "conversation", "id": "c9" } }),
            json!({ "turn": 2, "event": { "kind": "usage", "tokens": { "input": 3, "cached": 0, "output": 1 } } }),
            json!({ "turn": 2, "event": { "kind": "stopped", "reason": "steered" } }),
            json!({ "turn": 2, "usage": used(3, 1), "text": "", "conversation": "c9", "interrupted": true }),
            json!({ "turn": 3, "steering": ["Use tabs"] }),
            json!({ "turn": 3, "event": { "kind": "text", "text": "ok" } }),
            json!({ "turn": 3, "event": { "kind": "usage", "tokens": { "input": 4, "cached": 0, "output": 2 } } }),
            json!({ "turn": 3, "commits": [{ "oid": "c1", "tree": "t1", "subject": "Add tabs" }] }),
            json!({ "turn": 3, "usage": used(4, 2), "text": "ok", "conversation": none, "interrupted": false }),
        ]
    );
}

#[test]
fn turns_are_compared_where_replay_compares_them() {
    let recorded = ReplayChanges::Recorded { baseline_tree: "t0".into(), trees: vec!["t1".into()] };
    assert_eq!(
        open(worked_example()).recording.replay_turns().unwrap(),
        [
            ReplayTurn { prompt: Some("A".into()), changes: None },
            ReplayTurn { prompt: None, changes: None },
            ReplayTurn { prompt: None, changes: Some(recorded) },
        ]
    );
    let bare = open(
        json!([{ "kind": "prompt", "text": " a\n" }, { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } }]),
    );
    let reason = "recorded without logging.replayable".to_owned();
    assert_eq!(
        bare.recording.replay_turns().unwrap(),
        [ReplayTurn { prompt: Some(" a\n".into()), changes: Some(ReplayChanges::Unavailable { reason }) }]
    );
    let unavailable = open(json!([
        { "kind": "prompt", "text": "a" },
        { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } },
        { "kind": "workspace-commits", "source": "git", "unavailable": "too large" }
    ]));
    assert_eq!(
        unavailable.recording.replay_turns().unwrap()[0].changes,
        Some(ReplayChanges::Unavailable { reason: "too large".into() })
    );
    let commits = unavailable.events(1).last().unwrap();
    assert_eq!(
        commits.marker.as_ref().unwrap().fact,
        Fact::Commits { commits: vec![], unavailable: Some("too large".into()) }
    );
}

#[test]
fn a_failure_comes_after_the_events_and_commits() {
    let opened = open(json!([
        { "kind": "prompt", "text": "a" },
        { "kind": "text", "text": "b" },
        { "kind": "prompt", "text": "c" },
        { "kind": "failure", "message": "crashed" },
        { "kind": "workspace-commits", "source": "git", "baseline": { "commit": "c", "tree": "t" }, "commits": [] },
        { "kind": "dispatch-finished", "source": "sandbox", "status": "failed", "error": { "code": "guard", "message": "late" } }
    ]));
    let failure = json!({ "code": "process", "message": "late" });
    assert_eq!(
        opened.lines()[1..],
        [
            json!({ "turn": 1, "failure": failure }),
            json!({ "turn": 2, "event": { "kind": "failure", "message": "crashed" } }),
            json!({ "turn": 2, "commits": [] }),
            json!({ "turn": 2, "failure": failure }),
        ]
    );
    assert_eq!((opened.step(1).outcome, opened.step(2).outcome), (Outcome::Failed, Outcome::Failed));
    let last = opened.events(2).last().unwrap();
    assert_eq!(
        last.marker.as_ref().unwrap().fact,
        Fact::Failure { code: Some("guard".into()), message: "late".into() }
    );
}

#[test]
fn a_journal_that_is_still_written_ends_pending() {
    let opened = open(json!([{ "kind": "prompt", "text": "a" }, { "kind": "failure", "message": "hm" }]));
    assert_eq!(opened.step(1).outcome, Outcome::Pending);
    assert_eq!(opened.step(1).ended_at, None);
    assert_eq!(opened.lines()[1], json!({ "turn": 1, "failure": { "code": "process", "message": "hm" } }));
}

#[test]
fn texts_join_by_results_then_texts_then_raw_lines() {
    let text = |events: serde_json::Value| {
        let mut entries = vec![json!({ "kind": "prompt", "text": "a" })];
        entries.extend(events.as_array().unwrap().iter().cloned());
        entries.push(json!({ "kind": "summary", "tokens": { "input": 0, "cached": 0, "output": 0 } }));
        open(json!(entries)).lines().last().unwrap()["text"].as_str().unwrap().to_owned()
    };
    let raw = json!({ "kind": "raw", "value": "line" });
    let other = json!({ "kind": "raw", "value": { "a": 1 } });
    let (one, two) =
        (json!({ "kind": "text", "text": "x" }), json!({ "kind": "text", "text": "y", "subagentId": "s" }));
    let result = json!({ "kind": "result", "text": "r" });
    assert_eq!(text(json!([raw, other])), "line\n{\"a\":1}");
    assert_eq!(text(json!([raw, one, two])), "xy");
    assert_eq!(text(json!([one, result, raw, result])), "r\nr");
}

#[test]
fn instructions_delivered_together_are_one_step() {
    let opened = open(json!([
        { "kind": "prompt", "text": "a" },
        { "kind": "text", "text": "b" },
        { "kind": "steer", "mode": "injected", "text": "faster" },
        { "kind": "steer", "mode": "resumed", "text": "one" },
        { "kind": "steer", "mode": "resumed", "text": "two" },
        { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } }
    ]));
    assert_eq!(opened.recording.session().steps.len(), 2);
    assert_eq!(opened.recording.prompt(2).unwrap(), "one\n\ntwo");
    assert_eq!(opened.step(2).summary, "one two");
    assert_eq!(opened.events(2).len(), 2);
    assert_eq!(opened.own_events(2).len(), 0);
    assert_eq!(opened.lines()[3], json!({ "turn": 2, "steering": ["one", "two"] }));
    assert_eq!(
        opened.events(1)[1].marker.as_ref().unwrap().fact,
        Fact::Steering { text: "faster".into(), mode: "injected".into() }
    );
}

#[test]
fn the_smallest_journal_opens() {
    let text = r#"[{"kind":"prompt","source":"agent","pass":1,"text":"Say hi."},
 {"kind":"result","source":"agent","pass":1,"text":"hi <outpost>done</outpost>"},
 {"kind":"summary","source":"agent","pass":1,"durationMs":1,"status":0,"tokens":{"input":1,"cached":0,"output":1}},
 {"kind":"workspace-commits","source":"git","baseline":{"commit":"c","tree":"t"},"commits":[]}]"#;
    let opened = open_bytes("small.json", text.as_bytes());
    let session = opened.recording.session();
    assert_eq!((session.id.as_str(), session.steps.len(), session.report.problems.len()), ("small", 1, 0));
    assert_eq!((opened.step(1).at, opened.step(1).outcome), (None, Outcome::Done));
}

#[test]
fn logs_of_old_releases_open_though_outpost_refuses_them() {
    let text = "{\"kind\":\"dispatch-start\",\"at\":\"2026-02-03T10:00:00.000Z\"}\n{\"kind\":\"prompt\",\"at\":\"2026-02-03T10:00:01.000Z\",\"text\":\"a\"}\n{\"kind\":\"result\",\"text\":\"b\"}\n";
    let opened = open_bytes("old.jsonl", text.as_bytes());
    assert_eq!(opened.own_events(1).len(), 1);
    let problems = &opened.recording.session().report.problems;
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].kind, ProblemKind::Refused);
    assert!(problems[0].message.contains("no source"));
}

#[test]
fn a_journal_without_turns_opens_and_says_so() {
    let opened =
        open(json!([{ "kind": "dispatch-start", "source": "sandbox" }, { "kind": "warning", "message": "w" }]));
    let session = opened.recording.session();
    assert_eq!(session.steps.len(), 0);
    assert_eq!(session.events.len(), 1, "the warning stands before any step");
    assert_eq!(session.report.problems[0].kind, ProblemKind::Refused);
    assert!(session.report.problems[0].message.contains("contains no agent turns"));
    assert!(opened.recording.fork(crate::formats::Cut::After(1), Watch::none()).is_err());
}

#[test]
fn the_public_sample_is_read_as_its_description_says() {
    let samples = std::env::var_os("STEPLINE_SAMPLES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/samples"), PathBuf::from);
    let path = samples.join("outpost/examples/43-replay/state/journal.json");
    if !path.exists() {
        eprintln!("left out: no public sample in {}", samples.display());
        return;
    }
    let recording = formats::open(&path, &Patient).unwrap();
    let session = recording.session();
    assert_eq!((session.steps.len(), session.report.records.read), (1, 74));
    assert_eq!(session.report.problems, []);
    assert_eq!(recording.prompt(1).unwrap().encode_utf16().count(), 198);
    let own = session.events.all().iter().filter(|event| !event.place.is_extra());
    assert_eq!(own.count(), 27);
    let step = &session.steps[0];
    assert_eq!((step.usage.input, step.usage.cache_read, step.usage.output), (Some(26342), Some(12800), Some(416)));
    let last = replayed(recording.as_ref(), [1]).pop();
    let last = last.unwrap();
    assert_eq!(last["text"].as_str().unwrap().encode_utf16().count(), 212);
    assert_eq!(last["conversation"], "1ed4c9c5-7464-427b-905a-61a0c6499d5d");
    let commits = session.events.all().last().unwrap();
    assert_eq!(commits.kind, EventKind::Commits);
    assert!(recording.body(commits).unwrap().text.contains("slug.ts"));
}
