//! A file opened for reading by position, and what identifies its content.

use std::fs::{File, Metadata};
use std::io;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, UNIX_EPOCH};

use flate2::Crc;
use serde::{Deserialize, Serialize};

use super::Watch;
use super::made::BATCH_BYTES;

/// How much of each end of a file goes into its identity.
const IDENTITY_WINDOW_BYTES: u64 = 64 * 1024;

/// A regular file, read by position up to the length it had when it was opened.
#[derive(Debug)]
pub struct SourceFile {
    path: PathBuf,
    file: File,
    identity: Identity,
    opened_at: Instant,
    /// Held by who moves the file's cursor. Reading by position needs no cursor and does not wait for it.
    cursor: Mutex<()>,
}

/// Enough of a file to tell whether it is still the one that was opened. Two are equal when length, time and ends are:
/// a file under another name, or put back from a backup, is still that file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    pub len: u64,
    /// Last modification, in nanoseconds since 1970; 0 where the system does not tell.
    pub modified_ns: u64,
    /// The inode, where there are inodes; says which file is behind a name, not what is in it.
    pub inode: u64,
    /// CRC-32 of the first and the last 64 KiB.
    pub ends_crc32: u32,
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        (self.len, self.modified_ns, self.ends_crc32) == (other.len, other.modified_ns, other.ends_crc32)
    }
}

impl Eq for Identity {}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{reason}: {path}")]
    Open { reason: String, path: PathBuf },
    #[error("the file became shorter while it was open; open it again: {path}")]
    Shrunk { path: PathBuf },
    #[error("{source}: {path}")]
    Io { source: io::Error, path: PathBuf },
    #[error("there is a file of that name already: {path}")]
    Exists { path: PathBuf },
    #[error("the file was written while it was read; open it again: {path}")]
    Rewritten { path: PathBuf },
    #[error(transparent)]
    Cancelled(#[from] super::Cancelled),
}

