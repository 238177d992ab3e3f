//! How turns end, and what goes wrong on the way: responses, errors, and the notes of Devin's extension.

use serde_json::Value;

use super::asks;
use super::builder::Builder;
use super::list::steps_of;
use super::route::{Request, meta, text};
use super::updates::{self, compaction, model_of};
use crate::formats::labels::marker_text;
use crate::model::{EventKind, Fact, MarkerKind, Outcome};

/// Takes a response to a request of the session.
pub fn response(builder: &mut Builder, request: &Request, outcome: &Result<Value, Value>, is_total: bool) {
    match request.method.as_str() {
        "session/prompt" | "_cognition.ai/revert/resume" => stopped(builder, request, outcome, is_total),
        "session/request_permission" | "elicitation/create" => asks::answer(builder, request, outcome),
        "session/new" | "session/load" | "session/resume" => {
            if let Ok(result) = outcome {
                builder.cwd = builder.cwd.take().or_else(|| request.value.clone());
                builder.model = model_of(result).map(marker_text).or(builder.model.take());
            } else {
                error(builder, request, outcome);
            }
            if request.method == "session/load" {
                builder.retold(outcome.is_ok());
            }
        }
        "session/set_config_option" | "session/set_model" => {
            if outcome.is_ok() {
                builder.model = builder.asked_model.take().or(builder.model.take());
            } else {
                builder.asked_model = None;
                error(builder, request, outcome);
            }
        }
        method => {
            if let Ok(result) = outcome
                && let Some(steps) = steps_of(result)
            {
                builder.list = Some((builder.record, steps));
            }
            match outcome {
                Err(_) => error(builder, request, outcome),
                Ok(_) if method.starts_with("_cognition.ai/revert/") => {
                    let short = method.rsplit('/').next().unwrap_or(method);
                    builder.push(EventKind::Notice, &format!("{short}: answered"));
                }
                Ok(_) => {}
            }
        }
    }
}

/// An error that is the answer to a request of the client.
pub fn error(builder: &mut Builder, request: &Request, outcome: &Result<Value, Value>) {
    let Err(error) = outcome else { return };
    let (code, message) = told(error);
    let words = format!("{}: {message}", request.method);
    builder.mark(EventKind::Failure, &words, Fact::Failure { code, message });
}

/// Code and message of an error, with what its data adds in words.
fn told(error: &Value) -> (Option<String>, String) {
    let code = error.get("code").filter(|code| !code.is_null()).map(|code| marker_text(&code.to_string()));
    let data = error.get("data");
    let more = data.and_then(Value::as_str).or_else(|| {
        let data = data?;
        ["cognition.ai/errorKind", "details", "message"].iter().find_map(|key| text(data, key))
    });
    let message = text(error, "message").unwrap_or("error");
    (code, marker_text(&more.map_or_else(|| message.to_owned(), |more| format!("{message}: {more}"))))
}

/// The response to a prompt ends its turn.
fn stopped(builder: &mut Builder, request: &Request, outcome: &Result<Value, Value>, is_total: bool) {
    let Some(key) = builder.finished(request) else { return };
    let usage = builder.meter.turn(outcome.as_ref().unwrap_or(&Value::Null), is_total);
    builder.spent.add(&usage);
    let before = builder.draft_of(key).map_or(Outcome::Pending, |draft| draft.outcome);
    let became = match outcome {
        Ok(result) => ended(builder, key, text(result, "stopReason").unwrap_or_default(), before),
        Err(error) => failed(builder, key, error),
    };
    let (at, model) = (builder.moment.at, builder.model.clone());
    let message_id = outcome.as_ref().ok().and_then(|result| meta(result, "userMessageId")).and_then(Value::as_str);
    let is_resumed = request.method != "session/prompt";
    if let Some(draft) = builder.draft_of(key) {
        draft.usage.add(&usage);
        (draft.outcome, draft.ended_at) = (became, at);
        draft.model = model.or(draft.model.take());
        if let Some(id) = message_id.filter(|_| !is_resumed) {
            draft.message_id = Some(marker_text(id));
        }
    }
    // Questions inside the turn end with it.
    let first = builder.drafts.iter().rposition(|draft| draft.key == key).unwrap_or(builder.drafts.len());
    for draft in builder.drafts.iter_mut().skip(first + 1) {
        if draft.outcome == Outcome::Pending && draft.kind == crate::model::StepKind::QuestionAnswer {
            (draft.outcome, draft.ended_at) = (became, at);
        }
    }
}

