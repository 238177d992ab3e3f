//! What lies where on the strip, for one view of one width: bars, marks with their clusters, cuts, labels. Its cost
//! depends on the width, not on the session; nothing here draws.

use std::ops::Range;

use super::lanes::{Class, Lane, Marks};
use crate::ui::widgets::time_axis::{Axis, Gap, Scale, Tick, View};

/// No mark and no bar is drawn thinner than this.
pub const THINNEST_PX: f64 = 3.0;
/// Marks nearer to each other than this become a cluster.
const NEAREST_PX: f64 = 13.0;
/// Left of its first mark's middle, a mark or a cluster begins.
pub const MARK_HALF_PX: f64 = 7.0;
const ICON_PX: f64 = 12.0;
const DIGIT_PX: f64 = 6.6;
/// Steps that begin nearer to each other than this become a cluster.
const NEAREST_STEPS_PX: f64 = THINNEST_PX + 2.0;
/// In a cluster of more steps than this nobody looks for one that would be wide enough for a bar of its own.
const STEPS_LOOKED_AT: usize = 64;
/// Clusters are formed from multiples of this, so that panning does not regroup them.
const BLOCK_PX: f64 = 512.0;
/// Width of a column of the density.
pub const COLUMN_PX: f64 = 3.0;

/// A step's bar, or that of several steps too near to each other. Positions are points from the left of the lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub left: f64,
    pub right: f64,
    /// Numbers of its steps, counted from 1.
    pub first: u32,
    pub last: u32,
}

/// A mark, or a cluster of several.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The middle of its first mark.
    pub x: f64,
    pub width: f64,
    pub count: usize,
    /// Its events: the first, and the one after the last.
    pub events: Range<usize>,
    /// The two classes to look at first, each with its first event.
    pub shown: [Option<(Class, usize)>; 2],
}

/// A row of marks.
#[derive(Clone, Debug)]
pub struct Row {
    pub lane: Lane,
    pub marks: Vec<Mark>,
}

/// A folded pause.
#[derive(Clone, Debug)]
pub struct Cut {
    pub left: f64,
    pub right: f64,
    pub gap: Gap,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    pub bars: Vec<Bar>,
    pub rows: Vec<Row>,
    pub cuts: Vec<Cut>,
    /// Labels of the axis and where they begin.
    pub ticks: Vec<(f64, String)>,
    /// Numbers of the first and the last step seen, counted from 1; the second is smaller when there are none.
    pub steps: (u32, u32),
    /// What is marked within the view, most wanted first.
    pub counts: Vec<(Class, usize)>,
}

/// How axis units become points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plot {
    pub view: View,
    pub width_px: f64,
}

impl Plot {
    pub fn x(self, position: f64) -> f64 {
        self.view.fraction(position) * self.width_px
    }

    pub fn position(self, x: f64) -> f64 {
        self.view.position(x / self.width_px.max(1.0))
    }

    /// Axis units in so many points.
    pub fn units(self, px: f64) -> f64 {
        px * self.view.span() / self.width_px.max(1.0)
    }

    /// Where clusters begin to be formed: a multiple of a block, at least a block before the view.
    fn formed_from(self) -> f64 {
        let block = self.units(BLOCK_PX);
        ((self.view.start / block).floor() - 1.0) * block
    }
}

/// Lays out what is seen. `zone_ms` is that of [`Axis::ticks`].
pub fn lay_out(axis: &Axis, marks: &Marks, plot: Plot, zone_ms: &dyn Fn(i64) -> i64) -> Layout {
    let rows = Lane::ALL
        .into_iter()
        .filter(|lane| !marks.lane(*lane).is_empty())
        .map(|lane| Row { lane, marks: lane_marks(axis, marks, lane, plot) })
        .collect();
    let bars = bars(axis, plot);
    let seen = axis.events_before(plot.view.start)..axis.events_before(plot.view.end.next_up());
    let counts = Class::ALL.into_iter().map(|class| (class, marks.count(class, seen.clone()).0));
    Layout {
        steps: (bars.first().map_or(1, |bar| bar.first), bars.last().map_or(0, |bar| bar.last)),
        bars,
        rows,
        cuts: cuts(axis, plot),
        ticks: axis
            .ticks(plot.view, plot.width_px, zone_ms)
            .into_iter()
            .map(|Tick { position, label }| (plot.x(position), label))
            .collect(),
        counts: counts.filter(|(_, count)| *count > 0).collect(),
    }
}

fn bars(axis: &Axis, plot: Plot) -> Vec<Bar> {
    let span = |step: usize| axis.step_span(step).map(|(start, end)| (plot.x(start), plot.x(end)));
    let next_start = |step: usize| span(step + 1).map_or(f64::INFINITY, |(start, _)| start);
    let end = axis.steps_before(plot.view.end.next_up());
    // As wide as its words: `104–119`.
    let digits = end.max(1).ilog10() + 1;
    let cluster_px = f64::from(2 * digits + 1) * DIGIT_PX + 10.0;
    let mut bars = Vec::new();
    // The step that is going on where clusters begin to be formed.
    let mut step = axis.steps_before(plot.formed_from()).saturating_sub(1);
    while step < end {
        let Some((start, mut right)) = span(step) else { break };
        let mut last = step;
        if next_start(step) - start < NEAREST_STEPS_PX {
            let within = axis.steps_before(plot.position(start + cluster_px)).max(step + 1);
            let is_thin =
                |step: usize| next_start(step) - span(step).map_or(start, |(left, _)| left) < NEAREST_STEPS_PX;
            last = if within - step > STEPS_LOOKED_AT {
                within - 1
            } else {
                (step + 1..within).take_while(|step| is_thin(*step)).last().unwrap_or(step)
            };
            right = span(last).map_or(right, |(_, right)| right);
        }
        // What had to be drawn wider than it is pushes its neighbour aside.
        let left = bars.last().map_or(start, |before: &Bar| start.max(before.right + 1.0));
        let room = next_start(last) - left;
        let right = right.min(left + room - if room < 8.0 { 1.0 } else { 2.0 }).max(left + THINNEST_PX);
        bars.push(Bar { left, right, first: step as u32 + 1, last: last as u32 + 1 });
        step = last + 1;
    }
    bars.retain(|bar| bar.right >= 0.0);
    bars
}

