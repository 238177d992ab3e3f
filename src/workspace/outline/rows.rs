//! The rows of a conversation: which step, event or group stands where. Worked out once for each reading of the file.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use crate::model::{EventKind, Events, Glance, MarkerKind, Place, Session, Step, StepKind, ToolState};

/// Runs of notices are grouped from this length.
const NOTICES: usize = 3;
/// Runs of retries are grouped from this length.
const RETRIES: usize = 4;
/// A group is one row of the list however many events it holds, so it holds no more than this.
const GROUP_MOST: usize = 40;
/// How far back the question that a step answers is looked for.
const QUESTION_REACH: usize = 400;

/// How many events of a place there were so far.
type Seen = HashMap<Place, u16, RandomState>;

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

/// What a row's height is guessed from before it is drawn; 8 bytes, for there is one a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Guess {
    Px(u16),
    /// A step's prompt of so many bytes, shown in part.
    Card(u32),
    /// Text that is shown whole.
    Prose(u32),
    /// A tool call of which the first lines are shown.
    Tool(u32),
}

/// All rows, and how to find them.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
    keys: Vec<RowKey>,
    guesses: Vec<Guess>,
    /// The row of each step's header.
    headers: Vec<u32>,
    /// `(call, folded event)`, sorted: what is shown in a tool call's row.
    folded: Vec<(u32, u32)>,
    /// The events of the question that each question step answers, by the step's index.
    questions: HashMap<u32, Range<u32>>,
    /// How many events there are before the first step, and how many rows of their own they have.
    pub before: usize,
    before_rows: usize,
}

/// Which folded event belongs to which call, gathered event by event.
#[derive(Debug, Default)]
pub struct Folds {
    /// The last call of each id.
    calls: HashMap<u64, u32, RandomState>,
    folded: Vec<(u32, u32)>,
}

impl Folds {
    /// Takes the next event.
    pub fn take(&mut self, index: u32, event: &Glance) {
        match event.call {
            Some(id) if !event.folded && event.tool.is_some() => {
                self.calls.insert(id, index);
            }
            Some(id) if event.folded => self.folded.extend(self.calls.get(&id).map(|call| (*call, index))),
            _ => {}
        }
    }
}

/// The rows that are listed: all, or those without the ones before the first step.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'t> {
    pub table: &'t Table,
    /// How many rows are left out after the first one.
    left_out: usize,
}

impl<'t> Listed<'t> {
    /// Leaves out the rows before the first step unless `before_open`; without steps there is nothing else.
    pub fn new(table: &'t Table, before_open: bool) -> Self {
        let left_out = if before_open || table.headers.is_empty() { 0 } else { table.before_rows };
        Self { table, left_out }
    }

    pub fn before_is_open(self) -> bool {
        self.left_out == 0
    }

    pub fn len(self) -> usize {
        self.table.rows.len() - self.left_out
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub fn get(self, row: usize) -> Option<Row> {
        self.table.rows.get(self.in_table(row)).copied()
    }

    pub fn key(self, row: usize) -> RowKey {
        self.table.keys.get(self.in_table(row)).copied().unwrap_or(RowKey::Before)
    }

    /// A guess at a row's height, in points.
    pub fn guess(self, row: usize, width_px: f32) -> f32 {
        self.table.guesses.get(self.in_table(row)).map_or(30.0, |guess| guess.px(width_px))
    }

    /// The row of a step's header, by the step's number.
    pub fn row_of_step(self, number: u32) -> Option<usize> {
        let row = self.table.headers.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
        Some(self.listed(*row as usize))
    }

    /// The row that shows an event: its own, its group's, or that of the call it is folded into.
    pub fn row_of_event(self, event: usize, session: &Session) -> Option<usize> {
        self.table.row_of_event(event, session).map(|row| self.listed(row))
    }

    fn in_table(self, row: usize) -> usize {
        if row == 0 { 0 } else { row + self.left_out }
    }

    /// A row that is left out is the line that stands for it.
    fn listed(self, row: usize) -> usize {
        row.saturating_sub(self.left_out)
    }
}

impl Table {
    /// The rows of a session.
    pub fn new(session: &Session, folds: Folds) -> Self {
        let first = session.steps.first().map_or(session.events.len(), |step| step.events.start);
        let mut table = Self { before: first, ..Self::default() };
        table.folded = folds.folded;
        table.folded.sort_unstable();
        let mut seen = Seen::default();
        if first > 0 {
            table.push(Row::Before, RowKey::Before, Guess::Px(30));
            table.events(session, 0..first, &mut seen);
            table.before_rows = table.rows.len() - 1;
        }
        for (index, step) in session.steps.iter().enumerate() {
            let number = index as u32;
            table.headers.push(table.rows.len() as u32);
            table.push(Row::Header(number), RowKey::Header(step.place), Guess::Px(46));
            table.push(Row::Card(number), RowKey::Card(step.place), Guess::Card(step.text_bytes));
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
                table.push(Row::Nothing(number), RowKey::Nothing(step.place), Guess::Px(30));
            }
        }
        table.shrink();
        table
    }

