//! What is kept of a message in memory; the whole of it is read again when it is wanted.

use serde_json::Value;

use super::question::{self, Asked};
use super::recorded::{Extensions, Metadata, Recorded, RecordedCall, boxed, bytes_of, time};
use crate::formats::labels::line;
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
