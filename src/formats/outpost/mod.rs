//! What Outpost keeps: journals and other event logs, checkpoints of workflows, transcripts of its own harness, runs, and
//! the storage folder that holds all of these.
//!
//! A journal is the durable event log of one dispatch, as a JSON array of flattened entries or one entry a line. It has no
//! header and stores no turns; they are derived from its entries by Outpost's replay rules ([`turns`]). Steps are these
//! turns. Node ids are entry numbers, from 0.
//!
//! Which module reads which kind of file:
//!
//! - Event logs become a [`journal`], by one reader ([`read`]) that gives each [`entry`] to the [`turns`] and the
//!   [`events`]. They come as a file of entries (here), as one with nested [`observations`], as a log of early versions
//!   ([`legacy`]), or as a [`chain`] of stored objects; [`entries`] reads an entry again wherever it is. What is asked of a
//!   journal later is in [`body`], [`replay`], [`cut`] and [`dropped`].
//! - Documents become a [`document_session`]: a [`checkpoint`] of a workflow, and a [`run`] (its snapshot, its stored
//!   events, its report). They are read by [`stored_document`], and what they say is gathered as [`happenings`].
//! - Conversations become a [`transcript`], from a file of its own or from the snapshots of a stored [`conversation`].
//! - The [`storage`] folder lists and opens the stored ones; [`objects`] finds their files and [`object`] reads one.
//!
//! [`family`] tells all of them apart, by [`recognise`] and by the keys of objects; [`joined`] gives a log what the
//! checkpoint of its workflow knows.

mod base85;
mod body;
mod chain;
mod check;
mod checkpoint;
mod content;
mod conversation;
mod cut;
mod delta;
mod document_session;
mod dropped;
mod entries;
mod entry;
mod events;
mod family;
mod fields;
mod flatten;
mod happenings;
mod joined;
mod journal;
mod kind;
mod labels;
mod legacy;
mod markers;
mod object;
mod objects;
mod observations;
mod patch;
mod question;
mod read;
mod recognise;
mod replay;
mod run;
mod session_filter;
mod storage;
mod stored_document;
mod tokens;
mod transcript;
mod turn_details;
mod turns;
mod workflow;
mod workflow_questions;

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
