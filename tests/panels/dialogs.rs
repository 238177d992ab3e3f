//! The empty window, what did not open, the sheets.

use egui::Key;

use super::*;

#[test]
fn the_empty_window_says_what_it_opens() {
    let mut window = Window::open(&[], [1000.0, 700.0]);
    assert!(window.shows("Open a recorded session"));
    assert!(window.shows("Sessions on this machine"));
    assert!(window.shows("None found"));
    window.press(Key::Questionmark);
    assert!(window.shows("Keyboard shortcuts"));
    window.press(Key::Escape);
}

#[test]
fn sessions_on_this_machine_are_listed_and_open() {
    let mut window = Window::open_with(&[], [1000.0, 700.0], |folder| {
        let project = folder.join("projects/-home-ada-shop");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::write(project.join("5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10.jsonl"), sample()).unwrap();
        std::fs::write(project.join("agent-1234.jsonl"), "{}").unwrap();
    });
    assert!(!window.shows("None found"));
    window.click_containing("Open Create a cart module and a test for it");
    window.wait_for("the session", |window| window.selected() == Some(1));
    assert_eq!(window.workspace().active().unwrap().session().unwrap().steps.len(), 15);
}

#[test]
fn without_a_dialog_service_there_is_a_field_for_the_path() {
    let mut window = Window::open(&[], [1000.0, 700.0]);
    std::fs::write(window.path("cart.jsonl"), sample()).unwrap();
    window.harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::O);
    window.wait_for("the sentence", |window| window.shows("There is no file dialog on this desktop"));
    window.settle();
    let path = window.path("cart.jsonl").display().to_string();
    window.harness.get_by_role(egui::accesskit::Role::TextInput).type_text(&path);
    window.harness.run_steps(3);
    window.press(Key::Enter);
    window.wait_for("the session", |window| window.selected() == Some(1));
}

#[test]
fn a_file_of_no_known_format_gets_a_sentence_and_a_way_on() {
    let mut window = Window::open(&[("notes.txt", b"only words".to_vec())], [1000.0, 700.0]);
    assert!(window.shows("notes.txt did not open"));
    assert!(window.shows("not a session of a known format"));
    window.click("Close tab");
    assert!(window.shows("Open a recorded session"));
}

#[test]
fn themes_and_sizes_are_remembered() {
    let mut window = Window::with_sample();
    window.harness.key_press_modifiers(egui::Modifiers::COMMAND | egui::Modifiers::SHIFT, Key::L);
    window.harness.run_steps(3);
    assert_eq!(window.harness.ctx.theme(), egui::Theme::Light);
    window.harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::Minus);
    window.harness.run_steps(3);
    assert!(window.workspace().settings.zoom < 1.0);
    let settings = window.path("config/settings.json");
    window.wait_for("the settings to be saved", |_| {
        std::fs::read_to_string(&settings).is_ok_and(|text| text.contains("\"light\"") && text.contains("cart.jsonl"))
    });
}

#[test]
fn tabs_are_closed_and_changed_by_keys() {
    let mut window = Window::open(&[("a.jsonl", sample()), ("b.jsonl", sample())], [1280.0, 800.0]);
    assert_eq!(window.workspace().active_index(), 0);
    window.harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::Tab);
    window.harness.run_steps(3);
    assert_eq!(window.workspace().active_index(), 1);
    window.harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::W);
    window.harness.run_steps(3);
    assert_eq!(window.workspace().documents().len(), 1);
    window.click("Close a.jsonl");
    assert!(window.shows("Open a recorded session"));
}

#[test]
fn a_long_sheet_is_whole_at_once_and_scrolls_by_keys() {
    let mut window = Window::open(&[("cart.jsonl", sample())], [800.0, 500.0]);
    window.press(Key::Questionmark);
    let rect = |window: &Window, name: &str| window.harness.query_by_label(name).map(|node| node.rect());
    let first = rect(&window, "Close").unwrap();
    assert!(first.bottom() > 400.0 && first.bottom() < 500.0, "it opens as tall as the window allows: {first:?}");
    window.harness.run_steps(4);
    assert_eq!(rect(&window, "Close"), Some(first), "and stays");
    let heading = |window: &Window| rect(window, "Session").map_or(f32::MIN, |rect| rect.top());
    let start = heading(&window);
    for (key, at_start) in [(Key::PageDown, false), (Key::Home, true), (Key::End, false), (Key::PageUp, false)] {
        window.press(key);
        assert_eq!(heading(&window) == start, at_start, "{key:?}");
    }
}

#[test]
fn the_active_tab_is_in_sight_and_all_are_in_a_list() {
    let names: Vec<String> = (0..12).map(|number| format!("a-rather-long-name-{number}.jsonl")).collect();
    let files: Vec<(&str, Vec<u8>)> = names.iter().map(|name| (name.as_str(), sample())).collect();
    let mut window = Window::open(&files, [900.0, 600.0]);
    window.harness.key_press_modifiers(egui::Modifiers::COMMAND | egui::Modifiers::SHIFT, Key::Tab);
    window.harness.run_steps(5);
    assert_eq!(window.workspace().active_index(), 11);
    let list = window.harness.get_by_label("All 12 tabs").rect();
    let tab = window.harness.get_by_label("Tab a-rather-long-name-11.jsonl").rect();
    assert!(tab.right() <= list.left() + 1.0 && tab.left() >= 0.0, "{tab:?}, {list:?}");
    window.click("All 12 tabs");
    window.click("a-rather-long-name-3.jsonl");
    assert_eq!(window.workspace().active_index(), 3);
}

