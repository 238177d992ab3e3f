//! The labels along an axis: clock times at round distances, or step numbers.

use chrono::{DateTime, NaiveDate};

use super::{Axis, Scale, View, partition};

/// Labels lie no nearer to each other than this.
const DISTANCE_PX: f64 = 76.0;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Distances between two labels that people count in, in milliseconds.
const ROUND_MS: [i64; 26] = [
    100,
    200,
    500,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    28 * DAY,
    84 * DAY,
];

/// A label and where it belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub position: f64,
    pub label: String,
}

impl Axis {
    /// The labels for what is seen. `zone_ms` gives the milliseconds that the local clock is ahead of UTC at a moment.
    /// The cost depends on the width only.
    pub fn ticks(&self, view: View, width_px: f64, zone_ms: &dyn Fn(i64) -> i64) -> Vec<Tick> {
        let distance = DISTANCE_PX * view.span() / width_px.max(1.0);
        match self.scale {
            Scale::Time => self.time_ticks(view, distance, zone_ms),
            Scale::Step => self.step_ticks(view, distance),
        }
    }

    fn time_ticks(&self, view: View, distance: f64, zone_ms: &dyn Fn(i64) -> i64) -> Vec<Tick> {
        let round_ms = ROUND_MS.into_iter().find(|ms| *ms as f64 >= distance).unwrap_or(365 * DAY);
        let mut labels = Labels { zone_ms, round_ms, day: None, days: self.spans_days(zone_ms) };
        let mut ticks = Vec::new();
        let mut from = view.start;
        while from <= view.end {
            let index = partition(self.segments.len(), |index| {
                self.segments.get(index).is_some_and(|segment| self.at(segment.spot) < from)
            });
            // The segment that `from` lies in or behind; at the start of one, that one.
            let current = index.checked_sub(1).and_then(|index| self.segments.get(index));
            let next = self.segments.get(index).map(|segment| (self.at(segment.spot), segment.ms));
            let round = current.and_then(|segment| {
                let start = self.at(segment.spot);
                let local = segment.ms.saturating_add((from - start).ceil() as i64);
                let local = local.saturating_add(zone_ms(local));
                let at = local.div_euclid(round_ms).saturating_add(i64::from(local.rem_euclid(round_ms) > 0));
                let ms = at.saturating_mul(round_ms);
                let ms = ms.saturating_sub(zone_ms(ms));
                let position = start + ms.saturating_sub(segment.ms) as f64;
                let end = self
                    .segments
                    .get(index)
                    .map_or(self.length(), |next| next.spot.active + f64::from(segment.spot.gaps) * self.fold);
                (position >= from && position <= end).then_some((position, ms))
            });
            let Some((position, ms)) = round.or(next) else { break };
            if position > view.end {
                break;
            }
            ticks.push(Tick { position, label: labels.label(ms) });
            from = position + distance;
        }
        ticks
    }

    /// Whether the session's times lie on more than one day.
    fn spans_days(&self, zone_ms: &dyn Fn(i64) -> i64) -> bool {
        let day = |ms: i64| ms.saturating_add(zone_ms(ms)).div_euclid(DAY);
        let first = self.segments.first().map(|segment| day(segment.ms));
        let last = self.segments.last().map(|segment| {
            let length = self.active - segment.spot.active;
            day(segment.ms.saturating_add(length as i64))
        });
        first != last
    }

    fn step_ticks(&self, view: View, distance: f64) -> Vec<Tick> {
        let first = self.steps_before(view.start);
        let visible = self.steps_before(view.end).saturating_sub(first);
        let room = (view.span() / distance).max(1.0);
        let wanted = (visible as f64 / room).ceil() as usize;
        let stride = round_count(wanted);
        let mut ticks: Vec<Tick> = Vec::new();
        // Step numbers count from 1, and those labelled are multiples of the stride.
        let mut number = (first + 1).div_ceil(stride) * stride;
        if first == 0 && stride > 1 {
            number = 1;
        }
        while let Some((position, _)) = self.step_span(number - 1).filter(|(start, _)| *start <= view.end) {
            if ticks.last().is_none_or(|last| position - last.position >= distance) {
                ticks.push(Tick { position, label: format!("step {number}") });
            }
            number = (number / stride + 1) * stride;
        }
        ticks
    }
}

/// The first of 1, 2, 5, 10, 20, 50, … that is at least `count`.
fn round_count(count: usize) -> usize {
    let mut power: usize = 1;
    loop {
        for factor in [1, 2, 5] {
            let round = power.saturating_mul(factor);
            if round >= count {
                return round;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Writes clock times, with the date where it changes.
struct Labels<'a> {
    zone_ms: &'a dyn Fn(i64) -> i64,
    round_ms: i64,
    day: Option<NaiveDate>,
    /// Whether there is more than one day.
    days: bool,
}

impl Labels<'_> {
    fn label(&mut self, ms: i64) -> String {
        let local = ms.saturating_add((self.zone_ms)(ms));
        let Some(local) = DateTime::from_timestamp_millis(local) else { return "?".to_owned() };
        let day = local.date_naive();
        let shows_date = self.days && self.day != Some(day);
        self.day = Some(day);
        let pattern = match (self.round_ms, shows_date) {
            (DAY.., _) => "%-d %b",
            (MINUTE.., true) => "%-d %b %H:%M",
            (MINUTE.., false) => "%H:%M",
            (SECOND.., true) => "%-d %b %H:%M:%S",
            (SECOND.., false) => "%H:%M:%S",
            _ => "%H:%M:%S%.3f",
        };
        local.format(pattern).to_string()
    }
}
