//! A new session that ends after a step, or before one, in the form that Claude Code itself writes for a branch.
//!
//! Records stay byte for byte but for their session's id and `forkedFrom`, which says where they came from.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::Transcript;
use super::index::{Flags, Index, NONE, Role, Symbol};
use super::kept::{self, Kept};
use super::session::bar;
use super::steps::{NOTHING_BEFORE, targets};
use super::subagents::{AgentFile, MAX_META_BYTES};
use crate::formats::keys::{self, Missing};
use crate::formats::progress::Progress;
use crate::formats::{Cut, Fork, Refusal};
use crate::model::StepKind;
use crate::store::{ReadError, Rewrite, SourceFile, Watch};

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
    let identity = Identity { new: &session_id, old: &assembled.session.id };

    let order = with_inlined(transcript, &kept);
    let agents = agents_of(transcript, &kept);
    let mut progress = Progress::new(watch, bytes_of(index, &order, &agents));
    let mut rewrite = Rewrite::new(Arc::clone(source));
    for record in order {
        progress.add(index.record(record).map_or(0, |record| record.span.len.into()))?;
        identity.copy(&mut rewrite, source, index, record, kept.relinked.get(&record).copied())?;
    }
    rewrite.push(title_line(transcript, cut, &session_id).as_bytes());

    let steps = steps_in(transcript, &kept);
    let wanted = if matches!(cut, Cut::After(_)) { number } else { number - 1 };
    Ok(Fork {
        file_name: format!("{session_id}.jsonl"),
        companions: companions(&agents, &session_id, &mut progress)?,
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
    let on: HashSet<u32> = kept.order.iter().copied().collect();
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

/// The ids of the new session and of the one it comes from.
struct Identity<'a> {
    new: &'a str,
    old: &'a str,
}

impl Identity<'_> {
    /// Copies a record under the new identity. `parent` is a record to be linked to instead of one that is left out.
    fn copy(
        &self,
        rewrite: &mut Rewrite,
        source: &SourceFile,
        index: &Index,
        number: u32,
        parent: Option<u32>,
    ) -> Result<(), ReadError> {
        let Some(record) = index.record(number) else { return Ok(()) };
        let bytes = source.read_at(record.span.offset, record.span.len as usize)?;
        let session = json!(self.new).to_string();
        let from = json!({"sessionId": self.old, "messageUuid": index.node_id(number).to_string()}).to_string();
        let mut values = vec![
            ("sessionId", session.clone(), Missing::Add),
            ("session_id", session, Missing::Leave),
            ("forkedFrom", from, Missing::Add),
        ];
        let implied = record.flags.has(Flags::IMPLIED);
        let parent = parent.or_else(|| implied.then(|| index.find(record.parent).unwrap_or(NONE)));
        values.extend(parent.into_iter().flat_map(|parent| kept::link(index, number, parent)));
        match keys::without_controls(&bytes, &values) {
            Some(mended) => rewrite.push(&mended),
            None => keys::splice(rewrite, record.span.offset, &bytes, &values),
        }
        rewrite.push(b"\n");
        Ok(())
    }
}

/// The files of subagents that kept calls started.
fn agents_of<'a>(transcript: &'a Transcript, kept: &Kept) -> Vec<&'a AgentFile> {
    let files = transcript.assembled.agents.files.iter();
    files
        .filter(|(call, _)| call.is_some_and(|call| kept.calls.contains(&call)))
        .filter_map(|(_, number)| transcript.agents.get(*number))
        .collect()
}

/// How much has to be read for a fork.
fn bytes_of(index: &Index, order: &[u32], agents: &[&AgentFile]) -> u64 {
    let records = order.iter().filter_map(|number| index.record(*number));
    let own: u64 = records.map(|record| u64::from(record.span.len)).sum();
    own + agents.iter().map(|agent| agent.source.len()).sum::<u64>()
}

/// The files of subagents as they are to be, under the new session's folder.
fn companions(
    agents: &[&AgentFile],
    session_id: &str,
    progress: &mut Progress<'_>,
) -> Result<Vec<(PathBuf, Rewrite)>, Refusal> {
    let mut found = Vec::new();
    for file in agents {
        let mut rewrite = Rewrite::new(Arc::clone(&file.source));
        for record in file.index.records.iter().filter(|record| record.role != Role::Unreadable) {
            progress.add(record.span.len.into())?;
            let bytes = file.source.read_at(record.span.offset, record.span.len as usize)?;
            let session = json!(session_id).to_string();
            let values = [("sessionId", session.clone(), Missing::Leave), ("session_id", session, Missing::Leave)];
            keys::splice(&mut rewrite, record.span.offset, &bytes, &values);
            rewrite.push(b"\n");
        }
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
    Ok(found)
}
