//! The text behind an event, read from the file when it is looked at.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::entry::Entry;
use super::journal::Journal;
use super::kind::Kind;
use super::patch;
use super::question;
use crate::formats::lenient::Object;
use crate::formats::{Body, json};
use crate::model::{Event, EventKind};
use crate::store::ReadError;

impl Journal {
    /// The text behind an event of this journal.
    pub fn body_of(&self, event: &Event) -> Result<Body, ReadError> {
        let number = event.place.record;
        if event.kind == EventKind::Unreadable {
            return Ok(Body { text: self.text_of(number)?, ..Body::default() });
        }
        if event.kind == EventKind::Question && event.place.is_extra() {
            return self.question_body(number);
        }
        let recorded = self.text_of(number)?;
        let mut spare = String::new();
        let entry: Entry = json::record(&recorded, &mut spare).unwrap_or_default();
        let mut body = Body::default();
        match entry.kind() {
            Kind::Tool => {
                body.input = entry.input.map(compact);
                if let Some(result) = event.tool.as_ref().and_then(|tool| tool.result) {
                    self.with_entry(result.record, |entry| add_result(&mut body, entry))?;
                }
            }
            Kind::ToolResult => add_result(&mut body, &entry),
            Kind::ToolOutput => body.output = entry.text.and_then(json::string),
            Kind::ToolDenied => body.text = entry.reason.or_empty().to_owned(),
            Kind::Raw => body.text = entry.value.map(spoken).unwrap_or_default(),
            Kind::WorkspaceCommits => body.text = commits_text(&entry, &mut self.blobs_before(number)?),
            Kind::DispatchFinished => {
                body.text =
                    entry.fault().map_or_else(|| stripped(&recorded), |fault| fault.message.or_empty().to_owned());
            }
            _ => {
                let said = entry.text.or(entry.message).and_then(json::string);
                body.text = said.unwrap_or_else(|| stripped(&recorded));
            }
        }
        Ok(body)
    }

    /// Contents that the commits recorded before an entry tell of.
    fn blobs_before(&self, number: u32) -> Result<patch::Blobs, ReadError> {
        let mut blobs = patch::Blobs::default();
        for (earlier, record) in (0..number).zip(&self.records) {
            if record.kind == Kind::WorkspaceCommits {
                self.with_entry(earlier, |entry| {
                    for commit in entry.recorded_commits().unwrap_or_default() {
                        patch::learn(&commit.patch.and_then(json::string).unwrap_or_default(), &mut blobs);
                    }
                })?;
            }
        }
        Ok(blobs)
    }

    fn question_body(&self, number: u32) -> Result<Body, ReadError> {
        // The block may begin in an entry before: then the question is found in the turn's whole text.
        let mut asked = question::find(&self.said(number)?);
        if asked.is_none()
            && let Some(turn) = self.turns.list().iter().rfind(|turn| turn.start < number)
        {
            asked = question::find(&self.turn_text(turn)?);
        }
        let Some(asked) = asked else { return Ok(Body::default()) };
        let mut text = asked.question;
        for choice in asked.choices {
            text.push_str("\n- ");
            text.push_str(&choice);
        }
        Ok(Body { text, ..Body::default() })
    }
}

fn add_result(body: &mut Body, entry: &Entry<'_>) {
    let preview = entry.preview.map(spoken).unwrap_or_default();
    if let Some(all) = entry.characters.0 {
        let kept = preview.encode_utf16().count() as u64;
        if all > kept {
            body.attachments.push(format!("only the first {kept} of {all} characters are recorded"));
        }
    }
    body.output = Some(preview);
}

/// A value as text: a string's own, of anything else its JSON.
fn spoken(raw: &RawValue) -> String {
    json::string(raw).unwrap_or_else(|| compact(raw))
}

/// JSON on one line, keys in their order.
fn compact(raw: &RawValue) -> String {
    // Nested more deeply than a value may be: as it is recorded.
    serde_json::from_str::<Value>(raw.get()).map_or_else(|_| raw.get().to_owned(), |value| value.to_string())
}

/// An entry as recorded, without its envelope and its kind.
fn stripped(recorded: &str) -> String {
    let Ok(mut fields) = serde_json::from_str::<Map<String, Value>>(recorded) else { return recorded.to_owned() };
    for field in ["at", "seq", "source", "scope", "label", "pass", "kind"] {
        fields.shift_remove(field);
    }
    if fields.is_empty() { String::new() } else { Value::Object(fields).to_string() }
}

/// Recorded commits with the files they change, line by line where the patch says what was in them.
fn commits_text(entry: &Entry<'_>, blobs: &mut patch::Blobs) -> String {
    if let Some(reason) = entry.unavailable() {
        return format!("The commits were not recorded: {reason}");
    }
    let mut text = String::new();
    for commit in entry.recorded_commits().unwrap_or_default() {
        let Object(author) = &commit.author;
        let author = author.as_ref().map(|author| author.name.or_empty()).unwrap_or_default();
        text.push_str(&format!("commit {}\nAuthor: {author}\n\n", commit.oid.or_empty()));
        text.push_str(commit.message.or_empty().trim_end());
        text.push('\n');
        for file in patch::read(&commit.patch.and_then(json::string).unwrap_or_default(), blobs) {
            text.push('\n');
            text.push_str(&file.headline());
            text.push('\n');
            if let Some(diff) = &file.diff {
                text.push_str(diff);
            }
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
