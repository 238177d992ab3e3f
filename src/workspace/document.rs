//! An open session: what was read of it, and where its reader is. Selection and expansion are kept by identity, so that
//! reading the file again changes neither.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::bodies::Bodies;
use super::notes::Noted;
use super::outline::{Outline, Outlined};
use super::player::Player;
use super::progress::Progress;
use super::search::Search;
use super::text::one_line;
use crate::formats::{Recording, SessionRef, Source};
use crate::model::{Capability, NodeId, Place, Session, Step};

/// A name longer than this is cut; the whole path is in its tooltip.
const NAME_CHARS: usize = 200;

/// Names an open document for as long as the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentId(pub u64);

/// A part of an event that opens and folds by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Text,
    Input,
    Output,
    /// Further events behind a line that counts them.
    Events,
    Prompt,
    /// Its input as it is recorded, its output indented, its raw record as it is recorded: the form that is not the usual
    /// one.
    InputTurned,
    OutputTurned,
    RecordTurned,
    /// The attachment with this number, which is an image.
    Image(usize),
}

/// Which part of which event, by its place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fold {
    pub place: Place,
    pub part: Part,
}

impl Part {
    pub fn of(self, place: Place) -> Fold {
        Fold { place, part: self }
    }
}

/// How far the file has been read.
#[derive(Debug)]
pub enum State {
    /// Being read for the first time; `Document::recording` may already hold the part read so far.
    Reading(Progress),
    Whole,
    /// What was opened holds several sessions; one is to be chosen.
    Choosing(Arc<Source>),
    /// It was not read to its end; the sentence says why and what to do. What was read before may be there.
    Failed(String),
}

/// An open session.
pub struct Document {
    pub id: DocumentId,
    /// What it is read from: what was named, until that turned out to hold this one session.
    pub reference: SessionRef,
    pub state: State,
    read: Option<Outlined>,
    /// Grows by one whenever `read` is another one; what was laid out for an older one is stale.
    pub generation: u64,
    selected: Option<u32>,
    selected_id: Option<NodeId>,
    /// Index of the event that is selected inside the session, if one is.
    selected_event: Option<usize>,
    /// What is opened that is folded by itself.
    pub expanded: HashSet<Fold>,
    pub bodies: Bodies,
    pub player: Option<Player>,
    pub search: Search,
    /// Reverts of this file that can be undone, newest first, as `(path of the receipt, step number)`.
    pub receipts: Vec<(PathBuf, u32)>,
    /// The file could not be read any more when it was last looked at; what is shown was read before.
    pub gone: bool,
    /// Stepline itself wrote the file since it was read: it is no surprise that it is another one.
    pub(super) written_here: bool,
    /// The reading that is going on, by the flag that calls it off. One file is read once at a time.
    pub(super) reading: Option<Arc<AtomicBool>>,
    /// The file changed while it was being read: it is read once more.
    pub(super) changed_meanwhile: bool,
    /// A long action on this document, with its name and progress.
    pub action: Option<Action>,
    /// The notes on the session.
    pub noted: Noted,
}

/// A long action that is going on.
#[derive(Clone, Debug)]
pub struct Action {
    pub name: &'static str,
    pub progress: Progress,
    pub cancelled: Arc<AtomicBool>,
}

impl Document {
    pub fn new(id: DocumentId, reference: SessionRef) -> Self {
        Self {
            id,
            reference,
            state: State::Reading(Progress::begin()),
            read: None,
            generation: 0,
            selected: None,
            selected_id: None,
            selected_event: None,
            expanded: HashSet::new(),
            bodies: Bodies::default(),
            player: None,
            search: Search::default(),
            receipts: Vec::new(),
            gone: false,
            written_here: false,
            reading: None,
            changed_meanwhile: false,
            action: None,
            noted: Noted::default(),
        }
    }

    /// The path that it is called by.
    pub fn path(&self) -> &Path {
        self.reference.path()
    }

    /// The file's name, or the session's where a file holds several, for tabs and titles: nothing in it is obeyed.
    pub fn name(&self) -> String {
        let path = self.path();
        let file = || path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let session = self.reference.key.as_ref().and_then(|key| {
            let title = self.session().and_then(|session| session.title.as_ref());
            title.or(Some(key))
        });
        one_line(&session.map_or_else(file, |name| name.as_str().into()), NAME_CHARS)
    }

    pub fn recording(&self) -> Option<&Arc<dyn Recording>> {
        self.read.as_ref().map(|read| &read.recording)
    }

    pub fn session(&self) -> Option<&Session> {
        self.read.as_ref().map(|read| read.recording.session())
    }

    /// The overview of the session.
    pub fn outline(&self) -> Option<&Outline> {
        self.read.as_ref().map(|read| &*read.outline)
    }

    /// Whether all of the file has been read.
    pub fn is_whole(&self) -> bool {
        matches!(self.state, State::Whole)
    }

