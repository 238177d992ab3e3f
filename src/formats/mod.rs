//! The formats: one folder or file each, listed in [`REGISTRY`].
//!
//! A format recognises its files by content, reads them into a [`Session`], reads an event's text again on demand, and
//! says which bytes a fork or a revert would keep. A new format is its own file or folder and one line in the registry.

pub mod detect;
mod document;
mod folder;
mod image;
mod joined;
pub mod json;
mod keys;
mod labels;
mod lenient;
mod prefix;
mod progress;
mod quotes;
mod record;
mod recover;
mod replay;
pub mod search;
mod skim;
mod source;
#[cfg(test)]
mod testing;

mod acp;
mod atif;
pub mod case;
mod claude;
mod devin;
mod fruxon;
mod outpost;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::model::{Event, FormatName, Locator, Notes, Place, Problem, ProblemKind, Session, Timestamp};
use crate::store::{Cancelled, Database, Identity, ReadError, Rewrite, SourceFile, Watch};
use detect::Sample;

use folder::files_below;
pub use image::ImageHead;
use search::{Hit, Pattern};
pub use source::{Family, Listed, Part, SessionRef, Source, nothing_in, open_session, sessions_of};

/// All formats that can be opened, most specific first.
pub static REGISTRY: &[Format] = &[
    outpost::JOURNAL,
    outpost::OBSERVATIONS,
    outpost::STORAGE,
    outpost::LEGACY,
    outpost::CHECKPOINT,
    outpost::TRANSCRIPT,
    outpost::RUN,
    devin::CLI,
    devin::DESKTOP,
    fruxon::MESSAGES,
    fruxon::TRANSCRIPT,
    fruxon::STREAM,
    fruxon::TRACE,
    fruxon::RECORD,
    fruxon::APPROVALS,
    claude::FORMAT,
    atif::FORMAT,
    acp::FORMAT,
    case::FORMAT,
];

/// What the registry knows of a format.
pub struct Format {
    pub name: FormatName,
    /// What its files are called in the table of formats: `Claude Code transcript (.jsonl)`.
    pub description: &'static str,
    /// Points for how sure it is that a sample is its own; below 2 means no. The scale is that of [`detect`].
    pub recognise: fn(&Sample) -> u32,
    /// The start of the first prompt within a sample, as one line.
    pub first_prompt: fn(&Sample) -> Option<String>,
    pub read: Reading,
}

/// How files of a format become sessions.
pub enum Reading {
    /// Each file is a session.
    Alone(Open),
    /// The files of the family that were opened together hold sessions together.
    Together(&'static Family),
}

/// Reads a file; `observer` hears how far it is and can call it off.
pub type Open = fn(Arc<SourceFile>, &Sample, &dyn Observer) -> Result<Arc<dyn Recording>, OpenError>;

/// Who waits for a file to be read.
pub trait Observer: Sync {
    /// Progress and cancellation.
    fn watch(&self) -> Watch<'_>;

    /// What could be read so far, given a few times while a large file is being read.
    fn partial(&self, recording: Arc<dyn Recording>);

    /// Whether partial recordings are of any use.
    fn wants_partial(&self) -> bool;
}

/// For callers that want the whole recording and wait for it.
pub struct Patient;

impl Observer for Patient {
    fn watch(&self) -> Watch<'_> {
        Watch::none()
    }

    fn partial(&self, _: Arc<dyn Recording>) {}

    fn wants_partial(&self) -> bool {
        false
    }
}

/// A session that was read, and the file to read its texts from.
pub trait Recording: Send + Sync {
    fn session(&self) -> &Session;

    /// The files it was read from; `Place::file` counts in this order.
    fn files(&self) -> &[Arc<SourceFile>];

    /// Files that tell by their identity whether there is anything new to read; `None` for one that was not there.
    fn watched(&self) -> Vec<(PathBuf, Option<Identity>)> {
        watched(self.files())
    }

    /// Whether its files are only ever appended to while their program writes them, so that what they hold at any moment
    /// can be read; others are left alone until their writer rests.
    fn is_appended_to(&self) -> bool {
        false
    }

