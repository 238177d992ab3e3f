//! From the messages of a conversation to the events of the timeline.

use std::collections::{HashMap, HashSet};

use super::calls::{self, Fate};
use super::chain::Node;
use super::message::{Call, Message, Role, ToolResult};
use super::question;
use super::scene::{INTERRUPTED, Scene};
use super::steps::{Anchor, AnchorKind};
use super::subagents::{NOTIFICATION, started_agent};
use crate::formats::labels::line;
use crate::model::{
    Asked, Decision, Event, EventKind, Fact, Marker, Place, SubagentStatus, Timestamp, Tool, ToolState,
};

/// Blocks of a message: what was thought, what was said, then its calls.
pub(super) const THOUGHT: u16 = 0;
pub(super) const SAID: u16 = 1;
pub(super) const FIRST_CALL: u16 = 2;

/// Models that are only told by what they choose.
pub(super) fn is_router(model: &str) -> bool {
    model.is_empty() || model == "adaptive" || model.starts_with("fusion-")
}

/// The events of a conversation.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    pub events: Vec<Event>,
    /// For each step, the index of the first event after it.
    pub starts: Vec<usize>,
}

/// What is known beside the conversation while its events are made.
pub(super) struct Setting<'a> {
    pub file: u16,
    pub anchors: &'a [Anchor],
    /// The session's own model, when that is the name of one.
    pub model: Option<&'a str>,
    /// Whether the agent still runs the session.
    pub is_live: bool,
    /// The ids of all subagents of the session.
    pub agents: &'a HashSet<String>,
}

/// Makes the events of a conversation.
pub(super) fn build(scene: &Scene<'_>, setting: &Setting<'_>) -> Timeline {
    let broken =
        scene.ends(setting.anchors).into_values().filter_map(|end| Some((end.position, end.broken?))).collect();
    let called = (0..scene.chain.len())
        .filter_map(|position| scene.message(position))
        .flat_map(|message| message.calls.iter().filter_map(|call| call.id.as_deref()))
        .collect();
    let mut builder = Builder {
        scene,
        setting,
        broken,
        called,
        layers: layers(scene),
        next: 0,
        model: None,
        is_after_prompt: true,
        compacted: None,
        timeline: Timeline::default(),
    };
    for position in 0..scene.chain.len() {
        builder.message(position);
    }
    builder.timeline
}

/// What made a compaction, and how many tokens it was made of.
type Layer<'a> = (Option<&'a str>, Option<u64>);

/// What the messages of each compaction tell, by the old head that they sum up.
fn layers<'a>(scene: &Scene<'a>) -> HashMap<i64, Layer<'a>> {
    let mut layers: HashMap<i64, Layer<'a>> = HashMap::new();
    for node in &scene.forest.nodes {
        let Some(old) = node.summarized_from else { continue };
        let layer = layers.entry(old).or_default();
        let trigger = node.message.as_ref().and_then(|message| message.summary_source.as_deref());
        layer.0 = layer.0.or(trigger.filter(|trigger| !trigger.is_empty()));
        layer.1 = layer.1.max(node.tokens_before);
    }
    layers
}

struct Builder<'a, 'b> {
    scene: &'b Scene<'a>,
    setting: &'b Setting<'b>,
    /// Where turns broke off, and why that seems so.
    broken: HashMap<usize, &'static str>,
    called: HashSet<&'a str>,
    layers: HashMap<i64, Layer<'a>>,
    /// The step that comes next.
    next: usize,
    model: Option<&'a str>,
    /// No answer came since the last prompt.
    is_after_prompt: bool,
    /// The old head of the compaction that was shown last.
    compacted: Option<i64>,
    timeline: Timeline,
}

