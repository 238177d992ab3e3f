//! Sessions for the window's tests: made by hand, with no file behind them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::formats::{Body, Cut, Fork, Origin, Recording, Refusal, ReplayTurn, Revert};
use crate::model::{Agent, Capability, Event, FormatName, Place, Report, Session, TitleSource, Usage};
use crate::store::{ReadError, SourceFile, Watch};

/// A session with the texts that were put into it.
pub struct Fake {
    pub session: Session,
    pub bodies: HashMap<usize, Body>,
    pub prompts: HashMap<u32, String>,
}

impl Recording for Fake {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &[]
    }

    fn origin(&self, _: Place) -> Option<Origin> {
        None
    }

    fn raw(&self, _: Place) -> Result<Vec<u8>, ReadError> {
        Ok(Vec::new())
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        let index = self.session.events.all().iter().position(|other| std::ptr::eq(other, event));
        Ok(index.and_then(|index| self.bodies.get(&index)).cloned().unwrap_or_default())
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        Ok(self.prompts.get(&step_number).cloned().unwrap_or_default())
    }

    fn replay(&self, _: u32, _: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        Ok(())
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        Ok(Vec::new())
    }

    fn fork(&self, _: Cut, _: Watch<'_>) -> Result<Fork, Refusal> {
        Err(Refusal::Rule("not here".into()))
    }

    fn revert(&self, _: u32, _: Watch<'_>) -> Result<Revert, Refusal> {
        Err(Refusal::Rule("not here".into()))
    }
}

impl Fake {
    /// A session without texts.
    pub fn of(session: Session) -> Self {
        Self { session, bodies: HashMap::new(), prompts: HashMap::new() }
    }
}

/// A session without anything.
pub fn empty() -> Session {
    Session {
        id: "s".into(),
        title: None,
        title_source: TitleSource::default(),
        format: FormatName::ClaudeCode,
        source: PathBuf::from("/tmp/cart.jsonl"),
        agent: Agent::default(),
        model: None,
        cwd: None,
        started_at: None,
        ended_at: None,
        head: None,
        nodes: 0,
        branches: Vec::new(),
        parent: None,
        relatives: Vec::new(),
        usage: Usage::default(),
        steps: Vec::new(),
        events: Vec::new().into(),
        subagents: Vec::new(),
        capabilities: vec![Capability::Fork, Capability::Revert, Capability::Replay],
        report: Report::default(),
    }
}
