//! Which step of one session stands beside which of another. Arithmetic on keys; nothing is read here.
//!
//! Steps are paired by their ids first, then by equal texts (patience: texts that occur once on both sides), then, in
//! what is left between them, by similar texts. Pairs never cross. What is left between pairs is compared cell by cell
//! only while it is small, so that time and memory stay in proportion to the number of steps.

use std::collections::HashMap;
use std::ops::Range;

use crate::model::StepKind;

/// So many cells of left times right steps are compared with each other by their words; more are only looked up.
const MOST_CELLS: usize = 100_000;
/// Patience is tried again between the pairs that it found, so often.
const MOST_ROUNDS: u32 = 24;
/// Texts are similar from this share of common words on, in hundredths (Dice's coefficient).
const SIMILAR: u32 = 50;
/// What a pair of equal texts counts beside pairs of similar ones, which count their similarity.
const EQUAL: u32 = 200;
/// Words of a text that its sketch keeps.
const SKETCH_WORDS: usize = 32;
/// Bytes of a text whose words are looked at.
const SKETCH_BYTES: usize = 4096;

/// What a step is aligned by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub kind: StepKind,
    /// Stands for the step's id.
    pub id: u64,
    /// The id is one that no other session gives to another step, not a number that each counts anew.
    pub is_unique: bool,
    /// Stands for what the person wrote.
    pub text: u64,
    pub words: Sketch,
}

/// The words of a text, as far as they are needed to tell how similar two texts are: of its different words, those with
/// the smallest hashes, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch(Box<[u32]>);

impl Sketch {
    pub fn new(text: &str, hash: impl Fn(&str) -> u32) -> Self {
        let text = text.get(..text.floor_char_boundary(SKETCH_BYTES)).unwrap_or(text);
        let mut words: Vec<u32> = words(text).map(|word| hash(&word.to_lowercase())).collect();
        words.sort_unstable();
        words.dedup();
        words.truncate(SKETCH_WORDS);
        Self(words.into())
    }

    /// How much two texts have in common, in hundredths.
    fn similarity(&self, other: &Self) -> u32 {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let (mut common, mut all) = (0_u32, 0_u32);
        // Of the smallest hashes of both together, those that both have: an estimate once a text has more words than
        // its sketch, and exact before.
        while all < SKETCH_WORDS as u32 {
            match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a == b => {
                    common += 1;
                    left.next();
                    right.next();
                }
                (Some(a), Some(b)) if a < b => drop(left.next()),
                (_, Some(_)) => drop(right.next()),
                (Some(_), None) => drop(left.next()),
                (None, None) => break,
            }
            all += 1;
        }
        (200 * common).checked_div(all + common).unwrap_or(0)
    }
}

/// The words of a text: runs of letters and figures; in scripts without spaces, each character.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let end = match first {
                '\u{2e80}'.. => first.len_utf8(),
                _ => rest.find(|c| c >= '\u{2e80}').unwrap_or(rest.len()),
            };
            let (word, after) = rest.split_at(end);
            rest = after;
            Some(word)
        })
    })
}

/// A step of the left side beside one of the right, or one that stands alone.
pub type Beside = (Option<usize>, Option<usize>);

/// Aligns the steps of two sessions: every step of each once, in its order.
pub fn align(left: &[Key], right: &[Key]) -> Vec<Beside> {
    let mut sides = Sides { left, right, pairs: Vec::new() };
    let by_id = sides.by_id();
    for (gap_left, gap_right) in gaps(&by_id, 0..left.len(), 0..right.len()) {
        sides.by_text(gap_left, gap_right);
    }
    sides.pairs.extend(by_id);
    sides.pairs.sort_unstable();
    let mut aligned = Vec::with_capacity(left.len().max(right.len()));
    let (mut at_left, mut at_right) = (0, 0);
    for (pair_left, pair_right) in sides.pairs.into_iter().chain([(left.len(), right.len())]) {
        aligned.extend((at_left..pair_left).map(|step| (Some(step), None)));
        aligned.extend((at_right..pair_right).map(|step| (None, Some(step))));
        if pair_left < left.len() {
            aligned.push((Some(pair_left), Some(pair_right)));
        }
        (at_left, at_right) = (pair_left + 1, pair_right + 1);
    }
    aligned
}

struct Sides<'a> {
    left: &'a [Key],
    right: &'a [Key],
    pairs: Vec<(usize, usize)>,
}

