//! What the frames of streams tell of a turn that nothing else does.

use std::collections::HashMap;

use serde_json::Value;

use super::events::{How, Maker, short};
use super::facts::{Frame, Spot, is_agent_advisor, tool_name, usage};
use super::field::{any_id, any_text, at, id, spoken, text, time, word};
use super::tell::{Sum, Telling};
use super::trace::{frame_label, only_began};
use crate::model::{EventKind, Fact, Marker, NodeId, QuestionState, Timestamp, Tool, ToolState};

/// What comes after a frame in its turn.
struct Ahead<'f, 'a> {
    frames: &'f [Frame<'a>],
    /// The first result of each call.
    results: &'f HashMap<String, &'f Frame<'a>>,
}

impl<'a> Maker<'a> {
    /// Adds what the frames tell that nothing else does.
    pub fn frames(&mut self, telling: &Telling<'_, 'a>, said: &dyn Fn(&str) -> bool, sum: &mut Sum) {
        let frames = &telling.turn.frames;
        let mut pieces: Vec<Spot> = Vec::new();
        let mut results: HashMap<String, &Frame<'a>> = HashMap::new();
        for frame in frames.iter().filter(|frame| frame.kind == "tool_result") {
            if let Some(call) = any_id(frame.value, &["toolCallId", "id"]) {
                results.entry(call).or_insert(frame);
            }
        }
        for (index, frame) in frames.iter().enumerate() {
            if frame.kind != "text" && !matches!(frame.kind, "status" | "typing" | "usage" | "step_trace") {
                self.pieces(&mut pieces, said);
            }
            if let Some(run) = any_id(frame.value, &["record_id", "executionRecordId"]) {
                self.node = NodeId::Text(run.as_str().into());
            }
            let ahead = Ahead { frames: frames.get(index + 1..).unwrap_or_default(), results: &results };
            self.frame(frame, &ahead, telling, said, sum, &mut pieces);
        }
        self.pieces(&mut pieces, said);
    }

    fn frame(
        &mut self,
        frame: &Frame<'a>,
        ahead: &Ahead<'_, 'a>,
        telling: &Telling<'_, 'a>,
        said: &dyn Fn(&str) -> bool,
        sum: &mut Sum,
        pieces: &mut Vec<Spot>,
    ) {
        let value = frame.value;
        let words = any_text(value, &["message", "text"]).unwrap_or_default();
        match frame.kind {
            "reply" if said(words) || self.says(words) => {}
            "reply" => {
                self.say(EventKind::Text, &frame.spot.below("text"), frame.at);
            }
            "text" => {
                let key = ["delta", "chunk", "text"].into_iter().find(|key| value.get(key).is_some());
                pieces.extend(key.map(|key| frame.spot.below(key)));
            }
            "blocked" => {
                let label = format!("send to {} was blocked: {words}", text(value, "target").unwrap_or("a channel"));
                self.add(EventKind::Notice, &frame.spot.below("text"), How::Said, frame.at, &label);
            }
            "failed" | "error" => {
                let words = if words.is_empty() { "the turn failed" } else { words };
                let fact = Fact::Failure { code: any_id(value, &["code"]), message: short(words) };
                self.mark(EventKind::Failure, &frame.spot, frame.at, words, fact);
            }
            "tool_call" => self.call(frame, ahead),
            "tool_result" => self.lone_result(frame),
            "pending_consult" => self.consult(frame, ahead.frames, telling, sum),
            "turn_complete" if text(value, "outcome") == Some("silent") => {
                self.note(&frame.spot, frame.at, "the agent chose not to answer");
            }
            "step_trace" if !only_began(value) => {
                self.add(EventKind::Notice, &frame.spot, How::Said, frame.at, &frame_label(value));
            }
            "done" | "usage" => {
                let used = usage(value);
                let known = telling.turn.runs.iter().filter_map(|run| telling.facts.runs.get(*run));
                if !known.into_iter().any(|run| run.usage.is_some()) {
                    sum.usage.add(&used);
                }
                self.delivered(frame, said);
            }
            "event" => {
                let parts =
                    [any_text(value, &["kind", "changeKind"]), text(value, "conversation_id"), text(value, "state")];
                self.note(&frame.spot, frame.at, &parts.into_iter().flatten().collect::<Vec<_>>().join(" · "));
            }
            "start" | "stopped" | "draft" | "status" | "typing" | "turn_complete" | "step_trace"
            | "pending_approval" | "stream_live" | "heartbeat" | "keep-alive" | "message" | "testchat" => {}
            other => {
                let label = if other.is_empty() { "a frame without a type" } else { other }.to_owned();
                self.add(EventKind::Unknown, &frame.spot, How::Said, frame.at, &label);
            }
        }
    }

    /// The text of a run's stream that came in pieces.
    fn pieces(&mut self, pieces: &mut Vec<Spot>, said: &dyn Fn(&str) -> bool) {
        let taken = std::mem::take(pieces);
        let Some((first, more)) = taken.split_first() else { return };
        let whole: String = taken.iter().map(|spot| spoken(spot.value(self.files)).into_owned()).collect();
        if whole.is_empty() || said(&whole) {
            return;
        }
        let event = self.add(EventKind::Text, first, How::Said, None, &whole);
        event.text_bytes = u32::try_from(whole.len()).unwrap_or(u32::MAX);
        let place = event.place;
        if let Some(detail) = self.details.get_mut(&place) {
            detail.more = more.to_vec();
        }
    }

