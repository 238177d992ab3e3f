//! The search bar: what to look for and how, how many matches there are and of what, on to the next.

use egui::text::{CCursor, CCursorRange};
use egui::{Align, Button, Id, Key, Layout, Modifiers, Panel, RichText, Role, Stroke, TextEdit, Ui, WidgetInfo};

use super::super::theme::{self, Theme, space};
use super::super::widgets::icons::{self, Icon};
use super::super::words;
use super::bars::bar;
use crate::formats::search::Query;
use crate::workspace::document::Document;
use crate::workspace::search::{MOST_HITS, Search};
use crate::workspace::{Command, Request};

const HEIGHT: f32 = 38.0;
/// The field's width, where there is room for it.
const FIELD_PX: f32 = 300.0;
const FIELD_LEAST_PX: f32 = 150.0;
/// The switches, and the buttons on to the next match and at the end.
const BUTTONS_PX: f32 = 232.0;

/// What the bar keeps between frames.
#[derive(Default)]
pub struct SearchBar {
    text: String,
    /// The text was taken over from the document with this number of its focus.
    focus: u64,
}

/// Draws the bar while a search is open.
pub fn show(ui: &mut Ui, theme: &Theme, document: &Document, state: &mut SearchBar, requests: &mut Vec<Request>) {
    let search = &document.search;
    if !search.is_open || document.session().is_none() {
        state.focus = search.focus;
        return;
    }
    let stroke = Stroke::new(1.0, theme.line);
    Panel::top("search").exact_size(HEIGHT).frame(bar(theme.raised).stroke(Stroke::NONE)).show(ui, |ui| {
        let under = ui.max_rect();
        ui.painter().hline(ui.clip_rect().x_range(), under.bottom() - 0.5, stroke);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::XS;
            let said = position(search);
            let said_px = width(ui, &said).max(width(ui, "000 of 00 000 matches"));
            let room = ui.available_width() - BUTTONS_PX - said_px - space::L;
            let mut query = field(ui, search, state, room.clamp(FIELD_LEAST_PX, FIELD_PX), requests);
            ui.add_space(space::XS);
            switch(ui, theme, "Aa", "Match case", &mut query.match_case);
            switch(ui, theme, "ab", "Whole word", &mut query.whole_word);
            switch(ui, theme, ".*", "Regular expression", &mut query.is_regex);
            if query != search.query {
                requests.push(Request::Search(query));
            }
            ui.add_space(space::S);
            let any = !search.found().is_empty();
            if icons::button(ui, Icon::Up, "Previous match", any).on_hover_text("Shift+F3").clicked() && any {
                requests.push(Request::Run(Command::PreviousMatch));
            }
            if icons::button(ui, Icon::Down, "Next match", any).on_hover_text("F3").clicked() && any {
                requests.push(Request::Run(Command::NextMatch));
            }
            ui.add_space(space::XS);
            let colour = if any || search.query.text.is_empty() { theme.text } else { theme.weak };
            let counts = counts(search);
            let label = ui.label(RichText::new(&said).color(colour));
            label.widget_info(|| {
                let of = if counts.is_empty() { String::new() } else { format!(": {counts}") };
                WidgetInfo::labeled(Role::Label, true, format!("{said}{of}"))
            });
            if search.found().len() >= MOST_HITS {
                let most = words::figure(MOST_HITS as u64);
                label.on_hover_text(format!("{counts}\nThe first {most} texts with matches can be gone to"));
            } else if !counts.is_empty() {
                label.on_hover_text(&counts);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if icons::button(ui, Icon::Close, "Close search", true).on_hover_text("Esc").clicked() {
                    requests.push(Request::Run(Command::CloseSearch));
                }
                ui.add_space(space::S);
                detail(ui, theme, search, &counts);
            });
        });
    });
}

