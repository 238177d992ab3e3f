//! The session files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::{REGISTRY, detect};
use crate::store::NOTES_SUFFIX;

/// How deep a folder is searched, and how many files are taken.
const MAX_DEPTH: usize = 4;
const MAX_FILES: usize = 10_000;

/// Endings that session files have; what is in them is told by their content.
const ENDINGS: [&str; 7] = ["json", "jsonl", "ndjson", "sse", "db", "vscdb", "object"];

/// Folders that never hold sessions of their own: a subagent's file belongs to its session.
const LEFT_OUT: [&str; 4] = ["subagents", "tool-results", "node_modules", ".git"];

/// What was found below a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderFiles {
    /// Sorted by path.
    pub files: Vec<PathBuf>,
    /// There are more files than are taken.
    pub is_cut: bool,
}

/// Files below `folder` that may hold sessions, and folders that count as one. Symbolic links are not followed.
pub fn files_below(folder: &Path) -> FolderFiles {
    files_up_to(folder, MAX_FILES)
}

fn files_up_to(folder: &Path, limit: usize) -> FolderFiles {
    let mut files = Vec::new();
    // One more than is taken, so that it shows that there are more.
    collect(folder, MAX_DEPTH, limit.saturating_add(1), &mut files);
    let is_cut = files.len() > limit;
    files.truncate(limit);
    files.sort();
    FolderFiles { files, is_cut }
}

fn collect(folder: &Path, depth: usize, limit: usize, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if files.len() >= limit {
            return;
        }
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() && detect::folder_format(REGISTRY, &path).is_some() {
            files.push(path);
        } else if kind.is_dir() && depth > 0 && !LEFT_OUT.contains(&name.as_str()) {
            collect(&path, depth - 1, limit, files);
        } else if kind.is_file() && may_hold_a_session(&path, &name) {
            files.push(path);
        }
    }
}

fn may_hold_a_session(path: &Path, name: &str) -> bool {
    path.extension().is_some_and(|extension| ENDINGS.iter().any(|ending| extension == *ending))
        && !name.starts_with("agent-")
        && !name.ends_with(".stepline-receipt.json")
        && !name.ends_with(NOTES_SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_too_many_files_says_so() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/subagents")).unwrap();
        for name in ["b.jsonl", "a/c.json", "a/subagents/d.jsonl", "e.txt", "agent-f.jsonl"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let files = [folder.path().join("a/c.json"), folder.path().join("b.jsonl")];
        assert_eq!(files_below(folder.path()), FolderFiles { files: files.to_vec(), is_cut: false });
        assert!(!files_up_to(folder.path(), 2).is_cut);
        let cut = files_up_to(folder.path(), 1);
        assert_eq!((cut.files.len(), cut.is_cut), (1, true));
    }
}
