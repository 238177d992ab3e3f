//! What happened in a turn: its messages, runs, frames and answers as events.

use std::collections::HashSet;

use super::events::{How, Maker, short};
use super::facts::{Facts, Run, Spot, usage};
use super::field::{any_text, at, count, flag, result_text, spoken, text, time, word};
use super::kind::Kind;
use super::prompts::Prompt;
use super::rows::{Author, Row};
use super::trace::{Told, subagent_status};
use super::turns::Turn;
use crate::model::{
    EventKind, Fact, Marker, NodeId, Outcome, Place, QuestionState, Subagent, Timestamp, Tool, ToolState, Usage,
};

/// Runs started by runs are followed so deep.
const MAX_RUNS_DEEP: usize = 12;

/// What a turn came to.
pub struct Sum {
    pub outcome: Outcome,
    pub model: Option<String>,
    pub usage: Usage,
    pub ended_at: Option<Timestamp>,
    pub revision: Option<i64>,
    /// Why it waits, for the report.
    pub parked: Option<String>,
    pub subagents: Vec<Subagent>,
    /// Questions that a person was asked: the frame, and whether it was answered.
    pub questions: Vec<Spot>,
}

/// A turn and what it is told with.
pub struct Telling<'t, 'a> {
    pub turn: &'t Turn<'a>,
    pub rows: &'t [Row<'a>],
    pub facts: &'t Facts<'a>,
    /// Nothing comes after it.
    pub is_last: bool,
}

impl<'a> Maker<'a> {
    /// Adds all events of a turn.
    pub fn tell(&mut self, telling: &Telling<'_, 'a>) -> Sum {
        let turn = telling.turn;
        let mut sum = Sum {
            outcome: Outcome::Unknown,
            model: None,
            usage: Usage::default(),
            ended_at: None,
            revision: None,
            parked: None,
            subagents: Vec::new(),
            questions: Vec::new(),
        };
        let own: Vec<&Row<'a>> = turn.rows.iter().filter_map(|row| telling.rows.get(*row)).collect();
        let said =
            |text: &str| own.iter().any(|row| row.author != Author::Participant && row.text.trim() == text.trim());
        let mut told_all = Told::default();
        for (place, index) in turn.runs.iter().enumerate() {
            let Some(run) = telling.facts.runs.get(*index) else { continue };
            if let Some(id) = &run.id {
                self.node = NodeId::Text(id.as_str().into());
            }
            if let Some(spot) = run.spot().filter(|_| run.is_inferred || (turn.is_by_time && place == 0)) {
                self.note(&spot, run.start, "this run was given to its prompt by their times");
            }
            let told = self.run(run, telling.facts, &said, &mut sum);
            told_all.is_handed_over |= told.is_handed_over;
            told_all.failure = told.failure.or(told_all.failure);
            sum.model = told.model.or(sum.model.take());
            sum.revision = run.revision.or(sum.revision);
        }
        self.frames(telling, &said, &mut sum);
        for approval in turn.approvals.iter().filter_map(|index| telling.facts.approvals.get(*index)) {
            let mut approval = approval.clone();
            // Nothing but its time gave it to this message.
            let is_by_time =
                turn.prompt_row().is_some() && !turn.frames.iter().any(|frame| frame.spot == approval.spot);
            approval.is_inferred |= is_by_time;
            self.approval(&approval);
        }
        for row in &own {
            self.row(row, turn);
        }
        for (kind, spot) in &turn.others {
            self.other(*kind, spot, &mut sum);
        }
        if let Some(spot) = &turn.scenario {
            self.scenario(spot);
        }
        sum.outcome = outcome(telling, &own, &told_all, &sum, &self.turn);
        if sum.outcome == Outcome::Pending && sum.parked.is_none() && turn.prompt_row().is_some() {
            sum.parked = Some("the message has no reply: its run is parked or still going on".to_owned());
        }
        let times = self.turn.iter().filter_map(|event| {
            event.at.map(|at| Timestamp(at.0.saturating_add(event.duration_ms.unwrap_or(0).clamp(0, 1 << 50))))
        });
        let runs = turn.runs.iter().filter_map(|index| telling.facts.runs.get(*index)?.end);
        sum.ended_at = times.chain(runs).max();
        sum
    }

