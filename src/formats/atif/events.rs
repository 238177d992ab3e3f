//! The events of one element of `steps`: what a model response said and did, or a note of the harness.

use super::question;
use super::record::{Call, CallResult, Record, raw_text};
use super::verdict::{self, Verdict};
use crate::formats::labels::line;
use crate::formats::labels::marker_text;
use crate::model::{
    Asked as Told, Decision, Event, EventKind, Fact, Marker, NodeId, Place, QuestionState, SubagentStatus, Timestamp,
    Tool, ToolState,
};

/// Blocks of a record: its message, its reasoning, a note about it, then its calls and their results.
pub const MESSAGE: u16 = 0;
pub const REASONING: u16 = 1;
pub const NOTE: u16 = 2;
const FIRST_CALL: u16 = 16;
const FIRST_RESULT: u16 = 0x4000;
/// Calls and results of one element that are shown.
const MAX_CALLS: usize = (FIRST_RESULT - FIRST_CALL) as usize;

/// A question that the user answered.
pub struct Answered {
    pub call_id: Option<String>,
    pub summary: String,
    /// Its first event, among those of the record.
    pub event: usize,
    pub text_bytes: u32,
}

/// Number of the call that a block stands for.
pub fn call_of(block: u16) -> Option<usize> {
    (FIRST_CALL..FIRST_RESULT).contains(&block).then(|| usize::from(block - FIRST_CALL))
}

/// Number of the result that a block stands for.
pub fn result_of(block: u16) -> Option<usize> {
    (block >= FIRST_RESULT && block != Place::EXTRA).then(|| usize::from(block - FIRST_RESULT))
}

/// Makes the events of one record.
pub struct Maker<'a> {
    pub record: u32,
    pub node: NodeId,
    pub at: Option<Timestamp>,
    pub events: &'a mut Vec<Event>,
}

