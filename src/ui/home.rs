//! The window without a session: what can be opened, what is being opened, what did not open.

use egui::{Align, Button, Layout, RichText, ScrollArea, Stroke, Ui, UiBuilder, vec2};

use super::theme::{self, Theme, size, space};
use super::widgets::command_button;
use super::words;
use crate::model::clock;
use crate::workspace::document::{Document, State};
use crate::workspace::found::FoundSession;
use crate::workspace::text::visible;
use crate::workspace::{Command, Request, Workspace};

const COLUMN: f32 = 640.0;
/// Height of a row of a list, with the space below it.
pub(super) const ROW_PX: f32 = 40.0;

/// No session is open: what Stepline opens, and the sessions it found on this machine.
pub fn empty(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    column(ui, |ui| {
        ui.add_space(space::L * 2.0);
        ui.label(RichText::new("Open a recorded session").font(theme::bold(20.0)));
        ui.add_space(space::XS);
        let text = format!(
            "Stepline opens the sessions of {}: files, databases and folders, whatever they are called. Drop them here, or \
             choose one.",
            crate::formats::systems()
        );
        ui.label(RichText::new(text).color(theme.weak));
        ui.add_space(space::M);
        ui.horizontal(|ui| {
            let open = Button::new(RichText::new("Open…").color(theme.text)).stroke(Stroke::new(1.0, theme.accent));
            if ui.add(open).on_hover_text(Command::Open.info().tooltip).clicked() {
                requests.push(Request::Run(Command::Open));
            }
            command_button(ui, workspace, Command::OpenFolder, "Open folder…", requests);
            command_button(ui, workspace, Command::OpenPath, "Open path…", requests);
            command_button(ui, workspace, Command::Shortcuts, "Keyboard shortcuts", requests);
        });
        ui.add_space(space::L);
        recent(ui, theme, workspace, requests);
        found(ui, theme, workspace.found.as_deref(), requests);
    });
}

/// A column in the middle, as wide as lines are good to read.
pub(super) fn column(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    let room = ui.available_rect_before_wrap();
    let width = COLUMN.min(room.width() - 2.0 * space::L);
    let left = room.left() + ((room.width() - width) / 2.0).max(space::L);
    let area = egui::Rect::from_min_max(egui::pos2(left, room.top()), egui::pos2(left + width, room.bottom()));
    ui.scope_builder(UiBuilder::new().max_rect(area), content);
}

fn heading(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).font(theme::bold(size::BASE)));
    ui.add_space(space::XS);
}

fn recent(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    let files = &workspace.settings.recent_files;
    if files.is_empty() {
        return;
    }
    heading(ui, "Recent files");
    for path in files.iter().take(5) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = path.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        if row(ui, theme, &name, &folder, "", &format!("Open recent {name}")) {
            requests.push(Request::Open(vec![path.clone()]));
        }
    }
    ui.add_space(space::M);
}

fn found(ui: &mut Ui, theme: &Theme, found: Option<&[FoundSession]>, requests: &mut Vec<Request>) {
    heading(ui, "Sessions on this machine");
    let Some(found) = found else {
        ui.label(RichText::new("Looking for them…").color(theme.weak));
        return;
    };
    if found.is_empty() {
        ui.label(RichText::new("None found where Claude Code and Devin keep them").color(theme.weak));
        return;
    }
    ScrollArea::vertical().id_salt("found").auto_shrink(false).show_rows(ui, ROW_PX, found.len(), |ui, rows| {
        for session in found.get(rows).unwrap_or_default() {
            let when = clock(session.modified, "%Y-%m-%d %H:%M");
            let size = words::bytes(session.len);
            let name = format!("Open {}, {when}", session.title);
            if row(ui, theme, &session.title, &format!("{} · {size}", session.project), &when, &name) {
                requests.push(Request::Open(vec![session.path.clone()]));
            }
        }
    });
}

/// A row to click: a title, a line under it, something on the right. True when it was clicked.
pub(super) fn row(ui: &mut Ui, theme: &Theme, title: &str, under: &str, right: &str, name: &str) -> bool {
    let width = ui.available_width().min(COLUMN);
    let (rect, response) =
        ui.allocate_exact_size(vec2(width, ROW_PX - ui.spacing().item_spacing.y), egui::Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, visible(name).as_ref()));
    let painter = ui.painter().with_clip_rect(rect);
    if response.hovered() || response.has_focus() {
        painter.rect_filled(rect, space::RADIUS, theme.raised);
    }
    let right_width = 120.0;
    let line = |text: &str, font, colour, y: f32, width: f32| {
        let mut job = egui::text::LayoutJob::simple_singleline(visible(text).into_owned(), font, colour);
        job.wrap = egui::text::TextWrapping::truncate_at_width(width);
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
        painter.galley(egui::pos2(rect.left() + space::S, rect.top() + y), galley, colour);
    };
    let room = width - 2.0 * space::S - if right.is_empty() { 0.0 } else { right_width };
    line(title, theme::base(), theme.text, 1.0, room);
    line(under, theme::small(), theme.weak, 18.0, room);
    painter.text(
        egui::pos2(rect.right() - space::S, rect.top() + 4.0),
        egui::Align2::RIGHT_TOP,
        right,
        theme::small(),
        theme.weak,
    );
    response.clicked()
}

/// Nothing of the file can be shown yet.
pub fn reading(ui: &mut Ui, theme: &Theme, document: &Document, requests: &mut Vec<Request>) {
    let progress = match &document.state {
        State::Reading(progress) => progress.words(),
        _ => None,
    };
    middle(ui, |ui| {
        ui.label(RichText::new(format!("Reading {}", visible(&document.name()))).font(theme::bold(size::HEADING)));
        if let Some(progress) = progress {
            ui.label(RichText::new(progress).color(theme.weak));
        }
        if ui.button("Cancel").clicked() {
            requests.push(Request::Cancel(document.id));
        }
    });
}

/// The file did not open.
pub fn failed(ui: &mut Ui, theme: &Theme, document: &Document, requests: &mut Vec<Request>) {
    let State::Failed(sentence) = &document.state else { return };
    middle(ui, |ui| {
        ui.label(RichText::new(format!("{} did not open", visible(&document.name()))).font(theme::bold(size::HEADING)));
        ui.add_space(space::XS);
        ui.add(egui::Label::new(RichText::new(visible(sentence)).color(theme.weak)).wrap().selectable(true));
        ui.add_space(space::S);
        ui.horizontal(|ui| {
            if ui.button("Open another…").clicked() {
                requests.push(Request::Run(Command::Open));
            }
            if ui.button("Try again").clicked() {
                requests.push(Request::Run(Command::Reload));
            }
            if ui.button("Close tab").clicked() {
                requests.push(Request::CloseTab(document.id));
            }
        });
    });
}

fn middle(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    ui.with_layout(Layout::top_down(Align::Min), |ui| {
        ui.add_space(ui.available_height() * 0.3);
        column(ui, |ui| {
            ui.set_max_width(COLUMN);
            content(ui);
        });
    });
}
