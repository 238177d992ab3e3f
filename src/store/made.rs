//! Bytes that are made of a file's only while they are written: a plan of them takes no memory, however long the file.
//!
//! One thread reads and makes batches, the caller's writes them. Batches go round: there are never more than a few.

use std::fmt::Debug;
use std::fs::File;
use std::io::Write;
use std::panic::resume_unwind;
use std::thread;

use crossbeam_channel::{Receiver, bounded};

use super::{Cancelled, ReadError, SourceFile};

/// Bytes that are made or read at a time.
pub(super) const BATCH_BYTES: usize = 256 * 1024;
/// Bytes written at a time. For more the system looks for longer runs of free memory, and that took up to five times as
/// long.
const WRITE_BYTES: usize = 64 * 1024;
/// Batches between the two threads.
const WAITING_BATCHES: usize = 4;

/// Makes a part of a new file from stretches of a source.
pub trait Made: Debug + Send + Sync {
    /// How many bytes of the source it is made of, for progress.
    fn source_bytes(&self) -> u64;

    /// Appends everything to `batches`, and tells them after each short stretch how much of the source it was made of.
    fn make(&self, source: &SourceFile, batches: &mut Batches<'_>) -> Result<(), ReadError>;
}

/// Takes what is made and passes it on whenever there is enough of it.
pub struct Batches<'a> {
    batch: Batch,
    /// Gives an empty batch for a full one.
    swap: &'a mut dyn FnMut(Batch) -> Result<Batch, ReadError>,
}

#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// Bytes of the source that it accounts for.
    source_bytes: u64,
}

impl Batches<'_> {
    /// Appends bytes; an error when no more are wanted.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), ReadError> {
        loop {
            let room = BATCH_BYTES.saturating_sub(self.batch.bytes.len());
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.batch.bytes.extend_from_slice(now);
            if later.is_empty() {
                return Ok(());
            }
            self.pass_on()?;
            bytes = later;
        }
    }

    /// What was appended accounts for so many more bytes of the source.
    pub fn done(&mut self, source_bytes: u64) {
        self.batch.source_bytes += source_bytes;
    }

    fn pass_on(&mut self) -> Result<(), ReadError> {
        self.batch = (self.swap)(std::mem::take(&mut self.batch))?;
        Ok(())
    }
}

/// Hands what is made to `visit` in parts, each with the bytes of the source that it accounts for.
pub fn each_made(
    made: &dyn Made,
    source: &SourceFile,
    mut visit: impl FnMut(&[u8], u64) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut swap = |mut batch: Batch| {
        visit(&batch.bytes, batch.source_bytes)?;
        batch.bytes.clear();
        batch.source_bytes = 0;
        Ok(batch)
    };
    let mut batches = Batches { batch: Batch::default(), swap: &mut swap };
    made.make(source, &mut batches)?;
    batches.pass_on()
}

/// Writes `made` to `out`; `progress` is told of each batch by the bytes of the source that it accounts for.
pub(super) fn write(
    made: &dyn Made,
    source: &SourceFile,
    mut out: &File,
    failed: &dyn Fn(std::io::Error) -> ReadError,
    progress: &mut dyn FnMut(u64) -> Result<(), Cancelled>,
) -> Result<(), ReadError> {
    let (full, to_write) = bounded::<Batch>(WAITING_BATCHES);
    let (written, empty) = bounded::<Batch>(WAITING_BATCHES + 1);
    thread::scope(|scope| {
        let maker = scope.spawn(move || {
            let mut swap = |batch: Batch| {
                // Where nobody takes it, writing has failed, and that is what is reported.
                full.send(batch).map_err(|_| Cancelled)?;
                Ok(empty.try_recv().unwrap_or_default())
            };
            let mut batches = Batches { batch: Batch::default(), swap: &mut swap };
            made.make(source, &mut batches)?;
            batches.pass_on()
        });
        let mut write_all = |to_write: Receiver<Batch>| -> Result<(), ReadError> {
            for mut batch in to_write {
                progress(batch.source_bytes)?;
                batch.bytes.chunks(WRITE_BYTES).try_for_each(|part| out.write_all(part)).map_err(failed)?;
                batch.bytes.clear();
                batch.source_bytes = 0;
                // Fails where the maker has ended.
                let _ = written.try_send(batch);
            }
            Ok(())
        };
        // Gives the receiver away: when writing fails, the maker must not wait for it.
        let result = write_all(to_write);
        let made = maker.join().unwrap_or_else(|panic| resume_unwind(panic));
        result.and(made)
    })
}

/// Reads stretches of a file that mostly follow each other, many at a time.
pub struct ReadAhead<'a> {
    source: &'a SourceFile,
    buffer: Vec<u8>,
    /// Where in the file the buffer starts.
    start: u64,
}

impl<'a> ReadAhead<'a> {
    pub fn new(source: &'a SourceFile) -> Self {
        Self { source, buffer: Vec::new(), start: 0 }
    }

