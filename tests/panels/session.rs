//! Choosing steps, forking, reverting, undoing, replaying.

use std::fs;

use egui::Key;

use super::*;

#[test]
fn a_step_is_chosen_in_the_list_by_pointer_and_by_keys() {
    let mut window = Window::with_sample();
    assert_eq!(window.selected(), Some(1));
    window.click_containing("Step 4, question, Which licence? -> MIT");
    assert_eq!(window.selected(), Some(4));
    window.press(Key::ArrowDown);
    assert_eq!(window.selected(), Some(5));
    window.press(Key::K);
    assert_eq!(window.selected(), Some(4));
    window.press(Key::End);
    assert_eq!(window.selected(), Some(15));
    window.press(Key::Home);
    window.press(Key::M);
    let event = window.workspace().active().unwrap().selected_event().unwrap();
    let document = window.workspace().active().unwrap();
    assert!(document.session().unwrap().events.all()[event].marker.is_some(), "M goes to a marked event");
}

#[test]
fn the_buttons_of_a_step_fork_it() {
    let mut window = Window::with_sample();
    window.click_containing("Step 2, prompt");
    window.settle();
    window.click("Fork step 2");
    window.wait_for("the fork in a tab", |window| window.workspace().documents().len() == 2);
    window.wait_for("the fork to be read", |window| !window.workspace().is_busy());
    assert!(window.shows("Forked"));
    assert!(window.shows("A new session with 2 steps"));
    assert!(window.shows("claude --resume"));
    let fork = window.workspace().active().unwrap();
    assert_eq!(fork.session().unwrap().steps.len(), 2);
    assert!(fork.path().exists());
    assert_eq!(fs::read(window.path("cart.jsonl")).unwrap(), sample());
    window.press(Key::Escape);
    assert!(!window.shows("A new session with 2 steps"));
}

#[test]
fn a_button_that_cannot_be_used_says_why() {
    let mut window = Window::with_sample();
    window.click_containing("Step 1, prompt");
    window.settle();
    let name = "it would leave an empty session";
    assert!(window.shows(name) || window.shows("empty session"), "the first step's Revert button names its reason");
}

#[test]
fn a_revert_shows_what_goes_and_can_be_undone() {
    let mut window = Window::with_sample();
    window.click_containing("Step 9, prompt");
    window.press(Key::X);
    window.wait_for("the preview", |window| window.shows("Drops steps 9 to 15 of 15"));
    assert!(window.shows("/home/ada/shop/README.ja.md"));
    assert!(window.shows("Now make it survive a restart"), "the dropped prompt");
    assert_eq!(fs::read(window.path("cart.jsonl")).unwrap(), sample(), "a preview writes nothing");
    window.click("Copy dropped prompt");
    window.click("Revert now");
    window.wait_for("the revert", |window| {
        window.workspace().active().unwrap().session().is_some_and(|session| session.steps.len() == 8)
    });
    assert_eq!(window.selected(), Some(8));
    window.wait_for("everything to be read", |window| !window.workspace().is_busy());
    window.harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::Z);
    window.wait_for("the undo", |window| {
        window.workspace().active().unwrap().session().is_some_and(|session| session.steps.len() == 15)
    });
    assert_eq!(fs::read(window.path("cart.jsonl")).unwrap(), sample());
}

#[test]
fn a_replay_plays_stops_and_ends() {
    let mut window = Window::open(&[("cart.jsonl", sample())], [1700.0, 800.0]);
    window.press(Key::R);
    assert!(window.shows("Replay from step 1, as recorded; nothing is run"));
    let position = |window: &Window| window.workspace().active().unwrap().player.as_ref().unwrap().position();
    let start = position(&window);
    window.wait_for("an event to be played", |window| {
        window.workspace().active().unwrap().player.as_ref().unwrap().position() > start
    });
    window.press(Key::N);
    let at_marker = position(&window);
    let document = window.workspace().active().unwrap();
    assert!(document.session().unwrap().events.all()[at_marker - 1].marker.is_some());
    assert!(!document.player.as_ref().unwrap().playing, "it holds at the marker");
    window.click("Stop at failure");
    assert!(
        !window
            .workspace()
            .active()
            .unwrap()
            .player
            .as_ref()
            .unwrap()
            .stops
            .contains(&stepline::model::MarkerKind::Failure)
    );
    window.click("End replay");
    assert!(window.workspace().active().unwrap().player.is_none());
}

