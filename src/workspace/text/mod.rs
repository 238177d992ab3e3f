//! Texts made ready to be drawn, away from the window's thread: cut into lines, parsed, made harmless.

mod lines;

pub use lines::LongText;

use crate::formats::Body;
use crate::model::Event;

/// The text of an event, ready to be drawn.
#[derive(Clone, Debug, Default)]
pub struct EventText {
    pub text: LongText,
    pub input: Option<LongText>,
    pub output: Option<LongText>,
    pub attachments: Vec<String>,
}

impl EventText {
    /// Prepares what was read for an event.
    pub fn prepare(_event: &Event, body: Body) -> Self {
        Self {
            text: LongText::new(&body.text),
            input: body.input.as_deref().map(LongText::new),
            output: body.output.as_deref().map(LongText::new),
            attachments: body.attachments,
        }
    }

    /// A text with nothing around it, such as a prompt.
    pub fn plain(text: &str) -> Self {
        Self { text: LongText::new(text), ..Self::default() }
    }

    /// Memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.text.bytes() + [&self.input, &self.output].into_iter().flatten().map(LongText::bytes).sum::<usize>()
    }
}

pub fn visible(text: &str) -> String {
    text.to_owned()
}
impl EventText {
    pub fn raw(bytes: &[u8]) -> Self {
        Self::plain(&String::from_utf8_lossy(bytes))
    }
}
impl LongText {
    pub fn original(&self) -> &str {
        self.as_str()
    }
}
