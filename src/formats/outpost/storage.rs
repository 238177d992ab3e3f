//! Outpost's storage folder: its journals, checkpoints, conversations and runs, and the session files that lie beside them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::conversation::{self, Name, newest_manifest};
use super::document_session::DocumentSession;
use super::fields::{text, time};
use super::object::{self, Stored};
use super::objects::{Objects, area};
use super::{chain, checkpoint, joined, run, transcript};
use crate::formats::source::Part;
use crate::formats::{Listed, Observer, OpenError, Recording, SessionRef};
use crate::model::FormatName;
use crate::store::now;

/// Sessions of each kind that are listed.
const MAX_LISTED: usize = 10_000;
/// How deep the namespaces of conversations may be nested.
const MAX_NAMESPACES: usize = 6;
/// Documents up to this size are read for a list; of larger ones the header has to do.
const MAX_LISTED_BYTES: u64 = 256 * 1024;
/// So much of a conversation is read for its title.
const MAX_TITLE_BYTES: u32 = 64 * 1024;

/// The sessions that are stored below a folder. Headers and indexes are read, and documents where they are small.
pub fn list(part: &Part, observer: &dyn Observer) -> Result<Vec<Listed>, OpenError> {
    let Some(objects) = Objects::of(&part.path) else { return Err(missing("objects", &part.path)) };
    let lister = Lister { objects: &objects, part };
    let mut listed = Vec::new();
    for log in objects.children("logs", MAX_LISTED).folders {
        observer.watch().step(0, 0)?;
        listed.extend(lister.log(&log));
    }
    for name in objects.children("checkpoints", MAX_LISTED).objects {
        observer.watch().step(0, 0)?;
        listed.extend(lister.checkpoint(&format!("checkpoints/{name}")));
    }
    for key in conversations(&objects) {
        observer.watch().step(0, 0)?;
        listed.extend(lister.conversation(&key));
    }
    for id in objects.children("runs", MAX_LISTED).folders {
        observer.watch().step(0, 0)?;
        listed.extend(lister.run(&id));
    }
    Ok(listed)
}

/// Folders beside the objects in which Outpost, or its user, keeps session files: the root itself, transcripts, old logs.
pub fn folders_beside(root: &Path) -> Vec<PathBuf> {
    let outpost = root.join(".outpost");
    [root.to_owned(), outpost.join("conversations/harness"), outpost.join("logs")].into_iter().collect()
}

/// Opens the session with this key.
pub fn open(part: &Part, key: &str, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let objects = Objects::of(&part.path).ok_or_else(|| missing(key, &part.path))?;
    open_key(&objects, key, &part.path, observer)
}

/// Opens an object file: what its key says that it belongs to, or the object alone where the rest is not there.
pub fn open_object(path: &Path, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let key = object::look(path)?.key;
    // A file that was named by a path of a few segments has the rest of the path above it.
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(objects) = Objects::above(&whole, &key) {
        match open_key(&objects, &key, path, observer) {
            Err(OpenError::NoSession { .. }) => {}
            opened => return opened,
        }
    }
    match area(&key) {
        "checkpoints" => Ok(Arc::new(checkpoint::open_stored(path, path)?)),
        "runs" => Ok(Arc::new(run::open_alone(path)?)),
        "logs" => chain::alone(path),
        "conversations" if key.contains("/files/") => Ok(Arc::new(conversation::open_alone(path, observer)?)),
        _ => {
            let reason = format!("the object {key} is one piece of a session, and the others are not beside it");
            Err(OpenError::Empty { reason, path: path.to_owned() })
        }
    }
}

fn open_key(
    objects: &Objects,
    key: &str,
    opened: &Path,
    observer: &dyn Observer,
) -> Result<Arc<dyn Recording>, OpenError> {
    let second = key.split('/').nth(1).unwrap_or_default();
    match area(key) {
        "logs" => {
            let recording = chain::open(objects, second, observer)?;
            Ok(joined::with_checkpoints(recording, |execution| checkpoints_of(objects, execution, opened)))
        }
        "checkpoints" => {
            let path = objects.find(key).ok_or_else(|| missing(key, opened))?;
            Ok(Arc::new(checkpoint::open_stored(&path, opened)?))
        }
        "conversations" => Ok(Arc::new(conversation::open(objects, key, opened, observer)?)),
        "runs" => Ok(Arc::new(run::open_stored(objects, second, opened, observer)?)),
        _ => Err(missing(key, opened)),
    }
}

fn missing(key: &str, path: &Path) -> OpenError {
    OpenError::NoSession { wanted: key.to_owned(), path: path.to_owned() }
}

/// The checkpoints of a workflow's execution.
fn checkpoints_of(objects: &Objects, execution: &str, opened: &Path) -> Vec<DocumentSession> {
    const MAX_JOINED: usize = 16;
    let names = objects.children("checkpoints", MAX_LISTED).objects.into_iter();
    let paths = names.filter_map(|name| objects.find(&format!("checkpoints/{name}")));
    let is_its_own = |path: &PathBuf| object::look(path).is_ok_and(|object| execution_of(&object) == execution);
    let found = paths.filter(is_its_own).take(MAX_JOINED);
    found.filter_map(|path| checkpoint::open_stored(&path, opened).ok()).collect()
}