    /// The same session with what was appended to its files since they were read, read on from there. `None` where only
    /// reading them anew tells what is in them now.
    fn grown(&self, _: &dyn Observer) -> Result<Option<Arc<dyn Recording>>, OpenError> {
        Ok(None)
    }

    /// The notes that came along with the session, where it was handed on with some.
    fn notes(&self) -> Option<&Notes> {
        None
    }

    /// Where a record lies, as a person finds it again.
    fn origin(&self, place: Place) -> Option<Origin>;

    /// The record behind a place as it stands in its file, or the start of a huge one with a note about the rest.
    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError>;

    /// The text behind an event, read from the file now.
    fn body(&self, event: &Event) -> Result<Body, ReadError>;

    /// The image that is an event's attachment, as Base64, read from the file now; `None` where it is not kept here.
    fn image(&self, event: &Event, attachment: usize) -> Result<Option<String>, ReadError> {
        let _ = (event, attachment);
        Ok(None)
    }

    /// The whole text of a step's prompt or question, read from the file now.
    fn prompt(&self, step_number: u32) -> Result<String, ReadError>;

    /// Plays a step back as lines of JSON; none when there is no such step.
    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError>;

    /// Looks into the prompts and the events' texts and tells each hit as soon as it is found: those of one step or event
    /// in the order of its texts, all others about in the order of the session. Keeps none of them.
    fn search(&self, pattern: &Pattern, watch: Watch<'_>, hit: &mut dyn FnMut(Hit)) -> Result<(), ReadError> {
        search::whole(self, pattern, watch, hit)
    }

    /// What of each step another recording can be compared with, in order.
    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError>;

    /// The file of a new session that holds the steps up to the cut.
    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal>;

    /// What to type to go on from a fork of this session that is at `path`; `None` where its system has no such command.
    fn resume_command(&self, session_id: &str, path: &Path) -> Option<String> {
        let _ = (session_id, path);
        None
    }

    /// The same file without step `step_number` and everything after it.
    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal>;
}

/// Files as [`Recording::watched`] gives them.
fn watched(files: &[Arc<SourceFile>]) -> Vec<(PathBuf, Option<Identity>)> {
    files.iter().map(|file| (file.path().to_owned(), Some(file.identity().clone()))).collect()
}

/// The files of a database; its log, which comes and goes, is among them even where there is none.
fn watched_database(files: &[Arc<SourceFile>], database: &Database) -> Vec<(PathBuf, Option<Identity>)> {
    let (mut watched, log) = (watched(files), database.log_path());
    if !watched.iter().any(|(path, _)| *path == log) {
        watched.push((log, None));
    }
    watched
}

/// Where a record lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub path: PathBuf,
    /// In the file's own counting.
    pub locator: Locator,
    /// In bytes from the start of the file; `None` where records have no such place.
    pub offset: Option<u64>,
}

/// The text behind an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// One line that stands for the event, where the event itself holds none.
    pub label: Box<str>,
    /// What was said, thought or noted; empty for a plain tool call.
    pub text: String,
    /// A tool call's input, as compact JSON.
    pub input: Option<String>,
    /// A tool call's result as text.
    pub output: Option<String>,
    /// Parts that are no text, by what they are: `image/png, 48 213 bytes`.
    pub attachments: Vec<String>,
    /// Those of them that are images whose bytes are at hand, see [`Recording::image`].
    pub images: Vec<ImageHead>,
}

/// Where a fork ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// After this step and its whole turn (a question step keeps its answer).
    After(u32),
    /// Before this step.
    Before(u32),
}

/// A fork, ready to be written.
#[derive(Clone, Debug)]
pub struct Fork {
    pub session_id: String,
    /// Name of the new file; it goes beside the original unless the user chooses a place.
    pub file_name: String,
    pub rewrite: Rewrite,
    /// Files that the new one refers to, by their path relative to its folder.
    pub companions: Vec<(PathBuf, Rewrite)>,
    /// How many steps it holds.
    pub steps: u32,
    pub warnings: Vec<String>,
}

