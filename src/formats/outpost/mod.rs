//! Outpost journals: the durable event log of one dispatch, as a JSON array of flattened entries or one entry a line.
//!
//! A journal has no header and stores no turns; they are derived from its entries by Outpost's replay rules
//! ([`turns`]). Steps are these turns. Node ids are entry numbers, from 0.

mod base85;
mod body;
mod check;
mod cut;
mod dropped;
mod entry;
mod events;
mod journal;
mod kind;
mod labels;
mod markers;
mod patch;
mod question;
mod read;
pub(super) mod recover;
mod replay;
mod tokens;
mod turns;

use std::sync::Arc;

use serde_json::Value;

use super::detect::{Sample, Shape};
use super::{Format, Observer, OpenError, Reading, Recording, mixed_notice};
use crate::model::{FormatName, summarise};
use crate::store::SourceFile;
use kind::Kind;

pub const FORMAT: Format = Format {
    name: FormatName::OutpostJournal,
    description: "Outpost journal (.json, .jsonl)",
    recognise,
    first_prompt,
    read: Reading::Alone(open),
};

/// The first prompt among the sample's entries, as one line.
fn first_prompt(sample: &Sample) -> Option<String> {
    let text = |entry: &Value| Some(entry.get("text")?.as_str()?.to_owned());
    let prompt = sample.records.iter().find(|entry| entry.get("kind").and_then(Value::as_str) == Some("prompt"));
    prompt.and_then(text).map(|text| summarise(&text))
}

/// 10 points for an entry with the envelope of 7.0 and later, 6 for one whose kind and source are known, 4 for a known
/// kind with a time, as older releases wrote them.
fn recognise(sample: &Sample) -> u32 {
    if !matches!(sample.shape, Shape::Array { .. } | Shape::Lines) {
        return 0;
    }
    sample.records.iter().map(points).max().unwrap_or(0)
}

fn points(record: &Value) -> u32 {
    let Some(kind) = record.get("kind").and_then(Value::as_str) else { return 0 };
    let is_known = Kind::of(kind) != Kind::Unknown;
    let has_scope = record.get("scope").is_some_and(Value::is_object);
    let has_time = record.get("at").is_some_and(Value::is_string);
    match record.get("source").and_then(Value::as_str) {
        Some(_) if record.get("seq").is_some_and(Value::is_u64) && (is_known || has_scope) => 10,
        Some(source) if is_known && is_source(source) => 6,
        None if is_known && has_time => 4,
        _ => 0,
    }
}

fn is_source(name: &str) -> bool {
    const SOURCES: [&str; 10] =
        ["agent", "harness", "workflow", "sandbox", "git", "hooks", "transfer", "conversation", "recovery", "decision"];
    SOURCES.contains(&name)
}

fn open(file: Arc<SourceFile>, sample: &Sample, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let mut journal = read::read(file, sample.framing(), observer)?;
    if let Some(notice) = mixed_notice(sample) {
        journal.session.report.notice(notice);
    }
    Ok(Arc::new(journal))
}

#[cfg(test)]
mod tests;
