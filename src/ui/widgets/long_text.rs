use super::super::theme::Theme;
use crate::workspace::text::LongText;
use egui::Ui;
#[derive(Default)]
pub struct LongTextState;
pub fn show_box(ui: &mut Ui, _: &Theme, text: &LongText, _: &mut LongTextState, height: f32, _: &str) {
    egui::ScrollArea::both().max_height(height).show_rows(ui, 17.0, text.line_count(), |ui, rows| {
        for row in rows {
            ui.monospace(text.line(row));
        }
    });
}
