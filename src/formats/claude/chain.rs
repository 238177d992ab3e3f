//! The graph of records: the active chain, the records that belong to it without lying on it, the branches that were left.
//!
//! Everything here is arithmetic on parent links; a hostile file may point them anywhere, in circles too.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::index::{Flags, Index, NONE, Record, Role, Symbol, What};
use crate::model::EventKind;

/// Parents of records, as record numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Forest {
    parent: Vec<u32>,
    /// Records whose parent is concluded, with what it is concluded from.
    bridges: HashMap<u32, Bridge>,
}

/// A parent in the place of one that is lost in a record that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bridge {
    pub to: u32,
    /// The record that cannot be read.
    pub lost: u32,
}

/// The bridges over unreadable records, for `records` in the order of their file, which holds those that are `there`:
/// where the parent of a record is not in the file and the line before it is damaged, the record before that line is the
/// nearest that is left of its ancestors.
pub(super) fn bridges(
    index: &Index,
    records: impl Iterator<Item = u32>,
    there: impl Fn(u32) -> bool,
) -> HashMap<u32, Bridge> {
    let mut found = HashMap::new();
    let (mut last, mut lost) = (None, None);
    let session = |record: &Record| index.scene_of(record).map(|scene| scene.session);
    for number in records {
        let Some(record) = index.record(number) else { continue };
        if record.role == Role::Unreadable {
            lost = Some(number);
        }
        if !record.role.can_lead() || record.flags.has(Flags::SIDE) {
            continue;
        }
        let (to, damage) = (last.replace(number), lost.take());
        if let (Some(to), Some(lost)) = (to, damage)
            && link_of(index, number) != NONE
            && !index.find(link_of(index, number)).is_some_and(&there)
            && index.record(to).is_some_and(|before| session(before) == session(record))
        {
            found.insert(number, Bridge { to, lost });
        }
    }
    found
}

/// Takes links out that lead back to where they come from, where they are not simply parents.
///
/// A bridge to a record that comes after its own is none. A compaction's logical parent that comes after it says that
/// there is nothing before it: copies that begin with a compaction name a record that they kept themselves.
fn open_circles(index: &Index, parent: &mut [u32], bridges: &mut HashMap<u32, Bridge>) {
    let is_logical = |number: u32| index.record(number).is_some_and(|record| record.parent == NONE);
    let starts: Vec<u32> = (0..)
        .zip(parent.iter())
        .filter(|(number, parent)| **parent != NONE && (is_logical(*number) || bridges.contains_key(number)))
        .map(|(number, _)| number)
        .collect();
    // Which of the walks came by, so that all of them together pass every record once.
    let mut seen = vec![NONE; parent.len()];
    for start in starts {
        let mut at = start;
        while let Some(walk) = seen.get_mut(at as usize).filter(|walk| **walk == NONE) {
            *walk = start;
            at = parent.get(at as usize).copied().unwrap_or(NONE);
        }
        if seen.get(at as usize) != Some(&start) {
            continue;
        }
        // Back on its own way. What was concluded goes before what is written, and of two compactions the first.
        let circle = || {
            std::iter::successors(Some(at), |record| {
                parent.get(*record as usize).copied().filter(|parent| *parent != at)
            })
        };
        let bridged = circle().filter(|record| bridges.contains_key(record)).min();
        if let Some(first) = bridged.or_else(|| circle().filter(|record| is_logical(*record)).min())
            && let Some(link) = parent.get_mut(first as usize)
        {
            *link = NONE;
            bridges.remove(&first);
        }
    }
}

/// The id that a record names as its parent; over a compaction, where it is null, the logical one.
fn link_of(index: &Index, number: u32) -> Symbol {
    let parent = index.record(number).map_or(NONE, |record| record.parent);
    if parent != NONE { parent } else { index.logical(number) }
}

/// The record that a record names as its parent, whatever was concluded of it.
pub(super) fn parent_in_file(index: &Index, number: u32) -> Option<u32> {
    index.record(number).filter(|record| record.node != NONE).and_then(|_| index.find(link_of(index, number)))
}

impl Forest {
    /// From `parentUuid`, and over a compaction, where it is null, from `logicalParentUuid`.
    pub fn of(index: &Index) -> Self {
        let mut bridges = bridges(index, 0..u32::try_from(index.records.len()).unwrap_or(NONE), |_| true);
        let mut parent: Vec<u32> = (0..)
            .zip(&index.records)
            .map(|(number, _)| match bridges.get(&number) {
                Some(bridge) => bridge.to,
                None => parent_in_file(index, number).unwrap_or(NONE),
            })
            .collect();
        open_circles(index, &mut parent, &mut bridges);
        Self { parent, bridges }
    }

