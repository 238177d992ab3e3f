//! A list that draws only what is visible, of rows whose heights are known once they are drawn.
//!
//! It owns the place of its reader and the heights of its rows; it knows nothing of what the rows show. The reader's
//! place is a row, by its key, and an offset in it: rows that change, come or go elsewhere do not move the view.

mod geometry;
mod input;

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use egui::accesskit::{Action, Role};
use egui::{Align, Id, Layout, Rect, Sense, Stroke, StrokeKind, Ui, UiBuilder, accesskit, pos2, vec2};

use super::super::theme::Theme;
pub use geometry::{Anchor, Heights};

/// Width of the scroll bar and the room to its left.
pub const BAR_PX: f32 = 12.0;
/// Heights are of use at another width too, but only as guesses: widths are told apart in steps of this.
const WIDTH_STEP_PX: f32 = 8.0;
/// Measured heights that are remembered by key, for when the rows are counted anew.
const REMEMBERED: usize = 100_000;
/// Of more rows, heights are guessed for many together where the rows can do that.
const MANY: usize = 4_096;

/// What a list shows.
pub trait Rows {
    /// Names a row for as long as the program runs, wherever it stands.
    type Key: Copy + Eq + Hash;

    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn key(&self, row: usize) -> Self::Key;

    /// A guess at a row's height, in points; called for every row when the rows are others, so it must cost nothing.
    fn estimate(&self, row: usize, width_px: f32) -> f32;

    /// A guess at the height of some rows together, where there may be millions and even that costs too much.
    fn estimate_together(&self, _rows: Range<usize>, _width_px: f32) -> Option<f64> {
        None
    }

    /// Changes when a row's content changes by itself, such as when its text has been read. When its user folds or
    /// opens it, it stays the same: then the row's upper edge stays in place, else its lower one.
    fn stamp(&self, _row: usize) -> u64 {
        0
    }

    fn sense(&self, _row: usize) -> Sense {
        Sense::hover()
    }

    /// Whether the list takes the page keys when nothing has the focus; `pointed` says that the pointer is over it.
    fn takes_page_keys(&self, pointed: bool) -> bool {
        pointed
    }

    /// Whether the focus of the list is shown around all of it; else its rows show it.
    fn shows_focus(&self) -> bool {
        true
    }

    /// One line that a screen reader says for a row.
    fn name(&self, row: usize) -> String;

    /// Draws a row into `ui`, from its top. With `measuring`, only its height matters: it is not seen and must not ask
    /// for anything.
    fn show(&mut self, ui: &mut Ui, row: usize, measuring: bool);
}

/// What became of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The rows that were drawn.
    pub rows: Range<usize>,
    /// The end of the last row is in view.
    pub at_end: bool,
    /// Its user scrolled in this frame.
    pub scrolled: bool,
}

/// The memory of a list; keep it where the list's document is kept.
#[derive(Debug)]
pub struct VirtualList<K> {
    heights: Heights,
    anchor: Anchor,
    /// Of the rows drawn in the last frame, to find the reader's place again when the rows are others.
    drawn: Vec<(usize, K, u64)>,
    remembered: HashMap<K, f32>,
    /// True heights in this frame: of the rows drawn, and of those measured without being seen.
    fresh: HashMap<usize, f32>,
    revision: Option<u64>,
    width_class: i32,
    /// Where the handle was taken, from its top.
    grabbed_px: Option<f32>,
    focused: Option<Id>,
    jump: Option<Jump>,
    nudge_px: f64,
    held: Option<Held<K>>,
    has_focus: bool,
    view_px: f64,
}

/// A row that was brought somewhere: texts that come in around it do not move it, until its user scrolls.
#[derive(Clone, Copy, Debug)]
struct Held<K> {
    row: usize,
    key: K,
    below_px: f64,
    /// The height of all rows together when it was placed: another one means that something came in.
    total_px: f64,
}

#[derive(Clone, Copy, Debug)]
enum Jump {
    /// The row's upper edge, this far below the view's.
    Top(usize, f64),
    /// Anywhere, whole if there is room; no further than needed.
    Visible(usize, f64),
}