/// A revert, ready to be written, and what it would drop.
#[derive(Clone, Debug)]
pub struct Revert {
    pub effect: Effect,
    /// How many steps stay.
    pub keeps_steps: u32,
    pub dropped: Dropped,
    /// The dropped prompt, so that it can be sent again; `None` for a question.
    pub prefill: Option<String>,
    /// When the dropped prompt was sent.
    pub prefill_at: Option<Timestamp>,
    /// Whose word counts more than this preview, in one sentence: `Stepline's estimate; Devin's own preview wins`.
    pub estimate: Option<String>,
    /// What the system's own server would answer to such a revert, in its shape, as far as it can be reckoned here.
    pub rewind: Option<Value>,
    pub warnings: Vec<String>,
}

#[cfg(test)]
impl Revert {
    /// The file as it would be cut, for tests of formats that cut files.
    fn rewrite(&self) -> &Rewrite {
        let Effect::Cut(rewrite) = &self.effect else { panic!("nothing is cut") };
        rewrite
    }
}

/// What doing a revert would write.
#[derive(Clone, Debug)]
pub enum Effect {
    /// The file itself, cut; the old one stays beside it as a backup.
    Cut(Rewrite),
    /// A new file with what stays; the original is not touched.
    Export(Box<Fork>),
    /// Nothing: the sentence says who can do it.
    Preview(String),
}

/// What a revert takes out of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Messages of person and agent, each once.
    pub messages: u64,
    pub file_actions: Vec<FileAction>,
    /// Commands that ran and whose effects nothing takes back, as `(tool, description)`.
    pub irreversible: Vec<(String, String)>,
    /// Calls that still waited for an approval, as `(tool, call id)`.
    pub pending_approvals: Vec<(String, Option<String>)>,
    /// Files of the workspace that are no longer as the agent left them.
    pub conflicts: Vec<String>,
    /// Runs that go, where the format counts them itself and not by turns with events.
    pub runs: Option<u64>,
    /// Of those, the ones that wait and are called off.
    pub cancelled_runs: Option<u64>,
    /// Rows that go from the transcript that people see, where that is another one than the agent's.
    pub console_rows: Option<u64>,
}

/// What would have to happen to a file of the workspace to take a dropped edit back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAction {
    pub path: String,
    pub kind: FileActionKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileActionKind {
    /// It was changed: put the old content back.
    Restore,
    /// It was created: delete it.
    Delete,
    /// It was deleted: create it again.
    Recreate,
}

/// Why an action cannot be done, in one sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Rule(String),
    #[error("there is no step {step}; the session has {steps}")]
    NoStep { step: u32, steps: usize },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// What a turn can be compared by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayTurn {
    /// `None` where replay takes the turn without comparing its prompt: after a handover, after steering.
    pub prompt: Option<String>,
    pub changes: Option<ReplayChanges>,
}

/// The commits recorded at the end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayChanges {
    Unavailable { reason: String },
    Recorded { baseline_tree: String, trees: Vec<String> },
}

/// Why a file did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{explanation}: {path}")]
    Unknown { explanation: String, path: PathBuf },
    #[error("{reason}: {path}")]
    Empty { reason: String, path: PathBuf },
    #[error("several sessions; choose one: {path}")]
    Several { path: PathBuf },
    #[error("no session {wanted}: {path}")]
    NoSession { wanted: String, path: PathBuf },
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Opens the one session of a file, by its content.
pub fn open(path: &Path, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    open_session(&SessionRef::file(path), observer)
}

/// The systems whose sessions can be opened: `Outpost and Claude Code`.
pub fn systems() -> String {
    detect::systems_of(REGISTRY)
}

/// A notice for the reading report of a file that holds records of other formats too; nearly no file does.
fn mixed_notice(sample: &Sample) -> Option<Problem> {
    let others = detect::mixed_in(REGISTRY, sample);
    (!others.is_empty()).then(|| Problem {
        locator: Locator::Key("file".to_owned()),
        offset: Some(0),
        kind: ProblemKind::Structure,
        message: format!("the file also holds records of another kind: {}", others.join(", ")),
        file: None,
    })
}

/// The start of the first prompt in the first bytes of a session file, for lists; `None` where there is none in them.
pub fn first_prompt(path: &Path) -> Option<String> {
    let source = SourceFile::open(path).ok()?;
    let sample = Sample::take(&source).ok()?;
    let format = detect::choose(REGISTRY, &sample).ok()?;
    (format.first_prompt)(&sample)
}
