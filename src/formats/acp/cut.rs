//! The recording up to a step, as a file of its own. No agent opens such a file, so a session is never cut in place: what a
//! fork and a revert give is a shorter recording.

use std::collections::HashSet;
use std::sync::Arc;

use super::read::SHARED;
use super::recording::Recorded;
use crate::formats::atif::file_name;
use crate::formats::progress::Progress;
use crate::formats::{Cut, Dropped, Effect, Fork, Recording, Refusal, Revert};
use crate::model::{Decision, EventKind, Fact, StepKind, ToolState};
use crate::store::{Rewrite, Watch};

/// Tools whose effects nothing here takes back.
const LASTING: [&str; 6] = ["execute", "exec", "edit", "write", "delete", "move"];

pub fn fork(recorded: &Recorded, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
    match cut {
        Cut::After(number) => {
            let step = recorded.step(number)?;
            let last = recorded.part(number).and_then(|part| part.last);
            let reason = step.fork_refusal.clone().unwrap_or_else(|| "the recording does not hold this step".into());
            let last = last.filter(|_| step.fork_refusal.is_none()).ok_or(Refusal::Rule(reason))?;
            export(recorded, last.saturating_add(1), number, &format!("step-{number}"), watch)
        }
        Cut::Before(number) => before(recorded, number, watch),
    }
}

fn before(recorded: &Recorded, number: u32, watch: Watch<'_>) -> Result<Fork, Refusal> {
    let step = recorded.step(number)?;
    let first = recorded.part(number).and_then(|part| part.first);
    let reason = step.revert_refusal.clone().unwrap_or_else(|| "the recording does not hold this step".into());
    let first = first.filter(|_| step.revert_refusal.is_none()).ok_or(Refusal::Rule(reason))?;
    export(recorded, first, number.saturating_sub(1), &format!("before-step-{number}"), watch)
}

pub fn revert(recorded: &Recorded, number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
    let fork = before(recorded, number, watch)?;
    let step = recorded.step(number)?;
    let is_prompt = step.kind == StepKind::Prompt;
    Ok(Revert {
        keeps_steps: fork.steps,
        effect: Effect::Export(Box::new(fork)),
        dropped: dropped(recorded, number),
        prefill: if is_prompt { Some(recorded.prompt(number)?) } else { None },
        prefill_at: step.at.filter(|_| is_prompt),
        estimate: Some("Stepline's estimate; the agent's own preview wins".to_owned()),
        rewind: None,
        warnings: vec!["the agent's own session is not changed: what is written is a shorter recording".to_owned()],
    })
}

fn dropped(recorded: &Recorded, number: u32) -> Dropped {
    let session = &recorded.session;
    let start = session.step(number).map_or(0, |step| step.events.start);
    let events = session.events.all().get(start..).unwrap_or_default();
    let texts = events.iter().filter(|event| event.kind == EventKind::Text).count() as u64;
    let later = session.steps.iter().skip((number as usize).saturating_sub(1));
    let prompts = later.filter(|step| step.kind == StepKind::Prompt).count() as u64;
    let pending = events.iter().filter_map(|event| match &event.marker.as_deref()?.fact {
        Fact::Approval { tool, tool_call_id, decision: Decision::Pending, .. } => {
            Some((tool.clone(), tool_call_id.clone()))
        }
        _ => None,
    });
    let ran = events.iter().filter_map(|event| {
        let tool = event.tool.as_ref().filter(|tool| LASTING.contains(&tool.name.as_str()))?;
        matches!(tool.state, ToolState::Done | ToolState::Failed).then(|| (tool.name.clone(), event.label.to_string()))
    });
    Dropped {
        messages: texts + prompts,
        pending_approvals: pending.collect(),
        irreversible: ran.take(1000).collect(),
        ..Dropped::default()
    }
}

/// The session's records before `end`, and the answers to the requests among them that open it.
fn export(recorded: &Recorded, end: u32, steps: u32, tag: &str, watch: Watch<'_>) -> Result<Fork, Refusal> {
    let file = recorded.files.first().ok_or_else(|| Refusal::Rule("there is no file".to_owned()))?;
    let late = recorded.openings.iter().filter(|(request, answer)| *request < end && *answer >= end);
    let late: HashSet<u32> = late.map(|(_, answer)| *answer).collect();
    let mut progress = Progress::new(watch, file.len());
    let mut out = Rewrite::new(Arc::clone(file));
    for (number, (span, owner)) in (0_u32..).zip(&recorded.records) {
        let is_own = *owner == recorded.own || *owner == SHARED;
        if !is_own || (number >= end && !late.contains(&number)) {
            continue;
        }
        progress.reach(span.offset)?;
        out.copy(span.offset, span.len.into());
        let behind = span.offset.saturating_add(span.len.into());
        // The line feed that is there, so that neighbours stay one stretch.
        match file.read_at(behind, 1) {
            Ok(byte) if byte == b"\n" => out.copy(behind, 1),
            _ => out.push(b"\n"),
        }
    }
    if out.is_empty() {
        return Err(Refusal::Rule("nothing would be left of the recording".to_owned()));
    }
    Ok(Fork {
        session_id: recorded.session.id.clone(),
        file_name: file_name(&recorded.session.source, tag),
        rewrite: out,
        companions: Vec::new(),
        steps,
        warnings: Vec::new(),
    })
}
