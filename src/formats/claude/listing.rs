//! What a list of files says of a transcript that has not been opened: the start of its first prompt.

use serde_json::Value;

use super::super::detect::Sample;
use super::prompt::{Spoken, classify};
use crate::model::summarise;

/// The first prompt among the sample's records, as one line.
pub(super) fn first_prompt(sample: &Sample) -> Option<String> {
    sample.records.iter().find_map(|record| {
        let flag = |name: &str| record.get(name).and_then(Value::as_bool) == Some(true);
        if record.get("type")?.as_str()? != "user" || flag("isMeta") || flag("isSidechain") || flag("isCompactSummary")
        {
            return None;
        }
        let content = record.get("message")?.get("content")?;
        let text = match content {
            Value::String(text) => text.as_str(),
            blocks => blocks.as_array()?.iter().find_map(|block| block.get("text")?.as_str())?,
        };
        match classify(text) {
            Spoken::Person(text) => Some(summarise(text)),
            Spoken::Command(command) => Some(summarise(&command)),
            _ => None,
        }
    })
}
