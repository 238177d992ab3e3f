use egui::{Event, MouseWheelSource, MouseWheelUnit, TouchPhase};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};

use egui::{Key, Modifiers};

use super::*;

/// A list of rows whose height is a function of their number, that counts what is drawn.
struct Numbers {
    keys: Vec<u32>,
    height: fn(u32) -> f32,
    drawn: usize,
    measured: usize,
    stamp: u64,
}

impl Numbers {
    fn new(count: u32) -> Self {
        Self { keys: (0..count).collect(), height: |_| 40.0, drawn: 0, measured: 0, stamp: 0 }
    }
}

impl Rows for Numbers {
    type Key = u32;

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn key(&self, row: usize) -> u32 {
        self.keys[row]
    }

    fn estimate(&self, _: usize, _: f32) -> f32 {
        20.0
    }

    fn stamp(&self, _: usize) -> u64 {
        self.stamp
    }

    fn name(&self, row: usize) -> String {
        format!("row {}", self.keys[row])
    }

    fn show(&mut self, ui: &mut Ui, row: usize, measuring: bool) {
        if measuring {
            self.measured += 1;
        } else {
            self.drawn += 1;
        }
        let key = self.keys[row];
        ui.allocate_space(vec2(100.0, (self.height)(key) - 22.0));
        let _ = ui.add_sized(vec2(100.0, 22.0), egui::Button::new(format!("button {key}")));
        ui.spacing_mut().item_spacing.y = 0.0;
    }
}

struct State {
    list: VirtualList<u32>,
    rows: Numbers,
    revision: u64,
    shown: Shown,
}

fn harness(count: u32) -> Harness<'static, State> {
    let state = State { list: VirtualList::default(), rows: Numbers::new(count), revision: 1, shown: Shown::default() };
    Harness::builder().with_size([316.0, 416.0]).with_max_steps(30).build_ui_state(
        |ui, state: &mut State| {
            ui.spacing_mut().item_spacing.y = 0.0;
            state.rows.drawn = 0;
            state.shown = state.list.show(ui, &mut state.rows, state.revision, "numbers");
        },
        state,
    )
}

fn scroll(harness: &mut Harness<'_, State>, points: f32) {
    harness.hover_at(pos2(100.0, 100.0));
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, -points),
        phase: TouchPhase::Move,
        modifiers: Modifiers::NONE,
        source: MouseWheelSource::Wheel,
    });
    harness.run();
}

#[test]
fn only_visible_rows_are_drawn_of_a_million() {
    let mut harness = harness(1_000_000);
    harness.run();
    assert!(harness.state().rows.drawn <= 11, "{}", harness.state().rows.drawn);
    harness.get_by_label("row 0");
    assert!(harness.query_by_label("row 20").is_none());
    harness.state_mut().list.jump_to(900_000, 0.0);
    harness.run();
    let top = harness.get_by_label("row 900000").rect().top();
    scroll(&mut harness, 15.0);
    assert_eq!(harness.get_by_label("row 900000").rect().top(), top - 15.0);
    assert!(harness.state().rows.drawn <= 11);
    assert!(harness.state().rows.measured < 60, "{}", harness.state().rows.measured);
}

#[test]
fn going_up_into_unknown_rows_shows_them_from_their_lower_end() {
    let mut harness = harness(1000);
    harness.state_mut().list.jump_to(500, 0.0);
    harness.run();
    let top = harness.get_by_label("row 500").rect().top();
    scroll(&mut harness, -30.0);
    assert_eq!(harness.get_by_label("row 500").rect().top(), top + 30.0);
    scroll(&mut harness, -30.0);
    assert_eq!(harness.get_by_label("row 500").rect().top(), top + 60.0);
}

#[test]
fn a_first_row_that_grows_by_itself_leaves_the_view_in_place() {
    let mut harness = harness(100);
    harness.state_mut().list.jump_to(50, 0.0);
    harness.run();
    scroll(&mut harness, 10.0);
    let before = harness.get_by_label("row 51").rect().top();
    harness.state_mut().rows.height = |key| if key == 50 { 300.0 } else { 40.0 };
    harness.state_mut().rows.stamp = 1;
    harness.run();
    assert_eq!(harness.get_by_label("row 51").rect().top(), before);
}

