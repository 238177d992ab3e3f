//! Texts that were read for drawing, kept within a budget; the longest unused go first.

use std::collections::HashMap;
use std::sync::Arc;

use super::text::EventText;
use crate::model::Place;

/// Texts held per document, in bytes; the one being looked at is held whatever its size.
const BUDGET_BYTES: usize = 48 * 1024 * 1024;

/// Which text: an event's, a subagent's event's, a step's own prompt, a raw record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextKey {
    /// Index into the session's events.
    Event(usize),
    /// Index into the session's subagents, and into the events of that one.
    OfAgent { agent: u32, event: u32 },
    /// Number of the step.
    Prompt(u32),
    /// The record as it stands in the file.
    Raw(Place),
}

/// A text that was asked for.
#[derive(Clone, Debug)]
pub enum Slot {
    Reading,
    Ready(Arc<EventText>),
    /// It could not be read; the sentence says why.
    Failed(Arc<str>),
}

/// The texts at hand.
#[derive(Default)]
pub struct Bodies {
    slots: HashMap<TextKey, (Slot, u64)>,
    used: u64,
    bytes: usize,
}

impl Bodies {
    /// What is known of a text; `None` when nobody has asked for it.
    pub fn get(&self, key: TextKey) -> Option<&Slot> {
        self.slots.get(&key).map(|(slot, _)| slot)
    }

    /// Notes that a text is being read.
    pub fn reading(&mut self, key: TextKey) {
        self.put(key, Slot::Reading);
    }

    /// Takes a text that was read.
    pub fn put(&mut self, key: TextKey, slot: Slot) {
        self.used += 1;
        self.bytes += slot.bytes();
        if let Some((old, _)) = self.slots.insert(key, (slot, self.used)) {
            self.bytes -= old.bytes();
        }
        while self.bytes > BUDGET_BYTES && self.slots.len() > 1 {
            let oldest = self.slots.iter().filter(|(other, _)| **other != key).min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(key, _)| *key) else { break };
            if let Some((old, _)) = self.slots.remove(&oldest) {
                self.bytes -= old.bytes();
            }
        }
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Slot {
    fn bytes(&self) -> usize {
        match self {
            Self::Ready(text) => text.bytes(),
            Self::Reading | Self::Failed(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_holds_and_the_newest_stays_whatever_its_size() {
        let mut bodies = Bodies::default();
        let text = |bytes: usize| Slot::Ready(Arc::new(EventText::plain(&"x".repeat(bytes))));
        bodies.put(TextKey::Event(0), text(BUDGET_BYTES / 2));
        bodies.put(TextKey::Event(1), text(BUDGET_BYTES / 2));
        bodies.put(TextKey::Event(2), text(BUDGET_BYTES / 2));
        assert!(bodies.get(TextKey::Event(0)).is_none(), "the first to come is the first to go");
        assert!(bodies.get(TextKey::Event(2)).is_some());
        bodies.put(TextKey::Event(3), text(2 * BUDGET_BYTES));
        assert!(bodies.get(TextKey::Event(3)).is_some());
        assert!(bodies.get(TextKey::Event(2)).is_none());
        bodies.clear();
        assert!(bodies.get(TextKey::Event(3)).is_none());
    }
}
