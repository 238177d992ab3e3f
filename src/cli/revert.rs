//! `stepline revert` and `stepline undo`.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::fork::refused;
use super::{CliError, Options, print, shapes, show, source};
use crate::actions::{ActionError, RevertDone, RevertPlan, apply_revert, plan_revert, undo_revert};
use crate::formats::{Effect, Recording, Refusal};
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
            // Where a preview is all that can be done offline, it was done.
            Some(_) if matches!(plan.revert.effect, Effect::Preview(_)) => Ok(()),
            Some(reason) => Err(CliError::Refused(reason)),
            None => Ok(()),
        };
    }
    if opened.is_from_input() {
        return Err(CliError::Refused("standard input cannot be reverted; name the file".to_owned()));
    }
    match apply_revert(&plan, now(), Watch::none()).map_err(refused)? {
        RevertDone::Cut { receipt, receipt_path } => {
            let written = Written { path: &receipt.path, receipt: Some(&receipt_path), backup: Some(&receipt.backup) };
            if options.json {
                return print::json(out, &written.shape(&plan));
            }
            writeln!(out, "{}: {}", plan.title(recording.session()), receipt.path.display())?;
            writeln!(out, "take it back with: stepline undo {}", receipt_path.display())?;
        }
        RevertDone::Export(receipt) => {
            if options.json {
                return print::json(out, &Written { path: &receipt.path, receipt: None, backup: None }.shape(&plan));
            }
            writeln!(
                out,
                "{}; what stays is written, the original is as it was: {}",
                plan.title(recording.session()),
                receipt.path.display()
            )?;
        }
    }
    Ok(())
}

/// The files that a revert wrote.
struct Written<'a> {
    path: &'a Path,
    /// Both are `None` where the original was not touched: there is nothing to take back.
    receipt: Option<&'a Path>,
    backup: Option<&'a Path>,
}

impl Written<'_> {
    fn shape(&self, plan: &RevertPlan) -> Value {
        let mut shape = shapes::revert(plan);
        if let Some(fields) = shape.as_object_mut() {
            let text = |path: Option<&Path>| path.map_or(Value::Null, |path| Value::from(path.to_string_lossy()));
            fields.insert("receipt".to_owned(), text(self.receipt));
            fields.insert("backup".to_owned(), text(self.backup));
            fields.insert("path".to_owned(), text(Some(self.path)));
        }
        shape
    }
}

pub fn run_undo(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let path = options.only_path("RECEIPT")?;
    let receipt = undo_revert(path, now(), Watch::none()).map_err(refused)?;
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
    for path in &dropped.conflicts {
        writeln!(out, "changed since the agent wrote it: {}", print::harmless(path))?;
    }
    for (tool, description) in &dropped.irreversible {
        writeln!(out, "cannot be taken back: {}: {}", print::harmless(tool), print::harmless(description))?;
    }
    if let Some(runs) = dropped.cancelled_runs.filter(|runs| *runs > 0) {
        writeln!(out, "calls off {}", words::count(runs, "run that waits", "runs that wait"))?;
    }
    if let Some(estimate) = &plan.revert.estimate {
        writeln!(out, "{}", print::harmless(estimate))?;
    }
    if let Effect::Preview(reason) = &plan.revert.effect {
        writeln!(out, "a preview only: {}", print::harmless(reason))?;
    }
    if let Some(path) = &plan.export_path {
        writeln!(out, "what stays would be written to a new file: {}", path.display())?;
    }
    for warning in &plan.revert.warnings {
        writeln!(out, "note: {}", print::harmless(warning))?;
    }
    if let Some(prompt) = &plan.revert.prefill {
        writeln!(out, "the dropped prompt:\n{}", print::harmless_lines(prompt))?;
    }
    Ok(())
}
