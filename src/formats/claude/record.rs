//! The envelope of a Claude Code record, read leniently and without copying long texts.
//!
//! Every field may be missing or of another type: the format has no published schema and no version. Long values stay
//! raw JSON; only their starts are ever decoded while a file is being indexed.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::skimmed::LookedInto;
use crate::formats::lenient::{Count, Flag, Float, Object, Text};
use crate::formats::skim::Raw;

/// What any record may hold, of all kinds together.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Envelope<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub uuid: Text<'a>,
    #[serde(borrow)]
    pub parent_uuid: Link<'a>,
    #[serde(borrow)]
    pub logical_parent_uuid: Text<'a>,
    #[serde(borrow)]
    pub session_id: Text<'a>,
    #[serde(borrow, rename = "session_id")]
    pub session_id_snake: Text<'a>,
    #[serde(borrow)]
    pub timestamp: Text<'a>,
    #[serde(borrow)]
    pub cwd: Text<'a>,
    #[serde(borrow)]
    pub version: Text<'a>,
    #[serde(borrow)]
    pub agent_id: Text<'a>,
    pub is_sidechain: Flag,
    pub is_meta: Flag,
    pub is_compact_summary: Flag,
    #[serde(borrow)]
    pub forked_from: Object<ForkedFrom<'a>>,
    #[serde(borrow)]
    pub origin: Object<Origin<'a>>,
    #[serde(borrow)]
    pub message: Object<Message<'a>>,

    // Results of tool calls.
    #[serde(borrow)]
    pub tool_use_result: Option<Raw<'a>>,
    /// What is wanted of it, where that was seen on the way.
    #[serde(skip)]
    pub looked_into: Option<LookedInto>,
    #[serde(borrow)]
    pub permission_decision: Object<PermissionDecision<'a>>,
    #[serde(borrow)]
    pub tool_denial_kind: Text<'a>,
    #[serde(borrow)]
    pub user_feedback: Text<'a>,

    // Answers that failed, were cut off or taken back.
    pub is_aborted_mid_stream: Flag,
    pub is_api_error_message: Flag,
    pub interrupted_by_shutdown: Flag,
    #[serde(borrow)]
    pub api_error_status: Option<Raw<'a>>,
    #[serde(borrow)]
    pub api_error_type: Text<'a>,
    #[serde(borrow)]
    pub error: Option<Raw<'a>>,
    #[serde(borrow)]
    pub supersedes_uuids: Option<Raw<'a>>,
    #[serde(borrow)]
    pub retracted_message_uuids: Option<Raw<'a>>,

    // System records.
    #[serde(borrow)]
    pub subtype: Text<'a>,
    #[serde(borrow)]
    pub content: Option<Raw<'a>>,
    pub retry_attempt: Count,
    pub max_retries: Count,
    #[serde(borrow)]
    pub trigger: Text<'a>,
    #[serde(borrow)]
    pub original_model: Text<'a>,
    #[serde(borrow)]
    pub fallback_model: Text<'a>,
    #[serde(borrow)]
    pub api_refusal_category: Text<'a>,
    #[serde(borrow)]
    pub api_refusal_explanation: Text<'a>,
    #[serde(borrow)]
    pub compact_metadata: Object<CompactMetadata<'a>>,

    #[serde(borrow)]
    pub attachment: Object<Attachment<'a>>,

    // Records outside the chain.
    #[serde(borrow)]
    pub summary: Text<'a>,
    #[serde(borrow)]
    pub ai_title: Text<'a>,
    #[serde(borrow)]
    pub custom_title: Text<'a>,
    #[serde(borrow)]
    pub permission_mode: Text<'a>,
    #[serde(borrow)]
    pub leaf_uuid: Text<'a>,
    #[serde(borrow)]
    pub message_id: Text<'a>,
    #[serde(rename = "totalCostUSD")]
    pub total_cost_usd: Float,
}

/// `parentUuid`: a key that is missing says something else than one that is null.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Link<'a> {
    #[default]
    Absent,
    Null,
    To(Cow<'a, str>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Link<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text::<'de>::deserialize(deserializer)?;
        Ok(text.0.map_or(Self::Null, Link::To))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ForkedFrom<'a> {
    #[serde(borrow)]
    pub session_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Origin<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
    #[serde(borrow)]
    pub content: Content<'a>,
    pub usage: Object<Tokens>,
}

