//! Tokens and money.

use serde::Serialize;

/// Tokens that model responses cost, each response counted once. A counter that a format does not record is `None`,
/// never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens that were neither read from nor written to a cache.
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    /// The part of `output` spent on thinking.
    pub reasoning: Option<u64>,
    /// In US dollars, only where the file records it.
    pub cost: Option<f64>,
}

impl Usage {
    /// Adds another response's counters; a counter is known as soon as either side knows it.
    pub fn add(&mut self, other: &Self) {
        fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (a, b) => a.or(b),
            }
        }
        self.input = sum(self.input, other.input);
        self.output = sum(self.output, other.output);
        self.cache_read = sum(self.cache_read, other.cache_read);
        self.cache_write = sum(self.cache_write, other.cache_write);
        self.reasoning = sum(self.reasoning, other.reasoning);
        self.cost = match (self.cost, other.cost) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
    }

    /// The counters by name, each beside that of another usage; those that neither knows are left out.
    pub fn counters(&self, other: &Self) -> impl Iterator<Item = (&'static str, Option<u64>, Option<u64>)> {
        let all = [
            ("input", self.input, other.input),
            ("cache read", self.cache_read, other.cache_read),
            ("cache write", self.cache_write, other.cache_write),
            ("output", self.output, other.output),
            ("of it thinking", self.reasoning, other.reasoning),
        ];
        all.into_iter().filter(|(_, own, other)| own.is_some() || other.is_some())
    }

    /// All tokens together; zero when none are recorded.
    pub fn total(&self) -> u64 {
        [self.input, self.output, self.cache_read, self.cache_write].into_iter().flatten().fold(0, u64::saturating_add)
    }
}
