//! A session of the database, as it was read; its texts are read again from there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::OptionalExtension;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::chain::Node;
use super::events::{FIRST_CALL, SAID, THOUGHT};
use super::lock::Lock;
use super::question;
use super::recorded::{Recorded, object};
use super::relatives;
use super::rows::{Layout, Rows, about_file};
use super::session::{Assembled, assemble};
use super::steps::AnchorKind;
use super::{fork, replay, revert};
use crate::formats::{Body, Cut, Fork, Observer, OpenError, Origin, Recording, Refusal, ReplayTurn, Revert};
use crate::model::{Event, EventKind, Locator, Place, Session, Step, StepKind};
use crate::store::{Database, Identity, ReadError, SourceFile, Watch};

/// So much of a message is shown that cannot be taken apart.
const MAX_RAW_BYTES: usize = 8 * 1024 * 1024;

/// A session of a database.
pub(super) struct Stored {
    pub database: Database,
    pub files: Vec<Arc<SourceFile>>,
    pub rows: Rows,
    pub assembled: Assembled,
}

/// Reads a session of the database at `path`.
pub(super) fn open(path: &Path, id: &str, observer: &dyn Observer) -> Result<Stored, OpenError> {
    let database = Database::new(path);
    let source = Arc::new(SourceFile::open(path)?);
    let mut refusal = None;
    let (mut rows, relatives) = database.read(|connection| {
        let layout = Layout::probe(connection)?;
        refusal = layout.refusal();
        if refusal.is_some() {
            return Ok(Default::default());
        }
        let rows = layout.read(connection, id, observer.watch())?;
        let relatives = relatives::find(&layout, connection, &rows, observer.watch())?;
        Ok((rows, relatives))
    })?;
    if let Some(reason) = refusal {
        return Err(OpenError::Empty { reason: reason.to_owned(), path: path.to_owned() });
    }
    let is_at_home = path.with_file_name("session_locks").is_dir();
    for notice in database.notices(is_at_home) {
        rows.report.notice(about_file(notice));
    }
    let mut assembled = assemble(path, &mut rows, Lock::of(path, id));
    relatives::name(&mut assembled, &rows, relatives);
    // The log is where what the agent writes now is seen first.
    let log = SourceFile::open(&database.log_path()).ok().map(Arc::new);
    let files = std::iter::once(source).chain(log).collect();
    Ok(Stored { database, files, rows, assembled })
}

impl Stored {
    pub fn session_id(&self) -> &str {
        &self.rows.session.id
    }

    pub fn node(&self, place: Place) -> Option<&Node> {
        self.rows.forest.node(place.record).filter(|_| place.file == 0)
    }

    /// The node at a position of the conversation.
    pub fn node_at(&self, position: usize) -> Option<&Node> {
        self.rows.forest.node(*self.assembled.chain.nodes.get(position)?)
    }

    /// The bytes of a message as its row holds them.
    pub fn recorded(&self, node: &Node) -> Result<Vec<u8>, ReadError> {
        let found = self.database.read(|connection| {
            let query = "SELECT chat_message FROM message_nodes WHERE session_id = ?1 AND node_id = ?2";
            let mut statement = connection.prepare_cached(query)?;
            let bytes = statement.query_row((self.session_id(), node.id), |row| {
                Ok(match row.get_ref(0)? {
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
                    ValueRef::Integer(number) => number.to_string().into_bytes(),
                    ValueRef::Real(number) => number.to_string().into_bytes(),
                    ValueRef::Null => Vec::new(),
                })
            });
            Ok(bytes.optional()?)
        })?;
        found.ok_or_else(|| ReadError::Rewritten { path: self.database.path().to_owned() })
    }

