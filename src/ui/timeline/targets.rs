//! What can be clicked in the lanes: each visible bar and mark is a widget of its own, named for screen readers, with an
//! identity that comes from the file and not from where it is drawn.

use egui::{CursorIcon, Id, Rect, Response, RichText, Role, Sense, Ui, WidgetInfo};

use super::chart::Chart;
use super::frame::{Frame, Target};
use super::words::{self, Tip};
use crate::model::Session;
use crate::ui::Scene;
use crate::ui::theme::{Theme, size};
use crate::workspace::Request;

/// More than these are not made widgets; they can still be pointed at.
const MOST: usize = 200;
const TIP_PX: f32 = 420.0;

/// Makes the widgets, and does what a click on one asks for. Gives the box of what the pointer is on.
pub fn show(ui: &Ui, scene: &mut Scene<'_>, chart: &mut Chart, frame: &Frame, background: &Response) -> Option<Rect> {
    let (session, theme) = (scene.session, scene.theme);
    let mut hovered = None;
    let mut click = None;
    gaps(ui, theme, chart, frame);
    for (rect, target) in frame.targets(chart.layout()).take(MOST) {
        let reach = rect.expand2(egui::vec2(((6.0 - rect.width()) / 2.0).max(0.0), 0.0));
        // Not focusable: the strip is one stop of the Tab key, however many marks it has.
        let response = ui.interact(reach, id(ui, session, &target), Sense::CLICK);
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, name(session, chart, &target)));
        if response.hovered() {
            hovered = Some(rect);
            ui.set_cursor_icon(CursorIcon::PointingHand);
        }
        if response.clicked() {
            click = Some(act_on(&target));
        }
        response.on_hover_ui_at_pointer(|ui| show_tip(ui, theme, &tip(session, chart, &target)));
    }
    if background.clicked()
        // A click by key has no place of its own.
        && let Some(at) = background.interact_pointer_pos().filter(|at| frame.lanes.contains(*at))
    {
        click = frame.target_at(chart.layout(), at).map(|target| act_on(&target)).or_else(|| {
            let step = chart.axis.nearest_step(chart.plot().position(frame.layout_x(at.x)))?;
            Some(Act::Step(step as u32 + 1))
        });
    }
    if let Some(act) = click {
        carry_out(scene, chart, act);
    }
    hovered
}

/// What a click does.
enum Act {
    Step(u32),
    Event(usize),
    /// Show these steps apart.
    Steps(u32, u32),
    /// Show these marks of a lane apart.
    Marks(super::lanes::Lane, std::ops::Range<usize>),
}

fn act_on(target: &Target<'_>) -> Act {
    match target {
        Target::Step(step) => Act::Step(*step),
        Target::Steps(first, last) => Act::Steps(*first, *last),
        Target::Mark(_, mark) if mark.count == 1 => Act::Event(mark.events.start),
        Target::Mark(lane, mark) => Act::Marks(*lane, mark.events.clone()),
    }
}

fn carry_out(scene: &mut Scene<'_>, chart: &mut Chart, act: Act) {
    match act {
        Act::Step(step) => scene.ask(Request::SelectStep(step)),
        Act::Event(event) => scene.ask(Request::SelectEvent(event)),
        Act::Steps(first, last) => {
            let span = |step: u32| chart.axis.step_span(step.saturating_sub(1) as usize);
            if let (Some((start, _)), Some((_, end))) = (span(first), span(last))
                && !chart.zoom_to(start, end)
            {
                let next = scene.document.selected_step().map_or(first, |step| step.number + 1);
                scene.ask(Request::SelectStep(if (first..=last).contains(&next) { next } else { first }));
            }
        }
        Act::Marks(lane, events) => {
            let (start, end) = chart.positions(&events);
            if !chart.zoom_to(start, end) {
                // No zoom tells them apart: one click after the other goes through them.
                let listed = chart.marks.lane(lane);
                let after =
                    scene.document.selected_event().filter(|event| events.contains(event)).map(|event| event + 1);
                let next = listed.partition_point(|event| (*event as usize) < after.unwrap_or(events.start));
                let next = listed.get(next).map(|event| *event as usize).filter(|event| events.contains(event));
                scene.ask(Request::SelectEvent(next.unwrap_or(events.start)));
            }
        }
    }
}

/// The folded pauses: they can be read, and do nothing.
fn gaps(ui: &Ui, theme: &'static Theme, chart: &Chart, frame: &Frame) {
    for cut in chart.layout().cuts.iter().take(MOST) {
        let rect = frame.cut(cut);
        if rect.intersects(frame.lanes) {
            let response = ui.interact(rect, ui.scope_id().with(("gap", cut.gap.from_ms)), Sense::hover());
            response.widget_info(|| WidgetInfo::labeled(Role::Label, true, words::gap_name(&cut.gap)));
            response.on_hover_ui_at_pointer(|ui| show_tip(ui, theme, &words::gap_tip(&cut.gap)));
        }
    }
}

/// An identity that a target keeps when it is drawn elsewhere and when the file has grown.
fn id(ui: &Ui, session: &Session, target: &Target<'_>) -> Id {
    match target {
        Target::Step(number) => ui.scope_id().with(("step", number, session.step(*number).map(|step| step.place))),
        Target::Steps(first, _) => ui.scope_id().with(("steps", first)),
        // Events are made when they are looked at, and this is done for each mark in each frame.
        Target::Mark(lane, mark) => ui.scope_id().with(("mark", lane, mark.events.start)),
    }
}

fn name(session: &Session, chart: &Chart, target: &Target<'_>) -> String {
    match target {
        Target::Step(number) => session.step(*number).map_or_else(String::new, words::step_name),
        Target::Steps(first, last) => words::steps_name(*first, *last),
        Target::Mark(lane, mark) => words::mark_name(session, &chart.marks, *lane, mark),
    }
}

fn tip(session: &Session, chart: &Chart, target: &Target<'_>) -> Tip {
    match target {
        Target::Step(number) => {
            session.step(*number).map_or_else(Tip::default, |step| words::step_tip(session, &chart.marks, step))
        }
        Target::Steps(first, last) => words::steps_tip(session, *first, *last),
        Target::Mark(lane, mark) => words::mark_tip(session, &chart.marks, *lane, mark),
    }
}

fn show_tip(ui: &mut Ui, theme: &Theme, tip: &Tip) {
    ui.set_max_width(TIP_PX);
    ui.label(&tip.title);
    for line in &tip.lines {
        ui.label(RichText::new(line).size(size::SMALL).color(theme.weak));
    }
}
