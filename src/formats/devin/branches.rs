//! Branches that the session left: what a rewind leaves behind.
//!
//! Copies are no branches: an answer is stored twice, a first prompt is rendered again. Nor are the conversations of
//! subagents, nor histories that a compaction sums up.

use std::collections::{HashMap, HashSet};

use super::chain::{Forest, Node};
use super::message::Role;
use super::steps::is_prompt;
use super::subagents::Found;
use crate::model::{Branch, summarise};

/// How far up a branch is followed to where it parted.
const MAX_CLIMB: usize = 10_000;
/// No session has more of them.
const MAX_BRANCHES: usize = 10_000;

/// What is known of a node of a branch on the way down to it.
#[derive(Clone, Copy)]
struct Way {
    /// How many messages of the branch lead to it, itself included.
    nodes: usize,
    first_prompt: Option<u32>,
    first: u32,
}

/// The branches that end in something else than the head.
pub(super) fn left(forest: &Forest, chain: &[u32], agents: &[Found]) -> Vec<Branch> {
    let on_chain: HashSet<u32> = chain.iter().copied().collect();
    let ids: HashMap<&str, u32> =
        chain.iter().filter_map(|number| Some((forest.node(*number)?.message_id()?, *number))).collect();
    // Where the kept copy of an answer cannot be read, the other one still is no branch.
    let unread: HashSet<i64> = (chain.iter().filter_map(|number| forest.node(*number)))
        .filter(|node| node.message.is_none())
        .filter_map(|node| node.parent)
        .collect();
    let children = children(forest);
    let is_copy = |number: u32, node: &Node| {
        let is_beside = node.parent.is_some_and(|parent| unread.contains(&parent));
        is_beside && node.role() == Role::Assistant && !children.contains_key(&number)
    };
    let explained = explained(forest, &on_chain, agents, &children);
    let is_left = |number: u32, node: &Node| {
        matches!(node.role(), Role::User | Role::Assistant | Role::Tool)
            && !node.is_prefix
            && !is_copy(number, node)
            && !on_chain.contains(&number)
            && !explained.contains(&number)
            && node.message_id().is_none_or(|id| !ids.contains_key(id))
    };
    let dead: Vec<u32> =
        (0..).zip(&forest.nodes).filter(|(number, node)| is_left(*number, node)).map(|(n, _)| n).collect();
    let ways = ways(forest, &dead);
    let mut branches: Vec<Branch> = leaves(forest, &dead, &ways)
        .into_iter()
        .take(MAX_BRANCHES)
        .filter_map(|(leaf, way)| {
            let node = forest.node(leaf)?;
            let shown = forest.node(way.first_prompt.unwrap_or(way.first))?;
            Some(Branch {
                leaf: node.node_id(),
                parted_at: parted_at(forest, way.first, &on_chain, &ids)
                    .and_then(|at| forest.node(at))
                    .map(Node::node_id),
                summary: shown.message.as_ref().map(|message| summarise(&message.label)).unwrap_or_default(),
                at: shown.at(),
                nodes: way.nodes,
            })
        })
        .collect();
    branches.sort_by_key(|branch| branch.at);
    branches
}

/// Nodes that something else than a rewind explains.
fn explained(
    forest: &Forest,
    on_chain: &HashSet<u32>,
    agents: &[Found],
    children: &HashMap<u32, Vec<u32>>,
) -> HashSet<u32> {
    let mut explained = HashSet::new();
    let mut heads: Vec<u32> = agents.iter().filter_map(|agent| agent.head).collect();
    heads.extend((0..).zip(&forest.nodes).filter_map(|(number, node)| {
        let is_handoff =
            node.message.as_ref().and_then(|message| message.user.as_ref()).is_some_and(|user| user.is_handoff);
        is_handoff.then_some(number)
    }));
    // The whole tree of a subagent, unless it grows from the conversation itself.
    let mut climbed = HashSet::new();
    let roots: Vec<u32> = heads.into_iter().filter_map(|head| root(forest, head, on_chain, &mut climbed)).collect();
    let mut open = roots;
    while let Some(number) = open.pop() {
        if explained.insert(number) {
            open.extend(children.get(&number).into_iter().flatten());
        }
    }
    // A history that was summed up: the walk up from its old head.
    for old in forest.nodes.iter().filter_map(|node| node.summarized_from) {
        let mut next = forest.find(old);
        while let Some(number) = next.filter(|number| !on_chain.contains(number) && explained.insert(*number)) {
            next = forest.parent(number);
        }
    }
    explained
}

