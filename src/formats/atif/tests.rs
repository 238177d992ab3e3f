//! Trajectories through the door that everybody uses: `formats::open`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::formats::testing::replayed;
use crate::formats::{self, Cut, Patient, Recording, Revert};
use crate::model::{
    Decision, Event, EventKind, Evidence, Fact, Marker, NodeId, Outcome, QuestionState, Step, StepKind, ToolState,
};
use crate::store::{Rewrite, Watch, write_new};

struct Opened {
    folder: tempfile::TempDir,
    recording: Arc<dyn Recording>,
}

impl Opened {
    fn steps(&self) -> &[Step] {
        &self.recording.session().steps
    }

    fn events(&self, number: u32) -> &[Event] {
        let session = self.recording.session();
        session.events_of(session.step(number).unwrap())
    }

    fn markers(&self, number: u32) -> Vec<&Marker> {
        self.events(number).iter().filter_map(|event| event.marker.as_deref()).collect()
    }

    /// Writes a plan beside the original and opens that.
    fn written(&self, name: &str, rewrite: &Rewrite) -> (Arc<dyn Recording>, Value) {
        let path = self.folder.path().join(name);
        write_new(&path, rewrite, Watch::none()).unwrap();
        let value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        (formats::open(&path, &Patient).unwrap(), value)
    }
}

fn open_bytes(bytes: &[u8]) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trajectory.json");
    std::fs::write(&path, bytes).unwrap();
    let recording = formats::open(&path, &Patient).unwrap();
    Opened { folder, recording }
}

fn open(document: &Value) -> Opened {
    open_bytes(serde_json::to_string_pretty(document).unwrap().as_bytes())
}

fn user(id: u64, text: &str) -> Value {
    json!({ "step_id": id, "timestamp": format!("2026-02-03T10:00:{id:02}Z"), "source": "user", "message": text })
}