impl<K> Default for VirtualList<K> {
    fn default() -> Self {
        Self {
            heights: Heights::default(),
            anchor: Anchor::default(),
            drawn: Vec::new(),
            remembered: HashMap::new(),
            fresh: HashMap::new(),
            revision: None,
            width_class: 0,
            grabbed_px: None,
            focused: None,
            jump: None,
            nudge_px: 0.0,
            held: None,
            has_focus: false,
            view_px: 0.0,
        }
    }
}

impl<K: Copy + Eq + Hash> VirtualList<K> {
    /// Brings a row to the top of the view, `below_px` below its edge, in the next frame.
    pub fn jump_to(&mut self, row: usize, below_px: f64) {
        self.jump = Some(Jump::Top(row, below_px));
    }

    /// Brings a row into the view, if it is not, in the next frame.
    pub fn reveal(&mut self, row: usize) {
        self.reveal_below(row, 0.0);
    }

    /// Brings a row into the view, if it is not, `below_px` below its edge when it comes from above.
    pub fn reveal_below(&mut self, row: usize, below_px: f64) {
        self.jump = Some(Jump::Visible(row, below_px));
    }

    /// Moves the view down by so much (up when negative) in the next frame, for what is inside a row.
    pub fn nudge(&mut self, delta_px: f64) {
        self.nudge_px = delta_px;
        self.held = None;
    }

    /// Whether a row was drawn in the last frame.
    pub fn shows(&self, row: usize) -> bool {
        self.drawn.iter().any(|(drawn, ..)| *drawn == row)
    }

    /// Whether the list had the focus when it was drawn last.
    pub fn has_focus(&self) -> bool {
        self.has_focus
    }

    /// The row at the top of the view.
    pub fn first_row(&self) -> usize {
        self.anchor.row
    }

    /// Draws the list into all of `ui`. `revision` is another number whenever the rows are others (more, fewer, in
    /// another order); `name` is what a screen reader calls the list, and its identity within `ui`.
    pub fn show<R: Rows<Key = K>>(&mut self, ui: &mut Ui, rows: &mut R, revision: u64, name: &str) -> Shown {
        let view = ui.available_rect_before_wrap();
        let id = ui.scope_id().with(name);
        let builder = UiBuilder::new()
            .scope_id(id)
            .max_rect(view)
            .layout(Layout::top_down(Align::Min))
            .sense(Sense::focusable_noninteractive())
            .accessibility_role(Role::List)
            .accessibility_label(name);
        let mut list = ui.new_child(builder);
        list.shrink_clip_rect(view);
        list.ctx().accesskit_node_builder(list.unique_id(), |node| {
            node.set_size_of_set(rows.len());
            node.set_bounds(bounds(view));
        });
        let width = (view.width() - BAR_PX).max(40.0);
        self.view_px = f64::from(view.height());
        self.fresh.clear();
        self.count(rows, revision, width);
        if list.ctx().current_pass_index() == 0 {
            self.keep_lower_edge(&mut list, rows, width);
        }
        self.has_focus = list.response().has_focus();
        if list.input(|input| input.pointer.primary_pressed()) && list.rect_contains_pointer(view) {
            // Its user is at work in it: what opens under the pointer must stay under it.
            self.held = None;
        }
        self.do_jump(rows);
        self.hold(&mut list, rows, width);
        let nudge_px = std::mem::take(&mut self.nudge_px);
        if nudge_px != 0.0 {
            self.scroll_by(nudge_px, &mut list, rows, width);
        }
        let (shown, at_end) = self.draw(&mut list, rows, view, width);
        self.bar(&mut list, view, name);
        let scrolled = list.ctx().current_pass_index() == 0 && self.input(&mut list, rows, view, width);
        list.expand_to_include_rect(view);
        if self.has_focus && rows.shows_focus() {
            let stroke = Stroke::new(1.0, Theme::of(list.ctx()).accent);
            list.painter().rect_stroke(view.shrink(1.0), 0, stroke, StrokeKind::Inside);
        }
        drop(list);
        ui.advance_cursor_after_rect(view);
        Shown { rows: shown, at_end, scrolled }
    }

