//! A tool call: what was done to what, how it was allowed, how long it took; its input and its result below.

use egui::{Label, TextWrapMode, Ui};

use super::super::theme::space;
use super::super::widgets::chips::{self, Chip};
use super::super::widgets::icons::Icon;
use super::super::widgets::long_text::{AS_RECORDED, Asked, INDENTED, LongTextBox, small_button};
use super::super::widgets::marked::{self, Marked};
use super::super::widgets::selectable;
use super::draw::{Draw, coming, line_job, time_column, unread, waiting};
use super::event::TEXTS;
use super::texts::Wanted;
use crate::formats::search::{At, Part as Searched};
use crate::model::{Decision, Event, EventKind, Fact, Glance, Marker, ToolState};
use crate::workspace::Request;
use crate::workspace::bodies::TextKey;
use crate::workspace::document::{Fold, Part};
use crate::workspace::search::Marks;
use crate::workspace::text::{EventText, Form, LongText, TextPart, one_line, visible};

/// Lines of an input, and of a result, that are shown before they are opened.
const INPUT_LINES: usize = 12;
const OUTPUT_LINES: usize = 6;
/// Characters of a chip; the whole is said to the pointer.
const CHIP_CHARS: usize = 90;
/// Characters of a failure's own sentence, to be said in a chip.
const SENTENCE_CHARS: usize = 48;
/// Of a result, so much is looked through for that sentence.
const SEARCHED_CHARS: usize = 1_000;
/// Bytes at either end of a result in which its exit code is looked for.
const SEARCHED_ENDS_BYTES: usize = 1_000;
/// Room a headline is given before chips go below it.
const HEADLINE_LEAST_PX: f32 = 160.0;

impl Draw<'_, '_> {
    pub fn tool_row(&mut self, ui: &mut Ui, index: usize, event: &Event) {
        let text = match self.text_of(index, event) {
            Wanted::Ready(text) => Some(text),
            Wanted::Coming => None,
            Wanted::Failed(sentence) => {
                self.columns(ui, Some((Icon::Tool, self.theme.weak)), &time_column(event), |draw, ui| {
                    draw.headline(ui, index, event, None);
                    unread(ui, draw.theme, &sentence);
                });
                self.event_input(ui, index, event, None);
                return;
            }
        };
        let denied = is_denied(event);
        let colour = if denied { self.theme.denied } else { self.theme.weak };
        self.columns(ui, Some((Icon::Tool, colour)), &time_column(event), |draw, ui| {
            draw.headline(ui, index, event, text.as_deref());
            match text.as_deref() {
                Some(text) => draw.boxes(ui, index, event, text),
                None if event.text_bytes > 120 && !denied => {
                    // Room for what is on its way, so that what is below does not jump when it comes.
                    let room =
                        crate::workspace::outline::rows::estimate(&Glance::from(event), ui.available_width()) - 34.0;
                    let top = ui.cursor().top();
                    coming(ui, draw.theme, event.text_bytes);
                    ui.add_space((room - (ui.cursor().top() - top)).max(0.0));
                }
                None => {}
            }
        });
        self.event_input(ui, index, event, text.as_deref());
    }

