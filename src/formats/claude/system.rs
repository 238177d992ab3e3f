//! What system records say: retries, fallbacks, refusals, compactions, ends of turns.

use serde::Deserialize;

use super::index::{Flags, What};
use super::pieces::{Sink, bytes_of, fallback_label};
use super::prompt::{Spoken, classify};
use super::record::Envelope;
use crate::formats::json;
use crate::formats::labels::marker_text;
use crate::formats::lenient::{Count, Object, Text};
use crate::model::{EventKind, Fact};

/// `error` of an `api_error`, in the shapes that it had over time.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ApiError<'a> {
    status: Count,
    #[serde(borrow)]
    formatted: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    error: Object<OldError<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OldError<'a> {
    #[serde(borrow)]
    error: Object<OldCause<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OldCause<'a> {
    #[serde(borrow)]
    message: Text<'a>,
}

pub(super) fn of_system(envelope: &Envelope, sink: &mut Sink) {
    let content = envelope.content.and_then(json::string).unwrap_or_default();
    let subtype = envelope.subtype.or_empty();
    match subtype {
        "api_error" => retry(envelope, sink),
        "model_fallback" | "model_refusal_fallback" => fallback(envelope, &content, sink),
        "model_refusal_no_fallback" | "api_refusal" => {
            let message = envelope.api_refusal_explanation.as_str().unwrap_or(&content);
            let fact =
                Fact::Failure { code: envelope.api_refusal_category.to_owned_option(), message: marker_text(message) };
            sink.fact(EventKind::Failure, fact, message, bytes_of(message));
        }
        "compact_boundary" => {
            let metadata = envelope.compact_metadata.0.as_ref();
            let fact = Fact::Compaction {
                trigger: metadata.and_then(|metadata| metadata.trigger.to_owned_option()),
                tokens_before: metadata.and_then(|metadata| metadata.pre_tokens.0),
                tokens_after: metadata.and_then(|metadata| metadata.post_tokens.0),
            };
            let label = if content.is_empty() { "conversation compacted" } else { &content };
            sink.fact(EventKind::Compaction, fact, label, bytes_of(&content));
        }
        "turn_duration" => sink.record.flags.set(Flags::TURN_END, true),
        "local_command" => local_command(&content, sink),
        _ => {
            let words = if content.trim().is_empty() { subtype.replace('_', " ") } else { content };
            sink.notice(0, if words.is_empty() { "system note" } else { &words }, bytes_of(&words));
        }
    }
}

fn retry(envelope: &Envelope, sink: &mut Sink) {
    let mut spare = String::new();
    let error = envelope
        .error
        .and_then(|raw| json::record::<Object<ApiError>>(raw.get(), &mut spare).ok()?.0)
        .unwrap_or_default();
    let old = error.error.0.as_ref().and_then(|error| error.error.0.as_ref()).and_then(|cause| cause.message.as_str());
    let message = error.formatted.as_str().or(old).or(error.message.as_str()).map(marker_text);
    let label = match (envelope.retry_attempt.0, envelope.max_retries.0) {
        (Some(attempt), Some(most)) => {
            format!("attempt {attempt} of {most}: {}", message.as_deref().unwrap_or("failed"))
        }
        _ => message.clone().unwrap_or_else(|| "a request failed".to_owned()),
    };
    let bytes = message.as_deref().map_or(0, bytes_of);
    let fact = Fact::Retry {
        attempt: envelope.retry_attempt.0,
        max_attempts: envelope.max_retries.0,
        status: error.status.0,
        message,
    };
    sink.fact(EventKind::Retry, fact, &label, bytes);
}

fn fallback(envelope: &Envelope, content: &str, sink: &mut Sink) {
    sink.record.flags.set(Flags::MODEL_REASON, true);
    let (from, to) = (envelope.original_model.to_owned_option(), envelope.fallback_model.to_owned_option());
    let label = fallback_label(from.as_deref(), to.as_deref());
    let fact = Fact::Fallback {
        from,
        to,
        trigger: envelope.trigger.to_owned_option(),
        reset_at: None,
        message: Some(marker_text(content)).filter(|message| !message.is_empty()),
    };
    sink.fact(EventKind::Fallback, fact, &label, bytes_of(content));
}

fn local_command(content: &str, sink: &mut Sink) {
    match classify(content) {
        Spoken::Command(command) => {
            sink.record.flags.set(Flags::MODEL_REASON, command == "/model" || command.starts_with("/model "));
            sink.notice(0, &command, bytes_of(content));
        }
        Spoken::LocalOutput(output) => {
            sink.record.flags.set(Flags::MODEL_REASON, output.starts_with("Set model to"));
            sink.push(0, What::LocalOutput, output, bytes_of(content));
        }
        Spoken::Empty => {}
        _ => sink.notice(0, content, bytes_of(content)),
    }
}