impl Sides<'_> {
    fn keys(&self, left: usize, right: usize) -> Option<(&Key, &Key)> {
        self.left.get(left).zip(self.right.get(right))
    }

    fn is_equal(&self, left: usize, right: usize) -> bool {
        self.keys(left, right).is_some_and(|(left, right)| left.kind == right.kind && left.text == right.text)
    }

    /// What pairing two steps counts; nothing where they have too little in common.
    fn score(&self, left: usize, right: usize) -> Option<u32> {
        let (left, right) = self.keys(left, right)?;
        if left.kind != right.kind {
            return None;
        }
        if left.text == right.text {
            return Some(EQUAL);
        }
        Some(left.words.similarity(&right.words)).filter(|similarity| *similarity >= SIMILAR)
    }

    /// Pairs of the same id. Where ids are counted anew in each session, they mean something only between steps that
    /// have something in common.
    fn by_id(&self) -> Vec<(usize, usize)> {
        let on_left = once(self.left.iter().map(|key| key.id), 0);
        let on_right = once(self.right.iter().map(|key| key.id), 0);
        let pairs = on_left.into_iter().filter_map(|(id, left)| {
            let (left, right) = (left?, (*on_right.get(&id)?)?);
            let is_meant = self.left.get(left)?.is_unique || self.score(left, right).is_some();
            is_meant.then_some((left, right))
        });
        uncrossed(pairs.collect())
    }

    /// Pairs the steps of a gap between pairs.
    fn by_text(&mut self, left: Range<usize>, right: Range<usize>) {
        let mut open = vec![(left, right, MOST_ROUNDS)];
        while let Some((left, right, rounds)) = open.pop() {
            let (left, right) = self.trim(left, right);
            if left.is_empty() || right.is_empty() {
                continue;
            }
            let found = if rounds > 0 { self.patience(&left, &right) } else { Vec::new() };
            if !found.is_empty() {
                open.extend(gaps(&found, left, right).map(|(left, right)| (left, right, rounds - 1)));
                self.pairs.extend(found);
            } else if left.len().saturating_mul(right.len()) <= MOST_CELLS {
                self.by_words(left, right);
            } else {
                let found = self.in_turn(&left, &right);
                for (left, right) in gaps(&found, left, right) {
                    if left.len().saturating_mul(right.len()) <= MOST_CELLS {
                        self.by_words(left, right);
                    }
                }
                self.pairs.extend(found);
            }
        }
    }

    /// Pairs what is equal at both ends of a gap; gives what is left of it.
    fn trim(&mut self, mut left: Range<usize>, mut right: Range<usize>) -> (Range<usize>, Range<usize>) {
        while !left.is_empty() && !right.is_empty() && self.is_equal(left.start, right.start) {
            self.pairs.push((left.start, right.start));
            (left.start, right.start) = (left.start + 1, right.start + 1);
        }
        while !left.is_empty() && !right.is_empty() && self.is_equal(left.end - 1, right.end - 1) {
            (left.end, right.end) = (left.end - 1, right.end - 1);
            self.pairs.push((left.end, right.end));
        }
        (left, right)
    }

    /// Pairs of texts that occur once in the gap on either side.
    fn patience(&self, left: &Range<usize>, right: &Range<usize>) -> Vec<(usize, usize)> {
        let texts = |keys: &[Key], range: &Range<usize>| {
            once(keys.get(range.clone()).unwrap_or_default().iter().map(|key| (key.kind.word(), key.text)), range.start)
        };
        let on_right = texts(self.right, right);
        let pairs =
            texts(self.left, left).into_iter().filter_map(|(text, left)| Some((left?, (*on_right.get(&text)?)?)));
        uncrossed(pairs.collect())
    }

    /// Pairs equal texts of a gap that is too large to be looked at closely: each with the next of its kind.
    fn in_turn(&self, left: &Range<usize>, right: &Range<usize>) -> Vec<(usize, usize)> {
        let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
        for (step, key) in right.clone().zip(self.right.get(right.clone()).unwrap_or_default()) {
            places.entry(key.text).or_default().push(step);
        }
        let mut from = right.start;
        let mut found = Vec::new();
        for (step, key) in left.clone().zip(self.left.get(left.clone()).unwrap_or_default()) {
            let Some(places) = places.get(&key.text) else { continue };
            let next = places.get(places.partition_point(|place| *place < from)).copied();
            if let Some(next) = next.filter(|next| self.is_equal(step, *next)) {
                found.push((step, next));
                from = next + 1;
            }
        }
        found
    }

    /// Pairs the steps of a small gap so that they have as much in common as can be.
    fn by_words(&mut self, left: Range<usize>, right: Range<usize>) {
        let width = right.len() + 1;
        // `best[row * width + column]`: what the first `row` left and `column` right steps are worth.
        let mut best = vec![0_u32; (left.len() + 1) * width];
        let at = |best: &[u32], row: usize, column: usize| best.get(row * width + column).copied().unwrap_or(0);
        for row in 1..=left.len() {
            for column in 1..width {
                let apart = at(&best, row - 1, column).max(at(&best, row, column - 1));
                let score = self.score(left.start + row - 1, right.start + column - 1);
                let paired = score.map_or(0, |score| at(&best, row - 1, column - 1) + score);
                if let Some(cell) = best.get_mut(row * width + column) {
                    *cell = apart.max(paired);
                }
            }
        }
        let (mut row, mut column) = (left.len(), right.len());
        while row > 0 && column > 0 {
            let here = at(&best, row, column);
            if here == at(&best, row - 1, column) {
                row -= 1;
            } else if here == at(&best, row, column - 1) {
                column -= 1;
            } else {
                (row, column) = (row - 1, column - 1);
                self.pairs.push((left.start + row, right.start + column));
            }
        }
    }
}

