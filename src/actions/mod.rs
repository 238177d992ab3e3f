//! What can be done with a session: fork it, revert a step, undo that, replay it, compare it with another.
//!
//! Every action is a plan, which writes nothing and is what a preview shows; then one function that writes; then a
//! receipt that says what was written and how to take it back.

pub mod diff;
pub mod export;
mod fork;
pub mod redact;
mod replay;
mod revert;
pub mod shapes;
#[cfg(test)]
mod tests;

pub use fork::{ForkPlan, ForkReceipt, apply_fork, plan_fork};
pub use replay::{Divergence, DivergenceKind, compare, compare_prompt, prompt_of_turn, replay};
pub use revert::{RevertDone, RevertPlan, apply_revert, plan_revert, undo_revert};

use crate::formats::Refusal;
use crate::store::{ReadError, ReceiptError};

/// Why an action was not done. The message is one sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Receipt(#[from] ReceiptError),
    #[error(transparent)]
    Write(#[from] ReadError),
}

impl ActionError {
    /// Whether the user took the action back while it ran.
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Write(ReadError::Cancelled(_))
                | Self::Receipt(ReceiptError::Read(ReadError::Cancelled(_)))
                | Self::Refused(Refusal::Read(ReadError::Cancelled(_)))
        )
    }
}
