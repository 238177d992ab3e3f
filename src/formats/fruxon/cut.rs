//! A conversation that ends earlier, in the shape of its file: rows and frames are copied as they are.

use std::collections::HashSet;
use std::sync::Arc;

use super::join::fork_name;
use super::read::{Container, FileData};
use super::session::{Conversation, Mark};
use crate::formats::{Cut, Fork, Refusal};
use crate::model::{Step, StepKind};
use crate::store::{ReadError, Rewrite, Watch};

const NOTHING_LEFT: &str = "nothing would be left: it is the first step";
const IN_ONE_FILE: &str = "none of the files holds all of the conversation";

/// Plans the fork at a cut.
pub fn plan(conversation: &Conversation, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
    let (Cut::After(number) | Cut::Before(number)) = cut;
    let step = step(conversation, number)?;
    if let Some(reason) = &step.fork_refusal {
        return Err(Refusal::Rule(reason.clone()));
    }
    let keeps = |mark: &Mark| match cut {
        Cut::After(_) => mark.step <= number,
        Cut::Before(_) => mark.step < number,
    };
    export(conversation, &keeps, watch)
}

pub fn step(conversation: &Conversation, number: u32) -> Result<&Step, Refusal> {
    let session = &conversation.session;
    session.step(number).ok_or(Refusal::NoStep { step: number, steps: session.steps.len() })
}

/// The conversation of the turns that are kept, as a file of its own.
pub fn export(conversation: &Conversation, keeps: &dyn Fn(&Mark) -> bool, watch: Watch<'_>) -> Result<Fork, Refusal> {
    let kept: Vec<&Mark> = conversation.marks.iter().filter(|mark| keeps(mark)).collect();
    if kept.iter().all(|mark| mark.step == 0) {
        return Err(Refusal::Rule(NOTHING_LEFT.to_owned()));
    }
    let has_rows = conversation.rows.is_some();
    let places = |mark: &Mark| if has_rows { mark.rows.clone() } else { mark.frames.clone() };
    let all: HashSet<(usize, usize)> = conversation.marks.iter().flat_map(places).collect();
    let stays: HashSet<(usize, usize)> = kept.iter().copied().flat_map(places).collect();
    let data = conversation.files.first().ok_or_else(|| Refusal::Rule(IN_ONE_FILE.to_owned()))?;
    watch.step(0, data.file.len()).map_err(ReadError::from)?;
    let own: HashSet<usize> = all.iter().filter(|(file, _)| *file == 0).map(|(_, record)| *record).collect();
    if own.is_empty() {
        return Err(Refusal::Rule(IN_ONE_FILE.to_owned()));
    }
    let is_kept = |record: usize| stays.contains(&(0, record));
    let others = others(conversation, &stays)?;
    let rewrite = match data.container {
        Container::Rows { start, in_page } => rows(data, start, in_page, &own, &is_kept, &others)?,
        Container::Lines | Container::Events | Container::Document { .. } => lines(data, &own, &is_kept, &others)?,
    };
    let session_id = fork_name(&conversation.session.id);
    let ending = data.path().extension().map_or("json".to_owned(), |ending| ending.to_string_lossy().into_owned());
    Ok(Fork {
        file_name: format!("{session_id}.{ending}"),
        session_id,
        rewrite,
        companions: Vec::new(),
        steps: steps_in(conversation, &kept),
        warnings: warnings(conversation, &kept),
    })
}

/// Steps that the file alone will have: questions are in streams and not among messages.
fn steps_in(conversation: &Conversation, kept: &[&Mark]) -> u32 {
    let prompts: HashSet<u32> = kept.iter().map(|mark| mark.step).filter(|step| *step > 0).collect();
    let mut is_in = false;
    let mut count = 0_u32;
    for step in &conversation.session.steps {
        let is_prompt = step.kind == StepKind::Prompt;
        if is_prompt {
            is_in = prompts.contains(&step.number);
        }
        count += u32::from(is_in && (is_prompt || conversation.rows.is_none()));
    }
    count
}

fn warnings(conversation: &Conversation, kept: &[&Mark]) -> Vec<String> {
    let mut warnings = Vec::new();
    let beside = conversation.files.len().saturating_sub(1);
    if beside > 0 {
        let files = if beside == 1 { "1 other file".to_owned() } else { format!("{beside} other files") };
        warnings.push(format!("what {files} tell of the runs is not copied; it stays beside the original"));
    }
    if kept.last().is_some_and(|mark| mark.runs.iter().any(|run| run.is_going_on || run.is_held)) {
        warnings.push("the last run has not ended: it is parked or still going on".to_owned());
    }
    warnings
}

