//! The card of a step: the prompt as it was written, or the question with its options and answer.

use std::borrow::Cow;

use egui::Ui;

use super::super::widgets::long_text::LongTextBox;
use super::super::widgets::take_text_click;
use super::draw::{Draw, coming, disclosure, unread, wrapped};
use super::texts::Wanted;
use crate::formats::search::{At, Part as Searched};
use crate::model::{Event, Fact, QuestionState, Step, StepKind, duration_words};
use crate::workspace::Request;
use crate::workspace::bodies::TextKey;
use crate::workspace::document::Part;
use crate::workspace::text::{TextPart, one_line, visible};

/// Lines of a prompt that are shown before it is opened.
const PROMPT_LINES: usize = 12;
/// Markers hold no more of a question than about this; the whole one is read from the file.
const CUT_BYTES: usize = 2_000;

impl Draw<'_, '_> {
    pub fn card(&mut self, ui: &mut Ui, index: u32) {
        let Some(step) = self.step(index) else { return };
        self.dim_step(ui, step);
        let colour = self.theme.step(step.kind);
        let fill = if self.is_selected(step) { self.theme.accent_bg } else { self.theme.panel };
        let asked = self.listed.table.question(index);
        self.framed(ui, 0.0, colour, fill, |draw, ui| {
            let questions: Vec<_> = draw.session.events.range(asked).collect();
            let asks = step.kind == StepKind::QuestionAnswer && questions.iter().any(|event| event.marker.is_some());
            if asks && !draw.has_match(step) {
                draw.questions(ui, step, &questions);
            } else {
                draw.prompt(ui, step);
            }
        });
        if take_text_click(ui) || ui.response().clicked() {
            self.ask(Request::SelectStep(step.number));
        }
        ui.add_space(2.0);
    }

    /// Whether the search matches something in a step's text. A question is then shown as a text, in which all of it can
    /// be marked: its card leaves some of it out.
    fn has_match(&mut self, step: &Step) -> bool {
        if !self.document.search.is_active() {
            return false;
        }
        let key = TextKey::Prompt(step.number);
        matches!(self.text(key), Wanted::Ready(_)) && self.marks(key).is_some_and(|marks| !marks.text.is_empty())
    }

    fn prompt(&mut self, ui: &mut Ui, step: &Step) {
        let key = TextKey::Prompt(step.number);
        let fold = Part::Prompt.of(step.place);
        match self.text(key) {
            Wanted::Ready(text) => {
                let name = format!("step {}", step.number);
                let open = self.document.is_expanded(fold);
                let marks = self.marks(key);
                let nth = self.looked_at(At::Step(step.number), &[Searched::Prompt]);
                let marked = self.marked(marks.as_ref().map(|marks| &marks.text), nth);
                let shown = LongTextBox::new(&text.text, &name).folded(PROMPT_LINES, open).prose();
                let asked = shown.marked(marked).show(ui);
                if text.text.is_empty() {
                    wrapped(ui, &[("An empty prompt", false, self.theme.weak)]);
                }
                if asked.toggle {
                    self.ask(Request::Expand(fold));
                }
                if asked.copy {
                    self.ask(Request::CopyText(key, TextPart::Text));
                }
                self.copy_menu(ui, step);
            }
            Wanted::Coming => {
                wrapped(ui, &[(&one_line(&step.summary, 80), false, self.theme.text), (" …", false, self.theme.weak)]);
                coming(ui, self.theme, step.text_bytes);
            }
            Wanted::Failed(sentence) => {
                wrapped(ui, &[(&one_line(&step.summary, 80), false, self.theme.text)]);
                unread(ui, self.theme, &sentence);
            }
        }
    }

    /// The menu of a step's card.
    fn copy_menu(&mut self, ui: &Ui, step: &Step) {
        let mut copied = None;
        ui.response().container_context_menu(|ui| {
            if ui.button("Copy text").clicked() {
                copied = Some(Request::CopyText(TextKey::Prompt(step.number), TextPart::Text));
                ui.close();
            }
            if ui.button("Copy id").clicked() {
                copied = Some(Request::Copy(step.step_id.to_string()));
                ui.close();
            }
        });
        copied.into_iter().for_each(|request| self.ask(request));
    }

    fn questions(&mut self, ui: &mut Ui, step: &Step, events: &[Cow<'_, Event>]) {
        for (index, event) in events.iter().enumerate() {
            if index > 0 {
                ui.add_space(8.0);
            }
            self.question(ui, event, Some(step));
        }
        let cut = events.iter().filter_map(|event| event.marker.as_deref()).any(|marker| match &marker.fact {
            Fact::Question { question, answers, .. } => {
                question.len() >= CUT_BYTES || answers.iter().any(|answer| answer.len() >= CUT_BYTES)
            }
            _ => false,
        });
        if cut {
            let fold = Part::Text.of(step.place);
            let open = self.document.is_expanded(fold);
            ui.horizontal(|ui| {
                if disclosure(ui, open, &format!("the whole text of step {}", step.number)) {
                    self.ask(Request::Expand(fold));
                }
                ui.label(egui::RichText::new("whole text").color(self.theme.weak));
            });
            if open {
                self.prompt(ui, step);
            }
        }
    }

    /// A question with its options, and what was answered.
    pub fn question(&mut self, ui: &mut Ui, event: &Event, step: Option<&Step>) {
        let theme = self.theme;
        let Some(Fact::Question { question, options, answers, state }) =
            event.marker.as_deref().map(|marker| &marker.fact)
        else {
            wrapped(ui, &[(&one_line(&event.label, 200), false, theme.text)]);
            return;
        };
        wrapped(ui, &[(&visible(question), false, theme.text)]);
        if !options.is_empty() {
            ui.add_space(3.0);
            wrapped(ui, &[(&visible(&options.join("  ·  ")), false, theme.weak)]);
        }
        ui.add_space(3.0);
        let (said, bold) = match state {
            QuestionState::Answered if answers.is_empty() => ("answered".to_owned(), false),
            QuestionState::Answered => (visible(&answers.join(", ")).into_owned(), true),
            QuestionState::Declined => ("declined".to_owned(), false),
            QuestionState::NotShown => ("not shown to anybody".to_owned(), false),
            QuestionState::Pending => ("not answered".to_owned(), false),
        };
        let colour = if bold { theme.text } else { theme.fallback };
        let waited = event.duration_ms.or_else(|| Some(step?.at?.since(event.at?))).filter(|waited| *waited > 0);
        let after = match (state, waited) {
            (QuestionState::Answered, Some(waited)) => format!("  answered after {}", duration_words(waited)),
            _ => String::new(),
        };
        wrapped(ui, &[("→ ", false, theme.text), (&said, bold, colour), (&after, false, theme.weak)]);
    }
}
