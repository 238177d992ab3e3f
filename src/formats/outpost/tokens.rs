//! Outpost's token counters and how its replay rules add and subtract them.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::entry::{Raw, object};
use crate::formats::lenient::Count;
use crate::model::Usage;

/// Tokens of a pass, a turn or a model request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    /// Only where the agent counts it.
    pub cache_created: Option<u64>,
    /// `complete: false`: some responses were not counted.
    pub partial: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Recorded<'a> {
    input: Count,
    cached: Count,
    output: Count,
    cache_created: Count,
    #[serde(borrow)]
    complete: Raw<'a>,
}

impl Tokens {
    /// Reads recorded counters; what is no counter counts zero.
    pub fn read(raw: Raw<'_>) -> Self {
        let recorded: Recorded = object(raw).unwrap_or_default();
        Self {
            input: recorded.input.0.unwrap_or(0),
            cached: recorded.cached.0.unwrap_or(0),
            output: recorded.output.0.unwrap_or(0),
            cache_created: recorded.cache_created.0,
            partial: recorded.complete.is_some_and(|raw| raw.get() == "false"),
        }
    }

    /// Counters add; a cache counter appears as soon as either side has one; partial counters stay partial.
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            output: self.output.saturating_add(other.output),
            cache_created: match (self.cache_created, other.cache_created) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (a, b) => a.or(b),
            },
            partial: self.partial || other.partial,
        }
    }

    /// Takes away per counter, never below zero.
    pub fn minus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            cached: self.cached.saturating_sub(other.cached),
            output: self.output.saturating_sub(other.output),
            cache_created: self.cache_created.map(|count| count.saturating_sub(other.cache_created.unwrap_or(0))),
            partial: self.partial,
        }
    }

    /// The counters as a session counts them.
    pub fn usage(self) -> Usage {
        Usage {
            input: Some(self.input),
            output: Some(self.output),
            cache_read: Some(self.cached),
            cache_write: self.cache_created,
            ..Usage::default()
        }
    }

    /// The counters as a journal writes them.
    pub fn to_json(self) -> Value {
        let mut map = Map::new();
        map.insert("input".into(), self.input.into());
        map.insert("cached".into(), self.cached.into());
        map.insert("output".into(), self.output.into());
        if let Some(count) = self.cache_created {
            map.insert("cacheCreated".into(), count.into());
        }
        if self.partial {
            map.insert("complete".into(), false.into());
        }
        Value::Object(map)
    }

    pub fn is_zero(self) -> bool {
        self.input == 0 && self.cached == 0 && self.output == 0 && self.cache_created.unwrap_or(0) == 0
    }
}
