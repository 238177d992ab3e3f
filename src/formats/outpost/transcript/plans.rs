//! What a fork or a revert of a conversation would write.
//!
//! A fork has Outpost's own form: a header with a new id and the old one as `parent`, then one `compaction` with all
//! messages up to the cut. Where the harness had reduced the history before the cut, that compaction and what follows it
//! stand as they were after it, so that the model sees what it saw.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;

use super::line::{Kind, Line};
use super::read::NOTHING_BEFORE;
use super::{Message, Transcript};
use crate::formats::outpost::content::Content;
use crate::formats::outpost::dropped::runs_commands;
use crate::formats::progress::Progress;
use crate::formats::{Cut, Dropped, Effect, Fork, Refusal, Revert, json as text};
use crate::model::EventKind;
use crate::store::{ReadError, Rewrite, Watch, now};

pub fn fork(transcript: &Transcript, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
    let (number, keeps) = match cut {
        Cut::After(number) => (number, number),
        Cut::Before(number) => (number, number.saturating_sub(1)),
    };
    let message = message_of(transcript, number)?;
    let end = match cut {
        Cut::Before(_) => message,
        Cut::After(_) => transcript.prompts.get(number as usize).copied().unwrap_or(transcript.messages.len()),
    };
    if end == 0 {
        return Err(Refusal::Rule(NOTHING_BEFORE.to_owned()));
    }
    let mut warnings = Vec::new();
    let end = without_open_calls(transcript, end, keeps, &mut warnings);
    let session_id = uuid::Uuid::new_v4().to_string();
    let rewrite = Writer::new(transcript, watch)?.write(&session_id, end, &mut warnings)?;
    Ok(Fork {
        file_name: format!("{session_id}.jsonl"),
        session_id,
        rewrite,
        companions: Vec::new(),
        steps: keeps,
        warnings,
    })
}

pub fn revert(transcript: &Transcript, number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
    let index = message_of(transcript, number)?;
    if index == 0 {
        return Err(Refusal::Rule(NOTHING_BEFORE.to_owned()));
    }
    let Some(message) = transcript.messages.get(index) else { return Err(Refusal::Rule(NOTHING_BEFORE.to_owned())) };
    let mut warnings = Vec::new();
    let is_inherited = transcript.record_of(message.record).is_some_and(|record| record.kind == Kind::Inherited);
    let effect = match &transcript.content {
        Content::File(file) if !is_inherited => {
            if !message.results.is_empty() {
                warnings.push("The prompt came with results of calls, which go with it".to_owned());
            }
            let start = transcript.record_of(message.record).map_or(0, |record| record.span.offset);
            let mut rewrite = Rewrite::new(Arc::clone(file));
            rewrite.copy(0, start);
            let before = file.read_at(start.saturating_sub(1), usize::from(start > 0))?;
            if before != b"\n" {
                rewrite.push(b"\n");
            }
            Effect::Cut(rewrite)
        }
        _ => {
            let fork = fork(transcript, Cut::Before(number), watch)?;
            warnings.extend(fork.warnings.iter().cloned());
            warnings.push(match transcript.is_stored {
                true => "Outpost's storage is not changed: what stays is written as a new conversation".to_owned(),
                false => {
                    "The step is part of an inherited history that is one record: what stays is written as a new conversation"
                        .to_owned()
                }
            });
            Effect::Export(Box::new(fork))
        }
    };
    Ok(Revert {
        effect,
        keeps_steps: number - 1,
        dropped: dropped(transcript, number, index),
        prefill: Some(transcript.text_of(message)?),
        prefill_at: None,
        estimate: None,
        rewind: None,
        warnings,
    })
}

/// The message that a step begins with.
fn message_of(transcript: &Transcript, number: u32) -> Result<usize, Refusal> {
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let message = index.and_then(|index| transcript.prompts.get(index)).copied();
    message.ok_or(Refusal::NoStep { step: number, steps: transcript.prompts.len() })
}

fn dropped(transcript: &Transcript, number: u32, message: usize) -> Dropped {
    let session = &transcript.session;
    let start = session.step(number).map_or(session.events.len(), |step| step.events.start);
    let events = session.events.all().get(start..).unwrap_or_default();
    let tools = events.iter().filter(|event| event.kind == EventKind::Tool);
    let commands = tools.filter_map(|event| Some((event.tool.as_ref()?.name.clone(), event.label.to_string())));
    Dropped {
        messages: transcript.messages.len().saturating_sub(message) as u64,
        irreversible: commands.filter(|(name, _)| runs_commands(name)).collect(),
        ..Dropped::default()
    }
}

/// Where the messages that a fork keeps end: a conversation may not end in a call without a result.
fn without_open_calls(transcript: &Transcript, end: usize, keeps: u32, warnings: &mut Vec<String>) -> usize {
    let last_prompt = (keeps as usize).checked_sub(1).and_then(|index| transcript.prompts.get(index));
    let first = last_prompt.map_or(0, |prompt| prompt + 1);
    let turn = transcript.messages.get(first..end).unwrap_or_default();
    let results: HashSet<&str> = turn.iter().flat_map(|message| &message.results).map(AsRef::as_ref).collect();
    let is_open = |message: &Message| message.calls.iter().any(|id| !results.contains(id.as_ref()));
    // Calls further up were left open by the conversation itself, and it went on.
    let calling = turn.iter().rposition(|message| !message.calls.is_empty());
    let Some(open) = calling.filter(|index| turn.get(*index).is_some_and(is_open)).map(|index| first + index) else {
        return end;
    };
    if open == 0 {
        return end;
    }
    let gone = end - open;
    let messages = if gone == 1 { "1 message is".to_owned() } else { format!("{gone} messages are") };
    warnings.push(format!("{messages} left out at the end: a call there has no result, and a fork may not end in one"));
    open
}

