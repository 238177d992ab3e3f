//! The file of notes beside a session: `NAME.stepline-notes.json`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::rewrite::write_atomically;
use super::{ReadError, SourceFile};
use crate::model::{Notes, NotesFile};

/// Ends the name of every file of notes.
pub const NOTES_SUFFIX: &str = ".stepline-notes.json";

/// A file of notes is read up to this length.
const MAX_NOTES_BYTES: u64 = 16 * 1024 * 1024;

/// Where the notes on the sessions of a source are: beside the file itself, not beside a link to it.
pub fn notes_path(source: &Path) -> PathBuf {
    let source = source.canonicalize().unwrap_or_else(|_| source.to_owned());
    let mut name: OsString = source.file_name().unwrap_or_default().to_owned();
    name.push(NOTES_SUFFIX);
    source.with_file_name(name)
}

/// Reads the notes beside a source; none where there is no such file.
pub fn load_notes(source: &Path) -> Result<NotesFile, ReadError> {
    let path = notes_path(source);
    if path.symlink_metadata().is_err() {
        return Ok(NotesFile::default());
    }
    let refuse =
        |reason: String| ReadError::Open { reason: format!("the notes cannot be read: {reason}"), path: path.clone() };
    let file = SourceFile::open(&path)?;
    if file.len() > MAX_NOTES_BYTES {
        return Err(refuse("the file is too long".to_owned()));
    }
    let bytes = file.read_at(0, usize::try_from(file.len()).unwrap_or(0))?;
    NotesFile::parse(&bytes).map_err(|error| refuse(error.to_string()))
}

/// Writes the notes on one session; those on others that are in the file by now stay. Gives the path.
pub fn save_notes(source: &Path, session_id: &str, notes: &Notes) -> Result<PathBuf, ReadError> {
    let path = notes_path(source);
    let mut file = load_notes(source)?;
    file.set(session_id, notes);
    write_atomically(&path, &file.to_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::{Target, Timestamp};

    #[test]
    fn notes_are_kept_beside_the_session() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.jsonl");
        fs::write(&source, "x").unwrap();
        assert_eq!(load_notes(&source).unwrap(), NotesFile::default());
        let mut notes = Notes::default();
        let on = Target { step: 1, step_id: "i".to_owned(), event: None };
        notes.set(on, true, "look here", Timestamp(0));
        let path = save_notes(&source, "s", &notes).unwrap();
        assert_eq!(path.file_name().unwrap(), "a.jsonl.stepline-notes.json");
        save_notes(&source, "t", &Notes::default()).unwrap();
        assert_eq!(load_notes(&source).unwrap().of("s"), notes);
        assert_eq!(fs::read(&source).unwrap(), b"x", "the session is untouched");

        fs::write(&path, "something else").unwrap();
        assert!(save_notes(&source, "s", &notes).unwrap_err().to_string().contains("the notes cannot be read"));
        assert_eq!(fs::read(&path).unwrap(), b"something else", "what is no file of notes is never overwritten");
    }
}