#[test]
fn the_place_is_found_again_when_rows_come_and_go() {
    let mut harness = harness(1000);
    harness.state_mut().list.jump_to(500, 0.0);
    harness.run();
    scroll(&mut harness, 10.0);
    let before = harness.get_by_label("row 501").rect().top();
    harness.state_mut().rows.keys.drain(..100);
    harness.state_mut().revision = 2;
    harness.run();
    assert_eq!(harness.get_by_label("row 501").rect().top(), before);
    // The first row itself is gone: the next one takes its place.
    harness.state_mut().rows.keys.retain(|key| *key != 500);
    harness.state_mut().revision = 3;
    harness.run();
    assert_eq!(harness.state().list.first_row(), 400);
    harness.get_by_label("row 501");
}

#[test]
fn pages_ends_and_reveal() {
    let mut harness = harness(100);
    harness.run();
    harness.hover_at(pos2(100.0, 100.0));
    harness.key_press(Key::PageDown);
    harness.run();
    assert_eq!(harness.state().list.first_row(), 9);
    harness.key_press(Key::PageUp);
    harness.run();
    assert_eq!(harness.state().list.first_row(), 0);
    harness.state_mut().list.jump_to(99, 0.0);
    harness.run();
    let last = harness.get_by_label("row 99").rect();
    assert!((last.bottom() - 408.0).abs() <= 1.0, "{last:?}");
    let first = harness.state().list.first_row();
    harness.state_mut().list.reveal(95);
    harness.run();
    assert_eq!(harness.state().list.first_row(), first, "a row in view is left where it is");
    harness.state_mut().list.reveal_below(20, 60.0);
    harness.run();
    harness.get_by_label("row 20");
    harness.get_by_label("row 19");
}

#[test]
fn the_bar_can_be_dragged_to_the_end_and_the_focus_is_followed() {
    let mut harness = harness(10_000);
    harness.run();
    let bar = harness.get_by_label("Scroll numbers").rect();
    harness.drag_at(pos2(bar.center().x, bar.top() + 5.0));
    harness.run();
    harness.hover_at(pos2(bar.center().x, bar.bottom() + 50.0));
    harness.run();
    harness.drop_at(pos2(bar.center().x, bar.bottom() + 50.0));
    harness.run();
    harness.get_by_label("row 9999");
    harness.state_mut().list.jump_to(5000, 0.0);
    harness.run();
    harness.get_by_label("button 5009").focus();
    harness.run();
    let button = harness.get_by_label("button 5009").rect();
    assert!(button.bottom() <= 408.0, "{button:?}");
}

#[test]
fn rows_say_their_place_in_the_list() {
    let mut harness = harness(1000);
    harness.run();
    let row = harness.get_by_label("row 3");
    assert_eq!(row.accesskit_node().position_in_set(), Some(3));
    assert_eq!(harness.get_by_label("numbers").accesskit_node().size_of_set(), Some(1000));
    assert_eq!(row.accesskit_node().role(), Role::ListItem);
}

#[test]
fn a_row_brought_to_the_top_stays_there_while_others_grow_until_its_reader_scrolls() {
    let mut harness = harness(100);
    harness.state_mut().rows.height = |row| if row < 90 { 40.0 } else { 24.0 };
    harness.state_mut().list.jump_to(95, 0.0);
    harness.run();
    let top = |harness: &Harness<'_, State>| harness.get_by_label("row 95").rect().top();
    assert!(top(&harness) > 100.0, "the rows after it do not fill the view");
    // Their texts come in.
    harness.state_mut().rows.height = |row| if row < 90 { 50.0 } else { 200.0 };
    harness.state_mut().rows.stamp += 1;
    harness.run_steps(3);
    let edge = harness.get_by_label("numbers").rect().top();
    assert_eq!(top(&harness), edge);
    scroll(&mut harness, 30.0);
    harness.state_mut().rows.height = |row| if row < 95 { 60.0 } else { 210.0 };
    harness.run_steps(3);
    assert_eq!(top(&harness), edge - 30.0, "it is its reader's place now");
}
