//! The rooms of the house know only those below them, and nothing under the window knows the window's toolkit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up. Rooms of one line do not know each other.
const FLOORS: [&[&str]; 6] = [&["model"], &["store"], &["formats"], &["actions"], &["workspace"], &["ui", "cli"]];

/// Crates that only the window may use.
const WINDOW_CRATES: [&str; 4] = ["egui", "eframe", "winit", "accesskit"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            sources(&entry.path(), found);
        } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
            found.push(entry.path());
        }
    }
}

fn files(room: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(room);
    let mut found = Vec::new();
    sources(&root, &mut found);
    assert!(!found.is_empty(), "the room {room} is empty");
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The rooms that a source names, in code: `crate::room`.
fn rooms_named(text: &str) -> Vec<(usize, String)> {
    let mut named = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for after in code.split("crate::").skip(1) {
            let word: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            named.push((number + 1, word));
        }
        assert!(!code.contains("use crate::{"), "line {}: one `use` a room, so that rooms can be read off", number + 1);
    }
    named
}

#[test]
fn every_room_knows_only_those_below_it() {
    let mut wrong = Vec::new();
    for (floor, rooms) in FLOORS.iter().enumerate() {
        for room in *rooms {
            let allowed: Vec<&str> =
                FLOORS[..floor].iter().flat_map(|below| below.iter().copied()).chain([*room]).collect();
            for (path, text) in files(room) {
                for (line, named) in rooms_named(&text) {
                    let is_room = FLOORS.iter().any(|floor| floor.contains(&named.as_str()));
                    if is_room && !allowed.contains(&named.as_str()) {
                        wrong.push(format!("{}:{line}: {room} may not know {named}", path.display()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_window_knows_its_toolkit() {
    let mut wrong = Vec::new();
    for room in FLOORS.iter().flat_map(|rooms| rooms.iter()).filter(|room| **room != "ui") {
        for (path, text) in files(room) {
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                if WINDOW_CRATES.iter().any(|name| code.contains(&format!("{name}::"))) {
                    wrong.push(format!("{}:{}: {code}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_window_opens_no_file() {
    let mut wrong = Vec::new();
    let is_test = |path: &Path| path.iter().any(|part| part == "tests") || path.to_string_lossy().ends_with("tests.rs");
    for (path, text) in files("ui").into_iter().filter(|(path, _)| !is_test(path)) {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            if ["std::fs", "File::", "std::net", "serde_json"].iter().any(|word| line.contains(word)) {
                wrong.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_colour_is_named_outside_the_tokens() {
    let mut wrong = Vec::new();
    for (path, text) in files("ui") {
        if path.ends_with("ui/theme.rs") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            // The pixels of a session's picture are no colours of the window.
            let is_named = line.contains("from_rgb") || line.contains("from_gray") || line.contains("Color32::WHITE");
            if is_named && !line.contains("ColorImage::from_rgba_premultiplied(") {
                wrong.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_file_is_longer_than_can_be_read() {
    const LINES: usize = 700;
    let mut long = Vec::new();
    for room in FLOORS.iter().flat_map(|rooms| rooms.iter()) {
        for (path, text) in files(room) {
            let lines = text.lines().count();
            if lines > LINES {
                long.push(format!("{}: {lines} lines", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}
