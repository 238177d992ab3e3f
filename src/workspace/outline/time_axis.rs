//! The time axis: where the events and steps of a session lie on a line, and which part of it is seen. Numbers only:
//! it draws nothing, knows no window, and asks no clock.
//!
//! Positions are in axis units. On the [`Scale::Time`] a unit is a millisecond of the session in which something went
//! on; a pause is folded to a small width, [`Axis::fold`], that keeps its size on the screen at every zoom. On the
//! [`Scale::Step`] each step's prompt and each event takes one unit, whatever time it took.
//!
//! **What is a pause.** A stretch without any event that is longer than two minutes and than eight times the median
//! distance between two moments of this session: a session with an event every ten minutes is not cut to pieces, one
//! with an event every second is cut at its coffee breaks.
//!
//! **Order is the chain's, never the clock's.** A moment earlier than one before it, and an event without a time, lie
//! where the line has got to; nothing lies before what precedes it. A clock that goes back by more than a minute was
//! set: from there on the line goes by the new time, so that one wrong moment in the future swallows no later ones.

mod moments;
mod ticks;
mod view;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use moments::{Clock, Entry, Went, pause_threshold_ms, walk};
pub use ticks::Tick;
pub use view::View;

/// The shortest stretch without an event that is cut, in milliseconds.
pub const SHORTEST_PAUSE_MS: i64 = 2 * 60_000;
/// Width of a folded pause on the screen.
const FOLD_PX: f64 = 30.0;
/// Part of the screen that folded pauses may take together.
const FOLDS_SHARE: f64 = 0.35;
/// The narrowest view of the time scale, in milliseconds, and of the step scale, in events.
const NARROWEST_TIME: f64 = 500.0;
const NARROWEST_STEP: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Spaced by time, pauses folded.
    Time,
    /// Spaced evenly by event.
    Step,
}

/// When a step was, in milliseconds, and which events are its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepMoments {
    pub at_ms: Option<i64>,
    pub ended_ms: Option<i64>,
    pub events: Range<usize>,
}

/// A folded pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Where it starts, in axis units.
    pub position: f64,
    /// How wide it is drawn, in axis units.
    pub width: f64,
    /// How long it really was.
    pub ms: i64,
    /// The last moment before it.
    pub from_ms: i64,
}

/// A place on the line: units of activity before it, and folded pauses before it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spot {
    active: f64,
    gaps: u32,
}

/// A folded pause, whatever its width is now.
#[derive(Clone, Copy, Debug)]
struct Pause {
    active: f64,
    /// The first event after it.
    event: usize,
    from_ms: i64,
    ms: i64,
}

/// A part of the line along which the clock runs.
#[derive(Clone, Copy, Debug)]
struct Segment {
    spot: Spot,
    ms: i64,
}

/// Where everything lies. Making one costs time in proportion to the session; asking and copying it does not.
#[derive(Clone, Debug)]
pub struct Axis {
    scale: Scale,
    /// Units of activity before each event.
    events: Arc<Vec<f64>>,
    steps: Arc<Vec<(Spot, Spot)>>,
    pauses: Vec<Pause>,
    segments: Vec<Segment>,
    active: f64,
    fold: f64,
}

impl Axis {
    /// An axis for `event_count` events, whose times `event_ms` gives, and the steps among them. A session in which no
    /// time passes by its record gets the step scale, whatever was asked for: see [`Axis::scale`].
    pub fn new(
        scale: Scale,
        event_count: usize,
        event_ms: impl Fn(usize) -> Option<i64>,
        steps: impl Iterator<Item = StepMoments> + Clone,
    ) -> Self {
        let mut axis = match scale {
            Scale::Step => Self::even(event_count, steps),
            Scale::Time => {
                let axis = Self::timed(event_count, &event_ms, steps.clone());
                let stands_still = axis.active <= 0.0 && axis.pauses.is_empty();
                if stands_still { Self::even(event_count, steps) } else { axis }
            }
        };
        axis.fold = if axis.active > 0.0 { axis.active / 40.0 } else { 1.0 };
        axis
    }

