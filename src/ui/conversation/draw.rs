//! What all rows share: the session, the texts at hand, the columns of a row, its menu for copying.

use std::borrow::Cow;
use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat};
use egui::{Align2, Color32, CornerRadius, FontId, Label, Rect, Stroke, StrokeKind, Ui, UiBuilder, pos2, vec2};

use super::super::Scene;
use super::super::theme::{self, Theme, size, space};
use super::super::widgets::glyphs::drawable;
use super::super::widgets::icons::{self, Icon};
use super::super::widgets::marked::Marked;
use super::super::widgets::{selectable, take_text_click};
use super::super::words;
use super::texts::{Texts, Wanted};
use crate::formats::search::{At, Part};
use crate::model::{Event, EventKind, Session, Step, ToolState, clock, duration_words};
use crate::workspace::Request;
use crate::workspace::bodies::{Slot, TextKey};
use crate::workspace::document::Document;
use crate::workspace::outline::rows::{Listed, Row};
use crate::workspace::player::Player;
use crate::workspace::search::{Marks, Ranges};
use crate::workspace::text::{EventText, TextPart, one_line, visible};

/// Distance of a row's contents from the panel's left edge.
pub const LEFT_PX: f32 = space::L;
pub const RIGHT_PX: f32 = space::M;
/// From an icon to the text beside it.
pub const ICON_COLUMN_PX: f32 = 28.0;
/// Room for a duration or a time.
pub const TIME_COLUMN_PX: f32 = 72.0;
/// Height of the first line of an event's row.
pub const HEAD_PX: f32 = 20.0;
/// How much of an event that was not played yet is seen.
const UNPLAYED_OPACITY: f32 = 0.3;
/// From this length it is said that a text is being read.
const LONG_BYTES: u32 = 1_000_000;

/// Draws rows, and gathers what their user asks for.
pub struct Draw<'s, 'a> {
    pub theme: &'static Theme,
    pub document: &'a Document,
    pub session: &'a Session,
    pub listed: Listed<'a>,
    pub texts: &'s mut Texts,
    requests: Vec<Request>,
    /// The events in whose rows the selected event is, and the one played last.
    selected: Option<usize>,
    current: Option<usize>,
}

impl<'s, 'a> Draw<'s, 'a> {
    pub fn new(scene: &Scene<'a>, listed: Listed<'a>, texts: &'s mut Texts) -> Self {
        let (theme, document, session) = (scene.theme, scene.document, scene.session);
        let owner = |event: Option<usize>| event.map(|event| listed.table.owner(event, &session.events));
        let selected = owner(document.selected_event());
        let current = owner(document.player.as_ref().and_then(Player::current));
        Self { theme, document, session, listed, texts, requests: Vec::new(), selected, current }
    }

    /// What was asked for.
    pub fn finish(self) -> Vec<Request> {
        self.requests
    }

    pub fn ask(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// An event; one whose label is only known from its text has it once that has been read.
    pub fn event(&self, index: usize) -> Option<Cow<'a, Event>> {
        let mut event = self.session.events.get(index)?;
        if event.label.is_empty()
            && let Some(text) = self.texts.at_hand(TextKey::Event(index), self.document)
            && !text.label.is_empty()
        {
            event.to_mut().label.clone_from(&text.label);
        }
        Some(event)
    }

