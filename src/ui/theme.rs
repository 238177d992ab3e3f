//! The tokens: every colour, size and distance of the window. Nothing outside this file names a colour.

use std::sync::Arc;

use egui::style::{ScrollStyle, Selection, WidgetVisuals};
use egui::{
    Color32, Context, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, Margin, Shadow, Stroke, Style,
    TextStyle, Visuals, vec2,
};

use crate::model::{Decision, EventKind, Fact, Marker, MarkerKind, StepKind};

/// The colours of one theme. Text on its ground has a contrast of at least 4.5 : 1, `faint` of 3 : 1; `faint` never
/// carries a fact alone.
#[derive(Debug, PartialEq)]
pub struct Theme {
    pub dark: bool,
    /// Ground of the conversation.
    pub bg: Color32,
    /// Ground of strips and side panels.
    pub panel: Color32,
    /// Ground of buttons.
    pub raised: Color32,
    /// Ground of code.
    pub code: Color32,
    /// Hairlines.
    pub line: Color32,
    pub text: Color32,
    pub weak: Color32,
    pub faint: Color32,
    /// Selection, playhead, the first button.
    pub accent: Color32,
    pub accent_bg: Color32,
    pub prompt: Color32,
    pub question: Color32,
    pub granted: Color32,
    pub denied: Color32,
    pub fallback: Color32,
    pub failure: Color32,
    pub commit: Color32,
    /// A turn's bar, density.
    pub agent: Color32,
    /// Ground of a match, and of the one that is looked at, which is underlined too; text on them is `text`.
    pub mark: Color32,
    pub mark_current: Color32,
}

