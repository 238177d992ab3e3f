//! How far long work is, and how long it will still take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::model::words;

/// Before that, nothing is said of the time that is left: most work is over by then, and no rate is known yet.
const SETTLING: Duration = Duration::from_secs(1);
/// The rate follows what is measured within about this time: disks pause now and then.
const MEMORY: Duration = Duration::from_secs(3);
/// The rate is measured over at least this long.
const SAMPLE: Duration = Duration::from_millis(100);

/// Milliseconds between two reports.
const INTERVAL_MS: u64 = 50;

/// Bytes done of all there are.
#[derive(Clone, Debug)]
pub struct Progress {
    pub done_bytes: u64,
    /// 0 while that is not known.
    pub total_bytes: u64,
    since: Instant,
    /// When the rate was last measured, and how far the work was then.
    sampled: (Instant, u64),
    /// Bytes a second; `None` before the first sample.
    rate: Option<f64>,
}

impl Progress {
    /// Work that begins now.
    pub fn begin() -> Self {
        Self::begin_at(Instant::now())
    }

    fn begin_at(now: Instant) -> Self {
        Self { done_bytes: 0, total_bytes: 0, since: now, sampled: (now, 0), rate: None }
    }

    /// The work is so far now.
    pub fn reach(&mut self, done_bytes: u64, total_bytes: u64) {
        self.reach_at(done_bytes, total_bytes, Instant::now());
    }

    fn reach_at(&mut self, done_bytes: u64, total_bytes: u64, now: Instant) {
        // Other work than before, as when a plan is followed by writing: it has a rate of its own.
        if total_bytes != self.total_bytes || done_bytes < self.sampled.1 {
            (self.since, self.sampled, self.rate) = (now, (now, done_bytes), None);
        }
        (self.done_bytes, self.total_bytes) = (done_bytes, total_bytes);
        let elapsed = now.saturating_duration_since(self.sampled.0);
        if elapsed < SAMPLE {
            return;
        }
        let measured = done_bytes.saturating_sub(self.sampled.1) as f64 / elapsed.as_secs_f64();
        let weight = 1.0 - (-elapsed.as_secs_f64() / MEMORY.as_secs_f64()).exp();
        self.rate = Some(self.rate.map_or(measured, |rate| rate + weight * (measured - rate)));
        self.sampled = (now, done_bytes);
    }

    /// The share that is done, from 0 to 1; `None` while that is not known.
    pub fn share(&self) -> Option<f32> {
        (self.total_bytes > 0).then(|| (self.done_bytes as f64 / self.total_bytes as f64).clamp(0.0, 1.0) as f32)
    }

    /// How far it is: `12.0 MB of 1.0 GB · about 3 s left`; `None` while nothing is known of that.
    pub fn words(&self) -> Option<String> {
        let share = (self.total_bytes > 0)
            .then(|| format!("{} of {}", words::bytes(self.done_bytes), words::bytes(self.total_bytes)))?;
        Some(match self.left() {
            Some(left) => format!("{share} · {}", time_left(left)),
            None => share,
        })
    }

    /// About how long it will still take, once that can be told.
    pub fn left(&self) -> Option<Duration> {
        self.left_at(Instant::now())
    }

    fn left_at(&self, now: Instant) -> Option<Duration> {
        let rate = self.rate.filter(|rate| *rate > 0.0)?;
        if now.saturating_duration_since(self.since) < SETTLING {
            return None;
        }
        let since_sample = now.saturating_duration_since(self.sampled.0).as_secs_f64();
        let left = self.total_bytes.saturating_sub(self.sampled.1) as f64 / rate - since_sample;
        Duration::try_from_secs_f64(left.max(0.0)).ok()
    }
}

/// No more exact than it is: `about 40 s left`, `about 3 min left`.
fn time_left(left: Duration) -> String {
    match left.as_secs() {
        0 => "about 1 s left".to_owned(),
        seconds @ 1..20 => format!("about {seconds} s left"),
        seconds @ 20..90 => format!("about {} s left", seconds.next_multiple_of(10)),
        seconds => format!("about {} min left", (seconds + 30) / 60),
    }
}

/// Lets progress through now and then: work tells of it far more often than anybody could see.
pub struct NowAndThen {
    since: Instant,
    /// When it is let through next, in milliseconds after that.
    next_ms: AtomicU64,
}

impl Default for NowAndThen {
    fn default() -> Self {
        Self { since: Instant::now(), next_ms: AtomicU64::new(0) }
    }
}

impl NowAndThen {
    pub fn is_due(&self) -> bool {
        self.is_due_at(self.since.elapsed())
    }

    /// Threads that ask at the same time are let through one at a time.
    fn is_due_at(&self, elapsed: Duration) -> bool {
        let now_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let next_ms = self.next_ms.load(Ordering::Relaxed);
        let after = now_ms.saturating_add(INTERVAL_MS);
        now_ms >= next_ms && self.next_ms.compare_exchange(next_ms, after, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_let_through_now_and_then() {
        let now_and_then = NowAndThen::default();
        let due: Vec<u64> = (0..200).filter(|ms| now_and_then.is_due_at(Duration::from_millis(*ms))).collect();
        assert_eq!(due, [0, 50, 100, 150]);
    }

    #[test]
    fn the_time_left_is_told_roughly() {
        for (seconds, words) in
            [(0, "about 1 s left"), (7, "about 7 s left"), (41, "about 50 s left"), (200, "about 3 min left")]
        {
            assert_eq!(time_left(Duration::from_secs(seconds)), words);
        }
    }

    const MB: u64 = 1_000_000;

    #[test]
    fn the_time_left_is_told_after_a_second_and_follows_the_rate() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut progress = Progress::begin_at(start);
        for tenth in 0..=9 {
            progress.reach_at(tenth * 10 * MB, 1000 * MB, at(tenth * 100));
            assert_eq!(progress.left_at(at(tenth * 100)), None);
        }
        progress.reach_at(100 * MB, 1000 * MB, at(1000));
        assert_eq!(progress.left_at(at(1000)).unwrap().as_secs_f64().round(), 9.0);
        assert_eq!(progress.share(), Some(0.1));
        // One pause does not turn it upside down; it runs down between two reports.
        progress.reach_at(100 * MB, 1000 * MB, at(1300));
        let left = progress.left_at(at(1300)).unwrap().as_secs_f64();
        assert!((9.0..11.0).contains(&left), "{left}");
        assert!(progress.left_at(at(2300)).unwrap().as_secs_f64() < left - 0.9);
    }

    #[test]
    fn other_work_starts_anew_and_nothing_known_is_nothing_said() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut progress = Progress::begin_at(start);
        assert_eq!((progress.share(), progress.left_at(at(5000))), (None, None));
        progress.reach_at(10 * MB, 20 * MB, at(2000));
        progress.reach_at(20 * MB, 20 * MB, at(4000));
        assert_eq!(progress.left_at(at(4000)), Some(Duration::ZERO));
        progress.reach_at(0, 500 * MB, at(4100));
        assert_eq!(progress.left_at(at(4200)), None);
        assert_eq!(progress.share(), Some(0.0));
    }
}