#[test]
fn names_from_strangers_are_harmless() {
    let window = Window::open(&[("a\u{202e}lnosj.exe", b"only words".to_vec())], [1000.0, 700.0]);
    assert!(window.shows("a⟨U+202E⟩lnosj.exe did not open"));
    assert!(window.shows("Did not open"), "the status bar says so");
    assert!(!window.shows("\u{202e}"));
}

/// A file that was let go of over the window.
#[derive(Debug)]
struct Dropped(std::path::PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("the window opens it by its path".to_owned())
    }
}

#[test]
fn a_file_that_is_dropped_is_opened_and_a_folder_gives_its_sessions() {
    let mut window = Window::open(&[], [1000.0, 700.0]);
    std::fs::create_dir(window.path("sessions")).unwrap();
    for name in ["a.jsonl", "b.jsonl"] {
        std::fs::write(window.path("sessions").join(name), sample()).unwrap();
    }
    std::fs::write(window.path("one.jsonl"), sample()).unwrap();
    let (file, folder) = (window.path("one.jsonl"), window.path("sessions"));
    window.harness.input_mut().dropped_files.push(Arc::new(Dropped(file)));
    window.wait_for("the file", |window| window.selected() == Some(1));
    window.harness.input_mut().dropped_files.push(Arc::new(Dropped(folder)));
    window.wait_for("the folder's sessions", |window| window.shows("2 sessions in sessions"));
    assert_eq!(window.workspace().documents().len(), 2, "a folder is one tab");
    window.click_containing("Open Create a cart module and a test for it");
    window.wait_for("the session that was chosen", |window| window.selected() == Some(1));
    let names: Vec<String> =
        window.workspace().documents().iter().map(stepline::workspace::document::Document::name).collect();
    assert_eq!(names.len(), 3);
    assert_eq!(&names[..2], ["one.jsonl", "sessions"]);
    assert!(["a.jsonl", "b.jsonl"].contains(&&*names[2]), "{names:?}");
}

#[test]
fn files_that_are_dropped_together_get_a_tab_each() {
    let mut window = Window::open(&[], [1000.0, 700.0]);
    for name in ["a.jsonl", "b.jsonl"] {
        std::fs::write(window.path(name), sample()).unwrap();
        let file = window.path(name);
        window.harness.input_mut().dropped_files.push(Arc::new(Dropped(file)));
    }
    window.wait_for("both", |window| window.workspace().documents().len() == 2 && !window.workspace().is_busy());
    assert_eq!(window.workspace().active().unwrap().name(), "a.jsonl", "the first one is shown");
}

/// A database as Devin's command line keeps it: two sessions, and a hidden one.
fn database(path: &std::path::Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch(
            r#"CREATE TABLE sessions(id TEXT PRIMARY KEY, working_directory TEXT, model TEXT, created_at INTEGER,
                 last_activity_at INTEGER, title TEXT, main_chain_id INTEGER, hidden INTEGER DEFAULT 0);
               CREATE TABLE message_nodes(row_id INTEGER PRIMARY KEY, session_id TEXT, node_id INTEGER,
                 parent_node_id INTEGER, chat_message TEXT, created_at INTEGER, metadata TEXT);
               INSERT INTO sessions VALUES
                 ('quiet-harbor', '/ws', 'm', 1793000000, 1793000300, 'Create a cart module', 2, 0),
                 ('velvet-signal', '/ws', 'm', 1793100000, 1793100300, 'Explain the scheduler', 0, 0),
                 ('ivory-helper', '/ws', 'm', 1793200000, 1793200300, 'Summarise', 0, 1);
               INSERT INTO message_nodes(session_id, node_id, parent_node_id, chat_message) VALUES
                 ('quiet-harbor', 0, NULL, '{"message_id":"m0","role":"system","content":"rules"}'),
                 ('quiet-harbor', 1, 0, '{"message_id":"m1","role":"user","content":"Create a cart","metadata":{"is_user_input":true}}'),
                 ('quiet-harbor', 2, 1, '{"message_id":"m2","role":"assistant","content":"Here it is."}'),
                 ('velvet-signal', 0, NULL, '{"message_id":"m3","role":"user","content":"Explain it","metadata":{"is_user_input":true}}');"#,
        )
        .unwrap();
}

#[test]
fn a_database_lists_its_sessions_and_one_of_them_opens() {
    let mut window = Window::open_with(&[], [1100.0, 750.0], |folder| database(&folder.join("sessions.db")));
    assert!(window.shows("All sessions of Devin"), "the database is found where its agent keeps it");
    window.click_containing("Open All sessions of Devin");
    window.wait_for("the list", |window| window.shows("2 sessions in sessions.db"));
    assert!(!window.shows("Summarise"), "hidden sessions are hidden");
    window.click("Show 1 hidden session");
    assert!(window.shows("Open Summarise"));
    window.harness.get_by_label("Filter the sessions").focus();
    window.harness.run_steps(2);
    window.harness.get_by_label("Filter the sessions").type_text("harbor");
    window.harness.run_steps(3);
    assert!(!window.shows("Open Explain the scheduler"), "the filter takes ids too");
    window.click_containing("Open Create a cart module");
    window.wait_for("the session", |window| window.selected() == Some(1));
    window.settle();
    assert_eq!(window.workspace().active().unwrap().name(), "Create a cart module");

    // Only Devin itself can revert it: the window shows what that would do, and offers no button that could not.
    window.press(Key::X);
    window.wait_for("the preview", |window| window.shows("A preview only"));
    assert!(window.harness.query_by_label("Revert now").is_none());
    window.click("Cancel");
    assert!(!window.shows("A preview only"));
}
