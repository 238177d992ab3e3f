//! Outpost journals.

use std::sync::Arc;

use super::detect::Sample;
use super::{Format, Observer, OpenError, Recording};
use crate::model::FormatName;
use crate::store::SourceFile;

pub const FORMAT: Format = Format {
    name: FormatName::OutpostJournal,
    description: "Outpost journal (.json, .jsonl)",
    recognise,
    first_prompt: |_| None,
    open,
};

fn recognise(_: &Sample) -> u32 {
    0
}

fn open(_: Arc<SourceFile>, _: &Sample, _: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    unimplemented!()
}
