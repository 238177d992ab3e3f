//! The whole command line over temporary folders: what it prints, what it writes, how it ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod actions;
mod diff;
mod exporting;
mod outpost;
mod reading;
mod replaying;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A command that has ended.
struct Ended {
    status: i32,
    out: String,
    err: String,
}

impl Ended {
    /// The one JSON document it printed.
    fn json(&self) -> Value {
        assert_eq!(self.status, 0, "{}", self.err);
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {}", self.out))
    }

    /// The JSON lines it printed.
    fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Runs stepline with these arguments.
fn stepline<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Ended {
    with_input(arguments, b"")
}

/// Runs stepline with these arguments and this on standard input.
fn with_input<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Ended {
    let mut child = Command::new(env!("CARGO_BIN_EXE_stepline"))
        .args(arguments)
        .env("TZ", "UTC")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that needs no input may have left before it is written.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input);
    let output = child.wait_with_output().unwrap();
    Ended {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Where the sample session that ships is.
fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/cart-refactor.jsonl")
}

/// A folder with a copy of the sample session in it.
fn copy_of_sample() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10.jsonl");
    fs::copy(sample(), &path).unwrap();
    (folder, path)
}

/// A folder with a file of this content.
fn file_with(name: &str, content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

/// `path` as an argument.
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
