//! A box with a text of any length: folded to its first lines, opened in place, or, when it is long, in a window of its
//! own height that lays out only the lines in it. Lines wrap; nothing is cut but by folding.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use egui::text::{LayoutJob, TextFormat};
use egui::{
    Align2, Color32, CornerRadius, FontId, Id, Label, Rect, Response, Stroke, StrokeKind, Ui, UiBuilder, pos2, vec2,
};

use super::super::theme::{self, Theme, size, space};
use super::super::words;
use super::marked::{self, Marked};
use super::selectable;
use super::virtual_list::{Rows, VirtualList};
use crate::workspace::text::{DiffLine, LineKind, LongText};

/// Height of a line of code.
pub const LINE_PX: f32 = 17.0;
/// Longer texts get a window of their own.
const INLINE_LINES: usize = 400;
const INLINE_BYTES: usize = 48 * 1024;
/// Lines in that window.
const WINDOW_LINES: usize = 26;
/// Windows whose place is kept while they are not in view.
const WINDOWS_KEPT: usize = 12;
/// The forms of a text that is JSON.
pub const INDENTED: &str = "Indented";
pub const AS_RECORDED: &str = "As recorded";
const MARGIN: egui::Vec2 = vec2(10.0, 7.0);
/// Room for a line's number and sign.
const GUTTER_PX: f32 = 46.0;

/// A text to be shown; `name` says to a screen reader what it is.
pub struct LongTextBox<'a> {
    text: &'a LongText,
    name: &'a str,
    diff: Option<&'a [DiffLine]>,
    fold_at: Option<usize>,
    open: bool,
    prose: bool,
    colour: Option<Color32>,
    marked: Marked<'a>,
    turn: Option<&'static str>,
}

/// What its user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// To open it, or to fold it again.
    pub toggle: bool,
    /// The whole text, as it was recorded.
    pub copy: bool,
    /// The same text in its other form.
    pub turn: bool,
}

impl<'a> LongTextBox<'a> {
    pub fn new(text: &'a LongText, name: &'a str) -> Self {
        Self {
            text,
            name,
            diff: None,
            fold_at: None,
            open: true,
            prose: false,
            colour: None,
            marked: Marked::default(),
            turn: None,
        }
    }

    /// With the kinds and numbers of a diff's lines.
    pub fn diff(mut self, lines: &'a [DiffLine]) -> Self {
        self.diff = Some(lines);
        self
    }

    /// Shows `lines` lines unless it is `open`.
    pub fn folded(mut self, lines: usize, open: bool) -> Self {
        self.fold_at = Some(lines);
        self.open = open;
        self
    }

    /// As running text, without a ground.
    pub fn prose(mut self) -> Self {
        self.prose = true;
        self
    }

    pub fn colour(mut self, colour: Color32) -> Self {
        self.colour = Some(colour);
        self
    }

    /// With its matches marked.
    pub fn marked(mut self, marked: Marked<'a>) -> Self {
        self.marked = marked;
        self
    }

    /// With a button for its other form, by the word for that form: `Indented`.
    pub fn turn(mut self, word: Option<&'static str>) -> Self {
        self.turn = word;
        self
    }

    pub fn show(self, ui: &mut Ui) -> Asked {
        if self.prose {
            return self.contents(ui);
        }
        let theme = Theme::of(ui.ctx());
        let ground = ui.painter().add(egui::Shape::Noop);
        let outer = ui.available_rect_before_wrap();
        let inner = Rect::from_min_max(outer.min + MARGIN, pos2(outer.right() - MARGIN.x, f32::INFINITY));
        let mut child = ui.new_child(UiBuilder::new().max_rect(inner).layout(egui::Layout::top_down(egui::Align::Min)));
        let asked = self.contents(&mut child);
        let rect = Rect::from_min_max(outer.min, pos2(outer.right(), child.min_rect().bottom() + MARGIN.y));
        drop(child);
        ui.painter().set(
            ground,
            egui::epaint::RectShape::new(
                rect,
                CornerRadius::same(space::RADIUS as u8 + 1),
                theme.code,
                Stroke::new(1.0, theme.line),
                StrokeKind::Inside,
            ),
        );
        ui.advance_cursor_after_rect(rect);
        asked
    }

