//! A trace as events: each try of a model, its thoughts, its calls, its checks; and what can be concluded of the tries.

use serde_json::Value;

use super::approvals::Approval;
use super::events::{How, Maker, short, step_tool};
use super::facts::{Facts, Run, Spot, usage};
use super::field::{any_id, any_text, at, count, nanoseconds, nested, number, result_text, text, time, word};
use super::walk::{self, Visited};
use crate::model::{
    EventKind, Fact, Marker, QuestionState, SubagentStatus, Timestamp, Tool, ToolState, Usage, duration_words,
};

/// What a step is: by its type, or by what it carries where that is not said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Frame,
    Try,
    Summary,
    Tool,
    Judge,
    Held,
    Other,
}

fn what(step: &Value) -> What {
    let kind = any_text(step, &["type", "kind", "step_type"]).unwrap_or_default().to_ascii_uppercase();
    let carries = |key: &str| step.get(key).is_some_and(Value::is_object);
    match kind.as_str() {
        "FLOW_STEP" => What::Frame,
        "LLM_STEP" | "AGENT_STEP" => What::Try,
        "SUMMARIZATION" => What::Summary,
        "TOOL" => What::Tool,
        "JUDGE" => What::Judge,
        "HITL" => What::Held,
        _ if carries("hitlTrace") => What::Held,
        _ if carries("toolTrace") => What::Tool,
        _ if carries("llmStepTrace") => What::Try,
        _ => What::Other,
    }
}

/// What the tries of a run tell beside their events.
#[derive(Clone, Debug, Default)]
pub struct Told {
    pub model: Option<String>,
    pub usage: Usage,
    /// A person was called for.
    pub is_handed_over: bool,
    /// Its last try failed.
    pub failure: Option<String>,
}

