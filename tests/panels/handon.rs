//! Handing a session on, and the notes that go along: found and driven by name.

use egui::{Key, Modifiers};
use serde_json::Value;

use super::*;

fn export_dialog(window: &mut Window) {
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::E);
    window.harness.run_steps(3);
    assert!(window.shows("Support case"));
}

fn review(window: &mut Window) {
    window.click("Review…");
    window.wait_for("the review", |window| window.shows("may be private"));
    window.settle();
}

/// Types into the field of several lines with this name.
fn type_into(window: &mut Window, name: &str, text: &str) {
    let role = egui::accesskit::Role::MultilineTextInput;
    window.harness.get_by_role_and_label(role, name).focus();
    window.harness.run_steps(2);
    window.harness.get_by_role_and_label(role, name).type_text(text);
    window.harness.run_steps(3);
}

fn read(window: &Window, name: &str) -> String {
    fs::read_to_string(window.path(name)).unwrap()
}

#[test]
fn an_export_is_reviewed_and_then_written() {
    let mut window = Window::with_sample();
    export_dialog(&mut window);
    review(&mut window);
    assert!(window.shows("user 1, ada, replaced, session"));
    assert_eq!(fs::read_dir(window.folder.path()).unwrap().flatten().filter(|entry| entry.path().is_file()).count(), 1);
    window.click("Write it with 1 value replaced");
    window.wait_for("the receipt", |window| window.shows("Page with 15 steps written"));
    let page = read(&window, "cart.html");
    assert!(page.contains("id=\"step-15\"") && !page.contains("/home/ada"));
    window.click("Copy path");
    window.click("Close");
}

#[test]
fn a_value_is_kept_by_key_by_box_and_by_kind() {
    let mut window = Window::with_sample();
    export_dialog(&mut window);
    window.click("JSON");
    review(&mut window);
    window.press(Key::ArrowDown);
    assert!(window.shows("2 of"));
    window.press(Key::ArrowUp);
    assert!(window.shows("1 of"));
    window.press(Key::Space);
    assert!(window.shows("user 1, ada, kept"));
    window.click("Replace it");
    assert!(window.shows("user 1, ada, replaced"));
    window.click("Replace user 1, place 1");
    assert!(window.shows("user 1, ada, kept"));
    window.click("Replace every user, 1");
    assert!(window.shows("user 1, ada, replaced"));
    window.click("Replace every user, 1");
    window.click("Write it");
    window.wait_for("the receipt", |window| window.shows("JSON with 15 steps written"));
    assert!(read(&window, "cart.json").contains("/home/ada"));
}

#[test]
fn a_file_that_is_there_leads_back_to_the_review() {
    let mut window = Window::with_sample();
    fs::write(window.path("cart.html"), "mine").unwrap();
    export_dialog(&mut window);
    review(&mut window);
    assert!(window.shows("cart-2.html") || window.workspace().dialog.is_some());
    fs::write(window.path("cart-2.html"), "mine too").unwrap();
    window.click("Write it with 1 value replaced");
    window.wait_for("the refusal", |window| window.shows("there is a file of that name already"));
    assert!(window.shows("Write it with 1 value replaced"));
    assert_eq!(read(&window, "cart-2.html"), "mine too");
    window.click("Back");
    assert!(window.shows("Support case"));
    window.click("Cancel");
    assert!(window.workspace().dialog.is_none());
}

#[test]
fn own_patterns_are_typed_in_and_a_wrong_one_is_told() {
    let mut window = Window::with_sample();
    export_dialog(&mut window);
    type_into(&mut window, "Own patterns, one regular expression a line", "cart(");
    window.click("Review…");
    window.wait_for("the refusal", |window| window.shows("the pattern cart( cannot be used"));
}

#[test]
fn a_case_is_written_and_opens_in_a_tab() {
    let mut window = Window::with_sample();
    export_dialog(&mut window);
    window.click("Support case");
    review(&mut window);
    window.click("Write it with 1 value replaced");
    window.wait_for("the receipt", |window| window.shows("Support case with 15 steps written"));
    window.click("Open it");
    window.wait_for("the case", |window| window.workspace().documents().len() == 2 && !window.workspace().is_busy());
    assert_eq!(window.workspace().active().unwrap().session().unwrap().steps.len(), 15);
    assert!(window.shows("Tab cart.case.zip"));
}

