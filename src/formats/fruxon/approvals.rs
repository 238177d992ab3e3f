//! Held tool calls: each once, however many records tell of it.

use std::collections::HashMap;

use serde_json::Value;

use super::facts::{Facts, Frame, Run, Spot, Stream, tool_name};
use super::field::{any_id, any_time, at, id, number, text, time, word};
use super::read::FileData;
use super::walk::{self, Visited};
use crate::model::{Decision, Timestamp};

/// One held tool call.
#[derive(Clone, Debug)]
pub struct Approval {
    pub id: Option<String>,
    pub run: Option<String>,
    pub tool: String,
    pub call: Option<String>,
    pub prompt: Option<String>,
    pub actors: Vec<String>,
    pub decision: Decision,
    pub by: Option<String>,
    pub reason: Option<String>,
    pub requested: Option<Timestamp>,
    pub responded: Option<Timestamp>,
    /// The decision is read out of an answer's text.
    pub is_inferred: bool,
    pub spot: Spot,
}

impl Approval {
    /// Takes what another record of the same request adds.
    fn merge(&mut self, other: Self) {
        fn fill<T>(own: &mut Option<T>, other: Option<T>) {
            if own.is_none() {
                *own = other;
            }
        }
        fill(&mut self.run, other.run);
        fill(&mut self.call, other.call);
        fill(&mut self.prompt, other.prompt);
        fill(&mut self.by, other.by);
        fill(&mut self.reason, other.reason);
        fill(&mut self.requested, other.requested);
        fill(&mut self.responded, other.responded);
        if self.tool.is_empty() {
            self.tool = other.tool;
        }
        if self.actors.is_empty() {
            self.actors = other.actors;
        }
        // Records are of different moments: one that knows how it ended is the later one.
        if self.decision == Decision::Pending {
            self.decision = other.decision;
            self.is_inferred |= other.is_inferred;
        }
    }
}

impl<'a> Facts<'a> {
    /// The approvals that traces, streams and waiting runs tell of.
    pub fn find_held_calls(&mut self, files: &'a [FileData]) {
        let mut found = Vec::new();
        for run in &self.runs {
            for trace in &run.traces {
                for Visited { spot, value, .. } in walk::steps(files, trace) {
                    let held = at(value, &["hitlTrace"]);
                    if held.is_object() {
                        let mut approval = approval(held, spot.below("hitlTrace"));
                        approval.id = any_id(held, &["requestId"]);
                        approval.call = id(value, "id");
                        approval.run = run.id.clone();
                        found.push(approval);
                    }
                }
            }
            if let Some(spot) = &run.waiting {
                found.extend(waited(spot.value(files), run, spot));
            }
        }
        for stream in &self.streams {
            found.extend(held_in(stream));
        }
        found.into_iter().for_each(|approval| self.add_approval(approval));
        self.take_outcomes();
    }

    /// How held calls ended, as the results in streams say it.
    fn take_outcomes(&mut self) {
        let is_outcome = |frame: &&Frame<'_>| frame.kind == "tool_result";
        let frames: Vec<Frame<'a>> =
            self.streams.iter().flat_map(|s| s.frames.iter().filter(is_outcome)).cloned().collect();
        let calls = self.approvals.iter().enumerate().filter_map(|(index, held)| Some((held.call.clone()?, index)));
        let calls: HashMap<String, usize> = calls.collect();
        for frame in frames {
            let call = any_id(frame.value, &["toolCallId", "id"]);
            let known = call.as_ref().and_then(|call| calls.get(call)).and_then(|index| self.approvals.get_mut(*index));
            let message = text(frame.value, "message").map(str::to_owned);
            let (decision, reason) = match (word(frame.value, "outcome").as_str(), text(frame.value, "refusalReason")) {
                ("REFUSED", Some("expired")) => (Decision::Cancelled, Some("expired".to_owned())),
                ("REFUSED", Some("withdrawn")) => {
                    let why = message.map_or("withdrawn".to_owned(), |message| format!("withdrawn: {message}"));
                    (Decision::Cancelled, Some(why))
                }
                ("REFUSED", _) => (Decision::Denied, message),
                ("COMPLETED", _) => (Decision::Granted, None),
                _ => continue,
            };
            let mut outcome = approval(&Value::Null, frame.spot.clone());
            outcome.decision = decision;
            outcome.reason = reason;
            outcome.responded = frame.at;
            // That it ran says that it was allowed; nobody says so.
            outcome.is_inferred = decision == Decision::Granted;
            match known {
                Some(approval) => approval.merge(outcome),
                None if decision != Decision::Granted => {
                    outcome.tool = tool_name(frame.value);
                    outcome.call = call;
                    self.approvals.push(outcome);
                }
                None => {}
            }
        }
    }

    pub fn add_approval(&mut self, approval: Approval) {
        let known = approval.id.as_ref().and_then(|id| self.requests.get(id)).copied();
        if let Some(known) = known.and_then(|index| self.approvals.get_mut(index)) {
            known.merge(approval);
            return;
        }
        if let Some(id) = &approval.id {
            self.requests.insert(id.clone(), self.approvals.len());
        }
        self.approvals.push(approval);
    }
}

