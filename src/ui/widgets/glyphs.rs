//! Signs that no font at hand can draw, said another way: they would be a blank, and a check mark that is not seen is a
//! result that is not seen.

use std::borrow::Cow;

use egui::epaint::text::FontsView;
use egui::{FontId, Ui};

/// A text of which every sign can be seen when it is drawn in `font`. Letters of scripts without a font stay as they are.
pub fn drawable<'t>(ui: &Ui, text: Cow<'t, str>, font: &FontId) -> Cow<'t, str> {
    if !text.chars().any(is_sign) {
        return text;
    }
    ui.fonts_mut(|fonts| {
        let missing = |fonts: &mut FontsView<'_>, sign: char| is_sign(sign) && !fonts.has_glyph(font, sign);
        if !text.chars().any(|sign| missing(fonts, sign)) {
            return text;
        }
        let mut shown = String::with_capacity(text.len() + 8);
        for sign in text.chars() {
            if !missing(fonts, sign) {
                shown.push(sign);
                continue;
            }
            match plainer(sign).iter().find(|plain| fonts.has_glyph(font, **plain)) {
                Some(plain) => shown.push(*plain),
                None => shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(sign))),
            }
        }
        Cow::Owned(shown)
    })
}

/// Arrows, signs, pictures: what stands for itself, not for a sound.
fn is_sign(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{e000}'..='\u{f8ff}')
}

/// Signs of the same meaning, the best first; the last of each is in the fonts that come with the program.
fn plainer(sign: char) -> &'static [char] {
    match sign {
        '✅' | '✔' | '✓' | '☑' => &['✔', '✓', '√'],
        '❌' | '❎' | '✖' | '✗' | '✘' => &['✖', '✗', '×'],
        '⚠' => &['▲', '!'],
        '⭐' => &['★', '*'],
        '❗' => &['!'],
        '❓' => &['?'],
        '➡' => &['→'],
        '⬅' => &['←'],
        '⬆' => &['↑'],
        '⬇' => &['↓'],
        '🟢' | '🔴' | '🟡' | '🔵' => &['●', '•'],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;

    use super::super::super::theme;
    use super::*;

    #[test]
    fn signs_without_a_glyph_are_said_another_way() {
        let mut shown = Vec::new();
        let mut harness = Harness::builder().with_context_setup(theme::install).build_ui(|ui| {
            shown = ["plain", "✅ 12 ❌ 1", "→ ✔", "⚠ 🟢 ⭐ ❗ ⬇", "a \u{f1234}\u{e123} b"]
                .map(|text| drawable(ui, Cow::Borrowed(text), &theme::base()).into_owned())
                .into();
        });
        harness.run();
        drop(harness);
        assert_eq!(shown, ["plain", "√ 12 × 1", "→ √", "▲ ● * ! ⬇", "a \u{f1234}⟨U+E123⟩ b"]);
    }
}