impl Maker<'_> {
    /// Adds the events of a run's traces. `said` tells whether a text is a message of the conversation already.
    pub fn trace(&mut self, run: &Run, facts: &Facts<'_>, said: &dyn Fn(&str) -> bool) -> Told {
        let mut told = Told::default();
        if let Some(list) = self.latest(run) {
            let steps = walk::steps(self.files, list);
            for (index, step) in steps.iter().enumerate() {
                self.step(step, facts, said, &mut told);
                if step.is_cut {
                    self.note(&step.spot, time(step.value, "startTime"), "deeper steps are in the raw record only");
                }
                if let Some(next) = next_try(&steps, index) {
                    self.compare(step, next, judge_of(&steps, index));
                } else if what(step.value) == What::Try {
                    self.last_try(step, index, &steps, &mut told);
                }
            }
        }
        for span in &run.spans {
            self.span(span);
        }
        told
    }

    /// The trace to tell of: of the same one fetched twice, that with the end, or the last.
    fn latest<'r>(&self, run: &'r Run) -> Option<&'r Spot> {
        let end = |list: &&'r Spot| {
            let (around, _) = list.pointer.rsplit_once('/').unwrap_or_default();
            time(Spot { pointer: around.to_owned(), ..(*list).clone() }.value(self.files), "endTime")
        };
        run.traces.iter().max_by_key(end)
    }

    fn step(&mut self, step: &Visited<'_>, facts: &Facts<'_>, said: &dyn Fn(&str) -> bool, told: &mut Told) {
        let start = time(step.value, "startTime");
        match what(step.value) {
            What::Frame => {}
            What::Try => self.try_of(step, said, told),
            What::Summary => {
                let fact = Fact::Compaction { trigger: None, tokens_before: None, tokens_after: None };
                self.mark(EventKind::Compaction, &step.spot, start, "earlier messages were summarised", fact);
            }
            What::Tool => self.tool_step(step, facts, told),
            What::Judge => self.verdict(step),
            What::Held => {
                // Told by the approval that all records of it make together.
                let request = any_id(at(step.value, &["hitlTrace"]), &["requestId"]);
                let own =
                    |a: &&Approval| (request.is_some() && a.id == request) || a.spot == step.spot.below("hitlTrace");
                if let Some(approval) = facts.approvals.iter().find(own) {
                    let mut approval = approval.clone();
                    approval.requested = approval.requested.or(start);
                    self.approval(&approval);
                }
            }
            What::Other => {
                let label = any_text(step.value, &["displayName", "name", "id"]).unwrap_or("step");
                let label = labelled(label, step.value);
                self.add(EventKind::Notice, &step.spot, How::Said, start, &label);
            }
        }
    }

    fn try_of(&mut self, step: &Visited<'_>, said: &dyn Fn(&str) -> bool, told: &mut Told) {
        let trace = at(step.value, &["llmStepTrace"]);
        let start = time(step.value, "startTime");
        let error = text(step.value, "error");
        let name = model_of(step.value).map_or("a model".to_owned(), |model| model.words());
        let tokens = usage(trace);
        let mut label = format!("{name} · {} in, {} out", figure(tokens.input), figure(tokens.output));
        if let Some(error) = error {
            label = format!("{name} failed: {error}");
        }
        let duration = duration(step.value);
        let event = self.add(EventKind::Notice, &step.spot, How::Try, start, &label);
        event.duration_ms = duration;
        told.usage.add(&tokens);
        if error.is_none() || told.model.is_none() {
            told.model = text(trace, "model").map(str::to_owned).or(told.model.take());
        }
        self.calls(trace, &step.spot);
        let blocks = at(trace, &["reasoningBlocks"]).as_array().map_or(0, Vec::len);
        for index in 0..blocks {
            let spot = step.spot.below("llmStepTrace").below("reasoningBlocks").below(index).below("content");
            if !spot.value(self.files).is_null() {
                self.say(EventKind::Thinking, &spot, start);
            }
        }
        let result = result_text(at(step.value, &["result"])).into_owned();
        if !result.trim().is_empty() && !said(&result) {
            let spot = step.spot.below("result");
            let place = ["strValue", "jsonValue", "fileLink"].iter().map(|key| spot.below(key));
            let spot = place.into_iter().find(|spot| !spot.value(self.files).is_null()).unwrap_or(spot);
            self.say(EventKind::Text, &spot, time(step.value, "endTime").or(start));
        }
    }

    /// Models that change between the calls of one try, where a server says so.
    fn calls(&mut self, trace: &Value, spot: &Spot) {
        let calls = at(trace, &["llmCalls"]).as_array().map_or(&[][..], Vec::as_slice);
        for (index, (a, b)) in calls.iter().zip(calls.iter().skip(1)).enumerate() {
            let models = (Model::of(a), Model::of(b));
            if let (Some(from), Some(to)) = models
                && from != to
            {
                let spot = spot.below("llmStepTrace").below("llmCalls").below(index + 1);
                self.fallback(&spot, time(b, "startedAt"), &from, &to, text(a, "error"));
            }
        }
    }

    /// What two tries that follow each other tell: another model, the same once more, or a check that said no.
    fn compare(&mut self, step: &Visited<'_>, next: &Visited<'_>, judge: Option<&Visited<'_>>) {
        if what(step.value) != What::Try {
            return;
        }
        let error = text(step.value, "error");
        let start = time(next.value, "startTime");
        let models = (model_of(step.value), model_of(next.value));
        match models {
            (Some(from), Some(to)) if from != to => self.fallback(&next.spot, start, &from, &to, error),
            (model, _) if error.is_some() => {
                let message = error.map(short);
                let name = model.map_or("the model".to_owned(), |model| model.words());
                let fact = Fact::Retry { attempt: None, max_attempts: None, status: None, message };
                let event = self.add(EventKind::Retry, &next.spot, How::Note, start, &format!("{name} once more"));
                event.marker = Some(Box::new(Marker::inferred(fact, start)));
            }
            _ => {
                if let Some(judge) = judge
                    && let Some(aggregate) =
                        verdict(judge.value).as_ref().and_then(|verdict| number(verdict, "aggregate"))
                {
                    let label = format!("quality check, rewritten: {aggregate:.2} (derived from the trace)");
                    self.note(&next.spot, start, &label);
                }
            }
        }
    }

    fn fallback(&mut self, spot: &Spot, at: Option<Timestamp>, from: &Model, to: &Model, error: Option<&str>) {
        let (from, to) = (from.words(), to.words());
        let event = self.add(EventKind::Fallback, spot, How::Note, at, &format!("{from} → {to}"));
        let fact = Fact::Fallback {
            from: Some(from),
            to: Some(to),
            trigger: error.map(|_| "error".to_owned()),
            reset_at: None,
            message: error.map(short),
        };
        event.marker = Some(Box::new(Marker::inferred(fact, at)));
    }

    fn last_try(&mut self, step: &Visited<'_>, index: usize, steps: &[Visited<'_>], told: &mut Told) {
        let end = time(step.value, "endTime").or(time(step.value, "startTime"));
        let judge = judge_of(steps, index);
        if let Some(error) = text(step.value, "error") {
            let label = if judge.is_some() { format!("failed the check: {error}") } else { error.to_owned() };
            let fact = Fact::Failure { code: None, message: short(error) };
            self.mark(EventKind::Failure, &step.spot, end, &label, fact);
            told.failure = Some(short(error));
        }
        let before = steps.iter().take(index).rev().take_while(|other| other.depth >= step.depth);
        let is_first = !before.into_iter().any(|other| other.depth == step.depth && what(other.value) == What::Try);
        if let Some(judge) = judge
            && is_first
            && text(judge.value, "error").is_some()
            && result_text(at(judge.value, &["result"])).is_empty()
        {
            self.note(&judge.spot, end, "the reply went out unchecked: the quality check failed");
        }
    }

    fn tool_step(&mut self, step: &Visited<'_>, facts: &Facts<'_>, told: &mut Told) {
        let trace = at(step.value, &["toolTrace"]);
        let (start, end) = (time(step.value, "startTime"), time(step.value, "endTime"));
        let name = step_tool(trace);
        let display =
            any_text(trace, &["displayName"]).or(any_text(step.value, &["displayName", "name"])).unwrap_or(&name);
        let parameters = at(trace, &["parameters"]);
        let label = match parameters.as_object().is_some_and(|fields| !fields.is_empty()) {
            true => format!("{display} {parameters}"),
            false => display.to_owned(),
        };
        let error = text(step.value, "error").map(short);
        let is_failed = is_error(step.value);
        let is_open = end.is_none() && !is_failed && word(step.value, "status") != "SUCCESS";
        let state = match (is_failed, is_open) {
            (true, _) => ToolState::Failed,
            (_, true) => ToolState::Pending,
            _ => ToolState::Done,
        };
        let result = result_text(at(step.value, &["result"])).into_owned();
        let marker = self.tool_fact(step, &name, display, &result, error.clone(), state);
        let call_id = any_id(step.value, &["id"]);
        let is_over = name.ends_with("escalate_to_human");
        self.note_call(call_id.as_deref());
        let event = self.add(EventKind::Tool, &step.spot, How::ToolStep, start, &label);
        event.duration_ms = duration(step.value);
        let tool =
            Tool { name: short(&name), call_id, state, result: (state != ToolState::Pending).then_some(event.place) };
        event.tool = Some(Box::new(tool));
        event.marker = marker.map(|fact| Box::new(Marker::recorded(fact, end.or(start))));
        event.text_bytes = u32::try_from(label.len() + result.len()).unwrap_or(u32::MAX);
        if is_over {
            told.is_handed_over = true;
            self.note(&step.spot, start, "handed to a person");
        }
        if name.ends_with("spawn_subtasks") {
            self.subtasks(step, facts, end.or(start));
        }
    }

    fn tool_fact(
        &self,
        step: &Visited<'_>,
        name: &str,
        display: &str,
        result: &str,
        error: Option<String>,
        state: ToolState,
    ) -> Option<Fact> {
        let trace = at(step.value, &["toolTrace"]);
        if state == ToolState::Failed {
            return Some(Fact::Failure { code: None, message: error.unwrap_or_else(|| "the tool failed".to_owned()) });
        }
        if name.ends_with("consult_for_role") || name.ends_with("delegate_to_participant") {
            let asked =
                any_text(at(trace, &["parameters"]), &["question", "message", "text", "goal"]).unwrap_or(display);
            let state = if state == ToolState::Pending { QuestionState::Pending } else { QuestionState::Answered };
            let answers = if result.is_empty() { Vec::new() } else { vec![short(result)] };
            return Some(Fact::Question { question: short(asked), options: Vec::new(), answers, state });
        }
        let is_agent =
            word(trace, "toolType") == "AGENT_TOOL" || text(at(trace, &["tool"]), "integrationId") == Some("sub_agent");
        let status = if state == ToolState::Pending { SubagentStatus::Started } else { SubagentStatus::Finished };
        is_agent.then(|| Fact::Subagent {
            id: any_id(step.value, &["id"]).unwrap_or_default(),
            name: Some(short(display)),
            status,
        })
    }

    /// The runs that a call says it started, where they are not here themselves.
    fn subtasks(&mut self, step: &Visited<'_>, facts: &Facts<'_>, at_time: Option<Timestamp>) {
        let result = at(step.value, &["result"]);
        let raw = ["jsonValue", "strValue"].iter().map(|key| at(result, &[key])).find(|value| !value.is_null());
        let Some(parsed) = raw.map(nested) else { return };
        let list =
            parsed.get("results").and_then(Value::as_array).map_or(std::slice::from_ref(&*parsed), Vec::as_slice);
        for child in list {
            let Some(id) = any_id(child, &["execution_record_id"]) else { continue };
            if facts.run_with(&id).is_some() {
                continue;
            }
            let status = subagent_status(&word(child, "status"));
            let label = any_text(child, &["response", "status"]).unwrap_or("sub-task").to_owned();
            let fact = Fact::Subagent { id, name: Some("sub-task".to_owned()), status };
            self.mark(EventKind::Subagent, &step.spot, at_time, &label, fact);
        }
    }

    fn verdict(&mut self, step: &Visited<'_>) {
        let label = match (verdict(step.value), text(step.value, "error")) {
            (Some(verdict), _) => {
                let score = number(&verdict, "aggregate").map_or("no score".to_owned(), |score| format!("{score:.2}"));
                format!("quality check {score}: {}", text(&verdict, "summary").unwrap_or("no summary"))
            }
            (None, Some(error)) => format!("the quality check failed: {error}"),
            (None, None) => "quality check without a readable verdict".to_owned(),
        };
        let duration = duration(step.value);
        let event = self.add(EventKind::Notice, &step.spot, How::Verdict, time(step.value, "startTime"), &label);
        event.duration_ms = duration;
    }

    fn span(&mut self, spot: &Spot) {
        let span = spot.value(self.files);
        let (start, end) = (nanoseconds(span, "startTimeUnixNano"), nanoseconds(span, "endTimeUnixNano"));
        let duration = start.zip(end).map(|(start, end)| end.since(start)).filter(|ms| *ms >= 0);
        let message = text(at(span, &["status"]), "message");
        let is_error =
            count(at(span, &["status"]), "code") == Some(2) || word(at(span, &["status"]), "code").ends_with("ERROR");
        let name = text(span, "name").unwrap_or("span").to_owned();
        let event = if is_error {
            let fact = Fact::Failure { code: None, message: short(message.unwrap_or(&name)) };
            self.mark(EventKind::Failure, spot, start, &name, fact)
        } else {
            self.add(EventKind::Notice, spot, How::Said, start, &name)
        };
        event.duration_ms = duration;
    }
}

