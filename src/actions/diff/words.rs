//! What changed between two texts, word by word.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// Bytes of each text that are compared; the rest is left out and said to be.
const MOST_BYTES: usize = 64 * 1024;
/// Comparing takes no longer; what it has not matched by then shows as changed.
const LONGEST: Duration = Duration::from_millis(200);
/// Characters of an unchanged run that are shown beside a change.
const CONTEXT_CHARS: usize = 120;

/// A run of two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// In both.
    Same(String),
    /// Either may be empty: then the other was put in or taken out.
    Changed { left: String, right: String },
    /// Stands for an unchanged run that is left out, or for the ends of texts that are too long to be compared.
    Gap,
}

/// The changes between two texts with a little of what is around them; empty where there are none.
pub fn word_diff(left: &str, right: &str) -> Vec<Segment> {
    if left == right {
        return Vec::new();
    }
    let cut = |text: &'_ str| text.floor_char_boundary(MOST_BYTES.min(text.len()));
    let is_cut = left.len() > MOST_BYTES || right.len() > MOST_BYTES;
    let (left, right) = (left.get(..cut(left)).unwrap_or(left), right.get(..cut(right)).unwrap_or(right));
    let (old, new): (Vec<&str>, Vec<&str>) = (tokens(left).collect(), tokens(right).collect());
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(Instant::now() + LONGEST));
    let text = |tokens: &[&str], range: std::ops::Range<usize>| tokens.get(range).unwrap_or_default().concat();
    let mut runs: Vec<Segment> = Vec::new();
    for op in &ops {
        match op {
            DiffOp::Equal { .. } => runs.push(Segment::Same(text(&old, op.old_range()))),
            _ => {
                let (went, came) = (text(&old, op.old_range()), text(&new, op.new_range()));
                join(&mut runs, went, came);
            }
        }
    }
    let mut shown = folded(runs);
    if is_cut {
        shown.push(Segment::Gap);
    }
    shown
}

/// Adds a change; white space alone between two changes is part of them.
fn join(runs: &mut Vec<Segment>, went: String, came: String) {
    let between = match runs.as_slice() {
        [.., Segment::Changed { .. }] => Some(String::new()),
        [.., Segment::Changed { .. }, Segment::Same(space)] if space.chars().all(char::is_whitespace) => {
            Some(space.clone())
        }
        _ => None,
    };
    let Some(between) = between else {
        runs.push(Segment::Changed { left: went, right: came });
        return;
    };
    if matches!(runs.last(), Some(Segment::Same(_))) {
        runs.pop();
    }
    if let Some(Segment::Changed { left, right }) = runs.last_mut() {
        *left += &between;
        *left += &went;
        *right += &between;
        *right += &came;
    }
}

/// Leaves out what is far from any change.
fn folded(runs: Vec<Segment>) -> Vec<Segment> {
    let last = runs.len().saturating_sub(1);
    let mut shown = Vec::with_capacity(runs.len());
    for (place, run) in runs.into_iter().enumerate() {
        let Segment::Same(text) = run else {
            shown.push(run);
            continue;
        };
        let head = if place == 0 { 0 } else { CONTEXT_CHARS };
        let tail = if place == last { 0 } else { CONTEXT_CHARS };
        let start = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
        let end = text.char_indices().rev().nth(tail.wrapping_sub(1)).map_or(0, |(at, _)| at);
        let end = if tail == 0 { text.len() } else { end };
        if end <= start {
            shown.push(Segment::Same(text));
            continue;
        }
        let kept = [text.get(..start), text.get(end..)].map(Option::unwrap_or_default);
        let [before, after] =
            kept.map(|kept| Some(kept).filter(|kept| !kept.is_empty()).map(|kept| Segment::Same(kept.into())));
        shown.extend(before.into_iter().chain([Segment::Gap]).chain(after));
    }
    shown
}

/// A text in words, runs of white space, and signs.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    #[derive(PartialEq, Eq)]
    enum Class {
        Word,
        Space,
        Sign,
    }
    let class = |c: char| match c {
        // Scripts without spaces: each character is a word.
        '\u{2e80}'.. => Class::Sign,
        _ if c.is_alphanumeric() || c == '_' => Class::Word,
        _ if c.is_whitespace() => Class::Space,
        _ => Class::Sign,
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = match class(first) {
            Class::Sign => first.len_utf8(),
            own => rest.find(|c| class(c) != own).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `[-went-]{+came+}`, as version control writes word diffs.
    fn written(left: &str, right: &str) -> String {
        let segment = |segment: &Segment| match segment {
            Segment::Same(text) => text.clone(),
            Segment::Changed { left, right } => {
                let went = if left.is_empty() { String::new() } else { format!("[-{left}-]") };
                let came = if right.is_empty() { String::new() } else { format!("{{+{right}+}}") };
                went + &came
            }
            Segment::Gap => "⋯".to_owned(),
        };
        word_diff(left, right).iter().map(segment).collect()
    }

    #[test]
    fn words_that_changed_are_named() {
        assert_eq!(written("add a test", "add two tests"), "add [-a test-]{+two tests+}");
        assert_eq!(written("add a test", "add a good test"), "add a {+good +}test");
        assert_eq!(written("cargo test --lib", "cargo test"), "cargo test[- --lib-]");
        assert_eq!(written("", "new"), "{+new+}");
        assert_eq!(written("same", "same"), "");
        assert_eq!(written("日本語", "日木語"), "日[-本-]{+木+}語");
    }

    #[test]
    fn what_is_far_from_a_change_is_left_out() {
        let (start, end) = ("é ".repeat(500), " z".repeat(500));
        let shown = written(&format!("{start}old{end}"), &format!("{start}new{end}"));
        assert_eq!(shown, format!("⋯{}[-old-]{{+new+}}{}⋯", "é ".repeat(60), " z".repeat(60)));
        let middle = "m ".repeat(500);
        let shown = written(&format!("a {middle}b"), &format!("c {middle}d"));
        assert_eq!(shown, format!("[-a-]{{+c+}}{}⋯{}[-b-]{{+d+}}", " m".repeat(60), "m ".repeat(60)));
    }

    #[test]
    fn of_huge_texts_the_start_is_compared() {
        let (left, right) = ("a b ".repeat(1_000_000), "a c ".repeat(1_000_000));
        let diff = word_diff(&left, &right);
        assert_eq!(diff.last(), Some(&Segment::Gap));
        let bytes: usize = diff
            .iter()
            .map(|segment| match segment {
                Segment::Same(text) => text.len(),
                Segment::Changed { left, right } => left.len() + right.len(),
                Segment::Gap => 0,
            })
            .sum();
        assert!(bytes <= 4 * MOST_BYTES);
    }

    proptest! {
        #[test]
        fn short_texts_can_be_put_together_again(left in "[ab é\\n.]{0,60}", right in "[ab é\\n.]{0,60}") {
            let diff = word_diff(&left, &right);
            let side = |pick: fn(&Segment) -> &str| -> String { diff.iter().map(pick).collect() };
            if left != right {
                prop_assert_eq!(side(|segment| match segment {
                    Segment::Same(text) => text,
                    Segment::Changed { left, .. } => left,
                    Segment::Gap => "",
                }), left);
                prop_assert_eq!(side(|segment| match segment {
                    Segment::Same(text) => text,
                    Segment::Changed { right, .. } => right,
                    Segment::Gap => "",
                }), right);
            }
        }
    }
}
