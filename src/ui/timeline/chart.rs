//! The strip's data and view: axis, marks, what is seen of them, and their layout, made again only when one of these
//! changed. Draws nothing.

use std::ops::Range;
use std::sync::Arc;

use chrono::{DateTime, Local, Utc};

use super::lanes::{Lane, Marks};
use super::layout::{Density, Layout, Plot, lay_out};
use crate::ui::widgets::time_axis::{Axis, Scale, View};
use crate::workspace::outline::Outline;

/// How much of what is seen stays seen with one key press.
const ZOOM_STEP: f64 = 0.6;

/// A session on an axis.
#[derive(Debug)]
pub struct Chart {
    pub axis: Axis,
    pub marks: Arc<Marks>,
    view: View,
    /// All of the session is seen, and goes on being seen when it grows.
    whole: bool,
    width_px: f64,
    density: Density,
    layout: Layout,
    /// `layout` is that of another view.
    stale: bool,
}

/// What is seen of a chart, by its events: an event and how far from it, in axis units.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    whole: bool,
    scale: Scale,
    start: (usize, f64),
    end: (usize, f64),
}

impl Chart {
    /// Of a session's overview; shares what is in proportion to the session.
    pub fn new(outline: &Outline, scale: Scale) -> Self {
        let axis = outline.axis(scale);
        let view = View { start: 0.0, end: axis.length() };
        Self {
            marks: Arc::clone(&outline.marks),
            axis,
            view,
            whole: true,
            width_px: 0.0,
            density: Density::default(),
            layout: Layout::default(),
            stale: true,
        }
    }

    pub fn plot(&self) -> Plot {
        Plot { view: self.view, width_px: self.width_px }
    }

    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The lanes that have marks.
    pub fn lanes(&self) -> impl Iterator<Item = Lane> + '_ {
        Lane::ALL.into_iter().filter(|lane| !self.marks.lane(*lane).is_empty())
    }

    /// The lanes that have none.
    pub fn empty_lanes(&self) -> impl Iterator<Item = Lane> + '_ {
        Lane::ALL.into_iter().filter(|lane| self.marks.lane(*lane).is_empty())
    }

    /// What is seen, for a chart of the same session read again or scaled otherwise.
    pub fn place(&self) -> Place {
        let at = |position: f64| {
            let event = self.axis.nearest_event(position).unwrap_or(0);
            (event, position - self.axis.position(event))
        };
        Place { whole: self.whole, scale: self.axis.scale(), start: at(self.view.start), end: at(self.view.end) }
    }

    /// Shows what `place` says, as far as it is there.
    pub fn go_to(&mut self, place: Place) {
        if place.whole || self.axis.event_count() == 0 {
            return;
        }
        let same = place.scale == self.axis.scale();
        let position = |(event, offset): (usize, f64)| self.axis.position(event) + if same { offset } else { 0.0 };
        let view = View { start: position(place.start), end: position(place.end) };
        self.show(view);
    }

    /// Lays out for another width; what is seen stays.
    pub fn set_width(&mut self, width_px: f64) {
        if self.width_px == width_px {
            return;
        }
        self.width_px = width_px;
        let (view, fold) = (self.view, self.axis.fold());
        let whole = self.axis.show_all(width_px);
        self.density = Density::of(&self.axis, &self.marks, whole, width_px);
        if self.whole {
            self.show_all();
        } else {
            let then = |position: f64| self.axis.refold(position, fold, self.axis.fold());
            self.show(View { start: then(view.start), end: then(view.end) });
        }
        self.stale = true;
    }

    pub fn show_all(&mut self) {
        self.view = self.axis.show_all(self.width_px);
        self.whole = true;
        self.stale = true;
    }

    /// Shows the part from `view.start` to `view.end`, all of it if that is all there is.
    pub fn show(&mut self, view: View) {
        let view = self.axis.fit(view, self.width_px);
        self.set(view);
    }

    pub fn pan(&mut self, by_px: f64) {
        let view = self.view.panned(self.plot().units(by_px), self.axis.length());
        self.set(view);
    }

    /// One step of panning by key: a quarter of what is seen, back for -1, on for 1.
    pub fn pan_by_key(&mut self, direction: f64) {
        self.pan(direction * f64::from(self.width_px as f32) / 4.0);
    }

    /// Moves what is seen so that it starts at `start`.
    pub fn pan_to(&mut self, start: f64) {
        let view = self.view.panned(start - self.view.start, self.axis.length());
        self.set(view);
    }

    /// Zooms about what lies at `x`; below 1 `factor` shows less.
    pub fn zoom(&mut self, x: f64, factor: f64) {
        let anchor = self.plot().position(x);
        let view = self.axis.zoom(self.view, anchor, factor, self.width_px);
        self.set(view);
    }

    /// One step of zooming by key, about `anchor` if it is seen.
    pub fn zoom_by_key(&mut self, anchor: Option<f64>, zooms_in: bool) {
        let anchor = anchor.filter(|anchor| self.view.contains(*anchor));
        let x = anchor.map_or(self.width_px / 2.0, |anchor| self.plot().x(anchor));
        self.zoom(x, if zooms_in { ZOOM_STEP } else { 1.0 / ZOOM_STEP });
    }

    /// Pans as little as shows `position`.
    pub fn reveal(&mut self, position: f64) {
        let view = self.view.revealing(position, self.axis.length());
        self.set(view);
    }

    /// Zooms to the marks or steps from one position to another; says whether that shows them apart.
    pub fn zoom_to(&mut self, start: f64, end: f64) -> bool {
        let span = end - start;
        let nearest = self.axis.narrowest() * 0.02;
        let before = self.view;
        if span > nearest {
            self.show(View { start: start - span * 0.25, end: end + span * 0.25 });
        }
        self.view != before
    }

    fn set(&mut self, view: View) {
        let whole = view.start <= 0.0 && view.end >= self.axis.length();
        self.stale |= view != self.view;
        self.view = view;
        self.whole = whole;
    }

    /// The density of the whole session.
    pub fn density(&self) -> &Density {
        &self.density
    }

    /// Where a position of the view lies on the line of the whole session.
    pub fn whole_x(&self, position: f64) -> f64 {
        let whole = self.whole_plot();
        whole.x(self.axis.refold(position, self.axis.fold(), self.density.fold))
    }

    /// Which position of the view lies at `x` on the line of the whole session.
    pub fn position_at_whole(&self, x: f64) -> f64 {
        self.axis.refold(self.whole_plot().position(x), self.density.fold, self.axis.fold())
    }

    pub fn whole_plot(&self) -> Plot {
        Plot { view: self.density.view.unwrap_or(self.view), width_px: self.width_px }
    }

    pub fn view(&self) -> View {
        self.view
    }

    /// Makes the layout of what is seen, if what is seen changed.
    pub fn lay_out(&mut self) {
        if std::mem::take(&mut self.stale) {
            self.layout = lay_out(&self.axis, &self.marks, self.plot(), &zone_ms);
        }
    }

    /// The layout as [`Chart::lay_out`] left it.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The positions of the first and the last of some events.
    pub fn positions(&self, events: &Range<usize>) -> (f64, f64) {
        (self.axis.position(events.start), self.axis.position(events.end.saturating_sub(1)))
    }
}

/// How far the local clock is ahead of UTC at a moment, in milliseconds.
fn zone_ms(ms: i64) -> i64 {
    let offset = |time: DateTime<Utc>| i64::from(time.with_timezone(&Local).offset().local_minus_utc());
    DateTime::from_timestamp_millis(ms).map_or(0, |time| offset(time) * 1_000)
}
