//! The rows of marked facts: fallbacks, retries, failures, quotas, interruptions, steering, commits, compactions,
//! subagents, and questions and approvals that stand alone.

use egui::{Color32, Ui};

use super::super::widgets::icons::Icon;
use super::super::words;
use super::draw::{Draw, ICON_COLUMN_PX, LEFT_PX, disclosure, time_column, wrapped};
use super::texts::Wanted;
use crate::model::{Event, Evidence, Fact, Marker, Subagent, SubagentStatus, clock};
use crate::workspace::Request;
use crate::workspace::bodies::TextKey;
use crate::workspace::document::Part;
use crate::workspace::text::{one_line, visible};

/// Events of a subagent that are listed.
const LISTED: usize = 300;

impl Draw<'_, '_> {
    /// The colour of an event: that of its marker, if it has one.
    pub fn colour_of(&self, event: &Event) -> Color32 {
        event.marker.as_deref().map_or_else(|| self.theme.event(event.kind), |marker| self.theme.marker(marker))
    }

    pub fn fact_row(&mut self, ui: &mut Ui, index: usize, event: &Event) {
        let theme = self.theme;
        let colour = self.colour_of(event);
        match event.marker.as_deref().map(|marker| (marker, &marker.fact)) {
            Some((marker, Fact::Fallback { .. } | Fact::Quota { .. })) => self.fact_card(ui, index, event, marker),
            Some((marker, Fact::Failure { .. })) => self.fact_card(ui, index, event, marker),
            Some((_, Fact::Question { .. })) => {
                self.framed(ui, ICON_COLUMN_PX, theme.question, theme.panel, |draw, ui| {
                    draw.question(ui, event, None);
                });
                self.event_input(ui, index, event, None);
            }
            Some((_, Fact::Steering { text, mode })) => {
                self.framed(ui, ICON_COLUMN_PX, theme.prompt, theme.panel, |draw, ui| {
                    wrapped(
                        ui,
                        &[("steered", false, theme.prompt), (&format!("  {}", one_line(mode, 60)), false, theme.weak)],
                    );
                    wrapped(ui, &[(&visible(text), false, theme.text)]);
                    draw.more_text(ui, index, event, text.len());
                });
                self.event_input(ui, index, event, None);
            }
            Some((_, Fact::Commits { commits, unavailable: None })) if !commits.is_empty() => {
                self.commits(ui, index, event, commits);
            }
            Some((_, Fact::Subagent { id, name, status })) => {
                self.subagent(ui, event, name.as_deref().unwrap_or(id), id, *status);
                self.event_input(ui, index, event, None);
            }
            Some((marker, Fact::Compaction { .. })) => {
                let said = one_line(&words::marker(marker), 200);
                self.columns(ui, Some((Icon::Compaction, colour)), &time_column(event), |draw, ui| {
                    wrapped(ui, &[(&said, false, theme.weak)]);
                    draw.more_text(ui, index, event, 0);
                });
                self.event_input(ui, index, event, None);
            }
            Some((marker, _)) => {
                let said = one_line(&words::marker(marker), 400);
                self.columns(ui, Some((Icon::of_marker(marker), colour)), &time_column(event), |_, ui| {
                    wrapped(ui, &[(&said, false, colour)]);
                });
                self.event_input(ui, index, event, None);
            }
            None => {
                let icon = Some((Icon::of_event(event.kind), colour));
                self.columns(ui, icon, &time_column(event), |draw, ui| {
                    let word = format!("{}  ", event.kind.word());
                    let label = one_line(&event.label, 160);
                    wrapped(ui, &[(&word, false, colour), (&label, false, theme.text)]);
                    draw.more_text(ui, index, event, event.label.len());
                });
                self.event_input(ui, index, event, None);
            }
        }
    }