    pub fn step(&self, index: u32) -> Option<&'a Step> {
        self.session.steps.get(index as usize)
    }

    /// A text, or that it has now been asked for.
    pub fn text(&mut self, key: TextKey) -> Wanted {
        let (wanted, ask) = self.texts.find(key, self.document, self.session);
        if ask {
            self.ask(Request::Read(key));
        }
        wanted
    }

    /// The text of an event that has one.
    pub fn text_of(&mut self, index: usize, event: &Event) -> Wanted {
        if event.text_bytes == 0 && event.tool.is_none() {
            return Wanted::Ready(Arc::default());
        }
        self.text(TextKey::Event(index))
    }

    /// Where the matches of the search are in a text; asks for it.
    pub fn marks(&mut self, key: TextKey) -> Option<Arc<Marks>> {
        let (marks, ask) = self.document.search.marks(key);
        let marks = marks.cloned();
        if ask && matches!(self.document.bodies.get(key), Some(Slot::Ready(_))) {
            self.ask(Request::Mark(key));
        }
        marks
    }

    /// Which match of a text is looked at, if it is one of these parts' of what is at `at`.
    pub fn looked_at(&self, at: At, parts: &[Part]) -> Option<usize> {
        let (found, nth) = self.document.search.current()?;
        (found.at == at && parts.contains(&found.part)).then_some(nth)
    }

    /// The marks of a text, of which the one with this number is looked at.
    pub fn marked<'m>(&self, ranges: Option<&'m Ranges>, current: Option<usize>) -> Marked<'m> {
        Marked::new(ranges.map(|ranges| &**ranges).unwrap_or_default(), current, self.document.search.moves())
    }

    /// Changes when a row's text arrives.
    pub fn stamp(&self, row: usize) -> u64 {
        let key = match self.listed.get(row) {
            Some(Row::Card(step)) => TextKey::Prompt(step + 1),
            Some(Row::Event(index)) => TextKey::Event(index as usize),
            _ => return 0,
        };
        self.texts.stamp(key, self.document, self.session) ^ self.extras_stamp(key)
    }

    /// What a screen reader says for a row.
    pub fn name(&self, row: usize) -> String {
        match self.listed.get(row) {
            Some(Row::Before) => "Before the first step".to_owned(),
            Some(Row::Header(step)) => self.step(step).map(step_name).unwrap_or_default(),
            Some(Row::Card(step)) => {
                let step = self.step(step);
                step.map(|step| format!("{}: {}", step.kind.word(), one_line(&step.summary, 80))).unwrap_or_default()
            }
            Some(Row::Event(index)) => self.event(index as usize).map(|event| event_name(&event)).unwrap_or_default(),
            Some(Row::Group(start, end)) => {
                let kind = self.event(start as usize).map_or("event", |event| event.kind.word());
                format!("{} × {kind}", end - start)
            }
            Some(Row::Nothing(_)) => "No events in this turn".to_owned(),
            None => String::new(),
        }
    }

    pub fn row(&mut self, ui: &mut Ui, row: Row, measuring: bool) {
        let asked = self.requests.len();
        // A text clicked in another panel is no click here.
        take_text_click(ui);
        ui.spacing_mut().item_spacing.y = 0.0;
        match row {
            Row::Before => self.before(ui),
            Row::Header(step) => self.header(ui, step),
            Row::Card(step) => self.card(ui, step),
            Row::Event(index) => self.event_row(ui, index as usize),
            Row::Group(start, end) => self.group(ui, start as usize, end as usize),
            Row::Nothing(step) => self.no_events(ui, step),
        }
        if measuring {
            self.requests.truncate(asked);
        }
    }

    /// A ground under the row that the pointer is over: a click anywhere on it selects its event.
    pub fn hovered(&self, ui: &Ui, ground: egui::layers::ShapeIdx) {
        let rect = ui.min_rect();
        if ui.rect_contains_pointer(rect) {
            let rect = Rect::from_min_max(rect.min + vec2(8.0, 1.0), rect.max - vec2(2.0, 1.0));
            let shape = egui::epaint::RectShape::filled(rect, space::RADIUS as u8, self.theme.panel);
            ui.painter().set(ground, shape);
        }
    }

    /// Dims what a replay has not come to yet, and marks what is selected or being played.
    pub fn mark(&self, ui: &mut Ui, index: usize) -> Option<egui::layers::ShapeIdx> {
        let player = self.document.player.as_ref();
        if player.is_some_and(|player| player.range.contains(&index)) && !self.document.has_played(index) {
            ui.multiply_opacity(UNPLAYED_OPACITY);
        }
        let marked = [self.selected, self.current].contains(&Some(index));
        marked.then(|| ui.painter().add(egui::Shape::Noop))
    }

    /// Draws the mark, now that the row's height is known.
    pub fn mark_row(&self, ui: &Ui, index: usize, mark: Option<egui::layers::ShapeIdx>) {
        let Some(mark) = mark else { return };
        let rect = ui.min_rect();
        let bar = Rect::from_min_size(pos2(rect.left() + 8.0, rect.top() + 3.0), vec2(3.0, rect.height() - 6.0));
        ui.painter().set(mark, egui::epaint::RectShape::filled(bar, CornerRadius::same(1), self.theme.accent));
        if self.current == Some(index) {
            let at = pos2(rect.left() + 16.0, rect.top() + 5.0 + HEAD_PX / 2.0);
            icons::paint(ui.painter(), Icon::Play, at, 8.0, self.theme.accent);
        }
    }

    /// A row in three columns: icon, contents, time.
    pub fn columns(
        &mut self,
        ui: &mut Ui,
        icon: Option<(Icon, Color32)>,
        right: &str,
        contents: impl FnOnce(&mut Self, &mut Ui),
    ) {
        let whole = ui.available_rect_before_wrap();
        let top = whole.top() + 5.0;
        let left = whole.left() + LEFT_PX;
        if let Some((icon, colour)) = icon {
            let at = pos2(left + space::ICON / 2.0, top + HEAD_PX / 2.0);
            icons::paint(ui.painter(), icon, at, space::ICON, colour);
        }
        if !right.is_empty() {
            let at = pos2(whole.right() - RIGHT_PX, top + HEAD_PX / 2.0);
            ui.painter().text(at, Align2::RIGHT_CENTER, right, theme::small(), self.theme.faint);
        }
        let inner = Rect::from_min_max(
            pos2(left + ICON_COLUMN_PX, top),
            pos2(whole.right() - RIGHT_PX - TIME_COLUMN_PX, f32::INFINITY),
        );
        let mut child = ui.new_child(column(inner));
        child.spacing_mut().interact_size.y = HEAD_PX;
        contents(self, &mut child);
        let bottom = child.min_rect().bottom().max(top + HEAD_PX) + 5.0;
        drop(child);
        ui.advance_cursor_after_rect(Rect::from_min_max(whole.min, pos2(whole.right(), bottom)));
    }

    /// A card with a bar of `colour` at its left.
    pub fn framed(
        &mut self,
        ui: &mut Ui,
        indent_px: f32,
        colour: Color32,
        fill: Color32,
        contents: impl FnOnce(&mut Self, &mut Ui),
    ) {
        let whole = ui.available_rect_before_wrap();
        let outer = Rect::from_min_max(
            pos2(whole.left() + LEFT_PX + indent_px, whole.top() + 4.0),
            pos2(whole.right() - RIGHT_PX, f32::INFINITY),
        );
        let (ground, bar) = (ui.painter().add(egui::Shape::Noop), ui.painter().add(egui::Shape::Noop));
        let inner = Rect::from_min_max(outer.min + vec2(14.0, 8.0), pos2(outer.right() - 11.0, f32::INFINITY));
        let mut child = ui.new_child(column(inner));
        child.spacing_mut().interact_size.y = HEAD_PX;
        contents(self, &mut child);
        let rect = Rect::from_min_max(outer.min, pos2(outer.right(), child.min_rect().bottom() + 8.0));
        drop(child);
        let round = space::RADIUS as u8 + 1;
        let stroke = Stroke::new(1.0, self.theme.line);
        ui.painter().set(ground, egui::epaint::RectShape::new(rect, round, fill, stroke, StrokeKind::Inside));
        let edge = Rect::from_min_size(rect.min, vec2(3.0, rect.height()));
        let corners = CornerRadius { nw: round, sw: round, ne: 0, se: 0 };
        ui.painter().set(bar, egui::epaint::RectShape::filled(edge, corners, colour));
        ui.advance_cursor_after_rect(Rect::from_min_max(whole.min, pos2(whole.right(), rect.bottom() + 4.0)));
    }

    /// A click on the row itself selects its event; its menu copies.
    pub fn event_input(&mut self, ui: &Ui, index: usize, event: &Event, text: Option<&EventText>) {
        let response = ui.response();
        if take_text_click(ui) || response.clicked() {
            self.ask(Request::SelectEvent(index));
        }
        let key = TextKey::Event(index);
        let said = match text {
            Some(text) if !text.text.is_empty() => Request::CopyText(key, TextPart::Text),
            Some(EventText { output: Some(_), .. }) => Request::CopyText(key, TextPart::Output),
            _ => Request::Copy(event.label.to_string()),
        };
        if response.has_focus() && ui.input(|input| input.events.contains(&egui::Event::Copy)) {
            self.ask(said.clone());
        }
        let mut copies: Vec<(&str, Request)> = Vec::new();
        if response.container_secondary_clicked() || menu_is_open(ui, &response) {
            if text.is_some_and(|text| !text.text.is_empty()) || event.tool.is_none() {
                copies.push(("Copy text", said));
            }
            if text.is_some_and(|text| text.input.is_some()) {
                copies.push(("Copy input", Request::CopyText(key, TextPart::Input)));
            }
            if text.is_some_and(|text| text.output.is_some()) {
                copies.push(("Copy output", Request::CopyText(key, TextPart::Output)));
            }
            copies.push(("Copy id", Request::Copy(event.node.to_string())));
        }
        response.container_context_menu(|ui| {
            for (word, request) in copies {
                if ui.button(word).clicked() {
                    self.requests.push(request);
                    ui.close();
                }
            }
        });
    }

    /// `Before the first step`, with a count, opened and closed by a click.
    fn before(&mut self, ui: &mut Ui) {
        let count = words::count(self.listed.table.before as u64, "event", "events");
        ui.add_space(space::S);
        let open = self.listed.before_is_open();
        self.columns(ui, None, "", |draw, ui| {
            let theme = draw.theme;
            ui.horizontal(|ui| {
                if !draw.session.steps.is_empty() && disclosure(ui, open, "Before the first step") {
                    draw.ask(Request::Expand(super::BEFORE));
                }
                ui.label(egui::RichText::new("Before the first step").font(theme::bold(size::BASE)));
                ui.label(egui::RichText::new(count).color(theme.weak));
            });
        });
    }

    fn no_events(&mut self, ui: &mut Ui, step: u32) {
        let last = self.step(step).is_some_and(|step| step.number as usize == self.session.steps.len());
        let sentence = if last { "Nothing is recorded after this" } else { "The agent did nothing that is recorded" };
        self.columns(ui, None, "", |draw, ui| {
            ui.label(egui::RichText::new(sentence).color(draw.theme.weak));
        });
    }
}

