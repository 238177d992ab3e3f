//! The session that was built: its steps, as the agent's own list has them where there is one.

use std::collections::HashSet;
use std::sync::Arc;

use super::builder::{Builder, Draft};
use super::list::{AgentStep, matches};
use super::read::Stream;
use super::recording::{Part, Recorded};
use crate::formats::labels::line;
use crate::model::{
    Capability, Event, EventKind, FormatName, NodeId, Outcome, Parent, Place, Session, Step, StepKind, TitleSource,
};
use crate::store::Span;

/// Drafts between two that an entry of the agent's list could mean.
const MAX_SKIPPED: usize = 1000;
const NOT_HELD: &str = "the agent's list names this step, but the recording does not hold it";

/// Makes the session at `index` of a stream.
pub fn finish(mut stream: Stream, index: usize) -> Recorded {
    let only = index < stream.sessions.len();
    let mut builder = if only { stream.sessions.swap_remove(index) } else { Builder::new("") };
    let path = stream.file.path();
    if builder.id.is_empty() {
        builder.id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    }
    leave_out_commands(&mut builder, &stream.records);
    let own = u32::try_from(index).unwrap_or(u32::MAX);
    let (steps, parts) = Maker { stream: &stream, builder: &builder, own }.steps();
    let prompt = steps.iter().find(|step| step.kind == StepKind::Prompt).map(|step| step.summary.clone());
    let title_source = if builder.title.is_some() { TitleSource::Generated } else { TitleSource::FirstPrompt };
    let parent = stream.forks.iter().find(|(_, fork)| *fork == builder.id);
    let session = Session {
        title: builder.title.clone().or(prompt),
        title_source,
        format: FormatName::Acp,
        source: path.to_owned(),
        agent: stream.agent.clone(),
        model: builder.model.clone(),
        cwd: builder.cwd.clone(),
        started_at: builder.started_at,
        ended_at: builder.ended_at,
        head: head(&steps),
        nodes: builder.nodes,
        branches: builder.branches,
        parent: parent.map(|(from, _)| Parent { session_id: from.clone(), step_number: None }),
        relatives: Vec::new(),
        usage: builder.spent,
        steps,
        events: builder.events.into(),
        subagents: Vec::new(),
        capabilities: vec![Capability::Fork, Capability::Revert, Capability::Replay],
        report: stream.report,
        id: builder.id,
    };
    Recorded {
        session,
        files: vec![Arc::clone(&stream.file)],
        records: stream.records,
        openings: stream.openings,
        own,
        members: builder.members,
        dead: builder.dead,
        parts,
    }
}

/// A turn goes on over the questions in it: the last node is that of the last prompt.
fn head(steps: &[Step]) -> Option<NodeId> {
    let prompt = steps.iter().rev().find(|step| step.kind == StepKind::Prompt);
    prompt.or(steps.last())?.fork_target.clone()
}

/// Prompts that are only a command are no steps: the agent's list, which is younger, does not have them.
fn leave_out_commands(builder: &mut Builder, records: &[(Span, u32)]) {
    let Some((listed_at, list)) = builder.list.clone() else { return };
    let names = list.iter().flat_map(|step| [step.step_id.as_deref(), step.call_id.as_deref(), Some(&*step.summary)]);
    let names: HashSet<&str> = names.flatten().collect();
    let is_step = |draft: &Draft| {
        let own = [draft.message_id.as_deref(), draft.call_id.as_deref(), Some(draft.summary.as_str())];
        draft.record > listed_at || own.into_iter().flatten().any(|name| names.contains(name))
    };
    let mut shift = 0;
    let mut kept = Vec::with_capacity(builder.drafts.len());
    for mut draft in std::mem::take(&mut builder.drafts) {
        draft.event += shift;
        if is_step(&draft) {
            kept.push(draft);
            continue;
        }
        let place = Place { file: 0, record: draft.record, block: 0 };
        let node = line_node(records, draft.record);
        let event = Event::new(EventKind::Notice, node, place, line(&draft.summary));
        let event = Event { at: draft.at, text_bytes: draft.text_bytes, ..event };
        if draft.event <= builder.events.len() {
            builder.events.insert(draft.event, event);
            shift += 1;
        }
    }
    builder.drafts = kept;
}

/// The number of a record's line, from 0.
fn line_node(records: &[(Span, u32)], record: u32) -> NodeId {
    let line = records.get(record as usize).map_or(1, |(span, _)| span.line);
    NodeId::Number(line.saturating_sub(1).into())
}

struct Maker<'a> {
    stream: &'a Stream,
    builder: &'a Builder,
    own: u32,
}

