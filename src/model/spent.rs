//! Where the time of a session went: the agent at work, a person being waited for, nothing going on.

use super::{Decision, Fact, MarkerKind, Session, Step, StepKind};

/// Spans of time that lie side by side, in milliseconds; together they are the time from a step to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpent {
    pub agent_ms: i64,
    /// For an approval, or for the answer to a question.
    pub waiting_ms: i64,
    /// From the end of a turn to the next prompt.
    pub idle_ms: i64,
}

impl TimeSpent {
    /// From a step to the next one, or to the end of its turn where it is the last. Nothing where times are not recorded.
    pub fn of_step(session: &Session, step: &Step) -> Self {
        let Some(start) = step.at else { return Self::default() };
        let next = session.steps.get(step.number as usize);
        let next_at = next.and_then(|next| next.at).filter(|at| *at >= start);
        let end = step.ended_at.unwrap_or(start).max(start);
        let end = next_at.map_or(end, |at| end.min(at));
        let turn_ms = end.since(start);
        // Approvals that were waited for at the same time count one after the other: never more than there was.
        let waiting_ms = waited_ms(session, step).clamp(0, turn_ms);
        let after_ms = next_at.map_or(0, |at| at.since(end));
        // Before a question is answered, it is the answer that is waited for.
        let is_asked = next.is_some_and(|next| next.kind == StepKind::QuestionAnswer);
        let (asked_ms, idle_ms) = if is_asked { (after_ms, 0) } else { (0, after_ms) };
        Self { agent_ms: turn_ms - waiting_ms, waiting_ms: waiting_ms + asked_ms, idle_ms }
    }

    /// Of all steps together.
    pub fn of_session(session: &Session) -> Self {
        session.steps.iter().fold(Self::default(), |sum, step| sum.plus(Self::of_step(session, step)))
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            agent_ms: self.agent_ms.saturating_add(other.agent_ms),
            waiting_ms: self.waiting_ms.saturating_add(other.waiting_ms),
            idle_ms: self.idle_ms.saturating_add(other.idle_ms),
        }
    }

    pub fn total_ms(&self) -> i64 {
        self.agent_ms.saturating_add(self.waiting_ms).saturating_add(self.idle_ms)
    }
}

/// Time in which a person was waited for in a turn: approvals that were asked for and questions, in milliseconds.
fn waited_ms(session: &Session, step: &Step) -> i64 {
    let asked = step.events.clone().filter(|index| {
        session.events.glance(*index).is_some_and(|event| {
            let asks = matches!(event.marker, Some(MarkerKind::Question | MarkerKind::Approval | MarkerKind::Denial));
            asks && !matches!(event.decision, Some(Decision::Auto | Decision::Blocked))
        })
    });
    let waited = asked.filter_map(|index| {
        let event = session.events.get(index)?;
        match event.marker.as_deref().map(|marker| &marker.fact) {
            Some(Fact::Approval { waited_ms, .. }) => *waited_ms,
            _ => event.duration_ms,
        }
    });
    waited.fold(0, |sum, ms| sum.saturating_add(ms.max(0)))
}
