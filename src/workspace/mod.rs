//! What is open, what is chosen, and the work going on: the state that the window draws. Knows no window.
//!
//! The window turns input into [`Request`]s; [`Workspace::handle`] carries them out, giving long work to [`jobs`];
//! [`Workspace::drain`] takes what came back.

pub mod bodies;
pub mod command;
pub mod document;
pub mod follow;
pub mod found;
pub mod handon;
pub mod jobs;
pub mod notes;
pub mod notices;
pub mod outline;
pub mod picker;
pub mod picture;
pub mod player;
pub mod progress;
pub mod reading;
pub mod search;
pub mod settings;
pub mod text;

mod messages;
mod requests;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use document::{Document, DocumentId};
use follow::Followed;
use found::FoundSession;
use handon::ExportDialog;
use jobs::Jobs;
use notices::{Level, Notices};
use picker::FilePicker;
use settings::{Loaded, Saver, Settings};

use crate::actions::{ForkReceipt, RevertPlan};
use crate::formats::SessionRef;
use crate::store::now;

pub use crate::model::words;
pub use command::Command;
pub use requests::Request;

/// How long the program waits at its end for actions that were called off: a gigabyte may be on its way to a slow disk,
/// and that cannot be called off.
const END_PATIENCE: Duration = Duration::from_secs(30);

/// What a workspace needs of its surroundings.
pub struct Surroundings {
    /// Called from any thread when there is something to draw.
    pub wake: Arc<dyn Fn() + Send + Sync>,
    pub picker: Arc<dyn FilePicker>,
    /// `None`: nothing is remembered between runs.
    pub settings_path: Option<PathBuf>,
    /// Where to look for Claude Code's sessions.
    pub claude_projects: Option<PathBuf>,
    /// Databases that are offered where they are there.
    pub databases: Vec<PathBuf>,
}

/// Everything that is open.
pub struct Workspace {
    documents: Vec<Document>,
    active: usize,
    next_id: u64,
    pub notices: Notices,
    pub settings: Settings,
    /// `None`: nothing is saved.
    saver: Option<Saver>,
    jobs: Jobs,
    followed: Followed,
    picker: Arc<dyn FilePicker>,
    claude_projects: Option<PathBuf>,
    databases: Vec<PathBuf>,
    /// Sessions found on this machine; `None` while they are being looked for.
    pub found: Option<Vec<FoundSession>>,
    /// What is shown over the window.
    pub dialog: Option<Dialog>,
    /// Text on its way to the clipboard.
    pub clipboard: Option<String>,
    /// The user asked to leave.
    pub quit: bool,
    /// Grows when the selection is moved by other means than a click in the list, so that lists scroll to it.
    pub reveal: u64,
}

/// What is shown over the window; one at a time.
pub enum Dialog {
    /// A revert's preview; `None` while it is being worked out.
    Revert {
        document: DocumentId,
        step_number: u32,
        plan: Option<Arc<RevertPlan>>,
    },
    /// A fork that was written.
    Forked(ForkReceipt),
    /// A field for a path; the sentence says why it is needed, if it is.
    Path {
        text: String,
        reason: Option<String>,
    },
    /// Handing the session on.
    Export(Box<ExportDialog>),
    Report,
    Notices,
    Shortcuts,
}

impl Workspace {
    pub fn new(surroundings: Surroundings) -> Self {
        let loaded = surroundings.settings_path.as_deref().map(Settings::load);
        let (settings, complaint, may_save) = match loaded {
            Some(Loaded { settings, complaint, may_save }) => (settings, complaint, may_save),
            None => (Settings::default(), None, false),
        };
        let saver = surroundings.settings_path.filter(|_| may_save).map(Saver::new);
        let jobs = Jobs::new(surroundings.wake);
        let followed = Followed::default();
        followed.start(&jobs);
        let mut workspace = Self {
            documents: Vec::new(),
            active: 0,
            next_id: 0,
            notices: Notices::default(),
            settings,
            saver,
            jobs,
            followed,
            picker: surroundings.picker,
            claude_projects: surroundings.claude_projects,
            databases: surroundings.databases,
            found: None,
            dialog: None,
            clipboard: None,
            quit: false,
            reveal: 0,
        };
        if let Some(complaint) = complaint {
            workspace.notice(Level::Warning, complaint, None);
        }
        workspace.find_sessions();
        workspace
    }

    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The document whose tab is shown.
    pub fn active(&self) -> Option<&Document> {
        self.documents.get(self.active)
    }

    pub fn active_index(&self) -> usize {
        self.active
    }

    pub fn active_mut(&mut self) -> Option<&mut Document> {
        self.documents.get_mut(self.active)
    }

    pub fn document(&self, id: DocumentId) -> Option<&Document> {
        self.documents.iter().find(|document| document.id == id)
    }

    fn document_mut(&mut self, id: DocumentId) -> Option<&mut Document> {
        self.documents.iter_mut().find(|document| document.id == id)
    }

    /// Whether something is going on that will send messages.
    pub fn is_busy(&self) -> bool {
        self.found.is_none()
            || matches!(self.dialog, Some(Dialog::Revert { plan: None, .. }))
            || matches!(&self.dialog, Some(Dialog::Export(dialog)) if dialog.is_busy())
            || self.documents.iter().any(|document| document.is_reading() || document.action.is_some())
    }

    /// Looks whether open files have changed: the system does not tell what other machines write.
    pub fn look_at_files(&self) {
        self.followed.ring();
    }

    /// Begins a frame: texts that nobody waits for or looks at any more are called off or given back.
    pub fn next_frame(&mut self) {
        self.documents.iter_mut().for_each(|document| document.bodies.next_frame());
    }

    /// Whether there is something that the next frames will give back.
    pub fn has_unseen_texts(&self) -> bool {
        self.documents.iter().any(|document| document.bodies.has_unseen())
    }

    /// Opens what these paths hold together in a tab, or shows the tab that has it. Where they hold several sessions, the
    /// tab lists them.
    pub fn open(&mut self, paths: &[PathBuf]) {
        // Made absolute without asking the disk: the window never waits for it.
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        self.open_session(SessionRef { paths: paths.iter().map(absolute).collect(), key: None });
    }

    /// Opens a session in a tab of its own, or shows the tab that has it.
    pub fn open_session(&mut self, reference: SessionRef) {
        if reference.paths.is_empty() {
            return;
        }
        if let Some(index) = self.documents.iter().position(|document| document.reference == reference) {
            self.active = index;
            return;
        }
        self.next_id += 1;
        let document = Document::new(DocumentId(self.next_id), reference);
        self.documents.push(document);
        self.active = self.documents.len() - 1;
        self.read(DocumentId(self.next_id));
    }

    pub fn notice(&mut self, level: Level, text: impl Into<String>, copy: Option<String>) {
        self.notices.push(level, text, copy, now());
    }

    /// Writes the settings, away from the window's thread.
    pub(crate) fn save_settings(&mut self) {
        if let Some(saver) = self.saver.clone() {
            let ticket = saver.ticket(&self.settings);
            self.jobs.run("settings", None, move |_| saver.save(ticket));
        }
    }

    /// The program ends: actions that are going on are called off and clean up after themselves, and the settings are
    /// written.
    pub fn end(&mut self) {
        self.documents.iter().for_each(Document::cancel);
        self.jobs.end(END_PATIENCE);
        if let Some(saver) = &self.saver {
            saver.save(saver.ticket(&self.settings));
        }
    }
}
