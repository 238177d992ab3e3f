//! Steps, chains and branches: the rules of the format's page, with expected values written down by hand.

use serde_json::json;

use super::build::{Script, answer, ask, tool_use};
use super::{label, open_bytes};
use crate::model::{
    EventKind, Fact, NodeId, Outcome, ProblemKind, QuestionState, Session, Step, StepKind, TitleSource,
};

pub fn session(script: &Script) -> Session {
    open_bytes(&script.bytes()).1.session().clone()
}

fn id(text: &str) -> NodeId {
    NodeId::Text(text.into())
}

fn summaries(session: &Session) -> Vec<&str> {
    session.steps.iter().map(|step| step.summary.as_str()).collect()
}

fn kinds(session: &Session, step: u32) -> Vec<EventKind> {
    session.events_of(session.step(step).unwrap()).iter().map(|event| event.kind).collect()
}

/// revert target, fork target
fn targets(step: &Step) -> (Option<NodeId>, Option<NodeId>) {
    (step.revert_target.clone(), step.fork_target.clone())
}

fn two_turns() -> Script {
    let mut script = Script::new();
    script
        .prompt("u1", "Add a licence")
        .says("a1", "Done.")
        .ends("d1")
        .prompt("u2", "Use\n tabs")
        .says("a2", "Done too.");
    script
}

#[test]
fn a_prompt_step_has_the_fields_of_its_record() {
    let session = session(&two_turns());
    assert_eq!(summaries(&session), ["Add a licence", "Use tabs"]);
    let (first, second) = (&session.steps[0], &session.steps[1]);
    assert_eq!(first.kind, StepKind::Prompt);
    assert_eq!((first.step_id.clone(), first.user_message_id.clone()), (id("u1"), Some(id("u1"))));
    assert_eq!((first.tool_call_id.clone(), first.question_node_id.clone()), (None, None));
    assert_eq!(targets(first), (None, Some(id("d1"))));
    assert_eq!(
        first.revert_refusal.as_deref(),
        Some("there is nothing before it: reverting it would leave an empty session")
    );
    assert_eq!(targets(second), (Some(id("d1")), Some(id("a2"))));
    assert_eq!(second.revert_refusal, None);
    assert_eq!((first.outcome, second.outcome), (Outcome::Done, Outcome::Done));
    assert_eq!(first.at.unwrap().to_rfc3339(), "2026-03-01T10:00:01.000Z");
    assert_eq!(first.ended_at.unwrap().to_rfc3339(), "2026-03-01T10:00:03.000Z");
    assert_eq!(kinds(&session, 1), [EventKind::Text]);
    assert_eq!(session.head, Some(id("a2")));
    assert_eq!(session.nodes, 5);
    assert_eq!(session.cwd.as_deref(), Some("/home/u/shop"));
    assert_eq!(session.agent.version.as_deref(), Some("2.1.332"));
    assert_eq!(session.model.as_deref(), Some("claude-opus-5-5"));
}

