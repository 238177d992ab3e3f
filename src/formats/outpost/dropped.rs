//! What a revert takes out of a journal, and what it would take to undo its effects on the workspace.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::journal::{Journal, Record};
use super::kind::Kind;
use super::patch::{self, Change};
use crate::formats::lenient::{List, Object, Text};
use crate::formats::progress::Progress;
use crate::formats::{Dropped, FileAction, FileActionKind, json};
use crate::model::{Event, EventKind};
use crate::store::ReadError;

/// What goes with the turn at `first` (from 0) and all after it.
pub fn dropped(journal: &Journal, first: usize, progress: &mut Progress<'_>) -> Result<Dropped, ReadError> {
    let steps = journal.session.steps.get(first..).unwrap_or_default();
    let start = steps.first().map_or(journal.session.events.len(), |step| step.events.start);
    let events = journal.session.events.all().get(start..).unwrap_or_default();
    let mut dropped = Dropped { messages: steps.len() as u64, ..Dropped::default() };
    let mut files = Files::default();
    for event in events {
        let record = journal.records.get(event.place.record as usize);
        progress.reach(record.map_or(0, Record::end))?;
        match event.kind {
            EventKind::Text if !event.folded && is_message(journal, event) => dropped.messages += 1,
            EventKind::Tool => {
                if let Some(tool) = event.tool.as_ref().filter(|tool| runs_commands(&tool.name)) {
                    dropped.irreversible.push((tool.name.clone(), event.label.to_string()));
                }
            }
            EventKind::FileChange => {
                let changes = journal.with_entry(event.place.record, |entry| entry.changes.map(file_changes))?;
                files.take(changes.unwrap_or_default());
            }
            EventKind::Commits => {
                let changes = journal.with_entry(event.place.record, |entry| {
                    let commits = entry.recorded_commits().unwrap_or_default();
                    commits
                        .iter()
                        .filter_map(|commit| commit.patch.and_then(json::string))
                        .flat_map(|patch| patch::list(&patch))
                        .collect::<Vec<_>>()
                })?;
                files.take(changes);
            }
            _ => {}
        }
    }
    dropped.file_actions = files.actions();
    Ok(dropped)
}

/// Streamed pieces are no messages of their own.
fn is_message(journal: &Journal, event: &Event) -> bool {
    journal
        .records
        .get(event.place.record as usize)
        .is_some_and(|record| matches!(record.kind, Kind::Text | Kind::Result))
}

/// Tools whose calls change what no file list shows.
pub fn runs_commands(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["bash", "exec", "shell", "command", "terminal"].iter().any(|word| name.contains(word))
}

/// The first and the last state of each file, in the order they were first touched.
#[derive(Default)]
struct Files {
    index: HashMap<String, usize>,
    list: Vec<FileHistory>,
}

struct FileHistory {
    path: String,
    was_there: bool,
    is_there: bool,
}

impl Files {
    fn take(&mut self, changes: Vec<(String, Change)>) {
        for (path, change) in changes {
            let is_there = change != Change::Deleted;
            match self.index.get(&path).and_then(|index| self.list.get_mut(*index)) {
                Some(history) => history.is_there = is_there,
                None => {
                    self.index.insert(path.clone(), self.list.len());
                    self.list.push(FileHistory { path, was_there: change != Change::Added, is_there });
                }
            }
        }
    }

    fn actions(self) -> Vec<FileAction> {
        self.list
            .into_iter()
            .filter_map(|FileHistory { path, was_there, is_there }| {
                let kind = match (was_there, is_there) {
                    (true, true) => FileActionKind::Restore,
                    (false, true) => FileActionKind::Delete,
                    (true, false) => FileActionKind::Recreate,
                    // It came and went in between.
                    (false, false) => return None,
                };
                Some(FileAction { path, kind })
            })
            .collect()
    }
}

/// One file of a `file-change` entry; its kind may be a word or an object that has it as `type`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct FileChange<'a> {
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow, rename = "type")]
    kind_type: Text<'a>,
}

/// The files of a `file-change` entry: a list of paths with kinds, or an object from path to kind.
fn file_changes(raw: &RawValue) -> Vec<(String, Change)> {
    let text = raw.get();
    if text.starts_with('[') {
        let list: List<Object<FileChange>> = serde_json::from_str(text).unwrap_or_default();
        return list
            .0
            .into_iter()
            .filter_map(|change| change.0)
            .filter_map(|change| Some((change.path.to_owned_option()?, change.change())))
            .collect();
    }
    let map: HashMap<String, Object<FileChange>> = serde_json::from_str(text).unwrap_or_default();
    let mut changes: Vec<_> = map
        .into_iter()
        .map(|(path, change)| {
            let change = change.0.map_or(Change::Modified, |change| change.change());
            (path, change)
        })
        .collect();
    changes.sort_by(|(a, _), (b, _)| a.cmp(b));
    changes
}

impl FileChange<'_> {
    fn change(&self) -> Change {
        match self.kind.as_str().or(self.kind_type.as_str()) {
            Some("add" | "added" | "create" | "created") => Change::Added,
            Some("delete" | "deleted" | "remove" | "removed") => Change::Deleted,
            _ => Change::Modified,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_listed_once_with_its_net_effect() {
        let mut files = Files::default();
        let take = |files: &mut Files, path: &str, change| files.take(vec![(path.to_owned(), change)]);
        take(&mut files, "new", Change::Added);
        take(&mut files, "new", Change::Modified);
        take(&mut files, "gone", Change::Modified);
        take(&mut files, "gone", Change::Deleted);
        take(&mut files, "back", Change::Deleted);
        take(&mut files, "back", Change::Added);
        take(&mut files, "passing", Change::Added);
        take(&mut files, "passing", Change::Deleted);
        let actions: Vec<_> = files.actions().into_iter().map(|action| (action.path, action.kind)).collect();
        assert_eq!(
            actions,
            [
                ("new".to_owned(), FileActionKind::Delete),
                ("gone".to_owned(), FileActionKind::Recreate),
                ("back".to_owned(), FileActionKind::Restore)
            ]
        );
    }

    #[test]
    fn file_changes_come_as_lists_and_as_objects() {
        let read = |text: &str| file_changes(serde_json::from_str(text).unwrap());
        assert_eq!(
            read(r#"[{"path":"a","kind":"add"},{"path":"b","kind":{"type":"x"}},{"kind":"add"},7]"#),
            [("a".to_owned(), Change::Added), ("b".to_owned(), Change::Modified)]
        );
        assert_eq!(
            read(r#"{"b":{"type":"delete"},"a":7}"#),
            [("a".to_owned(), Change::Modified), ("b".to_owned(), Change::Deleted)]
        );
        assert_eq!(read("7"), []);
    }
}
