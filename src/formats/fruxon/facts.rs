//! Runs, approvals and frames: what the records of one conversation tell beside its messages, each thing once.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::approvals::{Approval, approval, audited};
use super::field::{any_id, any_text, any_time, at, below, count, flag, id, number, text, time, word};
use super::join::Group;
use super::kind::{Kind, starts_stream};
use super::read::{FileData, Record};
use crate::model::{Timestamp, Usage};

/// Where in which record a fact is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spot {
    pub file: usize,
    pub record: usize,
    /// A JSON pointer into the record; empty for the whole of it.
    pub pointer: String,
}

impl Spot {
    pub fn new(file: usize, record: usize) -> Self {
        Self { file, record, pointer: String::new() }
    }

    pub fn below(&self, key: impl std::fmt::Display) -> Self {
        Self { pointer: below(&self.pointer, key), ..self.clone() }
    }

    /// The value there; null where there is none.
    pub fn value<'a>(&self, files: &'a [FileData]) -> &'a Value {
        let record = files.get(self.file).and_then(|data| data.records.get(self.record));
        record.and_then(|record| record.value.pointer(&self.pointer)).unwrap_or(&Value::Null)
    }
}

/// One invocation of an agent.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub id: Option<String>,
    /// Upper case, empty where no record says.
    pub status: String,
    pub run_type: String,
    pub parent: Option<String>,
    /// The consult or sub-task of its parent that started it.
    pub operation: Option<String>,
    pub agent: Option<String>,
    pub revision: Option<i64>,
    pub subject: Option<String>,
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
    /// As the run's record counts it.
    pub usage: Option<Usage>,
    pub delivery: Option<String>,
    pub rejection: Option<String>,
    /// What it waits for: the `waitingFor` of a record or a trace.
    pub waiting: Option<Spot>,
    /// Its record, or its node of a tree.
    pub record: Option<Spot>,
    /// Arrays of steps.
    pub traces: Vec<Spot>,
    /// Spans of OpenTelemetry.
    pub spans: Vec<Spot>,
    /// Results, answers, stage tests: records that say what came in and went out.
    pub results: Vec<(Kind, Spot)>,
    /// It was given to its turn by time alone.
    pub is_inferred: bool,
}

impl Run {
    pub fn is_parked(&self) -> bool {
        self.status == "WAITING_FOR_ASYNC"
    }

    /// Some record of it.
    pub fn spot(&self) -> Option<Spot> {
        let trace = self.traces.first().or(self.spans.first());
        self.record.as_ref().or(trace).or(self.results.first().map(|(_, spot)| spot)).cloned()
    }

    pub fn is_live(&self) -> bool {
        matches!(self.status.as_str(), "IN_PROGRESS" | "WAITING_FOR_ASYNC" | "RUNNING" | "QUEUED")
    }
}

/// A frame of a stream.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    pub spot: Spot,
    /// `reply`, `tool_call`, …
    pub kind: &'a str,
    pub at: Option<Timestamp>,
    pub value: &'a Value,
}

/// The frames between two starts.
pub struct Stream<'a> {
    pub frames: Vec<Frame<'a>>,
    /// Of one run; else of a sandbox session, in which turns follow each other.
    pub is_run: bool,
    /// The scenario that it is the transcript of.
    pub scenario: Option<Spot>,
}

/// All of it.
#[derive(Default)]
pub struct Facts<'a> {
    pub runs: Vec<Run>,
    pub approvals: Vec<Approval>,
    pub streams: Vec<Stream<'a>>,
    /// Answers to a rewind or a fork.
    pub answers: Vec<(Kind, Spot)>,
    /// Evaluations, impacts, audit events: what is shown as it is.
    pub others: Vec<(Kind, Spot)>,
    pub sandbox_id: Option<String>,
    pub history_id: Option<String>,
    pub agents: Vec<String>,
    by_id: HashMap<String, usize>,
    children: HashMap<String, Vec<usize>>,
    held: HashMap<String, Vec<usize>>,
    pub requests: HashMap<String, usize>,
}

