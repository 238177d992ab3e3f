mod clusters;
mod fixture;

use egui::{Event, Key, Modifiers, Pos2, Theme, pos2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

use crate::model::{Decision, StepKind};
use crate::workspace::player::Player;
use crate::workspace::{Command, Request};
use fixture::{App, approval, empty, event, long, step, story, window};

const SIZE: [f32; 2] = [1280.0, 190.0];

fn value(harness: &Harness<'_, App>) -> String {
    harness.get_by_label("Timeline").value().unwrap()
}

fn run(harness: &mut Harness<'_, App>, command: Command) {
    let app = harness.state_mut();
    let session = app.session().clone();
    app.state.run(command, &session);
    harness.run();
}

fn steps_asked_for(harness: &Harness<'_, App>) -> Vec<u32> {
    let step = |request: &Request| if let Request::SelectStep(step) = request { Some(*step) } else { None };
    harness.state().requests.iter().filter_map(step).collect()
}

fn events_asked_for(harness: &Harness<'_, App>) -> Vec<usize> {
    let event = |request: &Request| if let Request::SelectEvent(event) = request { Some(*event) } else { None };
    harness.state().requests.iter().filter_map(event).collect()
}

fn drag(harness: &mut Harness<'_, App>, from: Pos2, to: Pos2) {
    harness.hover_at(from);
    harness.run_steps(3);
    harness.drag_at(from);
    harness.run_steps(3);
    for part in [0.3, 0.6, 1.0] {
        harness.hover_at(from + (to - from) * part);
        harness.run_steps(3);
    }
    harness.drop_at(to);
    harness.run_steps(3);
}

#[test]
fn a_click_on_a_bar_selects_the_step() {
    let mut harness = window(story(), SIZE, Theme::Dark);
    harness.get_by_label_contains("step 12, question, Task number 12").click();
    harness.run();
    assert_eq!(steps_asked_for(&harness), [12]);
}

#[test]
fn a_click_on_a_mark_selects_the_event() {
    let mut harness = window(story(), SIZE, Theme::Dark);
    harness.get_by_label("fallback, claude-opus → claude-sonnet · overloaded, step 8").click();
    harness.run();
    let event = events_asked_for(&harness);
    assert_eq!(event.len(), 1);
    let session = harness.state().session();
    assert!(session.events.all()[event[0]].marker.is_some());
    assert_eq!(session.step_of_event(event[0]).unwrap().number, 8);
}

#[test]
fn a_click_beside_everything_selects_the_nearest_step() {
    let mut harness = window(story(), SIZE, Theme::Dark);
    let bar = harness.get_by_label_contains("step 18, prompt").rect();
    harness.drag_at(pos2(bar.center().x - 4.0, bar.bottom() + 50.0));
    harness.drop_at(pos2(bar.center().x - 4.0, bar.bottom() + 50.0));
    harness.run();
    assert_eq!(steps_asked_for(&harness), [18]);
}

#[test]
fn a_click_on_a_cluster_shows_its_marks_apart() {
    let mut session = story();
    for quick in 0..5 {
        event(&mut session, Some(7_000.0 + f64::from(quick)), Some(approval(Decision::Granted)));
    }
    let mut harness = window(session, SIZE, Theme::Dark);
    harness.get_by_label_contains("5 approved").click();
    harness.run();
    assert!(harness.state().requests.is_empty());
    assert_eq!(harness.query_all_by_label("approval, approved by the user, step 18").count(), 5);
}

#[test]
fn marks_of_one_moment_are_gone_through_click_by_click() {
    let mut session = empty();
    step(&mut session, StepKind::Prompt, "One", Some(0.0));
    for seconds in [0.0, 9.0, 9.0, 9.0, 60.0] {
        let fact = (seconds == 9.0).then(|| approval(Decision::Auto));
        event(&mut session, Some(seconds), fact);
    }
    let mut harness = window(session, SIZE, Theme::Dark);
    let mut clicked = Vec::new();
    for _ in 0..4 {
        harness.get_by_label_contains("3 auto").click();
        harness.run();
        if let Some(event) = events_asked_for(&harness).last().copied() {
            harness.state_mut().document.select_event(event);
            clicked.push(event);
        }
        harness.run();
    }
    assert_eq!(clicked, [1, 2, 3, 1]);
}

#[test]
fn the_value_says_what_is_seen_and_commands_change_it() {
    let mut harness = window(story(), SIZE, Theme::Dark);
    let whole = value(&harness);
    assert_eq!(
        whole,
        "steps 1 to 18 of 18 shown, step 1 selected, 2 failures, 3 denials, 1 waiting approval, 8 approvals, \
         3 questions, 3 fallbacks, 3 commits in view"
    );
    run(&mut harness, Command::TimelineZoomIn);
    let near = value(&harness);
    assert!(near.starts_with("steps 1 to 1"), "{near}");
    assert_ne!(near, whole);
    run(&mut harness, Command::TimelineZoomOut);
    assert_eq!(value(&harness), whole);
    (0..40).for_each(|_| run(&mut harness, Command::TimelineZoomIn));
    assert!(value(&harness).starts_with("step 1 of 18 shown, step 1 selected"));
    run(&mut harness, Command::TimelineShowAll);
    assert_eq!(value(&harness), whole);
}

#[test]
fn the_scale_is_changed_by_command_and_by_its_switch() {
    let mut harness = window(story(), SIZE, Theme::Dark);
    assert!(harness.query_by_label("idle 48 min, cut").is_some());
    run(&mut harness, Command::TimelineScale);
    assert!(harness.query_by_label("idle 48 min, cut").is_none());
    harness.get_by_label("Time scale").click();
    harness.run();
    assert!(harness.query_by_label("idle 48 min, cut").is_some());
    harness.get_by_label("Step scale").click();
    harness.run();
    assert!(harness.query_by_label("idle 48 min, cut").is_none());
    assert!(harness.state().requests.is_empty());
}

#[test]
fn arrow_keys_and_screen_readers_move_the_step() {
    let mut harness = window(story(), SIZE, Theme::Dark);
    harness.get_by_label("Timeline").focus();
    harness.run();
    harness.key_press(Key::ArrowRight);
    harness.run();
    harness.key_press(Key::ArrowLeft);
    harness.run();
    harness.get_by_label("Timeline").increment_accesskit();
    harness.run();
    // There is no step before the first.
    assert_eq!(steps_asked_for(&harness), [2, 2]);
    assert!(harness.get_by_label("Timeline").is_focused());
}

#[test]
fn a_selection_out_of_sight_is_brought_into_view() {
    let mut harness = window(story(), SIZE, Theme::Dark);
    (0..6).for_each(|_| run(&mut harness, Command::TimelineZoomIn));
    assert!(harness.query_by_label_contains("step 15, prompt").is_none());
    harness.state_mut().document.select_step(15);
    harness.run();
    assert!(harness.query_by_label_contains("step 15, prompt").is_some());
    // What the reader pans away from stays away.
    let bar = harness.get_by_label("Timeline").rect();
    drag(&mut harness, bar.center() + vec2(-300.0, 30.0), bar.center() + vec2(300.0, 30.0));
    drag(&mut harness, bar.center() + vec2(-300.0, 30.0), bar.center() + vec2(300.0, 30.0));
    assert!(harness.query_by_label_contains("step 15, prompt").is_none());
    harness.state_mut().reveal += 1;
    harness.run();
    assert!(harness.query_by_label_contains("step 15, prompt").is_some());
    assert!(harness.state().requests.is_empty());
}

#[test]
fn the_brush_chooses_what_is_seen_and_a_double_click_everything() {
    let mut harness = window(story(), SIZE, Theme::Dark);
    let line = harness.get_by_label("Whole session").rect();
    let at = |part: f32| pos2(line.left() + line.width() * part, line.center().y);
    drag(&mut harness, at(0.5), at(0.75));
    let brushed = value(&harness);

    assert!(brushed.starts_with("steps 9 to 14"), "{brushed}");
    // Its middle moves it, its edge resizes it.
    drag(&mut harness, at(0.6), at(0.35));
    let moved = value(&harness);
    assert!(!moved.starts_with("steps 9 to"), "{moved}");
    drag(&mut harness, at(0.25), at(0.0));
    assert!(value(&harness).starts_with("steps 1 to"), "{}", value(&harness));
    for _ in 0..2 {
        harness.drag_at(at(0.9));
        harness.drop_at(at(0.9));
        harness.step();
    }
    harness.run();
    assert!(value(&harness).starts_with("steps 1 to 18 of 18"), "{}", value(&harness));
}

#[test]
fn the_wheel_zooms_about_the_pointer_and_pans_sideways() {
    let mut harness = window(story(), SIZE, Theme::Dark);
    let bar = harness.get_by_label_contains("step 12, question").rect();
    let wheel = |harness: &mut Harness<'_, App>, delta, modifiers| {
        harness.event(Event::MouseWheel {
            unit: egui::MouseWheelUnit::Point,
            delta,
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Unknown,
            modifiers,
        });
        harness.run_steps(20);
    };
    harness.hover_at(bar.center());
    harness.run();
    wheel(&mut harness, vec2(0.0, 200.0), Modifiers::NONE);
    let zoomed = harness.get_by_label_contains("step 12, question").rect();
    assert!(zoomed.width() > bar.width() * 1.5, "{zoomed} {bar}");
    assert!((zoomed.center().x - bar.center().x).abs() < 3.0, "{zoomed} {bar}");
    wheel(&mut harness, vec2(-100.0, 0.0), Modifiers::NONE);
    let panned = harness.get_by_label_contains("step 12, question").rect();
    assert!((panned.left() - zoomed.left() + 100.0).abs() < 3.0, "{panned} {zoomed}");
    wheel(&mut harness, vec2(0.0, 200.0), Modifiers::COMMAND);
    assert!(harness.get_by_label_contains("step 12, question").rect().width() > zoomed.width() * 1.2);
}