#[test]
fn the_inspector_shows_fields_and_the_raw_record() {
    let mut window = Window::with_sample();
    window.click_containing("Step 4, question");
    window.settle();
    assert!(window.shows("Tool call: toolu_013cart"));
    assert!(window.shows("Outcome: done"));
    assert!(window.shows("line 4"), "the record's line");
}

#[test]
fn a_damaged_file_opens_and_its_report_says_so() {
    let mut content = sample();
    content.extend(b"\0\0\0 rubbish\n{\"type\":\"user\",\"uuid\":\"to");
    let mut window = Window::open(&[("damaged.jsonl", content)], [1280.0, 800.0]);
    assert_eq!(window.workspace().active().unwrap().session().unwrap().steps.len(), 15);
    assert!(window.shows("143 read") && window.shows("1 unreadable"), "in the words of `check`");
    window.click("1 torn");
    assert!(window.shows("records in the file"));
    assert!(window.shows("line 145"), "the torn line");
    window.press(Key::Escape);
    assert!(!window.shows("records in the file"));
}

#[test]
fn a_file_that_is_deleted_while_it_is_open_is_said_to_be_gone() {
    let mut window = Window::with_sample();
    fs::remove_file(window.path("cart.jsonl")).unwrap();
    window.wait_for("the word of it", |window| window.shows("not what is on disk"));
    assert!(window.shows("What is shown was read before; now there is no such file"));
    assert_eq!(window.workspace().active().unwrap().session().unwrap().steps.len(), 15);
    fs::write(window.path("cart.jsonl"), sample()).unwrap();
    window.wait_for("it to be back", |window| window.shows("following the file"));
}

#[test]
fn a_file_that_grows_is_read_again_and_the_place_is_kept() {
    let mut window = Window::with_sample();
    window.click_containing("Step 7, prompt");
    let line = r#"{"parentUuid":"147ad912-3b82-55d2-8e5d-9180c37e543b","isSidechain":false,"type":"user","message":{"role":"user","content":"One more thing"},"uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-11-12T15:00:00.000Z","sessionId":"5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10","version":"2.1.330"}"#;
    let mut content = sample();
    content.extend(line.as_bytes());
    content.push(b'\n');
    fs::write(window.path("cart.jsonl"), content).unwrap();
    window.wait_for("the new step", |window| {
        window.workspace().active().unwrap().session().is_some_and(|session| session.steps.len() == 16)
    });
    assert_eq!(window.selected(), Some(7));
}

/// The middle of the first thing whose name contains this.
fn middle(window: &Window, part: &str) -> egui::Pos2 {
    window.harness.get_all_by_label_contains(part).next().unwrap().rect().center()
}

fn press_at(window: &mut Window, at: egui::Pos2) {
    let button = egui::PointerButton::Primary;
    window.harness.hover_at(at);
    window.harness.run_steps(1);
    for pressed in [true, false] {
        window.harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers: egui::Modifiers::NONE });
        window.harness.run_steps(1);
    }
    window.harness.run_steps(2);
}

#[test]
fn a_click_on_the_words_of_an_event_selects_it() {
    let mut window = Window::with_sample();
    window.settle();
    let at = middle(&window, "text: I will add");
    press_at(&mut window, at);
    let document = window.workspace().active().unwrap();
    let event = document.selected_event().expect("the text under the pointer is an event's");
    assert_eq!(document.session().unwrap().events.all()[event].kind, stepline::model::EventKind::Text);
}

