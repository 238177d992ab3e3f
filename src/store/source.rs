//! A file opened for reading by position, and what identifies its content.

use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// How much of each end of a file goes into its identity.
const IDENTITY_WINDOW_BYTES: u64 = 64 * 1024;

/// A regular file, read by position up to the length it had when it was opened.
#[derive(Debug)]
pub struct SourceFile {
    path: PathBuf,
    file: File,
    identity: Identity,
}

/// Enough of a file to tell whether it is still the one that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    pub len: u64,
    /// Last modification, in nanoseconds since 1970; 0 where the system does not tell.
    pub modified_ns: u64,
    /// The inode, where there are inodes.
    pub inode: u64,
    /// Hash of the first and the last 64 KiB.
    pub ends_hash: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{reason}: {path}")]
    Open { reason: String, path: PathBuf },
    #[error("the file became shorter while it was open: {path}")]
    Shrunk { path: PathBuf },
    #[error("{source}: {path}")]
    Io { source: io::Error, path: PathBuf },
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
        if !metadata.is_file() {
            return Err(refuse("is not a regular file".into()));
        }
        let file = File::open(path).map_err(|error| refuse(plain_reason(&error)))?;
        let identity = Identity::of(&file).map_err(|source| ReadError::Io { source, path: path.to_owned() })?;
        Ok(Self { path: path.to_owned(), file, identity })
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

    /// Fills as much of `buffer` as there is from `offset`; fewer bytes only at the end of the file.
    pub fn fill(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        fill(&self.file, offset, buffer).map_err(|source| ReadError::Io { source, path: self.path.clone() })
    }
}

impl Identity {
    /// The identity that the file at `path` has now.
    pub fn at(path: &Path) -> io::Result<Self> {
        Self::of(&File::open(path)?)
    }

    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let len = metadata.len();
        let window = usize::try_from(len.min(IDENTITY_WINDOW_BYTES)).unwrap_or(0);
        let mut hasher = DefaultHasher::new();
        let mut buffer = vec![0; window];
        for offset in [0, len.saturating_sub(IDENTITY_WINDOW_BYTES)] {
            let read = fill(file, offset, &mut buffer)?;
            hasher.write(buffer.get(..read).unwrap_or_default());
        }
        let modified_ns = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .and_then(|age| u64::try_from(age.as_nanos()).ok())
            .unwrap_or(0);
        Ok(Self { len, modified_ns, inode: inode(&metadata), ends_hash: hasher.finish() })
    }

    /// Whether both describe the same bytes, wherever and whenever they were written.
    pub fn same_content(&self, other: &Self) -> bool {
        self.len == other.len && self.ends_hash == other.ends_hash
    }
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
