//! New files made of pieces of old ones, written whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::made::{self, Made};
use super::{Identity, ReadError, SourceFile, Watch};

/// Bytes copied between two looks at whether that is still wanted.
const COPY_BYTES: u64 = 1024 * 1024;

/// A file to be written: stretches of a source as they are, and new bytes between them.
#[derive(Clone, Debug)]
pub struct Rewrite {
    source: Arc<SourceFile>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
pub enum Piece {
    /// Bytes of the source, as they are.
    Copy { offset: u64, len: u64 },
    /// Bytes that the source does not have.
    New(Vec<u8>),
    /// Bytes of the source with changes, which are made when they are written.
    Made(Arc<dyn Made>),
}

impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Copy { offset, len }, Self::Copy { offset: other, len: other_len }) => {
                (offset, len) == (other, other_len)
            }
            (Self::New(bytes), Self::New(other)) => bytes == other,
            (Self::Made(made), Self::Made(other)) => Arc::ptr_eq(made, other),
            _ => false,
        }
    }
}

impl Rewrite {
    pub fn new(source: Arc<SourceFile>) -> Self {
        Self { source, pieces: Vec::new() }
    }

    /// Appends bytes of the source; neighbouring stretches become one.
    pub fn copy(&mut self, offset: u64, len: u64) {
        if len == 0 {
            return;
        }
        if let Some(Piece::Copy { offset: last, len: last_len }) = self.pieces.last_mut()
            && *last + *last_len == offset
        {
            *last_len += len;
            return;
        }
        self.pieces.push(Piece::Copy { offset, len });
    }

    /// Appends new bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some(Piece::New(last)) => last.extend_from_slice(bytes),
            _ => self.pieces.push(Piece::New(bytes.to_vec())),
        }
    }

    /// Appends what is made of the source when it is written.
    pub fn make(&mut self, made: Arc<dyn Made>) {
        self.pieces.push(Piece::Made(made));
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub fn source(&self) -> &Arc<SourceFile> {
        &self.source
    }

    pub fn is_empty(&self) -> bool {
        self.total_bytes() == 0
    }

    /// How much there is to do, in bytes: the length of the new file, but that what is made counts by what of.
    pub fn total_bytes(&self) -> u64 {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Copy { len, .. } => *len,
                Piece::New(bytes) => bytes.len() as u64,
                Piece::Made(made) => made.source_bytes(),
            })
            .sum()
    }

    /// `path` is where it goes, for errors of writing.
    fn write_to(&self, path: &Path, mut out: &File, watch: Watch<'_>) -> Result<(), ReadError> {
        let failed = |source: io::Error| ReadError::Io { source, path: path.to_owned() };
        let total = self.total_bytes();
        let mut done = 0;
        for piece in &self.pieces {
            match piece {
                Piece::New(bytes) => {
                    out.write_all(bytes).map_err(failed)?;
                    done += bytes.len() as u64;
                }
                Piece::Copy { offset, len } => {
                    let end = offset + len;
                    let mut at = *offset;
                    while at < end {
                        watch.step(done, total)?;
                        let part = (end - at).min(COPY_BYTES);
                        self.source.copy_to(at, part, out, path)?;
                        at += part;
                        done += part;
                    }
                }
                Piece::Made(made) => made::write(&**made, &self.source, out, &failed, &mut |bytes| {
                    watch.step(done, total)?;
                    done += bytes;
                    Ok(())
                })?,
            }
        }
        watch.step(total, total)?;
        let is_new = self.pieces.iter().all(|piece| matches!(piece, Piece::New(_)));
        if is_new { Ok(()) } else { self.source.check_intact() }
    }
}

/// Writes `rewrite` to a new file. A file that is there already is never touched: that is an error.
pub fn write_new(path: &Path, rewrite: &Rewrite, watch: Watch<'_>) -> Result<(), ReadError> {
    let failed = |source: io::Error| ReadError::Io { source, path: path.to_owned() };
    if path.symlink_metadata().is_ok() {
        return Err(ReadError::Exists { path: path.to_owned() });
    }
    // Who may not read the original may not read what was taken from it.
    let permissions = rewrite.source.path().metadata().ok().map(|metadata| metadata.permissions());
    write_beside(
        path,
        permissions,
        |out| rewrite.write_to(path, out, watch),
        |temporary| temporary.persist_noclobber(path).map(drop).map_err(|error| failed(error.error)),
    )
}

/// Writes `content` to `path`, over what is there: whole or not at all.
///
/// Where `path` is a symbolic link, what it leads to is written.
pub fn write_atomically(path: &Path, content: &[u8]) -> Result<(), ReadError> {
    let resolved = path.canonicalize();
    let path = resolved.as_deref().unwrap_or(path);
    let failed = |source: io::Error| ReadError::Io { source, path: path.to_owned() };
    let permissions = path.metadata().ok().map(|metadata| metadata.permissions());
    write_beside(
        path,
        permissions,
        |mut out| out.write_all(content).map_err(failed),
        |temporary| temporary.persist(path).map(drop).map_err(|error| failed(error.error)),
    )
}

/// Writes `rewrite` over the file at `path`, which keeps its permissions.
///
/// `before_rename` is given the identity that the new file has, when it is on disk and only its name is missing: the
/// last moment to refuse, and the moment to note down what is about to be done.
pub(super) fn replace<E: From<ReadError>>(
    path: &Path,
    rewrite: &Rewrite,
    watch: Watch<'_>,
    before_rename: impl FnOnce(Identity) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source: io::Error| ReadError::Io { source, path: path.to_owned() };
    let old = path.metadata().map_err(failed)?;
    write_beside(
        path,
        Some(old.permissions()),
        |out| rewrite.write_to(path, out, watch),
        |temporary| {
            keep_owner(temporary.as_file(), &old).map_err(failed)?;
            before_rename(Identity::of(temporary.as_file()).map_err(failed)?)?;
            temporary.persist(path).map(drop).map_err(|error| failed(error.error).into())
        },
    )
}

/// Writes a temporary file in the folder of `path`, flushes it to disk, lets `place` name it, and flushes the folder.
fn write_beside<E: From<ReadError>>(
    path: &Path,
    permissions: Option<Permissions>,
    write: impl FnOnce(&File) -> Result<(), ReadError>,
    place: impl FnOnce(tempfile::NamedTempFile) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source: io::Error| ReadError::Io { source, path: path.to_owned() };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".stepline-").suffix(".tmp");
    // A temporary file is its owner's alone unless told otherwise; a new file is as open as the user's mask lets it be.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let temporary = builder.tempfile_in(folder).map_err(failed)?;
    write(temporary.as_file())?;
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions).map_err(failed)?;
    }
    temporary.as_file().sync_all().map_err(failed)?;
    place(temporary)?;
    // The new file is there under its name; that the folder could not be flushed makes it no failure.
    sync_folder(folder);
    Ok(())
}

/// Gives a new file the owner and group of the old one, where they differ and the user may do that.
#[cfg(unix)]
fn keep_owner(new: &File, old: &std::fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let made = new.metadata()?;
    if (made.uid(), made.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    std::os::unix::fs::fchown(new, Some(old.uid()), Some(old.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Makes a rename in `folder` survive a power cut, where the file system can do that.
pub(super) fn sync_folder(folder: &Path) {
    if cfg!(unix)
        && let Err(error) = File::open(folder).and_then(|folder| folder.sync_all())
    {
        log::warn!("the folder could not be flushed to disk: {error}: {}", folder.display());
    }
}
