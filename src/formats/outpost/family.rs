//! All of Outpost's formats: how they are told apart, listed, opened, and read together.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::document_session::DocumentSession;
use super::fields::{text, time};
use super::joined::{self, Executions};
use super::object::key_of;
use super::objects::{Objects, area};
use super::{checkpoint, legacy, observations, recognise, run, storage, stored_document, transcript};
use crate::formats::detect::{Sample, Shape};
use crate::formats::source::{Part, listed_alone};
use crate::formats::{Family, Format, Listed, Observer, OpenError, Reading, Recording};
use crate::model::FormatName;
use crate::store::{ReadError, SourceFile};

pub static FAMILY: Family = Family { list, open };

const fn format(
    name: FormatName,
    description: &'static str,
    recognise: fn(&Sample) -> u32,
    first_prompt: fn(&Sample) -> Option<String>,
) -> Format {
    Format { name, description, recognise, first_prompt, read: Reading::Together(&FAMILY) }
}

pub const JOURNAL: Format =
    format(FormatName::OutpostJournal, "Outpost journal (.json, .jsonl)", is_journal, recognise::first_prompt);
pub const OBSERVATIONS: Format =
    format(FormatName::OutpostObservations, "Outpost observation log (.jsonl, .json)", is_observations, nested_prompt);
pub const STORAGE: Format =
    format(FormatName::OutpostStorage, "Outpost storage (.outpost/storage)", is_storage, no_prompt);
pub const LEGACY: Format =
    format(FormatName::OutpostLegacyLog, "Outpost log of 1.x to 5.x (.jsonl)", is_legacy, recognise::first_prompt);
pub const CHECKPOINT: Format =
    format(FormatName::OutpostCheckpoint, "Outpost checkpoint (.json, .object)", is_checkpoint, asked);
pub const TRANSCRIPT: Format =
    format(FormatName::OutpostTranscript, "Outpost harness transcript (.jsonl, .object)", is_transcript, said);
pub const RUN: Format =
    format(FormatName::OutpostRun, "Outpost run snapshot or report (.json, .object)", is_run, no_prompt);

/// Files larger than this are not read for a list.
const MAX_LISTED_BYTES: u64 = 4 * 1024 * 1024;
/// Files beside a storage folder that are looked at.
const MAX_BESIDE: usize = 1_000;

/// An object file is what its key says; everything else is told by its records.
fn by_key(sample: &Sample, areas: &[&str], otherwise: impl FnOnce() -> u32) -> u32 {
    match key_of(sample) {
        Some(key) if areas.contains(&area(&key)) => 10,
        Some(_) => 0,
        None => otherwise(),
    }
}

fn most(sample: &Sample, rule: fn(&Value) -> u32) -> u32 {
    sample.records.iter().map(rule).max().unwrap_or(0)
}

fn is_journal(sample: &Sample) -> u32 {
    by_key(sample, &[], || recognise::journal(sample))
}

fn is_observations(sample: &Sample) -> u32 {
    let fits = matches!(sample.shape, Shape::Array { .. } | Shape::Lines | Shape::Document);
    by_key(sample, &[], || if fits { most(sample, recognise::observation) } else { 0 })
}

fn is_legacy(sample: &Sample) -> u32 {
    by_key(sample, &[], || recognise::legacy(sample))
}

fn is_storage(sample: &Sample) -> u32 {
    match sample.shape {
        Shape::Folder if Objects::of(&sample.path).is_some() => 10,
        Shape::Folder => 0,
        _ => by_key(sample, &["logs"], || 0),
    }
}

fn is_checkpoint(sample: &Sample) -> u32 {
    by_key(sample, &["checkpoints"], || most(sample, recognise::checkpoint))
}

fn is_transcript(sample: &Sample) -> u32 {
    by_key(sample, &["conversations"], || most(sample, recognise::transcript))
}

fn is_run(sample: &Sample) -> u32 {
    by_key(sample, &["runs"], || match sample.records.as_slice() {
        [document] if matches!(sample.shape, Shape::Document | Shape::Lines) => recognise::run(document),
        _ => 0,
    })
}

fn no_prompt(_: &Sample) -> Option<String> {
    None
}

