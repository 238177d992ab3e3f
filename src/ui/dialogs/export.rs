//! Handing a session on: what is chosen, what is private in it, and what was written.

use egui::{Button, Checkbox, DragValue, Key, Label, Modifiers, ProgressBar, RichText, Sense, Stroke, Ui, vec2};

use super::super::theme::{self, Theme, size, space};
use super::super::widgets::virtual_list::{Rows, VirtualList};
use super::super::words;
use crate::actions::export::{ExportPlan, ExportReceipt, Form};
use crate::actions::redact::{Hit, Kind, Secret};
use crate::formats::Recording;
use crate::model::{Session, one_line};
use crate::workspace::document::Document;
use crate::workspace::handon::{ExportDialog, Phase, Review};
use crate::workspace::text::visible;
use crate::workspace::{Request, Workspace};

/// Height of a hit's two lines.
const ROW_PX: f32 = 42.0;
/// Room for what comes after the list of hits.
const BELOW_PX: f32 = 190.0;
const LEAST_LIST_PX: f32 = 126.0;

/// What the dialog keeps of its own.
#[derive(Default)]
pub struct ExportState {
    list: VirtualList<u32>,
    /// The hit that was brought into view last.
    revealed: Option<usize>,
}

pub fn show(
    ui: &mut Ui,
    theme: &Theme,
    workspace: &Workspace,
    dialog: &mut ExportDialog,
    state: &mut ExportState,
    requests: &mut Vec<Request>,
) {
    let Some((document, recording)) =
        workspace.document(dialog.document).and_then(|document| Some((document, document.recording()?)))
    else {
        return;
    };
    super::title(ui, "Export");
    if let Some(said) = &dialog.said {
        ui.add(Label::new(RichText::new(visible(said)).color(theme.failure)).wrap());
        ui.add_space(space::XS);
    }
    match &mut dialog.phase {
        Phase::Choosing => choose(ui, theme, recording.session(), dialog, requests),
        Phase::Planning => {
            *state = ExportState::default();
            wait(ui, theme, document, "Looking for what is private…", requests);
        }
        Phase::Writing => wait(ui, theme, document, "Writing, and reading again what was written…", requests),
        Phase::Review(review) => self::review(ui, theme, &**recording, review, state, requests),
        Phase::Done(receipt) => done(ui, theme, receipt, requests),
    }
}

fn choose(ui: &mut Ui, theme: &Theme, session: &Session, dialog: &mut ExportDialog, requests: &mut Vec<Request>) {
    let wanted = &mut dialog.wanted;
    heading(ui, theme, "Form");
    for form in Form::ALL {
        ui.horizontal(|ui| {
            let name = form_words(form);
            ui.radio_value(&mut wanted.form, form, name.0);
            ui.label(RichText::new(name.1).color(theme.weak));
        });
    }
    heading(ui, theme, "Steps");
    let last = u32::try_from(session.steps.len()).unwrap_or(u32::MAX).max(1);
    let is_case = wanted.form == Form::Case;
    ui.horizontal(|ui| {
        if is_case {
            ui.label("1");
        } else {
            let from = ui.label("From").id;
            ui.add(DragValue::new(&mut wanted.first).range(1..=last)).labelled_by(from);
        }
        let to = ui.label("to").id;
        ui.add(DragValue::new(&mut wanted.last).range(1..=last)).labelled_by(to);
        ui.label(RichText::new(format!("of {}", words::figure(last.into()))).color(theme.weak));
        if ui.button("All steps").clicked() {
            (wanted.first, wanted.last) = (1, last);
        }
    });
    if is_case {
        wanted.first = 1;
        note(ui, theme, "A case is cut after its last step: the session in it can be opened, forked and replayed.");
    }
    wanted.first = wanted.first.min(wanted.last);
    heading(ui, theme, "What is private");
    let mut redacts = !wanted.rules.off;
    ui.checkbox(&mut redacts, "Replace keys, passwords, addresses and names");
    wanted.rules.off = !redacts;
    ui.checkbox(&mut wanted.rules.images, "Take images along");
    ui.checkbox(&mut wanted.rules.old_contents, "Take along what files held before");
    ui.add_enabled_ui(redacts, |ui| {
        let label = ui.label(RichText::new("Own patterns, one regular expression a line").color(theme.weak));
        let field = egui::TextEdit::multiline(&mut dialog.patterns).desired_rows(2).desired_width(f32::INFINITY);
        ui.add(field.font(egui::TextStyle::Monospace)).labelled_by(label.id);
    });
    super::closing_row(ui, requests, |ui, requests| {
        let review = ui.add(primary(theme, "Review…"));
        if ui.memory(|memory| memory.focused().is_none()) {
            review.request_focus();
        }
        if review.on_hover_text("Shows what would be replaced; writes nothing").clicked() {
            requests.push(Request::ReviewExport);
        }
        cancel(ui, requests);
    });
}

