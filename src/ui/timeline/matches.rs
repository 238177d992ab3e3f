//! The matches of a search on the strip: in which columns there are any. Worked out when what is seen or found changes, at
//! a cost that follows from the columns, however many matches there are.

use super::chart::Chart;
use super::layout::Plot;
use crate::ui::widgets::time_axis::Axis;
use crate::workspace::search::{Found, Search};

/// Width of a tick, and of the column that it stands for.
pub const TICK_PX: f64 = 2.0;

/// Where ticks are, as points from the left of the lanes.
#[derive(Debug, Default)]
pub struct Matches {
    made_of: Option<MadeOf>,
    pub in_view: Vec<f64>,
    pub in_whole: Vec<f64>,
    /// The match that is looked at: in the view, and in the whole.
    pub current: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct MadeOf {
    generation: u64,
    search: u64,
    matches: usize,
    moves: u64,
    view: Plot,
    whole: Plot,
}

impl Matches {
    /// Looks again, when it was something else before.
    pub fn take(&mut self, search: &Search, generation: u64, chart: &Chart) {
        if !search.is_active() {
            *self = Self::default();
            return;
        }
        let (view, whole) = (chart.plot(), chart.whole_plot());
        let (matches, moves) = (search.matches(), search.moves());
        let made_of = MadeOf { generation, search: search.number(), matches, moves, view, whole };
        if self.made_of == Some(made_of) {
            return;
        }
        self.made_of = Some(made_of);
        self.in_view = columns(search.found(), &chart.axis, view, |position| position);
        let fold = chart.density().fold;
        self.in_whole = columns(search.found(), &chart.axis, whole, |position| {
            chart.axis.refold(position, chart.axis.fold(), fold)
        });
        self.current = search.current().map(|(found, _)| {
            let position = chart.axis.position(found.event());
            (view.x(position), chart.whole_x(position))
        });
    }
}

/// The columns of a plot in which there are matches. `at` gives the plot's own position for one of the axis.
fn columns(found: &[Found], axis: &Axis, plot: Plot, at: impl Fn(f64) -> f64) -> Vec<f64> {
    let x = |found: &Found| plot.x(at(axis.position(found.event())));
    let mut columns = Vec::new();
    let mut next = found.partition_point(|found| x(found) < 0.0);
    while let Some(left) = found.get(next).map(x).filter(|left| *left <= plot.width_px) {
        let column = (left / TICK_PX).floor() * TICK_PX;
        columns.push(column);
        next += found.get(next..).map_or(0, |rest| rest.partition_point(|found| x(found) < column + TICK_PX)).max(1);
    }
    columns
}
