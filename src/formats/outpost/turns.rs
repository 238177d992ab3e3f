//! Outpost's replay rules: how the entries of a journal become turns.
//!
//! Turns are not stored in a journal, they are derived from it in one pass over its entries in file order. Nothing here
//! reads or keeps a text: a turn knows which entries belong to it.

use super::entry::Entry;
use super::kind::Kind;
use super::tokens::Tokens;

/// One invocation of an agent, as replay knows it. Numbers are entry numbers, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The `prompt` or resuming `steer` entry that started it.
    pub start: u32,
    /// The `prompt` entry with its prompt; `None` when its prompt is the steering texts joined with a blank line.
    pub prompt: Option<u32>,
    /// The steering that resumed the conversation into it.
    pub resumed_by: Vec<u32>,
    /// The entry that ended it, which may be the start of the next one; `None` when the journal ends inside it.
    pub end: Option<u32>,
    /// How many events it has, decisions not counted.
    pub events: u32,
    pub decisions: u32,
    /// The `summary` that ended its pass.
    pub summary: Option<Tokens>,
    /// The sum of its own `usage` events.
    pub summed: Tokens,
    /// What earlier turns of the same pass used; set when it was resumed.
    pub before: Tokens,
    /// The last `conversation` event.
    pub conversation: Option<u32>,
    /// The last `failure` event.
    pub failure: Option<u32>,
    /// The `fallback` entry that handed over to the next candidate.
    pub handover: Option<u32>,
    /// The last `workspace-commits` that belongs to it.
    pub changes: Option<u32>,
    /// Steering resumed its conversation in the next turn; the summary is there.
    pub continued: bool,
    /// Steering stopped it early.
    pub interrupted: bool,
}

impl Turn {
    /// What it used: by the summary, less what earlier turns of the pass used; else by its own `usage` events where
    /// something went on after it; else nothing.
    pub fn usage(&self) -> Tokens {
        match self.summary {
            Some(tokens) => tokens.minus(self.before),
            None if self.handover.is_some() || self.continued => self.summed,
            None => Tokens::default(),
        }
    }

    /// Neither a summary nor something that went on after it.
    pub fn is_unfinished(&self) -> bool {
        self.summary.is_none() && self.handover.is_none() && !self.continued
    }

    fn is_freshly_resumed(&self) -> bool {
        !self.resumed_by.is_empty() && self.events == 0
    }
}

/// What an entry is to the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Says nothing about turns.
    Outside,
    /// Starts a turn.
    Starts,
    /// Changes the prompt of the turn that steering has just started.
    Prompts,
    /// An event of the current turn.
    Event,
    /// A classifier's call among the events of the current turn.
    Decision,
    /// The `summary` that ends the current turn.
    Ends,
    /// The `fallback` that ends the current turn.
    HandsOver,
    /// Commits of the last turn.
    Commits,
    /// The end of the dispatch.
    Finishes,
}

/// Why a turn failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The error of this `dispatch-finished` entry.
    Dispatch(u32),
    /// The message of this `failure` entry, as code `process`.
    Event(u32),
    /// It just stops.
    Nothing,
}

/// The state of the derivation.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    list: Vec<Turn>,
    /// Whether the last turn of the list takes further events.
    open: bool,
    /// The last `dispatch-finished`.
    pub finished: Option<u32>,
    /// Whether that one has an error.
    failed: bool,
    /// Whether any `workspace-commits` was seen.
    pub replayable: bool,
    /// Whether any entry had a source: those of releases before 7.0 have none.
    pub sourced: bool,
}

impl Turns {
    pub fn list(&self) -> &[Turn] {
        &self.list
    }

