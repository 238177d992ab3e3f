//! Conversations that Outpost keeps in its storage: snapshots, each a manifest and the chunks of its files.

use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::content::{Content, Held};
use super::fields::text;
use super::object;
use super::objects::Objects;
use super::stored_document::{self, notice};
use super::transcript::{self, Transcript};
use crate::formats::{Observer, OpenError};
use crate::model::{Problem, ProblemKind};

/// A transcript is put together in memory; larger ones are read up to here.
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// Chunks of a snapshot.
const MAX_CHUNKS: usize = 100_000;
/// Snapshots that are looked at for the newest one.
const MAX_SNAPSHOTS: usize = 10_000;

/// The parts of a conversation's key: `conversations/[<namespace>/]<format>/<id>`.
pub struct Name<'a> {
    pub key: &'a str,
    pub format: &'a str,
    pub id: &'a str,
}

impl<'a> Name<'a> {
    /// Of the key of anything that belongs to a conversation.
    pub fn of(key: &'a str) -> Option<Self> {
        let key = key.split("/snapshots/").next().unwrap_or(key);
        let key = key.strip_suffix("/index").unwrap_or(key);
        let (before, id) = key.rsplit_once('/')?;
        let (_, format) = before.rsplit_once('/')?;
        Some(Self { key, format, id })
    }
}

/// The key of a conversation's newest manifest.
pub fn newest_manifest(objects: &Objects, conversation: &str) -> Option<String> {
    let snapshots = format!("{conversation}/snapshots");
    let found = objects.children(&snapshots, MAX_SNAPSHOTS).folders.into_iter().filter_map(|name| {
        let key = format!("{snapshots}/{name}/manifest");
        Some((objects.look(&key)?.modified_at, key))
    });
    found.max().map(|(_, key)| key)
}

/// Opens the conversation that a key belongs to: the snapshot that it names, else the newest.
pub fn open(objects: &Objects, key: &str, opened: &Path, observer: &dyn Observer) -> Result<Transcript, OpenError> {
    let missing = || OpenError::NoSession { wanted: key.to_owned(), path: opened.to_owned() };
    let name = Name::of(key).ok_or_else(missing)?;
    if name.format != "harness" {
        let explanation = format!(
            "this is a conversation of {}, kept by Outpost in that agent's own form; those of its own harness can be opened",
            name.format
        );
        return Err(OpenError::Unknown { explanation, path: opened.to_owned() });
    }
    let snapshot = key.split_once("/snapshots/").and_then(|(_, rest)| rest.split('/').next());
    let manifest = match snapshot {
        Some(snapshot) => format!("{}/snapshots/{snapshot}/manifest", name.key),
        None => newest_manifest(objects, name.key).ok_or_else(missing)?,
    };
    let document = stored_document::in_object(&objects.find(&manifest).ok_or_else(missing)?)?;
    let mut problems: Vec<Problem> = document.report.problems;
    let file = transcript_of(&document.value, name.id, &mut problems);
    let held = put_together(objects, file, observer, &mut problems)?;
    let mut transcript =
        transcript::open_stored(Content::Held(held), vec![document.file], opened, name.id.to_owned(), observer)?;
    problems.into_iter().for_each(|problem| transcript.notice(problem));
    Ok(transcript)
}

/// Opens a chunk that lies alone, without the rest of its storage.
pub fn open_alone(path: &Path, observer: &dyn Observer) -> Result<Transcript, OpenError> {
    let object = object::look(path)?;
    let mut held = Held::default();
    held.push(path, object.body.offset, &object.bytes()?);
    let id = Name::of(&object.key).map_or("", |name| name.id).to_owned();
    let mut transcript = transcript::open_stored(Content::Held(held), vec![object.file.clone()], path, id, observer)?;
    let message = "the object lies alone, without its manifest: it may be one piece of several";
    transcript.notice(notice(&object.key, ProblemKind::Structure, message));
    Ok(transcript)
}

/// The file of a manifest that is the conversation's transcript.
fn transcript_of<'a>(manifest: &'a Value, id: &str, problems: &mut Vec<Problem>) -> &'a Value {
    let files = manifest.get("files").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if files.len() > 1 {
        let message = format!("the snapshot has {} files; the transcript alone is shown", files.len());
        problems.push(notice("manifest", ProblemKind::Structure, &message));
    }
    let own = format!("{id}.jsonl");
    let is_own = |file: &&Value| text(file, "path").rsplit('/').next() == Some(own.as_str());
    let is_transcript = |file: &&Value| text(file, "path").ends_with(".jsonl");
    let found = files.iter().find(is_own).or_else(|| files.iter().find(is_transcript));
    found.or(files.first()).unwrap_or(&Value::Null)
}

/// The chunks of a file in their order; what is wrong with them is told, and what is there is taken.
fn put_together(
    objects: &Objects,
    file: &Value,
    observer: &dyn Observer,
    problems: &mut Vec<Problem>,
) -> Result<Held, OpenError> {
    let mut held = Held::default();
    let chunks = file.get("chunks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut problem = |key: &str, message: &str| problems.push(notice(key, ProblemKind::Structure, message));
    if chunks.is_empty() {
        problem("manifest", "the manifest names no chunks of a transcript");
    }
    for (number, chunk) in chunks.iter().take(MAX_CHUNKS).enumerate() {
        observer.watch().step(number as u64, chunks.len() as u64)?;
        let reference = chunk.get("reference").unwrap_or(&Value::Null);
        let key = text(reference, "key");
        let Some(path) = objects.find(key) else {
            problem(key, &format!("chunk {number} of the snapshot is not there"));
            continue;
        };
        let object = match object::look(&path) {
            Ok(object) => object,
            Err(error) => {
                problem(key, &format!("chunk {number} of the snapshot cannot be read: {error}"));
                continue;
            }
        };
        object.flaws.iter().for_each(|message| problem(key, message));
        if object.key != key || object.revision != text(reference, "revision") {
            problem(key, &format!("chunk {number} is another version than the one that the snapshot names"));
        }
        let bytes = object.bytes()?;
        if hex(&Sha256::digest(&bytes)) != text(chunk, "sha256") {
            problem(key, &format!("chunk {number} does not have the SHA-256 that the snapshot gives it"));
        }
        if held.len() + bytes.len() > MAX_BYTES {
            problem(key, "the transcript is larger than 256 MiB; the rest is not read");
            break;
        }
        held.push(&path, object.body.offset, &bytes);
    }
    let size = file.get("size").and_then(Value::as_u64);
    if size.is_some_and(|size| size != held.len() as u64) {
        let message = format!("the transcript should have {} bytes and has {}", size.unwrap_or(0), held.len());
        problem("manifest", &message);
    }
    Ok(held)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
