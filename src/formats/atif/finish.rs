//! The session that the records make: its steps, their targets, and how their turns ended.

use serde_json::{Map, Value};

use super::outline::Outline;
use super::read::Reader;
use super::totals;
use super::trajectory::{Kept, Trajectory, What};
use crate::formats::labels::marker_text;
use crate::model::{
    Agent, Capability, Event, EventKind, FormatName, NodeId, Outcome, Parent, Place, Session, Step, StepKind,
    TitleSource, ToolState, Usage,
};

/// What is known of a step while the records are read.
#[derive(Clone, Debug)]
pub struct Draft {
    pub kind: StepKind,
    /// The user's record, or the one that holds the question with its answer.
    pub record: usize,
    /// The first event of its turn.
    pub event: usize,
    pub call_id: Option<String>,
    pub origin: Option<&'static str>,
    pub summary: String,
    pub text_bytes: u32,
}

const NOTHING_BEFORE: &str = "nothing would be left: a trajectory has at least one record";

impl Reader<'_> {
    pub fn finish(mut self, outline: Outline, head: Map<String, Value>) -> Trajectory {
        self.name_callers();
        let main: Vec<&Kept> = self.records.iter().filter(|kept| kept.owner.is_none()).collect();
        let (steps, main_count) = (self.steps(&main), main.len());
        let path = self.file.path();
        let text = |key: &str| head.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
        let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let agent =
            |key: &str| head.get("agent").and_then(|agent| agent.get(key)).and_then(Value::as_str).map(marker_text);
        let cwd = head.get("agent").and_then(|agent| agent.get("extra")).and_then(|extra| {
            extra.get("cwd").or_else(|| extra.get("cwds").and_then(|cwds| cwds.get(0)))?.as_str().map(str::to_owned)
        });
        let summed = sum(self.records.iter().map(|kept| &kept.usage));
        let usage = head.get("final_metrics").and_then(totals::usage).unwrap_or(summed);
        let readable = |kept: &&&Kept| kept.what != What::Unreadable;
        let session = Session {
            id: text("session_id").or_else(|| text("trajectory_id")).or_else(stem).unwrap_or_default(),
            title: steps.iter().find(|step| step.kind == StepKind::Prompt).map(|step| step.summary.clone()),
            title_source: TitleSource::FirstPrompt,
            format: FormatName::Atif,
            source: path.to_owned(),
            agent: Agent { name: agent("name"), version: agent("version") },
            model: steps.iter().rev().find_map(|step| step.model.clone()).or_else(|| agent("model_name")),
            cwd: cwd.or(self.cwd),
            started_at: main.iter().find_map(|kept| kept.at),
            ended_at: main.iter().rev().find_map(|kept| kept.at),
            head: main.iter().rev().find(readable).map(|kept| NodeId::Number(kept.id)),
            nodes: self.records.iter().filter(|kept| kept.what != What::Unreadable).count(),
            branches: Vec::new(),
            parent: parent(&head),
            relatives: Vec::new(),
            usage,
            steps,
            events: self.events.into(),
            subagents: self.subagents,
            capabilities: vec![Capability::Fork, Capability::Revert, Capability::Replay],
            report: self.report,
        };
        Trajectory {
            session,
            files: vec![self.file],
            main: main_count,
            records: self.records,
            anchors: self.drafts.iter().map(|draft| draft.record).collect(),
            outline,
            head,
        }
    }

    /// Tells subagents which call started them: the one whose result refers to them.
    fn name_callers(&mut self) {
        let mut caller: Option<(Place, String)> = None;
        for event in &self.events {
            if let Some(tool) = event.tool.as_deref() {
                caller = tool.result.zip(tool.call_id.clone());
            }
            if event.kind == EventKind::Subagent
                && let Some((_, call_id)) = caller.as_ref().filter(|(result, _)| *result == event.place)
                && let Some(started) = self.subagents.iter_mut().find(|started| started.id == *event.label)
            {
                started.call_id = Some(call_id.clone());
            }
        }
    }

    fn steps(&self, main: &[&Kept]) -> Vec<Step> {
        let mut steps = Vec::with_capacity(self.drafts.len());
        let end = main.len();
        for (index, draft) in self.drafts.iter().enumerate() {
            let Some(own) = main.get(draft.record) else { continue };
            let rest = self.drafts.get(index + 1..).unwrap_or_default();
            let next_event = rest.first().map_or(self.events.len(), |next| next.event);
            let next_record = rest.first().map_or(end, |next| next.record + turn_offset(next));
            let next_prompt = rest.iter().find(|next| next.kind == StepKind::Prompt).map_or(end, |next| next.record);
            let turn = main.get(draft.record + 1..next_record.max(draft.record + 1)).unwrap_or_default();
            let before = main.get(..draft.record).unwrap_or_default().iter().rev().find(|kept| kept.is_node());
            let last = match draft.kind {
                StepKind::Prompt => {
                    main.get(..next_prompt).unwrap_or_default().iter().rev().find(|kept| kept.is_node())
                }
                StepKind::QuestionAnswer => Some(own),
            };
            let node = NodeId::Number(own.id);
            let is_question = draft.kind == StepKind::QuestionAnswer;
            let events = draft.event..next_event.max(draft.event);
            let shown = self.events.get(events.clone()).unwrap_or_default();
            let revert_target = before.map(|kept| NodeId::Number(kept.id));
            steps.push(Step {
                number: u32::try_from(index + 1).unwrap_or(u32::MAX),
                kind: draft.kind,
                step_id: node.clone(),
                user_message_id: (!is_question).then(|| node.clone()),
                tool_call_id: draft.call_id.clone(),
                question_node_id: is_question.then(|| node.clone()),
                revert_refusal: revert_target.is_none().then(|| NOTHING_BEFORE.to_owned()),
                revert_target,
                fork_target: last.map(|kept| NodeId::Number(kept.id)),
                summary: draft.summary.clone(),
                at: own.at,
                ended_at: turn.iter().rev().find_map(|kept| kept.at),
                place: self.place(draft),
                text_bytes: draft.text_bytes,
                origin: draft.origin,
                events,
                model: None,
                usage: sum(turn.iter().filter(|kept| !kept.is_side).map(|kept| &kept.usage)),
                outcome: outcome(shown, is_question, rest.first().map(|next| next.kind)),
                fork_refusal: None,
            });
        }
        let models = self.models(&steps, main);
        for (step, model) in steps.iter_mut().zip(models) {
            step.model = model;
        }
        steps
    }

    /// The question's own event, or the user's record.
    fn place(&self, draft: &Draft) -> Place {
        let record = u32::try_from(draft.record).unwrap_or(u32::MAX);
        match draft.kind {
            StepKind::Prompt => Place { file: 0, record, block: super::events::MESSAGE },
            StepKind::QuestionAnswer => {
                self.events.get(draft.event).map_or(Place { file: 0, record, block: 0 }, |event| event.place)
            }
        }
    }

    /// The last model of each step's turn.
    fn models(&self, steps: &[Step], main: &[&Kept]) -> Vec<Option<String>> {
        let mut models = Vec::with_capacity(steps.len());
        for (index, draft) in self.drafts.iter().enumerate() {
            let next = self.drafts.get(index + 1).map_or(main.len(), |next| next.record + turn_offset(next));
            let after = self.served.partition_point(|(record, _)| *record < next);
            let last = after.checked_sub(1).and_then(|last| self.served.get(last));
            models.push(last.filter(|(record, _)| *record >= draft.record).map(|(_, model)| model.clone()));
        }
        models
    }
}

