//! Files that were opened together.

use serde_json::json;

use super::story::{self, at, sandbox};
use super::{Folder, facts, summaries};
use crate::formats::OpenError;
use crate::model::{Decision, Fact, FormatName, NodeId, Outcome, ProblemKind, StepKind};

#[test]
fn the_files_of_a_sandbox_session_are_one_session() {
    let folder = Folder::new(&sandbox());
    let recording = folder.open();
    let session = recording.session();
    assert_eq!((session.id.as_str(), session.format), ("fs_1", FormatName::FruxonMessages));
    assert_eq!(summaries(session), ["Where is my lamp?", "Send it back.", "And the money?", "Try again."]);
    let ids: Vec<String> = session.steps.iter().map(|step| step.step_id.to_string()).collect();
    assert_eq!(ids, ["r1", "r2", "r3", "r4"]);
    let outcomes: Vec<Outcome> = session.steps.iter().map(|step| step.outcome).collect();
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::Done, Outcome::Pending]);
    assert_eq!(session.steps[1].revert_target, Some(NodeId::Text("r1".into())));
    assert!(session.steps.iter().all(|step| step.user_message_id.is_none()));
    assert_eq!(session.subagents.len(), 1);
    // Records count once a run, and a sub-task's tree has no tokens.
    assert_eq!((session.usage.input, session.usage.cost), (Some(400), Some(1.0)));
    let parked = session.report.problems.iter().any(|problem| problem.message.contains("step 4: the run waits"));
    assert!(parked);
}

#[test]
fn what_many_records_tell_of_one_approval_is_one_marker() {
    let folder = Folder::new(&sandbox());
    let recording = folder.open();
    let approvals = |step| {
        let all = facts(recording.session(), step);
        all.into_iter().filter(|fact| matches!(fact, Fact::Approval { .. })).collect::<Vec<_>>()
    };
    let denied = approvals(3);
    let [Fact::Approval { tool, tool_call_id, decision, by, reason, waited_ms, asked }] = denied.as_slice() else {
        panic!("{denied:?}")
    };
    assert_eq!((tool.as_str(), *decision, *waited_ms), ("shop.refund", Decision::Denied, Some(60_000)));
    assert_eq!(tool_call_id.as_deref(), Some("call-r3"));
    assert_eq!((by.as_deref(), reason.as_deref()), (Some("lead@example.test"), Some("Over the limit.")));
    assert_eq!((asked.prompt.as_deref(), asked.actors.len()), (Some("Refund 5 EUR?"), 1));
    assert!(matches!(approvals(4).as_slice(), [Fact::Approval { decision: Decision::Pending, .. }]));
}

#[test]
fn a_folder_is_listed_by_conversations() {
    let mut files = sandbox();
    files.push(("i-topic.json", story::topic().to_string()));
    files.push(("j-fork.json", story::fork_answer().to_string()));
    files.push(("k-draft.ndjson", story::draft_runs()));
    files.push(("l-problem.json", json!({"status": 409, "title": "Conflict"}).to_string()));
    let folder = Folder::new(&files);
    let mut names: Vec<String> = folder.sessions().sessions.iter().map(|listed| listed.id.clone().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["fs_1", "fs_9", "ts_8", "ts_d"]);
    for listed in folder.sessions().sessions {
        let recording = crate::formats::open_session(&listed.reference, &crate::formats::Patient).unwrap();
        assert_eq!(Some(&recording.session().id), listed.id.as_ref());
        assert_eq!(recording.session().source, listed.reference.path());
    }
    let fork = folder.sessions().sessions.into_iter().find(|listed| listed.id.as_deref() == Some("fs_9")).unwrap();
    let fork = crate::formats::open_session(&fork.reference, &crate::formats::Patient).unwrap();
    assert_eq!(fork.session().parent.as_ref().unwrap().session_id, "ts_8");
    assert_eq!(fork.prompt(1).unwrap(), "Once more?");
}

#[test]
fn several_conversations_have_to_be_named() {
    let files = [("a.json", story::messages()), ("b.json", story::topic().to_string())];
    let folder = Folder::new(&files);
    assert!(matches!(folder.try_open(), Err(OpenError::Several { .. })));
    assert_eq!(folder.named("ts_8").session().steps.len(), 2);
    assert_eq!(folder.named("a").session().steps.len(), 4);
}

#[test]
fn a_prompt_without_a_reply_gets_the_run_of_its_time() {
    let parked = story::record("r4", "IN_PROGRESS", 301, None);
    let late = story::record("r9", "COMPLETED", 9000, Some(9001));
    let folder = Folder::new(&[("a.json", story::messages()), ("b.json", json!([late, parked]).to_string())]);
    let listed = folder.sessions().sessions;
    assert_eq!(listed.len(), 2, "the run that no prompt claims is listed alone");
    let recording = folder.named("a");
    let session = recording.session();
    assert_eq!(session.steps[3].step_id, NodeId::Text("r4".into()));
    let inferred = session.report.problems.iter().filter(|problem| problem.message.contains("time alone"));
    assert_eq!(inferred.count(), 1);
}

