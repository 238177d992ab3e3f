//! Which bytes of a trajectory a fork or a revert keeps. Records are copied as they are; only numbers that would have a
//! gap are set anew, and the fields that say which document it is and what it used.

use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};

use super::finish::sum;
use super::totals;
use super::trajectory::{Kept, Trajectory, What};
use crate::formats::keys::{Missing, splice};
use crate::formats::progress::Progress;
use crate::formats::{Cut, Dropped, Effect, Fork, Recording, Refusal, Revert};
use crate::model::{EventKind, Step, StepKind, ToolState};
use crate::store::{Rewrite, SourceFile, Watch};

/// Tools that change nothing that a revert would have to take back.
const HARMLESS: [&str; 12] = [
    "read",
    "Read",
    "grep",
    "Grep",
    "glob",
    "Glob",
    "view",
    "find_file_by_name",
    "todo_write",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
];

/// How much of the session stays.
struct Keep {
    /// The first so many records of the session.
    records: usize,
    steps: u32,
    warning: Option<String>,
}

pub fn fork(trajectory: &Trajectory, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
    let (keep, tag, number) = match cut {
        Cut::After(number) => (after(trajectory, number)?, format!("step-{number}"), number),
        Cut::Before(number) => (before(trajectory, number)?, format!("before-step-{number}"), number.saturating_sub(1)),
    };
    let session_id = uuid::Uuid::new_v4().to_string();
    let last = trajectory.main().get(..keep.records).unwrap_or_default().iter().rev().find(|kept| kept.is_node());
    let origin = json!({
        "session_id": trajectory.session.id,
        "step_id": last.map(|kept| kept.id),
        "step_number": number,
    });
    let identity = Identity { session_id: session_id.clone(), origin };
    let (rewrite, mut warnings) = rewrite(trajectory, &keep, Some(&identity), watch)?;
    warnings.extend(keep.warning);
    Ok(Fork {
        session_id,
        file_name: file_name(&trajectory.session.source, &tag),
        rewrite,
        companions: Vec::new(),
        steps: keep.steps,
        warnings,
    })
}

pub fn revert(trajectory: &Trajectory, number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
    let keep = before(trajectory, number)?;
    let step = trajectory.step(number)?;
    let (rewrite, mut warnings) = rewrite(trajectory, &keep, None, watch)?;
    warnings.extend(keep.warning);
    let is_prompt = step.kind == StepKind::Prompt;
    Ok(Revert {
        effect: Effect::Cut(rewrite),
        keeps_steps: keep.steps,
        dropped: dropped(trajectory, step, keep.records),
        prefill: if is_prompt { Some(trajectory.prompt(number)?) } else { None },
        prefill_at: step.at.filter(|_| is_prompt),
        estimate: None,
        rewind: None,
        warnings,
    })
}

/// The records up to the end of a step: of a prompt its turn up to the next step, of a question the record with its
/// answer. A turn may go on over questions, which are steps of their own: a fork of N ends before step N + 1 was asked.
fn after(trajectory: &Trajectory, number: u32) -> Result<Keep, Refusal> {
    let step = trajectory.step(number)?;
    let own = trajectory.anchor(number).unwrap_or(0);
    let records = match step.kind {
        StepKind::QuestionAnswer => own + 1,
        StepKind::Prompt => trajectory.anchor(number.saturating_add(1)).unwrap_or(trajectory.main().len()),
    };
    let steps = steps_within(trajectory, records);
    let warning = (steps > number).then(|| {
        format!("steps {number} to {steps} were asked in one message: the fork holds the answers to all of them")
    });
    Ok(Keep { records, steps, warning })
}

/// The records before a step's own.
fn before(trajectory: &Trajectory, number: u32) -> Result<Keep, Refusal> {
    let step = trajectory.step(number)?;
    if let Some(reason) = &step.revert_refusal {
        return Err(Refusal::Rule(reason.clone()));
    }
    let records = trajectory.anchor(number).unwrap_or(0);
    let steps = steps_within(trajectory, records);
    let warning = (steps + 1 < number)
        .then(|| format!("step {number} was asked in one message with the questions before it: they go with it"));
    Ok(Keep { records, steps, warning })
}

fn steps_within(trajectory: &Trajectory, records: usize) -> u32 {
    u32::try_from(trajectory.anchors.iter().filter(|anchor| **anchor < records).count()).unwrap_or(u32::MAX)
}

/// What makes a fork a session of its own.
struct Identity {
    session_id: String,
    origin: Value,
}

/// New bytes in the place of a stretch of the document.
struct Edit {
    range: Range<u64>,
    bytes: Vec<u8>,
}