fn agent(id: u64, text: &str) -> Value {
    json!({ "step_id": id, "timestamp": format!("2026-02-03T10:00:{id:02}Z"), "source": "agent", "message": text,
        "model_name": "m1", "metrics": { "prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 70 } })
}

fn called(id: u64, calls: Value, results: Value) -> Value {
    let mut step = agent(id, "");
    step["tool_calls"] = calls;
    step["observation"] = json!({ "results": results });
    step
}

fn question(call: &str) -> Value {
    json!({ "tool_call_id": call, "function_name": "ask_user_question", "arguments": { "questions": [
        { "question": "Which?", "header": "h", "options": [{ "label": "A" }, { "label": "B" }] }] } })
}

fn document(steps: Vec<Value>) -> Value {
    json!({ "schema_version": "ATIF-v1.7", "session_id": "one", "agent": { "name": "devin", "version": "1" },
        "own": { "kept": [1, 2] }, "steps": steps,
        "final_metrics": { "total_prompt_tokens": 9000, "total_completion_tokens": 600, "total_cached_tokens": 8000,
            "total_steps": 9 } })
}

/// Prompt, answer; prompt, question in its turn, answer; prompt.
fn story() -> Value {
    document(vec![
        user(1, "Make it"),
        agent(2, "Made."),
        user(3, "Keep it"),
        called(
            4,
            json!([question("c1")]),
            json!([{ "source_call_id": "c1", "content": "User answered your questions:\n\"Which?\" = B" }]),
        ),
        agent(5, "Kept."),
        user(6, "Thanks"),
        agent(7, "Bye."),
    ])
}

fn number(node: &Option<NodeId>) -> Option<u64> {
    match node {
        Some(NodeId::Number(number)) => Some(*number),
        _ => None,
    }
}

#[test]
fn steps_are_the_users_messages_and_answers() {
    let opened = open(&story());
    let session = opened.recording.session();
    let steps: Vec<_> = opened
        .steps()
        .iter()
        .map(|step| (step.kind, step.summary.as_str(), number(&step.revert_target), number(&step.fork_target)))
        .collect();
    assert_eq!(
        steps,
        [
            (StepKind::Prompt, "Make it", None, Some(2)),
            (StepKind::Prompt, "Keep it", Some(2), Some(5)),
            (StepKind::QuestionAnswer, "Which? -> B", Some(3), Some(4)),
            (StepKind::Prompt, "Thanks", Some(5), Some(7)),
        ]
    );
    let asked = &opened.steps()[2];
    assert_eq!((number(&asked.question_node_id), asked.tool_call_id.as_deref()), (Some(4), Some("c1")));
    assert_eq!(number(&opened.steps()[1].user_message_id), Some(3));
    assert_eq!(session.head, Some(NodeId::Number(7)));
    assert_eq!(session.usage.input, Some(1000), "input is without what was read from a cache");
    let own = opened.steps()[3].usage;
    assert_eq!((own.input, own.output, own.cache_read), (Some(30), Some(10), Some(70)));
    assert_eq!(opened.recording.prompt(3).unwrap(), "Which?\n- A\n- B");
    let body = opened.recording.body(&opened.events(3)[0]).unwrap();
    assert!(body.output.unwrap().ends_with("= B"));
}

#[test]
fn two_questions_of_one_message_are_two_steps() {
    let steps = vec![
        user(1, "Plan"),
        called(
            2,
            json!([question("c1"), question("c2")]),
            json!([{ "source_call_id": "c1", "content": "User answered your questions: A" },
                { "source_call_id": "c2", "content": "User answered your questions: C" }]),
        ),
        called(
            3,
            json!([question("c3")]),
            json!([{ "source_call_id": "c3", "content": "Canceled due to user interrupt" }]),
        ),
    ];
    let opened = open(&document(steps));
    let summaries: Vec<_> = opened.steps().iter().map(|step| step.summary.as_str()).collect();
    assert_eq!(summaries, ["Plan", "Which? -> A", "Which? -> C"]);
    assert!(
        opened
            .markers(3)
            .iter()
            .any(|marker| matches!(&marker.fact, Fact::Question { state: QuestionState::Declined, .. })
                && marker.evidence == Evidence::Inferred)
    );
    assert_eq!(opened.steps()[2].outcome, Outcome::Interrupted);
    let fork = opened.recording.fork(Cut::After(2), Watch::none()).unwrap();
    assert_eq!((fork.steps, fork.warnings.len()), (3, 1), "an answer is not left without its call");
    let revert = opened.recording.revert(3, Watch::none()).unwrap();
    assert_eq!((revert.keeps_steps, revert.warnings.len()), (1, 1));
}

#[test]
fn what_only_a_text_says_is_inferred() {
    let call = |id: &str| json!({ "tool_call_id": id, "function_name": "exec", "arguments": { "command": "rm x" } });
    let mut other = agent(6, "Other model.");
    other["model_name"] = json!("m2");
    let opened = open(&document(vec![
        user(1, "Do"),
        called(
            2,
            json!([call("a")]),
            json!([{ "source_call_id": "a", "content": "Tool execution was rejected by the user" }]),
        ),
        called(
            3,
            json!([call("b")]),
            json!([{ "source_call_id": "b", "content": "no", "extra": { "tool_result_is_error": true } }]),
        ),
        called(4, json!([call("c")]), json!([])),
        json!({ "step_id": 5, "source": "system", "message": "note" }),
        other,
        json!({ "step_id": 7, "source": "system", "message": "[Response interrupted by user]" }),
    ]));
    let markers = opened.markers(1);
    let kinds: Vec<_> = markers.iter().map(|marker| (marker.kind().word(), marker.evidence)).collect();
    assert_eq!(
        kinds,
        [
            ("denial", Evidence::Inferred),
            ("failure", Evidence::Recorded),
            ("fallback", Evidence::Inferred),
            ("interruption", Evidence::Inferred)
        ]
    );
    assert!(
        matches!(&markers[0].fact, Fact::Approval { decision: Decision::Denied, by: Some(by), .. } if by == "user")
    );
    assert!(
        matches!(&markers[2].fact, Fact::Fallback { from: Some(from), to: Some(to), .. } if from == "m1" && to == "m2")
    );
    assert_eq!(opened.steps()[0].outcome, Outcome::Interrupted);
}

#[test]
fn harness_texts_copies_and_subagents_are_no_prompts() {
    let mut side = user(4, "sub");
    side["extra"] = json!({ "is_sidechain": true, "agent_id": "a1" });
    let mut copied = user(1, "earlier");
    copied["is_copied_context"] = json!(true);
    let mut value = document(vec![
        copied,
        user(2, "Now"),
        user(3, "<system-reminder>mind</system-reminder>"),
        side,
        user(5, "<command-name>/model</command-name>"),
        user(6, "<local-command-stdout>set</local-command-stdout>"),
        user(7, "<command-name>/review</command-name>"),
        agent(8, "Reviewed."),
    ]);
    value["agent"]["name"] = json!("claude-code");
    value["subagent_trajectories"] = json!([{ "schema_version": "ATIF-v1.7", "trajectory_id": "t2", "agent": { "name": "x" },
        "steps": [user(1, "inner"), agent(2, "found")] }]);
    let opened = open(&value);
    let summaries: Vec<_> = opened.steps().iter().map(|step| step.summary.as_str()).collect();
    assert_eq!(summaries, ["Now", "/review"]);
    let subagents: Vec<_> =
        opened.recording.session().subagents.iter().map(|one| (one.id.as_str(), one.events.len())).collect();
    assert_eq!(subagents, [("a1", 1), ("t2", 2)]);
    let inner = &opened.recording.session().subagents[1].events.all()[1];
    assert_eq!(opened.recording.body(inner).unwrap().text, "found");
    value["agent"]["name"] = json!("devin");
    assert_eq!(open(&value).steps().len(), 3, "Devin's copied steps are its history");
}

#[test]
fn a_fork_holds_the_steps_up_to_its_cut() {
    let opened = open(&story());
    let before = std::fs::read_to_string(opened.folder.path().join("trajectory.json")).unwrap();
    for wanted in 1..=4 {
        let fork = opened.recording.fork(Cut::After(wanted), Watch::none()).unwrap();
        let (forked, value) = opened.written(&format!("fork-{wanted}.json"), &fork.rewrite);
        assert_eq!((forked.session().steps.len(), fork.steps), (wanted as usize, wanted));
        assert_eq!(value["session_id"], json!(fork.session_id));
        assert_eq!(value["own"], json!({ "kept": [1, 2] }));
        assert_eq!(value["extra"]["forked_from"]["session_id"], "one");
        assert_eq!(forked.session().parent.as_ref().unwrap().step_number, Some(wanted));
        assert_eq!(value["final_metrics"]["total_steps"], value["steps"].as_array().unwrap().len());
        let first = before.find("{\n      \"step_id\": 1").unwrap();
        let record = &before[first..before.find("},\n    {\n      \"step_id\": 2").unwrap()];
        let written = std::fs::read_to_string(opened.folder.path().join(format!("fork-{wanted}.json"))).unwrap();
        assert!(written.contains(record), "records stay byte for byte");
    }
    let none = opened.recording.fork(Cut::Before(1), Watch::none());
    assert!(none.is_err(), "a trajectory has at least one record");
}

#[test]
fn a_revert_keeps_what_stood_before() {
    let opened = open(&story());
    for number in 2..=4 {
        let revert: Revert = opened.recording.revert(number, Watch::none()).unwrap();
        let (left, value) = opened.written(&format!("left-{number}.json"), revert.rewrite());
        assert_eq!(left.session().steps.len(), number as usize - 1);
        assert_eq!(value["session_id"], "one");
        assert_eq!(value.get("extra"), None);
    }
    let revert = opened.recording.revert(4, Watch::none()).unwrap();
    assert_eq!((revert.prefill.as_deref(), revert.dropped.messages), (Some("Thanks"), 2));
    assert!(opened.recording.revert(1, Watch::none()).is_err());
}

#[test]
fn records_are_numbered_from_one_again() {
    let mut steps = story()["steps"].as_array().unwrap().clone();
    for (number, step) in steps.iter_mut().enumerate() {
        step["step_id"] = json!(10 + number);
    }
    let text = document(steps).to_string().replacen("\"own\":", "\"continued_trajectory_ref\":\"a.json\",\"own\":", 1);
    let opened = open_bytes(text.as_bytes());
    assert_eq!(number(&opened.steps()[1].revert_target), Some(11));
    let fork = opened.recording.fork(Cut::After(2), Watch::none()).unwrap();
    let (_, value) = opened.written("fork.json", &fork.rewrite);
    let ids: Vec<_> = value["steps"].as_array().unwrap().iter().map(|step| step["step_id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(value["continued_trajectory_ref"], Value::Null);
}

#[test]
fn replay_gives_the_records_of_a_turn() {
    let opened = open(&story());
    let lines = replayed(opened.recording.as_ref(), 1..=4);
    let turns: Vec<_> =
        lines.iter().map(|line| (line["turn"].as_u64().unwrap(), line.get("event").is_some())).collect();
    assert_eq!(turns, [(1, true), (1, false), (2, true), (2, false), (3, true), (3, false), (4, true), (4, false)]);
    assert_eq!(lines[0]["event"].get("step_id"), None);
    assert_eq!((&lines[1]["text"], &lines[1]["interrupted"]), (&json!("Made."), &json!(false)));
    let prompts: Vec<_> = opened.recording.replay_turns().unwrap().into_iter().map(|turn| turn.prompt).collect();
    assert_eq!(prompts, [Some("Make it".into()), Some("Keep it".into()), None, Some("Thanks".into())]);
}

#[test]
fn damage_costs_only_the_damaged_record() {
    let text = story().to_string().replace("\"prompt_tokens\":100", "\"prompt_tokens\":NaN");
    let opened = open_bytes(text.as_bytes());
    assert_eq!(opened.steps().len(), 4);
    assert!(opened.recording.session().report.problems.iter().any(|problem| problem.message.contains("replaced")));

    let broken = story().to_string().replacen("\"message\":\"Made.\"", "\"message\":\"Made.", 1);
    let opened = open_bytes(broken.as_bytes());
    assert_eq!(opened.steps().len(), 4, "records after a lost quote are found again");
    assert_eq!(opened.recording.session().report.records.unreadable, 1);
    let fork = opened.recording.fork(Cut::After(4), Watch::none()).unwrap();
    let (forked, _) = opened.written("fork.json", &fork.rewrite);
    assert_eq!(forked.session().steps.len(), 4);
    let unreadable =
        opened.recording.session().events.all().iter().find(|event| event.kind == EventKind::Unreadable).unwrap();
    assert!(opened.recording.body(unreadable).unwrap().text.contains("Made."));
}

#[test]
fn a_large_version_and_token_ids_are_read() {
    let mut value = story();
    value["schema_version"] = json!("ATIF-v2.0");
    value["steps"][1]["metrics"]["completion_token_ids"] = json!(vec![7; 100_000]);
    let opened = open(&value);
    assert_eq!(opened.steps().len(), 4);
    let problem = &opened.recording.session().report.problems[0];
    assert!(problem.message.contains("ATIF-v2.0"), "{problem:?}");
}

#[test]
fn a_subagent_is_known_by_the_call_that_refers_to_it() {
    let call = json!([{ "tool_call_id": "c", "function_name": "run_subagent", "arguments": "{\"task\":\"look\"}" }]);
    let refers = json!([{ "source_call_id": "c", "content": "done", "subagent_trajectory_ref": [
        { "trajectory_id": "t2" }, { "trajectory_path": "../other.json" }] }]);
    let mut queued = user(1, "Look");
    queued["extra"] = json!({ "delivery": "queued" });
    let mut value = document(vec![queued, called(2, call, refers)]);
    value["subagent_trajectories"] = json!([{ "trajectory_id": "t2", "steps": [agent(1, "found")] }]);
    let opened = open(&value);
    assert_eq!(opened.steps()[0].origin, Some("queued"));
    assert_eq!(opened.recording.session().subagents[0].call_id.as_deref(), Some("c"));
    let fork = opened.recording.fork(Cut::After(1), Watch::none()).unwrap();
    assert_eq!(fork.warnings.len(), 1, "one of them lies in another file: {:?}", fork.warnings);
}

#[test]
fn a_result_in_a_record_of_its_own_belongs_to_its_call() {
    let call = json!([{ "tool_call_id": "c", "function_name": "ls", "arguments": {} }]);
    let result = json!({ "step_id": 3, "source": "system", "message": "",
        "observation": { "results": [{ "source_call_id": "c", "content": "a b" }] } });
    let opened = open(&document(vec![user(1, "Look"), called(2, call, json!([])), result]));
    let tool = &opened.events(1)[0];
    assert_eq!(tool.tool.as_ref().unwrap().state, ToolState::Done);
    assert_eq!(opened.recording.body(tool).unwrap().output.as_deref(), Some("a b"));
    assert_eq!(opened.steps()[0].outcome, Outcome::Done);
}

#[test]
fn deep_values_are_read() {
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    let text = story().to_string().replacen(
        "\"message\":\"Made.\"",
        &format!("\"extra\":{{\"x\":{deep}}},\"message\":{deep}"),
        1,
    );
    let opened = open_bytes(text.as_bytes());
    assert_eq!(opened.steps().len(), 4);
    for event in opened.recording.session().events.all() {
        opened.recording.body(event).unwrap();
    }
}

/// Everything that is read on demand, on whatever could be opened.
fn use_all(path: &Path) {
    let Ok(recording) = formats::open(path, &Patient) else { return };
    let session = recording.session();
    let records = session.report.records;
    let sum = records.read + records.unknown + records.duplicate + records.unreadable + records.torn;
    assert_eq!(records.total, sum);
    for event in session.events.all().iter().chain(session.subagents.iter().flat_map(|one| one.events.all())) {
        recording.body(event).unwrap();
        recording.raw(event.place).unwrap();
        recording.origin(event.place).unwrap();
    }
    for step in &session.steps {
        recording.prompt(step.number).unwrap();
        recording.replay(step.number, &mut |_| Ok(())).unwrap();
        let _ = recording.fork(Cut::Before(step.number), Watch::none());
        let _ = recording.revert(step.number, Watch::none());
        if let Ok(fork) = recording.fork(Cut::After(step.number), Watch::none()) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("fork.json");
            write_new(&path, &fork.rewrite, Watch::none()).unwrap();
            let forked = formats::open(&path, &Patient).unwrap();
            assert_eq!(forked.session().steps.len(), fork.steps as usize, "fork of step {}", step.number);
        }
    }
}

#[test]
fn a_document_cut_anywhere_is_read() {
    let text = story().to_string();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trajectory.json");
    for cut in (0..text.len()).step_by(7) {
        std::fs::write(&path, &text[..cut]).unwrap();
        use_all(&path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_mutated_document_is_read(at in 0.0..1.0_f64, byte in any::<u8>(), removed in 0_usize..40) {
        let mut bytes = story().to_string().into_bytes();
        let at = (at * bytes.len() as f64) as usize;
        bytes.splice(at..(at + removed).min(bytes.len()), [byte]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trajectory.json");
        std::fs::write(&path, &bytes).unwrap();
        use_all(&path);
    }
}

#[test]
fn samples_have_the_steps_that_their_databases_have() {
    let samples: Vec<PathBuf> = formats::detect::samples();
    let expected: Vec<Value> = samples
        .iter()
        .find(|path| path.ends_with("expected_steps.json"))
        .map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
        .unwrap_or_default();
    for path in samples.iter().filter(|path| path.to_string_lossy().contains("cli/transcripts/")) {
        let recording = formats::open(path, &Patient).unwrap();
        let session = recording.session();
        let own = expected.iter().find(|one| one["session"] == json!(session.id)).unwrap();
        let wanted: Vec<_> =
            own["steps"].as_array().unwrap().iter().map(|step| (&step["kind"], &step["summary"])).collect();
        let found: Vec<_> = session.steps.iter().map(|step| (json!(step.kind), json!(step.summary))).collect();
        assert_eq!(found.iter().map(|(kind, summary)| (kind, summary)).collect::<Vec<_>>(), wanted, "{}", session.id);
    }
    for path in samples.iter().filter(|path| path.to_string_lossy().contains("agents/atif/")) {
        use_all(path);
    }
}