    fn even(event_count: usize, steps: impl Iterator<Item = StepMoments>) -> Self {
        let mut axis = Self::empty(Scale::Step);
        walk(event_count, |_| None, steps, &mut |entry, _| match entry {
            Entry::StepStart => {
                let start = axis.spot();
                axis.active += 1.0;
                Arc::make_mut(&mut axis.steps).push((start, start));
            }
            Entry::Event(_) => {
                Arc::make_mut(&mut axis.events).push(axis.active + 0.5);
                axis.active += 1.0;
            }
            Entry::StepEnd => axis.end_step(),
        });
        // A session of nothing still has a width to divide by.
        axis.active = axis.active.max(1.0);
        axis
    }

    fn timed(
        event_count: usize,
        event_ms: &impl Fn(usize) -> Option<i64>,
        steps: impl Iterator<Item = StepMoments> + Clone,
    ) -> Self {
        let longest_ms = pause_threshold_ms(event_count, event_ms, steps.clone());
        let mut axis = Self::empty(Scale::Time);
        let mut clock = Clock::default();
        let mut next_event = 0;
        walk(event_count, event_ms, steps, &mut |entry, ms| {
            match clock.go_to(ms) {
                Went::Nowhere => {}
                Went::Started(ms) => axis.segments.push(Segment { spot: axis.spot(), ms }),
                Went::On { from_ms, ms } if ms > longest_ms => {
                    axis.pauses.push(Pause { active: axis.active, event: next_event, from_ms, ms });
                    axis.segments.push(Segment { spot: axis.spot(), ms: from_ms.saturating_add(ms) });
                }
                Went::On { ms, .. } => axis.active += ms as f64,
            }
            match entry {
                Entry::StepStart => {
                    let start = axis.spot();
                    Arc::make_mut(&mut axis.steps).push((start, start));
                }
                Entry::Event(index) => {
                    Arc::make_mut(&mut axis.events).push(axis.active);
                    next_event = index + 1;
                }
                Entry::StepEnd => axis.end_step(),
            }
        });
        axis
    }

    fn empty(scale: Scale) -> Self {
        Self {
            scale,
            events: Arc::default(),
            steps: Arc::default(),
            pauses: Vec::new(),
            segments: Vec::new(),
            active: 0.0,
            fold: 1.0,
        }
    }

    fn spot(&self) -> Spot {
        Spot { active: self.active, gaps: self.pauses.len() as u32 }
    }

    fn end_step(&mut self) {
        let end = self.spot();
        if let Some(step) = Arc::make_mut(&mut self.steps).last_mut() {
            step.1 = end;
        }
    }

