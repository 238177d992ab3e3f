//! The texts of the rows in view. They stay while they are in view: also when the workspace has let go of them to make
//! room, and, until they are read again, when the file has grown.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::widgets::markdown::Memo;
use super::picture::Pictures;
use crate::model::{Place, Session};
use crate::workspace::bodies::{Slot, TextKey};
use crate::workspace::document::Document;
use crate::workspace::text::EventText;

/// Texts of which the layout is remembered.
const MEMOS: usize = 512;

/// A text that a row needs.
pub enum Wanted {
    Ready(Arc<EventText>),
    /// It is being read.
    Coming,
    Failed(Arc<str>),
}

impl Wanted {
    pub fn ready(&self) -> Option<&EventText> {
        if let Self::Ready(text) = self { Some(text) } else { None }
    }
}

struct Held {
    text: Arc<EventText>,
    place: Place,
    generation: u64,
}

/// The texts drawn in the last frame, and how they were laid out.
#[derive(Default)]
pub struct Texts {
    last: HashMap<TextKey, Held>,
    now: HashMap<TextKey, Held>,
    memos: HashMap<TextKey, (usize, Memo)>,
    pub pictures: Pictures,
    pub commits: super::commits::CommitFiles,
}

impl Texts {
    /// Lets go of what was not drawn in the last frame.
    pub fn begin(&mut self) {
        self.last = std::mem::take(&mut self.now);
        self.pictures.begin();
        if self.memos.len() > MEMOS {
            self.memos.clear();
        }
    }

    /// What there is of a text, and whether it is to be asked for.
    pub fn find(&mut self, key: TextKey, document: &Document, session: &Session) -> (Wanted, bool) {
        let Some(place) = place_of(key, session) else { return (Wanted::Coming, false) };
        let slot = document.bodies.get(key);
        let (text, generation) = match slot {
            Some(Slot::Ready(text)) => (Arc::clone(text), document.generation),
            Some(Slot::Failed(sentence)) => return (Wanted::Failed(Arc::clone(sentence)), false),
            Some(Slot::Reading | Slot::Picture(_)) | None => {
                let held = self.now.get(&key).or(self.last.get(&key)).filter(|held| held.place == place);
                match held {
                    Some(held) => (Arc::clone(&held.text), held.generation),
                    None => return (Wanted::Coming, slot.is_none()),
                }
            }
        };
        let stale = slot.is_none() && generation != document.generation;
        self.now.insert(key, Held { text: Arc::clone(&text), place, generation });
        (Wanted::Ready(text), stale)
    }

    /// A text as far as it has been read; nothing is asked for.
    pub fn at_hand<'t>(&'t self, key: TextKey, document: &'t Document) -> Option<&'t EventText> {
        match document.bodies.get(key) {
            Some(Slot::Ready(text)) => Some(text),
            _ => self.now.get(&key).or(self.last.get(&key)).map(|held| &*held.text),
        }
    }

    /// Changes when another text stands behind `key`.
    pub fn stamp(&self, key: TextKey, document: &Document, session: &Session) -> u64 {
        let held = || {
            let held = self.now.get(&key).or(self.last.get(&key))?;
            (Some(held.place) == place_of(key, session)).then_some(Arc::as_ptr(&held.text) as u64)
        };
        match document.bodies.get(key) {
            Some(Slot::Ready(text)) => Arc::as_ptr(text) as u64,
            Some(Slot::Failed(_)) => 1,
            Some(Slot::Reading | Slot::Picture(_)) | None => held().unwrap_or(0),
        }
    }

    /// How a text's blocks were laid out last.
    pub fn memo(&mut self, key: TextKey, text: &EventText) -> &mut Memo {
        let identity = std::ptr::from_ref(text) as usize;
        let (of, memo) = self.memos.entry(key).or_default();
        if *of != identity {
            (*of, *memo) = (identity, Memo::default());
        }
        memo
    }
}

fn place_of(key: TextKey, session: &Session) -> Option<Place> {
    match key {
        TextKey::Event(index)
        | TextKey::Input(index)
        | TextKey::IndentedOutput(index)
        | TextKey::Image { event: index, .. } => session.events.glance(index).map(|event| event.place),
        TextKey::Prompt(number) => session.step(number).map(|step| step.place),
        TextKey::OfAgent { agent, event } => {
            session.subagents.get(agent as usize)?.events.glance(event as usize).map(|event| event.place)
        }
        TextKey::Raw(place) | TextKey::AsRecorded(place) => Some(place),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fixture::plain;
    use super::*;

    #[test]
    fn a_text_in_view_stays_when_it_is_let_go_of_or_the_file_grows() {
        let mut document = plain(1, 1).document(true);
        let session = plain(1, 1).fake.session;
        let key = TextKey::Event(0);
        let mut texts = Texts::default();
        texts.begin();
        assert!(matches!(texts.find(key, &document, &session), (Wanted::Ready(_), false)));
        let stamp = texts.stamp(key, &document, &session);
        // Let go of: it is not read again while it is in view.
        document.bodies.clear();
        texts.begin();
        assert!(matches!(texts.find(key, &document, &session), (Wanted::Ready(_), false)));
        // Read again: the old one is shown, the new one asked for.
        document.generation += 1;
        texts.begin();
        assert!(matches!(texts.find(key, &document, &session), (Wanted::Ready(_), true)));
        assert_eq!(texts.stamp(key, &document, &session), stamp);
        // Out of view for a frame.
        texts.begin();
        texts.begin();
        assert!(matches!(texts.find(key, &document, &session), (Wanted::Coming, true)));
        // Another event stands at its index now.
        document.bodies.put(key, Slot::Ready(Arc::new(EventText::plain("x"))));
        let _ = texts.find(key, &document, &session);
        document.bodies.clear();
        texts.begin();
        let mut other = plain(1, 1).fake.session;
        other.events.list_mut()[0].place.record += 1;
        assert!(matches!(texts.find(key, &document, &other), (Wanted::Coming, true)));
    }
}
