//! Draws Markdown that was parsed away from the window's thread. Only blocks in view are laid out again; of the others
//! the height is remembered.

use egui::text::{LayoutJob, TextFormat};
use egui::{Color32, FontId, Label, Rect, Stroke, Ui, UiBuilder, pos2, vec2};

use super::super::theme::{self, Theme, size, space};
use super::super::words;
use super::long_text::LongTextBox;
use super::marked::{self, Marked};
use super::selectable;
use crate::workspace::search::Ranges;
use crate::workspace::text::{Block, BlockKind, Markdown, Span};

/// Height of a line of running text.
pub const LINE_PX: f32 = 19.0;
/// Distance between blocks.
const GAP_PX: f32 = 6.0;
const INDENT_PX: f32 = 18.0;
/// Lines of a code block that are shown before it is opened.
const CODE_LINES: usize = 40;
/// Rows of a table that are drawn.
const TABLE_ROWS: usize = 200;
const CELL_GAP_PX: f32 = 14.0;

/// The heights that a text's blocks had when they were drawn last.
#[derive(Clone, Debug, Default)]
pub struct Memo {
    width_px: f32,
    heights: Vec<f32>,
}

/// The matches in each block: see [`Marks::markdown`].
#[derive(Clone, Copy, Debug, Default)]
pub struct MarkedBlocks<'a> {
    pub blocks: &'a [Ranges],
    /// In which block the match is that is looked at, and which of the block's it is.
    pub current: Option<(usize, usize)>,
    pub moves: u64,
}

impl<'a> MarkedBlocks<'a> {
    fn of(&self, block: usize) -> Marked<'a> {
        let current = self.current.filter(|(at, _)| *at == block).map(|(_, nth)| nth);
        Marked::new(self.blocks.get(block).map(|ranges| &**ranges).unwrap_or_default(), current, self.moves)
    }
}

/// Draws all blocks; `colour` is that of plain text. `Some` when a code block is to be copied.
pub fn show(
    ui: &mut Ui,
    markdown: &Markdown,
    memo: &mut Memo,
    colour: Color32,
    marks: MarkedBlocks<'_>,
) -> Option<String> {
    ui.spacing_mut().item_spacing.y = 0.0;
    let width = ui.available_width();
    if memo.width_px != width || memo.heights.len() != markdown.blocks.len() {
        *memo = Memo { width_px: width, heights: vec![-1.0; markdown.blocks.len()] };
    }
    let mut copied = None;
    let mut before: Option<&Block> = None;
    for (index, (block, height)) in markdown.blocks.iter().zip(&mut memo.heights).enumerate() {
        if let Some(before) = before {
            ui.add_space(gap(before, block));
        }
        before = Some(block);
        let top = ui.cursor().min;
        let known = Rect::from_min_size(top, vec2(width, height.max(0.0)));
        if *height >= 0.0 && !ui.is_rect_visible(known) {
            if marks.current.is_some_and(|(at, _)| at == index) {
                marked::tell_in_box(ui, known, 0.5);
            }
            ui.advance_cursor_after_rect(known);
            continue;
        }
        let indent = f32::from(block.quotes) * 12.0 + f32::from(block.depth) * INDENT_PX;
        let at = Rect::from_min_max(pos2(top.x + indent, top.y), pos2(top.x + width, f32::INFINITY));
        let layout = egui::Layout::top_down(egui::Align::Min);
        let mut child = ui.new_child(UiBuilder::new().id_salt(index).max_rect(at).layout(layout));
        copied = block_contents(&mut child, block, colour, marks.of(index)).or(copied);
        let rect = Rect::from_min_size(top, vec2(width, child.min_rect().height().ceil()));
        drop(child);
        let theme = Theme::of(ui.ctx());
        for quote in 0..block.quotes {
            let x = top.x + f32::from(quote) * 12.0 + 1.0;
            ui.painter().vline(x, rect.y_range(), Stroke::new(2.0, theme.line));
        }
        *height = rect.height();
        ui.advance_cursor_after_rect(rect);
    }
    copied
}

fn gap(before: &Block, block: &Block) -> f32 {
    match (&before.kind, &block.kind) {
        (BlockKind::Item { .. }, BlockKind::Item { .. }) => 2.0,
        (_, BlockKind::Heading { .. }) => GAP_PX + 4.0,
        _ => GAP_PX,
    }
}