#[test]
fn a_question_step_is_its_call_and_its_answer() {
    let mut script = Script::new();
    script.prompt("u1", "Store the cart").block("a1", "m1", json!({"type": "text", "text": "One question."}), 10);
    script.block("a2", "m1", tool_use("t1", "AskUserQuestion", ask("Which storage?")), 30);
    script.result("r1", "t1", "answered", json!({"toolUseResult": {"answers": {"Which storage?": "SQLite"}}}));
    script.says("a3", "SQLite it is.").prompt("u2", "Go on");
    let session = session(&script);
    assert_eq!(summaries(&session), ["Store the cart", "Which storage? -> SQLite", "Go on"]);
    let question = &session.steps[1];
    assert_eq!(question.kind, StepKind::QuestionAnswer);
    assert_eq!((question.step_id.clone(), question.user_message_id.clone()), (id("a2"), None));
    assert_eq!((question.tool_call_id.as_deref(), question.question_node_id.clone()), (Some("t1"), Some(id("a2"))));
    // The record before the first of the response that asked, and the answer.
    assert_eq!(targets(question), (Some(id("u1")), Some(id("r1"))));
    // The fork of the prompt goes on to the next prompt, over the question.
    assert_eq!(targets(&session.steps[0]), (None, Some(id("a3"))));
    assert_eq!(kinds(&session, 1), [EventKind::Text]);
    assert_eq!(kinds(&session, 2), [EventKind::Question, EventKind::Text]);
    let marker = session.events_of(question)[0].marker.as_ref().unwrap();
    assert_eq!(
        marker.fact,
        Fact::Question {
            question: "Which storage?".into(),
            options: vec!["SQLite".into(), "Postgres".into()],
            answers: vec!["SQLite".into()],
            state: QuestionState::Answered
        }
    );
    // The response began in the first step; it is counted there, once, with its largest counter.
    assert_eq!(session.steps[0].usage.output, Some(30));
    assert_eq!(question.usage.output, Some(10));
    assert_eq!(session.steps[2].outcome, Outcome::Pending);
}

