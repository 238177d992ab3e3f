//! Events: the things that happened inside a turn. They say where their text is, they do not hold it.

use serde::Serialize;

use super::{Marker, NodeId, Timestamp};

/// One thing inside a turn.
#[derive(Clone, Debug)]
pub struct Event {
    pub kind: EventKind,
    /// The system's own id of the record that holds it.
    pub node: NodeId,
    pub at: Option<Timestamp>,
    /// How long it took, where that is recorded or follows from the times of call and result.
    pub duration_ms: Option<i64>,
    /// The record it was read from; its text is read again from there.
    pub place: Place,
    /// One line that stands for it: the start of a text, a tool call's main argument. At most 160 characters.
    pub label: Box<str>,
    /// Bytes of text behind it, as a first guess of how tall it will be. 0 when there is nothing to open.
    pub text_bytes: u32,
    pub tool: Option<Box<Tool>>,
    pub marker: Option<Box<Marker>>,
    /// Shown inside the row of the tool call with the same call id before it (an approval, a result), not in a row of its own.
    pub folded: bool,
}

impl Event {
    /// One of which no more is known than what it is, whose it is and where it stands.
    pub fn new(kind: EventKind, node: NodeId, place: Place, label: Box<str>) -> Self {
        Self {
            kind,
            node,
            at: None,
            duration_ms: None,
            place,
            label,
            text_bytes: 0,
            tool: None,
            marker: None,
            folded: false,
        }
    }

    /// Whether it carries a marker that an operator would stop at.
    pub fn is_marked(&self) -> bool {
        self.marker.as_deref().is_some_and(|marker| !marker.is_quiet())
    }
}

/// Which record of which file, and which block of it, an event was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// 0 is the opened file; others are files that belong to it, such as a subagent's.
    pub file: u16,
    /// Number of the record in its file, from 0.
    pub record: u32,
    /// Number of the content block in the record, from 0.
    pub block: u16,
}

impl Place {
    /// The block of events that a reader adds beside those that the format counts as the turn's own, such as the
    /// commits at a turn's end.
    pub const EXTRA: u16 = u16::MAX;

    pub fn is_extra(self) -> bool {
        self.block == Self::EXTRA
    }
}

/// A tool call's identity and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    pub name: String,
    pub call_id: Option<String>,
    pub state: ToolState,
    /// Where the result is, when there is one.
    pub result: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolState {
    /// No result is recorded.
    Pending,
    Done,
    Failed,
    /// It never ran: a person or a rule refused it.
    Denied,
}

impl ToolState {
    /// Whether its result is an error; `None` while there is no result.
    pub fn is_error(self) -> Option<bool> {
        match self {
            Self::Pending => None,
            Self::Done => Some(false),
            Self::Failed | Self::Denied => Some(true),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EventKind {
    Text,
    Thinking,
    Tool,
    /// A result that is an entry of its own, or whose call is not in the file.
    ToolResult,
    Question,
    Approval,
    Fallback,
    Retry,
    Failure,
    Quota,
    Interruption,
    Steering,
    Commits,
    FileChange,
    Compaction,
    Subagent,
    /// A classifier's decision about routing; not a person's.
    Decision,
    /// Something the agent or its harness noted.
    Notice,
    /// A kind that this reader does not know; kept and shown as recorded.
    Unknown,
    /// A record that could not be read; shown with its place in the file.
    Unreadable,
}

impl EventKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Tool => "tool call",
            Self::ToolResult => "tool result",
            Self::Question => "question",
            Self::Approval => "approval",
            Self::Fallback => "fallback",
            Self::Retry => "retry",
            Self::Failure => "failure",
            Self::Quota => "quota",
            Self::Interruption => "interruption",
            Self::Steering => "steering",
            Self::Commits => "commits",
            Self::FileChange => "file change",
            Self::Compaction => "compaction",
            Self::Subagent => "subagent",
            Self::Decision => "decision",
            Self::Notice => "notice",
            Self::Unknown => "unknown",
            Self::Unreadable => "unreadable",
        }
    }
}
