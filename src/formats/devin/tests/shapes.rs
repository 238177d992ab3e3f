//! The walk from the head, and the steps on it: expected values by hand from the format's page.

use serde_json::{Value, json};

use super::build::{Made, answer, asks, call, chose, prompt, question, reply, result, system};
use crate::model::{EventKind, Fact, NodeId, Session, StepKind};

/// Number, revert target and fork target of each step.
fn targets(session: &Session) -> Vec<(u32, Option<u64>, Option<u64>)> {
    let number = |id: &Option<NodeId>| match id {
        Some(NodeId::Number(number)) => Some(*number),
        _ => None,
    };
    session.steps.iter().map(|step| (step.number, number(&step.revert_target), number(&step.fork_target))).collect()
}

fn problems(session: &Session) -> Vec<&str> {
    session.report.problems.iter().map(|problem| problem.message.as_str()).collect()
}

fn chain(made: &Made) -> Vec<i64> {
    let stored = made.stored();
    (0..stored.assembled.chain.nodes.len()).map(|at| stored.node_at(at).unwrap().id).collect()
}

#[test]
fn a_prompt_ends_before_the_next_and_a_question_with_its_answer() {
    let made = Made::chain(&[
        system("rules"),
        prompt("first"),
        answer("one"),
        prompt("second"),
        question(&[asks("q", "Which?")]),
        chose("q", "B"),
        answer("two"),
        system("note"),
        prompt("third"),
    ]);
    let session = made.open();
    let session = session.session();
    assert_eq!(
        targets(session),
        [(1, Some(0), Some(2)), (2, Some(2), Some(7)), (3, Some(3), Some(5)), (4, Some(7), Some(8))]
    );
    let question = &session.steps[2];
    assert_eq!(question.kind, StepKind::QuestionAnswer);
    assert_eq!((question.question_node_id.clone(), question.user_message_id.clone()), (Some(NodeId::Number(4)), None));
    assert_eq!((question.tool_call_id.as_deref(), question.summary.as_str()), (Some("q"), "Which? -> B"));
    assert_eq!(question.step_id, NodeId::Text("m4".into()));
    assert!(session.report.problems.is_empty());
}

#[test]
fn several_questions_of_a_message_are_steps_and_open_ones_are_not() {
    let made = Made::chain(&[
        system("rules"),
        prompt("go"),
        question(&[asks("a", "First?"), asks("b", "Second?"), asks("c", "Third?")]),
        chose("b", "A"),
        chose("a", "B"),
        result("c", "Canceled due to user interrupt", json!({"chisel/tool_failure": {"reason": "Canceled"}})),
        question(&[asks("d", "Open?")]),
    ]);
    let session = made.open();
    assert_eq!(targets(session.session()), [(1, Some(0), Some(6)), (2, Some(1), Some(4)), (3, Some(1), Some(3))]);
    let texts: Vec<String> = (1..=3).map(|step| session.prompt(step).unwrap()).collect();
    assert_eq!(texts, ["go", "First?\n-> B", "Second?\n-> A"]);
}

#[test]
fn an_answer_without_its_question_or_before_it_makes_no_step() {
    let made = Made::chain(&[system("rules"), prompt("go"), chose("x", "A"), question(&[asks("x", "Late?")])]);
    assert_eq!(made.open().session().steps.len(), 1);
}

#[test]
fn only_what_the_user_typed_is_a_prompt() {
    let user = |content: &str, metadata: Value| json!({"role": "user", "content": content, "metadata": metadata});
    let made = Made::chain(&[
        system("rules"),
        user("old build", json!({})),
        user("flag says no", json!({"is_user_input": false})),
        user("kept alive", json!({"is_user_input": true, "telemetry": {"source": "cache_keepalive"}})),
        user("for a subagent", json!({"is_user_input": true, "extensions": {"subagent/handoff": true}})),
        user("  ", json!({"is_user_input": null})),
        user("a hook", json!({"telemetry": {"source": "hook"}})),
        user("typed", json!({"is_user_input": null, "telemetry": {"source": "user"}})),
        user("", json!({"is_user_input": true})),
        user("a wrong flag", json!({"is_user_input": "yes"})),
    ]);
    let session = made.open();
    let summaries: Vec<&str> = session.session().steps.iter().map(|step| step.summary.as_str()).collect();
    assert_eq!(summaries, ["old build", "typed", "", "a wrong flag"]);
}

