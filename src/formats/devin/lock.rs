//! The lock file beside a database: which process has a session open.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A lock file holds a number of a few digits.
const MAX_LOCK_BYTES: u64 = 64;

/// Who has a session open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lock {
    /// The process that the lock file names.
    pid: Option<u32>,
    is_running: bool,
}

impl Lock {
    /// The lock of a session of the database at `path`. It stays behind after a clean end, so that the process counts.
    pub fn of(path: &Path, session_id: &str) -> Self {
        // The id comes from the file: it must not lead anywhere else.
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if session_id.is_empty()
            || session_id.len() > 200
            || session_id.starts_with('.')
            || !session_id.chars().all(is_plain)
        {
            return Self::default();
        }
        let lock = path.with_file_name("session_locks").join(format!("{session_id}.lock"));
        let is_file = lock.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        let mut text = String::new();
        if !is_file || File::open(&lock).and_then(|file| file.take(MAX_LOCK_BYTES).read_to_string(&mut text)).is_err() {
            return Self::default();
        }
        let digits: String =
            text.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        let pid = digits.parse().ok();
        Self { pid, is_running: pid.is_some_and(is_running) }
    }

    /// Whether the process still runs.
    pub fn is_live(self) -> bool {
        self.is_running
    }

    /// What stands against changing the session now.
    pub fn sentence(self) -> Option<String> {
        let pid = self.pid.filter(|_| self.is_running)?;
        Some(format!("process {pid} has the session open: it would refuse a revert from elsewhere"))
    }
}

/// Whether a process of that number runs; false where the system does not tell.
fn is_running(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).is_dir()
}
