pub mod fixture;

use std::sync::Arc;

use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};

use super::super::theme::{self, Theme};
use super::*;
use crate::formats::Cut;
use crate::workspace::bodies::TextKey;
use crate::workspace::document::Document;
use crate::workspace::player::Player;
use crate::workspace::text::TextPart;
use fixture::{Draft, cart, plain};

struct App {
    document: Document,
    state: ConversationState,
    requests: Vec<Request>,
    reveal: u64,
    applies: bool,
}

impl App {
    fn show(&mut self, ui: &mut Ui) {
        let recording = Arc::clone(self.document.recording().unwrap());
        let mut requests = Vec::new();
        let mut scene = Scene {
            theme: Theme::of(ui.ctx()),
            document: &self.document,
            recording: &*recording,
            session: recording.session(),
            requests: &mut requests,
            reveal: self.reveal,
        };
        show(ui, &mut scene, &mut self.state);
        if self.applies {
            for request in &requests {
                match request {
                    Request::Expand(place) if self.document.expanded.remove(place) => {}
                    Request::Expand(place) => {
                        self.document.expanded.insert(*place);
                    }
                    Request::SelectStep(number) => self.document.select_step(*number),
                    Request::SelectEvent(index) => self.document.select_event(*index),
                    _ => {}
                }
            }
        }
        self.requests.extend(requests);
    }
}

fn harness_of(document: Document, size: [f32; 2], dark: bool) -> Harness<'static, App> {
    let app = App { document, state: ConversationState::default(), requests: Vec::new(), reveal: 0, applies: true };
    let theme = if dark { egui::Theme::Dark } else { egui::Theme::Light };
    let mut harness = Harness::builder()
        .with_size(size)
        .with_theme(theme)
        .with_max_steps(60)
        .with_context_setup(theme::install)
        .build_ui_state(move |ui, app: &mut App| app.show(ui), app);
    harness.run();
    harness
}

fn harness(draft: Draft) -> Harness<'static, App> {
    harness_of(draft.document(true), [900.0, 700.0], true)
}

fn asked(harness: &Harness<'_, App>) -> Vec<Request> {
    harness.state().requests.iter().filter(|request| !matches!(request, Request::Read(_))).cloned().collect()
}

/// Pictures for looking at; they are compared with nothing.
#[test]
#[ignore = "writes pictures to the folder in STEPLINE_PICTURES"]
fn pictures() {
    let Ok(folder) = std::env::var("STEPLINE_PICTURES") else { return };
    for dark in [true, false] {
        for width in [560.0, 1000.0, 1400.0] {
            let mut document = cart().document(true);
            document.select_step(2);
            let mut harness = harness_of(document, [width, 900.0], dark);
            let name = |part: &str| format!("{folder}/{part}-{}-{width}.png", if dark { "dark" } else { "light" });
            harness.render().unwrap().save(name("question")).unwrap();
            harness.state_mut().document.select_step(3);
            harness.run();
            harness.render().unwrap().save(name("facts")).unwrap();
            harness.state_mut().document.select_step(1);
            harness.run();
            harness.render().unwrap().save(name("first")).unwrap();
            let session_events = harness.state().document.session().unwrap().events.len();
            let mut player = Player::new(1, 2..session_events);
            for _ in 0..7 {
                player.next_event();
            }
            harness.state_mut().document.player = Some(player);
            let current = harness.state().document.player.as_ref().and_then(Player::current).unwrap();
            harness.state_mut().document.select_event(current);
            harness.run();
            harness.render().unwrap().save(name("replay")).unwrap();
            harness.state_mut().document.player = None;
            let places: Vec<Place> =
                harness.state().document.session().unwrap().events.iter().map(|event| event.place).collect();
            for place in places {
                for part in [Part::Text, Part::Output, Part::Events] {
                    harness.state_mut().document.expanded.insert(part.of(place));
                }
            }
            harness.state_mut().document.select_step(3);
            harness.run();
            harness.render().unwrap().save(name("open")).unwrap();
            harness.state_mut().document.select_step(4);
            harness.run();
            harness.render().unwrap().save(name("end")).unwrap();
            harness.state_mut().document.select_event(0);
            harness.run();
            harness.render().unwrap().save(name("before")).unwrap();
            let mut draft = plain(1, 0);
            let lines: String =
                (0..5_000).map(|line| format!("{line} {}\n", "a long line ".repeat(line % 23))).collect();
            draft.tool("Bash", serde_json::json!({"command": "cat log"}), &lines, crate::model::ToolState::Done);
            let mut document = draft.document(true);
            let place = document.session().unwrap().events.all()[0].place;
            document.expanded.insert(Part::Output.of(place));
            let mut harness = harness_of(document, [width, 900.0], dark);
            harness.render().unwrap().save(name("window")).unwrap();
        }
    }
}

