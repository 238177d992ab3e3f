//! What became of each record, for the reading report.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::facts::{Facts, Spot};
use super::join::Group;
use super::read::FileData;
use super::turns::Turn;
use crate::model::{Locator, Problem, ProblemKind, Report};

/// The records of which nothing can be used, each with the turn that the record before it belongs to.
pub fn lost_records(files: &[FileData], turns: &[Turn<'_>]) -> HashMap<usize, Vec<Spot>> {
    let mut owners: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (place, turn) in turns.iter().enumerate() {
        owners.extend(turn.frames.iter().map(|frame| ((frame.spot.file, frame.spot.record), place)));
        owners.extend(turn.row_spots.iter().map(|spot| (*spot, place)));
    }
    let mut lost: HashMap<usize, Vec<Spot>> = HashMap::new();
    for (file, data) in files.iter().enumerate() {
        for (record, _) in data.records.iter().enumerate().filter(|(_, record)| record.is_lost()) {
            let before = owners.range((file, 0)..(file, record)).next_back().map(|(_, place)| *place);
            lost.entry(before.unwrap_or(0)).or_default().push(Spot::new(file, record));
        }
    }
    lost
}

/// Accounts for every record of the files, and tells what was noticed of them.
pub fn count(files: &[FileData], group: &Group, copies: &[(usize, usize)], facts: &Facts<'_>, report: &mut Report) {
    let own: HashSet<(usize, usize)> = group.records.iter().copied().collect();
    let copies: HashSet<(usize, usize)> = copies.iter().copied().collect();
    for (file, data) in files.iter().enumerate() {
        let name = (file > 0).then(|| data.path().to_string_lossy().into_owned());
        for (index, record) in data.records.iter().enumerate() {
            let is_own = own.contains(&(file, index));
            if !is_own && !record.is_lost() {
                continue;
            }
            let fate = match &record.problem {
                _ if copies.contains(&(file, index)) => Some(ProblemKind::Duplicate),
                Some((kind, _)) if !matches!(kind, ProblemKind::Repaired) => Some(*kind),
                _ => None,
            };
            match fate {
                Some(kind) => report.records.count(kind),
                None => report.records.count_read(),
            }
            if let Some(problem) = data.problem(index) {
                report.push(Problem { file: name.clone(), ..problem });
            }
        }
        if data.has_next_page {
            let message = "there are more pages than this one: its `nextPageToken` is set".to_owned();
            report.notice(noticed("nextPageToken", ProblemKind::Structure, message, name));
        }
    }
    for (file, index) in &group.inferred {
        let Some(data) = files.get(*file) else { continue };
        let name = (*file > 0).then(|| data.path().to_string_lossy().into_owned());
        let message = "joined to this conversation by its time alone".to_owned();
        let offset = data.records.get(*index).map(|record| record.span.offset);
        report.push(Problem {
            locator: data.locator(*index),
            offset,
            kind: ProblemKind::Structure,
            message,
            file: name,
        });
    }
    if let Some(run) = facts.circle() {
        let message = format!("runs name each other as their parents, in a circle: {run}");
        report.notice(noticed("parentExecutionRecordId", ProblemKind::Structure, message, None));
    }
}

pub fn noticed(key: &str, kind: ProblemKind, message: String, file: Option<String>) -> Problem {
    Problem { locator: Locator::Key(key.to_owned()), offset: None, kind, message, file }
}