/// A model and who provides it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Model {
    provider: Option<String>,
    model: Option<String>,
}

impl Model {
    fn of(value: &Value) -> Option<Self> {
        let provider = any_text(value, &["providerId", "provider"]).map(str::to_owned);
        let model = text(value, "model").map(str::to_owned);
        (provider.is_some() || model.is_some()).then_some(Self { provider, model })
    }

    fn words(&self) -> String {
        let parts = [self.provider.as_deref(), self.model.as_deref()];
        short(&parts.into_iter().flatten().collect::<Vec<_>>().join("/"))
    }
}

fn model_of(step: &Value) -> Option<Model> {
    Model::of(at(step, &["llmStepTrace"]))
}

/// The next try beside this one.
fn next_try<'a, 'b>(steps: &'b [Visited<'a>], index: usize) -> Option<&'b Visited<'a>> {
    let step = steps.get(index).filter(|step| what(step.value) == What::Try)?;
    let beside = steps.iter().skip(index + 1).take_while(|other| other.depth >= step.depth);
    beside.filter(|other| other.depth == step.depth).find(|other| what(other.value) == What::Try)
}

/// The quality check right inside a try.
fn judge_of<'a, 'b>(steps: &'b [Visited<'a>], index: usize) -> Option<&'b Visited<'a>> {
    let step = steps.get(index)?;
    let inside = steps.iter().skip(index + 1).take_while(|other| other.depth > step.depth);
    inside.filter(|other| other.depth == step.depth + 1).find(|other| what(other.value) == What::Judge)
}

