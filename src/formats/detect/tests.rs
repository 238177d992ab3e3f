//! How containers, records and points are told; `names` holds the rules of each kind of file.

mod names;

pub(in crate::formats) use names::samples;

use std::fs;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::formats::REGISTRY;
use crate::model::FormatName;

fn sample_named(name: &str, content: &[u8]) -> Sample {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    Sample::take(&SourceFile::open(&path).unwrap()).unwrap()
}

fn sample(content: impl AsRef<[u8]>) -> Sample {
    sample_named("file", content.as_ref())
}

/// The format that is chosen, or the sentence.
fn chosen(sample: &Sample) -> Result<FormatName, String> {
    choose(REGISTRY, sample).map(|format| format.name)
}

fn sentence(content: impl AsRef<[u8]>) -> String {
    chosen(&sample(content)).unwrap_err()
}

#[track_caller]
fn assert_named(content: impl AsRef<[u8]>, what: &str) {
    let sentence = sentence(content);
    assert!(sentence.starts_with(&format!("this is {what};")), "{sentence}");
}

const CLAUDE_LINE: &str = r#"{"parentUuid":null,"type":"user","message":{"content":"hi"},"uuid":"u1"}"#;
const CODEX_LINE: &str = r#"{"type":"session_meta","payload":{"id":"s1"},"timestamp":"2026-01-01T00:00:00Z"}"#;

#[test]
fn containers_are_told_by_their_first_bytes() {
    for (content, shape) in [
        (&b"SQLite format 3\0rest"[..], Shape::Sqlite),
        (b"\x28\xB5\x2F\xFDrest", Shape::Zstd),
        (b"\x1F\x8Brest", Shape::Gzip),
        (b"PK\x03\x04rest", Shape::Zip),
        (b"\xFF\xFE{\0\"\0", Shape::Utf16),
        (b"\xFE\xFF\0{\0\"", Shape::Utf16),
        (b"{\0\"\0a\0\"\0", Shape::Utf16),
        (b"\0{\0\"\0a\0\"", Shape::Utf16),
        (b"<!doctype html><p>", Shape::Html),
        (b"", Shape::Empty),
        (b"\xEF\xBB\xBF\n\0\0 ", Shape::Empty),
        (b"\x7FELF\x02\x01\x01\0\0", Shape::Other),
        (b"just words", Shape::Other),
        (b"\xEF\xBB\xBF\r\n\0{\"a\":1}\n", Shape::Lines),
        (b"{\"a\":1}", Shape::Lines),
        (b"{\n\"a\":1}", Shape::Document),
        (b"\xEF\xBB\xBF [1]", Shape::Array { start: 4 }),
    ] {
        assert_eq!(sample(content).shape, shape, "{}", String::from_utf8_lossy(content));
    }
}

#[test]
fn lines_that_are_no_records_are_passed_over() {
    let found = sample("{\"a\":1}\n\nrubbish\n{\"b\":2\n{\"c\":3}{\"d\":4}\n{\"e\":5} rubbish\n[1]\n{\"f\":\"cut");
    assert_eq!(found.shape, Shape::Lines);
    assert_eq!(found.records, [json!({"a": 1}), json!({"c": 3}), json!({"d": 4})]);
    let many = "{\"a\":1}\n".repeat(100);
    assert_eq!(sample(many).records.len(), MAX_RECORDS);
}

#[test]
fn a_document_and_an_array_are_told_from_lines() {
    let document = sample("{\n  \"a\": 1,\n  \"b\": [{\"c\"");
    assert_eq!((document.shape, document.records), (Shape::Document, vec![json!({"a": 1, "b": [{}]})]));

    let array = sample("\n[\n{\"a\":1},\n{\"b\":");
    assert_eq!(array.shape, Shape::Array { start: 1 });
    assert_eq!(array.framing(), Framing::Array { start: 1 });
    assert_eq!(array.records, [json!({"a": 1}), json!({})]);

    // A log line in brackets is no array; neither is a text cut in the middle of one.
    for head in ["[INFO] started\n", "[{\"type\":\"text\"}]},\"uuid\":\"u0\"}\n", "[]\n"] {
        let lines = sample(format!("{head}{{\"a\":1}}\n"));
        assert_eq!((lines.shape, lines.records), (Shape::Lines, vec![json!({"a": 1})]), "{head}");
    }
}

#[test]
fn records_wrapped_in_a_document_count_as_an_array() {
    let text = format!("{{\n \"title\":\"[x]\",\n \"loglines\": [\n{CLAUDE_LINE},\n{CLAUDE_LINE}\n]}}");
    let found = sample(&text);
    assert_eq!(found.shape, Shape::Array { start: text.find("[\n").unwrap() as u64 });
    assert_eq!(found.records.len(), 2);
    assert_eq!(chosen(&found), Ok(FormatName::ClaudeCode));
    let one_line = text.replace('\n', "");
    assert!(matches!(sample(one_line).shape, Shape::Array { .. }));
}