    /// Reads a message again; one that cannot be read is an empty message.
    pub fn with_message<T>(&self, node: &Node, take: impl FnOnce(&Recorded<'_>) -> T) -> Result<T, ReadError> {
        let text = String::from_utf8_lossy(&self.recorded(node)?).into_owned();
        let mut spare = String::new();
        let message = object::<Recorded>(&text, &mut spare).map(|(message, _)| message).unwrap_or_default();
        // Nodes keep their numbers over rewrites, and messages their ids.
        if node.message.is_some() && message.message_id.as_str() != node.message_id() {
            return Err(ReadError::Rewritten { path: self.database.path().to_owned() });
        }
        Ok(take(&message))
    }

    pub fn content(&self, node: &Node) -> Result<String, ReadError> {
        self.with_message(node, |message| message.content.or_empty().to_owned())
    }

    pub fn step(&self, number: u32) -> Result<(usize, &Step), Refusal> {
        let steps = &self.assembled.session.steps;
        let none = || Refusal::NoStep { step: number, steps: steps.len() };
        let step = self.assembled.session.step(number).ok_or_else(none)?;
        Ok((number as usize - 1, step))
    }

    /// The whole prompt; of a question the questions with their answers, a line each.
    pub fn prompt_of(&self, at: usize, step: &Step) -> Result<String, ReadError> {
        let Some(node) = self.node(step.place) else { return Ok(String::new()) };
        if step.kind == StepKind::Prompt {
            return self.content(node);
        }
        let Some(AnchorKind::Question { call, answer }) = self.assembled.anchors.get(at).map(|anchor| anchor.kind)
        else {
            return Ok(String::new());
        };
        let answers = self.node_at(answer).and_then(|node| node.message.as_ref()?.result.as_ref()?.answers.as_deref());
        let asked = node.message.as_ref().and_then(|message| message.calls.get(call)).map(|call| &call.asked);
        let line = |(number, asked): (usize, &question::Asked)| {
            let chosen = question::chosen(answers.unwrap_or_default(), number).unwrap_or_default();
            format!("{}\n-> {}", asked.question, chosen.join(", "))
        };
        Ok(asked.into_iter().flatten().enumerate().map(line).collect::<Vec<_>>().join("\n"))
    }

    fn tool_body(&self, event: &Event, node: &Node) -> Result<Body, ReadError> {
        let call = usize::from(event.place.block.saturating_sub(FIRST_CALL));
        let input =
            self.with_message(node, |message| message.calls().nth(call).map(|call| call.arguments().into_owned()))?;
        // As compact JSON; what is none stays as it is.
        let input = input.map(|text| serde_json::from_str::<Value>(&text).map_or(text, |value| value.to_string()));
        let result = event.tool.as_ref().and_then(|tool| tool.result).and_then(|place| self.node(place));
        let Some(result) = result else { return Ok(Body { input, ..Body::default() }) };
        let mut output = self.content(result)?;
        let state = event.tool.as_ref().and_then(|tool| self.rows.states.get(tool.call_id.as_deref()?));
        let recorded = result.message.as_ref().and_then(|message| message.result.as_deref());
        if let Some(code) = super::calls::exit_code(state, recorded).filter(|code| *code != 0) {
            output.push_str(&format!("\n[exit code {code}]"));
        }
        Ok(Body { input, output: Some(output), attachments: attachments(result), ..Body::default() })
    }
}

/// The pictures of a message.
fn attachments(node: &Node) -> Vec<String> {
    let images = node.message.as_ref().map_or(0, |message| message.images);
    (0..images).map(|_| "image".to_owned()).collect()
}

impl Recording for Stored {
    fn session(&self) -> &Session {
        &self.assembled.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    fn watched(&self) -> Vec<(PathBuf, Option<Identity>)> {
        crate::formats::watched_database(&self.files, &self.database)
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let node = self.node(place)?;
        Some(Origin { path: self.database.path().to_owned(), locator: Locator::Row(node.row), offset: None })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        let Some(node) = self.node(place) else { return Ok(Vec::new()) };
        let mut bytes = self.recorded(node)?;
        let more = bytes.len().saturating_sub(MAX_RAW_BYTES);
        if more > 0 {
            bytes.truncate(MAX_RAW_BYTES);
            bytes.extend_from_slice(format!("\n… {more} bytes more").as_bytes());
        }
        Ok(bytes)
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        let Some(node) = self.node(event.place) else { return Ok(Body::default()) };
        let text = |text: String| Body { text, ..Body::default() };
        match event.kind {
            EventKind::Tool | EventKind::Question => self.tool_body(event, node),
            EventKind::ToolResult => {
                let output = Some(self.content(node)?);
                Ok(Body { output, attachments: attachments(node), ..Body::default() })
            }
            EventKind::Thinking if event.place.block == THOUGHT => self.with_message(node, |message| {
                text(
                    message
                        .thinking
                        .0
                        .as_ref()
                        .map(|thought| thought.thinking.or_empty().to_owned())
                        .unwrap_or_default(),
                )
            }),
            EventKind::Unreadable => Ok(text(String::from_utf8_lossy(&self.raw(event.place)?).into_owned())),
            _ if event.text_bytes > 0 && event.place.block == SAID => {
                Ok(Body { attachments: attachments(node), ..text(self.content(node)?) })
            }
            _ => Ok(Body::default()),
        }
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        self.step(step_number).map_or(Ok(String::new()), |(at, step)| self.prompt_of(at, step))
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        replay::replay(self, step_number, emit)
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        replay::turns(self)
    }

    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
        fork::plan(self, cut, watch)
    }

    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
        revert::plan(self, step_number, watch)
    }
}
