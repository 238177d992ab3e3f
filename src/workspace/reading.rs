//! Reads the texts of a recording, away from the window's thread: made ready for drawing, or as they go to the clipboard.

use std::borrow::Cow;
use std::sync::Arc;

use super::bodies::{Slot, TextKey};
use super::picture::Picture;
use super::text::{Encoded, EventText, Form, TextPart, as_text, indented};
use crate::formats::Recording;
use crate::model::Event;
use crate::store::ReadError;

/// Reads what a key names and makes it ready; `None` when `is_wanted` says in between that nobody waits for it any more.
pub fn read(recording: &dyn Recording, key: TextKey, is_wanted: &dyn Fn() -> bool) -> Result<Option<Slot>, ReadError> {
    if let TextKey::Image { event, attachment } = key {
        let Some(event) = recording.session().events.get(event) else { return Ok(None) };
        let image = recording.image(&event, attachment)?;
        return Ok(is_wanted().then(|| picture(image)));
    }
    let text = read_text(recording, key, is_wanted)?;
    Ok(text.map(|text| Slot::Ready(Arc::new(text))))
}

fn picture(image: Option<String>) -> Slot {
    let picture = image.map_or_else(|| Err("it is not kept in the file".to_owned()), |image| Picture::decode(&image));
    match picture {
        Ok(picture) => Slot::Picture(Arc::new(picture)),
        Err(sentence) => Slot::Failed(sentence.into()),
    }
}

fn read_text(
    recording: &dyn Recording,
    key: TextKey,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Option<EventText>, ReadError> {
    let plain = |text: String| is_wanted().then(|| EventText::plain(text));
    match key {
        TextKey::Prompt(_) | TextKey::AsRecorded(_) | TextKey::Input(_) => {
            written(recording, key, TextPart::Text).map(plain)
        }
        TextKey::Raw(place) => {
            let bytes = recording.raw(place)?;
            Ok(is_wanted().then(|| EventText::raw(bytes)))
        }
        TextKey::IndentedOutput(_) => {
            let output = written(recording, key, TextPart::Output)?;
            Ok(plain(indented(&output, Encoded::Named).unwrap_or(output)))
        }
        TextKey::Event(_) | TextKey::OfAgent { .. } | TextKey::Image { .. } => {
            let Some(event) = event_of(recording, key) else { return Ok(Some(EventText::default())) };
            let body = recording.body(&event)?;
            Ok(is_wanted().then(|| EventText::prepare(&event, body)))
        }
    }
}

/// A text as it is recorded; empty where there is none. A form shows what is in the input.
fn written(recording: &dyn Recording, key: TextKey, part: TextPart) -> Result<String, ReadError> {
    match key {
        TextKey::Prompt(number) => return recording.prompt(number),
        TextKey::Raw(place) | TextKey::AsRecorded(place) => return recording.raw(place).map(as_text),
        _ => {}
    }
    let Some(event) = event_of(recording, key) else { return Ok(String::new()) };
    let body = recording.body(&event)?;
    Ok(match (key, part) {
        (TextKey::Input(_), _) | (_, TextPart::Input | TextPart::Form) => body.input.unwrap_or_default(),
        (TextKey::IndentedOutput(_), _) | (_, TextPart::Output) => body.output.unwrap_or_default(),
        (_, TextPart::Text) => body.text,
    })
}

fn event_of(recording: &dyn Recording, key: TextKey) -> Option<Cow<'_, Event>> {
    let session = recording.session();
    match key {
        TextKey::Event(index)
        | TextKey::Input(index)
        | TextKey::IndentedOutput(index)
        | TextKey::Image { event: index, .. } => session.events.get(index),
        TextKey::OfAgent { agent, event } => session.subagents.get(agent as usize)?.events.get(event as usize),
        TextKey::Prompt(_) | TextKey::Raw(_) | TextKey::AsRecorded(_) => None,
    }
}

/// A text as it goes to the clipboard: as it was recorded, with nothing of it left out. `held` is what is at hand of it.
pub fn to_copy(
    recording: &dyn Recording,
    key: TextKey,
    part: TextPart,
    held: Option<Arc<EventText>>,
) -> Result<String, ReadError> {
    let whole = |json: String| indented(&json, Encoded::Whole).unwrap_or(json);
    let held = held.as_deref();
    let is_json = || held.and_then(|text| text.tool.as_ref()).is_some_and(|tool| matches!(tool.form, Form::Json(_)));
    match (key, part) {
        // What is drawn of JSON may leave long Base64 out.
        (TextKey::Raw(place), _) => recording.raw(place).map(as_text).map(whole),
        (TextKey::IndentedOutput(_), _) => written(recording, key, TextPart::Output).map(whole),
        (TextKey::Event(_), TextPart::Form) if is_json() => written(recording, key, TextPart::Input).map(whole),
        _ => match held.and_then(|text| text.part(part)) {
            Some(text) => Ok(text.original().to_owned()),
            None => written(recording, key, part),
        },
    }
}

/// What was copied, in a word.
pub fn word(key: TextKey, part: TextPart) -> &'static str {
    match (key, part) {
        (TextKey::Prompt(_), _) => "Prompt",
        (TextKey::Raw(_) | TextKey::AsRecorded(_), _) => "Record",
        (TextKey::Input(_), _) | (_, TextPart::Input | TextPart::Form) => "Input",
        (TextKey::IndentedOutput(_), _) | (_, TextPart::Output) => "Output",
        _ => "Text",
    }
}