/// Puts the new file together.
struct Writer<'a> {
    transcript: &'a Transcript,
    out: Rewrite,
    progress: Progress<'a>,
}

impl<'a> Writer<'a> {
    fn new(transcript: &'a Transcript, watch: Watch<'a>) -> Result<Self, Refusal> {
        let Some(file) = transcript.files.first() else {
            return Err(Refusal::Rule("there is no file to copy from".to_owned()));
        };
        let progress = Progress::new(watch, transcript.content.len());
        Ok(Self { transcript, out: Rewrite::new(Arc::clone(file)), progress })
    }

    /// The conversation of the first `end` messages.
    fn write(mut self, id: &str, end: usize, warnings: &mut Vec<String>) -> Result<Rewrite, ReadError> {
        let transcript = self.transcript;
        let next = transcript.messages.get(end).map_or(transcript.records.len(), |message| message.record as usize);
        let kept = transcript.messages.get(..end).unwrap_or_default();
        // Where the harness reduced the history itself.
        let before = transcript.records.get(..next).unwrap_or_default();
        let reduced = before.iter().position(|record| record.kind == Kind::Compaction);
        let history = kept.iter().take_while(|message| reduced.is_none_or(|at| (message.record as usize) < at)).count();
        self.header(id)?;
        self.history(kept.get(..history).unwrap_or_default())?;
        if let Some(reduced) = reduced {
            self.lines(reduced..next)?;
        }
        let lost = before.iter().filter(|record| matches!(record.kind, Kind::Unknown | Kind::Unreadable)).count();
        if lost > 0 {
            let records = if lost == 1 { "1 record is".to_owned() } else { format!("{lost} records are") };
            warnings.push(format!("{records} left out that Outpost would refuse; the reading report names them"));
        }
        Ok(self.out)
    }

    fn header(&mut self, id: &str) -> Result<(), ReadError> {
        let session = &self.transcript.session;
        let number = self.transcript.records.iter().position(|record| record.kind == Kind::Session);
        let number = u32::try_from(number.unwrap_or(usize::MAX)).unwrap_or(u32::MAX);
        let (version, model) = self.transcript.with_line(number, |line| (line.version.0, line.model_name()))?;
        let header = json!({
            "type": "session",
            // A header without a version that Outpost knows becomes one that it takes for sure.
            "version": version.filter(|version| matches!(version, 1 | 2)).unwrap_or(2),
            "id": id,
            "model": model.or_else(|| session.model.clone()).unwrap_or_default(),
            "createdAt": now(),
            "parent": session.id,
        });
        self.out.push(format!("{header}\n").as_bytes());
        Ok(())
    }

    /// One compaction with these messages, each as it was written.
    fn history(&mut self, messages: &[Message]) -> Result<(), ReadError> {
        self.out.push(b"{\"type\":\"compaction\",\"messages\":[");
        let mut is_first = true;
        for message in messages {
            if !std::mem::take(&mut is_first) {
                self.out.push(b",");
            }
            self.message(message)?;
        }
        self.out.push(b"]}\n");
        Ok(())
    }

    /// The JSON of a message: that stretch of the file, where the file has it as it is.
    fn message(&mut self, message: &Message) -> Result<(), ReadError> {
        let Some(record) = self.transcript.record_of(message.record) else { return Ok(()) };
        self.progress.reach(record.span.offset)?;
        let is_file = matches!(self.transcript.content, Content::File(_));
        if record.kind == Kind::Inherited {
            match &record.held {
                None if is_file => self.out.copy(record.span.offset, record.span.len.into()),
                _ => self.out.push(self.transcript.recorded(message.record)?.as_bytes()),
            }
            return Ok(());
        }
        let bytes = self.transcript.content.read(record.span)?;
        let readable = text::readable(&bytes);
        let mut spare = String::new();
        let line: Line = text::record(&readable.text, &mut spare).unwrap_or_default();
        let Some(raw) = line.said().first().map(|said| said.raw.get()) else { return Ok(()) };
        match text::offset_in(&readable.text, raw).filter(|_| is_file && readable.repair.is_none()) {
            Some(at) => {
                let part = readable.span(record.span, at, raw.len());
                self.out.copy(part.offset, part.len.into());
            }
            None => self.out.push(raw.as_bytes()),
        }
        Ok(())
    }

    /// Lines as they are, without those that Outpost would refuse.
    fn lines(&mut self, numbers: std::ops::Range<usize>) -> Result<(), ReadError> {
        for record in self.transcript.records.get(numbers).unwrap_or_default() {
            if !matches!(record.kind, Kind::Message | Kind::Compaction | Kind::ModelSelection) {
                continue;
            }
            match &self.transcript.content {
                Content::File(_) => self.out.copy(record.span.offset, record.span.len.into()),
                content => self.out.push(&content.read(record.span)?),
            }
            self.out.push(b"\n");
            self.progress.reach(record.span.offset)?;
        }
        Ok(())
    }
}
