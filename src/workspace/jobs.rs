//! Work away from the window's thread, and the messages it sends back.
//!
//! The window gives jobs and drains messages; it never waits. Long jobs have a thread each, texts are read by one
//! thread of their own, so that a file being read holds up no text of another.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::bodies::TextKey;
use super::document::DocumentId;
use super::found::FoundSession;
use super::outline::Outlined;
use super::search::Marks;
use super::text::EventText;
use crate::actions::export::{ExportPlan, ExportReceipt};
use crate::actions::{ForkReceipt, RevertDone, RevertPlan};
use crate::formats::search::{Hit, Pattern};
use crate::formats::{Recording, SessionRef, Source};
use crate::model::{Event, Notes};
use crate::store::Receipt;

/// Messages that may wait for the window; a job that sends more waits itself.
const WAITING_MESSAGES: usize = 256;
/// Texts that may wait to be read; the window asks again for those that did not fit.
const WAITING_TEXTS: usize = 64;

/// What a job tells the window.
pub enum Message {
    ReadingProgress {
        document: DocumentId,
        done_bytes: u64,
        total_bytes: u64,
    },
    /// The part of a file that has been read so far.
    Partial {
        document: DocumentId,
        read: Outlined,
    },
    Opened {
        document: DocumentId,
        reference: SessionRef,
        result: Result<Outlined, String>,
        receipts: Vec<(PathBuf, u32)>,
        took: Duration,
    },
    Text {
        document: DocumentId,
        generation: u64,
        key: TextKey,
        result: Result<Arc<EventText>, String>,
    },
    /// A search begins, or why it does not, in a sentence.
    Searching {
        document: DocumentId,
        number: u64,
        pattern: Result<Arc<Pattern>, String>,
    },
    /// What it has found since the last such message; `ended` once it is over.
    Hits {
        document: DocumentId,
        number: u64,
        hits: Vec<Hit>,
        ended: Option<Result<(), String>>,
    },
    /// Where the matches are in a text that is drawn.
    Marked {
        document: DocumentId,
        number: u64,
        key: TextKey,
        marks: Marks,
    },
    ActionProgress {
        document: DocumentId,
        done_bytes: u64,
        total_bytes: u64,
    },
    Forked {
        document: DocumentId,
        result: Result<ForkReceipt, Failure>,
    },
    RevertPlanned {
        document: DocumentId,
        result: Result<Arc<RevertPlan>, Failure>,
    },
    Reverted {
        document: DocumentId,
        result: Result<RevertDone, Failure>,
    },
    Undone {
        document: DocumentId,
        result: Result<Receipt, Failure>,
    },
    /// What an export would replace.
    ExportPlanned {
        document: DocumentId,
        result: Result<Box<ExportPlan>, Failure>,
    },
    /// An export ended; its plan comes back, to be reviewed again where it failed.
    Exported {
        document: DocumentId,
        plan: Box<ExportPlan>,
        result: Result<ExportReceipt, Failure>,
    },
    NotesRead {
        document: DocumentId,
        session_id: String,
        result: Result<Notes, String>,
    },
    NotesSaved {
        document: DocumentId,
        result: Result<PathBuf, String>,
    },
    /// Paths that the user chose in a dialog; empty when it was closed.
    Picked(Vec<PathBuf>),
    /// There is no dialog service; the sentence says what was tried.
    NoDialog(String),
    Found(Vec<FoundSession>),
    /// The file at a document's path is another one than the one that was read.
    Changed {
        document: DocumentId,
    },
    /// A prompt that was asked for to be copied.
    Prompt {
        result: Result<String, String>,
    },
    /// What was named holds several sessions, or none.
    Listed {
        document: DocumentId,
        source: Source,
    },
    /// A job ended by a fault of Stepline's own.
    BrokeDown {
        name: &'static str,
        document: Option<DocumentId>,
    },
    /// The picture of the window was saved, or not.
    PictureSaved(Result<(), String>),
}

/// Why an action came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    Cancelled,
    /// One sentence.
    Said(String),
}

