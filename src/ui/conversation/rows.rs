//! The rows of a conversation: which step, event or group stands where. Worked out once for each reading of the file.

use std::collections::HashMap;
use std::ops::Range;

use crate::model::{EventKind, Events, Glance, MarkerKind, Place, Session, Step, StepKind, ToolState};

/// Runs of notices are grouped from this length.
const NOTICES: usize = 3;
/// Runs of retries are grouped from this length.
const RETRIES: usize = 4;
/// A group is one row of the list however many events it holds, so it holds no more than this.
const GROUP_MOST: usize = 40;
/// How far back the question that a step answers is looked for.
const QUESTION_REACH: usize = 400;

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The header of the events before the first step.
    Before,
    /// A step's header, by its index.
    Header(u32),
    /// A step's prompt or question.
    Card(u32),
    Event(u32),
    /// Events of the same quiet kind, from one to before another.
    Group(u32, u32),
    /// Stands for a turn without events, while it is going on or when it was cut short.
    Nothing(u32),
}

/// Names a row across readings of a growing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowKey {
    Before,
    Header(Place),
    Card(Place),
    /// An event: its place, and how many events of the same place come before it.
    Event(Place, u16),
    Nothing(Place),
}

/// All rows, and how to find them.
#[derive(Debug, Default)]
pub struct Table {
    pub rows: Vec<Row>,
    keys: Vec<RowKey>,
    /// The row of each step's header.
    headers: Vec<u32>,
    /// `(call, folded event)`, sorted: what is shown in a tool call's row.
    folded: Vec<(u32, u32)>,
    /// The events of the question that each question step answers, by the step's index.
    questions: HashMap<u32, Range<u32>>,
    /// How many events there are before the first step, and whether they have rows.
    pub before: usize,
    pub before_open: bool,
}

impl Table {
    /// The rows of a session; those before the first step only when `before_open`.
    pub fn new(session: &Session, before_open: bool) -> Self {
        let first = session.steps.first().map_or(session.events.len(), |step| step.events.start);
        let before_open = before_open || session.steps.is_empty();
        let mut table = Self { before: first, before_open, ..Self::default() };
        table.folded = folded(&session.events);
        let mut seen: HashMap<Place, u16> = HashMap::new();
        if first > 0 {
            table.push(Row::Before, RowKey::Before);
        }
        if before_open {
            table.events(session, 0..first, &mut seen);
        }
        for (index, step) in session.steps.iter().enumerate() {
            let number = index as u32;
            table.headers.push(table.rows.len() as u32);
            table.push(Row::Header(number), RowKey::Header(step.place));
            table.push(Row::Card(number), RowKey::Card(step.place));
            let mut events = step.events.clone();
            if step.kind == StepKind::QuestionAnswer
                && let Some(asked) = question_of(session, step)
            {
                if asked.start == events.start {
                    events.start = asked.end;
                }
                table.questions.insert(number, asked.start as u32..asked.end as u32);
            }
            let before = table.rows.len();
            table.events(session, events, &mut seen);
            if table.rows.len() == before {
                table.push(Row::Nothing(number), RowKey::Nothing(step.place));
            }
        }
        table
    }

    fn push(&mut self, row: Row, key: RowKey) {
        self.rows.push(row);
        self.keys.push(key);
    }

    fn events(&mut self, session: &Session, range: Range<usize>, seen: &mut HashMap<Place, u16>) {
        let mut index = range.start;
        while index < range.end {
            let Some(event) = session.events.glance(index) else { break };
            let count = seen.entry(event.place).or_insert(0);
            let key = RowKey::Event(event.place, *count);
            *count = count.saturating_add(1);
            if event.folded {
                index += 1;
                continue;
            }
            let run = run(&session.events, index, range.end.min(index + GROUP_MOST));
            let least = if event.kind == EventKind::Retry { RETRIES } else { NOTICES };
            if run >= least {
                self.push(Row::Group(index as u32, (index + run) as u32), key);
                index += run;
            } else {
                self.push(Row::Event(index as u32), key);
                index += 1;
            }
        }
    }

    pub fn key(&self, row: usize) -> RowKey {
        self.keys.get(row).copied().unwrap_or(RowKey::Before)
    }

    /// The row of a step's header, by the step's number.
    pub fn row_of_step(&self, number: u32) -> Option<usize> {
        self.headers.get(usize::try_from(number).ok()?.checked_sub(1)?).map(|row| *row as usize)
    }

