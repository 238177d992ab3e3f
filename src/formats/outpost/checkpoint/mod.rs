//! Workflow checkpoints: the only place where Outpost keeps what approvals and questions said, who decided, and why.
//!
//! A gate that a person decides, or has still to decide, is a boundary of user input like a question: both are steps. What
//! happened before the first of them belongs to no step. Node ids are the keys of tasks; a step's id is that of the request.

mod task;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::document_session::{DocumentSession, Heading};
use super::fields::{dollars, text, time, usage};
use super::happenings::{Happening, Source};
use super::labels::shorten;
use super::stored_document::{self, StoredDocument, notice};
use crate::formats::OpenError;
use crate::model::{EventKind, FormatName, Locator, Problem, ProblemKind, Report, Timestamp, summarise};
use task::Task;

/// Larger ones are refused by Outpost; they are read here as far as documents are.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

const REFUSAL: &str = "a checkpoint is Outpost's own state of a workflow: it cannot be resumed from one that was cut";

/// The states of tasks that Outpost writes.
const STATUSES: [&str; 9] =
    ["waiting", "active", "done", "failed", "skipped", "cancelled", "paused", "rejected", "waiting-input"];

/// Opens a bare checkpoint file.
pub fn open(path: &Path) -> Result<DocumentSession, OpenError> {
    Ok(read(stored_document::bare(path)?, path))
}

/// Opens a checkpoint that is an object; `opened` is what the user named.
pub fn open_stored(path: &Path, opened: &Path) -> Result<DocumentSession, OpenError> {
    Ok(read(stored_document::in_object(path)?, opened))
}

/// The checkpoint in a document: bare, or in the envelope that says which process holds it.
pub fn content(document: &Value) -> &Value {
    match document.get("checkpoint") {
        Some(checkpoint) if document.get("format").is_none() => checkpoint,
        None if document.get("owner").is_some() => &Value::Null,
        _ => document,
    }
}

/// How a workflow stands, from the states of its tasks.
pub fn status(checkpoint: &Value) -> &'static str {
    let records = records(checkpoint);
    let has = |status: &str| records.iter().any(|record| text(record, "status") == status);
    // What keeps the run from going on comes before what is over.
    const WORDS: [&str; 6] = ["paused", "waiting-input", "active", "failed", "rejected", "cancelled"];
    if records.is_empty() {
        return "empty";
    }
    WORDS.into_iter().find(|status| has(status)).unwrap_or(if has("waiting") { "waiting" } else { "done" })
}