    /// A card: what happened, and weaker what there is to know about it, and whether the file says so.
    fn fact_card(&mut self, ui: &mut Ui, index: usize, event: &Event, marker: &Marker) {
        let theme = self.theme;
        let colour = theme.marker(marker);
        let (what, more) = said(marker);
        self.framed(ui, ICON_COLUMN_PX, colour, theme.panel, |draw, ui| {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 8.0;
                let (rect, _) = ui.allocate_exact_size(egui::vec2(12.0, 19.0), egui::Sense::hover());
                super::super::widgets::icons::paint(ui.painter(), Icon::of_marker(marker), rect.center(), 12.0, colour);
                ui.vertical(|ui| wrapped(ui, &[(&what, false, theme.text), (&more, false, theme.weak)]));
            });
            if matches!(marker.fact, Fact::Failure { .. }) {
                draw.more_text(ui, index, event, what.len());
            }
        });
        self.event_input(ui, index, event, None);
    }

    /// The rest of a text of which `shown` bytes are shown already, behind a triangle.
    fn more_text(&mut self, ui: &mut Ui, index: usize, event: &Event, shown: usize) {
        if event.text_bytes as usize <= shown.max(1) {
            return;
        }
        let fold = Part::Text.of(event.place);
        let open = self.document.is_expanded(fold);
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            if disclosure(ui, open, &format!("the whole text of {} {}", event.kind.word(), index + 1)) {
                self.ask(Request::Expand(fold));
            }
            ui.label(egui::RichText::new("whole text").color(self.theme.weak));
        });
        if open {
            let wanted = self.text_of(index, event);
            self.raw(ui, index, event, &wanted);
        }
    }

    fn subagent(&mut self, ui: &mut Ui, event: &Event, name: &str, id: &str, status: SubagentStatus) {
        let theme = self.theme;
        let (word, colour) = match status {
            SubagentStatus::Started => ("started", theme.weak),
            SubagentStatus::Finished => ("finished", theme.granted),
            SubagentStatus::Failed => ("failed", theme.failure),
        };
        let agent: Option<(u32, &Subagent)> = (0..).zip(&self.session.subagents).find(|(_, agent)| agent.id == id);
        let fold = Part::Events.of(event.place);
        let open = self.document.is_expanded(fold);
        self.framed(ui, ICON_COLUMN_PX, theme.weak, theme.panel, |draw, ui| {
            let name = one_line(name, 120);
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 4.0;
                super::super::widgets::icons::show(ui, Icon::Subagent, theme.weak);
                let mut facts = String::new();
                if let Some((_, agent)) = agent {
                    let count = agent.events.len() as u64;
                    if count > 0 {
                        facts.push_str(&format!(" · {}", words::count(count, "event", "events")));
                    }
                    let tokens = agent.usage.total();
                    if tokens > 0 {
                        facts.push_str(&format!(" · {} tokens", words::figure(tokens)));
                    }
                }
                let pieces = [
                    ("subagent ", false, theme.text),
                    (name.as_str(), true, theme.text),
                    ("  ", false, theme.text),
                    (word, false, colour),
                    (facts.as_str(), false, theme.weak),
                ];
                let width = ui.available_width() - 24.0;
                ui.scope(|ui| {
                    ui.set_max_width(width);
                    let job = super::draw::line_job(ui, &pieces);
                    ui.add(egui::Label::new(job).truncate());
                });
                if agent.is_some_and(|(_, agent)| !agent.events.is_empty())
                    && disclosure(ui, open, &format!("the events of subagent {name}, {word}"))
                {
                    draw.ask(Request::Expand(fold));
                }
            });
            if let (true, Some((number, agent))) = (open, agent) {
                draw.subagent_events(ui, number, agent);
            }
        });
    }

    fn subagent_events(&mut self, ui: &mut Ui, number: u32, agent: &Subagent) {
        let theme = self.theme;
        ui.add_space(4.0);
        let shown = (0..).zip(agent.events.iter()).filter(|(_, event)| !event.folded);
        for (index, event) in shown.take(LISTED) {
            let (rect, response) = ui.allocate_exact_size(egui::vec2(ui.available_width(), 20.0), egui::Sense::hover());
            if !ui.is_rect_visible(rect) {
                continue;
            }
            let colour = self.colour_of(&event);
            let icon = event.marker.as_deref().map_or_else(|| Icon::of_event(event.kind), Icon::of_marker);
            let at = egui::pos2(rect.left() + 8.0, rect.center().y);
            super::super::widgets::icons::paint(ui.painter(), icon, at, 11.0, colour);
            let name = event.tool.as_ref().map_or(String::new(), |tool| format!("{} ", one_line(&tool.name, 40)));
            let read = if event.label.is_empty() && event.text_bytes > 0 {
                self.text(TextKey::OfAgent { agent: number, event: index })
            } else {
                Wanted::Coming
            };
            let label = read.ready().map_or(&event.label, |text| &text.label);
            let label = format!("{name}{}", one_line(label, 160));
            let mut job = super::draw::line_job(ui, &[(&label, false, theme.weak)]);
            job.wrap = egui::text::TextWrapping::truncate_at_width(rect.width() - LEFT_PX - 8.0);
            let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
            let elided = galley.elided;
            ui.painter().galley(egui::pos2(rect.left() + LEFT_PX, rect.top()), galley, theme.weak);
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &label));
            if elided {
                response.on_hover_text(label);
            }
        }
        if agent.events.len() > LISTED {
            let rest = words::count((agent.events.len() - LISTED) as u64, "more event", "more events");
            wrapped(ui, &[(&rest, false, theme.weak)]);
        }
    }
}

/// What is said of a fact in its card: the fact, then what there is to know about it.
fn said(marker: &Marker) -> (String, String) {
    let evidence = match marker.evidence {
        Evidence::Recorded => "recorded",
        Evidence::Inferred => "inferred",
    };
    let unknown = || "unknown".to_owned();
    let mut more: Vec<String> = Vec::new();
    let what = match &marker.fact {
        Fact::Fallback { from, to, trigger, reset_at, message } => {
            more.extend(trigger.clone());
            more.extend(message.clone());
            more.extend(reset_at.map(|at| format!("resets {}", clock(at, "%H:%M"))));
            more.push(evidence.to_owned());
            format!("{} → {}", from.clone().unwrap_or_else(unknown), to.clone().unwrap_or_else(unknown))
        }
        Fact::Quota { message, reset_at } => {
            more.extend(reset_at.map(|at| format!("resets {}", clock(at, "%H:%M"))));
            message.clone()
        }
        Fact::Failure { code, message } => {
            let message = if message.is_empty() { "failed" } else { message };
            code.as_ref().map_or_else(|| message.to_owned(), |code| format!("{code} · {message}"))
        }
        _ => words::marker(marker),
    };
    if marker.evidence == Evidence::Inferred && !more.iter().any(|word| word == evidence) {
        more.push(evidence.to_owned());
    }
    let more = more.join(" · ");
    (visible(&what).into_owned(), if more.is_empty() { more } else { format!("  {}", one_line(&more, 400)) })
}
