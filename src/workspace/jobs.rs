//! Work away from the window's thread, and the messages it sends back.
//!
//! The window gives jobs and drains messages; it never waits. Long jobs have a thread each. Texts are read by two
//! threads of their own, long ones apart, so that neither a file being read nor a huge text holds up another text.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use super::bodies::{Slot, TextKey};
use super::document::DocumentId;
use super::found::FoundSession;
use super::outline::Outlined;
use super::reading;
use super::search::Marks;
use super::text::EventText;
use crate::actions::export::{ExportPlan, ExportReceipt};
use crate::actions::{ForkReceipt, RevertDone, RevertPlan};
use crate::formats::search::{Hit, Pattern};
use crate::formats::{Recording, SessionRef, Source};
use crate::model::Notes;
use crate::store::Receipt;

/// Messages that may wait for the window; a job that sends more waits itself.
const WAITING_MESSAGES: usize = 256;
/// Texts that may wait to be read; the window asks again for those that did not fit.
const WAITING_TEXTS: usize = 64;
/// Messages are looked for this often while the last jobs are waited for.
const END_INTERVAL: Duration = Duration::from_millis(5);
/// From this length a text is long: it is read on the thread for those.
const LONG_BYTES: u32 = 512 * 1024;

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
        slot: Slot,
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
    /// A text on its way to the clipboard.
    Copied {
        /// What it is, in a word.
        what: &'static str,
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
    /// Set when nobody waits for it any more.
    pub cancelled: Arc<AtomicBool>,
}

impl TextJob {
    fn is_long(&self) -> bool {
        let session = self.recording.session();
        let bytes = match self.key {
            TextKey::Event(index) => session.events.glance(index).map(|event| event.text_bytes),
            TextKey::Prompt(number) => session.step(number).map(|step| step.text_bytes),
            TextKey::OfAgent { agent, event } => session
                .subagents
                .get(agent as usize)
                .and_then(|agent| agent.events.glance(event as usize))
                .map(|event| event.text_bytes),
            // How long these are is not known before they are read, or they are asked for because they are long.
            TextKey::Raw(_)
            | TextKey::AsRecorded(_)
            | TextKey::Input(_)
            | TextKey::IndentedOutput(_)
            | TextKey::Image { .. } => return true,
        };
        bytes.is_some_and(|bytes| bytes >= LONG_BYTES)
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
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
    long_texts: Sender<Asked>,
    /// Each job that writes holds a sender: the receiver hears when the last of them is over.
    writing: Option<Sender<Infallible>>,
    written: Receiver<Infallible>,
}

impl Jobs {
    /// `wake` is called from other threads after each message.
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        let (sender, messages) = bounded(WAITING_MESSAGES);
        let outbox = Outbox { sender, wake };
        let [texts, long_texts] = ["texts", "long texts"].map(|name| {
            let (texts, waiting) = bounded(WAITING_TEXTS);
            let reader = outbox.clone();
            spawn(name, move || read_texts(&waiting, &reader));
            texts
        });
        let (writing, written) = bounded(0);
        Self { outbox, messages, texts, long_texts, writing: Some(writing), written }
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

    /// The same for a job that writes files: the program does not end in the middle of it.
    pub fn write(&self, name: &'static str, document: DocumentId, job: impl FnOnce(&Outbox) + Send + 'static) {
        let Some(writing) = self.writing.clone() else { return };
        self.run(name, Some(document), move |outbox| {
            let _writing = writing;
            job(outbox);
        });
    }

    /// Waits for the jobs that write, but no longer than `patience`. None begins any more.
    pub fn end(&mut self, patience: Duration) {
        self.writing = None;
        let start = Instant::now();
        // They may be waiting for room for a message.
        while self.written.recv_timeout(END_INTERVAL) == Err(RecvTimeoutError::Timeout) && start.elapsed() < patience {
            self.messages.try_iter().for_each(drop);
        }
    }

    /// Asks for a text; false when too many are waiting already.
    pub fn read_text(&self, job: TextJob) -> bool {
        let texts = if job.is_long() { &self.long_texts } else { &self.texts };
        texts.try_send(Asked::Read(job)).is_ok()
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
        if job.is_cancelled() {
            continue;
        }
        let slot =
            match catch_unwind(AssertUnwindSafe(|| reading::read(&*job.recording, job.key, &|| !job.is_cancelled()))) {
                Ok(Ok(Some(slot))) => slot,
                Ok(Ok(None)) => continue,
                Ok(Err(error)) => Slot::Failed(error.to_string().into()),
                Err(_) => Slot::Failed("Stepline failed on this text; the record is in the inspector".into()),
            };
        if !job.is_cancelled() {
            outbox.send(Message::Text { document: job.document, generation: job.generation, key: job.key, slot });
        }
    }
}
