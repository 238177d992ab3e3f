//! What holds for every fork and every revert, checked on whatever recording is given.

use std::path::Path;
use std::sync::Arc;

use super::open_path;
use crate::formats::{Cut, Recording, Refusal};
use crate::model::{EventKind, Session, Step};
use crate::store::{Watch, write_new};

/// Forks every step and reopens the fork.
pub fn check_forks(recording: &dyn Recording, name: &str) {
    check(recording, name, true);
}

/// The same for a file whose records may point anywhere: steps must be the same, turns may have lost what hung elsewhere.
pub fn check_forks_of_harmed(recording: &dyn Recording, name: &str) {
    check(recording, name, false);
}

fn check(recording: &dyn Recording, name: &str, strict: bool) {
    let session = recording.session();
    for step in &session.steps {
        let fork = match recording.fork(Cut::After(step.number), Watch::none()) {
            Ok(fork) => fork,
            Err(Refusal::Rule(reason)) => {
                assert!(step.fork_refusal.is_some() || reason.contains("without a result"), "{name}: {reason}");
                continue;
            }
            Err(other) => panic!("{name}: {other}"),
        };
        let folder = tempfile::tempdir().unwrap();
        let forked = reopen(&fork.rewrite, &fork.companions, folder.path(), &fork.file_name);
        let context = format!("{name}: fork of step {}: {:?}", step.number, fork.warnings);
        let copy = forked.session();
        assert_eq!(copy.id, fork.session_id, "{context}");
        assert_eq!(copy.steps.len(), fork.steps as usize, "{context}");
        let trimmed = fork.warnings.iter().any(|warning| warning.contains("left out"));
        if !trimmed {
            assert_eq!(fork.steps, step.number, "{context}");
            if strict && fork.warnings.is_empty() && step.question_node_id.is_none() && !hangs_beside(recording, step) {
                assert_eq!(copy.head.as_ref(), step.fork_target.as_ref(), "{context}");
            }
        }
        let whole = copy.steps.len().saturating_sub(1);
        for (at, (old, new)) in session.steps.iter().zip(&copy.steps).enumerate() {
            same_step(old, new, &context);
            // A question's fork ends with its answer; a prompt's before the next question of its turn.
            let asks_next = session.steps.get(at + 1).is_some_and(|next| next.question_node_id.is_some());
            if !strict || trimmed || (at == whole && (old.question_node_id.is_some() || asks_next)) {
                continue;
            }
            assert_eq!(old.usage, new.usage, "{context}");
            assert_eq!(old.model, new.model, "{context}");
            assert_eq!(kinds(session, old), kinds(copy, new), "{context}");
        }
        let records = copy.report.records;
        assert_eq!((records.duplicate, records.unreadable, records.torn), (0, 0, 0), "{context}");
        if !session.steps.is_empty() && copy.steps.iter().all(|step| step.origin.is_none()) {
            assert_eq!(
                copy.parent.as_ref().map(|parent| parent.session_id.as_str()),
                Some(session.id.as_str()),
                "{context}"
            );
        }
    }
}

/// Whether results of parallel calls hang on the last record of a step, which then is not the last of its fork.
fn hangs_beside(recording: &dyn Recording, step: &Step) -> bool {
    let target = format!("\"parentUuid\":\"{}\"", step.fork_target.as_ref().unwrap());
    let text = recording.files()[0].read_at(0, recording.files()[0].len() as usize).unwrap();
    String::from_utf8_lossy(&text).lines().any(|line| line.contains(&target) && line.contains("tool_result"))
}

fn same_step(old: &Step, new: &Step, context: &str) {
    assert_eq!(old.number, new.number, "{context}");
    assert_eq!(old.step_id, new.step_id, "{context}");
    assert_eq!(old.kind, new.kind, "{context}");
    assert_eq!(old.summary, new.summary, "{context}");
    assert_eq!(old.tool_call_id, new.tool_call_id, "{context}");
    assert_eq!(old.at, new.at, "{context}");
    assert_eq!(old.origin, new.origin, "{context}");
}

/// Kinds of a step's events, without those of records outside the chain, which a fork does not have.
fn kinds(session: &Session, step: &Step) -> Vec<EventKind> {
    let loose = |event: &&crate::model::Event| {
        !matches!(event.kind, EventKind::Unknown | EventKind::Unreadable)
            && !event.label.starts_with("permission mode: ")
    };
    session.events_of(step).iter().filter(loose).map(|event| event.kind).collect()
}

/// Reverts every step and reopens the file.
pub fn check_reverts(recording: &dyn Recording, name: &str) {
    let session = recording.session();
    for step in &session.steps {
        let context = format!("{name}: revert of step {}", step.number);
        let revert = match recording.revert(step.number, Watch::none()) {
            Ok(revert) => revert,
            Err(Refusal::Rule(_)) => {
                assert!(step.revert_refusal.is_some(), "{context}");
                continue;
            }
            Err(other) => panic!("{context}: {other}"),
        };
        let folder = tempfile::tempdir().unwrap();
        let file_name = recording.files()[0].path().file_name().unwrap().to_string_lossy().into_owned();
        let reverted = reopen(revert.rewrite(), &[], folder.path(), &file_name);
        let left = reverted.session();
        assert_eq!(left.steps.len(), revert.keeps_steps as usize, "{context}");
        if !revert.warnings.iter().any(|warning| warning.contains("slash command")) {
            assert_eq!(revert.keeps_steps, step.number - 1, "{context}");
        }
        assert_eq!(left.head, step.revert_target, "{context}");
        for (old, new) in session.steps.iter().zip(&left.steps) {
            same_step(old, new, &context);
        }
        assert_eq!(revert.prefill.is_some(), step.question_node_id.is_none(), "{context}");
    }
}

fn reopen(
    rewrite: &crate::store::Rewrite,
    companions: &[(std::path::PathBuf, crate::store::Rewrite)],
    folder: &Path,
    file_name: &str,
) -> Arc<dyn Recording> {
    let path = folder.join(file_name);
    write_new(&path, rewrite, Watch::none()).unwrap();
    for (relative, rewrite) in companions {
        let path = folder.join(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_new(&path, rewrite, Watch::none()).unwrap();
    }
    open_path(&path)
}
