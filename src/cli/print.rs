//! Results as text for people: plain columns, nothing that a terminal would obey.

use std::io::Write;

use serde_json::Value;

use super::CliError;
use crate::formats::Listed;
use crate::model::{Problem, Session, Step, clock};
use crate::workspace::text::visible;
use crate::workspace::words;

/// Writes one JSON document.
pub fn json(out: &mut dyn Write, value: &Value) -> Result<(), CliError> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// A text from a session as one line that a terminal shows and does not obey.
pub fn harmless(text: &str) -> String {
    visible(&text.replace(['\n', '\r', '\t'], " ")).into_owned()
}

/// The same for a text of several lines.
pub fn harmless_lines(text: &str) -> String {
    text.lines().map(|line| harmless(line.trim_end())).collect::<Vec<_>>().join("\n")
}

/// `id  27 steps  2026-11-30 17:00  title`.
pub fn session_line(session: &Session) -> String {
    let at = session.ended_at.map_or_else(|| "–".to_owned(), |at| clock(at, "%Y-%m-%d %H:%M"));
    let steps = words::count(session.steps.len() as u64, "step", "steps");
    let title = harmless(session.title.as_deref().unwrap_or("(no title)"));
    format!("{}  {:>9}  {at:<16}  {}  {title}", harmless(&session.id), steps, session.format.as_str())
}

/// The same for a session that was not read: `id  running  2026-11-30 17:00  title`.
pub fn listed_line(listed: &Listed) -> String {
    let at = listed.ended_at.map_or_else(|| "–".to_owned(), |at| clock(at, "%Y-%m-%d %H:%M"));
    let status = harmless(listed.status.as_deref().unwrap_or("not read"));
    let title = harmless(listed.title.as_deref().unwrap_or("(no title)"));
    let id = harmless(listed.id.as_deref().unwrap_or("–"));
    format!("{id}  {status:>9}  {at:<16}  {}  {title}", listed.format.as_str())
}

/// `  4  question  14:22:08  Which storage? -> SQLite  [approved, fallback]`.
pub fn step_line(session: &Session, step: &Step) -> String {
    let at = step.at.map_or_else(|| "–".to_owned(), |at| clock(at, "%H:%M:%S"));
    let mut markers: Vec<&str> = Vec::new();
    for marker in session.events.glances(step.events.clone()).filter_map(|event| event.marker) {
        if !markers.contains(&marker.word()) {
            markers.push(marker.word());
        }
    }
    let markers = if markers.is_empty() { String::new() } else { format!("  [{}]", markers.join(", ")) };
    let summary = harmless(&step.summary);
    format!("{:>5}  {:<8}  {at:<8}  {:<11}  {summary}{markers}", step.number, step.kind.word(), step.outcome.word())
}

/// `line 12, offset 4711: unreadable: …`.
pub fn problem_line(problem: &Problem) -> String {
    let offset = problem.offset.map(|offset| format!(", offset {offset}")).unwrap_or_default();
    let file = problem.file.as_deref().map(|file| format!(": {file}")).unwrap_or_default();
    format!(
        "{}{offset}: {}: {}{file}",
        harmless(&problem.locator.words()),
        problem.kind.word(),
        harmless(&problem.message)
    )
}
