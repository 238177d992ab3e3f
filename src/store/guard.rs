//! Whether a file may be written: nobody else may be writing it, and it must still be what was read.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{Identity, ReadError};

/// Agents open their session file for each record they append, so an open file handle alone does not give them away:
/// the file is looked at twice, this far apart.
const QUIET_TIME: Duration = Duration::from_millis(300);

/// Why a file may not be written now.
#[derive(Debug, thiserror::Error)]
pub enum Busy {
    #[error("the file has changed since then ({change}); what came since would be lost: {path}")]
    Changed { change: String, path: PathBuf },
    #[error("process {pid} ({name}) has the file open for writing; end it first: {path}")]
    Writer { pid: u32, name: String, path: PathBuf },
    #[error("the file is locked by another process; end it first: {path}")]
    Locked { path: PathBuf },
    #[error("the file is not there any more: {path}")]
    Gone { path: PathBuf },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Checks that the file at `path` is still the one that `opened` describes, and that nothing writes it.
pub fn check_unchanged(path: &Path, opened: &Identity) -> Result<(), Busy> {
    let now = Identity::at(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => Busy::Gone { path: path.to_owned() },
        _ => ReadError::Io { source, path: path.to_owned() }.into(),
    })?;
    if now != *opened {
        let change = if now.len != opened.len {
            format!("{} bytes then, {} now", opened.len, now.len)
        } else {
            "same length, written again".to_owned()
        };
        return Err(Busy::Changed { change, path: path.to_owned() });
    }
    if let Some((pid, name)) = writers(path).into_iter().next() {
        return Err(Busy::Writer { pid, name, path: path.to_owned() });
    }
    if let Ok(file) = File::open(path)
        && let Err(std::fs::TryLockError::WouldBlock) = file.try_lock_shared()
    {
        return Err(Busy::Locked { path: path.to_owned() });
    }
    Ok(())
}

/// The same, a third of a second after `since` or later: since then the file has to have been what `opened` describes. A
/// writer that appends now and then is seen only by waiting for it.
pub fn check_quiet(path: &Path, opened: &Identity, since: Instant) -> Result<(), Busy> {
    thread::sleep(QUIET_TIME.saturating_sub(since.elapsed()));
    check_unchanged(path, opened)
}

/// Other processes that have the file open for writing, as `(pid, program)`. Empty where the system does not tell.
fn writers(path: &Path) -> Vec<(u32, String)> {
    let Ok(target) = std::fs::metadata(path) else { return Vec::new() };
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut found = Vec::new();
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if pid == std::process::id() {
            continue;
        }
        let Ok(handles) = std::fs::read_dir(process.path().join("fd")) else { continue };
        let writes = handles.flatten().any(|handle| {
            std::fs::metadata(handle.path()).is_ok_and(|open| is_same_file(&open, &target))
                && opened_for_writing(&process.path().join("fdinfo").join(handle.file_name()))
        });
        if writes {
            let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            found.push((pid, name.trim().to_owned()));
        }
    }
    found
}

#[cfg(unix)]
fn is_same_file(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same_file(_: &std::fs::Metadata, _: &std::fs::Metadata) -> bool {
    false
}

/// Reads the octal `flags:` line of a file handle's information; the last two bits are the access mode.
fn opened_for_writing(information: &Path) -> bool {
    std::fs::read_to_string(information).is_ok_and(|text| {
        text.lines()
            .find_map(|line| line.strip_prefix("flags:"))
            .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
            .is_some_and(|flags| flags & 0o3 != 0)
    })
}