impl<'a> Facts<'a> {
    pub fn gather(files: &'a [FileData], group: &Group) -> Self {
        let mut facts = Self::default();
        let mut segment = None;
        let inferred: HashSet<_> = group.inferred.iter().collect();
        for (file, record) in &group.records {
            let Some(read) = files.get(*file).and_then(|data| data.records.get(*record)) else { continue };
            let before = facts.runs.len();
            facts.add(read, Spot::new(*file, *record), &mut segment);
            if inferred.contains(&(*file, *record)) {
                facts.runs.iter_mut().skip(before).for_each(|run| run.is_inferred = true);
            }
        }
        facts.find_held_calls(files);
        for (index, run) in facts.runs.iter().enumerate() {
            if let Some(parent) = run.parent.clone().filter(|parent| Some(parent) != run.id.as_ref()) {
                facts.children.entry(parent).or_default().push(index);
            }
        }
        for (index, approval) in facts.approvals.iter().enumerate() {
            if let Some(run) = approval.run.clone() {
                facts.held.entry(run).or_default().push(index);
            }
        }
        facts
    }

    fn add(&mut self, read: &'a Record, spot: Spot, segment: &mut Option<usize>) {
        let value = &read.value;
        let Some(kind) = read.kind else { return };
        match kind {
            Kind::Row | Kind::Channel => {}
            Kind::Topic => self.note_session(None, id(value, "sessionId")),
            Kind::Frame => self.add_frame(value, spot, segment),
            Kind::Run => self.add_record(value, spot),
            Kind::Tree => {
                for (index, node) in at(value, &["nodes"]).as_array().into_iter().flatten().enumerate() {
                    self.add_record(node, spot.below("nodes").below(index));
                }
            }
            Kind::Trace | Kind::Projected => self.add_trace(value, spot),
            Kind::Otlp | Kind::RawSpans => self.add_spans(value, &spot),
            Kind::Result | Kind::Execute | Kind::Stage => self.add_result(kind, value, spot),
            Kind::Approval | Kind::Audit => {
                self.note_session(None, id(value, "sessionId"));
                self.note_agent(value);
                let read = if kind == Kind::Approval { approval } else { audited };
                self.add_approval(read(value, spot));
            }
            Kind::Rewind | Kind::Fork => {
                self.note_session(id(value, "sessionId"), id(value, "targetSessionId"));
                self.note_agent(value);
                self.answers.push((kind, spot));
            }
            Kind::Scenarios => self.add_scenarios(value, &spot),
            Kind::Evaluation | Kind::Impact => self.others.push((kind, spot)),
        }
    }

    fn note_session(&mut self, sandbox: Option<String>, history: Option<String>) {
        self.sandbox_id = self.sandbox_id.take().or(sandbox);
        self.history_id = self.history_id.take().or(history);
    }

    fn note_agent(&mut self, value: &Value) {
        if let Some(agent) = any_id(value, &["agentId", "agent"]).filter(|agent| !self.agents.contains(agent)) {
            self.agents.push(agent);
        }
    }

    /// The run with this id; a new one where there is none, or no id.
    pub fn run(&mut self, id: Option<String>) -> usize {
        if let Some(index) = id.as_ref().and_then(|id| self.by_id.get(id)) {
            return *index;
        }
        let index = self.runs.len();
        if let Some(id) = &id {
            self.by_id.insert(id.clone(), index);
        }
        self.runs.push(Run { id, ..Run::default() });
        index
    }