#[test]
fn approvals_without_a_run_are_joined_by_time() {
    let mut narrowed = story::approvals()["items"].clone();
    for item in narrowed.as_array_mut().unwrap() {
        for key in ["executionRecordId", "sessionId", "toolCallId"] {
            item.as_object_mut().unwrap().remove(key);
        }
    }
    let folder = Folder::new(&[("a.json", story::messages()), ("b.json", narrowed.to_string())]);
    let recording = folder.open();
    assert!(matches!(facts(recording.session(), 3).as_slice(), [Fact::Approval { decision: Decision::Denied, .. }]));
    assert!(matches!(facts(recording.session(), 4).as_slice(), [Fact::Approval { decision: Decision::Pending, .. }]));
    let markers = recording.session().events.all().iter().filter_map(|event| event.marker.as_ref());
    assert!(markers.into_iter().all(|marker| marker.evidence == crate::model::Evidence::Inferred));
}

#[test]
fn frames_without_a_session_are_joined_by_time() {
    let folder = Folder::new(&[("a.json", story::messages()), ("b.sse", story::events())]);
    let recording = folder.open();
    assert!(matches!(facts(recording.session(), 4).as_slice(), [Fact::Approval { decision: Decision::Pending, .. }]));
    assert_eq!(recording.session().steps.len(), 4);
}

#[test]
fn what_a_record_does_not_count_its_trace_does() {
    let mut trace = story::fallback_trace();
    let tries = &mut trace["trace"]["traces"][0]["steps"];
    tries[1]["llmStepTrace"]["cachedTokens"] = json!(9);
    let folder = Folder::new(&[("a.json", story::records().to_string()), ("b.json", trace.to_string())]);
    let recording = folder.open();
    let usage = recording.session().steps[1].usage;
    assert_eq!((usage.input, usage.cache_read), (Some(100), Some(9)));
}

#[test]
fn rows_that_two_files_have_are_counted_once() {
    let polled: String = story::rows()
        .iter()
        .map(|row| {
            let mut row = row.clone();
            row["type"] = json!("message");
            format!("{row}\n")
        })
        .collect();
    let folder = Folder::new(&[("a.json", story::messages()), ("b.ndjson", polled)]);
    let recording = folder.open();
    let session = recording.session();
    assert_eq!(session.steps.len(), 4);
    assert_eq!((session.report.records.read, session.report.records.duplicate), (7, 7));
}

#[test]
fn a_consult_that_a_person_answers_is_a_question_step() {
    let ask = |agent: bool| {
        [
            json!({"type": "start", "schema_version": 1, "stream": "sandbox", "session": "fs_1"}),
            json!({"type": "pending_consult", "advisor": "lead", "question": "How much?", "operationId": "op-1", "advisorIsAgent": agent}),
            json!({"type": "turn_complete", "outcome": "suspended"}),
            json!({"type": "reply", "text": "Done.", "at": at(69)}),
            json!({"type": "turn_complete", "outcome": "replied"}),
        ]
        .map(|frame| format!("{frame}\n"))
        .concat()
    };
    let folder = Folder::new(&[("a.json", story::messages()), ("b.ndjson", ask(false))]);
    let recording = folder.open();
    let session = recording.session();
    let kinds: Vec<StepKind> = session.steps.iter().map(|step| step.kind).collect();
    assert_eq!(kinds[..3], [StepKind::Prompt, StepKind::Prompt, StepKind::QuestionAnswer]);
    assert_eq!((kinds.len(), session.steps[2].question_node_id.clone()), (5, Some(NodeId::Text("op-1".into()))));
    assert!(session.steps.windows(2).all(|pair| pair[0].events.end == pair[1].events.start));
    assert!(session.steps[2].fork_refusal.is_some());

    let folder = Folder::new(&[("a.json", story::messages()), ("b.ndjson", ask(true))]);
    assert_eq!(folder.open().session().steps.len(), 4, "an agent's answer is no step");
}

#[test]
fn runs_that_name_each_other_end() {
    let mut a = story::record("r1", "COMPLETED", 1, Some(2));
    let mut b = story::record("r2", "COMPLETED", 3, Some(4));
    a["parentExecutionRecordId"] = json!("r2");
    b["parentExecutionRecordId"] = json!("r1");
    let folder = Folder::new(&[("a.json", json!([a, b]).to_string())]);
    let recording = folder.open();
    let circle =
        |problem: &&crate::model::Problem| problem.kind == ProblemKind::Structure && problem.message.contains("circle");
    assert_eq!(recording.session().report.problems.iter().filter(circle).count(), 1);
    assert_eq!(recording.session().steps.len(), 1);
}
