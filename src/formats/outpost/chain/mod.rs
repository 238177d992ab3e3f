//! Journals as Outpost keeps them itself: a chain of objects, one entry each, with an index that names the newest.
//!
//! The entries are read by the same rules as those of a journal's file. Objects are never rewritten: what a fork or a
//! revert keeps becomes a journal's file.

mod segment;
mod summary;
mod walk;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::entries::{Entries, EntryObjects, Form, Layout};
use super::object::{self, Object};
use super::objects::Objects;
use super::read::{Partials, Reader};
use crate::formats::{Observer, OpenError, Recording, json};
use crate::model::{FormatName, Locator, Problem, ProblemKind, Timestamp};
use crate::store::{ReadError, SourceFile};
use segment::{Index, Segment};
pub use summary::summary;
use walk::Chain;

/// How much Outpost reads of a journal, where nobody allows it more.
const OUTPOSTS_SEGMENTS: usize = 100_000;
const OUTPOSTS_BYTES: u64 = 64 * 1024 * 1024;

const NEVER_REWRITTEN: &str =
    "Outpost's stored objects are never rewritten: this is a new file, a journal of what stays";

/// A journal at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Of the dispatch; of the log where no segment names it.
    pub id: String,
    /// The first prompt; `None` where it is too far from both ends to be found at a glance.
    pub title: Option<String>,
    /// `running or crashed`, `done`, `failed`, `cancelled`, or only `closed`.
    pub status: String,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub bytes: u64,
    pub segments: usize,
}

/// Opens the journal whose objects are below the key `logs/<log>`.
pub fn open(objects: &Objects, log: &str, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let folder = format!("logs/{log}");
    let FoundIndex { file, index, problems: mut notices } = read_index(objects, &format!("{folder}/index"))?;
    let mut chain = walk::walk(objects, &folder, index.as_ref(), observer)?;
    notices.append(&mut chain.notices);
    let newest = chain.links.last().and_then(|(key, _)| objects.open(key).ok());
    let files: Vec<_> = file.into_iter().chain(newest.map(Arc::new)).collect();
    if files.is_empty() {
        let path = objects.folder(&folder).unwrap_or_else(|_| objects.root().to_owned());
        return Err(OpenError::Empty { reason: "there is no journal of that name".to_owned(), path });
    }
    notices.extend(limits(&folder, &chain));
    let mut warnings = vec![NEVER_REWRITTEN.to_owned()];
    if chain.gaps > 0 {
        warnings.push("Segments of the journal are missing: the new file holds those that are there".to_owned());
    }
    let (keys, segments): (Vec<_>, Vec<_>) = chain.links.into_iter().unzip();
    let layout = Layout::Objects(Arc::new(EntryObjects { objects: objects.clone(), keys }));
    let entries = Entries { files, form: Form::Flat, layout, warnings };
    let mut reader = Reader::new(entries, objects.root().to_owned(), FormatName::OutpostStorage);
    read_segments(&mut reader, &segments, observer)?;
    for notice in notices {
        reader.report.notice(notice);
    }
    reader.log = Some(log.to_owned());
    Ok(Arc::new(reader.finish()))
}

/// An index as it was found.
struct FoundIndex {
    /// `None` where there is none.
    file: Option<Arc<SourceFile>>,
    /// `None` where it cannot be read either.
    index: Option<Index>,
    problems: Vec<Problem>,
}

fn read_index(objects: &Objects, key: &str) -> Result<FoundIndex, OpenError> {
    let problem = |message: String| Problem {
        locator: Locator::Key(key.to_owned()),
        offset: None,
        kind: ProblemKind::Structure,
        message,
        file: None,
    };
    let object = match objects.read(key) {
        Ok(object) => object,
        Err(ReadError::Cancelled(cancelled)) => return Err(cancelled.into()),
        Err(error) => {
            let message = format!("there is no index, the newest segment is taken for the head ({error})");
            return Ok(FoundIndex { file: None, index: None, problems: vec![problem(message)] });
        }
    };
    let Object { file, body, flaws, .. } = object;
    let index = segment::index(&body);
    let mut problems: Vec<_> = flaws.into_iter().map(problem).collect();
    if index.is_none() {
        problems.push(problem("the index cannot be read, the newest segment is taken for the head".to_owned()));
    }
    Ok(FoundIndex { file: Some(file), index, problems })
}

