//! What an agent asks the user: for permission to run a tool, and questions.

use std::ops::Range;

use serde_json::Value;

use super::builder::Builder;
use super::route::{Request, meta, text};
use super::updates;
use crate::formats::labels::marker_text;
use crate::model::{Asked, Decision, EventKind, Fact, Marker, QuestionState, Timestamp, Tool, ToolState, summarise};

/// Bounds for a hostile stream: no person is asked more.
const MAX_QUESTIONS: usize = 32;
const MAX_OPTIONS: usize = 64;

/// A request that waits for the user.
pub enum Ask {
    Permission(Permission),
    Question(Question),
}

impl Ask {
    /// Its first event.
    pub fn event(&self) -> usize {
        match self {
            Self::Permission(permission) => permission.event,
            Self::Question(question) => question.events.start,
        }
    }
}

pub struct Permission {
    event: usize,
    call_id: Option<String>,
    /// Id, kind and name of each option.
    options: Vec<(String, String, String)>,
}

pub struct Question {
    events: Range<usize>,
    /// The form's field of each question.
    fields: Vec<String>,
    call_id: Option<String>,
    /// The first record that belongs to it.
    first: u32,
}

/// One question with the labels of its options.
struct Posed {
    field: String,
    question: String,
    options: Vec<String>,
}

/// `session/request_permission`.
pub fn permission(builder: &mut Builder, params: &Value) {
    let call = params.get("toolCall").unwrap_or(&Value::Null);
    let call_id = text(call, "toolCallId").map(marker_text);
    // The call may be announced only here.
    updates::tool_call(builder, call);
    let options: Vec<(String, String, String)> = list(params, "options")
        .iter()
        .take(MAX_OPTIONS)
        .map(|option| {
            let field = |key: &str| marker_text(text(option, key).unwrap_or_default());
            (field("optionId"), field("kind"), field("name"))
        })
        .collect();
    let title = text(call, "title").or_else(|| text(call, "kind")).unwrap_or("tool call");
    let names: Vec<&str> =
        options.iter().map(|(id, _, name)| if name.is_empty() { id.as_str() } else { name }).collect();
    let prompt = marker_text(&format!("{title}\n{}", names.join(" · ")));
    let tool = call_id.as_ref().and_then(|id| builder.calls.get(id)).map(|call| call.event);
    let name = tool.and_then(|event| builder.tool(event)).map(|tool| tool.name.clone());
    let fact = Fact::Approval {
        tool: name.unwrap_or_else(|| marker_text(text(call, "kind").unwrap_or(title))),
        tool_call_id: call_id.clone(),
        decision: Decision::Pending,
        by: None,
        reason: None,
        waited_ms: None,
        asked: Asked { prompt: Some(prompt), ..Asked::default() },
    };
    let event = builder.mark(EventKind::Approval, title, fact);
    if let Some(event) = builder.event(event) {
        event.folded = tool.is_some();
    }
    builder.asks.insert(builder.record, Ask::Permission(Permission { event, call_id, options }));
}

/// The user's answer to what waited.
pub fn answer(builder: &mut Builder, request: &Request, outcome: &Result<Value, Value>) {
    let Some(ask) = builder.asks.remove(&request.record) else { return };
    let waited = builder.moment.since(request.moment);
    match ask {
        Ask::Permission(permission) => decide(builder, permission, outcome, waited),
        Ask::Question(question) => reply(builder, question, outcome, waited),
    }
}

fn decide(builder: &mut Builder, permission: Permission, outcome: &Result<Value, Value>, waited: Option<i64>) {
    builder.join(permission.event);
    let chosen = outcome.as_ref().ok().and_then(|result| result.get("outcome"));
    let option = chosen.and_then(|chosen| text(chosen, "optionId"));
    let known = option.and_then(|id| permission.options.iter().find(|(own, _, _)| own == id));
    let kind = known.map(|(_, kind, _)| kind.as_str()).filter(|kind| !kind.is_empty()).or(option);
    let decided = match kind {
        Some(kind) if kind.starts_with("allow") => Decision::Granted,
        Some(kind) if kind.starts_with("reject") || kind.starts_with("deny") => Decision::Denied,
        _ => Decision::Cancelled,
    };
    let name = known.map(|(_, _, name)| name.clone()).or_else(|| option.map(marker_text));
    let failure = outcome.as_ref().err().and_then(|error| text(error, "message")).map(marker_text);
    let at = builder.moment.at;
    settle(builder, permission.event, decided, name.or(failure), waited, at);
    if decided == Decision::Denied {
        let call = permission.call_id.and_then(|id| builder.calls.get(&id)).map(|call| call.event);
        if let Some(tool) = call.and_then(|event| builder.tool(event)) {
            tool.state = ToolState::Denied;
        }
    }
}

