//! The quick way to a record's [`Envelope`]: for the records that are as they should be, which are nearly all.
//!
//! Whatever is unusual — a doubled key, a half surrogate, anything that is no plain JSON — is left to the strict parser by
//! returning `None`; what is returned is what that parser would have read.

use serde::Deserialize;

use super::record::{Block, Content, Envelope, Link, Message, Tokens, bare};
use crate::formats::json;
use crate::formats::lenient::{Count, Flag, Float, Object, Text};
use crate::formats::skim::{Raw, Skim};

/// Reads a record of one line.
pub(super) fn envelope(text: &str) -> Option<Envelope<'_>> {
    let mut skim = Skim::new(text)?;
    let mut envelope = Envelope::default();
    let mut seen = Seen::default();
    skim.fields(|skim, key| field(&mut envelope, &mut seen, key, skim))?;
    skim.is_at_end().then_some(envelope)
}

/// Which of the keys that matter have been seen: a doubled one is not for the quick way.
#[derive(Default)]
struct Seen(u64);

impl Seen {
    fn once(&mut self, number: u32) -> Option<()> {
        let bit = 1_u64 << number;
        let is_new = self.0 & bit == 0;
        self.0 |= bit;
        is_new.then_some(())
    }
}

/// Keys of an envelope, each with its number among those seen and the way its value is taken.
macro_rules! take {
    ($seen:expr, $key:expr, $skim:expr, { $($name:literal => $number:literal $target:expr, $how:ident;)* }) => {
        match $key {
            $($name => { $seen.once($number)?; $target = $how($skim)?; })*
            _ => { $skim.value()?; }
        }
    };
}

fn field<'a>(envelope: &mut Envelope<'a>, seen: &mut Seen, key: &'a str, skim: &mut Skim<'a>) -> Option<()> {
    take!(seen, key, skim, {
        "type" => 0 envelope.kind, text;
        "uuid" => 1 envelope.uuid, text;
        "parentUuid" => 2 envelope.parent_uuid, link;
        "logicalParentUuid" => 3 envelope.logical_parent_uuid, text;
        "sessionId" => 4 envelope.session_id, text;
        "session_id" => 5 envelope.session_id_snake, text;
        "timestamp" => 6 envelope.timestamp, text;
        "cwd" => 7 envelope.cwd, text;
        "version" => 8 envelope.version, text;
        "agentId" => 9 envelope.agent_id, text;
        "isSidechain" => 10 envelope.is_sidechain, flag;
        "isMeta" => 11 envelope.is_meta, flag;
        "isCompactSummary" => 12 envelope.is_compact_summary, flag;
        "forkedFrom" => 13 envelope.forked_from, object;
        "origin" => 14 envelope.origin, object;
        "message" => 15 envelope.message, message;
        "toolUseResult" => 16 (envelope.tool_use_result, envelope.looked_into), result;
        "permissionDecision" => 17 envelope.permission_decision, object;
        "toolDenialKind" => 18 envelope.tool_denial_kind, text;
        "userFeedback" => 19 envelope.user_feedback, text;
        "isAbortedMidStream" => 20 envelope.is_aborted_mid_stream, flag;
        "isApiErrorMessage" => 21 envelope.is_api_error_message, flag;
        "interruptedByShutdown" => 22 envelope.interrupted_by_shutdown, flag;
        "apiErrorStatus" => 23 envelope.api_error_status, raw;
        "apiErrorType" => 24 envelope.api_error_type, text;
        "error" => 25 envelope.error, raw;
        "supersedesUuids" => 26 envelope.supersedes_uuids, raw;
        "retractedMessageUuids" => 27 envelope.retracted_message_uuids, raw;
        "subtype" => 28 envelope.subtype, text;
        "content" => 29 envelope.content, raw;
        "retryAttempt" => 30 envelope.retry_attempt, count;
        "maxRetries" => 31 envelope.max_retries, count;
        "trigger" => 32 envelope.trigger, text;
        "originalModel" => 33 envelope.original_model, text;
        "fallbackModel" => 34 envelope.fallback_model, text;
        "apiRefusalCategory" => 35 envelope.api_refusal_category, text;
        "apiRefusalExplanation" => 36 envelope.api_refusal_explanation, text;
        "compactMetadata" => 37 envelope.compact_metadata, object;
        "attachment" => 38 envelope.attachment, object;
        "summary" => 39 envelope.summary, text;
        "aiTitle" => 40 envelope.ai_title, text;
        "customTitle" => 41 envelope.custom_title, text;
        "permissionMode" => 42 envelope.permission_mode, text;
        "leafUuid" => 43 envelope.leaf_uuid, text;
        "messageId" => 44 envelope.message_id, text;
        "totalCostUSD" => 45 envelope.total_cost_usd, float;
    });
    Some(())
}

