//! The notes on what is open: read when it is, kept beside the session as they are made.

use std::path::PathBuf;

use super::Workspace;
use super::command::Command;
use super::document::{Document, DocumentId};
use super::jobs::Message;
use super::notices::Level;
use crate::model::{Note, Notes, Session, Target};
use crate::store::{load_notes, now, save_notes};

/// The notes on a document.
#[derive(Debug, Default)]
pub struct Noted {
    notes: Notes,
    /// The numbers of the steps that they are on, in order.
    steps: Vec<u32>,
    /// Grows when the field for a note is to have the focus.
    pub focus: u64,
    /// They are of the session with this id; `None` while they were not read.
    of: Option<String>,
    /// Why they cannot be kept.
    pub trouble: Option<String>,
    /// They are being written, and were changed since that began.
    saving: bool,
    dirty: bool,
}

impl Noted {
    /// Finds the steps that the notes are on: they may have other numbers than when the notes were made.
    pub(super) fn number(&mut self, session: &Session) {
        self.steps = self.notes.list().iter().filter_map(|note| note.on.number_in(session)).collect();
        self.steps.sort_unstable();
        self.steps.dedup();
    }
}

impl Document {
    /// A copy of the notes on the session.
    pub fn notes(&self) -> Notes {
        self.noted.notes.clone()
    }

    fn change_notes(&mut self, change: impl FnOnce(&mut Notes)) {
        change(&mut self.noted.notes);
        if let Some(recording) = self.recording().cloned() {
            self.noted.number(recording.session());
        }
    }

    /// The note on a step, or on an event of it.
    pub fn note(&self, on: &Target) -> Option<&Note> {
        self.noted.notes.get(on)
    }

    /// What a note made now would be on: the selected event, else the selected step.
    pub fn note_target(&self) -> Option<Target> {
        let (session, step) = (self.session()?, self.selected_step()?);
        let event = self.selected_event().filter(|index| step.events.contains(index));
        match event.and_then(|index| session.events.get(index)) {
            Some(event) => Target::event(session, step.number, &event),
            None => Target::step(session, step.number),
        }
    }

    /// Whether a step, or anything in its turn, is bookmarked or has a note.
    pub fn is_noted(&self, step_number: u32) -> bool {
        self.noted.steps.binary_search(&step_number).is_ok()
    }

    /// The numbers of the steps that are bookmarked or have a note, in order.
    pub fn noted_steps(&self) -> &[u32] {
        &self.noted.steps
    }
}

impl Workspace {
    /// Reads the notes on a session that was opened, once.
    pub(super) fn read_notes(&mut self, id: DocumentId) {
        let Some(document) = self.document(id) else { return };
        let Some(recording) = document.recording().cloned() else { return };
        if document.noted.of.as_deref() == Some(recording.session().id.as_str()) {
            return;
        }
        self.jobs.run("notes", None, move |outbox| {
            let session = recording.session();
            let result = load_notes(&session.source).map_err(|error| error.to_string()).map(|file| {
                let own = file.of(&session.id);
                // Those that came along with the session are the first ones.
                if own.is_empty() { recording.notes().cloned().unwrap_or_default() } else { own }
            });
            outbox.send(Message::NotesRead { document: id, session_id: session.id.clone(), result });
        });
    }

    pub(super) fn notes_read(&mut self, id: DocumentId, session_id: String, result: Result<Notes, String>) {
        let Some(document) = self.document_mut(id) else { return };
        document.noted.of = Some(session_id);
        match result {
            Ok(notes) => document.change_notes(|all| *all = notes),
            Err(sentence) => {
                document.noted.trouble = Some(sentence.clone());
                self.notice(Level::Warning, sentence, None);
            }
        }
    }

    /// Bookmarks what is selected, or no longer.
    pub(super) fn toggle_bookmark(&mut self) {
        let Some(document) = self.active() else { return };
        let Some(on) = document.note_target() else { return };
        let (bookmark, text) = document.note(&on).map(|note| (note.bookmark, note.text.clone())).unwrap_or_default();
        self.set_note(on, !bookmark, &text);
    }

    /// Changes the text of a note; whether it is a bookmark too stays.
    pub(super) fn write_note(&mut self, on: Target, text: &str) {
        let bookmark = self.active().and_then(|document| document.note(&on)).is_some_and(|note| note.bookmark);
        self.set_note(on, bookmark, text);
    }

    fn set_note(&mut self, on: Target, bookmark: bool, text: &str) {
        let Some(document) = self.active_mut() else { return };
        if document.noted.of.is_none() {
            self.notice(Level::Information, "The notes are still being read", None);
            return;
        }
        document.change_notes(|notes| notes.set(on, bookmark, text, now()));
        let id = document.id;
        self.save_notes(id);
    }

    /// Writes the notes away from the window's thread; changes made meanwhile are written when it is done.
    fn save_notes(&mut self, id: DocumentId) {
        let Some(document) = self.document_mut(id) else { return };
        let Some(session) = document.session() else { return };
        let (source, session_id) = (session.source.clone(), session.id.clone());
        if document.noted.saving {
            document.noted.dirty = true;
            return;
        }
        document.noted.saving = true;
        let notes = document.notes();
        self.jobs.run("notes", Some(id), move |outbox| {
            let result = save_notes(&source, &session_id, &notes).map_err(|error| error.to_string());
            outbox.send(Message::NotesSaved { document: id, result });
        });
    }

    /// Writes what is not written yet of a document that is being closed.
    pub(super) fn save_last_notes(&self, document: &Document) {
        let Some(session) = document.session().filter(|_| document.noted.dirty) else { return };
        let (source, session_id, notes) = (session.source.clone(), session.id.clone(), document.notes());
        self.jobs.run("notes", None, move |_| {
            if let Err(error) = save_notes(&source, &session_id, &notes) {
                log::error!("notes not kept: {error}");
            }
        });
    }

    pub(super) fn notes_saved(&mut self, id: DocumentId, result: Result<PathBuf, String>) {
        let Some(document) = self.document_mut(id) else { return };
        document.noted.saving = false;
        let again = std::mem::take(&mut document.noted.dirty);
        let before = document.noted.trouble.take();
        if let Err(sentence) = result {
            let text = format!("The notes are not kept, the folder of the session cannot be written: {sentence}");
            document.noted.trouble = Some(text.clone());
            // Said once, not with every letter that is typed.
            if before.is_none() {
                self.notice(Level::Error, text, None);
            }
        }
        if again {
            self.save_notes(id);
        }
    }

    /// Writes notes that are not written yet: the program ends, or the tab is closed.
    pub fn save_notes_and_wait(&self) {
        for document in self.documents() {
            let unwritten = document.noted.saving || document.noted.dirty;
            if let Some(session) = document.session().filter(|_| unwritten)
                && let Err(error) = save_notes(&session.source, &session.id, &document.noted.notes)
            {
                log::error!("notes not kept: {error}");
            }
        }
    }

    /// Selects the next step with a bookmark or a note, or the one before.
    pub(super) fn move_bookmark(&mut self, command: Command) {
        self.reveal += 1;
        let Some(document) = self.active_mut() else { return };
        let here = document.selected_step().map_or(0, |step| step.number);
        let steps = document.noted_steps();
        let found = match command {
            Command::NextBookmark => steps.iter().copied().find(|step| *step > here),
            _ => steps.iter().copied().rfind(|step| *step < here),
        };
        if let Some(step) = found {
            document.select_step(step);
        }
    }
}
