//! How far the planning of a fork or a revert is.

use crate::store::{ReadError, Watch};

/// Bytes after which whoever waits is told once more: telling costs more than reading a short record.
const STEP_BYTES: u64 = 256 * 1024;

/// Bytes that have been dealt with, told to the one who waits.
pub struct Progress<'a> {
    watch: Watch<'a>,
    done: u64,
    total: u64,
    /// Where it is told next.
    next: u64,
}

impl<'a> Progress<'a> {
    pub fn new(watch: Watch<'a>, total: u64) -> Self {
        Self { watch, done: 0, total, next: 0 }
    }

    /// That many bytes more; an error when the plan is not wanted any more.
    pub fn add(&mut self, bytes: u64) -> Result<(), ReadError> {
        self.reach(self.done.saturating_add(bytes))
    }

    /// That many bytes in all, or as many as before where those were more.
    pub fn reach(&mut self, done: u64) -> Result<(), ReadError> {
        self.done = self.done.max(done).min(self.total);
        if self.done >= self.next {
            self.tell()?;
            self.next = self.done.saturating_add(STEP_BYTES);
        }
        Ok(())
    }

    /// For a stretch of work that reads nothing.
    pub fn tell(&self) -> Result<(), ReadError> {
        Ok(self.watch.step(self.done, self.total)?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn progress_is_told_now_and_then_and_never_goes_back() {
        let told = Mutex::new(Vec::new());
        let tell = |done, total| told.lock().unwrap().push((done, total));
        let cancelled = AtomicBool::new(false);
        let mut progress = Progress::new(Watch::new(&cancelled, &tell), 1_000_000);
        progress.add(10).unwrap();
        progress.add(10).unwrap();
        progress.reach(900_000).unwrap();
        progress.reach(5).unwrap();
        progress.add(1_000_000).unwrap();
        assert_eq!(*told.lock().unwrap(), [(10, 1_000_000), (900_000, 1_000_000)]);
        cancelled.store(true, Ordering::Relaxed);
        assert!(matches!(progress.tell(), Err(ReadError::Cancelled(_))));
    }
}
