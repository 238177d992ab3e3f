//! A session of the database with what other recordings of the same session know: which approvals were asked for and
//! who gave them, which model failed, when the user steered. The database keeps none of this.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::formats::Recording;
use crate::formats::acp::Said;
use crate::formats::joined::Joined;
use crate::model::{
    Event, EventKind, Evidence, Fact, Marker, MarkerKind, Place, QuestionState, Session, StepKind, Timestamp,
};

/// Another recording of a session, and the facts that it adds.
pub type Other = (Arc<dyn Recording>, Vec<Said>);

/// Adds the facts of other recordings to a session, each as recorded: after the call that it is about, else in the turn of
/// its prompt. What was only concluded about the same goes.
pub fn join(base: Arc<dyn Recording>, others: Vec<Other>) -> Arc<dyn Recording> {
    if others.is_empty() {
        return base;
    }
    let mut joined = Joined::new(base);
    for (other, said) in others {
        let shift = joined.add(other.clone());
        let session = &mut joined.session;
        if session.title_source < other.session().title_source && other.session().title.is_some() {
            session.title.clone_from(&other.session().title);
            session.title_source = other.session().title_source;
        }
        session.cwd = session.cwd.take().or_else(|| other.session().cwd.clone());
        add(session, said, shift);
    }
    Arc::new(joined)
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
    let calls: HashMap<String, usize> = (session.events.all().iter().enumerate())
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
    let events = session.events.all().get(start..end)?;
    let last = events.iter().rposition(|event| at.is_none_or(|at| event.at.is_none_or(|other| other <= at)));
    Some(last.map_or(Spot::First(prompt), |last| Spot::After(start + last)))
}

/// Whether the session records the same already.
fn is_told(session: &Session, call: Option<usize>, fact: &Fact) -> bool {
    let id = call.and_then(|call| session.events.all().get(call)?.tool.as_ref()?.call_id.as_deref());
    let recorded = session.events.all().iter().filter_map(|event| event.marker.as_deref());
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
    near.filter(|at| *at < session.events.len()).find(|at| session.events.all().get(*at).is_some_and(is_concluded))
}

fn event(session: &Session, call: Option<usize>, said: &Said, shift: u16) -> Event {
    let near = call.and_then(|call| session.events.all().get(call)).or(session.events.all().first());
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
    let old = std::mem::take(session.events.list_mut());
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
    session.events = events.into();
}
