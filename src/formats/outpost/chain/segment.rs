//! The bodies of a journal's objects: its index, and segments of one entry each.

use serde::Deserialize;
use serde_json::Value;

use crate::formats::lenient::{Count, Text};
use crate::formats::{document, json};
use crate::model::Timestamp;
use crate::store::Span;

use super::super::entry::{Raw, object as read_object};
use super::super::object::Object;

/// An object as another one names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    pub key: String,
    pub revision: String,
}

/// The index: the newest segment, and whether another may follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    pub closed: bool,
    pub head: Option<Reference>,
}

/// A segment without the text of its entry.
#[derive(Clone, Debug)]
pub struct Segment {
    pub revision: String,
    pub previous: Option<Reference>,
    /// It says that there is none before it.
    pub is_first: bool,
    /// Where its entry lies in its file, or its body where there is none.
    pub span: Span,
    /// Why it has no entry that can be read.
    pub unreadable: Option<String>,
    pub seq: Option<u64>,
    pub at: Option<Timestamp>,
    pub bytes: u64,
    /// The entry's bytes; `None` where they are to be read again.
    pub entry: Option<Vec<u8>>,
    pub flaws: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow)]
    revision: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    previous: Raw<'a>,
    #[serde(borrow)]
    event: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Numbered<'a> {
    seq: Count,
    #[serde(borrow)]
    at: Text<'a>,
}

impl Named<'_> {
    fn reference(self) -> Option<Reference> {
        Some(Reference { key: self.key.to_owned_option()?, revision: self.revision.or_empty().to_owned() })
    }
}

/// Reads an index's body; `None` when it is none.
pub fn index(body: &[u8]) -> Option<Index> {
    let value = document::parse(body)?.value;
    let closed = value.get("closed")?.as_bool().unwrap_or(false);
    let head = match value.get("head") {
        None | Some(Value::Null) => None,
        Some(head) => Some(reference(head)?),
    };
    Some(Index { closed, head })
}

fn reference(value: &Value) -> Option<Reference> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Reference { key: text("key")?, revision: text("revision").unwrap_or_default() })
}

impl Segment {
    pub fn read(object: &Object) -> Self {
        let bytes = object.body.len() as u64;
        let span = Span { offset: object.body_at, len: u32::try_from(bytes).unwrap_or(u32::MAX), line: 1 };
        let mut segment = Self {
            revision: object.revision.clone(),
            previous: None,
            is_first: false,
            span,
            unreadable: None,
            seq: None,
            at: None,
            bytes,
            entry: None,
            flaws: object.flaws.clone(),
        };
        let readable = json::readable(&object.body);
        let text = readable.text.as_ref();
        // Raw control characters in a string keep the body from being read; as spaces they keep their places.
        let mended;
        let (source, body) = match serde_json::from_str::<Body>(text) {
            Ok(body) if text.starts_with('{') => (text, Ok(body)),
            _ => {
                mended = text.replace(|character: char| character < ' ', " ");
                (mended.as_str(), serde_json::from_str::<Body>(&mended))
            }
        };
        match body {
            Ok(body) if source.starts_with('{') => {
                segment.is_first = body.previous.is_none();
                segment.previous = read_object::<Named>(body.previous).and_then(Named::reference);
                match body.event {
                    None => segment.unreadable = Some("the segment has no event".to_owned()),
                    Some(event) => {
                        let at = (event.get().as_ptr() as usize).saturating_sub(source.as_ptr() as usize);
                        segment.span = readable.span(span, at, event.get().len());
                        segment.number(event.get());
                        let from = usize::try_from(segment.span.offset - object.body_at).unwrap_or(usize::MAX);
                        let bytes = object.body.get(from..).and_then(|rest| rest.get(..segment.span.len as usize));
                        segment.entry = bytes.map(<[u8]>::to_vec);
                    }
                }
            }
            // What names the segment before stands at the start: it is whole where the event has begun after it.
            other => {
                let reason = other.err().map_or_else(|| "it is no object".to_owned(), |error| error.to_string());
                let value = document::parse(&object.body).map(|document| document.value).unwrap_or_default();
                let previous = value.get("previous").filter(|_| value.get("event").is_some());
                segment.is_first = previous.is_some_and(Value::is_null);
                segment.previous = previous.and_then(reference);
                segment.unreadable = Some(format!("the segment cannot be read: {reason}"));
            }
        }
        segment
    }

    /// A segment whose file could not even be opened.
    pub fn lost(reason: String) -> Self {
        Self {
            revision: String::new(),
            previous: None,
            is_first: false,
            span: Span { offset: 0, len: 0, line: 1 },
            unreadable: Some(reason),
            seq: None,
            at: None,
            bytes: 0,
            entry: None,
            flaws: Vec::new(),
        }
    }

    fn number(&mut self, event: &str) {
        if event.starts_with('{')
            && let Ok(numbered) = serde_json::from_str::<Numbered>(event)
        {
            self.seq = numbered.seq.0;
            self.at = Timestamp::parse(numbered.at.or_empty());
        }
    }
}