impl<'a> Builder<'a, '_> {
    fn message(&mut self, position: usize) {
        let (Some(node), Some(number)) = (self.scene.node(position), self.scene.chain.get(position)) else { return };
        let place = Place { file: self.setting.file, record: *number, block: SAID };
        let Some(message) = &node.message else {
            let label = format!("node {} cannot be read", node.id);
            return self.timeline.events.push(event(node, place, EventKind::Unreadable, &label, 0));
        };
        match message.role {
            Role::System => self.system(node, message, place),
            Role::User => self.user(position, node, message, place),
            Role::Assistant => self.assistant(position, node, message, place),
            Role::Tool => self.result(node, message, place),
            Role::Other => self.plain(node, message, place, EventKind::Unknown),
        }
        if let Some(why) = self.broken.get(&position) {
            let fact = Fact::Interruption { message: (*why).to_owned() };
            self.marked(node, place, EventKind::Interruption, why, Marker::inferred(fact, node.at()));
        }
    }

    fn plain(&mut self, node: &Node, message: &Message, place: Place, kind: EventKind) {
        self.timeline.events.push(event(node, place, kind, &message.label, message.bytes));
    }

    fn marked(&mut self, node: &Node, place: Place, kind: EventKind, label: &str, marker: Marker) {
        let marker = Some(Box::new(marker));
        self.timeline.events.push(Event { marker, ..event(node, place, kind, label, 0) });
    }

    /// Starts the next step if it begins with this message, and with this call where it is a question.
    fn starts(&mut self, position: usize, asks: Option<usize>) -> bool {
        let Some(anchor) = self.setting.anchors.get(self.next).filter(|anchor| anchor.position == position) else {
            return false;
        };
        let is_own = match (anchor.kind, asks) {
            (AnchorKind::Prompt, None) => true,
            (AnchorKind::Question { call, .. }, Some(asks)) => call == asks,
            _ => false,
        };
        if is_own {
            self.timeline.starts.push(self.timeline.events.len());
            self.next += 1;
        }
        is_own
    }

    fn user(&mut self, position: usize, node: &Node, message: &Message, place: Place) {
        if self.starts(position, None) {
            self.is_after_prompt = true;
        } else {
            self.plain(node, message, place, EventKind::Notice);
        }
    }

    fn system(&mut self, node: &Node, message: &Message, place: Place) {
        if self.compaction(node, message, place) {
            return;
        }
        if message.label.starts_with(INTERRUPTED) {
            let fact = Fact::Interruption { message: "the user stopped the answer".to_owned() };
            let marker = Marker::recorded(fact, node.at());
            return self.marked(node, place, EventKind::Interruption, &message.label, marker);
        }
        let text = &message.label;
        if text.starts_with(NOTIFICATION)
            && let Some(id) =
                self.setting.agents.iter().filter(|id| text.contains(id.as_str())).max_by_key(|id| id.len())
        {
            let fact = Fact::Subagent { id: id.clone(), name: None, status: SubagentStatus::Finished };
            return self.marked(node, place, EventKind::Subagent, text, Marker::recorded(fact, node.at()));
        }
        self.plain(node, message, place, EventKind::Notice);
    }

    /// The first message of a compaction is its event; the others are notices.
    fn compaction(&mut self, node: &Node, message: &Message, place: Place) -> bool {
        if node.summarized_from.is_none() || self.compacted == node.summarized_from {
            return false;
        }
        self.compacted = node.summarized_from;
        let (trigger, tokens_before) =
            node.summarized_from.and_then(|old| self.layers.get(&old)).copied().unwrap_or_default();
        let trigger = trigger.map(str::to_owned);
        let fact = Fact::Compaction { trigger, tokens_before, tokens_after: None };
        let mut compacted = event(node, place, EventKind::Compaction, &message.label, message.bytes);
        compacted.marker = Some(Box::new(Marker::recorded(fact, node.at())));
        self.timeline.events.push(compacted);
        true
    }

    fn assistant(&mut self, position: usize, node: &Node, message: &'a Message, place: Place) {
        if node.summarized_from.is_some() {
            if !self.compaction(node, message, place) {
                self.plain(node, message, place, EventKind::Notice);
            }
            return;
        }
        self.model_of(node, message, place);
        if let Some((label, bytes)) = &message.thinking {
            let place = Place { block: THOUGHT, ..place };
            self.timeline.events.push(event(node, place, EventKind::Thinking, label, *bytes));
        }
        if !message.label.is_empty() {
            self.plain(node, message, place, EventKind::Text);
        }
        for (at, call) in message.calls.iter().enumerate() {
            let block = u16::try_from(at).ok().and_then(|at| at.checked_add(FIRST_CALL)).unwrap_or(u16::MAX - 1);
            let place = Place { block, ..place };
            self.starts(position, Some(at));
            if call.asked.is_empty() {
                self.call(node, call, place);
            } else {
                self.questions(node, call, place);
            }
        }
    }

    /// Notes which model answers, when that is another one than before. In the middle of a turn nobody chose it.
    fn model_of(&mut self, node: &Node, message: &'a Message, place: Place) {
        let is_after_prompt = std::mem::take(&mut self.is_after_prompt);
        let Some(model) = message.reply.as_ref().and_then(|reply| reply.model.as_deref()) else { return };
        let before = self.model.replace(model);
        let place = Place { block: THOUGHT, ..place };
        match before {
            Some(before) if before == model => {}
            Some(before) if is_after_prompt => {
                let label = format!("the model changed: {before} → {model}");
                self.timeline.events.push(event(node, place, EventKind::Notice, &label, 0));
            }
            Some(before) => {
                let label = format!("{before} → {model}");
                let (from, to) = (Some(before.to_owned()), Some(model.to_owned()));
                let fact = Fact::Fallback { from, to, trigger: None, reset_at: None, message: None };
                self.marked(node, place, EventKind::Fallback, &label, Marker::inferred(fact, node.at()));
            }
            None => {
                if let Some(own) = self.setting.model.filter(|own| *own != model) {
                    let label = format!("{model} answers; the session's model is {own}");
                    self.timeline.events.push(event(node, place, EventKind::Notice, &label, 0));
                }
            }
        }
    }

    /// An event of a call, with its result.
    fn call_event(&self, node: &Node, call: &Call, place: Place, kind: EventKind) -> Event {
        let result = self.scene.result(call);
        let fate = self.scene.fate(call);
        let result_node = result.and_then(|(position, _)| self.scene.node(position));
        let result_bytes = result_node.and_then(|node| node.message.as_ref()).map_or(0, |message| message.bytes);
        let mut made = event(node, place, kind, &call.label, call.bytes.saturating_add(result_bytes));
        made.duration_ms = result.and_then(|(_, result)| result.duration_ms).or_else(|| {
            let ended = result_node.and_then(Node::at)?;
            Some(ended.since(node.at()?)).filter(|duration| *duration >= 0)
        });
        made.tool = Some(Box::new(Tool {
            name: call.name.to_string(),
            call_id: call.id.as_deref().map(str::to_owned),
            state: match fate {
                Fate::Pending => ToolState::Pending,
                Fate::Ran => ToolState::Done,
                Fate::Failed | Fate::Cancelled => ToolState::Failed,
                Fate::Rejected | Fate::Blocked => ToolState::Denied,
            },
            result: result.and_then(|(position, _)| self.place_of(position)),
        }));
        made
    }

    fn place_of(&self, position: usize) -> Option<Place> {
        Some(Place { file: self.setting.file, record: *self.scene.chain.get(position)?, block: SAID })
    }

    fn call(&mut self, node: &Node, call: &'a Call, place: Place) {
        let mut made = self.call_event(node, call, place, EventKind::Tool);
        let result = self.scene.result(call);
        let ended_at = result.and_then(|(position, _)| self.scene.node(position)?.at());
        if self.scene.fate(call) == Fate::Failed {
            made.marker = Some(Box::new(Marker::recorded(self.failure(call), ended_at)));
        }
        self.timeline.events.push(made);
        self.approval(node, call, place);
        if self.scene.fate(call) == Fate::Cancelled {
            let message = format!("{} was called off by the user", call.name);
            let marker = Marker::recorded(Fact::Interruption { message: message.clone() }, ended_at.or(node.at()));
            self.marked(node, place, EventKind::Interruption, &message, marker);
        }
        if let Some((position, result)) = result {
            self.subagent(position, call, result, place);
        }
    }

    fn failure(&self, call: &Call) -> Fact {
        let state = self.scene.state(call);
        let result = self.scene.result(call);
        let code = result.and_then(|(_, result)| result.failure.as_deref()).map(str::to_owned);
        let exit = calls::exit_code(state, result.map(|(_, result)| result)).map(|code| format!("exit code {code}"));
        let text = result.and_then(|(position, _)| self.scene.message(position)).map(|message| &*message.label);
        let text = text.or(state.and_then(|state| state.text.as_deref())).unwrap_or_default();
        Fact::Failure { code: code.or(exit), message: text.to_owned() }
    }

    /// Only refusals are recorded. A call that waits may wait for the user, or nobody wrote down what became of it.
    fn approval(&mut self, node: &Node, call: &Call, place: Place) {
        let state = self.scene.state(call);
        let result = self.scene.result(call);
        let text = result.and_then(|(position, _)| self.scene.message(position)).map(|message| &*message.label);
        let text = text.or(state.and_then(|state| state.text.as_deref())).filter(|text| !text.is_empty());
        let at = result.and_then(|(position, _)| self.scene.node(position)?.at()).or(node.at());
        let (decision, by, reason) = match self.scene.fate(call) {
            Fate::Rejected => {
                let by_user = text.is_some_and(|text| text.contains("by the user") || text.contains("by user"));
                (Decision::Denied, by_user.then_some("user"), text)
            }
            Fate::Blocked => (Decision::Blocked, Some("rule"), text),
            Fate::Pending if self.setting.is_live => {
                (Decision::Pending, None, Some("the agent still runs: it waits, or the tool does"))
            }
            Fate::Pending => (Decision::Pending, None, Some("waiting or aborted")),
            Fate::Cancelled | Fate::Failed | Fate::Ran => return,
        };
        let fact = Fact::Approval {
            tool: call.name.to_string(),
            tool_call_id: call.id.as_deref().map(str::to_owned),
            decision,
            by: by.map(str::to_owned),
            reason: reason.map(str::to_owned),
            waited_ms: None,
            asked: Asked::default(),
        };
        let marker = match decision {
            Decision::Pending => Marker::inferred(fact, at),
            _ => Marker::recorded(fact, at),
        };
        self.marked(node, place, EventKind::Approval, reason.unwrap_or_default(), marker);
        if let Some(last) = self.timeline.events.last_mut() {
            last.folded = true;
        }
    }

    fn subagent(&mut self, position: usize, call: &Call, result: &ToolResult, place: Place) {
        let Some(started) = started_agent(self.scene, position, result, call) else { return };
        let Some(node) = self.scene.node(position) else { return };
        let label = started.name.clone().unwrap_or_else(|| started.id.clone());
        let fact = Fact::Subagent { id: started.id, name: started.name, status: started.status };
        self.marked(node, place, EventKind::Subagent, &label, Marker::recorded(fact, node.at()));
    }

    fn questions(&mut self, node: &Node, call: &Call, place: Place) {
        let result = self.scene.result(call).map(|(_, result)| result);
        let has_result = self.scene.fate(call) != Fate::Pending;
        for (number, asked) in call.asked.iter().enumerate() {
            let mut made = self.call_event(node, call, place, EventKind::Question);
            made.label = line(&asked.question);
            let answers = result.and_then(|result| result.answers.as_deref());
            let fact = question::fact(asked, number, answers, has_result);
            made.marker = Some(Box::new(Marker::recorded(fact, node.at())));
            self.timeline.events.push(made);
        }
        if self.scene.fate(call) == Fate::Cancelled {
            let message = "the question was called off by the user".to_owned();
            let marker = Marker::recorded(Fact::Interruption { message: message.clone() }, node.at());
            self.marked(node, place, EventKind::Interruption, &message, marker);
        }
    }

    /// A result is part of its call's event, unless the call is not in the conversation.
    fn result(&mut self, node: &Node, message: &Message, place: Place) {
        let call = message.result.as_ref().and_then(|result| result.call_id.as_deref());
        if call.is_some_and(|call| self.called.contains(call)) {
            return;
        }
        let mut made = event(node, place, EventKind::ToolResult, &message.label, message.bytes);
        let fate = calls::fate(call.and_then(|call| self.scene.states.get(call)), message.result.as_deref());
        made.tool = Some(Box::new(Tool {
            name: "tool".to_owned(),
            call_id: call.map(str::to_owned),
            state: if fate == Fate::Ran { ToolState::Done } else { ToolState::Failed },
            result: Some(place),
        }));
        self.timeline.events.push(made);
    }
}

fn event(node: &Node, place: Place, kind: EventKind, label: &str, text_bytes: u32) -> Event {
    Event { at: node.at(), text_bytes, ..Event::new(kind, node.node_id(), place, line(label)) }
}

/// When a session's first and last message were written.
pub(super) fn span(events: &[Event]) -> (Option<Timestamp>, Option<Timestamp>) {
    let times = || events.iter().filter_map(|event| event.at);
    (times().min(), times().max())
}
