//! Notices over the lower edge of the window, one line each where there is room.

use egui::{Align2, Area, Color32, Context, Frame, Margin, Order, RichText, Stroke, vec2};

use super::theme::{Theme, space};
use super::widgets::icons::{self, Icon};
use crate::workspace::notices::{Level, Notice};
use crate::workspace::text::visible;
use crate::workspace::{Command, Request, Workspace};

const UNDO: &str = "Undo revert";
/// More are in the history.
const SHOWN: usize = 3;
const WIDTH: f32 = 620.0;
/// Above the status bar, and above the replay bar where there is one.
const ABOVE_STATUS_PX: f32 = 32.0;
const ABOVE_REPLAY_PX: f32 = 72.0;

/// Draws the notices that are open, newest at the bottom: in the middle, for the ends of a line are read last.
pub fn show(context: &Context, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    let open: Vec<&Notice> = workspace.notices.open().rev().take(SHOWN).collect();
    if open.is_empty() {
        return;
    }
    let replays = workspace.active().is_some_and(|document| document.player.is_some());
    let above = if replays { ABOVE_REPLAY_PX } else { ABOVE_STATUS_PX };
    Area::new(egui::Id::unique("notices"))
        .order(Order::Foreground)
        .anchor(Align2::CENTER_BOTTOM, vec2(0.0, -above))
        .show(context, |ui| {
            for notice in open.into_iter().rev() {
                show_one(ui, theme, workspace, notice, requests);
            }
        });
}

fn show_one(ui: &mut egui::Ui, theme: &Theme, workspace: &Workspace, notice: &Notice, requests: &mut Vec<Request>) {
    let (icon, colour) = look(theme, notice.level);
    let width = WIDTH.min(ui.ctx().content_rect().width() - 2.0 * space::L);
    let undo = notice.undo && can_undo(workspace, notice);
    let words = [undo.then_some(UNDO), notice.copy.as_ref().map(|_| copy_word(notice))];
    let buttons_px: f32 = words.iter().flatten().map(|word| button_px(ui, word) + space::S).sum();
    Frame::new()
        .fill(theme.raised)
        .stroke(Stroke::new(1.0, theme.line))
        .corner_radius(space::RADIUS)
        .inner_margin(Margin::symmetric(11, 6))
        .show(ui, |ui| {
            ui.set_width(width);
            ui.horizontal_top(|ui| {
                icons::show(ui, icon, colour);
                ui.vertical(|ui| {
                    ui.set_width((width - buttons_px - 64.0).max(120.0));
                    let text = visible(&notice.text);
                    let label = ui.label(RichText::new(text.as_ref()).color(theme.text));
                    let spoken = format!("{}: {text}", notice.level.word());
                    label.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &spoken));
                    ui.ctx().accesskit_node_builder(label.id, |node| node.set_live(egui::accesskit::Live::Polite));
                });
                if undo && ui.small_button(UNDO).on_hover_text(Command::UndoRevert.info().tooltip).clicked() {
                    requests.push(Request::Run(Command::UndoRevert));
                }
                copy_button(ui, notice, requests);
                if icons::button(ui, Icon::Close, &format!("Close notice {}", notice.id), true).clicked() {
                    requests.push(Request::CloseNotice(notice.id));
                }
            });
        });
}

/// The command acts on the session that is shown: offered only while that is the one the notice is about.
fn can_undo(workspace: &Workspace, notice: &Notice) -> bool {
    let newest = workspace.active().and_then(|document| document.receipts.first());
    newest.is_some_and(|(receipt, _)| notice.copy.as_deref() == Some(receipt.display().to_string().as_str()))
}

fn copy_word(notice: &Notice) -> &'static str {
    if notice.undo { "Copy receipt path" } else { "Copy path" }
}

/// Copies what the notice is about, if it names something.
pub fn copy_button(ui: &mut egui::Ui, notice: &Notice, requests: &mut Vec<Request>) {
    let Some(copy) = &notice.copy else { return };
    if ui.small_button(copy_word(notice)).on_hover_text(visible(copy)).clicked() {
        requests.push(Request::Copy(copy.clone()));
    }
}

fn button_px(ui: &egui::Ui, word: &str) -> f32 {
    let font = egui::TextStyle::Button.resolve(ui.style());
    let text = ui.fonts_mut(|fonts| fonts.layout_no_wrap(word.to_owned(), font, Color32::PLACEHOLDER).size().x);
    text + 2.0 * ui.spacing().button_padding.x
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
