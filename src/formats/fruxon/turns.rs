//! Turns: what a participant said and the runs, replies and frames that belong to it.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::facts::{Facts, Frame, Spot, Stream};
use super::field::{any_id, id, text, time};
use super::inbound::unframed;
use super::kind::Kind;
use super::prompts::{self, Prompt};
use super::read::FileData;
use super::rows::{Author, Row};
use crate::model::Timestamp;

/// A turn.
#[derive(Default)]
pub struct Turn<'a> {
    /// `None` for what came before the first prompt: those rows are no step.
    pub prompt: Option<Prompt>,
    pub at: Option<Timestamp>,
    /// Its messages, the prompt first where it is one.
    pub rows: Vec<usize>,
    /// Where they are, as `(file, record)`.
    pub row_spots: Vec<(usize, usize)>,
    /// The runs that answer it; runs that those started are not among them.
    pub runs: Vec<usize>,
    /// Nothing but its time says that the first run answers it.
    pub is_by_time: bool,
    pub frames: Vec<Frame<'a>>,
    /// Approvals of no known run.
    pub approvals: Vec<usize>,
    pub others: Vec<(Kind, Spot)>,
    pub scenario: Option<Spot>,
}

impl Turn<'_> {
    /// Whether the prompt is a message of the conversation.
    pub fn prompt_row(&self) -> Option<usize> {
        match &self.prompt {
            Some(Prompt::Row(row)) => Some(*row),
            _ => None,
        }
    }
}

/// The turns of a conversation in their order.
pub fn turns<'a>(files: &'a [FileData], rows: &[Row<'a>], facts: &Facts<'a>) -> Vec<Turn<'a>> {
    let mut turns = by_rows(rows);
    let mut left = Left::new(facts);
    claim_by_rows(&mut turns, rows, facts, &mut left);
    if turns.is_empty() {
        turns = by_streams(files, facts);
        claim_by_frames(&mut turns, facts, &mut left);
    } else {
        give_frames(&mut turns, rows, facts);
    }
    let has_messages = turns.iter().any(|turn| turn.prompt_row().is_some());
    for run in left.rest() {
        let start = facts.runs.get(run).and_then(|run| run.start);
        let place = turn_at(&turns, start).filter(|_| has_messages);
        match place.and_then(|place| turns.get_mut(place)) {
            Some(turn) => {
                turn.is_by_time |= turn.runs.is_empty();
                turn.runs.push(run);
            }
            None => turns.push(Turn {
                at: start,
                prompt: prompts::of_run(files, facts, run),
                runs: vec![run],
                ..Turn::default()
            }),
        }
    }
    give_approvals(&mut turns, facts, has_messages);
    give_others(files, &mut turns, facts, has_messages);
    if !has_messages {
        turns.sort_by_key(|turn| turn.at.map_or(i64::MAX, |at| at.0));
        for turn in &mut turns {
            let run = turn.runs.first().copied();
            if matches!(turn.prompt, None | Some(Prompt::Unknown(_)))
                && let Some(prompt) = run.and_then(|run| prompts::of_run(files, facts, run))
            {
                turn.prompt = Some(prompt);
            }
        }
    }
    turns
}

/// The turn in which a moment lies: that of the last prompt before it. The last turn for no moment.
fn turn_at(turns: &[Turn<'_>], at: Option<Timestamp>) -> Option<usize> {
    let last = turns.len().checked_sub(1)?;
    let Some(at) = at else { return Some(last) };
    let before = turns.iter().rposition(|turn| turn.prompt.is_some() && turn.at.is_some_and(|prompt| prompt <= at));
    Some(before.unwrap_or(0))
}

fn by_rows<'a>(rows: &[Row<'_>]) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    let has_prompts = rows.iter().any(|row| row.author == Author::Participant);
    for (index, row) in rows.iter().enumerate() {
        let is_prompt = row.author == Author::Participant;
        if is_prompt || turns.is_empty() {
            let prompt = match (is_prompt, has_prompts) {
                (true, _) => Some(Prompt::Row(index)),
                (false, true) => None,
                (false, false) => Some(Prompt::Unknown(prompts::NOBODY_WROTE)),
            };
            turns.push(Turn { prompt, at: row.at, ..Turn::default() });
        }
        if let Some(turn) = turns.last_mut() {
            turn.rows.push(index);
            turn.row_spots.push((row.file, row.record));
        }
    }
    turns
}

