//! Forks and reverts: what they keep, byte for byte, and what they say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::story::{self, at, sandbox};
use super::{Folder, alone, summaries};
use crate::formats::{Cut, Effect, Fork, Patient, Recording, Refusal, open};
use crate::store::{Watch, write_new};

fn written(fork: &Fork, folder: &Path) -> (PathBuf, String) {
    let path = folder.join(&fork.file_name);
    write_new(&path, &fork.rewrite, Watch::none()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

fn forked(recording: &dyn Recording, cut: Cut) -> (tempfile::TempDir, Arc<dyn Recording>, String) {
    let fork = recording.fork(cut, Watch::none()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (path, text) = written(&fork, folder.path());
    let opened = open(&path, &Patient).unwrap();
    assert_eq!(opened.session().steps.len(), fork.steps as usize, "{text}");
    assert_eq!(opened.session().id, fork.session_id);
    (folder, opened, text)
}

#[test]
fn a_fork_of_a_page_is_a_page() {
    let (_folder, recording) = alone("m.json", story::messages());
    let (_fork, opened, text) = forked(&*recording, Cut::After(2));
    assert_eq!(text, story::page(&story::rows()[..4]));
    assert_eq!(summaries(opened.session()), ["Where is my lamp?", "Send it back."]);
    let (_fork, opened, _) = forked(&*recording, Cut::Before(2));
    assert_eq!(opened.session().steps.len(), 1);
    assert!(matches!(recording.fork(Cut::Before(1), Watch::none()), Err(Refusal::Rule(_))));
    assert!(matches!(recording.fork(Cut::After(9), Watch::none()), Err(Refusal::NoStep { step: 9, steps: 4 })));
}

#[test]
fn a_fork_of_a_transcript_keeps_its_order() {
    let rows = story::topic();
    let lines: Vec<String> = rows.as_array().unwrap().iter().map(Value::to_string).collect();
    let (_folder, recording) = alone("t.json", format!("[\n  {}\n]\n", lines.join(",\n  ")));
    let (_fork, opened, text) = forked(&*recording, Cut::After(1));
    assert_eq!(text, format!("[\n  {}\n]\n", lines[2..].join(",\n  ")));
    assert_eq!(summaries(opened.session()), ["Hi"]);
    assert_eq!(opened.prompt(1).unwrap(), "Hi", "without its frame");
    let (_fork, _, whole) = forked(&*recording, Cut::After(2));
    assert_eq!(whole.len(), std::fs::metadata(recording.files()[0].path()).unwrap().len() as usize);
}

#[test]
fn a_fork_of_a_stream_keeps_its_lines() {
    let both = format!("{}{}", story::stream(), story::stream().replace("ap-3", "ap-5").replace("call-r3", "c5"));
    let (_folder, recording) = alone("s.ndjson", &both);
    assert_eq!(recording.session().steps.len(), 2);
    let (_fork, _, text) = forked(&*recording, Cut::After(1));
    assert!(text.starts_with(&story::stream()), "{text}");
    assert!(!text.contains("ap-5"));
    let (_folder, recording) = alone("d.ndjson", story::draft_runs());
    let (_fork, _, text) = forked(&*recording, Cut::After(1));
    assert!(story::draft_runs().starts_with(&text));
    let events = story::events() + &story::events().replace("ap-4", "ap-6").replace("suspended", "replied");
    let (_folder, recording) = alone("e.sse", events.replacen("suspended", "replied", 1));
    let (_fork, _, text) = forked(&*recording, Cut::After(1));
    assert!(text.starts_with(": keep-alive") && !text.contains("ap-6"));
}

#[test]
fn a_fork_stands_alone_beside_its_original() {
    let folder = Folder::new(&sandbox());
    let recording = folder.open();
    let fork = recording.fork(Cut::After(2), Watch::none()).unwrap();
    assert_eq!(fork.warnings.len(), 1, "{:?}", fork.warnings);
    written(&fork, folder.paths[0].parent().unwrap());
    let mut names: Vec<String> = folder.sessions().sessions.iter().map(|listed| listed.id.clone().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["fs_1".to_owned(), fork.session_id]);
    assert_eq!(folder.open().session().steps.len(), 4);
}

#[test]
fn a_revert_counts_as_the_server_does() {
    let folder = Folder::new(&sandbox());
    let recording = folder.open();
    let revert = recording.revert(3, Watch::none()).unwrap();
    assert_eq!(revert.rewind, Some(story::rewind()));
    assert_eq!((revert.keeps_steps, revert.prefill.as_deref()), (2, Some("And the money?")));
    assert_eq!(revert.prefill_at.unwrap().0, at(120));
    assert_eq!(
        (revert.dropped.runs, revert.dropped.cancelled_runs, revert.dropped.console_rows),
        (Some(2), Some(1), Some(3))
    );
    assert_eq!(revert.dropped.pending_approvals, [("shop.refund".to_owned(), Some("call-r4".to_owned()))]);
    let request = r#"fruxon/sessions/fs_1:rewind {"executionRecordId":"r3"}"#;
    assert!(revert.warnings.iter().any(|warning| warning.ends_with(request)), "{:?}", revert.warnings);
    let Effect::Export(fork) = revert.effect else { panic!() };
    let (_, text) = written(&fork, &tempfile::tempdir().unwrap().keep());
    assert_eq!(text, story::page(&story::rows()[..4]));

    let last = recording.revert(4, Watch::none()).unwrap().rewind.unwrap();
    let counts = ["droppedRuns", "cancelledRuns", "droppedMessages", "droppedConsoleRows"].map(|key| last[key].clone());
    assert_eq!(counts, [json!(1), json!(1), json!(0), json!(1)]);
}

#[test]
fn a_revert_says_what_the_server_would_refuse() {
    let warnings = |recording: &dyn Recording, step| recording.revert(step, Watch::none()).unwrap().warnings.join("\n");
    let (_folder, recording) = alone("m.json", story::messages());
    assert!(warnings(&*recording, 4).contains("404"));
    assert!(!warnings(&*recording, 3).contains("40"));
    let unknown = recording.revert(3, Watch::none()).unwrap();
    assert_eq!(unknown.dropped.cancelled_runs, None, "no file says how the last run stands");
    let going = story::record("r4", "IN_PROGRESS", 301, None);
    let folder = Folder::new(&[("a.json", story::messages()), ("b.json", json!([going]).to_string())]);
    assert!(warnings(&*folder.open(), 3).contains("409"));
    let (_folder, recording) = alone("t.json", story::topic());
    let revert = recording.revert(2, Watch::none()).unwrap();
    assert!(revert.warnings.join("\n").contains("400") && revert.rewind.is_none());
}

#[test]
fn the_first_step_is_reverted_by_the_server_only() {
    let (_folder, recording) = alone("m.json", story::messages());
    let revert = recording.revert(1, Watch::none()).unwrap();
    assert!(matches!(revert.effect, Effect::Preview(_)));
    assert_eq!(revert.rewind.unwrap()["droppedConsoleRows"], 7);
    assert_eq!(recording.session().steps[0].revert_target, None);
}

#[test]
fn one_run_is_not_cut() {
    for content in [
        story::fallback_trace(),
        story::records(),
        story::approvals(),
        story::rewind(),
        story::fork_answer(),
        story::tree(),
    ] {
        let (_folder, recording) = alone("r.json", content);
        assert!(matches!(recording.fork(Cut::After(1), Watch::none()), Err(Refusal::Rule(_))));
        assert!(matches!(recording.revert(1, Watch::none()), Err(Refusal::Rule(_))));
    }
}
