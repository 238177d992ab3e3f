//! Tests over whole files: fixtures written for them, and the samples where they are found.

mod actions;
mod build;
mod cuts;
mod damage;
mod happenings;
mod samples;
mod search;
mod shapes;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::formats::detect::Sample;
use crate::formats::{Patient, Recording};
use crate::store::{Framing, SourceFile, Watch};

/// Opens a file as this format whatever it is. Every file that a test opens is also read in parts, with the same result.
fn open_path(path: &Path) -> Arc<dyn Recording> {
    let source = Arc::new(SourceFile::open(path).unwrap());
    let sample = Sample::take(&source).unwrap();
    if super::recognise::framing(&source, &sample).unwrap() == Framing::Lines {
        assert_same_in_parts(&source);
    }
    super::open(source, &sample, &Patient).unwrap()
}

/// Large files are read in parts, side by side; where the parts begin and end must not show.
fn assert_same_in_parts(source: &Arc<SourceFile>) {
    // Files of megabytes are read in parts as it is.
    if source.len() >= super::parts::FROM_BYTES {
        return;
    }
    let shown = |index: super::Index| {
        let session = super::assemble(source, &index, &[]).session;
        let walked: Vec<_> = index.records.iter().map(|record| (record.span, record.role, record.flags)).collect();
        format!("{session:?} {walked:?}")
    };
    let whole = shown(super::read::read(source, Framing::Lines, Watch::none(), &mut |_, _| {}).unwrap());
    let parts = source.len().div_ceil(40).max(1);
    for size in [parts, 3 * parts + 1, source.len().div_ceil(2).max(1)] {
        let joined = super::parts::read(source, size, Watch::none(), &mut |_, _| {}).unwrap();
        assert!(whole == shown(joined), "in parts of {size} bytes: {}", source.path().display());
    }
}

/// Opens content from a file of its own, named like a session.
fn open_bytes(content: &[u8]) -> (tempfile::TempDir, Arc<dyn Recording>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("5e551011-0000-4000-8000-000000000001.jsonl");
    std::fs::File::create(&path).unwrap().write_all(content).unwrap();
    let recording = open_path(&path);
    (folder, recording)
}