    fn push(&mut self, row: Row, key: RowKey, guess: Guess) {
        self.rows.push(row);
        self.keys.push(key);
        self.guesses.push(guess);
    }

    /// It stays as long as the session is open.
    fn shrink(&mut self) {
        self.rows.shrink_to_fit();
        self.keys.shrink_to_fit();
        self.guesses.shrink_to_fit();
        self.folded.shrink_to_fit();
    }

    fn events(&mut self, session: &Session, range: Range<usize>, seen: &mut Seen) {
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
            let run = run(&session.events, &event, index, range.end.min(index + GROUP_MOST));
            let least = if event.kind == EventKind::Retry { RETRIES } else { NOTICES };
            if run >= least {
                self.push(Row::Group(index as u32, (index + run) as u32), key, Guess::Px(30));
                index += run;
            } else {
                self.push(Row::Event(index as u32), key, Guess::of(&event));
                index += 1;
            }
        }
    }

    /// The event in whose row an event is shown: the call it is folded into, or itself.
    pub fn owner(&self, event: usize, events: &Events) -> usize {
        if !events.glance(event).is_some_and(|event| event.folded) {
            return event;
        }
        // What is folded comes after its call, mostly right after it.
        let end = self.folded.partition_point(|(call, _)| (*call as usize) < event);
        let before = self.folded.get(..end).unwrap_or_default();
        let call = before.iter().rev().find(|(_, folded)| *folded as usize == event);
        call.map_or(event, |(call, _)| *call as usize)
    }

    /// The row among all that shows an event.
    fn row_of_event(&self, event: usize, session: &Session) -> Option<usize> {
        let event = self.owner(event, &session.events);
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

/// How many events from `first` on, which is at `start`, are of the same quiet kind.
fn run(events: &Events, first: &Glance, start: usize, end: usize) -> usize {
    if !matches!(first.kind, EventKind::Notice | EventKind::Retry) {
        return 1;
    }
    events.glances(start..end).take_while(|event| event.kind == first.kind && !event.folded).count()
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
    Guess::of(event).px(width_px)
}

impl Guess {
    fn of(event: &Glance) -> Self {
        match event.kind {
            EventKind::Text | EventKind::Steering => Self::Prose(event.text_bytes),
            EventKind::Thinking | EventKind::Notice | EventKind::Decision => Self::Px(30),
            EventKind::Tool | EventKind::ToolResult | EventKind::FileChange => {
                let denied = event.tool == Some(ToolState::Denied);
                if event.text_bytes < 120 || denied { Self::Px(34) } else { Self::Tool(event.text_bytes) }
            }
            EventKind::Unknown | EventKind::Unreadable => Self::Px(60),
            _ if event.marker == Some(MarkerKind::Commits) => Self::Px(34),
            _ => Self::Px(46),
        }
    }

    fn px(self, width_px: f32) -> f32 {
        let lines = |bytes: u32, columns: f32| (bytes as f32 / columns).ceil().max(1.0);
        let columns = (width_px / 7.0).max(20.0);
        match self {
            Self::Px(px) => f32::from(px),
            Self::Card(bytes) => 30.0 + 19.0 * lines(bytes, width_px.max(100.0) / 7.0).min(13.0),
            Self::Prose(bytes) => 12.0 + 19.0 * lines(bytes, columns).min(3_000.0),
            Self::Tool(bytes) => 54.0 + 17.0 * lines(bytes, columns).min(12.0),
        }
    }
}