fn menu_is_open(ui: &Ui, response: &egui::Response) -> bool {
    egui::Popup::is_id_open(ui.ctx(), egui::Popup::default_response_id(response))
}

/// A `Ui` from the top down.
pub fn column(rect: Rect) -> UiBuilder {
    UiBuilder::new().max_rect(rect).layout(egui::Layout::top_down(egui::Align::Min))
}

/// `Step 14, question, 14:22:08`.
pub fn step_name(step: &Step) -> String {
    let mut name = format!("Step {}, {}", step.number, step.kind.word());
    if let Some(at) = step.at {
        name.push_str(&format!(", {}", clock(at, "%H:%M:%S")));
    }
    name
}

fn event_name(event: &Event) -> String {
    let mut name = event.kind.word().to_owned();
    if let Some(tool) = &event.tool {
        name.push_str(&format!(" {}", one_line(&tool.name, 60)));
        name.push_str(match tool.state {
            ToolState::Pending => ", no result",
            ToolState::Done => "",
            ToolState::Failed => ", failed",
            ToolState::Denied => ", denied",
        });
    }
    if !event.label.is_empty() {
        name.push_str(&format!(": {}", one_line(&event.label, 160)));
    }
    if let Some(marker) = event.marker.as_deref().filter(|_| event.tool.is_none()) {
        name.push_str(&format!(", {}", one_line(&words::marker(marker), 160)));
    }
    name
}

