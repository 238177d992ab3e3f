//! The kinds of journal entries that Outpost writes, and how its replay rules group them.

/// Declares the kinds with the names they have in a journal.
macro_rules! kinds {
    ($($variant:ident = $name:literal,)*) => {
        /// What an entry says it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($variant,)*
            /// A kind that this reader does not know, or none at all.
            Unknown,
            /// Not an entry: a record that could not be read.
            Unreadable,
        }

        impl Kind {
            /// The kind of this name; names are open, so others are [`Kind::Unknown`].
            pub fn of(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    _ => Self::Unknown,
                }
            }
        }
    };
}

kinds! {
    Phase = "phase",
    Prompt = "prompt",
    Summary = "summary",
    Text = "text",
    TextDelta = "text-delta",
    Result = "result",
    Tool = "tool",
    ToolResult = "tool-result",
    ToolOutput = "tool-output",
    ToolDenied = "tool-denied",
    Step = "step",
    StopPrevented = "stop-prevented",
    Compaction = "compaction",
    Hook = "hook",
    InstructionsLoaded = "instructions-loaded",
    SkillsLoaded = "skills-loaded",
    Conversation = "conversation",
    Usage = "usage",
    MessageUsage = "message-usage",
    Reasoning = "reasoning",
    FileChange = "file-change",
    ModelRequest = "model-request",
    ModelResponse = "model-response",
    ModelRetry = "model-retry",
    ModelError = "model-error",
    ModelRoute = "model-route",
    Subagent = "subagent",
    Steer = "steer",
    Stopped = "stopped",
    Failure = "failure",
    Quota = "quota",
    Fallback = "fallback",
    Warning = "warning",
    Stderr = "stderr",
    Raw = "raw",
    Finished = "finished",
    Stuck = "stuck",
    DispatchStart = "dispatch-start",
    DispatchFinished = "dispatch-finished",
    Operation = "operation",
    WorkspaceCommits = "workspace-commits",
    CommandOutput = "command-output",
    Decision = "decision",
    DecisionRequest = "decision-request",
    DecisionResponse = "decision-response",
    Workflow = "workflow",
    Candidate = "candidate",
    Queue = "queue",
}

impl Kind {
    /// A kind that dispatches, workflows and classifiers write about themselves: never an event of a turn, whatever
    /// its source says.
    pub fn is_surrounding(self) -> bool {
        matches!(
            self,
            Self::DispatchStart
                | Self::DispatchFinished
                | Self::Operation
                | Self::WorkspaceCommits
                | Self::CommandOutput
                | Self::Workflow
                | Self::Candidate
                | Self::Queue
        ) || self.is_decision()
    }

    /// A call of the classifier that routes between models.
    pub fn is_decision(self) -> bool {
        matches!(self, Self::Decision | Self::DecisionRequest | Self::DecisionResponse)
    }

    /// A kind that agents write: a missing source means `agent` for these in the logs of old releases.
    pub fn is_agents_own(self) -> bool {
        !self.is_surrounding() && !matches!(self, Self::Unknown | Self::Unreadable)
    }
}
