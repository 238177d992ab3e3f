//! What the pointer and the keys do to the view: wheel, panning, the brush on the line of the whole session.

use egui::{CursorIcon, EventFilter, Key, Modifiers, PointerButton, Pos2, Response, Role, Sense, Ui, WidgetInfo};

use super::chart::Chart;
use super::frame::Frame;
use crate::ui::widgets::time_axis::{Scale, View};

/// How near to an edge of the brush the pointer takes hold of it.
const EDGE_PX: f64 = 5.0;
/// A brush narrower than this is a slip of the hand.
const SLIP_PX: f64 = 3.0;
/// Points of the wheel that zoom by the factor e.
const WHEEL_PX: f64 = 200.0;

/// What is being dragged on the line of the whole session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drag {
    /// A range from a fixed place to the pointer, as an x of the line.
    Brush { fixed_x: f64 },
    /// The view, held so far right of its start.
    Move { held_px: f64 },
}

/// The wheel over the strip: up and down zooms about the pointer, sideways pans.
pub fn wheel(ui: &Ui, frame: &Frame, chart: &mut Chart) {
    if !ui.rect_contains_pointer(frame.outer) {
        return;
    }
    let Some(pointer) = ui.input(|input| input.pointer.hover_pos()) else { return };
    let (scroll, pinch) = ui.input(|input| (input.smooth_scroll_delta(), f64::from(input.zoom_delta())));
    let over_density = frame.density.y_range().contains(pointer.y);
    let x = if over_density {
        chart.plot().x(chart.position_at_whole(frame.layout_x(pointer.x)))
    } else {
        frame.layout_x(pointer.x)
    };
    let x = x.clamp(0.0, frame.width_px());
    if pinch != 1.0 && pinch > 0.0 {
        chart.zoom(x, 1.0 / pinch);
    } else if scroll.x.abs() > scroll.y.abs() {
        chart.pan(-f64::from(scroll.x));
    } else if scroll.y != 0.0 {
        chart.zoom(x, (-f64::from(scroll.y) / WHEEL_PX).exp());
    } else {
        return;
    }
    // The strip has used it up: nothing around it scrolls too.
    ui.input_mut(|input| input.smooth_scroll_delta = egui::Vec2::ZERO);
}

/// Dragging in the lanes pans.
pub fn pan(ui: &Ui, response: &Response, chart: &mut Chart) {
    if response.dragged_by(PointerButton::Primary) && !chart.is_whole() {
        chart.pan(-f64::from(response.drag_delta().x));
        ui.set_cursor_icon(CursorIcon::Grabbing);
    }
}

/// The line of the whole session: a drag on its brush moves the view, one on an edge resizes it, one elsewhere brushes
/// a new one; a double click shows everything, a click goes there.
pub fn density(ui: &Ui, frame: &Frame, chart: &mut Chart, drag: &mut Option<Drag>) {
    let response = ui.interact(frame.density, ui.scope_id().with("whole session"), Sense::CLICK | Sense::DRAG);
    response.widget_info(|| WidgetInfo::labeled(Role::ScrollBar, true, "Whole session"));
    let x_of = |at: Pos2| frame.layout_x(at.x).clamp(0.0, frame.width_px());
    let hold = |chart: &Chart, x: f64| {
        let view = chart.view();
        let (start, end) = (chart.whole_x(view.start), chart.whole_x(view.end));
        match x {
            _ if chart.is_whole() => Drag::Brush { fixed_x: x },
            x if (x - start).abs() <= EDGE_PX => Drag::Brush { fixed_x: end },
            x if (x - end).abs() <= EDGE_PX => Drag::Brush { fixed_x: start },
            x if (start..end).contains(&x) => Drag::Move { held_px: x - start },
            x => Drag::Brush { fixed_x: x },
        }
    };
    if response.drag_started()
        && let Some(origin) = ui.input(|input| input.pointer.press_origin())
    {
        *drag = Some(hold(chart, x_of(origin)));
    }
    if let (Some(held), true, Some(at)) = (*drag, response.dragged(), response.interact_pointer_pos()) {
        let x = x_of(at);
        match held {
            Drag::Brush { fixed_x } if (x - fixed_x).abs() >= SLIP_PX => {
                let at = |x: f64| chart.position_at_whole(x);
                let view = View { start: at(x.min(fixed_x)), end: at(x.max(fixed_x)) };
                chart.show(view);
            }
            Drag::Brush { .. } => {}
            Drag::Move { held_px } => {
                let start = chart.position_at_whole(x - held_px);
                chart.pan_to(start);
            }
        }
    }
    if response.drag_stopped() {
        *drag = None;
    }
    if response.double_clicked() {
        chart.show_all();
    } else if let (true, false, Some(at)) = (response.clicked(), chart.is_whole(), response.interact_pointer_pos()) {
        let middle = chart.position_at_whole(x_of(at));
        let start = middle - chart.view().span() / 2.0;
        chart.pan_to(start);
    }
    cursor(ui, &response, drag.or_else(|| response.hover_pos().map(|at| hold(chart, x_of(at)))), chart);
    let height = match chart.axis.scale() {
        Scale::Time => "how much is recorded",
        Scale::Step => "how much is marked",
    };
    response.on_hover_ui(|ui| {
        ui.label(format!("Height: {height}. Drag to choose what is shown below, double click to show all"));
    });
}

fn cursor(ui: &Ui, response: &Response, drag: Option<Drag>, chart: &Chart) {
    if !response.hovered() && !response.dragged() {
        return;
    }
    let icon = match drag {
        Some(Drag::Move { .. }) if response.dragged() => CursorIcon::Grabbing,
        Some(Drag::Move { .. }) => CursorIcon::Grab,
        Some(Drag::Brush { fixed_x }) if !chart.is_whole() => {
            let view = chart.view();
            let at_edge = [view.start, view.end].iter().any(|edge| (chart.whole_x(*edge) - fixed_x).abs() < 0.5);
            if at_edge || response.dragged() { CursorIcon::ResizeHorizontal } else { CursorIcon::Crosshair }
        }
        _ => CursorIcon::Crosshair,
    };
    ui.set_cursor_icon(icon);
}

/// How many steps the arrow keys and the screen reader go forward (or back, below zero) while the strip has the focus.
pub fn steps_by_key(ui: &Ui, response: &Response) -> i64 {
    let mut by = 0;
    if response.has_focus() {
        let filter = EventFilter { horizontal_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        ui.input_mut(|input| {
            by += input.count_and_consume_key(Modifiers::NONE, Key::ArrowRight) as i64;
            by -= input.count_and_consume_key(Modifiers::NONE, Key::ArrowLeft) as i64;
        });
    }
    ui.input(|input| {
        use egui::accesskit::Action;
        by += input.num_accesskit_action_requests(response.id, Action::Increment) as i64;
        by -= input.num_accesskit_action_requests(response.id, Action::Decrement) as i64;
    });
    by
}