    /// Where the run with this id is.
    pub fn run_with(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// A run that is its own parent's parent, however far up.
    pub fn circle(&self) -> Option<&str> {
        let parent = |index: usize| self.runs.get(index)?.parent.as_deref().and_then(|parent| self.run_with(parent));
        // 0: not looked at, else by which walk: a walk that comes to a run of its own goes in a circle.
        let mut seen = vec![0_usize; self.runs.len()];
        for start in 0..self.runs.len() {
            let mut at = start;
            while seen.get(at) == Some(&0) {
                if let Some(mark) = seen.get_mut(at) {
                    *mark = start + 1;
                }
                match parent(at) {
                    Some(above) if seen.get(above) == Some(&(start + 1)) => return self.runs.get(above)?.id.as_deref(),
                    Some(above) => at = above,
                    None => break,
                }
            }
        }
        None
    }

    /// The runs that a run started.
    pub fn started_by(&self, run: &Run) -> impl Iterator<Item = &Run> {
        let children = run.id.as_ref().and_then(|id| self.children.get(id));
        children.into_iter().flatten().filter_map(|index| self.runs.get(*index))
    }

    /// The approvals of a run, in the order in which they were asked for.
    pub fn approvals_of(&self, run: &Run) -> Vec<&Approval> {
        let held = run.id.as_ref().and_then(|id| self.held.get(id));
        let mut found: Vec<&Approval> =
            held.into_iter().flatten().filter_map(|index| self.approvals.get(*index)).collect();
        found.sort_by_key(|approval| approval.requested);
        found
    }

    fn with_run(&mut self, id: Option<String>, change: impl FnOnce(&mut Run)) {
        let index = self.run(id);
        if let Some(run) = self.runs.get_mut(index) {
            change(run);
        }
    }

    /// A record of a run, or a node of a tree, which has some of its fields.
    fn add_record(&mut self, value: &Value, spot: Spot) {
        if !value.is_object() {
            return;
        }
        self.note_agent(value);
        self.with_run(id(value, "id"), |run| {
            run.note(value);
            run.start = run.start.or(time(value, "startTime"));
            run.end = run.end.or(time(value, "endTime"));
            run.subject = run.subject.take().or(text(value, "subject").map(str::to_owned));
            run.parent = run.parent.take().or(id(value, "parentExecutionRecordId"));
            run.operation = run.operation.take().or(id(value, "parentAsyncOperationId"));
            run.delivery = run.delivery.take().or(text(value, "deliveryStatus").map(str::to_owned));
            run.rejection = run.rejection.take().or(rejection(value));
            let usage = usage(value);
            if usage.input.is_some() || run.usage.is_none() {
                run.usage = Some(usage).filter(|usage| *usage != Usage::default()).or(run.usage);
            }
            if value.get("waitingFor").is_some_and(Value::is_object) {
                run.waiting.get_or_insert(spot.below("waitingFor"));
            }
            if run.record.is_none() || value.get("depth").is_none() {
                run.record = Some(spot);
            }
        });
    }

    fn add_trace(&mut self, value: &Value, spot: Spot) {
        let (trace, place) = match value.get("trace") {
            Some(trace) => (trace, spot.below("trace")),
            None => (value, spot.clone()),
        };
        self.note_agent(trace);
        let own = any_id(trace, &["agentExecutionRecordId", "executionRecordId"]);
        self.with_run(own.clone(), |run| {
            run.note(value);
            run.note(trace);
            run.start = run.start.or(time(trace, "startTime"));
            run.end = run.end.or(time(trace, "endTime"));
            let root = id(value, "rootExecutionId").filter(|root| Some(root) != own.as_ref());
            run.parent = run.parent.take().or(root);
            if value.get("waitingFor").is_some_and(Value::is_object) {
                run.waiting.get_or_insert(spot.below("waitingFor"));
            }
            let steps = if trace.get("traces").is_some() { "traces" } else { "steps" };
            // The same trace fetched twice is one: the one that knows more of its end comes last.
            run.traces.push(place.below(steps));
        });
    }

    fn add_spans(&mut self, value: &Value, spot: &Spot) {
        let mut spans = Vec::new();
        for (r, resource) in at(value, &["resourceSpans"]).as_array().into_iter().flatten().enumerate() {
            for (s, scope) in at(resource, &["scopeSpans"]).as_array().into_iter().flatten().enumerate() {
                let count = at(scope, &["spans"]).as_array().map_or(0, Vec::len);
                let below = spot.below("resourceSpans").below(r).below("scopeSpans").below(s).below("spans");
                spans.extend((0..count).map(|index| below.below(index)));
            }
        }
        let count = at(value, &["spans"]).as_array().map_or(0, Vec::len);
        spans.extend((0..count).map(|index| spot.below("spans").below(index)));
        self.with_run(id(value, "executionRecordId"), |run| run.spans.extend(spans));
    }

    fn add_result(&mut self, kind: Kind, value: &Value, spot: Spot) {
        let trace = at(value, &["trace"]);
        self.note_agent(value);
        self.note_agent(trace);
        self.note_session(None, id(value, "sessionId").filter(|_| kind == Kind::Execute));
        let request = id(value, "humanApprovalRequestId");
        let run_id = any_id(value, &["executionRecordId", "agentExecutionRecordId"]);
        self.with_run(run_id, |run| {
            if kind == Kind::Execute {
                run.note(value);
                if request.is_some() {
                    "WAITING_FOR_ASYNC".clone_into(&mut run.status);
                }
            }
            run.note(trace);
            run.start = run.start.or(time(trace, "startTime")).or(any_time(value, &["createdAt"]));
            run.end = run.end.or(time(trace, "endTime")).or(time(value, "completedAt"));
            let spent = usage(if kind == Kind::Stage { value } else { trace });
            run.usage = run.usage.or(Some(spent).filter(|usage| *usage != Usage::default()));
            if trace.get("traces").is_some_and(Value::is_array) {
                run.traces.push(spot.below("trace").below("traces"));
            }
            run.results.push((kind, spot));
        });
    }

    fn add_frame(&mut self, value: &'a Value, spot: Spot, segment: &mut Option<usize>) {
        if starts_stream(value) || segment.is_none() {
            *segment = Some(self.streams.len());
            self.streams.push(Stream { frames: Vec::new(), is_run: false, scenario: None });
        }
        self.note_session(id(value, "session"), any_id(value, &["session_id", "sessionId"]));
        self.note_agent(value);
        if let Some(stream) = segment.and_then(|index| self.streams.get_mut(index)) {
            stream.push(value, spot);
        }
    }

    fn add_scenarios(&mut self, value: &'a Value, spot: &Spot) {
        for (index, result) in at(value, &["results"]).as_array().into_iter().flatten().enumerate() {
            self.note_agent(result);
            let place = spot.below("results").below(index);
            let mut stream = Stream { frames: Vec::new(), is_run: false, scenario: Some(place.clone()) };
            for (number, frame) in at(result, &["transcript"]).as_array().into_iter().flatten().enumerate() {
                stream.push(frame, place.below("transcript").below(number));
            }
            self.streams.push(stream);
        }
    }
}

impl Run {
    /// Takes a record's status, and whose run it is.
    fn note(&mut self, value: &Value) {
        let status = word(value, "status");
        // Records are of different moments: a run that ended stays so.
        if !status.is_empty() && status != "UNSPECIFIED" && (self.status.is_empty() || self.is_live()) {
            self.status = status;
        }
        if self.run_type.is_empty() {
            self.run_type = word(value, "runType");
        }
        self.agent = self.agent.take().or(id(value, "agentId"));
        self.revision = self.revision.or(number(value, "agentRevision").map(|number| number as i64));
    }
}

impl<'a> Stream<'a> {
    fn push(&mut self, value: &'a Value, spot: Spot) {
        let kind = text(value, "type").unwrap_or_default();
        let is_of_run = matches!(kind, "done" | "step_trace" | "usage" | "text" | "error" | "draft");
        self.is_run |= is_of_run || (kind == "start" && value.get("stream").is_none());
        self.frames.push(Frame {
            spot,
            kind,
            at: any_time(value, &["at", "start_time_ms", "startTime", "end_time_ms", "endTime"]),
            value,
        });
    }
}

/// The tokens and the money of a record. A counter that is not there is unknown.
pub fn usage(value: &Value) -> Usage {
    let any = |keys: [&str; 2]| keys.iter().find_map(|key| count(value, key));
    let cost = number(value, "totalCost").or(number(value, "total_cost")).or(number(value, "cost"));
    let parts = ["inputCost", "outputCost", "cachedCost", "cacheWriteCost", "thinkingCost", "webSearchCost"];
    let parts: Vec<f64> = parts.iter().filter_map(|key| number(value, key)).collect();
    Usage {
        input: any(["inputTokens", "input_tokens"]),
        output: any(["outputTokens", "output_tokens"]),
        cache_read: any(["cachedTokens", "cached_tokens"]),
        cache_write: any(["cacheWriteTokens", "cache_write_tokens"]),
        reasoning: any(["thinkingTokens", "thinking_tokens"]),
        cost: cost.or_else(|| (!parts.is_empty()).then(|| parts.iter().sum())),
    }
}

fn rejection(value: &Value) -> Option<String> {
    let parts = [text(value, "rejectionReason"), text(value, "rejectionDetail")];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(": "))
}

/// How a frame's tool is called in approvals and traces: `shopify.issue_refund`.
pub fn tool_name(frame: &Value) -> String {
    let trace = at(frame, &["toolTrace", "tool"]);
    if let Some(name) = text(frame, "toolName") {
        return name.replacen("__", ".", 1);
    }
    let name = any_text(frame, &["name"]).or(any_text(trace, &["name", "id"])).unwrap_or_default();
    match any_text(frame, &["integration_id"]).or(text(trace, "integrationId")) {
        Some(integration) => format!("{integration}.{name}"),
        None => name.to_owned(),
    }
}

/// Whether an advisor who is asked is an agent.
pub fn is_agent_advisor(frame: &Value) -> bool {
    flag(frame, "advisorIsAgent") == Some(true)
}
