//! A step's header: what it is, how it ended, and its three buttons, always in the same place and order.

use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{Button, Color32, Rect, Stroke, Ui, UiBuilder, pos2, vec2};

use super::super::theme::{self, Theme, size, space};
use super::super::widgets::chips::Chip;
use super::super::widgets::icons::{self, Icon};
use super::draw::{Draw, LEFT_PX, RIGHT_PX};
use crate::formats::Cut;
use crate::model::{Outcome, Step, StepKind, clock, duration_words};
use crate::workspace::Request;

const HEIGHT_PX: f32 = 44.0;
const BUTTON_PX: f32 = 24.0;
/// What a title keeps beside its chips.
const TITLE_LEAST_PX: f32 = 190.0;
/// Widths of the buttons Fork, Revert…, Replay, which stay the same from step to step.
const BUTTONS_PX: [f32; 3] = [50.0, 72.0, 62.0];

impl Draw<'_, '_> {
    pub fn header(&mut self, ui: &mut Ui, index: u32) {
        let Some(step) = self.step(index) else { return };
        let theme = self.theme;
        let whole = ui.available_rect_before_wrap();
        let rect = Rect::from_min_size(whole.min, vec2(whole.width(), HEIGHT_PX));
        self.dim_step(ui, step);
        if ui.response().clicked() {
            self.ask(Request::SelectStep(step.number));
        }
        if self.is_selected(step) {
            let band = Rect::from_min_max(pos2(rect.left() + 8.0, rect.top() + 4.0), rect.max - vec2(0.0, 2.0));
            ui.painter().rect_filled(band, space::RADIUS as u8 + 1, theme.accent_bg);
        } else if index > 0 {
            let x = rect.left() + LEFT_PX..=rect.right() - RIGHT_PX;
            ui.painter().hline(x, rect.top() + 2.5, Stroke::new(1.0, theme.line));
        }
        let middle = rect.center().y + 1.0;
        let colour = theme.step(step.kind);
        icons::paint(ui.painter(), Icon::of_step(step.kind), pos2(rect.left() + LEFT_PX + 6.0, middle), 14.0, colour);

        let gaps = space::S * 2.0;
        let buttons_left = rect.right() - RIGHT_PX - BUTTONS_PX.iter().sum::<f32>() - gaps;
        self.title(ui, step, rect.left() + LEFT_PX + 24.0, buttons_left - space::M, middle);
        let at = Rect::from_min_max(
            pos2(buttons_left, middle - BUTTON_PX / 2.0),
            pos2(rect.right() - RIGHT_PX, middle + BUTTON_PX / 2.0),
        );
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let mut child = ui.new_child(UiBuilder::new().max_rect(at).layout(layout));
        self.buttons(&mut child, step);
        ui.advance_cursor_after_rect(rect);
    }

    /// `Step 14  question · 14:22:08 · 41 s`, then how it came in and ended.
    fn title(&self, ui: &mut Ui, step: &Step, left: f32, right: f32, middle: f32) {
        let theme = self.theme;
        let mut facts = vec![step.kind.word().to_owned()];
        facts.extend(step.at.map(|at| clock(at, "%H:%M:%S")));
        if let (Some(from), Some(to)) = (step.at, step.ended_at) {
            facts.push(duration_words(to.since(from)));
        }
        let origin = step.origin.map(|origin| Chip { icon: None, text: origin.to_owned(), colour: theme.weak });
        let outcome = outcome_chip(step, theme);
        let mut chips: Vec<Chip> = [origin, outcome].into_iter().flatten().collect();
        let width = |chips: &[Chip], ui: &Ui| chips.iter().map(|chip| chip.width(ui) + space::S).sum::<f32>();
        if right - left - width(&chips, ui) < TITLE_LEAST_PX {
            // How the step ended matters more than how it came in, which the hover says.
            facts.extend(step.origin.map(str::to_owned));
            chips.retain(|chip| chip.icon.is_some());
        }
        let chips_px = width(&chips, ui);

        let mut job = LayoutJob::default();
        let format = |font_id, color| TextFormat { font_id, color, ..TextFormat::default() };
        job.append(&format!("Step {}", step.number), 0.0, format(theme::bold(size::HEADING), theme.text));
        job.append(&facts.join(" · "), 10.0, format(theme::base(), theme.weak));
        job.wrap = TextWrapping::truncate_at_width((right - left - chips_px).max(60.0));
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
        let size = galley.size();
        let elided = galley.elided;
        let at = Rect::from_min_size(pos2(left, middle - size.y / 2.0), size);
        ui.painter().galley(at.min, galley, theme.text);
        if elided {
            ui.interact(at, ui.scope_id().with("title"), egui::Sense::hover()).on_hover_text(format!(
                "Step {} · {}",
                step.number,
                facts.join(" · ")
            ));
        }
        let room = Rect::from_min_max(pos2(at.right() + space::S, middle - 9.0), pos2(right, middle + 9.0));
        if room.width() > 24.0 && !chips.is_empty() {
            let layout = egui::Layout::left_to_right(egui::Align::Center);
            let mut child = ui.new_child(UiBuilder::new().max_rect(room).layout(layout));
            chips.iter().for_each(|chip| drop(chip.show(&mut child)));
        }
    }

