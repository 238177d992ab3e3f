//! Searching a transcript without taking every record apart: the bytes of the file go through the pattern's sieve, and
//! only records that pass are read as texts, by the same code that searches other formats.
//!
//! Two threads read stretches of the file side by side; what they find is given in the order of the file. Memory: the
//! stretches being read, one record each, and the hits of at most [`AHEAD`] stretches that wait for one before them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use crossbeam_channel::{Sender, bounded};

use super::Transcript;
use crate::formats::search::{At, Hit, Judge, OVERLAP_BYTES, Pattern};
use crate::model::{EventKind, StepKind};
use crate::store::{ReadError, SourceFile, Watch};

/// A stretch of the file that stays in a core's own cache while the sieve's passes go over it.
const STRETCH_BYTES: u64 = 512 * 1024;
/// Stretches that may be done before one that is still being worked on.
const AHEAD: u64 = 32;
/// Threads that read; one that draws must have room beside them.
const THREADS: usize = 2;

/// Searches the session's own file; subagents have files of their own, which are not part of the conversation.
pub(super) fn search(
    transcript: &Transcript,
    pattern: &Pattern,
    watch: Watch<'_>,
    hit: &mut dyn FnMut(Hit),
) -> Result<(), ReadError> {
    let Some(file) = transcript.files.first() else { return Ok(()) };
    let search = Search::new(transcript, file, pattern, watch);
    thread::scope(|scope| {
        let (sender, receiver) = bounded(THREADS);
        for _ in 0..THREADS {
            let (search, sender) = (&search, sender.clone());
            scope.spawn(move || search.work(&sender));
        }
        drop(sender);
        let mut waiting: BTreeMap<u64, Stretch> = BTreeMap::new();
        let mut next = 0;
        let mut result = Ok(());
        // It ends when both threads have: when the file is done, or when one has met an error.
        for found in receiver {
            match found {
                Ok(stretch) => {
                    waiting.insert(stretch.number, stretch);
                }
                Err(error) => {
                    result = result.and(Err(error));
                    search.lock().stopped = true;
                    search.delivered.notify_all();
                }
            }
            while result.is_ok()
                && let Some(stretch) = waiting.remove(&next)
            {
                next += 1;
                stretch.hits.into_iter().for_each(&mut *hit);
                search.lock().delivered = next;
                search.delivered.notify_all();
                result = watch.step(stretch.end, file.len()).map_err(ReadError::from);
            }
        }
        result
    })
}

/// What was found in a stretch of the file.
struct Stretch {
    number: u64,
    /// Where it ends, in bytes from the start of the file.
    end: u64,
    hits: Vec<Hit>,
}

/// How far the file is dealt out.
#[derive(Default)]
struct Dealt {
    /// The first record of the next stretch.
    record: u32,
    number: u64,
    delivered: u64,
    stopped: bool,
}

struct Search<'a> {
    transcript: &'a Transcript,
    file: &'a SourceFile,
    judge: Judge<'a, Transcript>,
    dealt: Mutex<Dealt>,
    delivered: Condvar,
    /// Records whose texts are put together from more than stands in them word by word: they always pass. Sorted.
    always: Vec<u32>,
    owners: OnceLock<Owners>,
    /// Steps, then events that were looked into: a call and its result are one event of two records.
    seen: Vec<AtomicBool>,
}

