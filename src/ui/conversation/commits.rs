//! The row of commits: what each says and how much it changes, the files of each when it is opened.
//!
//! Markers hold a commit's id and subject; the files come from the event's text, which lists them in lines such as
//! `changed src/cart.py (+31 −8)` under a line `commit ID`.

use std::collections::HashMap;
use std::sync::Arc;

use egui::{RichText, Ui};

use super::super::widgets::icons::Icon;
use super::super::words;
use super::draw::{Draw, disclosure, time_column, wrapped};
use super::texts::Wanted;
use crate::model::{Commit, Event};
use crate::workspace::Request;
use crate::workspace::bodies::TextKey;
use crate::workspace::document::Part;
use crate::workspace::text::one_line;

/// Commits, and files of a commit, that are listed.
const COMMITS: usize = 50;
const FILES: usize = 100;
/// Width of the triangle before a commit with files.
const TRIANGLE_PX: f32 = 16.0;
/// Texts of which the files are remembered.
const REMEMBERED: usize = 64;

/// The files of one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The first of them, as the text lists them.
    lines: Vec<String>,
    count: usize,
    added: u64,
    removed: u64,
    /// Of each file it is known how many lines it gained and lost.
    counted: bool,
}

impl Files {
    /// `2 files, +31 −8`.
    fn words(&self) -> String {
        let files = words::count(self.count as u64, "file", "files");
        match self.counted {
            true => format!("{files}, +{} −{}", words::figure(self.added), words::figure(self.removed)),
            false => files,
        }
    }
}

/// The files of the commits in texts that were read.
#[derive(Default)]
pub struct CommitFiles(HashMap<TextKey, (usize, Arc<Vec<Files>>)>);

impl CommitFiles {
    /// Those of one text; found once, for its patches may be long.
    fn of(&mut self, key: TextKey, text: &str, commits: &[Commit]) -> Arc<Vec<Files>> {
        let identity = text.as_ptr() as usize;
        if let Some((known, files)) = self.0.get(&key)
            && *known == identity
        {
            return Arc::clone(files);
        }
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        let files = Arc::new(find(text, commits));
        self.0.insert(key, (identity, Arc::clone(&files)));
        files
    }
}

/// The files of each commit, in the order of the commits.
fn find(text: &str, commits: &[Commit]) -> Vec<Files> {
    let mut all = vec![Files { counted: true, ..Files::default() }; commits.len()];
    let mut next = 0;
    for line in text.lines() {
        // Only the commit that comes next: a message or a patch may hold such a line too.
        if commits.get(next).is_some_and(|commit| line.strip_prefix("commit ") == Some(commit.id.as_str())) {
            next += 1;
            continue;
        }
        let Some(files) = next.checked_sub(1).and_then(|index| all.get_mut(index)) else { continue };
        if !["added ", "changed ", "deleted "].iter().any(|word| line.starts_with(word)) || !line.contains(')') {
            continue;
        }
        files.count += 1;
        match counts(line) {
            Some((added, removed)) => (files.added, files.removed) = (files.added + added, files.removed + removed),
            None => files.counted = false,
        }
        if files.lines.len() < FILES {
            files.lines.push(one_line(line, 200));
        }
    }
    all
}

/// The `31` and `8` of `changed a.txt (+31 −8)`.
fn counts(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.rsplit_once(" (+")?;
    let (counts, _) = counts.split_once(')')?;
    let (added, removed) = counts.split_once(" −")?;
    Some((added.parse().ok()?, removed.parse().ok()?))
}

impl Draw<'_, '_> {
    pub fn commits(&mut self, ui: &mut Ui, index: usize, event: &Event, commits: &[Commit]) {
        let theme = self.theme;
        let files = match self.text_of(index, event) {
            Wanted::Ready(text) => self.texts.commits.of(TextKey::Event(index), text.text.original(), commits),
            Wanted::Coming | Wanted::Failed(_) => Arc::default(),
        };
        let fold = Part::Events.of(event.place);
        let open = self.document.is_expanded(fold);
        let any = files.iter().any(|files| files.count > 0);
        self.columns(ui, Some((Icon::Commit, theme.commit)), &time_column(event), |draw, ui| {
            for (number, commit) in commits.iter().take(COMMITS).enumerate() {
                let id = one_line(commit.id.get(..7).unwrap_or(&commit.id), 12);
                let subject = format!(" {}", one_line(&commit.subject, 200));
                let files = files.get(number).filter(|files| files.count > 0);
                let said = files.map(|files| format!("  {}", files.words())).unwrap_or_default();
                ui.horizontal_top(|ui| {
                    ui.spacing_mut().item_spacing.x = 2.0;
                    if files.is_none() {
                        if any {
                            ui.add_space(TRIANGLE_PX + 2.0);
                        }
                    } else if disclosure(ui, open, &format!("the files of commit {id}")) {
                        draw.ask(Request::Expand(fold));
                    }
                    ui.vertical(|ui| {
                        let pieces = [
                            ("commit ", false, theme.text),
                            (id.as_str(), true, theme.text),
                            (subject.as_str(), false, theme.text),
                            (said.as_str(), false, theme.weak),
                        ];
                        wrapped(ui, &pieces).on_hover_text(one_line(&commit.id, 80));
                        if let (Some(files), true) = (files, open) {
                            list(ui, files, theme.weak);
                        }
                    });
                });
            }
            if commits.len() > COMMITS {
                let rest = words::count((commits.len() - COMMITS) as u64, "more commit", "more commits");
                wrapped(ui, &[(&rest, false, theme.weak)]);
            }
        });
        self.event_input(ui, index, event, None);
    }
}

fn list(ui: &mut Ui, files: &Files, colour: egui::Color32) {
    for line in &files.lines {
        ui.add(egui::Label::new(RichText::new(line).font(super::super::theme::code()).color(colour)).wrap());
    }
    if files.count > files.lines.len() {
        let rest = words::count((files.count - files.lines.len()) as u64, "more file", "more files");
        ui.label(RichText::new(rest).color(colour));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_commit_has_its_files() {
        let commit = |id: &str| Commit { id: id.to_owned(), subject: String::new() };
        let text = "commit c1\nAuthor: Ada\n\nAdd\n\nadded a.txt (+1 −0)\n@@ -0,0 +1 @@\n+hello\n\
                    changed b (x).rs (+30 −8)\n\ncommit c2\nAuthor: Ada\n\ncommit c1 was wrong\n\n\
                    changed big.bin (3 → 4 bytes)\n";
        let found = find(text, &[commit("c1"), commit("c2")]);
        assert_eq!(found[0].words(), "2 files, +31 −8");
        assert_eq!(found[0].lines, ["added a.txt (+1 −0)", "changed b (x).rs (+30 −8)"]);
        assert_eq!(found[1].words(), "1 file");
        assert_eq!(find("words only", &[commit("c1")])[0].count, 0);
    }
}
