//! The order of a journal's segments: from the head that the index names back to the first.

use std::collections::{HashMap, HashSet};

use super::super::objects::{Objects, is_key};
use super::segment::{Index, Reference, Segment};
use crate::formats::{Observer, OpenError};
use crate::model::{Locator, Problem, ProblemKind};

/// So many segments of a log are looked at; Outpost itself stops at a fifth of it.
const MAX_SEGMENTS: usize = 500_000;
/// Bytes of entries that are kept from the first look at their segments; the others are read again.
const MAX_KEPT_BYTES: usize = 64 * 1024 * 1024;

/// A journal's segments, the oldest first, and what is wrong with their chain.
#[derive(Default)]
pub struct Chain {
    pub links: Vec<(Box<str>, Segment)>,
    pub notices: Vec<Problem>,
    /// Segments that are known to be missing, each with all that only it would have led to.
    pub gaps: usize,
}

/// The segments of a log, not in order yet.
struct Segments<'a> {
    objects: &'a Objects,
    by_key: HashMap<Box<str>, Segment>,
    visited: HashSet<Box<str>>,
    chain: Chain,
    /// Segments that are not the journal's, and the first of them.
    left_out: usize,
    first_left_out: Option<Box<str>>,
}

/// Reads the segments of a log and puts them in order.
pub fn walk(
    objects: &Objects,
    folder: &str,
    index: Option<&Index>,
    observer: &dyn Observer,
) -> Result<Chain, OpenError> {
    let index_key = format!("{folder}/index");
    let mut keys = objects.keys_in(folder);
    keys.retain(|key| *key != index_key);
    let mut chain = Chain::default();
    if keys.len() > MAX_SEGMENTS {
        chain.note(folder, ProblemKind::Structure, format!("only {MAX_SEGMENTS} of {} segments are read", keys.len()));
        keys.truncate(MAX_SEGMENTS);
    }
    let mut by_key = HashMap::with_capacity(keys.len());
    let total = keys.len() as u64;
    let mut kept = 0;
    for (done, key) in (0..).zip(keys) {
        observer.watch().step(done, 2 * total)?;
        let mut segment = read(objects, &key);
        kept += segment.entry.as_ref().map_or(0, Vec::len);
        if kept > MAX_KEPT_BYTES {
            segment.entry = None;
        }
        by_key.insert(key.into(), segment);
    }
    let visited = HashSet::new();
    let mut segments = Segments { objects, by_key, visited, chain, left_out: 0, first_left_out: None };
    segments.arrange(index);
    Ok(segments.chain)
}

fn read(objects: &Objects, key: &str) -> Segment {
    match objects.read(key) {
        Ok(object) => Segment::read(&object),
        Err(error) => Segment::lost(error.to_string()),
    }
}

