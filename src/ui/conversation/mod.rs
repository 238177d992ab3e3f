//! The conversation: every step of the session with its events, as one list of which only what is in view is drawn.
//!
//! It owns where its reader is in the list; what is selected, opened and played is the workspace's. It asks for texts
//! when they come into view and shows one line of them meanwhile.

mod card;
mod commits;
mod draw;
mod event;
mod fact;
mod header;
mod newest;
mod picture;
mod seek;
mod texts;
mod tool;

use egui::{Sense, Ui};

use super::Scene;
use super::widgets::virtual_list::{Rows, VirtualList};
use crate::model::{Place, Session};
use crate::workspace::Request;
use crate::workspace::document::{DocumentId, Fold, Part};
use crate::workspace::outline::rows::{self, Listed, Row, RowKey};
use draw::Draw;
use newest::Newest;
use seek::Seek;
use texts::Texts;

/// How far below the view's edge an event is brought, so that what led to it can be seen.
const LEAD_PX: f64 = 60.0;

/// Stands for the events before the first step among what is opened.
const BEFORE: Fold = Fold { place: Place { file: u16::MAX, record: u32::MAX, block: u16::MAX }, part: Part::Events };

/// Where the reader of a document's conversation is.
#[derive(Default)]
pub struct ConversationState {
    list: VirtualList<RowKey>,
    listed: Option<What>,
    /// Grows when other rows are listed, so that the list knows.
    revision: u64,
    revealed: Option<(u64, Option<u32>, Option<usize>)>,
    /// What a click here selected: it is in view already.
    clicked: Option<(Option<u32>, Option<usize>)>,
    texts: Texts,
    seek: Seek,
    newest: Newest,
}

/// Which rows are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct What {
    document: DocumentId,
    generation: u64,
    before_open: bool,
}

/// Draws the conversation into all of `ui`.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>, state: &mut ConversationState) {
    let ground = ui.available_rect_before_wrap();
    ui.painter().rect_filled(ground, 0, scene.theme.bg);
    let document = scene.document;
    let Some(outline) = document.outline() else { return };
    let listed = listed(scene, state, &outline.table);
    let row = document.selected_event().and_then(|event| listed.row_of_event(event, scene.session));
    let stays = state.seek.begin(document.search.moves(), row) && row.is_some_and(|row| state.list.shows(row));
    reveal(scene, state, listed, stays);
    if state.newest.take(document, scene.session.events.len()) {
        state.list.jump_to(listed.len().saturating_sub(1), 0.0);
    }
    if listed.is_empty() {
        nothing(ui, scene);
        return;
    }
    state.texts.begin();
    let draw = Draw::new(scene, listed, &mut state.texts);
    let mut conversation = Conversation { draw };
    let shown = state.list.show(ui, &mut conversation, state.revision, "Conversation");
    if let Some(delta_px) = state.seek.follow(ui, ground, shown.scrolled) {
        state.list.nudge(delta_px);
    }
    let requests = conversation.draw.finish();
    if let Some(selected) = requests.iter().rev().find_map(|request| selects(request, scene.session)) {
        state.clicked = Some(selected);
    }
    requests.into_iter().for_each(|request| scene.ask(request));
    state.newest.shown(document, scene.session.events.len(), shown.at_end);
    if state.newest.show(ui, ground, scene.theme) {
        state.list.jump_to(listed.len().saturating_sub(1), 0.0);
    }
}

/// What a request will select.
fn selects(request: &Request, session: &Session) -> Option<(Option<u32>, Option<usize>)> {
    match request {
        Request::SelectStep(number) => Some((Some(*number), None)),
        Request::SelectEvent(index) => Some((session.step_of_event(*index).map(|step| step.number), Some(*index))),
        _ => None,
    }
}

/// The rows to list; those before the first step are folded away until they are opened.
fn listed<'a>(scene: &Scene<'_>, state: &mut ConversationState, table: &'a rows::Table) -> Listed<'a> {
    let document = scene.document;
    let first = scene.session.steps.first().map_or(0, |step| step.events.start);
    let selected_before = document.selected_event().is_some_and(|event| event < first);
    let listed = Listed::new(table, document.is_expanded(BEFORE) || selected_before);
    let (document, generation) = (document.id, document.generation);
    let what = What { document, generation, before_open: listed.before_is_open() };
    if state.listed.replace(what) != Some(what) {
        state.revision += 1;
    }
    listed
}

/// Brings what was selected elsewhere into view, unless it `stays` where it is.
fn reveal(scene: &Scene<'_>, state: &mut ConversationState, listed: Listed<'_>, stays: bool) {
    let step = scene.document.selected_step().map(|step| step.number);
    let event = scene.document.selected_event();
    let now = (scene.reveal, step, event);
    let before = state.revealed.replace(now);
    if before == Some(now) {
        return;
    }
    let by_click = state.clicked.take() == Some((step, event));
    let asked_for = before.is_none_or(|(reveal, ..)| reveal != scene.reveal);
    if stays || by_click && !asked_for {
        return;
    }
    match (event.and_then(|event| listed.row_of_event(event, scene.session)), step) {
        (Some(row), _) => state.list.reveal_below(row, LEAD_PX),
        // The first step is where a session opens: then what comes before it is seen too.
        (None, Some(1)) if before.is_none() => {}
        (None, Some(step)) => {
            if let Some(row) = listed.row_of_step(step) {
                state.list.jump_to(row, 0.0);
            }
        }
        (None, None) => {}
    }
}

fn nothing(ui: &mut Ui, scene: &Scene<'_>) {
    let sentence = match scene.document.is_whole() {
        true => "This session has no steps and no events",
        false => "Nothing has been read yet",
    };
    ui.centered_and_justified(|ui| ui.label(egui::RichText::new(sentence).color(scene.theme.weak)));
}

struct Conversation<'s, 'a> {
    draw: Draw<'s, 'a>,
}

impl Rows for Conversation<'_, '_> {
    type Key = RowKey;

    fn len(&self) -> usize {
        self.draw.listed.len()
    }

    fn key(&self, row: usize) -> RowKey {
        self.draw.listed.key(row)
    }

    fn estimate(&self, row: usize, width_px: f32) -> f32 {
        self.draw.listed.guess(row, width_px)
    }

    fn stamp(&self, row: usize) -> u64 {
        self.draw.stamp(row)
    }

    fn sense(&self, row: usize) -> Sense {
        match self.draw.listed.get(row) {
            Some(Row::Header(_) | Row::Card(_) | Row::Event(_)) => Sense::click(),
            _ => Sense::hover(),
        }
    }

    /// It is what is read: the page keys are its own wherever the pointer is.
    fn takes_page_keys(&self, _: bool) -> bool {
        true
    }

    fn name(&self, row: usize) -> String {
        self.draw.name(row)
    }

    fn show(&mut self, ui: &mut Ui, row: usize, measuring: bool) {
        let Some(row) = self.draw.listed.get(row) else { return };
        self.draw.row(ui, row, measuring);
    }
}

#[cfg(test)]
mod rows_tests;
#[cfg(test)]
mod tests;
