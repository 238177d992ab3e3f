//! Where the rows of a list are: heights, and the place of the view among them. Pure arithmetic, no drawing.
//!
//! The truth about the view is its [`Anchor`]: a row and how much of it is above the view. Heights of rows that were
//! never drawn are guesses, and correcting a guess never moves the view; sums of heights serve the scroll bar only.
//! Everything is f64: lists of a million rows are taller than f32 can tell points apart.

use std::ops::Range;

/// Rows are at least this tall, so that a view shows a bounded number of them.
const LEAST_PX: f32 = 1.0;
/// Rows whose heights are kept together.
const BLOCK: usize = 256;

/// The heights of all rows, in points, with their running sums: block by block in a Fenwick tree. Of a list with millions
/// of rows, the blocks where nobody has been are one guess each.
#[derive(Clone, Debug, Default)]
pub struct Heights {
    len: usize,
    blocks: Vec<Block>,
    tree: Vec<f64>,
}

#[derive(Clone, Debug)]
enum Block {
    /// Each row is taken for as tall as this.
    Guessed(f64),
    Known(Box<[f32]>),
}

impl Block {
    /// The height of one of its rows; 0 past their end.
    fn get(&self, row: usize) -> f64 {
        match self {
            Self::Guessed(height) => *height,
            Self::Known(rows) => rows.get(row).copied().map_or(0.0, f64::from),
        }
    }

    /// The height of its first `count` rows together.
    fn top_of(&self, count: usize) -> f64 {
        match self {
            Self::Guessed(height) => height * count as f64,
            Self::Known(rows) => rows.iter().take(count).map(|height| f64::from(*height)).sum(),
        }
    }
}

impl Heights {
    /// Of rows whose heights are known or guessed one by one.
    pub fn new(heights: impl Iterator<Item = f32>) -> Self {
        let mut heights = heights.map(|height| height.max(LEAST_PX));
        let blocks = std::iter::from_fn(|| {
            let rows: Box<[f32]> = heights.by_ref().take(BLOCK).collect();
            (!rows.is_empty()).then_some(Block::Known(rows))
        });
        let blocks: Vec<Block> = blocks.collect();
        let len = blocks.iter().map(|block| if let Block::Known(rows) = block { rows.len() } else { 0 }).sum();
        Self::of(len, blocks)
    }

    /// Of `len` rows, of which `guess` gives the height of many together. It costs nothing for each row.
    pub fn guessed(len: usize, mut guess: impl FnMut(Range<usize>) -> f64) -> Self {
        let blocks = (0..len).step_by(BLOCK).map(|start| {
            let rows = start..len.min(start + BLOCK);
            let count = rows.len() as f64;
            Block::Guessed((guess(rows) / count).max(LEAST_PX.into()))
        });
        Self::of(len, blocks.collect())
    }

