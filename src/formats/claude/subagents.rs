//! Agents that the session's agent started: their own files beside the session, or their records among its own.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::append;
use super::chain::{Forest, Walk, leaf};
use super::events::{Linked, Links};
use super::index::{Flags, Index, NONE, Piece, Role, Symbol, What};
use super::made;
use super::read;
use super::session::loose_of;
use super::usage::Responses;
use crate::formats::Observer;
use crate::formats::lenient::{Flag, Text};
use crate::model::{Locator, Problem, ProblemKind, Subagent, SubagentStatus, TitleSource, Usage, summarise};
use crate::store::{Framing, ReadError, SourceFile, Watch};

/// No session has more agents among its own records, or more runs of workflows.
const MAX_AGENTS: usize = 2000;
/// Files of agents that are opened: each is held open as long as its session is, and a process may hold few.
const MAX_FILES: usize = 500;
/// Files of agents that are looked at in a folder; a folder with more is not looked through to its end.
const MAX_LISTED: usize = 100_000;
/// A description of an agent is a few hundred bytes.
pub(super) const MAX_META_BYTES: u64 = 64 * 1024;
/// How much of a file beside the session is read to learn whose it is.
const HEAD_BYTES: usize = 64 * 1024;

/// A subagent's own file.
pub(super) struct AgentFile {
    pub id: String,
    pub source: Arc<SourceFile>,
    /// Where it is below the session's folder; below a fork's folder its copy is in the same place.
    pub relative: PathBuf,
    /// Its description, when it has one.
    pub meta_path: Option<PathBuf>,
    /// The workflow run that it is part of.
    pub workflow: Option<String>,
    pub tool_use_id: Option<String>,
    pub description: Option<String>,
    pub finished: bool,
    pub index: Arc<Index>,
}

struct Candidate {
    id: String,
    path: PathBuf,
    relative: PathBuf,
    workflow: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Meta<'a> {
    #[serde(borrow)]
    tool_use_id: Text<'a>,
    #[serde(borrow)]
    description: Text<'a>,
    #[serde(borrow)]
    agent_type: Text<'a>,
    finished: Flag,
}

/// Reads the files of the subagents of the session at `path`. Problems are those of finding and opening them.
pub(super) fn read_all(
    path: &Path,
    index: &Index,
    known: &[AgentFile],
    observer: &dyn Observer,
) -> Result<(Vec<AgentFile>, Vec<Problem>), ReadError> {
    let mut candidates = Vec::new();
    if let Some(folder) = path.file_stem().map(|stem| path.with_file_name(stem)) {
        let agents = folder.join("subagents");
        if is_plain_folder(&folder) && is_plain_folder(&agents) {
            list(&agents, Path::new("subagents"), None, &mut candidates);
            for (name, workflow) in folders(&agents.join("workflows")) {
                let relative = Path::new("subagents").join("workflows").join(&name);
                list(&workflow, &relative, Some(&name), &mut candidates);
            }
        }
    }
    siblings(path, index, &mut candidates);
    let mut problems = Vec::new();
    problems.extend(left_out(candidates.len()));
    candidates.truncate(MAX_FILES);
    let mut agents = Vec::with_capacity(candidates.len());
    // Progress is of all of them.
    let total_bytes = candidates.iter().filter_map(|candidate| Some(candidate.path.metadata().ok()?.len())).sum();
    let mut before_bytes = 0;
    for candidate in candidates {
        let known = known.iter().find(|agent| agent.source.path() == candidate.path);
        let read = |watch: Watch<'_>| read_agent(&candidate.path, known, watch);
        let opened = observer.watch().part(before_bytes, total_bytes, read);
        before_bytes += opened.as_ref().map_or(0, |(_, source)| source.len());
        match opened {
            Ok((index, source)) => agents.push(agent_file(candidate, index, source)),
            Err(error @ ReadError::Cancelled(_)) => return Err(error),
            Err(error) => problems.push(Problem {
                locator: Locator::Key("file".into()),
                offset: None,
                kind: ProblemKind::Unreadable,
                message: error.to_string(),
                file: Some(candidate.relative.display().to_string()),
            }),
        }
    }
    Ok((agents, problems))
}