fn ended(builder: &mut Builder, key: u32, reason: &str, before: Outcome) -> Outcome {
    match reason {
        "cancelled" => {
            asks::call_off(builder);
            // A refused tool call stops a turn too; the refusal is marked already.
            if !has_since(builder, key, &[MarkerKind::Interruption, MarkerKind::Denial]) {
                builder.mark(EventKind::Interruption, "cancelled", Fact::Interruption { message: reason.to_owned() });
            }
            Outcome::Interrupted
        }
        "refusal" | "max_tokens" | "max_turn_requests" => {
            if !has_since(builder, key, &[MarkerKind::Failure]) {
                let fact = Fact::Failure { code: Some(reason.to_owned()), message: reason.replace('_', " ") };
                builder.mark(EventKind::Failure, reason, fact);
            }
            Outcome::Failed
        }
        _ if before == Outcome::Pending => Outcome::Done,
        _ => before,
    }
}

fn failed(builder: &mut Builder, key: u32, error: &Value) -> Outcome {
    let (code, message) = told(error);
    let number = error.get("code").and_then(Value::as_i64).unwrap_or(0);
    let kind = error.get("data").and_then(|data| text(data, "cognition.ai/errorKind")).unwrap_or_default();
    if number == -32_800 {
        if !has_since(builder, key, &[MarkerKind::Interruption]) {
            builder.mark(EventKind::Interruption, &message.clone(), Fact::Interruption { message });
        }
        return Outcome::Interrupted;
    }
    // The agent may have said so already before it answered.
    if has_since(builder, key, &[MarkerKind::Quota, MarkerKind::Failure]) {
        builder.push(EventKind::Notice, &format!("error {}: {message}", code.unwrap_or_default()));
    } else if number == -32_011 || kind == "resource_exhausted" || message.to_lowercase().contains("exhausted") {
        builder.mark(EventKind::Quota, &message.clone(), Fact::Quota { message, reset_at: None });
    } else {
        builder.mark(EventKind::Failure, &message.clone(), Fact::Failure { code, message });
    }
    Outcome::Failed
}

/// Whether the turn is marked so already. The failure of a tool is none of the turn.
fn has_since(builder: &Builder, key: u32, kinds: &[MarkerKind]) -> bool {
    let start = builder.drafts.iter().rev().find(|draft| draft.key == key).map_or(0, |draft| draft.event);
    let events = builder.events.get(start..).unwrap_or_default().iter().rev().take(4096);
    events
        .filter(|event| event.kind != EventKind::Tool)
        .any(|event| event.marker.as_deref().is_some_and(|marker| kinds.contains(&marker.kind())))
}

/// Takes a notification of the session; `false` when nobody knows its method.
pub fn notification(builder: &mut Builder, method: &str, params: &Value) -> bool {
    match method {
        "session/update" => return updates::take(builder, params.get("update").unwrap_or(&Value::Null)),
        "session/cancel" => {
            let message = "cancelled by the client".to_owned();
            builder.mark(EventKind::Interruption, &message.clone(), Fact::Interruption { message });
        }
        _ => match method.strip_prefix("_cognition.ai/") {
            Some(name) => devins(builder, name, params),
            None if method.starts_with("$/") || method.starts_with("elicitation/") || method.starts_with('_') => {
                builder.push(EventKind::Notice, method);
            }
            None => {
                builder.push(EventKind::Unknown, method);
                return false;
            }
        },
    }
    true
}

