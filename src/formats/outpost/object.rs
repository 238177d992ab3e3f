//! Object files: what Outpost's local transport keeps below a folder `objects`, each by itself.
//!
//! A file is a header of 1024 bytes, JSON padded with spaces, and the object's own bytes after it. Where the file of a key
//! is, [`Objects`](super::objects::Objects) says.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::objects::MAX_KEY;
use crate::formats::detect::Sample;
use crate::formats::json;
use crate::formats::lenient::{Count, Text};
use crate::model::Timestamp;
use crate::store::{ReadError, SourceFile, Span};

const HEADER_BYTES: usize = 1024;
/// Outpost writes and reads no larger body.
const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;

/// The fields of a header; all of them are required.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Header<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow)]
    revision: Text<'a>,
    size: Count,
    #[serde(borrow)]
    modified_at: Text<'a>,
}

/// An object's file of which only the header was read.
#[derive(Debug)]
pub struct Stored {
    pub file: Arc<SourceFile>,
    /// From its header, as are the others; empty where there is none.
    pub key: String,
    pub revision: String,
    /// Bytes that the header promises; those that are there where it does not.
    pub size: u64,
    pub modified_at: Option<Timestamp>,
    /// Where the body lies, up to [`MAX_BODY_BYTES`].
    pub body: Span,
    /// What does not fit together, for the reading report.
    pub flaws: Vec<String>,
}

/// An object that was read whole, whatever is wrong with it.
#[derive(Debug)]
pub struct Object {
    pub file: Arc<SourceFile>,
    pub revision: String,
    pub modified_at: Option<Timestamp>,
    /// The body up to [`MAX_BODY_BYTES`], which begins at `body_at` in the file.
    pub body: Vec<u8>,
    pub body_at: u64,
    pub flaws: Vec<String>,
}

impl Stored {
    /// The bytes of the body.
    pub fn bytes(&self) -> Result<Vec<u8>, ReadError> {
        self.file.read_at(self.body.offset, self.body.len as usize)
    }

    /// The first bytes of the body.
    pub fn start(&self, bytes: u32) -> Result<Vec<u8>, ReadError> {
        self.file.read_at(self.body.offset, self.body.len.min(bytes) as usize)
    }
}

/// Reads the header of an object's file; a damaged one gives what it still says.
pub fn look(path: &Path) -> Result<Stored, ReadError> {
    look_into(SourceFile::open(path)?, None)
}

/// Reads an object's file whole; `key` is the one that its place gives it, where that is known.
pub fn read(file: SourceFile, key: Option<&str>) -> Result<Object, ReadError> {
    let stored = look_into(file, key)?;
    let body = stored.bytes()?;
    let Stored { file, revision, modified_at, body: Span { offset: body_at, .. }, flaws, .. } = stored;
    Ok(Object { file, revision, modified_at, body, body_at, flaws })
}

fn look_into(file: SourceFile, key: Option<&str>) -> Result<Stored, ReadError> {
    let (head, there) = head(&file)?;
    let text = json::readable(&head);
    let (mut flaws, mut spare) = (Vec::new(), String::new());
    let header = header(&text.text, key, there, &mut spare, &mut flaws).unwrap_or_default();
    let offset = file.len() - there;
    Ok(Stored {
        key: header.key.or_empty().to_owned(),
        revision: header.revision.or_empty().to_owned(),
        size: header.size.0.unwrap_or(there),
        modified_at: header.time(),
        body: Span { offset, len: u32::try_from(there.min(MAX_BODY_BYTES)).unwrap_or(u32::MAX), line: 1 },
        flaws,
        file: Arc::new(file),
    })
}

/// The key of the object that a sample is the start of; `None` where it is no object file.
pub fn key_of(sample: &Sample) -> Option<String> {
    let from_header = |header: &Value| {
        let has = |key: &str| header.get(key).is_some_and(Value::is_string);
        let is_header = has("revision") && has("modifiedAt") && header.get("size").is_some_and(Value::is_u64);
        header.get("key").and_then(Value::as_str).filter(|_| is_header).map(str::to_owned)
    };
    sample.records.first().and_then(from_header).or_else(|| {
        // A body that is no JSON, such as the rest of a line, hides the header before it.
        let is_named = sample.path.extension().is_some_and(|ending| ending == "object");
        let file = is_named.then(|| SourceFile::open(&sample.path).ok()).flatten()?;
        from_header(&serde_json::from_slice(&file.read_at(0, HEADER_BYTES).ok()?).ok()?)
    })
}

