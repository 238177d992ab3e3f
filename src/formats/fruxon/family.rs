//! The conversations in the files that were opened together: listing them, and opening one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::join::{Group, Unit, groups, is_fork_name, units_of};
use super::kind::Kind;
use super::read::{FileData, load};
use super::session::{Conversation, build};
use crate::formats::{Listed, Observer, OpenError, Part, Recording, SessionRef, nothing_in};
use crate::model::{FormatName, Timestamp};
use crate::store::ReadError;

/// One conversation is read from so many files at most: each of them is held open.
const MAX_FILES: usize = 400;
/// Of so few files all are named with each conversation: which records go together can depend on all of them.
const MAX_NAMED: usize = 64;
/// Files are kept from looking them through to reading them while they have together no more bytes than this.
const MAX_KEPT_BYTES: u64 = 64 * 1024 * 1024;

/// What was found in the files.
struct Survey {
    paths: Vec<PathBuf>,
    formats: Vec<FormatName>,
    /// By `(file, record)`.
    units: HashMap<(usize, usize), Unit>,
    /// How much each file says of what was said, the smallest the most.
    ranks: Vec<u8>,
    groups: Vec<Group>,
    /// Files that were kept in memory.
    kept: Vec<Option<FileData>>,
    unread: Option<ReadError>,
}

fn survey(parts: &[Part], observer: &dyn Observer) -> Result<Survey, OpenError> {
    let (mut units, mut kept, mut bytes, mut unread) = (Vec::new(), Vec::new(), 0, None);
    for (index, part) in parts.iter().enumerate() {
        observer.watch().step(index as u64, parts.len() as u64)?;
        match load(&part.path, observer.watch()) {
            Ok(data) => {
                units.extend(units_of(&data, index));
                bytes += data.file.len();
                kept.push(Some(data).filter(|_| bytes <= MAX_KEPT_BYTES && index < MAX_FILES));
            }
            Err(ReadError::Cancelled(cancelled)) => return Err(cancelled.into()),
            Err(error) if parts.len() == 1 => return Err(error.into()),
            Err(error) => {
                kept.push(None);
                unread = Some(error);
            }
        }
    }
    let groups = groups(&units);
    let mut ranks = vec![u8::MAX; parts.len()];
    for unit in &units {
        if let Some(rank) = ranks.get_mut(unit.file) {
            *rank = importance(unit.kind).min(*rank);
        }
    }
    let units = units.into_iter().map(|unit| ((unit.file, unit.record), unit)).collect();
    let paths = parts.iter().map(|part| part.path.clone()).collect();
    let formats = parts.iter().map(|part| part.format.name).collect();
    Ok(Survey { paths, formats, units, ranks, groups, kept, unread })
}

impl Survey {
    /// What a group is called by; its file's name where no id names it.
    fn name(&self, group: &Group) -> String {
        let first = self.files_of(group).first().and_then(|file| self.paths.get(*file)).cloned().unwrap_or_default();
        let stem = || first.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        group.key.clone().filter(|_| !is_fork_name(&first)).unwrap_or_else(stem)
    }

    /// The files of a group, the one that it is called by first: messages before frames before what is about runs.
    fn files_of(&self, group: &Group) -> Vec<usize> {
        let mut files: Vec<usize> = group.records.iter().map(|(file, _)| *file).collect();
        files.dedup();
        let rank = |file: &usize| self.ranks.get(*file).copied().unwrap_or(u8::MAX);
        let mut ranked: Vec<(u8, usize)> = files.iter().map(|file| (rank(file), *file)).collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(_, file)| file).collect()
    }

    /// Whether any record is about this run.
    fn has_run(&self, run: &str) -> bool {
        self.units.values().any(|unit| unit.is_about(run))
    }

    fn listed(&self, group: &Group) -> Listed {
        let files = self.files_of(group);
        let paths: Vec<PathBuf> = files.iter().filter_map(|file| self.paths.get(*file)).cloned().collect();
        let format =
            files.first().and_then(|file| self.formats.get(*file)).copied().unwrap_or(FormatName::FruxonRecord);
        let name = self.name(group);
        let own = || group.records.iter().filter_map(|place| self.units.get(place));
        let times = || own().filter_map(Unit::at);
        let prompts = own().filter(|unit| unit.title.is_some());
        let title = prompts.min_by_key(|unit| unit.at().unwrap_or(i64::MAX)).and_then(|unit| unit.title.clone());
        let bytes = paths.iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum();
        let others = self.paths.iter().filter(|path| self.paths.len() <= MAX_NAMED && !paths.contains(path)).cloned();
        let paths = paths.iter().cloned().chain(others.collect::<Vec<_>>()).collect();
        let listed = Listed::new(SessionRef { paths, key: Some(name) }, format);
        Listed {
            title,
            started_at: times().min().map(Timestamp),
            ended_at: times().max().map(Timestamp).or(listed.ended_at),
            bytes,
            ..listed
        }
    }
}