    /// Takes in that the rows are others, or the width is.
    fn count<R: Rows<Key = K>>(&mut self, rows: &R, revision: u64, width: f32) {
        let class = (width / WIDTH_STEP_PX).round() as i32;
        if class != self.width_class {
            self.width_class = class;
            self.remembered.clear();
        }
        if self.revision == Some(revision) && self.heights.len() == rows.len() {
            return;
        }
        self.revision = Some(revision);
        self.heights = if rows.len() > MANY && rows.estimate_together(0..1, width).is_some() {
            Heights::guessed(rows.len(), |some| rows.estimate_together(some, width).unwrap_or_default())
        } else {
            // In a list longer than what is remembered, looking each row up would hold up the window for little: there
            // all are guesses, and correcting a guess moves nothing that is seen.
            let remembers = rows.len() <= REMEMBERED;
            Heights::new((0..rows.len()).map(|row| {
                let known = if remembers { self.remembered.get(&rows.key(row)).copied() } else { None };
                known.unwrap_or_else(|| rows.estimate(row, width))
            }))
        };
        self.find_place(rows);
        if let Some(held) = &mut self.held {
            // Rows may have come before it; it is placed anew in any case.
            held.total_px = f64::NAN;
            if held.row >= rows.len() || rows.key(held.row) != held.key {
                match (0..rows.len()).find(|row| rows.key(*row) == held.key) {
                    Some(row) => held.row = row,
                    None => self.held = None,
                }
            }
        }
    }

    /// Finds the row that the reader was at, or the nearest below that is still there.
    fn find_place<R: Rows<Key = K>>(&mut self, rows: &R) {
        let same = |row: usize, key: &K| row < rows.len() && rows.key(row) == *key;
        let offset = self.anchor.offset_px;
        let unmoved = self.drawn.first().is_some_and(|(row, key, _)| *row == self.anchor.row && same(*row, key));
        if !unmoved && !self.drawn.is_empty() {
            let ranks: HashMap<K, usize> =
                self.drawn.iter().enumerate().map(|(rank, (_, key, _))| (*key, rank)).collect();
            let found = (0..rows.len())
                .filter_map(|row| ranks.get(&rows.key(row)).map(|rank| (*rank, row)))
                .min_by_key(|(rank, _)| *rank);
            self.anchor = match found {
                Some((rank, row)) => Anchor { row, offset_px: if rank == 0 { offset } else { 0.0 } },
                None => Anchor::at(self.anchor.row.min(rows.len().saturating_sub(1))),
            };
        }
        self.drawn.clear();
    }

    /// When the first row has grown by itself above the view's edge, what is in the view stays where it is.
    fn keep_lower_edge<R: Rows<Key = K>>(&mut self, ui: &mut Ui, rows: &mut R, width: f32) {
        let row = self.anchor.row;
        let Some((drawn, _, stamp)) = self.drawn.first().copied() else { return };
        if drawn == row && self.anchor.offset_px > 0.0 && stamp != rows.stamp(row) {
            let height = measure(ui, rows, row, width, &mut self.fresh);
            self.anchor.offset_px = (self.anchor.offset_px + f64::from(height) - self.heights.get(row)).max(0.0);
            self.heights.set(row, height);
        }
    }

    fn do_jump<R: Rows<Key = K>>(&mut self, rows: &R) {
        let Some(jump) = self.jump.take() else { return };
        let view_px = self.view_px;
        let (row, below_px) = match jump {
            Jump::Top(row, below_px) => (row, below_px),
            Jump::Visible(row, lead_px) => {
                let top = self.heights.top_of(row) - self.anchor.top(&self.heights);
                let height = self.heights.get(row);
                let near = self.drawn.iter().any(|(drawn, ..)| *drawn == row) && top >= 0.0;
                if near && top + height <= view_px {
                    self.held = None;
                    return;
                }
                (row, if near { (view_px - height).max(0.0) } else { lead_px.min(view_px / 4.0) })
            }
        };
        if row < rows.len() {
            self.held = Some(Held { row, key: rows.key(row), below_px, total_px: f64::NAN });
        }
    }

    /// Places the row that is held, when something has changed since it was placed.
    fn hold<R: Rows<Key = K>>(&mut self, ui: &mut Ui, rows: &mut R, width: f32) {
        let Some(held) = self.held else { return };
        let total_px = self.heights.total();
        if held.total_px == total_px {
            return;
        }
        self.anchor = Anchor::at(held.row);
        self.scroll_by(-held.below_px, ui, rows, width);
        self.held = Some(Held { total_px: self.heights.total(), ..held });
    }

