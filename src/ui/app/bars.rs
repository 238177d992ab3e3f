//! The bars: tabs and menus on top, the state of things at the bottom.

use egui::{Align, Button, Color32, Frame, Layout, Margin, Panel, RichText, Ui, UiBuilder};

use super::super::theme::{self, Theme, space};
use super::super::widgets::{command_button, path_words, progress};
use super::super::words;
use super::tabs;
use crate::model::{Session, duration_words};
use crate::workspace::document::{Document, State};
use crate::workspace::text::visible;
use crate::workspace::{Command, Dialog, Request, Workspace};

pub(super) const TOP_HEIGHT: f32 = 36.0;
const STATUS_HEIGHT: f32 = 26.0;

pub(super) fn bar(fill: Color32) -> Frame {
    Frame::new().fill(fill).inner_margin(Margin::symmetric(10, 0))
}

/// Tabs left, what can be opened and shown right.
pub fn top(
    ui: &mut Ui,
    theme: &Theme,
    workspace: &Workspace,
    state: &mut tabs::TabsState,
    requests: &mut Vec<Request>,
) {
    Panel::top("top").exact_size(TOP_HEIGHT).frame(bar(theme.panel)).show(ui, |ui| {
        let whole = ui.available_rect_before_wrap();
        // The tabs get what the buttons leave, and come first for the keyboard as they do for the eye.
        let middle = (whole.right() - state.buttons_px).max(whole.left() + 80.0);
        let row = |left: f32, right: f32| {
            let rect = egui::Rect::from_min_max(egui::pos2(left, whole.top()), egui::pos2(right, whole.bottom()));
            UiBuilder::new().max_rect(rect).layout(Layout::left_to_right(Align::Center))
        };
        ui.scope_builder(row(whole.left(), middle - space::S), |ui| tabs::show(ui, theme, workspace, state, requests));
        let buttons = ui.scope_builder(row(middle, whole.right()), |ui| {
            ui.spacing_mut().item_spacing.x = space::XS;
            command_button(ui, workspace, Command::Open, "Open…", requests);
            recent_menu(ui, theme, workspace, requests);
            command_button(ui, workspace, Command::Find, "Find", requests);
            command_button(ui, workspace, Command::Export, "Export…", requests);
            command_button(ui, workspace, Command::Notices, "Notices", requests);
            command_button(ui, workspace, Command::Report, "Report", requests);
            command_button(ui, workspace, Command::ToggleInspector, "Inspector", requests);
            let theme_word = if theme.dark { "Light theme" } else { "Dark theme" };
            command_button(ui, workspace, Command::ToggleTheme, theme_word, requests);
            command_button(ui, workspace, Command::Shortcuts, "?", requests);
        });
        let width = buttons.response.rect.width();
        if (width - state.buttons_px).abs() > 0.5 {
            state.buttons_px = width;
            ui.ctx().request_discard("the width of the top bar's buttons is known now");
        }
        ui.advance_cursor_after_rect(whole);
    });
}

fn recent_menu(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    egui::containers::menu::MenuButton::from_button(Button::new("Recent").frame_when_inactive(false)).ui(ui, |ui| {
        ui.set_min_width(320.0);
        if workspace.settings.recent_files.is_empty() {
            ui.label(RichText::new("Nothing opened yet").color(theme.weak));
        }
        for path in &workspace.settings.recent_files {
            let name = tabs::file_name(path);
            let folder = path.parent().map(path_words).unwrap_or_default();
            let mut job = egui::text::LayoutJob::default();
            for (text, font_id, color, gap) in
                [(&name, theme::base(), theme.text, 0.0), (&folder, theme::small(), theme.weak, space::S)]
            {
                job.append(text, gap, egui::TextFormat { font_id, color, ..Default::default() });
            }
            let entry = ui.add(Button::new(job).frame(false).truncate()).on_hover_text(path_words(path));
            if entry.clicked() {
                requests.push(Request::Open(vec![path.clone()]));
                ui.close();
            }
        }
        ui.separator();
        command_button(ui, workspace, Command::OpenFolder, "Open folder…", requests);
        command_button(ui, workspace, Command::OpenPath, "Open path…", requests);
    });
}

