//! Kinds, markers, calls joined with results, bodies.

use serde_json::json;

use super::*;
use crate::model::{Asked, Decision, EventKind, Fact, QuestionState, SubagentStatus, Timestamp, ToolState};

/// Opens one finished turn with these events.
fn turn(events: Value) -> Opened {
    let mut entries = vec![json!({ "kind": "prompt", "text": "go" })];
    entries.extend(events.as_array().unwrap().iter().cloned());
    entries.push(json!({ "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } }));
    open(json!(entries))
}

fn fact(event: &Event) -> Fact {
    event.marker.as_ref().unwrap().fact.clone()
}

#[test]
fn calls_have_their_results() {
    let opened = turn(json!([
        { "kind": "tool", "name": "Bash", "input": { "command": "make" }, "callId": "1" },
        { "kind": "tool", "name": "Edit", "input": { "path": "a.rs", "x": { "b": 1, "a": 2 } }, "callId": "2" },
        { "kind": "tool-output", "callId": "1", "channel": "stdout", "text": "working" },
        { "kind": "tool-result", "callId": "2", "name": "Edit", "isError": false, "preview": "done", "characters": 4 },
        { "kind": "tool-result", "callId": "1", "name": "Bash", "isError": true, "preview": "exit status: 2", "characters": 5000 },
        { "kind": "tool-result", "callId": "9", "name": "Lost", "isError": false, "preview": "whose?" },
        { "kind": "tool", "name": "Wait", "input": {} }
    ]));
    let events = opened.own_events(1);
    let states: Vec<_> = events.iter().map(|event| event.tool.as_ref().map(|tool| tool.state)).collect();
    assert_eq!(
        states,
        [
            Some(ToolState::Failed),
            Some(ToolState::Done),
            Some(ToolState::Pending),
            Some(ToolState::Done),
            Some(ToolState::Failed),
            Some(ToolState::Done),
            Some(ToolState::Pending)
        ]
    );
    let folded: Vec<_> = events.iter().map(|event| event.folded).collect();
    assert_eq!(folded, [false, false, true, true, true, false, false]);
    assert_eq!(fact(events[0]), Fact::Failure { code: None, message: "exit status: 2".into() });
    assert_eq!((events[0].duration_ms, events[1].duration_ms), (Some(4000), Some(2000)));
    assert_eq!((&*events[0].label, &*events[1].label), ("make", "a.rs"));

    let body = opened.recording.body(events[0]).unwrap();
    assert_eq!(body.input.as_deref(), Some(r#"{"command":"make"}"#));
    assert_eq!(body.output.as_deref(), Some("exit status: 2"));
    assert_eq!(body.attachments, ["only the first 14 of 5000 characters are recorded"]);
    let body = opened.recording.body(events[1]).unwrap();
    assert_eq!(body.input.as_deref(), Some(r#"{"path":"a.rs","x":{"b":1,"a":2}}"#));
    assert_eq!(opened.recording.body(events[2]).unwrap().output.as_deref(), Some("working"));
    assert_eq!(opened.recording.body(events[5]).unwrap().output.as_deref(), Some("whose?"));
}

#[test]
fn a_call_that_a_rule_refused_is_denied_not_failed() {
    for swapped in [false, true] {
        let mut events = vec![
            json!({ "kind": "tool", "name": "Bash", "input": { "command": "rm" }, "callId": "1" }),
            json!({ "kind": "tool-denied", "callId": "1", "name": "Bash", "reason": "not allowed" }),
            json!({ "kind": "tool-result", "callId": "1", "name": "Bash", "isError": true, "preview": "denied" }),
        ];
        if swapped {
            events.swap(1, 2);
        }
        let opened = turn(json!(events));
        let events = opened.own_events(1);
        assert_eq!(events[0].tool.as_ref().unwrap().state, ToolState::Denied);
        assert_eq!(events[0].marker, None);
        assert!(events[1].folded && events[2].folded);
        let denial = events.iter().find(|event| event.kind == EventKind::Approval).unwrap();
        assert_eq!(
            fact(denial),
            Fact::Approval {
                tool: "Bash".into(),
                tool_call_id: Some("1".into()),
                decision: Decision::Blocked,
                by: Some("rule".into()),
                reason: Some("not allowed".into()),
                waited_ms: None,
                asked: Asked::default(),
            }
        );
        assert_eq!(opened.recording.body(denial).unwrap().text, "not allowed");
    }
}

#[test]
fn repeated_texts_are_folded() {
    let opened = turn(json!([
        { "kind": "text-delta", "text": "Hel" },
        { "kind": "text-delta", "text": "lo" },
        { "kind": "text", "text": "Hello" },
        { "kind": "result", "text": "Hello" },
        { "kind": "text-delta", "text": "unfinished" },
        { "kind": "result", "text": "Other" }
    ]));
    let folded: Vec<_> = opened.own_events(1).iter().map(|event| (event.kind, event.folded)).collect();
    let text = |folded| (EventKind::Text, folded);
    assert_eq!(folded, [text(true), text(true), text(false), text(true), text(false), text(false)]);
}

#[test]
fn kinds_and_markers() {
    let opened = turn(json!([
        { "kind": "reasoning", "text": "hm" },
        { "kind": "stopped", "reason": "completion" },
        { "kind": "stopped", "reason": "deadline" },
        { "kind": "quota", "message": "full", "resetAt": "2026-02-03T15:00:00.000Z" },
        { "kind": "model-error", "message": "500" },
        { "kind": "model-retry", "attempt": 2, "message": "busy" },
        { "kind": "model-route", "source": "harness", "step": 1, "choice": "big", "model": { "name": "model-b" }, "reason": "selected" },
        { "kind": "model-route", "source": "harness", "step": 2, "choice": "big", "model": { "name": "model-c" }, "reason": "confidence" },
        { "kind": "compaction", "strategy": "summarise", "messages": 4 },
        { "kind": "subagent", "id": "s", "callId": "c", "name": "explorer", "status": "failed" },
        { "kind": "stop-prevented", "message": "tests fail" },
        { "kind": "a-later-kind", "source": "harness", "x": 1 }
    ]));
    let events = opened.own_events(1);
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [
            EventKind::Thinking,
            EventKind::Notice,
            EventKind::Interruption,
            EventKind::Quota,
            EventKind::Failure,
            EventKind::Retry,
            EventKind::Decision,
            EventKind::Fallback,
            EventKind::Compaction,
            EventKind::Subagent,
            EventKind::Approval,
            EventKind::Unknown
        ]
    );
    let marked: Vec<_> = events.iter().filter(|event| event.marker.is_some()).map(|event| fact(event)).collect();
    assert_eq!(
        marked,
        [
            Fact::Interruption { message: "deadline".into() },
            Fact::Quota { message: "full".into(), reset_at: Timestamp::parse("2026-02-03T15:00:00.000Z") },
            Fact::Failure { code: None, message: "500".into() },
            Fact::Retry { attempt: Some(2), max_attempts: None, status: None, message: Some("busy".into()) },
            Fact::Fallback {
                from: None,
                to: Some("model-c".into()),
                trigger: Some("confidence".into()),
                reset_at: None,
                message: None
            },
            Fact::Compaction { trigger: Some("summarise".into()), tokens_before: None, tokens_after: None },
            Fact::Subagent { id: "s".into(), name: Some("explorer".into()), status: SubagentStatus::Failed },
            Fact::Approval {
                tool: "stop".into(),
                tool_call_id: None,
                decision: Decision::Blocked,
                by: Some("hook".into()),
                reason: Some("tests fail".into()),
                waited_ms: None,
                asked: Asked::default(),
            },
        ]
    );
    assert_eq!(opened.step(1).model.as_deref(), Some("model-c"));
    assert_eq!(opened.recording.session().report.records.unknown, 1);
    assert_eq!(opened.recording.body(events[11]).unwrap().text, r#"{"x":1}"#);
    assert_eq!(opened.recording.body(events[10]).unwrap().text, "tests fail");
}

#[test]
fn decisions_stand_in_place_and_play_back_there() {
    let opened = open(json!([
        { "kind": "prompt", "source": "harness", "text": "go" },
        { "kind": "decision", "source": "decision", "status": "started", "provider": "p", "model": "m" },
        { "kind": "decision-request", "source": "decision", "request": { "model": "m" } },
        { "kind": "step", "source": "harness", "index": 1, "pass": 1, "label": "l" },
        { "kind": "decision", "source": "decision", "status": "finished", "provider": "p", "model": "m", "durationMs": 12.4 },
        { "kind": "summary", "source": "harness", "tokens": { "input": 1, "cached": 0, "output": 1 } }
    ]));
    let kinds: Vec<_> = opened.own_events(1).iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Decision, EventKind::Decision, EventKind::Notice, EventKind::Decision]);
    assert_eq!(opened.own_events(1)[3].duration_ms, Some(12));
    let events: Vec<_> = opened.lines().iter().map(|line| line["event"].to_string()).collect();
    assert_eq!(
        events[..4],
        [
            r#"{"kind":"decision","status":"started","provider":"p","model":"m"}"#,
            r#"{"kind":"decision-request","request":{"model":"m"}}"#,
            r#"{"kind":"step","index":1}"#,
            r#"{"kind":"decision","status":"finished","provider":"p","model":"m","durationMs":12.4}"#
        ],
        "keys in their order, without the envelope"
    );
}

#[test]
fn a_question_is_an_event_after_the_text_that_asks_it() {
    let block =
        r#"<interaction>{"kind":"question","question":"Which licence?","choices":["MIT","Apache-2.0"]}</interaction>"#;
    let opened = open(json!([
        { "kind": "prompt", "text": "one" },
        { "kind": "text", "text": format!("I must know. {block}") },
        { "kind": "finished" },
        { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } },
        { "kind": "prompt", "text": "two" },
        { "kind": "result", "text": "An <interaction> that is none" },
        { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } },
        { "kind": "prompt", "text": "three" },
        { "kind": "result", "text": block },
        { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } }
    ]));
    assert_eq!(opened.recording.session().steps.len(), 3);
    let kinds = |number| opened.events(number).iter().map(|event| event.kind).collect::<Vec<_>>();
    assert_eq!(kinds(1), [EventKind::Text, EventKind::Question, EventKind::Notice]);
    assert_eq!(kinds(2), [EventKind::Text]);
    assert_eq!(kinds(3), [EventKind::Text, EventKind::Question]);
    assert_eq!(opened.own_events(1).len(), 2);
    let question = &opened.events(3)[1];
    assert_eq!(
        fact(question),
        Fact::Question {
            question: "Which licence?".into(),
            options: vec!["MIT".into(), "Apache-2.0".into()],
            answers: vec![],
            state: QuestionState::Pending
        }
    );
    assert_eq!(opened.recording.body(question).unwrap().text, "Which licence?\n- MIT\n- Apache-2.0");
}

#[test]
fn many_questions_each_stand_in_their_own_turn() {
    const TURNS: u32 = 2_000;
    let mut entries = vec![json!({ "kind": "warning", "source": "sandbox", "message": "before all" })];
    for turn in 0..TURNS {
        let ask = format!(r#"<interaction>{{"kind":"question","question":"Q{turn}","choices":[]}}</interaction>"#);
        entries.push(json!({ "kind": "prompt", "text": "go" }));
        if turn % 3 == 0 {
            entries.push(json!({ "kind": "text", "text": "nothing to ask" }));
        } else {
            entries.push(json!({ "kind": "text", "text": ask }));
            entries.push(json!({ "kind": "finished" }));
        }
        entries.push(json!({ "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } }));
    }
    let opened = open_lines(json!(entries));
    let session = opened.recording.session();
    assert_eq!(session.steps[0].events.start, 1);
    assert_eq!(session.steps.last().unwrap().events.end, session.events.len());
    for (turn, step) in session.steps.iter().enumerate() {
        let events = session.events_of(step);
        let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
        if turn % 3 == 0 {
            assert_eq!(kinds, [EventKind::Text], "{turn}");
        } else {
            assert_eq!(kinds, [EventKind::Text, EventKind::Question, EventKind::Notice], "{turn}");
            assert_eq!(*events[1].label, format!("Q{turn}"));
        }
    }
}

#[test]
fn what_lies_between_turns_is_kept_where_it_matters() {
    let opened = open(json!([
        { "kind": "operation", "source": "git", "id": "o", "name": "worktree.prepare", "status": "failed" },
        { "kind": "operation", "source": "git", "id": "p", "name": "worktree.prepare", "status": "started" },
        { "kind": "prompt", "text": "one" },
        { "kind": "operation", "source": "git", "id": "q", "name": "x", "status": "finished" },
        { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } },
        { "kind": "warning", "message": "late" },
        { "kind": "workflow", "source": "workflow", "event": { "type": "gate", "key": "ship", "status": "paused" } },
        { "kind": "workflow", "source": "workflow", "event": { "type": "decision", "key": "ship", "status": "rejected" } },
        { "kind": "later-kind", "source": "sandbox" },
        { "kind": "dispatch-finished", "source": "sandbox", "status": "cancelled" }
    ]));
    let session = opened.recording.session();
    assert_eq!(session.steps[0].events, 1..6);
    let kinds: Vec<_> = session.events.all().iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [
            EventKind::Notice,
            EventKind::Notice,
            EventKind::Approval,
            EventKind::Approval,
            EventKind::Unknown,
            EventKind::Interruption
        ]
    );
    assert_eq!(opened.own_events(1).len(), 0);
    let Fact::Approval { tool, decision, by, waited_ms, .. } = fact(&session.events.all()[2]) else {
        panic!("an approval")
    };
    assert_eq!((tool.as_str(), decision, by, waited_ms), ("ship", Decision::Denied, None, Some(1000)));
    assert!(session.events.all()[3].folded && session.events.all()[3].marker.is_none(), "one approval, not two");
}

#[test]
fn limits_and_weak_fallbacks_are_marked() {
    let opened = turn(json!([
        { "kind": "stuck", "activity": "tool", "name": "Bash", "repeats": 5, "window": 8, "action": "warn" },
        { "kind": "stopped", "reason": "stuck" },
        { "kind": "stopped", "reason": "idle-timeout" },
        { "kind": "stopped", "reason": "aborted" },
        { "kind": "stopped", "reason": "oversized-event" },
        { "kind": "model-route", "source": "harness", "model": { "name": "m" }, "reason": "unavailable" },
        { "kind": "model-retry", "attempt": 1 }
    ]));
    let facts: Vec<_> = opened.own_events(1).into_iter().map(fact).collect();
    let stopped = |message: &str| Fact::Interruption { message: message.into() };
    assert_eq!(
        facts[..5],
        [
            Fact::Quota { message: "repeats Bash 5 times: warn".into(), reset_at: None },
            stopped("stuck"),
            stopped("idle-timeout"),
            stopped("aborted"),
            stopped("oversized-event"),
        ]
    );
    assert!(matches!(&facts[5], Fact::Fallback { trigger: Some(trigger), .. } if trigger == "unavailable"));
    assert!(matches!(&facts[6], Fact::Retry { attempt: Some(1), .. }));
}

#[test]
fn commits_show_their_files() {
    let (literal, delta) = (
        include_str!("../../../../tests/fixtures/outpost/literal.patch"),
        include_str!("../../../../tests/fixtures/outpost/delta.patch"),
    );
    let identity = json!({ "name": "Ada", "email": "a@b", "date": "1 +0000" });
    let commit = |oid: &str, message: &str, patch: &str| json!({ "oid": oid, "tree": "t", "message": message, "patch": patch, "author": identity, "committer": identity });
    let opened = open(json!([
        { "kind": "prompt", "text": "one" },
        { "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } },
        { "kind": "workspace-commits", "source": "git", "baseline": { "commit": "c", "tree": "t" },
          "commits": [commit("c1", "Add\n", literal), commit("c2", "Change\n\nwhy\n", delta)] }
    ]));
    let event = &opened.events(1)[0];
    assert_eq!(&*event.label, "2 commits: Add, Change");
    let text = opened.recording.body(event).unwrap().text;
    for part in [
        "commit c1\nAuthor: Ada\n\nAdd\n\nadded a.txt (+1 −0)\n@@ -0,0 +1 @@\n+hello\n",
        "commit c2\nAuthor: Ada\n\nChange\n\nwhy\n",
        "changed big.txt (+1 −1)\n",
        "-150 line of text\n+changed here\n",
    ] {
        assert!(text.contains(part), "{part}\n---\n{text}");
    }
}

#[test]
fn later_commits_build_on_what_earlier_ones_recorded() {
    let (literal, delta) = (
        include_str!("../../../../tests/fixtures/outpost/literal.patch"),
        include_str!("../../../../tests/fixtures/outpost/delta.patch"),
    );
    let commits = |patch: &str| {
        json!({ "kind": "workspace-commits", "source": "git", "baseline": { "commit": "c", "tree": "t" },
                "commits": [{ "oid": "c1", "tree": "t", "message": "m", "patch": patch }] })
    };
    let opened = open(json!([{ "kind": "prompt", "text": "one" }, commits(literal), commits(delta)]));
    let text = opened.recording.body(&opened.events(1)[1]).unwrap().text;
    assert!(
        text.contains("changed big.txt (+1 −1)\n") && text.contains("-150 line of text\n+changed here\n"),
        "{text}"
    );
}