/// Runs that no other run here started. Where runs name each other in a circle, the first of it.
fn roots(facts: &Facts<'_>) -> Vec<usize> {
    let mut roots = Vec::new();
    let mut reached = HashSet::new();
    for index in 0..facts.runs.len() {
        let mut on_path = HashSet::new();
        let mut at = index;
        while !reached.contains(&at) && on_path.insert(at) {
            let parent = facts.runs.get(at).and_then(|run| run.parent.as_deref());
            match parent.and_then(|parent| facts.run_with(parent)).filter(|parent| *parent != at) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        // Either the end of the way up, or a run of a circle that nobody has come to yet.
        if !reached.contains(&at) {
            roots.push(at);
        }
        reached.extend(on_path);
    }
    roots
}

/// Gives each turn the runs that its rows name, and each prompt without an answer the run that began before the next.
fn claim_by_rows(turns: &mut [Turn<'_>], rows: &[Row<'_>], facts: &Facts<'_>, left: &mut Left) {
    for turn in turns.iter_mut() {
        for run in turn.rows.iter().filter_map(|row| rows.get(*row)?.run.as_deref()) {
            if let Some(index) = facts.run_with(run).filter(|index| !turn.runs.contains(index)) {
                turn.runs.push(index);
                left.taken.insert(index);
            }
        }
    }
    for place in 0..turns.len() {
        let next = turns.get(place + 1).and_then(|turn| turn.at);
        let Some(turn) = turns.get_mut(place) else { continue };
        let Some(from) = turn.at.filter(|_| turn.prompt.is_some() && turn.runs.is_empty()) else { continue };
        let names_none = turn.rows.iter().all(|row| rows.get(*row).is_none_or(|row| row.run.is_none()));
        if let Some(run) = left.first_between(from, next).filter(|_| names_none) {
            turn.runs.push(run);
            turn.is_by_time = true;
            left.taken.insert(run);
        }
    }
}

/// Runs that no turn has claimed, by their start.
struct Left {
    by_start: Vec<(i64, usize)>,
    taken: HashSet<usize>,
}

impl Left {
    fn new(facts: &Facts<'_>) -> Self {
        let start = |index: &usize| facts.runs.get(*index).and_then(|run| run.start).map_or(i64::MAX, |at| at.0);
        let mut by_start: Vec<(i64, usize)> = roots(facts).into_iter().map(|index| (start(&index), index)).collect();
        by_start.sort_unstable();
        Self { by_start, taken: HashSet::new() }
    }

    fn first_between(&self, from: Timestamp, to: Option<Timestamp>) -> Option<usize> {
        let after = self.by_start.iter().skip(self.by_start.partition_point(|(start, _)| *start < from.0));
        let before = after.take_while(|(start, _)| *start < to.map_or(i64::MAX, |to| to.0));
        before.map(|(_, run)| *run).find(|run| !self.taken.contains(run))
    }

    fn rest(self) -> Vec<usize> {
        self.by_start.into_iter().map(|(_, run)| run).filter(|run| !self.taken.contains(run)).collect()
    }
}

/// Turns of streams alone: in a sandbox they end with the frame that says so, a run is one.
fn by_streams<'a>(files: &'a [FileData], facts: &Facts<'a>) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    let mut open: Option<usize> = None;
    for stream in &facts.streams {
        if stream.is_run || stream.scenario.is_some() {
            turns.push(of_stream(files, stream));
            open = None;
            continue;
        }
        for frame in &stream.frames {
            let marks_only = matches!(frame.kind, "start" | "stopped" | "heartbeat" | "stream_live");
            if marks_only && open.is_none() {
                continue;
            }
            let index = *open.get_or_insert_with(|| {
                turns.push(Turn { prompt: Some(Prompt::Unknown(prompts::STREAM_ONLY)), ..Turn::default() });
                turns.len() - 1
            });
            let Some(turn) = turns.get_mut(index) else { continue };
            turn.at = turn.at.or(frame.at);
            turn.frames.push(frame.clone());
            if ends_turn(frame) {
                open = None;
            }
        }
    }
    turns
}

