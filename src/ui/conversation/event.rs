//! The rows of events other than tool calls and marked facts: what the agent said and thought, notices, records that are
//! not known or not readable.

use egui::Ui;

use super::super::widgets::icons::Icon;
use super::super::widgets::long_text::LongTextBox;
use super::super::widgets::markdown::{self, MarkedBlocks};
use super::super::words;
use super::draw::{Draw, coming, disclosure, time_column, unread, wrapped};
use super::texts::Wanted;
use super::tool::boxed;
use crate::formats::search::{At, Part};
use crate::model::{Event, EventKind, Glance};
use crate::workspace::Request;
use crate::workspace::bodies::TextKey;
use crate::workspace::document::Part as Folded;
use crate::workspace::text::{EventText, TextPart, one_line};

/// The parts of an event that are its text.
pub const TEXTS: [Part; 4] = [Part::Text, Part::Thinking, Part::Prompt, Part::Other];
/// Running text is no wider, however wide the window is: longer lines are hard to read.
const TEXT_MOST_PX: f32 = 920.0;
/// Lines of a raw record that are shown before it is opened.
const RAW_LINES: usize = 8;

impl Draw<'_, '_> {
    pub fn event_row(&mut self, ui: &mut Ui, index: usize) {
        let Some(event) = self.event(index) else { return };
        let ground = ui.painter().add(egui::Shape::Noop);
        let mark = self.mark(ui, index);
        match event.kind {
            EventKind::Text => self.said(ui, index, &event),
            EventKind::Thinking => self.thought(ui, index, &event),
            EventKind::Tool | EventKind::ToolResult | EventKind::FileChange => self.tool_row(ui, index, &event),
            EventKind::Notice | EventKind::Decision | EventKind::Unknown => self.noted(ui, index, &event),
            EventKind::Unreadable => self.unreadable(ui, index, &event),
            _ => self.fact_row(ui, index, &event),
        }
        self.mark_row(ui, index, mark);
        self.hovered(ui, ground);
    }

    /// What the agent said, as Markdown.
    fn said(&mut self, ui: &mut Ui, index: usize, event: &Event) {
        let wanted = self.text_of(index, event);
        let text = self.spoken(ui, index, event, wanted, None);
        self.event_input(ui, index, event, text.as_deref());
    }

    fn spoken(
        &mut self,
        ui: &mut Ui,
        index: usize,
        event: &Event,
        wanted: Wanted,
        icon: Option<(Icon, egui::Color32)>,
    ) -> Option<std::sync::Arc<EventText>> {
        let right = time_column(event);
        match wanted {
            Wanted::Ready(text) => {
                self.columns(ui, icon, &right, |draw, ui| draw.text_body(ui, index, event, &text));
                Some(text)
            }
            Wanted::Coming => {
                let height = crate::workspace::outline::rows::estimate(&Glance::from(event), ui.available_width());
                self.columns(ui, icon, &right, |draw, ui| {
                    let label = one_line(&event.label, 160);
                    wrapped(ui, &[(&label, false, draw.theme.text), (" …", false, draw.theme.weak)]);
                    coming(ui, draw.theme, event.text_bytes);
                    // Room for what is on its way, so that what is below does not jump when it comes.
                    ui.add_space((height - ui.min_rect().height() - 10.0).clamp(0.0, 4_000.0));
                });
                None
            }
            Wanted::Failed(sentence) => {
                self.columns(ui, icon, &right, |draw, ui| {
                    wrapped(ui, &[(&one_line(&event.label, 160), false, draw.theme.text)]);
                    unread(ui, draw.theme, &sentence);
                });
                None
            }
        }
    }