fn settle(
    builder: &mut Builder,
    event: usize,
    decided: Decision,
    name: Option<String>,
    waited: Option<i64>,
    at: Option<Timestamp>,
) {
    let marker = builder.event(event).and_then(|event| event.marker.as_deref_mut());
    if let Some(Marker { fact: Fact::Approval { decision, by, reason, waited_ms, .. }, at: decided_at, .. }) = marker {
        *decision = decided;
        *by = (decided != Decision::Cancelled).then(|| "user".to_owned());
        (*reason, *waited_ms) = (name, waited);
        *decided_at = at.or(*decided_at);
    }
}

/// What still waits when a turn is cancelled is called off.
pub fn call_off(builder: &mut Builder) {
    let waiting: Vec<u32> = builder.asks.keys().copied().collect();
    for record in waiting {
        if let Some(Ask::Permission(permission)) = builder.asks.remove(&record) {
            let at = builder.moment.at;
            settle(builder, permission.event, Decision::Cancelled, None, None, at);
        }
    }
}

/// `elicitation/create`.
pub fn question(builder: &mut Builder, params: &Value) {
    let named = text(params, "toolCallId").or_else(|| meta(params, "toolCallId").and_then(Value::as_str));
    // The call that asks is the last one of its kind whose question has not been shown.
    let asking = |builder: &Builder| {
        let calls = builder.calls.iter().filter(|(_, call)| call.is_question && !call.was_asked);
        calls.max_by_key(|(_, call)| call.event).map(|(id, _)| id.clone())
    };
    let call_id = named.map(str::to_owned).or_else(|| asking(builder));
    let posed = posed(params);
    ask(builder, call_id, &posed);
}

fn ask(builder: &mut Builder, call_id: Option<String>, posed: &[Posed]) {
    let record = builder.record;
    let call = call_id.as_ref().and_then(|id| builder.calls.get_mut(id));
    let first = call.map_or(record, |call| {
        call.was_asked = true;
        call.record
    });
    let start = builder.events.len();
    let tool = call_id.clone().map(|id| Tool {
        name: "question".to_owned(),
        call_id: Some(id),
        state: ToolState::Pending,
        result: None,
    });
    for posed in posed {
        let fact = Fact::Question {
            question: marker_text(&posed.question),
            options: posed.options.clone(),
            answers: Vec::new(),
            state: QuestionState::Pending,
        };
        let event = builder.mark(EventKind::Question, &posed.question, fact);
        if let Some(event) = builder.event(event) {
            event.tool = tool.clone().map(Box::new);
        }
    }
    let fields = posed.iter().map(|posed| posed.field.clone()).collect();
    let events = start..builder.events.len();
    builder.asks.insert(record, Ask::Question(Question { events, fields, call_id, first }));
}

/// The questions of a form: one a field. A page to be opened is one question.
fn posed(params: &Value) -> Vec<Posed> {
    let message = text(params, "message").unwrap_or("question");
    let fields = params.get("requestedSchema").and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let mut posed: Vec<Posed> = fields
        .into_iter()
        .flatten()
        .take(MAX_QUESTIONS)
        .map(|(field, schema)| {
            let title = text(schema, "description").or_else(|| text(schema, "title"));
            let question =
                if fields.is_some_and(|fields| fields.len() == 1) { message } else { title.unwrap_or(field) };
            Posed { field: field.clone(), question: question.to_owned(), options: options(schema) }
        })
        .collect();
    if posed.is_empty() {
        posed.push(Posed { field: String::new(), question: message.to_owned(), options: Vec::new() });
    }
    posed
}

