//! Revert: a step and everything after it taken out of the session file, with a backup and a receipt.

use std::path::{Path, PathBuf};

use super::ActionError;
use crate::formats::{Recording, Revert};
use crate::model::{Session, Timestamp};
use crate::store::{Receipt, Watch, check_unchanged, revert_file, undo};

/// A revert that is ready to be done; showing it is the preview.
#[derive(Clone, Debug)]
pub struct RevertPlan {
    pub step_number: u32,
    pub revert: Revert,
    pub dropped_steps: u64,
    /// Turns that the agent ran for the dropped steps.
    pub dropped_runs: u64,
    pub dropped_events: u64,
    /// Why it would be refused if it were done now; `None` when nothing stands against it.
    pub would_refuse: Option<String>,
}

/// What a revert wrote.
#[derive(Clone, Debug)]
pub struct RevertReceipt {
    pub receipt: Receipt,
    pub receipt_path: PathBuf,
}

/// Plans the revert of a step. Looks at the file for about a third of a second to tell whether it is being written.
pub fn plan_revert(recording: &dyn Recording, step_number: u32, watch: Watch<'_>) -> Result<RevertPlan, ActionError> {
    let revert = recording.revert(step_number, watch)?;
    let session = recording.session();
    let source = revert.rewrite.source();
    let would_refuse = check_unchanged(source.path(), source.identity()).err().map(|busy| busy.to_string());
    let dropped = session.steps.iter().filter(|step| step.number >= step_number);
    Ok(RevertPlan {
        step_number,
        dropped_steps: dropped.clone().count() as u64,
        dropped_runs: dropped.clone().filter(|step| !step.events.is_empty()).count() as u64,
        dropped_events: dropped.map(|step| session.events_of(step).len() as u64).sum(),
        revert,
        would_refuse,
    })
}

/// Does it: refuses if the file changed since it was opened or is being written.
pub fn apply_revert(plan: &RevertPlan, now: Timestamp, watch: Watch<'_>) -> Result<RevertReceipt, ActionError> {
    let (receipt, receipt_path) = revert_file(&plan.revert.rewrite, plan.step_number, now, watch)?;
    Ok(RevertReceipt { receipt, receipt_path })
}

/// Puts the file back as it was before the revert, byte for byte.
pub fn undo_revert(receipt_path: &Path, now: Timestamp) -> Result<Receipt, ActionError> {
    Ok(undo(receipt_path, now)?)
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
