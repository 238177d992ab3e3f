//! Logs of Outpost 1 to 5: one entry a line, without number, source and scope.
//!
//! The entries are those of a journal, so they are read by its rules; what an agent's kind of entry has no source for is
//! taken as the agent's.

use std::sync::Arc;

use serde_json::Value;

use super::first_prompt;
use super::kind::Kind;
use super::read::{Reader, read_file};
use super::shelf::{Form, Shelf};
use crate::formats::detect::{Sample, Shape};
use crate::formats::source::Part;
use crate::formats::{Format, Observer, OpenError, Reading, Recording, mixed_notice};
use crate::model::FormatName;
use crate::store::SourceFile;

pub const FORMAT: Format = Format {
    name: FormatName::OutpostLegacyLog,
    description: "Outpost log of releases 1 to 5 (.jsonl)",
    recognise,
    first_prompt,
    read: Reading::Alone(open_file),
};

/// 4 points for lines with a known kind and a time, none of which says who wrote it.
fn recognise(sample: &Sample) -> u32 {
    let has_source = sample.records.iter().any(|record| record.get("source").is_some());
    if sample.shape != Shape::Lines || has_source {
        return 0;
    }
    if sample.records.iter().any(is_entry) { 4 } else { 0 }
}

fn is_entry(record: &Value) -> bool {
    let is_known = record.get("kind").and_then(Value::as_str).is_some_and(|kind| Kind::of(kind) != Kind::Unknown);
    is_known && record.get("at").is_some_and(Value::is_string)
}

/// Opens a log that was found among the files of a source.
#[allow(dead_code)] // for the family that reads all of Outpost's files together
pub fn open(part: &Part, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let file = Arc::new(SourceFile::open(&part.path)?);
    let sample = Sample::take(&file)?;
    open_file(file, &sample, observer)
}

fn open_file(file: Arc<SourceFile>, sample: &Sample, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let source = file.path().to_owned();
    let shelf = Shelf::file(file, sample.framing(), Form::Flat);
    let mut reader = Reader::new(shelf, source, FormatName::OutpostLegacyLog);
    if let Some(notice) = mixed_notice(sample) {
        reader.report.notice(notice);
    }
    Ok(Arc::new(read_file(reader, observer)?.finish()))
}