fn message<'a>(skim: &mut Skim<'a>) -> Option<Object<Message<'a>>> {
    if skim.peek()? != b'{' {
        skim.value()?;
        return Some(Object(None));
    }
    let mut message = Message::default();
    let mut seen = Seen::default();
    skim.fields(|skim, key| {
        take!(seen, key, skim, {
            "id" => 0 message.id, text;
            "model" => 1 message.model, text;
            "content" => 2 message.content, content;
            "usage" => 3 message.usage, tokens;
        });
        Some(())
    })?;
    Some(Object(Some(message)))
}

fn content<'a>(skim: &mut Skim<'a>) -> Option<Content<'a>> {
    match skim.peek()? {
        b'"' => Some(text(skim)?.0.map_or(Content::None, Content::Text)),
        b'[' => {
            let mut blocks = Vec::new();
            skim.items(|skim| {
                blocks.push(block(skim)?);
                Some(())
            })?;
            Some(Content::Blocks(blocks))
        }
        _ => {
            skim.value()?;
            Some(Content::None)
        }
    }
}

fn block<'a>(skim: &mut Skim<'a>) -> Option<Block<'a>> {
    match skim.peek()? {
        b'{' => {}
        b'"' => return text(skim)?.0.map(bare),
        _ => {
            skim.value()?;
            return Some(Block::default());
        }
    }
    let mut block = Block::default();
    let mut seen = Seen::default();
    skim.fields(|skim, key| {
        take!(seen, key, skim, {
            "type" => 0 block.kind, text;
            "text" => 1 block.text, raw;
            "thinking" => 2 block.thinking, raw;
            "id" => 3 block.id, text;
            "name" => 4 block.name, text;
            "input" => 5 block.input, raw;
            "tool_use_id" => 6 block.tool_use_id, text;
            "content" => 7 (block.content, block.texts), parts;
            "is_error" => 8 block.is_error, flag;
            "from" => 9 block.from, object;
            "to" => 10 block.to, object;
        });
        Some(())
    })?;
    Some(block)
}

fn text<'a>(skim: &mut Skim<'a>) -> Option<Text<'a>> {
    if skim.peek()? != b'"' {
        skim.value()?;
        return Some(Text(None));
    }
    let start = skim.position();
    let (inside, has_escapes) = skim.string()?;
    if !has_escapes {
        return Some(Text(Some(inside.into())));
    }
    // A half surrogate is an error here, and mended by the other way.
    serde_json::from_str::<String>(skim.since(start)?).ok().map(|text| Text(Some(text.into())))
}

fn link<'a>(skim: &mut Skim<'a>) -> Option<Link<'a>> {
    Some(text(skim)?.0.map_or(Link::Null, Link::To))
}

fn flag(skim: &mut Skim<'_>) -> Option<Flag> {
    Some(Flag(skim.value()?.get() == "true"))
}

fn raw<'a>(skim: &mut Skim<'a>) -> Option<Option<Raw<'a>>> {
    let raw = skim.value()?;
    Some((raw.get() != "null").then_some(raw))
}

/// A block's content, and the texts in it where it is a list of parts.
fn parts<'a>(skim: &mut Skim<'a>) -> Option<(Option<Raw<'a>>, Option<Vec<Raw<'a>>>)> {
    if skim.peek()? != b'[' {
        return Some((raw(skim)?, None));
    }
    let start = skim.position();
    let mut texts = Vec::new();
    skim.items(|skim| {
        if skim.peek()? != b'{' {
            skim.value()?;
            return Some(());
        }
        let mut seen = Seen::default();
        let mut text = None;
        skim.fields(|skim, key| {
            take!(seen, key, skim, { "text" => 0 text, raw; });
            Some(())
        })?;
        texts.extend(text);
        Some(())
    })?;
    Some((skim.raw_since(start), Some(texts)))
}

/// What of a `toolUseResult` is needed while indexing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LookedInto {
    pub agent: Option<String>,
    pub interrupted: bool,
    pub launched: bool,
    pub has_answers: bool,
}

pub(super) fn look_into(raw: Raw<'_>) -> LookedInto {
    Skim::new(raw.get()).and_then(|mut skim| look(&mut skim)).unwrap_or_default()
}

/// Takes a value; what is no object says nothing.
fn look(skim: &mut Skim<'_>) -> Option<LookedInto> {
    let mut found = LookedInto::default();
    if skim.peek()? != b'{' {
        skim.value()?;
        return Some(found);
    }
    let (mut agent, mut run) = (None, None);
    skim.fields(|skim, key| {
        let value = skim.value()?;
        match key {
            "answers" => found.has_answers = true,
            "interrupted" => found.interrupted = value.get() == "true",
            "status" => found.launched = value.get() == "\"async_launched\"",
            "agentId" => agent = json::string(value),
            "runId" => run = json::string(value),
            _ => {}
        }
        Some(())
    })?;
    found.agent = agent.or(run);
    Some(found)
}

fn result<'a>(skim: &mut Skim<'a>) -> Option<(Option<Raw<'a>>, Option<LookedInto>)> {
    skim.peek()?;
    let start = skim.position();
    let looked_into = look(skim)?;
    let raw = skim.raw_since(start)?;
    Some(((raw.get() != "null").then_some(raw), Some(looked_into)))
}