    /// Gives the rows drawn, and whether the last of them is the last and whole.
    fn draw<R: Rows<Key = K>>(&mut self, ui: &mut Ui, rows: &mut R, view: Rect, width: f32) -> (Range<usize>, bool) {
        self.drawn.clear();
        let start = self.anchor.row;
        let mut row = start;
        let mut y = view.top() - self.anchor.offset_px as f32;
        while y < view.bottom() && row < self.heights.len() {
            let key = rows.key(row);
            let sense = rows.sense(row);
            let builder = row_builder(ui.scope_id().with(key_id(&key)), pos2(view.left(), y), width)
                .sense(sense)
                .accessibility_role(Role::ListItem)
                .accessibility_label(rows.name(row));
            let mut child = ui.new_child(builder);
            rows.show(&mut child, row, false);
            let height = child.min_rect().height().ceil();
            let rect = Rect::from_min_size(pos2(view.left(), y), vec2(width, height));
            child.expand_to_include_rect(rect);
            if child.response().has_focus() {
                let stroke = Stroke::new(1.0, Theme::of(child.ctx()).accent);
                child.painter().rect_stroke(rect.shrink(1.0), 2, stroke, StrokeKind::Inside);
            }
            child.ctx().accesskit_node_builder(child.unique_id(), |node| {
                node.set_position_in_set(row);
                node.set_bounds(bounds(rect));
                if sense.is_focusable() {
                    node.add_action(Action::Focus);
                    node.add_action(Action::Click);
                }
            });
            drop(child);
            self.heights.set(row, height);
            self.fresh.insert(row, height);
            if self.remembered.len() >= REMEMBERED {
                self.remembered.clear();
            }
            self.remembered.insert(key, height);
            self.drawn.push((row, key, rows.stamp(row)));
            y += self.heights.get(row) as f32;
            row += 1;
        }
        if self.held.is_some_and(|held| held.total_px != self.heights.total()) {
            // What is held is placed among true heights in the next frame.
            ui.ctx().request_repaint();
        }
        // Rows at the end got shorter, or the view taller: fill it from above.
        let missing = f64::from(view.bottom() - y);
        if missing > 0.5 && (start > 0 || self.anchor.offset_px > 0.0) {
            self.scroll_by(-missing, ui, rows, width);
            ui.ctx().request_discard("the end of a list came into view");
        }
        (start..row, row == self.heights.len() && missing > -1.0)
    }

    /// Moves the view down by `delta_px`, measuring the rows that were not drawn in this frame.
    fn scroll_by<R: Rows<Key = K>>(&mut self, delta_px: f64, ui: &mut Ui, rows: &mut R, width: f32) {
        let Self { anchor, heights, fresh, view_px, .. } = self;
        anchor.scroll(delta_px, *view_px, heights, &mut |row| measure(ui, rows, row, width, fresh));
    }
}

fn bounds(rect: Rect) -> accesskit::Rect {
    accesskit::Rect { x0: rect.left().into(), y0: rect.top().into(), x1: rect.right().into(), y1: rect.bottom().into() }
}

fn key_id<K: Hash>(key: &K) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

fn row_builder(id: Id, at: egui::Pos2, width: f32) -> UiBuilder {
    UiBuilder::new()
        .scope_id(id)
        .max_rect(Rect::from_min_size(at, vec2(width, f32::INFINITY)))
        .layout(Layout::top_down(Align::Min))
}

/// The height that a row has, found by laying it out where nobody sees it; once a frame, for a widget must not stand in
/// two places.
fn measure<R: Rows>(ui: &mut Ui, rows: &mut R, row: usize, width: f32, fresh: &mut HashMap<usize, f32>) -> f32 {
    *fresh.entry(row).or_insert_with(|| {
        let id = ui.scope_id().with(("measure", key_id(&rows.key(row))));
        let mut child = ui.new_child(row_builder(id, ui.max_rect().min, width).invisible());
        child.set_clip_rect(Rect::NOTHING);
        rows.show(&mut child, row, true);
        child.min_rect().height().ceil()
    })
}

#[cfg(test)]
mod tests;
