//! Tests over whole files: fixtures written for them, and the samples where they are found.

mod actions;
mod build;
mod cuts;
mod damage;
mod happenings;
mod huge;
mod samples;
mod search;
mod shapes;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::formats::detect::Sample;
use crate::formats::{Patient, Recording};
use crate::model::Event;
use crate::store::{Framing, SourceFile, Watch};

/// Opens a file as this format whatever it is. Every file that a test opens is also read in parts, with the same result.
fn open_path(path: &Path) -> Arc<dyn Recording> {
    let source = Arc::new(SourceFile::open(path).unwrap());
    let sample = Sample::take(&source).unwrap();
    if super::recognise::framing(&source, &sample).unwrap() == Framing::Lines {
        assert_same_in_parts(&source);
        assert_same_when_read_on(&source);
    }
    super::open(source, &sample, &Patient).unwrap()
}

/// Large files are read in parts, side by side; where the parts begin and end must not show.
fn assert_same_in_parts(source: &Arc<SourceFile>) {
    // Files of megabytes are read in parts as it is.
    if source.len() >= super::parts::FROM_BYTES {
        return;
    }
    let whole = shown(source, super::read::read(source, Framing::Lines, Watch::none(), &mut |_, _| {}).unwrap());
    let parts = source.len().div_ceil(40).max(1);
    for size in [parts, 3 * parts + 1, source.len().div_ceil(2).max(1)] {
        let joined = super::parts::read(source, size, Watch::none(), &mut |_, _| {}).unwrap();
        assert!(whole == shown(source, joined), "in parts of {size} bytes: {}", source.path().display());
    }
}

/// A file that grows is read on from where it ended; where that was must not show.
fn assert_same_when_read_on(source: &Arc<SourceFile>) {
    if source.is_empty() || source.len() >= super::parts::FROM_BYTES {
        return;
    }
    let content = source.read_at(0, usize::try_from(source.len()).unwrap()).unwrap();
    let whole = shown(source, super::read::read(source, Framing::Lines, Watch::none(), &mut |_, _| {}).unwrap());
    let mut file = tempfile::NamedTempFile::new().unwrap();
    // In the middle of a line, and behind one.
    let middles = (1..8).map(|eighth| content.len() * eighth / 8);
    let ends = (1..5).filter_map(|fifth| {
        let from = content.len() * fifth / 5;
        memchr::memchr(b'\n', &content[from..]).map(|end| from + end + 1)
    });
    let mut cuts: Vec<usize> = middles.chain(ends).filter(|cut| *cut > 0).collect();
    cuts.sort_unstable();
    let mut before: Option<(SourceFile, super::Index)> = None;
    for cut in cuts.into_iter().chain([content.len()]) {
        let there = file.as_file().metadata().unwrap().len();
        file.write_all(content.get(usize::try_from(there).unwrap()..cut).unwrap_or_default()).unwrap();
        let now = SourceFile::open(file.path()).unwrap();
        let read_on =
            before.and_then(|(before, index)| super::append::read_on(&index, &before, &now, Watch::none()).unwrap());
        let index =
            read_on.unwrap_or_else(|| super::read::read(&now, Framing::Lines, Watch::none(), &mut |_, _| {}).unwrap());
        before = Some((now, index));
    }
    assert!(whole == shown(source, before.unwrap().1), "read on: {}", source.path().display());
}

fn shown(source: &Arc<SourceFile>, index: super::Index) -> String {
    let index = Arc::new(index);
    let session = super::assemble(source, &index, &[]).session;
    let walked: Vec<_> = index.records.iter().map(|record| (record.span, record.role, record.flags)).collect();
    format!("{session:?} {walked:?}")
}

/// The line that stands for an event: its own, or that of its text.
fn label(recording: &dyn Recording, event: &Event) -> String {
    let label = if event.label.is_empty() { recording.body(event).unwrap().label } else { event.label.clone() };
    label.into()
}

/// Opens content from a file of its own, named like a session.
fn open_bytes(content: &[u8]) -> (tempfile::TempDir, Arc<dyn Recording>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("5e551011-0000-4000-8000-000000000001.jsonl");
    std::fs::File::create(&path).unwrap().write_all(content).unwrap();
    let recording = open_path(&path);
    (folder, recording)
}

#[test]
fn a_line_that_was_not_whole_is_read_once_it_is() {
    let line = |uuid: &str, parent: &str| {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","message":{{"content":"say {uuid}"}}}}"#
        )
    };
    let (first, second) = (line("u1", "null"), line("u2", "\"u1\""));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("5e551011-0000-4000-8000-000000000001.jsonl");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    write(&format!("{first}\n{}", &second[..40]));
    let torn = open_path(&path);
    assert_eq!((torn.session().steps.len(), torn.session().report.records.torn), (1, 1));
    // The same file, and more behind it.
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(format!("{}\n", &second[40..]).as_bytes()).unwrap();
    let grown = torn.grown(&Patient).unwrap().unwrap();
    assert_eq!((grown.session().steps.len(), grown.session().report.records.torn), (2, 0));
    assert_eq!(grown.prompt(2).unwrap(), "say u2");
    assert!(grown.session().report.problems.is_empty());
    // Nothing new is nothing new.
    assert_eq!(grown.grown(&Patient).unwrap().unwrap().session().steps.len(), 2);
    // Another file in its place, or one that was cut, is read anew.
    write(&format!("{second}\n{first}\n"));
    assert!(grown.grown(&Patient).unwrap().is_none());
    write("");
    assert!(grown.grown(&Patient).unwrap().is_none());
    std::fs::remove_file(&path).unwrap();
    assert!(grown.grown(&Patient).is_err());
}
