//! What became of a tool call, by its recorded state and its result.

use serde::Deserialize;

use super::message::ToolResult;
use super::recorded::{Exit, boxed, object};
use crate::formats::lenient::{Flag, List, Object, Text};

/// The recorded state of a call, which only newer versions keep.
#[derive(Clone, Debug, Default)]
pub(super) struct CallState {
    pub title: Option<Box<str>>,
    is_rejected: bool,
    is_cancelled: bool,
    status: Option<Box<str>>,
    exit_code: Option<i64>,
    /// The start of what the call came to, in words.
    pub text: Option<Box<str>>,
}

/// What became of a call. How one that ran was allowed is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Rejected,
    Cancelled,
    /// A policy refused it.
    Blocked,
    /// It waits, or nobody wrote down what became of it.
    Pending,
    Failed,
    Ran,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RecordedCall<'a> {
    #[serde(borrow)]
    title: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Update<'a> {
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(rename = "_meta")]
    meta: Object<Meta>,
    #[serde(borrow)]
    content: List<Object<Content<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Meta {
    #[serde(rename = "cognition.ai/rejected")]
    rejected: Flag,
    #[serde(rename = "cognition.ai/canceled")]
    canceled: Flag,
    terminal_exit: Object<Exit>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Content<'a> {
    #[serde(borrow)]
    content: Object<Block<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    text: Text<'a>,
}

impl CallState {
    /// Reads the call and its last update; `None` when what is there is no object.
    pub fn read(call: Option<&str>, update: Option<&str>) -> Option<Self> {
        let mut state = Self::default();
        let mut spare = String::new();
        if let Some(call) = call.filter(|text| *text != "null") {
            state.title = boxed(&object::<RecordedCall>(call, &mut spare)?.0.title);
        }
        let mut spare = String::new();
        if let Some(update) = update.filter(|text| *text != "null") {
            let (update, _) = object::<Update>(update, &mut spare)?;
            let meta = update.meta.0.unwrap_or_default();
            state.is_rejected = meta.rejected.0;
            state.is_cancelled = meta.canceled.0;
            state.exit_code = meta.terminal_exit.0.and_then(|exit| exit.code());
            state.status = boxed(&update.status).filter(|status| !status.is_empty());
            let text =
                update.content.0.iter().find_map(|content| content.0.as_ref()?.content.0.as_ref()?.text.as_str());
            state.text = text.map(crate::formats::labels::line);
        }
        Some(state)
    }
}

/// What became of a call; the first test that holds decides.
pub(super) fn fate(state: Option<&CallState>, result: Option<&ToolResult>) -> Fate {
    let status = state.and_then(|state| state.status.as_deref());
    let failure = result.and_then(|result| result.failure.as_deref());
    if state.is_some_and(|state| state.is_rejected) {
        Fate::Rejected
    } else if state.is_some_and(|state| state.is_cancelled) || failure == Some("Canceled") {
        Fate::Cancelled
    } else if failure == Some("Blocked") {
        Fate::Blocked
    } else if result.is_none() && status.is_none_or(|status| matches!(status, "pending" | "in_progress")) {
        Fate::Pending
    } else if failure.is_some() || status == Some("failed") {
        Fate::Failed
    } else {
        Fate::Ran
    }
}

/// The exit code of a command.
pub(super) fn exit_code(state: Option<&CallState>, result: Option<&ToolResult>) -> Option<i64> {
    state.and_then(|state| state.exit_code).or_else(|| result?.exit_code)
}
