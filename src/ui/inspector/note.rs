//! The note on what is selected: a bookmark, and a text that is kept as it is typed.

use egui::{RichText, TextEdit, Ui};

use super::super::Scene;
use super::super::theme::{self, size, space};
use super::super::widgets::icons::{self, Icon};
use crate::workspace::text::visible;
use crate::workspace::{Command, Request};

/// What the section keeps of its own.
#[derive(Default)]
pub struct NoteState {
    /// The wish for the focus that was granted last.
    focus: u64,
}

pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, state: &mut NoteState) {
    let (theme, document) = (scene.theme, scene.document);
    let Some(on) = document.note_target() else { return };
    let note = document.note(&on);
    let is_bookmark = note.is_some_and(|note| note.bookmark);
    let what = if on.event.is_some() { "event" } else { "step" };
    let heading = ui.horizontal(|ui| {
        let heading = ui.label(RichText::new(format!("Note on this {what}")).font(theme::bold(size::BASE)));
        let word = if is_bookmark { "Remove bookmark" } else { "Bookmark" };
        if is_bookmark {
            icons::show(ui, Icon::Bookmark, theme.accent);
        }
        if ui.small_button(word).clicked() {
            scene.ask(Request::Run(Command::Bookmark));
        }
        heading.id
    });
    ui.add_space(space::XS);
    let mut text = note.map(|note| note.text.clone()).unwrap_or_default();
    let rows = text.lines().count().clamp(2, 12);
    // Another note is another field: nothing of what was typed into one may be undone in the other.
    let id = ui.scope_id().with(("note", &on));
    let field = TextEdit::multiline(&mut text).id(id).desired_rows(rows).desired_width(f32::INFINITY);
    let field = ui.add(field.hint_text("Kept beside the session, never in it")).labelled_by(heading.inner);
    if field.changed() {
        scene.ask(Request::WriteNote(on, text));
    }
    let wanted = document.noted.focus;
    if std::mem::replace(&mut state.focus, wanted) != wanted {
        field.request_focus();
        field.scroll_to_me(None);
    }
    if let Some(trouble) = &document.noted.trouble {
        ui.add(egui::Label::new(RichText::new(visible(trouble)).color(theme.failure)).wrap());
    }
}
