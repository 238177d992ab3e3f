//! Where the panels lie.

use std::sync::Arc;

use egui::{Align2, CentralPanel, Frame, Margin, Panel, Stroke, Ui};

use super::super::theme::{self, Theme, space};
use super::super::{Scene, choose, conversation, dialogs, home, inspector, notices, steps, timeline};
use super::{App, bars, replay, search};
use crate::workspace::document::State;

/// A window narrower than this has no room for the inspector beside the conversation.
const INSPECTOR_FROM_PX: f32 = 1000.0;
/// The inspector's width where it lies over the conversation.
const OVERLAY_PX: f32 = 320.0;

impl App {
    /// Draws everything.
    pub fn ui(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui.ctx());
        bars::top(ui, theme, &self.workspace, &mut self.tabs, &mut self.requests);
        bars::status(ui, theme, &self.workspace, &mut self.requests);
        if let Some(document) = self.workspace.active() {
            replay::show(ui, theme, document, &mut self.requests);
            let bar = &mut self.views.entry(document.id).or_default().search;
            search::show(ui, theme, document, bar, &mut self.requests);
        }
        match self.workspace.active().map(|document| (&document.state, document.recording().map(Arc::clone))) {
            Some((_, Some(recording))) => self.session(ui, theme, recording.as_ref()),
            Some((State::Failed(_), None)) => self.centre(ui, theme, |app, ui| {
                if let Some(document) = app.workspace.active() {
                    home::failed(ui, theme, document, &mut app.requests);
                }
            }),
            Some((State::Choosing(source), None)) => {
                let source = Arc::clone(source);
                self.centre(ui, theme, |app, ui| {
                    if let Some(document) = app.workspace.active() {
                        let state = &mut app.views.entry(document.id).or_default().choose;
                        choose::show(ui, theme, document, &source, state, &mut app.requests);
                    }
                });
            }
            Some((_, None)) => self.centre(ui, theme, |app, ui| {
                if let Some(document) = app.workspace.active() {
                    home::reading(ui, theme, document, &mut app.requests);
                }
            }),
            None => self.centre(ui, theme, |app, ui| home::empty(ui, theme, &app.workspace, &mut app.requests)),
        }
        dialogs::show(ui.ctx(), theme, &mut self.workspace, &mut self.dialogs, &mut self.requests);
        notices::show(ui.ctx(), theme, &self.workspace, &mut self.requests);
        drop_hint(ui, theme);
        if self.workspace.has_unseen_texts() {
            // They are given back when a few frames have shown that nobody looks at them.
            ui.ctx().request_repaint();
        }
        if !self.requests.is_empty() {
            // What was asked for shows in the next frame.
            ui.ctx().request_repaint();
        }
    }

    fn centre(&mut self, ui: &mut Ui, theme: &Theme, content: impl FnOnce(&mut Self, &mut Ui)) {
        CentralPanel::default().frame(Frame::new().fill(theme.bg)).show(ui, |ui| content(self, ui));
    }

    /// In a narrow window the command opens and closes the inspector over the conversation: it is not open there by
    /// itself, for it would hide what is read, and what is set for wide windows stays as it is.
    fn toggle_narrow(&mut self, narrow: bool) {
        let set = self.workspace.settings.inspector;
        let before = self.inspects.replace(set).unwrap_or(set);
        if narrow && before != set {
            self.inspector_over = !self.inspector_over;
            self.workspace.settings.inspector = before;
            self.inspects = Some(before);
            self.workspace.save_settings();
        }
    }

    fn session(&mut self, ui: &mut Ui, theme: &'static Theme, recording: &dyn crate::formats::Recording) {
        let narrow = ui.ctx().content_rect().width() < INSPECTOR_FROM_PX;
        self.toggle_narrow(narrow);
        let Some(document) = self.workspace.active() else { return };
        let view = self.views.entry(document.id).or_default();
        let mut scene = Scene {
            theme,
            document,
            recording,
            session: recording.session(),
            requests: &mut self.requests,
            reveal: self.workspace.reveal,
        };
        let side = |fill| Frame::new().fill(fill);
        Panel::top("timeline")
            .resizable(false)
            .frame(side(theme.panel))
            .show(ui, |ui| timeline::show(ui, &mut scene, &mut view.timeline));
        Panel::left("steps")
            .default_size(316.0)
            .size_range(200.0..=560.0)
            .frame(side(theme.panel))
            .show(ui, |ui| steps::show(ui, &mut scene, &mut view.steps));
        if self.workspace.settings.inspector && !narrow {
            Panel::right("inspector")
                .default_size(330.0)
                .size_range(220.0..=720.0)
                .frame(side(theme.panel))
                .show(ui, |ui| inspector::show(ui, &mut scene, &mut view.inspector));
        }
        CentralPanel::default().frame(side(theme.bg)).show(ui, |ui| {
            let room = ui.max_rect();
            conversation::show(ui, &mut scene, &mut view.conversation);
            if self.inspector_over && narrow {
                inspector_over(ui, room, &mut scene, view);
            }
        });
    }
}

/// The inspector over the conversation, where there is no room beside it.
fn inspector_over(ui: &Ui, room: egui::Rect, scene: &mut Scene<'_>, view: &mut super::DocumentView) {
    let width = OVERLAY_PX.min(room.width() - space::L);
    let theme = scene.theme;
    let at = egui::pos2(room.right() - width, room.top());
    // Under menus and dialogs, over the panels.
    egui::Area::new(egui::Id::unique("inspector over")).order(egui::Order::Middle).fixed_pos(at).constrain(false).show(
        ui.ctx(),
        |ui| {
            Frame::new().fill(theme.panel).stroke(Stroke::new(1.0, theme.line)).show(ui, |ui| {
                ui.set_min_size(egui::vec2(width, room.height()));
                ui.set_max_size(egui::vec2(width, room.height()));
                inspector::show(ui, scene, &mut view.inspector);
            });
        },
    );
}

/// While files hang over the window: what will happen when they fall.
fn drop_hint(ui: &Ui, theme: &Theme) {
    let hovering = ui.ctx().input(|input| input.raw.hovered_files.len());
    if hovering == 0 {
        return;
    }
    let text = if hovering == 1 { "Drop to open it".to_owned() } else { format!("Drop to open {hovering} files") };
    egui::Area::new(egui::Id::unique("drop")).anchor(Align2::CENTER_CENTER, egui::Vec2::ZERO).interactable(false).show(
        ui.ctx(),
        |ui| {
            Frame::new()
                .fill(theme.raised)
                .stroke(Stroke::new(1.0, theme.accent))
                .corner_radius(space::RADIUS)
                .inner_margin(Margin::same(24))
                .show(ui, |ui| ui.label(egui::RichText::new(text).font(theme::bold(theme::size::HEADING))));
        },
    );
}