/// The record of a question was made before it was answered: it belongs to the turn before.
fn turn_offset(draft: &Draft) -> usize {
    usize::from(draft.kind == StepKind::QuestionAnswer)
}

pub fn sum<'a>(usages: impl Iterator<Item = &'a Usage>) -> Usage {
    let mut sum = Usage::default();
    for usage in usages {
        sum.add(usage);
    }
    sum
}

/// How a turn ended, by the last of its events that tells. `next` is the kind of the step after it.
fn outcome(events: &[Event], is_question: bool, next: Option<StepKind>) -> Outcome {
    let is_last = next.is_none();
    let own = events.get(usize::from(is_question)..).unwrap_or_default();
    let telling = own.iter().rev().find(|event| !matches!(event.kind, EventKind::Notice | EventKind::Approval));
    let Some(last) = telling else {
        return match next {
            None => Outcome::Pending,
            // The turn went on to ask.
            Some(StepKind::QuestionAnswer) => Outcome::Done,
            Some(StepKind::Prompt) => Outcome::Unknown,
        };
    };
    match (last.kind, last.tool.as_ref().map(|tool| tool.state)) {
        (EventKind::Interruption, _) | (_, Some(ToolState::Denied)) => Outcome::Interrupted,
        (EventKind::Failure, _) => Outcome::Failed,
        (EventKind::Tool | EventKind::Question, Some(ToolState::Pending)) if is_last => Outcome::Pending,
        (EventKind::Tool | EventKind::Question, Some(ToolState::Pending)) => Outcome::Unknown,
        _ => Outcome::Done,
    }
}

fn parent(head: &Map<String, Value>) -> Option<Parent> {
    let origin = head.get("extra")?.get("forked_from")?;
    let session_id = origin.get("session_id")?.as_str().map(marker_text)?;
    let number = origin.get("step_number").and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    Some(Parent { session_id, step_number: number })
}