fn is_error(step: &Value) -> bool {
    matches!(word(step, "status").as_str(), "ERROR" | "FAILED" | "FAILURE") || text(step, "error").is_some()
}

/// How long a step took. An open step has a negative one, which says nothing.
fn duration(step: &Value) -> Option<i64> {
    let recorded = ["duration", "durationMs", "duration_ms"].iter().find_map(|key| number(step, key));
    let end = time(step, "endTime");
    let open = step.get("endTime").is_some() && end.is_none();
    recorded.filter(|ms| *ms >= 0.0 && !open && *ms < 9e15).map(|ms| ms.round() as i64)
}

/// What a quality check said: JSON in a string, sometimes twice.
pub fn verdict(judge: &Value) -> Option<Value> {
    let result = at(judge, &["result"]);
    let value = ["strValue", "jsonValue"].iter().map(|key| at(result, &[key])).find(|value| !value.is_null())?;
    Some(nested(value).into_owned()).filter(Value::is_object)
}

fn labelled(name: &str, step: &Value) -> String {
    let status = text(step, "status").map(|status| format!(" · {status}")).unwrap_or_default();
    let duration = duration(step).map(|ms| format!(" · {}", duration_words(ms))).unwrap_or_default();
    format!("{name}{status}{duration}")
}

/// The label of a step that a stream tells of.
pub fn frame_label(frame: &Value) -> String {
    labelled(any_text(frame, &["name", "displayName", "id"]).unwrap_or("step"), frame)
}

/// Whether a frame of a stream tells of a step only that it began.
pub fn only_began(frame: &Value) -> bool {
    ["duration", "duration_ms", "durationMs"].iter().any(|key| number(frame, key).is_some_and(|ms| ms < 0.0))
}

pub fn subagent_status(status: &str) -> SubagentStatus {
    match status.to_ascii_uppercase().as_str() {
        "COMPLETED" | "SUCCESS" | "OK" => SubagentStatus::Finished,
        "FAILED" | "CANCELLED" | "REJECTED" | "ERROR" => SubagentStatus::Failed,
        _ => SubagentStatus::Started,
    }
}

fn figure(count: Option<u64>) -> String {
    count.map_or("?".to_owned(), |count| count.to_string())
}
