//! The texts behind events and steps, read from the file again when somebody wants to see them.

use serde_json::Value;

use super::index::{Index, Role, What};
use super::labels;
use super::prompt::{Spoken, classify, command};
use super::{question, thin};
use crate::formats::image::{ImageHead, decoded_bytes};
use crate::formats::labels::line;
use crate::formats::record::start_text;
use crate::formats::{Body, json};
use crate::model::{Event, EventKind, Fact, Place};
use crate::store::{ReadError, SourceFile};

/// A record as JSON, and its text as it was read where it is none.
#[derive(Default)]
pub(super) struct Read {
    pub value: Value,
    pub raw: String,
    /// The tool input of a huge record as it is written; it is not all in the value.
    input: Option<String>,
}

/// Reads a record again; the start of one that could not be read, which may be of any length.
pub(super) fn record(file: &SourceFile, index: &Index, place: Place) -> Result<Read, ReadError> {
    read(file, index, place, false)
}

/// The same with only what the event at this place needs, where the record is huge.
pub(super) fn part_of_record(file: &SourceFile, index: &Index, place: Place) -> Result<Read, ReadError> {
    read(file, index, place, true)
}

fn read(file: &SourceFile, index: &Index, place: Place, thinned: bool) -> Result<Read, ReadError> {
    let Some(record) = index.record(place.record) else { return Ok(Read::default()) };
    if record.role == Role::Unreadable {
        return Ok(Read { raw: start_text(file, record.span)?, ..Read::default() });
    }
    let bytes = file.read_at(record.span.offset, record.span.len as usize)?;
    let text = json::readable(&bytes).text;
    if thinned
        && text.len() >= thin::FROM_BYTES
        && let Some(thin) = thin::thin(&text, place.block)
    {
        return Ok(Read { value: thin.value, input: thin.input, ..Read::default() });
    }
    let mut spare = String::new();
    let value = json::record::<Value>(&text, &mut spare).unwrap_or(Value::Null);
    // What cannot be taken apart, because it is too deep or no JSON, is shown as it is.
    let raw = if value.is_null() { text.into_owned() } else { String::new() };
    Ok(Read { value, raw, ..Read::default() })
}

/// What is beside a body's text, as it is come upon.
#[derive(Default)]
struct Beside {
    names: Vec<String>,
    images: Vec<ImageHead>,
    /// The attachment whose image is looked for, and the image, as Base64.
    wanted: Option<usize>,
    found: Option<String>,
}

impl Beside {
    /// Takes an image or a document; false for any other block.
    fn take(&mut self, block: &Value) -> bool {
        let kind = block.get("type").and_then(Value::as_str);
        let Some(kind) = kind.filter(|kind| matches!(*kind, "image" | "document")) else { return false };
        let source = block.get("source");
        let text = |key: &str| source.and_then(|source| source.get(key)).and_then(Value::as_str);
        let media = text("media_type").unwrap_or(kind);
        let name = match text("data") {
            Some(data) => format!("{media}, {} bytes", grouped(decoded_bytes(data))),
            None => media.to_owned(),
        };
        if let Some(data) = text("data").filter(|_| kind == "image") {
            let number = self.names.len();
            self.images.push(ImageHead::of(number, data));
            if self.wanted == Some(number) {
                self.found = Some(data.to_owned());
            }
        }
        self.names.push(name);
        true
    }
}

/// The text of an event, of its record and of the record with its result.
pub(super) fn body(event: &Event, read: &mut Read, result: Option<&Read>) -> Body {
    let mut beside = Beside::default();
    let mut body = body_of(event, read, result, &mut beside);
    (body.attachments, body.images) = (beside.names, beside.images);
    body
}

/// The image that is an attachment of an event, as Base64.
pub(super) fn image(event: &Event, read: &mut Read, result: Option<&Read>, attachment: usize) -> Option<String> {
    let mut beside = Beside { wanted: Some(attachment), ..Beside::default() };
    body_of(event, read, result, &mut beside);
    beside.found
}

