//! The same file without a step and everything that came of it. What was abandoned before stays, and so does every byte
//! that is not dropped; one note at the end tells the agent where to go on.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::Transcript;
use super::chain::{Forest, Stop, bridges, parent_in_file};
use super::index::{Flags, Index, NONE, Record, Role};
use super::kept::{calls_in, link, results_in, steps_among};
use super::numbers::Numbers;
use super::steps::{NOTHING_BEFORE, targets};
use crate::formats::keys;
use crate::formats::labels::line;
use crate::formats::progress::Progress;
use crate::formats::{Dropped, Effect, FileAction, FileActionKind, Refusal, Revert};
use crate::model::{Event, EventKind, Place, StepKind, ToolState};
use crate::store::{Piece, ReadError, Rewrite, SourceFile, Watch};

pub(super) fn plan(transcript: &Transcript, number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
    let step = transcript.step(number)?;
    let place = transcript.place_of(number)?;
    if let Some(reason) = &step.revert_refusal {
        return Err(Refusal::Rule(reason.clone()));
    }
    let source = transcript.whole_source()?;
    let (index, assembled) = (&transcript.index, &transcript.assembled);
    let target = targets(index, &assembled.walk, &assembled.marks).get(place).and_then(|targets| targets.revert);
    let Some(target) = target else { return Err(Refusal::Rule(NOTHING_BEFORE.to_owned())) };

    // The file is gone through twice: for what stays, and for what is told of the rest.
    let mut progress = Progress::new(watch, source.len().saturating_mul(2));
    progress.tell()?;
    let mut gone = dropped_records(transcript, target);
    let mut warnings = Vec::new();
    let target_record = assembled.walk.chain.get(target as usize).copied().unwrap_or(NONE);
    let moved = (leaf_without(transcript, &gone) != Some(target_record)).then_some(target_record);
    if let Some(moved) = moved {
        let line = index.record(moved).map_or(0, |record| record.span.line);
        warnings.push(format!(
            "an abandoned branch or a late result is written after the record of line {line}: that record moves to the end, \
             where the session's head is looked for"
        ));
        // A copy of it would stand before it and make it the copy.
        gone.extend(duplicates_of(transcript, &Numbers::from_iter([moved])));
    }
    let chain = assembled.walk.chain.get(..=target as usize).unwrap_or_default();
    let kept: Numbers = chain.iter().copied().collect();
    let keeps_steps = steps_among(index, assembled, chain, |record| kept.contains(&record));
    for lost in chain.iter().filter_map(|record| index.record(assembled.forest.bridge(*record)?.lost)) {
        warnings.push(format!("the record on line {} could not be read and stays as it is", lost.span.line));
    }
    if keeps_steps + 1 < number {
        warnings.push("the slash command before it has no answer without it, and is no step any more".to_owned());
    }
    Ok(Revert {
        effect: Effect::Cut(rewrite(transcript, source, &gone, moved, target_record, &mut progress)?),
        keeps_steps,
        dropped: dropped(transcript, target, &gone, &mut progress)?,
        prefill: if step.kind == StepKind::Prompt { Some(transcript.prompt_of(step)?) } else { None },
        prefill_at: step.at.filter(|_| step.kind == StepKind::Prompt),
        estimate: None,
        rewind: None,
        warnings,
    })
}

