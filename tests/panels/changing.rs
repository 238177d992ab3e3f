//! A file that is truncated, replaced or deleted under the window: the window goes on, and says so in one sentence.

use std::fs::{self, File};

use egui::Key;
use egui_kittest::kittest::Queryable;

use super::{Window, sample};

/// Goes through the session as its reader does, and lets everything be drawn.
fn look_around(window: &mut Window) {
    for key in [Key::Home, Key::M, Key::J, Key::PageDown, Key::End, Key::PageUp, Key::R, Key::N] {
        window.press(key);
        window.settle();
    }
    window.harness.key_press_modifiers(egui::Modifiers::SHIFT, Key::R);
    window.harness.run_steps(3);
}

/// The files beside the session's.
fn names(window: &Window) -> Vec<String> {
    let entries = fs::read_dir(window.folder.path()).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.path().is_file());
    files.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

fn steps(window: &Window) -> usize {
    window.workspace().active().unwrap().session().unwrap().steps.len()
}

#[test]
fn a_file_that_is_truncated_is_told_of_and_drawn_as_it_is_now() {
    let mut window = Window::with_sample();
    let path = window.path("cart.jsonl");
    File::options().write(true).open(&path).unwrap().set_len(20_000).unwrap();
    look_around(&mut window);
    window.wait_for("the word of it", |window| window.shows("The file became shorter on disk"));
    assert!(steps(&window) < 15);
    look_around(&mut window);
}

#[test]
fn a_text_of_a_truncated_file_is_a_sentence_and_a_fork_is_refused() {
    let mut window = Window::with_sample();
    window.press(Key::End);
    let path = window.path("cart.jsonl");
    File::options().write(true).open(&path).unwrap().set_len(20_000).unwrap();
    window.press(Key::F);
    window.wait_for("the refusal", |window| window.shows("Fork: the file became shorter while it was open"));
    assert_eq!(names(&window), ["cart.jsonl"]);
}

#[test]
fn a_file_that_is_replaced_is_told_of() {
    let mut window = Window::with_sample();
    let other = String::from_utf8(sample()).unwrap();
    let other = other.replace("5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10", "00000000-0000-4000-8000-000000000009");
    fs::write(window.path("other"), other).unwrap();
    fs::rename(window.path("other"), window.path("cart.jsonl")).unwrap();
    look_around(&mut window);
    window.wait_for("the word of it", |window| window.shows("The file was replaced by one of another session"));
    look_around(&mut window);
    assert_eq!(steps(&window), 15);
}

#[test]
fn what_was_read_of_a_deleted_file_stays_and_actions_are_refused() {
    let mut window = Window::with_sample();
    window.click_containing("Step 9, prompt");
    window.press(Key::X);
    window.wait_for("the preview", |window| window.shows("Drops steps 9 to 15 of 15"));
    fs::remove_file(window.path("cart.jsonl")).unwrap();
    window.click("Revert now");
    window.wait_for("the refusal", |window| window.shows("Revert: the file is not there any more"));
    window.wait_for("the word of it", |window| window.shows("put the file back and reload, or close the tab"));
    look_around(&mut window);
    assert_eq!(steps(&window), 15);
    window.press(Key::F);
    window.wait_for("the refusal", |window| window.shows("Fork: The file is gone"));
}

/// The sample with a first prompt of 64 MB: what is done with it takes a while.
fn long() -> Vec<u8> {
    let text = String::from_utf8(sample()).unwrap();
    let (before, after) = text.split_once("\"content\":\"").unwrap();
    format!("{before}\"content\":\"{}{after}", "long ".repeat(64_000_000 / 5)).into_bytes()
}

#[test]
fn a_revert_shows_how_far_it_is_and_is_called_off_in_its_own_dialog() {
    let mut window = Window::open(&[("cart.jsonl", long())], [1280.0, 800.0]);
    window.click_containing("Step 9, prompt");
    window.press(Key::X);
    window.wait_for("the preview", |window| window.shows("Drops steps 9 to 15 of 15"));
    window.click("Revert now");
    assert!(window.harness.query_by_label("Revert now").is_none(), "not twice");
    window.wait_for("how far it is", |window| window.shows("Revert 0 bytes of 64.0 MB"));
    window.click("Cancel");
    window.wait_for("its end", |window| !window.workspace().is_busy());
    // Called off or over before that: all of it or nothing, never half of it.
    if window.shows("Revert cancelled; nothing was written") {
        assert!(fs::read(window.path("cart.jsonl")).unwrap() == long());
        assert_eq!(names(&window), ["cart.jsonl"], "no backup, no receipt, nothing half written");
        assert_eq!(steps(&window), 15);
    } else {
        assert_eq!(names(&window).len(), 3, "the file, its backup and the receipt");
        window.wait_for("the steps that stay", |window| steps(window) == 8);
    }
}

#[test]
fn a_fork_shows_how_far_it_is_and_is_called_off_from_the_bar() {
    let mut window = Window::open(&[("cart.jsonl", long())], [1280.0, 800.0]);
    window.click_containing("Step 9, prompt");
    window.press(Key::F);
    window.wait_for("how far it is", |window| window.shows("Fork 0 bytes of 64.0 MB"));
    window.click("Cancel");
    window.wait_for("its end", |window| !window.workspace().is_busy());
    let files = if window.shows("Fork cancelled; nothing was written") { 1 } else { 2 };
    assert_eq!(names(&window).len(), files, "all of it or nothing");
}
