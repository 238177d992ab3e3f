//! Searching a session by keyboard and by pointer.

use egui::{Key, Modifiers};
use stepline::formats::search::{Pattern, Query};
use stepline::store::Watch;

use super::*;

impl Window {
    fn keys(&mut self, modifiers: Modifiers, key: Key) {
        self.harness.key_press_modifiers(modifiers, key);
        self.harness.run_steps(3);
    }

    fn types(&mut self, text: &str) {
        self.harness.event(egui::Event::Text(text.to_owned()));
        self.harness.run_steps(3);
    }

    /// Opens the bar, searches and waits until all is found.
    fn search(&mut self, text: &str) {
        self.keys(Modifiers::COMMAND, Key::F);
        self.types(text);
        self.wait_for("the search to end", |window| {
            let search = &window.workspace().active().unwrap().search;
            search.query.text == text && !search.is_going_on()
        });
        self.settle();
    }

    fn position(&self) -> Option<usize> {
        self.workspace().active().unwrap().search.position()
    }
}

#[test]
fn matches_are_found_counted_and_gone_through_by_keys() {
    let mut window = Window::with_sample();
    window.search("sqlite");
    assert!(window.shows("1 of 59 matches: 2 prompts  ·  3 answers  ·  1 thinking"), "counts by kind");
    assert_eq!(window.selected(), Some(9), "the first match is gone to");
    assert!(window.shows("A JSON file loses data"), "folded thinking is opened");
    window.press(Key::Enter);
    window.settle();
    assert_eq!((window.position(), window.selected()), (Some(2), Some(10)));
    assert!(window.shows("- SQLite, one file: Nothing to run"), "a question is shown with all that was searched");
    window.press(Key::F3);
    assert_eq!(window.position(), Some(3));
    window.keys(Modifiers::SHIFT, Key::Enter);
    window.keys(Modifiers::SHIFT, Key::F3);
    assert_eq!(window.position(), Some(1));
    window.keys(Modifiers::COMMAND | Modifiers::SHIFT, Key::G);
    assert_eq!(window.position(), Some(59), "around the start");
    window.keys(Modifiers::COMMAND, Key::G);
    assert_eq!(window.position(), Some(1));
    window.press(Key::Escape);
    assert!(!window.shows("59 matches"));
    window.press(Key::ArrowDown);
    assert_eq!(window.selected(), Some(10), "keys are the window's again");
}

#[test]
fn switches_narrow_the_search_and_each_has_a_name() {
    let mut window = Window::with_sample();
    window.search("SQLite");
    let recording = window.workspace().active().unwrap().recording().unwrap().clone();
    let count = |query: &Query| {
        let mut count = 0;
        let pattern = Pattern::new(query).unwrap();
        recording.search(&pattern, Watch::none(), &mut |hit| count += hit.count).unwrap();
        count
    };
    let cased = Query { text: "SQLite".to_owned(), match_case: true, ..Query::default() };
    let whole = Query { whole_word: true, ..cased.clone() };
    for (switch, query) in [("Match case", &cased), ("Whole word", &whole)] {
        window.click(switch);
        window.wait_for("another search", |window| {
            let search = &window.workspace().active().unwrap().search;
            !search.is_going_on() && search.query == *query
        });
        assert_eq!(window.workspace().active().unwrap().search.matches(), count(query), "{switch}");
    }
    assert!(1 < count(&whole) && count(&whole) <= count(&cased) && count(&cased) < 59);
    let names =
        ["Search", "Match case", "Whole word", "Regular expression", "Previous match", "Next match", "Close search"];
    for name in names {
        assert!(window.harness.query_by_label(name).is_some(), "{name}");
    }
    window.click("Next match");
    assert_eq!(window.position(), Some(2));
    window.click("Close search");
    assert!(window.harness.query_by_label("Next match").is_none());
}

#[test]
fn what_is_no_expression_is_explained_and_what_is_not_there_is_said() {
    let mut window = Window::with_sample();
    window.search("no such words");
    assert!(window.shows("No match"));
    window.click("Regular expression");
    window.search("sql(ite");
    assert!(window.shows("This is no regular expression: unclosed group, at character 4"));
    window.search("sql(ite)?3");
    assert!(!window.shows("This is no regular expression") && window.shows("1 of "));
}

#[test]
fn a_match_far_down_in_a_long_text_is_brought_into_view() {
    let lines: String = (0..3_000).map(|number| format!("line {number} of the log\\n")).collect();
    let record = |uuid: &str, parent: &str, kind: &str, message: &str| {
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{message},"uuid":"{uuid}","timestamp":"2026-11-12T15:00:00.000Z","sessionId":"s","version":"2.1.330"}}"#
        )
    };
    let content = [
        record("u1", "null", "user", r#"{"role":"user","content":"go"}"#),
        record(
            "a1",
            "\"u1\"",
            "assistant",
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cat log"}}]}"#,
        ),
        record(
            "u2",
            "\"a1\"",
            "user",
            &format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":"{lines}"}}]}}"#
            ),
        ),
        record(
            "a2",
            "\"u2\"",
            "assistant",
            &format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"{}"}}]}}"#,
                (0..200).map(|number| format!("Paragraph {number} of many.\\n\\n")).collect::<String>()
            ),
        ),
    ];
    let mut window = Window::open(&[("long.jsonl", (content.join("\n") + "\n").into_bytes())], [1000.0, 700.0]);
    window.search("line 2345 of");
    let view = window.harness.get_by_label("Conversation").rect();
    let inside = |window: &Window, name: &str| {
        let rect = window.harness.query_all_by_label_contains(name).last().map(|node| node.rect());
        rect.is_some_and(|rect| rect.top() >= view.top() && rect.bottom() <= view.bottom())
    };
    window.wait_for("the line", |window| inside(window, "line 2345 of the log"));
    window.search("paragraph 150 ");
    window.wait_for("the paragraph", |window| inside(window, "Paragraph 150 of many."));
}
