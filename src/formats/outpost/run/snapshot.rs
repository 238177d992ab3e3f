//! The facts that a run's snapshot states, or lets one conclude.

use serde_json::Value;

use crate::formats::outpost::fields::{short, spoken, text, time, usage};
use crate::formats::outpost::happenings::{Happening, Replayed, Source};
use crate::formats::outpost::labels::shorten;
use crate::model::{Commit, EventKind, Fact, Timestamp};

pub struct Snapshot<'a> {
    pub value: &'a Value,
    pub source: &'a Source,
    pub now: Timestamp,
}

const TASK: Replayed = Replayed::Fields(&["key", "status", "attempts", "startedAt", "finishedAt", "error", "usage"]);
const DISPATCH: Replayed =
    Replayed::Fields(&["id", "status", "taskKey", "agent", "branch", "completed", "error", "usage"]);

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

impl Snapshot<'_> {
    /// Everything, for a run whose events are not there.
    pub fn all(&self) -> Vec<Happening> {
        let mut out = Vec::new();
        if !self.value.is_object() {
            return out;
        }
        let name = super::title(self.value);
        out.push(self.own(
            EventKind::Notice,
            time(self.value, "startedAt"),
            format!("{name} started"),
            &["id", "kind"],
        ));
        let dispatches = list(self.value, "dispatches");
        let tasks = list(self.value, "tasks");
        for task in tasks {
            self.task(task, dispatches, &mut out);
        }
        let is_free = |dispatch: &&Value| !tasks.iter().any(|task| is_of(dispatch, task));
        dispatches.iter().filter(is_free).for_each(|dispatch| self.dispatch(dispatch, &mut out));
        out.extend(self.end(&out));
        out
    }

    /// What only the snapshot says, beside the facts that are `told` already: errors, commits, how it ended.
    pub fn end(&self, told: &[Happening]) -> Vec<Happening> {
        let has = |kind: EventKind| told.iter().any(|happening| happening.kind == kind);
        self.rest(has(EventKind::Failure), has(EventKind::Commits))
    }

    pub fn rest(&self, has_failures: bool, has_commits: bool) -> Vec<Happening> {
        let mut out = Vec::new();
        if !self.value.is_object() {
            return out;
        }
        let at = time(self.value, "updatedAt");
        for error in list(self.value, "errors").iter().filter(|_| !has_failures) {
            out.push(self.failure(self.own(EventKind::Failure, at, String::new(), &["errors"]), Some(error)));
        }
        if !has_commits {
            out.extend(commits(self.value, self.own(EventKind::Commits, at, String::new(), &["commits"])));
        }
        let status = super::status(self.value, self.now);
        let end = self.own(EventKind::Notice, at, format!("run {status}"), &["status", "seq", "complete", "updatedAt"]);
        out.push(match status {
            "abandoned" => {
                let message = format!("no sign of life since {}: abandoned", text(self.value, "heartbeatAt"));
                let end = Happening { kind: EventKind::Interruption, label: message.clone(), ..end };
                end.inferred(Fact::Interruption { message })
            }
            "cancelled" => {
                let message = "the run was cancelled".to_owned();
                Happening { kind: EventKind::Interruption, ..end }.recorded(Fact::Interruption { message })
            }
            _ => end,
        });
        out
    }

    fn own(&self, kind: EventKind, at: Option<Timestamp>, label: String, fields: &'static [&'static str]) -> Happening {
        Happening::new(kind, text(self.value, "id"), at, label, self.source).replayed(Replayed::Fields(fields))
    }

    /// A part of the snapshot as a record of its own.
    fn source(&self, part: &Value) -> Source {
        Source { record: part.clone().into(), ..self.source.clone() }
    }

    fn task(&self, task: &Value, dispatches: &[Value], out: &mut Vec<Happening>) {
        let (key, status) = (text(task, "key"), text(task, "status"));
        let source = self.source(task);
        let (started, finished) = (time(task, "startedAt"), time(task, "finishedAt"));
        let task_event = |kind, at, label| Happening::new(kind, key, at, label, &source).replayed(TASK);
        if started.is_some() {
            out.push(task_event(EventKind::Notice, started, format!("task {key} started")));
        }
        let own = dispatches.iter().filter(|dispatch| is_of(dispatch, task));
        own.for_each(|dispatch| self.dispatch(dispatch, out));
        if matches!(status, "waiting" | "active") {
            return;
        }
        let mut end = task_event(EventKind::Notice, finished, format!("task {key} {status}"));
        end.duration_ms = started.zip(finished).map(|(from, to)| to.since(from)).filter(|ms| *ms >= 0);
        if status == "failed" {
            let error = task.get("error");
            end = self.failure(Happening { kind: EventKind::Failure, ..end }, error);
        }
        out.push(end);
    }

    fn dispatch(&self, dispatch: &Value, out: &mut Vec<Happening>) {
        let id = text(dispatch, "id");
        let source = self.source(dispatch);
        let agent = match text(dispatch, "agent") {
            "" => "an agent",
            agent => agent,
        };
        for pass in list(dispatch, "passes") {
            let number = pass.get("pass").and_then(Value::as_u64).map_or_else(String::new, |pass| format!(" {pass}"));
            let tokens = usage(pass, "usage");
            let label = format!(
                "pass{number} of {agent}: {} tokens in, {} cached, {} out",
                tokens.input.unwrap_or(0),
                tokens.cache_read.unwrap_or(0),
                tokens.output.unwrap_or(0)
            );
            let source = self.source(pass);
            let pass = Happening::new(EventKind::Notice, id, None, label, &source);
            out.push(pass.replayed(Replayed::Fields(&["pass", "usage"])));
        }
        let status = text(dispatch, "status");
        let label = format!("dispatch of {agent} {status}");
        let end = Happening::new(EventKind::Notice, id, None, label, &source).replayed(DISPATCH);
        out.push(match status {
            "failed" => {
                let end = Happening { kind: EventKind::Failure, ..end };
                self.failure(end, dispatch.get("error"))
            }
            "cancelled" => {
                let message = "the dispatch was cancelled".to_owned();
                Happening { kind: EventKind::Interruption, ..end }.recorded(Fact::Interruption { message })
            }
            _ => end,
        });
        let event = Happening::new(EventKind::Commits, id, None, String::new(), &source);
        out.extend(commits(dispatch, event.replayed(Replayed::Fields(&["commits", "branch"]))));
    }

    /// An error is an object with code and message, or a plain text.
    fn failure(&self, event: Happening, error: Option<&Value>) -> Happening {
        let error = error.unwrap_or(&Value::Null);
        let whole = error.as_str().unwrap_or_else(|| text(error, "message"));
        let message = if whole.is_empty() { "it failed" } else { whole };
        let label = if event.label.is_empty() { message.to_owned() } else { format!("{}: {message}", event.label) };
        let fact = Fact::Failure { code: short(error, "code"), message: shorten(message) };
        let told = if error.is_null() { message.to_owned() } else { spoken(error) };
        Happening { label, ..event }.text(told).recorded(fact)
    }
}

fn is_of(dispatch: &Value, task: &Value) -> bool {
    let key = text(task, "key");
    !key.is_empty() && text(dispatch, "taskKey") == key
}

/// The commits under `commits`; none where there are none.
pub fn commits(value: &Value, event: Happening) -> Option<Happening> {
    const MAX_COMMITS: usize = 1_000;
    let commits: Vec<Commit> = list(value, "commits")
        .iter()
        .take(MAX_COMMITS)
        .map(|commit| Commit {
            id: short(commit, "oid").unwrap_or_default(),
            subject: short(commit, "subject").unwrap_or_default(),
        })
        .collect();
    let first = commits.first()?;
    let label = match commits.len() {
        1 => first.subject.clone(),
        count => format!("{count} commits: {}", first.subject),
    };
    Some(Happening { label, ..event }.recorded(Fact::Commits { commits, unavailable: None }))
}