    /// `exec pytest -q` and the chips, which go below where there is no room beside it.
    fn headline(&mut self, ui: &mut Ui, index: usize, event: &Event, text: Option<&EventText>) {
        let theme = self.theme;
        let (verb, subject, note) = match text.and_then(|text| text.tool.as_ref()) {
            Some(tool) => (tool.verb.clone(), tool.subject.clone(), tool.note.clone()),
            None => (fallback_verb(event), one_line(&event.label, 160), String::new()),
        };
        let waits = if text.is_none() { "  …" } else { "" };
        let note = if note.is_empty() { String::new() } else { format!("  {note}") };
        let colour = if is_denied(event) { theme.denied } else { theme.text };
        let gap = if subject.is_empty() { "" } else { " " };
        let mut job = line_job(ui, &[(&verb, false, colour), (gap, false, colour)]);
        let marks = text.and_then(|_| self.marks(TextKey::Event(index)));
        let (nth, _) = self.input_match(index, event, marks.as_deref());
        let marked = self.marked(marks.as_ref().map(|marks| &marks.subject), nth);
        let format = super::draw::format_of(true, colour);
        let match_at = marked.append(ui, &mut job, &subject, 0, &format);
        for piece in [(&*note, false, theme.weak), (waits, false, theme.weak)] {
            super::draw::append(ui, &mut job, piece);
        }
        let chips = self.chips(index, event, text);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = egui::vec2(6.0, 3.0);
            let chips_px: f32 = chips.iter().map(|(chip, _)| chip.width(ui) + 6.0).sum();
            let beside = ui.available_width() - chips_px;
            let room = if beside >= HEADLINE_LEAST_PX { beside } else { ui.available_width() };
            let galley = {
                let mut job = job;
                job.wrap = egui::text::TextWrapping::truncate_at_width(room);
                ui.fonts_mut(|fonts| fonts.layout_job(job))
            };
            let elided = galley.elided;
            let whole = format!("{verb} {subject}{note}");
            // egui would show a hint of its own for a cut label, which is the cut text again.
            let label =
                Label::new(galley).selectable(true).wrap_mode(TextWrapMode::Extend).show_tooltip_when_elided(false);
            let label = selectable(ui, label);
            if match_at.is_some() {
                marked::tell_in_box(ui, label.rect, 0.0);
            }
            if elided {
                label.on_hover_text(visible(&whole));
            }
            for (chip, whole) in &chips {
                if *whole == chip.text {
                    chip.show(ui);
                } else {
                    chip.show_hinted(ui, whole);
                }
            }
        });
    }

    /// How the call was allowed, and how it failed; with the whole of what a chip says in short.
    fn chips(&self, index: usize, event: &Event, text: Option<&EventText>) -> Vec<(Chip, String)> {
        let theme = self.theme;
        let mut chips: Vec<(Chip, String)> = Vec::new();
        let short = |chip: Chip| {
            let whole = visible(&chip.text).into_owned();
            (Chip { text: one_line(&chip.text, CHIP_CHARS), ..chip }, whole)
        };
        let plain =
            |icon: Option<Icon>, word: &str, colour| (Chip { icon, text: word.to_owned(), colour }, word.to_owned());
        let mut ruled = false;
        for folded in self.listed.table.folded_into(index).filter_map(|folded| self.event(folded)) {
            let Some(marker) = folded.marker.as_deref() else { continue };
            ruled |= matches!(&marker.fact, Fact::Approval { decision: Decision::Denied | Decision::Blocked, .. });
            chips.push(short(chips::of_marker(marker, theme)));
        }
        let state = event.tool.as_ref().map_or(ToolState::Done, |tool| tool.state);
        let silent = |marker: &Marker| matches!(&marker.fact, Fact::Failure { code: None, message } if message.trim().is_empty());
        match (state, event.marker.as_deref()) {
            (ToolState::Denied, _) if !ruled => chips.push(plain(Some(Icon::Denied), "denied", theme.denied)),
            (ToolState::Denied, Some(marker)) if matches!(marker.fact, Fact::Failure { .. }) => {}
            (ToolState::Failed, None) => chips.push(plain(Some(Icon::Failure), "failed", theme.failure)),
            (ToolState::Failed, Some(marker)) if silent(marker) => {
                chips.push(plain(Some(Icon::Failure), "failed", theme.failure));
            }
            (_, Some(Marker { fact: Fact::Failure { code, message }, .. })) => {
                let said = failure_words(code.as_deref(), message, text);
                let whole = if message.trim().is_empty() { said.clone() } else { visible(message).into_owned() };
                chips.push((Chip::new(Icon::Failure, said, theme.failure), whole));
            }
            (ToolState::Pending, None) => chips.push(plain(None, "no result", theme.weak)),
            (_, Some(marker)) => chips.push(short(chips::of_marker(marker, theme))),
            _ => {}
        }
        chips
    }

    /// The input in its form, then the result.
    fn boxes(&mut self, ui: &mut Ui, index: usize, event: &Event, text: &EventText) {
        let marks = self.marks(TextKey::Event(index));
        let marks = marks.as_deref();
        let what = text
            .tool
            .as_ref()
            .map_or_else(|| event.label.to_string(), |tool| format!("{} {}", tool.verb, one_line(&tool.subject, 60)));
        let what = what.trim_end();
        let name = format!("input of {what}");
        let fold = Part::Input.of(event.place);
        let key = TextKey::Event(index);
        let (_, nth) = self.input_match(index, event, marks);
        let marked = self.marked(marks.map(|marks| &marks.input), nth);
        match text.tool.as_ref().map(|tool| &tool.form) {
            Some(Form::Diff(diff)) if !diff.text.is_empty() => {
                let open = self.document.is_expanded(fold);
                let shown = LongTextBox::new(&diff.text, &name).diff(&diff.lines).marked(marked);
                let asked = boxed(ui, shown.folded(INPUT_LINES, open));
                self.answer(asked, fold, (key, TextPart::Form));
            }
            Some(Form::Text(input) | Form::Json(input)) if !input.is_empty() => {
                let is_json = matches!(text.tool.as_ref().map(|tool| &tool.form), Some(Form::Json(_)));
                let other = is_json.then_some(Other {
                    key: TextKey::Input(index),
                    fold: Part::InputTurned.of(event.place),
                    words: [AS_RECORDED, INDENTED],
                });
                let of = (key, TextPart::Form);
                let usual = Usual { text: input, lines: INPUT_LINES, fold, of, marked };
                self.turnable(ui, &name, &usual, other);
            }
            _ => {}
        }
        if !text.text.is_empty() && !text.shown_by_tool() {
            let fold = Part::Text.of(event.place);
            let open = self.document.is_expanded(fold);
            let nth = self.looked_at(At::Event(index), &TEXTS);
            let marked = self.marked(marks.map(|marks| &marks.text), nth);
            let name = format!("text of {what}");
            let asked = boxed(ui, LongTextBox::new(&text.text, &name).folded(OUTPUT_LINES, open).marked(marked));
            self.answer(asked, fold, (key, TextPart::Text));
        }
        if let Some(output) = &text.output {
            self.output(ui, index, event, (output, text.is_minified), what, marks);
        }
        self.attachments(ui, index, event, text);
    }

    /// Which match of an input is looked at: of its headline, or of the box below it. The headline is a part of what the
    /// box shows, or stands for what it leaves out.
    fn input_match(&self, index: usize, event: &Event, marks: Option<&Marks>) -> (Option<usize>, Option<usize>) {
        // What changed in a file is its text, and is shown as a diff.
        let searched = if event.kind == EventKind::FileChange { Searched::Output } else { Searched::Input };
        let nth = self.looked_at(At::Event(index), &[searched]);
        let (Some(nth), Some(marks)) = (nth, marks) else { return (None, None) };
        let matches = self.document.search.current().map_or(0, |(found, _)| found.count);
        let (headline, boxed) = (marks.subject.len(), marks.input.len());
        if boxed >= matches || headline == 0 {
            (None, Some(nth))
        } else if nth < headline || boxed == 0 {
            (Some(nth), None)
        } else {
            (None, Some(nth - headline))
        }
    }

    fn output(
        &mut self,
        ui: &mut Ui,
        index: usize,
        event: &Event,
        output: (&LongText, bool),
        what: &str,
        marks: Option<&Marks>,
    ) {
        let (output, is_minified) = output;
        let fold = Part::Output.of(event.place);
        let open = self.document.is_expanded(fold);
        // What a refused call gave back is words to the model about the refusal: the chip says it better.
        if is_denied(event) && !open {
            ui.add_space(2.0);
            if small_button(ui, "Show what the agent was told", &format!("Show the result of {what}")) {
                self.ask(Request::Expand(fold));
            }
            return;
        }
        let name = format!("output of {what}");
        let nth = self.looked_at(At::Event(index), &[Searched::Output]);
        let marked = self.marked(marks.map(|marks| &marks.output), nth);
        let other = is_minified.then_some(Other {
            key: TextKey::IndentedOutput(index),
            fold: Part::OutputTurned.of(event.place),
            words: [INDENTED, AS_RECORDED],
        });
        let of = (TextKey::Event(index), TextPart::Output);
        self.turnable(ui, &name, &Usual { text: output, lines: OUTPUT_LINES, fold, of, marked }, other);
        if is_denied(event)
            && output.line_count() <= OUTPUT_LINES
            && small_button(ui, "Show less", &format!("Fold the result of {what}"))
        {
            self.ask(Request::Expand(fold));
        }
    }

    /// A text in a box, and, when its user has asked for that, in its other form.
    fn turnable(&mut self, ui: &mut Ui, name: &str, usual: &Usual<'_>, other: Option<Other>) {
        let open = self.document.is_expanded(usual.fold);
        let Some(other) = other else {
            let asked = boxed(ui, LongTextBox::new(usual.text, name).folded(usual.lines, open).marked(usual.marked));
            self.answer(asked, usual.fold, usual.of);
            return;
        };
        let [there, back] = other.words;
        let turned = open && self.document.is_expanded(other.fold);
        let asked = match turned.then(|| self.text(other.key)) {
            Some(Wanted::Ready(text)) => {
                let name = format!("{name}, {}", there.to_lowercase());
                let shown = LongTextBox::new(&text.text, &name).folded(usual.lines, true).turn(Some(back));
                let asked = boxed(ui, shown);
                self.answer(asked, usual.fold, (other.key, TextPart::Text));
                asked
            }
            // The usual form stays until the other one is there.
            other => {
                let shown =
                    LongTextBox::new(usual.text, name).folded(usual.lines, open).marked(usual.marked).turn(Some(there));
                let asked = boxed(ui, shown);
                self.answer(asked, usual.fold, usual.of);
                match other {
                    Some(Wanted::Failed(sentence)) => unread(ui, self.theme, &sentence),
                    Some(_) => waiting(ui, self.theme, "Reading…"),
                    None => {}
                }
                asked
            }
        };
        if asked.turn {
            self.ask(Request::Expand(other.fold));
        }
    }

    pub fn answer(&mut self, asked: Asked, fold: Fold, text: (TextKey, TextPart)) {
        if asked.toggle {
            self.ask(Request::Expand(fold));
        }
        if asked.copy {
            self.ask(Request::CopyText(text.0, text.1));
        }
    }
}