    fn buttons(&mut self, ui: &mut Ui, step: &Step) {
        ui.spacing_mut().item_spacing.x = space::S;
        let number = step.number;
        let [fork, revert, replay] = BUTTONS_PX;
        let refusal = self.document.fork_refusal(step);
        let hint = format!("Writes a new session that ends with step {number} and its turn; this one stays as it is");
        if button(ui, "Fork", &format!("Fork step {number}"), &hint, refusal, fork, Some(self.theme.accent)) {
            self.ask(Request::Fork(Cut::After(number)));
        }
        let refusal = self.document.revert_refusal(step);
        let hint = format!("Shows what goes with step {number} and everything after it, before anything is written");
        if button(ui, "Revert…", &format!("Revert step {number}…"), &hint, refusal, revert, None) {
            self.ask(Request::Revert(number));
        }
        let hint = "Plays back what was recorded; runs nothing";
        if button(ui, "Replay", &format!("Replay step {number}"), hint, None, replay, None) {
            self.ask(Request::Replay(number));
        }
    }

    pub fn is_selected(&self, step: &Step) -> bool {
        self.document.selected_step().is_some_and(|selected| selected.number == step.number)
    }

    /// Dims a step that a replay has not come to.
    pub fn dim_step(&self, ui: &mut Ui, step: &Step) {
        let waits = self.document.player.as_ref().is_some_and(|player| {
            step.number > player.from_step && step.events.start >= player.position() && !player.is_at_end()
        });
        if waits {
            ui.multiply_opacity(0.3);
        }
    }
}

/// A button that says what it does, or why it cannot be pressed. True when it was.
fn button(
    ui: &mut Ui,
    word: &str,
    name: &str,
    hint: &str,
    refusal: Option<String>,
    width: f32,
    outline: Option<Color32>,
) -> bool {
    let mut button = Button::new(word).min_size(vec2(width, BUTTON_PX));
    if let (Some(colour), None) = (outline, &refusal) {
        button = button.stroke(Stroke::new(1.0, colour));
    }
    let response = ui.add_enabled(refusal.is_none(), button);
    match refusal {
        None => response.accessible_name(name).on_hover_text(hint).clicked(),
        Some(reason) => {
            let name = format!("{}, not available: {reason}", name.trim_end_matches('…'));
            ui.ctx().accesskit_node_builder(response.id, |node| node.set_description(reason.as_str()));
            response.accessible_name(name).on_disabled_hover_text(reason);
            false
        }
    }
}

fn outcome_chip(step: &Step, theme: &Theme) -> Option<Chip> {
    let (icon, colour) = match step.outcome {
        Outcome::Done | Outcome::Unknown => return None,
        Outcome::Failed => (Icon::Failure, theme.failure),
        Outcome::Interrupted => (Icon::Interruption, theme.failure),
        Outcome::Pending => (Icon::Waiting, theme.fallback),
        Outcome::HandedOver => (Icon::Fallback, theme.fallback),
    };
    let word = match (step.outcome, step.kind) {
        (Outcome::Pending, StepKind::QuestionAnswer) => "going on",
        (outcome, _) => outcome.word(),
    };
    Some(Chip::new(icon, word, colour))
}
