//! Choosing files through the desktop's dialogs.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What is chosen in a dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    Files,
    Folder,
}

/// Asks the user for files or a folder. Called on a thread of its own: a dialog service may take for ever.
pub trait FilePicker: Send + Sync {
    /// What was chosen, nothing when the dialog was closed; an error sentence when there is no dialog to be had.
    fn pick(&self, what: Pick) -> Result<Vec<PathBuf>, String>;
}

/// The desktop's own dialog: the portal, or zenity.
pub struct Desktop;

impl FilePicker for Desktop {
    fn pick(&self, what: Pick) -> Result<Vec<PathBuf>, String> {
        let errors_before = Complaints::count();
        let dialog = rfd::FileDialog::new();
        let chosen = match what {
            Pick::Files => dialog
                .set_title("Open a session")
                .add_filter("Sessions", &["jsonl", "json", "ndjson", "db", "vscdb", "sse", "object"])
                .add_filter("All files", &["*"])
                .pick_files(),
            Pick::Folder => dialog.set_title("Open a folder with sessions").pick_folder().map(|folder| vec![folder]),
        };
        match chosen {
            Some(paths) => Ok(paths),
            // A missing dialog service looks like a closed dialog; only the log tells them apart.
            None if Complaints::count() > errors_before => {
                Err("There is no file dialog on this desktop: type the path, or drop the file on the window".to_owned())
            }
            None => Ok(Vec::new()),
        }
    }
}

/// The log of the program: errors go to standard error, and the dialog's are counted.
pub struct Complaints;

static DIALOG_ERRORS: Mutex<usize> = Mutex::new(0);

impl Complaints {
    /// Makes this the log of the program. A second call does nothing.
    pub fn install() {
        static LOG: Complaints = Complaints;
        if log::set_logger(&LOG).is_ok() {
            log::set_max_level(log::LevelFilter::Warn);
        }
    }

    fn count() -> usize {
        *DIALOG_ERRORS.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl log::Log for Complaints {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        // Window systems warn about much that nobody can help.
        let most = if metadata.target().starts_with("stepline") { log::Level::Warn } else { log::Level::Error };
        metadata.level() <= most
    }

    fn log(&self, record: &log::Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        if record.target().starts_with("rfd") {
            if record.level() == log::Level::Error {
                *DIALOG_ERRORS.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            }
            return;
        }
        eprintln!("stepline: {}: {}", record.target(), record.args());
    }

    fn flush(&self) {}
}