/// Format, counts, what was noticed, what goes on; the session's length on the right.
pub fn status(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    Panel::bottom("status").exact_size(STATUS_HEIGHT).frame(bar(theme.panel)).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 14.0;
            let Some(document) = workspace.active() else {
                ui.label(weak(theme, "No session is open"));
                return;
            };
            if let Some(session) = document.session() {
                facts(ui, theme, session, document, requests);
            }
            if matches!(document.state, State::Choosing(_)) {
                ui.label(weak(theme, "Choose a session to open it in a tab of its own"));
            }
            if let State::Failed(sentence) = &document.state {
                let text = if document.session().is_some() { "Not read to its end" } else { "Did not open" };
                let text = RichText::new(text).font(theme::small()).color(theme.failure);
                ui.label(text).on_hover_text(visible(sentence));
            }
            let is_previewed =
                matches!(&workspace.dialog, Some(Dialog::Revert { document: shown, .. }) if *shown == document.id);
            if !is_previewed {
                work(ui, theme, document, requests);
            }
            if let Some((_, step)) = document.receipts.first() {
                let text = format!("Undo revert of step {step}");
                command_button(ui, workspace, Command::UndoRevert, &text, requests);
            }
            if let Some(session) = document.session() {
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    ui.label(weak(theme, &length(session)));
                });
            }
        });
    });
}

fn weak(theme: &Theme, text: &str) -> RichText {
    RichText::new(text).font(theme::small()).color(theme.weak)
}

fn facts(ui: &mut Ui, theme: &Theme, session: &Session, document: &Document, requests: &mut Vec<Request>) {
    let version = session.agent.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    ui.label(weak(theme, &format!("{}{version}", session.format.title())));
    let steps = words::count(session.steps.len() as u64, "step", "steps");
    let branches = match session.branches.len() {
        0 => String::new(),
        number => format!(", {}", words::count(number as u64, "abandoned branch", "abandoned branches")),
    };
    ui.label(weak(theme, &format!("{steps}{branches}")));
    let mut clicked = false;
    for (text, colour) in counts(session, theme) {
        let button = Button::new(RichText::new(text).font(theme::small()).color(colour)).frame(false);
        clicked |= ui.add(button).on_hover_text("Every record accounted for: show the reading report").clicked();
    }
    if clicked {
        requests.push(Request::Run(Command::Report));
    }
    if document.is_whole() {
        let (text, colour, hint) = match (document.is_reading(), document.gone) {
            (true, _) => ("reading again", theme.weak, "The file has changed; your place is kept"),
            (false, true) => ("not what is on disk", theme.fallback, "The file is gone, or cannot be read any more"),
            (false, false) => {
                ("following the file", theme.weak, "When the file grows it is read again; your place is kept")
            }
        };
        ui.label(RichText::new(text).font(theme::small()).color(colour)).on_hover_text(hint);
    }
}

/// What became of the file's records, in the words of `check`; what there was none of is left out.
fn counts(session: &Session, theme: &Theme) -> Vec<(String, Color32)> {
    let records = &session.report.records;
    let mut counts = vec![(format!("{} read", words::figure(records.read)), theme.weak)];
    for (count, word, colour) in [
        (records.unknown, "unknown", theme.weak),
        (records.duplicate, "duplicate", theme.weak),
        (records.unreadable, "unreadable", theme.fallback),
        (records.torn, "torn", theme.fallback),
    ] {
        if count > 0 {
            counts.push((format!("{} {word}", words::figure(count)), colour));
        }
    }
    // Each record that was not read has its problem; what else was noticed is said only where nothing else is.
    let noticed = session.report.problems.len();
    if records.unreadable + records.torn == 0 && noticed > 0 {
        counts.push((format!("{noticed} noticed"), theme.weak));
    }
    counts
}

/// Progress of what goes on, with a way to take it back. A revert shows its own where it was asked for.
fn work(ui: &mut Ui, theme: &Theme, document: &Document, requests: &mut Vec<Request>) {
    let going_on = match (&document.state, &document.action) {
        (State::Reading(progress), _) => Some(("Reading", progress)),
        (_, Some(action)) => Some((action.name, &action.progress)),
        _ => None,
    };
    let Some((name, how_far)) = going_on else { return };
    progress(ui, theme, name, how_far);
    if ui.add(Button::new(RichText::new("Cancel").font(theme::small())).small()).clicked() {
        requests.push(Request::Cancel(document.id));
    }
}

fn length(session: &Session) -> String {
    match (session.started_at, session.ended_at) {
        (Some(start), Some(end)) => duration_words(end.since(start)),
        _ => String::new(),
    }
}
