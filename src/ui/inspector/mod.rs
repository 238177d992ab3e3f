//! The inspector: the fields of the selected step or event, its tokens, and the record as it stands in the file.

mod fields;
mod kin;
mod note;

use egui::{Frame, Margin, RichText, ScrollArea, Stroke, Ui};

use super::Scene;
use super::theme::{self, size, space};
use super::widgets::long_text::{AS_RECORDED, INDENTED, LongTextBox};
use super::words;
use crate::model::{Place, Usage};
use crate::workspace::Request;
use crate::workspace::bodies::{Slot, TextKey};
use crate::workspace::document::{DocumentId, Part};
use crate::workspace::text::{TextPart, visible};

/// What the inspector keeps of its own.
#[derive(Default)]
pub struct InspectorState {
    /// What was gathered from the events of the step that is shown; a step may have a hundred thousand.
    sums: Option<((DocumentId, u64, u32), fields::Sums)>,
    note: note::NoteState,
}

/// Draws the inspector for the selection.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, state: &mut InspectorState) {
    Frame::new().inner_margin(Margin::symmetric(12, 10)).show(ui, |ui| {
        ScrollArea::vertical().id_salt("inspector").auto_shrink(false).show(ui, |ui| {
            let step = scene.document.selected_step();
            let event = scene.document.selected_event().and_then(|index| scene.session.events.get(index));
            if step.is_none() && event.is_none() {
                ui.label(RichText::new("Nothing is selected").color(scene.theme.weak));
                separator(ui, scene);
            }
            if let Some(event) = event.as_deref() {
                fields::event(ui, scene, event);
                separator(ui, scene);
            }
            if let Some(step) = step {
                let of = (scene.document.id, scene.document.generation, step.number);
                if state.sums.as_ref().is_none_or(|(known, _)| *known != of) {
                    state.sums = Some((of, fields::Sums::of(scene.session, step)));
                }
                if let Some((_, sums)) = &state.sums {
                    fields::step(ui, scene, step, sums);
                }
                separator(ui, scene);
                note::show(ui, scene, &mut state.note);
                separator(ui, scene);
            }
            tokens(ui, scene, &step.map(|step| step.usage).unwrap_or_default(), &scene.session.usage);
            kin::show(ui, scene);
            if let Some(place) = event.as_deref().map(|event| event.place).or(step.map(|step| step.place)) {
                separator(ui, scene);
                raw(ui, scene, place);
            }
        });
    });
}

fn separator(ui: &mut Ui, scene: &Scene<'_>) {
    ui.add_space(space::S);
    let rect = ui.available_rect_before_wrap();
    ui.painter().hline(rect.x_range(), rect.top(), Stroke::new(1.0, scene.theme.line));
    ui.add_space(space::S);
}

/// The step's tokens beside those of the whole session.
fn tokens(ui: &mut Ui, scene: &Scene<'_>, step: &Usage, session: &Usage) {
    ui.label(RichText::new("Tokens").font(theme::bold(size::BASE)));
    let counters = [
        ("Input", step.input, session.input),
        ("Cache read", step.cache_read, session.cache_read),
        ("Cache write", step.cache_write, session.cache_write),
        ("Output", step.output, session.output),
        ("Of it thinking", step.reasoning, session.reasoning),
    ];
    let known: Vec<_> = counters.into_iter().filter(|(_, step, session)| step.is_some() || session.is_some()).collect();
    if known.is_empty() && session.cost.is_none() {
        ui.label(RichText::new("None recorded").color(scene.theme.weak));
        return;
    }
    fields::figures(ui, scene.theme, "", "this step", "session");
    let figure = |value: Option<u64>| value.map_or_else(|| "–".to_owned(), words::figure);
    for (name, step, session) in known {
        fields::figures(ui, scene.theme, name, &figure(step), &figure(session));
    }
    if session.cost.is_some() || step.cost.is_some() {
        let cost = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |cost| format!("${cost:.2}"));
        fields::figures(ui, scene.theme, "Cost, recorded", &cost(step.cost), &cost(session.cost));
    }
}

/// The record behind the selection, as JSON that can be read, or as the bytes that are there.
fn raw(ui: &mut Ui, scene: &mut Scene<'_>, place: Place) {
    let theme = scene.theme;
    let origin = scene.recording.origin(place);
    ui.horizontal(|ui| {
        ui.label(RichText::new("Raw record").font(theme::bold(size::BASE)));
        if let Some(origin) = &origin {
            let offset = origin.offset.map(|offset| format!(", offset {}", words::figure(offset))).unwrap_or_default();
            let text = format!("{}{offset}", origin.locator.words());
            ui.label(RichText::new(visible(&text)).font(theme::small()).color(theme.weak));
        }
    });
    // Of several files it is said which one.
    let is_one = scene.recording.files().len() <= 1;
    if let Some(origin) = origin.filter(|origin| !is_one || origin.path != scene.session.source) {
        let name = origin.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let label = ui.label(RichText::new(format!("in {}", visible(&name))).font(theme::small()).color(theme.weak));
        label.on_hover_text(visible(&origin.path.to_string_lossy()).as_ref());
    }
    let document = scene.document;
    let fold = Part::RecordTurned.of(place);
    let (key, other) = match document.is_expanded(fold) {
        true => (TextKey::AsRecorded(place), INDENTED),
        false => (TextKey::Raw(place), AS_RECORDED),
    };
    match document.bodies.get(key) {
        None => scene.ask(Request::Read(key)),
        Some(Slot::Reading | Slot::Picture(_)) => {
            ui.label(RichText::new("Reading…").color(theme.weak));
        }
        Some(Slot::Failed(sentence)) => {
            ui.label(RichText::new(visible(sentence)).color(theme.failure));
        }
        Some(Slot::Ready(text)) => {
            // The box keeps its place by its identity: another record starts at its top.
            let shown = LongTextBox::new(&text.text, "Raw record").turn(Some(other));
            let asked = ui.push_id((place, other), |ui| shown.show(ui)).inner;
            if asked.copy {
                scene.ask(Request::CopyText(key, TextPart::Text));
            }
            if asked.turn {
                scene.ask(Request::Expand(fold));
            }
        }
    }
}