fn block_contents(ui: &mut Ui, block: &Block, colour: Color32, marked: Marked<'_>) -> Option<String> {
    let theme = Theme::of(ui.ctx());
    match &block.kind {
        BlockKind::Heading { level, spans } => {
            let points = if *level <= 2 { size::HEADING } else { size::BASE + 0.5 };
            let strong: Vec<Span> = spans.iter().map(|span| Span { strong: true, ..span.clone() }).collect();
            paragraph(ui, &strong, points, colour, marked);
        }
        BlockKind::Paragraph(spans) => paragraph(ui, spans, size::BASE, colour, marked),
        BlockKind::Item { marker, spans } => {
            let at = pos2(ui.cursor().left() - 6.0, ui.cursor().top() + LINE_PX / 2.0);
            ui.painter().text(at, egui::Align2::RIGHT_CENTER, marker, theme::base(), theme.weak);
            if spans.is_empty() {
                ui.add_space(LINE_PX);
            } else {
                paragraph(ui, spans, size::BASE, colour, marked);
            }
        }
        BlockKind::Code { language, text } => {
            let id = ui.scope_id().with("open");
            let opened = ui.data(|data| data.get_temp::<bool>(id)).unwrap_or(false);
            let open = opened || marked.current.is_some();
            let name = if language.is_empty() { "code".to_owned() } else { format!("{language} code") };
            let asked = LongTextBox::new(text, &name).folded(CODE_LINES, open).marked(marked).show(ui);
            if asked.toggle {
                ui.data_mut(|data| data.insert_temp(id, !open));
            }
            return asked.copy.then(|| text.original().to_owned());
        }
        BlockKind::Table(rows) => table(ui, rows, colour, marked),
        BlockKind::Rule => {
            let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 9.0), egui::Sense::hover());
            ui.painter().hline(rect.x_range(), rect.center().y, Stroke::new(1.0, theme.line));
        }
    }
    None
}

fn paragraph(ui: &mut Ui, spans: &[Span], points: f32, colour: Color32, marked: Marked<'_>) {
    if spans.iter().all(|span| span.link.is_none()) {
        let (job, signs) = job(ui, spans, points, colour, marked, 0);
        let all = job.text.chars().count().max(1);
        let response = selectable(ui, Label::new(job).wrap());
        tell(ui, response.rect, signs, all);
        return;
    }
    // Links are widgets of their own, so that the keyboard and screen readers find them.
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = egui::Vec2::ZERO;
        ui.spacing_mut().interact_size.y = 0.0;
        let mut start = 0;
        for (link, spans) in runs(spans) {
            let (job, signs) = job(ui, spans, points, colour, marked, start);
            start += spans.iter().map(|span| span.text.len()).sum::<usize>();
            let all = job.text.chars().count().max(1);
            let rect = match link {
                None => selectable(ui, Label::new(job)).rect,
                Some(target) => link_to(ui, job, target),
            };
            tell(ui, rect, signs, all);
        }
    });
}

fn tell(ui: &Ui, rect: Rect, signs: Option<usize>, all: usize) {
    if let Some(signs) = signs {
        marked::tell_in_box(ui, rect, signs as f32 / all as f32);
    }
}

/// A link: says where it goes, opens what a browser opens, and gives anything else to the clipboard.
fn link_to(ui: &mut Ui, job: LayoutJob, target: &str) -> Rect {
    let opens = ["http://", "https://"].iter().any(|scheme| target.to_ascii_lowercase().starts_with(scheme));
    let shown = crate::workspace::text::visible(target);
    let hint = if opens { format!("Open {shown}") } else { format!("Copy {shown}") };
    let response = ui.add(egui::Link::new(job)).on_hover_text(hint);
    if response.clicked() {
        if opens {
            ui.ctx().open_url(egui::OpenUrl::new_tab(target));
        } else {
            ui.ctx().copy_text(target.to_owned());
        }
    }
    response.rect
}

/// Spans in runs of the same link.
fn runs(spans: &[Span]) -> impl Iterator<Item = (Option<&str>, &[Span])> {
    spans.chunk_by(|a, b| a.link == b.link).map(|run| (run.first().and_then(|span| span.link.as_deref()), run))
}