    fn text_body(&mut self, ui: &mut Ui, index: usize, event: &Event, text: &EventText) {
        ui.set_max_width(ui.available_width().min(TEXT_MOST_PX));
        let colour = if event.kind == EventKind::Thinking { self.theme.weak } else { self.theme.text };
        let marks = self.marks(TextKey::Event(index));
        let nth = self.looked_at(At::Event(index), &TEXTS);
        match &text.markdown {
            Some(parsed) => {
                let moves = self.document.search.moves();
                let marked = marks.as_ref().map_or_else(MarkedBlocks::default, |marks| MarkedBlocks {
                    blocks: &marks.markdown,
                    current: nth.and_then(|nth| marks.in_markdown(nth)),
                    moves,
                });
                let memo = self.texts.memo(TextKey::Event(index), text);
                if let Some(copied) = markdown::show(ui, parsed, memo, colour, marked) {
                    self.ask(Request::Copy(copied));
                }
            }
            None => {
                let fold = Folded::Text.of(event.place);
                // A text too long for Markdown is folded too: it would be a window of lines at once.
                let open = self.document.is_expanded(fold);
                let name = format!("{} {}", event.kind.word(), one_line(&event.label, 60));
                let shown = LongTextBox::new(&text.text, &name).folded(40, open).prose().colour(colour);
                let shown = shown.marked(self.marked(marks.as_ref().map(|marks| &marks.text), nth));
                let asked = shown.show(ui);
                self.answer(asked, fold, (TextKey::Event(index), TextPart::Text));
            }
        }
        self.attachments(ui, index, event, text);
    }

