//! From a record of the chain to the pieces that are kept of it.

use std::borrow::Cow;

use serde::Deserialize;

use super::approval::{self, Facts};
use super::index::{CallMore, Extra, Flags, Index, More, NONE, Notified, Piece, Record, ResultMore, What, prompt_hash};
use super::labels;
use super::prompt::{Notification, Spoken, classify};
use super::question;
use super::record::{Block, Content, Envelope};
use super::skimmed;
use super::system;
use crate::formats::json;
use crate::formats::labels::{line, marker_text};
use crate::formats::lenient::{List, Object, Text};
use crate::formats::skim::Raw;
use crate::model::{EventKind, Fact, Marker, Timestamp, summarise};

/// UTF-16 units that are read of a result: enough for what it says of permission, and of an error.
const RESULT_START: usize = 1200;

/// What the agent writes after a prompt that was never answered, before it takes the next one.
const NO_ANSWER: &str = "No response requested.";

/// Where the pieces of one record go.
pub(super) struct Sink<'a> {
    pub index: &'a mut Index,
    pub record: &'a mut Record,
}

impl Sink<'_> {
    /// Adds a piece; `text` is made into its label.
    pub fn push(&mut self, block: usize, what: What, text: &str, bytes: u32) {
        self.push_more(block, what, line(text), bytes, More::Nothing);
    }

    /// Adds a piece whose label is read from the file when it is wanted.
    fn push_bare(&mut self, block: usize, what: What, bytes: u32) {
        self.push_more(block, what, Box::default(), bytes, More::Nothing);
    }

    fn push_more(&mut self, block: usize, what: What, label: Box<str>, bytes: u32, more: More) {
        let block = u16::try_from(block).unwrap_or(u16::MAX);
        self.index.push_piece(Piece { what, bytes, block }, Extra { label, more });
    }

    /// Adds an event of its own; `text` is made into its label.
    pub fn ready(&mut self, block: usize, kind: EventKind, marker: Option<Marker>, text: &str, bytes: u32) {
        let more = marker.map_or(More::Nothing, |marker| More::Marker(Box::new(marker)));
        self.push_more(block, What::Ready(kind), line(text), bytes, more);
    }

    /// Adds an event of its own that carries a fact from the file.
    pub fn fact(&mut self, kind: EventKind, fact: Fact, text: &str, bytes: u32) {
        self.ready(0, kind, Some(Marker::recorded(fact, self.at())), text, bytes);
    }

    pub fn notice(&mut self, block: usize, text: &str, bytes: u32) {
        self.ready(block, EventKind::Notice, None, text, bytes);
    }

    fn interruption(&mut self, block: usize, text: &str) {
        let fact = Fact::Interruption { message: marker_text(text) };
        self.ready(block, EventKind::Interruption, Some(Marker::recorded(fact, self.at())), text, bytes_of(text));
    }

    fn flag(&mut self, flag: Flags) {
        self.record.flags.set(flag, true);
    }

    fn symbol(&mut self, text: &Text) -> u32 {
        self.name(text.or_empty())
    }

    fn name(&mut self, text: &str) -> u32 {
        if text.is_empty() { NONE } else { self.index.symbols.intern(text) }
    }

    pub fn at(&self) -> Option<Timestamp> {
        self.record.at()
    }
}

