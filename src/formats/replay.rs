//! What the replays of all formats have in common: the line that ends a turn, and what of steps can be compared.

use serde_json::{Value, json};

use super::ReplayTurn;
use crate::model::{Event, Fact, Outcome, Step, StepKind};
use crate::store::ReadError;

/// The line that ends a step's turn, with what the agent said in it.
pub fn last_line(step: &Step, texts: &[String], conversation: &str) -> Value {
    json!({
        "turn": step.number,
        "usage": step.usage,
        "text": texts.join("\n"),
        "conversation": conversation,
        "interrupted": match step.outcome {
            Outcome::Interrupted => Some(true),
            Outcome::Done => Some(false),
            _ => None,
        },
    })
}

/// The line that ends a turn which failed: its last failure.
pub fn failure_line(step: &Step, events: &[Event]) -> Value {
    let failure = events.iter().rev().find_map(|event| match &event.marker.as_ref()?.fact {
        Fact::Failure { code, message } => Some(json!({ "code": code, "message": message })),
        _ => None,
    });
    json!({ "turn": step.number, "failure": failure })
}

/// What of each step another recording can be compared with: its prompt. Questions have none.
pub fn turns(
    steps: &[Step],
    mut prompt: impl FnMut(&Step) -> Result<String, ReadError>,
) -> Result<Vec<ReplayTurn>, ReadError> {
    let mut turn = |step: &Step| {
        let prompt = match step.kind {
            StepKind::Prompt => Some(prompt(step)?),
            StepKind::QuestionAnswer => None,
        };
        Ok(ReplayTurn { prompt, changes: None })
    };
    steps.iter().map(&mut turn).collect()
}
