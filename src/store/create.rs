//! New files that get their name only when they were looked at as they lie on the disk.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use super::ReadError;
use super::rewrite::sync_folder;

/// Writes a new file: `write` fills it, `check` reads it again from its start, and only then it gets its name. On an error
/// nothing of it is left. A file that is there already is never touched: that is an error.
///
/// Where the file `like` is there, who may not read it may not read the new one.
pub fn create_new<E: From<ReadError>>(
    path: &Path,
    like: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
    check: impl FnOnce(&File) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source: io::Error| ReadError::Io { source, path: path.to_owned() };
    if path.symlink_metadata().is_ok() {
        return Err(ReadError::Exists { path: path.to_owned() }.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".stepline-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let temporary = builder.tempfile_in(folder).map_err(failed)?;
    if let Ok(metadata) = like.metadata()
        && metadata.is_file()
    {
        temporary.as_file().set_permissions(metadata.permissions()).map_err(failed)?;
    }
    {
        let mut out = BufWriter::with_capacity(256 * 1024, temporary.as_file());
        write(&mut out)?;
        out.flush().map_err(failed)?;
    }
    let mut file = temporary.as_file();
    file.sync_all().map_err(failed)?;
    file.rewind().map_err(failed)?;
    check(file)?;
    temporary.persist_noclobber(path).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => ReadError::Exists { path: path.to_owned() },
        _ => failed(error.error),
    })?;
    sync_folder(folder);
    Ok(())
}
