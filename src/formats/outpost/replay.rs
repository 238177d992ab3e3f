//! Playing turns back by Outpost's replay rules, and what of them can be compared.

use serde_json::{Map, Value, json};

use super::journal::Journal;
use super::kind::Kind;
use super::markers::subject;
use super::turns::{Cause, Role, Turn, known_code};
use crate::formats::json as text;
use crate::formats::{ReplayChanges, ReplayTurn};
use crate::store::ReadError;

/// The fields around an event that replay takes off to get the event itself.
const ENVELOPE: [&str; 6] = ["seq", "at", "source", "scope", "label", "pass"];
/// What a turn's commits are when the journal has none at all.
const NOT_REPLAYABLE: &str = "recorded without logging.replayable";

type Emit<'a> = &'a mut dyn FnMut(Value) -> Result<(), ReadError>;

impl Journal {
    /// The lines of a turn.
    pub fn replay_turn(&self, number: u32, turn: &Turn, emit: Emit<'_>) -> Result<(), ReadError> {
        if !turn.resumed_by.is_empty() {
            emit(json!({ "turn": number, "steering": self.steering(turn)? }))?;
        }
        for (entry, _) in self.members(turn) {
            emit(json!({ "turn": number, "event": self.event(entry)? }))?;
        }
        if let Some(changes) = turn.changes
            && let Some(commits) = self.commits(changes)?
        {
            emit(json!({ "turn": number, "commits": commits }))?;
        }
        if let Some(handover) = turn.handover {
            return emit(json!({ "turn": number, "event": self.event(handover)? }));
        }
        if let Some(cause) = self.turns.cause(turn) {
            let (code, message) = self.failure(cause)?;
            return emit(json!({ "turn": number, "failure": { "code": code, "message": message } }));
        }
        let conversation = match turn.conversation {
            Some(entry) => self.with_entry(entry, |entry| entry.id.to_owned_option())?,
            None => None,
        };
        emit(json!({
            "turn": number,
            "usage": turn.usage().usage(),
            "text": self.turn_text(turn)?,
            "conversation": conversation,
            "interrupted": turn.interrupted,
        }))
    }

    /// An entry without its envelope, keys in their order. One that is nested too deeply is given as text.
    pub fn event(&self, number: u32) -> Result<Value, ReadError> {
        let recorded = self.text_of(number)?;
        let mut spare = String::new();
        let mut event: Map<String, Value> = match text::record(&recorded, &mut spare) {
            Ok(event) => event,
            Err(_) => return Ok(Value::String(recorded)),
        };
        for field in ENVELOPE {
            event.shift_remove(field);
        }
        Ok(Value::Object(event))
    }

    /// The entry's commits as replay would make them; `None` when they were not recorded.
    fn commits(&self, number: u32) -> Result<Option<Vec<Value>>, ReadError> {
        self.with_entry(number, |entry| {
            let commits = entry.recorded_commits().filter(|_| entry.unavailable.is_none())?;
            let line = |commit: &super::entry::RecordedCommit<'_>| {
                json!({
                    "oid": commit.oid.as_str(),
                    "tree": commit.tree.as_str(),
                    "subject": subject(commit.message.or_empty()),
                })
            };
            Some(commits.iter().map(line).collect())
        })
    }

    /// Code and message of a turn's failure.
    pub fn failure(&self, cause: Cause) -> Result<(String, String), ReadError> {
        match cause {
            Cause::Dispatch(number) => self.with_entry(number, |entry| {
                let fault = entry.fault().unwrap_or_default();
                (known_code(fault.code.as_str()).to_owned(), fault.message.or_empty().to_owned())
            }),
            Cause::Event(number) => {
                let message = self.with_entry(number, |entry| entry.message.and_then(text::string))?;
                Ok(("process".to_owned(), message.unwrap_or_default()))
            }
            Cause::Nothing => Ok(("process".to_owned(), "The recorded turn did not finish".to_owned())),
        }
    }

    /// A turn's text: its results, a line each; without any its texts in one; without any its raw protocol lines.
    pub fn turn_text(&self, turn: &Turn) -> Result<String, ReadError> {
        let numbers = |kind: Kind| {
            self.members(turn)
                .filter(move |(_, record)| record.role == Role::Event && record.kind == kind)
                .map(|(number, _)| number)
                .collect::<Vec<_>>()
        };
        let results = numbers(Kind::Result);
        if !results.is_empty() {
            let texts: Result<Vec<_>, _> = results.into_iter().map(|number| self.said(number)).collect();
            return Ok(texts?.join("\n"));
        }
        let texts = numbers(Kind::Text);
        if !texts.is_empty() {
            let texts: Result<Vec<_>, _> = texts.into_iter().map(|number| self.said(number)).collect();
            return Ok(texts?.concat());
        }
        let raw: Result<Vec<_>, _> = numbers(Kind::Raw)
            .into_iter()
            .map(|number| {
                self.with_entry(number, |entry| {
                    entry.value.map(|raw| text::string(raw).unwrap_or_else(|| raw.get().to_owned())).unwrap_or_default()
                })
            })
            .collect();
        Ok(raw?.join("\n"))
    }

    /// What of each turn another recording can be compared with.
    pub fn comparable_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        let turns = self.turns.list();
        let mut comparable = Vec::with_capacity(turns.len());
        for (index, turn) in turns.iter().enumerate() {
            let follows_handover = index
                .checked_sub(1)
                .and_then(|before| turns.get(before))
                .is_some_and(|before| before.handover.is_some());
            let is_compared = !follows_handover && turn.resumed_by.is_empty();
            let changes = match turn.changes {
                Some(number) => Some(self.changes(number)?),
                None if index + 1 == turns.len() && !self.turns.replayable => {
                    Some(ReplayChanges::Unavailable { reason: NOT_REPLAYABLE.into() })
                }
                None => None,
            };
            let prompt = if is_compared { Some(self.prompt_text(turn)?) } else { None };
            comparable.push(ReplayTurn { prompt, changes });
        }
        Ok(comparable)
    }

    fn changes(&self, number: u32) -> Result<ReplayChanges, ReadError> {
        self.with_entry(number, |entry| match (entry.unavailable(), entry.recorded_commits()) {
            (Some(reason), _) => ReplayChanges::Unavailable { reason },
            (None, Some(commits)) => ReplayChanges::Recorded {
                baseline_tree: entry.baseline().unwrap_or_default().tree.or_empty().to_owned(),
                trees: commits.iter().map(|commit| commit.tree.or_empty().to_owned()).collect(),
            },
            (None, None) => ReplayChanges::Unavailable { reason: "the commits cannot be read".into() },
        })
    }
}