fn of_stream<'a>(files: &'a [FileData], stream: &Stream<'a>) -> Turn<'a> {
    let scenario = stream.scenario.clone();
    let prompt = scenario.as_ref().map(|spot| prompts::of_text(files, spot.below("name")));
    Turn {
        prompt: Some(prompt.unwrap_or(Prompt::Unknown(prompts::STREAM_ONLY))),
        at: stream.frames.iter().find_map(|frame| frame.at),
        frames: stream.frames.clone(),
        scenario,
        ..Turn::default()
    }
}

/// Whether nothing of the turn follows: it was answered, or failed. One that is suspended goes on.
pub fn ends_turn(frame: &Frame<'_>) -> bool {
    frame.kind == "turn_complete" && !matches!(text(frame.value, "outcome"), Some("suspended") | None)
}

/// Gives turns of streams the runs that their frames or approvals name.
fn claim_by_frames(turns: &mut [Turn<'_>], facts: &Facts<'_>, left: &mut Left) {
    for turn in turns.iter_mut() {
        for frame in &turn.frames {
            if let Some(index) = run_of_frame(frame, facts).filter(|index| !left.taken.contains(index)) {
                turn.runs.push(index);
                left.taken.insert(index);
            }
        }
    }
}

/// The run that a frame names, itself or by the approval that it asks for.
fn run_of_frame(frame: &Frame<'_>, facts: &Facts<'_>) -> Option<usize> {
    if let Some(run) = any_id(frame.value, &["record_id", "executionRecordId"]) {
        return facts.run_with(&run);
    }
    if let Some(operation) = id(frame.value, "operationId") {
        let child = facts.runs.iter().find(|run| run.operation.as_deref() == Some(&operation))?;
        return facts.run_with(child.parent.as_deref()?);
    }
    let request = id(frame.value, "requestId").filter(|_| frame.kind == "pending_approval")?;
    let approval = facts.approvals.iter().find(|approval| approval.id.as_deref() == Some(&request))?;
    facts.run_with(approval.run.as_deref()?)
}

/// Gives each stretch of frames to the turn whose reply, run or time it has.
fn give_frames<'a>(turns: &mut [Turn<'a>], rows: &[Row<'_>], facts: &Facts<'a>) {
    let mut stretches: Vec<Vec<Frame<'a>>> = vec![Vec::new()];
    for frame in facts.streams.iter().flat_map(|stream| &stream.frames) {
        if let Some(stretch) = stretches.last_mut() {
            stretch.push(frame.clone());
        }
        if ends_turn(frame) {
            stretches.push(Vec::new());
        }
    }
    let mut last = turns.len().saturating_sub(1);
    for stretch in stretches.into_iter().filter(|stretch| !stretch.is_empty()) {
        let place = turn_of(&stretch, turns, rows, facts).unwrap_or(last);
        last = place;
        if let Some(turn) = turns.get_mut(place) {
            turn.frames.extend(stretch);
        }
    }
}

