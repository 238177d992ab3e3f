//! A change of a text, line by line.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::lines::LongText;

/// Texts that are larger together are not compared: one is shown removed, the other added.
const MAX_BYTES: usize = 512 * 1024;
/// Comparing takes no longer; what it has not matched by then shows as changed.
const LONGEST: Duration = Duration::from_millis(300);
/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 3;

/// What a line of a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Context,
    Added,
    Removed,
    /// Stands for lines that are left out, or the start of another change.
    Gap,
}

/// What is known of a drawn line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: LineKind,
    /// Its number within the text that it is from, from 1; `None` for a gap and for the rest of a long line.
    pub number: Option<u32>,
}

/// A change ready to be drawn: `lines[i]` belongs to line `i` of `text`.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    pub text: LongText,
    pub lines: Vec<DiffLine>,
}

impl Diff {
    /// The change that puts each `new` in place of its `old`.
    pub fn of_edits<'a>(edits: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut draft = Draft::default();
        for (old, new) in edits {
            if !draft.text.is_empty() {
                draft.line("⋯", LineKind::Gap, None);
            }
            draft.edit(old, new);
        }
        draft.finish()
    }

    /// A patch as it was written: lines that begin with `+` or `-`.
    pub fn of_patch(patch: &str) -> Self {
        let mut draft = Draft::default();
        for line in patch.split_inclusive('\n') {
            let (kind, rest) = match line.as_bytes().first() {
                Some(b'+') if !line.starts_with("+++") => (LineKind::Added, 1),
                Some(b'-') if !line.starts_with("---") => (LineKind::Removed, 1),
                Some(b' ') => (LineKind::Context, 1),
                Some(b'@') => (LineKind::Gap, 0),
                _ => (LineKind::Context, 0),
            };
            draft.line(line.get(rest..).unwrap_or_default(), kind, None);
        }
        draft.finish()
    }

    /// How many lines were added and removed.
    pub fn counts(&self) -> (usize, usize) {
        let count = |kind| {
            let starts = self.lines.iter().enumerate().filter(|(index, _)| self.text.is_start(*index));
            starts.filter(|(_, line)| line.kind == kind).count()
        };
        (count(LineKind::Added), count(LineKind::Removed))
    }

    pub fn bytes(&self) -> usize {
        self.text.bytes() + self.lines.len() * size_of::<DiffLine>()
    }
}

#[derive(Default)]
struct Draft {
    text: String,
    lines: Vec<DiffLine>,
}

impl Draft {
    fn line(&mut self, line: &str, kind: LineKind, number: Option<u32>) {
        self.text.push_str(line.trim_end_matches('\n'));
        self.text.push('\n');
        self.lines.push(DiffLine { kind, number });
    }

    fn edit(&mut self, old: &str, new: &str) {
        if old.len() + new.len() > MAX_BYTES {
            self.whole(old, LineKind::Removed);
            self.whole(new, LineKind::Added);
            return;
        }
        let diff = TextDiff::configure().timeout(LONGEST).diff_lines(old, new);
        for (index, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
            if index > 0 {
                self.line("⋯", LineKind::Gap, None);
            }
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let (kind, index) = match change.tag() {
                    ChangeTag::Equal => (LineKind::Context, change.new_index()),
                    ChangeTag::Insert => (LineKind::Added, change.new_index()),
                    ChangeTag::Delete => (LineKind::Removed, change.old_index()),
                };
                self.line(change.value(), kind, index.map(|index| index as u32 + 1));
            }
        }
    }

    fn whole(&mut self, text: &str, kind: LineKind) {
        for (index, line) in text.split_inclusive('\n').enumerate() {
            self.line(line, kind, Some(index as u32 + 1));
        }
    }

    /// Gives the rest of each long line, which is drawn below it, the kind of the line.
    fn finish(self) -> Diff {
        let text = LongText::new(self.text);
        let mut own = self.lines.into_iter();
        let mut lines = Vec::with_capacity(text.line_count());
        let mut last = DiffLine { kind: LineKind::Context, number: None };
        for index in 0..text.line_count() {
            last = if text.is_start(index) {
                own.next().unwrap_or(last)
            } else {
                DiffLine { kind: last.kind, number: None }
            };
            lines.push(last);
        }
        Diff { text, lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(diff: &Diff) -> Vec<String> {
        let sign = |kind| match kind {
            LineKind::Context => ' ',
            LineKind::Added => '+',
            LineKind::Removed => '-',
            LineKind::Gap => '@',
        };
        (diff.lines.iter().enumerate())
            .map(|(index, line)| {
                let number = line.number.map_or(String::new(), |number| number.to_string());
                format!("{number}{}{}", sign(line.kind), diff.text.line(index))
            })
            .collect()
    }

    #[test]
    fn an_edit_shows_what_went_and_what_came() {
        let diff = Diff::of_edits([("class Cart:\n    items = []\n", "class Cart:\n    def f(self):\n        pass\n")]);
        assert_eq!(written(&diff), ["1 class Cart:", "2-    items = []", "2+    def f(self):", "3+        pass"]);
        assert_eq!(diff.counts(), (2, 1));
    }

    #[test]
    fn far_apart_changes_and_several_edits_have_gaps_between() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("2\n3\n", "2\nX\n").replace("19\n", "Y\n");
        let diff = Diff::of_edits([(old.as_str(), new.as_str()), ("a", "b")]);
        let lines = written(&diff);
        assert_eq!(lines.iter().filter(|line| line.starts_with('@')).count(), 2);
        assert_eq!(lines.last().map(String::as_str), Some("1+b"));
        assert!(lines.contains(&"3+X".to_owned()) && lines.contains(&"19-19".to_owned()), "{lines:?}");
    }

    #[test]
    fn long_lines_keep_their_kind_and_large_texts_are_not_compared() {
        let diff = Diff::of_edits([("", "x".repeat(5_000).as_str())]);
        assert_eq!(diff.lines.iter().map(|line| line.number).collect::<Vec<_>>(), [Some(1), None, None]);
        assert!(diff.lines.iter().all(|line| line.kind == LineKind::Added));
        let start = std::time::Instant::now();
        let (old, new): (String, String) = (0..300_000).map(|n| (format!("{n}\n"), format!("{}\n", n * 7))).unzip();
        assert_eq!(Diff::of_edits([(old.as_str(), new.as_str())]).counts(), (300_000, 300_000));
        assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn patches_are_shown_as_written() {
        let diff = Diff::of_patch("*** Update File: a.rs\n@@ fn f\n keep\n-old\n+new\n");
        assert_eq!(written(&diff), [" *** Update File: a.rs", "@@@ fn f", " keep", "-old", "+new"]);
    }
}