fn body_of(event: &Event, read: &mut Read, result: Option<&Read>, beside: &mut Beside) -> Body {
    let mut body = Body::default();
    if read.value.is_null() {
        body.text = read.raw.clone();
        return body;
    }
    body.input = read.input.take();
    let value = &read.value;
    match event.kind {
        EventKind::Unknown | EventKind::Unreadable => body.text = pretty(value),
        EventKind::Tool | EventKind::Question => {
            call(&mut body, value, event.place.block);
            if let (Some(result), Some(place)) = (result, event.tool.as_ref().and_then(|tool| tool.result)) {
                body.output = Some(output(beside, result, place.block));
            }
            if event.kind == EventKind::Question {
                body.text = questions(value, event.place.block, result.map(|result| &result.value));
            }
        }
        EventKind::ToolResult => body.output = Some(output(beside, read, event.place.block)),
        EventKind::FileChange => file_change(&mut body, value),
        EventKind::Approval => {
            if let Some(Fact::Approval { reason: Some(reason), .. }) = event.marker.as_ref().map(|marker| &marker.fact)
            {
                body.text.clone_from(reason);
            }
        }
        _ => said(&mut body, value, event.place.block, beside),
    }
    if event.label.is_empty() {
        body.label = label(event, value, &body);
    }
    body
}

