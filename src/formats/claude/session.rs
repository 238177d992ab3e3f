//! From indices to the session that the rest of the program sees.

use std::path::Path;
use std::sync::Arc;

use super::chain::{Forest, Left, Walk, leaf, left_branches, reached_model};
use super::events;
use super::index::{Flags, Index, NONE, Record, Role, What};
use super::made;
use super::steps::{self, Mark};
use super::subagents::{self, AgentFile, Agents};
use super::usage::Responses;
use crate::model::{
    Agent, Branch, Capability, FormatName, Locator, Parent, Problem, ProblemKind, Session, TitleSource, summarise,
};
use crate::store::SourceFile;

/// A session with what its actions are planned on.
pub(super) struct Assembled {
    pub session: Session,
    pub forest: Forest,
    pub walk: Arc<Walk>,
    pub marks: Vec<Mark>,
    pub agents: Agents,
}

/// Puts a session together from what is indexed of its file and of its subagents' files.
pub(super) fn assemble(source: &Arc<SourceFile>, index: &Arc<Index>, files: &[AgentFile]) -> Assembled {
    let forest = Forest::of(index);
    let leaf = leaf(index);
    let walk = Arc::new(leaf.map(|leaf| Walk::new(index, &forest, leaf)).unwrap_or_default());
    let agents = subagents::gather(index, &forest, &walk.chain, files);
    let marks = steps::marks(index, &walk);
    let loose = loose_of(index, &walk);
    let timeline = events::build(index, &walk, &marks, &agents.links, &loose);
    let mut usage = Responses::new(index).total(index);
    usage.add(&agents.usage);
    usage.cost = index.cost;
    // A turn's own: what a branch that was left saw of the same response is not the turn's.
    let of_walk = Responses::new_of(index, walk.stops().map(|stop| stop.record));
    let steps = steps::steps(index, &walk, &marks, &timeline, &of_walk, bar(index, &walk));
    drop(of_walk);

    let mut report = index.report.clone();
    structure(index, &forest, &walk).into_iter().for_each(|problem| report.notice(problem));
    for file in files {
        report.take_problems(&file.index.report, &file.relative.display().to_string());
    }

    let is_agents_own = subagents::is_agents_own(index);
    if is_agents_own {
        report.notice(agents_notice());
    }

    let on_chain = || walk.chain.iter().filter_map(|number| index.record(*number));
    let first_prompt = steps.first().map(|step| (step.summary.clone(), TitleSource::FirstPrompt));
    let agents_title = || is_agents_own.then(|| subagents::own_title(source.path(), index)).flatten();
    let (title, title_source) = title(index, first_prompt.or_else(agents_title));
    let newest = index.records.iter().rev().filter(|record| record.role.can_lead());
    let scene = |pick: fn(&super::index::Scene) -> u32| {
        let found = newest.clone().filter_map(|record| index.scene_of(record)).map(pick).find(|symbol| *symbol != NONE);
        found.and_then(|symbol| index.text(symbol))
    };
    let forked_steps =
        marks.iter().filter(|mark| index.record(mark.record).is_some_and(|record| index.forked(record) != NONE));
    let session = Session {
        id: scene(|scene| scene.session)
            .or_else(|| index.text(index.loose_session?))
            .unwrap_or_else(|| stem(source.path())),
        title,
        title_source,
        format: FormatName::ClaudeCode,
        source: source.path().to_owned(),
        agent: Agent { name: Some("Claude Code".to_owned()), version: scene(|scene| scene.version) },
        model: on_chain()
            .rev()
            .map(|record| index.answer(record).model)
            .find(|model| *model != NONE)
            .and_then(|model| index.text(model)),
        cwd: on_chain()
            .filter_map(|record| index.scene_of(record))
            .find(|scene| scene.cwd != NONE)
            .and_then(|scene| index.text(scene.cwd)),
        started_at: on_chain().filter_map(Record::at).min(),
        ended_at: on_chain().filter_map(Record::at).max(),
        head: steps::head(index, &walk),
        nodes: index.records.iter().filter(|record| record.node != NONE).count(),
        branches: branches(index, &forest, &walk),
        parent: on_chain().rev().map(|record| index.forked(record)).find(|forked| *forked != NONE).and_then(|forked| {
            let count = u32::try_from(forked_steps.clone().count()).unwrap_or(u32::MAX);
            Some(Parent { session_id: index.text(forked)?, step_number: Some(count).filter(|count| *count > 0) })
        }),
        relatives: Vec::new(),
        usage,
        steps,
        events: made::events(index, &walk, agents.links.clone(), 0, timeline),
        subagents: agents.list.clone(),
        capabilities: vec![Capability::Fork, Capability::Revert, Capability::Replay, Capability::Resume],
        report,
    };
    Assembled { session, forest, walk, marks, agents }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Why nothing of this file can be forked or reverted.
pub(super) fn bar(index: &Index, walk: &Walk) -> steps::Bar {
    let has = |flag| walk.chain.iter().filter_map(|number| index.record(*number)).any(|record| record.flags.has(flag));
    if index.is_array {
        Some("this is an export, which Claude Code cannot resume")
    } else if has(Flags::NAMELESS) {
        Some("its messages have no ids, and Claude Code cannot resume a session without them")
    } else {
        None
    }
}

/// The file has no steps; that must not look like a fault.
fn agents_notice() -> Problem {
    Problem {
        locator: Locator::Key("file".to_owned()),
        offset: None,
        kind: ProblemKind::Structure,
        message: "this is a subagent's own file: it has events but no steps of a person".to_owned(),
        file: None,
    }
}

/// A title that the file gives, else the one that its first words make.
fn title(index: &Index, first_words: Option<(String, TitleSource)>) -> (Option<String>, TitleSource) {
    let titles = &index.titles;
    if let Some(title) = &titles.custom {
        return (Some(title.clone()), TitleSource::Person);
    }
    // Summaries of other sessions stand in the same file; one of this session names a record of it.
    let summaries = || titles.summaries.iter().rev();
    let own = summaries().find(|(_, leaf)| leaf.is_some_and(|leaf| index.find(leaf).is_some()));
    let summary = own.or_else(|| summaries().next()).map(|(summary, _)| summary.clone());
    match titles.generated.clone().or(summary) {
        Some(title) => (Some(title), TitleSource::Generated),
        None => match first_words.filter(|(title, _)| !title.is_empty()) {
            Some((title, source)) => (Some(title), source),
            None => (None, TitleSource::FirstPrompt),
        },
    }
}

/// Records outside the chain that are shown, by the position in the chain after which they were written.
pub(super) fn loose_of(index: &Index, walk: &Walk) -> Vec<(u32, u32)> {
    let mut position = vec![NONE; index.records.len()];
    for (at, record) in (0..).zip(&walk.chain) {
        if let Some(place) = position.get_mut(*record as usize) {
            *place = at;
        }
    }
    let mut after = NONE;
    let mut loose = Vec::new();
    for ((number, record), position) in (0_u32..).zip(&index.records).zip(position) {
        if position != NONE {
            after = position;
        } else if matches!(record.role, Role::Loose | Role::Unknown | Role::Unreadable)
            && index.pieces_of(number).next().is_some()
        {
            loose.push((after, number));
        }
    }
    // Before all first: `NONE` wraps to zero.
    loose.sort_by_key(|(after, number)| (after.wrapping_add(1), *number));
    loose
}

/// What the records of the active chain say of each other that is not so.
fn structure(index: &Index, forest: &Forest, walk: &Walk) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut notice = |record: &Record, message: String| {
        let locator =
            if index.is_array { Locator::Key("chain".into()) } else { Locator::Line(u64::from(record.span.line)) };
        let offset = Some(record.span.offset);
        problems.push(Problem { locator, offset, kind: ProblemKind::Structure, message, file: None });
    };
    let Some(first) = walk.chain.first().copied() else { return problems };
    let Some(root) = index.record(first) else { return problems };
    if walk.circular {
        notice(root, "its parents lead back to itself; the chain begins here".to_owned());
    } else if root.parent != NONE {
        notice(root, "its parent is not in the file; the chain begins here".to_owned());
    } else if index.logical(first) != NONE && index.find(index.logical(first)).is_none() {
        notice(root, "what was before the compaction is not in the file".to_owned());
    }
    for number in &walk.chain {
        let Some((record, bridge)) = index.record(*number).zip(forest.bridge(*number)) else { continue };
        if let (Some(lost), Some(to)) = (index.record(bridge.lost), index.record(bridge.to)) {
            let (lost, to) = (lost.span.line, to.span.line);
            notice(
                record,
                format!(
                    "its parent is not in the file and line {lost} before it cannot be read; \
                     it is taken to follow the record of line {to}"
                ),
            );
        }
    }
    problems
}