    /// The scale it has, which is [`Scale::Step`] where the times say nothing.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    pub fn event_count(&self) -> usize {
        self.events.len()
    }

    /// The whole length.
    pub fn length(&self) -> f64 {
        self.active + self.pauses.len() as f64 * self.fold
    }

    /// The width of a folded pause, in axis units; it goes with the zoom.
    pub fn fold(&self) -> f64 {
        self.fold
    }

    fn at(&self, spot: Spot) -> f64 {
        spot.active + f64::from(spot.gaps) * self.fold
    }

    /// Where an event lies; for one that is not there, the end.
    pub fn position(&self, event: usize) -> f64 {
        let Some(active) = self.events.get(event) else { return self.length() };
        let gaps = self.pauses.partition_point(|pause| pause.event <= event);
        active + gaps as f64 * self.fold
    }

    /// From where to where a step goes: its prompt to its last event. `step` counts from 0.
    pub fn step_span(&self, step: usize) -> Option<(f64, f64)> {
        self.steps.get(step).map(|(start, end)| (self.at(*start), self.at(*end)))
    }

    /// The folded pauses, first to last.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> + '_ {
        (0..self.pauses.len()).filter_map(|index| self.gap(index))
    }

    pub fn gap(&self, index: usize) -> Option<Gap> {
        let pause = self.pauses.get(index)?;
        let position = pause.active + index as f64 * self.fold;
        Some(Gap { position, width: self.fold, ms: pause.ms, from_ms: pause.from_ms })
    }

    /// The indices of the pauses that lie in `view`, at least in part.
    pub fn gaps_within(&self, view: View) -> Range<usize> {
        let all = self.pauses.len();
        let position = |index: usize| self.gap(index).map_or(f64::INFINITY, |gap| gap.position);
        let start = partition(all, |index| position(index) + self.fold < view.start);
        let end = partition(all, |index| position(index) <= view.end);
        start..end.max(start)
    }

    /// How many events lie before `position`.
    pub fn events_before(&self, position: f64) -> usize {
        partition(self.events.len(), |event| self.position(event) < position)
    }

    /// How many steps start before `position`.
    pub fn steps_before(&self, position: f64) -> usize {
        self.steps.partition_point(|(start, _)| self.at(*start) < position)
    }

    /// The event nearest to a position.
    pub fn nearest_event(&self, position: f64) -> Option<usize> {
        let after = self.events_before(position).min(self.events.len().checked_sub(1)?);
        let before = after.saturating_sub(1);
        let distance = |event: usize| (self.position(event) - position).abs();
        Some(if distance(before) <= distance(after) { before } else { after })
    }

    /// The step nearest to a position, counted from 0.
    pub fn nearest_step(&self, position: f64) -> Option<usize> {
        let after = self.steps_before(position).min(self.steps.len().checked_sub(1)?);
        let before = after.saturating_sub(1);
        let distance = |step: usize| {
            let (start, end) = self.step_span(step).unwrap_or((f64::INFINITY, f64::INFINITY));
            (start - position).max(position - end).max(0.0)
        };
        Some(if distance(before) <= distance(after) { before } else { after })
    }

    /// The same place for another width of the folded pauses.
    pub fn refold(&self, position: f64, from: f64, to: f64) -> f64 {
        let end = |index: usize, pause: &Pause| pause.active + (index + 1) as f64 * from;
        let gone = partition(self.pauses.len(), |index| {
            self.pauses.get(index).is_some_and(|pause| end(index, pause) <= position)
        });
        let within = match self.pauses.get(gone) {
            Some(pause) if from > 0.0 => ((position - pause.active - gone as f64 * from) / from).clamp(0.0, 1.0),
            _ => 0.0,
        };
        position + (gone as f64 + within) * (to - from)
    }

    /// Shows the whole session in `width_px`; the width of folded pauses follows.
    pub fn show_all(&mut self, width_px: f64) -> View {
        self.fit(View { start: 0.0, end: self.length() }, width_px);
        View { start: 0.0, end: self.length() }
    }

    /// Makes what lies in `view` fill `width_px`, and gives it in the units that hold from then on.
    pub fn fit(&mut self, view: View, width_px: f64) -> View {
        let folds = (self.refold(view.end, self.fold, self.fold + 1.0) - view.end)
            - (self.refold(view.start, self.fold, self.fold + 1.0) - view.start);
        let active = (view.span() - folds * self.fold).max(self.narrowest().min(self.active));
        let fold_px = self.fold_px(width_px);
        let room_px = (width_px - folds * fold_px).max(width_px * 0.1).max(1.0);
        let old = self.fold;
        if active > 0.0 {
            self.fold = fold_px * active / room_px;
        }
        let start = self.refold(view.start, old, self.fold);
        View { start, end: start + active + folds * self.fold }.clamped(self.length())
    }

    /// Zooms so that `anchor` stays where it is on the screen. Below 1 `factor` shows less, above 1 more.
    pub fn zoom(&mut self, view: View, anchor: f64, factor: f64, width_px: f64) -> View {
        let narrowest = self.narrowest().min(view.span());
        let factor = factor.max(narrowest / view.span());
        let old = self.fold;
        self.fold = old * factor;
        let zoomed = view.zoomed(anchor, self.refold(anchor, old, self.fold), factor);
        if zoomed.span() >= self.length() { self.show_all(width_px) } else { zoomed.clamped(self.length()) }
    }

    /// The narrowest view, in axis units.
    pub fn narrowest(&self) -> f64 {
        match self.scale {
            Scale::Time => NARROWEST_TIME,
            Scale::Step => NARROWEST_STEP,
        }
    }

    /// The width of a folded pause on the screen.
    fn fold_px(&self, width_px: f64) -> f64 {
        FOLD_PX.min(FOLDS_SHARE * width_px / self.pauses.len().max(1) as f64)
    }
}

/// `partition_point` of the numbers below `count`.
fn partition(count: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
