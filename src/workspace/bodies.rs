//! Texts that were read for drawing, kept within a budget; those not seen for the longest go first.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::picture::Picture;
use super::text::EventText;
use crate::model::Place;

/// Texts held per document, in bytes: ten thousand usual ones, so that going back and forth reads nothing again, and still
/// no more than the window needs for itself. What is in view is held whatever its size.
const BUDGET_BYTES: usize = 48 * 1024 * 1024;
/// After so many frames without a look a text is out of view: one that is jumped to is not laid out in the first frame.
const UNSEEN_FRAMES: u64 = 3;

/// Which text: an event's, a subagent's event's, a step's own prompt, a raw record, one of these in another form; or which
/// image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextKey {
    /// Index into the session's events.
    Event(usize),
    /// Index into the session's subagents, and into the events of that one.
    OfAgent { agent: u32, event: u32 },
    /// Number of the step.
    Prompt(u32),
    /// A tool call's input as it is recorded, by the event's index; its form shows it otherwise.
    Input(usize),
    /// The result of a tool call indented, by the event's index; it is recorded as JSON on few lines.
    IndentedOutput(usize),
    /// The record, indented where it is JSON.
    Raw(Place),
    /// The record as it stands in the file.
    AsRecorded(Place),
    /// An attachment of the event with this index that is an image.
    Image { event: usize, attachment: usize },
}

/// A text that was asked for.
#[derive(Clone, Debug)]
pub enum Slot {
    Reading,
    Ready(Arc<EventText>),
    Picture(Arc<Picture>),
    /// It could not be read; the sentence says why.
    Failed(Arc<str>),
}

struct Entry {
    slot: Slot,
    /// When it came, counted in texts.
    number: u64,
    /// The frame in which it was looked at last.
    seen: Cell<u64>,
    /// Calls off its reading.
    cancelled: Option<Arc<AtomicBool>>,
}

/// The texts at hand.
#[derive(Default)]
pub struct Bodies {
    slots: HashMap<TextKey, Entry>,
    used: u64,
    bytes: usize,
    frame: u64,
    /// What is being read.
    reading: Vec<TextKey>,
}

impl Bodies {
    /// What is known of a text; `None` when nobody has asked for it. Asking is looking at it.
    pub fn get(&self, key: TextKey) -> Option<&Slot> {
        let entry = self.slots.get(&key)?;
        entry.seen.set(self.frame);
        Some(&entry.slot)
    }

    /// Notes that a text is being read, until `cancelled` is set because nobody looks at it any more.
    pub fn reading(&mut self, key: TextKey, cancelled: Arc<AtomicBool>) {
        self.insert(key, Slot::Reading, Some(cancelled));
    }

    /// Takes a text that was read.
    pub fn put(&mut self, key: TextKey, slot: Slot) {
        self.insert(key, slot, None);
    }

    fn insert(&mut self, key: TextKey, slot: Slot, cancelled: Option<Arc<AtomicBool>>) {
        self.used += 1;
        let bytes = slot.bytes();
        self.bytes += bytes;
        self.reading.retain(|other| *other != key);
        if matches!(slot, Slot::Reading) {
            self.reading.push(key);
        }
        let entry = Entry { slot, number: self.used, seen: Cell::new(self.frame), cancelled };
        if let Some(old) = self.slots.insert(key, entry) {
            self.bytes -= old.slot.bytes();
        }
        self.trim();
    }

    /// Keeps to the budget, but for what is in view: giving that back would mean to read it again at once.
    fn trim(&mut self) {
        while self.bytes > BUDGET_BYTES {
            let held = self.slots.iter().filter(|(key, entry)| entry.slot.bytes() > 0 && self.is_unseen(key));
            let oldest = held.min_by_key(|(_, entry)| (entry.seen.get(), entry.number)).map(|(key, _)| *key);
            let Some(oldest) = oldest else { return };
            self.forget(oldest);
        }
    }

    fn forget(&mut self, key: TextKey) {
        self.reading.retain(|other| *other != key);
        if let Some(old) = self.slots.remove(&key) {
            self.bytes -= old.slot.bytes();
        }
    }

    /// Begins a frame: reading what is out of view is called off, and what is held beyond the budget is given back.
    pub fn next_frame(&mut self) {
        self.frame += 1;
        let gone: Vec<TextKey> = self.reading.iter().copied().filter(|key| self.is_unseen(key)).collect();
        gone.into_iter().for_each(|key| self.forget(key));
        self.trim();
    }

    fn is_unseen(&self, key: &TextKey) -> bool {
        self.last_seen(key) + UNSEEN_FRAMES < self.frame
    }