/// The header's bytes, and how many there are after them.
fn head(file: &SourceFile) -> Result<(Vec<u8>, u64), ReadError> {
    let mut head = vec![0; HEADER_BYTES];
    let read = file.fill(0, &mut head)?;
    head.truncate(read);
    Ok((head, file.len().saturating_sub(HEADER_BYTES as u64)))
}

/// What a header says; whatever does not fit goes to `flaws`.
fn header<'a>(
    text: &'a str,
    key: Option<&str>,
    there: u64,
    spare: &'a mut String,
    flaws: &mut Vec<String>,
) -> Option<Header<'a>> {
    let header: Option<Header> = json::record(text.trim_end(), spare).ok().filter(|_| text.starts_with('{'));
    match &header {
        None => flaws.push("its header is no JSON".to_owned()),
        Some(header) => header.check(key, there, flaws),
    }
    if there > MAX_BODY_BYTES {
        flaws.push("it is larger than 64 MiB, which Outpost refuses; only the start is read".to_owned());
    }
    header
}

impl Header<'_> {
    fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(self.modified_at.or_empty())
    }

    fn check(&self, key: Option<&str>, bytes: u64, flaws: &mut Vec<String>) {
        if let Some(key) = key
            && !self.key.is(key)
        {
            let says: String = self.key.or_empty().chars().take(MAX_KEY).collect();
            flaws.push(format!("its header says that it is {says:?}"));
        }
        if self.size.0 != Some(bytes) {
            let says = self.size.0.map_or_else(|| "no size".to_owned(), |size| format!("{size} bytes"));
            flaws.push(format!("its header says {says}, there are {bytes}"));
        }
        if self.revision.or_empty().is_empty() {
            flaws.push("its header has no revision".to_owned());
        }
        if self.time().is_none() {
            flaws.push("its header has no time".to_owned());
        }
    }
}

#[cfg(test)]
pub mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::formats::outpost::objects::Objects;

    /// Writes an object as the local transport does.
    pub fn write(root: &Path, key: &str, revision: &str, body: &[u8]) -> PathBuf {
        let header = format!(
            r#"{{"key":"{key}","revision":"{revision}","size":{},"modifiedAt":"2026-02-03T10:00:00.000Z"}}"#,
            body.len()
        );
        let mut bytes = format!("{header:<1024}").into_bytes();
        bytes.extend_from_slice(body);
        let path = root.join(format!("objects/{key}.object"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn keys_lead_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::below(folder.path());
        assert!(objects.read("../a").unwrap_err().to_string().contains("no key"));
    }

    #[test]
    fn a_header_is_compared_with_its_place_and_its_body() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "logs/a/b", "r1", b"{}");
        let objects = Objects::below(folder.path());
        let object = objects.read("logs/a/b").unwrap();
        assert_eq!((object.revision.as_str(), object.body.as_slice(), object.body_at), ("r1", &b"{}"[..], 1024));
        assert_eq!((object.flaws, object.modified_at), (vec![], Timestamp::parse("2026-02-03T10:00:00.000Z")));

        let copy = folder.path().join("objects/logs/a/c.object");
        std::fs::copy(&path, &copy).unwrap();
        assert_eq!(objects.read("logs/a/c").unwrap().flaws, [r#"its header says that it is "logs/a/b""#]);
        std::fs::write(&copy, &std::fs::read(&path).unwrap()[..1025]).unwrap();
        assert_eq!(objects.read("logs/a/c").unwrap().flaws[1], "its header says 2 bytes, there are 1");
        std::fs::write(&copy, "no").unwrap();
        let object = objects.read("logs/a/c").unwrap();
        assert_eq!((object.flaws, object.body), (vec!["its header is no JSON".to_owned()], vec![]));
        assert_eq!(objects.keys_in("logs/a"), ["logs/a/b", "logs/a/c"]);
        assert!(objects.read("logs/a/d").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_read_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "logs/a/b", "r1", b"{}");
        std::os::unix::fs::symlink(&path, folder.path().join("objects/logs/a/link.object")).unwrap();
        std::os::unix::fs::symlink(path.parent().unwrap(), folder.path().join("objects/logs/l")).unwrap();
        let objects = Objects::below(folder.path());
        for key in ["logs/a/link", "logs/l/b"] {
            assert!(objects.read(key).unwrap_err().to_string().contains("symbolic link"), "{key}");
        }
        assert_eq!(objects.keys_in("logs/a"), ["logs/a/b"]);
        assert_eq!(objects.keys_in("logs/l"), [""; 0]);
    }
}
