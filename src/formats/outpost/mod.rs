//! What Outpost keeps: journals and other event logs, checkpoints of workflows, transcripts of its own harness, runs, and
//! the storage folder that holds all of these.
//!
//! A journal is the durable event log of one dispatch, as a JSON array of flattened entries or one entry a line. It has no
//! header and stores no turns; they are derived from its entries by Outpost's replay rules ([`turns`]). Steps are these
//! turns. Node ids are entry numbers, from 0.

mod asked;
mod base85;
mod body;
mod chain;
mod check;
mod checkpoint;
mod content;
mod conversation;
mod cut;
mod delta;
mod dropped;
mod entry;
mod events;
mod facts;
mod family;
mod joined;
mod journal;
mod kind;
mod labels;
mod legacy;
mod markers;
mod nested;
mod note;
mod object;
mod objects;
mod observations;
mod paper;
mod patch;
mod question;
mod read;
mod recognise;
mod replay;
mod run;
mod select;
mod shelf;
mod storage;
mod tokens;
mod told;
mod transcript;
mod turns;
mod values;
mod workflow;

use std::sync::Arc;

use super::detect::Sample;
use super::{Observer, OpenError, Recording, mixed_notice};
use crate::store::SourceFile;
pub use family::{CHECKPOINT, JOURNAL, LEGACY, OBSERVATIONS, RUN, STORAGE, TRANSCRIPT};

/// Opens a journal.
fn open(file: Arc<SourceFile>, sample: &Sample, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let mut journal = read::read(file, sample.framing(), observer)?;
    if let Some(notice) = mixed_notice(sample) {
        journal.session.report.notice(notice);
    }
    Ok(Arc::new(journal))
}

#[cfg(test)]
mod tests;
