//! Which marks lie in which lane, in the order of the session. Made once for a recording; holds indices, draws nothing.

use std::ops::Range;

use crate::model::{Decision, Glance, MarkerKind};

/// A row of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    Approvals,
    Questions,
    Fallbacks,
    Failures,
    Other,
}

impl Lane {
    pub const ALL: [Self; 5] = [Self::Approvals, Self::Questions, Self::Fallbacks, Self::Failures, Self::Other];

    /// The word beside the lane.
    pub fn title(self) -> &'static str {
        match self {
            Self::Approvals => "Approvals",
            Self::Questions => "Questions",
            Self::Fallbacks => "Fallbacks",
            Self::Failures => "Failures",
            Self::Other => "Other",
        }
    }

    /// What the session has none of when the lane is empty.
    pub fn absent(self) -> &'static str {
        match self {
            Self::Approvals => "no approvals",
            Self::Questions => "no questions",
            Self::Fallbacks => "no fallbacks",
            Self::Failures => "no failures",
            Self::Other => "no other marks",
        }
    }

    fn classes(self) -> impl Iterator<Item = Class> {
        Class::ALL.into_iter().filter(move |class| class.lane() == self)
    }
}

/// What marks are told apart and counted by; more than [`MarkerKind`], since who decided an approval matters. In the
/// order in which an operator wants to see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Failure,
    Interruption,
    Denied,
    Blocked,
    Pending,
    Cancelled,
    Granted,
    Auto,
    Question,
    Fallback,
    Quota,
    Retry,
    Commits,
    Steering,
    Compaction,
    Subagent,
}

impl Class {
    pub const ALL: [Self; 16] = [
        Self::Failure,
        Self::Interruption,
        Self::Denied,
        Self::Blocked,
        Self::Pending,
        Self::Cancelled,
        Self::Granted,
        Self::Auto,
        Self::Question,
        Self::Fallback,
        Self::Quota,
        Self::Retry,
        Self::Commits,
        Self::Steering,
        Self::Compaction,
        Self::Subagent,
    ];

    /// The class of a marker; approvals are told apart by what was decided.
    pub fn new(marker: MarkerKind, decision: Option<Decision>) -> Self {
        match (decision, marker) {
            (Some(Decision::Granted), _) | (None, MarkerKind::Approval) => Self::Granted,
            (Some(Decision::Denied), _) | (None, MarkerKind::Denial) => Self::Denied,
            (Some(Decision::Cancelled), _) => Self::Cancelled,
            (Some(Decision::Pending), _) => Self::Pending,
            (Some(Decision::Auto), _) => Self::Auto,
            (Some(Decision::Blocked), _) => Self::Blocked,
            (None, MarkerKind::Question) => Self::Question,
            (None, MarkerKind::Fallback) => Self::Fallback,
            (None, MarkerKind::Retry) => Self::Retry,
            (None, MarkerKind::Failure) => Self::Failure,
            (None, MarkerKind::Quota) => Self::Quota,
            (None, MarkerKind::Interruption) => Self::Interruption,
            (None, MarkerKind::Steering) => Self::Steering,
            (None, MarkerKind::Commits) => Self::Commits,
            (None, MarkerKind::Compaction) => Self::Compaction,
            (None, MarkerKind::Subagent) => Self::Subagent,
        }
    }

    /// The kind of its markers.
    pub fn marker(self) -> MarkerKind {
        match self {
            Self::Failure => MarkerKind::Failure,
            Self::Interruption => MarkerKind::Interruption,
            Self::Denied | Self::Blocked => MarkerKind::Denial,
            Self::Pending | Self::Cancelled | Self::Granted | Self::Auto => MarkerKind::Approval,
            Self::Question => MarkerKind::Question,
            Self::Fallback => MarkerKind::Fallback,
            Self::Quota => MarkerKind::Quota,
            Self::Retry => MarkerKind::Retry,
            Self::Commits => MarkerKind::Commits,
            Self::Steering => MarkerKind::Steering,
            Self::Compaction => MarkerKind::Compaction,
            Self::Subagent => MarkerKind::Subagent,
        }
    }

    pub fn lane(self) -> Lane {
        match self {
            Self::Denied | Self::Blocked | Self::Pending | Self::Cancelled | Self::Granted | Self::Auto => {
                Lane::Approvals
            }
            Self::Question => Lane::Questions,
            Self::Fallback | Self::Quota | Self::Retry => Lane::Fallbacks,
            Self::Failure | Self::Interruption => Lane::Failures,
            Self::Commits | Self::Steering | Self::Compaction | Self::Subagent => Lane::Other,
        }
    }

    /// What it is called, one and many: `1 denied`, `3 fallbacks`.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Failure => ("failure", "failures"),
            Self::Interruption => ("interruption", "interruptions"),
            Self::Denied => ("denied", "denied"),
            Self::Blocked => ("blocked", "blocked"),
            Self::Pending => ("waiting for approval", "waiting for approval"),
            Self::Cancelled => ("cancelled", "cancelled"),
            Self::Granted => ("approved", "approved"),
            Self::Auto => ("auto", "auto"),
            Self::Question => ("question", "questions"),
            Self::Fallback => ("fallback", "fallbacks"),
            Self::Quota => ("quota", "quota"),
            Self::Retry => ("retry", "retries"),
            Self::Commits => ("commits", "commits"),
            Self::Steering => ("steering", "steering"),
            Self::Compaction => ("compaction", "compactions"),
            Self::Subagent => ("subagent", "subagents"),
        }
    }
}

/// The marks of a session: indices into its events, each list in the session's order.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    lanes: [Vec<u32>; Lane::ALL.len()],
    classes: [Vec<u32>; Class::ALL.len()],
}

impl Marks {
    /// Takes the next event.
    pub fn take(&mut self, index: u32, event: &Glance) {
        let Some(marker) = event.marker else { return };
        let class = Class::new(marker, event.decision);
        if let Some(list) = self.classes.get_mut(class as usize) {
            list.push(index);
        }
        if let Some(list) = self.lanes.get_mut(class.lane() as usize) {
            list.push(index);
        }
    }

    /// The kinds of marker at which an operator would stop, in their usual order.
    pub fn stops(&self) -> Vec<MarkerKind> {
        let is_there = |class: &Class| self.classes.get(*class as usize).is_some_and(|list| !list.is_empty());
        let found: Vec<MarkerKind> = Class::ALL
            .into_iter()
            .filter(|class| *class != Class::Auto && is_there(class))
            .map(Class::marker)
            .collect();
        MarkerKind::ALL.into_iter().filter(|kind| found.contains(kind)).collect()
    }

    /// The events marked in a lane.
    pub fn lane(&self, lane: Lane) -> &[u32] {
        self.lanes.get(lane as usize).map_or(&[], Vec::as_slice)
    }

    /// How many marks of a class there are among `events`, and the first of them.
    pub fn count(&self, class: Class, events: Range<usize>) -> (usize, Option<usize>) {
        let list = self.classes.get(class as usize).map_or(&[][..], Vec::as_slice);
        let start = list.partition_point(|event| (*event as usize) < events.start);
        let end = list.partition_point(|event| (*event as usize) < events.end);
        let first = list.get(start).filter(|_| end > start).map(|event| *event as usize);
        (end.saturating_sub(start), first)
    }

    /// What is marked in a lane among `events`, by class: how many, and the first of each.
    pub fn counts(&self, lane: Lane, events: Range<usize>) -> impl Iterator<Item = (Class, usize, usize)> + '_ {
        lane.classes().filter_map(move |class| {
            let (count, first) = self.count(class, events.clone());
            Some((class, count, first?))
        })
    }
}