/// Reads an agent's file, or what was appended to it.
fn read_agent(
    path: &Path,
    known: Option<&AgentFile>,
    watch: Watch<'_>,
) -> Result<(Arc<Index>, Arc<SourceFile>), ReadError> {
    let source = Arc::new(SourceFile::open(path)?);
    if let Some(known) = known {
        if source.identity() == known.source.identity() {
            return Ok((Arc::clone(&known.index), Arc::clone(&known.source)));
        }
        if let Some(index) = append::read_on(&known.index, &known.source, &source, watch)? {
            return Ok((Arc::new(index), source));
        }
    }
    let index = read::read(&source, Framing::Lines, watch, &mut |_, _| {})?;
    Ok((Arc::new(index), source))
}

/// A notice when there are more files of agents than are opened.
fn left_out(files: usize) -> Option<Problem> {
    let left_out = files.checked_sub(MAX_FILES).filter(|count| *count > 0)?;
    Some(Problem {
        locator: Locator::Key("subagents".into()),
        offset: None,
        kind: ProblemKind::Structure,
        message: format!("there are {files} files of subagents; {left_out} of them were left out"),
        file: None,
    })
}

fn agent_file(candidate: Candidate, index: Arc<Index>, source: Arc<SourceFile>) -> AgentFile {
    let meta_path = candidate.path.with_extension("meta.json");
    let text = meta_text(&meta_path);
    let meta = text.as_deref().and_then(|text| serde_json::from_str::<Meta>(text).ok());
    let found = meta.is_some();
    let meta = meta.unwrap_or_default();
    AgentFile {
        id: candidate.id,
        source,
        relative: candidate.relative,
        tool_use_id: meta.tool_use_id.to_owned_option(),
        description: meta.name(),
        finished: meta.finished.0,
        meta_path: found.then_some(meta_path),
        workflow: candidate.workflow,
        index,
    }
}

impl Meta<'_> {
    fn name(&self) -> Option<String> {
        self.description.to_owned_option().or_else(|| self.agent_type.to_owned_option())
    }
}

fn meta_text(path: &Path) -> Option<String> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_META_BYTES {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

/// Whether a file is an agent's own, opened by itself: all records of its chain are an agent's.
pub(super) fn is_agents_own(index: &Index) -> bool {
    let mut links = index.records.iter().filter(|record| record.role.can_lead()).peekable();
    links.peek().is_some() && links.all(|record| record.flags.has(Flags::SIDE))
}

/// What the agent of a file of its own is called: by the description beside the file, else by what it was told to do.
pub(super) fn own_title(path: &Path, index: &Index) -> Option<(String, TitleSource)> {
    let text = meta_text(&path.with_extension("meta.json"));
    let meta = text.as_deref().and_then(|text| serde_json::from_str::<Meta>(text).ok());
    let described = meta.and_then(|meta| meta.name()).map(|name| summarise(&name)).filter(|name| !name.is_empty());
    let told = || {
        let is_brief = |(_, piece): &(u32, &Piece)| matches!(piece.what, What::Brief);
        let (brief, _) = (0..).zip(&index.pieces).find(is_brief)?;
        Some(summarise(index.label(brief))).filter(|brief| !brief.is_empty())
    };
    described.map(|name| (name, TitleSource::Generated)).or_else(|| Some((told()?, TitleSource::FirstPrompt)))
}

/// Links are not followed: they may lead out of the session's folder.
fn is_plain_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

fn folders(path: &Path) -> Vec<(String, PathBuf)> {
    let entries = is_plain_folder(path).then(|| std::fs::read_dir(path).ok()).flatten();
    let mut found: Vec<_> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .filter(|(_, path)| is_plain_folder(path))
        .take(MAX_AGENTS)
        .collect();
    found.sort();
    found
}

/// Adds the agents' files of one folder.
fn list(folder: &Path, relative: &Path, workflow: Option<&str>, candidates: &mut Vec<Candidate>) {
    let mut found: Vec<_> = agent_files(folder).collect();
    found.sort();
    candidates.extend(found.into_iter().map(|(id, path)| Candidate {
        relative: relative.join(path.file_name().unwrap_or_default()),
        id,
        path,
        workflow: workflow.map(str::to_owned),
    }));
}

/// `(agent id, path)` of the regular files named `agent-<id>.jsonl` in a folder.
fn agent_files(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = is_plain_folder(folder).then(|| std::fs::read_dir(folder).ok()).flatten();
    entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let id = name.strip_prefix("agent-")?.strip_suffix(".jsonl")?.to_owned();
            Some((id, entry.path()))
        })
        .filter(|(_, path)| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()))
        .take(MAX_LISTED)
}

