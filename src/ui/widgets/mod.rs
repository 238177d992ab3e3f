//! Parts that several panels draw with.

pub mod chips;
pub mod icons;
pub mod long_text;
pub mod markdown;
pub mod time_axis;
pub mod virtual_list;

use egui::{Button, Response, Ui};

use crate::workspace::{Command, Request, Workspace};

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
