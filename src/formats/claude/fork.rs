//! A new session that ends after a step, or before one, in the form that Claude Code itself writes for a branch.
//!
//! Records stay byte for byte but for their session's id and `forkedFrom`, which says where they came from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::Transcript;
use super::index::{Flags, Index, NONE, Record, Role, Symbol};
use super::kept::{self, Kept};
use super::numbers::Numbers;
use super::session::bar;
use super::steps::{NOTHING_BEFORE, targets};
use super::subagents::{AgentFile, MAX_META_BYTES};
use crate::formats::keys::{self, Missing};
use crate::formats::progress::Progress;
use crate::formats::{Cut, Fork, Refusal};
use crate::model::StepKind;
use crate::store::{Batches, Made, ReadAhead, ReadError, Rewrite, SourceFile, Watch};

pub(super) fn plan(transcript: &Transcript, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
    let (Cut::After(number) | Cut::Before(number)) = cut;
    let step = transcript.step(number)?;
    let place = transcript.place_of(number)?;
    // A step that cannot be the last of a fork may still be the one that a fork ends before.
    let refusal = match cut {
        Cut::After(_) => step.fork_refusal.clone(),
        Cut::Before(_) => bar(&transcript.index, &transcript.assembled.walk).map(str::to_owned),
    };
    if let Some(reason) = refusal {
        return Err(Refusal::Rule(reason));
    }
    let source = transcript.whole_source()?;
    let (index, assembled) = (&transcript.index, &transcript.assembled);
    let targets = targets(index, &assembled.walk, &assembled.marks);
    // A turn may go on over questions, which are steps of their own: a fork of N ends before step N + 1 was asked.
    let next_asks = assembled.session.steps.get(place + 1).is_some_and(|next| next.kind == StepKind::QuestionAnswer);
    let target = match cut {
        Cut::After(_) if next_asks => targets.get(place + 1).and_then(|next| next.revert),
        Cut::After(_) => targets.get(place).and_then(|own| own.fork),
        Cut::Before(_) => targets.get(place).and_then(|own| own.revert),
    };
    let Some(target) = target else {
        let reason = NOTHING_BEFORE.replace("reverting it would leave", "a fork before it would be");
        return Err(Refusal::Rule(reason));
    };
    let kept = kept::up_to(index, assembled, target, &Progress::new(watch, source.len()))?;
    if kept.chain.is_empty() {
        return Err(Refusal::Rule("nothing but a call without a result would be left".to_owned()));
    }
    let session_id = uuid::Uuid::new_v4().to_string();
    let mut rewrite = Rewrite::new(Arc::clone(source));
    rewrite.make(Arc::new(Copied {
        index: Arc::clone(&transcript.index),
        order: ranges(with_inlined(transcript, &kept)),
        session: json!(session_id).to_string(),
        forked_from: Some(format!("{{\"sessionId\":{},\"messageUuid\":", json!(assembled.session.id))),
        relinked: kept.relinked.clone(),
    }));
    rewrite.push(title_line(transcript, cut, &session_id).as_bytes());

    let steps = steps_in(transcript, &kept);
    let wanted = if matches!(cut, Cut::After(_)) { number } else { number - 1 };
    Ok(Fork {
        file_name: format!("{session_id}.jsonl"),
        companions: companions(&agents_of(transcript, &kept), &session_id),
        warnings: warnings(index, &kept, steps, wanted, next_asks && matches!(cut, Cut::After(_))),
        session_id,
        rewrite,
        steps,
    })
}

fn warnings(index: &Index, kept: &Kept, steps: u32, wanted: u32, asks_next: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let left_out = |count: usize| match count {
        1 => "1 tool call without a result was left out".to_owned(),
        _ => format!("{count} tool calls without a result were left out"),
    };
    if kept.trimmed > 0 {
        warnings.push(format!("{} at the end", left_out(kept.trimmed)));
    }
    if kept.dropped > 0 {
        warnings.push(left_out(kept.dropped));
    }
    for lost in kept.lost.iter().filter_map(|lost| index.record(*lost)) {
        warnings.push(format!("the record on line {} could not be read and is not in the fork", lost.span.line));
    }
    if asks_next {
        let next = wanted + 1;
        warnings
            .push(format!("step {wanted} goes on with the question of step {next}; the fork ends before it was asked"));
    }
    if steps != wanted {
        let held = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
        warnings.push(format!("the fork holds {held}, not {wanted}"));
    }
    warnings
}

/// The kept records, those of agents inside this file after the calls that started them.
fn with_inlined(transcript: &Transcript, kept: &Kept) -> Vec<u32> {
    let (index, agents) = (&transcript.index, &transcript.assembled.agents);
    let mut inlined: HashMap<Symbol, Vec<&Vec<u32>>> = HashMap::new();
    for (call, members) in &agents.inlined {
        inlined.entry(call.unwrap_or(NONE)).or_default().push(members);
    }
    let mut order = Vec::with_capacity(kept.order.len());
    for number in &kept.order {
        order.push(*number);
        for call in kept::calls_in(index, *number).filter(|call| *call != NONE) {
            order.extend(inlined.remove(&call).unwrap_or_default().into_iter().flatten());
        }
    }
    order
}

