//! Events of a turn: tools and their permissions, retries, failures, interruptions, subagents, notes.

use serde_json::json;

use super::build::{SESSION, Script, tool_use};
use super::shapes::session;
use super::{label, open_bytes, open_path};
use crate::formats::testing::replayed;
use crate::model::{
    Asked, Decision, Event, EventKind, Fact, Outcome, ProblemKind, Session, SubagentStatus, TitleSource, ToolState,
};
use crate::store::Watch;

fn event(session: &Session, kind: EventKind) -> &Event {
    session.events.all().iter().find(|event| event.kind == kind).unwrap_or_else(|| panic!("no {kind:?}"))
}

fn fact(event: &Event) -> &Fact {
    &event.marker.as_ref().expect("no marker").fact
}

#[test]
fn a_grant_is_folded_into_its_call() {
    let mut script = Script::new();
    script.prompt("u1", "Write it").calls("a1", "t1", "Bash", json!({"command": "echo hi", "description": "say hi"}));
    let decision = json!({"permissionDecision": {"decision": "accept", "source": "user_temporary", "grantScope": "once", "reasonCode": "unknown"}});
    script.result("r1", "t1", "hi", decision).says("a2", "Written.");
    let (_folder, recording) = open_bytes(&script.bytes());
    let session = recording.session();
    let tool = &session.events.all()[0];
    assert_eq!((tool.kind, &*label(&*recording, tool), tool.duration_ms), (EventKind::Tool, "echo hi", Some(1000)));
    let details = tool.tool.as_ref().unwrap();
    assert_eq!(
        (details.name.as_str(), details.call_id.as_deref(), details.state),
        ("Bash", Some("t1"), ToolState::Done)
    );
    assert_eq!(tool.marker, None);
    let approval = &session.events.all()[1];
    assert!(approval.folded && approval.kind == EventKind::Approval);
    assert_eq!(
        *fact(approval),
        Fact::Approval {
            tool: "Bash".into(),
            tool_call_id: Some("t1".into()),
            decision: Decision::Granted,
            by: Some("user".into()),
            reason: None,
            waited_ms: Some(1000),
            asked: Asked::default(),
        }
    );
}

