//! The files of a session's workspace as they are now, compared with how the agent left them.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

/// Larger files are not compared.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// A session names few folders.
const MAX_FOLDERS: usize = 64;

/// The folders that a session works in, as far as this machine has them.
pub(super) struct Workspace {
    folders: Vec<PathBuf>,
}

/// What a look at a file says.
pub(super) enum Look {
    Same,
    /// It is another one, or it is gone.
    Changed,
    /// Why it was not looked at.
    Unknown(&'static str),
}

impl Workspace {
    /// The whole disk is no workspace: a session that claims it gets to see nothing.
    pub fn of<'a>(folders: impl Iterator<Item = &'a str>) -> Self {
        let folders = folders
            .take(MAX_FOLDERS)
            .map(Path::new)
            .filter(|folder| folder.is_absolute())
            .filter_map(|folder| folder.canonicalize().ok())
            .filter(|folder| folder.is_dir() && folder.parent().is_some());
        Self { folders: folders.collect() }
    }

    /// None of the folders is on this machine.
    pub fn is_nowhere(&self) -> bool {
        self.folders.is_empty()
    }

    /// Compares a file with the SHA-256 that it had, in hexadecimal. Only files inside the folders are opened, wherever
    /// links lead.
    pub fn look(&self, path: &str, expected: &str) -> Look {
        let path = Path::new(path);
        if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return Look::Unknown("for its path is not a plain one");
        }
        let is_inside = |path: &Path| self.folders.iter().any(|folder| path.starts_with(folder));
        let Ok(real) = path.canonicalize() else {
            // It is gone. Whether it would be inside is told by what is left of its way.
            let near = path.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
            return match near.is_some_and(|near| is_inside(&near)) {
                true => Look::Changed,
                false => Look::Unknown("for it is outside of the session's folders"),
            };
        };
        if !is_inside(&real) {
            return Look::Unknown("for it is outside of the session's folders");
        }
        let Ok(metadata) = real.metadata() else { return Look::Changed };
        if !metadata.is_file() {
            return Look::Changed;
        }
        if metadata.len() > MAX_FILE_BYTES {
            return Look::Unknown("for it is larger than 64 MiB");
        }
        match sha256(&real) {
            Ok(hash) if hash.eq_ignore_ascii_case(expected) => Look::Same,
            Ok(_) => Look::Changed,
            Err(_) => Look::Unknown("for it cannot be read"),
        }
    }
}

fn sha256(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?.take(MAX_FILE_BYTES);
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        sum.update(buffer.get(..read).unwrap_or_default());
    }
    Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