    fn of(len: usize, blocks: Vec<Block>) -> Self {
        let mut tree = vec![0.0; blocks.len() + 1];
        for (index, block) in blocks.iter().enumerate() {
            let node = index + 1;
            let count = (len - index * BLOCK).min(BLOCK);
            let sum = tree.get(node).copied().unwrap_or_default() + block.top_of(count);
            if let Some(value) = tree.get_mut(node) {
                *value = sum;
            }
            if let Some(parent) = tree.get_mut(node + (node & node.wrapping_neg())) {
                *parent += sum;
            }
        }
        Self { len, blocks, tree }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The height of a row; 0 past the end.
    pub fn get(&self, row: usize) -> f64 {
        if row >= self.len {
            return 0.0;
        }
        self.blocks.get(row / BLOCK).map_or(0.0, |block| block.get(row % BLOCK))
    }

    pub fn set(&mut self, row: usize, height: f32) {
        if row >= self.len {
            return;
        }
        let count = (self.len - row / BLOCK * BLOCK).min(BLOCK);
        let Some(block) = self.blocks.get_mut(row / BLOCK) else { return };
        let sum = block.top_of(count);
        if let Block::Guessed(height) = block {
            *block = Block::Known(vec![*height as f32; count].into());
        }
        if let Block::Known(rows) = block
            && let Some(value) = rows.get_mut(row % BLOCK)
        {
            *value = height.max(LEAST_PX);
        }
        let change = block.top_of(count) - sum;
        if change == 0.0 {
            return;
        }
        let mut node = row / BLOCK + 1;
        while let Some(sum) = self.tree.get_mut(node) {
            *sum += change;
            node += node & node.wrapping_neg();
        }
    }

    /// The height of all rows before `row` together.
    pub fn top_of(&self, row: usize) -> f64 {
        let row = row.min(self.len);
        let mut node = row / BLOCK;
        let mut sum = self.blocks.get(node).map_or(0.0, |block| block.top_of(row % BLOCK));
        while node > 0 {
            sum += self.tree.get(node).copied().unwrap_or_default();
            node &= node - 1;
        }
        sum
    }

    pub fn total(&self) -> f64 {
        self.top_of(self.len)
    }

    /// The row at `y` from the top of the list, and how far into it that is.
    pub fn row_at(&self, y: f64) -> (usize, f64) {
        let mut rest = y.max(0.0);
        let mut node = 0;
        let mut step = self.tree.len().next_power_of_two();
        while step > 0 {
            if let Some(sum) = self.tree.get(node + step)
                && *sum <= rest
            {
                node += step;
                rest -= sum;
            }
            step /= 2;
        }
        let Some(block) = self.blocks.get(node) else {
            let last = self.len.saturating_sub(1);
            return (last, if self.len == 0 { rest } else { self.get(last) });
        };
        let mut row = node * BLOCK;
        let end = self.len.min(row + BLOCK);
        while row + 1 < end && block.get(row % BLOCK) <= rest {
            rest -= block.get(row % BLOCK);
            row += 1;
        }
        (row, rest)
    }
}

/// Where the view is: `offset_px` of `row` are above its upper edge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Anchor {
    pub row: usize,
    pub offset_px: f64,
}

impl Anchor {
    /// A view whose upper edge is that of `row`.
    pub fn at(row: usize) -> Self {
        Self { row, offset_px: 0.0 }
    }

    /// How far the view's upper edge is from the top of the list, as far as heights are known.
    pub fn top(self, heights: &Heights) -> f64 {
        heights.top_of(self.row) + self.offset_px
    }

    /// Moves the view down by `delta_px` (up when negative), as far as there are rows. `measure` gives the true height
    /// of a row that comes into view.
    pub fn scroll(
        &mut self,
        delta_px: f64,
        view_px: f64,
        heights: &mut Heights,
        measure: &mut dyn FnMut(usize) -> f32,
    ) {
        if heights.is_empty() {
            *self = Self::default();
            return;
        }
        // Far away rows are not measured on the way: nobody sees how exact the way was.
        if delta_px.abs() > 4.0 * view_px.max(1.0) {
            let (row, offset_px) = heights.row_at(self.top(heights) + delta_px);
            *self = Self { row, offset_px };
        } else {
            self.offset_px += delta_px;
        }
        self.settle(heights, measure);
        let missing = self.room_below(view_px, heights, measure);
        if missing > 0.0 {
            self.offset_px -= missing;
            self.settle(heights, measure);
        }
    }

    /// Brings the offset into its row, walking to the row that it is in.
    fn settle(&mut self, heights: &mut Heights, measure: &mut dyn FnMut(usize) -> f32) {
        self.row = self.row.min(heights.len().saturating_sub(1));
        while self.offset_px < 0.0 {
            let Some(before) = self.row.checked_sub(1) else {
                self.offset_px = 0.0;
                break;
            };
            heights.set(before, measure(before));
            self.row = before;
            self.offset_px += heights.get(before);
        }
        while self.offset_px > 0.0 && self.row + 1 < heights.len() {
            heights.set(self.row, measure(self.row));
            let height = heights.get(self.row);
            if self.offset_px < height {
                break;
            }
            self.offset_px -= height;
            self.row += 1;
        }
    }