    #[cfg(test)]
    pub fn from_parents(parents: &[Option<u32>]) -> Self {
        Self { parent: parents.iter().map(|parent| parent.unwrap_or(NONE)).collect(), ..Self::default() }
    }

    /// From what the parent of a record is concluded; `None` where the file says it.
    pub fn bridge(&self, record: u32) -> Option<Bridge> {
        self.bridges.get(&record).copied()
    }

    pub fn parent(&self, record: u32) -> Option<u32> {
        self.parent.get(record as usize).copied().filter(|parent| *parent != NONE)
    }

    /// The walk from `leaf` to its root, root first, and whether it ended because it came back on itself.
    pub fn walk(&self, leaf: u32) -> (Vec<u32>, bool) {
        let mut seen = vec![false; self.parent.len()];
        let mut path = Vec::with_capacity(self.parent.len());
        let mut next = Some(leaf);
        let mut circular = false;
        while let Some(record) = next {
            match seen.get_mut(record as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    circular = true;
                    break;
                }
            }
            path.push(record);
            next = self.parent(record);
        }
        path.reverse();
        path.shrink_to_fit();
        (path, circular)
    }

    /// For every record, the first record on its way to the root for which `stop` holds, itself included, and whether
    /// `bar` holds for a record on the way there (the stop itself excepted).
    pub fn climb(&self, stop: impl Fn(u32) -> bool, bar: impl Fn(u32) -> bool) -> Vec<Climb> {
        let mut found = vec![Climb::UNKNOWN; self.parent.len()];
        let mut path: Vec<u32> = Vec::new();
        for start in 0..u32::try_from(self.parent.len()).unwrap_or(NONE) {
            let mut at = start;
            path.clear();
            let mut end = loop {
                if let Some(known) = found.get(at as usize).filter(|climb| **climb != Climb::UNKNOWN) {
                    break *known;
                }
                if stop(at) {
                    break Climb::to(Some(at), false);
                }
                // A mark against circles; overwritten below.
                if let Some(place) = found.get_mut(at as usize) {
                    *place = Climb::to(None, false);
                }
                path.push(at);
                match self.parent(at) {
                    Some(parent) => at = parent,
                    None => break Climb::to(None, false),
                }
            };
            while let Some(record) = path.pop() {
                end = Climb::to(end.end(), end.barred() || bar(record));
                if let Some(place) = found.get_mut(record as usize) {
                    *place = end;
                }
            }
            if let Some(place) = found.get_mut(at as usize)
                && *place == Climb::UNKNOWN
            {
                *place = end;
            }
        }
        found
    }
}

/// Where a climb towards the root ended, and whether a record on the way was one not to be passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Climb(u32);

impl Climb {
    const BARRED: u32 = 1 << 31;
    /// Records have smaller numbers: there are no files with two thousand million of them.
    const NOWHERE: u32 = Self::BARRED - 2;
    const UNKNOWN: Self = Self(NONE);

    pub fn to(end: Option<u32>, barred: bool) -> Self {
        let end = end.unwrap_or(Self::NOWHERE).min(Self::NOWHERE);
        Self(if barred { end | Self::BARRED } else { end })
    }

    pub fn end(self) -> Option<u32> {
        let end = self.0 & !Self::BARRED;
        (end != Self::NOWHERE).then_some(end)
    }

    pub fn barred(self) -> bool {
        self.0 & Self::BARRED != 0
    }
}

/// The last record in file order that can lead the chain. Side records lead only in a file that has no others.
pub(super) fn leaf(index: &Index) -> Option<u32> {
    let last = |side: bool| {
        index
            .records
            .iter()
            .rposition(|record| record.role.can_lead() && record.flags.has(Flags::SIDE) == side)
            .and_then(|at| u32::try_from(at).ok())
    };
    last(false).or_else(|| last(true))
}

/// A chain, and the records that belong to its turns beside it.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    /// Record numbers from the root to the leaf.
    pub chain: Vec<u32>,
    /// Records beside the chain, by the position in it that they come after: the last chain record above them.
    companions: Vec<(u32, u32)>,
    /// The piece with the result of each tool call.
    pub results: HashMap<Symbol, u32, foldhash::fast::RandomState>,
    pub circular: bool,
}

