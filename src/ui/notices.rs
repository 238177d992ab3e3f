//! Notices over the lower right corner of the window.

use egui::{Align2, Area, Context, Frame, Margin, Order, RichText, Stroke, vec2};

use super::theme::{Theme, space};
use super::widgets::icons::{self, Icon};
use crate::workspace::notices::{Level, Notice};
use crate::workspace::{Request, Workspace};

/// More are in the history.
const SHOWN: usize = 4;
const WIDTH: f32 = 380.0;

/// Draws the notices that are open, newest at the bottom.
pub fn show(context: &Context, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    let open: Vec<&Notice> = workspace.notices.open().rev().take(SHOWN).collect();
    if open.is_empty() {
        return;
    }
    Area::new(egui::Id::unique("notices"))
        .order(Order::Foreground)
        .anchor(Align2::RIGHT_BOTTOM, vec2(-space::M, -34.0))
        .show(context, |ui| {
            for notice in open.into_iter().rev() {
                show_one(ui, theme, notice, requests);
            }
        });
}

fn show_one(ui: &mut egui::Ui, theme: &Theme, notice: &Notice, requests: &mut Vec<Request>) {
    let (icon, colour) = look(theme, notice.level);
    Frame::new()
        .fill(theme.raised)
        .stroke(Stroke::new(1.0, theme.line))
        .corner_radius(space::RADIUS)
        .inner_margin(Margin::symmetric(11, 8))
        .show(ui, |ui| {
            ui.set_width(WIDTH);
            ui.horizontal_top(|ui| {
                icons::show(ui, icon, colour);
                ui.vertical(|ui| {
                    ui.set_width(WIDTH - 60.0);
                    let label = ui.label(RichText::new(&notice.text).color(theme.text));
                    let spoken = format!("{}: {}", notice.level.word(), notice.text);
                    label.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &spoken));
                    ui.ctx().accesskit_node_builder(label.id, |node| node.set_live(egui::accesskit::Live::Polite));
                    if let Some(copy) = &notice.copy
                        && ui.small_button("Copy path").on_hover_text(copy).clicked()
                    {
                        requests.push(Request::Copy(copy.clone()));
                    }
                });
                if icons::button(ui, Icon::Close, &format!("Close notice {}", notice.id), true).clicked() {
                    requests.push(Request::CloseNotice(notice.id));
                }
            });
        });
}

/// Shape and colour of a level.
pub fn look(theme: &Theme, level: Level) -> (Icon, egui::Color32) {
    match level {
        Level::Done => (Icon::Granted, theme.granted),
        Level::Information => (Icon::Text, theme.prompt),
        Level::Warning => (Icon::Waiting, theme.fallback),
        Level::Error => (Icon::Failure, theme.failure),
    }
}