#[test]
fn several_questions_of_one_call_are_one_step() {
    let mut input = ask("Which storage?");
    let more = json!({"question": "Which features?", "options": [{"label": "Login"}, {"label": "Search"}]});
    input["questions"].as_array_mut().unwrap().push(more);
    let mut script = Script::new();
    script.prompt("u1", "Plan").calls("a1", "t1", "AskUserQuestion", input);
    let answers = json!({"Which storage?": "a big one", "Which features?": "Login, Search"});
    script.result("r1", "t1", "answered", json!({"toolUseResult": {"answers": answers}}));
    let session = session(&script);
    assert_eq!(summaries(&session), ["Plan", "Which storage? -> a big one; Which features? -> Login, Se..."]);
    let answers: Vec<_> = session
        .events_of(&session.steps[1])
        .iter()
        .map(|event| match &event.marker.as_ref().unwrap().fact {
            Fact::Question { answers, .. } => answers.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(answers, [vec!["a big one".to_owned()], vec!["Login".to_owned(), "Search".to_owned()]]);
}

#[test]
fn questions_without_an_answer_are_marks_not_steps() {
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    let blocked =
        json!({"permissionDecision": {"decision": "reject", "source": "config"}, "toolDenialKind": "user-rejected"});
    let mut script = Script::new();
    script.prompt("u1", "Dismissed").calls("a1", "t1", "AskUserQuestion", ask("Deploy?"));
    script.error(
        "r1",
        "t1",
        refused,
        json!({"toolUseResult": "User rejected tool use", "toolDenialKind": "user-rejected"}),
    );
    script.user("i1", json!([{"type": "text", "text": "[Request interrupted by user for tool use]"}]), json!({}));
    script.prompt("u2", "Declined with words").calls("a2", "t2", "AskUserQuestion", ask("Deploy?"));
    script.error("r2", "t2", &format!("{refused}, the user said:\nask me tomorrow"), json!({}));
    script.prompt("u3", "Not shown").calls("a3", "t3", "AskUserQuestion", ask("Deploy?"));
    script.error("r3", "t3", "no", blocked);
    script.prompt("u4", "Open").calls("a4", "t4", "AskUserQuestion", ask("Deploy?"));
    let session = session(&script);
    assert_eq!(summaries(&session), ["Dismissed", "Declined with words", "Not shown", "Open"]);
    let found: Vec<_> = session
        .events
        .iter()
        .filter_map(|event| match &event.marker.as_ref()?.fact {
            Fact::Question { answers, state, .. } => Some((*state, answers.join("|"))),
            _ => None,
        })
        .collect();
    assert_eq!(
        found,
        [
            (QuestionState::Declined, String::new()),
            (QuestionState::Declined, "ask me tomorrow".to_owned()),
            (QuestionState::NotShown, String::new()),
            (QuestionState::Pending, String::new()),
        ]
    );
    assert_eq!(session.steps[0].outcome, Outcome::Interrupted);
    assert_eq!(session.steps[3].outcome, Outcome::Pending);
}

#[test]
fn queued_prompts_are_steps_when_a_person_typed_them() {
    let mut script = Script::new();
    script.prompt("u1", "Slow").calls("a1", "t1", "Bash", json!({"command": "sleep 6"})).result(
        "r1",
        "t1",
        "slow",
        json!({}),
    );
    let queued = |prompt: serde_json::Value, origin: &str| json!({"attachment": {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", "origin": {"kind": origin}}});
    script.chain("q1", "attachment", queued(json!("and hurry"), "human"));
    script.chain("q2", "attachment", queued(json!([{"type": "text", "text": "with blocks"}]), "human"));
    script.chain("q3", "attachment", queued(json!("a robot's words"), "peer"));
    script.chain("q4", "attachment", json!({"attachment": {"type": "queued_command", "prompt": "old form"}}));
    script.says("a2", "Hurried.");
    let session = session(&script);
    assert_eq!(summaries(&session), ["Slow", "and hurry", "with blocks", "old form"]);
    assert_eq!(session.steps[1].origin, Some("queued"));
    assert_eq!(session.steps[0].origin, None);
    assert_eq!(targets(&session.steps[1]), (Some(id("r1")), Some(id("q1"))));
    assert_eq!(kinds(&session, 3), [EventKind::Notice]);
}

fn command(name: &str, args: &str) -> serde_json::Value {
    json!(format!(
        "<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n<command-args>{args}</command-args>"
    ))
}

#[test]
fn a_slash_command_is_a_step_when_the_model_ran_it() {
    let mut script = Script::new();
    script.user("c1", command("review", "the parser"), json!({}));
    script
        .user("x1", json!([{"type": "text", "text": "Review this code…"}]), json!({"isMeta": true}))
        .says("a1", "Reviewed.");
    script.user("v1", json!("<local-command-caveat>Local</local-command-caveat>"), json!({"isMeta": true}));
    script.user("c2", command("model", "sonnet"), json!({}));
    script.user("o1", json!("<local-command-stdout>Set model</local-command-stdout>"), json!({}));
    script.user("c3", command("ask", ""), json!({})).says("a2", "Asked.");
    script.user("c4", command("late", ""), json!({})).prompt("u1", "Go on").says("a3", "Going.");
    let session = session(&script);
    assert_eq!(summaries(&session), ["/review the parser", "/ask", "Go on"]);
    assert_eq!(session.steps[0].origin, Some("command"));
    assert_eq!(session.steps[2].origin, None);
    assert_eq!(targets(&session.steps[1]), (Some(id("o1")), Some(id("c4"))));
}

#[test]
fn texts_of_the_harness_are_never_steps() {
    for (text, more) in [
        ("<local-command-caveat>x</local-command-caveat>", json!({})),
        ("Caveat: The messages below were generated by the user while running local commands.", json!({})),
        ("<local-command-stdout>x</local-command-stdout>", json!({})),
        ("<local-command-stderr>x</local-command-stderr>", json!({})),
        ("<bash-input>ls</bash-input>", json!({})),
        ("<bash-stdout>a</bash-stdout>", json!({})),
        ("<task-notification><task-id>b1</task-id><status>completed</status></task-notification>", json!({})),
        ("<system-reminder>x</system-reminder>", json!({})),
        ("<ide_opened_file>x</ide_opened_file>", json!({})),
        ("<ide_selection>x</ide_selection>", json!({})),
        ("[Request interrupted by user]", json!({})),
        ("[Request interrupted by user for tool use]", json!({})),
        ("Plain words for the model", json!({"isMeta": true})),
        ("This session is being continued", json!({"isCompactSummary": true})),
        ("A subagent's brief", json!({"isSidechain": true})),
        ("A subagent's brief", json!({"agentId": "a1"})),
        ("Another agent's words", json!({"origin": {"kind": "peer"}})),
    ] {
        let mut script = two_turns();
        script.user("h1", json!(text), more).back_to("h1").says("a9", "Noted.");
        assert_eq!(session(&script).steps.len(), 2, "{text}");
    }
    let mut script = Script::new();
    script.user(
        "u1",
        json!("<ide_opened_file>a.rs</ide_opened_file>\nExplain it"),
        json!({"origin": {"kind": "human"}}),
    );
    script.user(
        "u2",
        json!([{"type": "text", "text": "<ide_selection>x</ide_selection>"}, {"type": "text", "text": "And this"}]),
        json!({}),
    );
    script.user(
        "u3",
        json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]),
        json!({}),
    );
    let (_folder, recording) = open_bytes(&script.bytes());
    assert_eq!(summaries(recording.session()), ["Explain it", "And this", "[image]"]);
    assert_eq!(recording.prompt(1).unwrap(), "Explain it");
    assert_eq!(recording.prompt(2).unwrap(), "And this");
}

#[test]
fn the_chain_goes_by_parents_and_the_leaf_by_file_order() {
    // Written out of order, with times that say otherwise.
    let mut script = Script::new();
    script.back_to("u1").says("a1", "Done.").back_to("").prompt("u1", "First").back_to("a1").prompt("u2", "Second");
    let session = session(&script);
    assert_eq!(summaries(&session), ["First", "Second"]);
    assert_eq!(session.head, Some(id("u2")));
    assert_eq!(kinds(&session, 1), [EventKind::Text]);
}

#[test]
fn a_rewind_leaves_a_branch() {
    let mut script = two_turns();
    script.back_to("d1").prompt("u3", "Use spaces").says("a3", "Spaces.");
    script.back_to("a3").prompt("u4", "Lost again").back_to("a3").prompt("u5", "Found").says("a5", "Yes.");
    let session = session(&script);
    assert_eq!(summaries(&session), ["Add a licence", "Use spaces", "Found"]);
    let branches: Vec<_> = session
        .branches
        .iter()
        .map(|branch| (branch.leaf.clone(), branch.parted_at.clone(), branch.summary.as_str(), branch.nodes))
        .collect();
    assert_eq!(branches, [(id("a2"), Some(id("d1")), "Use tabs", 2), (id("u4"), Some(id("a3")), "Lost again", 1)]);
    // Abandoned answers were paid for too.
    assert_eq!(session.usage.output, Some(40));
}

#[test]
fn a_branch_may_begin_with_notes_before_its_prompt() {
    let mut script = Script::new();
    script.prompt("u1", "One").says("a1", "1");
    script.chain("n1", "attachment", json!({"attachment": {"type": "prompt_snapshot"}}));
    script.chain("n2", "system", json!({"subtype": "informational", "content": "noted"}));
    script.prompt("u2", "Lost").says("a2", "2");
    // A leaf that no prompt comes to is none: only notes, or an answer written twice.
    script.back_to("a1").chain("n3", "attachment", json!({"attachment": {"type": "date"}}));
    script.back_to("a1").chain("n4", "attachment", json!({"attachment": {"type": "date"}})).says("a3", "again");
    script.prompt("u3", "Not the first").back_to("a1").prompt("u4", "Found").says("a4", "4");
    let session = session(&script);
    assert_eq!(summaries(&session), ["One", "Found"]);
    let branches: Vec<_> = session
        .branches
        .iter()
        .map(|branch| (branch.leaf.clone(), branch.parted_at.clone(), branch.summary.as_str(), branch.nodes))
        .collect();
    assert_eq!(branches, [(id("a2"), Some(id("a1")), "Lost", 4)]);
    assert_eq!(session.branches[0].at.unwrap().to_rfc3339(), "2026-03-01T10:00:05.000Z", "the prompt's time");
}

#[test]
fn twins_results_progress_and_agents_are_no_branches() {
    let mut script = Script::new();
    script.prompt("u1", "Read both");
    script.block("a1", "m1", tool_use("t1", "Read", json!({"file_path": "/a"})), 5);
    script.block("a2", "m1", tool_use("t2", "Read", json!({"file_path": "/b"})), 9);
    script.back_to("a1").result("r1", "t1", "a", json!({}));
    script.back_to("a2").chain("p1", "progress", json!({"data": {"type": "hook_progress"}}));
    script.back_to("a2").result("r2", "t2", "b", json!({})).says("a3", "Both read.");
    script.back_to("").chain(
        "s1",
        "user",
        json!({"isSidechain": true, "message": {"role": "user", "content": "Look"}}),
    );
    script.back_to("a3").says("a4", "The end.");
    let session = session(&script);
    assert_eq!(session.branches, []);
    assert_eq!(kinds(&session, 1), [EventKind::Tool, EventKind::Tool, EventKind::Text, EventKind::Text]);
    let results: Vec<_> =
        session.events.all().iter().filter_map(|event| event.tool.as_ref()?.result).map(|place| place.record).collect();
    assert_eq!(results, [3, 5], "both results are joined, on the chain or beside it");
}

#[test]
fn calls_beside_the_chain_belong_to_the_turn() {
    // The next answer hangs on the first result: the second call and its result hang beside.
    let mut script = Script::new();
    script.prompt("u1", "Read both");
    script.block("a1", "m1", tool_use("t1", "Read", json!({"file_path": "/a"})), 5);
    script.block("a2", "m1", tool_use("t2", "Read", json!({"file_path": "/b"})), 9);
    script.result("r2", "t2", "b", json!({})).back_to("a1").result("r1", "t1", "a", json!({})).says("a3", "Both read.");
    let session = session(&script);
    assert_eq!(kinds(&session, 1), [EventKind::Tool, EventKind::Tool, EventKind::Text]);
    assert_eq!(session.steps[0].usage.output, Some(19));
}

#[test]
fn compaction_is_crossed_by_the_logical_parent() {
    let mut script = two_turns();
    let boundary = json!({
        "parentUuid": null, "logicalParentUuid": "a2", "subtype": "compact_boundary", "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", "preTokens": 9000, "postTokens": 700}
    });
    script.chain("b1", "system", boundary.clone());
    script.user("s1", json!("This session is being continued"), json!({"isCompactSummary": true}));
    script.prompt("u3", "Still there?").says("a3", "Yes.");
    let whole = session(&script);
    assert_eq!(summaries(&whole), ["Add a licence", "Use tabs", "Still there?"]);
    assert_eq!(kinds(&whole, 2), [EventKind::Text, EventKind::Compaction, EventKind::Notice]);
    let marker = whole.events_of(&whole.steps[1])[1].marker.as_ref().unwrap();
    assert_eq!(
        marker.fact,
        Fact::Compaction { trigger: Some("auto".into()), tokens_before: Some(9000), tokens_after: Some(700) }
    );
    // Without the records before, there is a word about it.
    let mut cut = Script::new();
    cut.chain("b1", "system", boundary).prompt("u3", "Still there?");
    let cut = session(&cut);
    assert_eq!(summaries(&cut), ["Still there?"]);
    assert_eq!(cut.report.problems.len(), 1);
    assert_eq!(cut.report.problems[0].kind, ProblemKind::Structure);
    assert_eq!(cut.report.problems[0].message, "what was before the compaction is not in the file");
}

#[test]
fn a_copy_that_begins_with_a_compaction_begins_there() {
    let boundary = |to: &str| json!({"parentUuid": null, "logicalParentUuid": to, "subtype": "compact_boundary"});
    let mut script = Script::new();
    script.chain("b1", "system", boundary("a1"));
    script.user("s1", json!("This session is being continued"), json!({"isCompactSummary": true}));
    script.prompt("u1", "One").says("a1", "1").chain("b2", "system", boundary("a1"));
    script.prompt("u2", "Two").says("a2", "2");
    let (_folder, recording) = open_bytes(&script.bytes());
    assert_eq!(summaries(recording.session()), ["One", "Two"]);
    assert_eq!(recording.session().report.problems, []);
    assert_eq!(recording.session().steps[0].revert_target, Some(id("s1")));
    super::actions::check_forks(&*recording, "begins with a compaction");
    super::actions::check_reverts(&*recording, "begins with a compaction");
    // Two that name what comes after each other: the first is the beginning.
    let mut two = Script::new();
    two.chain("b1", "system", boundary("a2")).prompt("u1", "One").says("a1", "1");
    two.chain("b2", "system", boundary("a1")).prompt("u2", "Two").says("a2", "2");
    let two = session(&two);
    assert_eq!((summaries(&two), two.report.problems.len()), (vec!["One", "Two"], 0));
}

#[test]
fn a_session_without_messages_is_known_by_its_other_records() {
    let mut script = Script::new();
    script.loose("mode", json!({"mode": "normal"})).loose("permission-mode", json!({"permissionMode": "plan"}));
    for line in &mut script.lines {
        *line = line.replace("5e551011", "5e551099");
    }
    let session = session(&script);
    assert_eq!((session.id.as_str(), session.steps.len()), ("5e551099-0000-4000-8000-000000000001", 0));
}

#[test]
fn damaged_links_end_the_chain() {
    let mut circle = Script::new();
    circle.back_to("a2").prompt("u1", "First").says("a1", "One.").prompt("u2", "Second").says("a2", "Two.");
    let circle = session(&circle);
    assert_eq!(summaries(&circle), ["First", "Second"]);
    assert_eq!(circle.steps[0].revert_target, None);
    assert_eq!(circle.report.problems[0].message, "its parents lead back to itself; the chain begins here");

    let mut orphan = Script::new();
    orphan.back_to("nowhere").prompt("u1", "First").says("a1", "One.");
    let orphan = session(&orphan);
    assert_eq!(summaries(&orphan), ["First"]);
    assert_eq!(orphan.report.records.total, 2);
}

#[test]
fn the_same_record_twice_counts_once() {
    let mut script = two_turns();
    let again = script.lines[1].clone();
    script.raw(&again);
    let session = session(&script);
    assert_eq!(session.head, Some(id("a2")));
    assert_eq!(session.usage.output, Some(20));
    assert_eq!((session.report.records.read, session.report.records.duplicate), (5, 1));
}

#[test]
fn another_record_with_the_same_id_is_told_apart_from_a_copy() {
    let mut script = two_turns();
    let again = script.lines[1].clone();
    script.raw(&again).raw(&again.replace("Done.", "Dome.")).raw(&again.replace("Done.", "Done, and more."));
    let (_folder, recording) = open_bytes(&script.bytes());
    let session = recording.session();
    let messages: Vec<_> = session.report.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "the record a1 once more",
            "the record a1 once more: same id, other content; the first is shown",
            "the record a1 once more: same id, other content; the first is shown",
        ]
    );
    assert_eq!((session.report.records.read, session.report.records.duplicate), (5, 3));
    assert_eq!(label(&*recording, &session.events.all()[0]), "Done.");
}

