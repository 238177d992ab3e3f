//! `stepline show`: the events of one step, with their texts.

use std::io::Write;

use serde_json::{Value, json};

use super::{CliError, Options, print, shapes, source};
use crate::formats::{Body, Recording, Refusal};
use crate::model::{Event, Step, ToolState};
use crate::workspace::words;

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let number = options.step()?;
    let opened = source::open(options)?;
    let recording = &*opened.recording;
    let session = recording.session();
    let step = session.step(number).ok_or_else(|| no_step(number, session.steps.len()))?;
    let prompt = recording.prompt(number).map_err(|error| CliError::Unreadable(error.to_string()))?;
    if !options.json {
        writeln!(out, "{}", print::step_line(session, step))?;
        writeln!(out, "{}", indent(&prompt))?;
        return session.events.range(step.events.clone()).try_for_each(|event| write_event(recording, &event, out));
    }
    let events: Vec<Value> = session
        .events
        .range(step.events.clone())
        .map(|event| Ok(shapes::event(&event, &body(recording, &event)?)))
        .collect::<Result<_, CliError>>()?;
    print::json(out, &document(recording, step, &prompt, events))
}

fn document(recording: &dyn Recording, step: &Step, prompt: &str, events: Vec<Value>) -> Value {
    let mut shape = shapes::step(recording.session(), step);
    if let Some(fields) = shape.as_object_mut() {
        fields.insert("text".to_owned(), Value::from(prompt));
    }
    json!({ "step": shape, "events": events })
}

pub fn no_step(step: u32, steps: usize) -> CliError {
    CliError::Refused(Refusal::NoStep { step, steps }.to_string())
}

fn body(recording: &dyn Recording, event: &Event) -> Result<Body, CliError> {
    recording.body(event).map_err(|error| CliError::Unreadable(error.to_string()))
}

fn write_event(recording: &dyn Recording, event: &Event, out: &mut dyn Write) -> Result<(), CliError> {
    let body = body(recording, event)?;
    let state = event.tool.as_deref().map(|tool| match tool.state {
        ToolState::Pending => format!("{} · no result", tool.name),
        ToolState::Done => tool.name.clone(),
        ToolState::Failed => format!("{} · failed", tool.name),
        ToolState::Denied => format!("{} · denied", tool.name),
    });
    let marker = event.marker.as_deref().map(words::marker);
    let said: Vec<String> = [Some(event.kind.word().to_owned()), state, marker].into_iter().flatten().collect();
    writeln!(out, "\n· {}", print::harmless(&said.join(" · ")))?;
    let texts = [Some(body.text), body.input, body.output];
    for text in texts.into_iter().flatten().filter(|text| !text.is_empty()) {
        writeln!(out, "{}", indent(&text))?;
    }
    for attachment in body.attachments {
        writeln!(out, "    [{}]", print::harmless(&attachment))?;
    }
    Ok(())
}

fn indent(text: &str) -> String {
    print::harmless_lines(text).lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
