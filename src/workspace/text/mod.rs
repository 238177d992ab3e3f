//! Texts made ready to be drawn, away from the window's thread: cut into lines, parsed, made harmless.

mod diff;
mod lines;
mod markdown;
mod tool;

pub use diff::{Diff, DiffLine, LineKind};
pub use lines::{LongText, one_line, visible};
pub use markdown::{Block, BlockKind, Markdown, Span};
pub use tool::{Form, ToolText};

use crate::formats::Body;
use crate::model::{Event, EventKind};

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
    /// A tool call's input as it was recorded, as compact JSON.
    pub input: Option<LongText>,
    pub output: Option<LongText>,
    pub attachments: Vec<String>,
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
        Self {
            text: LongText::new(body.text),
            label: body.label,
            markdown,
            words,
            tool,
            input: body.input.map(LongText::new),
            output: body.output.filter(|output| !output.is_empty()).map(LongText::new),
            attachments: body.attachments.iter().map(|attachment| one_line(attachment, 200)).collect(),
        }
    }

    /// A record as it stands in its file: JSON on several lines, anything else as it is.
    pub fn raw(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let pretty = serde_json::from_str::<serde_json::Value>(&text)
            .and_then(|value| serde_json::to_string_pretty(&value))
            // Deeper than JSON may be nested, or damaged: as it stands.
            .unwrap_or_else(|_| text.into_owned());
        Self { text: LongText::new(pretty), ..Self::default() }
    }

    /// Whether the tool's form shows the text, so that it needs no showing of its own.
    pub fn shown_by_tool(&self) -> bool {
        self.input.is_none() && self.tool.is_some()
    }

    /// A text with nothing around it, such as a prompt.
    pub fn plain(text: &str) -> Self {
        Self { text: LongText::new(text), ..Self::default() }
    }

    /// Memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        let long = [&self.input, &self.output].into_iter().flatten().map(LongText::bytes).sum::<usize>();
        let prepared =
            self.markdown.as_ref().map_or(0, Markdown::bytes) + self.tool.as_ref().map_or(0, ToolText::bytes);
        self.text.bytes() + long + prepared + self.attachments.iter().map(String::len).sum::<usize>()
    }
}

/// Whether a text is a patch, as version control writes it.
fn is_patch(text: &str) -> bool {
    text.lines().take(40).any(|line| line.starts_with("@@ ") || line.starts_with("--- "))
}