/// The field; what is to be searched for now.
fn field(ui: &mut Ui, search: &Search, state: &mut SearchBar, width: f32, requests: &mut Vec<Request>) -> Query {
    let id = Id::unique("search text");
    let takes_focus = state.focus != search.focus;
    if takes_focus {
        state.focus = search.focus;
        state.text.clone_from(&search.query.text);
    }
    // Enter goes on and does not leave the field.
    let has_focus = ui.memory(|memory| memory.has_focus(id));
    let pressed = |ui: &Ui, modifiers| ui.input_mut(|input| input.consume_key(modifiers, Key::Enter));
    if has_focus && pressed(ui, Modifiers::SHIFT) {
        requests.push(Request::Run(Command::PreviousMatch));
    } else if has_focus && pressed(ui, Modifiers::NONE) {
        requests.push(Request::Run(Command::NextMatch));
    }
    let output = TextEdit::singleline(&mut state.text)
        .id(id)
        .hint_text("Search prompts, answers, tool calls")
        .desired_width(width - 2.0 * space::S)
        .show(ui);
    output.response.widget_info(|| {
        let mut info = WidgetInfo::text_edit(true, "", &state.text, "");
        info.label = Some("Search".to_owned());
        info
    });
    if takes_focus {
        output.response.request_focus();
        let mut edit = output.state;
        let all = CCursorRange::two(CCursor::new(0), CCursor::new(state.text.chars().count()));
        edit.cursor.set_char_range(Some(all));
        edit.store(ui.ctx(), id);
    }
    Query { text: state.text.clone(), ..search.query.clone() }
}

fn switch(ui: &mut Ui, theme: &Theme, sign: &str, name: &str, on: &mut bool) {
    let text = RichText::new(sign).font(theme::small()).color(if *on { theme.text } else { theme.weak });
    // Words with a line under them are whole.
    let text = if name == "Whole word" { text.underline() } else { text };
    let (fill, edge) = if *on { (theme.accent_bg, theme.accent) } else { (theme.raised, theme.line) };
    let button = Button::new(text).fill(fill).stroke(Stroke::new(1.0, edge)).min_size(egui::vec2(30.0, 22.0));
    let response = ui.add(button);
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, *on, name));
    if response.on_hover_text(name).clicked() {
        *on = !*on;
    }
}

/// `12 of 4 031 matches…`
fn position(search: &Search) -> String {
    let more = if search.is_going_on() { "…" } else { "" };
    let count = search.matches() as u64;
    match search.position() {
        _ if search.query.text.is_empty() => String::new(),
        _ if search.complaint.is_some() && count == 0 => String::new(),
        _ if count == 0 && search.is_going_on() => "Searching…".to_owned(),
        _ if count == 0 => "No match".to_owned(),
        Some(position) => {
            format!("{} of {}{more}", words::figure(position as u64), words::count(count, "match", "matches"))
        }
        None => format!("{}{more}", words::count(count, "match", "matches")),
    }
}

/// How many matches there are of what: `2 prompts · 46 outputs`.
fn counts(search: &Search) -> String {
    let counts: Vec<String> =
        search.by_part().map(|(part, count)| format!("{} {}", words::figure(count as u64), part.words())).collect();
    counts.join("  ·  ")
}

/// The same where there is room for it, which is said by the count of all anyway; or why there is no search.
fn detail(ui: &mut Ui, theme: &Theme, search: &Search, counts: &str) {
    let (text, colour) = match &search.complaint {
        Some(sentence) => (sentence.as_str(), theme.failure),
        None => (counts, theme.weak),
    };
    let galley = ui.fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), theme::small(), colour));
    if galley.size().x <= ui.available_width() {
        ui.label(galley);
    } else if search.complaint.is_some() {
        ui.add(egui::Label::new(RichText::new(text).font(theme::small()).color(colour)).truncate());
    }
}

fn width(ui: &Ui, text: &str) -> f32 {
    ui.fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), theme::base(), egui::Color32::PLACEHOLDER).size().x)
}