    /// Adds the events of a run, and of those that it started.
    fn run(&mut self, run: &Run, facts: &Facts<'a>, said: &dyn Fn(&str) -> bool, sum: &mut Sum) -> Told {
        let before = self.turn.len();
        let told = self.trace(run, facts, said);
        sum.usage.add(&used(run, &told));
        let held = self.turn.get(before..).unwrap_or_default().iter().filter(|event| event.kind == EventKind::Approval);
        let told_of: HashSet<Place> = held.map(|event| event.place).collect();
        let spots: HashSet<Spot> =
            told_of.iter().filter_map(|place| Some(self.details.get(place)?.spot.clone())).collect();
        for approval in facts.approvals_of(run).into_iter().filter(|approval| !spots.contains(&approval.spot)) {
            self.approval(approval);
        }
        for (kind, spot) in &run.results {
            self.result(*kind, spot, run, said);
        }
        if run.traces.is_empty() {
            self.listed_calls(run);
        }
        self.fate(run, &told, sum);
        self.started(run, facts, sum, 0);
        told
    }

    /// The tool calls that the command line lists beside a record, where there is no trace to tell more of them.
    fn listed_calls(&mut self, run: &Run) {
        let Some(record) = &run.record else { return };
        let files = self.files;
        for (index, call) in at(record.value(files), &["toolCalls"]).as_array().into_iter().flatten().enumerate() {
            let name = any_text(call, &["tool", "displayName"]).unwrap_or("tool");
            let arguments = call.get("arguments").map(spoken).unwrap_or_default();
            let label = format!("{} {arguments}", any_text(call, &["displayName"]).unwrap_or(name));
            let state = if word(call, "status") == "ERROR" { ToolState::Failed } else { ToolState::Done };
            let spot = record.below("toolCalls").below(index);
            let event = self.add(EventKind::Tool, &spot, How::ToolFrame, run.start, &label);
            let result = Some(event.place);
            event.tool = Some(Box::new(Tool { name: short(name), call_id: None, state, result }));
            if state == ToolState::Failed {
                let message = any_text(call, &["error", "resultPreview"]).unwrap_or("the tool failed");
                let fact = Fact::Failure { code: None, message: short(message) };
                event.marker = Some(Box::new(Marker::recorded(fact, run.start)));
            }
        }
    }

    /// What a run's status and delivery tell.
    fn fate(&mut self, run: &Run, told: &Told, sum: &mut Sum) {
        let Some(spot) = run.spot() else { return };
        let end = run.end.or(run.start);
        match run.status.as_str() {
            "FAILED" if told.failure.is_none() => {
                let fact = Fact::Failure { code: Some("FAILED".to_owned()), message: "the run failed".to_owned() };
                self.mark(EventKind::Failure, &spot, end, "the run failed", fact);
            }
            "REJECTED" => {
                let why = run.rejection.as_deref().unwrap_or("the run was rejected before its model ran");
                let fact = Fact::Failure { code: Some("REJECTED".to_owned()), message: short(why) };
                self.mark(EventKind::Failure, &spot, end, why, fact);
            }
            "CANCELLED" | "CANCELED" => {
                let message = "the run was cancelled".to_owned();
                self.mark(EventKind::Interruption, &spot, end, "the run was cancelled", Fact::Interruption { message });
            }
            _ => {}
        }
        if let Some(delivery) = run.delivery.as_deref() {
            let known = ["NOT_APPLICABLE", "DELIVERED", "UNSPECIFIED"];
            if !known.contains(&delivery.to_ascii_uppercase().as_str()) {
                self.note(&spot, end, &format!("the reply was not delivered: {delivery}"));
            }
        }
        if let Some(waiting) = run.waiting.as_ref().filter(|_| run.is_live()) {
            let value = waiting.value(self.files);
            let kind = word(value, "kind").to_lowercase();
            sum.parked = Some(format!("the run waits for its {kind}"));
            if kind == "consult" && word(value, "participantKind") != "AGENT" {
                let name = text(value, "displayName").unwrap_or("somebody");
                let question = format!("a question to {name}; its text is not in this record");
                self.question(waiting, time(value, "waitingSince"), question, QuestionState::Pending, Vec::new());
            } else if kind == "subtask" {
                let label = format!("waits for {} sub-tasks", count(value, "childCount").unwrap_or(0));
                self.note(waiting, time(value, "waitingSince"), &label);
            }
        } else if run.is_live() {
            sum.parked =
                Some(if run.is_parked() { "the run is parked" } else { "the run is still going on" }.to_owned());
        }
    }

