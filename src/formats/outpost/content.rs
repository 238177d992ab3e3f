//! The bytes of a transcript: a file of its own, or pieces that lie in the bodies of several objects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::{Found, Framing, ReadError, SourceFile, Span, Watch, scan};

/// Where a transcript's bytes are.
#[derive(Debug)]
pub enum Content {
    File(Arc<SourceFile>),
    Held(Held),
}

/// Bytes that were put together from objects, and where they came from.
#[derive(Debug, Default)]
pub struct Held {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    path: PathBuf,
    /// Of its first byte, in what was put together.
    start: usize,
    /// Of its first byte, in its file.
    offset: u64,
}

impl Held {
    /// Appends bytes that lie at `offset` of a file.
    pub fn push(&mut self, path: &Path, offset: u64, bytes: &[u8]) {
        self.pieces.push(Piece { path: path.to_owned(), start: self.bytes.len(), offset });
        self.bytes.extend_from_slice(bytes);
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    fn lines(&self, watch: Watch<'_>, visit: &mut dyn FnMut(Found<'_>)) -> Result<(), ReadError> {
        let mut start = 0;
        let mut line = 0;
        while let Some(rest) = self.bytes.get(start..).filter(|rest| !rest.is_empty()) {
            let end = memchr::memchr(b'\n', rest);
            let whole = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            let lead = whole.len() - whole.trim_ascii_start().len();
            let bytes = whole.trim_ascii();
            line += 1;
            if !bytes.is_empty() {
                let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                let span = Span { offset: (start + lead) as u64, len, line };
                visit(Found { span, bytes, terminated: end.is_some(), oversized: false });
            }
            start += whole.len() + 1;
            watch.step(start.min(self.bytes.len()) as u64, self.bytes.len() as u64)?;
        }
        Ok(())
    }

    fn place(&self, at: u64) -> Option<(PathBuf, u64)> {
        let at = usize::try_from(at).ok()?;
        let index = self.pieces.partition_point(|piece| piece.start <= at).checked_sub(1)?;
        let piece = self.pieces.get(index)?;
        Some((piece.path.clone(), piece.offset.saturating_add((at - piece.start) as u64)))
    }
}

impl Content {
    /// Hands every line to `visit`; blank ones are none.
    pub fn lines(&self, watch: Watch<'_>, visit: &mut dyn FnMut(Found<'_>)) -> Result<(), ReadError> {
        match self {
            Self::File(file) => scan(file, Framing::Lines, watch, visit),
            Self::Held(held) => held.lines(watch, visit),
        }
    }

    /// The bytes of a record; none where the span is not in there.
    pub fn read(&self, span: Span) -> Result<Vec<u8>, ReadError> {
        match self {
            Self::File(file) => file.read_at(span.offset, span.len as usize),
            Self::Held(held) => {
                let start = usize::try_from(span.offset).unwrap_or(usize::MAX);
                let bytes = held.bytes.get(start..start.saturating_add(span.len as usize));
                Ok(bytes.unwrap_or_default().to_vec())
            }
        }
    }

    /// The file that a byte lies in, and where in it.
    pub fn place(&self, at: u64) -> Option<(PathBuf, u64)> {
        match self {
            Self::File(file) => Some((file.path().to_owned(), at)),
            Self::Held(held) => held.place(at),
        }
    }

    pub fn len(&self) -> u64 {
        match self {
            Self::File(file) => file.len(),
            Self::Held(held) => held.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_across_pieces_are_found_in_their_files() {
        let mut held = Held::default();
        held.push(Path::new("a"), 1024, b"one\n  tw");
        held.push(Path::new("b"), 1024, b"o \n\nthree");
        let content = Content::Held(held);
        let mut lines = Vec::new();
        content
            .lines(Watch::none(), &mut |found| {
                lines.push((String::from_utf8_lossy(found.bytes).into_owned(), found.span, found.terminated));
            })
            .unwrap();
        let span = |offset, len, line| Span { offset, len, line };
        assert_eq!(
            lines,
            [
                ("one".to_owned(), span(0, 3, 1), true),
                ("two".to_owned(), span(6, 3, 2), true),
                ("three".to_owned(), span(12, 5, 4), false)
            ]
        );
        assert_eq!(content.place(6), Some((PathBuf::from("a"), 1030)));
        assert_eq!(content.place(12), Some((PathBuf::from("b"), 1028)));
        assert_eq!(content.read(span(6, 3, 2)).unwrap(), b"two");
        assert_eq!(content.read(span(16, 30, 2)).unwrap(), b"");
    }
}