fn form_words(form: Form) -> (&'static str, &'static str) {
    match form {
        Form::Html => ("Page", "one HTML file that needs nothing else"),
        Form::Markdown => ("Markdown", "a text for tickets and documents"),
        Form::Json => ("JSON", "for programs, in the shapes of the command line"),
        Form::Case => ("Support case", "the session in its own format, notes and report; opens in Stepline"),
    }
}

fn wait(ui: &mut Ui, theme: &Theme, document: &Document, what: &str, requests: &mut Vec<Request>) {
    ui.label(RichText::new(what).color(theme.weak));
    if let Some(action) = &document.action {
        let share = action.progress.share().unwrap_or(0.0);
        ui.add(ProgressBar::new(share.min(1.0)).desired_height(6.0));
    }
    super::closing_row(ui, requests, |ui, requests| {
        if ui.button("Stop").clicked() {
            requests.push(Request::Cancel(document.id));
        }
    });
}

fn review(
    ui: &mut Ui,
    theme: &Theme,
    recording: &dyn Recording,
    review: &mut Review,
    state: &mut ExportState,
    requests: &mut Vec<Request>,
) {
    ui.add(Label::new(summary(&review.plan)).wrap());
    for warning in review.plan.warnings() {
        note(ui, theme, warning);
    }
    kinds(ui, theme, review);
    ui.add_space(space::S);
    keys(ui, review);
    if review.plan.list.hits.is_empty() {
        let found = if review.plan.wanted.rules.off { "Nothing is replaced" } else { "Nothing private was found" };
        ui.label(RichText::new(found).color(theme.weak));
    } else {
        let height = (ui.ctx().content_rect().height() - 64.0 - ui.min_rect().height() - BELOW_PX).max(LEAST_LIST_PX);
        let height = height.min(review.plan.list.hits.len() as f32 * ROW_PX + 2.0).max(LEAST_LIST_PX);
        if state.revealed.replace(review.at) != Some(review.at) {
            state.list.reveal(review.at);
        }
        let frame = egui::Frame::new().fill(theme.bg).stroke(Stroke::new(1.0, theme.line));
        frame.show(ui, |ui| {
            ui.set_height(height);
            let mut rows = Hits { theme, recording, review };
            state.list.show(ui, &mut rows, 0, "What is private");
        });
        selected(ui, theme, recording, review);
    }
    ui.add_space(space::S);
    let label = ui.label(RichText::new("File").font(theme::small()).color(theme.weak));
    let field = egui::TextEdit::singleline(&mut review.path).desired_width(f32::INFINITY);
    ui.add(field.font(egui::TextStyle::Monospace)).labelled_by(label.id);
    let replaced = review.plan.secrets.list().iter().filter(|secret| !secret.keep).count();
    let name = match replaced {
        0 => "Write it".to_owned(),
        _ => format!("Write it with {} replaced", words::count(replaced as u64, "value", "values")),
    };
    super::closing_row(ui, requests, |ui, requests| {
        if ui.add_enabled(!review.path.trim().is_empty(), primary(theme, &name)).clicked() {
            requests.push(Request::WriteExport);
        }
        if ui.button("Back").clicked() {
            requests.push(Request::ChooseExport);
        }
        cancel(ui, requests);
    });
}

/// What would be written, and what is left out of it.
fn summary(plan: &ExportPlan) -> String {
    let mut parts = vec![format!(
        "{}, {}",
        words::count(plan.steps, "step", "steps"),
        words::count(plan.events, "event", "events")
    )];
    let places: u64 = plan.secrets.list().iter().map(|secret| secret.hits).sum();
    if places > 0 {
        let values = words::count(plan.secrets.list().len() as u64, "value", "values");
        parts.push(format!("{values} at {} may be private", words::count(places, "place", "places")));
    }
    for (count, one, many) in [
        (plan.list.images, "image left out", "images left out"),
        (plan.list.old_contents, "old content of a file left out", "old contents of files left out"),
        (plan.list.unlisted, "place more than is listed", "places more than are listed"),
    ] {
        if count > 0 {
            parts.push(words::count(count, one, many));
        }
    }
    parts.join(" · ")
}

