//! The command line: one file a command, over the same library as the window.
//!
//! Results go to standard output, errors as one line to standard error, `stepline: …` with the path last. Exit status:
//! 0 done · 1 opened, but refused or diverged · 2 wrong usage · 3 cannot be read.

mod args;
mod check;
mod diff;
mod export;
mod fork;
mod print;
mod replay;
mod revert;
mod sessions;
mod shapes;
mod show;
mod source;
mod steps;

use std::io::Write;

pub use args::{Invocation, Options, parse, usage};
pub use print::harmless_lines;
pub use source::find_session;

/// How a command ended, when it did not end well.
#[derive(Debug)]
pub enum CliError {
    /// Opened, but refused or diverged.
    Refused(String),
    /// Already reported on standard output: only the exit status is left to give.
    Diverged,
    Usage(String),
    Unreadable(String),
    /// Standard output is gone.
    Output(std::io::Error),
}

impl CliError {
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Refused(_) | Self::Diverged => 1,
            Self::Usage(_) => 2,
            Self::Unreadable(_) => 3,
            // Whoever closed the pipe has read enough.
            Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
            Self::Output(_) => 3,
        }
    }

    /// The same with one path under another name.
    fn naming(self, path: &str, name: &str) -> Self {
        let named = |sentence: String| sentence.replace(path, name);
        match self {
            Self::Refused(sentence) => Self::Refused(named(sentence)),
            Self::Usage(sentence) => Self::Usage(named(sentence)),
            Self::Unreadable(sentence) => Self::Unreadable(named(sentence)),
            other => other,
        }
    }

    /// The line for standard error, if there is one to write.
    pub fn sentence(&self) -> Option<String> {
        match self {
            Self::Refused(sentence) | Self::Usage(sentence) | Self::Unreadable(sentence) => Some(sentence.clone()),
            Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => None,
            Self::Output(error) => Some(format!("cannot write: {error}")),
            Self::Diverged => None,
        }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

/// The commands by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandName {
    Sessions,
    Steps,
    Show,
    Fork,
    Revert,
    Undo,
    Replay,
    Diff,
    Check,
    Export,
}

impl CommandName {
    pub const ALL: [(&'static str, Self); 10] = [
        ("sessions", Self::Sessions),
        ("steps", Self::Steps),
        ("show", Self::Show),
        ("fork", Self::Fork),
        ("revert", Self::Revert),
        ("undo", Self::Undo),
        ("replay", Self::Replay),
        ("diff", Self::Diff),
        ("check", Self::Check),
        ("export", Self::Export),
    ];
}

/// Runs a command; its results go to `out`.
pub fn run(command: CommandName, options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        CommandName::Sessions => sessions::run(options, out),
        CommandName::Steps => steps::run(options, out),
        CommandName::Show => show::run(options, out),
        CommandName::Fork => fork::run(options, out),
        CommandName::Revert => revert::run(options, out),
        CommandName::Undo => revert::run_undo(options, out),
        CommandName::Replay => replay::run(options, out),
        CommandName::Diff => diff::run(options, out),
        CommandName::Check => check::run(options, out),
        CommandName::Export => export::run(options, out),
    }
}