/// Where Outpost itself would stop reading.
fn limits(folder: &str, chain: &Chain) -> Vec<Problem> {
    let count = chain.links.len();
    let bytes: u64 = chain.links.iter().map(|(_, segment)| segment.bytes).sum();
    let mut messages = Vec::new();
    if count > OUTPOSTS_SEGMENTS {
        messages.push(format!("Outpost would refuse this journal: it has {count} entries, more than 100000"));
    }
    if bytes > OUTPOSTS_BYTES {
        messages.push(format!("Outpost would refuse this journal: its entries have {bytes} bytes, more than 64 MiB"));
    }
    let problem = |message| Problem {
        locator: Locator::Key(folder.to_owned()),
        offset: None,
        kind: ProblemKind::Refused,
        message,
        file: None,
    };
    messages.into_iter().map(problem).collect()
}

fn read_segments(reader: &mut Reader, segments: &[Segment], observer: &dyn Observer) -> Result<(), OpenError> {
    let Layout::Objects(stored) = reader.entries.layout.clone() else { return Ok(()) };
    let mut partials = Partials::default();
    let mut bytes = 0;
    let total = segments.len() as u64;
    for ((done, key), segment) in (0..).zip(&stored.keys).zip(segments) {
        observer.watch().step(total + done, 2 * total)?;
        let text = match (&segment.entry, &segment.unreadable) {
            (Some(entry), _) => Ok(Cow::Borrowed(entry.as_slice())),
            (None, Some(_)) => Ok(Cow::default()),
            (None, None) => read_entry(&stored.objects, key, segment).map(Cow::Owned),
        };
        take(reader, segment, text);
        bytes += segment.bytes;
        partials.reach(bytes, reader, observer);
    }
    Ok(())
}

fn read_entry(objects: &Objects, key: &str, segment: &Segment) -> Result<Vec<u8>, ReadError> {
    objects.open(key)?.read_at(segment.span.offset, segment.span.len as usize)
}

fn take(reader: &mut Reader, segment: &Segment, text: Result<Cow<'_, [u8]>, ReadError>) {
    for flaw in &segment.flaws {
        reader.problem(segment.span, ProblemKind::Refused, format!("Outpost would refuse this object: {flaw}"));
    }
    match (text, &segment.unreadable) {
        (_, Some(reason)) => reader.unreadable(segment.span, ProblemKind::Unreadable, reason),
        (Err(error), None) => reader.unreadable(segment.span, ProblemKind::Unreadable, &error.to_string()),
        (Ok(bytes), None) => {
            let text = json::readable(&bytes);
            if let Some(repair) = text.repair {
                reader.problem(segment.span, ProblemKind::Repaired, repair.to_owned());
            }
            reader.take_object(segment.span, &text.text);
        }
    }
}

/// An object that was taken out of its store: the one entry that it holds.
pub fn alone(path: &Path) -> Result<Arc<dyn Recording>, OpenError> {
    let object = object::read(SourceFile::open(path)?, None)?;
    let segment = Segment::read(&object);
    let index = segment::index(&object.body);
    let entries = Entries {
        files: vec![object.file],
        form: Form::Flat,
        layout: Layout::Loose,
        warnings: vec![NEVER_REWRITTEN.to_owned()],
    };
    let mut reader = Reader::new(entries, path.to_owned(), FormatName::OutpostStorage);
    if index.is_none() {
        take(&mut reader, &segment, Ok(segment.entry.as_deref().unwrap_or_default().into()));
    }
    reader.report.notice(Problem {
        locator: Locator::Key("file".to_owned()),
        offset: None,
        kind: ProblemKind::Structure,
        message: match index {
            Some(_) => "this is a journal's index, without the folder objects that its entries are in".to_owned(),
            None => "this is one entry of a journal, without the folder objects that the others are in".to_owned(),
        },
        file: None,
    });
    Ok(Arc::new(reader.finish()))
}
