//! Which bytes of a journal a fork or a revert keeps.
//!
//! Entries are copied as they are. Outpost's own rules decide what has to go or to be added at the end: a journal may not
//! end in a hand-over, and a turn that steering stopped shares its summary with turns that are cut off.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::dropped::dropped;
use super::entry::Entry;
use super::journal::{Journal, Record};
use super::kind::Kind;
use super::turns::{Turn, known_code};
use crate::formats::progress::Progress;
use crate::formats::{Cut, Effect, Fork, Refusal, Revert, json};
use crate::model::Timestamp;
use crate::store::{Framing, ReadError, Rewrite, SourceFile, Watch};

/// A new journal is put together in memory up to this size.
const MAX_FLATTENED_BYTES: u64 = 256 * 1024 * 1024;

pub const NOTHING_LEFT: &str = "nothing would be left: Outpost refuses a journal without turns";

/// The journal up to turn N as a file of its own.
pub fn fork(journal: &Journal, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
    let (keeps, tag) = match cut {
        Cut::After(number) => (existing(journal, number)?, format!("step-{number}")),
        Cut::Before(number) => (existing(journal, number)? - 1, format!("before-step-{number}")),
    };
    let (rewrite, warnings) = rewrite(journal, keeps, &mut progress(journal, watch))?;
    Ok(new_file(journal, keeps, &tag, rewrite, warnings))
}

/// A new journal that holds the first `steps` turns.
fn new_file(journal: &Journal, steps: u32, tag: &str, rewrite: Rewrite, mut warnings: Vec<String>) -> Fork {
    warnings.extend(journal.entries.warnings.iter().cloned());
    Fork {
        session_id: journal.session.id.clone(),
        file_name: file_name(journal, tag),
        rewrite,
        companions: Vec::new(),
        steps,
        warnings,
    }
}

/// The same journal without turn N and everything after it.
pub fn revert(journal: &Journal, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
    let keeps_steps = existing(journal, step_number)? - 1;
    let mut progress = progress(journal, watch);
    let (rewrite, warnings) = rewrite(journal, keeps_steps, &mut progress)?;
    let prefill = match journal.turn(step_number) {
        Some(turn) => Some(journal.prompt_text(turn)?),
        None => None,
    };
    let dropped = dropped(journal, keeps_steps as usize, &mut progress)?;
    let (effect, warnings) = match journal.entries.journal_file() {
        Some(_) => (Effect::Cut(rewrite), warnings),
        None => {
            let tag = format!("before-step-{step_number}");
            let fork = new_file(journal, keeps_steps, &tag, rewrite, warnings);
            let warnings = fork.warnings.clone();
            (Effect::Export(Box::new(fork)), warnings)
        }
    };
    Ok(Revert {
        effect,
        keeps_steps,
        dropped,
        prefill,
        prefill_at: journal.session.step(step_number).and_then(|step| step.at),
        estimate: None,
        rewind: None,
        warnings,
    })
}

/// A plan goes through the journal once, from its start.
fn progress<'a>(journal: &Journal, watch: Watch<'a>) -> Progress<'a> {
    let total = match journal.entries.journal_file() {
        Some((file, _)) => file.len(),
        None => journal.records.iter().map(|record| u64::from(record.span.len)).sum(),
    };
    Progress::new(watch, total)
}

/// Number of the last entry that stays when the first `turns` turns do; `None` when no entry would.
pub fn last_kept_before(journal: &Journal, turns: usize) -> Option<u32> {
    let end = end_of(journal, turns);
    let kept = journal.records.get(..end)?;
    let handover = handover_left_out(journal, turns);
    let last = kept.iter().enumerate().rposition(|(number, record)| is_kept(record, number, handover))?;
    u32::try_from(last).ok()
}

/// The step's number, when there is such a step.
fn existing(journal: &Journal, number: u32) -> Result<u32, Refusal> {
    let steps = journal.turns.list().len();
    if steps == 0 {
        return Err(Refusal::Rule("the journal contains no agent turns, so there is nothing to cut".into()));
    }
    match journal.turn(number) {
        Some(_) => Ok(number),
        None => Err(Refusal::NoStep { step: number, steps }),
    }
}