fn options(schema: &Value) -> Vec<String> {
    let listed = |schema: &Value| {
        ["oneOf", "anyOf", "enum", "options"].iter().find_map(|key| schema.get(*key)?.as_array().cloned())
    };
    let options = listed(schema).or_else(|| listed(schema.get("items")?)).unwrap_or_default();
    let label = |option: &Value| {
        option
            .as_str()
            .or_else(|| ["title", "label", "const"].iter().find_map(|key| text(option, key)))
            .map(marker_text)
    };
    options.iter().take(MAX_OPTIONS).filter_map(label).collect()
}

fn reply(builder: &mut Builder, question: Question, outcome: &Result<Value, Value>, waited: Option<i64>) {
    let result = outcome.as_ref().unwrap_or(&Value::Null);
    let content = result.get("content").unwrap_or(&Value::Null);
    let is_accepted = text(result, "action") == Some("accept");
    let answers: Vec<Vec<String>> = question.fields.iter().map(|field| words(content.get(field))).collect();
    let state = if is_accepted { QuestionState::Answered } else { QuestionState::Declined };
    settle_questions(builder, &question.events, &answers, state, waited);
    if is_accepted {
        take_as_step(builder, &question, &answers);
    }
}

fn take_as_step(builder: &mut Builder, question: &Question, answers: &[Vec<String>]) {
    let events = builder.events.get(question.events.clone()).unwrap_or_default();
    let pairs = events.iter().zip(answers).map(|(event, answers)| format!("{} -> {}", event.label, answers.join(", ")));
    let summary = summarise(&pairs.collect::<Vec<_>>().join("; "));
    builder.answered(question.events.start, question.first, question.call_id.clone(), summary);
}

fn settle_questions(
    builder: &mut Builder,
    events: &Range<usize>,
    answers: &[Vec<String>],
    became: QuestionState,
    waited: Option<i64>,
) {
    for (index, given) in events.clone().zip(answers) {
        builder.join(index);
        let Some(event) = builder.event(index) else { continue };
        event.duration_ms = waited;
        if let Some(tool) = event.tool.as_deref_mut() {
            tool.state = if became == QuestionState::Answered { ToolState::Done } else { ToolState::Denied };
        }
        if let Some(Marker { fact: Fact::Question { answers, state, .. }, .. }) = event.marker.as_deref_mut() {
            answers.clone_from(given);
            *state = became;
        }
    }
}

/// An answer as words: one, or the chosen ones of several.
fn words(answer: Option<&Value>) -> Vec<String> {
    match answer {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![marker_text(text)],
        Some(Value::Array(items)) => {
            items.iter().take(MAX_OPTIONS).filter_map(Value::as_str).map(marker_text).collect()
        }
        Some(other) => vec![marker_text(&other.to_string())],
    }
}

/// Answers that Devin puts on the tool call itself, where no form asked for them.
pub fn answers_on_call(builder: &mut Builder, call_id: &str, update: &Value) {
    let Some(answers) = meta(update, "answers").and_then(Value::as_array) else { return };
    let Some(call) = builder.calls.get(call_id).filter(|call| !call.was_asked) else { return };
    let posed: Vec<Posed> = call
        .questions
        .as_array()
        .into_iter()
        .flatten()
        .take(MAX_QUESTIONS)
        .map(|asked| Posed {
            field: String::new(),
            question: text(asked, "question").or_else(|| text(asked, "header")).unwrap_or("question").to_owned(),
            options: options(asked),
        })
        .collect();
    if posed.is_empty() {
        return;
    }
    ask(builder, Some(call_id.to_owned()), &posed);
    let Some(Ask::Question(question)) = builder.asks.remove(&builder.record) else { return };
    let given: Vec<Vec<String>> = (0..posed.len())
        .map(|number| {
            let answer = answers
                .iter()
                .find(|answer| answer.get("question_index").and_then(Value::as_u64) == u64::try_from(number).ok());
            words(answer.and_then(|answer| answer.get("selected_options").or_else(|| answer.get("selected"))))
        })
        .collect();
    settle_questions(builder, &question.events, &given, QuestionState::Answered, None);
    take_as_step(builder, &question, &given);
}

pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
