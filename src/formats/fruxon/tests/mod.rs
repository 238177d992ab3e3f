//! A small story of a shop's desk, in every shape, and what must come of it.

mod cuts;
mod damage;
mod joined;
mod markers;
mod samples;
mod shapes;
mod story;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::formats::{OpenError, Patient, Recording, SessionRef, Source, open_session, sessions_of};
use crate::model::{Event, Fact, Session, Step};

/// A folder with files of these names.
pub struct Folder {
    folder: tempfile::TempDir,
    pub paths: Vec<PathBuf>,
}

impl Folder {
    pub fn new(files: &[(&str, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |(name, content): &(&str, String)| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let paths = files.iter().map(write).collect();
        Self { folder, paths }
    }

    pub fn sessions(&self) -> Source {
        sessions_of(&[self.folder.path().to_owned()], &Patient).unwrap()
    }

    /// The one session of the folder.
    pub fn open(&self) -> Arc<dyn Recording> {
        open_session(&SessionRef { paths: self.paths.clone(), key: None }, &Patient).unwrap()
    }

    pub fn try_open(&self) -> Result<Arc<dyn Recording>, OpenError> {
        open_session(&SessionRef { paths: self.paths.clone(), key: None }, &Patient)
    }

    pub fn named(&self, key: &str) -> Arc<dyn Recording> {
        open_session(&SessionRef { paths: self.paths.clone(), key: Some(key.to_owned()) }, &Patient).unwrap()
    }
}

/// One file, opened alone.
pub fn alone(name: &str, content: impl ToString) -> (Folder, Arc<dyn Recording>) {
    let folder = Folder::new(&[(name, content.to_string())]);
    let recording = folder.open();
    (folder, recording)
}

pub fn summaries(session: &Session) -> Vec<&str> {
    session.steps.iter().map(|step| step.summary.as_str()).collect()
}

/// The facts marked in a step's turn.
pub fn facts(session: &Session, number: u32) -> Vec<Fact> {
    let step = session.step(number).unwrap();
    session.events_of(step).iter().filter_map(|event| event.marker.as_ref()).map(|marker| marker.fact.clone()).collect()
}

pub fn labels<'a>(session: &'a Session, step: &Step) -> Vec<&'a str> {
    session.events_of(step).iter().map(|event| &*event.label).collect()
}

pub fn event<'a>(session: &'a Session, start: &str) -> &'a Event {
    session.events.all().iter().find(|event| event.label.starts_with(start)).unwrap()
}
