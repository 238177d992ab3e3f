//! Searching an open session: what is looked for, what was found of it, which match is looked at.
//!
//! The search itself is a job; its hits come in messages while it goes on. Of a session with very many hits the first
//! [`MOST_HITS`] can be gone to, all are counted.

mod job;
mod marks;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) use job::run;
pub use marks::{Marks, Ranges};

use super::bodies::TextKey;
use super::document::{Document, Part as Folded};
use crate::formats::search::{At, Hit, Part, Pattern, Query};
use crate::model::{Place, Session};

/// Texts with matches that are kept to be gone to.
pub const MOST_HITS: usize = 250_000;
/// Texts of which it is known where their matches are; those in view are asked for again.
const MOST_MARKED: usize = 1_000;

/// A document's search.
#[derive(Default)]
pub struct Search {
    /// Whether its bar is shown.
    pub is_open: bool,
    pub query: Query,
    /// Grows when the bar's field is to take the focus.
    pub focus: u64,
    /// Grows with each search; what comes of an older one is stale.
    number: u64,
    going_on: Option<Arc<AtomicBool>>,
    pattern: Option<Arc<Pattern>>,
    /// Why there is no search, in a sentence: the query is no expression, or the file cannot be read.
    pub complaint: Option<String>,
    found: Vec<Found>,
    /// Matches in all, and by the kind of their text, in the order of [`Part::ALL`].
    matches: usize,
    by_part: [usize; Part::ALL.len()],
    current: Option<Current>,
    /// The match that was looked at before the file was read again.
    wanted: Option<Wanted>,
    /// Whether the first match is to be gone to when it is found.
    goes_to_first: bool,
    marks: HashMap<TextKey, Option<Arc<Marks>>>,
    /// Grows with each move to a match.
    moves: u64,
}

/// A text with matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Where it stands among the events: a step's own text comes before the first event of its turn.
    order: (usize, bool),
    pub part: Part,
    pub at: At,
    pub count: usize,
}

impl Found {
    /// Index of its event, or of the first one after it.
    pub fn event(&self) -> usize {
        self.order.0
    }
}

/// The match that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// Which of the texts.
    found: usize,
    /// Which of the text's matches, from 0.
    pub nth: usize,
    /// Matches before the text's first.
    before: usize,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    place: Place,
    is_step: bool,
    part: Part,
    nth: usize,
}

impl Search {
    /// Whether there is a search whose matches are to be seen.
    pub fn is_active(&self) -> bool {
        self.is_open && self.pattern.is_some()
    }

    pub fn is_going_on(&self) -> bool {
        self.going_on.is_some()
    }

    /// Matches in all texts.
    pub fn matches(&self) -> usize {
        self.matches
    }

    /// How many matches each kind of text has; kinds without any are left out.
    pub fn by_part(&self) -> impl Iterator<Item = (Part, usize)> {
        Part::ALL.into_iter().zip(self.by_part).filter(|(_, count)| *count > 0)
    }

    /// Texts with matches, in the order of the session.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// The number of the match that is looked at, from 1.
    pub fn position(&self) -> Option<usize> {
        self.current.map(|current| current.before + current.nth + 1)
    }

    /// The text whose match is looked at, and which of its matches, from 0.
    pub fn current(&self) -> Option<(&Found, usize)> {
        let current = self.current?;
        Some((self.found.get(current.found)?, current.nth))
    }

    /// Another number for each move to a match.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Where a text's matches are; `None` when that is not known yet, and whether it is to be asked for.
    pub fn marks(&self, key: TextKey) -> (Option<&Arc<Marks>>, bool) {
        match self.marks.get(&key) {
            Some(marks) => (marks.as_ref(), false),
            None => (None, self.is_active()),
        }
    }

    pub(super) fn pattern(&self) -> Option<&Arc<Pattern>> {
        self.pattern.as_ref()
    }

    /// Another number for each search.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Notes that a text's matches are being looked for.
    pub(super) fn marking(&mut self, key: TextKey) {
        if self.marks.len() >= MOST_MARKED {
            self.marks.clear();
        }
        self.marks.insert(key, None);
    }

