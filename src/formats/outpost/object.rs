//! Object files of the local transport: a header of 1024 bytes, the object's own bytes after it.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use crate::formats::lenient::{Count, Text};
use crate::model::Timestamp;
use crate::store::{ReadError, SourceFile, Span};

/// Bytes of the header, spaces at its end included.
pub const HEADER_BYTES: u64 = 1024;
/// Outpost's own limit for the bytes of an object.
pub const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;

/// An object file and what its header says.
#[derive(Debug)]
pub struct Object {
    pub file: Arc<SourceFile>,
    pub key: String,
    pub revision: String,
    /// Bytes that the header promises.
    pub size: u64,
    pub modified_at: Option<Timestamp>,
    /// The bytes that are there.
    pub body: Span,
    pub problems: Vec<String>,
}

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

/// Opens an object file and reads its header; a damaged one gives what it still says, and problems.
pub fn read(path: &Path) -> Result<Object, ReadError> {
    let file = Arc::new(SourceFile::open(path)?);
    let head = file.read_at(0, usize::try_from(file.len().min(HEADER_BYTES)).unwrap_or(0))?;
    let mut problems = Vec::new();
    let header: Header = match serde_json::from_slice(&head) {
        Ok(header) => header,
        Err(_) => {
            problems.push("the object's header cannot be read".to_owned());
            Header::default()
        }
    };
    let there = file.len().saturating_sub(HEADER_BYTES);
    let size = header.size.0.unwrap_or(there);
    if size != there {
        problems.push(format!("the object's header says {size} bytes, but there are {there}"));
    }
    let len = u32::try_from(there.min(MAX_BODY_BYTES)).unwrap_or(u32::MAX);
    if there > MAX_BODY_BYTES {
        problems
            .push("the object is larger than 64 MiB, the most that Outpost stores; the rest is not read".to_owned());
    }
    Ok(Object {
        key: header.key.or_empty().to_owned(),
        revision: header.revision.or_empty().to_owned(),
        size,
        modified_at: Timestamp::parse(header.modified_at.or_empty()),
        body: Span { offset: HEADER_BYTES.min(file.len()), len, line: 1 },
        problems,
        file,
    })
}
