//! Marking matches in a text: a ground under each, and a line under the one that is looked at, which says where it is so
//! that it can be brought into view.

use std::borrow::Cow;
use std::ops::Range;

use egui::text::{CCursor, LayoutJob, TextFormat};
use egui::{Context, Galley, Id, Pos2, Rect, Stroke, Ui, pos2, vec2};

use super::super::theme::Theme;
use super::glyphs::drawable;
use crate::workspace::text::visible;

/// The matches in a text, as bytes of it in their order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marked<'a> {
    pub ranges: &'a [Range<usize>],
    /// Which of them is looked at.
    pub current: Option<usize>,
    /// Another number for each time that its user goes to a match.
    pub moves: u64,
}

/// How a piece of a text is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    None,
    Match,
    Current,
}

impl<'a> Marked<'a> {
    pub fn new(ranges: &'a [Range<usize>], current: Option<usize>, moves: u64) -> Self {
        let last = ranges.len().checked_sub(1);
        Self { ranges, current: current.and_then(|current| Some(current.min(last?))), moves }
    }

    /// Where the match that is looked at begins.
    pub fn current_start(&self) -> Option<usize> {
        self.ranges.get(self.current?).map(|range| range.start)
    }

    /// The pieces of the part of the text that begins at byte `start`.
    pub fn pieces<'t>(&self, part: &'t str, start: usize) -> Vec<(&'t str, Mark)> {
        let end = start + part.len();
        let mut pieces = Vec::new();
        let mut at = start;
        let first = self.ranges.partition_point(|range| range.end <= start);
        let mut push = |from: usize, to: usize, mark: Mark| {
            if let Some(piece) = part.get(from - start..to - start).filter(|piece| !piece.is_empty()) {
                pieces.push((piece, mark));
            }
        };
        for (number, range) in self.ranges.iter().enumerate().skip(first).take_while(|(_, range)| range.start < end) {
            let (from, to) = (range.start.max(at), range.end.min(end));
            push(at, from, Mark::None);
            push(from, to, if self.current == Some(number) { Mark::Current } else { Mark::Match });
            at = to.max(at);
        }
        push(at, end, Mark::None);
        pieces
    }

    /// Appends a part of the text to a job, with its matches marked; how many signs of the job come before the start of
    /// the match that is looked at, if it begins here.
    pub fn append(&self, ui: &Ui, job: &mut LayoutJob, part: &str, start: usize, format: &TextFormat) -> Option<usize> {
        if self.ranges.is_empty() {
            job.append(&drawable(ui, visible(part), &format.font_id), 0.0, format.clone());
            return None;
        }
        let theme = Theme::of(ui.ctx());
        let begins = self.current_start().filter(|at| (start..=start + part.len()).contains(at));
        let mut found = None;
        for (piece, mark) in self.pieces(part, start) {
            if mark == Mark::Current && begins.is_some() && found.is_none() {
                found = Some(job.text.chars().count());
            }
            let text: Cow<'_, str> = drawable(ui, visible(piece), &format.font_id);
            job.append(&text, 0.0, marked(theme, mark, format.clone()));
        }
        found
    }
}

/// How a text is drawn when it is marked.
fn marked(theme: &Theme, mark: Mark, format: TextFormat) -> TextFormat {
    match mark {
        Mark::None => format,
        Mark::Match => TextFormat { background: theme.mark, color: theme.text, ..format },
        Mark::Current => TextFormat {
            background: theme.mark_current,
            color: theme.text,
            underline: Stroke::new(2.0, theme.text),
            ..format
        },
    }
}

/// Says where in a galley that was drawn at `at` the match is that is looked at, by the signs before it.
pub fn tell_in_galley(ui: &Ui, galley: &Galley, at: Pos2, signs: usize) {
    let place = galley.pos_from_cursor(CCursor::new(signs));
    tell(ui, place.translate(at.to_vec2()));
}

/// The same for a text of which only the box is known, by how much of the text comes before it: from 0 to 1.
pub fn tell_in_box(ui: &Ui, rect: Rect, before: f32) {
    let line = 19.0_f32.min(rect.height());
    let top = rect.top() + (rect.height() - line) * before.clamp(0.0, 1.0);
    tell(ui, Rect::from_min_size(pos2(rect.left(), top), vec2(rect.width(), line)));
}

fn tell(ui: &Ui, place: Rect) {
    // What is only measured is nowhere.
    if ui.is_visible() {
        let pass = ui.ctx().cumulative_pass_nr();
        ui.data_mut(|data| data.insert_temp(id(), (pass, Some(place))));
    }
}

/// Where the match that is looked at was drawn in this frame, in view or not.
pub fn take_place(context: &Context) -> Option<Rect> {
    let told = context.data_mut(|data| data.remove_temp::<(u64, Option<Rect>)>(id()));
    told.filter(|(pass, _)| *pass == context.cumulative_pass_nr()).and_then(|(_, place)| place)
}

fn id() -> Id {
    Id::unique("where the match is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_text_is_cut_at_the_ends_of_its_matches() {
        let ranges = [2..4, 6..7, 9..14];
        let marked = Marked::new(&ranges, Some(1), 0);
        use Mark::{Current, Match, None};
        assert_eq!(
            marked.pieces("abcdefghij", 0),
            [("ab", None), ("cd", Match), ("ef", None), ("g", Current), ("hi", None), ("j", Match)]
        );
        assert_eq!(marked.pieces("klmnop", 10), [("klmn", Match), ("op", None)]);
        assert_eq!(marked.pieces("xyz", 20), [("xyz", None)]);
        assert_eq!(Marked::new(&ranges, Some(9), 0).current, Some(2));
        assert_eq!(Marked::new(&[], Some(9), 0).current, Option::None);
    }
}