    pub(super) fn take_marks(&mut self, number: u64, key: TextKey, marks: Marks) {
        if number == self.number {
            self.marks.insert(key, Some(Arc::new(marks)));
        }
    }

    /// Lets go of where matches are: the texts behind the keys may be others.
    pub(super) fn forget_marks(&mut self) {
        self.marks.clear();
    }

    /// Calls off what goes on and forgets what was found.
    pub fn stop(&mut self) {
        if let Some(flag) = self.going_on.take() {
            flag.store(true, Ordering::Relaxed);
        }
        self.number += 1;
        self.pattern = None;
        self.complaint = None;
        self.found.clear();
        self.matches = 0;
        self.by_part = Default::default();
        self.current = None;
        self.marks.clear();
    }

    /// Begins anew; the flag by which the job is called off, and the number of the search.
    pub(super) fn begin(&mut self, goes_to_first: bool) -> (Arc<AtomicBool>, u64) {
        self.stop();
        let flag = super::jobs::cancel_flag();
        self.going_on = Some(Arc::clone(&flag));
        self.goes_to_first = goes_to_first;
        if goes_to_first {
            self.wanted = None;
        }
        (flag, self.number)
    }

    pub(super) fn take_pattern(&mut self, number: u64, pattern: Result<Arc<Pattern>, String>) {
        if number == self.number {
            match pattern {
                Ok(pattern) => self.pattern = Some(pattern),
                Err(sentence) => (self.complaint, self.going_on) = (Some(sentence), None),
            }
        }
    }

    /// Takes in hits in any order.
    fn take(&mut self, hits: &[Hit], session: &Session) {
        for hit in hits {
            self.matches += hit.count;
            if let Some(count) = self.by_part.get_mut(hit.part as usize) {
                *count += hit.count;
            }
        }
        let room = MOST_HITS.saturating_sub(self.found.len());
        let current = self.current().map(|(found, _)| *found);
        let new = hits.iter().take(room).map(|hit| Found {
            order: order_of(hit.at, session),
            part: hit.part,
            at: hit.at,
            count: hit.count,
        });
        let sorted_to = self.found.len();
        self.found.extend(new);
        let is_sorted = self.found.get(sorted_to.saturating_sub(1)..).is_some_and(<[Found]>::is_sorted);
        if !is_sorted {
            self.found.sort();
            // What came before the match that is looked at moved it on.
            if let Some((found, current)) = current.zip(self.current) {
                let index = self.found.partition_point(|other| *other < found);
                self.current = Some(self.current_at(index, current.nth));
            }
        }
    }

    fn current_at(&self, found: usize, nth: usize) -> Current {
        let before = self.found.iter().take(found).map(|found| found.count).sum();
        Current { found, nth, before }
    }

    fn go_to(&mut self, found: usize, nth: usize) {
        self.current = Some(self.current_at(found, nth));
        self.moves += 1;
    }

    /// The first text that begins at or behind a place.
    fn first_from(&self, order: (usize, bool)) -> usize {
        self.found.partition_point(|found| found.order < order)
    }
}

impl Document {
    /// Takes in what a search found; true when it moved to its first match.
    pub(super) fn take_hits(&mut self, number: u64, hits: &[Hit], ended: Option<Result<(), String>>) -> bool {
        let Some(recording) = self.recording().cloned().filter(|_| number == self.search.number) else { return false };
        let session = recording.session();
        self.search.take(hits, session);
        let is_over = ended.is_some();
        if let Some(result) = ended {
            self.search.going_on = None;
            self.search.complaint = result.err();
        }
        self.find_again(session);
        if !self.search.goes_to_first || self.search.current.is_some() || self.search.found.is_empty() {
            return false;
        }
        // The first one from where its user is; before that only when there is none.
        let first = match self.search.first_from(self.place_in_order(session)) {
            first if first < self.search.found.len() => first,
            _ if is_over => 0,
            _ => return false,
        };
        self.search.goes_to_first = false;
        self.search.go_to(first, 0);
        self.show_match();
        true
    }

