//! The list of steps: number, kind, summary, time, and a chip for each kind of marker in the step's turn.

use std::collections::HashMap;

use egui::text::{LayoutJob, TextWrapping};
use egui::{Align2, Rect, RichText, Sense, Stroke, Ui, UiBuilder, pos2, vec2};

use super::Scene;
use super::theme::{self, space};
use super::widgets::chips::{self, Chip};
use super::widgets::glyphs::drawable;
use super::widgets::icons::{self, Icon};
use super::widgets::virtual_list::{Rows, VirtualList};
use super::words;
use crate::model::{Outcome, Session, Step, StepKind};
use crate::workspace::Request;
use crate::workspace::text::visible;

const NUMBER_PX: f32 = 36.0;
const ICON_PX: f32 = 18.0;
const TIME_PX: f32 = 46.0;
/// Height of a line of chips.
const CHIPS_PX: f32 = 22.0;

/// What the list keeps of its own.
#[derive(Default)]
pub struct StepsState {
    list: VirtualList<u32>,
    chips: HashMap<u32, Vec<Chip>>,
    chips_of: Option<(u64, bool)>,
    revealed: Option<(u64, Option<u32>)>,
}

/// Draws the list.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, state: &mut StepsState) {
    let document = scene.document;
    if scene.session.steps.is_empty() {
        nothing(ui, scene);
        return;
    }
    let chips_of = (document.generation, scene.theme.dark);
    if state.chips_of != Some(chips_of) {
        state.chips.clear();
        state.chips_of = Some(chips_of);
    }
    let selected = document.selected_step().map(|step| step.number);
    let revealed = (scene.reveal, selected);
    if state.revealed != Some(revealed) {
        state.revealed = Some(revealed);
        if let Some(number) = selected {
            state.list.reveal(number as usize - 1);
        }
    }
    let focused = state.list.has_focus();
    let mut rows = StepRows { scene, chips: &mut state.chips, selected, focused };
    let revision = rows.scene.document.generation;
    state.list.show(ui, &mut rows, revision, "Steps");
}

fn nothing(ui: &mut Ui, scene: &mut Scene<'_>) {
    egui::Frame::new().inner_margin(egui::Margin::symmetric(14, 12)).show(ui, |ui| {
        let whole = scene.document.is_whole();
        let text = if whole { "No steps: nobody has written a prompt in it" } else { "Reading the steps…" };
        ui.add(egui::Label::new(RichText::new(text).color(scene.theme.weak)).wrap());
        if whole {
            ui.add_space(space::S);
            if ui.button("Reading report").on_hover_text("What was read of the file, and what was not").clicked() {
                scene.ask(Request::Run(crate::workspace::Command::Report));
            }
        }
        // The panel keeps its width: a short sentence does not make it narrow.
        ui.take_available_space();
    });
}

struct StepRows<'a, 'b> {
    scene: &'a mut Scene<'b>,
    chips: &'a mut HashMap<u32, Vec<Chip>>,
    selected: Option<u32>,
    focused: bool,
}

impl Rows for StepRows<'_, '_> {
    type Key = u32;

    fn len(&self) -> usize {
        self.scene.session.steps.len()
    }

    fn key(&self, row: usize) -> u32 {
        u32::try_from(row + 1).unwrap_or(u32::MAX)
    }

    fn estimate(&self, row: usize, _: f32) -> f32 {
        let bare = self.scene.session.steps.get(row).is_none_or(|step| step.events.is_empty());
        if bare { space::ROW } else { space::ROW + CHIPS_PX }
    }

    /// A click selects; for the keyboard the list is one stop, and the arrows move the selection.
    fn sense(&self, _: usize) -> Sense {
        Sense::CLICK
    }

    fn takes_page_keys(&self, _: bool) -> bool {
        false
    }

    fn shows_focus(&self) -> bool {
        self.selected.is_none()
    }

    fn name(&self, row: usize) -> String {
        let Some(step) = self.scene.session.steps.get(row) else { return String::new() };
        let markers: Vec<&str> = self
            .chips
            .get(&step.number)
            .map(|chips| chips.iter().map(|chip| chip.text.as_str()).collect())
            .unwrap_or_default();
        let markers = if markers.is_empty() { String::new() } else { format!(", {}", markers.join(", ")) };
        let noted = if self.scene.document.is_noted(step.number) { ", with a note or bookmark" } else { "" };
        let (kind, summary, time) = (step.kind.word(), visible(&step.summary), words::time(step.at));
        format!("Step {}, {kind}, {summary}, {time}{markers}{noted}", step.number)
    }

