//! Assistant text as Markdown: a flat list of blocks with styled spans. Links are named, images are never loaded, HTML
//! is text.

use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::lines::{LongText, visible};

/// Longer texts are shown as plain lines.
pub const MAX_BYTES: usize = 64 * 1024;
/// Texts with more blocks than this are shown as plain lines.
const MAX_BLOCKS: usize = 4_000;
/// Deeper lists and quotes are drawn no further to the right.
const MAX_DEPTH: u8 = 8;
/// No block of text is longer, so that none takes long to lay out.
const MAX_BLOCK_BYTES: usize = 8 * 1024;
const MAX_COLUMNS: usize = 32;

/// A text's blocks, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Markdown {
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// How many lists it is in.
    pub depth: u8,
    /// How many quotes it is in.
    pub quotes: u8,
    pub kind: BlockKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum BlockKind {
    Heading {
        level: u8,
        spans: Vec<Span>,
    },
    Paragraph(Vec<Span>),
    /// The first paragraph of a list's item, with what stands before it: `•`, `3.`.
    Item {
        marker: String,
        spans: Vec<Span>,
    },
    Code {
        language: String,
        text: Arc<LongText>,
    },
    /// Rows of cells; the first row is the head.
    Table(Vec<Vec<Vec<Span>>>),
    Rule,
}

/// A piece of text of one style.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    pub text: String,
    pub strong: bool,
    pub emphasis: bool,
    pub struck: bool,
    pub code: bool,
    /// The target, as written.
    pub link: Option<Arc<str>>,
    /// It is not the author's text but says where a link goes, or what an image is.
    pub note: bool,
}

impl Markdown {
    /// The blocks of a text; `None` when it is too long or has too many, and is better shown as lines.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut builder = Builder::default();
        for event in Parser::new_ext(text, options) {
            builder.take(event);
            if builder.blocks.len() > MAX_BLOCKS {
                return None;
            }
        }
        builder.end_block();
        Some(Self { blocks: builder.blocks })
    }

    /// Memory it holds, in bytes, about.
    pub fn bytes(&self) -> usize {
        let spans = |spans: &[Span]| spans.iter().map(|span| span.text.len() + size_of::<Span>()).sum::<usize>();
        let of = |block: &Block| match &block.kind {
            BlockKind::Heading { spans: text, .. }
            | BlockKind::Paragraph(text)
            | BlockKind::Item { spans: text, .. } => spans(text),
            BlockKind::Code { text, .. } => text.bytes(),
            BlockKind::Table(rows) => rows.iter().flatten().map(|cell| spans(cell)).sum(),
            BlockKind::Rule => 0,
        };
        self.blocks.iter().map(|block| of(block) + size_of::<Block>()).sum()
    }
}

