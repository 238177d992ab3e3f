//! Zip archives from strangers: bounded in the number of entries, in what they unpack to, and in where they unpack to.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use zip::ZipArchive;

use super::SESSION;
use crate::store::{ReadError, SourceFile, Watch};

/// Entries of an archive; a session with more subagents than this has not been seen.
const MAX_ENTRIES: usize = 20_000;
/// Bytes of the list of entries, which is held in memory.
const MAX_LIST_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes of all files of the session together.
const MAX_UNPACKED_BYTES: u64 = 8 * 1024 * 1024 * 1024;
/// How many times the archive's own length it may unpack to, beyond what is small anyway. JSON shrinks to a tenth, and
/// to a fiftieth where it repeats itself much.
const MAX_RATIO: u64 = 200;
const SMALL_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of an entry that is read into memory.
const MAX_ENTRY_BYTES: u64 = 16 * 1024 * 1024;

pub struct Archive<'a> {
    file: &'a SourceFile,
    zip: ZipArchive<BufReader<Positioned<'a>>>,
}

impl<'a> Archive<'a> {
    pub fn open(file: &'a SourceFile) -> Result<Self, ReadError> {
        let refuse = |reason: String| refused(file, &reason);
        let list = list_bytes(file)?;
        if list.is_none_or(|bytes| bytes > MAX_LIST_BYTES) {
            return Err(refuse("its list of entries is damaged or too long".to_owned()));
        }
        let zip =
            ZipArchive::new(BufReader::new(Positioned { file, at: 0 })).map_err(|error| refuse(error.to_string()))?;
        if zip.len() > MAX_ENTRIES {
            return Err(refuse(format!("it has more than {MAX_ENTRIES} entries")));
        }
        Ok(Self { file, zip })
    }

    /// A small entry as bytes; `None` where there is no such entry.
    pub fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(index) = self.zip.index_for_name(name) else { return Ok(None) };
        let file = self.file;
        let entry = self.zip.by_index(index).map_err(|error| refused(file, &error.to_string()))?;
        let mut bytes = Vec::new();
        entry.take(MAX_ENTRY_BYTES + 1).read_to_end(&mut bytes).map_err(|error| refused(file, &error.to_string()))?;
        if bytes.len() as u64 > MAX_ENTRY_BYTES {
            return Err(refused(file, &format!("{name} in it is too long")));
        }
        Ok(Some(bytes))
    }

    /// A small entry as JSON.
    pub fn json(&mut self, name: &str) -> Result<Option<Value>, ReadError> {
        let Some(bytes) = self.bytes(name)? else { return Ok(None) };
        let value = serde_json::from_slice(&bytes).map_err(|error| refused(self.file, &format!("{name}: {error}")))?;
        Ok(Some(value))
    }

    /// Unpacks the files of the session into a folder of their own, which goes when it is dropped.
    pub fn unpack(&mut self, watch: Watch<'_>) -> Result<TempDir, ReadError> {
        let file = self.file;
        let folder = tempfile::Builder::new().prefix("stepline-case-").tempdir();
        let folder = folder.map_err(|source| ReadError::Io { source, path: file.path().to_owned() })?;
        let limit = MAX_UNPACKED_BYTES.min(SMALL_BYTES.max(file.len().saturating_mul(MAX_RATIO)));
        let mut left = limit;
        for index in 0..self.zip.len() {
            let entry = self.zip.by_index(index).map_err(|error| refused(file, &error.to_string()))?;
            let name = entry.name().map_err(|error| refused(file, &error.to_string()))?.into_owned();
            let Some(inner) = name.strip_prefix(SESSION).filter(|inner| !inner.is_empty()) else { continue };
            if entry.is_dir() {
                continue;
            }
            if entry.is_symlink() {
                return Err(refused(file, "a file in it is a link"));
            }
            let path =
                inside(folder.path(), inner).ok_or_else(|| refused(file, "a file in it would lie outside of it"))?;
            let wrong = |source: io::Error| ReadError::Io { source, path: file.path().to_owned() };
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(wrong)?;
            }
            let mut out = File::create_new(&path).map_err(wrong)?;
            let mut entry = entry.take(left.saturating_add(1));
            loop {
                watch.step(limit - left, limit)?;
                let copied = io::copy(&mut (&mut entry).take(1024 * 1024), &mut out);
                let copied = copied.map_err(|error| refused(file, &error.to_string()))?;
                if copied == 0 {
                    break;
                }
                left = left.checked_sub(copied).ok_or_else(|| refused(file, "it unpacks to more than is read"))?;
            }
        }
        Ok(folder)
    }

    /// Where a file of the session was unpacked to.
    pub fn path_in(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        inside(folder, name.strip_prefix(SESSION)?)
    }
}

/// `folder/name`, if it is in the folder, however the name is written.
fn inside(folder: &Path, name: &str) -> Option<PathBuf> {
    let is_plain = |component: Component<'_>| matches!(component, Component::Normal(_));
    let strange = |c: char| c.is_control() || c == '\\' || c == ':';
    let relative = Path::new(name);
    (!name.is_empty() && !name.contains(strange) && relative.components().all(is_plain)).then(|| folder.join(relative))
}

fn refused(file: &SourceFile, reason: &str) -> ReadError {
    ReadError::Open { reason: format!("the case cannot be opened: {reason}"), path: file.path().to_owned() }
}

/// How long the list of entries at the end of an archive says it is; `None` where there is no such list, or one of the
/// kind that archives of more than 4 GiB have.
fn list_bytes(file: &SourceFile) -> Result<Option<u64>, ReadError> {
    const END: &[u8] = b"PK\x05\x06";
    const END_BYTES: usize = 22;
    const COMMENT_BYTES: u64 = 65_535;
    let start = file.len().saturating_sub(END_BYTES as u64 + COMMENT_BYTES);
    let tail = file.read_at(start, usize::try_from(file.len() - start).unwrap_or(0))?;
    let Some(end) = memchr::memmem::rfind(&tail, END) else { return Ok(None) };
    let size = tail.get(end + 12..end + 16).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    Ok(size.filter(|size| *size != u32::MAX).map(u64::from))
}

/// A file read at positions, as a stream.
struct Positioned<'a> {
    file: &'a SourceFile,
    at: u64,
}

impl Read for Positioned<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.file.len().saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let part = buffer.get_mut(..wanted).unwrap_or_default();
        let read = self.file.fill(self.at, part).map_err(io::Error::other)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Positioned<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.file.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::other("before the start of the file"))?;
        Ok(self.at)
    }
}
