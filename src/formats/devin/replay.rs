//! Playing a session back as lines of JSON.

use serde_json::{Value, json};

use super::message::Role;
use super::steps::AnchorKind;
use super::stored::Stored;
use crate::formats::replay::last_line;
use crate::formats::{ReplayTurn, document};
use crate::model::StepKind;
use crate::store::ReadError;

/// What agents keep for themselves: old contents of files, and what the screen shows of a call.
const PRIVATE: [&str; 3] = ["chisel/undo", "chisel/tool_call_content", "chisel/acp-content-blocks"];

/// The line of one message: as it is without what says where it belongs. Its extensions stay, for results say in them how
/// they ended.
fn event(recorded: &[u8]) -> Value {
    let Some(mut message) = document::parse(recorded).map(|document| document.value) else {
        return Value::String(String::from_utf8_lossy(recorded).into_owned());
    };
    if let Value::Object(fields) = &mut message {
        fields.shift_remove("message_id");
        let extensions = fields.shift_remove("metadata").and_then(|mut metadata| {
            let extensions = metadata.get_mut("extensions")?.as_object_mut()?;
            PRIVATE.iter().for_each(|key| drop(extensions.shift_remove(*key)));
            (!extensions.is_empty()).then(|| Value::Object(std::mem::take(extensions)))
        });
        if let Some(extensions) = extensions {
            fields.insert("extensions".to_owned(), extensions);
        }
    }
    message
}

/// Emits the lines of a step; none when there is no such step.
pub(super) fn replay(
    stored: &Stored,
    step_number: u32,
    emit: &mut dyn FnMut(Value) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let Ok((at, step)) = stored.step(step_number) else { return Ok(()) };
    let Some(anchor) = stored.assembled.anchors.get(at) else { return Ok(()) };
    let next = stored.assembled.anchors.get(at + 1).map_or(stored.assembled.chain.nodes.len(), |next| next.position);
    let start = anchor.position + usize::from(anchor.kind == AnchorKind::Prompt);
    let mut texts = Vec::new();
    for node in (start..next).filter_map(|position| stored.node_at(position)) {
        let line = event(&stored.recorded(node)?);
        if node.role() == Role::Assistant && node.summarized_from.is_none() {
            let text = line.get("content").and_then(Value::as_str).filter(|text| !text.is_empty());
            texts.extend(text.map(str::to_owned));
        }
        emit(json!({"turn": step.number, "event": line}))?;
    }
    emit(last_line(step, &texts, stored.session_id()))
}

/// What of each step another recording can be compared with: its prompt. Questions have none.
pub(super) fn turns(stored: &Stored) -> Result<Vec<ReplayTurn>, ReadError> {
    let steps = stored.assembled.session.steps.iter().enumerate();
    steps
        .map(|(at, step)| {
            let prompt = match step.kind {
                StepKind::Prompt => Some(stored.prompt_of(at, step)?),
                StepKind::QuestionAnswer => None,
            };
            Ok(ReplayTurn { prompt, changes: None })
        })
        .collect()
}
