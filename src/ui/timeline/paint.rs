//! Painting the strip from its layout. Takes no input.

use egui::epaint::Mesh;
use egui::{Align2, Color32, CornerRadius, Painter, Rangef, Rect, Shape, Stroke, StrokeKind, pos2, vec2};

use super::chart::Chart;
use super::frame::Frame;
use super::lanes::{Class, Lane, Marks};
use super::layout::{Bar, COLUMN_PX, Mark, short_count};
use super::matches::{Matches, TICK_PX};
use super::words;
use crate::model::{MarkerKind, Session, Step, StepKind};
use crate::ui::theme::{self, Theme, size, space};
use crate::ui::widgets::icons::{self, Icon};

const BAR_RADIUS: CornerRadius = CornerRadius::same(3);
const ICON_PX: f32 = 12.0;
const FLAG_PX: f32 = 10.0;
/// Left of the words in the gutter.
const INDENT_PX: f32 = 10.0;
const ZIGZAG_PX: f32 = 8.0;
/// So far right of its place a label is written when its place is taken.
const PUSHED_PX: f32 = 40.0;

/// What the strip shows beside its layout.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sight {
    pub step: Option<u32>,
    pub event: Option<usize>,
    /// Where the playhead is, as an x of the layout.
    pub playhead_x: Option<f64>,
    /// What has not been played yet.
    pub unplayed: Option<(f64, f64)>,
    /// What the pointer is on.
    pub hovered: Option<Rect>,
    pub has_focus: bool,
}

/// Paints with one theme into one frame.
pub struct Brush<'a> {
    pub painter: &'a Painter,
    pub theme: &'static Theme,
    pub frame: Frame,
    pub session: &'a Session,
    pub chart: &'a Chart,
    pub sight: Sight,
    pub matches: &'a Matches,
    /// The steps with a bookmark or a note, in order.
    pub noted: &'a [u32],
}

