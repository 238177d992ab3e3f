//! Bytes of a record as they stand in the file, for looking at.

use serde::de::IgnoredAny;

use super::json;
use crate::store::{ReadError, SourceFile, Span};

/// So much of a record is read that cannot be taken apart. It may be gigabytes: nobody looks at more of it than this.
const MAX_BYTES: u32 = 8 * 1024 * 1024;
/// A record that is JSON is looked at whole up to this length: then it can be laid out, and long Base64 left out of it.
const MAX_WHOLE_BYTES: u32 = 80 * 1024 * 1024;

/// The start of a record, and a note about the rest where that is not all of it.
pub fn start(file: &SourceFile, span: Span) -> Result<(Vec<u8>, Option<String>), ReadError> {
    let bytes = file.read_at(span.offset, span.len.min(MAX_BYTES) as usize)?;
    // A span of more bytes than its number can say holds the largest number.
    let at_least = if span.len == u32::MAX { "at least " } else { "" };
    let more = span.len.saturating_sub(MAX_BYTES);
    Ok((bytes, (more > 0).then(|| format!("… {at_least}{more} bytes more"))))
}

/// The record's bytes; of one past the bounds its start, with a note about the rest on a line of its own, which is no
/// JSON then.
pub fn raw(file: &SourceFile, span: Span) -> Result<Vec<u8>, ReadError> {
    if span.len > MAX_BYTES && span.len <= MAX_WHOLE_BYTES {
        let bytes = file.read_at(span.offset, span.len as usize)?;
        if serde_json::from_slice::<IgnoredAny>(&bytes).is_ok() {
            return Ok(bytes);
        }
    }
    let (mut bytes, more) = start(file, span)?;
    if let Some(more) = more {
        bytes.push(b'\n');
        bytes.extend_from_slice(more.as_bytes());
    }
    Ok(bytes)
}

/// The same as text, the note on a line of its own.
pub fn start_text(file: &SourceFile, span: Span) -> Result<String, ReadError> {
    let (bytes, more) = start(file, span)?;
    let mut text = json::readable(&bytes).text.into_owned();
    if let Some(more) = more {
        text.push('\n');
        text.push_str(&more);
    }
    Ok(text)
}
