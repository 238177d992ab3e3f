//! Markers: what an operator looks for on the timeline.

use serde::Serialize;

use super::Timestamp;

/// One marked fact. Its JSON is the marker shape of the command line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Marker {
    #[serde(flatten)]
    pub fact: Fact,
    pub evidence: Evidence,
    pub at: Option<Timestamp>,
}

impl Marker {
    /// A fact that the file states.
    pub fn recorded(fact: Fact, at: Option<Timestamp>) -> Self {
        Self { fact, evidence: Evidence::Recorded, at }
    }

    /// A fact that was concluded from what the file states.
    pub fn inferred(fact: Fact, at: Option<Timestamp>) -> Self {
        Self { fact, evidence: Evidence::Inferred, at }
    }

    pub fn kind(&self) -> MarkerKind {
        self.fact.kind()
    }

    /// An approval that nobody was asked for: counted and shown, but nothing an operator would stop at.
    pub fn is_quiet(&self) -> bool {
        matches!(self.fact, Fact::Approval { decision: Decision::Auto, .. })
    }
}

/// Whether the file says so or Stepline concluded it. The second is never shown as the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Evidence {
    Recorded,
    Inferred,
}

/// What happened, with the fields of its kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Fact {
    Question {
        question: String,
        options: Vec<String>,
        answers: Vec<String>,
        state: QuestionState,
    },
    Approval {
        tool: String,
        tool_call_id: Option<String>,
        decision: Decision,
        /// Who decided: `user`, `rule`, `mode`, `hook`, `classifier`, or the name the file gives.
        by: Option<String>,
        reason: Option<String>,
        /// From the call to the decision; only where a person was waited for.
        waited_ms: Option<i64>,
        /// What whoever decides was told; empty where the call itself is all there is.
        #[serde(flatten)]
        asked: Asked,
    },
    Fallback {
        from: Option<String>,
        to: Option<String>,
        trigger: Option<String>,
        reset_at: Option<Timestamp>,
        message: Option<String>,
    },
    Retry {
        attempt: Option<u64>,
        max_attempts: Option<u64>,
        status: Option<u64>,
        message: Option<String>,
    },
    Failure {
        code: Option<String>,
        message: String,
    },
    Quota {
        message: String,
        reset_at: Option<Timestamp>,
    },
    Interruption {
        message: String,
    },
    Steering {
        text: String,
        mode: String,
    },
    Commits {
        commits: Vec<Commit>,
        unavailable: Option<String>,
    },
    Compaction {
        trigger: Option<String>,
        tokens_before: Option<u64>,
        tokens_after: Option<u64>,
    },
    Subagent {
        id: String,
        name: Option<String>,
        status: SubagentStatus,
    },
}

/// How an approval was asked for, where that is more than a call that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// What whoever decides was shown.
    pub prompt: Option<String>,
    /// Who may decide; empty where the file names nobody.
    pub actors: Vec<String>,
    /// How a signed decision was verified: `key k1, 2026-02-03T10:00:00Z`.
    pub verification: Option<String>,
}

impl Fact {
    pub fn kind(&self) -> MarkerKind {
        match self {
            Self::Question { .. } => MarkerKind::Question,
            Self::Approval { decision: Decision::Denied | Decision::Blocked, .. } => MarkerKind::Denial,
            Self::Approval { .. } => MarkerKind::Approval,
            Self::Fallback { .. } => MarkerKind::Fallback,
            Self::Retry { .. } => MarkerKind::Retry,
            Self::Failure { .. } => MarkerKind::Failure,
            Self::Quota { .. } => MarkerKind::Quota,
            Self::Interruption { .. } => MarkerKind::Interruption,
            Self::Steering { .. } => MarkerKind::Steering,
            Self::Commits { .. } => MarkerKind::Commits,
            Self::Compaction { .. } => MarkerKind::Compaction,
            Self::Subagent { .. } => MarkerKind::Subagent,
        }
    }
}

/// The kinds by which the window groups, filters and stops at markers. A denial is its own kind here (it is drawn
/// apart and never looks like a failure); in JSON it is an `approval` whose `decision` says `denied` or `blocked`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MarkerKind {
    Question,
    Approval,
    Denial,
    Fallback,
    Retry,
    Failure,
    Quota,
    Interruption,
    Steering,
    Commits,
    Compaction,
    Subagent,
}

impl MarkerKind {
    pub const ALL: [Self; 12] = [
        Self::Question,
        Self::Approval,
        Self::Denial,
        Self::Fallback,
        Self::Retry,
        Self::Failure,
        Self::Quota,
        Self::Interruption,
        Self::Steering,
        Self::Commits,
        Self::Compaction,
        Self::Subagent,
    ];

    /// The word shown for it; colour and shape never stand alone.
    pub fn word(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Approval => "approval",
            Self::Denial => "denial",
            Self::Fallback => "fallback",
            Self::Retry => "retry",
            Self::Failure => "failure",
            Self::Quota => "quota",
            Self::Interruption => "interruption",
            Self::Steering => "steering",
            Self::Commits => "commits",
            Self::Compaction => "compaction",
            Self::Subagent => "subagent",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionState {
    Answered,
    Declined,
    NotShown,
    Pending,
}

/// How a call came to run, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// A person allowed it.
    Granted,
    /// A person refused it.
    Denied,
    /// It was withdrawn before anybody decided.
    Cancelled,
    /// Nobody has decided yet.
    Pending,
    /// A rule, a mode, a hook or a classifier allowed it; nobody was asked.
    Auto,
    /// A rule, a mode, a hook or a classifier refused it; nobody was asked.
    Blocked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SubagentStatus {
    Started,
    Finished,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Commit {
    pub id: String,
    pub subject: String,
}
