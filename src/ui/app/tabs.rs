//! The tabs of what is open.

use std::path::Path;

use egui::containers::scroll_area::{ScrollBarVisibility, ScrollSource};
use egui::{Button, Rect, RichText, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

use super::super::theme::{self, Theme, size, space};
use super::super::widgets::icons::{self, Icon};
use super::super::widgets::path_words;
use super::bars::TOP_HEIGHT;
use crate::workspace::document::{Document, DocumentId};
use crate::workspace::text::visible;
use crate::workspace::{Request, Workspace};

const TAB_MAX_WIDTH: f32 = 220.0;
/// The button with the list of all tabs.
const LIST_PX: f32 = 52.0;

/// Where the tabs are.
pub struct TabsState {
    /// The active tab of the last frame: another one is brought into view.
    shown: Option<DocumentId>,
    tabs_px: f32,
    /// The room that the buttons beside the tabs take.
    pub buttons_px: f32,
}

impl Default for TabsState {
    fn default() -> Self {
        Self { shown: None, tabs_px: 0.0, buttons_px: 470.0 }
    }
}

pub fn show(ui: &mut Ui, theme: &Theme, workspace: &Workspace, state: &mut TabsState, requests: &mut Vec<Request>) {
    ui.spacing_mut().item_spacing.x = 0.0;
    if workspace.documents().is_empty() {
        ui.label(RichText::new("Stepline").font(theme::bold(size::BASE)));
        return;
    }
    let room = ui.available_width();
    let fits = state.tabs_px <= room;
    let active = workspace.active().map(|document| document.id);
    let changed = active != state.shown;
    let area = ScrollArea::horizontal()
        .id_salt("tabs")
        .max_width(if fits { room } else { room - LIST_PX })
        .scroll_source(ScrollSource::MOUSE_WHEEL)
        .scroll_bar_visibility(ScrollBarVisibility::AlwaysHidden);
    // There is nothing to scroll up and down here: the wheel goes sideways.
    if !fits && ui.rect_contains_pointer(ui.available_rect_before_wrap()) {
        ui.input_mut(|input| {
            let delta = &mut input.smooth_scroll_delta;
            (delta.x, delta.y) = (delta.x + delta.y, 0.0);
        });
    }
    let output = area.show(ui, |ui| {
        for (index, document) in workspace.documents().iter().enumerate() {
            let active = index == workspace.active_index();
            let rect = tab(ui, theme, document, active, index, requests);
            if active && changed {
                ui.scroll_to_rect_animation(rect, None, egui::style::ScrollAnimation::none());
            }
        }
    });
    if (output.content_size.x - state.tabs_px).abs() > 0.5 {
        // Whether they fit is known only now.
        state.tabs_px = output.content_size.x;
        ui.ctx().request_repaint();
    } else {
        state.shown = active;
    }
    if !fits {
        list(ui, theme, workspace, requests);
    }
}

/// All tabs by name, for when they do not fit.
fn list(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    ui.add_space(space::XS);
    let count = workspace.documents().len();
    let button = Button::new(RichText::new(format!("{count} ▾")).color(theme.weak)).frame_when_inactive(false);
    let (response, _) = egui::containers::menu::MenuButton::from_button(button).ui(ui, |ui| {
        ui.set_min_width(260.0);
        for (index, document) in workspace.documents().iter().enumerate() {
            let name = visible(&document.name()).into_owned();
            let entry = Button::selectable(index == workspace.active_index(), name).truncate();
            if ui.add(entry).on_hover_text(path_words(document.path())).clicked() {
                requests.push(Request::ShowTab(index));
                ui.close();
            }
        }
    });
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("All {count} tabs")));
}

/// A file's name as it can be drawn.
pub fn file_name(path: &Path) -> String {
    visible(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()).into_owned()
}

fn tab(
    ui: &mut Ui,
    theme: &Theme,
    document: &Document,
    active: bool,
    index: usize,
    requests: &mut Vec<Request>,
) -> Rect {
    let name = visible(&document.name()).into_owned();
    let colour = if active { theme.text } else { theme.weak };
    let mut job = egui::text::LayoutJob::simple_singleline(name.clone(), theme::base(), colour);
    job.wrap = egui::text::TextWrapping::truncate_at_width(TAB_MAX_WIDTH);
    let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
    let width = galley.size().x + 2.0 * space::M + space::ICON + space::S;
    let (rect, response) =
        ui.push_id(("tab", document.id), |ui| ui.allocate_exact_size(vec2(width, TOP_HEIGHT), Sense::click())).inner;
    response.widget_info(|| WidgetInfo::selected(Role::Tab, true, active, format!("Tab {name}")));
    let close_rect = Rect::from_center_size(
        pos2(rect.right() - space::M, rect.center().y),
        vec2(space::ICON + 6.0, space::ICON + 6.0),
    );
    let close = ui.interact(close_rect, ui.scope_id().with(("close", document.id)), Sense::click());
    close.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Close {name}")));
    // A tab that is partly out of sight shows as much of its name as there is room for.
    let seen = ui.clip_rect().right() - rect.left() - space::M;
    let galley = if seen > 16.0 && seen < galley.size().x {
        let mut job = egui::text::LayoutJob::simple_singleline(name.clone(), theme::base(), colour);
        job.wrap = egui::text::TextWrapping::truncate_at_width(seen);
        ui.fonts_mut(|fonts| fonts.layout_job(job))
    } else {
        galley
    };
    let painter = ui.painter();
    painter.galley(pos2(rect.left() + space::M, rect.center().y - galley.size().y / 2.0), galley, colour);
    if active {
        let line = Rect::from_min_max(pos2(rect.left(), rect.bottom() - 2.0), rect.right_bottom());
        painter.rect_filled(line, 0.0, theme.accent);
    }
    if response.has_focus() {
        let stroke = egui::Stroke::new(1.0, theme.accent);
        painter.rect_stroke(rect.shrink(1.0), 2.0, stroke, egui::StrokeKind::Inside);
    }
    if active || response.hovered() || close.hovered() || close.has_focus() {
        let colour = if close.hovered() || close.has_focus() { theme.text } else { theme.faint };
        icons::paint(painter, Icon::Close, close_rect.center(), 9.0, colour);
    }
    if close.clicked() || response.middle_clicked() {
        requests.push(Request::CloseTab(document.id));
    } else if response.on_hover_text(path_words(document.path())).clicked() {
        requests.push(Request::ShowTab(index));
    }
    rect
}