/// The counters of one response. They are repeated on every record of the response and may grow.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    pub input_tokens: Count,
    pub output_tokens: Count,
    pub cache_read_input_tokens: Count,
    pub cache_creation_input_tokens: Count,
    pub cache_creation: Object<CacheCreation>,
    pub output_tokens_details: Object<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CacheCreation {
    pub ephemeral_5m_input_tokens: Count,
    pub ephemeral_1h_input_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    pub thinking_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PermissionDecision<'a> {
    #[serde(borrow)]
    pub decision: Text<'a>,
    #[serde(borrow)]
    pub source: Text<'a>,
    #[serde(borrow)]
    pub reason_type: Text<'a>,
    #[serde(borrow)]
    pub reason_code: Text<'a>,
    #[serde(borrow)]
    pub rule_source: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CompactMetadata<'a> {
    #[serde(borrow)]
    pub trigger: Text<'a>,
    pub pre_tokens: Count,
    pub post_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub prompt: Content<'a>,
    #[serde(borrow)]
    pub origin: Object<Origin<'a>>,
    pub is_meta: Flag,
    #[serde(borrow)]
    pub filename: Text<'a>,
    #[serde(borrow)]
    pub identity: Object<Identity<'a>>,
    #[serde(borrow)]
    pub hook_name: Text<'a>,
    #[serde(borrow)]
    pub stderr: Text<'a>,
    #[serde(borrow)]
    pub blocking_error: Object<BlockingError<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Identity<'a> {
    #[serde(borrow)]
    pub model_id: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BlockingError<'a> {
    #[serde(borrow)]
    pub blocking_error: Text<'a>,
}

/// What a message says: one string, or content blocks.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

/// One content block, of all kinds together. A bare string in a list of blocks counts as a text block.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub text: Option<Raw<'a>>,
    #[serde(borrow)]
    pub thinking: Option<Raw<'a>>,
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub input: Option<Raw<'a>>,
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    #[serde(borrow)]
    pub content: Option<Raw<'a>>,
    pub is_error: Flag,
    #[serde(borrow)]
    pub from: Object<ModelName<'a>>,
    #[serde(borrow)]
    pub to: Object<ModelName<'a>>,
    /// Texts in the parts of its content, where those were seen on the way.
    #[serde(skip)]
    pub texts: Option<Vec<Raw<'a>>>,
    #[serde(skip)]
    pub bare: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelName<'a> {
    #[serde(borrow)]
    pub model: Text<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string or content blocks")
    }
    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Borrowed(value)))
    }
    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Owned(value.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(Element(block)) = sequence.next_element()? {
            blocks.push(block);
        }
        Ok(Content::Blocks(blocks))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Content::None)
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Content::None)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Content::None)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Content::None)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Content::None)
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::None)
    }
}

/// An element of a list of blocks, whatever it is.
struct Element<'a>(Block<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Element<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ElementVisitor).map(Element)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = Block<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a content block")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Block::deserialize(MapAccessDeserializer::new(map))
    }
    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(bare(Cow::Borrowed(value)))
    }
    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(bare(Cow::Owned(value.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Block::default())
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Block::default())
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Block::default())
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Block::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Block::default())
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Block::default())
    }
}

pub(super) fn bare(text: Cow<'_, str>) -> Block<'_> {
    Block { kind: Text(Some(Cow::Borrowed("text"))), bare: Some(text), ..Block::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_types_and_deep_nesting_are_no_errors() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let text = format!(
            r#"{{"type":"user","uuid":7,"parentUuid":null,"toolUseResult":{deep},"origin":[],"message":{{"content":[{deep},"a",3,{{"type":"text","text":"b","more":{deep}}}]}}}}"#
        );
        let envelope: Envelope = serde_json::from_str(&text).unwrap();
        assert!(envelope.kind.is("user"));
        assert_eq!(envelope.uuid.as_str(), None);
        assert_eq!(envelope.parent_uuid, Link::Null);
        let Content::Blocks(blocks) = envelope.message.0.unwrap().content else { panic!("no blocks") };
        assert_eq!(blocks.len(), 4);
        assert_eq!(blocks[1].bare.as_deref(), Some("a"));
        assert_eq!(blocks[3].text.unwrap().get(), "\"b\"");
    }

    #[test]
    fn a_missing_parent_key_is_not_a_null_one() {
        let parse = |text| serde_json::from_str::<Envelope>(text).unwrap().parent_uuid;
        assert_eq!(parse("{}"), Link::Absent);
        assert_eq!(parse(r#"{"parentUuid":null}"#), Link::Null);
        assert_eq!(parse(r#"{"parentUuid":"x"}"#), Link::To("x".into()));
    }
}
