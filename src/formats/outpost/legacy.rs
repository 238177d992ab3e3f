//! Logs of Outpost 1 to 5: one entry a line, without number, source and scope.
//!
//! The entries are those of a journal, so they are read by its rules; what an agent's kind of entry has no source for is
//! taken as the agent's.

use std::sync::Arc;

use super::entries::{Entries, Form};
use super::read::{Reader, read_file};
use crate::formats::detect::Sample;
use crate::formats::source::Part;
use crate::formats::{Observer, OpenError, Recording, mixed_notice};
use crate::model::FormatName;
use crate::store::SourceFile;

/// Opens a log that was found among the files of a source.
pub fn open(part: &Part, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let file = Arc::new(SourceFile::open(&part.path)?);
    let sample = Sample::take(&file)?;
    open_file(file, &sample, observer)
}

fn open_file(file: Arc<SourceFile>, sample: &Sample, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let source = file.path().to_owned();
    let entries = Entries::file(file, sample.framing(), Form::Flat);
    let mut reader = Reader::new(entries, source, FormatName::OutpostLegacyLog);
    if let Some(notice) = mixed_notice(sample) {
        reader.report.notice(notice);
    }
    Ok(Arc::new(read_file(reader, observer)?.finish()))
}
