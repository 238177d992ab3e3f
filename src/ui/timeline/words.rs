//! What is said of the strip's parts: tooltips, and names for screen readers. Texts from files are cut here, since a
//! message may be megabytes long.

use std::borrow::Cow;
use std::ops::Range;

use super::lanes::{Class, Lane, Marks};
use super::layout::{Layout, Mark};
use crate::model::{Event, Marker, Session, Step, Timestamp, clock, duration_words};
use crate::ui::widgets::time_axis::Gap;
use crate::ui::words;
use crate::workspace::text::one_line;

/// Characters of a text from a file that a tooltip shows, and that a screen reader is given.
const TOOLTIP_CHARS: usize = 300;
const NAME_CHARS: usize = 120;

/// What is said when the pointer rests on something: a line, and quieter ones under it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tip {
    pub title: String,
    pub lines: Vec<String>,
}

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| clock(at, "%H:%M:%S"))
}

/// A pause's length in the room under its cut: `48 min`, `3 h 10 min`, `2 d`.
pub fn pause(ms: i64) -> String {
    let minutes = ms / 60_000;
    match minutes {
        0..60 => format!("{minutes} min"),
        60..600 if minutes % 60 > 0 => format!("{} h {} min", minutes / 60, minutes % 60),
        60..2_880 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}

fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn step_words(session: &Session, events: &Range<usize>) -> Option<String> {
    let number = |event: usize| session.step_of_event(event).map(|step| step.number);
    match (number(events.start), number(events.end.saturating_sub(1))) {
        (Some(first), Some(last)) if first != last => Some(format!("steps {first} to {last}")),
        (_, Some(last)) => Some(format!("step {last}")),
        _ => Some("before step 1".to_owned()),
    }
}

fn marked(session: &Session, event: usize) -> Option<(Cow<'_, Event>, Marker)> {
    let event = session.events.get(event)?;
    let marker = event.marker.as_deref()?.clone();
    Some((event, marker))
}

/// The marks of a lane among some events: `11 approved, 1 denied`.
fn counts(marks: &Marks, lane: Lane, events: &Range<usize>) -> String {
    let words = |(class, count, _): (Class, usize, usize)| {
        let (one, many) = class.words();
        words::count(count as u64, one, many)
    };
    marks.counts(lane, events.clone()).map(words).collect::<Vec<_>>().join(", ")
}

/// Name of a mark or a cluster: `approval, approved by you, step 7`.
pub fn mark_name(session: &Session, marks: &Marks, lane: Lane, mark: &Mark) -> String {
    let step = step_words(session, &mark.events).unwrap_or_default();
    match marked(session, mark.events.start) {
        Some((_, marker)) if mark.count == 1 => {
            format!("{}, {}, {step}", marker.kind().word(), one_line(&words::marker(&marker), NAME_CHARS))
        }
        _ => format!("{}, {step}", counts(marks, lane, &mark.events)),
    }
}

pub fn mark_tip(session: &Session, marks: &Marks, lane: Lane, mark: &Mark) -> Tip {
    let step = step_words(session, &mark.events);
    let Some((event, marker)) = marked(session, mark.events.start) else { return Tip::default() };
    if mark.count == 1 {
        let said = words::marker(&marker);
        let mut lines = Vec::new();
        let tool = event.tool.as_deref().map_or("", |tool| &tool.name);
        let about = if event.label.is_empty() { tool } else { &event.label };
        if !said.contains(about) {
            lines.push(one_line(about, TOOLTIP_CHARS));
        }
        lines.push(joined([Some(marker.kind().word().to_owned()), step, time(marker.at.or(event.at))]));
        return Tip { title: one_line(&said, TOOLTIP_CHARS), lines };
    }
    let last = session.events.glance(mark.events.end.saturating_sub(1)).and_then(|event| event.at);
    let times = time(event.at).zip(time(last)).map(|(first, last)| format!("{first} to {last}"));
    let lines = vec![joined([step, times]), "click to see them apart".to_owned()];
    Tip { title: counts(marks, lane, &mark.events), lines }
}

/// Name of a step's bar: `step 14, question, Which storage?, 14:22:08`.
pub fn step_name(step: &Step) -> String {
    let parts = [
        Some(format!("step {}", step.number)),
        Some(step.kind.word().to_owned()),
        (!step.summary.is_empty()).then(|| one_line(&step.summary, NAME_CHARS)),
        time(step.at),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub fn step_tip(session: &Session, marks: &Marks, step: &Step) -> Tip {
    let last = session.events.glances(step.events.clone()).rev().find_map(|event| event.at);
    let took = step.at.zip(step.ended_at.max(last)).map(|(at, end)| duration_words(end.since(at)));
    let mut lines = vec![joined([Some(step.kind.word().to_owned()), time(step.at), took])];
    let marked: Vec<String> = Lane::ALL
        .into_iter()
        .map(|lane| counts(marks, lane, &step.events))
        .filter(|counts| !counts.is_empty())
        .collect();
    if !marked.is_empty() {
        lines.push(marked.join(", "));
    }
    Tip { title: format!("{}  {}", step.number, one_line(&step.summary, TOOLTIP_CHARS)), lines }
}

/// Name of a bar of several steps.
pub fn steps_name(first: u32, last: u32) -> String {
    format!("steps {first} to {last}")
}

pub fn steps_tip(session: &Session, first: u32, last: u32) -> Tip {
    let at = |number: u32| session.step(number).and_then(|step| time(step.at));
    let count = words::count(u64::from(last.saturating_sub(first)) + 1, "step", "steps");
    let times = at(first).zip(at(last)).map(|(first, last)| format!("{first} to {last}"));
    let lines = vec![joined([Some(count), times]), "click to see them apart".to_owned()];
    Tip { title: format!("Steps {first} to {last}"), lines }
}

/// Name of a cut.
pub fn gap_name(gap: &Gap) -> String {
    format!("idle {}, cut", pause(gap.ms))
}

pub fn gap_tip(gap: &Gap) -> Tip {
    let from = Timestamp(gap.from_ms);
    let to = Timestamp(gap.from_ms.saturating_add(gap.ms));
    let pattern = if gap.ms < 12 * 3_600_000 { "%H:%M:%S" } else { "%-d %b %H:%M" };
    let line = format!("no event is recorded from {} to {}", clock(from, pattern), clock(to, pattern));
    Tip { title: gap_name(gap), lines: vec![line] }
}

/// What the strip shows, in words: `steps 5 to 18 of 27 shown, step 14 selected, 3 approvals, 1 fallback in view`.
pub fn value(session: &Session, layout: &Layout, selected: Option<u32>) -> String {
    let count = session.steps.len();
    let mut parts = Vec::new();
    parts.push(match layout.steps {
        _ if count == 0 => "no steps".to_owned(),
        (first, last) if last < first => format!("none of {} shown", words::count(count as u64, "step", "steps")),
        (first, last) if first == last => format!("step {first} of {count} shown"),
        (first, last) => format!("steps {first} to {last} of {count} shown"),
    });
    parts.extend(selected.map(|step| format!("step {step} selected")));
    let mut seen: Vec<((&str, &str), usize)> = Vec::new();
    for (class, count) in &layout.counts {
        let name = match class {
            Class::Granted | Class::Auto => ("approval", "approvals"),
            Class::Denied | Class::Blocked => ("denial", "denials"),
            Class::Pending => ("waiting approval", "waiting approvals"),
            Class::Cancelled => ("cancelled approval", "cancelled approvals"),
            class => class.words(),
        };
        match seen.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None => seen.push((name, *count)),
        }
    }
    if seen.is_empty() {
        parts.push("no marks in view".to_owned());
    } else {
        let marks = seen.into_iter().map(|((one, many), count)| words::count(count as u64, one, many));
        parts.push(format!("{} in view", marks.collect::<Vec<_>>().join(", ")));
    }
    parts.join(", ")
}

/// What there is none of, and which lanes are folded away for that: `no fallbacks, no failures`.
pub fn absent(session: &Session, lanes: impl Iterator<Item = Lane>) -> String {
    let steps = session.steps.is_empty().then_some("no steps");
    steps.into_iter().chain(lanes.map(Lane::absent)).collect::<Vec<_>>().join(", ")
}