impl Maker<'_> {
    pub fn push(&mut self, kind: EventKind, block: u16, text: &str) -> &mut Event {
        let place = Place { file: 0, record: self.record, block };
        let event = Event::new(kind, self.node.clone(), place, line(text));
        self.events.push_mut(Event { at: self.at, text_bytes: bytes(text), ..event })
    }

    /// A fact that a text or a change lets one conclude.
    pub fn concluded(&mut self, kind: EventKind, block: u16, text: &str, fact: Fact) {
        let at = self.at;
        self.push(kind, block, text).marker = Some(Box::new(Marker::inferred(fact, at)));
    }

    /// The events of a model response; `before` is the model of the one before it in the same turn.
    pub fn response(&mut self, record: &Record<'_>, before: Option<&str>) -> Vec<Answered> {
        if let (Some(from), Some(to)) = (before, record.model())
            && from != to
        {
            let fact = Fact::Fallback {
                from: Some(marker_text(from)),
                to: Some(marker_text(to)),
                trigger: None,
                reset_at: None,
                message: None,
            };
            self.concluded(EventKind::Fallback, NOTE, &format!("{from} → {to}"), fact);
        }
        let reasoning = raw_text(record.reasoning_content);
        if !reasoning.trim().is_empty() {
            self.push(EventKind::Thinking, REASONING, &reasoning);
        }
        let message = raw_text(record.message);
        if !message.trim().is_empty() {
            self.message(record, &message);
        }
        self.calls(record)
    }

    fn message(&mut self, record: &Record<'_>, message: &str) {
        // Claude Code puts failed requests into the conversation as answers of no model.
        let is_failure = record.model_name.as_str() == Some("<synthetic>") && message.starts_with("API Error");
        if is_failure {
            let fact = Fact::Failure { code: None, message: marker_text(message) };
            self.concluded(EventKind::Failure, MESSAGE, message, fact);
        } else {
            self.push(EventKind::Text, MESSAGE, message);
        }
    }

    /// The calls of a record with their results; those that asked the user, and were answered, are given back.
    pub fn calls(&mut self, record: &Record<'_>) -> Vec<Answered> {
        let results: Vec<(usize, &CallResult<'_>)> = record.results().take(MAX_CALLS).collect();
        let mut taken = vec![false; results.len()];
        let mut answered = Vec::new();
        for (number, call) in record.calls().take(MAX_CALLS) {
            let id = call.tool_call_id.as_str();
            let fits = |at: usize, result: &CallResult<'_>| {
                !taken.get(at).copied().unwrap_or(true) && id.is_some() && result.source_call_id.as_str() == id
            };
            let found = results.iter().enumerate().find(|(at, (_, result))| fits(*at, result));
            let result = found.map(|(at, (number, result))| {
                if let Some(taken) = taken.get_mut(at) {
                    *taken = true;
                }
                (*number, *result)
            });
            answered.extend(self.call(number, call, result));
        }
        // Results of calls that are not in this record.
        for ((number, result), _) in results.iter().zip(&taken).filter(|(_, taken)| !**taken) {
            let (verdict, text) = verdict::of(result);
            let call_id = result.source_call_id.to_owned_option();
            let place = self.place(result_block(*number));
            let is_joined = self.join_earlier(call_id.as_deref(), state_of(Some(&verdict)), place);
            let event = self.push(EventKind::ToolResult, place.block, &text);
            event.folded = is_joined;
            event.tool = Some(Box::new(Tool {
                name: String::new(),
                call_id,
                state: state_of(Some(&verdict)),
                result: Some(place),
            }));
            self.subagents(*number, result);
        }
        answered
    }

    /// Gives a result to its call in a record before this one, where older versions of the format put it.
    fn join_earlier(&mut self, call_id: Option<&str>, state: ToolState, result: Place) -> bool {
        const REACH: usize = 256;
        let Some(call_id) = call_id else { return false };
        let waits = |tool: &Tool| tool.state == ToolState::Pending && tool.call_id.as_deref() == Some(call_id);
        let earlier = self.events.iter_mut().rev().take(REACH).filter(|event| event.kind == EventKind::Tool);
        let found = earlier.filter_map(|event| event.tool.as_deref_mut()).find(|tool| waits(tool));
        let Some(tool) = found else { return false };
        (tool.state, tool.result) = (state, Some(result));
        true
    }

    fn place(&self, block: u16) -> Place {
        Place { file: 0, record: self.record, block }
    }

    fn call(&mut self, number: usize, call: &Call<'_>, result: Option<(usize, &CallResult<'_>)>) -> Option<Answered> {
        let name = marker_text(call.function_name.or_empty());
        let read = result.map(|(number, result)| (number, result, verdict::of(result)));
        let verdict = read.as_ref().map(|(_, _, (verdict, _))| verdict);
        let result_bytes = read.as_ref().map_or(0, |(_, _, (_, text))| bytes(text));
        let input_bytes = call.arguments.map_or(0, |raw| u32::try_from(raw.get().len()).unwrap_or(u32::MAX));
        let block = FIRST_CALL.saturating_add(u16::try_from(number).unwrap_or(0));
        let tool = Tool {
            name: name.clone(),
            call_id: call.tool_call_id.to_owned_option(),
            state: state_of(verdict),
            result: read.as_ref().map(|(number, _, _)| self.place(result_block(*number))),
        };
        let first = self.events.len();
        let asked = if question::is_question(&name) { question::asked(call.arguments) } else { Vec::new() };
        let text_bytes = input_bytes.saturating_add(result_bytes);
        let mut answered = None;
        if asked.is_empty() {
            let event = self.push(EventKind::Tool, block, &main_argument(call, &name));
            event.tool = Some(Box::new(tool));
            event.text_bytes = text_bytes;
        } else {
            let answers = match &read {
                Some((_, result, (Verdict::Ran, text))) => question::answers(&asked, result, text),
                _ => vec![Vec::new(); asked.len()],
            };
            for (asked, answers) in asked.iter().zip(&answers) {
                let state = match verdict {
                    None => QuestionState::Pending,
                    Some(Verdict::Ran) => QuestionState::Answered,
                    Some(Verdict::Denied(_) | Verdict::Cancelled) => QuestionState::Declined,
                    Some(Verdict::Failed | Verdict::Blocked) => QuestionState::NotShown,
                };
                let question = asked.question.clone();
                let fact = Fact::Question { question, options: asked.options.clone(), answers: answers.clone(), state };
                self.question(block, fact, &asked.question, &tool, text_bytes);
            }
            if verdict == Some(&Verdict::Ran) {
                answered = Some(Answered {
                    call_id: call.tool_call_id.to_owned_option(),
                    summary: question::summary(&asked, &answers),
                    event: first,
                    text_bytes: input_bytes,
                });
            }
        }
        if let Some((number, result, (verdict, text))) = &read {
            self.outcome(first, *number, call, verdict, text);
            self.subagents(*number, result);
        }
        answered
    }

    fn question(&mut self, block: u16, fact: Fact, label: &str, tool: &Tool, text_bytes: u32) {
        let at = self.at;
        // The call and its answer are there as they are; only a refusal is told by its words.
        let is_told = matches!(tool.state, ToolState::Done | ToolState::Pending);
        let event = self.push(EventKind::Question, block, label);
        event.tool = Some(Box::new(tool.clone()));
        event.text_bytes = text_bytes;
        event.marker = Some(Box::new(if is_told { Marker::recorded(fact, at) } else { Marker::inferred(fact, at) }));
    }

    /// What a result says beside its text.
    fn outcome(&mut self, first: usize, number: usize, call: &Call<'_>, verdict: &Verdict, text: &str) {
        let block = result_block(number);
        let is_question = self.events.get(first).is_some_and(|event| event.kind == EventKind::Question);
        let (decision, by, reason) = match verdict {
            Verdict::Ran => return,
            // What became of a question is said by its own marker.
            Verdict::Denied(_) | Verdict::Blocked if is_question => return,
            Verdict::Failed => {
                let fact = Fact::Failure { code: None, message: first_line(text) };
                let at = self.at;
                if let Some(event) = self.events.get_mut(first).filter(|event| event.kind == EventKind::Tool) {
                    event.marker = Some(Box::new(Marker::recorded(fact, at)));
                }
                return;
            }
            Verdict::Cancelled => {
                let fact = Fact::Interruption { message: first_line(text) };
                self.concluded(EventKind::Interruption, block, text, fact);
                return;
            }
            Verdict::Denied(reason) => (Decision::Denied, "user", reason.clone()),
            Verdict::Blocked => (Decision::Blocked, "rule", None),
        };
        let fact = Fact::Approval {
            tool: marker_text(call.function_name.or_empty()),
            tool_call_id: call.tool_call_id.to_owned_option(),
            decision,
            by: Some(by.to_owned()),
            reason: reason.clone(),
            waited_ms: None,
            asked: Told::default(),
        };
        self.concluded(EventKind::Approval, block, &reason.unwrap_or_else(|| first_line(text)), fact);
        if let Some(event) = self.events.last_mut() {
            event.folded = call.tool_call_id.0.is_some();
        }
    }

    /// The trajectories of subagents that a result refers to.
    fn subagents(&mut self, number: usize, result: &CallResult<'_>) {
        for reference in result.subagent_trajectory_ref.0.iter().filter_map(|reference| reference.0.as_ref()).take(64) {
            let Some(id) = reference.trajectory_id.as_str().or_else(|| reference.trajectory_path.as_str()) else {
                continue;
            };
            let name = reference.trajectory_path.as_str().map(marker_text);
            let fact = Fact::Subagent { id: marker_text(id), name, status: SubagentStatus::Finished };
            let at = self.at;
            let event = self.push(EventKind::Subagent, result_block(number), id);
            event.marker = Some(Box::new(Marker::recorded(fact, at)));
            event.text_bytes = 0;
        }
    }
}

fn result_block(number: usize) -> u16 {
    FIRST_RESULT.saturating_add(u16::try_from(number).unwrap_or(0))
}

fn state_of(verdict: Option<&Verdict>) -> ToolState {
    match verdict {
        None => ToolState::Pending,
        Some(Verdict::Ran) => ToolState::Done,
        Some(Verdict::Failed | Verdict::Cancelled) => ToolState::Failed,
        Some(Verdict::Denied(_) | Verdict::Blocked) => ToolState::Denied,
    }
}

fn bytes(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

fn first_line(text: &str) -> String {
    marker_text(text.trim().lines().next().unwrap_or_default())
}

/// What stands for a call: its most telling argument, else all of them.
fn main_argument(call: &Call<'_>, name: &str) -> String {
    const TELLING: [&str; 10] =
        ["command", "file_path", "path", "pattern", "query", "url", "description", "task", "prompt", "title"];
    let Some(raw) = call.arguments else { return name.to_owned() };
    let value: serde_json::Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let telling = TELLING.iter().find_map(|key| value.get(*key)?.as_str());
    telling.map_or_else(|| raw.get().chars().take(2_000).collect(), str::to_owned)
}
