//! The lines of a harness transcript as they are read: lenient, with large values left as raw JSON.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::json;
use crate::formats::lenient::{Count, Flag, Float, List, Object, Text};
use crate::formats::outpost::entry::{Raw, object};

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Session,
    Message,
    /// Its messages take the place of all before it.
    Compaction,
    /// A compaction at the start of a fork: the conversation before it.
    History,
    /// A message of that conversation.
    Inherited,
    ModelSelection,
    Unknown,
    Unreadable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,

    // The header.
    pub version: Count,
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(borrow)]
    pub created_at: Text<'a>,
    #[serde(borrow)]
    pub parent: Text<'a>,
    #[serde(borrow)]
    pub parent_conversation: Text<'a>,
    #[serde(borrow)]
    pub parent_call_id: Text<'a>,

    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub messages: Raw<'a>,

    // A routing decision.
    #[serde(borrow)]
    pub choice: Text<'a>,
    #[serde(borrow)]
    pub reason: Text<'a>,
    pub confidence: Float,
}

/// What user or model said.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
}

/// A part of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub input: Raw<'a>,
    #[serde(borrow)]
    pub call_id: Text<'a>,
    #[serde(borrow)]
    pub content: Raw<'a>,
    pub is_error: Flag,
    #[serde(borrow)]
    pub data: Raw<'a>,
}

/// A message, and its JSON.
pub struct Said<'a> {
    pub raw: &'a RawValue,
    pub is_user: bool,
    pub blocks: Vec<Block<'a>>,
}

impl<'a> Line<'a> {
    pub fn kind(&self) -> Kind {
        match self.kind.or_empty() {
            "session" => Kind::Session,
            "message" => Kind::Message,
            "compaction" => Kind::Compaction,
            "model-selection" => Kind::ModelSelection,
            _ => Kind::Unknown,
        }
    }

    /// The messages of a line: one, or those that a compaction brings. What is no message is left out.
    pub fn said(&self) -> Vec<Said<'a>> {
        match self.kind() {
            Kind::Message => self.message.and_then(said).into_iter().collect(),
            Kind::Compaction => list(self.messages).into_iter().filter_map(said).collect(),
            _ => Vec::new(),
        }
    }

    /// The name of a model: of a header a string, of a selection an object's `name`.
    pub fn model_name(&self) -> Option<String> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Named<'a> {
            #[serde(borrow)]
            name: Text<'a>,
        }
        let raw = self.model?;
        json::string(raw).or_else(|| object::<Named>(Some(raw))?.name.to_owned_option())
    }
}

fn list<'a>(raw: Raw<'a>) -> Vec<&'a RawValue> {
    let items = raw.filter(|raw| raw.get().starts_with('['));
    items.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// Reads a message; `None` where it is none.
pub fn said(raw: &RawValue) -> Option<Said<'_>> {
    let message: Message = object(Some(raw))?;
    let is_user = match message.role.as_str()? {
        "user" => true,
        "assistant" => false,
        _ => return None,
    };
    let blocks = match message.content {
        // A plain text stands for one block of text.
        Some(content) if content.get().starts_with('"') => {
            vec![Block { kind: Text(Some("text".into())), text: Some(content), ..Block::default() }]
        }
        Some(content) if content.get().starts_with('[') => {
            let blocks: List<Object<Block>> = serde_json::from_str(content.get()).unwrap_or_default();
            blocks.0.into_iter().map(|block| block.0.unwrap_or_default()).collect()
        }
        _ => Vec::new(),
    };
    Some(Said { raw, is_user, blocks })
}

impl Said<'_> {
    /// The texts of the message, a blank line between them.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter(|block| block.kind.is("text"));
        texts.filter_map(|block| block.text.and_then(json::string)).collect::<Vec<_>>().join("\n\n")
    }

    /// A user's message with a text is a prompt; others bring the results of calls.
    pub fn is_prompt(&self) -> bool {
        self.is_user && !self.text().trim().is_empty()
    }
}

/// What a call gave back, as text.
pub fn result_text(block: &Block<'_>) -> String {
    block.content.map(|raw| json::string(raw).unwrap_or_else(|| raw.get().to_owned())).unwrap_or_default()
}