/// The rows that stay and are in other files than the first.
fn others(conversation: &Conversation, stays: &HashSet<(usize, usize)>) -> Result<Vec<Vec<u8>>, ReadError> {
    let mut places: Vec<_> = stays.iter().filter(|(file, _)| *file > 0).collect();
    places.sort_unstable();
    let mut rows = Vec::new();
    for (file, record) in places {
        let data = conversation.files.get(*file);
        if let Some((data, record)) = data.and_then(|data| Some((data, data.records.get(*record)?))) {
            rows.push(data.file.read_at(record.span.offset, record.span.len as usize)?);
        }
    }
    Ok(rows)
}

/// Which records of the file stay: of those that are no rows of the conversation, the ones before the first that goes.
fn kept_records(data: &FileData, own: &HashSet<usize>, is_kept: &dyn Fn(usize) -> bool) -> Vec<bool> {
    let mut kept: Vec<bool> = Vec::with_capacity(data.records.len());
    // The newest come first in some files: then a lost row belongs to the row after it.
    let newest_first = own.iter().min().is_some_and(|first| !is_kept(*first));
    for record in 0..data.records.len() {
        let own_fate =
            if own.contains(&record) { is_kept(record) } else { kept.last().copied().unwrap_or(!newest_first) };
        kept.push(own_fate);
    }
    kept
}

/// The elements that stay, with what stands between them, and what stands around them all.
fn rows(
    data: &FileData,
    start: u64,
    in_page: bool,
    own: &HashSet<usize>,
    is_kept: &dyn Fn(usize) -> bool,
    others: &[Vec<u8>],
) -> Result<Rewrite, ReadError> {
    let kept = kept_records(data, own, is_kept);
    let mut rewrite = Rewrite::new(Arc::clone(&data.file));
    let left = kept.iter().filter(|kept| **kept).count() + others.len();
    let recount = |bytes: Vec<u8>| recounted(bytes, kept.len(), left);
    let head = data.file.read_at(0, usize::try_from(start + 1).unwrap_or(0))?;
    rewrite.push(&recount(head));
    let mut end = start + 1;
    let mut is_first = true;
    for (record, is_kept) in data.records.iter().zip(&kept) {
        let span = record.span;
        if *is_kept {
            let gap = usize::try_from(span.offset.saturating_sub(end)).unwrap_or(0);
            let between = data.file.read_at(end, gap)?;
            let comma = between.iter().rposition(|byte| *byte == b',');
            match (is_first, comma) {
                (true, Some(comma)) => rewrite.copy(end + comma as u64 + 1, (gap - comma - 1) as u64),
                (false, None) => rewrite.push(b",\n"),
                _ => rewrite.copy(end, gap as u64),
            }
            rewrite.copy(span.offset, span.len.into());
            is_first = false;
        }
        end = span.offset + u64::from(span.len);
    }
    for row in others {
        rewrite.push(if is_first { b"\n" } else { b",\n" });
        rewrite.push(row);
        is_first = false;
    }
    let rest = data.file.read_at(end, usize::try_from(data.file.len().saturating_sub(end)).unwrap_or(0))?;
    if rest.contains(&b']') {
        rewrite.push(&recount(rest));
    } else {
        rewrite.push(if in_page { b"\n]}\n" } else { b"\n]\n" });
    }
    Ok(rewrite)
}

/// The bytes with a page's `totalCount` as it is now, where it was the number of all rows.
fn recounted(bytes: Vec<u8>, old: usize, new: usize) -> Vec<u8> {
    let Some(key) = memchr::memmem::find(&bytes, b"\"totalCount\"") else { return bytes };
    let after = key + b"\"totalCount\"".len();
    let rest = bytes.get(after..).unwrap_or_default();
    let Some(start) = rest.iter().position(u8::is_ascii_digit) else { return bytes };
    let digits: Vec<u8> = rest.iter().skip(start).take_while(|byte| byte.is_ascii_digit()).copied().collect();
    if digits != old.to_string().into_bytes() {
        return bytes;
    }
    let at = after + start;
    let mut changed = bytes.get(..at).unwrap_or_default().to_vec();
    changed.extend_from_slice(new.to_string().as_bytes());
    changed.extend_from_slice(bytes.get(at + digits.len()..).unwrap_or_default());
    changed
}

/// The lines or frames that stay, each with what stands before the next.
fn lines(
    data: &FileData,
    own: &HashSet<usize>,
    is_kept: &dyn Fn(usize) -> bool,
    others: &[Vec<u8>],
) -> Result<Rewrite, ReadError> {
    let kept = kept_records(data, own, is_kept);
    let mut rewrite = Rewrite::new(Arc::clone(&data.file));
    let starts: Vec<u64> = data.records.iter().map(|record| record.span.offset).collect();
    rewrite.copy(0, starts.first().copied().unwrap_or(0));
    for (index, is_kept) in kept.iter().enumerate() {
        let start = starts.get(index).copied().unwrap_or(0);
        let end = starts.get(index + 1).copied().unwrap_or(data.file.len());
        if *is_kept {
            rewrite.copy(start, end.saturating_sub(start));
        }
    }
    for row in others {
        rewrite.push(b"\n");
        rewrite.push(row);
    }
    Ok(rewrite)
}
