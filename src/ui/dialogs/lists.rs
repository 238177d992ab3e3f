//! Dialogs that list: the reading report, the notices, the shortcuts.

use egui::{Label, RichText, Ui};

use super::super::notices;
use super::super::theme::{self, Theme, size, space};
use super::super::widgets::icons;
use super::super::words;
use super::scroll;
use crate::model::{ProblemKind, clock};
use crate::workspace::command::Group;
use crate::workspace::text::visible;
use crate::workspace::{Command, Request, Workspace};

/// Room for the button below a list.
const BELOW_PX: f32 = 44.0;

fn close(ui: &mut Ui, requests: &mut Vec<Request>) {
    super::closing_row(ui, requests, |ui, requests| {
        if ui.button("Close").clicked() {
            requests.push(Request::CloseDialog);
        }
    });
}

/// Every record accounted for, and what was noticed, with its place.
pub fn report(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    super::title(ui, "Reading report");
    let Some(session) = workspace.active().and_then(|document| document.session()) else {
        ui.label("No session is open");
        return close(ui, requests);
    };
    let records = &session.report.records;
    ui.label(format!("{} in the file", words::count(records.total, "record", "records")));
    for (name, count) in [
        ("read", records.read),
        ("unknown, kept and shown as recorded", records.unknown),
        ("duplicate, shown once", records.duplicate),
        ("unreadable", records.unreadable),
        ("torn off at the end", records.torn),
    ] {
        ui.horizontal(|ui| {
            let cell = egui::vec2(70.0, ui.text_style_height(&egui::TextStyle::Body));
            ui.allocate_ui_with_layout(cell, egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.label(words::figure(count));
            });
            ui.label(RichText::new(name).color(theme.weak));
        });
    }
    ui.add_space(space::S);
    let problems = &session.report.problems;
    if problems.is_empty() {
        ui.label(RichText::new("Nothing was noticed: every record is as it should be").color(theme.granted));
        return close(ui, requests);
    }
    ui.label(
        RichText::new(words::count(problems.len() as u64, "thing noticed", "things noticed"))
            .font(theme::bold(size::BASE)),
    );
    let height = ui.text_style_height(&egui::TextStyle::Body) + 4.0;
    let shown = scroll::area(ui, "problems", BELOW_PX).show_rows(ui, height, problems.len(), |ui, rows| {
        for problem in problems.get(rows).unwrap_or_default() {
            let offset = problem.offset.map(|at| format!(", offset {}", words::figure(at))).unwrap_or_default();
            let file = problem.file.as_deref().map(|file| format!(" in {file}")).unwrap_or_default();
            let text =
                format!("{}{offset}{file} · {} · {}", problem.locator.words(), problem.kind.word(), problem.message);
            let colour = match problem.kind {
                ProblemKind::Unreadable | ProblemKind::Torn | ProblemKind::Refused => theme.fallback,
                _ => theme.weak,
            };
            ui.add(Label::new(RichText::new(visible(&text)).color(colour)).truncate());
        }
    });
    scroll::keys(ui, "problems", &shown);
    close(ui, requests);
}

/// All notices, newest first.
pub fn notices(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    super::title(ui, "Notices");
    if workspace.notices.history().next().is_none() {
        ui.label(RichText::new("Nothing has been said yet").color(theme.weak));
    }
    let shown = scroll::area(ui, "notice history", BELOW_PX).show(ui, |ui| {
        for notice in workspace.notices.history() {
            ui.horizontal_top(|ui| {
                let (icon, colour) = notices::look(theme, notice.level);
                icons::show(ui, icon, colour);
                ui.label(RichText::new(clock(notice.at, "%H:%M:%S")).font(theme::small()).color(theme.weak));
                ui.vertical(|ui| {
                    ui.add(Label::new(visible(&notice.text).as_ref()).wrap().selectable(true));
                    notices::copy_button(ui, notice, requests);
                });
            });
        }
    });
    scroll::keys(ui, "notice history", &shown);
    close(ui, requests);
}

/// All commands with their keys, by heading; a click runs one.
pub fn shortcuts(ui: &mut Ui, theme: &Theme, requests: &mut Vec<Request>) {
    super::title(ui, "Keyboard shortcuts");
    let shown = scroll::area(ui, "shortcuts", BELOW_PX).show(ui, |ui| {
        for group in Group::ALL {
            ui.add_space(space::S);
            ui.label(RichText::new(group.title()).font(theme::bold(size::BASE)));
            for command in Command::ALL.into_iter().filter(|command| command.info().group == group) {
                let info = command.info();
                let keys: Vec<String> = info.shortcuts.iter().map(|shortcut| shortcut.words()).collect();
                ui.horizontal(|ui| {
                    cell(ui, 130.0, RichText::new(keys.join(" or ")).font(theme::code()).color(theme.text));
                    cell(ui, 150.0, RichText::new(info.text).color(theme.text));
                    ui.add(Label::new(RichText::new(info.tooltip).color(theme.weak)).truncate());
                });
            }
        }
        ui.add_space(space::S);
        ui.label(
            RichText::new(
                "On the timeline: the wheel zooms, Shift and the wheel or a drag pans; on the line of the whole \
                 session a drag brushes the part to be shown",
            )
            .color(theme.weak),
        );
    });
    scroll::keys(ui, "shortcuts", &shown);
    close(ui, requests);
}

fn cell(ui: &mut Ui, width: f32, text: RichText) {
    let size = egui::vec2(width, ui.text_style_height(&egui::TextStyle::Body));
    ui.allocate_ui_with_layout(size, egui::Layout::left_to_right(egui::Align::Center), |ui| {
        ui.set_min_width(width);
        ui.label(text);
    });
}