/// Records that go: what hangs on the chain after the target, and what is only about that.
fn dropped_records(transcript: &Transcript, target: u32) -> Numbers {
    let (index, assembled) = (&transcript.index, &transcript.assembled);
    let walk = &assembled.walk;
    let kept: Numbers = walk.chain.iter().take(target as usize + 1).copied().collect();
    let Some(child) = walk.chain.get(target as usize + 1).copied() else { return Numbers::default() };
    // Companions of what goes may hang on what stays.
    let kept_companions = companions_of(transcript, target, &kept);
    let mut roots = Numbers::from_iter([child]);
    roots.extend(walk.companions().map(|stop| stop.record).filter(|record| !kept_companions.contains(record)));
    let stops = |record: u32| kept.contains(&record) || kept_companions.contains(&record) || roots.contains(&record);
    let climbs = assembled.forest.climb(stops, |_| false);
    let mut gone: Numbers = (0..)
        .zip(&climbs)
        .filter(|(_, climb)| climb.end().is_some_and(|end| roots.contains(&end)))
        .map(|(number, _)| number)
        .collect();

    // Agents inside this file, started by calls that go.
    let calls: Numbers = gone.iter().flat_map(|number| calls_in(index, number)).collect();
    for (call, members) in &assembled.agents.inlined {
        if call.is_some_and(|call| call != NONE && calls.contains(&call)) {
            gone.extend(members.iter().copied());
        }
    }
    gone.extend(duplicates_of(transcript, &gone));

    // Notes about what goes.
    let first = gone.iter().next().unwrap_or(NONE);
    for (number, record) in (0..).zip(&index.records).filter(|(_, record)| record.role == Role::Loose) {
        let refers =
            record.flags.has(Flags::REFERS) && index.find(index.logical(number)).is_some_and(|to| gone.contains(&to));
        if refers || (record.flags.has(Flags::BOOKKEEPING) && number > first) {
            gone.insert(number);
        }
    }
    gone
}

/// Companions that belong to the kept part of the chain.
fn companions_of(transcript: &Transcript, target: u32, kept: &Numbers) -> Numbers {
    let (index, walk) = (&transcript.index, &transcript.assembled.walk);
    let message_of = |number: u32| index.record(number).map_or(NONE, |record| index.answer(record).message);
    let messages: Numbers = kept.iter().map(message_of).filter(|id| *id != NONE).collect();
    let mut calls: Numbers = kept.iter().flat_map(|number| calls_in(index, number)).collect();
    let beside = |stop: &Stop| stop.position <= target;
    let mut found = Numbers::default();
    for stop in walk.companions().filter(beside) {
        let Some(record) = index.record(stop.record) else { continue };
        if record.role == Role::Assistant && messages.contains(&message_of(stop.record)) {
            found.insert(stop.record);
            calls.extend(calls_in(index, stop.record));
        }
        // Failed requests before the target.
        if record.role == Role::System {
            found.insert(stop.record);
        }
    }
    for stop in walk.companions().filter(beside) {
        let Some(record) = index.record(stop.record) else { continue };
        let answers = results_in(index, stop.record).any(|call| calls.contains(&call));
        if record.role == Role::User && answers {
            found.insert(stop.record);
        }
    }
    found
}

fn duplicates_of(transcript: &Transcript, records: &Numbers) -> Vec<u32> {
    let index = &transcript.index;
    let copies = (0..).zip(&index.records).filter(|(_, record)| record.role == Role::Duplicate);
    copies
        .filter(|(number, _)| index.find(index.logical(*number)).is_some_and(|first| records.contains(&first)))
        .map(|(number, _)| number)
        .collect()
}

/// The record that the agent would go on from without the dropped ones.
fn leaf_without(transcript: &Transcript, gone: &Numbers) -> Option<u32> {
    let records = (0_u32..).zip(&transcript.index.records);
    records
        .filter(|(number, record)| record.role.can_lead() && !record.flags.has(Flags::SIDE) && !gone.contains(number))
        .map(|(number, _)| number)
        .last()
}