#[test]
fn empty_and_tiny_sessions_are_shown() {
    let mut one = empty();
    step(&mut one, StepKind::Prompt, "One", None);
    let mut untimed = empty();
    let mut still = empty();
    for _ in 0..3 {
        step(&mut untimed, StepKind::Prompt, "Untimed", None);
        event(&mut untimed, None, Some(approval(Decision::Granted)));
        step(&mut still, StepKind::Prompt, "Still", Some(5.0));
        event(&mut still, Some(5.0), Some(approval(Decision::Granted)));
    }
    let mut lone = empty();
    event(&mut lone, Some(1.0), None);
    for (session, steps) in [(empty(), 0), (lone, 0), (one, 1), (untimed, 3), (still, 3)] {
        for size in [SIZE, [300.0, 190.0], [60.0, 60.0]] {
            let mut harness = window(session.clone(), size, Theme::Light);
            for command in [
                Command::TimelineZoomIn,
                Command::TimelineScale,
                Command::TimelineZoomIn,
                Command::TimelineZoomOut,
                Command::TimelineShowAll,
            ] {
                run(&mut harness, command);
            }
            if size == SIZE {
                assert_eq!(harness.query_all_by_label_contains(", prompt, ").count(), steps);
            }
        }
    }
}

#[test]
fn a_growing_session_stays_whole_or_keeps_its_place() {
    let mut harness = window(long(200), SIZE, Theme::Dark);
    assert!(value(&harness).starts_with("steps 1 to 20 of 20 shown"));
    harness.state_mut().read(long(300));
    harness.run();
    assert!(value(&harness).starts_with("steps 1 to 30 of 30 shown"));
    (0..3).for_each(|_| run(&mut harness, Command::TimelineZoomIn));
    let before = value(&harness);
    harness.state_mut().read(long(400));
    harness.run();
    assert_eq!(value(&harness).replace("of 40", "of 30"), before);
}