    pub fn question(
        &mut self,
        spot: &Spot,
        at: Option<Timestamp>,
        question: String,
        state: QuestionState,
        answers: Vec<String>,
    ) {
        let label = question.clone();
        let fact = Fact::Question { question: short(&question), options: Vec::new(), answers, state };
        self.mark(EventKind::Question, spot, at, &label, fact);
    }

    /// The runs that a run started, each with its own events.
    fn started(&mut self, run: &Run, facts: &Facts<'a>, sum: &mut Sum, depth: usize) {
        if depth >= MAX_RUNS_DEEP {
            return;
        }
        for child in facts.started_by(run) {
            let (Some(id), Some(spot)) = (child.id.clone(), child.record.clone().or(child.traces.first().cloned()))
            else {
                continue;
            };
            if sum.subagents.iter().any(|known| known.id == id) {
                continue;
            }
            let agent = child.agent.clone().unwrap_or_default();
            let kind = child.run_type.to_lowercase().replace('_', " ");
            let name = match kind.as_str() {
                "" => agent,
                kind => format!("{agent} ({kind})"),
            };
            let status = subagent_status(&child.status);
            let label = child.subject.clone().unwrap_or_else(|| name.clone());
            let fact = Fact::Subagent { id: id.clone(), name: Some(short(&name)), status };
            let event = self.mark(EventKind::Subagent, &spot, child.start, &label, fact);
            event.duration_ms = child.start.zip(child.end).map(|(start, end)| end.since(start)).filter(|ms| *ms >= 0);
            let outer = std::mem::take(&mut self.turn);
            let told = self.trace(child, facts, &|_| false);
            let events = self.take_turn();
            self.turn = outer;
            let used = used(child, &told);
            sum.usage.add(&used);
            sum.subagents.push(Subagent {
                id,
                name: Some(name),
                status,
                call_id: None,
                path: None,
                usage: used,
                events: events.into(),
            });
            self.started(child, facts, sum, depth + 1);
        }
    }

    /// What a record of a run's inputs and output adds.
    fn result(&mut self, kind: Kind, spot: &Spot, run: &Run, said: &dyn Fn(&str) -> bool) {
        let value = spot.value(self.files);
        let end = run.end.or(run.start);
        match kind {
            Kind::Execute => {
                if text(value, "response").is_some_and(|text| !said(text) && !self.says(text)) {
                    self.say(EventKind::Text, &spot.below("response"), end);
                }
            }
            Kind::Stage => {
                for index in 0..at(value, &["simulatedCalls"]).as_array().map_or(0, Vec::len) {
                    let call = spot.below("simulatedCalls").below(index);
                    self.say(EventKind::Notice, &call, end);
                }
                if !spoken(at(value, &["output"])).is_empty() {
                    self.say(EventKind::Text, &spot.below("output"), end);
                }
                let verdict = at(value, &["verdict"]);
                if verdict.is_object() {
                    let words =
                        [text(verdict, "kind"), text(verdict, "toStatus"), any_text(verdict, &["cause", "detail"])];
                    let label = format!("verdict: {}", words.into_iter().flatten().collect::<Vec<_>>().join(" · "));
                    self.add(EventKind::Notice, &spot.below("verdict"), How::Said, end, &label);
                }
            }
            _ => {
                let result = result_text(at(value, &["result"])).into_owned();
                if !result.is_empty() && !said(&result) && !self.says(&result) {
                    let inner = ["strValue", "jsonValue", "fileLink"].map(|key| spot.below("result").below(key));
                    let inner = inner.into_iter().find(|spot| !spot.value(self.files).is_null());
                    self.say(EventKind::Text, &inner.unwrap_or_else(|| spot.below("result")), end);
                }
            }
        }
    }