fn wheel(harness: &mut Harness<'_, App>, at: egui::Pos2, points: f32) {
    harness.hover_at(at);
    harness.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        delta: egui::vec2(0.0, -points),
        phase: egui::TouchPhase::Move,
        modifiers: egui::Modifiers::NONE,
        source: egui::MouseWheelSource::Wheel,
    });
    harness.run();
}

fn select(harness: &mut Harness<'_, App>, step: u32) {
    harness.state_mut().document.select_step(step);
    harness.run();
}

#[test]
fn the_buttons_of_a_step_ask_for_its_actions() {
    let mut harness = harness(cart());
    for label in ["Fork step 1", "Revert step 1…", "Replay step 1"] {
        harness.get_by_label(label).click();
        harness.run();
    }
    let expected = [Request::Fork(Cut::After(1)), Request::Revert(1), Request::Replay(1)];
    assert_eq!(asked(&harness), expected);
}

#[test]
fn a_disabled_button_says_why_and_asks_for_nothing() {
    let mut harness = harness(cart());
    select(&mut harness, 3);
    let name = "Revert step 3, not available: the chain of records is broken before it";
    let button = harness.get_by_label(name);
    assert!(button.accesskit_node().is_disabled());
    button.click();
    harness.run();
    assert!(!asked(&harness).iter().any(|request| matches!(request, Request::Revert(_))));
    harness.get_by_label(name).hover();
    harness.run();
    harness.get_by_label("the chain of records is broken before it");
    harness.get_by_label("Fork step 3");
}

#[test]
fn long_output_is_folded_and_opens() {
    let mut harness = harness_of(cart().document(true), [900.0, 1100.0], true);
    select(&mut harness, 2);
    assert!(harness.query_by_label_contains("line 40, in test_add").is_none());
    harness.get_by_label("Show 210 lines more of output of exec pytest -q").click();
    harness.run();
    harness.get_by_label_contains("line 9, in test_add");
    let call = harness.get_by_label("tool call Bash, failed: pytest -q");
    assert!(call.rect().height() > 216.0 * 17.0);
    let place = asked(&harness);
    assert!(matches!(place[..], [Request::Expand(_)]), "{place:?}");
}

#[test]
fn thinking_is_one_line_until_it_is_opened() {
    let mut harness = harness(cart());
    harness.get_by_label("thinking · 55 words");
    assert!(
        harness
            .query_by_label_contains("which storage is wanted")
            .is_some_and(|node| node.accesskit_node().role() != egui::accesskit::Role::Label)
    );
    harness.get_by_label_contains("Show thinking").click();
    harness.run();
    harness.get_by_label_contains("Fold thinking");
}

#[test]
fn a_denied_call_says_by_whom_and_is_not_called_failed() {
    let mut harness = harness(cart());
    select(&mut harness, 2);
    harness.get_by_label("denied by the user · “keep the build”");
    harness.get_by_label("tool call Bash, denied: rm -rf build");
    assert!(harness.query_by_label_contains("doesn't want to proceed").is_none());
    harness.get_by_label("Show the result of exec rm -rf build").click();
    harness.run();
    harness.get_by_label_contains("doesn't want to proceed");
}