/// How many steps the kept records make.
fn steps_in(transcript: &Transcript, kept: &Kept) -> u32 {
    let on: Numbers = kept.order.iter().copied().collect();
    kept::steps_among(&transcript.index, &transcript.assembled, &kept.chain, |record| on.contains(&record))
}

fn title_line(transcript: &Transcript, cut: Cut, session_id: &str) -> String {
    let title = transcript.assembled.session.title.as_deref().unwrap_or("untitled");
    let title = match cut {
        Cut::After(number) => format!("{title} (fork of step {number})"),
        Cut::Before(number) => format!("{title} (fork before step {number})"),
    };
    let line = json!({"type": "custom-title", "customTitle": title, "sessionId": session_id});
    format!("{line}\n")
}

/// Records under the identity of another session, made when they are written.
struct Copied {
    index: Arc<Index>,
    /// Runs of records, in the order in which they are written.
    order: Vec<Range<u32>>,
    /// The new session's id, as JSON.
    session: String,
    /// The start of what is said of where a record comes from, up to the record's id; `None` where nothing is said.
    forked_from: Option<String>,
    /// Records to be linked to another one than the one that is left out.
    relinked: HashMap<u32, u32>,
}

impl fmt::Debug for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Copied").field("runs", &self.order.len()).finish_non_exhaustive()
    }
}

impl Copied {
    fn records(&self) -> impl Iterator<Item = (u32, &Record)> {
        let numbers = self.order.iter().flat_map(Clone::clone);
        numbers.filter_map(|number| Some((number, self.index.record(number)?)))
    }

    /// What is set in a record.
    fn values(&self, number: u32, record: &Record) -> Vec<(&'static str, Cow<'_, str>, Missing)> {
        let session = || Cow::Borrowed(&*self.session);
        let Some(from) = &self.forked_from else {
            return ["sessionId", "session_id"].map(|key| (key, session(), Missing::Leave)).into();
        };
        let id = serde_json::to_string(&*self.index.node_id(number).to_string()).unwrap_or_default();
        let from = [from, &*id, "}"].concat();
        let mut values = vec![
            ("sessionId", session(), Missing::Add),
            ("session_id", session(), Missing::Leave),
            ("forkedFrom", from.into(), Missing::Add),
        ];
        let implied = record.flags.has(Flags::IMPLIED);
        let relinked = self.relinked.get(&number).copied();
        let parent = relinked.or_else(|| implied.then(|| self.index.find(record.parent).unwrap_or(NONE)));
        values.extend(parent.into_iter().flat_map(|parent| kept::link(&self.index, number, parent)));
        values
    }
}

impl Made for Copied {
    fn source_bytes(&self) -> u64 {
        self.records().map(|(_, record)| u64::from(record.span.len)).sum()
    }

    fn make(&self, source: &SourceFile, batches: &mut Batches<'_>) -> Result<(), ReadError> {
        let mut ahead = ReadAhead::new(source);
        for (number, record) in self.records() {
            let bytes = ahead.bytes(record.span.offset, record.span.len as usize)?;
            let values = self.values(number, record);
            let mended = self.forked_from.as_ref().and_then(|_| keys::without_controls(bytes, &values));
            match mended {
                Some(mended) => batches.push(&mended)?,
                None => keys::put(bytes, &values, |part| batches.push(part))?,
            }
            batches.push(b"\n")?;
            batches.done(record.span.len.into());
        }
        Ok(())
    }
}

/// Record numbers as runs of those that follow each other.
fn ranges(numbers: impl IntoIterator<Item = u32>) -> Vec<Range<u32>> {
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => ranges.push(number..number + 1),
        }
    }
    ranges
}

/// The files of subagents that kept calls started.
fn agents_of<'a>(transcript: &'a Transcript, kept: &Kept) -> Vec<&'a AgentFile> {
    let files = transcript.assembled.agents.files.iter();
    files
        .filter(|(call, _)| call.is_some_and(|call| kept.calls.contains(&call)))
        .filter_map(|(_, number)| transcript.agents.get(*number))
        .collect()
}

/// The files of subagents as they are to be, under the new session's folder.
fn companions(agents: &[&AgentFile], session_id: &str) -> Vec<(PathBuf, Rewrite)> {
    let mut found = Vec::new();
    for file in agents {
        let readable = (0..).zip(&file.index.records).filter(|(_, record)| record.role != Role::Unreadable);
        let mut rewrite = Rewrite::new(Arc::clone(&file.source));
        rewrite.make(Arc::new(Copied {
            index: Arc::clone(&file.index),
            order: ranges(readable.map(|(number, _)| number)),
            session: json!(session_id).to_string(),
            forked_from: None,
            relinked: HashMap::new(),
        }));
        let folder = Path::new(session_id);
        found.push((folder.join(&file.relative), rewrite));
        if let Some(path) = &file.meta_path
            && let Ok(meta) = SourceFile::open(path)
            && meta.len() <= MAX_META_BYTES
        {
            let len = meta.len();
            let mut rewrite = Rewrite::new(Arc::new(meta));
            rewrite.copy(0, len);
            found.push((folder.join(&file.relative).with_extension("meta.json"), rewrite));
        }
    }
    found
}