    fn row(&mut self, row: &Row<'a>, turn: &Turn<'a>) {
        let spot = row.spot();
        let key = row.text_key(self.files);
        if let Some(run) = row.run.as_deref().or(row.id.as_deref()) {
            self.node = NodeId::Text(run.into());
        }
        let is_prompt = matches!(turn.prompt, Some(Prompt::Row(prompt)) if turn.rows.first() == Some(&prompt))
            && row.author == Author::Participant;
        match row.author {
            Author::Participant if is_prompt => {}
            Author::Operator => {
                self.note(&spot, row.at, "a colleague took over and wrote this");
                self.say(EventKind::Text, &spot.below(key), row.at);
            }
            Author::Platform => {
                self.say(EventKind::Notice, &spot.below(key), row.at);
            }
            Author::Participant | Author::Agent => {
                self.say(EventKind::Text, &spot.below(key), row.at);
            }
        }
        if let Some(note) = &row.note {
            self.note(&spot, row.at, note);
        }
    }

    /// Answers to rewinds and forks, evaluations, impacts.
    fn other(&mut self, kind: Kind, spot: &Spot, sum: &mut Sum) {
        let value = spot.value(self.files);
        let figure = |key: &str| count(value, key).unwrap_or(0);
        match kind {
            Kind::Rewind => {
                let label = format!(
                    "a rewind to before this message dropped {} runs, {} of them parked and cancelled, {} messages and {} console rows",
                    figure("droppedRuns"),
                    figure("cancelledRuns"),
                    figure("droppedMessages"),
                    figure("droppedConsoleRows"),
                );
                self.add(EventKind::Notice, spot, How::Said, time(value, "prefillOccurredAt"), &label);
            }
            Kind::Fork => {
                let source = text(value, "sourceSessionId").unwrap_or("another session");
                let label = format!("forked from {source}: {} messages copied", figure("copiedMessages"));
                self.add(EventKind::Notice, spot, How::Said, time(value, "prefillOccurredAt"), &label);
                if flag(value, "sent") == Some(true) {
                    self.note(spot, time(value, "prefillOccurredAt"), "the message was sent again to the fork");
                }
            }
            Kind::Impact => {
                for (index, config) in at(value, &["configs"]).as_array().into_iter().flatten().enumerate() {
                    let name = any_text(config, &["displayName", "integrationId"]).unwrap_or("an integration");
                    let changes = |key: &str| at(config, &["diff", key]).as_array().map_or(0, Vec::len);
                    let label = format!(
                        "simulated {name}: {} added, {} modified, {} removed",
                        changes("added"),
                        changes("modified"),
                        changes("removed"),
                    );
                    self.add(EventKind::Notice, &spot.below("configs").below(index), How::Said, None, &label);
                }
            }
            _ => {
                for (key, words) in [("baseRevisionResult", "baseline"), ("candidateRevisionResult", "candidate")] {
                    let side = at(value, &[key]);
                    if side.is_object() {
                        self.note(&spot.below(key), None, &format!("the {words}'s reply"));
                        self.say(EventKind::Text, &spot.below(key).below("response"), None);
                        sum.usage.add(&usage(at(side, &["trace"])));
                    }
                }
                let verdict = at(value, &["verdict"]);
                if verdict.is_object() {
                    let words = [text(verdict, "outcome"), text(verdict, "reason")];
                    let label = format!("verdict: {}", words.into_iter().flatten().collect::<Vec<_>>().join(" · "));
                    self.add(EventKind::Notice, &spot.below("verdict"), How::Said, None, &label);
                }
            }
        }
    }