#[test]
fn a_click_selects_and_leaves_the_view_where_it_is() {
    let mut harness = harness(cart());
    let before = harness.get_by_label_contains("Step 2, question").rect();
    let call = harness.get_by_label("tool call Read: src/cart.py").rect();
    harness.hover_at(call.right_top() + egui::vec2(-20.0, 20.0));
    harness.drag_at(call.right_top() + egui::vec2(-20.0, 20.0));
    harness.drop_at(call.right_top() + egui::vec2(-20.0, 20.0));
    harness.run();
    assert!(matches!(asked(&harness)[..], [Request::SelectEvent(4)]), "{:?}", asked(&harness));
    assert_eq!(harness.get_by_label_contains("Step 2, question").rect(), before);
}

#[test]
fn what_is_selected_elsewhere_comes_into_view() {
    let mut harness = harness(plain(500, 4));
    select(&mut harness, 300);
    let header = harness.get_by_label_contains("Step 300, prompt").rect();
    assert!(header.top() < 12.0, "{header:?}");
    harness.state_mut().document.select_event(1_999);
    harness.state_mut().reveal += 1;
    harness.run();
    harness.get_by_label("text: Answer 3 of step 500");
    // Asked for again, the step comes back though it was selected already.
    select(&mut harness, 300);
    harness.hover_at(egui::pos2(300.0, 300.0));
    harness.key_press(egui::Key::PageDown);
    harness.run();
    assert!(harness.query_by_label_contains("Step 300, prompt").is_none());
    harness.state_mut().reveal += 1;
    harness.run();
    harness.get_by_label_contains("Step 300, prompt");
}

#[test]
fn of_a_hundred_thousand_events_only_those_in_view_are_drawn_and_read() {
    let document = plain(10_000, 10).document(false);
    let mut harness = harness_of(document, [900.0, 700.0], true);
    select(&mut harness, 5_000);
    let rows = harness.query_all_by_role(egui::accesskit::Role::ListItem).count();
    assert!((10..60).contains(&rows), "{rows}");
    let keys: std::collections::HashSet<TextKey> = (harness.state().requests.iter())
        .filter_map(|request| if let Request::Read(key) = request { Some(*key) } else { None })
        .collect();
    assert!((10..120).contains(&keys.len()), "{}", keys.len());
    assert!(keys.contains(&TextKey::Prompt(5_000)));
    let start = std::time::Instant::now();
    harness.run_steps(20);
    assert!(start.elapsed().as_millis() < 4_000, "{:?}", start.elapsed());
}

#[test]
fn a_text_that_arrives_above_does_not_move_what_is_read() {
    let text = "A long answer, of which much is above the edge of the view. ".repeat(60);
    let mut draft = plain(20, 1);
    draft.fake.bodies.values_mut().for_each(|body| body.text.clone_from(&text));
    let whole = draft.document(true);
    let mut harness = harness_of(draft_again(20, &text).document(false), [900.0, 500.0], true);
    select(&mut harness, 10);
    wheel(&mut harness, egui::pos2(300.0, 300.0), 125.0);
    let before = harness.get_by_label_contains("Step 11, prompt").rect();
    harness.state_mut().document.bodies = whole.bodies;
    harness.run();
    assert_eq!(harness.get_by_label_contains("Step 11, prompt").rect(), before);
}

fn draft_again(steps: usize, text: &str) -> Draft {
    let mut draft = plain(steps, 1);
    draft.fake.bodies.values_mut().for_each(|body| text.clone_into(&mut body.text));
    draft
}