/// The file without the dropped records; `moved` goes to its end, and behind it a note that `target` is the one to go
/// on from.
fn rewrite(
    transcript: &Transcript,
    source: &Arc<SourceFile>,
    gone: &Numbers,
    moved: Option<u32>,
    target: u32,
    progress: &mut Progress<'_>,
) -> Result<Rewrite, ReadError> {
    let index = &transcript.index;
    let stays = |number: u32| !gone.contains(&number) && moved != Some(number);
    let forest = &transcript.assembled.forest;
    let explicit = displaced(index, forest, &stays, moved);
    let mut rewrite = Rewrite::new(Arc::clone(source));
    let copy = |rewrite: &mut Rewrite, number: u32, record: &Record| -> Result<(), ReadError> {
        let bytes = source.read_at(record.span.offset, record.span.len as usize)?;
        // As it is read now. Where the parent is not in the file, or goes, this is a root; a parent that is named and
        // not there would be looked for elsewhere. Only a chain that came back on itself has such a root.
        let parent = forest.parent(number).filter(|parent| stays(*parent) || moved == Some(*parent)).unwrap_or(NONE);
        let values = if explicit.contains(&number) { link(index, number, parent) } else { Vec::new() };
        keys::splice(rewrite, record.span.offset, &bytes, &values);
        Ok(())
    };
    let mut copied = 0;
    for (number, record) in (0_u32..).zip(&index.records) {
        let span = record.span;
        progress.reach(span.offset)?;
        let own_end = span.offset + u64::from(span.len);
        let end = if stays(number) {
            if !explicit.contains(&number) {
                continue;
            }
            own_end
        } else {
            // A record that stays before this one on the same line needs the line feed after both.
            let shares = record.flags.has(Flags::SHARES_LINE) && number.checked_sub(1).is_some_and(&stays);
            match index.record(number + 1) {
                Some(next) if !shares || next.span.line == span.line => next.span.offset,
                None if !shares => source.len(),
                _ => own_end,
            }
        };
        rewrite.copy(copied, span.offset.saturating_sub(copied));
        if stays(number) {
            copy(&mut rewrite, number, record)?;
        }
        copied = end.max(copied);
    }
    rewrite.copy(copied, source.len().saturating_sub(copied));
    if let Some((number, record)) = moved.and_then(|moved| Some((moved, index.record(moved)?))) {
        if !ends_line(&rewrite)? {
            rewrite.push(b"\n");
        }
        copy(&mut rewrite, number, record)?;
        rewrite.push(b"\n");
    }
    if !ends_line(&rewrite)? {
        rewrite.push(b"\n");
    }
    let leaf = index.node_id(target).to_string();
    rewrite.push(leaf_note(&leaf, &transcript.assembled.session.id).as_bytes());
    Ok(rewrite)
}

/// The note by which the agent finds the record to go on from: it takes the last of these, and only without any the
/// newest leaf, which may be of an abandoned branch.
pub(super) fn leaf_note(leaf: &str, session_id: &str) -> String {
    let line = json!({"type": "last-prompt", "leafUuid": leaf, "sessionId": session_id});
    format!("{line}\n")
}

/// Records whose parent only the order of the file told, and will tell no more.
fn displaced(index: &Index, forest: &Forest, stays: &impl Fn(u32) -> bool, moved: Option<u32>) -> Numbers {
    let (mut last_main, mut last_side) = (NONE, NONE);
    let numbers =
        || (0_u32..).zip(&index.records).map(|(number, _)| number).filter(|number| stays(*number)).chain(moved);
    let bridges = bridges(index, numbers(), |number| stays(number) || moved == Some(number));
    let mut found: Numbers =
        numbers().filter(|number| bridges.get(number).copied() != forest.bridge(*number)).collect();
    // Where a circle was opened tells the order of its compactions, and here one of them moves.
    let is_open = |number: &u32| forest.parent(*number).is_none() && parent_in_file(index, *number).is_some_and(stays);
    found.extend(moved.filter(is_open));
    let records = numbers().filter_map(|number| Some((number, index.record(number)?)));
    for (number, record) in records.filter(|(_, record)| record.node != NONE) {
        let last = if record.flags.has(Flags::SIDE) { &mut last_side } else { &mut last_main };
        if record.flags.has(Flags::IMPLIED) && *last != record.parent {
            found.insert(number);
        }
        *last = record.node;
    }
    found
}

