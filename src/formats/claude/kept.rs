//! Which records a cut of the active chain keeps, in which order, and what must be re-linked so that no call is left
//! without its result: the service refuses a conversation with one.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::json;

use super::chain::{Forest, reached_model};
use super::index::{Index, NONE, Piece, Role, Symbol, What};
use super::numbers::Numbers;
use super::session::Assembled;
use crate::formats::keys::Missing;
use crate::formats::progress::Progress;
use crate::store::ReadError;

/// The records of a cut.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Record numbers in the order in which they are to be written.
    pub order: Vec<u32>,
    /// Those of them that are on the chain.
    pub chain: Vec<u32>,
    /// Records whose parent is not kept, with the nearest record above it that is; `NONE` for none.
    pub relinked: HashMap<u32, u32>,
    /// Unreadable records between the kept ones, which nothing hangs on any more.
    pub lost: Vec<u32>,
    /// Calls kept.
    pub calls: Numbers,
    /// Calls without a result that were left out at the end, and in the middle.
    pub trimmed: usize,
    pub dropped: usize,
}

/// The records up to position `end` of the chain.
pub(super) fn up_to(
    index: &Index,
    assembled: &Assembled,
    end: u32,
    progress: &Progress<'_>,
) -> Result<Kept, ReadError> {
    let mut end = with_results(index, assembled, end);
    let mut trimmed = 0;
    let talks =
        |number: &u32| index.record(*number).is_some_and(|record| matches!(record.role, Role::User | Role::Assistant));
    loop {
        // Nothing is read here, but one cut back may lead to the next, many times over.
        progress.tell()?;
        let set = members(index, assembled, end);
        let open = open_calls(index, assembled, &set);
        // At the end the chain is cut back to before the calls.
        let mut cut = end;
        loop {
            let last = (0..=cut).rev().find(|at| assembled.walk.chain.get(*at as usize).is_some_and(talks));
            let Some(last) = last else { break };
            let Some(count) = assembled.walk.chain.get(last as usize).and_then(|number| open.get(number)) else {
                break;
            };
            trimmed += count;
            match last.checked_sub(1) {
                Some(before) => cut = before,
                None => return Ok(Kept { trimmed, ..Kept::default() }),
            }
        }
        if cut == end {
            return Ok(finish(index, assembled, end, set, &open, trimmed));
        }
        end = cut;
    }
}

/// Results of parallel calls may follow the record that a cut ends with; they come with it.
fn with_results(index: &Index, assembled: &Assembled, mut end: u32) -> u32 {
    let set = members(index, assembled, end);
    let calls = calls_of(index, &set);
    while let Some(number) = assembled.walk.chain.get(end as usize + 1).copied()
        && let Some(record) = index.record(number)
    {
        let mut results = results_in(index, number);
        let answers_kept = record.role == Role::User && results.next().is_some_and(|call| calls.contains(&call));
        if !answers_kept || !results.all(|call| calls.contains(&call)) {
            break;
        }
        end += 1;
    }
    end
}

/// Chain records up to `end` and the companions that belong to them.
fn members(index: &Index, assembled: &Assembled, end: u32) -> Numbers {
    let walk = &assembled.walk;
    let mut set: Numbers = walk.chain.iter().take(end as usize + 1).copied().collect();
    let messages: Numbers = set
        .iter()
        .filter_map(|number| index.record(number))
        .map(|record| index.answer(record).message)
        .filter(|message| *message != NONE)
        .collect();
    let companions = || walk.companions().filter(|stop| stop.position <= end);
    for stop in companions() {
        let Some(record) = index.record(stop.record) else { continue };
        if (record.role == Role::Assistant && messages.contains(&index.answer(record).message))
            || record.role == Role::System
        {
            set.insert(stop.record);
        }
    }
    let calls = calls_of(index, &set);
    for stop in companions() {
        let Some(record) = index.record(stop.record) else { continue };
        if record.role == Role::User && results_in(index, stop.record).any(|call| calls.contains(&call)) {
            set.insert(stop.record);
        }
    }
    set
}

fn calls_of(index: &Index, set: &Numbers) -> Numbers {
    set.iter().flat_map(|number| calls_in(index, number)).collect()
}

pub(super) fn calls_in(index: &Index, record: u32) -> impl Iterator<Item = Symbol> {
    index
        .pieces_of(record)
        .filter_map(|(_, piece)| if let What::Call { id, .. } = piece.what { Some(id) } else { None })
}

pub(super) fn results_in(index: &Index, record: u32) -> impl Iterator<Item = Symbol> {
    let call = |piece: &Piece| if let What::Result { call, .. } = piece.what { Some(call) } else { None };
    index.pieces_of(record).filter_map(move |(_, piece)| call(piece))
}

/// Records with calls whose result is not among the kept, and how many such calls each has.
fn open_calls(index: &Index, assembled: &Assembled, set: &Numbers) -> HashMap<u32, usize> {
    let answered = |call: Symbol| {
        call != NONE && assembled.walk.result_record(index, call).is_some_and(|record| set.contains(&record))
    };
    let mut open = HashMap::new();
    for number in set.iter() {
        let count = calls_in(index, number).filter(|call| !answered(*call)).count();
        if count > 0 {
            open.insert(number, count);
        }
    }
    open
}

