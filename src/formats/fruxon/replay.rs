//! Playing a conversation back as lines of JSON.

use serde_json::{Value, json};

use super::events::{Detail, How};
use super::field::spoken;
use super::session::{Conversation, Said};
use crate::formats::ReplayTurn;
use crate::formats::replay::failure_line;
use crate::model::{Event, EventKind, Outcome, StepKind};
use crate::store::ReadError;

/// Keys that say where a message belongs, not what happened; and the steps inside a step, which follow by themselves.
const ENVELOPE: [&str; 7] =
    ["at", "createdAt", "occurredAt", "sessionId", "executionRecordId", "conversationId", "steps"];

/// Emits the lines of a step; none when there is no such step.
pub fn replay(
    conversation: &Conversation,
    number: u32,
    emit: &mut dyn FnMut(Value) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let session = &conversation.session;
    let Some(step) = session.step(number) else { return Ok(()) };
    let events = session.events_of(step);
    let mut texts: Vec<String> = Vec::new();
    for event in events {
        let Some(detail) = conversation.details.get(&event.place) else { continue };
        if event.kind == EventKind::Text {
            texts.push(said(conversation, detail));
        }
        emit(json!({ "turn": number, "event": recorded(conversation, event, detail) }))?;
        for result in detail.more.iter().filter(|_| detail.how == How::ToolFrame) {
            emit(json!({ "turn": number, "event": bare(result.value(&conversation.files)) }))?;
        }
    }
    if step.outcome == Outcome::Failed {
        return emit(failure_line(step, events));
    }
    let interrupted = match step.outcome {
        Outcome::Interrupted => Some(true),
        Outcome::Done | Outcome::HandedOver => Some(false),
        _ => None,
    };
    emit(json!({
        "turn": number,
        "usage": step.usage,
        "text": texts.join("\n"),
        "conversation": session.id,
        "interrupted": interrupted,
    }))
}

fn said(conversation: &Conversation, detail: &Detail) -> String {
    let spots = std::iter::once(&detail.spot).chain(&detail.more);
    spots.map(|spot| spoken(spot.value(&conversation.files)).into_owned()).collect()
}

/// What an event was read from, without its envelope; what was concluded, as its marker.
fn recorded(conversation: &Conversation, event: &Event, detail: &Detail) -> Value {
    let value = detail.spot.value(&conversation.files);
    match (detail.how, value) {
        (How::Note, _) => json!({ "kind": event.kind, "label": event.label, "marker": event.marker }),
        (How::Raw, _) => json!({ "kind": event.kind, "label": event.label }),
        (_, Value::Object(_)) => bare(value),
        (..) => json!({ "kind": event.kind, "text": said(conversation, detail) }),
    }
}

/// A record without its envelope.
fn bare(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let kept = fields.iter().filter(|(key, _)| !ENVELOPE.contains(&key.as_str()));
    Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// What of each step another recording can be compared with: its prompt, where a file holds it.
pub fn turns(conversation: &Conversation) -> Vec<ReplayTurn> {
    let steps = conversation.session.steps.iter().zip(&conversation.said);
    steps
        .map(|(step, said)| {
            let is_prompt = step.kind == StepKind::Prompt && matches!(said, Said::At(_));
            ReplayTurn { prompt: is_prompt.then(|| conversation.prompt_text(step.number)), changes: None }
        })
        .collect()
}
