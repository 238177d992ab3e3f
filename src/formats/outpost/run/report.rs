//! The JSON report of a dispatch: what it came to, without its events.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::snapshot::commits;
use crate::formats::outpost::document_session::{DocumentSession, Heading};
use crate::formats::outpost::fields::{dollars, short, text, usage};
use crate::formats::outpost::happenings::{Happening, Replayed, Source};
use crate::formats::outpost::labels::shorten;
use crate::formats::outpost::stored_document::StoredDocument;
use crate::model::{EventKind, Fact, FormatName, Locator, summarise};

/// A report has no times and no steps.
pub fn session(document: StoredDocument) -> DocumentSession {
    let report = &document.value;
    let path: Arc<Path> = document.file.path().into();
    let source = Source { path, locator: Locator::Key("report".to_owned()), record: Arc::new(report.clone()) };
    let happenings = facts(report, &source);
    let mut usage = usage(report, "usage");
    usage.cost = dollars(report.get("cost"));
    let mut counted = document.report;
    counted.records.count_read();
    let heading = Heading {
        id: document.file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        title: Some(summarise(text(report, "text"))).filter(|title| !title.is_empty()),
        format: FormatName::OutpostRun,
        opened: document.file.path().to_owned(),
        started_at: None,
        ended_at: None,
        usage,
        nodes: happenings.len(),
        report: counted,
        refusal: "a report is what Outpost says of a dispatch when it is over: nothing can go on from it",
    };
    DocumentSession::new(heading, vec![document.file], happenings)
}

fn facts(report: &Value, source: &Source) -> Vec<Happening> {
    let mut out = Vec::new();
    let event = |kind, label: String, source: &Source| Happening::new(kind, "report", None, label, source);
    let part = |part: &Value| Source { record: Arc::new(part.clone()), ..source.clone() };
    for tool in list(report, "failedTools") {
        let (name, preview) = (text(tool, "tool"), text(tool, "preview"));
        let command = text(tool, "command");
        let fact = Fact::Failure { code: None, message: shorten(preview) };
        let failed =
            event(EventKind::Failure, format!("{name} {command} failed: {preview}"), &part(tool)).recorded(fact);
        out.push(failed.replayed(Replayed::Fields(&["tool", "command", "preview", "pass", "subagentId"])));
    }
    if let Some(more) = report.get("omittedFailures").and_then(Value::as_u64).filter(|more| *more > 0) {
        let more = event(EventKind::Notice, format!("{more} more failures of tools are left out"), source);
        out.push(more.replayed(Replayed::Fields(&["omittedFailures"])));
    }
    for warning in list(report, "warnings") {
        let said = warning.as_str().map_or_else(|| warning.to_string(), str::to_owned);
        out.push(event(EventKind::Notice, format!("warning: {said}"), &part(warning)).text(said));
    }
    let files = report.get("diff").map(|diff| list(diff, "files")).unwrap_or_default();
    for file in files {
        let paths: Vec<&str> = list(file, "paths").iter().filter_map(Value::as_str).collect();
        let lines = |key| file.get(key).and_then(Value::as_u64).unwrap_or(0);
        let label = format!("{} +{} -{}", paths.join(" → "), lines("added"), lines("removed"));
        let change = event(EventKind::FileChange, label, &part(file));
        out.push(change.replayed(Replayed::Fields(&["paths", "added", "removed", "binary"])));
    }
    let made = event(EventKind::Commits, String::new(), source).replayed(Replayed::Fields(&["commits", "branch"]));
    out.extend(commits(report, made));
    let answer = text(report, "text");
    if !answer.is_empty() {
        let said = event(EventKind::Text, answer.to_owned(), source).text(answer.to_owned());
        out.push(said.replayed(Replayed::Fields(&["text"])));
    }
    let completed = report.get("completed").and_then(Value::as_bool) == Some(true);
    let label = if completed { "dispatch completed" } else { "dispatch ended without completing" };
    let mut end = event(EventKind::Notice, label.to_owned(), source);
    end.duration_ms = report.get("durationMs").and_then(Value::as_f64).filter(|ms| *ms >= 0.0).map(|ms| ms as i64);
    end.text = short(report, "branch").map(|branch| format!("branch {branch}"));
    out.push(end.replayed(Replayed::Fields(&["completed", "durationMs", "branch"])));
    out
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
