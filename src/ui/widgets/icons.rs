//! The shapes of steps and markers. Each kind has its own, so that colour is never the only sign.

use egui::{Color32, Painter, Pos2, Rect, Sense, Shape, Stroke, Ui, pos2, vec2};

use super::super::theme::space;
use crate::model::{Decision, EventKind, Fact, Marker, MarkerKind, StepKind};

/// A shape of the window's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Icon {
    /// Filled triangle.
    Prompt,
    /// Diamond with a dot.
    Question,
    /// Check mark.
    Granted,
    /// Circle with a bar.
    Denied,
    /// Hourglass of two strokes: nobody has decided.
    Waiting,
    /// Bent arrow.
    Fallback,
    /// Circling arrow.
    Retry,
    /// Cross.
    Failure,
    /// Triangle before a bar: a word put in while the agent was at work.
    Steering,
    /// Square in a circle: stopped.
    Interruption,
    /// Ring on a line.
    Commit,
    /// `>_`
    Tool,
    /// Two arrows to the middle.
    Compaction,
    /// Small circle under a larger one.
    Subagent,
    /// Three lines.
    Text,
    /// Cloud of three dots.
    Thinking,
    /// Dot.
    Other,
    Play,
    Pause,
    NextEvent,
    NextStep,
    NextMarker,
    Close,
    /// Triangle for folded things.
    Folded,
    Unfolded,
    /// Arrow heads to what is before and after.
    Up,
    Down,
    /// Flag on a pole: a bookmark.
    Bookmark,
    /// Sheet with lines: a note.
    Note,
}

impl Icon {
    pub const ALL: [Self; 29] = [
        Self::Prompt,
        Self::Question,
        Self::Granted,
        Self::Denied,
        Self::Waiting,
        Self::Fallback,
        Self::Retry,
        Self::Failure,
        Self::Steering,
        Self::Interruption,
        Self::Commit,
        Self::Tool,
        Self::Compaction,
        Self::Subagent,
        Self::Text,
        Self::Thinking,
        Self::Other,
        Self::Play,
        Self::Pause,
        Self::NextEvent,
        Self::NextStep,
        Self::NextMarker,
        Self::Close,
        Self::Folded,
        Self::Unfolded,
        Self::Up,
        Self::Down,
        Self::Bookmark,
        Self::Note,
    ];

    pub fn of_step(kind: StepKind) -> Self {
        match kind {
            StepKind::Prompt => Self::Prompt,
            StepKind::QuestionAnswer => Self::Question,
        }
    }

    pub fn of_marker(marker: &Marker) -> Self {
        match &marker.fact {
            Fact::Approval { decision: Decision::Pending | Decision::Cancelled, .. } => Self::Waiting,
            fact => Self::of_marker_kind(fact.kind()),
        }
    }

    pub fn of_marker_kind(kind: MarkerKind) -> Self {
        match kind {
            MarkerKind::Question => Self::Question,
            MarkerKind::Approval => Self::Granted,
            MarkerKind::Denial => Self::Denied,
            MarkerKind::Fallback => Self::Fallback,
            MarkerKind::Retry => Self::Retry,
            MarkerKind::Failure => Self::Failure,
            MarkerKind::Quota => Self::Waiting,
            MarkerKind::Interruption => Self::Interruption,
            MarkerKind::Steering => Self::Steering,
            MarkerKind::Commits => Self::Commit,
            MarkerKind::Compaction => Self::Compaction,
            MarkerKind::Subagent => Self::Subagent,
        }
    }

    pub fn of_event(kind: EventKind) -> Self {
        match kind {
            EventKind::Text => Self::Text,
            EventKind::Thinking => Self::Thinking,
            EventKind::Tool | EventKind::ToolResult | EventKind::FileChange => Self::Tool,
            EventKind::Question => Self::Question,
            EventKind::Approval => Self::Granted,
            EventKind::Fallback => Self::Fallback,
            EventKind::Retry => Self::Retry,
            EventKind::Failure | EventKind::Unreadable => Self::Failure,
            EventKind::Quota => Self::Waiting,
            EventKind::Interruption => Self::Interruption,
            EventKind::Steering => Self::Steering,
            EventKind::Commits => Self::Commit,
            EventKind::Compaction => Self::Compaction,
            EventKind::Subagent => Self::Subagent,
            EventKind::Decision | EventKind::Notice | EventKind::Unknown => Self::Other,
        }
    }
}