/// Where each value occurs, counted from `start`; `None` where it occurs more than once.
fn once<K: Eq + std::hash::Hash>(values: impl Iterator<Item = K>, start: usize) -> HashMap<K, Option<usize>> {
    let mut places = HashMap::new();
    for (place, value) in (start..).zip(values) {
        places.entry(value).and_modify(|place| *place = None).or_insert(Some(place));
    }
    places
}

/// The most pairs that do not cross each other.
fn uncrossed(mut pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    pairs.sort_unstable();
    // The longest rising sequence of the right steps: `tops[n]` ends the one of n + 1 pairs that ends lowest.
    let mut tops: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let right = |pair: usize| pairs.get(pair).map_or(0, |(_, right)| *right);
    for (pair, (_, step)) in pairs.iter().enumerate() {
        let length = tops.partition_point(|top| right(*top) < *step);
        before.push(length.checked_sub(1).and_then(|shorter| tops.get(shorter).copied()));
        match tops.get_mut(length) {
            Some(top) => *top = pair,
            None => tops.push(pair),
        }
    }
    let chain = std::iter::successors(tops.last().copied(), |pair| before.get(*pair).copied().flatten());
    let mut found: Vec<(usize, usize)> = chain.filter_map(|pair| pairs.get(pair).copied()).collect();
    found.reverse();
    found
}

