//! Two sessions side by side: which steps are the same, which changed and how, which only one of them has.
//!
//! A comparison holds hashes and counts of the steps, not their texts; what changed in a step, word by word, is worked
//! out when somebody looks at it ([`diff_steps`]).

mod align;
mod digest;
mod turn;
mod words;

use std::hash::RandomState;
use std::thread;

use crate::formats::Recording;
use crate::store::{ReadError, Watch};

pub use digest::Totals;
pub use turn::{PartDiff, StepDiff, diff_steps};
pub use words::{Segment, word_diff};

use digest::Digest;

/// The parts of a step that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What the person wrote: the prompt or the answer to a question, and what was written into the turn.
    Prompt,
    /// What the agent wrote; its thinking is not compared.
    Answer,
    /// The tools it called and with what.
    Tools,
    /// What the tools gave back.
    Output,
    /// How the calls and the turn ended, what was decided, what failed or took over on the way.
    Outcome,
}

impl Part {
    pub const ALL: [Self; 5] = [Self::Prompt, Self::Answer, Self::Tools, Self::Output, Self::Outcome];

    pub fn word(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Tools => "tools",
            Self::Output => "output",
            Self::Outcome => "outcome",
        }
    }

    fn of(self, digest: &Digest) -> u64 {
        match self {
            Self::Prompt => digest.key.text,
            Self::Answer => digest.answer,
            Self::Tools => digest.tools,
            Self::Output => digest.output,
            Self::Outcome => digest.outcome,
        }
    }
}

/// Which parts of a step differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(u8);

impl Parts {
    fn between(left: &Digest, right: &Digest) -> Self {
        let differs = |part: &Part| part.of(left) != part.of(right);
        Self(Part::ALL.into_iter().filter(differs).fold(0, |bits, part| bits | 1 << part as u8))
    }

    pub fn iter(self) -> impl Iterator<Item = Part> {
        Part::ALL.into_iter().filter(move |part| self.0 & 1 << *part as u8 != 0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The words of the parts: `prompt, answer`.
    pub fn words(self) -> String {
        self.iter().map(Part::word).collect::<Vec<_>>().join(", ")
    }
}

/// A row of a comparison: a step of each side, or of one alone. Numbers are those of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub left: Option<u32>,
    pub right: Option<u32>,
    /// Nothing where one of them stands alone.
    pub differs: Parts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PairState {
    Same,
    Changed,
    OnlyLeft,
    OnlyRight,
}

impl Pair {
    pub fn state(&self) -> PairState {
        match (self.left, self.right) {
            (Some(_), Some(_)) if self.differs.is_empty() => PairState::Same,
            (Some(_), Some(_)) => PairState::Changed,
            (Some(_), None) => PairState::OnlyLeft,
            (None, _) => PairState::OnlyRight,
        }
    }
}

/// Two sessions side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    pub pairs: Vec<Pair>,
    pub left: Totals,
    pub right: Totals,
}

impl Comparison {
    /// The row of the first pair that is not the same.
    pub fn first_divergence(&self) -> Option<usize> {
        self.next_divergence(None)
    }

    /// The row of the next pair after `row` that is not the same.
    pub fn next_divergence(&self, row: Option<usize>) -> Option<usize> {
        let from = row.map_or(0, |row| row + 1);
        let rest = self.pairs.get(from..)?;
        rest.iter().position(|pair| pair.state() != PairState::Same).map(|found| from + found)
    }

    /// The row of the last pair before `row` that is not the same.
    pub fn previous_divergence(&self, row: usize) -> Option<usize> {
        self.pairs.get(..row)?.iter().rposition(|pair| pair.state() != PairState::Same)
    }

    /// How many rows are in a state.
    pub fn count(&self, state: PairState) -> usize {
        self.pairs.iter().filter(|pair| pair.state() == state).count()
    }
}

/// Compares two recordings. Their texts are read, both at the same time; none is kept.
pub fn compare_sessions(
    left: &dyn Recording,
    right: &dyn Recording,
    watch: Watch<'_>,
) -> Result<Comparison, ReadError> {
    // Hashes of texts stand for the texts: with keys of their own for each comparison, no file can be made to collide.
    let hashes = RandomState::new();
    let (of_left, of_right) = thread::scope(|scope| {
        let reading = scope.spawn(|| digest::read(right, &hashes, watch.without_progress()));
        (digest::read(left, &hashes, watch), reading.join())
    });
    let of_right = of_right.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let ((of_left, left), (of_right, right)) = (of_left?, of_right?);
    Ok(Comparison { pairs: pairs(&of_left, &of_right), left, right })
}

fn pairs(left: &[Digest], right: &[Digest]) -> Vec<Pair> {
    let keys = |side: &[Digest]| side.iter().map(|digest| digest.key.clone()).collect::<Vec<_>>();
    let number = |step: Option<usize>| step.and_then(|step| u32::try_from(step + 1).ok());
    let pair = |(on_left, on_right): (Option<usize>, Option<usize>)| {
        let both = on_left.and_then(|step| left.get(step)).zip(on_right.and_then(|step| right.get(step)));
        let differs = both.map_or(Parts::default(), |(left, right)| Parts::between(left, right));
        Pair { left: number(on_left), right: number(on_right), differs }
    };
    align::align(&keys(left), &keys(right)).into_iter().map(pair).collect()
}