    /// Whether the last turn has not ended.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Takes the next entry; the first rule that fits applies.
    pub fn take(&mut self, number: u32, entry: &Entry<'_>) -> Role {
        let kind = entry.kind();
        let source = entry.source.as_str();
        self.sourced |= source.is_some();
        if kind == Kind::WorkspaceCommits {
            self.replayable = true;
            self.close(number);
            let Some(last) = self.list.last_mut() else { return Role::Outside };
            last.changes = Some(number);
            return Role::Commits;
        }
        if kind == Kind::DispatchFinished {
            self.finished = Some(number);
            self.failed = entry.fault().is_some();
            self.close(number);
            return Role::Finishes;
        }
        if source == Some("decision") && kind.is_decision() {
            let Some(current) = self.current() else { return Role::Outside };
            current.decisions = current.decisions.saturating_add(1);
            return Role::Decision;
        }
        let from_agent = match source {
            Some(source) => matches!(source, "agent" | "harness"),
            None => !self.sourced && kind.is_agents_own(),
        };
        if !from_agent {
            return Role::Outside;
        }
        self.take_from_agent(number, kind, entry)
    }

    fn take_from_agent(&mut self, number: u32, kind: Kind, entry: &Entry<'_>) -> Role {
        if kind == Kind::Prompt {
            return self.take_prompt(number);
        }
        let Some(current) = self.current() else { return Role::Outside };
        match kind {
            Kind::Fallback => {
                current.handover = Some(number);
                self.close(number);
                Role::HandsOver
            }
            Kind::Summary => {
                current.summary = Some(entry.counted());
                self.close(number);
                Role::Ends
            }
            Kind::Steer if entry.mode.is("resumed") => self.resume(number),
            Kind::Phase => Role::Outside,
            kind if kind.is_surrounding() => Role::Outside,
            _ => {
                current.events = current.events.saturating_add(1);
                match kind {
                    Kind::Stopped if entry.reason.is("steered") => current.interrupted = true,
                    Kind::Usage => current.summed = current.summed.plus(entry.counted()),
                    Kind::Conversation => current.conversation = Some(number),
                    Kind::Failure => current.failure = Some(number),
                    _ => {}
                }
                Role::Event
            }
        }
    }

    fn take_prompt(&mut self, number: u32) -> Role {
        if let Some(current) = self.current()
            && current.is_freshly_resumed()
        {
            current.prompt = Some(number);
            return Role::Prompts;
        }
        self.start(number, Turn { start: number, prompt: Some(number), ..Turn::default() })
    }

    /// Steering that resumes the conversation: instructions delivered together are one prompt.
    fn resume(&mut self, number: u32) -> Role {
        let Some(current) = self.current() else { return Role::Outside };
        if current.is_freshly_resumed() {
            current.resumed_by.push(number);
            current.prompt = None;
            return Role::Prompts;
        }
        current.continued = true;
        let before = current.before.plus(current.summed);
        self.start(number, Turn { start: number, resumed_by: vec![number], before, ..Turn::default() })
    }

    fn start(&mut self, number: u32, turn: Turn) -> Role {
        self.close(number);
        self.list.push(turn);
        self.open = true;
        Role::Starts
    }

    fn close(&mut self, number: u32) {
        if let Some(current) = self.current() {
            current.end = Some(number);
        }
        self.open = false;
    }

    fn current(&mut self) -> Option<&mut Turn> {
        if self.open { self.list.last_mut() } else { None }
    }

    /// Why a turn failed; `None` when it did not. The error of the dispatch stands for every turn without an end.
    pub fn cause(&self, turn: &Turn) -> Option<Cause> {
        if !turn.is_unfinished() {
            return None;
        }
        Some(match (self.finished.filter(|_| self.failed), turn.failure) {
            (Some(number), _) => Cause::Dispatch(number),
            (None, Some(number)) => Cause::Event(number),
            (None, None) => Cause::Nothing,
        })
    }
}

/// The fault codes that replay knows; every other one reads as `process`.
pub fn known_code(code: Option<&str>) -> &str {
    const KNOWN: [&str; 16] = [
        "configuration",
        "process",
        "timeout",
        "aborted",
        "workspace",
        "conflict",
        "prompt",
        "response",
        "session",
        "provider",
        "limit",
        "quota",
        "replay",
        "steering",
        "rejected",
        "stuck",
    ];
    code.filter(|code| KNOWN.contains(code)).unwrap_or("process")
}

#[cfg(test)]
mod tests;