/// What lies between pairs, and before the first and after the last of them.
fn gaps(
    pairs: &[(usize, usize)],
    left: Range<usize>,
    right: Range<usize>,
) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let starts =
        std::iter::once((left.start, right.start)).chain(pairs.iter().map(|(left, right)| (left + 1, right + 1)));
    let ends = pairs.iter().copied().chain([(left.end, right.end)]);
    starts.zip(ends).map(|(start, end)| (start.0..end.0, start.1..end.1))
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hash, Hasher};

    use proptest::prelude::*;

    use super::*;

    fn hashed(text: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        hasher.finish()
    }

    /// `id:text`; an id that begins with a figure is one that every session counts anew.
    fn keys(steps: &[&str]) -> Vec<Key> {
        let key = |step: &&str| {
            let (id, text) = step.split_once(':').unwrap();
            let is_unique = !id.starts_with(|c: char| c.is_ascii_digit());
            let words = Sketch::new(text, |word| hashed(word) as u32);
            Key { kind: StepKind::Prompt, id: hashed(id), is_unique, text: hashed(text), words }
        };
        steps.iter().map(key).collect()
    }

    /// Numbers from 1; a dash for none.
    fn aligned(left: &[&str], right: &[&str]) -> String {
        let word = |step: Option<usize>| step.map_or("-".to_owned(), |step| (step + 1).to_string());
        let rows = align(&keys(left), &keys(right)).into_iter().map(|(left, right)| word(left) + &word(right));
        rows.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_fork_stands_beside_its_original_up_to_where_it_parts() {
        let original = ["a:plan it", "b:build it", "c:ship it", "d:tell them"];
        let fork = ["a:plan it", "b:build it", "x:throw all of that away"];
        assert_eq!(aligned(&original, &fork), "11 22 3- 4- -3");
        assert_eq!(aligned(&fork, &original), "11 22 3- -3 -4");
        assert_eq!(aligned(&original, &original), "11 22 33 44");
        assert_eq!(aligned(&original, &[]), "1- 2- 3- 4-");
        assert_eq!(aligned(&[], &[]), "");
    }

    #[test]
    fn the_same_id_pairs_steps_whatever_they_say() {
        assert_eq!(aligned(&["a:one", "b:two"], &["a:something else", "b:two"]), "11 22");
        // Pairs never cross: of two that do, one has to stand alone.
        assert_eq!(aligned(&["a:one", "b:two"], &["b:two", "a:one"]).split(' ').count(), 3);
    }

    #[test]
    fn numbers_as_ids_pair_only_what_has_something_in_common() {
        assert_eq!(aligned(&["1:add a test"], &["1:delete everything now"]), "1- -1");
        assert_eq!(aligned(&["1:add a test"], &["1:add a test for it"]), "11");
        // The re-run left a step out: its step 2 is step 3 of the original.
        let run = ["1:read the code", "2:add a test", "3:fix the fault in the cart"];
        assert_eq!(aligned(&run, &["1:read the code", "2:fix the fault in the cart"]), "11 2- 32");
    }

    #[test]
    fn without_ids_equal_texts_come_first_and_then_similar_ones() {
        let left = ["a:read it", "b:write a test for the cart", "c:go on", "d:commit"];
        let right = ["e:read it", "f:write two tests for the cart", "g:go on", "h:push", "i:commit"];
        assert_eq!(aligned(&left, &right), "11 22 33 -4 45");
        // A text that occurs often pairs with its neighbours' help.
        let left = ["a:go on", "b:first", "c:go on", "d:second", "e:go on"];
        let right = ["f:go on", "g:go on", "h:second", "i:go on"];
        assert_eq!(aligned(&left, &right), "11 2- 32 43 54");
    }

    #[test]
    fn prompts_and_questions_are_not_the_same_step() {
        let mut question = keys(&["b:which storage"]);
        question[0].kind = StepKind::QuestionAnswer;
        assert_eq!(align(&keys(&["a:which storage"]), &question), [(Some(0), None), (None, Some(0))]);
    }

    #[test]
    fn scripts_without_spaces_have_words_too() {
        assert_eq!(words("fix 日本語2x").collect::<Vec<_>>(), ["fix", "日", "本", "語", "2x"]);
        assert_eq!(aligned(&["a:カートを直して"], &["b:カートを全部直して"]), "11");
    }

    #[test]
    fn a_hundred_thousand_steps_are_aligned_whatever_they_say() {
        // All the same, all different, and each text thrice in another order.
        for text in [(|_| 1) as fn(usize) -> u64, |step| step as u64, |step| (step * 7_919 % 33_331) as u64] {
            let side = |shift: usize| -> Vec<Key> {
                let key = |step: usize| Key {
                    kind: StepKind::Prompt,
                    id: hashed((shift, step)),
                    is_unique: true,
                    text: text(step + shift),
                    words: Sketch::default(),
                };
                (0..100_000).map(key).collect()
            };
            let (left, right) = (side(0), side(100));
            let rows = align(&left, &right);
            assert!(rows.len() <= 200_000);
            let equal =
                |(a, b): &(Option<usize>, Option<usize>)| a.zip(*b).is_some_and(|(a, b)| left[a].text == right[b].text);
            assert!(rows.iter().filter(|row| equal(row)).count() >= 60_000, "{}", text(2));
        }
    }

    proptest! {
        #[test]
        fn every_step_stands_in_the_table_once_and_in_order(
            left in prop::collection::vec(("[a-e]", "[a-c]( [a-c]){0,3}"), 0..24),
            right in prop::collection::vec(("[a-e]", "[a-c]( [a-c]){0,3}"), 0..24),
        ) {
            let join = |side: &[(String, String)]| -> Vec<String> {
                side.iter().map(|(id, text)| format!("{id}:{text}")).collect()
            };
            let (left, right) = (join(&left), join(&right));
            let as_str = |side: &'_ [String]| keys(&side.iter().map(String::as_str).collect::<Vec<_>>());
            let rows = align(&as_str(&left), &as_str(&right));
            let lefts: Vec<usize> = rows.iter().filter_map(|row| row.0).collect();
            let rights: Vec<usize> = rows.iter().filter_map(|row| row.1).collect();
            prop_assert_eq!(lefts, (0..left.len()).collect::<Vec<_>>());
            prop_assert_eq!(rights, (0..right.len()).collect::<Vec<_>>());
        }
    }
}