impl Brush<'_> {
    pub fn paint(&self) {
        self.painter.rect_filled(self.frame.outer, CornerRadius::ZERO, self.theme.panel);
        self.density();
        self.lane_lines();
        // Marks at the ends reach out of their lanes by half an icon.
        let mut seen = self.frame.lanes.expand2(vec2(space::S, 0.0));
        seen.max.x = self.frame.outer.right();
        let clipped = self.painter.with_clip_rect(seen);
        let inner = Brush { painter: &clipped, ..*self };
        inner.cuts();
        self.chart.layout().bars.iter().for_each(|bar| {
            inner.bar(bar);
            inner.flag(bar);
        });
        for (index, row) in self.chart.layout().rows.iter().enumerate() {
            row.marks.iter().for_each(|mark| inner.mark(index, row.lane, mark));
        }
        inner.unplayed();
        inner.playhead();
        let current = self.matches.current;
        inner.matches(&self.matches.in_view, current.map(|(x, _)| x), self.frame.lanes.top());
        self.matches(&self.matches.in_whole, current.map(|(_, x)| x), self.frame.density.top());
        self.labels();
        if self.sight.has_focus {
            let stroke = Stroke::new(1.0, self.theme.accent);
            let rect = self.frame.lanes.expand2(vec2(space::S, -1.0));
            self.painter.rect_stroke(rect, BAR_RADIUS, stroke, StrokeKind::Inside);
        }
    }

    fn crisp(&self, point: f32) -> f32 {
        self.painter.round_to_pixel_center(point)
    }

    fn word(&self, at: egui::Pos2, anchor: Align2, text: impl ToString, colour: egui::Color32) -> Rect {
        self.painter.text(at, anchor, text, theme::small(), colour)
    }

    fn density(&self) {
        let rect = self.frame.density;
        let ground = Rect::from_x_y_ranges(self.frame.outer.x_range(), rect.y_range());
        self.painter.rect_filled(ground, CornerRadius::ZERO, self.theme.bg);
        let left = self.frame.outer.left() + INDENT_PX;
        self.word(pos2(left, rect.center().y), Align2::LEFT_CENTER, "Whole session", self.theme.weak);
        let mut mesh = Mesh::default();
        let tallest = rect.height() - 4.0;
        for (height, column) in self.chart.density().columns.iter().zip(0_u16..) {
            if *height > 0.0 {
                let left = rect.left() + f32::from(column) * COLUMN_PX as f32;
                let top = rect.bottom() - 1.0 - (tallest * height).max(2.0);
                let bar = Rect::from_min_max(pos2(left, top), pos2(left + COLUMN_PX as f32 - 1.0, rect.bottom() - 1.0));
                mesh.add_colored_rect(bar, self.theme.agent);
            }
        }
        self.painter.add(Shape::mesh(mesh));
        if !self.chart.is_whole() {
            let view = self.chart.view();
            let x = |position: f64| self.frame.x(self.chart.whole_x(position));
            let brush = Rect::from_x_y_ranges(Rangef::new(x(view.start), x(view.end)), rect.y_range());
            self.painter.rect_filled(brush, CornerRadius::ZERO, self.theme.accent.gamma_multiply(0.16));
            for x in [brush.left(), brush.right()] {
                self.painter.vline(self.crisp(x), rect.y_range(), Stroke::new(1.0, self.theme.accent));
                let grip = Rect::from_center_size(pos2(self.crisp(x), rect.center().y), vec2(3.0, 10.0));
                self.painter.rect_filled(grip, CornerRadius::same(1), self.theme.accent);
            }
        }
    }

    fn lane_lines(&self) {
        let left = self.frame.outer.left() + INDENT_PX;
        let stroke = Stroke::new(1.0, self.theme.line);
        let row = |rect: Rect, title: &str| {
            self.word(pos2(left, rect.center().y), Align2::LEFT_CENTER, title, self.theme.weak);
            self.painter.hline(rect.x_range(), self.crisp(rect.bottom() - 1.0), stroke);
        };
        row(self.frame.steps(), "Steps");
        for (index, lane) in self.chart.lanes().enumerate() {
            row(self.frame.lane(index), lane.title());
        }
    }

    /// The folded pauses: the rows stop on both sides of a zigzag.
    fn cuts(&self) {
        let lanes = self.frame.lanes;
        for cut in &self.chart.layout().cuts {
            let rect = self.frame.cut(cut);
            let x = self.crisp(rect.center().x);
            let band = Rect::from_x_y_ranges(Rangef::point(x).expand((rect.width() / 2.0).min(5.0)), lanes.y_range());
            self.painter.rect_filled(band, CornerRadius::ZERO, self.theme.panel);
            let reach = (rect.width() / 4.0).min(2.5);
            let count = (lanes.height() / ZIGZAG_PX) as u16;
            let points = (0..=count).map(|index| {
                let side = if index % 2 == 0 { -reach } else { reach };
                pos2(x + side, lanes.top() + 2.0 + f32::from(index) * ZIGZAG_PX)
            });
            self.painter.add(Shape::line(points.collect(), Stroke::new(1.0, self.theme.faint)));
        }
    }

    /// A flag over a bar of which a step has a bookmark or a note.
    fn flag(&self, bar: &Bar) {
        let first = self.noted.partition_point(|step| *step < bar.first);
        if self.noted.get(first).is_some_and(|step| *step <= bar.last) {
            let at = pos2(self.frame.bar(bar.left, bar.right).left() + FLAG_PX / 2.0, self.frame.steps().top() + 5.0);
            icons::paint(self.painter, Icon::Bookmark, at, FLAG_PX, self.theme.accent);
        }
    }

    fn bar(&self, bar: &Bar) {
        let rect = self.frame.bar(bar.left, bar.right);
        let is_one = bar.first == bar.last;
        let is_selected = self.sight.step.is_some_and(|step| (bar.first..=bar.last).contains(&step));
        let fill = match (is_selected, is_one) {
            (true, _) => self.theme.accent_bg,
            (false, true) => self.theme.agent,
            (false, false) => self.theme.agent.gamma_multiply(0.45),
        };
        let edge = if is_selected {
            self.theme.accent
        } else if self.is_hovered(rect) {
            self.theme.weak
        } else {
            self.theme.agent
        };
        self.painter.rect(rect, BAR_RADIUS, fill, Stroke::new(1.0, edge), StrokeKind::Inside);
        if !is_one {
            let text = format!("{}–{}", bar.first, bar.last);
            self.fitting(&text, rect.shrink2(vec2(3.0, 0.0)), Align2::CENTER_CENTER);
            return;
        }
        if let Some(step) = self.session.step(bar.first) {
            self.step_sign(step, rect);
        }
    }

    /// Kind and number of a step in its bar, as far as there is room.
    fn step_sign(&self, step: &Step, rect: Rect) {
        const SIDE_PX: f32 = 11.0;
        // The sign stays in sight when the bar begins left of it.
        let left = rect.left().max(self.frame.lanes.left()) + 3.0;
        let room = Rect::from_min_max(pos2(left, rect.top()), rect.max - vec2(2.0, 0.0));
        let number = step.number.to_string();
        let beside = room.with_min_x(left + SIDE_PX + 3.0);
        let has_both = self.fitting(&number, beside, Align2::LEFT_CENTER);
        // A prompt is what a step is unless something says otherwise: its number says more than its sign.
        if !has_both && step.kind == StepKind::Prompt && self.fitting(&number, room, Align2::CENTER_CENTER) {
            return;
        }
        if room.width() >= SIDE_PX - 1.0 {
            let at = pos2(left + SIDE_PX / 2.0, rect.center().y);
            icons::paint(self.painter, Icon::of_step(step.kind), at, SIDE_PX, self.theme.step(step.kind));
        }
    }

    fn is_hovered(&self, rect: Rect) -> bool {
        self.sight.hovered == Some(rect)
    }

    /// A text where it fits, nothing where it does not; says which.
    fn fitting(&self, text: &str, room: Rect, anchor: Align2) -> bool {
        if room.width() < 5.0 {
            return false;
        }
        let galley = self.painter.layout_no_wrap(text.to_owned(), theme::small(), self.theme.text);
        let fits = galley.size().x <= room.width();
        if fits {
            let at = anchor.align_size_within_rect(galley.size(), room).min;
            self.painter.galley(at, galley, self.theme.text);
        }
        fits
    }

    fn mark(&self, index: usize, lane: Lane, mark: &Mark) {
        let rect = self.frame.mark(index, mark);
        let is_selected = self.sight.event.is_some_and(|event| holds(&self.chart.marks, lane, mark, event));
        let stroke = if is_selected {
            Stroke::new(1.0, self.theme.accent)
        } else if self.is_hovered(rect) {
            Stroke::new(1.0, self.theme.weak)
        } else if mark.count > 1 {
            Stroke::new(1.0, self.theme.line)
        } else {
            Stroke::NONE
        };
        if is_selected || mark.count > 1 || self.is_hovered(rect) {
            let fill = if is_selected { self.theme.accent_bg } else { self.theme.raised };
            self.painter.rect(rect, CornerRadius::same(space::RADIUS as u8), fill, stroke, StrokeKind::Inside);
        }
        let mut x = rect.left() + 1.0;
        for (class, _) in mark.shown.iter().flatten() {
            let (icon, colour) = sign(*class, self.theme);
            let at = pos2(x + ICON_PX / 2.0, rect.center().y);
            icons::paint(self.painter, icon, at, ICON_PX - 1.0, colour);
            x += ICON_PX;
        }
        if mark.count > 1 {
            let at = pos2(x + 2.0, rect.center().y);
            let font = egui::FontId::proportional(size::CHIP);
            self.painter.text(at, Align2::LEFT_CENTER, short_count(mark.count), font, self.theme.text);
        }
    }

    fn unplayed(&self) {
        if let Some((from, to)) = self.sight.unplayed {
            let x = Rangef::new(self.frame.x(from), self.frame.x(to));
            let rect = Rect::from_x_y_ranges(x, self.frame.lanes.y_range());
            self.painter.rect_filled(rect, CornerRadius::ZERO, self.theme.panel.gamma_multiply(0.65));
        }
    }

    /// Ticks where there are matches, from `top` down.
    fn matches(&self, columns: &[f64], current: Option<f64>, top: f32) {
        let mut mesh = Mesh::default();
        for column in columns {
            let left = self.frame.x(*column);
            let tick = Rect::from_x_y_ranges(left..=left + TICK_PX as f32, top..=top + 5.0);
            mesh.add_colored_rect(tick, self.theme.fallback);
        }
        self.painter.add(Shape::mesh(mesh));
        // The one that is looked at is longer and broader, not only of another colour.
        if let Some(x) = current {
            let x = self.frame.x(x);
            let tick = Rect::from_x_y_ranges(x - 1.5..=x + 1.5, top..=top + 8.0);
            self.painter.rect_filled(tick, CornerRadius::same(1), self.theme.text);
        }
    }

    fn playhead(&self) {
        let Some(x) = self.sight.playhead_x else { return };
        let (x, y) = (self.frame.x(x), self.frame.lanes.y_range());
        self.painter.vline(self.crisp(x), y, Stroke::new(1.5, self.theme.accent));
        let (x, top) = (self.crisp(x), y.min);
        let triangle = vec![pos2(x - 5.0, top), pos2(x + 5.0, top), pos2(x, top + 7.0)];
        self.painter.add(Shape::convex_polygon(triangle, self.theme.accent, Stroke::NONE));
    }

    /// The row under the lanes: lengths of pauses first, then what of the axis and of the empty lanes has room.
    fn labels(&self) {
        let row = self.frame.ticks;
        let mut words = Words { brush: self, taken: Vec::new() };
        let absent = words::absent(self.session, self.chart.empty_lanes());
        if !absent.is_empty() {
            let at = pos2(row.right(), row.center().y);
            let rect = self.word(at, Align2::RIGHT_CENTER, absent, self.theme.weak);
            words.taken.push(rect.x_range().expand(space::M));
        }
        for cut in &self.chart.layout().cuts {
            let x = self.frame.cut(cut).center().x;
            words.put(words::pause(cut.gap.ms), x, Align2::CENTER_CENTER, self.theme.weak);
        }
        for (x, label) in &self.chart.layout().ticks {
            let x = self.frame.x(*x);
            // What begins behind a cut is written behind the cut's own words.
            let free = words.taken.iter().find(|range| range.contains(x + 3.0)).map_or(x, |range| range.max);
            let fits = free - x <= PUSHED_PX;
            if fits && words.put(label.clone(), free + 3.0, Align2::LEFT_CENTER, self.theme.faint) {
                let y = Rangef::new(row.top(), row.top() + 6.0);
                self.painter.vline(self.crisp(x), y, Stroke::new(1.0, self.theme.faint));
            }
        }
    }
}