/// Spans as one text that begins at byte `start` of its block's, and how many signs come before the match in it that is
/// looked at.
fn job(
    ui: &Ui,
    spans: &[Span],
    points: f32,
    colour: Color32,
    marked: Marked<'_>,
    mut start: usize,
) -> (LayoutJob, Option<usize>) {
    let theme = Theme::of(ui.ctx());
    let mut job = LayoutJob::default();
    let mut match_at = None;
    for span in spans {
        let font_id = match (span.code, span.strong) {
            (true, _) => FontId::monospace(points - 1.0),
            (false, true) => theme::bold(points),
            (false, false) => FontId::proportional(points),
        };
        let format = TextFormat {
            font_id,
            color: match (span.link.is_some(), span.note) {
                (true, _) => theme.prompt,
                (false, true) => theme.weak,
                (false, false) => colour,
            },
            background: match (span.code, theme.dark) {
                (true, true) => theme.raised,
                (true, false) => theme.code,
                (false, _) => Color32::TRANSPARENT,
            },
            italics: span.emphasis,
            strikethrough: if span.struck { Stroke::new(1.0, colour) } else { Stroke::NONE },
            line_height: if span.code { None } else { Some(points + 6.0) },
            valign: egui::Align::Center,
            ..TextFormat::default()
        };
        match_at = marked.append(ui, &mut job, &span.text, start, &format).or(match_at);
        start += span.text.len();
    }
    (job, match_at)
}

/// A table: columns as wide as their cells, narrower where there is no room.
fn table(ui: &mut Ui, rows: &[Vec<Vec<Span>>], colour: Color32, marked: Marked<'_>) {
    let theme = Theme::of(ui.ctx());
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let shown = rows.get(..rows.len().min(TABLE_ROWS)).unwrap_or_default();
    let mut widths = vec![24.0_f32; columns];
    let bold: Vec<Vec<Span>> = shown
        .first()
        .map(|head| head.iter().map(|cell| cell.iter().map(|s| Span { strong: true, ..s.clone() }).collect()).collect())
        .unwrap_or_default();
    let cells = |index: usize| if index == 0 { Some(&bold) } else { shown.get(index) };
    for row in (0..shown.len()).filter_map(cells) {
        for (cell, width) in row.iter().zip(&mut widths) {
            let (mut job, _) = job(ui, cell, size::BASE, colour, Marked::default(), 0);
            job.wrap.max_width = f32::INFINITY;
            let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
            *width = width.max(galley.size().x.min(420.0));
        }
    }
    let room = ui.available_width() - CELL_GAP_PX * columns.saturating_sub(1) as f32;
    let total: f32 = widths.iter().sum();
    if total > room {
        widths.iter_mut().for_each(|width| *width = (*width * room / total).max(24.0));
    }
    let full: f32 = widths.iter().sum::<f32>() + CELL_GAP_PX * columns.saturating_sub(1) as f32;
    let mut start = 0;
    for (index, row) in (0..shown.len()).filter_map(cells).enumerate() {
        let top = ui.cursor().min;
        let mut height = LINE_PX;
        let mut x = top.x;
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let at = Rect::from_min_size(pos2(x, top.y + 2.0), vec2(*width, f32::INFINITY));
            let mut child = ui.new_child(UiBuilder::new().id_salt((index, column)).max_rect(at));
            let (job, signs) = job(ui, cell, size::BASE, colour, marked, start);
            start += cell.iter().map(|span| span.text.len()).sum::<usize>();
            let rect = selectable(&mut child, Label::new(job).wrap()).rect;
            tell(ui, rect, signs, 1);
            height = height.max(child.min_rect().height());
            x += width + CELL_GAP_PX;
        }
        let rect = Rect::from_min_size(top, vec2(full, height.ceil() + 4.0));
        ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, theme.line));
        ui.advance_cursor_after_rect(rect);
    }
    if rows.len() > shown.len() {
        let more = words::count((rows.len() - shown.len()) as u64, "more row", "more rows");
        ui.add_space(space::XS);
        ui.label(egui::RichText::new(format!("{more}, in the copied text")).color(theme.weak));
    }
}