#[test]
fn ids_come_from_the_client_before_the_message() {
    let mut typed = prompt("go");
    typed["metadata"]["extensions"] = json!({"chisel/client-message-id": "client"});
    let made = Made::chain(&[system("rules"), typed]);
    let session = made.open();
    let step = &session.session().steps[0];
    assert_eq!(
        (&step.step_id, &step.user_message_id),
        (&NodeId::Text("client".into()), &Some(NodeId::Text("client".into())))
    );
}

#[test]
fn compactions_are_walked_over_layer_by_layer() {
    let made = Made::new();
    let sums = |of: i64| json!({"summarized_from": of});
    made.node(0, None, system("rules")).node(1, Some(0), prompt("first")).node(2, Some(1), answer("one"));
    made.node(3, None, system("prefix"));
    made.node_with(4, Some(3), answer("summary"), &sums(2));
    let mut told = system("You are continuing work");
    told["metadata"] = json!({"extensions": {"devin-rs/summary": {"source": "manual"}}});
    made.node_with(5, Some(4), told, &json!({"summarized_from": 2, "num_tokens_preceding": 900}));
    made.node(6, Some(5), prompt("second")).node(7, Some(6), answer("two"));
    made.node(8, None, system("prefix again"));
    made.node_with(9, Some(8), answer("summary of both"), &sums(7));
    made.node(10, Some(9), prompt("third"));
    made.head(Some(10));
    assert_eq!(chain(&made), [0, 1, 2, 4, 5, 6, 7, 9, 10]);
    let session = made.open();
    assert_eq!(targets(session.session()), [(1, Some(0), Some(5)), (2, Some(5), Some(9)), (3, Some(9), Some(10))]);
    let markers = session.session().events.all().iter().filter(|event| event.kind == EventKind::Compaction);
    let facts: Vec<_> = markers.map(|event| event.marker.as_ref().unwrap().fact.clone()).collect();
    let told = Fact::Compaction { trigger: Some("manual".into()), tokens_before: Some(900), tokens_after: None };
    let untold = Fact::Compaction { trigger: None, tokens_before: None, tokens_after: None };
    assert_eq!(facts, [told, untold]);
    assert!(session.session().branches.is_empty());
}

#[test]
fn a_compaction_whose_history_is_gone_goes_on_at_its_parent() {
    let made = Made::new();
    made.node(3, None, system("prefix"));
    made.node_with(4, Some(3), answer("summary"), &json!({"summarized_from": 99}));
    made.node(5, Some(4), prompt("second"));
    made.head(Some(5));
    assert_eq!(chain(&made), [3, 4, 5]);
    assert!(problems(made.open().session())[0].contains("node 99 does not exist"));

    let made = Made::new();
    made.node_with(1, None, answer("its own history"), &json!({"summarized_from": 2}));
    made.node(2, Some(1), prompt("go"));
    made.head(Some(2));
    assert_eq!(chain(&made), [1, 2]);
    assert!(problems(made.open().session())[0].contains("node 2 was there already"));
}

#[test]
fn copies_of_a_message_count_once() {
    let made = Made::new();
    let copy = |id: &str, mut message: Value| {
        message["message_id"] = id.into();
        message
    };
    // The first prompt is rendered again; the answer is stored twice.
    made.node(0, None, system("rules")).node(1, Some(0), copy("p", prompt("go")));
    made.node(2, None, system("prefix")).node(3, Some(2), copy("p", prompt("go")));
    made.node(4, Some(3), copy("a", answer("one"))).node(5, Some(3), copy("a", answer("one")));
    made.node(6, Some(5), copy("a", answer("one"))).node(7, Some(6), prompt("more"));
    made.head(Some(7));
    assert_eq!(chain(&made), [2, 3, 5, 7], "the later copy on the chain goes too");
    let session = made.open();
    assert!(session.session().branches.is_empty(), "{:?}", session.session().branches);
    assert_eq!(session.session().usage.output, Some(5), "a response is paid for once");
}