/// The notifications of Devin's extension. The ones that are not named here say nothing about the session.
fn devins(builder: &mut Builder, name: &str, params: &Value) {
    match name {
        "revert/stepsUpdated" => {
            if let Some(steps) = steps_of(params) {
                builder.list = Some((builder.record, steps));
            }
        }
        "revert/historyRewound" => {
            builder.history_rewound(params);
            builder.push(EventKind::Notice, "history rewound");
        }
        "connection_retry" => {
            let count = |key: &str| params.get(key).and_then(Value::as_u64);
            let is_stream = params.get("isStreamRetry").and_then(Value::as_bool) == Some(true);
            let message = if is_stream { "the stream broke and is taken up again" } else { "reconnecting" };
            let fact = Fact::Retry {
                attempt: count("attempt"),
                max_attempts: count("maxAttempts"),
                status: None,
                message: Some(message.to_owned()),
            };
            builder.mark(EventKind::Retry, message, fact);
        }
        "agent_stopped" => agent_stopped(builder, params),
        "turn_stats" => {
            let running = builder.running.last().map(|(_, key)| *key);
            if let (Some(id), Some(key)) = (text(params, "turnClientMessageId"), running)
                && let Some(draft) = builder.draft_of(key)
                && draft.message_id.is_none()
            {
                draft.message_id = Some(marker_text(id));
            }
        }
        "thinking_complete" => {
            let took = params.get("durationMs").and_then(Value::as_i64);
            let last = builder.events.iter_mut().rev().take(8).find(|event| event.kind == EventKind::Thinking);
            if let Some(event) = last {
                event.duration_ms = took;
            }
        }
        "compaction" => compaction(builder, params),
        "output" | "showModal" | "messages_in_queued" => {
            let words = text(params, "message").unwrap_or(name);
            builder.push(EventKind::Notice, words);
        }
        _ => {}
    }
}

fn agent_stopped(builder: &mut Builder, params: &Value) {
    let stats = params.get("stats").unwrap_or(&Value::Null);
    builder.meter.stopped(stats);
    if let Some(model) = text(stats, "modelLabel").map(marker_text) {
        builder.model = Some(model);
    }
    let cause = text(params, "cause").unwrap_or_default();
    let said = text(params, "errorMessage").map(marker_text);
    let words = said.clone().unwrap_or_else(|| cause.replace('_', " "));
    let key = builder.running.last().map(|(_, key)| *key);
    let outcome = match cause {
        "" | "complete" => return,
        "cancelled" | "interrupted" | "shutdown" | "restart" => {
            if !key.is_some_and(|key| has_since(builder, key, &[MarkerKind::Interruption])) {
                builder.mark(EventKind::Interruption, &words.clone(), Fact::Interruption { message: words });
            }
            Outcome::Interrupted
        }
        "quota_exhausted" => {
            builder.mark(EventKind::Quota, &words.clone(), Fact::Quota { message: words, reset_at: None });
            Outcome::Failed
        }
        "tool_rejected" => {
            builder.push(EventKind::Notice, "stopped: a tool call was rejected");
            Outcome::Interrupted
        }
        _ => {
            let fact = Fact::Failure { code: Some(marker_text(cause)), message: words.clone() };
            builder.mark(EventKind::Failure, &words, fact);
            Outcome::Failed
        }
    };
    if let Some(draft) = key.and_then(|key| builder.draft_of(key)) {
        draft.outcome = outcome;
    }
}

/// Takes a request; `false` when nobody knows its method.
pub fn request(builder: &mut Builder, method: &str, params: &Value) -> bool {
    match method {
        "session/prompt" => {
            let words = updates::blocks_text(asks::list(params, "prompt"));
            builder.prompt(&words);
        }
        "session/load" => builder.retell(),
        "session/request_permission" => asks::permission(builder, params),
        "elicitation/create" => asks::question(builder, params),
        "session/set_model" => builder.asked_model = text(params, "modelId").map(marker_text),
        "session/set_config_option" => {
            if text(params, "configId").is_some_and(|id| id == "model") {
                builder.asked_model = text(params, "value").map(marker_text);
            }
        }
        "fs/write_text_file" => {
            builder.push(EventKind::FileChange, text(params, "path").unwrap_or_default());
        }
        "fs/read_text_file" => {
            builder.push(EventKind::Notice, &format!("read {}", text(params, "path").unwrap_or_default()));
        }
        "terminal/create" => {
            builder.push(EventKind::Notice, &format!("terminal: {}", text(params, "command").unwrap_or_default()));
        }
        "_cognition.ai/revert/resume" => {
            builder.push(EventKind::Notice, "resume");
            builder.resumed();
        }
        _ => {
            if let Some(name) = method.strip_prefix("_cognition.ai/revert/") {
                builder.push(EventKind::Notice, name);
                return true;
            }
            const SILENT: [&str; 5] = ["initialize", "authenticate", "logout", "session/", "terminal/"];
            if SILENT.iter().any(|start| method.starts_with(start)) || method.starts_with('_') {
                return true;
            }
            builder.push(EventKind::Unknown, method);
            return false;
        }
    }
    true
}