fn rewrite(
    trajectory: &Trajectory,
    keep: &Keep,
    identity: Option<&Identity>,
    watch: Watch<'_>,
) -> Result<(Rewrite, Vec<String>), Refusal> {
    let missing = || Refusal::Rule("the document has no list of steps".to_owned());
    let file = trajectory.files.first().ok_or_else(missing)?;
    let field = trajectory.outline.field("steps").ok_or_else(missing)?;
    let list = field.list.as_ref().ok_or_else(missing)?;
    let all = trajectory.main();
    let kept: Vec<&Kept> = all.get(..keep.records).unwrap_or_default().iter().filter(|kept| kept.is_node()).collect();
    if kept.is_empty() {
        return Err(Refusal::Rule("nothing would be left: a trajectory has at least one record".to_owned()));
    }
    let mut edits = head_edits(trajectory, keep, identity, &kept, file)?;
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut progress = Progress::new(watch, file.len());
    let mut out = Rewrite::new(std::sync::Arc::clone(file));
    let (before, behind): (Vec<Edit>, Vec<Edit>) =
        edits.into_iter().partition(|edit| edit.range.end <= field.value.start);
    let at = splice_edits(&mut out, 0, before);
    out.copy(at, field.value.start + 1 - at);
    copy_records(&mut out, file, field.value.start + 1, &kept, &mut progress)?;
    match (list.close, trajectory.outline.close) {
        (Some(close), Some(end)) => {
            let last = all.last().map_or(field.value.start + 1, Kept::end).min(close);
            let blank = file.read_at(last, usize::try_from(close - last).unwrap_or(0).min(4096))?;
            let blank_from = if blank.iter().all(u8::is_ascii_whitespace) { last } else { close };
            let at = splice_edits(&mut out, blank_from, behind);
            out.copy(at, end.max(at) + 1 - at);
            out.push(b"\n");
        }
        _ => {
            // What stood behind the records cannot be told from the damage.
            out.push(b"]}\n");
        }
    }
    Ok((out, warnings(trajectory, keep)))
}

/// Appends the source from `at` with the edits, up to the end of the last one; gives where that is.
fn splice_edits(out: &mut Rewrite, mut at: u64, edits: Vec<Edit>) -> u64 {
    for edit in edits {
        if edit.range.start < at {
            continue;
        }
        out.copy(at, edit.range.start - at);
        out.push(&edit.bytes);
        at = edit.range.end;
    }
    at
}

/// The records with what lies between them in the file, numbered from 1.
fn copy_records(
    out: &mut Rewrite,
    file: &SourceFile,
    open: u64,
    kept: &[&Kept],
    progress: &mut Progress<'_>,
) -> Result<(), Refusal> {
    let lead = |from: u64, to: u64| -> Result<Vec<u8>, Refusal> {
        let len = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        Ok(if len > 4096 { Vec::new() } else { file.read_at(from, len)? })
    };
    let first = kept.first().map_or(open, |kept| kept.span.offset);
    let indent = lead(open, first)?;
    let indent = if indent.iter().all(u8::is_ascii_whitespace) { indent } else { Vec::new() };
    let mut end = open;
    for (number, record) in (1_u64..).zip(kept) {
        progress.reach(record.span.offset)?;
        let gap = lead(end, record.span.offset)?;
        let sound = if number == 1 { gap.is_empty() || gap == indent } else { gap.trim_ascii() == b"," };
        if sound {
            out.copy(end, record.span.offset - end);
        } else {
            if number > 1 {
                out.push(b",");
            }
            out.push(&indent);
        }
        let bytes = file.read_at(record.span.offset, record.span.len as usize)?;
        if record.id == number {
            out.copy(record.span.offset, record.span.len.into());
        } else {
            splice(out, record.span.offset, &bytes, &[("step_id", number.to_string(), Missing::Add)]);
        }
        end = record.end();
    }
    Ok(())
}

/// What changes in the fields beside the records.
fn head_edits(
    trajectory: &Trajectory,
    keep: &Keep,
    identity: Option<&Identity>,
    kept: &[&Kept],
    file: &SourceFile,
) -> Result<Vec<Edit>, Refusal> {
    let outline = &trajectory.outline;
    let mut edits = Vec::new();
    let mut set = |name: &str, value: String| {
        let fields = outline.fields.iter().filter(|field| field.name == name && field.whole);
        let ranges: Vec<Edit> =
            fields.map(|field| Edit { range: field.value.clone(), bytes: value.clone().into_bytes() }).collect();
        let found = !ranges.is_empty();
        edits.extend(ranges);
        found
    };
    if let Some(Value::Object(metrics)) = trajectory.head.get("final_metrics") {
        let usage = sum(kept.iter().map(|kept| &kept.usage));
        set("final_metrics", laid_out(&totals::recounted(metrics, &usage, kept.len()), outline.fields.first(), file)?);
    }
    let is_cut = keep.records < trajectory.main().len();
    if identity.is_some() || is_cut {
        set("continued_trajectory_ref", "null".to_owned());
    }
    let Some(identity) = identity else { return Ok(edits) };
    let has_id = set("session_id", json!(identity.session_id).to_string());
    if trajectory.head.get("trajectory_id").is_some_and(Value::is_string) {
        set("trajectory_id", json!(uuid::Uuid::new_v4().to_string()).to_string());
    }
    let origin = match trajectory.head.get("extra") {
        Some(Value::Object(extra)) => {
            let mut extra = extra.clone();
            extra.insert("forked_from".to_owned(), identity.origin.clone());
            set("extra", Value::Object(extra).to_string());
            None
        }
        _ => {
            let extra = Value::from_iter([("forked_from", identity.origin.clone())]).to_string();
            (!set("extra", extra.clone())).then_some(extra)
        }
    };
    // New fields go before the list of records: its end may be cut off.
    let Some(steps) = outline.field("steps") else { return Ok(edits) };
    let key = key_start(file, outline.open + 1, steps.value.start)?;
    let blank = blank_before(file, key)?;
    let mut added = String::new();
    let mut add = |name: &str, value: String| {
        let colon = if blank.contains('\n') { ": " } else { ":" };
        added.push_str(&format!("\"{name}\"{colon}{value},{blank}"));
    };
    if !has_id {
        add("session_id", json!(identity.session_id).to_string());
    }
    if let Some(extra) = origin {
        add("extra", extra);
    }
    if !added.is_empty() {
        edits.push(Edit { range: key..key, bytes: added.into_bytes() });
    }
    Ok(edits)
}

