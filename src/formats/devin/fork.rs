//! A fork as an export: the conversation up to a step as an ATIF document, the form that the agent itself exports.
//!
//! The agent forks in its own database; nothing is written there from outside, because it rewrites sessions from memory.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::chain::Node;
use super::message::{Message, Role};
use super::question::TOOL;
use super::steps::{AnchorKind, is_prompt};
use super::stored::Stored;
use crate::formats::progress::Progress;
use crate::formats::{Cut, Fork, Refusal};
use crate::model::{Step, StepKind, Usage};
use crate::store::{ReadError, Rewrite, Watch};

pub(super) fn plan(stored: &Stored, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
    let (Cut::After(number) | Cut::Before(number)) = cut;
    let (at, step) = stored.step(number)?;
    if let Some(reason) = &step.fork_refusal {
        return Err(Refusal::Rule(reason.clone()));
    }
    let Some(last) = last_position(stored, at, step, cut) else {
        return Err(Refusal::Rule("there is nothing before it that a fork could hold".to_owned()));
    };
    let held: Vec<&Node> = (0..=last).filter_map(|position| stored.node_at(position)).collect();
    let mut export = Export::new(stored, last);
    let total = held.iter().filter_map(|node| node.message.as_ref()).map(|message| u64::from(message.bytes)).sum();
    let mut progress = Progress::new(watch, total);
    for node in held {
        progress.add(node.message.as_ref().map_or(0, |message| u64::from(message.bytes)))?;
        export.message(node)?;
    }
    let wanted = if matches!(cut, Cut::After(_)) { number } else { number - 1 };
    let steps = stored.assembled.anchors.iter().filter(|anchor| match anchor.kind {
        AnchorKind::Prompt => anchor.position <= last,
        AnchorKind::Question { answer, .. } => answer <= last,
    });
    let steps = u32::try_from(steps.count()).unwrap_or(u32::MAX);
    let session_id = uuid::Uuid::new_v4().to_string();
    let warnings = export.warnings(wanted, steps);
    let document = export.document(&session_id, wanted);
    let Some(file) = stored.files.first() else {
        return Err(Refusal::Rule("the database is not open".to_owned()));
    };
    let mut rewrite = Rewrite::new(file.clone());
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    rewrite.push(text.as_bytes());
    let name: String =
        stored.session_id().chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).take(80).collect();
    Ok(Fork {
        session_id,
        file_name: format!("{name}-step{wanted}.json"),
        rewrite,
        companions: Vec::new(),
        steps,
        warnings,
    })
}

/// The last position of the conversation that the fork holds.
fn last_position(stored: &Stored, at: usize, step: &Step, cut: Cut) -> Option<usize> {
    let targets = stored.assembled.targets.get(at)?;
    if matches!(cut, Cut::Before(_)) {
        return targets.revert;
    }
    let next = stored.assembled.anchors.get(at + 1).zip(stored.assembled.targets.get(at + 1));
    match next {
        // A turn goes on over its questions, which are steps of their own: a fork of N ends before step N + 1 was asked.
        Some((next, next_targets)) if step.kind == StepKind::Prompt && next.kind != AnchorKind::Prompt => {
            next_targets.revert
        }
        _ => Some(targets.fork),
    }
}

struct Export<'a> {
    stored: &'a Stored,
    /// The ids of the calls in it.
    called: HashSet<&'a str>,
    /// The position of each call's result.
    results: HashMap<&'a str, usize>,
    last: usize,
    steps: Vec<Value>,
    usage: Usage,
    unreadable: u32,
    /// Calls without a result.
    open: u32,
}

impl<'a> Export<'a> {
    fn new(stored: &'a Stored, last: usize) -> Self {
        let mut export = Self {
            stored,
            called: HashSet::new(),
            results: HashMap::new(),
            last,
            steps: Vec::new(),
            usage: Usage::default(),
            unreadable: 0,
            open: 0,
        };
        for position in 0..=last {
            let Some(message) = stored.node_at(position).and_then(|node| node.message.as_ref()) else { continue };
            export.called.extend(message.calls.iter().filter_map(|call| call.id.as_deref()));
            if let Some(call) = message.result.as_ref().and_then(|result| result.call_id.as_deref()) {
                export.results.entry(call).or_insert(position);
            }
        }
        export
    }

    fn message(&mut self, node: &Node) -> Result<(), ReadError> {
        let Some(message) = &node.message else {
            self.unreadable += 1;
            return Ok(());
        };
        let mut step = Map::new();
        step.insert("step_id".to_owned(), (self.steps.len() + 1).into());
        if let Some(at) = message.at {
            step.insert("timestamp".to_owned(), at.to_rfc3339().into());
        }
        let is_agent = message.role == Role::Assistant && node.summarized_from.is_none();
        let source = match message.role {
            _ if is_agent => "agent",
            Role::User if is_prompt(message) => "user",
            Role::Tool if self.is_answered(message) => return Ok(()),
            _ => "system",
        };
        step.insert("source".to_owned(), source.into());
        let content = self.stored.content(node)?;
        if message.role == Role::Tool {
            step.insert("message".to_owned(), "".into());
            step.insert("observation".to_owned(), json!({"results": [{"content": content}]}));
        } else {
            step.insert("message".to_owned(), content.into());
        }
        if is_agent {
            self.agent(node, message, &mut step)?;
        }
        let extra = extra(node, message);
        if !extra.is_empty() {
            step.insert("extra".to_owned(), extra.into());
        }
        self.steps.push(step.into());
        Ok(())
    }

    /// Whether a result goes with its call.
    fn is_answered(&self, message: &Message) -> bool {
        let call = message.result.as_ref().and_then(|result| result.call_id.as_deref());
        call.is_some_and(|call| self.called.contains(call))
    }