    fn contents(&self, ui: &mut Ui) -> Asked {
        ui.spacing_mut().item_spacing.y = 0.0;
        let fits = self.fold_at.is_none_or(|lines| self.text.line_count() <= lines);
        let long = self.text.line_count() > INLINE_LINES || self.text.original().len() > INLINE_BYTES;
        let mut asked = Asked::default();
        if long && self.open {
            self.window(ui);
        } else {
            let rows = if self.open { None } else { self.fold_at };
            let shown = self.lines(ui, rows);
            // What is folded when it is long has no buttons while it is short.
            let is_bare = self.fold_at.is_some() || self.turn.is_none();
            if shown.whole && fits && is_bare {
                return asked;
            }
            if !shown.whole {
                let hidden = self.text.own_line_count().saturating_sub(shown.own_lines);
                let (word, name) = match hidden {
                    // The rest of a line that is shown in part is no line more.
                    0 | 1 if hidden == 0 || shown.within_line => {
                        ("Show all".to_owned(), format!("Show all of {}", self.name))
                    }
                    _ => {
                        let lines = words::count(hidden as u64, "line", "lines");
                        (format!("+ {lines}"), format!("Show {lines} more of {}", self.name))
                    }
                };
                ui.add_space(2.0);
                asked.toggle = small_button(ui, &word, &name);
                return asked;
            }
        }
        ui.add_space(2.0);
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = space::M;
            if self.fold_at.is_some() {
                asked.toggle = small_button(ui, "Show less", &format!("Show less of {}", self.name));
            }
            let copy = small_button_response(ui, "Copy all", &format!("Copy all of {}", self.name));
            let size = words::bytes(self.text.original().len() as u64);
            asked.copy = copy.on_hover_text(format!("Copy {size} to the clipboard")).clicked();
            if let Some(word) = self.turn {
                asked.turn = small_button(ui, word, &format!("{word}: {}", self.name));
            }
        });
        asked
    }

    /// Draws lines until `rows` rows are full, or all.
    fn lines(&self, ui: &mut Ui, rows: Option<usize>) -> Drawn {
        let mut drawn = Drawn { whole: true, own_lines: 0, within_line: false };
        let mut left = rows.unwrap_or(usize::MAX);
        for index in 0..self.text.line_count() {
            if left == 0 {
                drawn.whole = false;
                return drawn;
            }
            let line = self.line(ui, index, left);
            left = left.saturating_sub(line.rows);
            if line.elided {
                (drawn.whole, drawn.within_line) = (false, true);
                return drawn;
            }
            drawn.own_lines += usize::from(self.text.is_start(index));
        }
        drawn
    }

    fn line(&self, ui: &mut Ui, index: usize, max_rows: usize) -> Line {
        let theme = Theme::of(ui.ctx());
        let diff = self.diff.and_then(|lines| lines.get(index)).copied();
        let (colour, sign) = match diff.map(|line| line.kind) {
            Some(LineKind::Added) => (theme.granted, "+"),
            Some(LineKind::Removed) => (theme.failure, "−"),
            Some(LineKind::Gap) => (theme.weak, ""),
            Some(LineKind::Context) | None => (self.colour.unwrap_or(theme.text), ""),
        };
        let gutter = if diff.is_some() { GUTTER_PX } else { 0.0 };
        let width = (ui.available_width() - gutter).max(20.0);
        let format = self.format(colour);
        let mut job = LayoutJob::default();
        let match_at = self.marked.append(ui, &mut job, self.text.bare_line(index), self.text.start(index), &format);
        job.wrap.max_width = width;
        job.wrap.max_rows = max_rows;
        job.break_on_newline = false;
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
        let line = Line { rows: galley.rows.len(), elided: galley.elided };
        let height = (LINE_PX * line.rows as f32).max(galley.size().y.round());
        let rect = Rect::from_min_size(ui.cursor().min, vec2(gutter + width, height));
        if let Some(signs) = match_at {
            marked::tell_in_galley(ui, &galley, rect.min + vec2(gutter, 0.0), signs);
        }
        if ui.is_rect_visible(rect) {
            if let Some(diff) = diff {
                let font = theme::code();
                let at = |x: f32| pos2(rect.left() + x, rect.top() + LINE_PX / 2.0);
                if let Some(number) = diff.number {
                    let colour = if diff.kind == LineKind::Context { theme.faint } else { colour };
                    let painter = ui.painter();
                    painter.text(at(24.0), Align2::RIGHT_CENTER, number.to_string(), font.clone(), colour);
                }
                ui.painter().text(at(30.0), Align2::LEFT_CENTER, sign, font, colour);
            }
            if !self.text.is_start(index) {
                continued(ui, rect.left_top() + vec2(gutter - 7.0, 0.0), theme.faint);
            }
            let at = Rect::from_min_size(rect.min + vec2(gutter, 0.0), vec2(width, height));
            let mut child = ui.new_child(UiBuilder::new().max_rect(at).id_salt(index));
            // What a folded line leaves out is behind the button below it: a hint could be as large as the window.
            selectable(&mut child, Label::new(galley).show_tooltip_when_elided(false));
        }
        ui.advance_cursor_after_rect(rect);
        line
    }

    fn format(&self, colour: Color32) -> TextFormat {
        let (font, line) = if self.prose { (theme::base(), 19.0) } else { (theme::code(), LINE_PX) };
        TextFormat { font_id: font, color: colour, line_height: Some(line), ..TextFormat::default() }
    }

    /// The whole text in a window that scrolls by itself.
    fn window(&self, ui: &mut Ui) {
        let size = vec2(ui.available_width(), LINE_PX * WINDOW_LINES as f32);
        let rect = Rect::from_min_size(ui.cursor().min, size);
        if !ui.is_rect_visible(rect) && self.marked.current.is_some() {
            // Once the window is in view, the line says itself where it is.
            marked::tell_in_box(ui, rect, 0.0);
        }
        if ui.is_rect_visible(rect) {
            let id = ui.scope_id().with(("window", self.name));
            let list = ui.data_mut(|data| data.get_temp_mut_or_default::<Windows>(Id::unique("long texts")).of(id));
            let mut child = ui.new_child(UiBuilder::new().scope_id(id).max_rect(rect));
            if let Ok(mut list) = list.lock() {
                let revision = self.text.original().len() as u64;
                let sought = self.marked.current_start().map(|start| (self.marked.moves, start));
                let before = ui.data_mut(|data| {
                    let before = data.get_temp_mut_or_default::<Option<(u64, usize)>>(id.with("sought"));
                    std::mem::replace(before, sought)
                });
                if let Some((_, start)) = sought.filter(|_| before != sought) {
                    list.jump_to(self.text.line_of(start), f64::from(LINE_PX) * 6.0);
                }
                list.show(&mut child, &mut Window { text: self }, revision, self.name);
            }
        }
        ui.advance_cursor_after_rect(rect);
        ui.add_space(space::XS);
    }
}

