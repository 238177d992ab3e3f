//! What is too long for a dialog scrolls: as tall as the window allows, with a bar that is always seen, by keys too.

use egui::containers::scroll_area::ScrollAreaOutput;
use egui::{EventFilter, Key, Modifiers, ScrollArea, Ui};

/// What an arrow key scrolls by.
const LINE_PX: f32 = 40.0;
/// However small the window, this much of a list is seen.
const LEAST_PX: f32 = 96.0;
/// Frame and distance to the window's edges.
const AROUND_PX: f32 = 64.0;

/// A list that leaves `below_px` for what comes after it. Its height comes from the window, not from the dialog's last
/// size, or a dialog would open small and jump.
pub fn area(ui: &Ui, salt: &'static str, below_px: f32) -> ScrollArea {
    let used = ui.min_rect().height();
    let height = (ui.ctx().content_rect().height() - AROUND_PX - used - below_px).max(LEAST_PX);
    let area = ScrollArea::vertical().id_salt(salt).max_height(height).min_scrolled_height(height);
    let area = area.auto_shrink([false, true]);
    let id = wanted_id(ui, salt);
    match ui.data_mut(|data| data.remove_temp::<f32>(id)) {
        Some(wanted) => area.vertical_scroll_offset(wanted),
        None => area,
    }
}

/// Under which the place is kept to which the keys scroll in the next frame.
fn wanted_id(ui: &Ui, salt: &'static str) -> egui::Id {
    ui.scope_id().with(("wanted", salt))
}

/// Scrolls a list that was shown by the keys that were pressed.
pub fn keys<R>(ui: &Ui, salt: &'static str, output: &ScrollAreaOutput<R>) {
    let page = output.inner_rect.height();
    let most = (output.content_size.y - page).max(0.0);
    if most <= 0.0 || ui.ctx().text_edit_focused() {
        return;
    }
    // Up and down scroll; Tab goes from button to button.
    ui.memory_mut(|memory| {
        if let Some(focused) = memory.focused() {
            memory.set_focus_lock_filter(focused, EventFilter { vertical_arrows: true, ..Default::default() });
        }
    });
    let now = output.state.clamped_offset().y;
    let wanted = ui.input_mut(|input| {
        let mut pressed = |key: Key| input.consume_key(Modifiers::NONE, key);
        let mut wanted = now;
        for (key, change) in [
            (Key::ArrowUp, -LINE_PX),
            (Key::ArrowDown, LINE_PX),
            (Key::PageUp, LINE_PX - page),
            (Key::PageDown, page - LINE_PX),
            (Key::Home, -most),
            (Key::End, most),
        ] {
            if pressed(key) {
                wanted += change;
            }
        }
        wanted.clamp(0.0, most)
    });
    if wanted != now {
        let id = wanted_id(ui, salt);
        ui.data_mut(|data| data.insert_temp(id, wanted));
        ui.ctx().request_repaint();
    }
}