pub(super) fn bytes_of(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

/// Takes a user, assistant, system, attachment or progress record apart.
pub(super) fn of_chain_record(envelope: &Envelope, sink: &mut Sink) {
    match envelope.kind.or_empty() {
        "user" => user(envelope, sink),
        "assistant" => assistant(envelope, sink),
        "system" => system::of_system(envelope, sink),
        "attachment" => attachment(envelope, sink),
        // Progress notes repeat what results say later.
        _ => {}
    }
    for (taken_back, verb) in
        [(envelope.supersedes_uuids, "replaced"), (envelope.retracted_message_uuids, "taken back")]
    {
        let count = taken_back.map_or(0, ids_in);
        if count > 0 {
            let messages = if count == 1 { "message was" } else { "messages were" };
            sink.notice(0, &format!("{count} earlier {messages} {verb}"), 0);
        }
    }
}

fn ids_in(raw: Raw<'_>) -> usize {
    serde_json::from_str::<Vec<serde::de::IgnoredAny>>(raw.get()).map_or(0, |ids| ids.len())
}

fn user(envelope: &Envelope, sink: &mut Sink) {
    let Some(message) = envelope.message.0.as_ref() else { return };
    if let Content::Blocks(blocks) = &message.content
        && blocks.iter().any(is_result)
    {
        for (number, block) in blocks.iter().enumerate() {
            if is_result(block) {
                result(envelope, number, block, sink);
            } else if let Some(text) = block_text(block) {
                beside_result(number, &text, sink);
            }
        }
        return;
    }
    let human = !envelope.is_meta.0
        && !envelope.is_compact_summary.0
        && !sink.record.flags.has(Flags::SIDE)
        && envelope.origin.0.as_ref().and_then(|origin| origin.kind.as_str()).is_none_or(|kind| kind == "human");
    if envelope.interrupted_by_shutdown.0 {
        sink.interruption(0, "interrupted by a shutdown");
    }
    spoken(&message.content, human, false, sink);
    if envelope.is_meta.0 {
        mark_expansion(&message.content, sink);
    }
}

/// Text blocks beside a tool result are never a prompt.
fn beside_result(number: usize, text: &str, sink: &mut Sink) {
    match classify(text) {
        Spoken::Interruption(words) => sink.interruption(number, words),
        Spoken::Empty => {}
        _ => sink.notice(number, text, bytes_of(text)),
    }
}

/// Turns the texts of a user record, or of a queued prompt, into one piece.
fn spoken(content: &Content, human: bool, queued: bool, sink: &mut Sink) {
    let (texts, has_image) = texts(content);
    let bytes = texts.iter().fold(0_u32, |sum, text| sum.saturating_add(bytes_of(text)));
    let kinds: Vec<Spoken> = texts.iter().map(|text| classify(text)).collect();
    let person: Vec<&str> =
        kinds.iter().filter_map(|kind| if let Spoken::Person(words) = kind { Some(*words) } else { None }).collect();
    let first = kinds.iter().find(|kind| !matches!(kind, Spoken::Empty));
    if !person.is_empty() || (first.is_none() && has_image) {
        // Sixty characters are wanted; the words may start with a long stretch of white space.
        let words = person.join("\n");
        let summary = if person.is_empty() { "[image]".to_owned() } else { summarise(&words) };
        if human {
            sink.push_more(0, What::Prompt { queued }, summary.into(), bytes_of(&words), More::Nothing);
            pictures(content, sink);
        } else if sink.record.flags.has(Flags::SIDE) && !queued {
            sink.push_more(0, What::Brief, line(&words), bytes, More::Brief(prompt_hash(&words)));
        } else {
            sink.notice(0, &words, bytes);
        }
        return;
    }
    match first {
        None => {}
        Some(Spoken::Command(command)) if human => sink.push(0, What::Command, command, bytes),
        Some(Spoken::Command(command)) => sink.notice(0, command, bytes),
        Some(Spoken::LocalOutput(output)) => {
            // What `/model` printed is all that some files keep of it.
            if output.starts_with("Set model to") {
                sink.flag(Flags::MODEL_REASON);
            }
            sink.push(0, What::LocalOutput, output, bytes);
        }
        Some(Spoken::Notification(notification)) => notified(notification, bytes, sink),
        Some(Spoken::Interruption(words)) => sink.interruption(0, words),
        Some(Spoken::Harness(words) | Spoken::Person(words)) => sink.notice(0, words, bytes),
        Some(Spoken::Empty) => {}
    }
    if let Some(Spoken::Command(command)) = first
        && (command == "/model" || command.starts_with("/model "))
    {
        sink.flag(Flags::MODEL_REASON);
    }
}

fn notified(notification: &Notification, bytes: u32, sink: &mut Sink) {
    let notified = Notified {
        task: sink.name(notification.task),
        call: sink.name(notification.call),
        completed: notification.status == "completed",
        summary: line(notification.summary),
    };
    let label = if notification.summary.is_empty() { notification.status } else { notification.summary };
    sink.push_more(0, What::Notification, line(label), bytes, More::Notified(Box::new(notified)));
}

/// Text for the model after a slash command, which shows that the model ran it. Caveats and reminders show nothing.
fn mark_expansion(content: &Content, sink: &mut Sink) {
    let (texts, _) = texts(content);
    if texts.iter().any(|text| matches!(classify(text), Spoken::Person(_))) {
        sink.flag(Flags::EXPANSION);
    }
}

/// Images and documents that came with a prompt: no text shows them, so each is noted. What there is to be read for it is
/// as long as the record.
fn pictures(content: &Content, sink: &mut Sink) {
    let Content::Blocks(blocks) = content else { return };
    let bytes = envelope_bytes(sink);
    for (number, block) in blocks.iter().enumerate() {
        if is_picture(block) {
            sink.notice(number, &format!("{} in the prompt", block.kind.or_empty()), bytes);
        }
    }
}

fn is_picture(block: &Block) -> bool {
    block.kind.is("image") || block.kind.is("document")
}

/// The texts of a message, and whether it holds an image or a document.
fn texts<'a>(content: &'a Content<'a>) -> (Vec<Cow<'a, str>>, bool) {
    match content {
        Content::None => (Vec::new(), false),
        Content::Text(text) => (vec![Cow::Borrowed(&**text)], false),
        Content::Blocks(blocks) => (blocks.iter().filter_map(block_text).collect(), blocks.iter().any(is_picture)),
    }
}

