//! `session/update`: what an agent tells of its turn while it goes on.

use serde_json::Value;

use super::asks::{answers_on_call, list};
use super::builder::{Builder, Call, bytes};
use super::route::{meta, text};
use crate::formats::labels::line;
use crate::formats::labels::marker_text;
use crate::model::{Decision, EventKind, Fact, Marker, Place, SubagentStatus, Timestamp, Tool, ToolState};

/// Takes an update; `false` when it is of a kind that nobody knows.
pub fn take(builder: &mut Builder, update: &Value) -> bool {
    let kind = text(update, "sessionUpdate").unwrap_or_default();
    let message_id = text(update, "messageId");
    // A history that is told has times of its own.
    builder.moment.at = builder.moment.at.or_else(|| told_at(update));
    match kind {
        "user_message_chunk" => {
            let words = block_text(update.get("content").unwrap_or(&Value::Null));
            builder.user_chunk(update, &words);
        }
        "agent_message_chunk" | "agent_thought_chunk" => {
            let kind = if kind == "agent_message_chunk" { EventKind::Text } else { EventKind::Thinking };
            let words = block_text(update.get("content").unwrap_or(&Value::Null));
            builder.chunk(kind, message_id, &words);
        }
        _ if builder.is_known() => {}
        "tool_call" | "tool_call_update" => tool_call(builder, update),
        "plan" | "plan_update" => plan(builder, update),
        "plan_removed" => {
            builder.push(EventKind::Notice, "plan removed");
        }
        "current_mode_update" => {
            let mode = text(update, "currentModeId").unwrap_or_default();
            builder.push(EventKind::Notice, &format!("mode: {mode}"));
        }
        "config_option_update" => options(builder, update),
        "session_info_update" => {
            if let Some(title) = text(update, "title") {
                builder.title = Some(line(title).into());
            }
        }
        "usage_update" => builder.meter.update(update),
        "available_commands_update" => {}
        "notice" => {
            let title = text(update, "title").or_else(|| text(update, "description")).unwrap_or_default();
            builder.push(EventKind::Notice, title);
        }
        "compaction_update" => compaction(builder, update),
        "compaction_summary_chunk" => {
            let words = block_text(update.get("content").unwrap_or(&Value::Null));
            builder.chunk(EventKind::Notice, Some("compaction"), &words);
        }
        other => {
            builder.push(EventKind::Unknown, other);
            return false;
        }
    }
    true
}

fn told_at(update: &Value) -> Option<Timestamp> {
    match meta(update, "timestamp")? {
        Value::String(text) => Timestamp::parse(text),
        number => number.as_i64().map(Timestamp),
    }
}

/// The entries of a plan, one a line.
pub fn plan_text(update: &Value) -> String {
    let entry = |entry: &Value| {
        let status = text(entry, "status").unwrap_or_default().replace('_', " ");
        format!("- {} ({status})", text(entry, "content").unwrap_or_default())
    };
    list(update, "entries").iter().map(entry).collect::<Vec<_>>().join("\n")
}

/// A content block as text; what is none is named.
pub fn block_text(block: &Value) -> String {
    let field = |key: &str| text(block, key);
    match field("type") {
        Some("text") | None => field("text").unwrap_or_default().to_owned(),
        Some("resource_link") => field("uri").or_else(|| field("name")).unwrap_or("link").to_owned(),
        Some("resource") => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            let inner = |key: &str| text(resource, key);
            inner("text").or_else(|| inner("uri")).unwrap_or("resource").to_owned()
        }
        Some(kind) => format!("[{}]", field("mimeType").unwrap_or(kind)),
    }
}