#[test]
fn the_replay_bar_has_room_in_a_narrow_window_and_starts_over() {
    let mut window = Window::open(&[("cart.jsonl", sample())], [760.0, 480.0]);
    window.press(Key::R);
    assert!(window.shows("Replay from step 1, as recorded; nothing is run"), "said whole, if not drawn");
    let rects: Vec<egui::Rect> = ["Next event", "Play to next marker", "Stop at 4 of", "End replay"]
        .into_iter()
        .map(|name| window.harness.get_all_by_label_contains(name).next().unwrap().rect())
        .collect();
    assert!(rects.windows(2).all(|pair| pair[0].right() <= pair[1].left()), "{rects:?}");
    assert!(rects.iter().all(|rect| rect.right() <= 760.0), "{rects:?}");
    window.press(Key::N);
    assert!(window.shows("stopped at approval"));
    let player = |window: &Window| window.workspace().active().unwrap().player.clone().unwrap();
    for again in ["by key", "by click"] {
        while !player(&window).is_at_end() {
            window.press(Key::N);
        }
        assert!(window.shows("ended; Play starts over"));
        match again {
            "by key" => window.press(Key::Space),
            _ => window.click("Play again from the start"),
        }
        assert!(player(&window).playing && !player(&window).is_at_end(), "{again}");
    }
    // Kinds that the session does not have are not offered.
    window.click("Stop at 4 of 8");
    assert!(window.shows("Stop at interruption") && !window.shows("Stop at steering"));
}

#[test]
fn a_step_far_down_is_at_the_top_once_its_texts_are_in() {
    let mut window = Window::with_sample();
    for number in [12, 5, 9] {
        window.press(Key::End);
        while window.selected() != Some(number) {
            window.press(Key::ArrowUp);
        }
        window.settle();
        let top = window.harness.get_by_label("Conversation").rect().top();
        let button = window.harness.get_by_label(&format!("Replay step {number}")).rect();
        assert!((button.top() - top) < 24.0, "step {number}: {} below the edge", button.top() - top);
    }
}

#[test]
fn a_narrow_window_shows_the_inspector_over_the_conversation() {
    let mut window = Window::open(&[("cart.jsonl", sample())], [900.0, 600.0]);
    assert!(!window.shows("Raw record"));
    window.press(Key::I);
    window.settle();
    assert!(window.shows("Outcome: done"));
    window.press(Key::I);
    assert!(!window.shows("Outcome: done"));
    assert!(window.workspace().settings.inspector, "wide windows keep theirs");
}

#[test]
fn the_page_keys_scroll_the_conversation() {
    let mut window = Window::with_sample();
    let before = window.harness.get_by_label("Replay step 1").rect().top();
    window.press(Key::PageDown);
    let after = window.harness.query_by_label("Replay step 1").map(|node| node.rect().top());
    assert!(after.is_none_or(|after| after < before - 100.0), "{before} {after:?}");
}

#[test]
fn a_revert_can_be_undone_from_its_notice() {
    let mut window = Window::with_sample();
    window.click_containing("Step 9, prompt");
    window.press(Key::X);
    window.wait_for("the preview", |window| window.shows("Drops steps 9 to 15 of 15"));
    assert!(window.shows("7 steps, the agent ran in each"));
    window.click("Revert now");
    window.wait_for("the notice", |window| window.shows("Copy receipt path") && !window.workspace().is_busy());
    window.settle();
    // The status bar has one too; the notice is drawn over it, after it.
    window.harness.get_all_by_label("Undo revert").last().unwrap().click();
    window.wait_for("the undo", |window| {
        window.workspace().active().unwrap().session().is_some_and(|session| session.steps.len() == 15)
    });
    assert!(window.workspace().notices.open().all(|notice| !notice.undo), "what it said is no longer true");
}

/// What has the focus.
fn focused(window: &Window) -> Option<String> {
    use egui_kittest::kittest::NodeT;
    let root = window.harness.root();
    let found = root.children_recursive().find(|node| node.accesskit_node().is_focused());
    found.and_then(|node| node.accesskit_node().label())
}

#[test]
fn the_keyboard_goes_from_left_to_right_and_takes_the_list_of_steps_as_one_stop() {
    let mut window = Window::with_sample();
    let mut stops: Vec<String> = Vec::new();
    for _ in 0..24 {
        window.press(Key::Tab);
        stops.extend(focused(&window));
    }
    let at = |name: &str| stops.iter().position(|stop| stop == name).unwrap_or_else(|| panic!("{name}: {stops:?}"));
    let bar = ["Tab cart.jsonl", "Open…", "Notices", "Reading report", "Inspector", "Light or dark"];
    assert!(bar.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{stops:?}");
    assert!(at("Steps") > at("Light or dark"));
    assert!(!stops.iter().any(|stop| stop.starts_with("Step 2, prompt")), "{stops:?}");
    assert_eq!(window.selected(), Some(1), "Tab selects nothing");
}