fn block_text<'a>(block: &'a Block<'a>) -> Option<Cow<'a, str>> {
    if let Some(text) = &block.bare {
        return Some(Cow::Borrowed(text));
    }
    // Some old files have text blocks without a type.
    if !block.kind.is("text") && block.kind.0.is_some() {
        return None;
    }
    json::string(block.text?).map(Cow::Owned)
}

fn is_result(block: &Block) -> bool {
    block.kind.as_str().is_some_and(|kind| kind.ends_with("tool_result"))
}

fn result(envelope: &Envelope, number: usize, block: &Block, sink: &mut Sink) {
    // The text of a plain success says nothing that is wanted here; words of the user or the harness may.
    let is_plain = !block.is_error.0 && envelope.tool_use_result.is_some() && envelope.user_feedback.0.is_none();
    let (start, bytes) = content_start(block, !is_plain);
    let outcome_text = envelope.tool_use_result.and_then(|raw| json::string_start(raw, 400));
    let facts = Facts {
        recorded: envelope.permission_decision.0.as_ref(),
        denial_kind: envelope.tool_denial_kind.as_str(),
        feedback: envelope.user_feedback.as_str(),
        is_error: block.is_error.0,
        text: &start,
        outcome: outcome_text.as_deref(),
    };
    let call = sink.symbol(&block.tool_use_id);
    let looked_into = match (&envelope.looked_into, envelope.tool_use_result) {
        (Some(seen), _) => seen.clone(),
        (None, result) => result.map(skimmed::look_into).unwrap_or_default(),
    };
    let is_error = block.is_error.0;
    let answers = match envelope.tool_use_result {
        Some(raw) if looked_into.has_answers => question::answers(raw),
        None if !is_error => question::answers_in_text(&start),
        _ => Vec::new(),
    };
    let what = What::Result {
        is_error,
        interrupted: looked_into.interrupted,
        call,
        ruling: approval::ruling(&facts).map_or(NONE, |ruling| sink.index.rulings.push(ruling)),
    };
    let agent = looked_into.agent.map_or(NONE, |agent| sink.name(&agent));
    let launched = looked_into.launched;
    let more = if is_error || launched || agent != NONE || !answers.is_empty() {
        let error = is_error.then(|| labels::error_line(&start).into());
        More::Result(Box::new(ResultMore { error, answers, agent, launched }))
    } else {
        More::Nothing
    };
    sink.push_more(number, what, Box::default(), bytes, more);
}

