//! Fork: a new session file with a step and everything before it. The original is only read.

use std::path::{Path, PathBuf};

use super::ActionError;
use crate::formats::{Cut, Fork, Recording};
use crate::store::{ReadError, Watch, write_new};

/// A fork that is ready to be written.
#[derive(Clone, Debug)]
pub struct ForkPlan {
    pub fork: Fork,
    /// Where its file will be.
    pub path: PathBuf,
    pub from_session: String,
    pub from_step: u32,
    /// What to type to go on from it, in the agent's own terms.
    pub resume_command: Option<String>,
}

/// What a fork wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkReceipt {
    pub session_id: String,
    pub path: PathBuf,
    /// How many steps the new session holds.
    pub steps: u32,
    pub from_session: String,
    pub from_step: u32,
    pub resume_command: Option<String>,
    pub warnings: Vec<String>,
}

/// Plans the fork at `cut`. It goes to `out`, into `out` where that is a folder, or beside the original, under a name that
/// no file has.
pub fn plan_fork(
    recording: &dyn Recording,
    cut: Cut,
    out: Option<&Path>,
    watch: Watch<'_>,
) -> Result<ForkPlan, ActionError> {
    let fork = recording.fork(cut, watch)?;
    let session = recording.session();
    let path = place_of(&fork.file_name, &session.source, out);
    let resume_command = recording.resume_command(&fork.session_id, &path);
    let (Cut::After(from_step) | Cut::Before(from_step)) = cut;
    Ok(ForkPlan { fork, path, from_session: session.id.clone(), from_step, resume_command })
}

/// Writes the fork. On failure nothing of it is left behind.
pub fn apply_fork(plan: &ForkPlan, watch: Watch<'_>) -> Result<ForkReceipt, ActionError> {
    let folder = plan.path.parent().unwrap_or(Path::new(""));
    // The session file comes last: whoever sees it finds everything it refers to.
    let mut written: Vec<PathBuf> = Vec::new();
    let result = plan.fork.companions.iter().try_for_each(|(relative, rewrite)| {
        let path = folder.join(relative);
        written.push(path.clone());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|source| ReadError::Io { source, path: folder.to_owned() })?;
        }
        write_new(&path, rewrite, watch)
    });
    if let Err(error) = result.and_then(|()| write_new(&plan.path, &plan.fork.rewrite, watch)) {
        remove_all(&written, folder);
        return Err(error.into());
    }
    Ok(ForkReceipt {
        session_id: plan.fork.session_id.clone(),
        path: plan.path.clone(),
        steps: plan.fork.steps,
        from_session: plan.from_session.clone(),
        from_step: plan.from_step,
        resume_command: plan.resume_command.clone(),
        warnings: plan.fork.warnings.clone(),
    })
}

/// Where a new file of that name goes: to `out`, into `out` where that is a folder, or beside the original.
pub(super) fn place_of(file_name: &str, source: &Path, out: Option<&Path>) -> PathBuf {
    // Beside the file itself, not beside a link to it: that is where its agent looks.
    let source = source.canonicalize().unwrap_or_else(|_| source.to_owned());
    match out {
        Some(folder) if folder.is_dir() => free_name(&folder.join(file_name)),
        Some(path) => path.to_owned(),
        // What is kept in a folder as a whole is not written into that folder.
        None => free_name(&source.with_file_name(file_name)),
    }
}

/// Removes files just written, and the folders that are empty without them, up to `folder`.
fn remove_all(files: &[PathBuf], folder: &Path) {
    for file in files {
        let _ = std::fs::remove_file(file);
        for above in file.ancestors().skip(1).take_while(|above| *above != folder && above.starts_with(folder)) {
            // Fails, rightly, where something else is in it.
            if std::fs::remove_dir(above).is_err() {
                break;
            }
        }
    }
}

/// `name.json`, or `name-2.json` and so on where that is taken.
fn free_name(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
    let mut candidate = path.to_owned();
    let mut number = 2_u32;
    while candidate.symlink_metadata().is_ok() {
        candidate = path.with_file_name(match &extension {
            Some(extension) => format!("{stem}-{number}.{extension}"),
            None => format!("{stem}-{number}"),
        });
        number += 1;
    }
    candidate
}
