//! Agents that the session's agent ran: trees of their own in the same forest.

use std::collections::{HashMap, HashSet};

use super::events::{Setting, build};
use super::message::{Call, ToolResult};
use super::scene::Scene;
use super::session::usage_of_chain;
use crate::model::{Subagent, SubagentStatus, Usage};

/// The tool whose calls run subagents.
const TOOL: &str = "run_subagent";
/// How the agent is told that one has come to its end.
pub(super) const NOTIFICATION: &str = "<subagent_completion_notification>";
/// No session runs more of them.
const MAX_AGENTS: usize = 2000;
/// Messages of all of them that are shown: hostile heads may name one long chain over and over.
const MAX_MESSAGES: usize = 1_000_000;

/// A subagent, and where its conversation ends.
pub(super) struct Found {
    pub id: String,
    pub head: Option<u32>,
    pub subagent: Subagent,
}

/// The subagents of a conversation, in the order of the calls that ran them; those that no call names come last.
pub(super) fn read(scene: &Scene<'_>, heads: &[(String, i64)]) -> Vec<Found> {
    let heads_by_id: HashMap<&str, i64> = heads.iter().map(|(id, head)| (id.as_str(), *head)).collect();
    let mut found = Vec::new();
    let mut known = HashSet::new();
    let mut left = MAX_MESSAGES;
    for position in 0..scene.chain.len() {
        let Some(message) = scene.message(position) else { continue };
        for call in &message.calls {
            let Some((at, result)) = scene.result(call) else { continue };
            let Some(started) = started_agent(scene, at, result, call) else { continue };
            if found.len() < MAX_AGENTS && known.insert(started.id.clone()) {
                let head = started.head.or_else(|| heads_by_id.get(started.id.as_str()).copied());
                let call_id = call.id.as_deref().map(str::to_owned);
                found.push(agent(scene, Started { head, ..started }, call_id, &mut left));
            }
        }
    }
    for (id, head) in heads {
        if found.len() < MAX_AGENTS && known.insert(id.clone()) {
            let started = Started { id: id.clone(), name: None, status: SubagentStatus::Started, head: Some(*head) };
            found.push(agent(scene, started, None, &mut left));
        }
    }
    finish(scene, &mut found);
    found
}

fn agent(scene: &Scene<'_>, started: Started, call_id: Option<String>, left: &mut usize) -> Found {
    let head = started.head.and_then(|head| scene.forest.find(head));
    let (mut events, mut usage) = (Vec::new(), Usage::default());
    if let Some(head) = head.filter(|_| *left > 0) {
        let chain = scene.forest.walk(head).nodes;
        *left = left.saturating_sub(chain.len());
        let own = Scene::new(scene.forest, &chain, scene.states);
        let setting = Setting { file: 0, anchors: &[], model: None, is_live: false, agents: &HashSet::new() };
        events = build(&own, &setting).events;
        usage = usage_of_chain(scene.forest, &chain);
    }
    Found {
        id: started.id.clone(),
        head,
        subagent: Subagent {
            id: started.id,
            name: started.name,
            status: started.status,
            call_id,
            path: None,
            usage,
            events: events.into(),
        },
    }
}

/// One that was started in the background has come to its end when the agent was told so.
fn finish(scene: &Scene<'_>, found: &mut [Found]) {
    let notes: Vec<&str> = (0..scene.chain.len())
        .filter_map(|position| scene.message(position))
        .map(|message| &*message.label)
        .filter(|label| label.starts_with(NOTIFICATION))
        .collect();
    for agent in found.iter_mut().filter(|agent| agent.subagent.status == SubagentStatus::Started) {
        if notes.iter().any(|note| note.contains(agent.id.as_str())) {
            agent.subagent.status = SubagentStatus::Finished;
        }
    }
}

/// A subagent as the result of its call tells of it.
pub(super) struct Started {
    pub id: String,
    pub name: Option<String>,
    pub status: SubagentStatus,
    pub head: Option<i64>,
}

/// The subagent that a call ran or started.
pub(super) fn started_agent(scene: &Scene<'_>, position: usize, result: &ToolResult, call: &Call) -> Option<Started> {
    let name = Some(call.label.to_string()).filter(|name| !name.is_empty());
    if let Some(agent) = &result.agent {
        let status = if result.failure.is_some() { SubagentStatus::Failed } else { SubagentStatus::Finished };
        let id = agent.id.clone().or_else(|| Some(agent.head?.to_string()))?;
        return Some(Started { id, name: name.or_else(|| agent.profile.clone()), status, head: agent.head });
    }
    if &*call.name != TOOL {
        return None;
    }
    // The receipt of one that runs in the background: `… started with agent_id=…`.
    let text = &scene.message(position)?.label;
    let (_, after) = text.split_once("agent_id=")?;
    let id: String = after.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect();
    (!id.is_empty()).then_some(Started { id, name, status: SubagentStatus::Started, head: None })
}
