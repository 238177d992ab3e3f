//! ATIF, the Agent Trajectory Interchange Format: one JSON document with a list of steps, as converters and agents
//! export it.
//!
//! A step of the format is a message; what Stepline calls a step are the user's messages and answers among them. Node ids
//! are the `step_id` numbers.

mod cut;
mod events;
mod finish;
mod nested;
mod outline;
mod question;
mod read;
mod record;
mod totals;
mod trajectory;
mod verdict;

use std::sync::Arc;

use serde_json::Value;

use super::claude::prompt::{Spoken, classify};
use super::detect::{Sample, Shape};
use super::{Format, Observer, OpenError, Reading, Recording};
use crate::model::{FormatName, summarise};
use crate::store::SourceFile;

pub(super) use cut::file_name;

pub const FORMAT: Format = Format {
    name: FormatName::Atif,
    description: "ATIF trajectory (.json)",
    recognise,
    first_prompt,
    read: Reading::Alone(open),
};

/// 10 points for the one document whose version is one of the format's.
fn recognise(sample: &Sample) -> u32 {
    match sample.records.as_slice() {
        [document] if matches!(sample.shape, Shape::Document | Shape::Lines) => {
            let version = document.get("schema_version").and_then(Value::as_str).unwrap_or_default();
            if version.starts_with("ATIF-v") { 10 } else { 0 }
        }
        _ => 0,
    }
}

fn first_prompt(sample: &Sample) -> Option<String> {
    let steps = sample.records.first()?.get("steps")?.as_array()?;
    steps.iter().filter(|step| step.get("source").and_then(Value::as_str) == Some("user")).find_map(|step| {
        let text = record::text_of(step.get("message")?, &mut Vec::new());
        match classify(&text) {
            Spoken::Person(text) => Some(summarise(text)),
            _ => None,
        }
    })
}

fn open(file: Arc<SourceFile>, _: &Sample, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    Ok(Arc::new(read::read(file, observer)?))
}

#[cfg(test)]
mod tests;