#[test]
fn a_hundred_thousand_events_are_clustered_and_cost_no_more() {
    let mut harness = window(long(100_000), SIZE, Theme::Dark);
    assert!(
        value(&harness).starts_with("steps 1 to 10\u{2009}000 of") || value(&harness).starts_with("steps 1 to 10000")
    );
    assert!(harness.query_all_by_label_contains("approved").count() < 60);
    let start = std::time::Instant::now();
    for _ in 0..10 {
        run_without_copy(&mut harness, Command::TimelineZoomIn);
    }
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    assert!(harness.query_all_by_label_contains(", prompt, ").count() > 1);
}

#[test]
fn the_view_follows_a_replay() {
    let mut harness = window(story(), SIZE, Theme::Light);
    (0..6).for_each(|_| run(&mut harness, Command::TimelineZoomIn));
    let app = harness.state_mut();
    let events = app.session().events.len();
    let start = app.session().steps[8].events.start;
    app.document.player = Some(Player::new(9, start..events));
    harness.run();
    assert!(harness.query_by_label_contains("step 9, prompt").is_some());
    for _ in start..events {
        if let Some(player) = &mut harness.state_mut().document.player {
            player.next_event();
        }
        harness.run();
    }
    assert!(harness.query_by_label_contains("step 18, prompt").is_some());
}

fn run_without_copy(harness: &mut Harness<'_, App>, command: Command) {
    let empty = {
        let mut session = empty();
        event(&mut session, None, None);
        session
    };
    harness.state_mut().state.run(command, &empty);
    harness.run();
}