#[test]
fn a_damaged_document_is_still_what_it_began_as() {
    let document = sample("{\n \"schema_version\": \"ATIF-v1.7\",\n // a note\n \"steps\": []}");
    assert_eq!(document.shape, Shape::Document);
    assert_eq!(chosen(&document), Ok(FormatName::Atif));
    let behind = sample("{\n \"schema_version\": \"ATIF-v1.7\"\n}%");
    assert_eq!(chosen(&behind), Ok(FormatName::Atif), "a prompt stands behind it");
    // So is an array, whatever lines it is made of.
    let array = sample("[\n{\"a\":1},\n{\"b\":oops},\n{\"c\":1}\n]");
    assert_eq!(array.shape, Shape::Array { start: 0 });
    let list = sample("{\n\"a\": 1,\n\"b\": [\noops\n{\"c\":1}\n]}");
    assert_eq!(list.shape, Shape::Document);
    // The inside of an array whose head is missing reads as a document, but is none.
    let inside = "{\n \"kind\": \"text\", \"source\": \"agent\"\n},\n{\n \"kind\": \"text\"\n}]";
    assert!(sentence(inside).contains("a text without JSON records"), "{}", sentence(inside));
}

#[test]
fn a_missing_head_is_passed_over() {
    let whole = format!("{CLAUDE_LINE}\n").repeat(3);
    for cut in 1..CLAUDE_LINE.len() {
        let found = sample(whole.get(cut..).unwrap());
        assert_eq!((found.shape, chosen(&found)), (Shape::Lines, Ok(FormatName::ClaudeCode)), "cut at {cut}");
    }
}

#[test]
fn a_first_line_longer_than_the_window_is_passed() {
    let long = "x".repeat(3 * WINDOW_BYTES);
    let whole = format!(r#"{{"message":{{"content":"{long}"}},"parentUuid":null,"uuid":"u0"}}"#);
    let found = sample(format!("{whole}\n{CLAUDE_LINE}\n"));
    assert_eq!((found.records.len(), chosen(&found)), (2, Ok(FormatName::ClaudeCode)));
    let headless = sample(format!("{long}\n{CLAUDE_LINE}\n"));
    assert_eq!((headless.shape, chosen(&headless)), (Shape::Lines, Ok(FormatName::ClaudeCode)));
    let wordy = sample(&long);
    assert_eq!(wordy.shape, Shape::Other);
}

#[test]
fn the_most_points_win_and_a_mixed_file_goes_with_its_first_record() {
    assert_eq!(chosen(&sample(CLAUDE_LINE)), Ok(FormatName::ClaudeCode));
    assert_eq!(mixed_in(REGISTRY, &sample(CLAUDE_LINE)), [""; 0]);

    let claude_first = sample(format!("{{\"x\":1}}\n{CLAUDE_LINE}\n{CODEX_LINE}\n"));
    assert_eq!(chosen(&claude_first), Ok(FormatName::ClaudeCode));
    assert_eq!(mixed_in(REGISTRY, &claude_first), ["a Codex rollout"]);

    let codex_first = sample(format!("{CODEX_LINE}\n{CLAUDE_LINE}\n{CLAUDE_LINE}\n"));
    assert!(chosen(&codex_first).unwrap_err().contains("Codex"));

    // A few points beside many are no mixture.
    let stray = r#"{"type":"turn.completed","usage":{}}"#;
    assert_eq!(mixed_in(REGISTRY, &sample(format!("{CLAUDE_LINE}\n{stray}\n"))), [""; 0]);
}

#[test]
fn the_sentence_names_what_can_be_opened() {
    let systems = systems_of(REGISTRY);
    assert!(systems.contains("Outpost") && systems.contains("Claude Code"), "{systems}");
    assert_eq!(sentence(CODEX_LINE), format!("this is a Codex rollout; this version opens those of {systems}"));
    assert_eq!(
        sentence("{\"a\":1}\n{\"a\":2}\n"),
        format!("not a session of a known format: looked for records of {systems} in the first 64 KB")
    );
}

#[test]
fn what_holds_no_records_is_named() {
    for (content, words) in [
        (&b"\x1F\x8Brest"[..], "gunzip"),
        (b"\x28\xB5\x2F\xFD", "unzstd"),
        (b"PK\x03\x04", "unpack it"),
        (b"\xFF\xFE{\0", "convert it to UTF-8"),
        (b"<html>", "HTML"),
        (b"", "nothing in this file"),
        (b"\x7FELF\x02\0\0", "binary file"),
        (b"# Notes\nwords", "a text without JSON records"),
        (b"SQLite format 3\0", "an SQLite database"),
    ] {
        let sentence = sentence(content);
        assert!(sentence.contains(words), "{sentence}");
    }
    let blank = sentence(vec![0; WINDOW_BYTES + 1]);
    assert!(blank.contains("blank or NUL"), "{blank}");
    let by_name = chosen(&sample_named("sessions.db", b"SQLite format 3\0")).unwrap_err();
    assert!(by_name.contains("Devin or Goose"), "{by_name}");
}

/// Bytes that look like session files more often than chance would have them look.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\\",
            "\n",
            "\0",
            "\u{feff}",
            "NaN",
            "-",
            "1e",
            "true",
            "\\ud83d",
            "\"loglines\":[",
            "\"type\":",
            CLAUDE_LINE,
            CODEX_LINE,
            "<",
            "event: x\ndata: y\n",
            "SQLite format 3\0",
            "CREATE TABLE ",
            "é",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..12),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_looked_at_without_a_panic(content in bytes()) {
        let (shape, records) = look(&content);
        let sample = Sample { path: "file".into(), shape, records };
        let _ = chosen(&sample);
        prop_assert!(sample.records.len() <= MAX_RECORDS);
        if let Shape::Array { start } = sample.shape {
            prop_assert_eq!(content[usize::try_from(start).unwrap()], b'[');
        }
    }
}
