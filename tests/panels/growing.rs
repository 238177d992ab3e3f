//! A session that is written while it is read.

use std::fs::{self, OpenOptions};
use std::io::Write;

use serde_json::{Value, json};

use super::*;

/// Appends an answer of the agent to the session's end.
fn append(window: &Window, text: &str) {
    let path = window.path("cart.jsonl");
    let content = fs::read_to_string(&path).unwrap();
    let mut records = content.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let last = records.rfind(|record| record["type"] == "assistant" || record["type"] == "user").unwrap();
    let record = json!({
        "parentUuid": last["uuid"], "isSidechain": false, "type": "assistant", "uuid": format!("{text}-0000"),
        "timestamp": "2026-11-03T18:00:00.000Z", "sessionId": last["sessionId"],
        "message": {"id": text, "role": "assistant", "content": [{"type": "text", "text": text}]},
    });
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(format!("{record}\n").as_bytes()).unwrap();
}

#[test]
fn who_is_elsewhere_stays_there_and_is_told_who_is_at_the_end_goes_on_with_it() {
    let mut window = Window::with_sample();
    let step = window.harness.get_all_by_label_contains("Step 1, ").next().unwrap().rect();
    append(&window, "first");
    window.wait_for("word of it", |window| window.shows("1 new, go to the end"));
    append(&window, "second");
    window.wait_for("word of both", |window| window.shows("2 new, go to the end"));
    assert_eq!(window.harness.get_all_by_label_contains("Step 1, ").next().unwrap().rect(), step);
    assert_eq!(window.selected(), Some(1));
    assert!(!window.shows("agent text: second"), "the end is elsewhere");

    window.click("2 new, go to the end");
    window.settle();
    assert!(window.shows("second") && !window.shows("go to the end"));
    append(&window, "third");
    window.wait_for("what came to the end in view", |window| window.shows("third"));
    window.settle();
    assert!(!window.shows("go to the end"), "it is in view");
    assert_eq!(window.selected(), Some(1), "the selection stays");
}
