//! The preview of a revert: everything that goes, before anything is written.

use egui::{Button, Label, RichText, Stroke, Ui};

use super::super::theme::{self, Theme, size, space};
use super::super::widgets::progress;
use super::super::words;
use super::scroll;
use crate::actions::RevertPlan;
use crate::formats::{Effect, FileAction, FileActionKind};
use crate::workspace::document::{Document, DocumentId};
use crate::workspace::text::visible;
use crate::workspace::{Request, Workspace};

/// Longer prompts are shown this far; the whole of them is copied.
const PROMPT_SHOWN_BYTES: usize = 4_000;
/// Files, and commands, that are listed.
const LISTED: usize = 200;
/// Room for the sentence and the buttons below the list.
const BELOW_PX: f32 = 90.0;

pub fn show(
    ui: &mut Ui,
    theme: &Theme,
    workspace: &Workspace,
    document: DocumentId,
    step_number: u32,
    plan: Option<&RevertPlan>,
    requests: &mut Vec<Request>,
) {
    let Some((document, session)) =
        workspace.document(document).and_then(|document| Some((document, document.session()?)))
    else {
        return;
    };
    super::title(ui, &format!("Revert step {step_number}"));
    let Some(plan) = plan else {
        ui.label(RichText::new("Working out what would go…").color(theme.weak));
        going_on(ui, theme, document);
        super::closing_row(ui, requests, cancel);
        return;
    };
    ui.label(format!(
        "{}; {}.",
        plan.title(session),
        words::count(plan.revert.keeps_steps.into(), "step stays", "steps stay")
    ));
    ui.label(RichText::new(counts(plan)).color(theme.weak));
    ui.add_space(space::S);
    let shown = scroll::area(ui, "revert preview", BELOW_PX).show(ui, |ui| {
        effects(ui, theme, plan);
        if let Some(prompt) = &plan.revert.prefill {
            dropped_prompt(ui, theme, prompt, requests);
        }
    });
    scroll::keys(ui, "revert preview", &shown);
    ui.add_space(space::S);
    let (text, colour) = what_is_written(plan, &file_name(document.path()), theme);
    ui.add(Label::new(RichText::new(visible(&text)).color(colour)).wrap());
    if matches!(plan.revert.effect, Effect::Preview(_)) {
        super::closing_row(ui, requests, cancel);
        return;
    }
    if document.action.is_some() {
        going_on(ui, theme, document);
        super::closing_row(ui, requests, cancel);
        return;
    }
    let refused = plan.would_refuse.as_deref();
    let name = if plan.export_path.is_some() { "Write what stays" } else { "Revert now" };
    super::closing_row(ui, requests, |ui, requests| {
        let button = Button::new(name).stroke(Stroke::new(1.0, theme.failure));
        let response = ui.add_enabled(refused.is_none(), button);
        if response.clicked() {
            requests.push(Request::ConfirmRevert);
        }
        if let Some(reason) = refused {
            let spoken = format!("{name}, not available: {reason}");
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, false, &spoken));
            response.on_disabled_hover_text(reason);
        }
        cancel(ui, requests);
    });
}

