//! What is kept of a step to compare it: hashes of its texts, and counts. The texts are read once and dropped.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use super::align::{Key, Sketch};
use crate::formats::{Body, Recording};
use crate::model::{
    Decision, Event, EventKind, Glance, MarkerKind, NodeId, Session, Step, TimeSpent, ToolState, Usage,
};
use crate::store::{ReadError, Watch};

/// Names of tools and models that are counted one by one.
const MOST_NAMES: usize = 500;
/// Ids of text that are at least this long are made up at random: no other session gives them to another step.
const UNIQUE_ID_BYTES: usize = 16;

/// A step as it is compared: two digests are equal when the steps are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digest {
    pub key: Key,
    pub answer: u64,
    pub tools: u64,
    pub output: u64,
    pub outcome: u64,
}

/// What one side of a comparison came to, on the branch that is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    pub steps: usize,
    pub usage: Usage,
    pub time: TimeSpent,
    /// Calls of each tool.
    pub tools: BTreeMap<String, u64>,
    /// Steps that each model served last.
    pub models: BTreeMap<String, u64>,
}

/// The steps of a session, read with their texts.
pub(super) fn read(
    recording: &dyn Recording,
    hashes: &RandomState,
    watch: Watch<'_>,
) -> Result<(Vec<Digest>, Totals), ReadError> {
    let session = recording.session();
    let bytes: u64 = recording.files().iter().map(|file| file.len()).sum();
    let events = session.events.len().max(1) as u64;
    let mut totals = Totals { steps: session.steps.len(), ..Totals::default() };
    let mut digests = Vec::with_capacity(session.steps.len());
    for step in &session.steps {
        // How far into the file it is, near enough: events lie in it one after the other.
        let done = (u128::from(bytes) * step.events.start as u128 / u128::from(events)) as u64;
        watch.step(done, bytes)?;
        digests.push(digest(recording, step, hashes, &mut totals, watch)?);
        totals.usage.add(&step.usage);
        totals.time = totals.time.plus(TimeSpent::of_step(session, step));
        step.model.iter().for_each(|model| count(&mut totals.models, model));
    }
    Ok((digests, totals))
}

fn count(names: &mut BTreeMap<String, u64>, name: &str) {
    let is_full = names.len() >= MOST_NAMES;
    match names.get_mut(name) {
        Some(times) => *times += 1,
        None => *names.entry(if is_full { "others" } else { name }.to_owned()).or_default() += 1,
    }
}

fn digest(
    recording: &dyn Recording,
    step: &Step,
    hashes: &RandomState,
    totals: &mut Totals,
    watch: Watch<'_>,
) -> Result<Digest, ReadError> {
    let text = recording.prompt(step.number)?;
    let hasher = || hashes.build_hasher();
    let (mut said, mut answer, mut tools, mut output, mut outcome) = (hasher(), hasher(), hasher(), hasher(), hasher());
    text.hash(&mut said);
    step.outcome.word().hash(&mut outcome);
    for part in parts(recording, step) {
        let (part, event, body) = part?;
        watch.step(0, 0)?;
        match part {
            TurnPart::Steering => body.text.hash(&mut said),
            TurnPart::Answer => body.text.hash(&mut answer),
            TurnPart::Call => {
                let tool = event.tool.as_deref();
                tool.map(|tool| &tool.name).hash(&mut tools);
                body.input.hash(&mut tools);
                body.output.hash(&mut output);
                tool.map(|tool| tool.state.word()).hash(&mut outcome);
                tool.into_iter().for_each(|tool| count(&mut totals.tools, &tool.name));
            }
        }
    }
    recording.session().events.glances(step.events.clone()).filter_map(told).for_each(|fact| fact.hash(&mut outcome));
    let key = Key {
        kind: step.kind,
        id: hashes.hash_one(&step.step_id),
        is_unique: matches!(&step.step_id, NodeId::Text(id) if id.len() >= UNIQUE_ID_BYTES),
        text: said.finish(),
        words: Sketch::new(&text, |word| hashes.hash_one(word) as u32),
    };
    Ok(Digest {
        key,
        answer: answer.finish(),
        tools: tools.finish(),
        output: output.finish(),
        outcome: outcome.finish(),
    })
}

/// What of a turn's events is compared by its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnPart {
    /// What the person wrote into the turn.
    Steering,
    Answer,
    Call,
}

/// The events of a turn that are compared, with their texts, one after the other.
pub(super) fn parts<'r>(
    recording: &'r dyn Recording,
    step: &Step,
) -> impl Iterator<Item = Result<(TurnPart, Event, Body), ReadError>> + 'r {
    let session: &Session = recording.session();
    step.events.clone().filter_map(move |index| {
        let part = match session.events.glance(index)?.kind {
            EventKind::Steering => TurnPart::Steering,
            EventKind::Text => TurnPart::Answer,
            EventKind::Tool => TurnPart::Call,
            _ => return None,
        };
        let event = session.events.get(index)?;
        Some(recording.body(&event).map(|body| (part, event.into_owned(), body)))
    })
}

/// What an event's marker adds to how a turn went: who was asked and what was decided, what failed, what took over.
fn told(event: Glance) -> Option<(MarkerKind, Option<Decision>)> {
    event
        .marker
        .filter(|marker| event.is_marked() && *marker != MarkerKind::Subagent)
        .map(|kind| (kind, event.decision))
}

impl ToolState {
    /// How a call ended, in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "no result",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Denied => "denied",
        }
    }
}
