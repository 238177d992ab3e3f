//! Tests over whole files: fixtures written for them, and the samples where they are found.

mod actions;
mod build;
mod cuts;
mod damage;
mod happenings;
mod samples;
mod shapes;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::formats::detect::Sample;
use crate::formats::{Patient, Recording};
use crate::store::SourceFile;

/// Opens a file as this format whatever it is.
fn open_path(path: &Path) -> Arc<dyn Recording> {
    let source = Arc::new(SourceFile::open(path).unwrap());
    let sample = Sample::take(&source).unwrap();
    super::open(source, &sample, &Patient).unwrap()
}

/// Opens content from a file of its own, named like a session.
fn open_bytes(content: &[u8]) -> (tempfile::TempDir, Arc<dyn Recording>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("5e551011-0000-4000-8000-000000000001.jsonl");
    std::fs::File::create(&path).unwrap().write_all(content).unwrap();
    let recording = open_path(&path);
    (folder, recording)
}
