//! `stepline fork`: a new session with a step and everything before it.

use std::io::Write;

use super::{CliError, Options, print, shapes, source};
use crate::actions::{ActionError, apply_fork, plan_fork};
use crate::formats::{Cut, Refusal};
use crate::store::{ReadError, ReceiptError, Watch};
use crate::workspace::words;

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let step = options.step()?;
    let opened = source::open(options)?;
    if opened.is_from_input() && options.out.is_none() {
        return Err(CliError::Usage("a fork from standard input needs --out PATH".to_owned()));
    }
    let cut = if options.before { Cut::Before(step) } else { Cut::After(step) };
    let plan = plan_fork(&*opened.recording, cut, options.out.as_deref(), Watch::none()).map_err(refused)?;
    let receipt = apply_fork(&plan, Watch::none()).map_err(refused)?;
    if options.json {
        return print::json(out, &shapes::fork(&receipt));
    }
    let steps = words::count(u64::from(receipt.steps), "step", "steps");
    writeln!(out, "{steps} of {} written: {}", print::harmless(&receipt.from_session), receipt.path.display())?;
    for warning in &receipt.warnings {
        writeln!(out, "note: {}", print::harmless(warning))?;
    }
    if let Some(command) = &receipt.resume_command {
        writeln!(out, "go on with: {command}")?;
    }
    Ok(())
}

/// An action that was not done, as a command's end: what could not be read or written is status 3, a refusal 1.
pub fn refused(error: ActionError) -> CliError {
    let sentence = error.to_string();
    match error {
        ActionError::Write(ReadError::Exists { .. } | ReadError::Rewritten { .. }) => CliError::Refused(sentence),
        ActionError::Write(_)
        | ActionError::Refused(Refusal::Read(_))
        | ActionError::Receipt(ReceiptError::Read(_) | ReceiptError::NotAReceipt { .. }) => {
            CliError::Unreadable(sentence)
        }
        ActionError::Refused(_) | ActionError::Receipt(_) => CliError::Refused(sentence),
    }
}
