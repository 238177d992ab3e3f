//! The sessions of a source that holds several: a database, a folder, many files. One is chosen; it opens in a tab.

use std::sync::{Arc, Weak};

use egui::{RichText, ScrollArea, TextEdit, Ui};

use super::home::{self, ROW_PX};
use super::theme::{self, Theme, space};
use super::words;
use crate::formats::{Listed, Source};
use crate::model::clock;
use crate::workspace::Request;
use crate::workspace::document::Document;
use crate::workspace::text::visible;

/// What the list keeps of its own.
#[derive(Default)]
pub struct ChooseState {
    filter: String,
    shows_hidden: bool,
    /// Numbers of the sessions that are shown, and what they were picked for.
    picked: Vec<usize>,
    picked_for: Option<Picked>,
}

struct Picked {
    source: Weak<Source>,
    filter: String,
    shows_hidden: bool,
}

/// Draws the list.
pub fn show(
    ui: &mut Ui,
    theme: &Theme,
    document: &Document,
    source: &Arc<Source>,
    state: &mut ChooseState,
    requests: &mut Vec<Request>,
) {
    home::column(ui, |ui| {
        ui.add_space(space::L);
        let hidden = source.sessions.iter().filter(|listed| listed.is_hidden).count();
        let count = words::count((source.sessions.len() - hidden) as u64, "session", "sessions");
        let name = visible(&document.name()).into_owned();
        ui.label(RichText::new(format!("{count} in {name}")).font(theme::bold(theme::size::HEADING)));
        if source.is_cut {
            let text = "There are more files in the folder than are looked at.";
            ui.label(RichText::new(text).color(theme.fallback));
        }
        ui.add_space(space::S);
        ui.horizontal(|ui| {
            let field =
                TextEdit::singleline(&mut state.filter).hint_text("Filter by title, id or folder").desired_width(280.0);
            let field = ui.add(field);
            field.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Filter the sessions"));
            if hidden > 0 {
                let text = format!("Show {}", words::count(hidden as u64, "hidden session", "hidden sessions"));
                ui.checkbox(&mut state.shows_hidden, text)
                    .on_hover_text("Helper sessions that the agent hides from its own lists");
            }
        });
        ui.add_space(space::S);
        state.pick(source);
        if state.picked.is_empty() {
            ui.label(RichText::new("No session matches").color(theme.weak));
            return;
        }
        let shown = std::mem::take(&mut state.picked);
        ScrollArea::vertical().id_salt("choose").auto_shrink(false).show_rows(ui, ROW_PX, shown.len(), |ui, rows| {
            for number in shown.get(rows).unwrap_or_default() {
                if let Some(listed) = source.sessions.get(*number) {
                    row(ui, theme, listed, requests);
                }
            }
        });
        state.picked = shown;
    });
}

fn row(ui: &mut Ui, theme: &Theme, listed: &Listed, requests: &mut Vec<Request>) {
    let when = listed.ended_at.map(|at| clock(at, "%Y-%m-%d %H:%M")).unwrap_or_default();
    let title = listed.name();
    let id = listed.id.as_ref().filter(|id| **id != title);
    let path = listed.reference.path().file_name().unwrap_or_default().to_string_lossy();
    let file = listed.reference.key.is_none().then(|| path.into_owned()).filter(|file| *file != title);
    let hidden = listed.is_hidden.then(|| "hidden".to_owned());
    let format = Some(listed.format.title().to_owned());
    let under = [format, listed.status.clone(), hidden, id.cloned(), file, listed.cwd.clone()];
    let under = under.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let spoken = format!("Open {title}, {when}");
    if home::row(ui, theme, &title, &under, &when, &spoken) {
        requests.push(Request::OpenSession(listed.reference.clone()));
    }
}

impl ChooseState {
    /// Picks anew when the list, the filter or the choice of hidden ones is another one.
    fn pick(&mut self, source: &Arc<Source>) {
        let is_picked = self.picked_for.as_ref().is_some_and(|picked| {
            std::ptr::eq(picked.source.as_ptr(), Arc::as_ptr(source))
                && picked.filter == self.filter
                && picked.shows_hidden == self.shows_hidden
        });
        if is_picked {
            return;
        }
        let (filter, shows_hidden) = (self.filter.to_lowercase(), self.shows_hidden);
        let matches = |listed: &Listed| {
            let texts =
                [listed.title.as_deref(), listed.id.as_deref(), listed.cwd.as_deref(), listed.status.as_deref()];
            let path = listed.reference.path().to_string_lossy();
            texts.into_iter().flatten().chain([&*path]).any(|text| text.to_lowercase().contains(&filter))
        };
        let sessions = source.sessions.iter().enumerate();
        let shown = sessions.filter(|(_, listed)| (shows_hidden || !listed.is_hidden) && matches(listed));
        self.picked = shown.map(|(number, _)| number).collect();
        self.picked_for = Some(Picked { source: Arc::downgrade(source), filter: self.filter.clone(), shows_hidden });
    }
}