/// A record of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub record: u32,
    /// Position in the chain: its own, or that of the record it is a companion of.
    pub position: u32,
    pub on_chain: bool,
}

impl Walk {
    /// The walk to `leaf`.
    ///
    /// The results of parallel calls are siblings: only one of them can be on the chain, and the answer's records after
    /// the first call may hang beside it too. They belong to the turn unless a person's prompt lies between, which makes
    /// them part of another branch.
    pub fn new(index: &Index, forest: &Forest, leaf: u32) -> Self {
        let (chain, circular) = forest.walk(leaf);
        let mut walk = Self { chain, circular, ..Self::default() };
        let mut position = vec![NONE; index.records.len()];
        for (at, record) in (0..).zip(&walk.chain) {
            if let Some(place) = position.get_mut(*record as usize) {
                *place = at;
            }
        }
        let on_chain = |record: u32| position.get(record as usize).is_some_and(|at| *at != NONE);
        let climbs = forest.climb(on_chain, |record| starts_prompt(index, record));
        // Where each response begins on the chain.
        let mut messages: HashMap<u32, u32, foldhash::fast::RandomState> = HashMap::default();
        for (at, record) in (0..).zip(&walk.chain) {
            if let Some(record) = index.record(*record)
                && record.role == Role::Assistant
                && index.answer(record).message != NONE
            {
                messages.entry(index.answer(record).message).or_insert(at);
            }
        }

        // A side record's companions are side records, a main record's are not.
        let is_side = |number: u32| index.record(number).is_some_and(|record| record.flags.has(Flags::SIDE));
        let side = is_side(leaf);
        let free = |number: u32| {
            !on_chain(number)
                && is_side(number) == side
                && climbs.get(number as usize).is_some_and(|climb| !climb.barred())
        };
        let anchor = |number: u32| {
            let end = climbs.get(number as usize).and_then(|climb| climb.end())?;
            position.get(end as usize).copied()
        };
        let mut companions: Vec<(u32, u32)> = Vec::new();
        for (number, record) in index.numbered().filter(|(_, record)| record.role == Role::Assistant) {
            if let Some(message) = messages.get(&index.answer(record).message)
                && free(number)
            {
                companions.push((anchor(number).unwrap_or(*message).max(*message), number));
            }
        }
        drop(messages);
        for record in &walk.chain {
            add_results(index, *record, &mut walk.results);
        }
        // Calls are asked for only where a result is not on the chain: there are few of those.
        let mut calls: Option<HashMap<Symbol, u32>> = None;
        let calls_of = |companions: &[(u32, u32)]| {
            let on_chain = (0..).zip(&walk.chain).map(|(at, number)| (at, *number));
            let mut calls = HashMap::new();
            for (at, number) in on_chain.chain(companions.iter().copied()) {
                add_calls(index, number, at, &mut calls);
            }
            calls
        };
        let beside = companions.len();
        for (number, record) in index.numbered() {
            if record.role != Role::User || !free(number) || !has_result(index, number) {
                continue;
            }
            let calls = calls.get_or_insert_with(|| calls_of(companions.get(..beside).unwrap_or_default()));
            let call = index.pieces_of(number).find_map(|(_, piece)| match piece.what {
                What::Result { call, .. } if !walk.results.contains_key(&call) => calls.get(&call),
                _ => None,
            });
            if let Some(call) = call {
                companions.push((anchor(number).unwrap_or(*call).max(*call), number));
                add_results(index, number, &mut walk.results);
            }
        }
        // Failed requests leave the chain where the answer that came in the end hangs on what they hang on.
        let failures = forest.climb(on_chain, |record| !is_api_error(index, record));
        for (number, climb) in (0..).zip(&failures).filter(|(_, climb)| !climb.barred()) {
            let position = climb.end().and_then(|end| position.get(end as usize)).filter(|_| free(number));
            companions.extend(position.map(|position| (*position, number)));
        }
        companions.sort_unstable();
        companions.shrink_to_fit();
        walk.companions = companions;
        walk
    }

