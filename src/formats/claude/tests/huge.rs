//! Of a huge record only what its event needs is read: what is shown of it is the same.

use serde_json::{Value, json};

use super::build::{Script, ask, tool_use};
use super::open_bytes;

/// A record of each kind, with `padding` in everything that may be long.
fn script(padding: &str) -> Script {
    let image =
        |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let mut script = Script::new();
    let prompt = json!([{"type": "text", "text": "Look"}, image(padding), {"type": "text", "text": padding}]);
    script.user("u1", prompt, json!({}));
    script.says("a1", padding);
    script.calls("c1", "t1", "Bash", json!({"command": "ls -l", "note": padding}));
    script.result("r1", "t1", padding, json!({"toolUseResult": {"stdout": padding}}));
    let calls =
        json!([tool_use("t2", "Write", json!({"content": padding})), tool_use("t3", "Read", json!({"path": "a"}))]);
    script.chain("c2", "assistant", json!({"message": {"id": "m", "role": "assistant", "content": calls}}));
    let results = json!([
        {"type": "tool_result", "tool_use_id": "t2", "content": [image(padding), {"type": "text", "text": "done"}]},
        {"type": "tool_result", "tool_use_id": "t3", "content": padding, "is_error": true},
    ]);
    script.user("r2", results, json!({"toolUseResult": padding}));
    script.calls("c3", "t4", "AskUserQuestion", ask("Which?"));
    script.result("r3", "t4", "SQLite", json!({"toolUseResult": {"answers": {"Which?": "SQLite"}, "note": padding}}));
    script.chain("n1", "telemetry", json!({"what": padding}));
    script
}

/// All that is shown of the events and steps, with the padding named.
fn shown(padding: &str) -> Vec<String> {
    let (_folder, recording) = open_bytes(&script(padding).bytes());
    let session = recording.session();
    let events = session.events.iter().map(|event| {
        let mut body = recording.body(&event).unwrap();
        // A huge input is as it was written; here both are the same JSON.
        body.input = body.input.map(|input| serde_json::from_str::<Value>(&input).unwrap().to_string());
        body.images.iter_mut().for_each(|image| image.bytes = 0);
        body.attachments.iter_mut().for_each(|words| words.truncate(words.find(',').unwrap_or(words.len())));
        let images = body.images.iter().map(|image| recording.image(&event, image.attachment).unwrap());
        let images: Vec<_> = images.collect();
        format!("{:?} {:?} {body:?} {images:?}", event.kind, event.label)
    });
    let prompts = session.steps.iter().map(|step| recording.prompt(step.number).unwrap());
    events.chain(prompts).map(|text| text.replace(padding, "…")).collect()
}

#[test]
fn what_a_huge_record_shows_is_what_a_small_one_does() {
    // Both are longer than a label.
    let (small, huge) = (shown("ABCD".repeat(200).as_str()), shown("ABCD".repeat(300_000).as_str()));
    assert_eq!(small.len(), huge.len());
    small.iter().zip(&huge).for_each(|(small, huge)| assert_eq!(small, huge));
    // An image, a text, four calls and an unknown record; a prompt and a question.
    assert_eq!(small.len(), 9);
}