/// The label of an event that was indexed without one.
fn label(event: &Event, value: &Value, body: &Body) -> Box<str> {
    match event.kind {
        EventKind::Text | EventKind::Thinking => line(&body.text),
        EventKind::ToolResult => line(body.output.as_deref().unwrap_or_default()),
        EventKind::Tool => {
            let name = event.tool.as_ref().map_or("", |tool| &tool.name);
            let input = block_at(value, event.place.block).and_then(|block| block.get("input"));
            input.map(|input| labels::of_call(name, input)).unwrap_or_default()
        }
        _ => Box::default(),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn block_at(value: &Value, block: u16) -> Option<&Value> {
    value.get("message")?.get("content")?.get(usize::from(block))
}

fn call(body: &mut Body, value: &Value, block: u16) {
    if body.input.is_none()
        && let Some(input) = block_at(value, block).and_then(|block| block.get("input"))
    {
        body.input = Some(input.to_string());
    }
}

/// A tool result's text; images in it become attachments.
fn output(beside: &mut Beside, read: &Read, block: u16) -> String {
    if read.value.is_null() {
        return read.raw.clone();
    }
    let content = block_at(&read.value, block).and_then(|block| block.get("content"));
    content.map(|content| text_of(content, beside)).unwrap_or_default()
}

/// The text of a string or of content blocks. What is no text is named, never shown.
fn text_of(content: &Value, beside: &mut Beside) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let mut texts = Vec::new();
            for block in blocks {
                if let Value::String(text) = block {
                    texts.push(text.clone());
                } else if let Some(text) = block.get("text").and_then(Value::as_str) {
                    texts.push(text.to_owned());
                } else if !beside.take(block) && !block.is_null() {
                    texts.push(block.to_string());
                }
            }
            texts.join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// What a record says in words.
fn said(body: &mut Body, value: &Value, block: u16, beside: &mut Beside) {
    if let Some(attachment) = value.get("attachment") {
        body.text = attachment_text(attachment, beside);
        return;
    }
    if value.get("type").and_then(Value::as_str) == Some("system") {
        body.text = system_text(value);
        return;
    }
    if block_at(value, block).is_some_and(|block| beside.take(block)) {
        return;
    }
    let content = value.get("message").and_then(|message| message.get("content"));
    let of_assistant = value.get("type").and_then(Value::as_str) == Some("assistant");
    body.text = match content {
        Some(Value::Array(blocks)) if of_assistant => match blocks.get(usize::from(block)) {
            Some(block) => {
                let thinking = block.get("thinking").and_then(Value::as_str).map(str::to_owned);
                let data = block.get("data").is_some().then(String::new);
                thinking.or(data).unwrap_or_else(|| text_of(&Value::Array(vec![block.clone()]), beside))
            }
            None => String::new(),
        },
        Some(content) => text_of(content, beside),
        None => String::new(),
    };
}

fn system_text(value: &Value) -> String {
    let content = value.get("content").and_then(Value::as_str).unwrap_or_default();
    let explanation = value.get("apiRefusalExplanation").and_then(Value::as_str);
    let error = value.get("error").filter(|error| !error.is_null()).map(pretty);
    if let Some(text) = explanation.filter(|_| content.is_empty()) {
        return text.to_owned();
    }
    if content.is_empty() { error.unwrap_or_default() } else { content.to_owned() }
}

fn attachment_text(attachment: &Value, beside: &mut Beside) -> String {
    let text = |key: &str| attachment.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(prompt) = attachment.get("prompt") {
        return text_of(prompt, beside);
    }
    let blocking = attachment.get("blockingError").and_then(|error| error.get("blockingError")).and_then(Value::as_str);
    blocking.or_else(|| text("stderr")).or_else(|| text("text")).map_or_else(|| pretty(attachment), str::to_owned)
}

fn file_change(body: &mut Body, value: &Value) {
    let Some(attachment) = value.get("attachment") else { return };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let inner = attachment.get("content").and_then(|content| content.get("file")).and_then(|file| file.get("content"));
    body.text = text(attachment.get("snippet"))
        .or_else(|| text(inner))
        .unwrap_or_else(|| attachment.get("content").map(pretty).unwrap_or_default());
}

/// The questions of a call with their options, and the answers where there are any.
fn questions(value: &Value, block: u16, result: Option<&Value>) -> String {
    let Some(questions) =
        block_at(value, block).and_then(|block| block.get("input")?.get("questions")).and_then(Value::as_array)
    else {
        return String::new();
    };
    let answers = result.and_then(|result| result.get("toolUseResult")?.get("answers"));
    let mut text = String::new();
    for question in questions {
        let word = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let asked = word(question, "question");
        text.push_str(&asked);
        text.push('\n');
        for option in question.get("options").and_then(Value::as_array).into_iter().flatten() {
            let description = word(option, "description");
            let dash = if description.is_empty() { "" } else { ": " };
            text.push_str(&format!("- {}{dash}{description}\n", word(option, "label")));
        }
        if let Some(answer) = answers.and_then(|answers| answers.get(&asked)) {
            let answer = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
            text.push_str(&format!("→ {answer}\n"));
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// The whole text of a prompt, without what an editor or the harness put around it.
pub(super) fn prompt(read: &Read, index: &Index, place: Place, result: Option<&Read>) -> String {
    let value = &read.value;
    if value.is_null() {
        return read.raw.clone();
    }
    let is_call = index
        .pieces_of(place.record)
        .any(|(_, piece)| piece.block == place.block && matches!(piece.what, What::Call { .. }));
    if is_call {
        let text = questions(value, place.block, result.map(|result| &result.value));
        return if text.is_empty() { question::TOOL.to_owned() } else { text };
    }
    let content = match value.get("attachment") {
        Some(attachment) => attachment.get("prompt"),
        None => value.get("message").and_then(|message| message.get("content")),
    };
    let texts: Vec<&str> = match content {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| block.as_str().or_else(|| block.get("text").and_then(Value::as_str)))
            .collect(),
        _ => Vec::new(),
    };
    let person: Vec<&str> = texts
        .iter()
        .filter_map(|text| if let Spoken::Person(words) = classify(text) { Some(words) } else { None })
        .collect();
    if !person.is_empty() {
        return person.join("\n");
    }
    texts.iter().find_map(|text| command(text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_named_not_shown() {
        let mut beside = Beside { wanted: Some(0), ..Beside::default() };
        let content = serde_json::json!([
            {"type": "text", "text": "a"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAAAAA="}},
            "b"
        ]);
        assert_eq!(text_of(&content, &mut beside), "a\nb");
        assert_eq!(beside.names, ["image/png, 5 bytes"]);
        assert_eq!(beside.images, [ImageHead { attachment: 0, bytes: 5, size: None }]);
        assert_eq!(beside.found.as_deref(), Some("AAAAAAA="));
        assert_eq!(grouped(48213), "48 213");
        assert_eq!(grouped(123), "123");
    }
}
