//! Where the strip's rows lie in the window, and what of it can be pointed at.

use egui::{Pos2, Rect, pos2};

use super::lanes::Lane;
use super::layout::{Cut, Layout, MARK_HALF_PX, Mark};

/// Width of the words left of the lanes.
pub const GUTTER_PX: f32 = 112.0;
/// Room for a cluster that begins at the right end: it is seen whole.
const RIGHT_PX: f32 = 46.0;
const DENSITY_PX: f32 = 22.0;
const STEPS_PX: f32 = 32.0;
const LANE_PX: f32 = 22.0;
const TICKS_PX: f32 = 20.0;
const BAR_PX: f32 = 20.0;

/// The rows of the strip.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub outer: Rect,
    /// The line of the whole session.
    pub density: Rect,
    /// The steps and all lanes.
    pub lanes: Rect,
    /// The labels of the axis.
    pub ticks: Rect,
}

/// What can be pointed at.
#[derive(Clone, Debug, PartialEq)]
pub enum Target<'a> {
    /// One step's bar.
    Step(u32),
    /// A bar of several steps, first to last.
    Steps(u32, u32),
    Mark(Lane, &'a Mark),
}

/// The height of a strip with so many lanes.
pub fn height_px(lanes: usize) -> f32 {
    DENSITY_PX + STEPS_PX + lanes as f32 * LANE_PX + TICKS_PX
}

impl Frame {
    pub fn new(outer: Rect, lanes: usize) -> Self {
        let left = outer.left() + GUTTER_PX;
        let right = (outer.right() - RIGHT_PX).max(left + 1.0);
        let row = |top: f32, height: f32| Rect::from_min_max(pos2(left, top), pos2(right, top + height));
        let density = row(outer.top(), DENSITY_PX);
        let rows = row(density.bottom(), STEPS_PX + lanes as f32 * LANE_PX);
        Self { outer, density, lanes: rows, ticks: row(rows.bottom(), TICKS_PX) }
    }

    pub fn width_px(&self) -> f64 {
        f64::from(self.lanes.width())
    }

    /// The x on the screen of a position in the layout.
    pub fn x(&self, layout_x: f64) -> f32 {
        // What lies far outside is drawn outside, at a distance that single precision can tell.
        (f64::from(self.lanes.left()) + layout_x.clamp(-1e4, 1e5)) as f32
    }

    /// The position in the layout of an x on the screen.
    pub fn layout_x(&self, x: f32) -> f64 {
        f64::from(x - self.lanes.left())
    }

    /// The row of the steps.
    pub fn steps(&self) -> Rect {
        Rect::from_min_max(self.lanes.min, pos2(self.lanes.right(), self.lanes.top() + STEPS_PX))
    }

    /// The row of the lane drawn as number `index`.
    pub fn lane(&self, index: usize) -> Rect {
        let top = self.steps().bottom() + index as f32 * LANE_PX;
        Rect::from_min_max(pos2(self.lanes.left(), top), pos2(self.lanes.right(), top + LANE_PX))
    }

    pub fn bar(&self, left: f64, right: f64) -> Rect {
        let middle = self.steps().center().y + 1.0;
        let (left, right) = (self.x(left).max(self.lanes.left() - 6.0), self.x(right).min(self.lanes.right() + 6.0));
        Rect::from_min_max(pos2(left, middle - BAR_PX / 2.0), pos2(right, middle + BAR_PX / 2.0))
    }

    /// The box of a mark in the lane drawn as number `index`.
    pub fn mark(&self, index: usize, mark: &Mark) -> Rect {
        let lane = self.lane(index);
        let left = self.x(mark.x - MARK_HALF_PX);
        Rect::from_min_max(pos2(left, lane.top() + 2.0), pos2(left + mark.width as f32, lane.bottom() - 2.0))
    }

    pub fn cut(&self, cut: &Cut) -> Rect {
        let (left, right) = (self.x(cut.left), self.x(cut.right));
        Rect::from_min_max(pos2(left, self.lanes.top()), pos2(right.max(left + 3.0), self.ticks.bottom()))
    }

    /// Everything that can be pointed at, with its box on the screen.
    pub fn targets<'a>(&'a self, layout: &'a Layout) -> impl Iterator<Item = (Rect, Target<'a>)> + 'a {
        let bars = layout.bars.iter().map(|bar| {
            let target =
                if bar.first == bar.last { Target::Step(bar.first) } else { Target::Steps(bar.first, bar.last) };
            (self.bar(bar.left, bar.right), target)
        });
        let marks = layout.rows.iter().enumerate().flat_map(move |(index, row)| {
            row.marks.iter().map(move |mark| (self.mark(index, mark), Target::Mark(row.lane, mark)))
        });
        bars.chain(marks)
    }

    /// What is at a point.
    pub fn target_at<'a>(&'a self, layout: &'a Layout, at: Pos2) -> Option<Target<'a>> {
        self.targets(layout).find(|(rect, _)| rect.contains(at)).map(|(_, target)| target)
    }
}