#[expect(clippy::too_many_lines, reason = "one arm an icon")]
/// Draws `icon` centred at `centre`, in a square of `side` points.
pub fn paint(painter: &Painter, icon: Icon, centre: Pos2, side: f32, colour: Color32) {
    // All shapes are drawn on a grid of 12.
    let unit = side / 12.0;
    let at = |x: f32, y: f32| pos2(centre.x + (x - 6.0) * unit, centre.y + (y - 6.0) * unit);
    let stroke = |width: f32| Stroke::new((width * unit).max(1.0), colour);
    let path = |points: &[(f32, f32)], width: f32| {
        painter.add(Shape::line(points.iter().map(|(x, y)| at(*x, *y)).collect(), stroke(width)));
    };
    let fill = |points: &[(f32, f32)]| {
        let points = points.iter().map(|(x, y)| at(*x, *y)).collect();
        painter.add(Shape::convex_polygon(points, colour, Stroke::NONE));
    };
    let ring = |x: f32, y: f32, radius: f32, width: f32| {
        painter.circle_stroke(at(x, y), radius * unit, stroke(width));
    };
    let dot = |x: f32, y: f32, radius: f32| {
        painter.circle_filled(at(x, y), radius * unit, colour);
    };
    match icon {
        Icon::Prompt | Icon::Play => fill(&[(3.0, 1.5), (10.0, 6.0), (3.0, 10.5)]),
        Icon::Steering => {
            path(&[(1.8, 0.8), (1.8, 11.2)], 1.6);
            path(&[(4.6, 2.2), (10.6, 6.0), (4.6, 9.8), (4.6, 2.2)], 1.5);
        }
        Icon::Question => {
            path(&[(6.0, 0.8), (11.2, 6.0), (6.0, 11.2), (0.8, 6.0), (6.0, 0.8)], 1.6);
            dot(6.0, 6.0, 1.5);
        }
        Icon::Granted => path(&[(1.5, 6.3), (4.6, 9.4), (10.5, 2.8)], 2.0),
        Icon::Denied => {
            ring(6.0, 6.0, 4.6, 1.7);
            path(&[(2.8, 9.2), (9.2, 2.8)], 1.7);
        }
        Icon::Waiting => {
            path(&[(2.5, 1.5), (9.5, 1.5), (2.5, 10.5), (9.5, 10.5), (2.5, 1.5)], 1.5);
        }
        Icon::Fallback => {
            path(&[(1.5, 8.5), (2.6, 5.6), (5.0, 4.2), (7.6, 4.8), (9.5, 7.0)], 1.7);
            path(&[(10.8, 3.6), (9.6, 7.4), (6.0, 6.6)], 1.7);
        }
        Icon::Retry => {
            path(
                &[(9.8, 7.4), (8.2, 9.6), (5.6, 10.2), (3.0, 8.8), (2.0, 6.0), (3.2, 3.2), (6.0, 2.0), (8.8, 3.2)],
                1.6,
            );
            path(&[(9.6, 0.8), (9.2, 3.8), (6.4, 3.6)], 1.6);
        }
        Icon::Failure | Icon::Close => {
            let width = if icon == Icon::Close { 1.5 } else { 2.2 };
            path(&[(2.0, 2.0), (10.0, 10.0)], width);
            path(&[(10.0, 2.0), (2.0, 10.0)], width);
        }
        Icon::Interruption => {
            ring(6.0, 6.0, 4.8, 1.5);
            fill(&[(4.0, 4.0), (8.0, 4.0), (8.0, 8.0), (4.0, 8.0)]);
        }
        Icon::Commit => {
            path(&[(0.0, 6.0), (3.0, 6.0)], 1.6);
            path(&[(9.0, 6.0), (12.0, 6.0)], 1.6);
            ring(6.0, 6.0, 2.8, 1.7);
        }
        Icon::Tool => {
            path(&[(2.0, 3.5), (5.0, 6.0), (2.0, 8.5)], 1.5);
            path(&[(6.0, 9.0), (10.5, 9.0)], 1.5);
        }
        Icon::Compaction => {
            path(&[(6.0, 0.5), (6.0, 4.2)], 1.5);
            path(&[(3.8, 2.6), (6.0, 4.6), (8.2, 2.6)], 1.5);
            path(&[(1.0, 6.0), (11.0, 6.0)], 1.5);
            path(&[(6.0, 11.5), (6.0, 7.8)], 1.5);
            path(&[(3.8, 9.4), (6.0, 7.4), (8.2, 9.4)], 1.5);
        }
        Icon::Subagent => {
            ring(4.0, 3.6, 2.4, 1.5);
            path(&[(4.0, 6.2), (4.0, 9.0), (6.6, 9.0)], 1.5);
            dot(8.8, 9.0, 2.0);
        }
        Icon::Text => {
            path(&[(1.5, 3.0), (10.5, 3.0)], 1.3);
            path(&[(1.5, 6.0), (10.5, 6.0)], 1.3);
            path(&[(1.5, 9.0), (7.0, 9.0)], 1.3);
        }
        Icon::Thinking => [2.5, 6.0, 9.5].into_iter().for_each(|x| dot(x, 6.0, 1.2)),
        Icon::Other => dot(6.0, 6.0, 1.8),
        Icon::Pause => {
            fill(&[(2.5, 2.0), (5.0, 2.0), (5.0, 10.0), (2.5, 10.0)]);
            fill(&[(7.0, 2.0), (9.5, 2.0), (9.5, 10.0), (7.0, 10.0)]);
        }
        Icon::NextEvent => {
            fill(&[(2.5, 2.0), (8.0, 6.0), (2.5, 10.0)]);
            dot(10.0, 6.0, 1.3);
        }
        Icon::NextStep => {
            fill(&[(2.0, 2.0), (7.5, 6.0), (2.0, 10.0)]);
            fill(&[(8.5, 2.0), (10.3, 2.0), (10.3, 10.0), (8.5, 10.0)]);
        }
        Icon::NextMarker => {
            fill(&[(1.5, 2.0), (6.5, 6.0), (1.5, 10.0)]);
            path(&[(9.0, 3.2), (11.2, 6.0), (9.0, 8.8), (6.9, 6.0), (9.0, 3.2)], 1.2);
        }
        Icon::Up => path(&[(2.0, 8.0), (6.0, 4.0), (10.0, 8.0)], 1.6),
        Icon::Down => path(&[(2.0, 4.0), (6.0, 8.0), (10.0, 4.0)], 1.6),
        Icon::Bookmark => {
            path(&[(3.0, 1.0), (3.0, 11.0)], 1.4);
            fill(&[(3.0, 1.2), (10.5, 3.8), (3.0, 6.6)]);
        }
        Icon::Note => {
            path(&[(2.0, 1.5), (10.0, 1.5), (10.0, 10.5), (2.0, 10.5), (2.0, 1.5)], 1.3);
            path(&[(4.0, 4.4), (8.0, 4.4)], 1.2);
            path(&[(4.0, 7.4), (8.0, 7.4)], 1.2);
        }
        Icon::Folded => fill(&[(4.0, 2.5), (8.5, 6.0), (4.0, 9.5)]),
        Icon::Unfolded => fill(&[(2.5, 4.0), (9.5, 4.0), (6.0, 8.5)]),
    }
}