/// The execution that a stored checkpoint belongs to, by its first bytes.
fn execution_of(object: &Stored) -> String {
    let head = object.start(4096).unwrap_or_default();
    let value = crate::formats::prefix::first_value(&head).value.unwrap_or_default();
    text(checkpoint::content(&value), "executionId").to_owned()
}

/// The keys of all conversations.
fn conversations(objects: &Objects) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![("conversations".to_owned(), 0)];
    while let Some((key, depth)) = open.pop() {
        let below = objects.children(&key, MAX_LISTED);
        if below.folders.iter().any(|name| name == "snapshots") || below.objects.iter().any(|name| name == "index") {
            found.push(key);
        } else if depth < MAX_NAMESPACES {
            open.extend(below.folders.into_iter().map(|name| (format!("{key}/{name}"), depth + 1)));
        }
        if found.len() >= MAX_LISTED || open.len() >= MAX_LISTED {
            break;
        }
    }
    found.sort();
    found
}

struct Lister<'a> {
    objects: &'a Objects,
    part: &'a Part,
}

impl Lister<'_> {
    fn listed(&self, key: &str, format: FormatName) -> Listed {
        let reference = SessionRef { paths: vec![self.part.path.clone()], key: Some(key.to_owned()) };
        Listed::new(reference, format)
    }

    fn log(&self, log: &str) -> Option<Listed> {
        let key = format!("logs/{log}");
        if self.objects.children(&key, 1).objects.is_empty() {
            return None;
        }
        let summary = chain::summary(self.objects, log);
        Some(Listed {
            id: Some(summary.id),
            title: summary.title,
            status: Some(summary.status).filter(|status| !status.is_empty()),
            started_at: summary.started_at,
            ended_at: summary.ended_at,
            bytes: summary.bytes,
            ..self.listed(&key, FormatName::OutpostStorage)
        })
    }

    fn checkpoint(&self, key: &str) -> Option<Listed> {
        let object = self.objects.look(key)?;
        let document = small_document(&object);
        let checkpoint = document.as_ref().map(checkpoint::content);
        let id = checkpoint.map(|checkpoint| text(checkpoint, "executionId").to_owned()).filter(|id| !id.is_empty());
        let (started_at, ended_at) = checkpoint.map(checkpoint::times).unwrap_or_default();
        let hash = key.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
        Some(Listed {
            id: id.or_else(|| Some(hash.to_owned())),
            title: checkpoint.map(checkpoint::title),
            status: checkpoint.map(|checkpoint| checkpoint::status(checkpoint).to_owned()),
            started_at,
            ended_at: ended_at.or(object.modified_at),
            bytes: object.file.len(),
            ..self.listed(key, FormatName::OutpostCheckpoint)
        })
    }

    fn conversation(&self, key: &str) -> Option<Listed> {
        let name = Name::of(key)?;
        let listed = Listed { id: Some(name.id.to_owned()), ..self.listed(key, FormatName::OutpostTranscript) };
        if name.format != "harness" {
            return Some(Listed {
                title: Some(format!("a conversation of {}, as that agent keeps it", name.format)),
                ..listed
            });
        }
        let manifest = self.objects.look(&newest_manifest(self.objects, key)?)?;
        let first = manifest
            .key
            .strip_suffix("manifest")
            .and_then(|snapshot| self.objects.look(&format!("{snapshot}files/0/0")));
        let head = first.and_then(|object| object.start(MAX_TITLE_BYTES).ok());
        let (title, model) = transcript::glance(&head.unwrap_or_default());
        Some(Listed { title, model, ended_at: manifest.modified_at, bytes: manifest.size, ..listed })
    }

    fn run(&self, id: &str) -> Option<Listed> {
        let key = format!("runs/{id}");
        let object = self.objects.look(&format!("{key}/index"));
        let snapshot = object.as_ref().and_then(small_document).unwrap_or_default();
        Some(Listed {
            id: Some(id.to_owned()),
            title: snapshot.is_object().then(|| run::title(&snapshot)),
            status: Some(run::status(&snapshot, now()).to_owned()).filter(|status| !status.is_empty()),
            started_at: time(&snapshot, "startedAt"),
            ended_at: time(&snapshot, "updatedAt").or(object.as_ref().and_then(|object| object.modified_at)),
            bytes: object.map_or(0, |object| object.file.len()),
            ..self.listed(&key, FormatName::OutpostRun)
        })
    }
}

/// The document in an object's body; `None` where it is too large for a list, or no JSON.
fn small_document(object: &Stored) -> Option<Value> {
    if u64::from(object.body.len) > MAX_LISTED_BYTES {
        return None;
    }
    serde_json::from_slice(&object.bytes().ok()?).ok()
}
