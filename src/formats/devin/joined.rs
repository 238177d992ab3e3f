//! A session of the database with what other recordings of the same session know: which approvals were asked for and
//! who gave them, which model failed, when the user steered. The database keeps none of this.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::formats::acp::Said;
use crate::formats::{Body, Cut, Fork, Origin, Recording, Refusal, ReplayTurn, Revert};
use crate::model::{
    Event, EventKind, Evidence, Fact, Marker, MarkerKind, Place, QuestionState, Session, StepKind, Timestamp,
};
use crate::store::{Identity, ReadError, SourceFile, Watch};

/// Another recording of a session, and the facts that it adds.
pub type Other = (Arc<dyn Recording>, Vec<Said>);

/// A session of the database, and recordings that add to it.
struct Joined {
    base: Arc<dyn Recording>,
    others: Vec<Arc<dyn Recording>>,
    files: Vec<Arc<SourceFile>>,
    session: Session,
}

/// Adds the facts of other recordings to a session, each as recorded: after the call that it is about, else in the turn of
/// its prompt. What was only concluded about the same goes.
pub fn join(base: Arc<dyn Recording>, others: Vec<Other>) -> Arc<dyn Recording> {
    if others.is_empty() {
        return base;
    }
    let mut session = base.session().clone();
    let mut files = base.files().to_vec();
    let mut recordings = Vec::new();
    for (other, said) in others {
        let shift = u16::try_from(files.len()).unwrap_or(u16::MAX);
        if session.title_source < other.session().title_source && other.session().title.is_some() {
            session.title.clone_from(&other.session().title);
            session.title_source = other.session().title_source;
        }
        session.cwd = session.cwd.or_else(|| other.session().cwd.clone());
        add(&mut session, said, shift);
        files.extend(other.files().iter().cloned());
        recordings.push(other);
    }
    Arc::new(Joined { base, others: recordings, files, session })
}

/// Where a fact goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Spot {
    /// After the event with this number.
    After(usize),
    /// Before all events of the step with this place in the list.
    First(usize),
}

/// Puts facts into the events of a session; `shift` is the number of the first file of their recording.
fn add(session: &mut Session, said: Vec<Said>, shift: u16) {
    let mut added: HashMap<Spot, Vec<Event>> = HashMap::new();
    let calls: HashMap<String, usize> = (session.events.iter().enumerate())
        .filter_map(|(at, event)| Some((event.tool.as_ref()?.call_id.clone()?, at)))
        .collect();
    let steps: HashMap<String, usize> = (session.steps.iter().enumerate())
        .filter_map(|(at, step)| Some((step.user_message_id.as_ref()?.to_string(), at)))
        .collect();
    let mut gone = HashSet::new();
    for said in said {
        let call = said.tool_call_id.as_ref().and_then(|id| calls.get(id)).copied();
        let prompt = said.user_message_id.as_ref().and_then(|id| steps.get(id)).copied();
        let spot = call.map(Spot::After).or_else(|| in_turn(session, prompt?, said.at));
        let Some(spot) = spot.filter(|_| !is_told(session, call, &said.fact)) else { continue };
        gone.extend(concluded_about(session, spot, call, &said.fact));
        added.entry(spot).or_default().push(event(session, call, &said, shift));
    }
    insert(session, added, &gone);
}

/// The spot in a prompt's turn, over the questions in it, after all that is not later.
fn in_turn(session: &Session, prompt: usize, at: Option<Timestamp>) -> Option<Spot> {
    let start = session.steps.get(prompt)?.events.start;
    let next = session.steps.get(prompt + 1..)?.iter().find(|step| step.kind == StepKind::Prompt);
    let end = next.map_or(session.events.len(), |next| next.events.start);
    let events = session.events.get(start..end)?;
    let last = events.iter().rposition(|event| at.is_none_or(|at| event.at.is_none_or(|other| other <= at)));
    Some(last.map_or(Spot::First(prompt), |last| Spot::After(start + last)))
}

/// Whether the session records the same already.
fn is_told(session: &Session, call: Option<usize>, fact: &Fact) -> bool {
    let id = call.and_then(|call| session.events.get(call)?.tool.as_ref()?.call_id.as_deref());
    let recorded = session.events.iter().filter_map(|event| event.marker.as_deref());
    recorded.filter(|marker| marker.evidence == Evidence::Recorded).any(|marker| match (&marker.fact, fact) {
        (Fact::Approval { tool_call_id: Some(own), decision: told, .. }, Fact::Approval { decision, .. }) => {
            id == Some(own) && told == decision
        }
        // Asked again after a revert, it may have been answered otherwise then: what counts is what is stored.
        (Fact::Question { question: told, state: QuestionState::Answered, .. }, Fact::Question { question, .. }) => {
            told == question
        }
        _ => false,
    })
}

