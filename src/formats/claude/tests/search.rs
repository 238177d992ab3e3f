//! The quick way through a file finds what reading every text finds, however the file's JSON is written.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use serde_json::json;

use super::build::{Script, ask};
use super::open_bytes;
use crate::formats::Recording;
use crate::formats::search::{At, Hit, Part, Pattern, Query, whole};
use crate::store::Watch;

fn quick(recording: &dyn Recording, pattern: &Pattern) -> Vec<Hit> {
    let mut hits = Vec::new();
    recording.search(pattern, Watch::none(), &mut |hit| hits.push(hit)).unwrap();
    hits.sort();
    hits
}

fn slow(recording: &dyn Recording, pattern: &Pattern) -> Vec<Hit> {
    let mut hits = Vec::new();
    whole(recording, pattern, Watch::none(), &mut |hit| hits.push(hit)).unwrap();
    hits.sort();
    hits
}

fn words(text: &str) -> Query {
    Query { text: text.to_owned(), ..Query::default() }
}

/// A session with a text of each kind.
fn session(texts: &[String]) -> Script {
    let text = |index: usize| texts[index % texts.len()].as_str();
    let mut script = Script::new();
    script
        .prompt("u1", &format!("ask {}", text(0)))
        .block("a1", "m1", json!({"type": "thinking", "thinking": text(1), "signature": "s"}), 3)
        .says("a2", text(2))
        .calls("a3", "c1", "Bash", json!({"command": text(3), text(4): [1, true, 1.5], "x": {"deep": text(5)}}))
        .result("u2", "c1", text(6), json!({}))
        .calls("a4", "c2", "Read", json!({"path": text(7)}))
        .user(
            "u3",
            json!([{"type": "tool_result", "tool_use_id": "c2", "content": [
                {"type": "text", "text": text(8)}, {"type": "odd", "value": text(9), "power": 1e5}, text(10)
            ]}]),
            json!({}),
        )
        .calls("a5", "c3", "AskUserQuestion", ask(text(11)))
        .result("u4", "c3", text(12), json!({"toolUseResult": {"answers": {text(11): text(13)}}}))
        .chain("s1", "system", json!({"subtype": "api_error", "error": {"message": text(14), "power": 1e5}}))
        .chain(
            "x1",
            "attachment",
            json!({"attachment": {"type": "edited_text_file", "filename": "a", "snippet": text(15)}}),
        )
        .chain("x2", "nobody-knows", json!({"value": text(16), text(17): 0.000_001}))
        .prompt("u5", &format!("<command-name>/go</command-name><command-args>{}</command-args>", text(18)))
        .says("a6", text(19))
        .calls("a7", "c4", "Write", json!(text(20)));
    script
}

/// The same JSON written another way: `choices` say which characters become escapes, and where there are blanks.
fn odd(line: &str, choices: &[u8]) -> String {
    let mut written = String::new();
    let mut choices = choices.iter().copied().cycle();
    let (mut in_string, mut escaped) = (false, false);
    for character in line.chars() {
        let choice = choices.next().unwrap_or(0);
        if !in_string {
            written.push(character);
            in_string = character == '"';
            if matches!(character, ':' | ',' | '{') && choice % 3 == 0 {
                written.push(' ');
            }
        } else if escaped {
            escaped = false;
            match (character, choice % 4) {
                ('n', 0) => written.push_str("u000a"),
                ('n', 1) => written.push_str("u000A"),
                ('"', 0) => written.push_str("u0022"),
                _ => written.push(character),
            }
        } else if character == '\\' {
            escaped = true;
            written.push(character);
        } else if character == '"' {
            in_string = false;
            written.push(character);
        } else if character == '/' && choice % 2 == 0 {
            written.push_str("\\/");
        } else if choice < 90 {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let escape = if choice % 2 == 0 { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
                written.push_str(&escape);
            }
        } else {
            written.push(character);
        }
    }
    written
}

/// Writes values another way and leaves alone what tells the records' kinds apart.
fn odd_file(script: &Script, choices: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (line, start) in script.lines.iter().zip(0..) {
        let from = choices.get(start % choices.len().max(1)..).filter(|rest| !rest.is_empty()).unwrap_or(&[255]);
        bytes.extend(odd(line, from).bytes());
        bytes.push(b'\n');
    }
    bytes
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[abkKsA-C ./:,\"\\\\\n]{0,10}",
        "[éßſσΣ日😀\u{fffd}\u{1b}\tx-z{}]{0,8}",
        "(cart|Cart|src/cart\\.py|1e5|100000|nbar|null|u001b|\\\\n| |\n){0,4}",
    ]
}

