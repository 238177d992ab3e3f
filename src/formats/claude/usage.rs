//! Tokens, counted once for each response.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::index::{Index, NONE, Record};
use super::record::Tokens;
use crate::model::Usage;

/// A response's counters in the model's form.
pub(super) fn of(tokens: &Tokens) -> Usage {
    let created = tokens.cache_creation.0.as_ref().and_then(|split| {
        match (split.ephemeral_5m_input_tokens.0, split.ephemeral_1h_input_tokens.0) {
            (None, None) => None,
            (short, long) => Some(short.unwrap_or(0).saturating_add(long.unwrap_or(0))),
        }
    });
    Usage {
        input: tokens.input_tokens.0,
        output: tokens.output_tokens.0,
        cache_read: tokens.cache_read_input_tokens.0,
        cache_write: tokens.cache_creation_input_tokens.0.or(created),
        reasoning: tokens.output_tokens_details.0.as_ref().and_then(|details| details.thinking_tokens.0),
        cost: None,
    }
}

/// The counters that stand for each response.
///
/// A response is written as several records that repeat its counters as they grow: the one with the most output tokens
/// holds the final ones, and the records are never added up.
#[derive(Debug, Default)]
pub(super) struct Responses {
    best: HashMap<u32, u32, foldhash::fast::RandomState>,
    /// Counters of records that name no response.
    nameless: Vec<u32>,
}

impl Responses {
    pub fn new(index: &Index) -> Self {
        Self::among(index, index.records.iter())
    }

    /// Only of some of the records.
    pub fn new_of(index: &Index, members: impl Iterator<Item = u32>) -> Self {
        Self::among(index, members.filter_map(|member| index.record(member)))
    }

    fn among<'a>(index: &Index, records: impl Iterator<Item = &'a Record>) -> Self {
        let mut responses = Self::default();
        for answer in records.map(|record| index.answer(record)).filter(|answer| answer.usage != NONE) {
            if answer.message == NONE {
                responses.nameless.push(answer.usage);
                continue;
            }
            match responses.best.entry(answer.message) {
                Entry::Vacant(entry) => {
                    entry.insert(answer.usage);
                }
                Entry::Occupied(mut entry) => {
                    let output = |usage: u32| index.counters.get(usage).and_then(|usage| usage.output);
                    if output(answer.usage) > output(*entry.get()) {
                        entry.insert(answer.usage);
                    }
                }
            }
        }
        responses
    }

    /// The counters of a record's response; the record's own where it names no response.
    pub fn of(&self, index: &Index, message: u32, usage: u32) -> Option<Usage> {
        let usage = self.best.get(&message).copied().unwrap_or(usage);
        index.counters.get(usage)
    }

    /// All responses together.
    pub fn total(&self, index: &Index) -> Usage {
        let mut total = Usage::default();
        for usage in self.best.values().chain(&self.nameless) {
            if let Some(usage) = index.counters.get(*usage) {
                total.add(&usage);
            }
        }
        total
    }
}