/// An approval of the list, or the `hitlTrace` of a step.
pub fn approval(value: &Value, spot: Spot) -> Approval {
    let response = text(value, "responseText").map(str::to_owned);
    let (decision, is_inferred, note) = decision(value, response.as_deref());
    let actors = at(value, &["authorizedApprovers"]).as_array().into_iter().flatten();
    let requested = any_time(value, &["requestedAt", "createdAt"]);
    let waited = number(value, "durationMs").filter(|ms| *ms >= 0.0);
    let responded = time(value, "respondedAt").filter(|_| decision != Decision::Pending);
    Approval {
        id: id(value, "id"),
        run: id(value, "executionRecordId"),
        tool: text(value, "toolKey").unwrap_or_default().to_owned(),
        call: id(value, "toolCallId"),
        prompt: text(value, "outboundMessage").map(str::to_owned),
        actors: actors.filter_map(Value::as_str).map(str::to_owned).collect(),
        decision,
        by: text(value, "respondedBy").map(str::to_owned),
        reason: match (note, response) {
            (Some(note), Some(response)) => Some(format!("{note}: {response}")),
            (note, response) => note.map(str::to_owned).or(response),
        },
        requested,
        responded: responded.or(requested.zip(waited).map(|(at, ms)| Timestamp(at.0.saturating_add(ms as i64)))),
        is_inferred,
        spot,
    }
}

/// How it was decided, whether that was concluded, and the word for what was no decision.
fn decision(value: &Value, response: Option<&str>) -> (Decision, bool, Option<&'static str>) {
    match (word(value, "decision").as_str(), word(value, "status").as_str()) {
        ("APPROVE" | "APPROVED", _) => (Decision::Granted, false, None),
        ("REJECT" | "REJECTED", _) => (Decision::Denied, false, None),
        (_, "EXPIRED") => (Decision::Cancelled, false, Some("expired")),
        (_, "CANCELLED" | "CANCELED") => (Decision::Cancelled, false, Some("cancelled")),
        (_, "WITHDRAWN") => (Decision::Cancelled, false, Some("withdrawn")),
        // The server takes the keyword for a yes and every other text for a no.
        (_, "RESPONDED") if response.is_some() => {
            let is_yes = response.is_some_and(|text| text.trim().to_lowercase().starts_with("approve"));
            (if is_yes { Decision::Granted } else { Decision::Denied }, true, None)
        }
        (_, "RESPONDED") => (Decision::Cancelled, true, Some("answered; how is not recorded")),
        _ => (Decision::Pending, false, None),
    }
}

/// One audit event of an approval.
pub fn audited(value: &Value, spot: Spot) -> Approval {
    let mut approval = approval(value, spot);
    let created = time(value, "createdAt");
    approval.id = id(value, "approvalRequestId");
    let (decision, note) = match word(value, "eventType").as_str() {
        "EXPIRED" => (Decision::Cancelled, Some("expired")),
        "CANCELLED" => (Decision::Cancelled, Some("cancelled")),
        _ => (approval.decision, None),
    };
    approval.decision = decision;
    let is_request = word(value, "eventType") == "REQUESTED";
    approval.requested = created.filter(|_| is_request);
    approval.responded = created.filter(|_| !is_request);
    approval.by = text(value, "actor").filter(|_| !is_request).map(str::to_owned);
    approval.reason = note.map(str::to_owned).or(approval.reason).or(text(value, "detail").map(str::to_owned));
    approval
}

/// The approval that a parked run waits for.
pub fn waited(waiting: &Value, run: &Run, spot: &Spot) -> Option<Approval> {
    let request = id(waiting, "approvalRequestId")?;
    let mut approval = approval(waiting, spot.clone());
    approval.id = Some(request);
    approval.run = run.id.clone();
    approval.requested = time(waiting, "waitingSince");
    Some(approval)
}

/// The approvals that the frames of a stream tell of.
pub fn held_in(stream: &Stream<'_>) -> Vec<Approval> {
    let run = stream.frames.iter().find_map(|frame| any_id(frame.value, &["record_id", "executionRecordId"]));
    let mut held: Vec<Approval> = Vec::new();
    // The last call of each tool: that is the one that is held.
    let mut calls: HashMap<String, String> = HashMap::new();
    for frame in &stream.frames {
        let value = frame.value;
        let request = match frame.kind {
            "tool_call" => {
                calls.extend(any_id(value, &["toolCallId", "id"]).map(|call| (tool_name(value), call)));
                continue;
            }
            "pending_approval" => id(value, "requestId"),
            "done" => any_id(value, &["human_approval_request_id", "humanApprovalRequestId"]),
            _ => continue,
        };
        if request.is_none() && frame.kind == "done" {
            continue;
        }
        let mut approval = approval(value, frame.spot.clone());
        approval.id = request;
        approval.decision = Decision::Pending;
        approval.prompt = text(value, "message").map(str::to_owned);
        approval.requested = frame.at;
        approval.call = calls.get(&approval.tool).cloned();
        approval.run = run.clone();
        held.push(approval);
    }
    held
}