fn query() -> impl Strategy<Value = Query> {
    let text = prop_oneof![
        text(),
        "[a-zA-Z0-9é日/\"]{1,3}",
        Just("command".to_owned()),
        Just("100000".to_owned()),
        Just("0".to_owned()),
        Just("1,2".to_owned()),
    ];
    let regex = prop_oneof![
        Just("ca.t|\\bx"),
        Just("[A-C]{2,}"),
        Just("(?:src|a)/(c|k)"),
        Just("k+s?"),
        Just("\\n."),
        Just("^c\\w*$"),
        Just("\"[a-z]+\": "),
        Just("σ|日"),
        Just("1(e|0)"),
    ];
    let options = (any::<bool>(), any::<bool>());
    prop_oneof![
        3 => (text, options).prop_map(|(text, (match_case, whole_word))| Query {
            text, match_case, whole_word, is_regex: false,
        }),
        1 => (regex, options).prop_map(|(text, (match_case, whole_word))| Query {
            text: text.to_owned(), match_case, whole_word, is_regex: true,
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_find_the_same(
        texts in prop::collection::vec(text(), 1..21),
        choices in prop::collection::vec(any::<u8>(), 1..400),
        queries in prop::collection::vec(query(), 8),
    ) {
        let script = session(&texts);
        let (_folder, recording) = open_bytes(&odd_file(&script, &choices));
        // Some of what is looked for is there.
        let own = texts.iter().filter(|text| !text.is_empty()).take(4).map(|text| words(text));
        for query in queries.into_iter().chain(own) {
            let Ok(pattern) = Pattern::new(&query) else { continue };
            prop_assert_eq!(quick(&*recording, &pattern), slow(&*recording, &pattern), "{:?}", query);
        }
    }
}

#[test]
fn each_kind_of_text_is_found_and_named() {
    let texts: Vec<String> = (0..21).map(|number| format!("needle{number}")).collect();
    let (_folder, recording) = open_bytes(&session(&texts).bytes());
    let hits = quick(&*recording, &Pattern::new(&words("NEEDLE")).unwrap());
    let count = |part: Part| hits.iter().filter(|hit| hit.part == part).map(|hit| hit.count).sum::<usize>();
    let parts = Part::ALL.map(count);
    // The question is a step of its own: its event adds only what the tool gave back.
    assert_eq!(parts, [4, 2, 1, 5, 6, 3], "{hits:#?}");
    let hit = hits.iter().find(|hit| hit.at == At::Step(1)).unwrap();
    let prompt = recording.prompt(1).unwrap();
    assert_eq!(&prompt[hit.first[0].start..hit.first[0].end], "needle");
}

#[test]
fn a_huge_record_and_many_small_ones_are_searched_in_order_and_can_be_called_off() {
    let mut script = Script::new();
    script.prompt("u0", "go");
    for number in 0..3_000 {
        let filler = "lorem ipsum ".repeat(if number == 1_500 { 300_000 } else { 40 });
        let word = if number % 500 == 0 { "needle" } else { "" };
        script.says(&format!("a{number}"), &format!("{filler}{word}"));
    }
    let (_folder, recording) = open_bytes(&script.bytes());
    let pattern = Pattern::new(&words("needle")).unwrap();
    let mut found = Vec::new();
    recording.search(&pattern, Watch::none(), &mut |hit| found.push(hit.at)).unwrap();
    assert_eq!(found, [0, 500, 1_000, 1_500, 2_000, 2_500].map(At::Event));
    assert_eq!(found.len(), slow(&*recording, &pattern).len());

    let cancelled = AtomicBool::new(false);
    let mut found = 0;
    let result = recording.search(&pattern, Watch::new(&cancelled, &|_, _| {}), &mut |_| {
        found += 1;
        cancelled.store(true, Ordering::Relaxed);
    });
    assert!(matches!(result, Err(crate::store::ReadError::Cancelled(_))));
    assert!(found < 6);
}