/// Draws `icon` as a part of a row of widgets.
pub fn show(ui: &mut Ui, icon: Icon, colour: Color32) {
    let (rect, _) =
        ui.allocate_exact_size(vec2(space::ICON, ui.text_style_height(&egui::TextStyle::Body)), Sense::hover());
    paint(ui.painter(), icon, rect.center(), space::ICON, colour);
}

/// A square button that shows only `icon`; `name` is what a screen reader says and the pointer is told.
pub fn button(ui: &mut Ui, icon: Icon, name: &str, enabled: bool) -> egui::Response {
    let side = ui.spacing().interact_size.y;
    let sense = if enabled { Sense::click() } else { Sense::hover() };
    let (rect, response) = ui.allocate_exact_size(vec2(side + 4.0, side), sense);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, enabled, name));
    let visuals = if enabled { *ui.style().interact(&response) } else { ui.visuals().widgets.noninteractive };
    ui.painter().rect(rect, visuals.corner_radius, visuals.weak_bg_fill, visuals.bg_stroke, egui::StrokeKind::Inside);
    let colour = if enabled { visuals.fg_stroke.color } else { super::super::theme::Theme::of(ui.ctx()).faint };
    paint(ui.painter(), icon, rect.center(), space::ICON, colour);
    response.on_hover_text(name)
}

/// The square of `icon` in the middle of `rect`.
pub fn centred(rect: Rect) -> Rect {
    Rect::from_center_size(rect.center(), vec2(space::ICON, space::ICON))
}
