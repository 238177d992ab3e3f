//! One message of a session, as its row holds it: what is kept of it in memory, and the whole of it when it is read
//! again.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::question::{self, Asked};
use crate::formats::document;
use crate::formats::json;
use crate::formats::labels::line;
use crate::formats::lenient::{Count, Flag, List, Object, Text};
use crate::model::{Timestamp, Usage};

/// Calls, images and answers of one message that are looked at: no message has more.
const MAX_PARTS: usize = 1000;

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
    Tool,
    /// A role that this reader does not know.
    #[default]
    Other,
}

/// What is kept of a message.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    /// The same for every copy of the message, over nodes and over forks.
    pub id: Option<Box<str>>,
    pub role: Role,
    pub at: Option<Timestamp>,
    /// The start of `content` as one line; empty when that is blank.
    pub label: Box<str>,
    pub bytes: u32,
    /// One line and the bytes of what was thought before it.
    pub thinking: Option<(Box<str>, u32)>,
    pub calls: Box<[Call]>,
    /// What wrote it: `user`, `cache_keepalive`, `tool_result`.
    pub source: Option<Box<str>>,
    pub user: Option<Box<Prompt>>,
    pub reply: Option<Box<Reply>>,
    pub result: Option<Box<ToolResult>>,
    pub images: u16,
    /// What compacted the history, on the message that tells the agent so.
    pub summary_source: Option<Box<str>>,
}

/// What only messages of the role `user` have.
#[derive(Clone, Debug, Default)]
pub(super) struct Prompt {
    pub is_input: Option<bool>,
    pub client_id: Option<Box<str>>,
    /// It was written for a subagent.
    pub is_handoff: bool,
}

/// What only messages of the role `assistant` have.
#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub model: Option<Box<str>>,
    pub usage: Usage,
    pub has_usage: bool,
    pub finish_reason: Option<Box<str>>,
}

/// A tool call.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub id: Option<Box<str>>,
    pub name: Box<str>,
    /// Its main argument.
    pub label: Box<str>,
    pub bytes: u32,
    /// What it asks the user; empty for all tools but one.
    pub asked: Box<[Asked]>,
}

/// What only messages of the role `tool` have.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolResult {
    pub call_id: Option<Box<str>>,
    /// `Canceled`, `Blocked`, `ValidationError`.
    pub failure: Option<Box<str>>,
    pub exit_code: Option<i64>,
    pub duration_ms: Option<i64>,
    /// What the user chose, by the number of the question in its call; `None` for all tools but one.
    pub answers: Option<Vec<(u32, Vec<String>)>>,
    /// There is something to undo.
    pub has_undo: bool,
    pub agent: Option<Agent>,
}

/// The subagent that a call ran.
#[derive(Clone, Debug, Default)]
pub(super) struct Agent {
    pub id: Option<String>,
    pub head: Option<i64>,
    pub profile: Option<String>,
}

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
    group_title: Text<'a>,
    kind: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Telemetry<'a> {
    #[serde(borrow)]
    source: Text<'a>,
}

