//! Long texts, texts in another form, and images: found, opened and copied by what a screen reader is told.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use stepline::store::encode_png;

use super::*;

const CALL: &str = "toolu_1";

/// A session of one step in which a tool was called with this input and gave back this content.
fn session(tool: &str, input: Value, content: Value) -> Vec<u8> {
    session_of(json!("Look at this"), tool, input, content)
}

fn session_of(prompt: Value, tool: &str, input: Value, content: Value) -> Vec<u8> {
    let ids = [1, 2, 3].map(|number| format!("00000000-0000-4000-8000-{number:012}"));
    let record = |at: usize, kind: &str, content: Value| {
        let parent = at.checked_sub(1).map(|before| ids[before].clone());
        json!({
            "parentUuid": parent, "uuid": ids[at], "type": kind, "isSidechain": false, "userType": "external",
            "cwd": "/home/ada/shop", "sessionId": "5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10", "version": "2.1.330",
            "timestamp": format!("2026-11-12T13:02:0{at}.000Z"), "message": {"role": kind, "content": content},
        })
    };
    let records = [
        record(0, "user", prompt),
        record(1, "assistant", json!([{"type": "tool_use", "id": CALL, "name": tool, "input": input}])),
        record(2, "user", json!([{"type": "tool_result", "tool_use_id": CALL, "content": content}])),
    ];
    records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
}

/// A picture of noise, which cannot be compressed.
fn noise(side: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    encode_png(side, side, &(0..side * side * 3).map(|_| next()).collect::<Vec<_>>()).unwrap()
}

fn image(file: &[u8]) -> Value {
    json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": STANDARD.encode(file)}}])
}

fn window(session: Vec<u8>) -> Window {
    let mut window = Window::open(&[("long.jsonl", session)], [1400.0, 1600.0]);
    window.click_containing("Step 1, prompt");
    window.settle();
    window
}

impl Window {
    /// Clicks the first thing whose name begins so.
    fn click_first(&mut self, start: &str) {
        self.aim(start);
        self.harness.run_steps(3);
    }

    fn aim(&self, start: &str) {
        let mut found = self.harness.query_all_by_label_contains(start).filter(|node| {
            use egui_kittest::kittest::NodeT;
            node.accesskit_node().label().is_some_and(|label| label.starts_with(start))
        });
        found.next().unwrap_or_else(|| panic!("nothing is called {start}")).click();
    }

    fn wait_to_show(&mut self, part: &str) {
        self.wait_for(part, |window| window.shows(part));
    }

    /// Clicks, and gives back what goes to the clipboard for it.
    fn copy(&mut self, start: &str) -> String {
        self.aim(start);
        let start = Instant::now();
        loop {
            self.harness.run_steps(1);
            let copied = self.harness.output().platform_output.commands.iter().find_map(|command| match command {
                egui::OutputCommand::CopyText(text) => Some(text.clone()),
                _ => None,
            });
            match copied {
                Some(text) => return text,
                None => assert!(start.elapsed() < PATIENCE, "nothing was copied"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn an_image_is_named_and_shown_only_when_asked_for() {
    let png = encode_png(300, 200, &vec![90; 300 * 200 * 3]).unwrap();
    assert!(png.len() < 1_000, "thousands are set apart");
    let words = format!("image/png, 300 × 200 pixels, {} bytes", png.len());
    let mut window = window(session("Read", json!({"file_path": "a.png"}), image(&png)));
    assert!(window.shows(&words));
    assert!(!window.shows(&format!("Image: {words}")));
    window.click(&format!("Show image: {words}"));
    window.wait_to_show(&format!("Image: {words}"));
    let shown = window.harness.get_by_label(&format!("Image: {words}")).rect();
    assert_eq!((shown.width(), shown.height()), (300.0, 200.0));
    window.click(&format!("Hide image: {words}"));
    assert!(!window.shows(&format!("Image: {words}")));
}

#[test]
fn a_damaged_image_says_so() {
    let png = noise(100);
    let mut window = window(session("Read", json!({"file_path": "a.png"}), image(&png[..2_000])));
    window.click_first("Show image: image/png, 100 × 100 pixels, 2 000 bytes");
    window.wait_to_show("Not shown: it is damaged");
}

#[test]
fn json_in_one_line_is_shown_indented_and_as_it_is_recorded() {
    let rows: Vec<Value> = (0..4_000).map(|row| json!({"row": row, "word": "a word"})).collect();
    let json = Value::from(rows).to_string();
    let mut window = window(session("Query", json!({"all": true}), json!(json)));
    window.click_first("Show all of output of Query");
    window.click("Indented: output of Query");
    window.wait_to_show("output of Query, indented");
    assert!(window.shows("\"word\": \"a word\""));
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&json).unwrap()).unwrap();
    assert_eq!(window.copy("Copy all of output of Query, indented"), pretty);
    window.wait_to_show(&format!("Output copied, {} KB", pretty.len() / 1_000));
    window.click("As recorded: output of Query, indented");
    assert!(!window.shows("output of Query, indented"));
    assert_eq!(window.copy("Copy all of output of Query"), json);
}

#[test]
fn a_long_input_is_shown_as_it_is_recorded_when_asked_for() {
    let rows: Vec<Value> = (0..40_000).map(|row| json!({"row": row, "word": "a longer word"})).collect();
    let input = json!({"rows": rows});
    assert!(input.to_string().len() > 1_000_000, "it is long enough to be thinned");
    let mut window = window(session("Store", input.clone(), json!("stored")));
    window.click_first("Show ");
    window.click_first("As recorded: input of Store");
    window.wait_to_show("input of Store, as recorded");
    assert_eq!(window.copy("Copy all of input of Store, as recorded"), input.to_string());
    window.click("Indented: input of Store, as recorded");
    assert_eq!(window.copy("Copy all of input of Store"), serde_json::to_string_pretty(&input).unwrap());
}

#[test]
fn a_record_is_copied_with_what_is_not_drawn_of_it() {
    let data = STANDARD.encode(noise(200));
    let prompt = json!([
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
    ]);
    let mut window = window(session_of(prompt, "Read", json!({"file_path": "a.png"}), json!("nothing")));
    window.wait_to_show(&format!("… {} characters of Base64 are not shown", data.len()));
    let copied: Value = serde_json::from_str(&window.copy("Copy all of Raw record")).unwrap();
    assert_eq!(copied["message"]["content"][1]["source"]["data"], Value::from(data));
    // An image of a prompt has a row of its own.
    window.click_first("Show notice: image in the prompt");
    window.wait_to_show("Show image: image/png, 200 × 200 pixels");
}
