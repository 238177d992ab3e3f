//! Telling formats apart by their first bytes, never by the name alone.
//!
//! A [`Sample`] is the start of a file, read tolerantly: records that the window cuts off count with the keys seen so far.
//! Each format gives points for it; the most points win, at least 2.

use std::path::PathBuf;

use serde_json::Value;

use super::Format;
use crate::store::{Framing, ReadError, SourceFile};

/// Bytes looked at.
const WINDOW_BYTES: usize = 64 * 1024;
/// Records looked at.
const MAX_RECORDS: usize = 40;

/// The start of a file.
#[derive(Debug)]
pub struct Sample {
    pub path: PathBuf,
    pub shape: Shape,
    /// Up to 40 records: lines, elements of an array, or the one document. Keys after the window's end are absent.
    pub records: Vec<Value>,
}

/// What kind of container a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One JSON record a line.
    Lines,
    /// One JSON array; records are its elements, `[` is at this offset.
    Array {
        start: u64,
    },
    /// One JSON document that is no array.
    Document,
    Sqlite,
    Gzip,
    Zstd,
    Zip,
    Utf16,
    Html,
    Empty,
    Other,
}

impl Sample {
    pub fn take(source: &SourceFile) -> Result<Self, ReadError> {
        let mut window = vec![0; WINDOW_BYTES];
        let read = source.fill(0, &mut window)?;
        window.truncate(read);
        let text = String::from_utf8_lossy(&window);
        let (shape, records) = match serde_json::from_str::<Value>(text.trim()) {
            Ok(Value::Array(items)) => (Shape::Array { start: 0 }, items),
            _ => (
                Shape::Lines,
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).take(MAX_RECORDS).collect(),
            ),
        };
        Ok(Self { path: source.path().to_owned(), shape, records })
    }

    /// How a reader should cut the file.
    pub fn framing(&self) -> Framing {
        match self.shape {
            Shape::Array { start } => Framing::Array { start },
            _ => Framing::Lines,
        }
    }
}

/// The format that recognises the sample best, or one sentence that says what the file is not.
pub fn choose<'a>(registry: &'a [Format], sample: &Sample) -> Result<&'a Format, String> {
    registry
        .iter()
        .map(|format| ((format.recognise)(sample), format))
        .filter(|(points, _)| *points >= 2)
        .max_by_key(|(points, _)| *points)
        .map(|(_, format)| format)
        .ok_or_else(|| "not a session of a known format".to_owned())
}
