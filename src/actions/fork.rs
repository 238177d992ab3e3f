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
    let companions = plan.fork.companions.iter().map(|(relative, rewrite)| (folder.join(relative), rewrite));
    // The session file comes last: whoever sees it finds everything it refers to.
    let files: Vec<_> = companions.chain([(plan.path.clone(), &plan.fork.rewrite)]).collect();
    let total_bytes = files.iter().map(|(_, rewrite)| rewrite.total_bytes()).sum();
    let mut before_bytes = 0;
    for (at, (path, rewrite)) in files.iter().enumerate() {
        let written = make_folder(path, folder)
            .and_then(|()| watch.part(before_bytes, total_bytes, |watch| write_new(path, rewrite, watch)));
        if let Err(error) = written {
            // What could not be written may be a file of somebody else's.
            let (written, touched) = (files.iter().take(at), files.iter().take(at + 1));
            written.for_each(|(path, _)| drop(std::fs::remove_file(path)));
            touched.for_each(|(path, _)| remove_empty(path, folder));
            return Err(error.into());
        }
        before_bytes += rewrite.total_bytes();
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

/// Makes the folder that `file` is to be in, where that is below `folder`.
fn make_folder(file: &Path, folder: &Path) -> Result<(), ReadError> {
    match file.parent().filter(|parent| *parent != folder) {
        Some(parent) => {
            std::fs::create_dir_all(parent).map_err(|source| ReadError::Io { source, path: parent.to_owned() })
        }
        None => Ok(()),
    }
}

/// Removes the folders that `file` is in, up to `folder`, as far as nothing else is in them.
fn remove_empty(file: &Path, folder: &Path) {
    for above in file.ancestors().skip(1).take_while(|above| *above != folder && above.starts_with(folder)) {
        if std::fs::remove_dir(above).is_err() {
            break;
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
