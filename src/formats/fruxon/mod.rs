//! Fruxon: what its server returns and its command line prints about conversations with an agent and the agent's runs.
//!
//! There is no session file. A conversation is in the messages of a sandbox session or of a topic; what the agent did for
//! each of them is in traces, records, lists of approvals and streams, joined by the ids of runs. Files that are opened
//! together therefore make conversations together (`join`); each opens alone too. One record is told by its keys (`kind`),
//! files are cut into records (`read`), records give facts (`facts`), facts turns (`turns`), turns events and steps.
//!
//! A turn has no id: the id of the run that answers it stands for it, and is its step's; where no run is known or another
//! step has it already, the message's own id, or the turn's number. A fork of a step ends with that node, a revert of it
//! with the step before it. Only messages and streams can be cut; records of runs are shown.

mod account;
mod approvals;
mod body;
mod cut;
mod events;
mod facts;
mod family;
mod field;
mod frames;
mod inbound;
mod join;
mod kind;
mod prompts;
mod read;
mod replay;
mod revert;
mod rows;
mod session;
mod tell;
mod trace;
mod turns;
mod walk;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use super::detect::Sample;
use super::{Body, Cut, Family, Fork, Format, Origin, Reading, Recording, Refusal, ReplayTurn, Revert, record};
use crate::model::{Event, FormatName, Locator, Place, Session, summarise};
use crate::store::{ReadError, SourceFile, Watch};
use kind::{Kind, points};
use session::Conversation;

static FAMILY: Family = Family { list: family::list, open: family::open };

macro_rules! format {
    ($name:ident, $description:literal) => {
        Format {
            name: FormatName::$name,
            description: $description,
            recognise: |sample| points(sample, FormatName::$name),
            first_prompt,
            read: Reading::Together(&FAMILY),
        }
    };
}

pub const MESSAGES: Format = format!(FruxonMessages, "Fruxon sandbox session messages (.json)");
pub const TRANSCRIPT: Format = format!(FruxonTranscript, "Fruxon transcript of a topic or channel (.json)");
pub const STREAM: Format = format!(FruxonStream, "Fruxon stream (.ndjson, .sse)");
pub const TRACE: Format = format!(FruxonTrace, "Fruxon trace of a run (.json)");
pub const RECORD: Format = format!(FruxonRecord, "Fruxon records of runs, rewinds and forks (.json)");
pub const APPROVALS: Format = format!(FruxonApprovals, "Fruxon approvals (.json)");

/// The first message of a participant in the sample, as one line.
fn first_prompt(sample: &Sample) -> Option<String> {
    let rows = sample.records.iter().flat_map(|record| match record.get("items") {
        Some(Value::Array(rows)) => rows.as_slice(),
        _ => std::slice::from_ref(record),
    });
    let said = rows.filter_map(|row| Some((row, Kind::of(row).filter(|kind| kind.is_row())?)));
    let prompts = said.filter(|(row, kind)| !rows::is_agent_side(row, *kind));
    let first = prompts.min_by_key(|(row, kind)| rows::said_at(row, *kind))?;
    Some(summarise(&inbound::unframed(&rows::content(first.0, first.1))))
}

impl Conversation {
    fn spot(&self, place: Place) -> Option<(usize, usize, String)> {
        let pointer = self.details.get(&place).map(|detail| detail.spot.pointer.clone()).unwrap_or_default();
        Some((place.file.into(), usize::try_from(place.record).ok()?, pointer))
    }
}

impl Recording for Conversation {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.sources
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let (file, index, pointer) = self.spot(place)?;
        let data = self.files.get(file)?;
        let record = data.records.get(index)?;
        let locator = match data.locator(index) {
            // Of a document the place inside it tells more.
            Locator::Key(_) if !pointer.is_empty() => Locator::Key(pointer.trim_start_matches('/').replace('/', ".")),
            locator => locator,
        };
        Some(Origin { path: data.path_buf(), locator, offset: Some(record.span.offset) })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        let data = self.files.get(usize::from(place.file));
        let record = data.and_then(|data| Some((data, data.records.get(usize::try_from(place.record).ok()?)?)));
        record.map_or(Ok(Vec::new()), |(data, record)| record::raw(&data.file, record.span))
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        self.details.get(&event.place).map_or(Ok(Body::default()), |detail| body::body(&self.files, event, detail))
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        Ok(self.prompt_text(step_number))
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        replay::replay(self, step_number, emit)
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        Ok(replay::turns(self))
    }

    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
        cut::plan(self, cut, watch)
    }

    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
        revert::plan(self, step_number, watch)
    }
}
