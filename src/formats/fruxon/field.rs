//! Fields as Fruxon's answers really hold them: ids and money as numbers or strings, empty for absent, JSON inside strings.

use std::borrow::Cow;

use serde_json::Value;

use crate::model::Timestamp;

/// Times below this many are in seconds, not in milliseconds.
const MILLISECONDS_FROM: f64 = 1e11;

/// The value behind keys, one inside the other; null where there is none.
pub fn at<'a>(value: &'a Value, keys: &[&str]) -> &'a Value {
    keys.iter().fold(value, |value, key| value.get(key).unwrap_or(&Value::Null))
}

/// A string with something in it.
pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The first of these keys that holds a string with something in it.
pub fn any_text<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| text(value, key))
}

/// An id: a string, or a whole number as one.
pub fn id(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) if number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

/// The first of these keys that holds an id.
pub fn any_id(value: &Value, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| id(value, key))
}

/// A number, or a string that is one.
pub fn number(value: &Value, key: &str) -> Option<f64> {
    let number = match value.get(key)? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// A number that counts something.
pub fn count(value: &Value, key: &str) -> Option<u64> {
    number(value, key).filter(|number| (0.0..=9e15).contains(number)).map(|number| number as u64)
}

pub fn flag(value: &Value, key: &str) -> Option<bool> {
    value.get(key)?.as_bool()
}

/// A moment. Zero and less mean that it has not come yet.
pub fn time(value: &Value, key: &str) -> Option<Timestamp> {
    if let Some(parsed) = text(value, key).and_then(Timestamp::parse) {
        return Some(parsed);
    }
    let number = number(value, key).filter(|number| *number > 0.0 && *number < 9e15)?;
    Some(Timestamp(if number < MILLISECONDS_FROM { number * 1000.0 } else { number } as i64))
}

/// The first of these keys that holds a moment.
pub fn any_time(value: &Value, keys: &[&str]) -> Option<Timestamp> {
    keys.iter().find_map(|key| time(value, key))
}

/// Whether a record's time is in seconds, where milliseconds are the rule.
pub fn is_in_seconds(value: &Value) -> bool {
    // 1e8 seconds are in 1973: less is no time of a run.
    let seconds = |value: &Value, key: &str| number(value, key).is_some_and(|n| (1e8..MILLISECONDS_FROM).contains(&n));
    ["at", "createdAt", "startTime", "occurredAt"].iter().any(|key| seconds(value, key))
        || seconds(at(value, &["trace"]), "startTime")
}

/// A nanosecond count of a span, as a moment.
pub fn nanoseconds(value: &Value, key: &str) -> Option<Timestamp> {
    number(value, key).filter(|number| *number > 0.0 && *number < 9e18).map(|number| Timestamp((number / 1e6) as i64))
}

/// A word of an enum, upper-cased: its spelling changed over the years.
pub fn word(value: &Value, key: &str) -> String {
    text(value, key).unwrap_or_default().to_ascii_uppercase()
}

/// A value that may be JSON in a string, or that once more, taken out of its strings.
pub fn nested(value: &Value) -> Cow<'_, Value> {
    let mut value = Cow::Borrowed(value);
    for _ in 0..2 {
        let Value::String(text) = &*value else { break };
        if !text.trim_start().starts_with(['{', '[', '"']) {
            break;
        }
        match super::super::document::parse(text.as_bytes()) {
            Some(inner) => value = Cow::Owned(inner.value),
            None => break,
        }
    }
    value
}

/// A value as text: a string as it is, nothing for null, all else as JSON.
pub fn spoken(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// What a result envelope holds: its text, its JSON or the link to its file.
pub fn result_text(envelope: &Value) -> Cow<'_, str> {
    match envelope {
        Value::Object(fields) => ["strValue", "jsonValue", "fileLink"]
            .iter()
            .filter_map(|key| fields.get(*key))
            .find(|value| !value.is_null())
            .map_or(Cow::Borrowed(""), spoken),
        other => spoken(other),
    }
}

/// `key` with what follows it in a pointer to a value.
pub fn below(pointer: &str, key: impl std::fmt::Display) -> String {
    format!("{pointer}/{key}")
}