/// A box a kind: ticked where its values are replaced, half ticked where some are.
fn kinds(ui: &mut Ui, theme: &Theme, review: &mut Review) {
    ui.add_space(space::XS);
    ui.horizontal_wrapped(|ui| {
        for kind in Kind::SECRETS {
            let (count, kept) = review.count(kind);
            if count == 0 {
                continue;
            }
            let mut replaces = kept == 0;
            let text = format!("{} ({count})", kind.word());
            let name = format!("Replace every {}, {count}", kind.word());
            let response = ui.add(
                Checkbox::new(&mut replaces, RichText::new(text).color(theme.text))
                    .indeterminate(kept > 0 && kept < count),
            );
            response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, kept == 0, &name));
            if response.changed() {
                review.plan.secrets.decide_kind(kind, kept == 0);
            }
            ui.add_space(space::S);
        }
    });
}

/// Up and down go from hit to hit, Space keeps or replaces its value; while no field is typed in.
fn keys(ui: &Ui, review: &mut Review) {
    if ui.ctx().text_edit_focused() || review.plan.list.hits.is_empty() {
        return;
    }
    let pressed = |key: Key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
    if pressed(Key::ArrowDown) {
        review.step(true);
    }
    if pressed(Key::ArrowUp) {
        review.step(false);
    }
    // On a button or a box, Space is that one's.
    let is_free = ui.memory(|memory| memory.focused().is_none());
    if is_free && pressed(Key::Space) {
        review.toggle(review.at);
    }
}

/// The selected hit in its surroundings, as it is and as it would be.
fn selected(ui: &mut Ui, theme: &Theme, recording: &dyn Recording, review: &mut Review) {
    let at = review.at;
    let count = review.plan.list.hits.len();
    let (mut forward, mut back, mut toggle) = (false, false, false);
    {
        let Some((hit, secret)) = hit_at(&review.plan, at) else { return };
        ui.add_space(space::S);
        ui.horizontal(|ui| {
            back = ui.add_enabled(at > 0, Button::new("Previous")).clicked();
            forward = ui.add_enabled(at + 1 < count, Button::new("Next")).clicked();
            let word = if secret.keep { "Replace it" } else { "Keep it" };
            toggle = ui.button(word).on_hover_text("Everywhere that this value stands").clicked();
            let place = review.plan.spot_words(recording, hit.spot);
            let place = if hit.name.is_empty() { place } else { format!("{place} · {}", hit.name) };
            let text =
                format!("{} of {} · {}", words::figure(at as u64 + 1), words::figure(count as u64), visible(&place));
            ui.add(Label::new(RichText::new(text).color(theme.weak)).truncate());
        });
    }
    if back || forward {
        review.step(forward);
    }
    if toggle {
        review.toggle(at);
    }
}

fn hit_at(plan: &ExportPlan, index: usize) -> Option<(&Hit, &Secret)> {
    let hit = plan.list.hits.get(index)?;
    Some((hit, plan.secrets.list().get(hit.secret as usize)?))
}

/// The hits as rows: what it is and whether it is replaced, over the text that it stands in.
struct Hits<'a> {
    theme: &'a Theme,
    recording: &'a dyn Recording,
    review: &'a mut Review,
}