    /// The walk to `leaf` within `members`, which hold no companions: an agent's records among those of its caller.
    pub fn within(index: &Index, forest: &Forest, leaf: u32, members: &[u32]) -> Self {
        let mut free: HashSet<u32> = members.iter().copied().collect();
        let mut walk = Self::default();
        let mut next = Some(leaf);
        while let Some(record) = next.filter(|record| free.remove(record)) {
            walk.chain.push(record);
            next = forest.parent(record);
        }
        walk.chain.reverse();
        for record in members {
            add_results(index, *record, &mut walk.results);
        }
        walk
    }

    /// All records of the walk: those of the chain, and after each its companions, in file order.
    pub fn stops(&self) -> impl Iterator<Item = Stop> {
        self.stops_in(0..u32::try_from(self.chain.len()).unwrap_or(NONE))
    }

    /// Those at some positions of the chain.
    pub fn stops_in(&self, positions: Range<u32>) -> impl Iterator<Item = Stop> {
        let first = self.companions.partition_point(|(after, _)| *after < positions.start);
        let mut companions = self.companions.get(first..).unwrap_or_default().iter().peekable();
        let mut chain = positions.clone().zip(self.chain.get(positions.start as usize..).unwrap_or_default());
        let mut at = None;
        std::iter::from_fn(move || {
            if let Some(position) = at
                && let Some((_, record)) = companions.next_if(|(after, _)| *after == position)
            {
                return Some(Stop { record: *record, position, on_chain: false });
            }
            let (position, record) = chain.next()?;
            at = Some(position);
            Some(Stop { record: *record, position, on_chain: true })
        })
    }

    /// The records beside the chain.
    pub fn companions(&self) -> impl Iterator<Item = Stop> {
        self.companions.iter().map(|(position, record)| Stop { record: *record, position: *position, on_chain: false })
    }

    /// The record with the result of a tool call.
    pub fn result_record(&self, index: &Index, call: Symbol) -> Option<u32> {
        index.record_of(*self.results.get(&call)?)
    }
}

fn has_result(index: &Index, number: u32) -> bool {
    index.pieces_of(number).any(|(_, piece)| matches!(piece.what, What::Result { .. }))
}

fn add_calls(index: &Index, number: u32, at: u32, calls: &mut HashMap<Symbol, u32>) {
    for (_, piece) in index.pieces_of(number) {
        if let What::Call { id, .. } = piece.what
            && id != NONE
        {
            calls.entry(id).or_insert(at);
        }
    }
}

fn add_results(index: &Index, number: u32, results: &mut HashMap<Symbol, u32, foldhash::fast::RandomState>) {
    for (at, piece) in index.pieces_of(number) {
        if let What::Result { call, .. } = piece.what
            && call != NONE
        {
            results.entry(call).or_insert(at);
        }
    }
}

/// Whether this record tells of a request that failed and was tried again.
pub(super) fn is_api_error(index: &Index, number: u32) -> bool {
    index.record(number).is_some_and(|record| {
        record.role == Role::System
            && index.pieces_of(number).any(|(_, piece)| matches!(piece.what, What::Ready(EventKind::Retry)))
    })
}

/// Whether a person's prompt is in this record, as far as the record alone tells.
fn starts_prompt(index: &Index, number: u32) -> bool {
    index.pieces_of(number).any(|(_, piece)| matches!(piece.what, What::Prompt { .. } | What::Command))
}

/// Whether the slash command at `path[at]` was given to the model: a text for the model or an answer follows before the
/// next prompt. A command that ran in Claude Code itself is followed by what it printed.
pub(super) fn reached_model(index: &Index, path: &[u32], at: usize) -> bool {
    for number in path.get(at + 1..).unwrap_or_default() {
        let Some(record) = index.record(*number) else { continue };
        if record.flags.has(Flags::EXPANSION) || record.role == Role::Assistant {
            return true;
        }
        let ends = |(_, piece): (u32, &super::index::Piece)| {
            matches!(piece.what, What::Prompt { .. } | What::Command | What::LocalOutput)
        };
        if index.pieces_of(*number).any(ends) {
            return false;
        }
    }
    false
}

/// A branch that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub leaf: u32,
    /// Its first record off the chain.
    pub first: u32,
    pub parted_at: Option<u32>,
    pub nodes: usize,
}