#[test]
fn refusals_are_no_failures_and_failures_no_refusals() {
    let mut script = Script::new();
    script.prompt("u1", "Try").calls("a1", "t1", "Bash", json!({"command": "rm x"}));
    let rule = json!({"decision": "reject", "source": "config", "reasonType": "rule", "ruleSource": "userSettings"});
    script.error("r1", "t1", "Permission to use Bash has been denied.", json!({"permissionDecision": rule}));
    script.calls("a2", "t2", "Read", json!({"file_path": "/none"}));
    script.error("r2", "t2", "<tool_use_error>File does not exist.\nLook again</tool_use_error>", json!({}));
    script.calls("a3", "t3", "Bash", json!({"command": "old"}));
    script.error(
        "r3",
        "t3",
        "The user doesn't want to proceed with this tool use. The user said nothing; the user said:\nleave it",
        json!({}),
    );
    let session = session(&script);
    let states: Vec<_> = session.events.all().iter().filter_map(|event| Some(event.tool.as_ref()?.state)).collect();
    assert_eq!(states, [ToolState::Denied, ToolState::Failed, ToolState::Denied]);
    let decisions: Vec<_> = session
        .events
        .all()
        .iter()
        .filter_map(|event| match &event.marker.as_ref()?.fact {
            Fact::Approval { decision, by, reason, waited_ms, .. } => {
                Some((*decision, by.clone().unwrap(), reason.clone().unwrap(), waited_ms.is_some()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        decisions,
        [
            (Decision::Blocked, "rule".into(), "userSettings".into(), false),
            (Decision::Denied, "user".into(), "leave it".into(), true),
        ]
    );
    let failures: Vec<_> = session
        .events
        .all()
        .iter()
        .filter_map(|event| match &event.marker.as_ref()?.fact {
            Fact::Failure { code, message } => Some((code.clone(), message.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(failures, [(None, "File does not exist.")]);
}

#[test]
fn retries_and_errors_of_the_service() {
    let mut script = Script::new();
    script.prompt("u1", "Hello");
    script.chain(
        "e1",
        "system",
        json!({
            "subtype": "api_error", "retryAttempt": 2, "maxRetries": 10,
            "error": {"status": 529, "message": "raw", "formatted": "529 overloaded"}
        }),
    );
    script.chain("e2", "system", json!({
        "subtype": "api_error", "retryAttempt": 3, "maxRetries": 10,
        "error": {"status": 401, "error": {"type": "error", "error": {"type": "authentication_error", "message": "who?"}}}
    }));
    let failed = json!({
        "isApiErrorMessage": true, "apiErrorStatus": 400, "apiErrorType": "invalid_request_error", "error": "unknown",
        "message": {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 400 no"}], "usage": {"input_tokens": 0}}
    });
    script.chain("a1", "assistant", failed);
    let session = session(&script);
    let retry = |attempt, status, message: &str| Fact::Retry {
        attempt: Some(attempt),
        max_attempts: Some(10),
        status: Some(status),
        message: Some(message.into()),
    };
    assert_eq!(*fact(&session.events.all()[0]), retry(2, 529, "529 overloaded"));
    assert_eq!(*fact(&session.events.all()[1]), retry(3, 401, "who?"));
    let failure = Fact::Failure { code: Some("400".into()), message: "API Error: 400 no".into() };
    assert_eq!(*fact(&session.events.all()[2]), failure);
    assert_eq!(session.steps[0].outcome, Outcome::Failed);
    assert_eq!(session.usage.total(), 0);
    assert_eq!(session.usage.input, None, "what no model served cost nothing, and nothing is not zero");
}

fn no_answer() -> serde_json::Value {
    json!({"message": {
        "id": "m0", "role": "assistant", "model": "<synthetic>",
        "content": [{"type": "text", "text": "No response requested."}]
    }})
}

#[test]
fn a_prompt_without_an_answer_is_not_done() {
    let failed = |attempt| json!({"subtype": "api_error", "retryAttempt": attempt, "maxRetries": 10, "error": {"status": 529, "formatted": "overloaded"}});
    let mut script = Script::new();
    script.prompt("u1", "One").says("a1", "1");
    // The errors hang on the prompt one behind the other, the stand-in for an answer on the prompt itself.
    script.prompt("u2", "Two").chain("e1", "system", failed(1)).chain("e2", "system", failed(2));
    script.back_to("u2").chain("n1", "assistant", no_answer());
    script.prompt("u3", "Three").chain("n2", "assistant", no_answer());
    // An answer stays one, whatever the agent wrote when it was resumed.
    script.prompt("u4", "Four").says("a4", "4").chain("n3", "assistant", no_answer());
    // Here an answer came in the end.
    script.prompt("u5", "Five").chain("e3", "system", failed(1)).back_to("u5").says("a5", "5");
    let (_folder, recording) = super::open_bytes(&script.bytes());
    let session = recording.session();
    let outcomes: Vec<_> = session.steps.iter().map(|step| step.outcome).collect();
    assert_eq!(outcomes, [Outcome::Done, Outcome::Failed, Outcome::Interrupted, Outcome::Done, Outcome::Done]);
    let kinds =
        |step: usize| -> Vec<_> { session.events_of(&session.steps[step]).iter().map(|event| event.kind).collect() };
    assert_eq!(kinds(1), [EventKind::Retry, EventKind::Retry, EventKind::Notice]);
    assert_eq!(kinds(2), [EventKind::Notice]);
    assert_eq!(kinds(4), [EventKind::Retry, EventKind::Text]);
    assert_eq!(session.branches, []);
    assert_eq!(
        *fact(&session.events_of(&session.steps[1])[1]),
        Fact::Retry { attempt: Some(2), max_attempts: Some(10), status: Some(529), message: Some("overloaded".into()) }
    );
    let notice = &session.events_of(&session.steps[2])[0];
    assert_eq!(recording.body(notice).unwrap().text, "No response requested.");
    let last = replayed(&*recording, [2]).pop();
    assert_eq!(last, Some(json!({"turn": 2, "failure": {"code": "529", "message": "overloaded"}})));
    super::actions::check_forks(&*recording, "no answer");
    super::actions::check_reverts(&*recording, "no answer");
}

#[test]
fn refusals_of_the_service_and_what_they_took_back() {
    let mut script = Script::new();
    script.prompt("u1", "Hello");
    script.chain(
        "f1",
        "system",
        json!({
            "subtype": "model_refusal_fallback", "trigger": "refusal", "originalModel": "a", "fallbackModel": "b",
            "content": "Another model answers", "retractedMessageUuids": ["x", "y"]
        }),
    );
    script.chain(
        "f2",
        "system",
        json!({"subtype": "api_refusal", "apiRefusalCategory": "policy", "apiRefusalExplanation": "No."}),
    );
    let session = session(&script);
    let kinds: Vec<_> = session.events.all().iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Fallback, EventKind::Notice, EventKind::Failure]);
    assert_eq!(&*session.events.all()[1].label, "2 earlier messages were taken back");
    assert_eq!(*fact(&session.events.all()[2]), Fact::Failure { code: Some("policy".into()), message: "No.".into() });
}

#[test]
fn an_interruption_ends_a_turn() {
    let mut script = Script::new();
    script.prompt("u1", "Long").says("a1", "Starting");
    script.user("i1", json!([{"type": "text", "text": "[Request interrupted by user]"}]), json!({}));
    script.prompt("u2", "Tool").calls("a2", "t1", "Bash", json!({"command": "sleep"}));
    script.result("r1", "t1", "", json!({"toolUseResult": {"stdout": "", "interrupted": true}}));
    let aborted = json!({"isAbortedMidStream": true, "message": {"id": "m9", "model": "o", "content": [{"type": "text", "text": "half"}]}});
    script.prompt("u3", "Cut").chain("a3", "assistant", aborted);
    let session = session(&script);
    let outcomes: Vec<_> = session.steps.iter().map(|step| step.outcome).collect();
    assert_eq!(outcomes, [Outcome::Interrupted, Outcome::Interrupted, Outcome::Interrupted]);
    let count = session.events.all().iter().filter(|event| event.kind == EventKind::Interruption).count();
    assert_eq!(count, 3);
}

#[test]
fn thinking_is_shown_when_there_is_some() {
    let mut script = Script::new();
    script.prompt("u1", "Think");
    script.block("a1", "m1", json!({"type": "thinking", "thinking": "", "signature": "s"}), 1);
    script.block("a2", "m1", json!({"type": "thinking", "thinking": "Hm, yes", "signature": "s"}), 1);
    script.block("a3", "m1", json!({"type": "redacted_thinking", "data": "abc"}), 1);
    script.block("a4", "m1", json!({"type": "novelty"}), 1);
    let (_folder, recording) = open_bytes(&script.bytes());
    let events = recording.session().events.all();
    let found: Vec<_> = events.iter().map(|event| (event.kind, label(&*recording, event))).collect();
    assert_eq!(
        found,
        [
            (EventKind::Thinking, "Hm, yes".to_owned()),
            (EventKind::Thinking, "redacted".to_owned()),
            (EventKind::Unknown, "block \"novelty\"".to_owned()),
        ]
    );
}

#[test]
fn records_outside_the_chain_are_told_where_they_were_written() {
    let mut script = Script::new();
    script.loose("permission-mode", json!({"permissionMode": "default"}));
    script.prompt("u1", "One").says("a1", "1").loose("permission-mode", json!({"permissionMode": "default"}));
    script
        .loose("permission-mode", json!({"permissionMode": "plan"}))
        .raw(r#"{"type":"from-the-future","sessionId":"x"}"#);
    script.raw("{broken").prompt("u2", "Two").raw(r#"{"type":"mode","mode":"normal"}"#);
    let session = session(&script);
    let found: Vec<_> =
        session.events_of(&session.steps[0]).iter().map(|event| (event.kind, event.label.to_string())).collect();
    assert_eq!(found[0].0, EventKind::Text);
    assert_eq!(found[1], (EventKind::Notice, "permission mode: plan".into()));
    assert_eq!(found[2], (EventKind::Unknown, "unknown record type \"from-the-future\"".into()));
    assert_eq!(found[3].0, EventKind::Unreadable);
    assert_eq!(found.len(), 4);
    let records = session.report.records;
    assert_eq!((records.total, records.read, records.unknown, records.unreadable), (9, 7, 1, 1));
}

#[test]
fn attachments_are_hidden_but_for_a_few() {
    let attach = |fields| json!({"attachment": fields});
    let mut script = Script::new();
    script.prompt("u1", "One");
    script.chain("h1", "attachment", attach(json!({"type": "todo_reminder", "content": []})));
    script.chain("h2", "attachment", attach(json!({"type": "never_heard_of"})));
    script.chain(
        "h3",
        "attachment",
        attach(json!({"type": "edited_text_file", "filename": "/a.rs", "snippet": "let x"})),
    );
    script.chain("h4", "attachment", attach(json!({"type": "hook_blocking_error", "hookName": "Stop", "blockingError": {"blockingError": "tests fail"}})));
    script.chain("h5", "attachment", attach(json!({"type": "plan_mode"})));
    let (_folder, recording) = open_bytes(&script.bytes());
    let session = recording.session();
    let found: Vec<_> = session.events.all().iter().map(|event| (event.kind, &*event.label)).collect();
    assert_eq!(
        found,
        [
            (EventKind::FileChange, "/a.rs"),
            (EventKind::Notice, "hook Stop: tests fail"),
            (EventKind::Notice, "plan mode"),
        ]
    );
    assert_eq!(session.report.records.read, 6);
    assert_eq!(recording.body(&session.events.all()[0]).unwrap().text, "let x");
    assert_eq!(recording.body(&session.events.all()[1]).unwrap().text, "tests fail");
}

#[test]
fn tokens_count_once_for_each_response() {
    let mut script = Script::new();
    script.prompt("u1", "One");
    for (uuid, output) in [("a1", 3), ("a2", 30), ("a3", 20)] {
        script.block(uuid, "m1", json!({"type": "text", "text": uuid}), output);
    }
    script.block("a4", "m2", json!({"type": "text", "text": "x"}), 5);
    script.loose("cost-state", json!({"totalCostUSD": 0.5})).loose("cost-state", json!({"totalCostUSD": 0.75}));
    let session = session(&script);
    let usage = session.usage;
    assert_eq!(
        (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning, usage.cost),
        (Some(10), Some(35), Some(200), Some(14), Some(4), Some(0.75))
    );
    assert_eq!(session.steps[0].usage.output, Some(35));
    assert_eq!(session.steps[0].usage.cost, None);
}

#[test]
fn texts_are_read_again() {
    let mut script = Script::new();
    script.prompt("u1", "One \u{1F600}").says("a1", "First line\nsecond line");
    script.calls("a2", "t1", "Read", json!({"file_path": "/b.png"}));
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAAAAAA"}});
    script.user(
        "r1",
        json!([{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "seen"}, image]}]),
        json!({}),
    );
    let (_folder, recording) = open_bytes(&script.bytes());
    let events = recording.session().events.all();
    assert_eq!(label(&*recording, &events[0]), "First line second line");
    assert_eq!(recording.body(&events[0]).unwrap().text, "First line\nsecond line");
    let body = recording.body(&events[1]).unwrap();
    assert_eq!(body.text, "");
    assert_eq!(body.input.as_deref(), Some(r#"{"file_path":"/b.png"}"#));
    assert_eq!(body.output.as_deref(), Some("seen"));
    assert_eq!(body.attachments, ["image/png, 6 bytes"]);
    assert_eq!(recording.prompt(1).unwrap(), "One \u{1F600}");
    let raw = recording.raw(events[0].place).unwrap();
    assert_eq!(String::from_utf8(raw).unwrap(), script.lines[1]);
}

fn agent_script(brief: &str) -> Script {
    let mut script = Script::new();
    let side = |fields: serde_json::Value| {
        let mut side = json!({"isSidechain": true, "agentId": "ab12"});
        side.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        side
    };
    script.chain("su1", "user", side(json!({"message": {"role": "user", "content": brief}})));
    script.chain(
        "sa1",
        "assistant",
        side(super::build::answer("sm1", "haiku", json!({"type": "text", "text": "Found it."}), 40)),
    );
    script
}

#[test]
fn subagents_have_files_of_their_own() {
    let mut script = Script::new();
    script.prompt("u1", "Delegate");
    script.calls("a1", "t1", "Agent", json!({"description": "Find files", "prompt": "List files"}));
    script.result("r1", "t1", "launched", json!({"toolUseResult": {"status": "async_launched", "agentId": "ab12"}}));
    script.says("a2", "Waiting.");
    let done = "<task-notification><task-id>ab12</task-id><tool-use-id>t1</tool-use-id><status>completed</status></task-notification>";
    script.user("n1", json!(done), json!({"origin": {"kind": "task-notification"}})).says("a3", "All done.");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{SESSION}.jsonl"));
    let agents = folder.path().join(SESSION).join("subagents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(&path, script.bytes()).unwrap();
    let mut lines = agent_script("List files").bytes();
    lines.extend_from_slice(b"{broken\n");
    std::fs::write(agents.join("agent-ab12.jsonl"), lines).unwrap();
    std::fs::write(agents.join("agent-ab12.meta.json"), r#"{"toolUseId":"t1","description":"Find files"}"#).unwrap();
    // A link out of the folder is not followed.
    #[cfg(unix)]
    std::os::unix::fs::symlink(&path, agents.join("agent-link.jsonl")).unwrap();
    let recording = open_path(&path);
    let session = recording.session();
    assert_eq!(session.subagents.len(), 1);
    let agent = &session.subagents[0];
    assert_eq!(
        (agent.id.as_str(), agent.name.as_deref(), agent.call_id.as_deref()),
        ("ab12", Some("Find files"), Some("t1"))
    );
    assert_eq!(agent.status, SubagentStatus::Finished);
    assert_eq!(agent.usage.output, Some(40));
    assert_eq!(session.usage.output, Some(70));
    assert_eq!(session.steps.len(), 1);
    assert_eq!(session.steps[0].usage.output, Some(30));
    assert_eq!(recording.files().len(), 2);
    let text = agent.events.all().iter().find(|event| event.kind == EventKind::Text).unwrap();
    assert_eq!(text.place.file, 1);
    assert_eq!(recording.body(text).unwrap().text, "Found it.");
    let states: Vec<_> = session
        .events
        .all()
        .iter()
        .filter_map(|event| match &event.marker.as_ref()?.fact {
            Fact::Subagent { id, status, .. } => Some((id.as_str(), *status)),
            _ => None,
        })
        .collect();
    assert_eq!(states, [("ab12", SubagentStatus::Started), ("ab12", SubagentStatus::Finished)]);
    // Its records are not the session's, its problems are told with its file.
    assert_eq!((session.report.records.total, session.report.records.unreadable), (6, 0));
    assert_eq!(session.report.problems.len(), 1);
    assert!(session.report.problems[0].file.as_deref().unwrap().ends_with("agent-ab12.jsonl"));

    // A fork takes the agent's file along, under its own name.
    let fork = recording.fork(crate::formats::Cut::After(1), Watch::none()).unwrap();
    let names: Vec<_> = fork.companions.iter().map(|(path, _)| path.display().to_string()).collect();
    let below = |name: &str| format!("{}/subagents/{name}", fork.session_id);
    assert_eq!(names, [below("agent-ab12.jsonl"), below("agent-ab12.meta.json")]);
    super::actions::check_forks(&*recording, "agents");
}

#[test]
fn subagents_inside_the_file_are_known_by_their_brief() {
    let mut script = Script::new();
    script.prompt("u1", "Delegate");
    script.block("a1", "m1", tool_use("t0", "Task", json!({"description": "Other", "prompt": "Something else"})), 5);
    script.block("a2", "m1", tool_use("t1", "Task", json!({"description": "Find files", "prompt": "List files"})), 5);
    let inner = agent_script("List files");
    for line in &inner.lines {
        script.raw(&line.replace("\"agentId\":\"ab12\",", ""));
    }
    script
        .back_to("a2")
        .result("r0", "t0", "nothing", json!({}))
        .result("r1", "t1", "Found it.", json!({}))
        .says("a3", "Done.");
    let (_folder, recording) = open_bytes(&script.bytes());
    let session = recording.session();
    assert_eq!(session.subagents.len(), 1);
    let agent = &session.subagents[0];
    assert_eq!((agent.name.as_deref(), agent.call_id.as_deref()), (Some("Find files"), Some("t1")));
    assert_eq!(agent.status, SubagentStatus::Finished);
    assert_eq!(agent.events.len(), 2);
    assert_eq!(session.steps.len(), 1);
    assert_eq!(event(session, EventKind::Subagent).node, crate::model::NodeId::Text("a2".into()));
    assert_eq!(session.usage.output, Some(55));
    super::actions::check_forks(&*recording, "inlined");
}

#[test]
fn old_files_of_subagents_lie_beside_the_session() {
    let mut script = Script::new();
    script.prompt("u1", "Delegate").calls("a1", "t1", "Task", json!({"description": "Find", "prompt": "List files"}));
    script.result("r1", "t1", "Found it.", json!({}));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{SESSION}.jsonl"));
    std::fs::write(&path, script.bytes()).unwrap();
    std::fs::write(folder.path().join("agent-1f.jsonl"), agent_script("List files").bytes()).unwrap();
    let other = String::from_utf8(agent_script("List files").bytes()).unwrap().replace(SESSION, "another");
    std::fs::write(folder.path().join("agent-2f.jsonl"), other).unwrap();
    let recording = open_path(&path);
    let agents = &recording.session().subagents;
    assert_eq!(agents.len(), 1);
    assert_eq!((agents[0].id.as_str(), agents[0].call_id.as_deref()), ("1f", Some("t1")));
}

#[test]
fn files_of_other_sessions_do_not_crowd_out_a_sessions_own() {
    let mut script = Script::new();
    script.prompt("u1", "Delegate").calls("a1", "t1", "Task", json!({"description": "Find", "prompt": "List files"}));
    script.result("r1", "t1", "Found it.", json!({}));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{SESSION}.jsonl"));
    std::fs::write(&path, script.bytes()).unwrap();
    let own = agent_script("List files").bytes();
    let other = String::from_utf8(own.clone()).unwrap().replace(SESSION, "another");
    for number in 0..2_100 {
        std::fs::write(folder.path().join(format!("agent-{number:05}.jsonl")), &other).unwrap();
    }
    std::fs::write(folder.path().join("agent-own.jsonl"), &own).unwrap();
    let recording = open_path(&path);
    let ids: Vec<_> = recording.session().subagents.iter().map(|agent| agent.id.as_str()).collect();
    assert_eq!(ids, ["own"]);
    assert_eq!(recording.session().report.problems, []);

    for number in 0..501 {
        std::fs::write(folder.path().join(format!("agent-{number:05}.jsonl")), &own).unwrap();
    }
    let recording = open_path(&path);
    assert_eq!((recording.session().subagents.len(), recording.files().len()), (500, 501));
    let messages: Vec<_> = recording.session().report.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages, ["there are 502 files of subagents; 2 of them were left out"]);
}

#[test]
fn an_agents_own_file_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent-ab12.jsonl");
    std::fs::write(&path, agent_script("List  files\nof the shop").bytes()).unwrap();
    let titled = |session: &Session| (session.title.clone(), session.title_source);
    let recording = open_path(&path);
    let session = recording.session();
    assert_eq!(titled(session), (Some("List files of the shop".to_owned()), TitleSource::FirstPrompt));
    assert_eq!((session.steps.len(), session.events.len()), (0, 2));
    let problem = &session.report.problems[0];
    assert_eq!(problem.kind, ProblemKind::Structure);
    assert_eq!(problem.message, "this is a subagent's own file: it has events but no steps of a person");

    std::fs::write(folder.path().join("agent-ab12.meta.json"), r#"{"description":"Find files"}"#).unwrap();
    let recording = open_path(&path);
    assert_eq!(titled(recording.session()), (Some("Find files".to_owned()), TitleSource::Generated));

    // A session with agents inside is no agent's file.
    let mut script = Script::new();
    script.prompt("u1", "Delegate");
    for line in &agent_script("List files").lines {
        script.raw(line);
    }
    let whole = self::session(&script);
    assert_eq!(titled(&whole), (Some("Delegate".to_owned()), TitleSource::FirstPrompt));
    assert_eq!(whole.report.problems, []);
}

#[test]
fn a_picture_in_a_prompt_is_noted_with_its_kind_and_size() {
    let mut script = Script::new();
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAAAAAA"}});
    script.raw(
        &json!({
            "type": "user", "uuid": "u1", "parentUuid": null, "sessionId": SESSION, "isSidechain": false,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": [{"type": "text", "text": "Look at this"}, picture]},
        })
        .to_string(),
    );
    let (_folder, recording) = open_bytes(&script.bytes());
    let session = recording.session();
    assert_eq!(session.steps.len(), 1);
    assert_eq!(recording.prompt(1).unwrap(), "Look at this");
    let [event] = session.events_of(&session.steps[0]) else { panic!("one event") };
    assert_eq!((event.kind, &*event.label), (EventKind::Notice, "image in the prompt"));
    assert_eq!(recording.body(event).unwrap().attachments, ["image/png, 6 bytes"]);
}
