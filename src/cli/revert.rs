//! `stepline revert` and `stepline undo`.

use std::io::Write;

use serde_json::{Value, json};

use super::fork::refused;
use super::{CliError, Options, print, shapes, show, source};
use crate::actions::{ActionError, RevertPlan, apply_revert, plan_revert, undo_revert};
use crate::formats::{Recording, Refusal};
use crate::store::{Watch, now};
use crate::workspace::words;

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    if options.preview == options.yes {
        return Err(CliError::Usage("a revert needs --preview or --yes; see stepline --help".to_owned()));
    }
    let step = options.step()?;
    let opened = source::open(options)?;
    let recording = &*opened.recording;
    let steps = recording.session().steps.len();
    if recording.session().step(step).is_none() {
        return Err(show::no_step(step, steps));
    }
    let plan = match plan_revert(recording, step, Watch::none()) {
        Ok(plan) => plan,
        Err(ActionError::Refused(Refusal::Rule(reason))) if options.preview && options.json => {
            print::json(out, &refused_preview(recording, step, &reason))?;
            return Err(CliError::Refused(reason));
        }
        Err(error) => return Err(refused(error)),
    };
    if options.preview {
        if options.json {
            print::json(out, &shapes::revert(&plan))?;
        } else {
            write_preview(recording, &plan, out)?;
        }
        return match plan.would_refuse {
            Some(reason) => Err(CliError::Refused(reason)),
            None => Ok(()),
        };
    }
    if opened.is_from_input() {
        return Err(CliError::Refused("standard input cannot be reverted; name the file".to_owned()));
    }
    let done = apply_revert(&plan, now(), Watch::none()).map_err(refused)?;
    if options.json {
        let mut shape = shapes::revert(&plan);
        if let Some(fields) = shape.as_object_mut() {
            fields.insert("receipt".to_owned(), Value::from(done.receipt_path.to_string_lossy()));
            fields.insert("backup".to_owned(), Value::from(done.receipt.backup.to_string_lossy()));
            fields.insert("path".to_owned(), Value::from(done.receipt.path.to_string_lossy()));
        }
        return print::json(out, &shape);
    }
    writeln!(out, "{}: {}", plan.title(recording.session()), done.receipt.path.display())?;
    writeln!(out, "take it back with: stepline undo {}", done.receipt_path.display())?;
    Ok(())
}

pub fn run_undo(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let path = options.only_path("RECEIPT")?;
    let receipt = undo_revert(path, now()).map_err(refused)?;
    if options.json {
        let document = json!({
            "path": receipt.path.to_string_lossy(),
            "stepNumber": receipt.step_number,
            "undoneAt": receipt.undone_at,
            "receipt": path.to_string_lossy(),
        });
        return print::json(out, &document);
    }
    writeln!(out, "step {} and everything after it is back: {}", receipt.step_number, receipt.path.display())?;
    Ok(())
}

/// The preview of a revert that no file state would allow: the steps it would drop, and why it is refused.
fn refused_preview(recording: &dyn Recording, step: u32, reason: &str) -> Value {
    let session = recording.session();
    let dropped: Vec<_> = session.steps.iter().filter(|other| other.number >= step).collect();
    json!({
        "stepNumber": step,
        "keepsSteps": step - 1,
        "drops": {
            "steps": dropped.len(),
            "messages": null,
            "runs": dropped.iter().filter(|step| !step.events.is_empty()).count(),
            "events": dropped.iter().map(|step| step.events.len()).sum::<usize>(),
        },
        "cancelledApprovals": [],
        "prefillText": recording.prompt(step).ok(),
        "fileActions": [],
        "conflicts": [],
        "irreversible": [],
        "wouldRefuse": reason,
        "warnings": [],
    })
}

fn write_preview(recording: &dyn Recording, plan: &RevertPlan, out: &mut dyn Write) -> Result<(), CliError> {
    let dropped = &plan.revert.dropped;
    writeln!(out, "{}; keeps {}", plan.title(recording.session()), plan.revert.keeps_steps)?;
    writeln!(
        out,
        "{}, {}, {}",
        words::count(dropped.messages, "message", "messages"),
        words::count(plan.dropped_runs, "run", "runs"),
        words::count(plan.dropped_events, "event", "events"),
    )?;
    for (tool, _) in &dropped.pending_approvals {
        writeln!(out, "cancels the approval that waits: {}", print::harmless(tool))?;
    }
    for action in &dropped.file_actions {
        let path = print::harmless(&action.path);
        writeln!(out, "not taken back in the workspace, to do by hand: {} {path}", shapes::file_action(action.kind))?;
    }
    for (tool, description) in &dropped.irreversible {
        writeln!(out, "cannot be taken back: {}: {}", print::harmless(tool), print::harmless(description))?;
    }
    for warning in &plan.revert.warnings {
        writeln!(out, "note: {}", print::harmless(warning))?;
    }
    if let Some(prompt) = &plan.revert.prefill {
        writeln!(out, "the dropped prompt:\n{}", print::harmless_lines(prompt))?;
    }
    Ok(())
}
