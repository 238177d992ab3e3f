//! Reading on in a file that was appended to, from where its last reading ended.

use std::sync::Arc;

use super::index::Index;
use super::read::Reader;
use super::{Transcript, subagents};
use crate::formats::detect::Sample;
use crate::formats::{Observer, Recording, mixed_notice};
use crate::store::{LineReader, ReadError, SourceFile, Watch};

/// The session with what was appended to its files; `None` where the file must be read anew.
pub(super) fn grown(old: &Transcript, observer: &dyn Observer) -> Result<Option<Arc<dyn Recording>>, ReadError> {
    let Some(before) = old.files.first().filter(|_| !old.partial) else { return Ok(None) };
    let source = Arc::new(SourceFile::open(before.path())?);
    let Some(index) = read_on(&old.index, before, &source, observer.watch())? else { return Ok(None) };
    let (agents, problems) = subagents::read_all(source.path(), &index, &old.agents, observer)?;
    let notice = mixed_notice(&Sample::take(&source)?);
    let mut transcript = Transcript::new(source, index, agents, false);
    let report = &mut transcript.assembled.session.report;
    problems.into_iter().chain(notice).for_each(|problem| report.notice(problem));
    Ok(Some(Arc::new(transcript)))
}

/// The index of `now`, which was appended to since `before` was read into `index`. `None` where that is not so, or where
/// the reading did not end behind a line or before one that was not whole yet.
pub(super) fn read_on(
    index: &Index,
    before: &SourceFile,
    now: &SourceFile,
    watch: Watch<'_>,
) -> Result<Option<Index>, ReadError> {
    if index.is_array || !now.continues(before)? {
        return Ok(None);
    }
    let mut index = index.clone();
    let torn = index.take_torn();
    let start = match torn {
        Some(offset) => offset,
        None if before.read_at(before.len().saturating_sub(1), 1)? == b"\n" => before.len(),
        None => return Ok(None),
    };
    let lines = u32::try_from(index.lines).unwrap_or(u32::MAX);
    let mut reader = Reader::into(now, index);
    let more = LineReader::default().scan(now, start..now.len(), watch, &mut |mut found| {
        found.span.line = found.span.line.saturating_add(lines);
        reader.take(found);
    })?;
    Ok(Some(reader.finish(u64::from(lines) + more)))
}
