//! From the rows of a session to the session that the rest of the program sees.

use std::collections::HashSet;
use std::path::Path;

use super::branches;
use super::chain::{Chain, Forest, Node, node_id};
use super::events::{self, Setting, Timeline, is_router};
use super::lock::Lock;
use super::message::Role;
use super::question;
use super::rows::{Rows, about_file};
use super::scene::Scene;
use super::steps::{self, Anchor, AnchorKind, Targets};
use super::subagents;
use crate::model::{
    Agent, Capability, FormatName, NodeId, Outcome, Place, Session, Step, StepKind, TitleSource, Usage, summarise,
};

/// A session with what its actions are planned on.
pub(super) struct Assembled {
    pub session: Session,
    pub chain: Chain,
    pub anchors: Vec<Anchor>,
    pub targets: Vec<Targets>,
    pub lock: Lock,
}

const GUESSED: &str = "the session's head is unknown, so its steps are a guess: the agent may know others";

/// Puts a session together.
pub(super) fn assemble(path: &Path, rows: &mut Rows, lock: Lock) -> Assembled {
    let chain = rows.forest.chain(rows.session.head);
    let anchors = steps::anchors(&rows.forest, &chain.nodes);
    let targets = steps::targets(&anchors, chain.nodes.len());
    let mut report = std::mem::take(&mut rows.report);
    for warning in &chain.warnings {
        report.notice(about_file(warning.clone()));
    }
    for (number, _) in (1_u32..).zip(&targets).filter(|(_, targets)| targets.revert.is_none()) {
        report.notice(about_file(format!("step {number}: anchor has no predecessor")));
    }
    let scene = Scene::new(&rows.forest, &chain.nodes, &rows.states);
    let agents = subagents::read(&scene, &rows.agent_heads);
    let own_model = rows.session.model.as_deref().filter(|model| !is_router(model));
    let ids: HashSet<String> = agents.iter().map(|agent| agent.id.clone()).collect();
    let setting = Setting { file: 0, anchors: &anchors, model: own_model, is_live: lock.is_live(), agents: &ids };
    let timeline = events::build(&scene, &setting);
    let steps = steps_of(&scene, &anchors, &targets, &timeline, chain.is_guess);
    let answered = chain.nodes.iter().rev().find_map(|number| model_of(rows.forest.node(*number)?));
    let times = events::span(&timeline.events);
    let first_prompt = steps.iter().find(|step| step.kind == StepKind::Prompt).map(|step| step.summary.clone());
    let mut capabilities = vec![Capability::Replay];
    if !chain.is_guess && !steps.is_empty() {
        capabilities.extend([Capability::Fork, Capability::RevertPreview]);
    }
    let session = Session {
        id: rows.session.id.clone(),
        title_source: if rows.session.title.is_some() { TitleSource::Generated } else { TitleSource::FirstPrompt },
        title: rows.session.title.clone().or(first_prompt),
        format: FormatName::DevinCli,
        source: path.to_owned(),
        agent: Agent { name: Some("Devin".to_owned()), version: None },
        model: answered.or_else(|| rows.session.model.clone()),
        cwd: rows.session.cwd.clone(),
        started_at: rows.session.created_at.or(times.0),
        ended_at: rows.session.last_activity_at.or(times.1),
        head: chain.nodes.last().and_then(|number| rows.forest.node(*number)).map(Node::node_id),
        nodes: rows.forest.nodes.len(),
        branches: branches::left(&rows.forest, &chain.nodes, &agents),
        parent: None,
        relatives: Vec::new(),
        usage: usage_of(&rows.forest, 0..rows.forest.nodes.len()),
        steps,
        events: timeline.events.into(),
        subagents: agents.into_iter().map(|agent| agent.subagent).collect(),
        capabilities,
        report,
    };
    Assembled { session, chain, anchors, targets, lock }
}

fn model_of(node: &Node) -> Option<String> {
    node.message.as_ref()?.reply.as_ref()?.model.as_deref().map(str::to_owned)
}

/// The tokens of some nodes, each response counted once.
fn usage_of(forest: &Forest, numbers: impl IntoIterator<Item = usize>) -> Usage {
    let mut usage = Usage::default();
    let mut counted = HashSet::new();
    for node in numbers.into_iter().filter_map(|number| forest.nodes.get(number)) {
        add_usage(node, &mut counted, &mut usage);
    }
    usage
}

/// The tokens of the nodes of a chain.
pub(super) fn usage_of_chain(forest: &Forest, chain: &[u32]) -> Usage {
    usage_of(forest, chain.iter().map(|number| *number as usize))
}

