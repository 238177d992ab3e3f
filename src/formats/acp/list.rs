//! The agent's own list of steps, from Devin's revert extension. Where there is one, it wins.

use serde_json::Value;

use super::asks::list;
use super::builder::Draft;
use super::route::text;
use crate::formats::labels::marker_text;
use crate::model::{NodeId, StepKind, summarise};

/// Steps of one list; a session has fewer.
const MAX_STEPS: usize = 100_000;

/// One entry of the list. Missing fields are null.
#[derive(Clone, Debug)]
pub struct AgentStep {
    pub kind: StepKind,
    pub step_id: Option<String>,
    pub user_message_id: Option<String>,
    pub call_id: Option<String>,
    pub question_node: Option<NodeId>,
    pub revert_target: Option<NodeId>,
    pub fork_target: Option<NodeId>,
    pub summary: String,
}

/// The entries of `steps` in a message.
pub fn steps_of(told: &Value) -> Option<Vec<AgentStep>> {
    told.get("steps")?.as_array()?;
    Some(list(told, "steps").iter().take(MAX_STEPS).filter(|step| step.is_object()).map(step).collect())
}

fn step(told: &Value) -> AgentStep {
    let node = |key: &str| match told.get(key)? {
        Value::Number(number) => number.as_u64().map(NodeId::Number),
        Value::String(text) => Some(NodeId::Text(marker_text(text).into())),
        _ => None,
    };
    let words = |key: &str| text(told, key).map(marker_text);
    AgentStep {
        // The set of kinds is open; what is no question is shown like a prompt.
        kind: if text(told, "kind") == Some("questionAnswer") { StepKind::QuestionAnswer } else { StepKind::Prompt },
        step_id: words("stepId"),
        user_message_id: words("userMessageId"),
        call_id: words("toolCallId"),
        question_node: node("questionNodeId"),
        revert_target: node("revertTargetNodeId"),
        fork_target: node("forkTargetNodeId"),
        summary: summarise(text(told, "summary").unwrap_or_default()),
    }
}

/// Whether an entry means this step: by its message, by its call, else by what it says.
pub fn matches(step: &AgentStep, draft: &Draft) -> bool {
    if step.kind != draft.kind {
        return false;
    }
    match draft.kind {
        StepKind::Prompt => match (&step.step_id, &draft.message_id) {
            (Some(listed), Some(own)) => listed == own || step.user_message_id.as_ref() == Some(own),
            _ => step.summary == draft.summary,
        },
        StepKind::QuestionAnswer => match (&step.call_id, &draft.call_id) {
            (Some(listed), Some(own)) => listed == own,
            _ => step.summary == draft.summary,
        },
    }
}
