//! Archives that are no case, or that mean harm.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::formats::{Patient, open as open_path};

const LINE: &str = concat!(
    r#"{"parentUuid":null,"isSidechain":false,"cwd":"/w","sessionId":"5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10","version":"2.1.330","type":"user","#,
    r#""message":{"role":"user","content":"Hello"},"uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-11-12T13:02:04.000Z"}"#,
    "\n"
);

fn manifest(file: &str) -> String {
    json!({ "stepline": "case", "version": 1, "session": { "id": "x", "file": file } }).to_string()
}

/// An archive with these entries, each repeated so many times.
fn archive(entries: &[(&str, &str, usize)]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zip");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    for (name, content, times) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        let block = content.repeat(1000.min(*times));
        for _ in 0..times.div_ceil(1000) {
            zip.write_all(block.as_bytes()).unwrap();
        }
    }
    zip.finish().unwrap();
    (folder, path)
}

fn refusal(path: &std::path::Path) -> String {
    match open_path(path, &Patient) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_case_opens_like_the_session_in_it() {
    let (_folder, path) = archive(&[("case.json", &manifest("session/a.jsonl"), 1), ("session/a.jsonl", LINE, 1)]);
    let recording = open_path(&path, &Patient).unwrap();
    let session = recording.session();
    assert_eq!((session.format, &session.source, session.steps.len()), (FormatName::ClaudeCode, &path, 1));
    let origin = recording.origin(session.steps[0].place).unwrap();
    assert_eq!(origin.path, path.join("session/a.jsonl"));
    let unpacked = recording.files()[0].path().to_owned();
    assert!(unpacked.is_file());
    drop(recording);
    assert!(!unpacked.exists(), "what was unpacked goes with the session");
}

#[test]
fn other_archives_are_named_only() {
    for entries in [&[("readme.txt", "words", 1)][..], &[("case.json", "{}", 1)], &[("case.json", "no json", 1)]] {
        let (_folder, path) = archive(entries);
        assert!(refusal(&path).contains("zip archive"), "{entries:?}");
    }
}

#[test]
fn nothing_is_unpacked_outside_its_folder() {
    for name in
        ["session/../../evil.jsonl", "session//etc/evil.jsonl", "session/a\\..\\evil.jsonl", "session/c:evil.jsonl"]
    {
        let (folder, path) =
            archive(&[("case.json", &manifest("session/a.jsonl"), 1), ("session/a.jsonl", LINE, 1), (name, LINE, 1)]);
        assert!(refusal(&path).contains("outside of it"), "{name}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    for file in ["/etc/passwd", "session/../x.zip", "a.jsonl", "session/"] {
        let (_folder, path) = archive(&[("case.json", &manifest(file), 1), ("session/a.jsonl", LINE, 1)]);
        assert!(refusal(&path).contains("not in it"), "{file}");
    }
}

#[test]
fn what_would_fill_the_disk_is_not_unpacked() {
    let (_folder, path) =
        archive(&[("case.json", &manifest("session/a.jsonl"), 1), ("session/a.jsonl", "0", 100_000_000)]);
    assert!(path.metadata().unwrap().len() < 300_000);
    assert!(refusal(&path).contains("unpacks to more"));
    let (_folder, path) = archive(&[("case.json", " ", 20_000_000)]);
    assert!(refusal(&path).contains("zip archive"), "no manifest is that long");
}

#[test]
fn a_case_in_a_case_and_a_later_version_are_refused() {
    let later = manifest("session/a.jsonl").replace("\"version\":1", "\"version\":2");
    let (_folder, path) = archive(&[("case.json", &later, 1), ("session/a.jsonl", LINE, 1)]);
    assert!(refusal(&path).contains("later version"));
    let (_folder, path) =
        archive(&[("case.json", &manifest("session/a.zip"), 1), ("session/a.zip", "PK\u{3}\u{4}", 1)]);
    assert!(refusal(&path).contains("is an archive"));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 64, ..Default::default() })]
    #[test]
    fn a_damaged_archive_never_panics(at in 0.0..1.0_f64, byte in proptest::prelude::any::<u8>(), cut in 0.0..1.2_f64) {
        let (_folder, path) = archive(&[("case.json", &manifest("session/a.jsonl"), 1), ("session/a.jsonl", LINE, 3)]);
        let mut bytes = fs::read(&path).unwrap();
        let place = (bytes.len() as f64 * at) as usize;
        bytes[place] = byte;
        bytes.truncate((bytes.len() as f64 * cut) as usize);
        fs::write(&path, &bytes).unwrap();
        let _ = open_path(&path, &Patient);
    }
}