/// Where the readers of the texts in windows are. Only of those shown last: a list of a huge text holds megabytes.
#[derive(Clone, Default)]
struct Windows(Vec<(Id, Arc<Mutex<VirtualList<u32>>>)>);

impl Windows {
    fn of(&mut self, id: Id) -> Arc<Mutex<VirtualList<u32>>> {
        let known = self.0.iter().position(|(known, _)| *known == id).map(|at| self.0.remove(at));
        let (_, list) = known.unwrap_or_else(|| (id, Arc::default()));
        self.0.truncate(WINDOWS_KEPT - 1);
        self.0.insert(0, (id, Arc::clone(&list)));
        list
    }
}

struct Drawn {
    whole: bool,
    own_lines: usize,
    /// It ended within a line.
    within_line: bool,
}

struct Line {
    rows: usize,
    elided: bool,
}

struct Window<'a> {
    text: &'a LongTextBox<'a>,
}

impl Rows for Window<'_> {
    type Key = u32;

    fn len(&self) -> usize {
        self.text.text.line_count()
    }

    fn key(&self, row: usize) -> u32 {
        row as u32
    }

    fn estimate(&self, row: usize, width_px: f32) -> f32 {
        let columns = (width_px / (size::CODE * 0.6)).max(8.0);
        LINE_PX * (self.text.text.raw_line(row).len() as f32 / columns).ceil().max(1.0)
    }

    /// As if they were all of the same length.
    fn estimate_together(&self, rows: Range<usize>, width_px: f32) -> Option<f64> {
        let columns = (width_px / (size::CODE * 0.6)).max(8.0);
        let (bytes, count) = (self.text.text.bytes_of(rows.clone()) as f32, rows.len() as f32);
        Some(f64::from(LINE_PX * (bytes / count / columns).ceil().max(1.0) * count))
    }

    fn name(&self, row: usize) -> String {
        let continued = if self.text.text.is_start(row) { "" } else { ", continued" };
        format!("Line {}{continued}", self.text.text.own_line(row))
    }

    fn show(&mut self, ui: &mut Ui, row: usize, _: bool) {
        self.text.line(ui, row, usize::MAX);
    }
}

/// A hook before the rest of a long line, which the line itself does not have: it goes on with the one above.
fn continued(ui: &Ui, at: egui::Pos2, colour: Color32) {
    let stroke = Stroke::new(1.0, colour);
    let (top, turn) = (at + vec2(0.0, 2.0), at + vec2(0.0, LINE_PX / 2.0));
    ui.painter().line_segment([top, turn], stroke);
    ui.painter().line_segment([turn, turn + vec2(4.0, 0.0)], stroke);
}

/// A button that is only a word, for what is not what a panel is about.
pub fn small_button(ui: &mut Ui, word: &str, name: &str) -> bool {
    small_button_response(ui, word, name).clicked()
}

fn small_button_response(ui: &mut Ui, word: &str, name: &str) -> Response {
    let theme = Theme::of(ui.ctx());
    let text = egui::RichText::new(word).font(FontId::proportional(size::SMALL)).color(theme.weak);
    let button = egui::Button::new(text).frame(false).small();
    let response = ui.add(button).accessible_name(name).on_hover_cursor(egui::CursorIcon::PointingHand);
    if response.hovered() || response.has_focus() {
        let rect = response.rect;
        ui.painter().hline(rect.x_range(), rect.bottom() - 1.0, Stroke::new(1.0, theme.weak));
    }
    response
}
