//! The sample files, where they are found beside the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::open_path;
use crate::formats::detect::{Sample, Shape};
use crate::formats::{Patient, Recording};
use crate::store::SourceFile;

/// All sample transcripts; empty, with a word about it, where there are none.
fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/samples/agents");
    let mut found = Vec::new();
    collect(&folder.join("claude-code"), &mut found);
    for name in ["pathological", "lookalikes"] {
        let entries = std::fs::read_dir(folder.join(name)).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("claude")));
    }
    if found.is_empty() {
        println!("left out: there are no samples beside the project");
    }
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json")
            && !path.to_string_lossy().contains("meta.json")
            && path.file_name().is_some_and(|name| name != "journal.jsonl")
        {
            found.push(path);
        }
    }
}

/// Opens a sample; the one that is an export is a document whose array this format finds itself.
fn open(path: &Path) -> Arc<dyn Recording> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return open_path(path);
    }
    let document = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let sample = Sample { path: path.to_owned(), shape: Shape::Document, records: vec![document] };
    super::super::open(Arc::new(SourceFile::open(path).unwrap()), &sample, &Patient).unwrap()
}

#[test]
fn every_sample_opens_and_adds_up() {
    for path in samples() {
        let recording = open(&path);
        let records = recording.session().report.records;
        assert_eq!(
            records.total,
            records.read + records.unknown + records.duplicate + records.unreadable + records.torn,
            "{}",
            path.display()
        );
        for event in recording.session().events.all() {
            recording.body(event).unwrap();
        }
    }
}

#[test]
fn every_step_of_every_sample_forks_and_reverts() {
    for path in samples() {
        let recording = open(&path);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        super::actions::check_forks(&*recording, &name);
        super::actions::check_reverts(&*recording, &name);
    }
}

/// Numbers counted by hand in the samples, by the rules of the format's page: steps, branches.
#[test]
fn samples_have_the_steps_that_a_reader_counts() {
    let expected = [
        ("11111111-1111-4111-8111-111111111111.jsonl", 11, 1),
        ("rec-2.1.332-fallback.jsonl", 1, 0),
        ("rec-2.1.332-denials.jsonl", 1, 0),
        ("rec-2.1.332-queued-prompt.jsonl", 2, 0),
        ("our-fork-minimal.jsonl", 2, 0),
        ("pub-1.0.108-slash-command.jsonl", 1, 0),
        ("pub-1.0.98-short.jsonl", 1, 0),
        ("demo.jsonl", 2, 0),
        ("claude-parent-cycle.jsonl", 2, 0),
        ("claude-duplicated-lines.jsonl", 2, 0),
        ("agent-a94fc3ee5a1545d03.jsonl", 0, 0),
    ];
    for path in samples() {
        let session = open(&path);
        let session = session.session();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some((_, steps, branches)) = expected.iter().find(|(expected, ..)| *expected == name) {
            assert_eq!((session.steps.len(), session.branches.len()), (*steps, *branches), "{name}");
        }
    }
}
