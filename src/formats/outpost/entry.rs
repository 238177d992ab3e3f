//! Journal entries as they are read: borrowed, lenient, with every large value left as raw JSON.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::kind::Kind;
use super::tokens::Tokens;
use crate::formats::json;
use crate::formats::lenient::{Count, Flag, List, Object, Text};
use crate::model::Timestamp;

/// A value of any type, not looked into.
pub type Raw<'a> = Option<&'a RawValue>;

/// One flattened journal entry: the event's own fields with the envelope beside them. A field of another type than
/// its kind gives it is absent here; [`check`](super::check) says so.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Entry<'a> {
    // The envelope.
    #[serde(borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub at: Text<'a>,
    #[serde(borrow)]
    pub source: Text<'a>,
    #[serde(borrow)]
    pub scope: Object<Scope<'a>>,

    // What was said, noted or returned.
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub value: Raw<'a>,
    #[serde(borrow)]
    pub preview: Raw<'a>,
    pub characters: Count,

    // Tools, subagents, operations.
    #[serde(borrow)]
    pub id: Text<'a>,
    #[serde(borrow)]
    pub call_id: Text<'a>,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub input: Raw<'a>,
    pub is_error: Flag,
    #[serde(borrow)]
    pub changes: Raw<'a>,

    // How things went.
    #[serde(borrow)]
    pub status: Text<'a>,
    #[serde(borrow)]
    pub reason: Text<'a>,
    #[serde(borrow)]
    pub mode: Text<'a>,
    #[serde(borrow)]
    pub phase: Text<'a>,
    #[serde(borrow)]
    pub strategy: Text<'a>,
    #[serde(borrow)]
    pub activity: Text<'a>,
    #[serde(borrow)]
    pub action: Text<'a>,
    #[serde(borrow)]
    pub reset_at: Text<'a>,
    #[serde(borrow)]
    pub duration_ms: Raw<'a>,
    pub attempt: Count,
    pub index: Count,
    pub count: Count,
    pub repeats: Count,
    #[serde(borrow)]
    pub names: Raw<'a>,

    // Models, tokens, hand-overs.
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(borrow)]
    pub provider: Text<'a>,
    #[serde(borrow)]
    pub choice: Text<'a>,
    #[serde(borrow)]
    pub request: Raw<'a>,
    #[serde(borrow)]
    pub response: Raw<'a>,
    #[serde(borrow)]
    pub tokens: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
    #[serde(borrow)]
    pub from: Raw<'a>,
    #[serde(borrow)]
    pub to: Raw<'a>,
    #[serde(borrow)]
    pub failure: Text<'a>,
    #[serde(borrow)]
    pub truncated: Raw<'a>,
    #[serde(borrow)]
    pub code: Raw<'a>,

    // The dispatch around the turns.
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub baseline: Raw<'a>,
    #[serde(borrow)]
    pub commits: Raw<'a>,
    #[serde(borrow)]
    pub unavailable: Raw<'a>,
    #[serde(borrow)]
    pub directory: Text<'a>,
    #[serde(borrow)]
    pub event: Raw<'a>,
}

/// The part of an entry's scope that is used.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Scope<'a> {
    #[serde(borrow)]
    pub dispatch_id: Text<'a>,
    #[serde(borrow)]
    pub execution_id: Text<'a>,
    #[serde(borrow)]
    pub task_key: Text<'a>,
}

/// An agent in the list of a fallback agent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Candidate<'a> {
    pub index: Count,
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub model: Text<'a>,
}

/// Why a dispatch failed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Fault<'a> {
    #[serde(borrow)]
    pub code: Text<'a>,
    #[serde(borrow)]
    pub message: Text<'a>,
}

/// A commit and its tree.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Revision<'a> {
    #[serde(borrow)]
    pub commit: Text<'a>,
    #[serde(borrow)]
    pub tree: Text<'a>,
}

/// A recorded commit; its patch stays raw, it may be megabytes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RecordedCommit<'a> {
    #[serde(borrow)]
    pub oid: Text<'a>,
    #[serde(borrow)]
    pub tree: Text<'a>,
    #[serde(borrow)]
    pub message: Text<'a>,
    #[serde(borrow)]
    pub patch: Raw<'a>,
    #[serde(borrow)]
    pub author: Object<Identity<'a>>,
    #[serde(borrow)]
    pub committer: Object<Identity<'a>>,
}

/// Who made a commit, and when.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Identity<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub email: Text<'a>,
    #[serde(borrow)]
    pub date: Text<'a>,
}

/// Something with a name: a model of a route.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
}

impl<'a> Entry<'a> {
    pub fn kind(&self) -> Kind {
        self.kind.as_str().map_or(Kind::Unknown, Kind::of)
    }

    pub fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(self.at.or_empty())
    }

    pub fn reset_time(&self) -> Option<Timestamp> {
        Timestamp::parse(self.reset_at.or_empty())
    }

    /// How long it took, in milliseconds.
    pub fn took_ms(&self) -> Option<f64> {
        self.duration_ms?.get().parse().ok().filter(|ms: &f64| ms.is_finite())
    }

    /// The tokens of a `summary` or a `usage` entry.
    pub fn counted(&self) -> Tokens {
        Tokens::read(self.tokens)
    }

    pub fn candidate(raw: Raw<'a>) -> Candidate<'a> {
        object(raw).unwrap_or_default()
    }

    /// The error of a finished dispatch, when it is an object.
    pub fn fault(&self) -> Option<Fault<'a>> {
        object(self.error)
    }

    pub fn baseline(&self) -> Option<Revision<'a>> {
        object(self.baseline)
    }

    /// The recorded commits, oldest first; `None` when there is no list of them.
    pub fn recorded_commits(&self) -> Option<Vec<RecordedCommit<'a>>> {
        let raw = self.commits.filter(|raw| raw.get().starts_with('['))?;
        let list: List<Object<RecordedCommit<'a>>> = serde_json::from_str(raw.get()).ok()?;
        Some(list.0.into_iter().map(|commit| commit.0.unwrap_or_default()).collect())
    }

    /// Why commits could not be recorded.
    pub fn unavailable(&self) -> Option<String> {
        self.unavailable.and_then(json::string)
    }

    /// The model that a route, a request or a decision names.
    pub fn model_name(&self) -> Option<String> {
        match self.kind() {
            Kind::ModelRoute => object::<Named>(self.model)?.name.to_owned_option(),
            Kind::ModelRequest => object::<Named>(self.request)?.model.to_owned_option(),
            _ => self.model.and_then(json::string),
        }
    }
}

/// Reads a raw object; anything that is no object is `None`.
pub fn object<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    let text = raw?.get();
    if !text.starts_with('{') {
        return None;
    }
    serde_json::from_str(text).ok()
}
