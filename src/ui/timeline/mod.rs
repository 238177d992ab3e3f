//! The timeline: the whole session as a line of density, what is seen of it as lanes of steps and marks, and a playhead
//! at the selection. Draws what the document says; asks for selections; keeps only what is seen of it.

mod chart;
mod frame;
mod input;
mod layout;
mod matches;
mod paint;
mod targets;
mod words;

#[cfg(test)]
mod tests;

use egui::{Align2, CornerRadius, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::Scene;
use super::theme::{self, Theme};
use super::widgets::time_axis::Scale;
use crate::model::Session;
use crate::workspace::document::{Document, DocumentId};
use crate::workspace::outline::lanes;
use crate::workspace::{Command, Request};
use chart::Chart;
use frame::Frame;
use input::Drag;
use paint::{Brush, Sight};

/// What the strip of a document keeps between frames.
#[derive(Debug)]
pub struct TimelineState {
    scale: Scale,
    chart: Option<Chart>,
    /// What `chart` was made of.
    made_of: Option<(DocumentId, u64, Scale)>,
    drag: Option<Drag>,
    /// The selection that was last brought into view.
    followed: Option<Followed>,
    /// Where the playhead was last drawn.
    playhead_x: Option<f64>,
    matches: matches::Matches,
}

/// What the view follows when it changes: `Scene::reveal`, selected step, selected event, event played last.
type Followed = (u64, Option<u32>, Option<usize>, Option<usize>);

impl Default for TimelineState {
    fn default() -> Self {
        Self {
            scale: Scale::Time,
            chart: None,
            made_of: None,
            drag: None,
            followed: None,
            playhead_x: None,
            matches: matches::Matches::default(),
        }
    }
}

impl TimelineState {
    /// Carries out one of the commands of the timeline; others are left alone.
    pub fn run(&mut self, command: Command, session: &Session) {
        let Some(chart) = &mut self.chart else { return };
        if session.events.is_empty() && session.steps.is_empty() {
            return;
        }
        let playhead = self.playhead_x.map(|x| chart.plot().position(x));
        match command {
            Command::TimelineZoomIn => chart.zoom_by_key(playhead, true),
            Command::TimelineZoomOut => chart.zoom_by_key(playhead, false),
            Command::TimelinePanLeft => chart.pan_by_key(-1.0),
            Command::TimelinePanRight => chart.pan_by_key(1.0),
            Command::TimelineShowAll => chart.show_all(),
            Command::TimelineScale => {
                self.scale = match chart.axis.scale() {
                    Scale::Time => Scale::Step,
                    Scale::Step => Scale::Time,
                };
            }
            _ => {}
        }
    }

    /// Makes the chart anew when the session or the scale is another one; what is seen stays.
    fn take(&mut self, document: &Document) {
        let made_of = (document.id, document.generation, self.scale);
        if self.made_of == Some(made_of) && self.chart.is_some() {
            return;
        }
        let is_same = self.made_of.is_some_and(|(id, ..)| id == document.id);
        let old = self.chart.take();
        let Some(outline) = document.outline() else { return };
        let mut chart = Chart::new(outline, self.scale);
        if let Some(old) = old.filter(|_| is_same) {
            chart.set_width(old.plot().width_px);
            chart.go_to(old.place());
        }
        self.chart = Some(chart);
        self.made_of = Some(made_of);
    }
}

/// Draws the strip over the whole width that is there.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, state: &mut TimelineState) {
    state.take(scene.document);
    let Some(chart) = &mut state.chart else { return };
    let lanes = chart.lanes().count();
    let size = vec2(ui.available_width().max(frame::GUTTER_PX * 2.0), frame::height_px(lanes));
    let (outer, _) = ui.allocate_exact_size(size, Sense::hover());
    let frame = Frame::new(outer, lanes);
    chart.set_width(frame.width_px());

    let followed = followed(scene);
    if state.followed.replace(followed) != Some(followed)
        && let Some(position) = playhead(scene, chart)
    {
        chart.reveal(position);
    }
    input::wheel(ui, &frame, chart);
    input::density(ui, &frame, chart, &mut state.drag);
    let response = ui.interact(frame.lanes, ui.scope_id().with("timeline"), Sense::click_and_drag());
    input::pan(ui, &response, chart);
    chart.lay_out();

    let step = scene.document.selected_step().map(|step| step.number);
    let value = || {
        let mut info = WidgetInfo::labeled(Role::Slider, true, "Timeline");
        info.current_text_value = Some(words::value(scene.session, chart.layout(), step));
        info
    };
    response.widget_info(value);
    name_range(ui, &response, scene.session, step);
    move_step(scene, step, input::steps_by_key(ui, &response));

    let hovered = targets::show(ui, scene, chart, &frame, &response);
    // A click on a cluster zooms.
    chart.lay_out();
    state.playhead_x = playhead(scene, chart).map(|position| chart.plot().x(position));
    let sight = Sight {
        step,
        event: scene.document.selected_event(),
        playhead_x: state.playhead_x,
        unplayed: unplayed(scene, chart),
        hovered,
        has_focus: response.has_focus(),
    };
    let painter = ui.painter_at(outer);
    state.matches.take(&scene.document.search, scene.document.generation, chart);
    Brush {
        painter: &painter,
        theme: scene.theme,
        frame,
        session: scene.session,
        chart,
        sight,
        matches: &state.matches,
        noted: scene.document.noted_steps(),
    }
    .paint();
    if let Some(scale) = scale_switch(ui, scene.theme, &frame, chart.axis.scale(), state.scale) {
        state.scale = scale;
        ui.request_repaint();
    }
}