/// Old files of subagents lie beside the session's, those of all sessions together; each says whose it is.
fn siblings(path: &Path, index: &Index, candidates: &mut Vec<Candidate>) {
    let names = AgentTools::of(index);
    let calls_agents =
        index.pieces.iter().any(|piece| matches!(piece.what, What::Call { name, .. } if names.starts(name)));
    let is_agent = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
    let (Some(folder), true, false) = (path.parent(), calls_agents, is_agent) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let sessions: Vec<_> = index.scenes.iter().filter_map(|scene| index.name(scene.session)).collect();
    let mut found: Vec<_> = agent_files(folder)
        .filter(|(id, _)| !candidates.iter().any(|candidate| candidate.id == *id))
        .filter(|(_, path)| head_session(path).is_some_and(|session| sessions.iter().any(|own| *own == session)))
        .collect();
    found.sort();
    candidates.extend(found.into_iter().map(|(id, path)| Candidate {
        relative: Path::new("subagents").join(path.file_name().unwrap_or_default()),
        id,
        path,
        workflow: None,
    }));
}

/// The session that the first record of a file names.
fn head_session(path: &Path) -> Option<String> {
    let source = SourceFile::open(path).ok()?;
    let mut head = vec![0; HEAD_BYTES];
    let read = source.fill(0, &mut head).ok()?;
    let line = head.get(..read)?.split(|byte| *byte == b'\n').next()?;
    let envelope: super::record::Envelope = serde_json::from_slice(line).ok()?;
    envelope.session_id.to_owned_option()
}

/// The numbers of the names of the tools that start agents.
struct AgentTools {
    agents: [Option<Symbol>; 2],
    workflow: Option<Symbol>,
}

impl AgentTools {
    fn of(index: &Index) -> Self {
        let find = |name: &str| index.symbols.find(name);
        Self { agents: [find("Task"), find("Agent")], workflow: find("Workflow") }
    }

    fn starts(&self, name: Symbol) -> bool {
        self.agents.contains(&Some(name))
    }

    fn is_workflow(&self, name: Symbol) -> bool {
        self.workflow == Some(name)
    }
}

/// What the caller's records say of a call that may have started an agent.
#[derive(Clone, Default)]
struct Caller {
    name: Option<String>,
    prompt_hash: u64,
    agent: Option<Symbol>,
    launched: bool,
    /// Whether there is a result, and whether it is an error.
    failed: Option<bool>,
    notified: Option<bool>,
}

/// All calls of agents in a session.
#[derive(Default)]
struct Callers {
    calls: HashMap<Symbol, Caller>,
    /// In file order.
    order: Vec<Symbol>,
    /// The first call whose result names an agent or a run.
    by_agent: HashMap<Symbol, Symbol>,
    /// Calls with the same prompt that no agent was found for yet, in file order.
    by_prompt: HashMap<u64, VecDeque<Symbol>>,
    /// Whether the last notification of a task said that it was completed.
    tasks: HashMap<Symbol, (Symbol, bool)>,
}

impl Callers {
    fn of(index: &Index) -> Self {
        let mut callers = Self::default();
        let names = AgentTools::of(index);
        for (number, piece) in (0..).zip(&index.pieces) {
            match piece.what {
                What::Call { id, name, .. } if names.starts(name) || names.is_workflow(name) => {
                    let caller = callers.calls.entry(id).or_insert_with(|| {
                        callers.order.push(id);
                        Caller::default()
                    });
                    let more = index.call_more(number);
                    caller.name = more.and_then(|more| more.task.as_deref()).map(str::to_owned);
                    caller.prompt_hash = more.map_or(0, |more| more.prompt_hash);
                }
                What::Result { call, is_error, .. } => {
                    if let Some(caller) = callers.calls.get_mut(&call) {
                        let more = index.result_more(number);
                        caller.agent = more.map(|more| more.agent).filter(|agent| *agent != NONE);
                        caller.launched = more.is_some_and(|more| more.launched);
                        caller.failed = Some(is_error);
                    }
                }
                What::Notification => {
                    let Some(notified) = index.notified(number) else { continue };
                    callers.tasks.insert(notified.task, (notified.call, notified.completed));
                    if let Some(caller) = callers.calls.get_mut(&notified.call) {
                        caller.notified = Some(notified.completed);
                    }
                }
                _ => {}
            }
        }
        for call in &callers.order {
            let Some(caller) = callers.calls.get(call) else { continue };
            if let Some(agent) = caller.agent {
                callers.by_agent.entry(agent).or_insert(*call);
            }
            if caller.prompt_hash != 0 {
                callers.by_prompt.entry(caller.prompt_hash).or_default().push_back(*call);
            }
        }
        callers
    }

