//! `stepline replay`: what was recorded, as lines of JSON; compared with a prompt or with another run where asked.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::fork::refused;
use super::{CliError, Options, print, show, source};
use crate::actions::{Divergence, compare, compare_prompt, prompt_of_turn, replay};
use crate::formats::Recording;
use crate::store::ReadError;

/// A prompt file is read up to this many bytes.
const MAX_PROMPT_BYTES: u64 = 64 * 1024 * 1024;

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let named = options.paths.iter().chain(&options.prompt).chain(&options.against);
    if named.filter(|path| source::is_input(path)).count() > 1 {
        return Err(CliError::Usage("standard input can be only one of SOURCE, --prompt and --against".to_owned()));
    }
    let opened = source::open(options)?;
    let recording = &*opened.recording;
    let steps = recording.session().steps.len();
    let last = u32::try_from(steps).unwrap_or(u32::MAX);
    let (from, to) = (options.from.unwrap_or(1), options.to.unwrap_or(last));
    if last == 0 {
        return Err(CliError::Refused("the session has no steps to replay".to_owned()));
    }
    for step in [from, to] {
        if recording.session().step(step).is_none() {
            return Err(show::no_step(step, steps));
        }
    }
    if from > to {
        return Err(CliError::Usage(format!("--from {from} lies after --to {to}")));
    }
    let divergences = divergences(options, recording, from, to)?;
    let mut failed = None;
    let mut emit = |line: serde_json::Value| -> Result<(), ReadError> {
        let text = if options.json { line.to_string() } else { print::harmless(&plain(&line)) };
        writeln!(out, "{text}").map_err(|error| {
            failed = Some(std::io::Error::from(error.kind()));
            ReadError::Io { source: error, path: "standard output".into() }
        })
    };
    let played = replay(recording, from, to, &divergences, &mut emit);
    if let Some(error) = failed {
        return Err(CliError::Output(error));
    }
    played.map_err(refused)?;
    if divergences.is_empty() { Ok(()) } else { Err(CliError::Diverged) }
}

fn divergences(options: &Options, recording: &dyn Recording, from: u32, to: u32) -> Result<Vec<Divergence>, CliError> {
    let unreadable = |error: ReadError| CliError::Unreadable(error.to_string());
    let mut found = Vec::new();
    if let Some(path) = &options.prompt {
        if prompt_of_turn(recording, from).map_err(unreadable)?.is_none() {
            let sentence = format!("replay compares no prompt at turn {from}: it is taken as it comes");
            return Err(CliError::Refused(sentence));
        }
        found.extend(compare_prompt(recording, from, &read_prompt(path)?).map_err(unreadable)?);
    }
    if let Some(path) = &options.against {
        let other = source::open_paths(std::slice::from_ref(path), None)?;
        found.extend(compare(recording, &*other.recording, from, to).map_err(unreadable)?);
    }
    found.sort_by_key(|divergence| divergence.turn);
    Ok(found)
}

/// The file's text to the last byte: prompts are compared exactly.
fn read_prompt(path: &Path) -> Result<String, CliError> {
    let failed = |reason: String| CliError::Unreadable(format!("{reason}: {}", path.display()));
    if source::is_input(path) {
        return std::io::read_to_string(std::io::stdin()).map_err(|error| failed(error.to_string()));
    }
    let len = fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if len > MAX_PROMPT_BYTES {
        return Err(failed("longer than 64 MiB, no prompt is".to_owned()));
    }
    fs::read_to_string(path).map_err(|error| failed(error.to_string()))
}

/// A line of the replay for people: the turn, then what happened.
fn plain(line: &serde_json::Value) -> String {
    let turn = line.get("turn").map(|turn| format!("{turn:>4}  ")).unwrap_or_default();
    let Some(fields) = line.as_object() else { return line.to_string() };
    let rest: Vec<String> =
        fields.iter().filter(|(key, _)| *key != "turn").map(|(key, value)| format!("{key} {}", short(value))).collect();
    format!("{turn}{}", rest.join("  "))
}

fn short(value: &serde_json::Value) -> String {
    const LENGTH: usize = 160;
    let text = value.to_string();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