fn turn_of(stretch: &[Frame<'_>], turns: &[Turn<'_>], rows: &[Row<'_>], facts: &Facts<'_>) -> Option<usize> {
    let replies = stretch.iter().filter(|frame| frame.kind == "reply");
    for (said, at) in replies.filter_map(|frame| Some((text(frame.value, "text")?, time(frame.value, "at")?))) {
        let is_it = |row: &Row<'_>| row.at == Some(at) && row.text.trim() == said.trim();
        if let Some(row) = rows.iter().position(is_it) {
            return turns.iter().position(|turn| turn.rows.contains(&row));
        }
    }
    let run = stretch.iter().find_map(|frame| run_of_frame(frame, facts));
    if let Some(place) = run.and_then(|run| turns.iter().position(|turn| turn.runs.contains(&run))) {
        return Some(place);
    }
    let at = stretch.iter().find_map(|frame| frame.at)?;
    turn_at(turns, Some(at))
}

/// Gives approvals of no known run to the turn whose frames or other approvals they go with, or by their time.
fn give_approvals(turns: &mut Vec<Turn<'_>>, facts: &Facts<'_>, has_messages: bool) {
    let mut frames: HashMap<(usize, usize), usize> = HashMap::new();
    for (place, turn) in turns.iter().enumerate() {
        frames.extend(turn.frames.iter().map(|frame| ((frame.spot.file, frame.spot.record), place)));
    }
    let mut by_run: HashMap<&str, usize> = HashMap::new();
    for (index, approval) in facts.approvals.iter().enumerate() {
        let run = approval.run.as_deref();
        if run.is_some_and(|run| facts.run_with(run).is_some()) {
            continue;
        }
        let in_frames = frames.get(&(approval.spot.file, approval.spot.record)).copied();
        let same_run = || run.and_then(|run| by_run.get(run)).copied();
        let by_time = || turn_at(turns, approval.requested).filter(|_| has_messages);
        let place = in_frames.or_else(same_run).or_else(by_time).unwrap_or_else(|| {
            turns.push(Turn {
                prompt: Some(Prompt::Unknown(prompts::APPROVAL_ONLY)),
                at: approval.requested,
                ..Turn::default()
            });
            turns.len() - 1
        });
        by_run.extend(run.map(|run| (run, place)));
        if let Some(turn) = turns.get_mut(place) {
            turn.approvals.push(index);
        }
    }
}

/// Answers to rewinds and forks, and what is shown as it is.
fn give_others(files: &[FileData], turns: &mut Vec<Turn<'_>>, facts: &Facts<'_>, has_messages: bool) {
    for (kind, spot) in &facts.answers {
        let value = spot.value(files);
        let prompt = time(value, "prefillOccurredAt");
        let place = turns.iter().position(|turn| turn.prompt_row().is_some() && turn.at == prompt && prompt.is_some());
        let same = |turn: &Turn<'_>| turn.others.iter().any(|(_, other)| is_same_answer(other.value(files), value));
        let place = place.or_else(|| turns.iter().position(same));
        match place.or(if has_messages { turns.len().checked_sub(1) } else { None }).and_then(|at| turns.get_mut(at)) {
            Some(turn) => turn.others.push((*kind, spot.clone())),
            None => turns.push(Turn {
                prompt: Some(prompts::of_text(files, spot.below("prefillText"))),
                at: prompt,
                others: vec![(*kind, spot.clone())],
                ..Turn::default()
            }),
        }
    }
    for (kind, spot) in &facts.others {
        let run = id(spot.value(files), "executionId").and_then(|run| facts.run_with(&run));
        match turns.iter_mut().find(|turn| run.is_some_and(|run| turn.runs.contains(&run))) {
            Some(turn) => turn.others.push((*kind, spot.clone())),
            None => turns.push(Turn {
                prompt: Some(prompts::of_other(files, *kind, spot)),
                others: vec![(*kind, spot.clone())],
                ..Turn::default()
            }),
        }
    }
}

/// Whether two answers give the same message back.
fn is_same_answer(a: &Value, b: &Value) -> bool {
    let said = |value| text(value, "prefillText").map(unframed);
    said(a).is_some() && said(a) == said(b) && time(a, "prefillOccurredAt") == time(b, "prefillOccurredAt")
}