impl<'a> Search<'a> {
    fn new(transcript: &'a Transcript, file: &'a SourceFile, pattern: &'a Pattern, watch: Watch<'a>) -> Self {
        let session = &transcript.assembled.session;
        let seen = (0..session.steps.len() + session.events.len()).map(|_| AtomicBool::new(false)).collect();
        Self {
            transcript,
            file,
            judge: Judge { recording: transcript, pattern, watch },
            dealt: Mutex::default(),
            delivered: Condvar::new(),
            always: always(transcript),
            owners: OnceLock::new(),
            seen,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Dealt> {
        self.dealt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next stretch of records, its number and its bytes; `None` when there is none, or it is not wanted.
    fn deal(&self) -> Option<(u64, Range<u32>, Range<u64>)> {
        let mut dealt = self.lock();
        while !dealt.stopped && dealt.number >= dealt.delivered + AHEAD {
            dealt = self.delivered.wait(dealt).unwrap_or_else(PoisonError::into_inner);
        }
        if dealt.stopped {
            return None;
        }
        let index = &self.transcript.index;
        let first = dealt.record;
        let start = index.record(first)?.span.offset;
        let (mut next, mut end) = (first, start);
        while let Some(record) = index.record(next)
            && (next == first || record.span.offset + u64::from(record.span.len) <= start + STRETCH_BYTES)
        {
            end = end.max(record.span.offset + u64::from(record.span.len));
            next += 1;
        }
        let number = dealt.number;
        (dealt.record, dealt.number) = (next, number + 1);
        Some((number, first..next, start..end))
    }

    /// Takes stretches until there are no more.
    fn work(&self, sender: &Sender<Result<Stretch, ReadError>>) {
        let mut buffer = Vec::new();
        while let Some((number, records, bytes)) = self.deal() {
            let end = bytes.end;
            let found = self.stretch(records, bytes, &mut buffer).map(|hits| Stretch { number, end, hits });
            let failed = found.is_err();
            if sender.send(found).is_err() || failed {
                return;
            }
        }
    }

    fn stretch(&self, records: Range<u32>, bytes: Range<u64>, buffer: &mut Vec<u8>) -> Result<Vec<Hit>, ReadError> {
        let mut passed = self.always_of(&records).to_vec();
        let mut from = bytes.start;
        while from < bytes.end {
            self.judge.watch.check()?;
            // A record that is longer than a stretch is a stretch of its own, and is looked at in pieces.
            let len = (bytes.end - from).min(STRETCH_BYTES + OVERLAP_BYTES as u64);
            self.read(from, len, buffer)?;
            self.judge.pattern.sieve().sift(buffer, &mut |at| {
                let (record, end) = self.record_at(&records, from + at as u64);
                passed.extend(record);
                usize::try_from(end - from).unwrap_or(usize::MAX)
            });
            from += if from + len < bytes.end { STRETCH_BYTES } else { len };
        }
        passed.sort_unstable();
        passed.dedup();
        let mut hits = Vec::new();
        passed.into_iter().try_for_each(|record| self.record(record, &mut hits))?;
        Ok(hits)
    }

    fn always_of(&self, records: &Range<u32>) -> &[u32] {
        let at = |record: u32| self.always.partition_point(|always| *always < record);
        self.always.get(at(records.start)..at(records.end)).unwrap_or_default()
    }

    fn read(&self, from: u64, len: u64, buffer: &mut Vec<u8>) -> Result<(), ReadError> {
        buffer.resize(usize::try_from(len).unwrap_or(0), 0);
        if self.file.fill(from, buffer)? < buffer.len() {
            return Err(ReadError::Shrunk { path: self.file.path().to_owned() });
        }
        Ok(())
    }

    /// The record at a byte of the file, and where the next one begins.
    fn record_at(&self, records: &Range<u32>, at: u64) -> (Option<u32>, u64) {
        let index = &self.transcript.index;
        let starts_before = |number: u32| index.record(number).is_some_and(|record| record.span.offset <= at);
        let (mut low, mut high) = (records.start, records.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if starts_before(middle) { low = middle + 1 } else { high = middle }
        }
        let next = if low < records.end { index.record(low).map(|record| record.span.offset) } else { None };
        (low.checked_sub(1).filter(|record| records.contains(record)), next.unwrap_or(u64::MAX))
    }

    /// Looks into the texts that a record is a part of.
    fn record(&self, record: u32, hits: &mut Vec<Hit>) -> Result<(), ReadError> {
        let session = &self.transcript.assembled.session;
        let owners = self.owners.get_or_init(|| Owners::of(self.transcript));
        for owner in owners.of_record(record) {
            let bit = match owner {
                At::Step(number) => (number as usize).wrapping_sub(1),
                At::Event(index) => session.steps.len() + index,
            };
            if self.seen.get(bit).is_none_or(|seen| seen.swap(true, Ordering::Relaxed)) {
                continue;
            }
            self.judge.watch.check()?;
            match owner {
                At::Step(number) => self.judge.step(number, &mut |hit| hits.push(hit))?,
                At::Event(index) => {
                    if let Some(event) = session.events.get(index) {
                        self.judge.event(index, &event, &mut |hit| hits.push(hit))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Questions are put into words, commands taken out of their wrappers, damaged records shown with a note.
fn always(transcript: &Transcript) -> Vec<u32> {
    let session = &transcript.assembled.session;
    let of_steps = session.steps.iter().filter_map(|step| {
        (step.kind == StepKind::QuestionAnswer || step.origin == Some("command")).then_some(step.place)
    });
    let of_events = session.events.glances(0..session.events.len()).filter_map(|event| {
        let composed = matches!(event.kind, EventKind::Question | EventKind::FileChange | EventKind::Unreadable);
        composed.then_some(event.place)
    });
    let mut records: Vec<u32> =
        of_steps.chain(of_events).filter(|place| place.file == 0).map(|place| place.record).collect();
    records.sort_unstable();
    records.dedup();
    records
}

/// Which steps and events each record is a part of.
struct Owners {
    /// For each record, where its owners end in the list; they begin where those of the record before end.
    ends: Vec<u32>,
    owners: Vec<At>,
}

impl Owners {
    fn of(transcript: &Transcript) -> Self {
        let session = &transcript.assembled.session;
        let each = |take: &mut dyn FnMut(u32, At)| {
            for step in &session.steps {
                let answer = transcript.answer_of(step).map(|place| place.record);
                let record = Some(step.place).filter(|place| place.file == 0).map(|place| place.record);
                record.into_iter().chain(answer).for_each(|record| take(record, At::Step(step.number)));
            }
            let glances = session.events.glances(0..session.events.len()).enumerate();
            for (index, event) in glances.filter(|(_, event)| event.text_bytes > 0 || event.tool.is_some()) {
                // Only an event that is made tells where the result of its call is.
                let made = event.tool.and_then(|_| session.events.get(index));
                let result = made.as_ref().and_then(|event| event.tool.as_ref()?.result);
                let places = [Some(event.place), result.filter(|result| *result != event.place)];
                let places = places.into_iter().flatten().filter(|place| place.file == 0);
                places.for_each(|place| take(place.record, At::Event(index)));
            }
        };
        // Counted, then put where there is room for as many: in order without sorting.
        let mut ends = vec![0_u32; transcript.index.records.len()];
        each(&mut |record, _| {
            if let Some(count) = ends.get_mut(record as usize) {
                *count += 1;
            }
        });
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut owners = vec![At::Step(0); sum as usize];
        each(&mut |record, owner| {
            if let Some(end) = ends.get_mut(record as usize)
                && let Some(place) = owners.get_mut(*end as usize)
            {
                *place = owner;
                *end += 1;
            }
        });
        Self { ends, owners }
    }

    fn of_record(&self, record: u32) -> impl Iterator<Item = At> {
        let end = |record: usize| self.ends.get(record).map_or(0, |end| *end as usize);
        let start = (record as usize).checked_sub(1).map_or(0, end);
        self.owners.get(start..end(record as usize)).unwrap_or_default().iter().copied()
    }
}