/// What stands at the right of an event's row.
pub fn time_column(event: &Event) -> String {
    let timed = matches!(event.kind, EventKind::Tool | EventKind::ToolResult | EventKind::Question);
    match (event.duration_ms, event.at) {
        _ if event.tool.as_ref().is_some_and(|tool| tool.state == ToolState::Denied) => "–".to_owned(),
        (Some(duration), _) => duration_words(duration),
        (None, _) if timed => "–".to_owned(),
        (None, Some(at)) => clock(at, "%H:%M:%S"),
        (None, None) => String::new(),
    }
}

/// A part of a line: text, whether it is bold, its colour.
pub type Piece<'t> = (&'t str, bool, Color32);

/// A line of pieces.
pub fn line_job(ui: &Ui, pieces: &[Piece<'_>]) -> LayoutJob {
    let mut job = LayoutJob::default();
    pieces.iter().for_each(|piece| append(ui, &mut job, *piece));
    job
}

/// Adds a piece to a line.
pub fn append(ui: &Ui, job: &mut LayoutJob, (text, bold, colour): Piece<'_>) {
    let format = format_of(bold, colour);
    let text = &drawable(ui, visible(text), &format.font_id);
    job.append(text, 0.0, format);
}

/// How a piece of a line is drawn.
pub fn format_of(bold: bool, color: Color32) -> TextFormat {
    let font_id = if bold { theme::bold(size::BASE) } else { FontId::proportional(size::BASE) };
    TextFormat { font_id, color, line_height: Some(HEAD_PX - 1.0), ..TextFormat::default() }
}

/// Adds a text that wraps and can be selected.
pub fn wrapped(ui: &mut Ui, pieces: &[Piece<'_>]) -> egui::Response {
    let job = line_job(ui, pieces);
    selectable(ui, Label::new(job).wrap())
}

/// The triangle that opens and closes something named; true when it was pressed.
pub fn disclosure(ui: &mut Ui, open: bool, name: &str) -> bool {
    let theme = Theme::of(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(16.0, HEAD_PX), egui::Sense::click());
    let said = if open { format!("Fold {name}") } else { format!("Show {name}") };
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::DisclosureTriangle, true, &said));
    let colour = if response.hovered() || response.has_focus() { theme.text } else { theme.weak };
    let icon = if open { Icon::Unfolded } else { Icon::Folded };
    icons::paint(ui.painter(), icon, rect.center(), space::ICON, colour);
    response.clicked()
}

/// What goes on, with a sign that it does.
pub fn waiting(ui: &mut Ui, theme: &Theme, sentence: &str) {
    ui.horizontal(|ui| {
        ui.add(egui::Spinner::new().size(14.0).color(theme.weak));
        ui.label(egui::RichText::new(sentence).color(theme.weak));
    });
}

/// Says that a long text is on its way; a short one is there before that could be read.
pub fn coming(ui: &mut Ui, theme: &Theme, text_bytes: u32) {
    if text_bytes >= LONG_BYTES {
        waiting(ui, theme, &format!("Reading {} of text…", words::bytes(text_bytes.into())));
    }
}

/// Says why a text is not there.
pub fn unread(ui: &mut Ui, theme: &Theme, sentence: &str) {
    wrapped(ui, &[("Not read: ", false, theme.failure), (sentence, false, theme.text)]);
}
