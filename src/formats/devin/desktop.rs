//! What the desktop program keeps of a session: what it showed, message by message, without the nodes of the forest.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use super::pointers::Pointer;
use super::rows::about_file;
use super::shown::{MAX_MESSAGE_BYTES, Message, NO_NODES, Reading, plan};
use super::tables::{Table, text};
use crate::formats::{
    Body, Cut, Fork, Listed, Observer, OpenError, Origin, Recording, Refusal, ReplayTurn, Revert, SessionRef, document,
};
use crate::model::{Event, EventKind, FormatName, Locator, Place, Session, Step, StepKind};
use crate::store::{Database, Fault, Identity, ReadError, SourceFile, Watch};

/// Whether the file is such a copy, by its tables.
pub(super) fn is_copy(path: &Path) -> bool {
    let probe = |connection: &Connection| Ok(Table::probe(connection, "messages")?.has_all(&["position", "payload"]));
    Database::new(path).read(probe).unwrap_or(false)
}

/// A copy of a session.
pub(super) struct Copy {
    database: Database,
    files: Vec<Arc<SourceFile>>,
    /// The position of each message, by its place in the list.
    positions: Vec<i64>,
    session: Session,
}

/// Whether a copy is of the session with these prompts. Only its prompts are looked at.
pub(super) fn is_of(path: &Path, prompts: &HashSet<String>) -> bool {
    let find = |connection: &Connection| -> Result<bool, Fault> {
        let query = format!(
            "SELECT payload FROM messages WHERE kind = 'user_message' AND octet_length(payload) <= {MAX_MESSAGE_BYTES}"
        );
        let mut statement = connection.prepare(&query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let message = text(row, 0)?.and_then(|payload| Message::parse(None, &payload));
            let id = message.as_ref().and_then(|message| message.about("cognition.ai/clientMessageId"));
            if id.is_some_and(|id| prompts.contains(id)) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    Database::new(path).read(find).unwrap_or(false)
}

/// One line about a copy.
pub(super) fn listed(path: &Path) -> Result<Listed, OpenError> {
    let info = Database::new(path).read(info)?;
    let key = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let reference = SessionRef { paths: vec![path.to_owned()], key: key.clone() };
    Ok(Listed { id: key, title: info.title, ..Listed::new(reference, FormatName::DevinDesktop) })
}

/// Opens a copy; what the desktop program's list says of it is added.
pub(super) fn open(
    path: &Path,
    pointer: Option<&Pointer>,
    observer: &dyn Observer,
) -> Result<Arc<dyn Recording>, OpenError> {
    Ok(Arc::new(Copy::read(path, pointer, observer)?))
}

#[derive(Default)]
pub(super) struct Info {
    pub title: Option<String>,
    pub is_truncated: bool,
}

fn info(connection: &Connection) -> Result<Info, Fault> {
    if !Table::probe(connection, "meta")?.has_all(&["key", "value"]) {
        return Ok(Info::default());
    }
    let value = |key: &str| -> Result<Option<String>, Fault> {
        let mut statement = connection.prepare("SELECT value FROM meta WHERE key = ?1")?;
        Ok(statement.query_row([key], |row| Ok(text(row, 0).ok().flatten())).optional()?.flatten())
    };
    let info = value("info")?.and_then(|info| document::parse(info.as_bytes())).map(|info| info.value);
    let title = info.as_ref().and_then(|info| info.get("title")?.as_str()).filter(|title| !title.trim().is_empty());
    Ok(Info {
        title: title.map(str::to_owned),
        is_truncated: value("truncated")?.is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false")),
    })
}

impl Copy {
    pub fn read(path: &Path, pointer: Option<&Pointer>, observer: &dyn Observer) -> Result<Self, OpenError> {
        let database = Database::new(path);
        let source = Arc::new(SourceFile::open(path)?);
        let (reading, info) = database.read(|connection| {
            let table = Table::probe(connection, "messages")?;
            let mut reading = Reading::default();
            if table.has_all(&["position", "payload"]) {
                reading.messages(connection, &table, observer.watch())?;
            }
            Ok((reading, info(connection)?))
        })?;
        let log = SourceFile::open(&database.log_path()).ok().map(Arc::new);
        let mut session = reading.session(path, &info, pointer);
        if info.is_truncated {
            let message = "the copy was cut by the desktop program: its oldest messages are missing".to_owned();
            session.report.notice(about_file(message));
        }
        let is_at_home = path.parent().is_some_and(|folder| folder.ends_with("User/acp-messages"));
        for notice in database.notices(is_at_home) {
            session.report.notice(about_file(notice));
        }
        let files = std::iter::once(source).chain(log).collect();
        Ok(Self { database, files, positions: reading.positions, session })
    }

    fn payload(&self, place: Place) -> Result<Option<(Option<String>, String)>, ReadError> {
        let Some(position) = self.positions.get(place.record as usize).filter(|_| place.file == 0) else {
            return Ok(None);
        };
        self.database.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT kind, payload FROM messages WHERE position = ?1")?;
            let row =
                statement.query_row([position], |row| Ok((text(row, 0).ok().flatten(), text(row, 1).ok().flatten())));
            Ok(row.optional()?.map(|(kind, payload)| (kind, payload.unwrap_or_default())))
        })
    }

    fn message(&self, place: Place) -> Result<Option<Message>, ReadError> {
        Ok(self.payload(place)?.and_then(|(kind, payload)| Message::parse(kind, &payload)))
    }
}