impl Segments<'_> {
    fn arrange(&mut self, index: Option<&Index>) {
        let head = match index {
            Some(index) => index.head.clone(),
            None => self.only_head(),
        };
        let (main, is_whole) = match head {
            Some(head) => self.follow(head, None),
            // Nothing was committed yet.
            None if index.is_some() => (Vec::new(), true),
            None => return self.by_number(),
        };
        let strays = self.strays();
        let mut older = Vec::new();
        for (run, rests_on) in strays {
            // A segment that follows one of the chain was never committed, or lost a race.
            let is_beside = is_whole || rests_on.is_some_and(|key| self.visited.contains(key.as_str()));
            if is_beside {
                self.leave_out(&run);
            } else {
                older.push(run);
            }
        }
        older.sort_by_key(|run| run.first().map(|key| self.place(key)));
        let runs: Vec<Vec<Box<str>>> = older.into_iter().chain([main]).filter(|run| !run.is_empty()).collect();
        self.take(runs);
    }

    /// The one segment that no other names as the one before it.
    fn only_head(&self) -> Option<Reference> {
        let named: HashSet<&str> =
            self.by_key.values().filter_map(|segment| Some(segment.previous.as_ref()?.key.as_str())).collect();
        let mut heads = self.by_key.iter().filter(|(key, _)| !named.contains(key.as_ref()));
        let (key, segment) = heads.next()?;
        let head = Reference { key: key.to_string(), revision: segment.revision.clone() };
        heads.next().is_none().then_some(head)
    }

    /// Without a head that is sure, the numbers of the events have to do.
    fn by_number(&mut self) {
        let mut keys: Vec<Box<str>> = self.by_key.keys().cloned().collect();
        if keys.is_empty() {
            return;
        }
        keys.sort_by_key(|key| self.place(key));
        let message = "several segments may be the newest: they are in the order of their events' numbers";
        let key = keys.first().cloned().unwrap_or_default();
        self.chain.note(&key, ProblemKind::Structure, message.to_owned());
        self.take(vec![keys]);
    }

    fn place(&self, key: &str) -> (Option<u64>, Option<i64>, Box<str>) {
        let segment = self.by_key.get(key);
        let seq = segment.and_then(|segment| segment.seq);
        (seq, segment.and_then(|segment| segment.at).map(|at| at.0), key.into())
    }

    /// The keys from `head` back to the first, the oldest first, and whether the first was reached. With `among`, only
    /// segments of that set are followed.
    fn follow(&mut self, head: Reference, among: Option<&HashSet<Box<str>>>) -> (Vec<Box<str>>, bool) {
        let mut run: Vec<Box<str>> = Vec::new();
        let mut next = Some(head);
        let mut is_whole = true;
        while let Some(reference) = next.take() {
            let key: Box<str> = reference.key.as_str().into();
            if let Some(among) = among
                && !among.contains(&key)
            {
                break;
            }
            if !self.is_there(&key) {
                is_whole = false;
                self.missing(&reference.key, run.last().map(AsRef::as_ref));
                break;
            }
            if !self.visited.insert(key.clone()) {
                is_whole = false;
                let message = "the chain comes back to this segment: Outpost refuses that".to_owned();
                self.chain.note(&key, ProblemKind::Refused, message);
                break;
            }
            let Some(segment) = self.by_key.get_mut(&key) else { break };
            if !reference.revision.is_empty() && !segment.revision.is_empty() && reference.revision != segment.revision
            {
                segment.flaws.push(format!(
                    "its revision is {}, the object that names it says {}: one of them is not what was written",
                    segment.revision, reference.revision
                ));
            }
            next = segment.previous.clone();
            is_whole &= segment.is_first || next.is_some();
            run.push(key);
        }
        run.reverse();
        (run, is_whole)
    }

    /// Whether there is such a segment; one of another folder is read now.
    fn is_there(&mut self, key: &str) -> bool {
        if !self.by_key.contains_key(key)
            && self.by_key.len() < MAX_SEGMENTS
            && is_key(key)
            && key.starts_with("logs/")
            && let Ok(object) = self.objects.read(key)
        {
            self.by_key.insert(key.into(), Segment::read(&object));
        }
        self.by_key.contains_key(key)
    }

    fn missing(&mut self, key: &str, after: Option<&str>) {
        self.chain.gaps += 1;
        let shown: String = key.chars().take(600).collect();
        let before = after.and_then(|key| self.by_key.get(key)).and_then(|segment| segment.seq);
        let message = match before.and_then(|seq| seq.checked_sub(1)) {
            Some(at_most) if is_key(key) => format!(
                "this segment is missing, and with it what only it leads to: at least 1 segment, at most {at_most} by the numbers of the events"
            ),
            _ if is_key(key) => "this segment is missing, and with it what only it leads to".to_owned(),
            _ => "this is no key of an object: it is not followed".to_owned(),
        };
        self.chain.note(&shown, ProblemKind::Structure, message);
    }

    /// Runs of segments that the head does not lead to, each with the key that its oldest one names.
    fn strays(&mut self) -> Vec<(Vec<Box<str>>, Option<String>)> {
        let left: HashSet<Box<str>> = self.by_key.keys().filter(|key| !self.visited.contains(*key)).cloned().collect();
        let named: HashSet<String> =
            left.iter().filter_map(|key| Some(self.by_key.get(key)?.previous.as_ref()?.key.clone())).collect();
        let mut heads: Vec<&Box<str>> = left.iter().filter(|key| !named.contains(key.as_ref())).collect();
        heads.sort();
        let mut runs = Vec::new();
        for head in heads {
            let revision = self.by_key.get(head).map(|segment| segment.revision.clone()).unwrap_or_default();
            let reference = Reference { key: head.to_string(), revision };
            let (run, _) = self.follow(reference, Some(&left));
            runs.push(run);
        }
        // What is left now goes round in circles.
        let mut round: Vec<Box<str>> = left.iter().filter(|key| !self.visited.contains(*key)).cloned().collect();
        round.sort_by_key(|key| self.place(key));
        if let Some(key) = round.first() {
            let message = "this segment and those it leads to name each other in a circle".to_owned();
            self.chain.note(key, ProblemKind::Refused, message);
            self.visited.extend(round.iter().cloned());
            runs.push(round);
        }
        runs.into_iter()
            .map(|run| {
                let oldest = run.first().and_then(|key| self.by_key.get(key));
                let rests_on = oldest.and_then(|segment| segment.previous.as_ref()).map(|before| before.key.clone());
                (run, rests_on)
            })
            .collect()
    }

    fn leave_out(&mut self, run: &[Box<str>]) {
        self.left_out += run.len();
        if self.first_left_out.is_none() {
            self.first_left_out = run.first().cloned();
        }
    }

    /// One notice for each thing that may be true of very many segments.
    fn note_strays(&mut self, runs: &[Vec<Box<str>>]) {
        if let Some(key) = self.first_left_out.take() {
            let message = match self.left_out {
                1 => "the index does not lead to this segment: it was never committed, so it is left out".to_owned(),
                count => format!(
                    "the index does not lead to this segment nor to {} others: they were never committed, so they are left out",
                    count - 1
                ),
            };
            self.chain.note(&key, ProblemKind::Structure, message);
        }
        if let Some(key) = runs.get(1).and_then(|run| run.first()) {
            let message = match runs.len() - 1 {
                1 => {
                    "the segments before this one are not connected to it; they are placed by their numbers".to_owned()
                }
                gaps => format!(
                    "the segments before this one are not connected to it, and so at {} other places; all are placed by their numbers",
                    gaps - 1
                ),
            };
            self.chain.note(key, ProblemKind::Structure, message);
        }
    }

    fn take(&mut self, runs: Vec<Vec<Box<str>>>) {
        self.note_strays(&runs);
        for key in runs.into_iter().flatten() {
            if let Some(segment) = self.by_key.remove(&key) {
                self.chain.links.push((key, segment));
            }
        }
    }
}

impl Chain {
    pub fn note(&mut self, key: &str, kind: ProblemKind, message: String) {
        let locator = Locator::Key(key.to_owned());
        self.notices.push(Problem { locator, offset: None, kind, message, file: None });
    }
}
