//! Marker chips: a shape and a word in a rounded outline.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use egui::{Align2, Color32, CornerRadius, Rect, Response, Sense, Stroke, StrokeKind, Ui, pos2, vec2};

use super::super::theme::{Theme, size};
use super::icons::{self, Icon};
use crate::model::{Decision, Event, Fact, Marker, MarkerKind};
use crate::workspace::text::visible;

const HEIGHT: f32 = 18.0;
const PADDING: f32 = 6.0;
const ICON_SIDE: f32 = 11.0;
const GAP: f32 = 4.0;

/// What a chip shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    pub icon: Option<Icon>,
    pub text: String,
    pub colour: Color32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    On,
    Off,
}

impl Chip {
    pub fn new(icon: Icon, text: impl Into<String>, colour: Color32) -> Self {
        Self { icon: Some(icon), text: text.into(), colour }
    }

    /// Draws it; the text is cut to the width that is there and shown whole to the pointer.
    pub fn show(&self, ui: &mut Ui) -> Response {
        let (response, elided) = self.draw(ui, Sense::hover(), Look::Plain);
        let text = visible(&self.text);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, text.as_ref()));
        if elided { response.on_hover_text(text) } else { response }
    }

    /// Draws it without a hint of its own, for who has a longer one.
    pub fn show_hinted(&self, ui: &mut Ui, hint: &str) -> Response {
        let (response, _) = self.draw(ui, Sense::hover(), Look::Plain);
        let text = visible(&self.text);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, text.as_ref()));
        response.on_hover_text(visible(hint))
    }

    /// Draws it as a switch that a screen reader calls `name`: filled when it is on, hollow and struck out when it is
    /// off.
    pub fn show_toggle(&self, ui: &mut Ui, name: &str, on: bool) -> Response {
        let (response, _) = self.draw(ui, Sense::click(), if on { Look::On } else { Look::Off });
        response.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, on, name));
        response
    }

    /// The response, and whether the text had to be cut.
    fn draw(&self, ui: &mut Ui, sense: Sense, look: Look) -> (Response, bool) {
        let font = egui::FontId::proportional(size::CHIP);
        let icon_width = if self.icon.is_some() { ICON_SIDE + GAP } else { 0.0 };
        let room = (ui.available_width() - 2.0 * PADDING - icon_width).max(24.0);
        let mut job = egui::text::LayoutJob::simple_singleline(visible(&self.text).into_owned(), font, self.colour);
        if look == Look::Off {
            job.sections.iter_mut().for_each(|section| section.format.strikethrough = Stroke::new(1.0, self.colour));
        }
        job.wrap = egui::text::TextWrapping::truncate_at_width(room);
        let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
        let width = galley.size().x + icon_width + 2.0 * PADDING;
        let (rect, response) = ui.allocate_exact_size(vec2(width, HEIGHT), sense);
        let painter = ui.painter();
        let outline = rect.shrink(0.5);
        painter.rect(
            outline,
            CornerRadius::same((HEIGHT / 2.0) as u8),
            if look == Look::On { self.colour.gamma_multiply(0.2) } else { Color32::TRANSPARENT },
            Stroke::new(1.0, self.colour),
            StrokeKind::Inside,
        );
        if response.has_focus() {
            let stroke = Stroke::new(1.0, Theme::of(ui.ctx()).accent);
            painter.rect_stroke(rect.expand(2.0), CornerRadius::same(HEIGHT as u8), stroke, StrokeKind::Inside);
        }
        let mut x = rect.left() + PADDING;
        if let Some(icon) = self.icon {
            icons::paint(painter, icon, pos2(x + ICON_SIDE / 2.0, rect.center().y), ICON_SIDE, self.colour);
            x += ICON_SIDE + GAP;
        }
        let elided = galley.elided;
        let text = Rect::from_min_size(pos2(x, rect.top()), vec2(galley.size().x, HEIGHT));
        painter.galley(Align2::LEFT_CENTER.align_size_within_rect(galley.size(), text).min, galley, self.colour);
        (response, elided)
    }

    /// The width it takes when nothing is cut.
    pub fn width(&self, ui: &Ui) -> f32 {
        let font = egui::FontId::proportional(size::CHIP);
        let text =
            ui.fonts_mut(|fonts| fonts.layout_no_wrap(visible(&self.text).into_owned(), font, self.colour).size().x);
        text + 2.0 * PADDING + if self.icon.is_some() { ICON_SIDE + GAP } else { 0.0 }
    }
}

/// The chips of a step: one for each kind of marker among its events, counted where there are several.
pub fn of_events<'e>(events: impl Iterator<Item = Cow<'e, Event>>, theme: &Theme) -> Vec<Chip> {
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Group {
        Kind(MarkerKind),
        Waiting,
        Auto,
    }
    let mut counts: BTreeMap<Group, (usize, Box<Marker>)> = BTreeMap::new();
    let mut subagents: HashSet<String> = HashSet::new();
    for marker in events.filter_map(|event| event.into_owned().marker) {
        let group = match &marker.fact {
            Fact::Approval { decision: Decision::Auto, .. } => Group::Auto,
            Fact::Approval { decision: Decision::Pending, .. } => Group::Waiting,
            fact => Group::Kind(fact.kind()),
        };
        // What is counted is what is told of: commits, not reports of commits; subagents, not their coming and going.
        let more = match &marker.fact {
            Fact::Commits { commits, unavailable: None } => commits.len().max(1),
            Fact::Subagent { id, .. } => usize::from(subagents.insert(id.clone())),
            _ => 1,
        };
        counts.entry(group).or_insert((0, marker)).0 += more;
    }
    counts
        .into_iter()
        .map(|(group, (count, marker))| {
            let word = match group {
                Group::Auto => "auto",
                Group::Waiting => "waiting",
                Group::Kind(kind) => chip_word(kind, count),
            };
            let text = if count == 1 { word.to_owned() } else { format!("{count} {word}") };
            Chip::new(Icon::of_marker(&marker), text, theme.marker(&marker))
        })
        .collect()
}

fn chip_word(kind: MarkerKind, count: usize) -> &'static str {
    let many = count > 1;
    match kind {
        MarkerKind::Approval => "approved",
        MarkerKind::Denial => "denied",
        MarkerKind::Failure => "failed",
        MarkerKind::Interruption => "interrupted",
        MarkerKind::Commits if many => "commits",
        MarkerKind::Commits => "commit",
        MarkerKind::Question if many => "questions",
        MarkerKind::Fallback if many => "fallbacks",
        MarkerKind::Retry if many => "retries",
        MarkerKind::Compaction => "compacted",
        MarkerKind::Subagent if many => "subagents",
        MarkerKind::Steering => "steered",
        kind => kind.word(),
    }
}

/// What is said of one marker, in a chip beside its event: `approved by user · waited 6 s`.
pub fn of_marker(marker: &Marker, theme: &Theme) -> Chip {
    Chip::new(Icon::of_marker(marker), super::super::words::marker(marker), theme.marker(marker))
}
