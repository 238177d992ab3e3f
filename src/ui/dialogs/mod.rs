//! What is shown over the window: a revert's preview, a fork's receipt, the report, the shortcuts.

mod export;
mod lists;
mod revert;
mod scroll;

use egui::{Context, Frame, Id, Modal, RichText, Ui};

use super::theme::{self, Theme, size, space};
use super::widgets::icons::{self, Icon};
use super::words;
use crate::actions::ForkReceipt;
use crate::workspace::handon::Phase;
use crate::workspace::text::visible;
use crate::workspace::{Dialog, Request, Workspace};

const WIDTH: f32 = 640.0;
/// The review of an export shows texts in their surroundings.
const WIDE: f32 = 940.0;

/// What the dialogs keep of their own.
#[derive(Default)]
pub struct DialogsState {
    export: export::ExportState,
}

/// Draws the dialog that is open, if one is. Escape and a click beside it close it.
pub fn show(
    context: &Context,
    theme: &Theme,
    workspace: &mut Workspace,
    state: &mut DialogsState,
    requests: &mut Vec<Request>,
) {
    let Some(mut dialog) = workspace.dialog.take() else { return };
    let modal = Modal::new(Id::unique("dialog")).frame(Frame::window(&context.global_style())).show(context, |ui| {
        let reviews = matches!(&dialog, Dialog::Export(dialog) if matches!(dialog.phase, Phase::Review(_)));
        let width = if reviews { WIDE } else { WIDTH };
        ui.set_width(width.min(context.content_rect().width() - 80.0));
        match &mut dialog {
            Dialog::Revert { plan, step_number, document } => {
                revert::show(ui, theme, workspace, *document, *step_number, plan.as_deref(), requests);
            }
            Dialog::Forked(receipt) => forked(ui, theme, receipt, requests),
            Dialog::Path { text, reason } => path(ui, theme, text, reason.as_deref(), requests),
            Dialog::Export(dialog) => export::show(ui, theme, workspace, dialog, &mut state.export, requests),
            Dialog::Report => lists::report(ui, theme, workspace, requests),
            Dialog::Notices => lists::notices(ui, theme, workspace, requests),
            Dialog::Shortcuts => lists::shortcuts(ui, theme, requests),
        }
    });
    if modal.should_close() {
        requests.push(Request::CloseDialog);
    }
    // Its place follows from its size in the frame before: another size needs another frame, or it jumps on the next
    // input.
    let (id, size) = (Id::unique("dialog size"), modal.response.rect.size());
    let before = context.data_mut(|data| std::mem::replace(data.get_temp_mut_or_default::<egui::Vec2>(id), size));
    if (before - size).length() > 0.5 {
        context.request_repaint();
    }
    workspace.dialog = Some(dialog);
}

fn title(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).font(theme::bold(size::HEADING)));
    ui.add_space(space::S);
}

/// Buttons at the end of a dialog, the first one leftmost.
fn closing_row(ui: &mut Ui, requests: &mut Vec<Request>, buttons: impl FnOnce(&mut Ui, &mut Vec<Request>)) {
    ui.add_space(space::M);
    ui.horizontal(|ui| buttons(ui, requests));
}

fn forked(ui: &mut Ui, theme: &Theme, receipt: &ForkReceipt, requests: &mut Vec<Request>) {
    title(ui, "Forked");
    let steps = words::count(u64::from(receipt.steps), "step", "steps");
    ui.label(format!("A new session with {steps} is open in a tab of its own. The original was not touched."));
    ui.add_space(space::S);
    warnings(ui, theme, &receipt.warnings);
    copy_line(ui, theme, "File", &receipt.path.display().to_string(), "Copy path", requests);
    if let Some(command) = &receipt.resume_command {
        // Not every agent goes on by a command: some are called from a program.
        let word = if command.starts_with("claude ") { "Copy command" } else { "Copy code" };
        copy_line(ui, theme, "To go on from it", command, word, requests);
    }
    closing_row(ui, requests, |ui, requests| {
        if ui.button("Close").clicked() {
            requests.push(Request::CloseDialog);
        }
    });
}

/// What there is to know before anything is done with a fork.
fn warnings(ui: &mut Ui, theme: &Theme, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let frame = Frame::new().fill(theme.bg).stroke(egui::Stroke::new(1.0, theme.fallback));
    frame.corner_radius(space::RADIUS).inner_margin(egui::Margin::symmetric(10, 7)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        for warning in warnings {
            ui.horizontal_top(|ui| {
                icons::show(ui, Icon::Waiting, theme.fallback);
                ui.add(egui::Label::new(RichText::new(visible(warning)).color(theme.text)).wrap());
            });
        }
    });
    ui.add_space(space::S);
}

/// A labelled line of code with a button that copies it.
fn copy_line(ui: &mut Ui, theme: &Theme, label: &str, text: &str, button: &str, requests: &mut Vec<Request>) {
    ui.label(RichText::new(label).font(theme::small()).color(theme.weak));
    ui.horizontal_top(|ui| {
        if ui.button(button).clicked() {
            requests.push(Request::Copy(text.to_owned()));
        }
        ui.add(egui::Label::new(RichText::new(visible(text)).font(theme::code())).wrap().selectable(true));
    });
    ui.add_space(space::XS);
}

fn path(ui: &mut Ui, theme: &Theme, text: &mut String, reason: Option<&str>, requests: &mut Vec<Request>) {
    title(ui, "Open path");
    if let Some(reason) = reason {
        ui.add(egui::Label::new(RichText::new(visible(reason)).color(theme.fallback)).wrap());
        ui.add_space(space::XS);
    }
    let label = ui.label(RichText::new("Path of a session file").color(theme.weak));
    let field = ui.add(egui::TextEdit::singleline(text).desired_width(f32::INFINITY).font(egui::TextStyle::Monospace));
    let field = field.labelled_by(label.id);
    let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
    if !field.has_focus() && !entered {
        field.request_focus();
    }
    let wanted = text.trim().trim_matches(['"', '\'']).trim_start_matches("file://").to_owned();
    closing_row(ui, requests, |ui, requests| {
        let open = ui.add_enabled(!wanted.is_empty(), egui::Button::new("Open"));
        if (open.clicked() || entered) && !wanted.is_empty() {
            requests.push(Request::Open(vec![wanted.into()]));
        }
        if ui.button("Cancel").clicked() {
            requests.push(Request::CloseDialog);
        }
    });
}