#[test]
fn bookmarks_and_notes_are_kept_beside_the_session() {
    let mut window = Window::with_sample();
    let before = fs::read(window.path("cart.jsonl")).unwrap();
    window.press(Key::ArrowDown);
    window.press(Key::B);
    assert!(window.shows("Step 2, prompt"));
    assert!(window.shows("with a note or bookmark"));
    window.press(Key::E);
    window.settle();
    type_into(&mut window, "Note on this step", "Ask why");
    let notes = window.path("cart.jsonl.stepline-notes.json");
    window.wait_for("the notes", |_| fs::read_to_string(&notes).is_ok_and(|text| text.contains("Ask why")));
    let file: Value = serde_json::from_str(&fs::read_to_string(&notes).unwrap()).unwrap();
    let session = &file["sessions"].as_object().unwrap().values().next().unwrap();
    assert_eq!((&session["notes"][0]["step"], &session["notes"][0]["bookmark"]), (&2.into(), &true.into()));
    assert_eq!(fs::read(window.path("cart.jsonl")).unwrap(), before, "never in it");
}

#[test]
fn notes_are_there_again_and_their_steps_are_found_by_key() {
    let mut window = Window::open_with(&[("cart.jsonl", sample())], [1280.0, 800.0], |folder| {
        let note = r#"{"step":9,"stepId":"","bookmark":false,"text":"Here it went wrong"}"#;
        let id = "5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10";
        let file = format!(r#"{{"stepline":"notes","version":1,"sessions":{{"{id}":{{"notes":[{note}]}}}}}}"#);
        fs::write(folder.join("cart.jsonl.stepline-notes.json"), file).unwrap();
    });
    window.wait_for("the notes", |window| !window.workspace().active().unwrap().noted_steps().is_empty());
    window.press(Key::D);
    assert_eq!(window.selected(), Some(9));
    assert!(window.harness.query_all_by_value("Here it went wrong").next().is_some());
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let mut window = Window::with_sample();
    let folder = window.folder.path().to_owned();
    // The owner of a machine may write everywhere: there a folder of that name is in the way.
    fs::create_dir(window.path("cart.jsonl.stepline-notes.json")).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    window.press(Key::B);
    window.wait_for("the sentence", |window| window.shows("The notes are not kept"));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
#[ignore = "writes pictures to the folder in STEPLINE_PICTURES"]
fn pictures() {
    let folder = PathBuf::from(std::env::var_os("STEPLINE_PICTURES").unwrap());
    for light in [false, true] {
        let mut window = Window::open(&[("cart.jsonl", private())], [1280.0, 800.0]);
        if light {
            window.harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::L);
            window.harness.run_steps(3);
        }
        let name = if light { "light" } else { "dark" };
        let picture = |window: &mut Window, what: &str| {
            window.settle();
            window.harness.render().unwrap().save(folder.join(format!("{what}-{name}.png"))).unwrap();
        };
        window.press(Key::ArrowDown);
        window.press(Key::B);
        window.press(Key::E);
        type_into(&mut window, "Note on this step", "Ask why it did that");
        picture(&mut window, "notes");
        export_dialog(&mut window);
        picture(&mut window, "choose");
        review(&mut window);
        window.press(Key::ArrowDown);
        picture(&mut window, "review");
        window.harness.get_by_label_contains("Write it with").click();
        window.wait_for("the receipt", |window| window.shows("steps written"));
        picture(&mut window, "done");
    }
}

/// The sample with more that is private in it.
fn private() -> Vec<u8> {
    let text = String::from_utf8(sample()).unwrap();
    let text = text.replace(
        "Prices stay",
        "Write to lovelace@example.com with key ghp_0123456789abcdef0123456789abcdef, password=hunter2x. Prices stay",
    );
    text.into_bytes()
}