    fn agent(&mut self, node: &Node, message: &Message, step: &mut Map<String, Value>) -> Result<(), ReadError> {
        let reply = message.reply.as_deref();
        if let Some(model) = reply.and_then(|reply| reply.model.as_deref()) {
            step.insert("model_name".to_owned(), model.into());
        }
        let (thought, calls) = self.stored.with_message(node, |recorded| {
            let thought = recorded.thinking.0.as_ref().and_then(|thought| thought.thinking.to_owned_option());
            let calls: Vec<Value> =
                recorded.calls().map(|call| serde_json::from_str(&call.arguments()).unwrap_or_default()).collect();
            (thought, calls)
        })?;
        if let Some(thought) = thought.filter(|thought| !thought.is_empty()) {
            step.insert("reasoning_content".to_owned(), thought.into());
        }
        let mut results = Vec::new();
        let mut exported = Vec::new();
        for (call, arguments) in message.calls.iter().zip(calls) {
            // The document names a call by its id alone.
            let Some(id) = call.id.as_deref() else { continue };
            let arguments = if arguments.is_object() { arguments } else { json!({"value": arguments}) };
            exported.push(json!({"tool_call_id": id, "function_name": &*call.name, "arguments": arguments}));
            match self.result(id, &call.name)? {
                Some(result) => results.push(result),
                None => self.open += 1,
            }
        }
        if !exported.is_empty() {
            step.insert("tool_calls".to_owned(), exported.into());
        }
        if !results.is_empty() {
            step.insert("observation".to_owned(), json!({ "results": results }));
        }
        if let Some(reply) = reply.filter(|reply| reply.has_usage) {
            self.usage.add(&reply.usage);
            let mut metrics = Map::new();
            for (name, tokens) in [
                ("prompt_tokens", reply.usage.input),
                ("completion_tokens", reply.usage.output),
                ("cached_tokens", reply.usage.cache_read),
            ] {
                metrics.extend(tokens.map(|tokens| (name.to_owned(), tokens.into())));
            }
            step.insert("metrics".to_owned(), metrics.into());
        }
        Ok(())
    }

    /// The result of a call, if the fork holds it. A question that was called off was not answered: it has none.
    fn result(&self, id: &str, name: &str) -> Result<Option<Value>, ReadError> {
        let Some(position) = self.results.get(id).copied().filter(|position| *position <= self.last) else {
            return Ok(None);
        };
        let Some(node) = self.stored.node_at(position) else { return Ok(None) };
        let result = node.message.as_ref().and_then(|message| message.result.as_deref());
        if name == TOOL && result.is_none_or(|result| result.answers.is_none()) {
            return Ok(None);
        }
        let mut exported = json!({"source_call_id": id, "content": self.stored.content(node)?});
        let failure = result.and_then(|result| result.failure.as_deref());
        if let (Some(fields), Some(failure)) = (exported.as_object_mut(), failure) {
            fields.insert("extra".to_owned(), json!({ "failure": failure }));
        }
        Ok(Some(exported))
    }

    fn warnings(&self, wanted: u32, steps: u32) -> Vec<String> {
        let mut warnings = vec![format!(
            "this is an export for reading and replaying; to go on from here, fork in Devin itself: open the session there \
             and type /fork {wanted}"
        )];
        let mut count = |number: usize, one: &str, many: &str| match number {
            0 => {}
            1 => warnings.push(format!("1 {one}")),
            number => warnings.push(format!("{number} {many}")),
        };
        count(
            self.unreadable as usize,
            "message that cannot be read is left out",
            "messages that cannot be read are left out",
        );
        count(self.open as usize, "call has no result in it", "calls have no result in it");
        let agents = self.stored.assembled.session.subagents.len();
        count(agents, "subagent's own conversation is left out", "subagents' own conversations are left out");
        if steps != wanted {
            warnings.push(format!("the fork holds {steps} steps, not {wanted}"));
        }
        warnings
    }

    fn document(self, session_id: &str, step_number: u32) -> Value {
        let session = &self.stored.assembled.session;
        let mut agent = json!({"name": "devin", "version": "unknown", "model_name": session.model});
        if let (Some(fields), Some(mode)) = (agent.as_object_mut(), &self.stored.rows.session.mode) {
            fields.insert("extra".to_owned(), json!({ "permission_mode": mode }));
        }
        json!({
            "schema_version": "ATIF-v1.7",
            "session_id": session_id,
            "agent": agent,
            "final_metrics": {
                "total_prompt_tokens": self.usage.input,
                "total_completion_tokens": self.usage.output,
                "total_cached_tokens": self.usage.cache_read,
                "total_steps": self.steps.len(),
            },
            "extra": {
                "title": session.title,
                "working_directory": session.cwd,
                "forked_from": {"session_id": session.id, "step_number": step_number},
            },
            "steps": self.steps,
        })
    }
}

/// What a message has that the document has no place for.
fn extra(node: &Node, message: &Message) -> Map<String, Value> {
    let mut extra = Map::new();
    if let Some(model) = message.reply.as_ref().and_then(|reply| reply.model.as_deref()) {
        extra.insert("generation_model".to_owned(), model.into());
    }
    if node.summarized_from.is_some() {
        extra.insert("summarized_from".to_owned(), node.summarized_from.into());
    }
    if message.role == Role::User && !is_prompt(message) {
        extra.insert("role".to_owned(), "user".into());
    }
    let client = message.user.as_ref().and_then(|user| user.client_id.as_deref());
    if let Some(client) = client {
        extra.insert("user_message_id".to_owned(), client.into());
    }
    extra
}
