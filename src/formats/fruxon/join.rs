//! Which records of the files that were opened together belong to one conversation.
//!
//! Records are joined by the ids they share: runs, sessions, topics, approvals, and messages that are the same to the
//! millisecond. What no id joins is joined by time, where only one conversation has an unanswered prompt then; records of a
//! file that belong to no conversation stay together.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use serde_json::Value;

use super::field::{any_id, any_time, at, id, text, time};
use super::inbound::unframed;
use super::kind::{Kind, starts_stream};
use super::read::FileData;
use super::rows::{content, is_agent_side, said_at};
use crate::model::summarise;

/// A record of a file, by what it can be joined.
pub struct Unit {
    pub file: usize,
    pub record: usize,
    pub kind: Kind,
    /// The start of a participant's message.
    pub title: Option<String>,
    ids: Vec<String>,
    /// The run that all of it is about: the one that started the others.
    run: Option<String>,
    /// It is part of what was said in a conversation, and not only about a run.
    is_spine: bool,
    /// Of a message: whether the agent said it, and when.
    said: Option<(bool, i64)>,
    /// Of a run or an approval that nothing may join: when it began.
    began: Option<i64>,
}

impl Unit {
    pub fn is_about(&self, run: &str) -> bool {
        self.ids.iter().any(|id| id.strip_prefix("run ") == Some(run))
    }

    /// When it happened, in milliseconds since 1970.
    pub fn at(&self) -> Option<i64> {
        self.said.map(|(_, at)| at).or(self.began)
    }
}

/// The records of one conversation, by where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// What names it: its session's id, a transcript's, that of its one run. `None` where its file's name has to.
    pub key: Option<String>,
    /// `(file, record)`, sorted.
    pub records: Vec<(usize, usize)>,
    pub is_spine: bool,
    /// Records that were joined by time alone.
    pub inferred: Vec<(usize, usize)>,
}

/// What a record can be joined by. Files whose name says that they are a fork stand alone.
pub fn units_of(data: &FileData, file: usize) -> Vec<Unit> {
    let fork = is_fork_name(data.path()).then_some(file);
    let mut segment = 0_usize;
    let mut units = Vec::new();
    for (record, read) in data.records.iter().enumerate() {
        let Some(kind) = read.kind else { continue };
        segment += usize::from(starts_stream(&read.value) && record > 0);
        let mut unit = unit(&read.value, kind, file, record);
        match kind {
            Kind::Frame => unit.ids.push(format!("segment {file} {segment}")),
            Kind::Row | Kind::Topic => unit.ids.push(format!("rows {file}")),
            _ => {}
        }
        if let Some(fork) = fork {
            unit.ids = vec![format!("fork {fork}")];
            unit.began = None;
        }
        units.push(unit);
    }
    units
}

