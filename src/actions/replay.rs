//! Replay: what was recorded, once more, as lines of JSON; and whether another recording says the same.
//!
//! The rules are Outpost's: events in order, prompts compared by exact equality, a handover's next turn taken without
//! comparing, usage reported and not spent.

use serde_json::{Value, json};

use super::ActionError;
use crate::formats::{Recording, Refusal, ReplayChanges, ReplayTurn};
use crate::model::Usage;
use crate::store::ReadError;

/// Where a fresh run and the recording part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Number of the turn, from 1.
    pub turn: u32,
    pub kind: DivergenceKind,
    pub expected: Option<String>,
    pub actual: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivergenceKind {
    /// The turn received another prompt than the recorded one.
    Prompt,
    /// It started from another workspace tree.
    Baseline,
    /// A recorded commit gave another tree.
    Tree,
    /// The recording has no such turn.
    Exhausted,
    /// The recording has no commits for the turn, with the reason.
    Unrecorded,
}

impl DivergenceKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Baseline => "baseline",
            Self::Tree => "tree",
            Self::Exhausted => "exhausted",
            Self::Unrecorded => "unrecorded",
        }
    }
}

impl Divergence {
    /// The line of `replay --json`.
    pub fn to_json(&self) -> Value {
        json!({ "turn": self.turn, "divergence": {
            "kind": self.kind.as_str(), "expected": self.expected, "actual": self.actual,
        }})
    }
}

/// Plays steps `from` to `to` back, with `divergences` reported before the events of their turn, and the closing
/// `{turns, usage}` line. An exhausted recording's line comes last but one.
pub fn replay(
    recording: &dyn Recording,
    from: u32,
    to: u32,
    divergences: &[Divergence],
    emit: &mut dyn FnMut(Value) -> Result<(), ReadError>,
) -> Result<(), ActionError> {
    let session = recording.session();
    let steps = session.steps.len();
    for step in [from, to] {
        if session.step(step).is_none() {
            return Err(Refusal::NoStep { step, steps }.into());
        }
    }
    let mut usage = Usage::default();
    for number in from..=to {
        for divergence in divergences.iter().filter(|divergence| divergence.turn == number) {
            emit(divergence.to_json())?;
        }
        recording.replay(number, emit)?;
        if let Some(step) = session.step(number) {
            usage.add(&step.usage);
        }
    }
    for divergence in divergences.iter().filter(|divergence| divergence.turn > to) {
        emit(divergence.to_json())?;
    }
    let turns = (to + 1).saturating_sub(from);
    emit(json!({ "turns": turns, "usage": usage }))?;
    Ok(())
}

/// The prompt that replay compares at a turn; `None` where it compares none.
pub fn prompt_of_turn(recording: &dyn Recording, turn: u32) -> Result<Option<String>, ReadError> {
    let turns = recording.replay_turns()?;
    let index = usize::try_from(turn).ok().and_then(|turn| turn.checked_sub(1));
    Ok(index.and_then(|index| turns.get(index)?.prompt.clone()))
}

/// Compares one prompt with the recorded prompt of a turn, exactly: no trimming.
pub fn compare_prompt(recording: &dyn Recording, turn: u32, prompt: &str) -> Result<Option<Divergence>, ReadError> {
    let expected = prompt_of_turn(recording, turn)?;
    Ok(expected.filter(|expected| expected != prompt).map(|expected| Divergence {
        turn,
        kind: DivergenceKind::Prompt,
        expected: Some(expected),
        actual: Some(prompt.to_owned()),
    }))
}

/// Compares turns `from` to `to` of the recording with another run of the same work, turn by turn.
///
/// A divergence is reported and the comparison goes on, as under Outpost's `warn`; only an exhausted recording ends it.
pub fn compare(
    recording: &dyn Recording,
    other: &dyn Recording,
    from: u32,
    to: u32,
) -> Result<Vec<Divergence>, ReadError> {
    let expected = recording.replay_turns()?;
    let mut found = Vec::new();
    for (turn, actual) in (1_u32..).zip(other.replay_turns()?) {
        if turn < from {
            continue;
        }
        let Some(expected) = expected.get(turn as usize - 1) else {
            found.push(Divergence { turn, kind: DivergenceKind::Exhausted, expected: None, actual: actual.prompt });
            break;
        };
        if turn > to {
            break;
        }
        compare_turn(turn, expected, &actual, &mut found);
    }
    Ok(found)
}

fn compare_turn(turn: u32, expected: &ReplayTurn, actual: &ReplayTurn, found: &mut Vec<Divergence>) {
    let mut report = |kind, expected: Option<String>, actual: Option<String>| {
        found.push(Divergence { turn, kind, expected, actual });
    };
    if let (Some(recorded), Some(given)) = (&expected.prompt, &actual.prompt)
        && recorded != given
    {
        report(DivergenceKind::Prompt, Some(recorded.clone()), Some(given.clone()));
    }
    match (&expected.changes, &actual.changes) {
        (Some(ReplayChanges::Unavailable { reason }), _) => {
            report(DivergenceKind::Unrecorded, Some(reason.clone()), None);
        }
        (
            Some(ReplayChanges::Recorded { baseline_tree, trees }),
            Some(ReplayChanges::Recorded { baseline_tree: other_baseline, trees: other_trees }),
        ) => {
            if baseline_tree != other_baseline {
                report(DivergenceKind::Baseline, Some(baseline_tree.clone()), Some(other_baseline.clone()));
            }
            for (index, tree) in trees.iter().enumerate() {
                let given = other_trees.get(index);
                if given != Some(tree) {
                    report(DivergenceKind::Tree, Some(tree.clone()), given.cloned());
                }
            }
        }
        _ => {}
    }
}