    /// Thinking: one line until it is opened.
    fn thought(&mut self, ui: &mut Ui, index: usize, event: &Event) {
        let fold = Folded::Text.of(event.place);
        let open = self.document.is_expanded(fold);
        let wanted = self.text_of(index, event);
        let right = time_column(event);
        let icon = Some((Icon::Thinking, self.theme.weak));
        self.columns(ui, icon, &right, |draw, ui| {
            let theme = draw.theme;
            let (count, empty) = match &wanted {
                Wanted::Ready(text) if text.words > 0 => (words::count(text.words as u64, "word", "words"), false),
                Wanted::Ready(_) => ("not recorded in words".to_owned(), true),
                Wanted::Coming => ("…".to_owned(), false),
                Wanted::Failed(sentence) => (format!("not read: {sentence}"), true),
            };
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 2.0;
                if !empty && disclosure(ui, open, &format!("thinking: {}", one_line(&event.label, 60))) {
                    draw.ask(Request::Expand(fold));
                }
                ui.label(egui::RichText::new(format!("thinking · {count}")).color(theme.weak));
            });
            if let (true, Wanted::Ready(text)) = (open, &wanted) {
                ui.add_space(4.0);
                draw.text_body(ui, index, event, text);
            }
        });
        self.event_input(ui, index, event, wanted.ready());
    }

    /// A notice, a routing decision, an unknown record: one quiet line, with the whole text when it is opened.
    fn noted(&mut self, ui: &mut Ui, index: usize, event: &Event) {
        let fold = Folded::Text.of(event.place);
        let open = self.document.is_expanded(fold);
        let unknown = event.kind == EventKind::Unknown;
        let more = event.text_bytes > 0 && (unknown || event.text_bytes as usize > event.label.len());
        // The text is read when somebody wants to see it: there may be thousands of these.
        let wanted = if open { self.text_of(index, event) } else { Wanted::Coming };
        let right = time_column(event);
        self.columns(ui, Some((Icon::Other, self.theme.weak)), &right, |draw, ui| {
            let theme = draw.theme;
            let label = one_line(&event.label, 160);
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 2.0;
                if more && disclosure(ui, open, &format!("{}: {}", event.kind.word(), one_line(&label, 60))) {
                    draw.ask(Request::Expand(fold));
                }
                let word = if unknown { "unknown record  " } else { "" };
                let text = super::draw::line_job(ui, &[(word, false, theme.fallback), (&label, false, theme.weak)]);
                ui.add(egui::Label::new(text).truncate());
            });
            if open {
                draw.raw(ui, index, event, &wanted);
            }
        });
        self.event_input(ui, index, event, wanted.ready());
    }

    /// The whole text of an event in a box.
    pub fn raw(&mut self, ui: &mut Ui, index: usize, event: &Event, wanted: &Wanted) {
        match wanted {
            Wanted::Ready(text) => {
                let marks = self.marks(TextKey::Event(index));
                let (shown, part, parts, ranges) = match &text.output {
                    Some(output) => {
                        (output, TextPart::Output, &[Part::Output][..], marks.as_ref().map(|marks| &marks.output))
                    }
                    None => (&text.text, TextPart::Text, &TEXTS[..], marks.as_ref().map(|marks| &marks.text)),
                };
                let marked = self.marked(ranges, self.looked_at(At::Event(index), parts));
                let name = format!("{} {}", event.kind.word(), one_line(&event.label, 60));
                if !shown.is_empty() && boxed(ui, LongTextBox::new(shown, &name).marked(marked)).copy {
                    self.ask(Request::CopyText(TextKey::Event(index), part));
                }
                self.attachments(ui, index, event, text);
            }
            Wanted::Coming => {
                wrapped(ui, &[("…", false, self.theme.weak)]);
                coming(ui, self.theme, event.text_bytes);
            }
            Wanted::Failed(sentence) => unread(ui, self.theme, sentence),
        }
    }

    /// A record that could not be read: what it looks like.
    fn unreadable(&mut self, ui: &mut Ui, index: usize, event: &Event) {
        let wanted = self.text_of(index, event);
        let theme = self.theme;
        self.framed(ui, super::draw::ICON_COLUMN_PX, theme.failure, theme.panel, |draw, ui| {
            let label = one_line(&event.label, 160);
            wrapped(ui, &[("unreadable record  ", false, theme.failure), (&label, false, theme.text)]);
            if let Wanted::Ready(text) = &wanted {
                let fold = Folded::Text.of(event.place);
                let open = draw.document.is_expanded(fold);
                let marks = draw.marks(TextKey::Event(index));
                let nth = draw.looked_at(At::Event(index), &TEXTS);
                let shown = LongTextBox::new(&text.text, "unreadable record").folded(RAW_LINES, open);
                let shown = shown.marked(draw.marked(marks.as_ref().map(|marks| &marks.text), nth));
                if !text.text.is_empty() {
                    let asked = boxed(ui, shown);
                    draw.answer(asked, fold, (TextKey::Event(index), TextPart::Text));
                }
            } else if let Wanted::Failed(sentence) = &wanted {
                unread(ui, theme, sentence);
            }
        });
        self.event_input(ui, index, event, wanted.ready());
    }

    /// Events of one quiet kind as one line, until it is opened.
    pub fn group(&mut self, ui: &mut Ui, start: usize, end: usize) {
        let Some(first) = self.event(start) else { return };
        let fold = Folded::Events.of(first.place);
        let selected = self.document.selected_event().is_some_and(|event| (start..end).contains(&event));
        let open = self.document.is_expanded(fold) || selected;
        let (one, many) = if first.kind == EventKind::Retry { ("retry", "retries") } else { ("notice", "notices") };
        let count = words::count((end - start) as u64, one, many);
        let colour = self.colour_of(&first);
        self.columns(ui, Some((Icon::of_event(first.kind), colour)), &time_column(&first), |draw, ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 2.0;
                if disclosure(ui, open, &format!("{count} from {}", one_line(&first.label, 40))) {
                    draw.ask(Request::Expand(fold));
                }
                let last = draw.event(end - 1).map(|event| one_line(&event.label, 120)).unwrap_or_default();
                let last = if open || last.is_empty() { String::new() } else { format!("  last: {last}") };
                let text =
                    super::draw::line_job(ui, &[(&count, false, draw.theme.text), (&last, false, draw.theme.weak)]);
                ui.add(egui::Label::new(text).truncate());
            });
        });
        if open {
            for index in start..end {
                let mut child = ui.new_child(
                    super::draw::column(ui.available_rect_before_wrap()).id_salt(index).sense(egui::Sense::click()),
                );
                self.event_row(&mut child, index);
                let rect = child.min_rect();
                drop(child);
                ui.advance_cursor_after_rect(rect);
            }
        }
    }
}