fn nested_prompt(sample: &Sample) -> Option<String> {
    let events = sample.records.iter().filter_map(|record| record.get("event"));
    let prompt = events.into_iter().find(|event| text(event, "kind") == "prompt")?;
    Some(crate::model::summarise(text(prompt, "text")))
}

/// The first question of a checkpoint.
fn asked(sample: &Sample) -> Option<String> {
    let document = sample.records.get(usize::from(key_of(sample).is_some()))?;
    Some(checkpoint::title(checkpoint::content(document)))
}

/// The first prompt of a transcript.
fn said(sample: &Sample) -> Option<String> {
    let lines: Vec<String> = sample.records.iter().map(Value::to_string).collect();
    transcript::glance(lines.join("\n").as_bytes()).0
}

fn list(parts: &[Part], observer: &dyn Observer) -> Result<Vec<Listed>, OpenError> {
    let executions = Executions::of(parts);
    let mut listed = Vec::new();
    let mut joined = HashSet::new();
    for part in parts {
        observer.watch().step(0, 0)?;
        let mut sessions = match list_part(part, observer) {
            // Whoever opens it is told what is wrong with it; the others are listed all the same.
            Err(error) if parts.len() > 1 && !is_cancelled(&error) => vec![listed_alone(part)],
            listed => listed?,
        };
        joined.extend(executions.refer(part, &mut sessions));
        listed.extend(sessions);
    }
    // What a checkpoint says is shown with its log, unless somebody was asked something in it.
    listed.retain(|listed| !joined.contains(listed.reference.path()) || !is_plain_checkpoint(listed));
    Ok(listed)
}

fn is_cancelled(error: &OpenError) -> bool {
    matches!(error, OpenError::Cancelled(_) | OpenError::Read(ReadError::Cancelled(_)))
}

fn is_plain_checkpoint(listed: &Listed) -> bool {
    listed.format == FormatName::OutpostCheckpoint
        && read_checkpoint(listed.reference.path()).is_some_and(|document| !checkpoint::asks(&document))
}

fn list_part(part: &Part, observer: &dyn Observer) -> Result<Vec<Listed>, OpenError> {
    match (part.format.name, part.shape) {
        (FormatName::OutpostStorage, Shape::Folder) => {
            let mut listed = storage::list(part, observer)?;
            listed.extend(list(&parts_beside(&part.path), observer)?);
            Ok(listed)
        }
        (FormatName::OutpostObservations, _) => observations::list(part, observer),
        (FormatName::OutpostCheckpoint, _) => Ok(vec![list_checkpoint(part)]),
        (FormatName::OutpostTranscript, _) => Ok(vec![list_transcript(part)?]),
        _ => Ok(vec![listed_alone(part)]),
    }
}

/// Outpost's session files that lie beside the objects of a storage, which would be hidden by it.
fn parts_beside(root: &Path) -> Vec<Part> {
    let entries = storage::folders_beside(root).into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let is_file = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let is_session = |path: &Path| path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl");
    let paths = entries.flatten().filter(is_file).map(|entry| entry.path()).filter(|path| is_session(path));
    let mut paths: Vec<_> = paths.take(MAX_BESIDE).collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| Part::look(path).ok())
        .filter(|part| part.format.name.system() == "Outpost")
        .collect()
}

fn list_checkpoint(part: &Part) -> Listed {
    let listed = listed_alone(part);
    let Some(document) = read_checkpoint(&part.path) else { return listed };
    let checkpoint = checkpoint::content(&document);
    let id = Some(text(checkpoint, "executionId").to_owned()).filter(|id| !id.is_empty());
    let (started_at, ended_at) = checkpoint::times(checkpoint);
    let ended_at = ended_at.or(listed.ended_at);
    Listed { id, status: Some(checkpoint::status(checkpoint).to_owned()), started_at, ended_at, ..listed }
}

/// The document of a checkpoint that is small enough for a list.
fn read_checkpoint(path: &Path) -> Option<Value> {
    let file = SourceFile::open(path).ok().filter(|file| file.len() <= MAX_LISTED_BYTES)?;
    let is_object = key_of(&Sample::take(&file).ok()?).is_some();
    let document = if is_object { stored_document::in_object(path) } else { stored_document::bare(path) };
    document.ok().map(|document| document.value)
}