    /// Finds the match again that was looked at before the file was read again.
    fn find_again(&mut self, session: &Session) {
        let Some(wanted) = self.search.wanted.filter(|_| self.search.current.is_none()) else { return };
        let is_it = |found: &Found| {
            let place = match found.at {
                At::Step(number) => session.step(number).map(|step| step.place),
                At::Event(index) => session.events.get(index).map(|event| event.place),
            };
            found.part == wanted.part
                && place == Some(wanted.place)
                && matches!(found.at, At::Step(_)) == wanted.is_step
        };
        if let Some(index) = self.search.found.iter().position(is_it) {
            self.search.current = Some(self.search.current_at(index, wanted.nth));
            self.search.wanted = None;
        }
    }

    /// Remembers the match that is looked at by its place in the file: the session is about to be another one.
    pub(super) fn remember_match(&mut self) {
        let found = self.search.current().map(|(found, nth)| (*found, nth));
        let Some(((found, nth), session)) = found.zip(self.session()) else { return };
        let (place, is_step) = match found.at {
            At::Step(number) => (session.step(number).map(|step| step.place), true),
            At::Event(index) => (session.events.get(index).map(|event| event.place), false),
        };
        self.search.wanted = place.map(|place| Wanted { place, is_step, part: found.part, nth });
    }

    /// Where the selection stands among the texts.
    fn place_in_order(&self, session: &Session) -> (usize, bool) {
        match (self.selected_event(), self.selected_step()) {
            (Some(event), _) => (event, true),
            (None, Some(step)) if step.number > 1 => order_of(At::Step(step.number), session),
            _ => (0, false),
        }
    }

    /// Goes to the next match or the one before, around the ends.
    pub(super) fn move_match(&mut self, forward: bool) {
        let Some(recording) = self.recording().cloned() else { return };
        let count = self.search.found.len();
        if count == 0 {
            return;
        }
        let here = self.place_in_order(recording.session());
        let (found, nth) = match self.search.current {
            Some(current) if self.is_at_match() => {
                let of = |index: usize| self.search.found.get(index).map_or(1, |found| found.count.max(1));
                let (last, before) = ((current.found + 1) % count, (current.found + count - 1) % count);
                match forward {
                    true if current.nth + 1 < of(current.found) => (current.found, current.nth + 1),
                    true => (last, 0),
                    false if current.nth > 0 => (current.found, current.nth - 1),
                    false => (before, of(before) - 1),
                }
            }
            _ if forward => (self.search.first_from(here) % count, 0),
            _ => {
                let before = (self.search.first_from(here) + count - 1) % count;
                (before, self.search.found.get(before).map_or(0, |found| found.count.saturating_sub(1)))
            }
        };
        self.search.goes_to_first = false;
        self.search.go_to(found, nth);
        self.show_match();
    }

    /// Whether what is selected is what the match is in.
    fn is_at_match(&self) -> bool {
        match self.search.current().map(|(found, _)| found.at) {
            Some(At::Event(index)) => self.selected_event() == Some(index),
            Some(At::Step(number)) => {
                self.selected_event().is_none() && self.selected_step().is_some_and(|step| step.number == number)
            }
            None => false,
        }
    }

    /// Selects what the match is in and opens it.
    fn show_match(&mut self) {
        let Some((found, _)) = self.search.current().map(|(found, nth)| (*found, nth)) else { return };
        let place = match found.at {
            At::Step(number) => {
                self.select_step(number);
                self.session().and_then(|session| session.step(number)).map(|step| step.place)
            }
            At::Event(index) => {
                self.select_event(index);
                self.session().and_then(|session| session.events.get(index)).map(|event| event.place)
            }
        };
        let parts: &[Folded] = match (found.at, found.part) {
            (At::Step(_), _) => &[Folded::Prompt],
            (_, Part::Input) => &[Folded::Input],
            // A file's change is drawn like an input.
            (_, Part::Output) => &[Folded::Output, Folded::Input],
            _ => &[Folded::Text],
        };
        let folds = place.into_iter().flat_map(|place| parts.iter().map(move |part| part.of(place)));
        self.expanded.extend(folds);
    }
}

/// Where a text stands: see [`Found`].
fn order_of(at: At, session: &Session) -> (usize, bool) {
    match at {
        At::Step(number) => (session.step(number).map_or(0, |step| step.events.start), false),
        At::Event(index) => (index, true),
    }
}

#[cfg(test)]
mod tests;
