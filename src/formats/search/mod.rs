//! Searching a session's texts: the prompts of its steps and the bodies of its events.
//!
//! [`whole`] reads every text, and is what every format has. A format with a quicker way to the texts that matter reads
//! fewer, and has them judged by the same [`Judge`], so that both find the same.

mod pattern;
mod sieve;

use std::ops::Range;

use serde_json::Value;

pub use pattern::{Matches, Pattern, PatternError, Query};
pub use sieve::{OVERLAP_BYTES, Sieve};

use super::{Body, Recording};
use crate::model::{Event, EventKind};
use crate::store::{ReadError, Watch};

/// Matches of which a hit says where they are; it counts the others.
const KEPT: usize = 8;

/// A text with matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    pub at: At,
    pub part: Part,
    /// How many matches it has.
    pub count: usize,
    /// Where the first few are, as bytes of the text; of an input, as bytes of [`input_text`].
    pub first: Vec<Bytes>,
}

/// A range of bytes that can be put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes {
    pub start: usize,
    pub end: usize,
}

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum At {
    /// A step's own, by its number.
    Step(u32),
    /// An event's, by its index into the session's events.
    Event(usize),
}

/// Which of its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What a person wrote, or was asked and answered.
    Prompt,
    /// What the agent said.
    Text,
    Thinking,
    /// What a tool was called with.
    Input,
    /// What a tool gave back.
    Output,
    /// Notes, failures, records that are not known.
    Other,
}

impl Part {
    pub const ALL: [Self; 6] = [Self::Prompt, Self::Text, Self::Thinking, Self::Input, Self::Output, Self::Other];

    /// What its texts are called where there are several: `prompts`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Prompt => "prompts",
            Self::Text => "answers",
            Self::Thinking => "thinking",
            Self::Input => "inputs",
            Self::Output => "outputs",
            Self::Other => "other",
        }
    }
}

/// Goes through the prompts and events of a session in their order, reading each text.
pub fn whole<R: Recording + ?Sized>(
    recording: &R,
    pattern: &Pattern,
    watch: Watch<'_>,
    hit: &mut dyn FnMut(Hit),
) -> Result<(), ReadError> {
    let judge = Judge { recording, pattern, watch };
    let session = recording.session();
    let total = session.events.len() as u64;
    let mut steps = session.steps.iter().peekable();
    for index in 0..=session.events.len() {
        while let Some(step) = steps.next_if(|step| step.events.start <= index || index == session.events.len()) {
            watch.step(index as u64, total)?;
            judge.step(step.number, hit)?;
        }
        if let Some(event) = session.events.get(index) {
            watch.step(index as u64, total)?;
            judge.event(index, &event, hit)?;
        }
    }
    Ok(())
}

/// Reads texts and tells which match.
pub struct Judge<'a, R: ?Sized> {
    pub recording: &'a R,
    pub pattern: &'a Pattern,
    pub watch: Watch<'a>,
}