/// The start of a result's text, where it is wanted, and about how long all of it is. A result is a string, or blocks of
/// text and images.
fn content_start(block: &Block, is_wanted: bool) -> (String, u32) {
    let Some(raw) = block.content else { return (String::new(), 0) };
    let start_of = |raw| if is_wanted { json::string_start(raw, RESULT_START) } else { None };
    if raw.get().starts_with('"') {
        return (start_of(raw).unwrap_or_default(), string_bytes(raw));
    }
    let texts = block.texts.as_ref().map_or_else(|| Cow::Owned(texts_in(raw)), Cow::Borrowed);
    let start = texts.iter().find_map(|text| start_of(*text)).unwrap_or_default();
    (start, texts.iter().fold(0, |sum: u32, text| sum.saturating_add(string_bytes(*text))))
}

/// The texts in the parts of a result.
pub(super) fn texts_in(content: Raw<'_>) -> Vec<Raw<'_>> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Part<'a> {
        #[serde(borrow)]
        text: Option<Raw<'a>>,
    }
    let parts = serde_json::from_str::<List<Object<Part>>>(content.get()).unwrap_or_default();
    parts.0.iter().filter_map(|part| part.0.as_ref()?.text).collect()
}

fn assistant(envelope: &Envelope, sink: &mut Sink) {
    let Some(message) = envelope.message.0.as_ref() else { return };
    if envelope.is_api_error_message.0 {
        sink.flag(Flags::API_ERROR);
        return api_error(envelope, &message.content, sink);
    }
    if message.model.is("<synthetic>") && texts(&message.content).0.iter().any(|text| text.trim() == NO_ANSWER) {
        sink.flag(Flags::NO_ANSWER);
        return sink.notice(0, NO_ANSWER, bytes_of(NO_ANSWER));
    }
    match &message.content {
        Content::None => {}
        Content::Text(text) if text.trim().is_empty() => {}
        Content::Text(text) => sink.push_bare(0, What::Text, bytes_of(text)),
        Content::Blocks(blocks) => {
            for (number, block) in blocks.iter().enumerate() {
                assistant_block(envelope, number, block, sink);
            }
        }
    }
    if envelope.is_aborted_mid_stream.0 {
        sink.flag(Flags::ABORTED);
        sink.interruption(0, "the answer was cut off");
    }
}

fn api_error(envelope: &Envelope, content: &Content, sink: &mut Sink) {
    let status = envelope.api_error_status.and_then(|raw| json::string(raw).or_else(|| number_text(raw)));
    let error = envelope.error.and_then(|raw| json::string_start(raw, 200)).filter(|error| error != "unknown");
    let code = status.or_else(|| envelope.api_error_type.to_owned_option()).or(error);
    let (texts, _) = texts(content);
    let message = marker_text(&texts.join("\n"));
    sink.fact(EventKind::Failure, Fact::Failure { code, message: message.clone() }, &message, bytes_of(&message));
}

fn number_text(raw: Raw<'_>) -> Option<String> {
    let text = raw.get();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.to_owned())
}

fn assistant_block(envelope: &Envelope, number: usize, block: &Block, sink: &mut Sink) {
    match block.kind.or_empty() {
        "text" => {
            if let Some(text) = &block.bare {
                sink.push_bare(number, What::Text, bytes_of(text));
            } else if let Some(raw) = block.text.filter(|raw| raw.get().len() > 2) {
                sink.push_bare(number, What::Text, string_bytes(raw));
            }
        }
        "thinking" => {
            // Newer models leave the text empty and only sign it.
            if let Some(raw) = block.thinking.filter(|raw| raw.get().len() > 2) {
                sink.push_bare(number, What::Thinking, string_bytes(raw));
            }
        }
        "redacted_thinking" => sink.push(number, What::Thinking, "redacted", 0),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => call(number, block, sink),
        "fallback" => {
            let name =
                |side: &Object<super::record::ModelName>| side.0.as_ref().and_then(|side| side.model.to_owned_option());
            let (from, to) = (name(&block.from), name(&block.to));
            let label = fallback_label(from.as_deref(), to.as_deref());
            let fact = Fact::Fallback { from, to, trigger: None, reset_at: None, message: None };
            let marker = Marker::recorded(fact, sink.at());
            sink.flag(Flags::MODEL_REASON);
            sink.ready(number, EventKind::Fallback, Some(marker), &label, 0);
        }
        kind if kind.ends_with("tool_result") => result(envelope, number, block, sink),
        "image" | "document" => sink.notice(number, block.kind.or_empty(), 0),
        kind => {
            let words = if kind.is_empty() { "a block without a type".to_owned() } else { format!("block {kind:?}") };
            sink.ready(number, EventKind::Unknown, None, &words, 0);
        }
    }
}

