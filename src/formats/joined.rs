//! A recording together with others that know more of the same session.
//!
//! The first one is the session: its steps, its replay and its cuts. Of the others only single events are shown, and read
//! again from whose file they are in; which events those are is for the format to say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::{Body, Cut, Fork, Origin, Recording, Refusal, ReplayTurn, Revert};
use crate::model::{Event, Place, Session};
use crate::store::{Identity, ReadError, SourceFile, Watch};

pub struct Joined {
    base: Arc<dyn Recording>,
    others: Vec<Arc<dyn Recording>>,
    files: Vec<Arc<SourceFile>>,
    /// That of the first recording, and whatever was put into it.
    pub session: Session,
}

impl Joined {
    pub fn new(base: Arc<dyn Recording>) -> Self {
        let (files, session) = (base.files().to_vec(), base.session().clone());
        Self { base, others: Vec::new(), files, session }
    }

    /// Takes another recording in; gives the number that its first file has from now on.
    pub fn add(&mut self, other: Arc<dyn Recording>) -> u16 {
        let first = u16::try_from(self.files.len()).unwrap_or(u16::MAX);
        self.files.extend(other.files().iter().cloned());
        self.others.push(other);
        first
    }

    /// The recording that a file belongs to, and the number that the file has there.
    fn owner(&self, file: u16) -> (&dyn Recording, u16) {
        let mut left = usize::from(file);
        let mut owner = &self.base;
        for next in &self.others {
            if left < owner.files().len() {
                break;
            }
            left -= owner.files().len();
            owner = next;
        }
        (&**owner, u16::try_from(left).unwrap_or(u16::MAX))
    }
}

impl Recording for Joined {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    fn watched(&self) -> Vec<(PathBuf, Option<Identity>)> {
        std::iter::once(&self.base).chain(&self.others).flat_map(|recording| recording.watched()).collect()
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let (owner, file) = self.owner(place.file);
        owner.origin(Place { file, ..place })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        let (owner, file) = self.owner(place.file);
        owner.raw(Place { file, ..place })
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        let (owner, file) = self.owner(event.place.file);
        owner.body(&Event { place: Place { file, ..event.place }, ..event.clone() })
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        self.base.prompt(step_number)
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        self.base.replay(step_number, emit)
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        self.base.replay_turns()
    }

    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
        self.base.fork(cut, watch)
    }

    fn resume_command(&self, session_id: &str, path: &Path) -> Option<String> {
        self.base.resume_command(session_id, path)
    }

    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
        self.base.revert(step_number, watch)
    }
}
