//! The session of a case: read from where it was unpacked to, and called by the case's own name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;

use crate::formats::{Body, Cut, Effect, Fork, Origin, Recording, Refusal, ReplayTurn, Revert};
use crate::model::{Event, Notes, NotesFile, Place, Session};
use crate::store::{Identity, ReadError, SourceFile, Watch};

pub struct Cased {
    inner: Arc<dyn Recording>,
    /// The archive.
    case: Arc<SourceFile>,
    /// Where its files are; goes with this.
    folder: TempDir,
    session: Session,
    notes: Notes,
}

impl Cased {
    pub fn new(inner: Arc<dyn Recording>, case: Arc<SourceFile>, folder: TempDir, notes: &NotesFile) -> Self {
        let mut session = inner.session().clone();
        session.source = case.path().to_owned();
        // A cut may have given the session another id than the notes go by: they are all of it.
        let own = notes.of(&session.id);
        let notes = if own.is_empty() { notes.only() } else { own };
        Self { inner, case, folder, session, notes }
    }
}

impl Recording for Cased {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        self.inner.files()
    }

    fn watched(&self) -> Vec<(PathBuf, Option<Identity>)> {
        vec![(self.case.path().to_owned(), Some(self.case.identity().clone()))]
    }

    fn notes(&self) -> Option<&Notes> {
        Some(&self.notes)
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let origin = self.inner.origin(place)?;
        // Nobody knows the folder that it was unpacked to.
        let path = match origin.path.strip_prefix(self.folder.path()) {
            Ok(relative) => self.case.path().join(super::SESSION).join(relative),
            Err(_) => origin.path,
        };
        Some(Origin { path, ..origin })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        self.inner.raw(place)
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        self.inner.body(event)
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        self.inner.prompt(step_number)
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        self.inner.replay(step_number, emit)
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        self.inner.replay_turns()
    }

    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
        self.inner.fork(cut, watch)
    }

    fn resume_command(&self, session_id: &str, path: &Path) -> Option<String> {
        self.inner.resume_command(session_id, path)
    }

    /// A case stays as it was handed on: what is left after a revert is a new file beside it.
    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
        let mut revert = self.inner.revert(step_number, watch)?;
        if let Effect::Cut(rewrite) = revert.effect {
            let name = rewrite.source().path().file_name().unwrap_or_default();
            revert.effect = Effect::Export(Box::new(Fork {
                session_id: self.session.id.clone(),
                file_name: name.to_string_lossy().into_owned(),
                rewrite,
                companions: Vec::new(),
                steps: revert.keeps_steps,
                warnings: Vec::new(),
            }));
        }
        Ok(revert)
    }
}