    /// Exactly `len` bytes from `offset`.
    pub fn bytes(&mut self, offset: u64, len: usize) -> Result<&[u8], ReadError> {
        let shrunk = || ReadError::Shrunk { path: self.source.path().to_owned() };
        let within = |start: u64, held: usize| {
            let from = usize::try_from(offset.checked_sub(start)?).ok()?;
            let to = from.checked_add(len)?;
            (to <= held).then_some(from..to)
        };
        let range = match within(self.start, self.buffer.len()) {
            Some(range) => range,
            None => {
                // The length comes from an index of this very file; a shrunk file must not make us reserve what is not there.
                let left = self.source.len().saturating_sub(offset);
                if left < len as u64 {
                    return Err(shrunk());
                }
                let wanted = len.max(usize::try_from(left).unwrap_or(usize::MAX).min(BATCH_BYTES));
                // A huge record's room is not kept.
                if self.buffer.capacity() > 2 * BATCH_BYTES.max(wanted) {
                    self.buffer = Vec::new();
                }
                self.buffer.resize(wanted, 0);
                let read = self.source.fill(offset, &mut self.buffer)?;
                self.buffer.truncate(read);
                self.start = offset;
                within(offset, read).ok_or_else(shrunk)?
            }
        };
        Ok(self.buffer.get(range).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::store::{Rewrite, Watch, write_new};

    /// Every stretch of so many bytes, the last one first, behind its length.
    #[derive(Debug)]
    struct Backwards {
        stretch: u64,
        len: u64,
    }

    impl Made for Backwards {
        fn source_bytes(&self) -> u64 {
            self.len
        }

        fn make(&self, source: &SourceFile, batches: &mut Batches<'_>) -> Result<(), ReadError> {
            let mut ahead = ReadAhead::new(source);
            let mut end = self.len;
            while end > 0 {
                let start = end.saturating_sub(self.stretch);
                let bytes = ahead.bytes(start, (end - start) as usize)?;
                batches.push(format!("{}:", bytes.len()).as_bytes())?;
                batches.push(bytes)?;
                batches.done(end - start);
                end = start;
            }
            Ok(())
        }
    }

    fn source(len: usize) -> (tempfile::TempDir, Vec<u8>, Arc<SourceFile>) {
        let folder = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..len).map(|at| (at * 31 % 251) as u8).collect();
        std::fs::write(folder.path().join("source"), &content).unwrap();
        let source = Arc::new(SourceFile::open(&folder.path().join("source")).unwrap());
        (folder, content, source)
    }

    #[test]
    fn what_is_made_comes_out_whole_and_in_order_whatever_the_batches() {
        for (len, stretch) in [(5 * BATCH_BYTES + 7, 100_000), (3 * BATCH_BYTES, 2 * BATCH_BYTES + 1), (10, 3), (1, 1)]
        {
            let (folder, content, source) = source(len);
            let mut rewrite = Rewrite::new(source);
            rewrite.push(b"start ");
            rewrite.make(Arc::new(Backwards { stretch: stretch as u64, len: len as u64 }));
            rewrite.copy(0, 1);
            let path = folder.path().join("made");
            write_new(&path, &rewrite, Watch::none()).unwrap();
            let mut expected = b"start ".to_vec();
            for part in content.rchunks(stretch) {
                expected.extend_from_slice(format!("{}:", part.len()).as_bytes());
                expected.extend_from_slice(part);
            }
            expected.push(content[0]);
            assert!(std::fs::read(&path).unwrap() == expected, "{len} bytes in stretches of {stretch}");
        }
    }

    #[test]
    fn making_ends_when_writing_fails_or_is_called_off() {
        let len = 20 * BATCH_BYTES;
        let (folder, _, source) = source(len);
        let made = Backwards { stretch: 100_000, len: len as u64 };
        let closed = File::open(folder.path().join("source")).unwrap();
        let failed = |source: io::Error| ReadError::Io { source, path: folder.path().to_owned() };
        let error = write(&made, &source, &closed, &failed, &mut |_| Ok(())).unwrap_err();
        assert!(matches!(error, ReadError::Io { .. }), "not a file for writing: {error}");

        let mut rewrite = Rewrite::new(source);
        rewrite.make(Arc::new(made));
        let cancelled = AtomicBool::new(false);
        let progress = |done: u64, total: u64| cancelled.store(done > total / 2, Ordering::Relaxed);
        let error = write_new(&folder.path().join("made"), &rewrite, Watch::new(&cancelled, &progress)).unwrap_err();
        assert!(matches!(error, ReadError::Cancelled(_)), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the source is there");
    }

    #[test]
    fn a_file_that_became_shorter_is_an_error() {
        let (folder, _, source) = source(100);
        File::options().write(true).open(folder.path().join("source")).unwrap().set_len(50).unwrap();
        let mut ahead = ReadAhead::new(&source);
        assert_eq!(ahead.bytes(10, 40).unwrap().len(), 40);
        assert!(matches!(ahead.bytes(40, 20), Err(ReadError::Shrunk { .. })));
        assert!(matches!(ahead.bytes(90, 20), Err(ReadError::Shrunk { .. })), "more than there ever was");
    }
}