fn followed(scene: &Scene<'_>) -> Followed {
    let document = scene.document;
    let played = document.player.as_ref().map(|player| player.position());
    (scene.reveal, document.selected_step().map(|step| step.number), document.selected_event(), played)
}

/// Where the playhead is: at the event played last, else at the selected event, else where the selected step starts.
fn playhead(scene: &Scene<'_>, chart: &Chart) -> Option<f64> {
    let document = scene.document;
    let event = match &document.player {
        Some(player) => Some(player.current().unwrap_or(player.range.start)),
        None => document.selected_event(),
    };
    let event = event.filter(|event| *event < chart.axis.event_count()).map(|event| chart.axis.position(event));
    event.or_else(|| {
        let step = document.selected_step()?.number.checked_sub(1)?;
        Some(chart.axis.step_span(step as usize)?.0)
    })
}

/// The part of a replay that is still to come, as x of the layout.
fn unplayed(scene: &Scene<'_>, chart: &Chart) -> Option<(f64, f64)> {
    let player = scene.document.player.as_ref().filter(|player| !player.is_at_end())?;
    let start = chart.axis.position(player.position());
    let last = player.range.end.checked_sub(1)?;
    let step = scene.session.step_of_event(last).and_then(|step| step.number.checked_sub(1));
    let end = step.and_then(|step| chart.axis.step_span(step as usize)).map_or(0.0, |(_, end)| end);
    let x = |position: f64| chart.plot().x(position);
    let from = x(start) - layout::MARK_HALF_PX;
    let current = player.current().map_or(from, |event| x(chart.axis.position(event)));
    Some((from.max(current), x(end.max(chart.axis.position(last))) + 2.0 * layout::MARK_HALF_PX))
}

/// Tells screen readers that the strip's number is the selected step's.
fn name_range(ui: &Ui, response: &egui::Response, session: &Session, step: Option<u32>) {
    ui.accesskit_node_builder(response.id, |node| {
        node.set_min_numeric_value(1.0);
        node.set_max_numeric_value(session.steps.len().max(1) as f64);
        node.set_numeric_value(f64::from(step.unwrap_or(0)));
        node.add_action(egui::accesskit::Action::Increment);
        node.add_action(egui::accesskit::Action::Decrement);
    });
}

fn move_step(scene: &mut Scene<'_>, step: Option<u32>, by: i64) {
    let last = scene.session.steps.len() as i64;
    if by != 0 && last > 0 {
        let wanted = (i64::from(step.unwrap_or(1)) + by).clamp(1, last);
        if let Some(wanted) = u32::try_from(wanted).ok().filter(|wanted| Some(*wanted) != step) {
            scene.ask(Request::SelectStep(wanted));
        }
    }
}

/// The switch left of the axis: says which scale is used and gives the one that is clicked.
fn scale_switch(ui: &Ui, theme: &Theme, frame: &Frame, scale: Scale, wanted: Scale) -> Option<Scale> {
    let has_times = !(scale == Scale::Step && wanted == Scale::Time);
    let top = frame.ticks.top() + 2.0;
    let mut chosen = None;
    let size = vec2(38.0, frame.ticks.height() - 4.0);
    let parts = [(Scale::Time, "Time", "Time scale"), (Scale::Step, "Step", "Step scale")];
    for ((this, word, name), index) in parts.into_iter().zip(0_u8..) {
        let left = frame.outer.left() + 10.0 + f32::from(index) * (size.x - 1.0);
        let rect = Rect::from_min_size(pos2(left, top), size);
        let is_on = this == scale;
        let is_enabled = this == Scale::Step || has_times;
        let sense = if is_enabled { Sense::click() } else { Sense::hover() };
        let response = ui.interact(rect, ui.scope_id().with(name), sense);
        response.widget_info(|| WidgetInfo::selected(Role::RadioButton, is_enabled, is_on, name));
        let fill = if is_on { theme.accent_bg } else { theme.raised };
        let is_lit = response.hovered() || response.has_focus();
        let edge = if is_enabled && is_lit { theme.accent } else { theme.line };
        ui.painter().rect(rect, CornerRadius::same(3), fill, Stroke::new(1.0, edge), StrokeKind::Inside);
        let colour = match (is_on, is_enabled) {
            (true, _) => theme.text,
            (false, true) => theme.weak,
            (false, false) => theme.faint,
        };
        let font = egui::FontId::proportional(theme::size::CHIP);
        ui.painter().text(rect.center(), Align2::CENTER_CENTER, word, font, colour);
        if response.clicked() {
            chosen = Some(this);
        }
        let info = Command::TimelineScale.info();
        let key = info.shortcuts.first().map_or_else(String::new, |shortcut| format!(" ({})", shortcut.words()));
        response.on_hover_ui(|ui| {
            let why = "No times are recorded in this session";
            ui.label(if is_enabled { format!("{}{key}", info.tooltip) } else { why.to_owned() });
        });
    }
    chosen.filter(|chosen| *chosen != scale)
}