impl<R: Recording + ?Sized> Judge<'_, R> {
    /// Looks into a step's prompt or question.
    pub fn step(&self, number: u32, hit: &mut dyn FnMut(Hit)) -> Result<(), ReadError> {
        let text = self.recording.prompt(number)?;
        self.text(At::Step(number), Part::Prompt, &text, hit)
    }

    /// Looks into an event's texts.
    pub fn event(&self, index: usize, event: &Event, hit: &mut dyn FnMut(Hit)) -> Result<(), ReadError> {
        if has_text(event) { self.body(index, event, &self.recording.body(event)?, hit) } else { Ok(()) }
    }

    fn body(&self, index: usize, event: &Event, body: &Body, hit: &mut dyn FnMut(Hit)) -> Result<(), ReadError> {
        let at = At::Event(index);
        let is_question = event.kind == EventKind::Question;
        if !(is_question && self.is_of_step(index, event)) {
            self.text(at, part_of(event.kind), &body.text, hit)?;
        }
        // The text of a question is its input, put into words.
        if let Some(input) = body.input.as_deref().filter(|_| !is_question || body.text.is_empty()) {
            self.input(at, input, hit)?;
        }
        if let Some(output) = &body.output {
            self.text(at, Part::Output, output, hit)?;
        }
        Ok(())
    }

    /// Whether an event asks what a step answers: then the step has its text.
    fn is_of_step(&self, index: usize, event: &Event) -> bool {
        let session = self.recording.session();
        let of_turn = session.step_of_event(index).map_or(0, |step| step.number);
        // The call can be the last thing in the turn before its answer.
        [of_turn, of_turn + 1]
            .into_iter()
            .filter_map(|number| session.step(number))
            .any(|step| step.place == event.place)
    }

    fn text(&self, at: At, part: Part, text: &str, hit: &mut dyn FnMut(Hit)) -> Result<(), ReadError> {
        let matches = self.pattern.find(text, KEPT, self.watch)?;
        tell(at, part, matches, hit);
        Ok(())
    }

    /// Looks into each string of an input by itself: what stands between them is JSON's, not the agent's.
    fn input(&self, at: At, input: &str, hit: &mut dyn FnMut(Hit)) -> Result<(), ReadError> {
        let mut matches = Matches::default();
        let mut base = 0;
        let mut result = Ok(());
        strings(input, &mut |text| {
            match self.pattern.find(text, KEPT - matches.first.len(), self.watch) {
                Ok(found) => {
                    matches.count += found.count;
                    matches.first.extend(found.first.iter().map(|range| range.start + base..range.end + base));
                }
                Err(cancelled) => result = Err(cancelled),
            }
            base += text.len() + 1;
        });
        result?;
        tell(at, Part::Input, matches, hit);
        Ok(())
    }
}

fn tell(at: At, part: Part, matches: Matches, hit: &mut dyn FnMut(Hit)) {
    if matches.count > 0 {
        let bytes = |range: &Range<usize>| Bytes { start: range.start, end: range.end };
        hit(Hit { at, part, count: matches.count, first: matches.first.iter().map(bytes).collect() });
    }
}

/// Whether an event has texts of its own to be looked into; of others, all there is to say is in their markers.
pub fn has_text(event: &Event) -> bool {
    event.text_bytes > 0 || event.tool.is_some()
}

/// What an event's text is.
fn part_of(kind: EventKind) -> Part {
    match kind {
        EventKind::Text => Part::Text,
        EventKind::Thinking => Part::Thinking,
        EventKind::Steering | EventKind::Question => Part::Prompt,
        EventKind::ToolResult | EventKind::FileChange => Part::Output,
        _ => Part::Other,
    }
}

/// A tool call's input as it is searched: its names, texts and whole numbers, one after the other on lines of their own.
pub fn input_text(input: &str) -> String {
    let mut text = String::new();
    strings(input, &mut |string| {
        text.push_str(string);
        text.push('\n');
    });
    text
}

fn strings(input: &str, each: &mut dyn FnMut(&str)) {
    match serde_json::from_str::<Value>(input) {
        Ok(value) => strings_of(&value, each),
        Err(_) => each(input),
    }
}

/// The depth of JSON that was parsed is bounded.
fn strings_of(value: &Value, each: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Bool(is) => each(if *is { "true" } else { "false" }),
        // Fractions can be written in several ways, and nobody looks for one.
        Value::Number(number) if number.is_i64() || number.is_u64() => each(&number.to_string()),
        Value::Number(_) | Value::Null => {}
        Value::Array(items) => items.iter().for_each(|item| strings_of(item, each)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            each(name);
            strings_of(value, each);
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_searched_as_it_is_meant() {
        let input = r#"{"command":"echo \"hi\"\n\u00e9","timeout":120000,"rate":1.50,"deep":[{"on":true}]}"#;
        assert_eq!(input_text(input), "command\necho \"hi\"\né\ntimeout\n120000\nrate\ndeep\non\ntrue\n");
        assert_eq!(input_text("no JSON"), "no JSON\n");
    }
}
