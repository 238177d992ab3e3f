//! Playing a conversation back as lines of JSON.

use serde_json::{Value, json};

use super::line::Kind;
use super::{Message, Transcript};
use crate::formats::replay::last_line;
use crate::store::ReadError;

/// Emits the messages of a step's turn, and between them the compactions and routes; none when there is no such step.
pub fn replay(
    transcript: &Transcript,
    number: u32,
    emit: &mut dyn FnMut(Value) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let Some((step, prompt)) = transcript.session.step(number).zip(transcript.prompt_of(number)) else { return Ok(()) };
    let index = number as usize;
    let from = transcript.prompts.get(index - 1).map_or(0, |message| message + 1);
    let next = transcript.prompts.get(index).copied();
    let to = next.unwrap_or(transcript.messages.len());
    let end = next
        .and_then(|next| transcript.messages.get(next))
        .map_or(transcript.records.len(), |next| next.record as usize);
    let mut messages = transcript.messages.get(from..to).unwrap_or_default().iter().peekable();
    let mut texts = Vec::new();
    for record in prompt.record + 1..u32::try_from(end).unwrap_or(u32::MAX) {
        let kind = transcript.record_of(record).map(|record| record.kind);
        if let Some(message) = messages.next_if(|message| message.record == record) {
            let (event, said) = recorded(transcript, message)?;
            texts.extend(said);
            emit(json!({ "turn": number, "event": event }))?;
        } else if matches!(kind, Some(Kind::ModelSelection | Kind::Compaction)) {
            emit(json!({ "turn": number, "event": value(&transcript.recorded(record)?) }))?;
        }
    }
    emit(last_line(step, &texts, &transcript.session.id))
}

/// A message as it is recorded, and its text where the model said it.
fn recorded(transcript: &Transcript, message: &Message) -> Result<(Value, Option<String>), ReadError> {
    transcript.with_message(message.record, |said| {
        let Some(said) = said else { return (Value::Null, None) };
        let text = Some(said.text()).filter(|text| !said.is_user && !text.is_empty());
        (value(said.raw.get()), text)
    })
}

/// JSON as a value; as text where it is nested too deep to be one.
fn value(recorded: &str) -> Value {
    serde_json::from_str(recorded).unwrap_or_else(|_| Value::from(recorded))
}