/// The keys are flat strings with a slash in them.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Extensions<'a> {
    #[serde(borrow, rename = "chisel/client-message-id")]
    client_message_id: Text<'a>,
    #[serde(borrow, rename = "chisel/acp-content-blocks")]
    pub blocks: Option<&'a RawValue>,
    #[serde(borrow, rename = "subagent/handoff")]
    handoff: Option<&'a RawValue>,
    #[serde(rename = "chisel/tool_call_timing")]
    timing: Object<Timing>,
    #[serde(rename = "chisel/terminal_output")]
    terminal: Object<Terminal>,
    #[serde(borrow, rename = "chisel/tool_failure")]
    failure: Object<Failure<'a>>,
    #[serde(rename = "chisel/user_question_answers")]
    answers: Option<Value>,
    #[serde(borrow, rename = "chisel/undo")]
    pub undo: Option<&'a RawValue>,
    #[serde(borrow, rename = "subagent/agent_id")]
    agent_id: Text<'a>,
    #[serde(rename = "subagent/chain_node_id")]
    chain_node_id: Option<Lax<i64>>,
    #[serde(borrow, rename = "subagent/profile_name")]
    profile_name: Text<'a>,
    #[serde(borrow, rename = "devin-rs/summary")]
    summary: Object<Summary<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Timing {
    duration_ms: Option<Lax<i64>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Terminal {
    exit: Object<Exit>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Exit {
    exit_code: Option<Lax<i64>>,
}

impl Exit {
    pub fn code(&self) -> Option<i64> {
        self.exit_code.as_ref()?.0
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Failure<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Summary<'a> {
    #[serde(borrow)]
    source: Text<'a>,
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

fn time(text: &Text<'_>) -> Option<Timestamp> {
    text.as_str().and_then(Timestamp::parse)
}

pub(super) fn bytes_of(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

impl Recorded<'_> {
    fn role(&self) -> Role {
        match self.role.or_empty() {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => Role::Other,
        }
    }

    /// What is kept of it.
    pub fn envelope(&self) -> Message {
        let nothing = Metadata::default();
        let metadata = self.metadata.0.as_ref().unwrap_or(&nothing);
        let none = Extensions::default();
        let extensions = metadata.extensions.0.as_ref().unwrap_or(&none);
        let role = self.role();
        let thought = self.thinking.0.as_ref().map_or("", |thinking| thinking.thinking.or_empty());
        Message {
            id: boxed(&self.message_id),
            role,
            at: time(&metadata.created_at),
            label: line(self.content.or_empty()),
            bytes: bytes_of(self.content.or_empty()),
            thinking: (!thought.trim().is_empty()).then(|| (line(thought), bytes_of(thought))),
            calls: self.calls().map(envelope_of_call).collect(),
            source: metadata.telemetry.0.as_ref().and_then(|telemetry| boxed(&telemetry.source)),
            user: (role == Role::User).then(|| {
                Box::new(Prompt {
                    is_input: metadata.is_user_input.as_ref().and_then(|flag| flag.0),
                    client_id: boxed(&extensions.client_message_id).filter(|id| !id.is_empty()),
                    is_handoff: extensions.handoff.is_some_and(|raw| !matches!(raw.get(), "null" | "false")),
                })
            }),
            reply: (role == Role::Assistant).then(|| Box::new(reply(metadata))),
            result: (role == Role::Tool).then(|| Box::new(result(self, extensions))),
            images: u16::try_from(self.images.0.len()).unwrap_or(u16::MAX),
            summary_source: extensions.summary.0.as_ref().map(|summary| summary.source.or_empty().into()),
        }
    }

    pub fn calls(&self) -> impl Iterator<Item = &RecordedCall<'_>> {
        self.tool_calls.0.iter().filter_map(|call| call.0.as_ref()).take(MAX_PARTS)
    }

    pub fn extensions(&self) -> Option<&Extensions<'_>> {
        self.metadata.0.as_ref()?.extensions.0.as_ref()
    }
}

fn reply(metadata: &Metadata<'_>) -> Reply {
    let served = || {
        let dimensions = metadata.response_dimensions.0.iter().filter_map(|dimension| dimension.0.as_ref());
        let model = dimensions.filter(|dimension| dimension.group_title.is("Model")).find_map(|dimension| {
            let kind = dimension.kind.as_ref()?;
            kind.get("Metric")?.get("value")?.as_str()
        });
        model.map(Into::into)
    };
    let metrics = metadata.metrics.0.as_ref();
    Reply {
        model: boxed(&metadata.generation_model).filter(|model| !model.is_empty()).or_else(served),
        usage: metrics.map_or_else(Usage::default, |metrics| Usage {
            input: metrics.input_tokens.0,
            output: metrics.output_tokens.0,
            cache_read: metrics.cache_read_tokens.0,
            cache_write: metrics.cache_creation_tokens.0,
            reasoning: None,
            cost: None,
        }),
        has_usage: metrics.is_some(),
        finish_reason: boxed(&metadata.finish_reason),
    }
}

fn result(recorded: &Recorded<'_>, extensions: &Extensions<'_>) -> ToolResult {
    let timing = extensions.timing.0.as_ref();
    let head = extensions.chain_node_id.as_ref().and_then(|head| head.0);
    let id = extensions.agent_id.to_owned_option();
    ToolResult {
        call_id: boxed(&recorded.tool_call_id),
        failure: extensions.failure.0.as_ref().map(|failure| failure.reason.or_empty().into()),
        exit_code: extensions.terminal.0.as_ref().and_then(|terminal| terminal.exit.0.as_ref()?.code()),
        // A clock that went back makes no duration.
        duration_ms: timing.and_then(|timing| timing.duration_ms.as_ref()?.0).filter(|duration| *duration >= 0),
        answers: extensions.answers.as_ref().filter(|answers| !answers.is_null()).map(question::answers),
        has_undo: extensions.undo.is_some_and(|raw| raw.get().starts_with('[') && raw.get() != "[]"),
        agent: (id.is_some() || head.is_some()).then(|| Agent {
            id,
            head,
            profile: extensions.profile_name.to_owned_option(),
        }),
    }
}

fn envelope_of_call(call: &RecordedCall<'_>) -> Call {
    let arguments = call.arguments();
    let value: Option<Value> =
        (arguments.len() <= MAX_LABEL_SOURCE).then(|| serde_json::from_str(&arguments).ok()).flatten();
    let asked = if call.name.is(question::TOOL) { question::asked(&arguments) } else { Vec::new() };
    let label = value.as_ref().and_then(main_argument).unwrap_or(&arguments);
    Call {
        id: boxed(&call.id),
        name: call.name.or_empty().into(),
        label: line(label),
        bytes: bytes_of(&arguments),
        asked: asked.into(),
    }
}

/// Arguments longer than this are labelled by their start.
const MAX_LABEL_SOURCE: usize = 1024 * 1024;

/// The argument that tells most of what a call does.
fn main_argument(arguments: &Value) -> Option<&str> {
    const NAMES: [&str; 10] =
        ["command", "file_path", "path", "pattern", "query", "title", "task", "url", "name", "description"];
    NAMES.iter().find_map(|name| arguments.get(name)?.as_str()).filter(|text| !text.trim().is_empty())
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