    /// The call that started an agent: by the agent's own word, by the caller's, or by the same prompt.
    fn find(
        &mut self,
        index: &Index,
        id: &str,
        tool_use_id: Option<&str>,
        workflow: Option<&str>,
        brief: u64,
    ) -> Option<Symbol> {
        let by_word =
            tool_use_id.and_then(|call| index.symbols.find(call)).filter(|call| self.calls.contains_key(call));
        let agent = index.symbols.find(id);
        let by_result = || self.by_agent.get(&agent?).copied();
        let by_task = || {
            let (call, _) = self.tasks.get(&agent?)?;
            self.calls.contains_key(call).then_some(*call)
        };
        let by_run = || self.by_agent.get(&index.symbols.find(workflow?)?).copied();
        let by_prompt = || self.by_prompt.get(&brief)?.front().copied();
        let found = by_word.or_else(by_result).or_else(by_task).or_else(by_run).or_else(by_prompt)?;
        // Another agent with the same prompt was started by another call.
        let prompt = self.calls.get(&found).map_or(0, |caller| caller.prompt_hash);
        if let Some(calls) = self.by_prompt.get_mut(&prompt) {
            calls.retain(|call| *call != found);
        }
        Some(found)
    }
}

/// The subagents of a session, and what their caller's events are to say of them.
#[derive(Default)]
pub(super) struct Agents {
    pub list: Vec<Subagent>,
    pub links: Links,
    /// For each subagent with a file of its own, its call and the file's number among those given.
    pub files: Vec<(Option<Symbol>, usize)>,
    /// Records of agents inside the session's file, by their call.
    pub inlined: Vec<(Option<Symbol>, Vec<u32>)>,
    pub usage: Usage,
}

pub(super) fn gather(index: &Arc<Index>, forest: &Forest, chain: &[u32], files: &[AgentFile]) -> Agents {
    let mut callers = Callers::of(index);
    let mut agents = Agents::default();
    for (number, file) in files.iter().enumerate() {
        let brief = brief_of(&file.index);
        let call = callers.find(index, &file.id, file.tool_use_id.as_deref(), file.workflow.as_deref(), brief);
        let walk = own_walk(&file.index);
        let usage = Responses::new(&file.index).total(&file.index);
        agents.usage.add(&usage);
        let answered = answered(&file.index, &walk);
        let place = u16::try_from(number + 1).unwrap_or(u16::MAX);
        let loose = loose_of(&file.index, &walk);
        let subagent = Subagent {
            id: file.id.clone(),
            name: file.description.clone(),
            status: SubagentStatus::Started,
            call_id: call.and_then(|call| index.text(call)),
            path: Some(file.source.path().to_owned()),
            usage,
            events: made::alone(&file.index, walk, place, &loose),
        };
        agents.add(index, &callers, call, subagent, file.finished, answered);
        agents.files.push((call, number));
    }
    for members in inlined_groups(index, forest, chain) {
        let lead = |number: &&u32| index.record(**number).is_some_and(|record| record.role.can_lead());
        let Some(leaf) = members.iter().rfind(lead) else { continue };
        let walk = Walk::within(index, forest, *leaf, &members);
        let root = members.first().copied().unwrap_or(*leaf);
        let id = members.iter().find_map(|member| index.agents.get(member)).and_then(|agent| index.text(*agent));
        let id = id.unwrap_or_else(|| index.node_id(root).to_string());
        let brief = members.iter().find_map(|member| brief_in(index, *member)).unwrap_or(0);
        let call = callers.find(index, &id, None, None, brief);
        let responses = Responses::new_of(index, members.iter().copied());
        let answered = answered(index, &walk);
        let subagent = Subagent {
            id,
            name: None,
            status: SubagentStatus::Started,
            call_id: call.and_then(|call| index.text(call)),
            path: None,
            usage: responses.total(index),
            events: made::alone(index, walk, 0, &[]),
        };
        agents.add(index, &callers, call, subagent, false, answered);
        agents.inlined.push((call, members));
    }
    agents
}

