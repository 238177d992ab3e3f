//! What the window needs of all of a session at once: its rows, its marks, its axes. Making it costs time in proportion
//! to the session, so it is made where the session is read, away from the window's thread; asking it does not.

pub mod lanes;
pub mod rows;
pub mod time_axis;

use std::sync::Arc;

use crate::formats::Recording;
use crate::model::{Glance, MarkerKind, Session};
use lanes::Marks;
use rows::Table;
use time_axis::{Axis, Scale, StepMoments};

/// The overview of one reading of a session.
#[derive(Debug)]
pub struct Outline {
    pub table: Table,
    pub marks: Arc<Marks>,
    time: Axis,
    step: Axis,
    /// The kinds of marker at which an operator would stop, in their usual order.
    pub kinds: Vec<MarkerKind>,
}

impl Outline {
    /// Goes through the whole session.
    pub fn of(session: &Session) -> Self {
        let mut stops = [false; MarkerKind::ALL.len()];
        let marked = session.events.glances(0..session.events.len()).filter(Glance::is_marked);
        for kind in marked.filter_map(|event| event.marker) {
            if let Some(stop) = MarkerKind::ALL.iter().position(|other| *other == kind).and_then(|at| stops.get_mut(at))
            {
                *stop = true;
            }
        }
        let kinds = MarkerKind::ALL.into_iter().zip(stops).filter_map(|(kind, stop)| stop.then_some(kind));
        Self {
            table: Table::new(session),
            marks: Arc::new(Marks::of(session)),
            time: axis(session, Scale::Time),
            step: axis(session, Scale::Step),
            kinds: kinds.collect(),
        }
    }

    /// The axis of a scale, or of the one there is where times say nothing; they share what is in proportion to the
    /// session.
    pub fn axis(&self, scale: Scale) -> Axis {
        match scale {
            Scale::Time => self.time.clone(),
            Scale::Step => self.step.clone(),
        }
    }
}

fn axis(session: &Session, scale: Scale) -> Axis {
    let steps = session.steps.iter().map(|step| StepMoments {
        at_ms: step.at.map(|at| at.0),
        ended_ms: step.ended_at.map(|at| at.0),
        events: step.events.clone(),
    });
    let event_ms = |event: usize| session.events.glance(event).and_then(|event| event.at).map(|at| at.0);
    Axis::new(scale, session.events.len(), event_ms, steps)
}

/// A session that was read, with its overview: a window takes both or neither.
#[derive(Clone)]
pub struct Outlined {
    pub recording: Arc<dyn Recording>,
    pub outline: Arc<Outline>,
}

impl Outlined {
    pub fn new(recording: Arc<dyn Recording>) -> Self {
        let outline = Arc::new(Outline::of(recording.session()));
        Self { recording, outline }
    }
}
