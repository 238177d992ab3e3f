//! Going through a session's moments in the order of its chain, by a clock that only goes on.

use super::{SHORTEST_PAUSE_MS, StepMoments};

/// How many times the median distance between two moments a pause is, at least.
const PAUSE_FACTOR: i64 = 8;
/// A clock that goes back further than this was set, in milliseconds.
const CLOCK_SET_MS: i64 = 60_000;

/// What the session's line passes, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    StepStart,
    Event(usize),
    StepEnd,
}

/// Goes through all moments in the order of the chain. Steps whose events overlap or lie outside are taken as far as
/// they make sense.
pub fn walk(
    event_count: usize,
    event_ms: impl Fn(usize) -> Option<i64>,
    steps: impl Iterator<Item = StepMoments>,
    visit: &mut dyn FnMut(Entry, Option<i64>),
) {
    let mut next = 0;
    let mut events_to = |end: usize, visit: &mut dyn FnMut(Entry, Option<i64>)| {
        while next < end.min(event_count) {
            visit(Entry::Event(next), event_ms(next));
            next += 1;
        }
    };
    for step in steps {
        events_to(step.events.start, visit);
        visit(Entry::StepStart, step.at_ms);
        events_to(step.events.end, visit);
        visit(Entry::StepEnd, step.ended_ms);
    }
    events_to(event_count, visit);
}

/// The length from which a stretch without events is a pause: see the head of [`super`].
pub fn pause_threshold_ms(
    event_count: usize,
    event_ms: &impl Fn(usize) -> Option<i64>,
    steps: impl Iterator<Item = StepMoments>,
) -> i64 {
    let mut distances: Vec<i64> = Vec::new();
    let mut clock = Clock::default();
    walk(event_count, event_ms, steps, &mut |_, ms| {
        if let Went::On { ms, .. } = clock.go_to(ms) {
            distances.push(ms);
        }
    });
    if distances.is_empty() {
        return SHORTEST_PAUSE_MS;
    }
    // The lower middle: of two distances, the shorter one says what is usual.
    let middle = (distances.len() - 1) / 2;
    let median = *distances.select_nth_unstable(middle).1;
    median.saturating_mul(PAUSE_FACTOR).max(SHORTEST_PAUSE_MS)
}

/// The latest moment so far.
#[derive(Default)]
pub struct Clock(Option<i64>);

pub enum Went {
    Nowhere,
    /// The first moment, or the first after the clock was set back.
    Started(i64),
    On {
        from_ms: i64,
        ms: i64,
    },
}

impl Clock {
    /// Takes the next moment of the chain.
    pub fn go_to(&mut self, ms: Option<i64>) -> Went {
        let Some(now) = ms else { return Went::Nowhere };
        match self.0 {
            Some(latest) if now > latest => {
                self.0 = Some(now);
                Went::On { from_ms: latest, ms: now.saturating_sub(latest) }
            }
            Some(latest) if latest.saturating_sub(now) <= CLOCK_SET_MS => Went::Nowhere,
            _ => {
                self.0 = Some(now);
                Went::Started(now)
            }
        }
    }
}
