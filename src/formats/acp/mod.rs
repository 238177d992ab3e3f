//! Recorded streams of the Agent Client Protocol: JSON-RPC messages of a client and an agent, one a line, in whatever
//! envelope the recorder gave them.
//!
//! A stream may hold several sessions. Steps are the prompts that were sent and the questions that were answered; Devin's
//! revert extension tells them itself, and then its list wins. Else node ids are line numbers, from 0.

mod asks;
mod builder;
mod cut;
mod envelope;
mod facts;
mod finish;
mod history;
mod list;
mod read;
mod recording;
mod route;
mod stops;
mod updates;
mod usage;

use std::sync::Arc;

use serde_json::Value;

use super::detect::{Sample, acp_points};
use super::devin;
use super::{Format, Listed, Observer, OpenError, Part, Reading, Recording, SessionRef};
use crate::model::{FormatName, StepKind, summarise};
use crate::store::SourceFile;
pub use facts::{Said, facts};
use read::Stream;
pub use recording::Recorded;

pub const FORMAT: Format = Format {
    name: FormatName::Acp,
    description: "ACP recording (.ndjson, .jsonl)",
    recognise,
    first_prompt,
    // The store of the same session may be opened together with the recording.
    read: Reading::Together(&devin::FAMILY),
};

/// 3 points for each message that only this protocol has, 2 for a response of its form.
fn recognise(sample: &Sample) -> u32 {
    sample.records.iter().map(acp_points).sum()
}

fn first_prompt(sample: &Sample) -> Option<String> {
    sample.records.iter().find_map(|record| {
        let wrapped = envelope::unwrap(record.clone())?;
        let params = wrapped.message.get("params")?;
        let words = match route::text(&wrapped.message, "method")? {
            "session/prompt" => updates::blocks_text(asks::list(params, "prompt")),
            "session/update" => {
                let update = params.get("update")?;
                let is_user = route::text(update, "sessionUpdate") == Some("user_message_chunk");
                is_user.then(|| updates::block_text(update.get("content").unwrap_or(&Value::Null)))?
            }
            _ => return None,
        };
        Some(summarise(&words))
    })
}

fn read_part(part: &Part, observer: &dyn Observer) -> Result<Stream, OpenError> {
    Ok(read::read(Arc::new(SourceFile::open(&part.path)?), observer)?)
}

/// The session with this id in a recording, with [`facts`] for another record of the same session.
pub fn recorded(part: &Part, id: &str, observer: &dyn Observer) -> Result<Option<Recorded>, OpenError> {
    let stream = read_part(part, observer)?;
    let index = stream.sessions.iter().position(|builder| builder.id == id);
    Ok(index.map(|index| finish::finish(stream, index)))
}

/// The sessions of these recordings.
pub fn list(parts: &[Part], observer: &dyn Observer) -> Result<Vec<Listed>, OpenError> {
    let mut listed = Vec::new();
    for part in parts {
        let stream = read_part(part, observer)?;
        let is_one = stream.sessions.len() <= 1;
        let agent_cwd = |builder: &builder::Builder| builder.cwd.clone();
        for builder in &stream.sessions {
            let key = (!is_one).then(|| builder.id.clone());
            let prompt = builder.drafts.iter().find(|draft| draft.kind == StepKind::Prompt);
            let reference = SessionRef { paths: vec![part.path.clone()], key };
            let known = Listed::new(reference, FormatName::Acp);
            listed.push(Listed {
                id: Some(builder.id.clone()),
                title: builder.title.clone().or_else(|| prompt.map(|draft| draft.summary.clone())),
                cwd: agent_cwd(builder),
                model: builder.model.clone(),
                started_at: builder.started_at,
                ended_at: builder.ended_at.or(known.ended_at),
                ..known
            });
        }
        if stream.sessions.is_empty() {
            listed.push(Listed::new(SessionRef::file(&part.path), FormatName::Acp));
        }
    }
    Ok(listed)
}

/// Opens the session with this key, or the only one.
pub fn open(parts: &[Part], key: Option<&str>, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let path = parts.first().map(|part| part.path.clone()).unwrap_or_default();
    let mut found = None;
    for part in parts {
        let stream = read_part(part, observer)?;
        let index = match key {
            Some(key) => match stream.sessions.iter().position(|builder| builder.id == key) {
                Some(index) => index,
                None => continue,
            },
            None if stream.sessions.len() > 1 => return Err(OpenError::Several { path }),
            None => 0,
        };
        if found.is_some() && key.is_none() {
            return Err(OpenError::Several { path });
        }
        found = Some((stream, index));
        if key.is_some() {
            break;
        }
    }
    match found {
        Some((stream, index)) => Ok(Arc::new(finish::finish(stream, index))),
        None => Err(OpenError::NoSession { wanted: key.unwrap_or_default().to_owned(), path }),
    }
}

#[cfg(test)]
mod tests;