    /// How much of the view lies below the last row.
    fn room_below(self, view_px: f64, heights: &mut Heights, measure: &mut dyn FnMut(usize) -> f32) -> f64 {
        let mut shown = -self.offset_px;
        for row in self.row..heights.len() {
            heights.set(row, measure(row));
            shown += heights.get(row);
            if shown >= view_px {
                return 0.0;
            }
        }
        view_px - shown
    }

    /// How far down the view is: 0 at the top of the list, 1 at its end.
    pub fn fraction(self, view_px: f64, heights: &Heights) -> f64 {
        let room = heights.total() - view_px;
        if room <= 0.0 { 0.0 } else { (self.top(heights) / room).clamp(0.0, 1.0) }
    }

    /// The view that is `fraction` of the way down.
    pub fn at_fraction(fraction: f64, view_px: f64, heights: &Heights) -> Self {
        let room = (heights.total() - view_px).max(0.0);
        let (row, offset_px) = heights.row_at(fraction.clamp(0.0, 1.0) * room);
        Self { row, offset_px }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(heights: &Heights) -> impl FnMut(usize) -> f32 + use<> {
        let rows: Vec<f32> = (0..heights.len()).map(|row| heights.get(row) as f32).collect();
        move |row| rows[row]
    }

    #[test]
    fn sums_follow_changes() {
        let mut heights = Heights::new([10.0, 20.0, 30.0, 40.0, 50.0].into_iter());
        assert_eq!(heights.total(), 150.0);
        assert_eq!(heights.top_of(3), 60.0);
        heights.set(1, 25.0);
        assert_eq!((heights.top_of(1), heights.top_of(2), heights.total()), (10.0, 35.0, 155.0));
        assert_eq!(heights.row_at(0.0), (0, 0.0));
        assert_eq!(heights.row_at(34.0), (1, 24.0));
        assert_eq!(heights.row_at(35.0), (2, 0.0));
        assert_eq!(heights.row_at(1e9), (4, 50.0));
    }

    #[test]
    fn an_empty_list_has_nothing_to_scroll() {
        let mut heights = Heights::default();
        let mut anchor = Anchor::at(7);
        anchor.scroll(100.0, 300.0, &mut heights, &mut |_| unreachable!());
        assert_eq!(anchor, Anchor::default());
        assert_eq!(heights.row_at(5.0), (0, 5.0));
        assert_eq!(anchor.fraction(300.0, &heights), 0.0);
    }

    #[test]
    fn scrolling_walks_over_rows_and_stops_at_both_ends() {
        let mut heights = Heights::new([100.0; 10].into_iter());
        let mut measure = known(&heights);
        let mut anchor = Anchor::default();
        anchor.scroll(250.0, 300.0, &mut heights, &mut measure);
        assert_eq!(anchor, Anchor { row: 2, offset_px: 50.0 });
        anchor.scroll(-60.0, 300.0, &mut heights, &mut measure);
        assert_eq!(anchor, Anchor { row: 1, offset_px: 90.0 });
        anchor.scroll(1e6, 300.0, &mut heights, &mut measure);
        assert_eq!(anchor.top(&heights), 700.0);
        assert_eq!(anchor.fraction(300.0, &heights), 1.0);
        anchor.scroll(-1e6, 300.0, &mut heights, &mut measure);
        assert_eq!(anchor, Anchor::default());
    }

    #[test]
    fn going_up_counts_the_true_height_of_what_appears() {
        // Row 4 was guessed at 30 and is 200 tall: its last 20 points appear, not its first ten.
        let mut heights = Heights::new([30.0; 10].into_iter());
        let mut anchor = Anchor::at(5);
        anchor.scroll(-20.0, 100.0, &mut heights, &mut |row| if row == 4 { 200.0 } else { 30.0 });
        assert_eq!(anchor, Anchor { row: 4, offset_px: 180.0 });
    }

    #[test]
    fn a_list_shorter_than_its_view_does_not_scroll() {
        let mut heights = Heights::new([20.0; 3].into_iter());
        let mut measure = known(&heights);
        let mut anchor = Anchor::default();
        anchor.scroll(40.0, 300.0, &mut heights, &mut measure);
        assert_eq!(anchor, Anchor::default());
        assert_eq!(Anchor::at_fraction(1.0, 300.0, &heights), Anchor::default());
    }

    #[test]
    fn a_million_rows_are_placed_to_the_point() {
        let mut heights = Heights::new((0..1_000_000).map(|row| 18.0 + (row % 7) as f32));
        let total = heights.total();
        assert_eq!(total, (0..1_000_000).map(|row| 18.0 + f64::from(row % 7)).sum::<f64>());
        let mut measure = known(&heights);
        let mut anchor = Anchor::at_fraction(0.9, 900.0, &heights);
        let start = anchor.top(&heights);
        for step in 1..=100 {
            anchor.scroll(1.0, 900.0, &mut heights, &mut measure);
            assert!((anchor.top(&heights) - start - f64::from(step)).abs() < 1e-6);
        }
        assert!((anchor.fraction(900.0, &heights) - 0.9).abs() < 1e-5);
        // A jump measures what it shows, not what it passes.
        let mut measured = 0;
        let mut count = |row: usize| {
            measured += 1;
            18.0 + (row % 7) as f32
        };
        anchor.scroll(-1e7, 900.0, &mut heights, &mut count);
        assert!(measured < 100, "measured {measured}");
    }

    #[test]
    fn guessed_rows_cost_a_number_for_a_block_until_they_are_measured() {
        let mut heights = Heights::guessed(1_000, |rows| 20.0 * rows.len() as f64);
        assert_eq!((heights.len(), heights.total(), heights.top_of(700)), (1_000, 20_000.0, 14_000.0));
        assert_eq!(heights.row_at(14_005.0), (700, 5.0));
        heights.set(700, 50.0);
        assert_eq!((heights.get(699), heights.get(700), heights.get(999)), (20.0, 50.0, 20.0));
        assert_eq!((heights.top_of(700), heights.top_of(701), heights.total()), (14_000.0, 14_050.0, 20_030.0));
        let known = heights.blocks.iter().filter(|block| matches!(block, Block::Known(_))).count();
        assert_eq!(known, 1);
        // Its last block has 232 rows.
        heights.set(999, 30.0);
        heights.set(1_000, 30.0);
        assert_eq!((heights.total(), heights.get(1_000)), (20_040.0, 0.0));
        assert_eq!(heights.row_at(1e9), (999, 30.0));
        assert_eq!(Heights::guessed(0, |_| 1.0).total(), 0.0);
    }

    proptest! {
        #[test]
        fn measuring_rows_never_moves_the_anchor(
            guesses in prop::collection::vec(1.0f32..300.0, 1..60),
            truths in prop::collection::vec(1.0f32..300.0, 60),
            moves in prop::collection::vec(-700.0f64..700.0, 1..20),
            others in prop::collection::vec((0usize..60, 1.0f32..300.0), 0..10),
        ) {
            // What is at the view's edge depends only on true heights, whatever was guessed for rows elsewhere.
            let mut guessed = Heights::new(guesses.iter().copied());
            let mut exact = Heights::new(truths.iter().copied().take(guesses.len()));
            let mut measure = |row: usize| truths[row];
            let mut a = Anchor::default();
            let mut b = Anchor::default();
            for delta in &moves {
                a.scroll(*delta, 200.0, &mut guessed, &mut measure);
                b.scroll(*delta, 200.0, &mut exact, &mut measure);
                prop_assert_eq!(a, b);
                for (row, height) in &others {
                    if *row != a.row {
                        guessed.set(*row, *height);
                    }
                }
            }
        }

        #[test]
        fn rows_are_found_where_they_are(
            rows in prop::collection::vec(1.0f32..300.0, 1..900), row in 0usize..900, into in 0.0f64..1.0,
        ) {
            let heights = Heights::new(rows.iter().copied());
            let row = row % rows.len();
            let offset = into * heights.get(row) * 0.99;
            let (found, inside) = heights.row_at(heights.top_of(row) + offset);
            prop_assert!(found == row || (found == row + 1 && inside < 1e-6) || (found + 1 == row));
            prop_assert!((heights.top_of(found) + inside - heights.top_of(row) - offset).abs() < 1e-6);
        }
    }
}