impl Agents {
    fn add(
        &mut self,
        index: &Index,
        callers: &Callers,
        call: Option<Symbol>,
        mut agent: Subagent,
        finished: bool,
        answered: bool,
    ) {
        let caller = call.and_then(|call| callers.calls.get(&call));
        agent.name = agent.name.or_else(|| caller.and_then(|caller| caller.name.clone()));
        let by_result = match caller {
            Some(Caller { failed: Some(true), .. }) => SubagentStatus::Failed,
            Some(Caller { failed: Some(false), launched: false, .. }) => SubagentStatus::Finished,
            _ => SubagentStatus::Started,
        };
        let symbol = index.symbols.find(&agent.id);
        let task = symbol.and_then(|symbol| callers.tasks.get(&symbol)).map(|(_, completed)| *completed);
        agent.status = match task.or_else(|| caller.and_then(|caller| caller.notified)) {
            Some(true) => SubagentStatus::Finished,
            Some(false) => SubagentStatus::Failed,
            None if by_result != SubagentStatus::Started => by_result,
            None if finished || answered => SubagentStatus::Finished,
            None => SubagentStatus::Started,
        };
        let linked = Linked { id: agent.id.clone(), name: agent.name.clone(), status: by_result };
        if let Some(symbol) = symbol {
            self.links.by_id.insert(symbol, linked.clone());
        }
        if let Some(call) = call {
            self.links.by_call.entry(call).or_default().push(linked);
        }
        self.list.push(agent);
    }
}

/// The walk of an agent's own file.
fn own_walk(index: &Index) -> Walk {
    leaf(index).map(|leaf| Walk::new(index, &Forest::of(index), leaf)).unwrap_or_default()
}

/// Whether an agent's last word is an answer.
fn answered(index: &Index, walk: &Walk) -> bool {
    let says = |number: &u32| {
        let (_, last) = index.pieces_of(*number).next_back()?;
        let is_system = index.record(*number).is_some_and(|record| record.role == Role::System);
        (!is_system).then_some(matches!(last.what, What::Text))
    };
    walk.chain.iter().rev().find_map(says).unwrap_or(false)
}

fn brief_of(index: &Index) -> u64 {
    (0..).zip(&index.records).take(64).find_map(|(number, _)| brief_in(index, number)).unwrap_or(0)
}

fn brief_in(index: &Index, number: u32) -> Option<u64> {
    index.pieces_of(number).find_map(|(at, _)| index.brief(at))
}

/// Side records of the session's own file, those of each agent together, in file order.
fn inlined_groups(index: &Index, forest: &Forest, chain: &[u32]) -> Vec<Vec<u32>> {
    let mut on_chain = vec![false; index.records.len()];
    for record in chain {
        if let Some(place) = on_chain.get_mut(*record as usize) {
            *place = true;
        }
    }
    let is_member = |number: u32| {
        index.record(number).is_some_and(|record| record.flags.has(Flags::SIDE) && record.role != Role::Duplicate)
            && !on_chain.get(number as usize).copied().unwrap_or(false)
    };
    if !(0_u32..).zip(&index.records).any(|(number, _)| is_member(number)) {
        return Vec::new();
    }
    let is_root = |number: u32| is_member(number) && !forest.parent(number).is_some_and(is_member);
    let climbs = forest.climb(is_root, |_| false);
    let mut groups: HashMap<u32, Vec<u32>> = HashMap::new();
    for (number, climb) in (0_u32..).zip(&climbs) {
        if let Some(root) = climb.end().filter(|_| is_member(number)) {
            groups.entry(root).or_default().push(number);
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort();
    groups.truncate(MAX_AGENTS);
    groups
}
