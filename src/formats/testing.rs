//! What the tests of several formats need.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Recording;

/// A folder of samples, by its path below the folder of all of them, which lies beside the program's own on machines that
/// have it. `None`, with a word about it, where it is not there.
pub fn samples(path: &str) -> Option<PathBuf> {
    let near = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(1).take(3);
    let found = near.map(|folder| folder.join("shared/samples").join(path)).find(|found| found.exists());
    if found.is_none() {
        println!("left out: there are no sample files on this machine");
    }
    found
}

/// The lines that a replay of some steps gives.
pub fn replayed(recording: &dyn Recording, steps: impl IntoIterator<Item = u32>) -> Vec<Value> {
    let mut lines = Vec::new();
    for number in steps {
        recording
            .replay(number, &mut |line| {
                lines.push(line);
                Ok(())
            })
            .unwrap();
    }
    lines
}

/// Those of all steps.
pub fn replayed_all(recording: &dyn Recording) -> Vec<Value> {
    replayed(recording, recording.session().steps.iter().map(|step| step.number))
}