/// Words in the row under the lanes, none over another.
struct Words<'a> {
    brush: &'a Brush<'a>,
    taken: Vec<Rangef>,
}

impl Words<'_> {
    /// Writes a text if there is room for it; says whether there was.
    fn put(&mut self, text: String, x: f32, anchor: Align2, colour: egui::Color32) -> bool {
        let (painter, row) = (self.brush.painter, self.brush.frame.ticks);
        let galley = painter.layout_no_wrap(text, theme::small(), colour);
        let rect = anchor.anchor_size(pos2(x, row.center().y), galley.size());
        let range = rect.x_range().expand(2.0);
        let fits = rect.left() >= row.left() - space::S && rect.right() <= row.right() + space::S;
        let is_free = self.taken.iter().all(|other| other.max < range.min || other.min > range.max);
        if fits && is_free {
            painter.galley(rect.min, galley, colour);
            self.taken.push(range);
        }
        fits && is_free
    }
}

/// Shape and colour of a class: those of its markers, without having one made.
fn sign(class: Class, theme: &Theme) -> (Icon, Color32) {
    match class {
        Class::Pending | Class::Cancelled => (Icon::Waiting, theme.fallback),
        Class::Auto => (Icon::of_marker_kind(MarkerKind::Approval), theme.weak),
        class => (Icon::of_marker_kind(class.marker()), theme.marker_kind(class.marker())),
    }
}

/// Whether a mark stands for an event.
fn holds(marks: &Marks, lane: Lane, mark: &Mark, event: usize) -> bool {
    let listed = || u32::try_from(event).is_ok_and(|event| marks.lane(lane).binary_search(&event).is_ok());
    mark.events.contains(&event) && listed()
}
