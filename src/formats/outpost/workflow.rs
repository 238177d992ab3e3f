//! Workflow events: what happened around the dispatches, as a nested log or a run's events tell it.
//!
//! They hold no texts: what a gate or a question said is only in the workflow's checkpoint.

use serde::Deserialize;

use super::entry::{Entry, Raw, object};
use super::labels::shorten;
use crate::formats::json;
use crate::formats::lenient::{Count, Float, Text};
use crate::model::{Asked, Decision, EventKind, Fact, QuestionState, Timestamp, duration_words};

/// The fields of a workflow event.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkflowEvent<'a> {
    #[serde(borrow, rename = "type")]
    name: Text<'a>,
    #[serde(borrow)]
    execution_id: Text<'a>,
    #[serde(borrow)]
    workflow: Text<'a>,
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    attempt: Count,
    duration_ms: Float,
    delay_ms: Float,
    round: Count,
    #[serde(borrow)]
    phase: Text<'a>,
    #[serde(borrow)]
    cache: Text<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    reset_at: Text<'a>,
    #[serde(borrow)]
    termination_code: Text<'a>,
}

/// What an event opens or closes: a person was asked, and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    Asks,
    Answers,
}

/// The workflow event of an entry; an empty one where it has none.
pub fn of<'a>(entry: &Entry<'a>) -> WorkflowEvent<'a> {
    object(entry.event).unwrap_or_default()
}

impl WorkflowEvent<'_> {
    pub fn event_kind(&self) -> EventKind {
        match self.fact() {
            Some(Fact::Approval { .. }) => EventKind::Approval,
            Some(Fact::Question { .. }) => EventKind::Question,
            Some(Fact::Retry { .. }) => EventKind::Retry,
            Some(Fact::Quota { .. }) => EventKind::Quota,
            Some(Fact::Failure { .. }) => EventKind::Failure,
            Some(Fact::Interruption { .. }) => EventKind::Interruption,
            _ => EventKind::Notice,
        }
    }

    /// Whether it asks a person something, or brings the answer, and what for: gates and questions of a task.
    pub fn asking(&self) -> Option<(Asking, String)> {
        let (asking, of) = match (self.name.or_empty(), self.status.or_empty()) {
            ("gate", _) => (Asking::Asks, "gate"),
            ("decision", "done" | "rejected") => (Asking::Answers, "gate"),
            ("input-request", _) => (Asking::Asks, "input"),
            ("input-answer", _) => (Asking::Answers, "input"),
            _ => return None,
        };
        Some((asking, format!("{of} {} {}", self.execution_id.or_empty(), self.key.or_empty())))
    }

    /// The task that asks a question; `None` of any other event.
    pub fn asking_task(&self) -> Option<&str> {
        self.key.as_str().filter(|_| self.name.is("input-request"))
    }

    pub fn fact(&self) -> Option<Fact> {
        let status = self.status.or_empty();
        Some(match self.name.or_empty() {
            "gate" => self.approval(Decision::Pending),
            "decision" if status == "done" => self.approval(Decision::Granted),
            "decision" if status == "rejected" => self.approval(Decision::Denied),
            "input-request" => self.question(QuestionState::Pending),
            "input-answer" => self.question(QuestionState::Answered),
            "retry" => {
                Fact::Retry { attempt: self.attempt.0, max_attempts: None, status: None, message: Some(self.label()) }
            }
            "quota" => {
                let reset_at = Timestamp::parse(self.reset_at.or_empty());
                Fact::Quota { message: self.label(), reset_at }
            }
            "budget-exceeded" => Fact::Quota { message: self.label(), reset_at: None },
            "task" | "finish" if status == "failed" => {
                let code = self.termination_code.as_str().map(shorten);
                Fact::Failure { code, message: self.error().unwrap_or_else(|| self.label()) }
            }
            "finish" if status == "cancelled" => Fact::Interruption { message: self.label() },
            _ => return None,
        })
    }

    fn approval(&self, decision: Decision) -> Fact {
        Fact::Approval {
            tool: shorten(self.key.or_empty()),
            tool_call_id: None,
            decision,
            by: None,
            reason: None,
            waited_ms: None,
            asked: Asked::default(),
        }
    }

    fn question(&self, state: QuestionState) -> Fact {
        let question = format!("task {} asks; the checkpoint has the text", self.key.or_empty());
        Fact::Question { question: shorten(&question), options: Vec::new(), answers: Vec::new(), state }
    }

    fn error(&self) -> Option<String> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Error<'a> {
            #[serde(borrow)]
            message: Text<'a>,
        }
        let text = self.error.and_then(json::string);
        text.or_else(|| object::<Error>(self.error)?.message.to_owned_option()).map(|text| shorten(&text))
    }

    /// What its row says: `task build failed after 2.1 s (attempt 2)`.
    pub fn label(&self) -> String {
        let name = self.name.or_empty();
        let mut line = match (name, self.key.as_str()) {
            ("start", _) => format!("workflow {} started", self.workflow.or_empty()),
            ("finish", _) => format!("workflow {} {}", self.workflow.or_empty(), self.status.or_empty()),
            ("gate", Some(key)) => format!("{key} waits for a decision"),
            ("decision", Some(key)) if self.status.is("done") => format!("{key} was approved"),
            ("decision", Some(key)) if self.status.is("rejected") => format!("{key} was rejected"),
            ("input-request", Some(key)) => format!("{key} waits for an answer"),
            ("input-answer", Some(key)) => format!("{key} was answered"),
            ("retry", Some(key)) => format!("task {key} is tried again"),
            ("quota", Some(key)) => format!("task {key} paused on a limit"),
            ("budget-exceeded", key) => format!("the budget is exceeded {}", key.unwrap_or_default()),
            ("task", Some(key)) => format!("task {key} {}", self.status.or_empty()),
            ("loop", Some(key)) => format!("task {key} loop {}", self.phase.or_empty()),
            (name, key) => format!("workflow {name} {} {}", key.unwrap_or_default(), self.status.or_empty()),
        };
        let milliseconds = |float: Float| float.0.filter(|ms| ms.is_finite()).map(|ms| duration_words(ms as i64));
        let more = [
            milliseconds(self.duration_ms).map(|took| format!(" after {took}")),
            milliseconds(self.delay_ms).map(|delay| format!(" in {delay}")),
            self.round.0.map(|round| format!(", round {round}")),
            self.cache.as_str().map(|outcome| format!(", cache {outcome}")),
            self.attempt.0.filter(|attempt| *attempt > 1).map(|attempt| format!(" (attempt {attempt})")),
        ];
        line.truncate(line.trim_end().len());
        line.extend(more.into_iter().flatten());
        shorten(&line)
    }

    pub fn duration_ms(&self) -> Option<f64> {
        self.duration_ms.0
    }
}