/// A text in the form that it is shown in as a rule.
struct Usual<'t> {
    text: &'t LongText,
    /// Lines that are shown before it is opened.
    lines: usize,
    fold: Fold,
    of: (TextKey, TextPart),
    /// Its matches; the other form is shown without.
    marked: Marked<'t>,
}

/// The other form of a text, which is read when it is asked for.
struct Other {
    key: TextKey,
    fold: Fold,
    /// What the other form is called, then the usual one.
    words: [&'static str; 2],
}

/// A box with some air above it.
pub fn boxed(ui: &mut Ui, text: LongTextBox<'_>) -> Asked {
    ui.add_space(space::XS + 1.0);
    text.show(ui)
}

/// What a chip says of a failure: that there was one, and what the box below does not say already.
fn failure_words(code: Option<&str>, message: &str, text: Option<&EventText>) -> String {
    let output = text.and_then(|text| text.output.as_ref()).map_or("", LongText::original);
    if let Some(number) = [code.unwrap_or_default(), message, output].into_iter().find_map(exit_code) {
        return format!("exit {number}");
    }
    if let Some(code) = code.filter(|code| !code.trim().is_empty()) {
        return one_line(code, SENTENCE_CHARS);
    }
    let message = message.trim();
    let short = !message.contains('\n') && message.chars().count() <= SENTENCE_CHARS;
    // The first line of a result is seldom what went wrong, and is to be read in the box anyway.
    let is_said = message.is_empty() || text.is_none() || {
        let start: String = output.chars().take(SEARCHED_CHARS).collect();
        one_line(&start, SEARCHED_CHARS).contains(one_line(message, SENTENCE_CHARS).trim_end_matches('…'))
    };
    if short && !is_said { one_line(message, SENTENCE_CHARS) } else { "failed".to_owned() }
}

/// The exit code that a command's result begins or ends with: `Exit code 1`.
fn exit_code(text: &str) -> Option<i32> {
    // A result may be one line of megabytes, and this is looked for in each frame.
    let start = text.get(..text.floor_char_boundary(SEARCHED_ENDS_BYTES)).unwrap_or_default();
    let end = text.get(text.ceil_char_boundary(text.len().saturating_sub(SEARCHED_ENDS_BYTES))..).unwrap_or_default();
    let mut ends = start.lines().take(3).chain(end.lines().rev().take(3));
    ends.find_map(|line| {
        let line = one_line(line, 120).to_ascii_lowercase();
        let at = ["exit code", "exited with code", "exit status", "exited with"]
            .into_iter()
            .find_map(|words| line.find(words).map(|at| at + words.len()))?;
        let rest = line.get(at..)?.trim_start_matches([':', ' ']);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    })
}

fn is_denied(event: &Event) -> bool {
    event.tool.as_ref().is_some_and(|tool| tool.state == ToolState::Denied)
}

fn fallback_verb(event: &Event) -> String {
    match (&event.tool, event.kind) {
        (_, EventKind::ToolResult) => "result".to_owned(),
        (Some(tool), _) if !tool.name.is_empty() => one_line(&tool.name, 60),
        _ => event.kind.word().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_said_once() {
        let text = |output: &str| EventText { output: Some(LongText::new(output)), ..EventText::default() };
        let pytest = text("F.  [100%]\n==== FAILURES ====\n1 failed, 3 passed");
        assert_eq!(failure_words(None, "F. [100%]", Some(&pytest)), "failed");
        assert_eq!(failure_words(None, "F. [100%]", None), "failed");
        let exit = text("Exit code 2\nmake: *** no rule");
        assert_eq!(failure_words(None, "Exit code 2", Some(&exit)), "exit 2");
        assert_eq!(failure_words(Some("timeout"), "", None), "timeout");
        assert_eq!(failure_words(None, "File has not been read", Some(&text(""))), "File has not been read");
        assert_eq!(failure_words(None, "File has not been read", Some(&text("File has not been read yet"))), "failed");
        assert_eq!(exit_code("the exit codes are listed"), None);
    }
}