/// Number of the first entry that goes when the first `turns` turns stay. Phases announce the turn after them.
fn end_of(journal: &Journal, turns: usize) -> usize {
    let Some(next) = journal.turns.list().get(turns) else { return journal.records.len() };
    let before = journal.records.get(..next.start as usize).unwrap_or_default();
    before.len() - before.iter().rev().take_while(|record| record.kind == Kind::Phase).count()
}

/// The `fallback` that would end the journal if its first `turns` turns stayed.
fn handover_left_out(journal: &Journal, turns: usize) -> Option<usize> {
    let turn = journal.turns.list().get(turns.checked_sub(1)?)?;
    turn.handover.map(|number| number as usize)
}

/// Without its hand-over a turn stays open, so what an agent wrote after that would become the turn's: it goes too.
fn is_kept(record: &Record, number: usize, handover: Option<usize>) -> bool {
    let is_agents = record.kind.is_agents_own() || record.kind == Kind::Unknown;
    record.kind != Kind::Unreadable
        && !record.is_shared
        && handover.is_none_or(|handover| number < handover || !is_agents)
}

fn rewrite(journal: &Journal, turns: u32, progress: &mut Progress<'_>) -> Result<(Rewrite, Vec<String>), Refusal> {
    let turns = turns as usize;
    if turns == 0 {
        return Err(Refusal::Rule(NOTHING_LEFT.into()));
    }
    let end = end_of(journal, turns);
    let handover = handover_left_out(journal, turns);
    let kept: Vec<(u32, &Record)> = (0..)
        .zip(journal.records.iter().take(end))
        .filter(|(number, record)| is_kept(record, *number as usize, handover))
        .collect();
    let mut warnings = Vec::new();
    if let Some(number) = handover {
        warnings.push(handover_warning(journal, turns, number)?);
    }
    let added = match journal.turns.list().get(turns - 1) {
        Some(turn) if turn.continued => Some(summary(journal, turn)?),
        _ => None,
    };
    if added.is_some() {
        warnings.push(format!(
            "Step {turns} was stopped by steering and has no summary of its own: one summary entry was added, so that it stays a finished turn"
        ));
    }
    warn_about(journal, turns, end, &kept, progress, &mut warnings)?;
    let rewrite = match journal.entries.journal_file() {
        Some((file, framing)) => assemble(journal, file, framing, &kept, added.as_deref(), progress)?,
        None => flattened(journal, &kept, added.as_deref(), progress)?,
    };
    Ok((rewrite, warnings))
}