/// Whether a file is a fork by its name, as [`fork_name`] gives it: what it shares with its original joins them not.
pub fn is_fork_name(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.rsplit_once("-fork-").is_some_and(|(_, tail)| tail.len() == 8 && tail.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The name of a fork of this session, without an ending.
pub fn fork_name(session_id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let base: String = session_id.chars().map(plain).take(80).collect();
    let tail: String = uuid::Uuid::new_v4().simple().to_string().chars().take(8).collect();
    format!("{}-fork-{tail}", base.trim_start_matches('.'))
}

fn unit(value: &Value, kind: Kind, file: usize, record: usize) -> Unit {
    let mut ids = Vec::new();
    let mut add = |kind: &str, id: Option<String>| ids.extend(id.map(|id| format!("{kind} {id}")));
    let mut said = None;
    let (mut began, mut title) = (None, None);
    match kind {
        Kind::Row | Kind::Topic | Kind::Channel => {
            let moment = said_at(value, kind);
            add("run", id(value, "executionRecordId"));
            add("ts", id(value, "sessionId").filter(|_| kind == Kind::Topic));
            add("conversation", id(value, "conversationId").filter(|_| kind == Kind::Channel));
            add("said", moment.and_then(|at| said_id(at.0, &content(value, kind))));
            let is_agent = is_agent_side(value, kind);
            said = moment.map(|at| (is_agent, at.0));
            title = Some(content(value, kind)).filter(|_| !is_agent).map(|text| summarise(&unframed(&text)));
        }
        Kind::Frame => {
            add("fs", id(value, "session"));
            add("ts", any_id(value, &["session_id", "sessionId"]));
            add("run", any_id(value, &["record_id", "executionRecordId"]));
            add("approval", any_id(value, &["requestId", "human_approval_request_id", "humanApprovalRequestId"]));
            add("operation", id(value, "operationId"));
            began = time(value, "at");
            let reply = text(value, "text").zip(time(value, "at")).filter(|_| text(value, "type") == Some("reply"));
            add("said", reply.and_then(|(text, at)| said_id(at.0, text)));
        }
        Kind::Rewind => {
            add("fs", id(value, "sessionId"));
            add("ts", id(value, "targetSessionId"));
            let prefill = text(value, "prefillText").zip(time(value, "prefillOccurredAt"));
            title = prefill.map(|(text, _)| summarise(&unframed(text)));
            add("said", prefill.and_then(|(text, at)| said_id(at.0, text)));
        }
        Kind::Fork => {
            add("fs", id(value, "sessionId"));
            add("ts", id(value, "targetSessionId"));
        }
        Kind::Approval | Kind::Audit => {
            let key = if kind == Kind::Audit { "approvalRequestId" } else { "id" };
            add("approval", id(value, key));
            add("run", id(value, "executionRecordId"));
            add("ts", id(value, "sessionId"));
            began = time(value, "createdAt");
        }
        Kind::Tree => {
            add("run", id(value, "rootExecutionId"));
            for node in at(value, &["nodes"]).as_array().into_iter().flatten() {
                add("run", id(node, "id"));
                add("operation", id(node, "parentAsyncOperationId"));
            }
        }
        Kind::Run => {
            for key in ["id", "rootExecutionId", "parentExecutionRecordId"] {
                add("run", id(value, key));
            }
            add("approval", id(at(value, &["waitingFor"]), "approvalRequestId"));
            let is_child = id(value, "parentExecutionRecordId").is_some();
            began = time(value, "startTime").filter(|_| !is_child);
        }
        _ => {
            let trace = at(value, &["trace"]);
            for key in ["executionRecordId", "agentExecutionRecordId", "rootExecutionId", "executionId"] {
                add("run", id(value, key));
            }
            add("run", id(trace, "agentExecutionRecordId"));
            add("ts", id(value, "sessionId"));
            add("approval", id(at(value, &["waitingFor"]), "approvalRequestId"));
            began = time(trace, "startTime").or(any_time(value, &["startTime"]));
        }
    }
    let own = ids.iter().find_map(|id: &String| id.strip_prefix("run "));
    let run = id(value, "rootExecutionId").or(own.map(str::to_owned));
    let is_spine = kind.is_row()
        || matches!(kind, Kind::Rewind | Kind::Fork)
        || (kind == Kind::Frame && text(value, "stream") == Some("sandbox"));
    Unit { file, record, kind, title, ids, run, is_spine, said, began: began.map(|at| at.0) }
}

/// Two messages are the same when their texts and times are.
fn said_id(at: i64, said: &str) -> Option<String> {
    let mut hasher = DefaultHasher::new();
    unframed(said).trim().hash(&mut hasher);
    (!said.is_empty()).then(|| format!("{at} {:x}", hasher.finish()))
}

/// The conversations among the units, in the order of their first records.
pub fn groups(units: &[Unit]) -> Vec<Group> {
    let mut sets = Sets { parents: (0..units.len()).collect() };
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (index, unit) in units.iter().enumerate() {
        for id in &unit.ids {
            match seen.get(id.as_str()) {
                Some(other) => sets.unite(*other, index),
                None => {
                    seen.insert(id, index);
                }
            }
        }
    }
    let inferred = join_by_time(units, &mut sets);
    join_by_file(units, &mut sets);
    let mut found: Vec<(usize, Group)> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut runs: HashMap<usize, HashSet<Option<&str>>> = HashMap::new();
    for (index, unit) in units.iter().enumerate() {
        let root = sets.root(index);
        let place = *places.entry(root).or_insert_with(|| {
            found.push((root, Group::default()));
            found.len() - 1
        });
        let Some((_, group)) = found.get_mut(place) else { continue };
        group.records.push((unit.file, unit.record));
        group.is_spine |= unit.is_spine;
        if inferred.contains(&index) {
            group.inferred.push((unit.file, unit.record));
        }
        group.key = better_key(group.key.take(), unit);
        runs.entry(place).or_default().insert(unit.run.as_deref());
    }
    for (place, runs) in runs {
        // Messages are named by their file before they are by a run of theirs.
        if let (Some((_, group)), [Some(run)]) = (found.get_mut(place), runs.into_iter().collect::<Vec<_>>().as_slice())
            && !group.is_spine
        {
            group.key = group.key.take().or(Some(format!("run {run}")));
        }
    }
    found
        .into_iter()
        .map(|(_, mut group)| {
            group.key = group.key.map(|key| key.split_once(' ').map_or(key.clone(), |(_, id)| id.to_owned()));
            group.records.sort_unstable();
            group
        })
        .collect()
}

/// The first id of the best kind, with its kind before it.
fn better_key(old: Option<String>, unit: &Unit) -> Option<String> {
    const KINDS: [&str; 3] = ["fs ", "ts ", "conversation "];
    let rank = |key: &str| KINDS.iter().position(|kind| key.starts_with(kind)).unwrap_or(usize::MAX);
    let new = unit.ids.iter().filter(|id| rank(id) < usize::MAX).min_by_key(|id| rank(id)).cloned();
    match (old, new) {
        // The order of the files must not matter.
        (Some(old), Some(new)) => Some(if (rank(&new), &new) < (rank(&old), &old) { new } else { old }),
        (old, new) => old.or(new),
    }
}

struct Sets {
    parents: Vec<usize>,
}

impl Sets {
    fn root(&mut self, mut index: usize) -> usize {
        while let Some(parent) = self.parents.get(index).copied().filter(|parent| *parent != index) {
            let above = self.parents.get(parent).copied().unwrap_or(parent);
            if let Some(own) = self.parents.get_mut(index) {
                *own = above;
            }
            index = parent;
        }
        index
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if let Some(parent) = self.parents.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
    }
}

/// A prompt and the time until the next one.
struct Window {
    from: i64,
    to: i64,
    is_answered: bool,
    /// A run was given to it.
    is_taken: bool,
}

/// The prompts of a conversation in their order; `said` is `(at, is the agent's)`.
fn windows(mut said: Vec<(i64, bool)>) -> Vec<Window> {
    said.sort_unstable();
    let mut windows: Vec<Window> = Vec::new();
    for (at, is_agent) in said {
        match (windows.last_mut(), is_agent) {
            (Some(window), true) => window.is_answered = true,
            (None, true) => {}
            (last, false) => {
                if let Some(last) = last {
                    last.to = at;
                }
                windows.push(Window { from: at, to: i64::MAX, is_answered: false, is_taken: false });
            }
        }
    }
    windows
}

/// Gives each prompt that nobody answered the first run that began before the next prompt and belongs to no
/// conversation, and each approval without a run to the prompt before it, where only one conversation has such a prompt.
/// Returns the units that were joined so.
fn join_by_time(units: &[Unit], sets: &mut Sets) -> HashSet<usize> {
    let mut said: HashMap<usize, Vec<(i64, bool)>> = HashMap::new();
    let spines = roots(units, sets);
    for (index, unit) in units.iter().enumerate() {
        if let Some((is_agent, at)) = unit.said {
            said.entry(sets.root(index)).or_default().push((at, is_agent));
        }
    }
    let mut conversations: Vec<(usize, Vec<Window>)> =
        said.into_iter().map(|(root, said)| (root, windows(said))).collect();
    let mut free: Vec<(i64, usize)> = Vec::new();
    for (index, unit) in units.iter().enumerate() {
        if let Some(began) = unit.began.filter(|_| !spines.contains(&sets.root(index))) {
            free.push((began, index));
        }
    }
    free.sort_unstable();
    let mut joined = HashSet::new();
    for (began, index) in free {
        let has_run = units.get(index).is_some_and(|unit| unit.ids.iter().any(|id| id.starts_with("run ")));
        let mut fitting = conversations.iter_mut().filter_map(|(root, windows)| {
            let before = windows.partition_point(|window| window.from <= began).checked_sub(1)?;
            let window = windows.get_mut(before)?;
            let fits = began < window.to && !(has_run && (window.is_answered || window.is_taken));
            fits.then_some((*root, window))
        });
        if let (Some((root, window)), None) = (fitting.next(), fitting.next())
            && sets.root(index) != sets.root(root)
        {
            window.is_taken |= has_run;
            sets.unite(root, index);
            joined.insert(index);
        }
    }
    joined
}

/// The sets that are conversations.
fn roots(units: &[Unit], sets: &mut Sets) -> HashSet<usize> {
    let spines = units.iter().enumerate().filter(|(_, unit)| unit.is_spine);
    spines.map(|(index, _)| sets.root(index)).collect()
}

/// Keeps records of a file that belong to no conversation together.
fn join_by_file(units: &[Unit], sets: &mut Sets) {
    let spines = roots(units, sets);
    let mut first: HashMap<usize, usize> = HashMap::new();
    for (index, unit) in units.iter().enumerate() {
        if spines.contains(&sets.root(index)) {
            continue;
        }
        match first.get(&unit.file) {
            Some(other) => sets.unite(*other, index),
            None => {
                first.insert(unit.file, index);
            }
        }
    }
}