    fn show(&mut self, ui: &mut Ui, row: usize, measuring: bool) {
        let session: &Session = self.scene.session;
        let Some(step) = session.steps.get(row) else { return };
        let theme = self.scene.theme;
        let chips = self
            .chips
            .entry(step.number)
            .or_insert_with(|| chips::of_events(session.events.marked(step.events.clone()), theme));
        let selected = self.selected == Some(step.number);
        let response = draw(ui, self.scene, step, chips, selected, selected && self.focused);
        if !measuring && response.clicked() {
            self.scene.ask(Request::SelectStep(step.number));
        }
    }
}

/// Draws a step's row; the response is that of the whole row.
fn draw(ui: &mut Ui, scene: &Scene<'_>, step: &Step, chips: &[Chip], selected: bool, focused: bool) -> egui::Response {
    let theme = scene.theme;
    let width = ui.available_width();
    let lines = chip_lines(ui, chips, width - NUMBER_PX - ICON_PX - space::S);
    let height = space::ROW + lines.len() as f32 * CHIPS_PX + if lines.is_empty() { 0.0 } else { 3.0 };
    let (rect, _) = ui.allocate_exact_size(vec2(width, height), Sense::hover());
    let response = ui.response();
    let painter = ui.painter();
    if selected {
        painter.rect_filled(rect, 0.0, theme.accent_bg);
        painter.rect_filled(Rect::from_min_size(rect.min, vec2(3.0, height)), 0.0, theme.accent);
    } else if response.hovered() {
        painter.rect_filled(rect, 0.0, theme.raised);
    }
    painter.hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, theme.line));
    if focused {
        painter.rect_stroke(rect.shrink(1.0), 2.0, Stroke::new(1.0, theme.accent), egui::StrokeKind::Inside);
    }
    let middle = rect.top() + space::ROW / 2.0;
    let quiet = if selected { theme.weak } else { theme.faint };
    let number = pos2(rect.left() + NUMBER_PX - 4.0, middle);
    painter.text(number, Align2::RIGHT_CENTER, step.number, theme::base(), quiet);
    let icon = if step.kind == StepKind::QuestionAnswer { Icon::Question } else { Icon::Prompt };
    icons::paint(painter, icon, pos2(rect.left() + NUMBER_PX + 8.0, middle), space::ICON, theme.step(step.kind));
    if scene.document.is_noted(step.number) {
        let flag = pos2(rect.left() + 9.0, middle);
        icons::paint(painter, Icon::Bookmark, flag, space::ICON, theme.accent);
    }
    let time = pos2(rect.right() - space::S, middle);
    painter.text(time, Align2::RIGHT_CENTER, words::time(step.at), theme::small(), quiet);
    let text_left = rect.left() + NUMBER_PX + ICON_PX + 2.0;
    let room = rect.right() - TIME_PX - space::S - text_left;
    let summary = drawable(ui, visible(&step.summary), &theme::base());
    let mut job = LayoutJob::simple_singleline(summary.into_owned(), theme::base(), theme.text);
    job.wrap = TextWrapping::truncate_at_width(room.max(20.0));
    let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
    let cut = galley.elided;
    ui.painter().galley(pos2(text_left, middle - galley.size().y / 2.0), galley, theme.text);
    let mut top = rect.top() + space::ROW - 2.0;
    for line in lines {
        let area = Rect::from_min_size(pos2(text_left, top), vec2(rect.right() - text_left - space::S, CHIPS_PX));
        ui.scope_builder(UiBuilder::new().max_rect(area).id_salt(("chips", top as i32)), |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = space::XS;
                chips.get(line).unwrap_or_default().iter().for_each(|chip| drop(chip.show(ui)));
            });
        });
        top += CHIPS_PX;
    }
    if step.outcome == Outcome::Interrupted || step.outcome == Outcome::Pending || cut {
        let outcome = format!("{}\n{}", visible(&step.summary), step.outcome.word());
        return response.on_hover_text(outcome);
    }
    response
}

/// Which chips go on which line.
fn chip_lines(ui: &Ui, chips: &[Chip], room: f32) -> Vec<std::ops::Range<usize>> {
    let mut lines: Vec<std::ops::Range<usize>> = Vec::new();
    let mut used = 0.0;
    for (index, chip) in chips.iter().enumerate() {
        let width = chip.width(ui) + space::XS;
        match lines.last_mut() {
            Some(line) if used + width <= room => {
                line.end = index + 1;
                used += width;
            }
            _ => {
                lines.push(index..index + 1);
                used = width;
            }
        }
    }
    lines
}