/// The root of the tree of a node; `None` where the way up leads to the conversation, nowhere, or to where it was
/// climbed before.
fn root(forest: &Forest, start: u32, on_chain: &HashSet<u32>, climbed: &mut HashSet<u32>) -> Option<u32> {
    let mut at = start;
    while !on_chain.contains(&at) && climbed.insert(at) {
        match forest.parent(at) {
            Some(parent) => at = parent,
            None => return Some(at),
        }
    }
    None
}

fn children(forest: &Forest) -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for number in (0..).zip(&forest.nodes).map(|(number, _)| number) {
        if let Some(parent) = forest.parent(number) {
            children.entry(parent).or_default().push(number);
        }
    }
    children
}

/// The way to each node of the branches, from where they parted. Nodes on a cycle have none.
fn ways(forest: &Forest, dead: &[u32]) -> HashMap<u32, Way> {
    let members: HashSet<u32> = dead.iter().copied().collect();
    let mut below: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut open: Vec<(u32, Option<Way>)> = Vec::new();
    for number in dead {
        match forest.parent(*number).filter(|parent| members.contains(parent)) {
            Some(parent) => below.entry(parent).or_default().push(*number),
            None => open.push((*number, None)),
        }
    }
    let mut ways = HashMap::new();
    while let Some((number, above)) = open.pop() {
        let is_prompt = forest.message(number).is_some_and(is_prompt);
        let way = Way {
            nodes: above.map_or(0, |above| above.nodes) + 1,
            first_prompt: above.and_then(|above| above.first_prompt).or(is_prompt.then_some(number)),
            first: above.map_or(number, |above| above.first),
        };
        ways.insert(number, way);
        open.extend(below.remove(&number).into_iter().flatten().map(|child| (child, Some(way))));
    }
    ways
}

/// The ends of the branches. Of the copies of a message only the one that goes on counts, or the last.
fn leaves(forest: &Forest, dead: &[u32], ways: &HashMap<u32, Way>) -> Vec<(u32, Way)> {
    let parents: HashSet<u32> = dead.iter().filter_map(|number| forest.parent(*number)).collect();
    let mut kept: HashMap<&str, u32> = HashMap::new();
    for number in dead {
        let Some(id) = forest.node(*number).and_then(Node::message_id) else { continue };
        let kept = kept.entry(id).or_insert(*number);
        if parents.contains(number) || !parents.contains(kept) {
            *kept = *number;
        }
    }
    let is_kept = |number: &u32| {
        let id = forest.node(*number).and_then(Node::message_id);
        id.is_none_or(|id| kept.get(id) == Some(number))
    };
    let leaves = dead.iter().filter(|number| !parents.contains(number) && is_kept(number));
    leaves.filter_map(|number| Some((*number, *ways.get(number)?))).collect()
}

/// The last node that a branch shares with the conversation, by its own id or as a copy of it.
fn parted_at(forest: &Forest, first: u32, on_chain: &HashSet<u32>, ids: &HashMap<&str, u32>) -> Option<u32> {
    let mut at = first;
    for _ in 0..MAX_CLIMB {
        at = forest.parent(at)?;
        if on_chain.contains(&at) {
            return Some(at);
        }
        if let Some(same) = forest.node(at).and_then(Node::message_id).and_then(|id| ids.get(id)) {
            return Some(*same);
        }
    }
    None
}