impl Maker<'_> {
    /// Entries of the agent's list with the drafts that they mean, then the drafts that are younger than the list.
    fn pairs(&self) -> Vec<(Option<&AgentStep>, Option<&Draft>)> {
        let Some((listed_at, list)) = &self.builder.list else {
            return self.builder.drafts.iter().map(|draft| (None, Some(draft))).collect();
        };
        let mut rest = self.builder.drafts.as_slice();
        let mut pairs = Vec::new();
        for entry in list {
            let found = rest.iter().take(MAX_SKIPPED).position(|draft| matches(entry, draft));
            pairs.push((Some(entry), found.and_then(|at| rest.get(at))));
            rest = rest.get(found.map_or(0, |at| at + 1)..).unwrap_or_default();
        }
        pairs.extend(rest.iter().filter(|draft| draft.record > *listed_at).map(|draft| (None, Some(draft))));
        pairs
    }

    fn steps(&self) -> (Vec<Step>, Vec<Part>) {
        let pairs = self.pairs();
        let count = self.builder.events.len();
        let mut steps = Vec::with_capacity(pairs.len());
        let mut parts = Vec::with_capacity(pairs.len());
        for (index, (entry, draft)) in pairs.iter().enumerate() {
            let rest = pairs.get(index + 1..).unwrap_or_default();
            let later = rest.iter().find_map(|(_, draft)| draft.map(|draft| draft.event)).unwrap_or(count);
            // Of two steps without a draft between two that have one, the first has all the events there are: none.
            let start = draft.map_or(later, |draft| draft.event).min(count);
            let next = rest.first().and_then(|(_, draft)| *draft);
            let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let mut step = match draft {
                Some(draft) => self.own_step(draft),
                None => self.listed_only(),
            };
            step.number = number;
            // Something else was begun, and nobody answered this.
            if step.outcome == Outcome::Pending && !rest.is_empty() {
                step.outcome = Outcome::Unknown;
            }
            step.events = start..later.max(start);
            if let Some(entry) = entry {
                take_over(&mut step, entry);
            }
            parts.push(Part {
                said: draft.map(|draft| draft.said.clone()).unwrap_or_default(),
                record: draft.map(|draft| draft.record),
                first: draft.map(|draft| draft.first),
                last: draft.and_then(|draft| self.last_of(draft, next)),
            });
            steps.push(step);
        }
        (steps, parts)
    }

    /// The last record of a step. A fork of a step ends before the next one was asked.
    fn last_of(&self, draft: &Draft, next: Option<&Draft>) -> Option<u32> {
        let last = draft.last.or_else(|| u32::try_from(self.stream.records.len()).ok()?.checked_sub(1));
        match next {
            Some(next) if next.kind == StepKind::QuestionAnswer && draft.kind == StepKind::Prompt => {
                next.first.checked_sub(1)
            }
            _ => last,
        }
    }

    /// The line number of the last record of the session before this one.
    fn node_before(&self, record: u32) -> Option<NodeId> {
        let before = self.stream.records.get(..record as usize)?;
        let own = before.iter().rev().find(|(_, owner)| *owner == self.own);
        own.or(before.last()).map(|(span, _)| NodeId::Number(span.line.saturating_sub(1).into()))
    }

    fn node(&self, record: u32) -> NodeId {
        line_node(&self.stream.records, record)
    }

    fn own_step(&self, draft: &Draft) -> Step {
        let is_question = draft.kind == StepKind::QuestionAnswer;
        let id = draft.message_id.as_ref().map(|id| NodeId::Text(id.as_str().into()));
        let node = self.node(draft.record);
        let event = self.builder.events.get(draft.event).filter(|_| is_question);
        Step {
            number: 0,
            kind: draft.kind,
            step_id: id.clone().unwrap_or_else(|| node.clone()),
            user_message_id: if is_question { None } else { Some(id.unwrap_or(node)) },
            tool_call_id: draft.call_id.clone(),
            question_node_id: event.map(|event| event.node.clone()),
            revert_target: self.node_before(draft.first),
            fork_target: Some(match draft.kind {
                StepKind::QuestionAnswer => self.node(draft.record),
                StepKind::Prompt => self.end_of_turn(draft),
            }),
            summary: draft.summary.clone(),
            at: draft.at,
            ended_at: draft.ended_at,
            place: event.map_or(Place { file: 0, record: draft.record, block: 0 }, |event| event.place),
            text_bytes: draft.text_bytes,
            origin: draft.origin,
            events: 0..0,
            model: draft.model.clone(),
            usage: draft.usage,
            outcome: draft.outcome,
            fork_refusal: None,
            revert_refusal: None,
        }
    }

    /// The last record of a prompt's turn, questions in it included.
    fn end_of_turn(&self, draft: &Draft) -> NodeId {
        let last = draft.last.or_else(|| u32::try_from(self.stream.records.len()).ok()?.checked_sub(1));
        let end = last.unwrap_or(draft.record).saturating_add(1);
        self.node_before(end).unwrap_or_else(|| self.node(draft.record))
    }

    /// A step of which the recording has only the agent's word.
    fn listed_only(&self) -> Step {
        let record = self.builder.list.as_ref().map_or(0, |(record, _)| *record);
        let place = Place { file: 0, record, block: 0 };
        Step {
            fork_refusal: Some(NOT_HELD.to_owned()),
            revert_refusal: Some(NOT_HELD.to_owned()),
            ..Step::new(StepKind::Prompt, self.node(record), place)
        }
    }
}

/// The agent's own list wins.
fn take_over(step: &mut Step, entry: &AgentStep) {
    let node = |id: &Option<String>| id.as_ref().map(|id| NodeId::Text(id.as_str().into()));
    step.kind = entry.kind;
    step.step_id = node(&entry.step_id).unwrap_or_else(|| step.step_id.clone());
    step.user_message_id = node(&entry.user_message_id);
    step.tool_call_id.clone_from(&entry.call_id);
    step.question_node_id.clone_from(&entry.question_node);
    step.revert_target.clone_from(&entry.revert_target);
    step.fork_target.clone_from(&entry.fork_target);
    step.summary.clone_from(&entry.summary);
}
