//! Playing a session back as lines of JSON.

use serde_json::{Value, json};

use super::Transcript;
use super::index::{Index, Role, What};
use super::steps::Mark;
use crate::formats::{ReplayTurn, replay};
use crate::model::{EventKind, Fact, Outcome, Place, Step, StepKind};
use crate::store::ReadError;

/// Keys that say where a record belongs, not what happened.
const ENVELOPE: [&str; 16] = [
    "uuid",
    "parentUuid",
    "logicalParentUuid",
    "timestamp",
    "sessionId",
    "session_id",
    "isSidechain",
    "userType",
    "entrypoint",
    "cwd",
    "gitBranch",
    "version",
    "slug",
    "promptId",
    "requestId",
    "forkedFrom",
];

/// The line of one record: the record as it is without its envelope.
pub(super) fn event(mut record: Value) -> Value {
    if let Value::Object(fields) = &mut record {
        for key in ENVELOPE {
            fields.shift_remove(key);
        }
    }
    record
}

/// Emits the lines of a step; none when there is no such step.
pub(super) fn replay(
    transcript: &Transcript,
    step_number: u32,
    emit: &mut dyn FnMut(Value) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let assembled = &transcript.assembled;
    let Ok(at) = transcript.place_of(step_number) else { return Ok(()) };
    let (Some(step), Some(mark)) = (assembled.session.steps.get(at), assembled.marks.get(at)) else { return Ok(()) };
    let end = u32::try_from(assembled.walk.chain.len()).unwrap_or(u32::MAX);
    let next = assembled.marks.get(at + 1).map_or(end, |mark| mark.position);
    let texts = turn(transcript, step, mark, next, emit)?;
    emit(last_line(transcript, step, &texts))
}

/// Emits the records of a turn and gives the agent's texts in it.
fn turn(
    transcript: &Transcript,
    step: &Step,
    mark: &Mark,
    next: u32,
    emit: &mut dyn FnMut(Value) -> Result<(), ReadError>,
) -> Result<Vec<String>, ReadError> {
    let (index, walk) = (&transcript.index, &transcript.assembled.walk);
    let mut texts = Vec::new();
    for stop in walk.stops_in(mark.position..next) {
        let Some(record) = index.record(stop.record) else { continue };
        let is_prompt = stop.record == mark.record && step.kind == StepKind::Prompt;
        if is_prompt || !matches!(record.role, Role::User | Role::Assistant | Role::System) {
            continue;
        }
        let read = transcript.read(Place { file: 0, record: stop.record, block: 0 })?;
        if record.role == Role::Assistant {
            collect_texts(index, stop.record, &read.value, &mut texts);
        }
        let value = if read.value.is_null() { Value::String(read.raw) } else { event(read.value) };
        emit(json!({"turn": step.number, "event": value}))?;
    }
    Ok(texts)
}

fn collect_texts(index: &Index, record: u32, value: &Value, texts: &mut Vec<String>) {
    let content = value.get("message").and_then(|message| message.get("content"));
    for (_, piece) in index.pieces_of(record).filter(|(_, piece)| matches!(piece.what, What::Text)) {
        let text = match content {
            Some(Value::String(text)) => Some(text.as_str()),
            Some(content) => {
                let block = content.get(usize::from(piece.block));
                block.and_then(|block| block.as_str().or_else(|| block.get("text").and_then(Value::as_str)))
            }
            None => None,
        };
        texts.extend(text.map(str::to_owned));
    }
}

/// The line that ends a turn.
fn last_line(transcript: &Transcript, step: &Step, texts: &[String]) -> Value {
    let session = &transcript.assembled.session;
    if step.outcome == Outcome::Failed {
        let failed = |kind| session.events.marked(step.events.clone()).rev().filter(move |event| event.kind == kind);
        // Without an answer that says so the last failed request is what the step failed with.
        let failure = failed(EventKind::Failure).chain(failed(EventKind::Retry)).find_map(|event| {
            match &event.marker.as_ref()?.fact {
                Fact::Failure { code, message } => Some(json!({"code": code, "message": message})),
                Fact::Retry { status, message, .. } => {
                    Some(json!({"code": status.map(|status| status.to_string()), "message": message}))
                }
                _ => None,
            }
        });
        return json!({"turn": step.number, "failure": failure});
    }
    replay::last_line(step, texts, &session.id)
}

/// What of each step another recording can be compared with: its prompt. Questions have none.
pub(super) fn turns(transcript: &Transcript) -> Result<Vec<ReplayTurn>, ReadError> {
    replay::turns(&transcript.assembled.session.steps, |step| transcript.prompt_of(step))
}
