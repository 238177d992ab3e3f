//! Sets of the small numbers by which records and symbols go: a bit each, and quick to go through in order.

use fixedbitset::FixedBitSet;

use super::index::NONE;

/// A set of record numbers, or of symbols.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    bits: FixedBitSet,
    /// `NONE` is in it, which is too large for a bit of its own.
    none: bool,
}

impl Numbers {
    pub fn contains(&self, number: &u32) -> bool {
        if *number == NONE { self.none } else { self.bits.contains(*number as usize) }
    }

    /// True when it was not there before.
    pub fn insert(&mut self, number: u32) -> bool {
        let had = self.contains(&number);
        if number == NONE {
            self.none = true;
        } else {
            let number = number as usize;
            if number >= self.bits.len() {
                // In strides: numbers mostly come in order.
                self.bits.grow((number + 1).next_power_of_two());
            }
            self.bits.insert(number);
        }
        !had
    }

    pub fn remove(&mut self, number: &u32) {
        if *number == NONE {
            self.none = false;
        } else if self.contains(number) {
            self.bits.remove(*number as usize);
        }
    }

    pub fn retain(&mut self, keeps: impl Fn(u32) -> bool) {
        let gone: Vec<u32> = self.iter().filter(|number| !keeps(*number)).collect();
        gone.iter().for_each(|number| self.remove(number));
    }

    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// From the least to the greatest, `NONE` last.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let ones = self.bits.ones().filter_map(|number| u32::try_from(number).ok());
        ones.chain(self.none.then_some(NONE))
    }
}

impl Extend<u32> for Numbers {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|number| {
            self.insert(number);
        });
    }
}

impl FromIterator<u32> for Numbers {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut set = Self::default();
        set.extend(numbers);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_apart_and_come_in_order() {
        let mut set: Numbers = [70_000, 3, NONE, 3, 0].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 3, 70_000, NONE]);
        assert!(!set.insert(3) && set.insert(4) && !set.contains(&5) && !set.contains(&(NONE - 1)));
        set.remove(&NONE);
        set.remove(&1_000_000);
        set.retain(|number| number > 3);
        assert_eq!(set.iter().collect::<Vec<_>>(), [4, 70_000]);
        set.retain(|_| false);
        assert!(set.is_empty());
    }
}