/// Sends messages and wakes the window; nothing else does either.
#[derive(Clone)]
pub struct Outbox {
    sender: Sender<Message>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Outbox {
    /// Waits while the window has too many messages; gives up silently when the window is gone.
    pub fn send(&self, message: Message) {
        if self.sender.send(message).is_ok() {
            (self.wake)();
        }
    }

    /// Drops the message when the window has too many: for progress, of which there is always more.
    pub fn send_if_room(&self, message: Message) {
        match self.sender.try_send(message) {
            Ok(()) => (self.wake)(),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }
}

/// A text to be read.
pub struct TextJob {
    pub document: DocumentId,
    pub generation: u64,
    pub key: TextKey,
    pub recording: Arc<dyn Recording>,
}

/// A text in which the matches of a search are to be found.
pub struct MarkJob {
    pub document: DocumentId,
    /// The search's.
    pub number: u64,
    pub key: TextKey,
    pub text: Arc<EventText>,
    pub pattern: Arc<Pattern>,
}

/// What the thread of the texts is asked for.
enum Asked {
    Read(TextJob),
    Mark(MarkJob),
}

/// The window's end: gives jobs, takes messages.
pub struct Jobs {
    outbox: Outbox,
    messages: Receiver<Message>,
    texts: Sender<Asked>,
}

impl Jobs {
    /// `wake` is called from other threads after each message.
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        let (sender, messages) = bounded(WAITING_MESSAGES);
        let (texts, waiting) = bounded(WAITING_TEXTS);
        let outbox = Outbox { sender, wake };
        let reader = outbox.clone();
        spawn("texts", move || read_texts(&waiting, &reader));
        Self { outbox, messages, texts }
    }

    /// The next message, if one is there.
    pub fn next(&self) -> Option<Message> {
        self.messages.try_recv().ok()
    }

    /// Runs `job` on a thread of its own. Should it break down, the window hears of it, and which document it was about.
    pub fn run(&self, name: &'static str, document: Option<DocumentId>, job: impl FnOnce(&Outbox) + Send + 'static) {
        let outbox = self.outbox.clone();
        spawn(name, move || {
            if catch_unwind(AssertUnwindSafe(|| job(&outbox))).is_err() {
                outbox.send(Message::BrokeDown { name, document });
            }
        });
    }

    /// Asks for a text; false when too many are waiting already.
    pub fn read_text(&self, job: TextJob) -> bool {
        self.texts.try_send(Asked::Read(job)).is_ok()
    }

    /// Asks where a text's matches are; false when too many are waiting already.
    pub fn mark_text(&self, job: MarkJob) -> bool {
        self.texts.try_send(Asked::Mark(job)).is_ok()
    }
}

/// A flag by which the window takes a job back.
pub fn cancel_flag() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    if let Err(error) = thread::Builder::new().name(name.to_owned()).spawn(work) {
        log::error!("no thread for {name}: {error}");
    }
}

fn read_texts(waiting: &Receiver<Asked>, outbox: &Outbox) {
    while let Ok(asked) = waiting.recv() {
        let job = match asked {
            Asked::Read(job) => job,
            Asked::Mark(MarkJob { document, number, key, text, pattern }) => {
                let marks = catch_unwind(AssertUnwindSafe(|| Marks::of(&text, &pattern))).unwrap_or_default();
                outbox.send(Message::Marked { document, number, key, marks });
                continue;
            }
        };
        let result = match catch_unwind(AssertUnwindSafe(|| read_text(&job))) {
            Ok(result) => result.map(Arc::new).map_err(|error| error.to_string()),
            Err(_) => Err("Stepline failed on this text; the record is in the inspector".to_owned()),
        };
        outbox.send(Message::Text { document: job.document, generation: job.generation, key: job.key, result });
    }
}

fn read_text(job: &TextJob) -> Result<EventText, crate::store::ReadError> {
    let session = job.recording.session();
    match job.key {
        TextKey::Prompt(number) => job.recording.prompt(number).map(|text| EventText::plain(&text)),
        TextKey::Raw(place) => job.recording.raw(place).map(|bytes| EventText::raw(&bytes)),
        TextKey::Event(index) => text_of(&job.recording, session.events.get(index)),
        TextKey::OfAgent { agent, event } => {
            let agent = session.subagents.get(agent as usize);
            text_of(&job.recording, agent.and_then(|agent| agent.events.get(event as usize)))
        }
    }
}

fn text_of(
    recording: &Arc<dyn Recording>,
    event: Option<Cow<'_, Event>>,
) -> Result<EventText, crate::store::ReadError> {
    let Some(event) = event else { return Ok(EventText::default()) };
    recording.body(&event).map(|body| EventText::prepare(&event, body))
}
