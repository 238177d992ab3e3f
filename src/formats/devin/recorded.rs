//! Messages and rows as they are recorded: wrong types are absent, what is no JSON is mended where it can be.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::formats::document;
use crate::formats::json;
use crate::formats::lenient::{Count, Flag, List, Object, Text};
use crate::model::Timestamp;

/// A message as it is recorded.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Recorded<'a> {
    #[serde(borrow)]
    pub message_id: Text<'a>,
    #[serde(borrow)]
    pub role: Text<'a>,
    #[serde(borrow)]
    pub content: Text<'a>,
    #[serde(borrow)]
    pub tool_calls: List<Object<RecordedCall<'a>>>,
    #[serde(borrow)]
    pub thinking: Object<Thinking<'a>>,
    #[serde(borrow)]
    pub tool_call_id: Text<'a>,
    pub images: List<serde::de::IgnoredAny>,
    #[serde(borrow)]
    pub metadata: Object<Metadata<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct RecordedCall<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Thinking<'a> {
    #[serde(borrow)]
    pub thinking: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Metadata<'a> {
    pub is_user_input: Option<Lax<bool>>,
    pub metrics: Object<Metrics>,
    #[serde(borrow)]
    pub finish_reason: Text<'a>,
    #[serde(borrow)]
    pub extensions: Object<Extensions<'a>>,
    #[serde(borrow)]
    pub created_at: Text<'a>,
    #[serde(borrow)]
    pub generation_model: Text<'a>,
    #[serde(borrow)]
    pub response_dimensions: List<Object<Dimension<'a>>>,
    #[serde(borrow)]
    pub telemetry: Object<Telemetry<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Metrics {
    pub input_tokens: Count,
    pub output_tokens: Count,
    pub cache_read_tokens: Count,
    pub cache_creation_tokens: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Dimension<'a> {
    #[serde(borrow)]
    pub group_title: Text<'a>,
    pub kind: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Telemetry<'a> {
    #[serde(borrow)]
    pub source: Text<'a>,
}

/// The keys are flat strings with a slash in them.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Extensions<'a> {
    #[serde(borrow, rename = "chisel/client-message-id")]
    pub client_message_id: Text<'a>,
    #[serde(borrow, rename = "chisel/acp-content-blocks")]
    pub blocks: Option<&'a RawValue>,
    #[serde(borrow, rename = "subagent/handoff")]
    pub handoff: Option<&'a RawValue>,
    #[serde(rename = "chisel/tool_call_timing")]
    pub timing: Object<Timing>,
    #[serde(rename = "chisel/terminal_output")]
    pub terminal: Object<Terminal>,
    #[serde(borrow, rename = "chisel/tool_failure")]
    pub failure: Object<Failure<'a>>,
    #[serde(rename = "chisel/user_question_answers")]
    pub answers: Option<Value>,
    #[serde(borrow, rename = "chisel/undo")]
    pub undo: Option<&'a RawValue>,
    #[serde(borrow, rename = "subagent/agent_id")]
    pub agent_id: Text<'a>,
    #[serde(rename = "subagent/chain_node_id")]
    pub chain_node_id: Option<Lax<i64>>,
    #[serde(borrow, rename = "subagent/profile_name")]
    pub profile_name: Text<'a>,
    #[serde(borrow, rename = "devin-rs/summary")]
    pub summary: Object<Summary<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Timing {
    pub duration_ms: Option<Lax<i64>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Terminal {
    pub exit: Object<Exit>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Exit {
    pub exit_code: Option<Lax<i64>>,
}

impl Exit {
    pub fn code(&self) -> Option<i64> {
        self.exit_code.as_ref()?.0
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Failure<'a> {
    #[serde(borrow)]
    pub reason: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Summary<'a> {
    #[serde(borrow)]
    pub source: Text<'a>,
}

/// A value of the expected type; anything else is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lax<T>(pub Option<T>);

impl<'de> Deserialize<'de> for Lax<bool> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self(value.as_bool()))
    }
}

impl<'de> Deserialize<'de> for Lax<i64> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self(value.as_i64()))
    }
}

/// Reads an object as `T`, and says what had to be done for it: numbers that JSON does not have, keys told twice, a
/// document that was put into a string once more. `None` when that is no object.
pub(super) fn object<'a, T: Deserialize<'a>>(
    text: &'a str,
    spare: &'a mut String,
) -> Option<(T, Option<&'static str>)> {
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Some((value, None));
    }
    let repair = mend(text, spare)?;
    Some((serde_json::from_str(spare).ok()?, Some(repair)))
}

/// Puts the object that `text` was meant to be into `spare`.
fn mend(text: &str, spare: &mut String) -> Option<&'static str> {
    let mut document = document::parse(text.as_bytes())?;
    let mut repair = "the message was read after a repair: numbers, characters or doubled keys that JSON does not have";
    if let Value::String(inner) = &document.value {
        document = document::parse(inner.as_bytes())?;
        repair = "the message is JSON inside a string of JSON";
    }
    let is_whole = document.flaw.is_none_or(|flaw| flaw == document::Flaw::Mended);
    if !document.value.is_object() || !is_whole {
        return None;
    }
    *spare = document.value.to_string();
    Some(repair)
}

pub(super) fn boxed(text: &Text<'_>) -> Option<Box<str>> {
    text.as_str().map(Into::into)
}

pub(super) fn time(text: &Text<'_>) -> Option<Timestamp> {
    text.as_str().and_then(Timestamp::parse)
}

pub(super) fn bytes_of(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

impl RecordedCall<'_> {
    /// Its arguments as JSON, which may be recorded as a string of JSON.
    pub fn arguments(&self) -> Cow<'_, str> {
        let Some(raw) = self.arguments else { return Cow::Borrowed("{}") };
        match json::string(raw) {
            Some(text) => Cow::Owned(text),
            None => Cow::Borrowed(raw.get()),
        }
    }
}

/// What a node's own row says beside the message.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct RowMetadata {
    pub summarized_from: Option<Lax<i64>>,
    pub is_system_prefix: Flag,
    pub num_tokens_preceding: Count,
}
