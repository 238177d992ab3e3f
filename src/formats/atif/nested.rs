//! Subagents: their records lie among those of the session, or in trajectories inside the document.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::events::MESSAGE;
use super::outline::{Outline, outline};
use super::read::Reader;
use super::record::{Record, raw_text};
use super::totals;
use crate::formats::labels::marker_text;
use crate::model::{EventKind, Locator, ProblemKind, Subagent, SubagentStatus, Usage};
use crate::store::ReadError;

/// How deep subagents may lie in one another.
const MAX_DEPTH: u32 = 4;
/// Subagents of one document.
const MAX_SUBAGENTS: usize = 4096;

impl Reader<'_> {
    /// A record of a subagent that lies among those of the session.
    pub fn sidechain(&mut self, at: usize, agent: &str, record: &Record<'_>) {
        let index = match self.sidechains.get(agent) {
            Some(index) => *index,
            None if self.subagents.len() >= MAX_SUBAGENTS => return,
            None => {
                self.subagents.push(subagent(agent, None));
                self.sidechains.insert(agent.to_owned(), self.subagents.len() - 1);
                self.subagents.len() - 1
            }
        };
        self.subagent_record(at, index, record);
    }

    fn subagent_record(&mut self, at: usize, index: usize, record: &Record<'_>) {
        let usage = self.records.get(at).map(|kept| kept.usage).unwrap_or_default();
        let main = std::mem::take(&mut self.events);
        if let Some(own) = self.subagents.get_mut(index) {
            own.usage.add(&usage);
            self.events = std::mem::take(own.events.list_mut());
        }
        let mut maker = self.maker(at);
        if !record.source.is("agent") {
            maker.push(EventKind::Notice, MESSAGE, &raw_text(record.message));
        } else {
            maker.response(record, None);
        }
        let events = std::mem::replace(&mut self.events, main);
        if let Some(own) = self.subagents.get_mut(index) {
            own.events = events.into();
        }
    }

    /// The trajectories that lie inside the document.
    pub fn embedded(&mut self, outline: &Outline, depth: u32, path: &str) -> Result<(), ReadError> {
        let Some(list) = outline.list("subagent_trajectories") else { return Ok(()) };
        for (number, span) in list.spans.iter().enumerate() {
            let path = format!("{path}subagent_trajectories[{number}]");
            if depth >= MAX_DEPTH || self.subagents.len() >= MAX_SUBAGENTS {
                let message = "subagents in subagents: the ones below are not read";
                self.problem(Locator::Key(path), span.offset, ProblemKind::Structure, message);
                return Ok(());
            }
            let range = span.offset..span.offset.saturating_add(span.len.into());
            self.embedded_one(range, span.line, depth, path)?;
        }
        Ok(())
    }

    fn embedded_one(&mut self, range: Range<u64>, line: u32, depth: u32, path: String) -> Result<(), ReadError> {
        let outline = outline(&self.file, range, line, self.observer.watch())?;
        let head = self.head(&outline)?;
        let text = |key: &str| head.get(key).and_then(Value::as_str);
        let id = text("trajectory_id").or_else(|| text("session_id")).unwrap_or(&path).to_owned();
        let name = head.get("agent").and_then(|agent| agent.get("name")).and_then(Value::as_str);
        let index = self.subagents.len();
        self.subagents.push(subagent(&id, name));
        let first = self.records.len();
        let mut number = 0;
        let list = outline.list("steps").cloned().unwrap_or_default();
        let main = std::mem::take(&mut self.events);
        for (at, span) in list.spans.iter().enumerate() {
            self.observer.watch().step(span.offset, self.file.len())?;
            let torn = list.torn && at + 1 == list.spans.len();
            self.element(*span, torn, &mut number, &mut |reader, at, record| {
                reader.subagent_record(at, index, record);
            })?;
        }
        let broken = std::mem::replace(&mut self.events, main);
        let owner: Arc<str> = path.as_str().into();
        for kept in self.records.iter_mut().skip(first) {
            kept.owner = Some(Arc::clone(&owner));
        }
        if let Some(own) = self.subagents.get_mut(index) {
            own.events.list_mut().extend(broken);
            own.events.list_mut().sort_by_key(|event| event.place);
            if let Some(usage) = head.get("final_metrics").and_then(totals::usage) {
                own.usage = usage;
            }
        }
        self.embedded(&outline, depth + 1, &format!("{path}."))
    }
}

fn subagent(id: &str, name: Option<&str>) -> Subagent {
    Subagent {
        id: marker_text(id),
        name: name.map(marker_text),
        status: SubagentStatus::Finished,
        call_id: None,
        path: None,
        usage: Usage::default(),
        events: Vec::new().into(),
    }
}
