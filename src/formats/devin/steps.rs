//! Where in a conversation the user came in.

use std::collections::HashMap;

use super::chain::{Forest, Node};
use super::message::{Message, Role};
use super::question::TOOL;

/// Where a step begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Anchor {
    /// In the chain.
    pub position: usize,
    pub kind: AnchorKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnchorKind {
    Prompt,
    /// Which of the message's calls asks, and where in the chain the answer is.
    Question {
        call: usize,
        answer: usize,
    },
}

/// Whether a message was typed by the user: its flag says so, or there is no flag and nothing speaks against it.
pub(super) fn is_prompt(message: &Message) -> bool {
    let Some(user) = &message.user else { return false };
    let source = message.source.as_deref();
    if user.is_handoff || source == Some("cache_keepalive") {
        return false;
    }
    match user.is_input {
        Some(is_input) => is_input,
        None => !message.label.is_empty() && source.is_none_or(|source| source == "user"),
    }
}

/// The steps of a conversation, in its order: prompts, and questions whose answer comes later in it.
pub(super) fn anchors(forest: &Forest, chain: &[u32]) -> Vec<Anchor> {
    let answers = answers(forest, chain);
    let mut anchors = Vec::new();
    for (position, number) in chain.iter().enumerate() {
        let Some(message) = forest.message(*number) else { continue };
        if is_prompt(message) {
            anchors.push(Anchor { position, kind: AnchorKind::Prompt });
        }
        if message.role != Role::Assistant {
            continue;
        }
        for (call, asks) in message.calls.iter().enumerate().filter(|(_, call)| &*call.name == TOOL) {
            let answer = asks.id.as_deref().and_then(|id| {
                let positions = answers.get(id)?;
                positions.get(positions.partition_point(|answer| *answer <= position))
            });
            if let Some(answer) = answer {
                anchors.push(Anchor { position, kind: AnchorKind::Question { call, answer: *answer } });
            }
        }
    }
    anchors
}

/// The positions of results that hold answers, by the id of their call.
fn answers<'a>(forest: &'a Forest, chain: &[u32]) -> HashMap<&'a str, Vec<usize>> {
    let mut answers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (position, number) in chain.iter().enumerate() {
        let Some(result) = forest.message(*number).and_then(|message| message.result.as_ref()) else { continue };
        if let (Some(id), Some(_)) = (result.call_id.as_deref(), &result.answers) {
            answers.entry(id).or_default().push(position);
        }
    }
    answers
}

/// Positions in the chain of what a step's targets name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Targets {
    /// `None` when nothing is before the step.
    pub revert: Option<usize>,
    pub fork: usize,
}

/// The targets of every step. A prompt's turn goes on to the next prompt, over the questions in it.
pub(super) fn targets(anchors: &[Anchor], chain_len: usize) -> Vec<Targets> {
    let mut before_next = chain_len.saturating_sub(1);
    let mut targets: Vec<Targets> = anchors
        .iter()
        .rev()
        .map(|anchor| {
            let revert = anchor.position.checked_sub(1);
            match anchor.kind {
                AnchorKind::Question { answer, .. } => Targets { revert, fork: answer },
                AnchorKind::Prompt => {
                    let fork = std::mem::replace(&mut before_next, revert.unwrap_or(0));
                    Targets { revert, fork }
                }
            }
        })
        .collect();
    targets.reverse();
    targets
}

/// What a step is known by, over rewrites and forks: the client's id of a prompt, else the message's own id, else the
/// node's.
pub(super) fn step_id(node: &Node) -> String {
    let client = node.message.as_ref().and_then(|message| message.user.as_ref()?.client_id.as_deref());
    client.or(node.message_id()).map_or_else(|| node.id.to_string(), str::to_owned)
}