/// How far the planning is, or the writing.
fn going_on(ui: &mut Ui, theme: &Theme, document: &Document) {
    if let Some(action) = &document.action {
        ui.horizontal(|ui| progress(ui, theme, action.name, &action.progress));
    }
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What the button would write, or why there is none.
fn what_is_written(plan: &RevertPlan, name: &str, theme: &Theme) -> (String, egui::Color32) {
    match (&plan.revert.effect, &plan.would_refuse, &plan.export_path) {
        (Effect::Preview(reason), ..) => (format!("A preview only: {reason}"), theme.weak),
        (_, Some(reason), _) => (format!("Cannot be done now: {reason}"), theme.failure),
        (Effect::Export(_), None, path) => {
            let path = path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            (format!("What stays is written to a new file; {name} is not touched: {path}"), theme.weak)
        }
        (Effect::Cut(_), None, _) => {
            let text = "is written anew. A backup and a receipt stay beside it; Undo revert puts every byte back.";
            (format!("{name} {text}"), theme.weak)
        }
    }
}

/// The button that has the focus at first: a hasty Enter changes nothing.
fn cancel(ui: &mut Ui, requests: &mut Vec<Request>) {
    let button = ui.button("Cancel");
    if ui.memory(|memory| memory.focused().is_none()) {
        button.request_focus();
    }
    if button.clicked() {
        requests.push(Request::CloseDialog);
    }
}

fn counts(plan: &RevertPlan) -> String {
    let steps = words::count(plan.dropped_steps, "step", "steps");
    // Steps whose turn is empty have no run.
    let ran = match plan.dropped_runs {
        0 => "the agent ran in none of them".to_owned(),
        1 if plan.dropped_steps == 1 => "the agent ran in it".to_owned(),
        runs if runs == plan.dropped_steps => "the agent ran in each".to_owned(),
        runs => format!("the agent ran in {} of them", words::figure(runs)),
    };
    let dropped = &plan.revert.dropped;
    let called_off = dropped.cancelled_runs.filter(|runs| *runs > 0);
    let mut parts = vec![
        format!("{steps}, {ran}"),
        words::count(dropped.messages, "message", "messages"),
        words::count(plan.dropped_events, "event", "events"),
    ];
    parts
        .extend(called_off.map(|runs| format!("calls off {}", words::count(runs, "run that waits", "runs that wait"))));
    parts
        .extend(dropped.console_rows.map(|rows| words::count(rows, "row of the transcript", "rows of the transcript")));
    parts.join(" · ")
}

/// Approvals cancelled, files that the workspace keeps changed, commands that nothing takes back.
fn effects(ui: &mut Ui, theme: &Theme, plan: &RevertPlan) {
    let dropped = &plan.revert.dropped;
    if !dropped.pending_approvals.is_empty() {
        section(ui, theme, "Waiting approvals that are cancelled");
        lines(ui, theme, dropped.pending_approvals.iter().map(|(tool, _)| tool.clone()));
    }
    if !dropped.file_actions.is_empty() {
        section(ui, theme, "Files the dropped turns changed; Stepline leaves them as they are");
        let line = |action: &FileAction| {
            let word = match action.kind {
                FileActionKind::Restore => "changed ",
                FileActionKind::Delete => "created ",
                FileActionKind::Recreate => "deleted ",
            };
            format!("{word} {}", action.path)
        };
        lines(ui, theme, dropped.file_actions.iter().map(line));
    }
    if !dropped.conflicts.is_empty() {
        section(ui, theme, "Of these, no longer as the agent left them");
        lines(ui, theme, dropped.conflicts.iter().cloned());
    }
    if !dropped.irreversible.is_empty() {
        section(ui, theme, "Commands that ran; nothing takes them back");
        lines(ui, theme, dropped.irreversible.iter().map(|(tool, what)| format!("{tool}: {what}")));
    }
    let notes: Vec<&String> = plan.revert.estimate.iter().chain(&plan.revert.warnings).collect();
    if !notes.is_empty() {
        section(ui, theme, "To know");
    }
    for note in notes {
        ui.add(Label::new(RichText::new(format!("• {}", visible(note))).color(theme.fallback)).wrap());
    }
}

/// The first lines of a list, and how many more there are.
fn lines(ui: &mut Ui, theme: &Theme, mut all: impl ExactSizeIterator<Item = String>) {
    for text in all.by_ref().take(LISTED) {
        ui.add(Label::new(RichText::new(visible(&text)).font(theme::code())).wrap());
    }
    if all.len() > 0 {
        ui.label(RichText::new(format!("… and {} more", words::figure(all.len() as u64))).color(theme.weak));
    }
}

fn section(ui: &mut Ui, theme: &Theme, text: &str) {
    ui.add_space(space::XS);
    ui.label(RichText::new(text).font(theme::small()).color(theme.weak));
}

fn dropped_prompt(ui: &mut Ui, theme: &Theme, prompt: &str, requests: &mut Vec<Request>) {
    ui.add_space(space::S);
    ui.horizontal(|ui| {
        ui.label(RichText::new("The dropped prompt").font(theme::bold(size::BASE)));
        if ui.button("Copy dropped prompt").clicked() {
            requests.push(Request::Copy(prompt.to_owned()));
        }
    });
    let end = prompt.ceil_char_boundary(PROMPT_SHOWN_BYTES);
    let mut shown = prompt.get(..end).unwrap_or(prompt).to_owned();
    if end < prompt.len() {
        shown.push('…');
    }
    ui.add(Label::new(RichText::new(visible(&shown)).color(theme.text)).wrap());
}