/// `from → to`, as far as they are known.
pub(super) fn fallback_label(from: Option<&str>, to: Option<&str>) -> String {
    format!("{} → {}", from.unwrap_or("?"), to.unwrap_or("?"))
}

/// The arguments of a call that starts an agent.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Task<'a> {
    #[serde(borrow)]
    description: Text<'a>,
    #[serde(borrow)]
    prompt: Text<'a>,
}

fn call(number: usize, block: &Block, sink: &mut Sink) {
    let name = block.name.or_empty();
    let mut more = CallMore::default();
    let mut label = Box::default();
    if let Some(input) = block.input {
        if name == question::TOOL {
            more.questions = question::asked(input);
            label = more.questions.first().map(|asked| line(&asked.question)).unwrap_or_default();
        } else if matches!(name, "Task" | "Agent") {
            let mut spare = String::new();
            let task = json::record::<Object<Task>>(input.get(), &mut spare).ok().and_then(|task| task.0);
            let Task { description, prompt } = task.unwrap_or_default();
            more.prompt_hash = prompt.as_str().map_or(0, prompt_hash);
            more.task = description.as_str().map(line);
        }
    }
    let what = What::Call {
        asks: !more.questions.is_empty(),
        id: sink.symbol(&block.id),
        name: sink.name(if name.is_empty() { "tool" } else { name }),
    };
    let is_plain = more.questions.is_empty() && more.prompt_hash == 0 && more.task.is_none();
    let more = if is_plain { More::Nothing } else { More::Call(Box::new(more)) };
    let bytes = block.input.map_or(0, |input| bytes_of(input.get()));
    sink.push_more(number, what, label, bytes, more);
}

/// About how long a string is: as it stands, without its quotes.
fn string_bytes(raw: Raw<'_>) -> u32 {
    u32::try_from(raw.get().len().saturating_sub(2)).unwrap_or(u32::MAX)
}

fn attachment(envelope: &Envelope, sink: &mut Sink) {
    let Some(attachment) = envelope.attachment.0.as_ref() else { return };
    match attachment.kind.or_empty() {
        "queued_command" => {
            let human = !attachment.is_meta.0
                && !envelope.is_meta.0
                && !sink.record.flags.has(Flags::SIDE)
                && attachment
                    .origin
                    .0
                    .as_ref()
                    .and_then(|origin| origin.kind.as_str())
                    .is_none_or(|kind| kind == "human");
            spoken(&attachment.prompt, human, true, sink);
        }
        "model" => {
            sink.flag(Flags::MODEL_REASON);
            let model = attachment.identity.0.as_ref().map_or("", |identity| identity.model_id.or_empty());
            sink.notice(0, &format!("model: {}", if model.is_empty() { "unknown" } else { model }), 0);
        }
        "plan_mode" => sink.notice(0, "plan mode", 0),
        "plan_mode_exit" => sink.notice(0, "end of plan mode", 0),
        "file" | "edited_text_file" => {
            let name = attachment.filename.or_empty();
            sink.ready(0, EventKind::FileChange, None, name, envelope_bytes(sink));
        }
        kind if kind.starts_with("hook_") && kind.contains("error") => {
            let blocking = attachment.blocking_error.0.as_ref().map_or("", |error| error.blocking_error.or_empty());
            let text = if blocking.is_empty() { attachment.stderr.or_empty() } else { blocking };
            sink.notice(0, &format!("hook {}: {text}", attachment.hook_name.or_empty()), bytes_of(text));
        }
        // Reminders and listings for the model: links of the chain that nobody looks at.
        _ => {}
    }
}

fn envelope_bytes(sink: &Sink) -> u32 {
    sink.record.span.len
}