/// What was concluded near `place` and is recorded now: a call that seemed to wait, a model that seemed to fail.
fn concluded_about(session: &Session, spot: Spot, call: Option<usize>, fact: &Fact) -> Option<usize> {
    let is_concluded = |event: &Event| {
        event
            .marker
            .as_deref()
            .is_some_and(|marker| marker.evidence == Evidence::Inferred && marker.kind() == fact.kind())
    };
    let near = match (call, fact.kind()) {
        (Some(call), MarkerKind::Approval | MarkerKind::Denial) => call..call.saturating_add(3),
        (_, MarkerKind::Fallback | MarkerKind::Interruption) => {
            let step = match spot {
                Spot::After(event) => session.step_of_event(event),
                Spot::First(step) => session.steps.get(step),
            };
            step?.events.clone()
        }
        _ => return None,
    };
    near.filter(|at| *at < session.events.len()).find(|at| session.events.get(*at).is_some_and(is_concluded))
}

fn event(session: &Session, call: Option<usize>, said: &Said, shift: u16) -> Event {
    let near = call.and_then(|call| session.events.get(call)).or(session.events.first());
    let kind = match said.fact.kind() {
        MarkerKind::Question => EventKind::Question,
        MarkerKind::Approval | MarkerKind::Denial => EventKind::Approval,
        MarkerKind::Fallback => EventKind::Fallback,
        MarkerKind::Retry => EventKind::Retry,
        MarkerKind::Failure => EventKind::Failure,
        MarkerKind::Quota => EventKind::Quota,
        MarkerKind::Interruption => EventKind::Interruption,
        MarkerKind::Steering => EventKind::Steering,
        MarkerKind::Commits => EventKind::Commits,
        MarkerKind::Compaction => EventKind::Compaction,
        MarkerKind::Subagent => EventKind::Subagent,
    };
    Event {
        kind,
        node: near.map_or(crate::model::NodeId::Number(0), |near| near.node.clone()),
        at: said.at,
        duration_ms: None,
        place: Place { file: said.node_place.file.saturating_add(shift), block: Place::EXTRA, ..said.node_place },
        label: kind.word().into(),
        text_bytes: 0,
        tool: None,
        marker: Some(Box::new(Marker::recorded(said.fact.clone(), said.at))),
        folded: kind == EventKind::Approval && call.is_some(),
    }
}

/// Puts events to their spots and takes others out. Turns follow each other: each ends where the next begins.
fn insert(session: &mut Session, mut added: HashMap<Spot, Vec<Event>>, gone: &HashSet<usize>) {
    let old = std::mem::take(&mut session.events);
    let total = old.len();
    let mut events = Vec::with_capacity(total);
    let mut old = old.into_iter();
    let mut steps = (0..).zip(session.steps.iter_mut()).peekable();
    for at in 0..=total {
        while let Some((number, step)) = steps.next_if(|(_, step)| step.events.start <= at) {
            step.events.start = events.len();
            events.extend(added.remove(&Spot::First(number)).into_iter().flatten());
        }
        events.extend(old.next().filter(|_| !gone.contains(&at)));
        events.extend(added.remove(&Spot::After(at)).into_iter().flatten());
    }
    let mut end = events.len();
    for step in session.steps.iter_mut().rev() {
        step.events.end = std::mem::replace(&mut end, step.events.start);
    }
    session.events = events;
}

impl Joined {
    /// The recording that a file belongs to, and the number that the file has there.
    fn owner(&self, file: u16) -> (&dyn Recording, u16) {
        let mut left = usize::from(file);
        let mut owner = &self.base;
        for next in &self.others {
            if left < owner.files().len() {
                break;
            }
            left -= owner.files().len();
            owner = next;
        }
        (&**owner, u16::try_from(left).unwrap_or(u16::MAX))
    }
}

impl Recording for Joined {
    fn session(&self) -> &Session {
        &self.session
    }

    fn files(&self) -> &[Arc<SourceFile>] {
        &self.files
    }

    fn watched(&self) -> Vec<(PathBuf, Option<Identity>)> {
        std::iter::once(&self.base).chain(&self.others).flat_map(|recording| recording.watched()).collect()
    }

    fn origin(&self, place: Place) -> Option<Origin> {
        let (owner, file) = self.owner(place.file);
        owner.origin(Place { file, ..place })
    }

    fn raw(&self, place: Place) -> Result<Vec<u8>, ReadError> {
        let (owner, file) = self.owner(place.file);
        owner.raw(Place { file, ..place })
    }

    fn body(&self, event: &Event) -> Result<Body, ReadError> {
        let (owner, file) = self.owner(event.place.file);
        let mut event = event.clone();
        event.place.file = file;
        owner.body(&event)
    }

    fn prompt(&self, step_number: u32) -> Result<String, ReadError> {
        self.base.prompt(step_number)
    }

    fn replay(&self, step_number: u32, emit: &mut dyn FnMut(Value) -> Result<(), ReadError>) -> Result<(), ReadError> {
        self.base.replay(step_number, emit)
    }

    fn replay_turns(&self) -> Result<Vec<ReplayTurn>, ReadError> {
        self.base.replay_turns()
    }

    fn fork(&self, cut: Cut, watch: Watch<'_>) -> Result<Fork, Refusal> {
        self.base.fork(cut, watch)
    }

    fn resume_command(&self, session_id: &str, path: &Path) -> Option<String> {
        self.base.resume_command(session_id, path)
    }

    fn revert(&self, step_number: u32, watch: Watch<'_>) -> Result<Revert, Refusal> {
        self.base.revert(step_number, watch)
    }
}