    /// Whether the file is being read, for the first time or again.
    pub fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Index of the event that is selected inside the session, if one is.
    pub fn selected_event(&self) -> Option<usize> {
        self.selected_event
    }

    /// The step that is selected; there always is one when there are steps.
    pub fn selected_step(&self) -> Option<&Step> {
        self.session()?.step(self.selected?)
    }

    pub fn select_step(&mut self, number: u32) {
        let id = self.session().and_then(|session| session.step(number)).map(|step| step.step_id.clone());
        if id.is_some() {
            self.selected = Some(number);
            self.selected_id = id;
            self.selected_event = None;
        }
    }

    /// Selects this step once it has been read, or the last one there is.
    pub fn want_step(&mut self, number: u32) {
        (self.selected, self.selected_id, self.selected_event) = (Some(number), None, None);
    }

    /// Selects an event and the step it belongs to.
    pub fn select_event(&mut self, index: usize) {
        let step = self.session().and_then(|session| session.step_of_event(index)).map(|step| step.number);
        if let Some(number) = step {
            self.select_step(number);
        }
        self.selected_event = self.session().is_some_and(|session| index < session.events.len()).then_some(index);
    }

    /// Takes what was read, keeping the reader's place: the selected step is found again by its id.
    pub fn set_read(&mut self, read: Outlined) {
        self.remember_match();
        let session = read.recording.session();
        let found = self
            .selected_id
            .as_ref()
            .and_then(|id| {
                // Mostly it is where it was.
                let same = self.selected.and_then(|number| session.step(number)).filter(|step| step.step_id == *id);
                same.or_else(|| session.steps.iter().find(|step| step.step_id == *id))
            })
            .or_else(|| session.step(self.selected.unwrap_or(1)))
            .or(session.steps.last())
            .map(|step| (step.number, step.step_id.clone()));
        // Events are found again by their place in the file.
        let place = |event: usize| self.session().and_then(|old| old.events.glance(event)).map(|event| event.place);
        let selected_event = self.selected_event.and_then(|index| {
            let place = place(index)?;
            let is_there = |index: &usize| session.events.glance(*index).is_some_and(|event| event.place == place);
            Some(index).filter(is_there).or_else(|| (0..session.events.len()).find(is_there))
        });
        // A replay goes on where everything up to its position is still the same.
        let replays = self.player.as_ref().is_some_and(|player| {
            let last = player.range.end.saturating_sub(1);
            [player.range.start, player.position(), last]
                .into_iter()
                .all(|index| place(index) == session.events.glance(index).map(|event| event.place))
        });
        self.selected_event = selected_event;
        self.player = self.player.take().filter(|_| replays);
        self.generation += 1;
        self.noted.number(read.recording.session());
        self.bodies.clear();
        self.search.forget_marks();
        self.read = Some(read);
        (self.selected, self.selected_id) = found.map_or((None, None), |(number, id)| (Some(number), Some(id)));
    }

    /// Why a step cannot be forked now.
    pub fn fork_refusal(&self, step: &Step) -> Option<String> {
        self.action_refusal(Capability::Fork).or_else(|| step.fork_refusal.clone())
    }

    /// Why a step cannot be reverted now.
    pub fn revert_refusal(&self, step: &Step) -> Option<String> {
        let previews = self.session().is_some_and(|session| session.capabilities.contains(&Capability::RevertPreview));
        let capability = if previews { Capability::RevertPreview } else { Capability::Revert };
        self.action_refusal(capability).or_else(|| step.revert_refusal.clone())
    }

    fn action_refusal(&self, capability: Capability) -> Option<String> {
        match &self.state {
            State::Reading(_) => return Some("The file is still being read".to_owned()),
            State::Failed(_) => return Some("The file was not read to its end".to_owned()),
            State::Whole | State::Choosing(_) => {}
        }
        if self.gone {
            return Some("The file is gone, or cannot be read any more; put it back and reload".to_owned());
        }
        if let Some(action) = &self.action {
            return Some(format!("{} is going on", action.name));
        }
        let session = self.session()?;
        (!session.capabilities.contains(&capability))
            .then(|| format!("{} sessions have no such action", session.format.title()))
    }

    /// Whether a part of an event is opened.
    pub fn is_expanded(&self, fold: Fold) -> bool {
        self.expanded.contains(&fold)
    }

    /// Calls off the reading and the action that are going on.
    pub fn cancel(&self) {
        if let Some(reading) = &self.reading {
            reading.store(true, Ordering::Relaxed);
        }
        self.cancel_action();
    }

    /// Calls off the action that is going on.
    pub fn cancel_action(&self) {
        if let Some(action) = &self.action {
            action.cancelled.store(true, Ordering::Relaxed);
        }
    }

    pub fn is_at(&self, path: &Path) -> bool {
        self.path() == path
    }
}
