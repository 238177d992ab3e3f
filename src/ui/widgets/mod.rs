//! Parts that several panels draw with.

pub mod chips;
pub mod glyphs;
pub mod icons;
pub mod long_text;
pub mod markdown;
pub mod marked;
pub mod virtual_list;

use std::path::Path;

use egui::{Button, Id, Label, Response, RichText, Ui};

use super::theme::{self, Theme};
pub use crate::workspace::outline::time_axis;
use crate::workspace::progress::Progress;
use crate::workspace::text::visible;
use crate::workspace::{Command, Request, Workspace};

/// A path as it can be drawn: names of files come from strangers too.
pub fn path_words(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// What goes on, how far it is, and how long it will still take.
pub fn progress(ui: &mut Ui, theme: &Theme, name: &str, progress: &Progress) {
    let text = progress.words().map_or_else(|| format!("{name}…"), |progress| format!("{name} {progress}"));
    ui.label(RichText::new(text).font(theme::small()).color(theme.text));
    if let Some(share) = progress.share() {
        ui.add(egui::ProgressBar::new(share).desired_width(120.0).desired_height(6.0).fill(theme.accent));
    }
}

/// A text that can be selected, in a row that can be clicked: it takes the pointer, so that the row must ask for its
/// clicks with [`take_text_click`].
pub fn selectable(ui: &mut Ui, label: Label) -> Response {
    let response = ui.add(label.selectable(true));
    if response.clicked() {
        let pass = ui.ctx().cumulative_pass_nr();
        ui.data_mut(|data| data.insert_temp(text_click(), pass));
    }
    response
}

/// Whether a text drawn since the last call in this frame was clicked, without anything of it being selected.
pub fn take_text_click(ui: &Ui) -> bool {
    let clicked = ui.data_mut(|data| data.remove_temp::<u64>(text_click()));
    clicked == Some(ui.ctx().cumulative_pass_nr())
}

fn text_click() -> Id {
    Id::unique("a text was clicked")
}

/// A button for a command: its tooltip names the shortcut, and a disabled one says why, to the pointer and to a screen
/// reader.
pub fn command_button(
    ui: &mut Ui,
    workspace: &Workspace,
    command: Command,
    text: &str,
    requests: &mut Vec<Request>,
) -> Response {
    let info = command.info();
    let refusal = command.refusal(workspace);
    let response = ui.add_enabled(refusal.is_none(), Button::new(text).frame_when_inactive(false));
    let name = match &refusal {
        Some(reason) => format!("{}, not available: {reason}", info.text),
        None => info.text.to_owned(),
    };
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, refusal.is_none(), &name));
    let keys: Vec<String> = info.shortcuts.iter().map(|shortcut| shortcut.words()).collect();
    let tooltip = format!("{} ({})", info.tooltip, keys.join(" or "));
    let response = match refusal {
        Some(reason) => response.on_disabled_hover_text(reason),
        None => response.on_hover_text(tooltip),
    };
    if response.clicked() {
        requests.push(Request::Run(command));
    }
    response
}
