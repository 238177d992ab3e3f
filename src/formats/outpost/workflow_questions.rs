//! What a workflow asked a person by its log: the steps of its own log, and the questions in the turns of its dispatches.
//!
//! A workflow has no prompts. Its user input boundaries are gates that somebody decides and questions that somebody
//! answers, as in its checkpoint, which also has their texts.

use serde_json::{Value, json};

use super::journal::Journal;
use super::kind::Kind;
use super::workflow;
use crate::model::{
    Decision, Event, EventKind, Fact, NodeId, Outcome, QuestionState, Step, StepKind, Timestamp, Usage, summarise,
};
use crate::store::ReadError;

const NO_CUT: &str = "a workflow's log is not cut: Outpost goes on from the workflow's checkpoint, not from its events";

impl Journal {
    /// One step for each gate and each question of a log without turns.
    pub fn asked_steps(&self) -> Vec<Step> {
        let events = self.session.events.all();
        let starts: Vec<usize> = (0..events.len()).filter(|index| self.asks(*index)).collect();
        let ends = starts.iter().skip(1).copied().chain([events.len()]);
        let bounds = starts.iter().copied().zip(ends);
        bounds.zip(1..).filter_map(|((start, end), number)| self.asked_step(start, end, number)).collect()
    }

    fn asks(&self, index: usize) -> bool {
        self.session.events.all().get(index).is_some_and(|event| {
            let is_workflows =
                self.records.get(event.place.record as usize).map(|record| record.kind) == Some(Kind::Workflow);
            let is_asked = matches!(event.kind, EventKind::Approval | EventKind::Question);
            is_workflows && is_asked && event.marker.is_some() && !event.folded
        })
    }

    fn asked_step(&self, start: usize, end: usize, number: u32) -> Option<Step> {
        let event = self.session.events.all().get(start)?;
        let answer = self.answers.get(&event.place.record).map(|record| NodeId::Number((*record).into()));
        let outcome = outcome(event);
        Some(Step {
            number,
            kind: StepKind::QuestionAnswer,
            step_id: event.node.clone(),
            user_message_id: answer,
            tool_call_id: None,
            question_node_id: Some(event.node.clone()),
            revert_target: None,
            fork_target: None,
            summary: summarise(&event.label),
            at: event.at,
            ended_at: event.at.zip(event.duration_ms).map(|(at, waited)| Timestamp(at.0.saturating_add(waited))),
            place: event.place,
            text_bytes: u32::try_from(event.label.len()).unwrap_or(0),
            origin: None,
            events: start..end,
            model: None,
            usage: Usage::default(),
            outcome,
            fork_refusal: Some(NO_CUT.to_owned()),
            revert_refusal: Some(NO_CUT.to_owned()),
        })
    }

    /// A question in a turn's text and its workflow's event that the task asks are one question: the first has the text,
    /// the second tells whether it was answered.
    pub fn join_questions(&mut self) {
        let events = self.session.events.all();
        let questions: Vec<usize> = (0..events.len())
            .filter(|index| events.get(*index).is_some_and(|e| e.kind == EventKind::Question))
            .collect();
        for pair in questions.windows(2) {
            let [said, asked] = *pair else { continue };
            if !self.asks(said) && self.asks(asked) && self.is_same_task(said, asked) {
                self.join(said, asked);
            }
        }
    }

    fn is_same_task(&self, said: usize, asked: usize) -> bool {
        let record = |index: usize| self.session.events.all().get(index).map(|event| event.place.record);
        let (Some(said), Some(asked)) = (record(said), record(asked)) else { return false };
        let task = self.with_entry(said, |entry| entry.scope.0.as_ref()?.task_key.to_owned_option()).ok().flatten();
        let asking =
            self.with_entry(asked, |entry| workflow::of(entry).asking_task().map(str::to_owned)).ok().flatten();
        task.is_some() && task == asking
    }

    fn join(&mut self, said: usize, asked: usize) {
        let Some(asked) = self.session.events.list_mut().get_mut(asked) else { return };
        let (marker, waited) = (asked.marker.take(), asked.duration_ms);
        asked.folded = true;
        let state = marker.map(|marker| marker.fact);
        let Some(said) = self.session.events.list_mut().get_mut(said) else { return };
        if let (Some(Fact::Question { state: known, .. }), Some(Fact::Question { state, .. })) =
            (said.marker.as_mut().map(|marker| &mut marker.fact), state)
        {
            *known = state;
            said.duration_ms = waited;
        }
    }

    /// What was asked at a step that is no turn.
    pub fn asked_text(&self, step_number: u32) -> String {
        let step = self.session.step(step_number);
        let event = step.and_then(|step| self.session.events.all().get(step.events.start));
        event.map_or_else(String::new, |event| event.label.to_string())
    }

    /// The events of such a step as lines, in their order.
    pub fn replay_asked(
        &self,
        number: u32,
        emit: &mut dyn FnMut(Value) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let Some(step) = self.session.step(number) else { return Ok(()) };
        for event in self.session.events_of(step) {
            emit(json!({ "turn": number, "event": self.event(event.place.record)? }))?;
        }
        Ok(())
    }
}

fn outcome(event: &Event) -> Outcome {
    match event.marker.as_ref().map(|marker| &marker.fact) {
        Some(
            Fact::Approval { decision: Decision::Pending, .. } | Fact::Question { state: QuestionState::Pending, .. },
        ) => Outcome::Pending,
        _ => Outcome::Done,
    }
}