fn warn_about(
    journal: &Journal,
    turns: usize,
    end: usize,
    kept: &[(u32, &Record)],
    progress: &Progress<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), ReadError> {
    let has_commits = journal.turns.list().iter().take(turns).filter_map(|turn| turn.changes).try_fold(
        false,
        |found, number| -> Result<bool, ReadError> {
            progress.tell()?;
            Ok(found || journal.with_entry(number, |entry| entry.unavailable.is_none() && entry.commits.is_some())?)
        },
    )?;
    if !has_commits {
        warnings.push(r#"No recorded commits belong to these steps: replay it with divergence: "warn""#.to_owned());
    }
    let unreadable = journal.records.iter().take(end).filter(|record| record.kind == Kind::Unreadable).count();
    if unreadable > 0 {
        let records = if unreadable == 1 { "1 record".to_owned() } else { format!("{unreadable} records") };
        warnings.push(format!("{records} left out that cannot be read: Outpost refuses a journal for one bad entry"));
    }
    let refused = kept.iter().filter(|(_, record)| record.refused).count();
    if refused > 0 {
        let entries = if refused == 1 { "1 kept entry".to_owned() } else { format!("{refused} kept entries") };
        warnings.push(format!("Outpost would refuse {entries}; the reading report names them"));
    }
    Ok(())
}

fn handover_warning(journal: &Journal, turns: usize, number: usize) -> Result<String, ReadError> {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let name = journal.with_entry(number, |entry| Entry::candidate(entry.to).name.to_owned_option())?;
    let name = name.unwrap_or_else(|| "another agent".to_owned());
    // Only the end of the whole journal keeps its dispatch-finished, and with it another code.
    let mut code = "process".to_owned();
    if turns == journal.turns.list().len()
        && let Some(finished) = journal.turns.finished
    {
        code = journal.with_entry(finished, |entry| {
            known_code(entry.fault().and_then(|fault| fault.code.to_owned_option()).as_deref()).to_owned()
        })?;
    }
    Ok(format!(
        "Step {turns} was handed over to {name}; the handover is left out because a journal may not end in one, so Outpost will report step {turns} as failed ({code})"
    ))
}

/// A `summary` that ends a turn as its own: in its envelope, with the tokens that leave the turn its usage.
fn summary(journal: &Journal, turn: &Turn) -> Result<Vec<u8>, ReadError> {
    let start: Map<String, Value> = {
        let text = journal.text_of(turn.start)?;
        let mut spare = String::new();
        json::record(&text, &mut spare).unwrap_or_default()
    };
    let last = journal.members(turn).last().map_or(turn.start, |(number, _)| number);
    let last: Map<String, Value> = {
        let text = journal.text_of(last)?;
        let mut spare = String::new();
        json::record(&text, &mut spare).unwrap_or_default()
    };
    let time = |entry: &Map<String, Value>| entry.get("at").and_then(Value::as_str).and_then(Timestamp::parse);
    let took = time(&start).zip(time(&last)).map_or(0, |(from, to)| to.since(from).max(0));
    let mut entry = Map::new();
    if let Some(at) = last.get("at") {
        entry.insert("at".into(), at.clone());
    }
    entry.insert("kind".into(), "summary".into());
    entry.insert("durationMs".into(), took.into());
    entry.insert("status".into(), 0.into());
    // A resumed turn's usage is what is left of its summary after the turns before it in the pass.
    entry.insert("tokens".into(), turn.before.plus(turn.usage()).to_json());
    for field in ["pass", "label"] {
        if let Some(value) = start.get(field) {
            entry.insert(field.into(), value.clone());
        }
    }
    if let Some(seq) = last.get("seq").and_then(Value::as_u64) {
        entry.insert("seq".into(), seq.saturating_add(1).into());
    }
    for field in ["source", "scope"] {
        if let Some(value) = start.get(field) {
            entry.insert(field.into(), value.clone());
        }
    }
    Ok(Value::Object(entry).to_string().into_bytes())
}

/// The kept entries as a new journal, in the form that Outpost replays whatever form they were kept in.
fn flattened(
    journal: &Journal,
    kept: &[(u32, &Record)],
    added: Option<&[u8]>,
    progress: &mut Progress<'_>,
) -> Result<Rewrite, Refusal> {
    let Some(file) = journal.entries.files.first() else { return Err(Refusal::Rule(NOTHING_LEFT.into())) };
    let bytes: u64 = kept.iter().map(|(_, record)| u64::from(record.span.len)).sum();
    if bytes > MAX_FLATTENED_BYTES {
        let limit = MAX_FLATTENED_BYTES / (1024 * 1024);
        return Err(Refusal::Rule(format!(
            "the new journal would be larger than {limit} MiB, the most that is made anew"
        )));
    }
    let mut out = Rewrite::new(Arc::clone(file));
    let mut lead: &[u8] = b"[\n";
    for (number, record) in kept {
        out.push(lead);
        out.push(journal.text_of(*number)?.as_bytes());
        progress.add(record.span.len.into())?;
        lead = b",\n";
    }
    if let Some(added) = added {
        out.push(lead);
        out.push(added);
    }
    out.push(b"\n]\n");
    Ok(out)
}

/// The file of the kept records, with the file's own separators wherever they are sound.
fn assemble(
    journal: &Journal,
    file: &Arc<SourceFile>,
    framing: Framing,
    kept: &[(u32, &Record)],
    added: Option<&[u8]>,
    progress: &mut Progress<'_>,
) -> Result<Rewrite, Refusal> {
    let mut out = Rewrite::new(Arc::clone(file));
    let mut separators = Separators { file, framing, own: Vec::new() };
    separators.own = separators.first_sound(&journal.records)?;
    if let Framing::Array { start } = framing {
        let first = journal.records.first().map_or(start + 1, |first| first.span.offset);
        let lead = separators.gap(start + 1, first)?;
        // A byte order mark before the bracket goes: Outpost would stumble over it.
        out.copy(start, 1 + if lead.trim_ascii().is_empty() { lead.len() as u64 } else { 0 });
    }
    let mut before: Option<&Record> = None;
    for (_, record) in kept {
        progress.reach(record.end())?;
        if let Some(before) = before {
            separators.between(&mut out, before, record)?;
        }
        out.copy(record.span.offset, record.span.len.into());
        before = Some(record);
    }
    if let Some(added) = added {
        if before.is_some() {
            out.push(&separators.own);
        }
        out.push(added);
    }
    separators.end(&mut out, &journal.records)?;
    Ok(out)
}

/// What lies between two records.
struct Separators<'a> {
    file: &'a SourceFile,
    framing: Framing,
    /// What the file itself puts between two entries.
    own: Vec<u8>,
}