fn finish(
    index: &Index,
    assembled: &Assembled,
    end: u32,
    mut set: Numbers,
    open: &HashMap<u32, usize>,
    trimmed: usize,
) -> Kept {
    // In the middle a record with an open call goes, and with it the results of the calls that it also held.
    let mut gone: Numbers = Numbers::default();
    for number in open.keys() {
        set.remove(number);
        gone.extend(calls_in(index, *number));
    }
    if !gone.is_empty() {
        set.retain(|number| {
            let mut results = results_in(index, number).peekable();
            results.peek().is_none() || !results.all(|call| gone.contains(&call))
        });
    }
    let last = assembled.walk.chain.get(end as usize).copied();
    let mut kept = Kept { trimmed, dropped: open.values().sum(), ..Kept::default() };
    for stop in assembled.walk.stops_in(0..end.saturating_add(1)).filter(|stop| set.contains(&stop.record)) {
        if stop.on_chain {
            kept.chain.push(stop.record);
        }
        kept.order.push(stop.record);
    }
    // The last record of the file is the one the agent goes on from: companions come before it, unless they hang on it.
    if let Some(last) = last
        && let Some(at) = kept.order.iter().position(|number| *number == last)
    {
        let after: Vec<u32> = kept.order.drain(at + 1..).collect();
        // A question asked beside the chain would become a step if the chain went on over it.
        let asks = |number: &u32| {
            index.pieces_of(*number).any(|(at, piece)| match piece.what {
                What::Call { asks, .. } => asks,
                What::Result { .. } => !index.answers_in(at).is_empty(),
                _ => false,
            })
        };
        let stay = !after.iter().any(asks);
        let (after, before): (Vec<u32>, Vec<u32>) =
            after.into_iter().partition(|number| stay && hangs_on(&assembled.forest, *number, last));
        kept.order.splice(at..at, before);
        kept.order.extend(after);
    }
    let root = assembled.walk.chain.first().copied();
    for number in &kept.order {
        let bridge = assembled.forest.bridge(*number);
        kept.lost.extend(bridge.map(|bridge| bridge.lost));
        // A chain that came back on itself begins here; the fork has no circle.
        if root == Some(*number) && assembled.walk.circular {
            kept.relinked.insert(*number, NONE);
            continue;
        }
        // The damaged line does not come along, and without it nothing would tell that this was no root.
        if let Some(parent) = assembled.forest.parent(*number)
            && (bridge.is_some() || !set.contains(&parent))
        {
            kept.relinked.insert(*number, nearest(&assembled.forest, parent, root, &set));
        }
    }
    kept.calls = calls_of(index, &set);
    kept
}

fn hangs_on(forest: &Forest, record: u32, ancestor: u32) -> bool {
    // Companions are a few steps from the chain; more than that is a circle.
    std::iter::successors(Some(record), |record| forest.parent(*record)).take(10_000).any(|record| record == ancestor)
}

/// The first record of `set` on the way up, which ends with `root`.
fn nearest(forest: &Forest, record: u32, root: Option<u32>, set: &Numbers) -> u32 {
    std::iter::successors(Some(record), |record| forest.parent(*record).filter(|_| root != Some(*record)))
        .take(10_000)
        .find(|record| set.contains(record))
        .unwrap_or(NONE)
}

/// What to write into `record` so that it hangs on `parent`, or on nothing.
pub(super) fn link(index: &Index, number: u32, parent: u32) -> Vec<(&'static str, Cow<'static, str>, Missing)> {
    let has_logical = index.logical(number) != NONE;
    let has_parent = index.record(number).is_some_and(|record| record.parent != NONE);
    let key = if !has_parent && has_logical { "logicalParentUuid" } else { "parentUuid" };
    let mut values = if parent == NONE {
        vec![(key, "null".into(), Missing::Add)]
    } else {
        vec![(key, json!(index.node_id(parent).to_string()).to_string().into(), Missing::Add)]
    };
    // Without a parent the logical one would stand in for it.
    if parent == NONE && has_logical && key == "parentUuid" {
        values.push(("logicalParentUuid", "null".into(), Missing::Leave));
    }
    values
}

/// How many steps are left when `chain` is left of the active chain, and `is_kept` tells of all records.
///
/// A slash command is a step only while something shows that the model ran it.
pub(super) fn steps_among(index: &Index, assembled: &Assembled, chain: &[u32], is_kept: impl Fn(u32) -> bool) -> u32 {
    let is_command = |mark: &super::steps::Mark| {
        let piece = index.piece(mark.piece);
        mark.answer.is_none() && piece.is_some_and(|piece| matches!(piece.what, What::Command))
    };
    let commands: Numbers = assembled.marks.iter().filter(|mark| is_command(mark)).map(|mark| mark.record).collect();
    let positions: HashMap<u32, usize> = chain
        .iter()
        .enumerate()
        .filter(|(_, record)| commands.contains(record))
        .map(|(at, record)| (*record, at))
        .collect();
    let is_step = |mark: &&super::steps::Mark| match mark.answer {
        Some(answer) => assembled.walk.chain.get(answer as usize).is_some_and(|answer| is_kept(*answer)),
        None => !is_command(mark) || positions.get(&mark.record).is_some_and(|at| reached_model(index, chain, *at)),
    };
    let marks = assembled.marks.iter().filter(|mark| is_kept(mark.record));
    u32::try_from(marks.filter(is_step).count()).unwrap_or(u32::MAX)
}
