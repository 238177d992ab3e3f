//! The events of a session, in their order.
//!
//! A session may have a million of them. What is needed of all at once (where on the time axis, which marker) is an
//! [`Glance`] each; an [`Event`] is made when it is looked at, and dropped again.

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::{Decision, Event, EventKind, Fact, MarkerKind, Place, Timestamp, ToolState};

/// What is known of an event at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    pub kind: EventKind,
    pub at: Option<Timestamp>,
    pub place: Place,
    pub text_bytes: u32,
    pub folded: bool,
    /// How the tool call ended, where it is one.
    pub tool: Option<ToolState>,
    /// Stands for the id of the tool call that it is, or belongs to: the same number for the same id.
    pub call: Option<u64>,
    pub marker: Option<MarkerKind>,
    /// What was decided, where its marker is an approval.
    pub decision: Option<Decision>,
}

impl Glance {
    /// Whether it carries a marker that an operator would stop at.
    pub fn is_marked(&self) -> bool {
        self.marker.is_some() && self.decision != Some(Decision::Auto)
    }
}

impl From<&Event> for Glance {
    fn from(event: &Event) -> Self {
        let fact = event.marker.as_deref().map(|marker| &marker.fact);
        let (asked_for, decision) = match fact {
            Some(Fact::Approval { tool_call_id, decision, .. }) => (tool_call_id.as_deref(), Some(*decision)),
            _ => (None, None),
        };
        let call = asked_for.or_else(|| event.tool.as_deref()?.call_id.as_deref());
        Self {
            kind: event.kind,
            at: event.at,
            place: event.place,
            text_bytes: event.text_bytes,
            folded: event.folded,
            tool: event.tool.as_deref().map(|tool| tool.state),
            call: call.map(number_of),
            marker: fact.map(Fact::kind),
            decision,
        }
    }
}

/// A number for an id: two ids that differ have the same one about as often as two files have the same checksum.
fn number_of(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id.as_bytes());
    hasher.finish()
}

/// Events that are made from something smaller when they are wanted. The same index gives the same event every time.
pub trait EventSource: Send + Sync {
    fn count(&self) -> usize;

    fn glance(&self, index: usize) -> Option<Glance>;

    fn event(&self, index: usize) -> Option<Event>;
}

/// A session's events: a list, or what they are made from.
#[derive(Clone, Default)]
pub struct Events {
    /// They are made from this; without it, they are in the list.
    source: Option<Arc<dyn EventSource>>,
    list: Vec<Event>,
    all: OnceLock<Vec<Event>>,
}

impl Events {
    pub fn made(source: Arc<dyn EventSource>) -> Self {
        Self { source: Some(source), ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.source.as_ref().map_or(self.list.len(), |source| source.count())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn glance(&self, index: usize) -> Option<Glance> {
        match &self.source {
            Some(source) => source.glance(index),
            None => self.list.get(index).map(Glance::from),
        }
    }

    /// Those of a range that there are.
    pub fn glances(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = Glance> + '_ {
        (range.start..range.end.min(self.len())).filter_map(|index| self.glance(index))
    }

    pub fn get(&self, index: usize) -> Option<Cow<'_, Event>> {
        match &self.source {
            Some(source) => source.event(index).map(Cow::Owned),
            None => self.list.get(index).map(Cow::Borrowed),
        }
    }

    /// Those of a range that there are, each made as the iterator comes to it.
    pub fn range(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = Cow<'_, Event>> {
        (range.start..range.end.min(self.len())).filter_map(|index| self.get(index))
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Cow<'_, Event>> {
        self.range(0..self.len())
    }

    /// Those of a range that carry a marker.
    pub fn marked(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = Cow<'_, Event>> {
        let range = range.start..range.end.min(self.len());
        range.filter_map(|index| self.glance(index)?.marker.and_then(|_| self.get(index)))
    }

    /// All of them side by side. Events that are made are all made now and kept: only for sessions that are small, or
    /// whose format lists them.
    pub fn all(&self) -> &[Event] {
        match &self.source {
            Some(_) => self.all.get_or_init(|| self.iter().map(Cow::into_owned).collect()),
            None => &self.list,
        }
    }

    /// The list to change; events that are made are listed from now on.
    pub fn list_mut(&mut self) -> &mut Vec<Event> {
        if self.source.is_some() {
            *self = Self::from(self.all().to_vec());
        }
        &mut self.list
    }
}

impl From<Vec<Event>> for Events {
    fn from(list: Vec<Event>) -> Self {
        Self { list, ..Self::default() }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}