    /// The event in whose row an event is shown: the call it is folded into, or itself.
    pub fn owner(&self, event: usize) -> usize {
        let call = self.folded.iter().find(|(_, folded)| *folded as usize == event);
        call.map_or(event, |(call, _)| *call as usize)
    }

    /// The row that shows an event: its own, its group's, or that of the call it is folded into.
    pub fn row_of_event(&self, event: usize, session: &Session) -> Option<usize> {
        let event = self.owner(event);
        let starts_after = |row: &Row| match row {
            Row::Before => false,
            Row::Header(step) | Row::Card(step) | Row::Nothing(step) => {
                session.steps.get(*step as usize).is_some_and(|step| step.events.start > event)
            }
            Row::Event(index) | Row::Group(index, _) => *index as usize > event,
        };
        self.rows.partition_point(|row| !starts_after(row)).checked_sub(1)
    }

    /// The events folded into a tool call's row, in their order.
    pub fn folded_into(&self, call: usize) -> impl Iterator<Item = usize> {
        let start = self.folded.partition_point(|(owner, _)| (*owner as usize) < call);
        let rest = self.folded.get(start..).unwrap_or_default();
        rest.iter().take_while(move |(owner, _)| *owner as usize == call).map(|(_, event)| *event as usize)
    }

    /// The events of the question that a step answers, by the step's index.
    pub fn question(&self, step: u32) -> Range<usize> {
        self.questions.get(&step).map_or(0..0, |range| range.start as usize..range.end as usize)
    }
}

/// How many events from `start` on are of the same quiet kind.
fn run(events: &Events, start: usize, end: usize) -> usize {
    let Some(first) = events.glance(start) else { return 0 };
    if !matches!(first.kind, EventKind::Notice | EventKind::Retry) {
        return 1;
    }
    events.glances(start..end).take_while(|event| event.kind == first.kind && !event.folded).count()
}

/// Which folded event belongs to which call.
fn folded(events: &Events) -> Vec<(u32, u32)> {
    let mut calls: HashMap<u64, u32> = HashMap::new();
    let mut folded = Vec::new();
    for (event, index) in events.glances(0..events.len()).zip(0..) {
        match event.call {
            Some(id) if !event.folded && event.tool.is_some() => {
                calls.insert(id, index);
            }
            Some(id) if event.folded => folded.extend(calls.get(&id).map(|call| (*call, index))),
            _ => {}
        }
    }
    folded.sort_unstable();
    folded
}

/// The events that ask what a step answers: at the start of its own turn, or in the turn before.
fn question_of(session: &Session, step: &Step) -> Option<Range<usize>> {
    let events = &session.events;
    let asks = |index: usize| {
        let is_question = events.glance(index).is_some_and(|event| event.kind == EventKind::Question);
        is_question
            && events.get(index).is_some_and(|event| {
                let call = event.tool.as_ref().and_then(|tool| tool.call_id.as_deref());
                step.tool_call_id.is_none() || call == step.tool_call_id.as_deref()
            })
    };
    if asks(step.events.start) && step.events.start < step.events.end {
        let end = (step.events.start..step.events.end).take_while(|index| asks(*index)).count() + step.events.start;
        return Some(step.events.start..end);
    }
    let reach = step.events.start.saturating_sub(QUESTION_REACH)..step.events.start;
    let last = reach.rev().find(|index| asks(*index))?;
    let first = (0..=last).rev().take_while(|index| asks(*index)).last()?;
    Some(first..last + 1)
}

/// A guess at the height of an event's row, in points.
pub fn estimate(event: &Glance, width_px: f32) -> f32 {
    let columns = (width_px / 7.0).max(20.0);
    let lines = |bytes: u32| (bytes as f32 / columns).ceil().max(1.0);
    match event.kind {
        EventKind::Text | EventKind::Steering => 12.0 + 19.0 * lines(event.text_bytes).min(3_000.0),
        EventKind::Thinking | EventKind::Notice | EventKind::Decision => 30.0,
        EventKind::Tool | EventKind::ToolResult | EventKind::FileChange => {
            let denied = event.tool == Some(ToolState::Denied);
            if event.text_bytes < 120 || denied { 34.0 } else { 54.0 + 17.0 * lines(event.text_bytes).min(12.0) }
        }
        EventKind::Unknown | EventKind::Unreadable => 60.0,
        _ if event.marker == Some(MarkerKind::Commits) => 34.0,
        _ => 46.0,
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