    /// Whether something was not looked at in this frame that goes when it is out of view: another frame is wanted.
    pub fn has_unseen(&self) -> bool {
        let is_over = self.bytes > BUDGET_BYTES;
        let goes = |entry: &Entry| is_over && entry.slot.bytes() > 0 && entry.seen.get() < self.frame;
        self.reading.iter().any(|key| self.last_seen(key) < self.frame) || is_over && self.slots.values().any(goes)
    }

    fn last_seen(&self, key: &TextKey) -> u64 {
        self.slots.get(key).map_or(0, |entry| entry.seen.get())
    }

    /// Whether a text is being read.
    pub fn is_reading(&self) -> bool {
        !self.reading.is_empty()
    }

    /// Memory held, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn clear(&mut self) {
        *self = Self { frame: self.frame, ..Self::default() };
    }
}

/// What is let go of is not read to its end.
impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(cancelled) = &self.cancelled {
            cancelled.store(true, Ordering::Relaxed);
        }
    }
}

impl Slot {
    fn bytes(&self) -> usize {
        match self {
            Self::Ready(text) => text.bytes(),
            Self::Picture(picture) => picture.bytes(),
            Self::Reading | Self::Failed(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> Slot {
        Slot::Ready(Arc::new(EventText::plain("x".repeat(bytes))))
    }

    /// Draws frames in which these are in view, until nothing more is given back.
    fn look_at(bodies: &mut Bodies, keys: &[usize]) {
        for _ in 0..10 {
            bodies.next_frame();
            keys.iter().for_each(|key| assert!(held(bodies, *key), "{key} is in view"));
        }
        assert!(!bodies.has_unseen(), "nothing is left to give back");
    }

    fn held(bodies: &Bodies, key: usize) -> bool {
        bodies.get(TextKey::Event(key)).is_some()
    }

    /// The same without looking at it.
    fn is_there(bodies: &Bodies, key: usize) -> bool {
        bodies.slots.contains_key(&TextKey::Event(key))
    }

    #[test]
    fn what_was_not_seen_for_the_longest_goes_first() {
        let mut bodies = Bodies::default();
        for key in 0..3 {
            bodies.put(TextKey::Event(key), text(BUDGET_BYTES / 4));
        }
        look_at(&mut bodies, &[0]);
        look_at(&mut bodies, &[2]);
        assert_eq!([0, 1, 2].map(|key| is_there(&bodies, key)), [true; 3], "all of it is within the budget");
        bodies.put(TextKey::Event(3), text(BUDGET_BYTES / 3));
        assert_eq!([0, 1, 2, 3].map(|key| is_there(&bodies, key)), [true, false, true, true]);
        bodies.put(TextKey::Event(4), text(BUDGET_BYTES / 4));
        assert_eq!([0, 2, 3, 4].map(|key| is_there(&bodies, key)), [false, true, true, true]);
        assert!(bodies.bytes() <= BUDGET_BYTES);
    }

    #[test]
    fn what_is_in_view_stays_whatever_its_size_and_goes_when_it_is_out_of_view() {
        let mut bodies = Bodies::default();
        bodies.put(TextKey::Event(0), text(BUDGET_BYTES));
        bodies.put(TextKey::Event(1), text(BUDGET_BYTES));
        bodies.put(TextKey::Event(2), text(10));
        look_at(&mut bodies, &[0, 1]);
        bodies.next_frame();
        assert!(held(&bodies, 1));
        assert!(bodies.has_unseen(), "one more frame decides whether it is out of view");
        look_at(&mut bodies, &[1]);
        assert_eq!([0, 1, 2].map(|key| is_there(&bodies, key)), [false, true, false]);
        look_at(&mut bodies, &[]);
        assert_eq!(bodies.bytes(), 0);
    }

    #[test]
    fn reading_is_called_off_when_nobody_waits_for_it() {
        let mut bodies = Bodies::default();
        let flags = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        for (index, flag) in flags.iter().enumerate() {
            bodies.reading(TextKey::Event(index), Arc::clone(flag));
        }
        for _ in 0..10 {
            bodies.next_frame();
            assert!(bodies.get(TextKey::Event(1)).is_some());
        }
        assert!(bodies.get(TextKey::Event(0)).is_none());
        assert_eq!(flags.each_ref().map(|flag| flag.load(Ordering::Relaxed)), [true, false]);
        assert!(bodies.is_reading());
        drop(bodies);
        assert!(flags[1].load(Ordering::Relaxed), "closing the document calls it off");
    }
}