const fn rgb(hex: u32) -> Color32 {
    Color32::from_rgb((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

pub static DARK: Theme = Theme {
    dark: true,
    bg: rgb(0x14_161a),
    panel: rgb(0x1a_1d22),
    raised: rgb(0x22_262d),
    code: rgb(0x10_1216),
    line: rgb(0x2d_323a),
    text: rgb(0xe4_e7eb),
    weak: rgb(0x9e_a7b3),
    faint: rgb(0x74_7e8b),
    accent: rgb(0x4c_8dff),
    accent_bg: rgb(0x1d_3458),
    prompt: rgb(0x6a_a9ff),
    question: rgb(0xc4_8cf2),
    granted: rgb(0x57_c278),
    denied: rgb(0xf0_883e),
    fallback: rgb(0xe3_b341),
    failure: rgb(0xf4_605e),
    commit: rgb(0x4f_c1c1),
    agent: rgb(0x3a_4452),
    mark: rgb(0x4f_4114),
    mark_current: rgb(0x7d_5a00),
};

pub static LIGHT: Theme = Theme {
    dark: false,
    bg: rgb(0xfc_fcfd),
    panel: rgb(0xf4_f5f7),
    raised: rgb(0xff_ffff),
    code: rgb(0xf4_f5f7),
    line: rgb(0xdf_e2e7),
    text: rgb(0x1d_2127),
    weak: rgb(0x5a_6470),
    faint: rgb(0x7c_848f),
    accent: rgb(0x1a_64d6),
    accent_bg: rgb(0xdb_e8ff),
    prompt: rgb(0x1a_64d6),
    question: rgb(0x8a_3fd1),
    granted: rgb(0x1a_7f37),
    denied: rgb(0xb3_4700),
    fallback: rgb(0x8a_6100),
    failure: rgb(0xcf_222e),
    commit: rgb(0x0b_7a7a),
    agent: rgb(0xc9_d1da),
    mark: rgb(0xff_efb0),
    mark_current: rgb(0xff_cf4a),
};

/// Sizes of text, in points.
pub mod size {
    pub const BASE: f32 = 13.0;
    pub const SMALL: f32 = 11.5;
    pub const CHIP: f32 = 11.0;
    pub const HEADING: f32 = 15.0;
    pub const CODE: f32 = 12.0;
}

/// Distances, in points.
pub mod space {
    pub const XS: f32 = 4.0;
    pub const S: f32 = 8.0;
    pub const M: f32 = 12.0;
    pub const L: f32 = 22.0;
    /// Height of a step's row without chips.
    pub const ROW: f32 = 30.0;
    pub const RADIUS: f32 = 5.0;
    /// Side of an icon.
    pub const ICON: f32 = 12.0;
}

/// Body text.
pub fn base() -> FontId {
    FontId::proportional(size::BASE)
}

/// Labels, times.
pub fn small() -> FontId {
    FontId::proportional(size::SMALL)
}

/// Bold text of a size.
pub fn bold(points: f32) -> FontId {
    FontId::new(points, FontFamily::Name("bold".into()))
}

/// Code and records.
pub fn code() -> FontId {
    FontId::monospace(size::CODE)
}

impl Theme {
    /// The theme that the context shows now.
    pub fn of(context: &Context) -> &'static Self {
        if context.theme() == egui::Theme::Dark { &DARK } else { &LIGHT }
    }

    pub fn step(&self, kind: StepKind) -> Color32 {
        match kind {
            StepKind::Prompt => self.prompt,
            StepKind::QuestionAnswer => self.question,
        }
    }

    pub fn marker_kind(&self, kind: MarkerKind) -> Color32 {
        match kind {
            MarkerKind::Question => self.question,
            MarkerKind::Approval => self.granted,
            MarkerKind::Denial => self.denied,
            MarkerKind::Fallback | MarkerKind::Retry | MarkerKind::Quota => self.fallback,
            MarkerKind::Failure | MarkerKind::Interruption => self.failure,
            MarkerKind::Steering => self.prompt,
            MarkerKind::Commits => self.commit,
            MarkerKind::Compaction | MarkerKind::Subagent => self.weak,
        }
    }

    /// The colour of a marker; approvals that nobody was asked for are quiet.
    pub fn marker(&self, marker: &Marker) -> Color32 {
        match &marker.fact {
            Fact::Approval { decision: Decision::Auto, .. } => self.weak,
            Fact::Approval { decision: Decision::Pending | Decision::Cancelled, .. } => self.fallback,
            fact => self.marker_kind(fact.kind()),
        }
    }

    pub fn event(&self, kind: EventKind) -> Color32 {
        match kind {
            EventKind::Unreadable | EventKind::Failure => self.failure,
            _ => self.weak,
        }
    }

    fn style(&self) -> Style {
        let text_styles = [
            (TextStyle::Small, small()),
            (TextStyle::Body, base()),
            (TextStyle::Button, base()),
            (TextStyle::Monospace, code()),
            (TextStyle::Heading, bold(size::HEADING)),
        ]
        .into();
        let mut style = Style { text_styles, visuals: self.visuals(), animation_time: 0.08, ..Style::default() };
        style.spacing.item_spacing = vec2(space::S, space::XS);
        style.spacing.button_padding = vec2(9.0, 3.0);
        style.spacing.window_margin = Margin::same(14);
        style.spacing.menu_margin = Margin::same(6);
        style.spacing.interact_size.y = 22.0;
        // Bars have room of their own, so that they lie on no text, and are seen as long as there is more.
        style.spacing.scroll = ScrollStyle { bar_width: 8.0, bar_inner_margin: 4.0, ..ScrollStyle::solid() };
        style.spacing.scroll.fade.strength = 0.0;
        style.interaction.selectable_labels = false;
        style
    }

    fn visuals(&self) -> Visuals {
        let mut visuals = if self.dark { Visuals::dark() } else { Visuals::light() };
        let corner_radius = CornerRadius::same(space::RADIUS as u8);
        let widget = |fill: Color32, edge: Color32, text: Color32| WidgetVisuals {
            bg_fill: fill,
            weak_bg_fill: fill,
            bg_stroke: Stroke::new(1.0, edge),
            corner_radius,
            fg_stroke: Stroke::new(1.0, text),
            expansion: 0.0,
        };
        visuals.widgets.noninteractive = widget(self.panel, self.line, self.text);
        visuals.widgets.inactive = widget(self.raised, self.line, self.text);
        visuals.widgets.hovered = widget(self.raised, self.accent, self.text);
        visuals.widgets.active = widget(self.accent_bg, self.accent, self.text);
        visuals.widgets.open = widget(self.accent_bg, self.accent, self.text);
        // Handles of scroll bars and boxes to tick, which must be seen on any ground.
        visuals.widgets.inactive.bg_fill = self.agent;
        visuals.widgets.hovered.bg_fill = self.weak;
        visuals.widgets.active.bg_fill = self.weak;
        visuals.selection = Selection { bg_fill: self.accent_bg, stroke: Stroke::new(1.0, self.accent) };
        visuals.weak_text_color = Some(self.weak);
        visuals.hyperlink_color = self.prompt;
        visuals.faint_bg_color = self.panel;
        visuals.extreme_bg_color = self.code;
        visuals.code_bg_color = self.code;
        visuals.warn_fg_color = self.fallback;
        visuals.error_fg_color = self.failure;
        visuals.window_fill = self.panel;
        visuals.window_stroke = Stroke::new(1.0, self.line);
        visuals.window_corner_radius = CornerRadius::same(space::RADIUS as u8 + 1);
        visuals.window_shadow = Shadow::NONE;
        visuals.popup_shadow = Shadow::NONE;
        visuals.menu_corner_radius = corner_radius;
        visuals.panel_fill = self.panel;
        visuals
    }
}

/// Gives the context both themes and the fonts. Called once.
pub fn install(context: &Context) {
    context.set_style_of(egui::Theme::Dark, DARK.style());
    context.set_style_of(egui::Theme::Light, LIGHT.style());
    context.set_fonts(fonts());
}

/// Noto Sans for reading, in two weights; the built-in fonts for what it lacks and for code.
fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let mut add = |name: &str, bytes: &'static [u8]| {
        fonts.font_data.insert(name.to_owned(), Arc::new(FontData::from_static(bytes)));
        name.to_owned()
    };
    let regular = add("noto-sans", include_bytes!("../../assets/fonts/NotoSans-Regular.ttf"));
    let bold = add("noto-sans-bold", include_bytes!("../../assets/fonts/NotoSans-Bold.ttf"));
    let monospace = fonts.families.get(&FontFamily::Monospace).cloned().unwrap_or_default();
    let fallbacks = fonts.families.get(&FontFamily::Proportional).cloned().unwrap_or_default();
    let family = |first: String| {
        let mut names = vec![first];
        // Arrows and signs that Noto Sans lacks are in the code font.
        names.extend(monospace.iter().chain(&fallbacks).cloned());
        names.dedup();
        names
    };
    fonts.families.insert(FontFamily::Name("bold".into()), family(bold));
    fonts.families.insert(FontFamily::Proportional, family(regular));
    fonts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: Color32) -> f64 {
        let channel = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(colour.r()) + 0.7152 * channel(colour.g()) + 0.0722 * channel(colour.b())
    }

    fn contrast(a: Color32, b: Color32) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_can_be_read_on_every_ground() {
        for theme in [&DARK, &LIGHT] {
            for ground in [theme.bg, theme.panel, theme.raised, theme.code] {
                for text in [
                    theme.text,
                    theme.weak,
                    theme.prompt,
                    theme.question,
                    theme.granted,
                    theme.denied,
                    theme.fallback,
                    theme.failure,
                    theme.commit,
                ] {
                    let ratio = contrast(text, ground);
                    assert!(ratio >= 4.5, "{text:?} on {ground:?}, dark {}: {ratio:.2}", theme.dark);
                }
                assert!(contrast(theme.faint, ground) >= 3.0, "faint on {ground:?}, dark {}", theme.dark);
            }
            for ground in [theme.accent_bg, theme.mark, theme.mark_current] {
                assert!(contrast(theme.text, ground) >= 4.5, "on {ground:?}, dark {}", theme.dark);
            }
        }
    }
}
