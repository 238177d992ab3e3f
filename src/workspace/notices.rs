//! Notices: the one place where the window tells what went well or wrong, with a history.

use std::collections::VecDeque;
use std::time::Duration;

use crate::model::Timestamp;

/// The history keeps this many.
const KEPT: usize = 200;
/// Good news is shown this long, in milliseconds.
const SHOWN_MS: i64 = 9_000;

/// What Stepline told its user.
#[derive(Clone, Debug)]
pub struct Notice {
    pub id: u64,
    pub level: Level,
    /// One sentence.
    pub text: String,
    /// Something to copy: a command, a path.
    pub copy: Option<String>,
    /// It reports a revert, which can be undone; `copy` is the receipt's path.
    pub undo: bool,
    pub at: Timestamp,
    /// Still shown over the window.
    pub open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Done,
    Information,
    Warning,
    Error,
}

/// All notices, newest last.
#[derive(Debug, Default)]
pub struct Notices {
    next_id: u64,
    list: VecDeque<Notice>,
}

impl Notices {
    pub fn push(&mut self, level: Level, text: impl Into<String>, copy: Option<String>, at: Timestamp) {
        self.next_id += 1;
        self.list.push_back(Notice { id: self.next_id, level, text: text.into(), copy, undo: false, at, open: true });
        while self.list.len() > KEPT {
            self.list.pop_front();
        }
    }

    /// Closes those that have been read by now; the time until the next one is due, if one is.
    ///
    /// Warnings and errors stay until they are closed.
    pub fn expire(&mut self, now: Timestamp) -> Option<Duration> {
        let mut next: Option<i64> = None;
        for notice in self.list.iter_mut().filter(|notice| notice.open) {
            if matches!(notice.level, Level::Warning | Level::Error) {
                continue;
            }
            let left = SHOWN_MS - now.since(notice.at);
            if left <= 0 {
                notice.open = false;
            } else {
                next = Some(next.map_or(left, |next| next.min(left)));
            }
        }
        next.and_then(|left| u64::try_from(left).ok()).map(Duration::from_millis)
    }

    pub fn close(&mut self, id: u64) {
        for notice in &mut self.list {
            if notice.id == id {
                notice.open = false;
            }
        }
    }

    /// Says of the newest notice that it reports a revert.
    pub fn newest_can_be_undone(&mut self) {
        if let Some(notice) = self.list.back_mut() {
            notice.undo = true;
        }
    }

    /// Closes the reports of reverts: one was undone, so that they are no longer true.
    pub fn close_reverts(&mut self) {
        for notice in self.list.iter_mut().filter(|notice| notice.undo) {
            notice.open = false;
        }
    }

    /// Those still shown, newest last.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &Notice> {
        self.list.iter().filter(|notice| notice.open)
    }

    /// All that are kept, newest first.
    pub fn history(&self) -> impl Iterator<Item = &Notice> {
        self.list.iter().rev()
    }
}

impl Level {
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Information => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
