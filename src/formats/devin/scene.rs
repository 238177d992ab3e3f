//! One conversation with what belongs to it: results by their calls, states of calls, how its turns ended.

use std::collections::HashMap;

use super::calls::{self, CallState, Fate};
use super::chain::{Forest, Node};
use super::message::{Call, Message, Role, ToolResult};
use super::steps::{Anchor, AnchorKind, is_prompt};
use crate::model::Outcome;

/// What the agent writes where the user stopped it.
pub(super) const INTERRUPTED: &str = "[Response interrupted by user]";

/// A conversation.
pub(super) struct Scene<'a> {
    pub forest: &'a Forest,
    pub chain: &'a [u32],
    pub states: &'a HashMap<String, CallState>,
    /// The position of each call's result.
    results: HashMap<&'a str, usize>,
    /// Some message says why it ends; where none does, a missing reason means nothing.
    tells_reasons: bool,
}

/// How a prompt's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Of the last message that counts.
    pub position: usize,
    pub outcome: Outcome,
    /// Why it looks as if it broke off; nothing is recorded about it.
    pub broken: Option<&'static str>,
}

impl<'a> Scene<'a> {
    pub fn new(forest: &'a Forest, chain: &'a [u32], states: &'a HashMap<String, CallState>) -> Self {
        let mut results = HashMap::new();
        let mut tells_reasons = false;
        for (position, number) in chain.iter().enumerate() {
            let Some(message) = forest.message(*number) else { continue };
            if let Some(call) = message.result.as_ref().and_then(|result| result.call_id.as_deref()) {
                results.entry(call).or_insert(position);
            }
            tells_reasons |= message.reply.as_ref().is_some_and(|reply| reply.finish_reason.is_some());
        }
        Self { forest, chain, states, results, tells_reasons }
    }

    pub fn node(&self, position: usize) -> Option<&'a Node> {
        self.forest.node(*self.chain.get(position)?)
    }

    pub fn message(&self, position: usize) -> Option<&'a Message> {
        self.node(position)?.message.as_ref()
    }

    /// The result of a call, and its position.
    pub fn result(&self, call: &Call) -> Option<(usize, &'a ToolResult)> {
        let position = *self.results.get(call.id.as_deref()?)?;
        Some((position, self.message(position)?.result.as_deref()?))
    }

    pub fn state(&self, call: &Call) -> Option<&'a CallState> {
        self.states.get(call.id.as_deref()?)
    }

    pub fn fate(&self, call: &Call) -> Fate {
        calls::fate(self.state(call), self.result(call).map(|(_, result)| result))
    }

    /// What became of the call that a result belongs to.
    fn fate_of(&self, result: &ToolResult) -> Fate {
        let state = result.call_id.as_deref().and_then(|id| self.states.get(id));
        calls::fate(state, Some(result))
    }

    /// Whether a message is part of how a turn ends. Notes of the agent's own harness are not.
    fn counts(&self, position: usize) -> bool {
        let Some(node) = self.node(position) else { return false };
        let Some(message) = &node.message else { return true };
        match message.role {
            Role::System => message.label.starts_with(INTERRUPTED),
            Role::User => is_prompt(message),
            Role::Assistant => node.summarized_from.is_none(),
            Role::Tool | Role::Other => true,
        }
    }

    /// How the turn ends whose messages are before `next`; a prompt at `start` counts as its own first message.
    fn end(&self, start: usize, next: usize) -> End {
        let is_last = next >= self.chain.len();
        let position = (start..next).rev().find(|position| self.counts(*position)).unwrap_or(start);
        let (outcome, broken) = match self.message(position) {
            None => (Outcome::Unknown, None),
            Some(message) => self.ending(message, is_last),
        };
        End { position, outcome, broken }
    }

    fn ending(&self, message: &Message, is_last: bool) -> (Outcome, Option<&'static str>) {
        match message.role {
            Role::System => (Outcome::Interrupted, None),
            Role::User if is_last => (Outcome::Pending, None),
            Role::User | Role::Other => (Outcome::Unknown, None),
            Role::Tool => match message.result.as_deref().map(|result| self.fate_of(result)) {
                Some(Fate::Rejected | Fate::Cancelled) => (Outcome::Interrupted, None),
                _ if is_last => (Outcome::Unknown, Some("the turn ends with a tool's result that nothing answers")),
                _ => (Outcome::Unknown, None),
            },
            Role::Assistant if message.calls.is_empty() => {
                let reason = message.reply.as_ref().and_then(|reply| reply.finish_reason.as_deref());
                match reason {
                    Some("stop") => (Outcome::Done, None),
                    None if !self.tells_reasons => (Outcome::Done, None),
                    _ => (Outcome::Unknown, Some("the turn ends with an answer that did not come to its end")),
                }
            }
            Role::Assistant if is_last => (Outcome::Pending, None),
            Role::Assistant => (Outcome::Unknown, Some("the turn ends with a call that has no result")),
        }
    }

    /// How the turn of each prompt ends, by the prompt's place in the list of steps.
    pub fn ends(&self, anchors: &[Anchor]) -> HashMap<usize, End> {
        let mut ends = HashMap::new();
        let mut next = self.chain.len();
        for (at, anchor) in anchors.iter().enumerate().rev() {
            if anchor.kind == AnchorKind::Prompt {
                ends.insert(at, self.end(anchor.position, next));
                next = anchor.position;
            }
        }
        ends
    }
}
