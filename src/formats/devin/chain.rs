//! The forest of a session's messages, and the conversation in it: the walk from the head to its root, on over
//! compactions.

use std::collections::HashSet;

use super::message::{Message, Role};
use crate::model::{NodeId, Timestamp};

/// A message in the forest.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub id: i64,
    pub parent: Option<i64>,
    /// The row it is in.
    pub row: i64,
    /// The old head whose history this message sums up.
    pub summarized_from: Option<i64>,
    pub is_prefix: bool,
    /// Tokens before it, where they are recorded.
    pub tokens_before: Option<u64>,
    /// `None` when it cannot be read.
    pub message: Option<Message>,
}

impl Node {
    pub fn role(&self) -> Role {
        self.message.as_ref().map_or(Role::Other, |message| message.role)
    }

    pub fn message_id(&self) -> Option<&str> {
        self.message.as_ref()?.id.as_deref()
    }

    /// The time that the message itself tells; that of the row is no time of the conversation.
    pub fn at(&self) -> Option<Timestamp> {
        self.message.as_ref()?.at
    }

    pub fn node_id(&self) -> NodeId {
        node_id(self.id)
    }
}

/// A node's id as the rest of the program names it.
pub(super) fn node_id(id: i64) -> NodeId {
    u64::try_from(id).map_or_else(|_| NodeId::Text(id.to_string().into()), NodeId::Number)
}

/// All messages of a session, by their ids from the smallest on.
#[derive(Clone, Debug, Default)]
pub(super) struct Forest {
    pub nodes: Vec<Node>,
}

/// The conversation: indices into the forest, from the root on.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    pub nodes: Vec<u32>,
    /// What is wrong with it, one sentence each.
    pub warnings: Vec<String>,
    /// The head that the session names is none of its nodes: the last one stands for it.
    pub is_guess: bool,
}

impl Forest {
    /// The number of the node with this id.
    pub fn find(&self, id: i64) -> Option<u32> {
        let at = self.nodes.binary_search_by_key(&id, |node| node.id).ok()?;
        u32::try_from(at).ok()
    }

    pub fn node(&self, number: u32) -> Option<&Node> {
        self.nodes.get(number as usize)
    }

    /// The message at a number; `None` where it cannot be read.
    pub fn message(&self, number: u32) -> Option<&Message> {
        self.node(number)?.message.as_ref()
    }

    pub fn parent(&self, number: u32) -> Option<u32> {
        self.find(self.node(number)?.parent?)
    }

    /// The conversation that ends at the head; where the session names none that it has, at its last node.
    pub fn chain(&self, head: Option<i64>) -> Chain {
        if let Some(number) = head.and_then(|head| self.find(head)) {
            return self.walk(number);
        }
        let named = head.map_or_else(|| "null".to_owned(), |head| head.to_string());
        let Some(last) = self.nodes.len().checked_sub(1).and_then(|last| u32::try_from(last).ok()) else {
            let warnings = vec![format!("main_chain_id is {named}, and the session has no messages")];
            return Chain { warnings, ..Chain::default() };
        };
        let mut chain = self.walk(last);
        chain.is_guess = true;
        let warning =
            format!("main_chain_id is {named}, which is no node: the node with the largest id is taken instead");
        chain.warnings.insert(0, warning);
        chain
    }

    /// The expanded chain that ends at a node.
    pub fn walk(&self, head: u32) -> Chain {
        let mut chain = Chain::default();
        let mut seen = HashSet::new();
        let mut next = Some(head);
        while let Some(number) = next {
            let Some(node) = self.node(number) else { break };
            if !seen.insert(number) {
                chain.warnings.push(format!("cycle at node {}", node.id));
                break;
            }
            chain.nodes.push(number);
            next = match node.summarized_from {
                Some(old) => self.over_compaction(number, old, &mut seen, &mut chain),
                None => self.step(node.parent, &mut chain),
            };
        }
        chain.nodes.reverse();
        self.drop_copies(&mut chain.nodes);
        chain
    }

    fn step(&self, parent: Option<i64>, chain: &mut Chain) -> Option<u32> {
        let parent = parent?;
        let found = self.find(parent);
        if found.is_none() {
            chain.warnings.push(format!("missing node {parent}"));
        }
        found
    }

    /// Takes the messages of one compaction, and gives the node before it: the head of the history that it sums up.
    fn over_compaction(&self, number: u32, old: i64, seen: &mut HashSet<u32>, chain: &mut Chain) -> Option<u32> {
        let mut last = number;
        while let Some(parent) = self.parent(last)
            && self.node(parent).is_some_and(|node| node.summarized_from == Some(old))
            && seen.insert(parent)
        {
            chain.nodes.push(parent);
            last = parent;
        }
        match self.find(old) {
            Some(found) if !seen.contains(&found) => Some(found),
            found => {
                let what = if found.is_some() { "was there already" } else { "does not exist" };
                chain.warnings.push(format!("the history before a compaction is not to be had: node {old} {what}"));
                self.step(self.node(last)?.parent, chain)
            }
        }
    }

    /// A message stands in the conversation once, where it came first.
    fn drop_copies(&self, nodes: &mut Vec<u32>) {
        let mut seen = HashSet::new();
        nodes.retain(|number| self.node(*number).and_then(Node::message_id).is_none_or(|id| seen.insert(id)));
    }
}
