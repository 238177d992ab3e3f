//! A session: one conversation with one agent, as a reader leaves it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{Event, Events, Report, Step, SubagentStatus, Timestamp, Usage};

/// One conversation with one agent.
#[derive(Clone, Debug)]
pub struct Session {
    pub id: String,
    pub title: Option<String>,
    pub title_source: TitleSource,
    pub format: FormatName,
    pub source: PathBuf,
    pub agent: Agent,
    /// The last model that answered on the active branch.
    pub model: Option<String>,
    pub cwd: Option<String>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// The node the agent would go on from.
    pub head: Option<NodeId>,
    /// How many recorded things with an identity there are, on all branches.
    pub nodes: usize,
    /// Branches that end in something else than the head.
    pub branches: Vec<Branch>,
    /// The session this one was forked from.
    pub parent: Option<Parent>,
    /// Other sessions of the source that share nodes with this one, where the format does not say which came from which.
    pub relatives: Vec<Relative>,
    /// Everything the source records, abandoned branches and subagents included: it was all paid for.
    pub usage: Usage,
    pub steps: Vec<Step>,
    /// Events of the active branch in their order; those before `steps[0].events.start` belong to no step.
    pub events: Events,
    pub subagents: Vec<Subagent>,
    pub capabilities: Vec<Capability>,
    pub report: Report,
}

impl Session {
    /// The step with this number, counted from 1.
    pub fn step(&self, number: u32) -> Option<&Step> {
        self.steps.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// The events of a step's turn, of a session whose events are few or listed.
    pub fn events_of(&self, step: &Step) -> &[Event] {
        self.events.all().get(step.events.clone()).unwrap_or_default()
    }

    /// The step whose turn holds the event at `index`; `None` before the first step.
    pub fn step_of_event(&self, index: usize) -> Option<&Step> {
        let after = self.steps.partition_point(|step| step.events.start <= index);
        self.steps.get(after.checked_sub(1)?)
    }
}

/// Where a title came from; a person's own title wins over a generated one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TitleSource {
    #[default]
    FirstPrompt,
    Generated,
    Person,
}

/// The names of formats, as the command line prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormatName {
    OutpostJournal,
    OutpostObservations,
    OutpostStorage,
    OutpostLegacyLog,
    OutpostCheckpoint,
    OutpostTranscript,
    OutpostRun,
    DevinCli,
    DevinDesktop,
    FruxonMessages,
    FruxonTranscript,
    FruxonTrace,
    FruxonRecord,
    FruxonStream,
    FruxonApprovals,
    ClaudeCode,
    Atif,
    Acp,
    /// A case that holds a session of another format: what it is called before it is read.
    Case,
}

impl FormatName {
    /// The name in the JSON of the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutpostJournal => "outpost-journal",
            Self::OutpostObservations => "outpost-observations",
            Self::OutpostStorage => "outpost-storage",
            Self::OutpostLegacyLog => "outpost-legacy-log",
            Self::OutpostCheckpoint => "outpost-checkpoint",
            Self::OutpostTranscript => "outpost-transcript",
            Self::OutpostRun => "outpost-run",
            Self::DevinCli => "devin-cli",
            Self::DevinDesktop => "devin-desktop",
            Self::FruxonMessages => "fruxon-messages",
            Self::FruxonTranscript => "fruxon-transcript",
            Self::FruxonTrace => "fruxon-trace",
            Self::FruxonRecord => "fruxon-record",
            Self::FruxonStream => "fruxon-stream",
            Self::FruxonApprovals => "fruxon-approvals",
            Self::ClaudeCode => "claude-code",
            Self::Atif => "atif",
            Self::Acp => "acp",
            Self::Case => "stepline-case",
        }
    }

    /// The name people know it by.
    pub fn title(self) -> &'static str {
        match self {
            Self::OutpostJournal => "Outpost journal",
            Self::OutpostObservations => "Outpost observation log",
            Self::OutpostStorage => "Outpost storage",
            Self::OutpostLegacyLog => "Outpost legacy log",
            Self::OutpostCheckpoint => "Outpost checkpoint",
            Self::OutpostTranscript => "Outpost transcript",
            Self::OutpostRun => "Outpost run",
            Self::DevinCli => "Devin",
            Self::DevinDesktop => "Devin Desktop",
            Self::FruxonMessages => "Fruxon session",
            Self::FruxonTranscript => "Fruxon transcript",
            Self::FruxonTrace => "Fruxon trace",
            Self::FruxonRecord => "Fruxon run",
            Self::FruxonStream => "Fruxon stream",
            Self::FruxonApprovals => "Fruxon approvals",
            Self::ClaudeCode => "Claude Code",
            Self::Atif => "ATIF trajectory",
            Self::Acp => "ACP recording",
            Self::Case => "support case",
        }
    }

    /// The program or standard whose format it is.
    pub fn system(self) -> &'static str {
        match self {
            Self::OutpostJournal
            | Self::OutpostObservations
            | Self::OutpostStorage
            | Self::OutpostLegacyLog
            | Self::OutpostCheckpoint
            | Self::OutpostTranscript
            | Self::OutpostRun => "Outpost",
            Self::DevinCli | Self::DevinDesktop => "Devin",
            Self::FruxonMessages
            | Self::FruxonTranscript
            | Self::FruxonTrace
            | Self::FruxonRecord
            | Self::FruxonStream
            | Self::FruxonApprovals => "Fruxon",
            Self::ClaudeCode => "Claude Code",
            Self::Atif => "ATIF",
            Self::Acp => "the Agent Client Protocol",
            Self::Case => "Stepline",
        }
    }
}

impl Serialize for FormatName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agent {
    pub name: Option<String>,
    pub version: Option<String>,
}

/// The id of a node in its own system: a number where the format has numbers, else text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeId {
    Number(u64),
    Text(Arc<str>),
}

impl fmt::Display for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// A branch that the session left: its first prompt, and where it parted from the active one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    pub leaf: NodeId,
    /// The last node it shares with the active branch; `None` when it has a root of its own.
    pub parted_at: Option<NodeId>,
    pub summary: String,
    pub at: Option<Timestamp>,
    /// Nodes on it that the active branch does not have.
    pub nodes: usize,
}

/// The session and step that a fork came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    pub session_id: String,
    pub step_number: Option<u32>,
}

/// A session that shares its first nodes with another one of the same source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Relative {
    pub session_id: String,
    pub title: Option<String>,
    /// The last node that both have.
    pub shared_to: Option<NodeId>,
    /// The last step of this session that the other one has whole.
    pub step_number: Option<u32>,
    /// It is the younger one: it was forked from this session.
    pub is_fork: bool,
}

/// An agent that a tool call started, with its own chain of events.
#[derive(Clone, Debug)]
pub struct Subagent {
    pub id: String,
    pub name: Option<String>,
    pub status: SubagentStatus,
    /// The call that started it; `None` when the file does not say.
    pub call_id: Option<String>,
    /// Its own file, when it has one.
    pub path: Option<PathBuf>,
    pub usage: Usage,
    pub events: Events,
}

/// What can be done with a session of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    Fork,
    Revert,
    RevertPreview,
    Replay,
    Resume,
    Live,
}
