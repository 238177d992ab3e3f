//! Support cases: a session as it was cut, the notes on it and its reading report in one zip archive, as
//! `actions::export` writes them. A case opens like the session in it.
//!
//! | entry | what |
//! | --- | --- |
//! | `case.json` | `{stepline: "case", version, program, format, session{id, file}, steps{first, last, of}, redaction, warnings}` |
//! | `session/…` | the session in its own format, and the files it refers to |
//! | `notes.json` | the notes on it, as they lie beside a session; only where there are some |
//! | `report.json` | the reading report of the session it was cut from, as `stepline check` prints it |

mod archive;
mod cased;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use super::detect::{Sample, Shape};
use super::{Format, Observer, OpenError, Reading, Recording, SessionRef, open_session};
use crate::model::{FormatName, NotesFile, start_line};
use crate::store::{ReadError, SourceFile, Watch};
use archive::Archive;
use cased::Cased;

/// The newest version of `case.json` that is read.
pub const VERSION: u64 = 1;
pub const MANIFEST: &str = "case.json";
pub const NOTES: &str = "notes.json";
pub const REPORT: &str = "report.json";
/// Begins the names of all files of the session.
pub const SESSION: &str = "session/";

pub const FORMAT: Format = Format {
    name: FormatName::Case,
    description: "Stepline support case (.zip)",
    recognise,
    first_prompt,
    read: Reading::Alone(open),
};

/// An archive whose `case.json` says that it is a case.
fn recognise(sample: &Sample) -> u32 {
    if manifest(sample).is_some() { 10 } else { 0 }
}

fn manifest(sample: &Sample) -> Option<Value> {
    if sample.shape != Shape::Zip {
        return None;
    }
    let file = SourceFile::open(&sample.path).ok()?;
    let manifest = Archive::open(&file).ok()?.json(MANIFEST).ok()??;
    (manifest.get("stepline").and_then(Value::as_str) == Some("case")).then_some(manifest)
}

fn first_prompt(sample: &Sample) -> Option<String> {
    let manifest = manifest(sample)?;
    let title = manifest.get("session")?.get("title")?.as_str()?;
    Some(start_line(title, 160))
}

fn open(file: Arc<SourceFile>, _: &Sample, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let refuse = |reason: &str| {
        OpenError::Read(ReadError::Open {
            reason: format!("the case cannot be opened: {reason}"),
            path: file.path().to_owned(),
        })
    };
    let mut archive = Archive::open(&file)?;
    let manifest = archive.json(MANIFEST)?.ok_or_else(|| refuse("it has no case.json"))?;
    if manifest.get("version").and_then(Value::as_u64).is_none_or(|version| version > VERSION) {
        return Err(refuse("it was written by a later version of Stepline"));
    }
    let name = manifest.get("session").and_then(|session| session.get("file")).and_then(Value::as_str);
    let name = name.ok_or_else(|| refuse("case.json names no session"))?.to_owned();
    let notes = archive.bytes(NOTES)?.and_then(|bytes| NotesFile::parse(&bytes).ok()).unwrap_or_default();
    let folder = archive.unpack(observer.watch())?;
    // The name came from the archive: it is only ever one of the files that were unpacked.
    let path = archive.path_in(folder.path(), &name).filter(|path| path.is_file());
    let path = path.ok_or_else(|| refuse("the session that case.json names is not in it"))?;
    // A case in a case would be unpacked again and again.
    let sample = Sample::take(&SourceFile::open(&path)?)?;
    if sample.shape == Shape::Zip {
        return Err(refuse("the session in it is an archive"));
    }
    let inner = open_session(&SessionRef::file(&path), &Whole(observer))?;
    Ok(Arc::new(Cased::new(inner, file, folder, &notes)))
}

/// Waits for the whole recording: what is partly read would not know that it is in a case.
struct Whole<'a>(&'a dyn Observer);

impl Observer for Whole<'_> {
    fn watch(&self) -> Watch<'_> {
        self.0.watch()
    }

    fn partial(&self, _: Arc<dyn Recording>) {}

    fn wants_partial(&self) -> bool {
        false
    }
}
