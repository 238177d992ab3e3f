//! What became of calls, which models answered, how turns ended, and what ran beside the conversation.

use serde_json::{Value, json};

use super::build::{Made, answer, asks, call, prompt, question, reply, result, system};
use crate::model::{
    Decision, Event, EventKind, Evidence, Fact, Outcome, QuestionState, Session, SubagentStatus, ToolState,
};

fn tools(session: &Session) -> Vec<(&str, ToolState)> {
    let tools = session.events.all().iter().filter_map(|event| event.tool.as_deref());
    tools.map(|tool| (tool.call_id.as_deref().unwrap(), tool.state)).collect()
}

fn facts(session: &Session) -> Vec<(&Fact, Evidence)> {
    let markers = session.events.all().iter().filter_map(|event| event.marker.as_deref());
    markers.map(|marker| (&marker.fact, marker.evidence)).collect()
}

fn kinds(events: &[Event]) -> Vec<EventKind> {
    events.iter().map(|event| event.kind).collect()
}

#[test]
fn the_first_sign_of_what_became_of_a_call_counts() {
    let failure = |reason: &str| json!({"chisel/tool_failure": {"reason": reason}});
    let ids = ["rejected", "cancelled", "stopped", "blocked", "waits", "invalid", "failed", "ran", "undecided"];
    let calls: Vec<(&str, &str, Value)> = ids.iter().map(|id| (*id, "exec", json!({"command": id}))).collect();
    let made = Made::chain(&[
        system("rules"),
        prompt("go"),
        reply("", "swe", &calls),
        result("rejected", "Tool execution was rejected by the user", failure("Canceled")),
        result("cancelled", "…", json!({})),
        result("stopped", "Canceled due to user interrupt", failure("Canceled")),
        result("blocked", "Blocked by policy", failure("Blocked")),
        result("invalid", "old_string is required", failure("ValidationError")),
        result("failed", "no such file", json!({})),
        result("ran", "fine", json!({"chisel/terminal_output": {"exit": {"exit_code": 3}}})),
        prompt("more"),
    ]);
    made.state("rejected", &json!({"status": "failed", "_meta": {"cognition.ai/rejected": true}}));
    made.state("cancelled", &json!({"status": "failed", "_meta": {"cognition.ai/canceled": true}}));
    made.state("failed", &json!({"status": "failed", "_meta": {"terminal_exit": {"exit_code": 2}}}));
    made.state("undecided", &json!({"status": null}));
    let recording = made.open();
    let session = recording.session();
    assert_eq!(
        tools(session),
        [
            ("rejected", ToolState::Denied),
            ("cancelled", ToolState::Failed),
            ("stopped", ToolState::Failed),
            ("blocked", ToolState::Denied),
            ("waits", ToolState::Pending),
            ("invalid", ToolState::Failed),
            ("failed", ToolState::Failed),
            ("ran", ToolState::Done),
            ("undecided", ToolState::Pending),
        ]
    );
    let approvals: Vec<_> = (facts(session).into_iter())
        .filter_map(|(fact, evidence)| match fact {
            Fact::Approval { tool_call_id, decision, by, .. } => {
                Some((tool_call_id.as_deref().unwrap(), *decision, by.as_deref(), evidence))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        approvals,
        [
            ("rejected", Decision::Denied, Some("user"), Evidence::Recorded),
            ("blocked", Decision::Blocked, Some("rule"), Evidence::Recorded),
            ("waits", Decision::Pending, None, Evidence::Inferred),
            ("undecided", Decision::Pending, None, Evidence::Inferred),
        ],
        "how a call that ran was allowed is not recorded"
    );
    let failures: Vec<_> = (facts(session).into_iter())
        .filter_map(|(fact, _)| match fact {
            Fact::Failure { code, message } => Some((code.as_deref(), message.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(failures, [(Some("ValidationError"), "old_string is required"), (Some("exit code 2"), "no such file")]);
    let ran =
        session.events.all().iter().find(|event| event.tool.as_ref().is_some_and(|tool| tool.state == ToolState::Done));
    let body = recording.body(ran.unwrap()).unwrap();
    assert_eq!(body.input.as_deref(), Some("{\"command\":\"ran\"}"));
    assert_eq!(body.output.as_deref(), Some("fine\n[exit code 3]"));
}

#[test]
fn another_model_in_a_turn_is_a_fallback_that_we_conclude() {
    let made = Made::chain(&[
        system("rules"),
        prompt("go"),
        reply("a", "one", &[("c", "exec", json!({}))]),
        result("c", "x", json!({})),
        reply("b", "two", &[]),
        prompt("more"),
        reply("c", "one", &[]),
    ]);
    let recording = made.open();
    let session = recording.session();
    let fallbacks: Vec<_> =
        facts(session).into_iter().filter(|(fact, _)| matches!(fact, Fact::Fallback { .. })).collect();
    let [(Fact::Fallback { from, to, .. }, Evidence::Inferred)] = fallbacks.as_slice() else { panic!("{fallbacks:?}") };
    assert_eq!((from.as_deref(), to.as_deref()), (Some("one"), Some("two")));
    let notes: Vec<&str> = session
        .events
        .all()
        .iter()
        .filter(|event| event.kind == EventKind::Notice)
        .map(|event| &*event.label)
        .collect();
    assert_eq!(notes, ["rules", "one answers; the session's model is m", "the model changed: two → one"]);
    assert_eq!(session.model.as_deref(), Some("one"));
    assert_eq!(session.steps[0].model.as_deref(), Some("two"));
}

#[test]
fn the_model_may_be_told_by_what_the_response_cost() {
    let mut told = answer("a");
    told["metadata"]["generation_model"] = Value::Null;
    told["metadata"]["response_dimensions"] = json!([{"group_title": "Usage"}, {"uid": "model", "group_title": "Model", "kind": {"Metric": {"value": "swe"}}}]);
    let made = Made::chain(&[system("rules"), prompt("go"), told]);
    assert_eq!(made.open().session().model.as_deref(), Some("swe"));
}

#[test]
fn turns_end_as_recorded_or_look_as_if_they_broke_off() {
    let outcome = |messages: &[Value]| {
        let mut all = vec![system("rules"), prompt("go")];
        all.extend(messages.iter().cloned());
        let recording = Made::chain(&all).open();
        let session = recording.session().clone();
        let stops: Vec<Evidence> = (facts(&session).into_iter())
            .filter(|(fact, _)| matches!(fact, Fact::Interruption { .. }))
            .map(|(_, evidence)| evidence)
            .collect();
        (session.steps[0].outcome, stops)
    };
    let mut cut = answer("half an ans");
    cut["metadata"]["finish_reason"] = "length".into();
    let mut untold = answer("whole");
    untold["metadata"]["finish_reason"] = Value::Null;
    assert_eq!(outcome(&[answer("done")]), (Outcome::Done, vec![]));
    assert_eq!(outcome(&[answer("done"), system("a note")]), (Outcome::Done, vec![]));
    assert_eq!(outcome(&[cut]), (Outcome::Unknown, vec![Evidence::Inferred]));
    assert_eq!(outcome(&[untold]), (Outcome::Done, vec![]), "old builds tell no reasons");
    assert_eq!(outcome(&[]), (Outcome::Pending, vec![]));
    assert_eq!(outcome(&[call("c", "exec")]), (Outcome::Pending, vec![]));
    let stopped = [answer("half"), system("[Response interrupted by user]")];
    assert_eq!(outcome(&stopped), (Outcome::Interrupted, vec![Evidence::Recorded]));
    let unanswered = [call("c", "exec"), result("c", "x", json!({}))];
    assert_eq!(outcome(&unanswered), (Outcome::Unknown, vec![Evidence::Inferred]));
    let followed = [call("c", "exec"), result("c", "x", json!({})), prompt("steered")];
    assert_eq!(outcome(&followed).1, vec![], "a message sent meanwhile ends the turn");
}

#[test]
fn questions_carry_their_options_and_answers() {
    let made = Made::chain(&[
        system("rules"),
        prompt("go"),
        question(&[asks("a", "First?"), asks("b", "Second?"), asks("c", "Third?")]),
        super::build::chose("a", "B"),
        result("b", "Canceled due to user interrupt", json!({"chisel/tool_failure": {"reason": "Canceled"}})),
    ]);
    let recording = made.open();
    let questions: Vec<_> = (facts(recording.session()).into_iter())
        .filter_map(|(fact, _)| match fact {
            Fact::Question { question, options, answers, state } => {
                Some((question.as_str(), options.len(), answers.join(","), *state))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        questions,
        [
            ("First?", 2, "B".to_owned(), QuestionState::Answered),
            ("Second?", 2, String::new(), QuestionState::Declined),
            ("Third?", 2, String::new(), QuestionState::Pending),
        ]
    );
}

#[test]
fn subagents_have_their_own_conversations() {
    let handoff = json!({"role": "user", "content": "look", "metadata": {"is_user_input": true, "extensions": {"subagent/handoff": true}}});
    let made = Made::new();
    let runs = reply(
        "",
        "swe",
        &[
            ("fg", "run_subagent", json!({"title": "Look"})),
            ("bg", "run_subagent", json!({"title": "Wait", "is_background": true})),
        ],
    );
    made.node(0, None, system("rules")).node(1, Some(0), prompt("go")).node(2, Some(1), runs);
    made.node(3, None, system("prefix")).node(4, Some(3), handoff.clone()).node(5, Some(4), answer("seen"));
    let agent = json!({"subagent/agent_id": "ag-1", "subagent/chain_node_id": 5, "subagent/profile_name": "explore"});
    made.node(6, Some(2), result("fg", "seen", agent));
    made.node(7, Some(6), result("bg", "Background subagent started with agent_id=ag-2", json!({})));
    made.node(8, None, system("prefix")).node(9, Some(8), handoff).node(10, Some(9), answer("waited"));
    made.node(11, Some(7), answer("one is done"));
    let done = system("<subagent_completion_notification>ag-2 finished</subagent_completion_notification>");
    made.node(12, Some(11), done).node(13, Some(12), answer("both are"));
    made.head(Some(13));
    made.connection
        .execute_batch("INSERT INTO subagent_heads VALUES('s', 'ag-2', 10, 0), ('s', 'ag-3', 999, 0)")
        .unwrap();
    let recording = made.open();
    let session = recording.session();
    let agents: Vec<_> = (session.subagents.iter())
        .map(|agent| (agent.id.as_str(), agent.call_id.as_deref(), agent.status, kinds(agent.events.all())))
        .collect();
    let conversation = vec![EventKind::Notice, EventKind::Notice, EventKind::Text];
    assert_eq!(
        agents,
        [
            ("ag-1", Some("fg"), SubagentStatus::Finished, conversation.clone()),
            ("ag-2", Some("bg"), SubagentStatus::Finished, conversation),
            ("ag-3", None, SubagentStatus::Started, vec![]),
        ]
    );
    assert_eq!(session.subagents[0].name.as_deref(), Some("Look"));
    assert_eq!(recording.body(session.subagents[1].events.all().last().unwrap()).unwrap().text, "waited");
    assert_eq!((session.steps.len(), session.branches.len()), (1, 0));
    assert_eq!(session.usage.output, Some(25), "subagents were paid for too");
    assert_eq!(session.steps[0].usage.output, Some(15));
}
