//! Where the matches are in a text as it is drawn, worked out away from the window's thread.
//!
//! What is drawn is not always what is searched: Markdown loses its signs, an input is shown as a command or a diff. So
//! the drawn text is searched once more, and the number of its marks can be another one than that of the matches.

use std::ops::Range;
use std::sync::Arc;

use super::super::text::{Block, BlockKind, EventText, Form, LongText, Span};
use crate::formats::search::Pattern;
use crate::store::Watch;

/// Marks in one text; more are not told apart by anybody.
const MOST: usize = 10_000;

/// Bytes of a text that match, in their order; none overlap.
pub type Ranges = Arc<[Range<usize>]>;

/// Where the matches are in the parts of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub text: Ranges,
    /// In each block of the Markdown: in the texts of its spans, or of its cells, one after the other.
    pub markdown: Vec<Ranges>,
    /// In a call's headline.
    pub subject: Ranges,
    /// In the form in which its input is shown.
    pub input: Ranges,
    pub output: Ranges,
}

impl Marks {
    pub fn of(text: &EventText, pattern: &Pattern) -> Self {
        let find = |text: &str| -> Ranges {
            pattern.find(text, MOST, Watch::none()).map(|matches| matches.first.into()).unwrap_or_default()
        };
        let long = |text: &LongText| find(text.original());
        let input = text.tool.as_ref().map(|tool| match &tool.form {
            Form::Nothing => Ranges::default(),
            Form::Diff(diff) => long(&diff.text),
            Form::Text(text) | Form::Json(text) => long(text),
        });
        Self {
            text: if text.markdown.is_some() { Ranges::default() } else { long(&text.text) },
            markdown: text
                .markdown
                .iter()
                .flat_map(|markdown| &markdown.blocks)
                .map(|block| find(&words(block)))
                .collect(),
            subject: text.tool.as_ref().map(|tool| find(&tool.subject)).unwrap_or_default(),
            input: input.unwrap_or_default(),
            output: text.output.as_ref().map(long).unwrap_or_default(),
        }
    }

    /// In which block of the Markdown the mark with this number is, and which of the block's it is.
    pub fn in_markdown(&self, mut nth: usize) -> Option<(usize, usize)> {
        let last = self.markdown.iter().map(|ranges| ranges.len()).sum::<usize>().checked_sub(1)?;
        nth = nth.min(last);
        for (block, ranges) in self.markdown.iter().enumerate() {
            if nth < ranges.len() {
                return Some((block, nth));
            }
            nth -= ranges.len();
        }
        None
    }
}

/// The text of a block as one.
fn words(block: &Block) -> String {
    let joined = |spans: &[Span]| spans.iter().map(|span| span.text.as_str()).collect::<String>();
    match &block.kind {
        BlockKind::Heading { spans, .. } | BlockKind::Paragraph(spans) | BlockKind::Item { spans, .. } => joined(spans),
        BlockKind::Code { text, .. } => text.original().to_owned(),
        BlockKind::Table(rows) => rows.iter().flatten().map(|cell| joined(cell)).collect(),
        BlockKind::Rule => String::new(),
    }
}
