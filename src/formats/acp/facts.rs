//! What a recording knows of a session and its agent's own store does not: who was asked, what they chose, why it stopped.

use super::recording::Recorded;
use crate::model::{Fact, Marker, Outcome, Place, StepKind, Timestamp};

/// A fact of a recording, for another record of the same session to take over.
#[derive(Clone, Debug)]
pub struct Said {
    /// The client's id of the prompt in whose turn it happened.
    pub user_message_id: Option<String>,
    pub tool_call_id: Option<String>,
    /// Where the recording has it.
    pub node_place: Place,
    pub at: Option<Timestamp>,
    pub fact: Fact,
}

/// Approvals, questions, retries and stop causes, in order.
pub fn facts(recorded: &Recorded) -> Vec<Said> {
    let session = &recorded.session;
    let mut said = Vec::new();
    let mut prompt = None;
    for step in &session.steps {
        if step.kind == StepKind::Prompt {
            prompt = step.user_message_id.as_ref().map(ToString::to_string);
        }
        for event in session.events_of(step) {
            let Some(Marker { fact, at, .. }) = event.marker.as_deref() else { continue };
            // An error that answers another request, such as a refused revert, is nothing that happened in the session.
            if matches!(fact, Fact::Failure { .. }) && step.outcome != Outcome::Failed {
                continue;
            }
            let call = match fact {
                Fact::Approval { tool_call_id, .. } => tool_call_id.clone(),
                Fact::Question { .. } => step.tool_call_id.clone(),
                _ => event.tool.as_ref().and_then(|tool| tool.call_id.clone()),
            };
            said.push(Said {
                user_message_id: prompt.clone(),
                tool_call_id: call,
                node_place: event.place,
                at: *at,
                fact: fact.clone(),
            });
        }
    }
    said
}