impl SourceFile {
    /// Opens a regular file. Folders, pipes and devices are refused: reading them could wait for ever.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let refuse = |reason: String| ReadError::Open { reason, path: path.to_owned() };
        let metadata = std::fs::metadata(path).map_err(|error| refuse(plain_reason(&error)))?;
        if metadata.is_dir() {
            return Err(refuse("is a folder, not a file".into()));
        }
        let file = open_regular(path).map_err(|error| refuse(plain_reason(&error)))?;
        let identity = Identity::of(&file).map_err(|source| ReadError::Io { source, path: path.to_owned() })?;
        Ok(Self { path: path.to_owned(), file, identity, opened_at: Instant::now(), cursor: Mutex::default() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length in bytes when it was opened.
    pub fn len(&self) -> u64 {
        self.identity.len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// When it had that identity.
    pub fn opened_at(&self) -> Instant {
        self.opened_at
    }

    /// Exactly `len` bytes from `offset`.
    pub fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>, ReadError> {
        // The length comes from an index of this very file; a shrunk file must not make us reserve what is not there.
        if offset.saturating_add(len as u64) > self.identity.len {
            return Err(ReadError::Shrunk { path: self.path.clone() });
        }
        let mut bytes = vec![0; len];
        let read = self.fill(offset, &mut bytes)?;
        if read < len {
            return Err(ReadError::Shrunk { path: self.path.clone() });
        }
        Ok(bytes)
    }

    /// Appends exactly `len` bytes from `offset` to `out`, which is at `out_path`.
    pub fn copy_to(&self, offset: u64, len: u64, mut out: &File, out_path: &Path) -> Result<(), ReadError> {
        let shrunk = || ReadError::Shrunk { path: self.path.clone() };
        if offset.saturating_add(len) > self.identity.len {
            return Err(shrunk());
        }
        if cfg!(target_os = "linux") {
            // Between two files the standard library has the system copy: the bytes never come here.
            let failed = |source| ReadError::Io { source, path: out_path.to_owned() };
            let _cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
            let mut file = &self.file;
            file.seek(SeekFrom::Start(offset)).map_err(failed)?;
            let copied = io::copy(&mut file.take(len), &mut out).map_err(failed)?;
            return if copied == len { Ok(()) } else { Err(shrunk()) };
        }
        let mut buffer = vec![0; usize::try_from(len).map_or(BATCH_BYTES, |len| len.min(BATCH_BYTES))];
        let mut done = 0;
        while done < len {
            let part = usize::try_from(len - done).map_or(BATCH_BYTES, |left| left.min(BATCH_BYTES));
            let part = buffer.get_mut(..part).unwrap_or_default();
            if self.fill(offset + done, part)? < part.len() {
                return Err(shrunk());
            }
            out.write_all(part).map_err(|source| ReadError::Io { source, path: out_path.to_owned() })?;
            done += part.len() as u64;
        }
        Ok(())
    }

    /// An error when the bytes that were there when it was opened are not there any more. What was appended since does
    /// not matter: it is not read.
    pub fn check_intact(&self) -> Result<(), ReadError> {
        let failed = |source| ReadError::Io { source, path: self.path.clone() };
        let now = self.file.metadata().map_err(failed)?;
        // Written again without having grown: whatever was written lies in what was read.
        let is_other = now.len() < self.len()
            || (now.len() == self.len() && modified_ns(&now) != self.identity.modified_ns)
            || ends_crc32(&self.file, self.len()).map_err(failed)? != self.identity.ends_crc32;
        if is_other { Err(ReadError::Rewritten { path: self.path.clone() }) } else { Ok(()) }
    }

    /// CRC-32 of the whole file as long as it was when it was opened.
    pub(super) fn whole_crc32(&self, watch: Watch<'_>) -> Result<u32, ReadError> {
        let mut crc = Crc::new();
        let mut buffer = vec![0; BATCH_BYTES];
        let mut offset = 0;
        while offset < self.len() {
            watch.step(offset, self.len())?;
            let part = usize::try_from(self.len() - offset).map_or(BATCH_BYTES, |left| left.min(BATCH_BYTES));
            let part = buffer.get_mut(..part).unwrap_or_default();
            if self.fill(offset, part)? < part.len() {
                return Err(ReadError::Shrunk { path: self.path.clone() });
            }
            crc.update(part);
            offset += part.len() as u64;
        }
        Ok(crc.sum())
    }

    /// Whether this is the file that `earlier` was, with nothing but more behind what was in it. Its ends tell, not all of
    /// it: logs are appended to, and what rewrites them changes those.
    pub fn continues(&self, earlier: &Self) -> Result<bool, ReadError> {
        if self.identity.inode != earlier.identity.inode || self.len() < earlier.len() {
            return Ok(false);
        }
        let ends = ends_crc32(&self.file, earlier.len())
            .map_err(|source| ReadError::Io { source, path: self.path.clone() })?;
        Ok(ends == earlier.identity.ends_crc32)
    }

    /// Fills as much of `buffer` as there is from `offset`; fewer bytes only at the end of the file.
    pub fn fill(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        fill(&self.file, offset, buffer).map_err(|source| ReadError::Io { source, path: self.path.clone() })
    }
}

impl Identity {
    /// The identity that the file at `path` has now. An error for anything but a regular file.
    pub fn at(path: &Path) -> io::Result<Self> {
        Self::of(&open_regular(path)?)
    }

    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let len = metadata.len();
        Ok(Self {
            len,
            modified_ns: modified_ns(&metadata),
            inode: inode(&metadata),
            ends_crc32: ends_crc32(file, len)?,
        })
    }
}

/// Opens a file for reading unless it is a folder, a pipe or a device: opening those may wait for ever.
fn open_regular(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("is not a regular file"));
    }
    File::open(path)
}

/// CRC-32 of the first and the last 64 KiB of the first `len` bytes.
fn ends_crc32(file: &File, len: u64) -> io::Result<u32> {
    let window = usize::try_from(len.min(IDENTITY_WINDOW_BYTES)).unwrap_or(0);
    let mut crc = Crc::new();
    let mut buffer = vec![0; window];
    for offset in [0, len.saturating_sub(IDENTITY_WINDOW_BYTES)] {
        let read = fill(file, offset, &mut buffer)?;
        crc.update(buffer.get(..read).unwrap_or_default());
    }
    Ok(crc.sum())
}

/// Last modification, in nanoseconds since 1970; 0 where the system does not tell.
fn modified_ns(metadata: &Metadata) -> u64 {
    let age = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    age.and_then(|age| u64::try_from(age.as_nanos()).ok()).unwrap_or(0)
}

fn fill(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match read_some(file, offset + done as u64, rest) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(unix)]
fn read_some(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_some(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// The system's reason without its number: `No such file or directory`.
fn plain_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "no permission to read".into(),
        _ => error.to_string(),
    }
}