fn list_transcript(part: &Part) -> Result<Listed, ReadError> {
    let listed = listed_alone(part);
    let sample = Sample::take(&SourceFile::open(&part.path)?)?;
    let Some(header) = sample.records.iter().find(|record| recognise::transcript(record) > 0) else {
        return Ok(listed);
    };
    Ok(Listed {
        id: header.get("id").and_then(Value::as_str).map(str::to_owned),
        model: header.get("model").and_then(Value::as_str).map(str::to_owned),
        started_at: time(header, "createdAt"),
        // The conversation of a subagent belongs to the call that started it.
        is_hidden: header.get("parentConversation").is_some_and(Value::is_string),
        ..listed
    })
}

/// One part is opened; with a log the checkpoints beside it are read along, for what its approvals and questions said.
fn open(parts: &[Part], key: Option<&str>, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let Some((first, rest)) = parts.split_first() else {
        return Err(OpenError::Several { path: PathBuf::new() });
    };
    if rest.is_empty() {
        return open_part(first, key, observer);
    }
    if joined::is_log(first) && rest.iter().all(|part| part.format.name == FormatName::OutpostCheckpoint) {
        let recording = open_part(first, key, observer)?;
        return Ok(joined::with_checkpoints(recording, |_| {
            rest.iter().filter_map(|part| open_checkpoint(part).ok()).collect()
        }));
    }
    let wanted = key.ok_or_else(|| OpenError::Several { path: first.path.clone() })?;
    for part in parts {
        let found = list_part(part, observer)?.into_iter().find(|listed| listed.is_named(wanted));
        if let Some(found) = found {
            return open_part(part, found.reference.key.as_deref(), observer);
        }
    }
    Err(OpenError::NoSession { wanted: wanted.to_owned(), path: first.path.clone() })
}

fn open_checkpoint(part: &Part) -> Result<DocumentSession, OpenError> {
    if is_object(part)? { checkpoint::open_stored(&part.path, &part.path) } else { checkpoint::open(&part.path) }
}

fn is_object(part: &Part) -> Result<bool, ReadError> {
    Ok(key_of(&Sample::take(&SourceFile::open(&part.path)?)?).is_some())
}

fn open_part(part: &Part, key: Option<&str>, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    if part.shape == Shape::Folder {
        return open_stored(part, key, observer);
    }
    let file = Arc::new(SourceFile::open(&part.path)?);
    let sample = Sample::take(&file)?;
    if key_of(&sample).is_some() {
        return storage::open_object(&part.path, observer);
    }
    match part.format.name {
        FormatName::OutpostObservations => observations::open(part, key, observer),
        FormatName::OutpostLegacyLog => legacy::open(part, observer),
        FormatName::OutpostCheckpoint => Ok(Arc::new(checkpoint::open(&part.path)?)),
        FormatName::OutpostTranscript => Ok(Arc::new(transcript::open(file, observer)?)),
        FormatName::OutpostRun => Ok(Arc::new(run::open(&part.path)?)),
        _ => super::open(file, &sample, observer),
    }
}

/// A storage with one session needs no key.
fn open_stored(part: &Part, key: Option<&str>, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    if let Some(key) = key.filter(|key| key.contains('/')) {
        return storage::open(part, key, observer);
    }
    let mut listed = list_part(part, observer)?;
    if let Some(key) = key {
        listed.retain(|listed| listed.is_named(key));
    }
    match (listed.as_slice(), key) {
        ([one], _) => match &one.reference.key {
            Some(key) if one.reference.paths == [part.path.clone()] => storage::open(part, key, observer),
            _ => crate::formats::open_session(&one.reference, observer),
        },
        ([], Some(key)) => Err(OpenError::NoSession { wanted: key.to_owned(), path: part.path.clone() }),
        ([], None) => {
            let reason = "nothing is stored in it".to_owned();
            Err(OpenError::Empty { reason, path: part.path.clone() })
        }
        _ => Err(OpenError::Several { path: part.path.clone() }),
    }
}