fn records(checkpoint: &Value) -> &[Value] {
    checkpoint.get("records").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn read(document: StoredDocument, opened: &Path) -> DocumentSession {
    let mut report = document.report;
    if document.file.len() > MAX_BYTES {
        let message = "Outpost would refuse it: it is larger than 16 MiB";
        report.notice(notice("document", ProblemKind::Refused, message));
    }
    check_owner(&document.value, &mut report);
    let checkpoint = content(&document.value);
    let path: Arc<Path> = document.file.path().into();
    let mut happenings = Vec::new();
    if checkpoint.get("records").is_none_or(|records| !records.is_array()) {
        report.notice(notice("records", ProblemKind::Structure, "the checkpoint has no list of records"));
    }
    for (index, record) in records(checkpoint).iter().enumerate() {
        count(index as u64, record, &mut report);
        let source =
            Source { path: path.clone(), locator: Locator::Index(index as u64), record: Arc::new(record.clone()) };
        let output = checkpoint.get("values").and_then(|values| values.get(text(record, "key")));
        if record.is_object() {
            Task { record, source, output }.tell(&mut happenings);
        } else {
            let label = "a record that is no object".to_owned();
            happenings.push(Happening::new(EventKind::Unreadable, "", None, label, &source).text(record.to_string()));
        }
    }
    check_values(checkpoint, &mut report);
    let id = match text(checkpoint, "executionId") {
        "" => document.file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        id => shorten(id),
    };
    let has_steps = happenings.iter().any(|happening| happening.step.is_some());
    let mut usage = usage(checkpoint.get("usage").unwrap_or(&Value::Null), "tokens");
    usage.cost = dollars(checkpoint.get("usage").and_then(|usage| usage.get("cost")));
    let heading = Heading {
        id,
        // The name of a workflow is not stored.
        title: (!has_steps).then(|| tasks_title(checkpoint)),
        format: FormatName::OutpostCheckpoint,
        opened: opened.to_owned(),
        started_at: None,
        ended_at: None,
        usage,
        nodes: records(checkpoint).len(),
        report,
        refusal: REFUSAL,
    };
    DocumentSession::new(heading, vec![document.file], happenings)
}

fn tasks_title(checkpoint: &Value) -> String {
    let keys: Vec<&str> = records(checkpoint).iter().take(16).map(|record| text(record, "key")).collect();
    summarise(&format!("workflow {}", keys.join(", ")))
}

/// The title that a list shows: the first question, or the tasks.
pub fn title(checkpoint: &Value) -> String {
    let asked = records(checkpoint).iter().find_map(|record| {
        let pause = record.get("pause").and_then(|pause| pause.get("prompt"));
        let request = record.get("interaction").and_then(|interaction| interaction.get("request"));
        pause.or(request.and_then(|request| request.get("question")))?.as_str()
    });
    asked.map_or_else(|| tasks_title(checkpoint), summarise)
}

/// When the first task of a checkpoint started, and when the last thing in it happened.
pub fn times(checkpoint: &Value) -> (Option<Timestamp>, Option<Timestamp>) {
    let at = |record: &Value, path: &[&str], key: &str| {
        let part = path.iter().try_fold(record, |value, key| value.get(*key));
        part.and_then(|part| time(part, key))
    };
    let started = records(checkpoint).iter().filter_map(|record| time(record, "startedAt")).min();
    let all = records(checkpoint).iter().flat_map(|record| {
        [
            at(record, &[], "startedAt"),
            at(record, &[], "finishedAt"),
            at(record, &["pause"], "requestedAt"),
            at(record, &["decision"], "decidedAt"),
            at(record, &["interaction", "request"], "requestedAt"),
            at(record, &["quota"], "requestedAt"),
        ]
    });
    (started, all.flatten().max())
}

/// Whether a person was asked something in it.
pub fn asks(document: &Value) -> bool {
    let is_asked = |record: &Value| {
        record.get("pause").is_some() || record.get("interaction").is_some_and(|asked| asked.get("request").is_some())
    };
    records(content(document)).iter().any(is_asked)
}

fn count(index: u64, record: &Value, report: &mut Report) {
    let status = text(record, "status");
    let problem = if !record.is_object() {
        Some((ProblemKind::Unreadable, "the record is no object".to_owned()))
    } else if text(record, "key").is_empty() {
        Some((ProblemKind::Unknown, "the record has no key".to_owned()))
    } else if !STATUSES.contains(&status) {
        Some((ProblemKind::Unknown, format!("the record has the unknown status \"{}\"", shorten(status))))
    } else {
        None
    };
    match problem {
        None => report.records.count_read(),
        Some((kind, message)) => {
            report.records.count(kind);
            report.push(Problem { locator: Locator::Index(index), offset: None, kind, message, file: None });
        }
    }
}

fn check_owner(document: &Value, report: &mut Report) {
    if document.get("owner").is_some_and(Value::is_string) {
        let message = "a process holds this checkpoint, or died while it held it";
        report.notice(notice("owner", ProblemKind::Structure, message));
    }
    if document.get("owner").is_some() && document.get("checkpoint").is_none() {
        report.notice(notice("checkpoint", ProblemKind::Structure, "nothing has been saved in this checkpoint yet"));
    }
}

/// Outputs are there for exactly the tasks that are done.
fn check_values(checkpoint: &Value, report: &mut Report) {
    let Some(values) = checkpoint.get("values").and_then(Value::as_object) else { return };
    let done: std::collections::HashSet<&str> = records(checkpoint)
        .iter()
        .filter(|record| text(record, "status") == "done")
        .map(|record| text(record, "key"))
        .collect();
    let astray = values.keys().filter(|key| !done.contains(key.as_str())).count();
    let missing = done.iter().filter(|key| !values.contains_key(**key)).count();
    if astray + missing > 0 {
        let message = format!(
            "Outpost would refuse it: {astray} outputs belong to no task that is done, {missing} tasks that are done have none"
        );
        report.notice(notice("values", ProblemKind::Refused, &message));
    }
}