/// The branches beside `chain`, in file order of their leaves: those that begin where a person's prompt begins.
/// `begins` is asked with the path from the first record that no accepted branch has to the leaf.
pub(super) fn left_branches(
    forest: &Forest,
    chain: &[u32],
    candidates: &[u32],
    begins: impl Fn(&[u32]) -> bool,
) -> Vec<Left> {
    let size = forest.parent.len();
    let mut on_chain = vec![false; size];
    let mut has_child = vec![false; size];
    let mark = |marks: &mut Vec<bool>, record: u32| {
        if let Some(place) = marks.get_mut(record as usize) {
            *place = true;
        }
    };
    let is = |marks: &[bool], record: u32| marks.get(record as usize).copied().unwrap_or(false);
    for record in chain {
        mark(&mut on_chain, *record);
    }
    for record in candidates {
        if let Some(parent) = forest.parent(*record) {
            mark(&mut has_child, parent);
        }
    }
    let mut covered = on_chain.clone();
    let mut looked_at = vec![false; size];
    let mut origins: HashMap<u32, (Option<u32>, usize)> = HashMap::new();
    let mut found = Vec::new();
    for leaf in candidates.iter().rev().filter(|record| !is(&has_child, **record) && !is(&on_chain, **record)) {
        // Up to what is covered; the first record below it must begin a prompt.
        let mut path = Vec::new();
        let mut at = Some(*leaf);
        while let Some(record) = at.filter(|record| !is(&covered, *record) && !is(&looked_at, *record)) {
            mark(&mut looked_at, record);
            path.push(record);
            at = forest.parent(record);
        }
        path.reverse();
        let Some(first) = path.first().copied() else { continue };
        // What joins a path that was refused leaves the chain where that one does.
        let joins_refused = at.is_some_and(|record| !is(&covered, record));
        if joins_refused || !begins(&path) {
            continue;
        }
        for record in &path {
            mark(&mut covered, *record);
        }
        // What is covered is on the chain, or of a branch that knows where it parted.
        let parent = forest.parent(first);
        let above = parent.and_then(|parent| origins.get(&parent).copied()).unwrap_or((parent, 0));
        let (parted_at, nodes) = (above.0, path.len() + above.1);
        for (at, record) in path.iter().enumerate() {
            origins.insert(*record, (parted_at, above.1 + at + 1));
        }
        found.push(Left { leaf: *leaf, first, parted_at, nodes });
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_by_parents_not_by_order() {
        let forest = Forest::from_parents(&[Some(2), Some(0), None, Some(1)]);
        assert_eq!(forest.walk(3), (vec![2, 0, 1, 3], false));
    }

    #[test]
    fn a_circle_ends_the_walk() {
        let forest = Forest::from_parents(&[Some(2), Some(0), Some(1)]);
        assert_eq!(forest.walk(2), (vec![0, 1, 2], true));
        let own_parent = Forest::from_parents(&[Some(0)]);
        assert_eq!(own_parent.walk(0), (vec![0], true));
    }

    #[test]
    fn climbs_end_at_the_first_stop_and_remember_bars() {
        //  0 ─ 1 ─ 2 (chain)      1 ─ 3 ─ 4       5 has no way to the chain, 6 and 7 go in circles
        let forest = Forest::from_parents(&[None, Some(0), Some(1), Some(1), Some(3), None, Some(7), Some(6)]);
        let climbs = forest.climb(|record| record <= 2, |record| record == 3);
        assert_eq!(climbs[2], Climb::to(Some(2), false));
        assert_eq!(climbs[3], Climb::to(Some(1), true));
        assert_eq!(climbs[4], Climb::to(Some(1), true));
        assert_eq!(climbs[5].end(), None);
        assert_eq!(climbs[6].end(), None);
    }

    #[test]
    fn a_branch_leaves_where_a_prompt_begins() {
        //  0 ─ 1 ─ 2 ─ 3 (left)      1 ─ 4 ─ 5 (chain)      4 ─ 6 (a twin)      2 ─ 7 (a prompt on the left branch)
        let forest = Forest::from_parents(&[None, Some(0), Some(1), Some(2), Some(1), Some(4), Some(4), Some(2)]);
        let prompts = [2, 4, 7];
        let all: Vec<u32> = (0..8).collect();
        let branches = left_branches(&forest, &[0, 1, 4, 5], &all, |path| {
            path.first().is_some_and(|first| prompts.contains(first))
        });
        assert_eq!(
            branches,
            [
                // The later leaf is found first and takes the records that both share: the earlier one is no branch of
                // its own, since what it has alone begins with an answer.
                Left { leaf: 7, first: 2, parted_at: Some(1), nodes: 2 },
            ]
        );
    }
}
