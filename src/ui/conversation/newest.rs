//! A session that grows while it is read: who is at its end goes on with it, who is elsewhere stays there and is told how
//! much is new.

use egui::{Button, Rect, RichText, Stroke, Ui, vec2};

use super::super::theme::{self, Theme, space};
use super::super::words;
use crate::workspace::document::Document;

/// From the lower edge of the view.
const BELOW_PX: f32 = 14.0;
const HEIGHT_PX: f32 = 26.0;

/// What its reader has seen of the end.
#[derive(Debug, Default)]
pub struct Newest {
    generation: u64,
    /// The end was in view when the conversation was drawn last.
    at_end: bool,
    /// How many events there were when it was; `None` until the file has been read once.
    seen: Option<usize>,
    new: usize,
}

impl Newest {
    /// Takes in what was read; true when the view is to go on to the new end.
    pub fn take(&mut self, document: &Document, events: usize) -> bool {
        let has_changed = std::mem::replace(&mut self.generation, document.generation) != document.generation;
        has_changed && self.at_end && self.seen.is_some_and(|seen| seen < events)
    }

    /// Notes what was drawn. While the file is read for the first time, nobody is at its end, and nothing is new.
    pub fn shown(&mut self, document: &Document, events: usize, at_end: bool) {
        if !document.is_whole() {
            (self.at_end, self.seen, self.new) = (false, None, 0);
            return;
        }
        self.at_end = at_end;
        let seen = match self.seen {
            Some(seen) if !at_end => seen.min(events),
            _ => events,
        };
        (self.seen, self.new) = (Some(seen), events - seen);
    }

    /// Says how much is new, over the lower edge of the conversation; true when its reader wants to go there.
    pub fn show(&self, ui: &mut Ui, view: Rect, theme: &Theme) -> bool {
        if self.new == 0 {
            return false;
        }
        let count = words::figure(self.new as u64);
        let text = RichText::new(format!("{count} new  ↓")).font(theme::base()).color(theme.text);
        let button = Button::new(text)
            .fill(theme.raised)
            .stroke(Stroke::new(1.0, theme.accent))
            .corner_radius(HEIGHT_PX / 2.0)
            .min_size(vec2(0.0, HEIGHT_PX));
        let width = 90.0 + space::S * count.len() as f32;
        let at = view.center_bottom() - vec2(0.0, BELOW_PX + HEIGHT_PX / 2.0);
        let response = ui.put(Rect::from_center_size(at, vec2(width, HEIGHT_PX)), button);
        let name = format!("{count} new, go to the end");
        response.accessible_name(name).on_hover_text("The session has grown; your place is kept").clicked()
    }
}
