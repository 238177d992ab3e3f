use super::super::diff::LineKind;
use super::*;

fn headline(name: &str, input: &str) -> String {
    let tool = ToolText::new(name, input);
    let parts = [tool.verb, tool.subject, tool.note];
    parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn form_text(name: &str, input: &str) -> String {
    match ToolText::new(name, input).form {
        Form::Nothing => String::new(),
        Form::Diff(diff) => diff.text.original().to_owned(),
        Form::Text(text) | Form::Json(text) => text.original().to_owned(),
    }
}

#[test]
fn headlines_say_what_is_done_to_what() {
    for (name, input, expected) in [
        ("Bash", r#"{"command":"rm -rf build"}"#, "exec rm -rf build"),
        ("Bash", r#"{"command":"ls","description":"List files"}"#, "exec ls List files"),
        ("shell", r#"{"command":["bash","-lc","pytest -q"]}"#, "exec pytest -q"),
        ("exec", r#"{"cmd":"make"}"#, "exec make"),
        ("Edit", r#"{"file_path":"src/cart.py","old_string":"a","new_string":"b"}"#, "edit src/cart.py"),
        ("Edit", r#"{"path":"a.rs","oldText":"a","newText":"b"}"#, "edit a.rs"),
        ("NotebookEdit", r#"{"notebook_path":"a.ipynb","new_source":"x"}"#, "edit a.ipynb"),
        ("Write", r#"{"file_path":"a","content":"x"}"#, "write a"),
        ("Read", r#"{"file_path":"a","offset":10,"limit":5}"#, "read a lines 10–14"),
        ("str_replace_editor", r#"{"command":"view","path":"a","view_range":[3,-1]}"#, "read a from line 3"),
        ("str_replace_editor", r#"{"command":"create","path":"a","file_text":"x"}"#, "write a"),
        ("Grep", r#"{"pattern":"fn main","path":"src"}"#, "search fn main in src"),
        ("Glob", r#"{"pattern":"**/*.rs"}"#, "search **/*.rs"),
        ("LS", r#"{"path":"src"}"#, "list src"),
        ("WebFetch", r#"{"url":"https://a.example","prompt":"Read it"}"#, "fetch https://a.example Read it"),
        ("WebSearch", r#"{"query":"egui"}"#, "search the web egui"),
        (
            "Task",
            r#"{"description":"Find it","prompt":"Look at","subagent_type":"general"}"#,
            "delegate Find it general",
        ),
        ("AskUserQuestion", r#"{"questions":[{"question":"Which?"}]}"#, "ask Which?"),
        ("ExitPlanMode", r##"{"plan":"# Plan\nDo"}"##, "plan # Plan Do"),
        ("TodoWrite", r#"{"todos":[{"content":"a","status":"completed"},{"content":"b"}]}"#, "task list 1 of 2 done"),
        ("TaskCreate", r#"{"subject":"Ship","description":"all"}"#, "TaskCreate Ship"),
        ("mcp__github__get_issue", r#"{"id":"7"}"#, "github get_issue 7"),
        ("Frobnicate", r#"{"zip":1,"zap":"main"}"#, "Frobnicate main"),
        ("apply_patch", r#""*** Begin Patch\n*** Update File: a.rs\n-x\n+y\n""#, "edit a.rs"),
        ("Bash", "null", "Bash"),
        ("", "{}", "tool"),
    ] {
        assert_eq!(headline(name, input), expected, "{name} {input}");
    }
}

#[test]
fn edits_are_diffs() {
    let input =
        r#"{"file_path":"a","edits":[{"old_string":"a\n","new_string":"b\n"},{"old_string":"","new_string":"c"}]}"#;
    let Form::Diff(diff) = ToolText::new("MultiEdit", input).form else { panic!() };
    let kinds: Vec<LineKind> = diff.lines.iter().map(|line| line.kind).collect();
    assert_eq!(kinds, [LineKind::Removed, LineKind::Added, LineKind::Gap, LineKind::Added]);
}

#[test]
fn inputs_that_the_headline_says_whole_are_not_shown_again() {
    assert_eq!(form_text("Bash", r#"{"command":"ls"}"#), "");
    assert_eq!(form_text("Bash", r#"{"command":"ls\npwd"}"#), "ls\npwd");
    assert_eq!(form_text("Read", r#"{"file_path":"a"}"#), "");
    assert_eq!(form_text("Frobnicate", r#"{"id":"7"}"#), "");
    assert_eq!(form_text("Write", r#"{"file_path":"a","content":"x\ny"}"#), "x\ny");
    assert_eq!(form_text("TodoWrite", r#"{"todos":[{"content":"a","status":"in_progress"}]}"#), "[>] a\n");
}

#[test]
fn other_inputs_are_json_in_the_order_they_were_recorded() {
    assert_eq!(form_text("Frobnicate", r#"{"z":1,"a":[true]}"#), "{\n  \"z\": 1,\n  \"a\": [\n    true\n  ]\n}");
}

#[test]
fn what_is_no_json_or_too_deep_is_shown_as_it_is() {
    assert_eq!(form_text("Bash", "{\"command\": \"l"), "");
    assert_eq!(headline("Bash", "{\"command\": \"l"), "Bash {\"command\": \"l");
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    assert_eq!(form_text("Frobnicate", &deep), deep);
}

#[test]
fn a_headline_is_one_short_line_without_hidden_characters() {
    let tool = ToolText::new(
        "Bash",
        &serde_json::json!({"command": format!("echo \u{202e}{}", "x".repeat(5_000))}).to_string(),
    );
    assert!(tool.subject.starts_with("echo ⟨U+202E⟩x") && tool.subject.ends_with('…'));
    assert!(tool.subject.chars().count() < 220);
    assert!(matches!(tool.form, Form::Text(_)));
}
