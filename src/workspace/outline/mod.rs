//! What the window needs of all of a session at once: its rows, its marks, its axes. Making it costs time in proportion
//! to the session, so it is made where the session is read, away from the window's thread; asking it does not.

pub mod lanes;
pub mod rows;
pub mod time_axis;

use std::sync::Arc;

use crate::formats::Recording;
use crate::model::{MarkerKind, Session};
use lanes::Marks;
use rows::{Folds, Table};
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
    /// Goes through the whole session, and as few times as can be: an event is made from its record each time.
    pub fn of(session: &Session) -> Self {
        let (mut marks, mut folds) = (Marks::default(), Folds::default());
        let mut times_ms = Vec::with_capacity(session.events.len());
        for (event, index) in session.events.glances(0..session.events.len()).zip(0_u32..) {
            marks.take(index, &event);
            folds.take(index, &event);
            times_ms.push(event.at.map(|at| at.0));
        }
        Self {
            table: Table::new(session, folds),
            kinds: marks.stops(),
            marks: Arc::new(marks),
            time: axis(session, Scale::Time, &times_ms),
            step: axis(session, Scale::Step, &times_ms),
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

fn axis(session: &Session, scale: Scale, times_ms: &[Option<i64>]) -> Axis {
    let steps = session.steps.iter().map(|step| StepMoments {
        at_ms: step.at.map(|at| at.0),
        ended_ms: step.ended_at.map(|at| at.0),
        events: step.events.clone(),
    });
    Axis::new(scale, times_ms.len(), |event| times_ms.get(event).copied().flatten(), steps)
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