/// The content blocks of a prompt as text.
pub fn blocks_text(blocks: &[Value]) -> String {
    blocks.iter().map(block_text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A tool call, or a change of one; either may come first.
pub fn tool_call(builder: &mut Builder, update: &Value) {
    let Some(id) = text(update, "toolCallId").map(marker_text) else { return };
    let event = match builder.calls.get(&id) {
        Some(call) => {
            let event = call.event;
            builder.join(event);
            event
        }
        None => announce(builder, &id, update),
    };
    if let Some(questions) = meta(update, "questions")
        && let Some(call) = builder.calls.get_mut(&id)
    {
        call.questions = questions.clone();
        call.is_question = true;
    }
    describe(builder, event, update);
    answers_on_call(builder, &id, update);
    conclude(builder, &id, event, update);
    subagent(builder, update);
}

fn announce(builder: &mut Builder, id: &str, update: &Value) -> usize {
    let event = builder.push(EventKind::Tool, text(update, "title").unwrap_or_default());
    let is_question = meta(update, "eventType").and_then(Value::as_str) == Some("ask_user_question");
    let tool = Tool { name: String::new(), call_id: Some(id.to_owned()), state: ToolState::Pending, result: None };
    if let Some(event) = builder.event(event) {
        event.tool = Some(Box::new(tool));
        event.text_bytes = 0;
    }
    let call = Call {
        event,
        record: builder.record,
        moment: builder.moment,
        questions: Value::Null,
        is_question,
        was_asked: false,
    };
    builder.calls.insert(id.to_owned(), call);
    event
}

fn describe(builder: &mut Builder, index: usize, update: &Value) {
    let own = meta(update, "inferenceToolName").and_then(Value::as_str);
    let name = own.or_else(|| text(update, "kind")).map(marker_text);
    let title = text(update, "title").filter(|title| !title.is_empty());
    let grown = ["rawInput", "rawOutput", "content"].iter().filter_map(|key| update.get(*key));
    let grown = grown.fold(0_u32, |sum, value| sum.saturating_add(size(value)));
    let has_output = !list(update, "content").is_empty() || update.get("rawOutput").is_some_and(|raw| !raw.is_null());
    let place = Place { file: 0, record: builder.record, block: 0 };
    let Some(event) = builder.event(index) else { return };
    if let Some(title) = title {
        event.label = line(title);
    }
    event.text_bytes = event.text_bytes.saturating_add(grown);
    let Some(tool) = event.tool.as_deref_mut() else { return };
    if let Some(name) = name.filter(|_| own.is_some() || tool.name.is_empty() || tool.name == "other") {
        tool.name = name;
    }
    if has_output {
        tool.result = Some(place);
    }
}

/// Bytes of text in a value, nearly.
fn size(value: &Value) -> u32 {
    match value {
        Value::String(text) => bytes(text),
        Value::Array(items) => items.iter().fold(0, |sum: u32, item| sum.saturating_add(size(item))),
        Value::Object(fields) => fields.values().fold(0, |sum: u32, item| sum.saturating_add(size(item))),
        _ => 4,
    }
}

/// What an update says about how a call ended.
fn conclude(builder: &mut Builder, id: &str, index: usize, update: &Value) {
    let status = text(update, "status");
    if !matches!(status, Some("completed" | "failed")) {
        return;
    }
    let moment = builder.moment;
    let lasted = builder.calls.get(id).and_then(|call| moment.since(call.moment));
    let is_true = |key: &str| meta(update, key).and_then(Value::as_bool) == Some(true);
    let raw_output = update.get("rawOutput").unwrap_or(&Value::Null);
    let rejected = is_true("rejected") || matches!(text(raw_output, "code"), Some("rejected" | "denied"));
    let approved = builder.events.iter().rev().take(64).any(|event| {
        matches!(event.marker.as_deref(), Some(Marker { fact: Fact::Approval { tool_call_id: Some(own), .. }, .. }) if own == id)
    });
    let Some(event) = builder.event(index) else { return };
    event.duration_ms = lasted;
    let Some(tool) = event.tool.as_deref_mut() else { return };
    let name = tool.name.clone();
    match status {
        Some("completed") if tool.state != ToolState::Denied => tool.state = ToolState::Done,
        Some("failed") if rejected || tool.state == ToolState::Denied => tool.state = ToolState::Denied,
        Some("failed") => {
            tool.state = ToolState::Failed;
            if !is_true("canceled") {
                let said = output_text(update);
                let message = marker_text(said.trim().lines().next().unwrap_or("failed"));
                let fact = Fact::Failure { code: None, message };
                event.marker = Some(Box::new(Marker::recorded(fact, moment.at)));
            }
        }
        _ => {}
    }
    if rejected && !approved {
        let fact = Fact::Approval {
            tool: name,
            tool_call_id: Some(id.to_owned()),
            decision: Decision::Denied,
            by: None,
            reason: None,
            waited_ms: None,
            asked: crate::model::Asked::default(),
        };
        let approval = builder.mark(EventKind::Approval, "rejected", fact);
        if let Some(event) = builder.event(approval) {
            event.folded = true;
        }
    }
}

/// The result of a call as its update has it.
pub fn output_text(update: &Value) -> String {
    let parts: Vec<String> = list(update, "content").iter().map(content_text).filter(|text| !text.is_empty()).collect();
    if !parts.is_empty() {
        return parts.join("\n");
    }
    match update.get("rawOutput") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(raw) => {
            let known = ["output", "content", "message", "stdout"].iter().find_map(|key| text(raw, key));
            known.map_or_else(|| raw.to_string(), str::to_owned)
        }
    }
}

fn content_text(content: &Value) -> String {
    match text(content, "type") {
        Some("diff") => diff(content),
        Some("terminal") => format!("terminal {}", text(content, "terminalId").unwrap_or_default()),
        _ => block_text(content.get("content").unwrap_or(content)),
    }
}

/// A change of a file as its old and its new lines.
fn diff(content: &Value) -> String {
    let mut shown = text(content, "path").unwrap_or_default().to_owned();
    for (key, sign) in [("oldText", '-'), ("newText", '+')] {
        for changed in text(content, key).unwrap_or_default().lines() {
            shown.push('\n');
            shown.push(sign);
            shown.push_str(changed);
        }
    }
    shown
}

fn plan(builder: &mut Builder, update: &Value) {
    let entries = list(update, "entries");
    let done = entries.iter().filter(|entry| text(entry, "status") == Some("completed")).count();
    builder.push(EventKind::Notice, &format!("plan: {done} of {} done", entries.len()));
}

/// The model among the options of a session.
pub fn model_of(options: &Value) -> Option<&str> {
    let config = list(options, "configOptions")
        .iter()
        .find(|option| text(option, "category") == Some("model") || text(option, "id") == Some("model"));
    let models = options.get("models");
    config.and_then(|option| text(option, "currentValue")).or_else(|| text(models?, "currentModelId"))
}

/// A change of options. A model that changes inside a turn, and not because the client asked for it, is a fallback.
fn options(builder: &mut Builder, update: &Value) {
    let Some(model) = model_of(update).map(marker_text) else { return };
    let before = builder.model.replace(model.clone());
    let Some(before) = before.filter(|before| *before != model) else { return };
    let was_asked = builder.asked_model.take().as_deref() == Some(model.as_str());
    if was_asked || builder.running.is_empty() {
        builder.push(EventKind::Notice, &format!("model: {model}"));
        return;
    }
    let words = format!("{before} → {model}");
    let fact = Fact::Fallback { from: Some(before), to: Some(model), trigger: None, reset_at: None, message: None };
    let event = builder.push(EventKind::Fallback, &words);
    let marker = Marker::inferred(fact, builder.moment.at);
    if let Some(event) = builder.event(event) {
        event.marker = Some(Box::new(marker));
    }
}

/// A step of a compaction; the one that ends it is marked.
pub fn compaction(builder: &mut Builder, told: &Value) {
    let status = text(told, "status").unwrap_or_default();
    if status == "completed" {
        let fact = Fact::Compaction { trigger: None, tokens_before: None, tokens_after: None };
        builder.mark(EventKind::Compaction, text(told, "summary").unwrap_or("context compacted"), fact);
    } else {
        builder.push(EventKind::Notice, &format!("compaction {status}"));
    }
}

fn subagent(builder: &mut Builder, update: &Value) {
    for (key, status) in
        [("subagent_started", SubagentStatus::Started), ("subagent_completed", SubagentStatus::Finished)]
    {
        let Some(told) = meta(update, key) else { continue };
        let field = |keys: [&str; 3]| keys.iter().find_map(|key| text(told, key)).map(marker_text);
        let id = field(["agentId", "agent_id", "id"]).or_else(|| text(update, "toolCallId").map(marker_text));
        let fact = Fact::Subagent { id: id.unwrap_or_default(), name: field(["title", "name", "profile"]), status };
        builder.mark(EventKind::Subagent, key, fact);
    }
}