    fn scenario(&mut self, spot: &Spot) {
        let value = spot.value(self.files);
        for (index, assertion) in at(value, &["assertions"]).as_array().into_iter().flatten().enumerate() {
            let passed = if flag(assertion, "passed") == Some(true) { "passed" } else { "did not pass" };
            let words = [text(assertion, "kind"), Some(passed), text(assertion, "detail")];
            let label = format!("assertion {}", words.into_iter().flatten().collect::<Vec<_>>().join(" · "));
            self.add(EventKind::Notice, &spot.below("assertions").below(index), How::Said, None, &label);
        }
        if flag(value, "passed") == Some(false) {
            let first = at(value, &["failures"]).get(0).map(|failure| spoken(failure).into_owned());
            let message = text(value, "error").map(str::to_owned).or(first).unwrap_or("the scenario failed".to_owned());
            let fact = Fact::Failure { code: None, message: short(&message) };
            self.mark(EventKind::Failure, spot, None, &message, fact);
        }
    }
}

/// What a run used: as its record counts it, and what only its trace tells.
fn used(run: &Run, told: &Told) -> Usage {
    let Some(own) = run.usage else { return told.usage };
    Usage {
        input: own.input.or(told.usage.input),
        output: own.output.or(told.usage.output),
        cache_read: own.cache_read.or(told.usage.cache_read),
        cache_write: own.cache_write.or(told.usage.cache_write),
        reasoning: own.reasoning.or(told.usage.reasoning),
        cost: own.cost.or(told.usage.cost),
    }
}

/// How a turn ended: as its runs say, else as its frames and rows let one conclude.
fn outcome(
    telling: &Telling<'_, '_>,
    own: &[&Row<'_>],
    told: &Told,
    sum: &Sum,
    events: &[crate::model::Event],
) -> Outcome {
    let turn = telling.turn;
    let runs = turn.runs.iter().filter_map(|index| telling.facts.runs.get(*index));
    let statuses: Vec<&str> = runs.map(|run| run.status.as_str()).collect();
    let is_taken_over = told.is_handed_over || own.iter().any(|row| row.author == Author::Operator);
    let is_answered = own.iter().any(|row| row.author == Author::Agent);
    let any = |words: &[&str]| statuses.iter().any(|status| words.contains(status));
    let ends = turn.frames.iter().rev().find_map(|frame| match (frame.kind, text(frame.value, "outcome")) {
        ("turn_complete", Some(outcome)) => Some(outcome),
        ("failed" | "error", _) => Some("failed"),
        ("done", _)
            if text(frame.value, "status").is_some_and(|s| s.to_lowercase().replace('_', "") == "waitingforhuman") =>
        {
            Some("suspended")
        }
        ("done", _) => Some("replied"),
        _ => None,
    });
    let pending_call = events.iter().any(|event| {
        matches!(
            event.marker.as_deref(),
            Some(Marker { fact: Fact::Approval { decision: crate::model::Decision::Pending, .. }, .. })
        )
    });
    if any(&["FAILED", "REJECTED"]) || (turn.scenario.is_some() && events.iter().any(|e| e.kind == EventKind::Failure))
    {
        return Outcome::Failed;
    }
    match ends {
        _ if any(&["CANCELLED", "CANCELED"]) => Outcome::Interrupted,
        _ if is_taken_over => Outcome::HandedOver,
        _ if sum.parked.is_some() || (any(&["IN_PROGRESS", "WAITING_FOR_ASYNC"])) => Outcome::Pending,
        _ if any(&["COMPLETED"]) => Outcome::Done,
        Some("failed") => Outcome::Failed,
        Some("suspended") => Outcome::Pending,
        Some("replied" | "silent" | "completed") => Outcome::Done,
        _ if is_answered => Outcome::Done,
        _ if pending_call || (telling.is_last && turn.prompt_row().is_some()) => Outcome::Pending,
        _ if turn.others.iter().any(|(kind, _)| matches!(kind, Kind::Rewind | Kind::Fork)) => Outcome::Pending,
        _ if told.failure.is_some() => Outcome::Failed,
        _ if events.iter().any(|event| event.kind == EventKind::Text) => Outcome::Done,
        _ => Outcome::Unknown,
    }
}