#[test]
fn malformed_chains_are_shown_as_far_as_they_go() {
    let made = Made::new();
    made.node(1, Some(3), system("rules")).node(2, Some(1), prompt("go")).node(3, Some(2), answer("one"));
    made.head(Some(3));
    let session = made.open();
    assert_eq!(targets(session.session()), [(1, Some(1), Some(3))]);
    assert_eq!(problems(session.session()), ["cycle at node 3"]);

    let made = Made::new();
    made.node(4, Some(777), prompt("go")).node(5, Some(4), answer("one"));
    made.head(Some(5));
    let session = made.open();
    assert_eq!(targets(session.session()), [(1, None, Some(5))]);
    assert_eq!(problems(session.session()), ["missing node 777", "step 1: anchor has no predecessor"]);
    let step = &session.session().steps[0];
    assert!(step.revert_refusal.is_some() && step.fork_refusal.is_none());

    for head in [None, Some(4242)] {
        let made = Made::chain(&[system("rules"), prompt("go"), answer("one")]);
        made.head(head);
        let session = made.open();
        assert_eq!(targets(session.session()), [(1, Some(0), Some(2))]);
        let step = &session.session().steps[0];
        assert!(step.revert_refusal.is_some() && step.fork_refusal.is_some());
        assert!(session.fork(crate::formats::Cut::After(1), crate::store::Watch::none()).is_err());
    }
}

#[test]
fn a_message_that_cannot_be_read_keeps_its_place() {
    let made = Made::chain(&[system("rules"), prompt("go"), call("c", "exec"), prompt("more")]);
    made.connection
        .execute("UPDATE message_nodes SET chat_message = '{\"role\": \"ass' WHERE node_id = 2", [])
        .unwrap();
    let session = made.open();
    assert_eq!(targets(session.session()), [(1, Some(0), Some(2)), (2, Some(2), Some(3))]);
    assert_eq!(problems(session.session()), ["node 2: chat_message is not a JSON object"]);
    let event = &session.session().events.all()[1];
    assert_eq!(event.kind, EventKind::Unreadable);
    assert_eq!(session.body(event).unwrap().text, "{\"role\": \"ass");
}

#[test]
fn a_rewind_leaves_a_branch() {
    let made = Made::chain(&[system("rules"), prompt("first"), answer("one"), prompt("left"), call("c", "exec")]);
    made.node(5, Some(4), result("c", "done", json!({})));
    made.node(6, Some(2), prompt("instead")).node(7, Some(6), answer("two"));
    made.head(Some(7));
    let session = made.open();
    let [branch] = session.session().branches.as_slice() else { panic!("{:?}", session.session().branches) };
    assert_eq!((&branch.leaf, &branch.parted_at), (&NodeId::Number(5), &Some(NodeId::Number(2))));
    assert_eq!((branch.summary.as_str(), branch.nodes), ("left", 3));
}

#[test]
fn sessions_with_a_common_past_are_relatives() {
    let made =
        Made::chain(&[system("rules"), prompt("first"), reply("one", "swe", &[]), prompt("second"), answer("two")]);
    made.session("forked", 1_793_000_500);
    made.connection
        .execute_batch(
            "INSERT INTO message_nodes(session_id, node_id, parent_node_id, chat_message, metadata)
             SELECT 'forked', node_id, parent_node_id, chat_message, metadata FROM message_nodes WHERE node_id <= 2;
             UPDATE sessions SET main_chain_id = 2, title = 'x (fork)' WHERE id = 'forked'",
        )
        .unwrap();
    made.session("stranger", 1_793_000_900);
    made.raw_in("stranger", 1, None, "{\"role\":\"user\",\"message_id\":\"other\"}", "null");
    let session = made.open();
    let [relative] = session.session().relatives.as_slice() else { panic!("{:?}", session.session().relatives) };
    assert_eq!((relative.session_id.as_str(), relative.is_fork), ("forked", true));
    assert_eq!((&relative.shared_to, relative.step_number), (&Some(NodeId::Number(2)), Some(1)));
    let back = super::build::opened(&made.path(), "forked");
    assert!(!back.session().relatives[0].is_fork);
}
