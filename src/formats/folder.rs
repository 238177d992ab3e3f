//! The session files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

/// How deep a folder is searched, and how many files are taken.
const MAX_DEPTH: usize = 4;
const MAX_FILES: usize = 10_000;

/// Endings that session files have; what is in them is told by their content.
const ENDINGS: [&str; 3] = ["json", "jsonl", "ndjson"];

/// Folders that never hold sessions of their own: a subagent's file belongs to its session.
const LEFT_OUT: [&str; 4] = ["subagents", "tool-results", "node_modules", ".git"];

/// Files below `folder` that may hold sessions, sorted by path. Symbolic links are not followed.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(folder, MAX_DEPTH, &mut files);
    files.sort();
    files
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() && depth > 0 && !LEFT_OUT.contains(&name.as_str()) {
            collect(&path, depth - 1, files);
        } else if kind.is_file() && files.len() < MAX_FILES && may_hold_a_session(&path, &name) {
            files.push(path);
        }
    }
}

fn may_hold_a_session(path: &Path, name: &str) -> bool {
    path.extension().is_some_and(|extension| ENDINGS.iter().any(|ending| extension == *ending))
        && !name.starts_with("agent-")
        && !name.ends_with(".stepline-receipt.json")
}
