//! Revert: a step and everything after it taken out of the session file, with a backup and a receipt.

use std::path::{Path, PathBuf};

use super::ActionError;
use super::fork::{ForkPlan, ForkReceipt, apply_fork, place_of};
use crate::formats::{Effect, Recording, Refusal, Revert};
use crate::model::{Session, Timestamp};
use crate::store::{Receipt, Watch, check_quiet, revert_file, undo};

/// A revert that is ready to be done; showing it is the preview.
#[derive(Clone, Debug)]
pub struct RevertPlan {
    pub step_number: u32,
    pub from_session: String,
    pub revert: Revert,
    pub dropped_steps: u64,
    /// Turns that the agent ran for the dropped steps.
    pub dropped_runs: u64,
    pub dropped_events: u64,
    /// Where what stays would be written, when the original is not touched.
    pub export_path: Option<PathBuf>,
    /// Why it would be refused if it were done now; `None` when nothing stands against it.
    pub would_refuse: Option<String>,
}

/// What a revert wrote.
#[derive(Clone, Debug)]
pub enum RevertDone {
    /// The file itself, and what puts it back.
    Cut { receipt: Receipt, receipt_path: PathBuf },
    /// A new file; the original is as it was.
    Export(ForkReceipt),
}

/// Plans the revert of a step. The file has to have been at rest for a third of a second since it was opened.
pub fn plan_revert(recording: &dyn Recording, step_number: u32, watch: Watch<'_>) -> Result<RevertPlan, ActionError> {
    let revert = recording.revert(step_number, watch)?;
    let session = recording.session();
    let would_refuse = match &revert.effect {
        Effect::Cut(rewrite) => {
            let source = rewrite.source();
            let checked = check_quiet(source.path(), source.identity(), source.opened_at());
            checked.err().map(|busy| busy.to_string())
        }
        Effect::Export(_) => None,
        Effect::Preview(reason) => Some(reason.clone()),
    };
    let export_path = match &revert.effect {
        Effect::Export(fork) => Some(place_of(&fork.file_name, &session.source, None)),
        Effect::Cut(_) | Effect::Preview(_) => None,
    };
    let dropped = session.steps.iter().filter(|step| step.number >= step_number);
    let ran = || dropped.clone().filter(|step| !step.events.is_empty()).count() as u64;
    Ok(RevertPlan {
        step_number,
        from_session: session.id.clone(),
        dropped_steps: dropped.clone().count() as u64,
        dropped_runs: revert.dropped.runs.unwrap_or_else(ran),
        dropped_events: dropped.clone().map(|step| step.events.len() as u64).sum(),
        revert,
        export_path,
        would_refuse,
    })
}

/// Does it: refuses if the file changed since it was opened or is being written.
pub fn apply_revert(plan: &RevertPlan, now: Timestamp, watch: Watch<'_>) -> Result<RevertDone, ActionError> {
    match (&plan.revert.effect, &plan.export_path) {
        (Effect::Cut(rewrite), _) => {
            let (receipt, receipt_path) = revert_file(rewrite, plan.step_number, now, watch)?;
            Ok(RevertDone::Cut { receipt, receipt_path })
        }
        (Effect::Export(fork), Some(path)) => {
            let fork = ForkPlan {
                fork: (**fork).clone(),
                path: path.clone(),
                from_session: plan.from_session.clone(),
                from_step: plan.step_number,
                resume_command: None,
            };
            Ok(RevertDone::Export(apply_fork(&fork, watch)?))
        }
        (Effect::Export(_), None) => Err(Refusal::Rule("there is no place for the new file".to_owned()).into()),
        (Effect::Preview(reason), _) => Err(Refusal::Rule(reason.clone()).into()),
    }
}

/// Puts the file back as it was before the revert, byte for byte.
pub fn undo_revert(receipt_path: &Path, now: Timestamp, watch: Watch<'_>) -> Result<Receipt, ActionError> {
    Ok(undo(receipt_path, now, watch)?)
}

impl RevertPlan {
    /// `Drops steps 4 to 7 of 7`, for titles.
    pub fn title(&self, session: &Session) -> String {
        let last = session.steps.len();
        if self.step_number as usize == last {
            format!("Drops step {last} of {last}")
        } else {
            format!("Drops steps {} to {last} of {last}", self.step_number)
        }
    }
}
