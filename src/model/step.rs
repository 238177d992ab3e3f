//! Steps: the user input boundaries of the active branch.

use std::ops::Range;

use serde::Serialize;

use super::{NodeId, Place, Timestamp, Usage};

/// A user input boundary: the user wrote a prompt, or answered a question. All formats give steps in this shape.
#[derive(Clone, Debug)]
pub struct Step {
    /// From 1, over prompts and questions together.
    pub number: u32,
    pub kind: StepKind,
    pub step_id: NodeId,
    pub user_message_id: Option<NodeId>,
    pub tool_call_id: Option<String>,
    pub question_node_id: Option<NodeId>,
    /// The node the session would end with after a revert of this step.
    pub revert_target: Option<NodeId>,
    /// The last node of a fork of this step.
    pub fork_target: Option<NodeId>,
    /// At most 60 characters of one line.
    pub summary: String,
    pub at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Where the prompt's or question's own text is.
    pub place: Place,
    /// Bytes of the prompt's text.
    pub text_bytes: u32,
    /// How it came in, when not simply typed: `queued`, `command`, `steering`, `handover`, `further pass`.
    pub origin: Option<&'static str>,
    /// Its turn's events, as indices into `Session::events`.
    pub events: Range<usize>,
    /// The last model that served the turn.
    pub model: Option<String>,
    pub usage: Usage,
    pub outcome: Outcome,
    /// Why this step cannot be forked or reverted; `None` when it can.
    pub fork_refusal: Option<String>,
    pub revert_refusal: Option<String>,
}

impl Step {
    /// One of which no more is known than what it is, whose it is and where it stands; its number is still to be given.
    pub fn new(kind: StepKind, step_id: NodeId, place: Place) -> Self {
        Self {
            number: 0,
            kind,
            step_id,
            user_message_id: None,
            tool_call_id: None,
            question_node_id: None,
            revert_target: None,
            fork_target: None,
            summary: String::new(),
            at: None,
            ended_at: None,
            place,
            text_bytes: 0,
            origin: None,
            events: 0..0,
            model: None,
            usage: Usage::default(),
            outcome: Outcome::Unknown,
            fork_refusal: None,
            revert_refusal: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StepKind {
    Prompt,
    QuestionAnswer,
}

impl StepKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::QuestionAnswer => "question",
        }
    }
}

/// How the turn after a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Done,
    Failed,
    Interrupted,
    Pending,
    HandedOver,
    Unknown,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Pending => "pending",
            Self::HandedOver => "handed over",
            Self::Unknown => "unknown",
        }
    }
}
