//! Names and values of a step and of an event.

use std::borrow::Cow;

use egui::{Align, Label, Layout, RichText, Sense, Ui, vec2};

use super::super::Scene;
use super::super::theme::{self, Theme, size, space};
use super::super::words;
use crate::model::{Event, Evidence, Fact, Session, Step, ToolState, clock, duration_words};
use crate::workspace::Request;
use crate::workspace::text::visible;

const NAME_WIDTH: f32 = 124.0;

/// What is gathered from all of a step's events.
#[derive(Default)]
pub struct Sums {
    waited_ms: i64,
    models: Option<String>,
}

impl Sums {
    pub fn of(session: &Session, step: &Step) -> Self {
        let marked = || session.events.marked(step.events.clone());
        Self { waited_ms: waited_ms(marked()), models: models(marked(), step) }
    }
}

/// The fields of a step.
pub fn step(ui: &mut Ui, scene: &mut Scene<'_>, step: &Step, sums: &Sums) {
    heading(ui, &format!("Step {}", step.number));
    let Sums { waited_ms: waited, models } = sums;
    let waited = *waited;
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            self::field(ui, scene, name, &value);
        }
    };
    field("Kind", Some(step.kind.word().to_owned()));
    field("Came in", step.origin.map(str::to_owned));
    field("Outcome", Some(step.outcome.word().to_owned()));
    field("Time", step.at.map(|at| clock(at, "%Y-%m-%d %H:%M:%S")));
    field("Step id", Some(step.step_id.to_string()));
    field("Tool call", step.tool_call_id.clone());
    field("Revert target", Some(step.revert_target.as_ref().map_or("none".to_owned(), ToString::to_string)));
    field("Fork target", Some(step.fork_target.as_ref().map_or("none".to_owned(), ToString::to_string)));
    field("Model", models.clone());
    if let (Some(start), Some(end)) = (step.at, step.ended_at) {
        field("Agent at work", Some(duration_words(end.since(start) - waited)));
    }
    if waited > 0 {
        field("Waited for the user", Some(duration_words(waited)));
    }
}

/// The model, and the one before it where a fallback replaced it.
fn models<'e>(mut events: impl Iterator<Item = Cow<'e, Event>>, step: &Step) -> Option<String> {
    let from = events.find_map(|event| match event.marker.as_deref().map(|marker| &marker.fact) {
        Some(Fact::Fallback { from: Some(from), to: Some(to), .. }) => Some(format!("{from} → {to}")),
        _ => None,
    });
    from.or_else(|| step.model.clone())
}

/// Time in which a person was waited for: approvals that were asked for and questions.
fn waited_ms<'e>(events: impl Iterator<Item = Cow<'e, Event>>) -> i64 {
    events
        .map(|event| match event.marker.as_deref().map(|marker| &marker.fact) {
            Some(Fact::Approval { waited_ms: Some(waited), .. }) => *waited,
            Some(Fact::Question { .. }) => event.duration_ms.unwrap_or(0),
            _ => 0,
        })
        .sum()
}

/// The fields of an event.
pub fn event(ui: &mut Ui, scene: &mut Scene<'_>, event: &Event) {
    heading(ui, &capitalised(event.kind.word()));
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            self::field(ui, scene, name, &value);
        }
    };
    field("Record id", Some(event.node.to_string()));
    field("Time", event.at.map(|at| clock(at, "%Y-%m-%d %H:%M:%S%.3f")));
    field("Took", event.duration_ms.map(duration_words));
    if let Some(tool) = event.tool.as_deref() {
        field("Tool", Some(tool.name.clone()));
        field("Tool call", tool.call_id.clone());
        let state = match tool.state {
            ToolState::Pending => "no result recorded",
            ToolState::Done => "done",
            ToolState::Failed => "failed",
            ToolState::Denied => "denied, it never ran",
        };
        field("Result", Some(state.to_owned()));
    }
    if let Some(marker) = event.marker.as_deref() {
        field("Marker", Some(marker.kind().word().to_owned()));
        field("Says", Some(words::marker(marker)));
        if let Fact::Approval { asked, .. } = &marker.fact {
            field("Asked", asked.prompt.clone());
            field("May decide", (!asked.actors.is_empty()).then(|| asked.actors.join(", ")));
            field("Signature", asked.verification.clone());
        }
        let evidence = match marker.evidence {
            Evidence::Recorded => "recorded in the file",
            Evidence::Inferred => "inferred, the file does not say so",
        };
        field("Evidence", Some(evidence.to_owned()));
    }
}

fn heading(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).font(theme::bold(size::BASE)));
    ui.add_space(space::XS);
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A name and a value; the value wraps, is shown whole, and a click copies it.
fn field(ui: &mut Ui, scene: &mut Scene<'_>, name: &str, value: &str) {
    let theme = scene.theme;
    ui.horizontal_top(|ui| {
        name_cell(ui, theme, name);
        let shown = visible(value);
        let text = RichText::new(shown.as_ref()).color(theme.text);
        let label = ui.add(Label::new(text).wrap().sense(Sense::click()));
        label.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}: {shown}")));
        if label.on_hover_text("Click to copy").clicked() {
            scene.ask(Request::Copy(value.to_owned()));
        }
    });
}

/// A name and two figures, each aligned on the right of its column.
pub fn figures(ui: &mut Ui, theme: &Theme, name: &str, first: &str, second: &str) {
    let spoken = format!("{name}: {first}, {second}");
    let row = ui.horizontal(|ui| {
        name_cell(ui, theme, name);
        let width = ((ui.available_width() - space::S) / 2.0).clamp(40.0, 90.0);
        let cell = vec2(width, ui.text_style_height(&egui::TextStyle::Body));
        for text in [first, second] {
            let colour = if name.is_empty() { theme.weak } else { theme.text };
            ui.allocate_ui_with_layout(cell, Layout::right_to_left(Align::Center), |ui| {
                ui.label(RichText::new(text).color(colour));
            });
        }
    });
    row.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &spoken));
}

fn name_cell(ui: &mut Ui, theme: &Theme, name: &str) {
    let cell = vec2(NAME_WIDTH, ui.text_style_height(&egui::TextStyle::Body));
    ui.allocate_ui_with_layout(cell, Layout::left_to_right(Align::Min), |ui| {
        ui.set_min_width(NAME_WIDTH);
        ui.label(RichText::new(name).color(theme.weak));
    });
}
