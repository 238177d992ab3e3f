//! What moves the reader: the scroll bar, the wheel, the keys, the focus that went out of the view.

use std::hash::Hash;

use egui::accesskit::Role;
use egui::{Key, Modifiers, Rect, Sense, Ui, pos2, vec2};

use super::super::super::theme::{Theme, space};
use super::{Anchor, BAR_PX, Rows, VirtualList, bounds};

const HANDLE_PX: f32 = 8.0;
const LEAST_HANDLE_PX: f32 = 28.0;
/// What an arrow key scrolls by.
const LINE_PX: f64 = 40.0;
/// What stays in view of a page that is scrolled away.
const PAGE_OVERLAP_PX: f64 = 40.0;

impl<K: Copy + Eq + Hash> VirtualList<K> {
    /// The scroll bar: a handle that can be dragged, a track that can be clicked.
    pub(super) fn bar(&mut self, ui: &mut Ui, view: Rect, name: &str) {
        let total = self.heights.total();
        if total <= self.view_px {
            self.grabbed_px = None;
            return;
        }
        let track = Rect::from_min_max(pos2(view.right() - BAR_PX, view.top()), view.max).shrink2(vec2(2.0, 2.0));
        let handle_px = (track.height() * (self.view_px / total) as f32).clamp(LEAST_HANDLE_PX, track.height());
        let room = (track.height() - handle_px).max(1.0);
        let response = ui.interact(track, ui.scope_id().with("bar"), Sense::drag());
        let mut fraction = self.anchor.fraction(self.view_px, &self.heights);
        let top = track.top() + room * fraction as f32;
        if let Some(pointer) = response.interact_pointer_pos().filter(|_| response.is_pointer_button_down_on()) {
            let inside = pointer.y - top;
            let grabbed = *self
                .grabbed_px
                .get_or_insert_with(|| if (0.0..handle_px).contains(&inside) { inside } else { handle_px / 2.0 });
            let moved = f64::from(((pointer.y - grabbed - track.top()) / room).clamp(0.0, 1.0));
            if (moved - fraction).abs() > 1e-9 {
                fraction = moved;
                self.held = None;
                self.anchor = Anchor::at_fraction(fraction, self.view_px, &self.heights);
                ui.ctx().request_repaint();
            }
        } else {
            self.grabbed_px = None;
        }
        let theme = Theme::of(ui.ctx());
        let active = response.hovered() || self.grabbed_px.is_some();
        let colour = if active { theme.weak } else { theme.agent };
        let width = if active { HANDLE_PX } else { HANDLE_PX - 2.0 };
        let top = track.top() + room * fraction as f32;
        let handle = Rect::from_min_size(pos2(track.right() - width, top), vec2(width, handle_px));
        ui.painter().rect_filled(handle, (width / 2.0) as u8, colour);
        ui.ctx().accesskit_node_builder(response.id, |node| {
            node.set_role(Role::ScrollBar);
            node.set_bounds(bounds(track));
            node.set_label(format!("Scroll {name}"));
            node.set_numeric_value((fraction * 100.0).round());
            node.set_min_numeric_value(0.0);
            node.set_max_numeric_value(100.0);
        });
    }

    /// Wheel, keys, and the focus that moved out of the view. True when it scrolled.
    pub(super) fn input<R: Rows<Key = K>>(&mut self, ui: &mut Ui, rows: &mut R, view: Rect, width: f32) -> bool {
        let mut delta_px = 0.0;
        let mut wheel_px = 0.0;
        let pointed = ui.rect_contains_pointer(view);
        let focused = ui.response().has_focus();
        if pointed {
            // What a list in a row scrolled for itself is gone from the delta by now.
            wheel_px = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.y));
            delta_px -= f64::from(wheel_px);
        }
        let free = ui.memory(|memory| memory.focused().is_none() && memory.top_modal_layer().is_none())
            && rows.takes_page_keys(pointed);
        if (focused || free) && !ui.ctx().text_edit_focused() {
            let page = (self.view_px - PAGE_OVERLAP_PX).max(LINE_PX);
            let pressed = |key: Key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
            delta_px += f64::from(i8::from(pressed(Key::PageDown)) - i8::from(pressed(Key::PageUp))) * page;
            if focused {
                delta_px += f64::from(i8::from(pressed(Key::ArrowDown)) - i8::from(pressed(Key::ArrowUp))) * LINE_PX;
            }
        }
        if focused {
            let keys = egui::EventFilter { vertical_arrows: true, ..Default::default() };
            let id = ui.unique_id();
            ui.memory_mut(|memory| memory.set_focus_lock_filter(id, keys));
        }
        delta_px += self.follow_focus(ui, view);
        if delta_px == 0.0 {
            return false;
        }
        let before = self.anchor.top(&self.heights);
        self.held = None;
        self.scroll_by(delta_px, ui, rows, width);
        // Measured anew, its end may be some fraction of a point elsewhere.
        if (before - self.anchor.top(&self.heights)).abs() < 0.5 {
            // At its end, it leaves the wheel to the list that it may be in.
            ui.input_mut(|input| input.smooth_scroll_delta.y = wheel_px);
            return false;
        }
        ui.ctx().request_repaint();
        true
    }

    /// How far to scroll so that the widget that has just got the focus can be seen.
    fn follow_focus(&mut self, ui: &Ui, view: Rect) -> f64 {
        let focused = ui.memory(|memory| memory.focused());
        if focused == self.focused {
            return 0.0;
        }
        self.focused = focused;
        // A press put the focus there: its user sees it.
        if ui.input(|input| input.pointer.any_down() || input.pointer.any_released()) {
            return 0.0;
        }
        let Some(response) = focused.and_then(|id| ui.ctx().read_response(id)) else { return 0.0 };
        let rect = response.rect;
        let inside = response.layer_id == ui.layer_id()
            && rect.left() >= view.left() - 1.0
            && rect.right() <= view.right() + 1.0
            && rect.height() < view.height()
            && rect.intersects(view.expand(200.0));
        if !inside || rect.is_negative() {
            return 0.0;
        }
        f64::from((rect.bottom() + space::S - view.bottom()).max(0.0) - (view.top() - rect.top() + space::S).max(0.0))
    }
}
