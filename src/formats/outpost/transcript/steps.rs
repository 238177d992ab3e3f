//! The steps of a transcript: its prompts, each with the turn that follows.

use super::read::{Mark, NOTHING_BEFORE, Reader};
use crate::model::{Event, NodeId, Outcome, Place, Step, StepKind, ToolState, Usage};

impl Reader {
    /// One step a prompt.
    pub fn steps(&self) -> Vec<Step> {
        let step = |(index, mark): (usize, &Mark)| {
            let next = self.marks.get(index + 1);
            let events = mark.first_event..next.map_or(self.events.len(), |next| next.first_event);
            let end = next.map_or(self.messages.len(), |next| next.message);
            let step_id = self.node_of(mark.message)?;
            let before = mark.message.checked_sub(1).and_then(|before| self.node_of(before));
            Some(Step {
                number: u32::try_from(index + 1).unwrap_or(u32::MAX),
                kind: StepKind::Prompt,
                user_message_id: Some(step_id.clone()),
                step_id,
                tool_call_id: None,
                question_node_id: None,
                revert_refusal: before.is_none().then(|| NOTHING_BEFORE.to_owned()),
                revert_target: before,
                fork_target: end.checked_sub(1).and_then(|last| self.node_of(last)),
                summary: mark.head.clone(),
                at: None,
                ended_at: None,
                place: Place { file: 0, record: self.messages.get(mark.message)?.record, block: mark.block },
                text_bytes: mark.text_bytes,
                origin: None,
                outcome: self.outcome(mark.message + 1..end, next.is_none(), events.clone()),
                events,
                model: mark.model.clone(),
                usage: Usage::default(),
                fork_refusal: None,
            })
        };
        self.marks.iter().enumerate().filter_map(step).collect()
    }

    fn node_of(&self, message: usize) -> Option<NodeId> {
        Some(self.records.get(self.messages.get(message)?.record as usize)?.node())
    }

    fn outcome(&self, answers: std::ops::Range<usize>, is_last: bool, events: std::ops::Range<usize>) -> Outcome {
        let open = |event: &Event| event.tool.as_ref().is_some_and(|tool| tool.state == ToolState::Pending);
        let has_open = self.events.get(events).unwrap_or_default().iter().any(open);
        match (answers.is_empty(), is_last) {
            (true, true) => Outcome::Pending,
            (true, false) => Outcome::Unknown,
            _ if has_open => Outcome::Interrupted,
            _ => Outcome::Done,
        }
    }
}
