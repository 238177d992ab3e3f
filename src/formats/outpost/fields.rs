//! Reading the fields of documents that may hold anything: what is not of the wanted kind is absent.

use serde_json::Value;

use super::labels::shorten;
use super::tokens::Tokens;
use crate::model::{Timestamp, Usage};

/// A value as text: a string's own, of anything else its JSON over several lines.
pub fn spoken(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string()),
    }
}

/// The string under a key, else `""`.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The string under a key, as much of it as a marker holds.
pub fn short(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(shorten)
}

/// The strings of a list under a key, as much of them as a marker holds.
pub fn words(value: &Value, key: &str) -> Vec<String> {
    const MAX_WORDS: usize = 64;
    let list = value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).take(MAX_WORDS).map(shorten).collect()
}

/// The time under a key.
pub fn time(value: &Value, key: &str) -> Option<Timestamp> {
    Timestamp::parse(text(value, key))
}

/// Outpost's counters under a key.
pub fn usage(value: &Value, key: &str) -> Usage {
    let Some(counters) = value.get(key).filter(|counters| counters.is_object()) else { return Usage::default() };
    let raw = serde_json::value::to_raw_value(counters).ok();
    Tokens::read(raw.as_deref()).usage()
}

/// What is recorded as paid, where that is in US dollars.
pub fn dollars(cost: Option<&Value>) -> Option<f64> {
    let cost = cost.filter(|cost| text(cost, "currency") == "USD")?;
    cost.get("amount")?.as_f64().filter(|amount| amount.is_finite() && *amount >= 0.0)
}