#[test]
fn records_without_ids_follow_the_order_of_the_file() {
    let mut script = Script::new();
    script.raw(r#"{"type":"user","timestamp":"2025-06-01T10:00:00Z","message":{"content":"hello"}}"#);
    script.raw(r#"{"type":"assistant","uuid":"x","message":{"model":"m","content":[{"type":"text","text":"hi"}]}}"#);
    script.raw(r#"{"type":"user","message":{"content":"more"}}"#);
    let (_folder, recording) = open_bytes(&script.bytes());
    let session = recording.session();
    assert_eq!(summaries(session), ["hello", "more"]);
    assert_eq!(session.steps[0].step_id, id("line 1"));
    assert_eq!(session.steps[1].step_id, id("line 3"));
    assert_eq!(session.steps[1].revert_target, Some(id("x")));
    assert_eq!(session.id, "5e551011-0000-4000-8000-000000000001", "the file's name");
    assert!(recording.fork(crate::formats::Cut::After(1), crate::store::Watch::none()).is_err());
    assert!(session.steps[0].fork_refusal.is_some());
}

#[test]
fn titles_by_their_worth() {
    let mut script = two_turns();
    assert_eq!(session(&script).title_source, TitleSource::FirstPrompt);
    script.raw(r#"{"type":"summary","summary":"Of another session","leafUuid":"elsewhere"}"#);
    script.raw(r#"{"type":"summary","summary":"Of this one","leafUuid":"a2"}"#);
    script.raw(r#"{"type":"summary","summary":"Of a third","leafUuid":"elsewhere too"}"#);
    let summarised = session(&script);
    assert_eq!((summarised.title.as_deref(), summarised.title_source), (Some("Of this one"), TitleSource::Generated));
    script.loose("ai-title", json!({"aiTitle": "A licence"}));
    assert_eq!(session(&script).title.as_deref(), Some("A licence"));
    script.loose("custom-title", json!({"customTitle": "Mine"})).loose("ai-title", json!({"aiTitle": "Later"}));
    let named = session(&script);
    assert_eq!((named.title.as_deref(), named.title_source), (Some("Mine"), TitleSource::Person));
}

#[test]
fn a_change_of_model_without_a_reason_is_a_fallback_that_we_conclude() {
    let says = |uuid: &str, model: &str| answer(&format!("m{uuid}"), model, json!({"type": "text", "text": "x"}), 1);
    let fallbacks = |script: &Script| -> Vec<(bool, Option<String>)> {
        session(script)
            .events
            .iter()
            .filter_map(|event| match &event.marker.as_ref()?.fact {
                Fact::Fallback { to, trigger, .. } => Some((
                    event.marker.as_ref()?.evidence == crate::model::Evidence::Recorded,
                    trigger.clone().or(to.clone()),
                )),
                _ => None,
            })
            .collect()
    };
    let mut silent = Script::new();
    silent.prompt("u1", "x").chain("a1", "assistant", says("1", "opus")).chain("a2", "assistant", says("2", "sonnet"));
    assert_eq!(fallbacks(&silent), [(false, Some("sonnet".into()))]);

    for reason in [
        ("attachment", json!({"attachment": {"type": "model", "identity": {"modelId": "sonnet"}}})),
        ("user", json!({"message": {"role": "user", "content": command("model", "sonnet")}})),
        ("system", json!({"subtype": "local_command", "content": "<command-name>/model</command-name>"})),
    ] {
        let mut chosen = Script::new();
        chosen.prompt("u1", "x").chain("a1", "assistant", says("1", "opus"));
        chosen.chain("w1", reason.0, reason.1).chain("a2", "assistant", says("2", "sonnet"));
        assert_eq!(fallbacks(&chosen), []);
    }

    let mut recorded = Script::new();
    recorded.prompt("u1", "x").chain("a1", "assistant", says("1", "opus"));
    recorded.chain("f1", "system", json!({
        "subtype": "model_fallback", "trigger": "overloaded", "originalModel": "opus", "fallbackModel": "sonnet", "content": "Switched"
    }));
    recorded.chain("a2", "assistant", says("2", "sonnet")).chain("a3", "assistant", says("3", "<synthetic>"));
    recorded.chain("a4", "assistant", says("4", "sonnet"));
    assert_eq!(fallbacks(&recorded), [(true, Some("overloaded".into()))]);
    assert_eq!(session(&recorded).steps[0].model.as_deref(), Some("sonnet"));
}
