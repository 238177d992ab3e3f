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

    /// An error when the work should stop; for threads that help with it and do not know how far it is.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.cancelled.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }

    /// The same, for work whose progress is a part of other work's.
    pub fn without_progress(self) -> Self {
        Self { progress: &|_, _| {}, ..self }
    }

    /// Does work that is a part of more: `before_bytes` of `total_bytes` are done when it begins.
    pub fn part<T>(self, before_bytes: u64, total_bytes: u64, act: impl FnOnce(Watch<'_>) -> T) -> T {
        let progress = |done_bytes, _| (self.progress)(before_bytes.saturating_add(done_bytes), total_bytes);
        act(Watch { cancelled: self.cancelled, progress: &progress })
    }

    /// Reports progress; an error when the work should stop.
    pub fn step(&self, done_bytes: u64, total_bytes: u64) -> Result<(), Cancelled> {
        self.check()?;
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
