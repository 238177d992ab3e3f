//! What a revert of a step would come to, reckoned from the undo records. Only the agent itself can do it: it keeps the
//! session in memory, and the files of the workspace belong to it.

use std::collections::HashMap;

use serde::Deserialize;

use super::calls::Fate;
use super::recorded::object;
use super::scene::Scene;
use super::session::is_said;
use super::stored::Stored;
use super::workspace::{Look, Workspace};
use crate::formats::lenient::Text;
use crate::formats::{Dropped, Effect, FileAction, FileActionKind, Refusal, Revert};
use crate::model::StepKind;
use crate::store::Watch;

/// One undo record of a tool's result.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Undo<'a> {
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    path: Text<'a>,
    #[serde(borrow)]
    expected_post_hash: Text<'a>,
    #[serde(borrow)]
    original_content: Text<'a>,
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    description: Text<'a>,
}

/// What happened to a file since the step: the first record says what to put back, the last what the agent left.
struct Touched {
    kind: FileActionKind,
    left: Option<String>,
}

#[derive(Default)]
struct Undone {
    /// In the order in which files were touched first.
    paths: Vec<String>,
    files: HashMap<String, Touched>,
    irreversible: Vec<(String, String)>,
    warnings: Vec<String>,
}

pub(super) fn plan(stored: &Stored, number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
    let (at, step) = stored.step(number)?;
    if let Some(reason) = &step.revert_refusal {
        return Err(Refusal::Rule(reason.clone()));
    }
    let target = stored.assembled.targets.get(at).and_then(|targets| targets.revert);
    let start = target.map_or(0, |target| target + 1);
    let undone = undone(stored, start, watch)?;
    let mut warnings = undone.warnings;
    let conflicts = conflicts(stored, &undone.paths, &undone.files, watch, &mut warnings)?;
    let file_actions = (undone.paths.iter())
        .filter_map(|path| Some(FileAction { path: path.clone(), kind: undone.files.get(path)?.kind }))
        .collect();
    if step.kind == StepKind::QuestionAnswer {
        warnings.push("the whole message that asked is taken back: all of its questions are asked again".to_owned());
    }
    let scene = Scene::new(&stored.rows.forest, &stored.assembled.chain.nodes, &stored.rows.states);
    let dropped_nodes = || (start..stored.assembled.chain.nodes.len()).filter_map(|position| stored.node_at(position));
    let pending = dropped_nodes()
        .filter_map(|node| node.message.as_ref())
        .flat_map(|message| message.calls.iter())
        .filter(|call| scene.fate(call) == Fate::Pending)
        .map(|call| (call.name.to_string(), call.id.as_deref().map(str::to_owned)))
        .collect();
    let is_prompt = step.kind == StepKind::Prompt;
    Ok(Revert {
        effect: Effect::Preview(who_can(stored, number)),
        keeps_steps: u32::try_from(stored.assembled.anchors.iter().filter(|anchor| anchor.position < start).count())
            .unwrap_or(u32::MAX),
        dropped: Dropped {
            messages: dropped_nodes().filter(|node| is_said(node)).count() as u64,
            file_actions,
            irreversible: undone.irreversible,
            pending_approvals: pending,
            conflicts,
            ..Dropped::default()
        },
        prefill: if is_prompt { Some(stored.prompt_of(at, step)?) } else { None },
        prefill_at: step.at.filter(|_| is_prompt),
        estimate: Some("Stepline's estimate, from what the session records; Devin's own preview wins".to_owned()),
        rewind: None,
        warnings,
    })
}

fn who_can(stored: &Stored, number: u32) -> String {
    let how = format!("only Devin itself can revert it: open the session there and type /revert {number}");
    match stored.assembled.lock.sentence() {
        Some(lock) => format!("{how}; {lock}"),
        None => how,
    }
}

/// What is recorded about taking back the messages from a position of the conversation on.
fn undone(stored: &Stored, start: usize, watch: Watch<'_>) -> Result<Undone, Refusal> {
    let mut undone = Undone::default();
    let positions = start..stored.assembled.chain.nodes.len();
    let total = positions.len() as u64;
    for (done, position) in (0..).zip(positions) {
        watch.step(done, total).map_err(crate::store::ReadError::from)?;
        let Some(node) = stored.node_at(position) else { continue };
        let result = node.message.as_ref().and_then(|message| message.result.as_ref());
        if !result.is_some_and(|result| result.has_undo) {
            continue;
        }
        let recorded = stored.with_message(node, |message| {
            let undo = message.extensions().and_then(|extensions| extensions.undo);
            undo.map(|undo| undo.get().to_owned())
        })?;
        let records: Vec<Box<serde_json::value::RawValue>> =
            recorded.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        for record in records {
            let mut spare = String::new();
            match object::<Undo>(record.get(), &mut spare) {
                Some((record, _)) => undone.take(&record),
                None => undone.warnings.push(format!("an undo record of node {} is no object", node.id)),
            }
        }
    }
    Ok(undone)
}

impl Undone {
    fn take(&mut self, record: &Undo<'_>) {
        let kind = match record.kind.or_empty() {
            "irreversible" => {
                let tool = record.tool_name.or_empty().to_owned();
                return self.irreversible.push((tool, record.description.or_empty().to_owned()));
            }
            "delete_created_file" => FileActionKind::Delete,
            "restore_file" => FileActionKind::Restore,
            _ if record.original_content.as_str().is_some() => FileActionKind::Recreate,
            other => {
                let path = record.path.as_str().map(|path| format!(" about {path}")).unwrap_or_default();
                return self.warnings.push(format!("an undo record of an unknown kind, “{other}”{path}"));
            }
        };
        let Some(path) = record.path.as_str().filter(|path| !path.is_empty()) else {
            return self.warnings.push("an undo record names no file".to_owned());
        };
        let left = record.expected_post_hash.to_owned_option();
        match self.files.get_mut(path) {
            Some(touched) => touched.left = left,
            None => {
                self.paths.push(path.to_owned());
                self.files.insert(path.to_owned(), Touched { kind, left });
            }
        }
    }
}

/// The files that are no longer as the agent left them.
fn conflicts(
    stored: &Stored,
    paths: &[String],
    files: &HashMap<String, Touched>,
    watch: Watch<'_>,
    warnings: &mut Vec<String>,
) -> Result<Vec<String>, Refusal> {
    let mut conflicts = Vec::new();
    if paths.is_empty() {
        return Ok(conflicts);
    }
    let session = &stored.rows.session;
    let folders = session.cwd.iter().chain(&session.workspace_dirs);
    let workspace = Workspace::of(folders.map(String::as_str));
    if workspace.is_nowhere() {
        let folder = session.cwd.as_deref().unwrap_or("none is recorded");
        warnings
            .push(format!("the workspace is not on this machine ({folder}): whether its files changed is not known"));
        return Ok(conflicts);
    }
    let total = paths.len() as u64;
    for (done, path) in (0..).zip(paths) {
        watch.step(done, total).map_err(crate::store::ReadError::from)?;
        let Some(left) = files.get(path).and_then(|touched| touched.left.as_deref()) else { continue };
        match workspace.look(path, left) {
            Look::Same => {}
            Look::Changed => conflicts.push(path.clone()),
            Look::Unknown(why) => warnings.push(format!("whether it changed is not known, {why}: {path}")),
        }
    }
    Ok(conflicts)
}