fn branches(index: &Index, forest: &Forest, walk: &Walk) -> Vec<Branch> {
    let main: Vec<u32> = (0..)
        .zip(&index.records)
        .filter(|(_, record)| record.node != NONE && !record.flags.has(Flags::SIDE))
        .map(|(number, _)| number)
        .collect();
    let begins = |path: &[u32]| first_prompt(index, path).is_some();
    let left = left_branches(forest, &walk.chain, &main, begins);
    left.into_iter().filter_map(|left| branch(index, forest, &left)).collect()
}

/// The prompt that a path begins with, as its record and its summary. Notes for the model and of the system may come
/// before it: the agent writes some of them behind the answer that the prompt hangs on.
fn first_prompt<'a>(index: &'a Index, path: &[u32]) -> Option<(&'a Record, String)> {
    for (at, number) in path.iter().enumerate() {
        let record = index.record(*number)?;
        let summary = index.pieces_of(*number).find_map(|(piece_number, piece)| match piece.what {
            What::Prompt { .. } => Some(index.label(piece_number).to_owned()),
            What::Command if reached_model(index, path, at) => Some(summarise(index.label(piece_number))),
            _ => None,
        });
        if let Some(summary) = summary {
            return Some((record, summary));
        }
        if !matches!(record.role, Role::Attachment | Role::System) {
            return None;
        }
    }
    None
}

fn branch(index: &Index, forest: &Forest, left: &Left) -> Option<Branch> {
    let mut path: Vec<u32> =
        std::iter::successors(
            Some(left.leaf),
            |record| {
                if *record == left.first { None } else { forest.parent(*record) }
            },
        )
        .take(left.nodes)
        .collect();
    path.reverse();
    let (prompt, summary) = first_prompt(index, &path)?;
    Some(Branch {
        leaf: index.node_id(left.leaf),
        parted_at: left.parted_at.map(|record| index.node_id(record)),
        summary,
        at: prompt.at(),
        nodes: left.nodes,
    })
}
