//! Sessions made by hand, and a window that shows only the strip.

use std::sync::Arc;

use egui::Vec2;
use egui_kittest::Harness;

use super::super::{TimelineState, show};
use crate::model::*;
use crate::ui::Scene;
use crate::ui::tests::fixture::Fake;
pub use crate::ui::tests::fixture::empty;
use crate::ui::theme::{self, Theme};
use crate::workspace::Request;
use crate::workspace::document::{Document, DocumentId};
use crate::workspace::outline::Outlined;

/// 2026-09-29 14:00 UTC.
const START_MS: i64 = 1_790_690_400_000;

pub fn at(seconds: f64) -> Timestamp {
    Timestamp(START_MS + (seconds * 1_000.0) as i64)
}

/// Begins a step.
pub fn step(session: &mut Session, kind: StepKind, summary: &str, seconds: Option<f64>) {
    let number = session.steps.len() as u32 + 1;
    session.steps.push(Step {
        number,
        kind,
        step_id: NodeId::Number(u64::from(number)),
        user_message_id: None,
        tool_call_id: None,
        question_node_id: None,
        revert_target: None,
        fork_target: None,
        summary: summary.to_owned(),
        at: seconds.map(at),
        ended_at: None,
        place: Place { file: 0, record: 1_000_000 + number, block: 0 },
        text_bytes: 0,
        origin: None,
        events: session.events.len()..session.events.len(),
        model: None,
        usage: Usage::default(),
        outcome: Outcome::Done,
        fork_refusal: None,
        revert_refusal: None,
    });
}

/// Adds an event to the last step.
pub fn event(session: &mut Session, seconds: Option<f64>, fact: Option<Fact>) {
    let at = seconds.map(at);
    let record = session.events.len() as u32;
    session.events.list_mut().push(Event {
        kind: EventKind::Tool,
        node: NodeId::Number(u64::from(record)),
        at,
        duration_ms: None,
        place: Place { file: 0, record, block: 0 },
        label: "cargo test".into(),
        text_bytes: 0,
        tool: None,
        marker: fact.map(|fact| Box::new(Marker::recorded(fact, at))),
        folded: false,
    });
    let end = session.events.len();
    if let Some(step) = session.steps.last_mut() {
        step.events.end = end;
    }
}

pub fn approval(decision: Decision) -> Fact {
    Fact::Approval {
        tool: "Bash".to_owned(),
        tool_call_id: None,
        decision,
        by: Some(if decision == Decision::Auto { "rule" } else { "user" }.to_owned()),
        reason: None,
        waited_ms: None,
        asked: Asked::default(),
    }
}

pub fn fallback() -> Fact {
    Fact::Fallback {
        from: Some("claude-opus".to_owned()),
        to: Some("claude-sonnet".to_owned()),
        trigger: Some("overloaded".to_owned()),
        reset_at: None,
        message: None,
    }
}

pub fn failure() -> Fact {
    Fact::Failure { code: None, message: "exit 1".to_owned() }
}

pub fn commits() -> Fact {
    Fact::Commits { commits: Vec::new(), unavailable: Some("no repository".to_owned()) }
}

fn question() -> Fact {
    Fact::Question {
        question: "Which?".to_owned(),
        options: Vec::new(),
        answers: vec!["SQLite".to_owned()],
        state: QuestionState::Answered,
    }
}

/// Eighteen steps over an hour and a half, with two long pauses.
pub fn story() -> Session {
    let mut session = empty();
    let durations =
        [130.0, 70.0, 52.0, 96.0, 60.0, 34.0, 60.0, 118.0, 44.0, 66.0, 50.0, 148.0, 2.0, 84.0, 60.0, 90.0, 70.0, 45.0];
    let mut now = 0.0;
    for (index, took) in durations.into_iter().enumerate() {
        if index == 8 {
            now += 48.0 * 60.0;
        }
        if index == 14 {
            now += 31.0 * 60.0;
        }
        let kind = if index % 4 == 3 { StepKind::QuestionAnswer } else { StepKind::Prompt };
        step(&mut session, kind, &format!("Task number {}", index + 1), Some(now));
        let events = 4 + index % 5 * 2;
        for event_index in 0..=events {
            let fact = match (index, event_index) {
                (0, 1..5) => Some(approval(Decision::Auto)),
                (1 | 4 | 11 | 13, 2) => Some(approval(Decision::Granted)),
                (8 | 11 | 16, 3) => Some(approval(Decision::Denied)),
                (7 | 12 | 15, 4) => Some(fallback()),
                (6 | 13, 3) => Some(failure()),
                (3 | 9 | 14, 4) => Some(commits()),
                (3 | 7 | 11, 0) => Some(question()),
                (17, 4) => Some(approval(Decision::Pending)),
                _ => None,
            };
            event(&mut session, Some(now + took * event_index as f64 / events as f64), fact);
        }
        now += took + 12.0;
    }
    session
}

/// A session of steps that each have ten events, a second apart, every fifth of which is marked.
pub fn long(events: usize) -> Session {
    let mut session = empty();
    for index in 0..events {
        let seconds = index as f64;
        if index % 10 == 0 {
            step(&mut session, StepKind::Prompt, "More", Some(seconds));
        }
        let fact = match index % 20 {
            5 => Some(approval(Decision::Granted)),
            10 => Some(failure()),
            15 => Some(fallback()),
            0 => Some(approval(Decision::Denied)),
            _ => None,
        };
        event(&mut session, Some(seconds), fact);
    }
    session
}

/// The strip and what it draws from.
pub struct App {
    pub document: Document,
    pub state: TimelineState,
    pub requests: Vec<Request>,
    pub reveal: u64,
    session: Arc<Fake>,
}

impl App {
    pub fn new(session: Session) -> Self {
        let mut document = Document::new(DocumentId(1), crate::formats::SessionRef::file("s.jsonl".as_ref()));
        let session = Arc::new(Fake::of(session));
        document.set_read(Outlined::new(session.clone()));
        document.select_step(1);
        Self { document, state: TimelineState::default(), requests: Vec::new(), reveal: 0, session }
    }

    pub fn session(&self) -> &Session {
        &self.session.session
    }

    /// Reads the file again.
    pub fn read(&mut self, session: Session) {
        self.session = Arc::new(Fake::of(session));
        self.document.set_read(Outlined::new(self.session.clone()));
    }

    pub fn show(&mut self, ui: &mut egui::Ui) {
        let mut scene = Scene {
            theme: Theme::of(ui.ctx()),
            document: &self.document,
            recording: &*self.session,
            session: &self.session.session,
            requests: &mut self.requests,
            reveal: self.reveal,
        };
        show(ui, &mut scene, &mut self.state);
    }
}

/// A window of so many points that shows the strip of a session.
pub fn window(session: Session, size: impl Into<Vec2>, theme: egui::Theme) -> Harness<'static, App> {
    let mut harness = Harness::builder()
        .with_size(size)
        .with_theme(theme)
        .with_step_dt(1.0 / 60.0)
        .with_context_setup(theme::install)
        .build_ui_state(|ui, app: &mut App| app.show(ui), App::new(session));
    harness.run();
    harness
}