    /// The whole result that may come with the end of a run's stream.
    fn delivered(&mut self, frame: &Frame<'a>, said: &dyn Fn(&str) -> bool) {
        let spot = frame.spot.below("response");
        if let Some(response) = text(frame.value, "response").filter(|text| !said(text) && !self.says(text)) {
            let at = frame.at;
            self.add(EventKind::Text, &spot, How::Said, at, response);
        }
    }

    fn call(&mut self, frame: &Frame<'a>, ahead: &Ahead<'_, 'a>) {
        let value = frame.value;
        let call = any_id(value, &["toolCallId", "id"]);
        if call.as_deref().is_some_and(|call| self.has_call(call)) {
            return;
        }
        let result = call.as_ref().and_then(|call| ahead.results.get(call)).copied();
        let name = tool_name(value);
        let trace = at(value, &["toolTrace"]);
        let display = any_text(value, &["displayName", "display_name"]).or(text(trace, "displayName")).unwrap_or(&name);
        let arguments = [value.get("argsSummary"), value.get("arguments"), trace.get("parameters")];
        let arguments = arguments.into_iter().flatten().next().map(spoken).unwrap_or_default();
        let label = format!("{display} {arguments}");
        let fact = result.and_then(|result| failed(result.value));
        let started = any_time_of(value, true).or(frame.at);
        let ended = result.and_then(|result| any_time_of(result.value, false).or(result.at));
        let state = result.map_or(ToolState::Pending, |result| state_of(result.value));
        self.note_call(call.as_deref());
        let event = self.add(EventKind::Tool, &frame.spot, How::ToolFrame, started, &label);
        let place = event.place;
        event.duration_ms = started.zip(ended).map(|(from, to)| to.since(from)).filter(|ms| *ms >= 0);
        event.tool = Some(Box::new(Tool { name: short(&name), call_id: call, state, result: result.map(|_| place) }));
        event.marker = fact.map(|fact| Box::new(Marker::recorded(fact, ended)));
        if let (Some(detail), Some(result)) = (self.details.get_mut(&place), result) {
            detail.more.push(result.spot.clone());
        }
    }

    /// A result whose call is not among the frames of the turn.
    fn lone_result(&mut self, frame: &Frame<'a>) {
        let call = any_id(frame.value, &["toolCallId", "id"]);
        let is_known = call.as_deref().is_some_and(|call| self.has_call(call));
        let is_held = |event: &crate::model::Event| {
            event.kind == EventKind::Approval && event.tool.as_ref().is_some_and(|tool| tool.call_id == call)
        };
        if is_known || (call.is_some() && self.turn.iter().any(is_held)) {
            return;
        }
        let name = tool_name(frame.value);
        let label =
            format!("{name} {}", any_text(frame.value, &["resultSummary", "message", "outcome"]).unwrap_or_default());
        let fact = failed(frame.value);
        let event = self.add(EventKind::ToolResult, &frame.spot, How::ToolFrame, frame.at, &label);
        let (place, at) = (event.place, event.at);
        event.tool = Some(Box::new(Tool {
            name: short(&name),
            call_id: call,
            state: state_of(frame.value),
            result: Some(place),
        }));
        event.marker = fact.map(|fact| Box::new(Marker::recorded(fact, at)));
    }

    fn consult(&mut self, frame: &Frame<'a>, after: &[Frame<'a>], telling: &Telling<'_, 'a>, sum: &mut Sum) {
        let value = frame.value;
        let question = text(value, "question").unwrap_or("a question that is not recorded").to_owned();
        let operation = id(value, "operationId");
        let child = telling.facts.runs.iter().find(|run| operation.is_some() && run.operation == operation);
        let result = after.iter().find(|other| {
            other.kind == "tool_result"
                && (tool_name(other.value).contains("consult") || tool_name(other.value).contains("delegate"))
        });
        let answers: Vec<String> = result
            .and_then(|result| any_text(result.value, &["resultSummary", "message"]))
            .map(short)
            .into_iter()
            .collect();
        let is_declined = result.is_some_and(|result| {
            ["outcome", "refusalReason"]
                .iter()
                .any(|key| matches!(word(result.value, key).as_str(), "DECLINED" | "PARTICIPANTDECLINED" | "REFUSED"))
        });
        // A turn that goes on after the question has its answer.
        let goes_on = after.iter().any(|other| {
            matches!(other.kind, "reply" | "tool_call" | "tool_result")
                || text(other.value, "outcome") == Some("replied")
        });
        let is_done = child.is_some_and(|run| run.status == "COMPLETED");
        let state = match (is_declined, goes_on || is_done) {
            (true, _) => QuestionState::Declined,
            (_, true) => QuestionState::Answered,
            _ => QuestionState::Pending,
        };
        let starts = child.and_then(|run| run.start);
        self.question(&frame.spot, frame.at.or(starts), question, state, answers);
        if !is_agent_advisor(value) {
            sum.questions.push(frame.spot.clone());
        }
    }
}

fn any_time_of(value: &Value, starts: bool) -> Option<Timestamp> {
    let keys = if starts { ["start_time_ms", "startTime"] } else { ["end_time_ms", "endTime"] };
    keys.iter().find_map(|key| time(value, key))
}

fn state_of(result: &Value) -> ToolState {
    match any_text(result, &["outcome", "status"]).unwrap_or_default().to_ascii_lowercase().as_str() {
        "refused" | "rejected" => ToolState::Denied,
        "failed" | "error" | "failure" => ToolState::Failed,
        _ => ToolState::Done,
    }
}

fn failed(result: &Value) -> Option<Fact> {
    let message = any_text(result, &["message", "error", "resultSummary"]).unwrap_or("the tool failed");
    (state_of(result) == ToolState::Failed).then(|| Fact::Failure { code: None, message: short(message) })
}