impl Recording for Copy {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    fn watched(&self) -> Vec<(PathBuf, Option<Identity>)> {
        crate::formats::watched_database(&self.files, &self.database)
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let position = self.positions.get(place.record as usize).filter(|_| place.file == 0)?;
        Some(Origin { path: self.database.path().to_owned(), locator: Locator::Row(*position), offset: None })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        Ok(self.payload(place)?.map(|(_, payload)| payload.into_bytes()).unwrap_or_default())
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        if event.kind == EventKind::Unreadable {
            let text = String::from_utf8_lossy(&self.raw(event.place)?).into_owned();
            return Ok(Body { text, ..Body::default() });
        }
        let Some(message) = self.message(event.place)?.filter(|_| event.text_bytes > 0) else {
            return Ok(Body::default());
        };
        Ok(match event.kind {
            EventKind::Tool | EventKind::Question => {
                Body { input: message.input().map(Value::to_string), output: message.output(), ..Body::default() }
            }
            EventKind::Notice => Body { text: plan(&message.content), ..Body::default() },
            _ => Body { text: message.text(), ..Body::default() },
        })
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        let Some(step) = self.session.step(step_number) else { return Ok(String::new()) };
        let Some(message) = self.message(step.place)? else { return Ok(String::new()) };
        Ok(match step.kind {
            StepKind::Prompt => message.text(),
            StepKind::QuestionAnswer => message.output().unwrap_or_else(|| step.summary.clone()),
        })
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        let Some(step) = self.session.step(step_number) else { return Ok(()) };
        let mut last = None;
        let mut texts = Vec::new();
        for event in self.session.events_of(step) {
            // A message that makes several events is one line.
            if last.replace(event.place.record) == Some(event.place.record) {
                continue;
            }
            let Some((kind, payload)) = self.payload(event.place)? else { continue };
            let recorded = document::parse(payload.as_bytes()).map(|document| document.value);
            if event.kind == EventKind::Text {
                texts.extend(Message::parse(kind, &payload).map(|message| message.text()));
            }
            let recorded = recorded.unwrap_or(Value::String(payload));
            emit(serde_json::json!({"turn": step.number, "event": recorded}))?;
        }
        emit(serde_json::json!({
            "turn": step.number,
            "usage": step.usage,
            "text": texts.join("\n"),
            "conversation": self.session.id,
            "interrupted": null,
        }))
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        let prompt = |step: &Step| match step.kind {
            StepKind::Prompt => self.prompt(step.number).map(Some),
            StepKind::QuestionAnswer => Ok(None),
        };
        self.session.steps.iter().map(|step| Ok(ReplayTurn { prompt: prompt(step)?, changes: None })).collect()
    }

    fn fork(&self, _: Cut, _: Watch<'_>) -> Result<Fork, Refusal> {
        Err(Refusal::Rule(NO_NODES.to_owned()))
    }

    fn revert(&self, _: u32, _: Watch<'_>) -> Result<Revert, Refusal> {
        Err(Refusal::Rule(NO_NODES.to_owned()))
    }
}