fn add_usage<'a>(node: &'a Node, counted: &mut HashSet<&'a str>, usage: &mut Usage) {
    let Some(reply) = node.message.as_ref().and_then(|message| message.reply.as_ref()) else { return };
    if reply.has_usage && node.message_id().is_none_or(|id| counted.insert(id)) {
        usage.add(&reply.usage);
    }
}

fn steps_of(
    scene: &Scene<'_>,
    anchors: &[Anchor],
    targets: &[Targets],
    timeline: &Timeline,
    is_guess: bool,
) -> Vec<Step> {
    let ends = scene.ends(anchors);
    let mut end = None;
    let mut steps = Vec::with_capacity(anchors.len());
    for (at, (anchor, targets)) in anchors.iter().zip(targets).enumerate() {
        end = ends.get(&at).copied().or(end);
        let Some(node) = scene.node(anchor.position) else { continue };
        let next = anchors.get(at + 1);
        let asks_next = next.is_some_and(|next| next.kind != AnchorKind::Prompt);
        // What the message that asks says before it asks was said in the turn before.
        let first = anchor.position + usize::from(anchor.kind != AnchorKind::Prompt);
        let last = next.map_or(scene.chain.len(), |next| next.position + usize::from(asks_next));
        let members = scene.chain.get(first..last.max(first)).unwrap_or_default();
        let members_nodes = || members.iter().filter_map(|number| scene.forest.node(*number));
        let event_end = timeline.starts.get(at + 1).copied().unwrap_or(timeline.events.len());
        let outcome = match end {
            _ if asks_next => Outcome::Done,
            Some(end) => end.outcome,
            None => Outcome::Unknown,
        };
        steps.push(Step {
            number: u32::try_from(at + 1).unwrap_or(u32::MAX),
            ended_at: members_nodes().rev().find_map(Node::at).or(node.at()),
            events: timeline.starts.get(at).copied().unwrap_or(event_end)..event_end,
            model: members_nodes().rev().find_map(model_of),
            usage: usage_of_chain(scene.forest, members),
            outcome,
            ..bare_step(scene, anchor, node, targets, is_guess)
        });
    }
    steps
}

/// A step as its anchor alone makes it.
fn bare_step(scene: &Scene<'_>, anchor: &Anchor, node: &Node, targets: &Targets, is_guess: bool) -> Step {
    let id_at = |position: usize| scene.node(position).map(|node| node_id(node.id));
    let record = scene.chain.get(anchor.position).copied().unwrap_or_default();
    let step_id = NodeId::Text(steps::step_id(node).into());
    let message = node.message.as_ref();
    let prompt = Step {
        number: 0,
        kind: StepKind::Prompt,
        user_message_id: Some(step_id.clone()),
        step_id,
        tool_call_id: None,
        question_node_id: None,
        revert_target: targets.revert.and_then(id_at),
        fork_target: id_at(targets.fork),
        summary: message.map(|message| summarise(&message.label)).unwrap_or_default(),
        at: node.at(),
        ended_at: None,
        place: Place { file: 0, record, block: events::SAID },
        text_bytes: message.map_or(0, |message| message.bytes),
        origin: None,
        events: 0..0,
        model: None,
        usage: Usage::default(),
        outcome: Outcome::Unknown,
        fork_refusal: is_guess.then(|| GUESSED.to_owned()),
        revert_refusal: match targets.revert {
            _ if is_guess => Some(GUESSED.to_owned()),
            None => Some("there is nothing before it that the session could go back to".to_owned()),
            Some(_) => None,
        },
    };
    let AnchorKind::Question { call, answer } = anchor.kind else { return prompt };
    let asks = message.and_then(|message| message.calls.get(call));
    let answers = scene.message(answer).and_then(|message| message.result.as_ref()?.answers.as_deref());
    let block = u16::try_from(call).ok().and_then(|call| call.checked_add(events::FIRST_CALL)).unwrap_or(u16::MAX - 1);
    Step {
        kind: StepKind::QuestionAnswer,
        user_message_id: None,
        tool_call_id: asks.and_then(|call| call.id.as_deref()).map(str::to_owned),
        question_node_id: Some(node.node_id()),
        step_id: node.message_id().map_or_else(|| node.node_id(), |id| NodeId::Text(id.into())),
        summary: asks.map(|call| question::summary(&call.asked, answers.unwrap_or_default())).unwrap_or_default(),
        place: Place { block, ..prompt.place },
        text_bytes: asks.map_or(0, |call| call.bytes),
        ..prompt
    }
}

/// Whether a message is one of person or agent.
pub(super) fn is_said(node: &Node) -> bool {
    match node.role() {
        Role::Assistant => node.summarized_from.is_none(),
        Role::User => node.message.as_ref().is_some_and(steps::is_prompt),
        Role::System | Role::Tool | Role::Other => false,
    }
}
