//! The search as a job: waits until its user has stopped typing, then tells what it finds as it finds it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::super::document::DocumentId;
use super::super::jobs::{Message, Outbox};
use crate::formats::Recording;
use crate::formats::search::{Hit, Pattern, Query};
use crate::store::{ReadError, Watch};

/// A search begins so long after the last key.
const DEBOUNCE: Duration = Duration::from_millis(120);
const NAP: Duration = Duration::from_millis(10);
/// Hits are told at least this often while there are new ones, and the first at once.
const TELL_EVERY: Duration = Duration::from_millis(60);
/// Hits that are told together.
const TOGETHER: usize = 2_000;

/// Searches, until it is done or called off.
pub fn run(
    outbox: &Outbox,
    document: DocumentId,
    number: u64,
    recording: &dyn Recording,
    query: &Query,
    cancelled: &AtomicBool,
) {
    let start = Instant::now();
    while start.elapsed() < DEBOUNCE {
        if cancelled.load(Ordering::Relaxed) {
            return;
        }
        thread::sleep(NAP);
    }
    let pattern = match Pattern::new(query) {
        Ok(pattern) => Arc::new(pattern),
        Err(error) => {
            return outbox.send(Message::Searching { document, number, pattern: Err(error.to_string()) });
        }
    };
    outbox.send(Message::Searching { document, number, pattern: Ok(Arc::clone(&pattern)) });
    let batch = Mutex::new(Batch { hits: Vec::new(), told: None });
    let tell = |hit: Option<Hit>| {
        let mut batch = batch.lock().unwrap_or_else(PoisonError::into_inner);
        batch.hits.extend(hit);
        let is_due = batch.told.is_none_or(|told| told.elapsed() >= TELL_EVERY) || batch.hits.len() >= TOGETHER;
        if !batch.hits.is_empty() && is_due {
            batch.told = Some(Instant::now());
            let hits = std::mem::take(&mut batch.hits);
            drop(batch);
            outbox.send(Message::Hits { document, number, hits, ended: None });
        }
    };
    // What was found is told also while nothing more is found.
    let progress = |_, _| tell(None);
    let result = recording.search(&pattern, Watch::new(cancelled, &progress), &mut |hit| tell(Some(hit)));
    let ended = match result {
        Err(ReadError::Cancelled(_)) => return,
        result => result.map_err(|error| format!("Not searched to its end: {error}")),
    };
    let hits = std::mem::take(&mut batch.lock().unwrap_or_else(PoisonError::into_inner).hits);
    outbox.send(Message::Hits { document, number, hits, ended: Some(ended) });
}

struct Batch {
    hits: Vec<Hit>,
    /// When hits were told last.
    told: Option<Instant>,
}