/// Which file a conversation is called by: the smallest.
fn importance(kind: Kind) -> u8 {
    match kind {
        Kind::Row | Kind::Topic | Kind::Channel => 0,
        Kind::Frame => 1,
        Kind::Rewind | Kind::Fork => 2,
        Kind::Approval | Kind::Audit => 5,
        Kind::Trace | Kind::Projected | Kind::Otlp | Kind::RawSpans => 4,
        _ => 3,
    }
}

pub fn list(parts: &[Part], observer: &dyn Observer) -> Result<Vec<Listed>, OpenError> {
    let survey = survey(parts, observer)?;
    if survey.groups.is_empty() {
        return Err(nothing(parts, survey.unread));
    }
    Ok(survey.groups.iter().map(|group| survey.listed(group)).collect())
}

fn nothing(parts: &[Part], unread: Option<ReadError>) -> OpenError {
    let path = parts.first().map_or(Path::new(""), |part| part.path.as_path());
    unread.map_or_else(|| nothing_in(path), OpenError::from)
}

pub fn open(parts: &[Part], key: Option<&str>, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    let mut survey = survey(parts, observer)?;
    let path = || parts.first().map_or(PathBuf::new(), |part| part.path.clone());
    let group = match (survey.groups.as_slice(), key) {
        ([], _) => return Err(nothing(parts, survey.unread)),
        ([only], None) => only.clone(),
        (_, None) => return Err(OpenError::Several { path: path() }),
        (groups, Some(key)) => match groups.iter().find(|group| survey.name(group) == key) {
            Some(group) => group.clone(),
            None if groups.len() == 1 && survey.has_run(key) => groups.first().cloned().unwrap_or_default(),
            None => return Err(OpenError::NoSession { wanted: key.to_owned(), path: path() }),
        },
    };
    Ok(Arc::new(read(&mut survey, &group, observer)?))
}

fn read(survey: &mut Survey, group: &Group, observer: &dyn Observer) -> Result<Conversation, OpenError> {
    let mut order = survey.files_of(group);
    if order.len() > MAX_FILES {
        let reason = format!("{} files belong to this conversation; open {MAX_FILES} at most", order.len());
        let path = order.first().and_then(|file| survey.paths.get(*file)).cloned().unwrap_or_default();
        return Err(OpenError::Empty { reason, path });
    }
    let mut files = Vec::with_capacity(order.len());
    for file in &order {
        let kept = survey.kept.get_mut(*file).and_then(Option::take);
        files.push(match (kept, survey.paths.get(*file)) {
            (Some(data), _) => data,
            (None, Some(path)) => load(path, observer.watch())?,
            (None, None) => continue,
        });
    }
    let place = |file: usize| order.iter().position(|own| *own == file);
    let moved = |list: &[(usize, usize)]| -> Vec<(usize, usize)> {
        let mut moved: Vec<_> = list.iter().filter_map(|(file, record)| Some((place(*file)?, *record))).collect();
        moved.sort_unstable();
        moved
    };
    let own = Group { records: moved(&group.records), inferred: moved(&group.inferred), ..group.clone() };
    order.clear();
    Ok(build(files, &own))
}