/// Nearly all numbers are plain digits.
fn count(skim: &mut Skim<'_>) -> Option<Count> {
    let raw = skim.value()?.get();
    let is_plain = raw.bytes().all(|byte| byte.is_ascii_digit());
    match raw.parse() {
        Ok(number) if is_plain => Some(Count(Some(number))),
        _ => serde_json::from_str(raw).ok(),
    }
}

fn tokens(skim: &mut Skim<'_>) -> Option<Object<Tokens>> {
    if skim.peek()? != b'{' {
        skim.value()?;
        return Some(Object(None));
    }
    let mut tokens = Tokens::default();
    let mut seen = Seen::default();
    skim.fields(|skim, key| {
        take!(seen, key, skim, {
            "input_tokens" => 0 tokens.input_tokens, count;
            "output_tokens" => 1 tokens.output_tokens, count;
            "cache_read_input_tokens" => 2 tokens.cache_read_input_tokens, count;
            "cache_creation_input_tokens" => 3 tokens.cache_creation_input_tokens, count;
            "cache_creation" => 4 tokens.cache_creation, object;
            "output_tokens_details" => 5 tokens.output_tokens_details, object;
        });
        Some(())
    })?;
    Some(Object(Some(tokens)))
}

fn float(skim: &mut Skim<'_>) -> Option<Float> {
    small(skim)
}

fn object<'a, T: Deserialize<'a>>(skim: &mut Skim<'a>) -> Option<Object<T>> {
    small(skim)
}

/// What is small, or rare, the strict parser reads.
fn small<'a, T: Deserialize<'a>>(skim: &mut Skim<'a>) -> Option<T> {
    serde_json::from_str(skim.value()?.get()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::pieces::texts_in;
    use super::*;

    /// Both ways, where the quick one is taken.
    fn agree(text: &str) -> bool {
        let Some(mut quick) = envelope(text) else { return false };
        if let Some(Message { content: Content::Blocks(blocks), .. }) = &mut quick.message.0 {
            for block in blocks {
                let read_again = block.content.filter(|raw| raw.get().starts_with('[')).map(texts_in);
                assert_eq!(block.texts.take(), read_again, "{text}");
            }
        }
        let mut strict: Envelope = serde_json::from_str(text).expect("the strict parser takes it too");
        // Where the quick way sees it on the way.
        if quick.looked_into.is_some() {
            strict.looked_into = Some(strict.tool_use_result.map(look_into).unwrap_or_default());
        }
        assert_eq!(format!("{quick:?}"), format!("{strict:?}"), "{text}");
        true
    }

    #[test]
    fn usual_records_go_the_quick_way() {
        for record in [
            json!({"type": "user", "uuid": "u1", "parentUuid": null, "message": {"role": "user", "content": "say \"hi\"\n"}}),
            json!({"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": {"id": "m1", "model": "x", "content": [
                {"type": "text", "text": "é"}, "bare", 7, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}],
                "usage": {"input_tokens": 1, "output_tokens": 2.0, "cache_creation": {"ephemeral_5m_input_tokens": 3}}}}),
            json!({"type": "user", "toolUseResult": {"stdout": "x", "interrupted": false}, "isMeta": true, "message": 7}),
            json!({"type": 7, "uuid": [], "parentUuid": {}, "totalCostUSD": 1.5, "compactMetadata": {"preTokens": -1}}),
            json!({}),
        ] {
            assert!(agree(&record.to_string()), "{record}");
        }
    }

    #[test]
    fn unusual_records_go_the_other_way() {
        for text in [
            r#"{"type":"user","type":"assistant"}"#,
            r#"{"uuid":"\ud83d"}"#,
            r#"{"type":"user"} x"#,
            "{\"type\":\t\"user\"}",
            r#"{"a":1,}"#,
            r#"["type"]"#,
            "",
        ] {
            assert!(envelope(text).is_none(), "{text}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i32>().prop_map(Into::into),
            any::<f32>().prop_map(|number| json!(number)),
            "[a-zé\"\\\\\n]{0,6}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                proptest::collection::vec((key(), inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn key() -> impl Strategy<Value = String> {
        let known = [
            "type",
            "uuid",
            "parentUuid",
            "message",
            "content",
            "text",
            "usage",
            "input_tokens",
            "id",
            "model",
            "isMeta",
            "toolUseResult",
            "origin",
            "kind",
            "attachment",
            "from",
            "is_error",
            "tool_use_id",
            "timestamp",
            "other",
            "totalCostUSD",
        ];
        proptest::sample::select(known.to_vec()).prop_map(str::to_owned)
    }

    proptest! {
        #[test]
        fn both_ways_read_the_same(fields in proptest::collection::vec((key(), value()), 0..8), cut in 0_usize..200) {
            let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
            let text = format!("{{{}}}", fields.join(","));
            agree(&text);
            let cut = text.floor_char_boundary(cut.min(text.len()));
            agree(&text[..cut]);
            agree(&text[cut..]);
        }
    }
}
