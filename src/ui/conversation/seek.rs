//! Bringing the match that is looked at into view: its row is brought there by the selection, but a row can be many times
//! as tall as the view, and its text comes in later.

use egui::{Rect, Ui};

use super::super::widgets::marked;

/// What stays free above and below a match.
const MARGIN_PX: f32 = 12.0;
/// It is there when it has not moved for so many frames: what comes in above it moves it.
const STILL_FRAMES: u32 = 8;

/// The match that is being brought into view.
#[derive(Debug, Default)]
pub struct Seek {
    /// The number of the move to it.
    moves: u64,
    /// The row that it was in.
    row: Option<usize>,
    /// For how many frames it has been in view; `None` when nothing is sought.
    still: Option<u32>,
}

impl Seek {
    /// Begins anew when there was another move; true when it was one within the same row.
    pub fn begin(&mut self, moves: u64, row: Option<usize>) -> bool {
        if moves == self.moves {
            return false;
        }
        let same = row.is_some() && row == self.row;
        *self = Self { moves, row, still: Some(0) };
        same
    }

    /// After all is drawn into `view`: by how much it is to be moved down in the next frame.
    pub fn follow(&mut self, ui: &Ui, view: Rect, scrolled: bool) -> Option<f64> {
        let place = marked::take_place(ui.ctx());
        if scrolled {
            self.still = None;
        }
        let (still, place) = (self.still?, place?);
        ui.ctx().request_repaint();
        if place.top() >= view.top() + MARGIN_PX && place.bottom() <= view.bottom() - MARGIN_PX {
            self.still = Some(still + 1).filter(|still| *still < STILL_FRAMES);
            return None;
        }
        self.still = Some(0);
        Some(f64::from(place.top() - view.top() - view.height() / 3.0))
    }
}