fn lane_marks(axis: &Axis, marks: &Marks, lane: Lane, plot: Plot) -> Vec<Mark> {
    let events = marks.lane(lane);
    let position = |index: usize| events.get(index).map_or(f64::INFINITY, |event| axis.position(*event as usize));
    // The first mark at or right of `x`.
    let from = |x: f64| {
        let wanted = plot.position(x);
        events.partition_point(|event| axis.position(*event as usize) < wanted)
    };
    let mut found = Vec::new();
    let mut index = from(plot.x(plot.formed_from()));
    while index < events.len() {
        let x = plot.x(position(index));
        if x > plot.width_px + MARK_HALF_PX {
            break;
        }
        let mut mark = one(marks, lane, events, index..index + 1, x);
        if plot.x(position(index + 1)) - x < NEAREST_PX {
            // How wide it is follows from how many there are, and the other way round. It only grows, and not for long:
            // a second icon and a digit or two.
            loop {
                let wider = one(marks, lane, events, index..from(x + mark.width).max(index + 2), x);
                let settled = wider.width <= mark.width;
                mark = wider;
                if settled {
                    break;
                }
            }
        }
        index += mark.count;
        if x + mark.width > 0.0 {
            found.push(mark);
        }
    }
    found
}

/// The mark for a part of a lane's list.
fn one(marks: &Marks, lane: Lane, events: &[u32], part: Range<usize>, x: f64) -> Mark {
    let event = |index: usize| events.get(index).map_or(0, |event| *event as usize);
    let count = part.len();
    let range = event(part.start)..event(part.end.saturating_sub(1)) + 1;
    let mut classes = marks.counts(lane, range.clone()).map(|(class, _, first)| (class, first));
    let shown = [classes.next(), classes.next()];
    let icons = shown.iter().flatten().count() as f64;
    let width = if count == 1 {
        2.0 * MARK_HALF_PX
    } else {
        icons * ICON_PX + short_count(count).len() as f64 * DIGIT_PX + 2.0 * MARK_HALF_PX - 6.0
    };
    Mark { x, width, count, events: range, shown }
}

fn cuts(axis: &Axis, plot: Plot) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::new();
    let seen = axis.gaps_within(plot.view);
    // There are never more on the screen than can be told apart.
    let stride = (seen.len() as f64 / plot.width_px.max(1.0)).ceil().max(1.0) as usize;
    for gap in seen.step_by(stride).filter_map(|index| axis.gap(index)) {
        cuts.push(Cut { left: plot.x(gap.position), right: plot.x(gap.position + gap.width), gap });
    }
    cuts
}

/// A count of at most four signs.
pub fn short_count(count: usize) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}

/// The whole session in one line of columns.
#[derive(Clone, Debug, Default)]
pub struct Density {
    /// The width of folded pauses that it was made with; see [`Axis::refold`].
    pub fold: f64,
    pub view: Option<View>,
    /// From 0 to 1: on the time scale how much was recorded, on the step scale how much was marked.
    pub columns: Vec<f32>,
}

impl Density {
    pub fn of(axis: &Axis, marks: &Marks, view: View, width_px: f64) -> Self {
        let plot = Plot { view, width_px };
        let count = (width_px / COLUMN_PX).ceil().max(1.0) as usize;
        let before = |column: usize| axis.events_before(plot.position(column as f64 * COLUMN_PX));
        let amount = |events: Range<usize>| match axis.scale() {
            Scale::Time => events.len(),
            Scale::Step => Class::ALL.into_iter().map(|class| marks.count(class, events.clone()).0).sum(),
        };
        let mut start = 0;
        let amounts: Vec<usize> = (1..=count)
            .map(|column| {
                let end = if column == count { axis.event_count() } else { before(column).max(start) };
                let amount = amount(start..end);
                start = end;
                amount
            })
            .collect();
        let amounts = smooth(&amounts);
        let most = amounts.iter().copied().fold(1e-6, f32::max);
        // The root shows the few beside the many.
        let columns = amounts.into_iter().map(|amount| (amount / most).sqrt()).collect();
        Self { fold: axis.fold(), view: Some(view), columns }
    }
}

/// Spreads each amount over its neighbours, so that few events make hills and not needles.
fn smooth(amounts: &[usize]) -> Vec<f32> {
    const WEIGHTS: [f32; 7] = [1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0];
    let around = |middle: usize| {
        let weighted = WEIGHTS.iter().zip(middle..).filter_map(|(weight, index)| {
            let amount = amounts.get(index.checked_sub(WEIGHTS.len() / 2)?)?;
            Some(weight * *amount as f32)
        });
        weighted.sum()
    };
    (0..amounts.len()).map(around).collect()
}
