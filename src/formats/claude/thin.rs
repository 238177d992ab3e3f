//! A huge record without what its event does not need: other blocks, the result that is kept a second time for the
//! agent's own screen, and a tool's input as a value.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::labels;

/// Records of this length and more are thinned.
pub(super) const FROM_BYTES: usize = 1024 * 1024;
/// What is smaller is read in any case.
const SMALL_BYTES: usize = 64 * 1024;

type Fields<'a> = BTreeMap<String, &'a RawValue>;

/// A record's value without what is not needed, and the block's `input` as it is written: in the value is only what its
/// label is made of.
pub(super) struct Thin {
    pub value: Value,
    pub input: Option<String>,
}

/// Thins a record for the block that is looked at; `None` where it is to be read whole, for it is no usual record.
pub(super) fn thin(text: &str, block: u16) -> Option<Thin> {
    let mut input = None;
    let mut value = Map::new();
    for (key, raw) in fields(text)? {
        let part = match key.as_str() {
            "message" => message(raw.get(), block, &mut input)?,
            "toolUseResult" if raw.get().len() > SMALL_BYTES => continue,
            _ => whole(raw)?,
        };
        value.insert(key, part);
    }
    Some(Thin { value: Value::Object(value), input })
}

fn message(text: &str, block: u16, input: &mut Option<String>) -> Option<Value> {
    let mut message = Map::new();
    for (key, raw) in fields(text)? {
        let part = match key.as_str() {
            "content" if raw.get().starts_with('[') => content(raw.get(), block, input)?,
            _ => whole(raw)?,
        };
        message.insert(key, part);
    }
    Some(Value::Object(message))
}

fn content(text: &str, block: u16, input: &mut Option<String>) -> Option<Value> {
    let blocks: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let block = usize::from(block);
    let is_small = |raw: &RawValue| raw.get().len() <= SMALL_BYTES;
    let part = |(index, raw): (usize, &RawValue)| match index == block {
        true => wanted(raw, input),
        // A prompt of several blocks is one text.
        false if is_small(raw) || !raw.get().starts_with('{') => whole(raw),
        false => spoken(raw),
    };
    blocks.into_iter().enumerate().map(part).collect::<Option<Vec<Value>>>().map(Value::Array)
}

/// The block that is looked at.
fn wanted(raw: &RawValue, input: &mut Option<String>) -> Option<Value> {
    if !raw.get().starts_with('{') {
        return whole(raw);
    }
    let mut block = Map::new();
    for (key, raw) in fields(raw.get())? {
        let part = if key == "input" {
            *input = Some(raw.get().to_owned());
            arguments(raw)?
        } else {
            whole(raw)?
        };
        block.insert(key, part);
    }
    Some(Value::Object(block))
}

/// Of a tool's input, what its label is made of.
fn arguments(raw: &RawValue) -> Option<Value> {
    if !raw.get().starts_with('{') {
        return Some(Value::Null);
    }
    let kept = fields(raw.get())?.into_iter().filter(|(key, _)| labels::ARGUMENTS.contains(&key.as_str()));
    kept.map(|(key, raw)| Some((key, whole(raw)?))).collect::<Option<Map<_, _>>>().map(Value::Object)
}

/// Another block: its text, where it has one.
fn spoken(raw: &RawValue) -> Option<Value> {
    let kept = fields(raw.get())?.into_iter().filter(|(key, raw)| key == "text" || raw.get().len() <= SMALL_BYTES);
    kept.map(|(key, raw)| Some((key, whole(raw)?))).collect::<Option<Map<_, _>>>().map(Value::Object)
}

fn fields(text: &str) -> Option<Fields<'_>> {
    serde_json::from_str(text).ok()
}

fn whole(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_an_event_needs_is_made_values_of() {
        let long = "x".repeat(100_000);
        let record = json!({
            "type": "assistant", "toolUseResult": {"stdout": long},
            "message": {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "input": {"a": long}},
                {"type": "tool_use", "id": "b", "input": {"b": [1, 2], "path": "/a"}},
                {"type": "text", "text": long},
            ]},
        });
        let thin = thin(&record.to_string(), 1).unwrap();
        assert_eq!(thin.input.as_deref(), Some("{\"b\":[1,2],\"path\":\"/a\"}"));
        let blocks = json!([
            {"type": "tool_use", "id": "a"},
            {"type": "tool_use", "id": "b", "input": {"path": "/a"}},
            {"type": "text", "text": long},
        ]);
        assert_eq!(thin.value, json!({"type": "assistant", "message": {"role": "assistant", "content": blocks}}));
    }

    #[test]
    fn what_is_no_usual_record_is_left_to_be_read_whole() {
        for text in ["[]", "{\"message\": 1}", "{\"message\": {\"content\": [", "null"] {
            assert!(thin(text, 0).is_none(), "{text}");
        }
    }
}