#[derive(Default)]
struct Builder {
    blocks: Vec<Block>,
    spans: Vec<Span>,
    heading: Option<u8>,
    code: Option<(String, String)>,
    table: Option<Vec<Vec<Vec<Span>>>>,
    /// The next number of each list that is open; `None` for one without numbers.
    lists: Vec<Option<u64>>,
    quotes: u8,
    /// Stands before the next paragraph.
    marker: Option<String>,
    strong: u32,
    emphasis: u32,
    struck: u32,
    links: Vec<(Arc<str>, usize)>,
    image: Option<String>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, false),
            Event::Code(text) => self.text(&text, true),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::InlineHtml(text) => self.text(&text, false),
            Event::Html(text) => self.text(&text, false),
            Event::SoftBreak | Event::HardBreak => self.text("\n", false),
            Event::Rule => {
                self.end_block();
                self.push(BlockKind::Rule);
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }, false),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), false),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.end_block(),
            Tag::Heading { level, .. } => {
                self.end_block();
                self.heading = Some(level as u8);
            }
            Tag::BlockQuote(_) => {
                self.end_block();
                self.quotes = self.quotes.saturating_add(1);
            }
            Tag::CodeBlock(kind) => {
                self.end_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => visible(&language).chars().take(40).collect(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.end_block();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_block();
                self.marker = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let marker = format!("{number}.");
                        *number = number.saturating_add(1);
                        marker
                    }
                    _ => "•".to_owned(),
                });
            }
            Tag::Table(_) => {
                self.end_block();
                self.table = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(rows) = &mut self.table {
                    rows.push(Vec::new());
                }
            }
            Tag::Strong => self.strong += 1,
            Tag::Emphasis => self.emphasis += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::Link { dest_url, .. } => self.links.push((Arc::from(&*dest_url), self.spans.len())),
            Tag::Image { .. } => self.image = Some(String::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::Heading(_) => self.end_block(),
            TagEnd::Item => {
                self.end_block();
                self.push_marker();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                if let Some((language, text)) = self.code.take() {
                    self.push(BlockKind::Code { language, text: Arc::new(LongText::new(text)) });
                }
            }
            TagEnd::List(_) => {
                self.end_block();
                self.lists.pop();
            }
            TagEnd::Table => {
                if let Some(rows) = self.table.take() {
                    self.push(BlockKind::Table(rows));
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(row) = self.table.as_mut().and_then(|rows| rows.last_mut())
                    && row.len() < MAX_COLUMNS
                {
                    row.push(cell);
                }
            }
            TagEnd::Strong => self.strong = self.strong.saturating_sub(1),
            TagEnd::Emphasis => self.emphasis = self.emphasis.saturating_sub(1),
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::Link => self.end_link(),
            TagEnd::Image => {
                if let Some(alt) = self.image.take() {
                    let text = if alt.is_empty() { "[image]".to_owned() } else { format!("[image: {alt}]") };
                    self.spans.push(Span { text, note: true, ..Span::default() });
                }
            }
            _ => {}
        }
    }

    /// Says where a link goes, unless its text says so.
    fn end_link(&mut self) {
        let Some((target, start)) = self.links.pop() else { return };
        let said: String = self.spans.iter().skip(start).map(|span| span.text.as_str()).collect();
        let shown = visible(&target);
        let same = |text: &str| text == said || text.strip_prefix("mailto:") == Some(said.as_str());
        if !shown.is_empty() && !same(&shown) {
            let text = format!(" ({})", shown.chars().take(400).collect::<String>());
            self.spans.push(Span { text, note: true, ..Span::default() });
        }
    }

    fn text(&mut self, text: &str, code: bool) {
        if let Some((_, block)) = &mut self.code {
            block.push_str(text);
            return;
        }
        let text = visible(text);
        if let Some(alt) = &mut self.image {
            alt.push_str(&text);
            return;
        }
        let span = Span {
            text: text.into_owned(),
            strong: self.strong > 0,
            emphasis: self.emphasis > 0,
            struck: self.struck > 0,
            code,
            link: self.links.last().map(|(target, _)| Arc::clone(target)),
            note: false,
        };
        match self.spans.last_mut() {
            Some(last) if last.same_style(&span) => last.text.push_str(&span.text),
            _ => self.spans.push(span),
        }
    }

    fn end_block(&mut self) {
        let mut spans = std::mem::take(&mut self.spans);
        if let Some(last) = spans.last_mut() {
            last.text.truncate(last.text.trim_end_matches('\n').len());
        }
        spans.retain(|span| !span.text.is_empty());
        self.links.iter_mut().for_each(|(_, start)| *start = 0);
        let heading = self.heading.take();
        if spans.is_empty() {
            return;
        }
        let mut pieces = pieces(spans).into_iter();
        let Some(first) = pieces.next() else { return };
        let kind = match (heading, self.marker.take()) {
            (Some(level), _) => BlockKind::Heading { level, spans: first },
            (None, Some(marker)) => BlockKind::Item { marker, spans: first },
            (None, None) => BlockKind::Paragraph(first),
        };
        self.push(kind);
        pieces.for_each(|spans| self.push(BlockKind::Paragraph(spans)));
    }

    fn push(&mut self, kind: BlockKind) {
        // A list's item may begin with code, a table or a rule: its marker then stands alone.
        self.push_marker();
        self.push_block(kind);
    }

    fn push_marker(&mut self) {
        if let Some(marker) = self.marker.take() {
            self.push_block(BlockKind::Item { marker, spans: Vec::new() });
        }
    }

    fn push_block(&mut self, kind: BlockKind) {
        let depth = self.lists.len().min(usize::from(MAX_DEPTH)) as u8;
        self.blocks.push(Block { depth, quotes: self.quotes.min(MAX_DEPTH), kind });
    }
}

impl Span {
    fn same_style(&self, other: &Self) -> bool {
        (self.strong, self.emphasis, self.struck, self.code, self.note)
            == (other.strong, other.emphasis, other.struck, other.code, other.note)
            && self.link == other.link
    }
}

/// Spans in pieces that each can be laid out quickly.
fn pieces(spans: Vec<Span>) -> Vec<Vec<Span>> {
    if spans.iter().map(|span| span.text.len()).sum::<usize>() <= MAX_BLOCK_BYTES {
        return vec![spans];
    }
    let mut pieces = vec![Vec::new()];
    let mut room = MAX_BLOCK_BYTES;
    for span in spans {
        let mut rest = span.text.as_str();
        while !rest.is_empty() {
            let end = if rest.len() <= room { rest.len() } else { break_at(rest, room) };
            let (now, later) = rest.split_at(end);
            if !now.is_empty()
                && let Some(piece) = pieces.last_mut()
            {
                piece.push(Span { text: now.to_owned(), ..span.clone() });
            }
            room -= now.len();
            if !later.is_empty() {
                pieces.push(Vec::new());
                room = MAX_BLOCK_BYTES;
            }
            rest = later;
        }
    }
    pieces
}

/// Where to break a text of more than `room` bytes: after white space if there is some, else between characters.
fn break_at(text: &str, room: usize) -> usize {
    let end = text.floor_char_boundary(room);
    let head = text.get(..end).unwrap_or_default();
    head.rfind([' ', '\n']).map_or(end, |space| space + 1)
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
