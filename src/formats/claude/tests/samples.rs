//! The sample files, where they are found beside the project.

use std::path::{Path, PathBuf};

use super::{open_path, outline};

/// All sample transcripts; empty, with a word about it, where there are none.
fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/samples/agents");
    let folder = if folder.is_dir() {
        folder
    } else {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/samples/agents")
    };
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

#[test]
fn every_sample_opens_and_adds_up() {
    let wanted = std::env::var("OUTLINE").ok();
    for path in samples() {
        if path.extension().is_some_and(|extension| extension == "json") {
            continue;
        }
        let recording = open_path(&path);
        let records = recording.session().report.records;
        assert_eq!(
            records.total,
            records.read + records.unknown + records.duplicate + records.unreadable + records.torn,
            "{}",
            path.display()
        );
        if wanted.as_ref().is_some_and(|wanted| path.to_string_lossy().contains(wanted.as_str())) {
            println!("=== {}\n{}", path.display(), outline(&*recording));
        }
    }
}

#[test]
fn every_step_of_every_sample_forks_and_reverts() {
    for path in samples() {
        if path.extension().is_some_and(|extension| extension == "json") {
            continue;
        }
        let recording = open_path(&path);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        super::actions::check_forks(&*recording, &name);
        super::actions::check_reverts(&*recording, &name);
    }
}
