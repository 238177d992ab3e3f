//! The replay player: a position in the recorded events that moves as time passes. It runs nothing and knows no clock;
//! whoever draws it says how much time went by.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::model::{Events, Glance, MarkerKind};

/// No recorded pause is waited for longer than this at speed 1, in milliseconds.
pub const LONGEST_PAUSE_MS: f64 = 2_000.0;
/// Events without times follow each other at this distance, in milliseconds.
const UNTIMED_PAUSE_MS: f64 = 300.0;
pub const SPEEDS: [f64; 8] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// A replay that is going on.
#[derive(Clone, Debug)]
pub struct Player {
    /// The step it started from.
    pub from_step: u32,
    /// Indices into the session's events that are played.
    pub range: Range<usize>,
    /// Events before this one have been played.
    position: usize,
    pub playing: bool,
    speed: usize,
    /// Marker kinds at which it stops.
    pub stops: BTreeSet<MarkerKind>,
    /// Milliseconds at speed 1 that have gone by since the last event.
    waited_ms: f64,
}

/// What became of a moment of playing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Played {
    /// Nothing new yet.
    Waiting,
    /// Events up to the new position were played.
    Moved,
    /// An event of a kind to stop at was played; it is the last one before the position.
    Stopped(MarkerKind),
    /// The last event has been played.
    Ended,
}

impl Player {
    /// A player for the events in `range`, playing from its start.
    pub fn new(from_step: u32, range: Range<usize>) -> Self {
        let stops = [MarkerKind::Approval, MarkerKind::Denial, MarkerKind::Fallback, MarkerKind::Failure].into();
        Self { from_step, position: range.start, range, playing: true, speed: 1, stops, waited_ms: 0.0 }
    }

    /// Events with a smaller index have been played.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The event played last.
    pub fn current(&self) -> Option<usize> {
        self.position.checked_sub(1).filter(|last| self.range.contains(last))
    }

    pub fn is_at_end(&self) -> bool {
        self.position >= self.range.end
    }

    pub fn speed(&self) -> f64 {
        SPEEDS.get(self.speed).copied().unwrap_or(1.0)
    }

    pub fn faster(&mut self) {
        self.speed = (self.speed + 1).min(SPEEDS.len() - 1);
    }

    pub fn slower(&mut self) {
        self.speed = self.speed.saturating_sub(1);
    }

    /// Plays or holds; at the end it starts over.
    pub fn play_or_pause(&mut self) {
        if self.is_at_end() {
            self.position = self.range.start;
            self.waited_ms = 0.0;
        }
        self.playing = !self.playing;
    }

    /// Lets `elapsed_ms` of the viewer's time go by.
    pub fn advance(&mut self, elapsed_ms: f64, events: &Events) -> Played {
        if !self.playing {
            return Played::Waiting;
        }
        self.waited_ms += elapsed_ms.max(0.0) * self.speed();
        let start = self.position;
        while self.position < self.range.end {
            let pause = self.pause_before(self.position, events);
            if self.waited_ms < pause {
                break;
            }
            self.waited_ms -= pause;
            self.position += 1;
            if let Some(kind) = self.stop_at(self.position - 1, events) {
                self.hold();
                return Played::Stopped(kind);
            }
        }
        if self.is_at_end() {
            self.hold();
            return Played::Ended;
        }
        if self.position > start { Played::Moved } else { Played::Waiting }
    }

    /// Milliseconds of the viewer's time until the next event is due.
    pub fn due_in_ms(&self, events: &Events) -> f64 {
        ((self.pause_before(self.position, events) - self.waited_ms) / self.speed()).max(0.0)
    }

    /// Plays the next event at once.
    pub fn next_event(&mut self) -> Played {
        self.hold();
        self.go_to(self.position + 1)
    }

    /// Plays everything before `step_start`, the first event of a later step.
    pub fn next_step(&mut self, step_start: Option<usize>) -> Played {
        self.waited_ms = 0.0;
        self.go_to(step_start.map_or(self.range.end, |start| start.max(self.position + 1)))
    }

    /// Plays up to and with the next marked event, of whatever kind.
    pub fn next_marker(&mut self, events: &Events) -> Played {
        self.hold();
        let rest = self.position..self.range.end;
        let next = rest.into_iter().find(|index| events.glance(*index).is_some_and(|event| event.is_marked()));
        self.go_to(next.map_or(self.range.end, |index| index + 1))
    }

    fn go_to(&mut self, position: usize) -> Played {
        self.position = position.min(self.range.end);
        if self.is_at_end() {
            self.hold();
            return Played::Ended;
        }
        Played::Moved
    }

    fn hold(&mut self) {
        self.playing = false;
        self.waited_ms = 0.0;
    }