/// Where the key of the value at `value` begins, the last quoted `steps` before it.
fn key_start(file: &SourceFile, open: u64, value: u64) -> Result<u64, Refusal> {
    let from = open.max(value.saturating_sub(4096));
    let bytes = file.read_at(from, usize::try_from(value - from).unwrap_or(0))?;
    let at = memchr::memmem::rfind(&bytes, b"\"steps\"");
    at.map(|at| from + at as u64).ok_or_else(|| Refusal::Rule("the list of steps has no key of its own".to_owned()))
}

/// The white space before an offset, which parts a field from the one before it.
fn blank_before(file: &SourceFile, at: u64) -> Result<String, Refusal> {
    let from = at.saturating_sub(64);
    let bytes = file.read_at(from, usize::try_from(at - from).unwrap_or(0))?;
    let blank = bytes.get(bytes.trim_ascii_end().len()..).unwrap_or_default();
    Ok(String::from_utf8_lossy(blank).into_owned())
}

/// A value as the document writes its own: over several lines or on one.
fn laid_out(value: &Value, first: Option<&super::outline::Field>, file: &SourceFile) -> Result<String, Refusal> {
    let head = first.map_or(0, |field| field.value.start.min(256));
    let is_pretty = file.read_at(0, usize::try_from(head).unwrap_or(0))?.contains(&b'\n');
    if !is_pretty {
        return Ok(value.to_string());
    }
    Ok(serde_json::to_string_pretty(value).unwrap_or_default().replace('\n', "\n  "))
}

fn warnings(trajectory: &Trajectory, keep: &Keep) -> Vec<String> {
    let mut warnings = Vec::new();
    let all = trajectory.main().get(..keep.records).unwrap_or_default();
    let left_out = all.iter().filter(|kept| !kept.is_node()).count();
    if left_out > 0 {
        let records = if left_out == 1 { "1 record".to_owned() } else { format!("{left_out} records") };
        warnings.push(format!("{records} left out that cannot be read"));
    }
    let kept = |event: &&crate::model::Event| (event.place.record as usize) < keep.records;
    let refers = trajectory.session.events.all().iter().filter(kept).filter(|event| event.kind == EventKind::Subagent);
    let embedded = |label: &str| trajectory.session.subagents.iter().any(|subagent| subagent.id == label);
    let elsewhere = refers.filter(|event| !embedded(&event.label)).count();
    if elsewhere > 0 {
        let files = if elsewhere == 1 { "1 trajectory".to_owned() } else { format!("{elsewhere} trajectories") };
        warnings.push(format!("it refers to {files} of subagents in other files, which are not copied"));
    }
    if trajectory.head.get("continued_trajectory_ref").is_some_and(Value::is_string) {
        warnings.push("what the trajectory goes on with in another file is left out".to_owned());
    }
    if trajectory.outline.close.is_none() {
        warnings.push("the document is cut off; the new one is closed where the kept records end".to_owned());
    }
    warnings
}

fn dropped(trajectory: &Trajectory, step: &Step, records: usize) -> Dropped {
    let gone = trajectory.main().get(records..).unwrap_or_default();
    let messages = gone.iter().filter(|kept| matches!(kept.what, What::User | What::Agent) && !kept.is_side).count();
    let events = trajectory.session.events.all().get(step.events.start..).unwrap_or_default();
    let ran = events.iter().filter_map(|event| {
        let tool = event.tool.as_ref().filter(|_| event.kind == EventKind::Tool)?;
        let ran = matches!(tool.state, ToolState::Done | ToolState::Failed);
        (ran && !HARMLESS.contains(&tool.name.as_str())).then(|| (tool.name.clone(), event.label.to_string()))
    });
    Dropped { messages: messages as u64, irreversible: ran.take(1000).collect(), ..Dropped::default() }
}

/// `trajectory.json` → `trajectory.step-3.json`.
pub fn file_name(source: &Path, tag: &str) -> String {
    let stem = source.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match source.extension() {
        Some(extension) => format!("{stem}.{tag}.{}", extension.to_string_lossy()),
        None => format!("{stem}.{tag}"),
    }
}
