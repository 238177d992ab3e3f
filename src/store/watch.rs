//! How long work says how far it is, and hears that nobody wants it any more.

use std::sync::atomic::{AtomicBool, Ordering};

/// Given to long work by whoever waits for it.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    cancelled: &'a AtomicBool,
    progress: &'a (dyn Fn(u64, u64) + Sync),
}

/// The work was cancelled; nothing it wrote is left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl<'a> Watch<'a> {
    /// `progress` is called with bytes done and bytes in all.
    pub fn new(cancelled: &'a AtomicBool, progress: &'a (dyn Fn(u64, u64) + Sync)) -> Self {
        Self { cancelled, progress }
    }

    /// Is called off with `other`, and reports no progress of its own.
    pub fn quiet(other: &Self) -> Self {
        Self { cancelled: other.cancelled, progress: &|_, _| {} }
    }

    /// Reports progress; an error when the work should stop.
    pub fn step(&self, done_bytes: u64, total_bytes: u64) -> Result<(), Cancelled> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        (self.progress)(done_bytes, total_bytes);
        Ok(())
    }
}

impl Watch<'static> {
    /// For callers that wait without a window: no progress, never cancelled.
    pub fn none() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self { cancelled: &NEVER, progress: &|_, _| {} }
    }
}