    fn stop_at(&self, index: usize, events: &Events) -> Option<MarkerKind> {
        let kind = events.glance(index).filter(Glance::is_marked)?.marker?;
        self.stops.contains(&kind).then_some(kind)
    }

    /// The recorded pause before an event, capped, in milliseconds at speed 1.
    fn pause_before(&self, index: usize, events: &Events) -> f64 {
        if index <= self.range.start {
            return 0.0;
        }
        let time = |index: usize| events.glance(index).and_then(|event| event.at);
        match (time(index - 1), time(index)) {
            (Some(before), Some(now)) => (now.since(before) as f64).clamp(0.0, LONGEST_PAUSE_MS),
            _ => UNTIMED_PAUSE_MS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Asked, Decision, Event, EventKind, Fact, Marker, NodeId, Place, Timestamp};

    fn event(at_ms: Option<i64>, fact: Option<Fact>) -> Event {
        Event {
            kind: EventKind::Text,
            node: NodeId::Number(0),
            at: at_ms.map(Timestamp),
            duration_ms: None,
            place: Place { file: 0, record: 0, block: 0 },
            label: "".into(),
            text_bytes: 0,
            tool: None,
            marker: fact.map(|fact| Box::new(Marker::recorded(fact, None))),
            folded: false,
        }
    }

    fn approval(decision: Decision) -> Option<Fact> {
        Some(Fact::Approval {
            tool: "Bash".into(),
            tool_call_id: None,
            decision,
            by: None,
            reason: None,
            waited_ms: None,
            asked: Asked::default(),
        })
    }

    fn failure() -> Option<Fact> {
        Some(Fact::Failure { code: None, message: "no".into() })
    }

    #[test]
    fn events_come_at_their_recorded_distance_and_no_pause_is_longer_than_the_cap() {
        let events = Events::from(vec![event(Some(0), None), event(Some(500), None), event(Some(3_600_000), None)]);
        let mut player = Player::new(1, 0..3);
        assert_eq!(player.advance(0.0, &events), Played::Moved, "the first one at once");
        assert_eq!(player.advance(499.0, &events), Played::Waiting);
        assert_eq!(player.due_in_ms(&events), 1.0);
        assert_eq!(player.advance(1.0, &events), Played::Moved);
        assert_eq!(player.advance(LONGEST_PAUSE_MS - 1.0, &events), Played::Waiting);
        assert_eq!(player.advance(1.0, &events), Played::Ended);
        assert!(!player.playing);
    }

    #[test]
    fn speed_shortens_what_is_waited() {
        let events = Events::from(vec![event(Some(0), None), event(Some(1_000), None), event(Some(2_000), None)]);
        let mut player = Player::new(1, 0..3);
        (0..3).for_each(|_| player.faster());
        assert_eq!(player.speed(), 8.0);
        player.advance(0.0, &events);
        assert_eq!(player.due_in_ms(&events), 125.0);
        (0..20).for_each(|_| player.slower());
        assert_eq!(player.speed(), 0.5);
        (0..20).for_each(|_| player.faster());
        assert_eq!(player.speed(), 64.0);
    }

    #[test]
    fn it_stops_at_the_kinds_it_is_told_to_and_never_at_what_nobody_was_asked() {
        let events = Events::from(vec![
            event(Some(0), None),
            event(Some(1), approval(Decision::Auto)),
            event(Some(2), failure()),
            event(Some(3), approval(Decision::Granted)),
            event(Some(4), None),
        ]);
        let mut player = Player::new(1, 0..5);
        player.stops.remove(&MarkerKind::Failure);
        assert_eq!(player.advance(1_000.0, &events), Played::Stopped(MarkerKind::Approval));
        assert_eq!((player.position(), player.current()), (4, Some(3)));
        assert_eq!(player.advance(1_000.0, &events), Played::Waiting, "it holds until it is told to go on");
        player.play_or_pause();
        assert_eq!(player.advance(1_000.0, &events), Played::Ended);
        player.play_or_pause();
        assert_eq!((player.position(), player.playing), (0, true), "from the end it starts over");
    }

    #[test]
    fn it_goes_on_by_event_step_and_marker() {
        let events =
            Events::from(vec![event(None, None), event(None, None), event(None, failure()), event(None, None)]);
        let mut player = Player::new(1, 0..4);
        assert_eq!(player.next_event(), Played::Moved);
        assert_eq!(player.next_step(Some(2)), Played::Moved);
        assert_eq!(player.position(), 2);
        assert_eq!(player.next_marker(&events), Played::Moved);
        assert_eq!(player.current(), Some(2));
        assert_eq!(player.next_marker(&events), Played::Ended);
        assert_eq!(player.next_step(None), Played::Ended);
        let mut empty = Player::new(1, 0..0);
        assert_eq!(empty.advance(1.0, &Events::default()), Played::Ended);
        assert_eq!(empty.current(), None);
    }
}