#[test]
fn a_replay_dims_what_is_to_come_without_moving_anything() {
    let mut harness = harness(plain(3, 3));
    let before: Vec<egui::Rect> =
        harness.query_all_by_role(egui::accesskit::Role::ListItem).map(|row| row.rect()).collect();
    let mut player = Player::new(1, 0..9);
    player.next_event();
    harness.state_mut().document.player = Some(player);
    harness.run();
    let after: Vec<egui::Rect> =
        harness.query_all_by_role(egui::accesskit::Role::ListItem).map(|row| row.rect()).collect();
    assert_eq!(before, after);
}

#[test]
fn the_menu_of_a_row_copies_what_was_recorded() {
    let mut draft = plain(1, 0);
    draft.tool("Bash", serde_json::json!({"command": "ls"}), "a\u{1b}[0mb", crate::model::ToolState::Done);
    let mut harness = harness(draft);
    harness.get_by_label("a⟨ESC⟩[0mb");
    harness.get_by_label("tool call Bash: ls").click_secondary();
    harness.run();
    harness.get_by_label("Copy input");
    harness.get_by_label("Copy id");
    harness.get_by_label("Copy output").click();
    harness.run();
    let output = Request::CopyText(TextKey::Event(0), TextPart::Output);
    assert!(asked(&harness).contains(&output), "{:?}", asked(&harness));
}

#[test]
fn a_subagent_lists_its_events_when_opened() {
    let mut harness = harness(cart());
    select(&mut harness, 3);
    harness.get_by_label("Show the events of subagent find callers, finished").click();
    harness.run();
    harness.get_by_label("Edit src/cart.py");
}

#[test]
fn twenty_megabytes_open_without_laying_out_more_than_is_seen() {
    let mut draft = plain(1, 0);
    let output: String =
        (0..400_000).map(|line| format!("line {line} of a long output, with some more words\n")).collect();
    draft.tool("Bash", serde_json::json!({"command": "cat log"}), &output, crate::model::ToolState::Done);
    let mut harness = harness(draft);
    harness.get_by_label_contains("Show 399").click();
    let start = std::time::Instant::now();
    harness.run();
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    harness.get_by_label("Line 1");
    let shown = harness.query_all_by_label_contains("of a long output").count();
    assert!(shown < 80, "{shown}");
    // The wheel scrolls the window while it can, then the conversation.
    let window = harness.get_by_label("output of exec cat log").rect();
    let header = harness.get_by_label_contains("Step 1, prompt").rect();
    wheel(&mut harness, window.center(), 400.0);
    assert!(harness.query_by_label("Line 1").is_none());
    assert_eq!(harness.get_by_label_contains("Step 1, prompt").rect(), header);
    harness.get_by_label("Copy all of output of exec cat log").click();
    harness.run();
    assert!(asked(&harness).contains(&Request::CopyText(TextKey::Event(0), TextPart::Output)));
}

#[test]
fn failed_reads_say_so() {
    let mut document = plain(1, 1).document(false);
    let failed = crate::workspace::bodies::Slot::Failed("the file has changed".into());
    document.bodies.put(TextKey::Event(0), failed);
    let harness = harness_of(document, [900.0, 700.0], true);
    harness.get_by_label_contains("Not read: the file has changed");
}

#[test]
fn links_open_only_when_they_are_pressed() {
    let mut harness = harness(cart());
    select(&mut harness, 2);
    harness.get_by_label("the docs").hover();
    harness.run();
    harness.get_by_label("Open https://docs.python.org/3/library/sqlite3.html");
    let opened = |harness: &Harness<'_, App>| {
        let commands = &harness.output().platform_output.commands;
        commands.iter().any(|command| matches!(command, egui::OutputCommand::OpenUrl(_)))
    };
    assert!(!opened(&harness));
    harness.get_by_label("the docs").click();
    let mut seen = false;
    for _ in 0..4 {
        harness.step();
        seen |= opened(&harness);
    }
    assert!(seen);
}
