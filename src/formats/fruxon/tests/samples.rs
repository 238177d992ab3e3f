//! The sample files that lie beside the program's folder on machines that have them.

use std::path::PathBuf;

use serde_json::Value;

use crate::formats::{Effect, Patient, SessionRef, open_session, sessions_of, testing};
use crate::store::Watch;

fn folder() -> Option<PathBuf> {
    testing::samples("fruxon")
}

#[test]
fn the_sample_folder_is_four_conversations() {
    let Some(folder) = folder() else { return };
    let source = sessions_of(&[folder], &Patient).unwrap();
    let mut names: Vec<String> = source.sessions.iter().map(|listed| listed.id.clone().unwrap()).collect();
    names.sort();
    assert_eq!(
        names,
        ["fs_2b61f7e3c05d4b19ae47", "fs_9f2c41d07be84c0e8a35", "ts_0d5ac1f3b7e94a7d8c20", "ts_7a1c2f04d95e4c7ab3d8"]
    );
}

#[test]
fn a_revert_of_the_sample_session_is_what_its_server_answered() {
    let Some(folder) = folder() else { return };
    let source = sessions_of(std::slice::from_ref(&folder), &Patient).unwrap();
    let session = source.sessions.iter().find(|listed| listed.is_named("fs_9f2c41d07be84c0e8a35")).unwrap();
    let recording = open_session(&session.reference, &Patient).unwrap();
    for (step, answer) in [(3, "03-rewind-response.json"), (6, "12-rewind-response-framed-prefill.json")] {
        let mut expected: Value = serde_json::from_slice(&std::fs::read(folder.join(answer)).unwrap()).unwrap();
        let prefill = super::super::inbound::unframed(expected["prefillText"].as_str().unwrap()).into_owned();
        expected["prefillText"] = prefill.into();
        let revert = recording.revert(step, Watch::none()).unwrap();
        assert_eq!(revert.rewind, Some(expected));
        assert!(matches!(revert.effect, Effect::Export(_)));
    }
}

#[test]
fn every_sample_opens_alone() {
    let Some(folder) = folder() else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("13-") || name.starts_with("README") {
            continue;
        }
        let recording = open_session(&SessionRef::file(&path), &Patient).unwrap();
        let report = &recording.session().report;
        assert!(!recording.session().steps.is_empty(), "{name}");
        assert_eq!(report.records.total, report.records.read, "{name}");
    }
}
