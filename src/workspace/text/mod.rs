//! Texts made ready to be drawn, away from the window's thread: cut into lines, parsed, made harmless.

mod diff;
mod indent;
mod lines;
mod markdown;
mod sweep;
mod tool;

pub use diff::{Diff, DiffLine, LineKind};
pub use indent::Encoded;
pub use lines::{LongText, one_line, visible};
pub use markdown::{Block, BlockKind, Markdown, Span};
pub use tool::{Form, ToolText};

use crate::formats::{Body, ImageHead};
use crate::model::{Event, EventKind};

/// No value is made of JSON that is longer: it would take many times its memory.
const LARGE_JSON_BYTES: usize = 64 * 1024;

/// A tool call's input that is longer is shown by its form and held by that alone.
const LARGE_INPUT_BYTES: usize = 1024 * 1024;

/// Bytes of a line, on average, from which JSON is taken for minified.
const MINIFIED_LINE_BYTES: usize = 400;

/// Which of the texts of an [`EventText`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart {
    Text,
    /// A tool call's input as it is recorded.
    Input,
    /// What the tool's form shows of its input.
    Form,
    Output,
}

/// The text of an event, ready to be drawn.
#[derive(Clone, Debug, Default)]
pub struct EventText {
    pub text: LongText,
    /// One line that stands for the event, where the event itself holds none.
    pub label: Box<str>,
    /// The same text as Markdown, where an agent wrote it and it is not too long.
    pub markdown: Option<Markdown>,
    /// Words in the text.
    pub words: usize,
    /// How the call is shown, for a tool call.
    pub tool: Option<ToolText>,
    /// A tool call's input as it was recorded, as compact JSON; empty for a huge one, which its form shows.
    pub input: Option<LongText>,
    pub output: Option<LongText>,
    /// The output is JSON on few and long lines, which is easier to read when it is indented.
    pub is_minified: bool,
    pub attachments: Vec<Attachment>,
}

/// What is beside an event's text, in words; nothing of it is decoded that nobody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// One line: `image/png, 640 × 480 pixels, 48 213 bytes`.
    pub words: String,
    /// It is an image that can be shown.
    pub is_image: bool,
}

impl EventText {
    /// Prepares what was read for an event.
    pub fn prepare(event: &Event, body: Body) -> Self {
        let says = matches!(event.kind, EventKind::Text | EventKind::Thinking);
        let markdown = if says { Markdown::parse(&body.text) } else { None };
        let words = if says { body.text.split_whitespace().count() } else { 0 };
        let name = event.tool.as_ref().map_or("", |tool| tool.name.as_str());
        let tool = match event.kind {
            EventKind::FileChange if is_patch(&body.text) => {
                let tool = ToolText::file_change(&event.label, &body.text);
                // The diff shows the text; it is still there to be copied.
                return Self { text: LongText::new(body.text), tool: Some(tool), ..Self::default() };
            }
            _ => body.input.as_deref().map(|input| ToolText::new(name, input)),
        };
        let output = body.output.filter(|output| !output.is_empty()).map(LongText::new);
        Self {
            text: LongText::new(body.text),
            label: body.label,
            markdown,
            words,
            tool,
            // A large one is shown by the tool's form; it is not held twice.
            input: body.input.map(|input| match input.len() > LARGE_INPUT_BYTES {
                true => LongText::default(),
                false => LongText::new(input),
            }),
            is_minified: output.as_ref().is_some_and(is_minified),
            output,
            attachments: attachments(&body.attachments, &body.images),
        }
    }

    /// A record as it stands in its file: JSON on several lines, anything else as it is.
    pub fn raw(bytes: Vec<u8>) -> Self {
        let text = as_text(bytes);
        // Deeper than JSON may be nested, or damaged: as it stands.
        Self::plain(indented(&text, Encoded::Named).unwrap_or(text))
    }

    /// Whether the tool's form shows the text, so that it needs no showing of its own.
    pub fn shown_by_tool(&self) -> bool {
        self.input.is_none() && self.tool.is_some()
    }

    /// A text with nothing around it, such as a prompt.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: LongText::new(text), ..Self::default() }
    }

    /// One of its texts, where it is held.
    pub fn part(&self, part: TextPart) -> Option<&LongText> {
        match (part, self.tool.as_ref().map(|tool| &tool.form)) {
            (TextPart::Text, _) => Some(&self.text),
            (TextPart::Input, _) => self.input.as_ref().filter(|input| !input.is_empty()),
            (TextPart::Output, _) => self.output.as_ref(),
            (TextPart::Form, Some(Form::Text(text) | Form::Json(text))) => Some(text),
            (TextPart::Form, Some(Form::Diff(diff))) => Some(&diff.text),
            (TextPart::Form, _) => None,
        }
    }

    /// Memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        let long = [&self.input, &self.output].into_iter().flatten().map(LongText::bytes).sum::<usize>();
        let prepared =
            self.markdown.as_ref().map_or(0, Markdown::bytes) + self.tool.as_ref().map_or(0, ToolText::bytes);
        self.text.bytes()
            + long
            + prepared
            + self.attachments.iter().map(|attachment| attachment.words.len()).sum::<usize>()
    }
}

fn attachments(names: &[String], images: &[ImageHead]) -> Vec<Attachment> {
    let of = |(number, name): (usize, &String)| {
        let image = images.iter().find(|image| image.attachment == number);
        let words = match (image.and_then(|image| image.size), name.split_once(", ")) {
            (Some((width, height)), Some((kind, rest))) => format!("{kind}, {width} × {height} pixels, {rest}"),
            _ => name.clone(),
        };
        Attachment { words: one_line(&words, 200), is_image: image.is_some() }
    };
    names.iter().enumerate().map(of).collect()
}

/// Bytes as text, the damaged ones replaced.
pub fn as_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// JSON on several lines; `None` where it is none, or too deep. A value is made only of a small one: there, escapes are
/// spelled out. A larger one is indented as it is written.
pub fn indented(json: &str, encoded: Encoded) -> Option<String> {
    if json.len() > LARGE_JSON_BYTES {
        return indent::indent(json, encoded);
    }
    let value = serde_json::from_str::<serde_json::Value>(json).ok()?;
    serde_json::to_string_pretty(&value).ok()
}

/// Whether a text is JSON without line breaks to speak of.
fn is_minified(text: &LongText) -> bool {
    let json = text.original();
    json.trim_start().starts_with(['{', '['])
        && json.len() / text.own_line_count().max(1) > MINIFIED_LINE_BYTES
        && serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok()
}

/// Whether a text is a patch, as version control writes it.
fn is_patch(text: &str) -> bool {
    text.lines().take(40).any(|line| line.starts_with("@@ ") || line.starts_with("--- "))
}