impl Separators<'_> {
    fn between(&self, out: &mut Rewrite, before: &Record, record: &Record) -> Result<(), ReadError> {
        let gap = self.gap(before.end(), record.span.offset)?;
        if is_separator(self.framing, &gap) {
            out.copy(before.end(), gap.len() as u64);
        } else {
            out.push(&self.own);
        }
        Ok(())
    }

    /// Closes the file as it was closed, or as it should have been.
    fn end(&self, out: &mut Rewrite, records: &[Record]) -> Result<(), ReadError> {
        match self.framing {
            Framing::Lines => out.push(&self.own),
            Framing::Array { .. } => {
                let from = records.last().map_or(0, Record::end);
                let tail = self.gap(from, self.file.len())?;
                if tail.trim_ascii() == b"]" {
                    out.copy(from, tail.len() as u64);
                } else {
                    out.push(b"]\n");
                }
            }
        }
        Ok(())
    }

    /// The first sound separator of the file, or a plain one.
    fn first_sound(&self, records: &[Record]) -> Result<Vec<u8>, ReadError> {
        for pair in records.windows(2).take(16) {
            if let [before, record] = pair {
                let gap = self.gap(before.end(), record.span.offset)?;
                if is_separator(self.framing, &gap) {
                    return Ok(gap);
                }
            }
        }
        Ok(match self.framing {
            Framing::Lines => b"\n".to_vec(),
            Framing::Array { .. } => b",".to_vec(),
        })
    }

    /// The bytes from `from` to `to`; longer ones than a separator can be are cut, so that they are none.
    fn gap(&self, from: u64, to: u64) -> Result<Vec<u8>, ReadError> {
        const MAX_GAP_BYTES: u64 = 4096;
        let len = to.saturating_sub(from);
        if len == 0 || len > MAX_GAP_BYTES {
            return Ok(Vec::new());
        }
        self.file.read_at(from, usize::try_from(len).unwrap_or(0))
    }
}

fn is_separator(framing: Framing, gap: &[u8]) -> bool {
    match framing {
        Framing::Lines => gap.trim_ascii().is_empty() && gap.contains(&b'\n'),
        Framing::Array { .. } => gap.trim_ascii() == b",",
    }
}

/// `journal.json` → `journal.step-3.json`; a new journal is always an array.
fn file_name(journal: &Journal, tag: &str) -> String {
    let source = &journal.session.source;
    let stem = source.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match (journal.entries.journal_file(), source.extension()) {
        (Some(_), Some(extension)) => format!("{stem}.{tag}.{}", extension.to_string_lossy()),
        (Some(_), None) => format!("{stem}.{tag}"),
        (None, _) if journal.entries.framing().is_some() => format!("{stem}.{tag}.json"),
        (None, _) => format!("journal-{}.{tag}.json", journal.session.id),
    }
}