impl Rows for Hits<'_> {
    type Key = u32;

    fn len(&self) -> usize {
        self.review.plan.list.hits.len()
    }

    fn key(&self, row: usize) -> u32 {
        u32::try_from(row).unwrap_or(u32::MAX)
    }

    fn estimate(&self, _: usize, _: f32) -> f32 {
        ROW_PX
    }

    fn sense(&self, _: usize) -> Sense {
        Sense::CLICK
    }

    fn name(&self, row: usize) -> String {
        let Some((hit, secret)) = hit_at(&self.review.plan, row) else { return String::new() };
        let place = self.review.plan.spot_words(self.recording, hit.spot);
        let decision = if secret.keep { "kept" } else { "replaced" };
        let (kind, number) = (secret.kind.word(), secret.number);
        format!("{kind} {number}, {}, {decision}, {}", one_line(&secret.value, 80), visible(&place))
    }

    fn show(&mut self, ui: &mut Ui, row: usize, measuring: bool) {
        let theme = self.theme;
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), ROW_PX), Sense::hover());
        let selected = self.review.at == row;
        if selected {
            ui.painter().rect_filled(rect, 0.0, theme.accent_bg);
        } else if ui.response().hovered() {
            ui.painter().rect_filled(rect, 0.0, theme.raised);
        }
        ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, theme.line));
        let mut toggled = false;
        if let Some((hit, secret)) = hit_at(&self.review.plan, row) {
            let inner = egui::Rect::from_min_max(rect.min + vec2(space::S, 3.0), rect.max - vec2(space::S, 2.0));
            let builder = egui::UiBuilder::new().max_rect(inner).layout(egui::Layout::top_down(egui::Align::Min));
            ui.scope_builder(builder, |ui| {
                ui.spacing_mut().item_spacing = vec2(space::S, 1.0);
                ui.horizontal(|ui| {
                    let mut replaces = !secret.keep;
                    let tick = ui.checkbox(&mut replaces, "");
                    let name = format!("Replace {} {}, place {}", secret.kind.word(), secret.number, row + 1);
                    tick.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, !secret.keep, &name));
                    toggled = tick.clicked();
                    let kind = format!("{} {}", secret.kind.word(), secret.number);
                    ui.label(RichText::new(kind).font(theme::bold(size::BASE)).color(theme.text));
                    let place = self.review.plan.spot_words(self.recording, hit.spot);
                    ui.add(
                        Label::new(RichText::new(visible(&place)).font(theme::small()).color(theme.weak)).truncate(),
                    );
                });
                ui.add(Label::new(in_context(theme, hit, secret)).truncate().selectable(false));
            });
        }
        if measuring {
            return;
        }
        if toggled {
            self.review.toggle(row);
        }
        if toggled || ui.response().clicked() {
            self.review.at = row;
        }
    }
}

/// A hit between what stands before and after it: struck through where it goes.
fn in_context(theme: &Theme, hit: &Hit, secret: &Secret) -> egui::text::LayoutJob {
    let mut job = egui::text::LayoutJob::default();
    let plain = |color| egui::TextFormat { font_id: theme::code(), color, ..Default::default() };
    // The end of what stands before is what says most.
    let before: Vec<char> = hit.before.chars().collect();
    let before: String = before.iter().skip(before.len().saturating_sub(32)).collect();
    job.append(&visible(&before), 0.0, plain(theme.weak));
    let value = one_line(&secret.value, 60);
    if secret.keep {
        job.append(&value, 0.0, plain(theme.text));
    } else {
        let struck = egui::TextFormat { strikethrough: Stroke::new(1.0, theme.failure), ..plain(theme.text) };
        job.append(&value, 0.0, struck);
        job.append(&secret.placeholder(), 6.0, plain(theme.granted));
    }
    job.append(&visible(&hit.after), 0.0, plain(theme.weak));
    job
}

fn done(ui: &mut Ui, theme: &Theme, receipt: &ExportReceipt, requests: &mut Vec<Request>) {
    let steps = words::count(receipt.steps, "step", "steps");
    let what = form_words(receipt.form).0;
    let mut said = vec![format!("{what} with {steps} written, {}", words::bytes(receipt.bytes))];
    if receipt.replaced > 0 {
        let values = words::count(receipt.replaced, "value", "values");
        said.push(format!("{values} replaced at {}", words::count(receipt.places, "place", "places")));
    }
    if receipt.kept > 0 {
        said.push(format!("{} kept", words::count(receipt.kept, "value", "values")));
    }
    ui.label(said.join(" · "));
    ui.add_space(space::S);
    super::copy_line(ui, theme, "File", &receipt.path.display().to_string(), "Copy path", requests);
    super::closing_row(ui, requests, |ui, requests| {
        if receipt.form == Form::Case && ui.button("Open it").clicked() {
            requests.push(Request::Open(vec![receipt.path.clone()]));
        }
        if ui.button("Close").clicked() {
            requests.push(Request::CloseDialog);
        }
    });
}

fn primary<'a>(theme: &Theme, text: &'a str) -> Button<'a> {
    Button::new(text).stroke(Stroke::new(1.0, theme.accent))
}

fn cancel(ui: &mut Ui, requests: &mut Vec<Request>) {
    if ui.button("Cancel").clicked() {
        requests.push(Request::CloseDialog);
    }
}

fn heading(ui: &mut Ui, theme: &Theme, text: &str) {
    ui.add_space(space::S);
    ui.label(RichText::new(text).font(theme::bold(size::BASE)).color(theme.text));
}

fn note(ui: &mut Ui, theme: &Theme, text: &str) {
    ui.add(Label::new(RichText::new(visible(text)).font(theme::small()).color(theme.weak)).wrap());
}