/// Whether what is written so far ends with a line feed.
fn ends_line(rewrite: &Rewrite) -> Result<bool, ReadError> {
    Ok(match rewrite.pieces().last() {
        // What is made are whole lines.
        None | Some(Piece::Made(_)) => true,
        Some(Piece::New(bytes)) => bytes.last() == Some(&b'\n'),
        Some(Piece::Copy { offset, len }) => {
            rewrite.source().read_at(offset + len.saturating_sub(1), 1)?.first() == Some(&b'\n')
        }
    })
}

/// What the preview tells of the dropped part of the active branch.
fn dropped(
    transcript: &Transcript,
    target: u32,
    gone: &Numbers,
    progress: &mut Progress<'_>,
) -> Result<Dropped, ReadError> {
    let (index, assembled) = (&transcript.index, &transcript.assembled);
    let mut dropped = Dropped::default();
    let mut messages = Numbers::default();
    for number in assembled.walk.chain.iter().skip(target as usize + 1) {
        let Some(record) = index.record(*number) else { continue };
        let counts = match record.role {
            Role::User => true,
            Role::Assistant => {
                let message = index.answer(record).message;
                message == NONE || messages.insert(message)
            }
            _ => false,
        };
        dropped.messages += u64::from(counts);
    }
    let passed = transcript.files.first().map_or(0, |file| file.len());
    let mut seen: HashMap<String, ()> = HashMap::new();
    let last_turn = assembled.session.steps.last().map_or(0, |step| step.events.start);
    for (at, event) in assembled.session.events.iter().enumerate() {
        if !matches!(event.kind, EventKind::Tool | EventKind::Question) || !gone.contains(&event.place.record) {
            continue;
        }
        let Some(tool) = &event.tool else { continue };
        let offset = index.record(event.place.record).map_or(0, |record| record.span.offset);
        progress.reach(passed.saturating_add(offset))?;
        match tool.state {
            ToolState::Pending if at >= last_turn => {
                let pending = (tool.name.clone(), tool.call_id.clone());
                if !dropped.pending_approvals.contains(&pending) {
                    dropped.pending_approvals.push(pending);
                }
            }
            ToolState::Done if matches!(tool.name.as_str(), "Edit" | "Write" | "MultiEdit" | "NotebookEdit") => {
                if let Some(action) = file_action(transcript, &event, tool.result)?
                    && seen.insert(action.path.clone(), ()).is_none()
                {
                    dropped.file_actions.push(action);
                }
            }
            ToolState::Done | ToolState::Failed if tool.name == "Bash" => {
                let read = transcript.read(event.place)?;
                let word = |key: &str| {
                    input(&read.value, event.place.block)?.get(key)?.as_str().filter(|text| !text.is_empty())
                };
                let words = word("command").or_else(|| word("description")).unwrap_or(&event.label);
                dropped.irreversible.push((tool.name.clone(), line(words).into()));
            }
            _ => {}
        }
    }
    Ok(dropped)
}

fn input(record: &Value, block: u16) -> Option<&Value> {
    record.get("message")?.get("content")?.get(usize::from(block))?.get("input")
}

/// What takes an edit back. The first edit of a file says whether it was there before.
fn file_action(transcript: &Transcript, event: &Event, result: Option<Place>) -> Result<Option<FileAction>, ReadError> {
    let call = transcript.read(event.place)?;
    let result = result.map(|place| transcript.read(place)).transpose()?;
    let outcome = result.as_ref().and_then(|read| read.value.get("toolUseResult"));
    let input = input(&call.value, event.place.block);
    let text = |value: Option<&Value>, key: &str| value?.get(key)?.as_str().map(str::to_owned);
    let path = text(input, "file_path").or_else(|| text(input, "notebook_path")).or_else(|| text(outcome, "filePath"));
    let created = text(outcome, "type").as_deref() == Some("create");
    let kind = if created { FileActionKind::Delete } else { FileActionKind::Restore };
    Ok(path.map(|path| FileAction { path, kind }))
}
