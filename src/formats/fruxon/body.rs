//! The text behind an event, read out of its record when it is looked at.

use serde_json::Value;

use super::events::{Detail, How};
use super::facts::usage;
use super::field::{any_text, at, count, flag, result_text, spoken, text};
use super::read::FileData;
use super::trace::verdict;
use crate::formats::{Body, record};
use crate::model::{Event, EventKind};
use crate::store::ReadError;

pub fn body(files: &[FileData], event: &Event, detail: &Detail) -> Result<Body, ReadError> {
    let value = detail.spot.value(files);
    let mut body = Body::default();
    match detail.how {
        How::Note if event.marker.is_some() && event.kind != EventKind::Subagent => {}
        How::Note => body.text = event.label.to_string(),
        How::Raw => {
            let data = files.get(detail.spot.file);
            let record = data.and_then(|data| data.records.get(detail.spot.record));
            if let (Some(data), Some(record)) = (data, record) {
                body.text = record::start_text(&data.file, record.span)?;
            }
        }
        How::Said => {
            body.text = pretty(value);
            for piece in &detail.more {
                body.text.push_str(&spoken(piece.value(files)));
            }
        }
        How::ToolStep => step(value, &mut body),
        How::ToolFrame => frame(value, detail.more.first().map(|spot| spot.value(files)), &mut body),
        How::Held => {
            body.text = any_text(value, &["outboundMessage", "message"]).unwrap_or_default().to_owned();
            body.input = value.get("proposedParameters").filter(|value| !value.is_null()).map(Value::to_string);
            body.output = text(value, "responseText").map(str::to_owned);
        }
        How::Try => body.text = tried(value),
        How::Verdict => {
            let said = verdict(value).map(|verdict| pretty(&verdict));
            let parts = [said, text(value, "error").map(str::to_owned)];
            body.text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n");
        }
    }
    Ok(body)
}

fn step(value: &Value, body: &mut Body) {
    let trace = at(value, &["toolTrace"]);
    body.input = trace.get("parameters").filter(|value| !value.is_null()).map(Value::to_string);
    let result = result_text(at(value, &["result"]));
    let error = text(value, "error").unwrap_or_default();
    let output = if result.is_empty() { error } else { &result };
    body.output = (!output.is_empty()).then(|| output.to_owned());
    let delivery = at(trace, &["resultDelivery"]);
    if flag(delivery, "offloaded") == Some(true) || flag(delivery, "projected") == Some(true) {
        let file = text(delivery, "fileLink").map(|link| format!(", the whole is {link}")).unwrap_or_default();
        let (original, given) = (count(delivery, "originalChars"), count(delivery, "deliveredChars"));
        let figure = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
        body.attachments.push(format!(
            "the model was given {} of {} characters{file}",
            figure(given),
            figure(original)
        ));
    }
}

fn frame(value: &Value, result: Option<&Value>, body: &mut Body) {
    let parameters = at(value, &["toolTrace", "parameters"]);
    let inputs = [value.get("arguments"), Some(parameters), value.get("argsSummary")];
    let input = inputs.into_iter().flatten().find(|value| !value.is_null());
    body.input = input.map(|input| spoken(input).into_owned());
    let result = result.unwrap_or(value);
    let words = any_text(result, &["message", "resultSummary", "resultPreview", "error"]).map(str::to_owned);
    let given = result.get("result").filter(|value| !value.is_null()).map(|value| result_text(value).into_owned());
    body.output = given.filter(|text| !text.is_empty()).or(words);
}

/// One try of a model, in words.
fn tried(value: &Value) -> String {
    let trace = at(value, &["llmStepTrace"]);
    let mut lines = Vec::new();
    for (key, word) in [("providerId", "provider"), ("model", "model")] {
        lines.extend(text(trace, key).map(|text| format!("{word}: {text}")));
    }
    let used = usage(trace);
    let counts = [
        (used.input, "input"),
        (used.output, "output"),
        (used.cache_read, "cached"),
        (used.cache_write, "written to the cache"),
        (used.reasoning, "thinking"),
    ];
    let tokens: Vec<String> = counts.iter().filter_map(|(count, word)| Some(format!("{} {word}", (*count)?))).collect();
    if !tokens.is_empty() {
        lines.push(format!("tokens: {}", tokens.join(", ")));
    }
    lines.extend(used.cost.map(|cost| format!("cost: {cost:.6} USD")));
    let calls = at(trace, &["llmCalls"]).as_array().map_or(0, Vec::len);
    if calls > 1 {
        lines.push(format!("model calls: {calls}"));
    }
    lines.extend(text(value, "error").map(|error| format!("error: {error}")));
    lines.join("\n")
}

/// A string as it is, all else as JSON over several lines.
fn pretty(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        other => spoken(other).into_owned(),
    }
}
