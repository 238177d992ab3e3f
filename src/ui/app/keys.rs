//! From keys to commands, matched exactly: no modifier too many, none too few.

use egui::{Context, Event, Key as EguiKey, Modifiers};

use crate::workspace::Command;
use crate::workspace::command::{Group, Key, Shortcut};

/// The commands whose shortcuts were pressed since the last frame. Their keys are taken from the input.
///
/// While text is being typed, only shortcuts with Ctrl count, and those of the search, in which one types; while a dialog
/// is open, of these only the window's own. The key that closes the search closes what lies over it first.
pub fn commands(context: &Context, dialog_open: bool, search_open: bool) -> Vec<Command> {
    let typing = context.text_edit_focused();
    let closes_search = search_open && !egui::Popup::is_any_open(context);
    let mut found = Vec::new();
    context.input_mut(|input| {
        input.events.retain(|event| {
            let Event::Key { key, pressed: true, modifiers, .. } = event else { return true };
            match command(*key, *modifiers, typing, dialog_open)
                .filter(|command| *command != Command::CloseSearch || closes_search)
            {
                Some(command) => {
                    found.push(command);
                    false
                }
                None => true,
            }
        });
    });
    found
}

fn command(key: EguiKey, modifiers: Modifiers, typing: bool, dialog_open: bool) -> Option<Command> {
    let pressed = shortcut(key, modifiers)?;
    let command = Command::ALL.into_iter().find(|command| command.info().shortcuts.contains(&pressed))?;
    let is_of_search = command.info().group == Group::Search;
    if !pressed.control && (dialog_open || typing && !is_of_search) {
        return None;
    }
    // A dialog is about the session it was opened on: nothing may change that under it.
    if dialog_open && command.info().group != Group::Window {
        return None;
    }
    // A text field undoes its own typing.
    if typing && command == Command::UndoRevert {
        return None;
    }
    Some(command)
}

/// What was pressed, as shortcuts are written down.
fn shortcut(key: EguiKey, modifiers: Modifiers) -> Option<Shortcut> {
    if modifiers.alt {
        return None;
    }
    let control = modifiers.command;
    let (key, is_sign) = match key {
        EguiKey::ArrowUp => (Key::Up, false),
        EguiKey::ArrowDown => (Key::Down, false),
        EguiKey::ArrowLeft => (Key::Left, false),
        EguiKey::ArrowRight => (Key::Right, false),
        EguiKey::Home => (Key::Home, false),
        EguiKey::End => (Key::End, false),
        EguiKey::Tab => (Key::Tab, false),
        EguiKey::Space => (Key::Space, false),
        EguiKey::Period => (Key::Period, false),
        EguiKey::F3 => (Key::F3, false),
        EguiKey::F5 => (Key::F5, false),
        EguiKey::Escape => (Key::Escape, false),
        EguiKey::Plus => (Key::Char('+'), true),
        EguiKey::Equals => (Key::Char('='), true),
        EguiKey::Minus => (Key::Char('-'), true),
        EguiKey::Questionmark => (Key::Char('?'), true),
        EguiKey::OpenBracket => (Key::Char('['), true),
        EguiKey::CloseBracket => (Key::Char(']'), true),
        EguiKey::Num0 => (Key::Char('0'), false),
        // `?` on keyboards where it is Shift+/ and arrives as the key under it.
        EguiKey::Slash if modifiers.shift => (Key::Char('?'), true),
        other => {
            let mut letters = other.name().chars();
            match (letters.next(), letters.next()) {
                (Some(letter), None) if letter.is_ascii_uppercase() => (Key::Char(letter), false),
                _ => return None,
            }
        }
    };
    // Whether a sign needs Shift depends on the keyboard; the sign is what counts.
    Some(Shortcut { key, control, shift: modifiers.shift && !is_sign })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_match_exactly() {
        let none = Modifiers::NONE;
        assert_eq!(command(EguiKey::F, none, false, false), Some(Command::Fork));
        assert_eq!(command(EguiKey::F, Modifiers::SHIFT, false, false), Some(Command::ForkBefore));
        assert_eq!(command(EguiKey::F, Modifiers::ALT, false, false), None);
        assert_eq!(command(EguiKey::O, Modifiers::COMMAND, false, false), Some(Command::Open));
        let both = Modifiers::COMMAND | Modifiers::SHIFT;
        assert_eq!(command(EguiKey::O, both, false, false), Some(Command::OpenFolder));
        assert_eq!(command(EguiKey::W, both, false, false), None);
        assert_eq!(command(EguiKey::Questionmark, Modifiers::SHIFT, false, false), Some(Command::Shortcuts));
        assert_eq!(command(EguiKey::Plus, Modifiers::SHIFT, false, false), Some(Command::TimelineZoomIn));
    }

    #[test]
    fn plain_keys_belong_to_a_text_that_is_typed() {
        assert_eq!(command(EguiKey::F, Modifiers::NONE, true, false), None);
        assert_eq!(command(EguiKey::F, Modifiers::NONE, false, true), None);
        assert_eq!(command(EguiKey::Tab, Modifiers::COMMAND, false, true), None);
        assert_eq!(command(EguiKey::Q, Modifiers::COMMAND, false, true), Some(Command::Quit));
        assert_eq!(command(EguiKey::Z, Modifiers::COMMAND, true, false), None);
        assert_eq!(command(EguiKey::O, Modifiers::COMMAND, true, false), Some(Command::Open));
        assert_eq!(command(EguiKey::F3, Modifiers::SHIFT, true, false), Some(Command::PreviousMatch));
        assert_eq!(command(EguiKey::Escape, Modifiers::NONE, true, false), Some(Command::CloseSearch));
        assert_eq!(command(EguiKey::Escape, Modifiers::NONE, false, true), None);
    }
}
