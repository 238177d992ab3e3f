//! A transcript of few events, each of which holds something huge.

use std::io::{self, Write};

use serde_json::{Value, json};
use stepline::store::encode_png;

use super::records::Chain;
use crate::prose;
use crate::random::Random;

/// Bytes of one million, as the sizes below are given.
const MB: usize = 1_000_000;

/// What is in its steps, in their order.
pub const STEPS: [&str; 7] = [
    "60 MB line",
    "20 MB result of many lines",
    "20 MB result in one line",
    "50 MB of image",
    "30 MB of minified JSON",
    "20 MB file that is written",
    "5 MB prompt",
];

/// Writes it, each thing `1 / divide` of its full size.
pub fn write(out: &mut dyn Write, seed: u64, divide: usize) -> io::Result<()> {
    let size = |megabytes: usize| megabytes * MB / divide.max(1);
    let mut chain = Chain::new(out, seed);
    let mut names = STEPS.iter();
    chain.loose(json!({"type": "mode", "mode": "normal"}))?;
    let mut step = |chain: &mut Chain<'_>| chain.prompt(&format!("Now the {}", names.next().unwrap_or(&"")));

    step(&mut chain)?;
    let line = words(&mut chain.random, size(60), " ");
    chain.assistant(vec![json!({"type": "text", "text": line})])?;

    step(&mut chain)?;
    let lines = words(&mut chain.random, size(20), "\n");
    call(&mut chain, "Bash", json!({"command": "cat log"}), json!(lines))?;

    step(&mut chain)?;
    let line = words(&mut chain.random, size(20), " ");
    call(&mut chain, "Bash", json!({"command": "cat log | tr '\\n' ' '"}), json!(line))?;

    step(&mut chain)?;
    let data = noise(&mut chain.random, size(50))?;
    let image = json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]);
    call(&mut chain, "Read", json!({"file_path": "/home/user/shop/noise.png"}), image)?;

    step(&mut chain)?;
    let table = table(&mut chain.random, size(30));
    call(&mut chain, "mcp__shop__import", table, json!("imported"))?;

    step(&mut chain)?;
    let content = words(&mut chain.random, size(20), "\n");
    let input = json!({"file_path": "/home/user/shop/data.txt", "content": content});
    call(&mut chain, "Write", input, json!("written"))?;

    let pasted = words(&mut chain.random, size(5), "\n");
    chain.prompt(&pasted)?;
    chain.assistant(vec![json!({"type": "text", "text": "That was a lot."})])?;
    Ok(())
}

fn call(chain: &mut Chain<'_>, tool: &str, input: Value, content: Value) -> io::Result<()> {
    let id = format!("toolu_{:016x}", chain.random.next());
    chain.assistant(vec![json!({"type": "tool_use", "id": id, "name": tool, "input": input})])?;
    chain.tool_result(&id, content, false, json!({}))
}

/// So many bytes of sentences with `between` them.
fn words(random: &mut Random, bytes: usize, between: &str) -> String {
    let mut text = String::with_capacity(bytes + 1_000);
    while text.len() < bytes {
        text.push_str(&prose::sentence(random, 14));
        text.push_str(between);
    }
    text
}

/// A picture of noise, about so many bytes as Base64: noise cannot be compressed.
fn noise(random: &mut Random, bytes: usize) -> io::Result<String> {
    use base64::Engine;
    let width = ((bytes / 4) as f64).sqrt().max(2.0) as usize;
    let pixels: Vec<u8> = (0..width * width * 3).map(|_| random.next() as u8).collect();
    Ok(base64::engine::general_purpose::STANDARD.encode(encode_png(width, width, &pixels)?))
}

/// An object of about so many bytes when it is written without white space.
fn table(random: &mut Random, bytes: usize) -> Value {
    let mut rows = Vec::new();
    let mut written = 0;
    while written < bytes {
        let row = json!({
            "id": random.next(), "name": prose::sentence(random, 3), "price": random.range(1, 9_999),
            "tags": ["a", "b", {"deep": [1, 2, null, true]}],
        });
        written += row.to_string().len() + 1;
        rows.push(row);
    }
    json!({"title": "catalogue", "rows": rows})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_with_all_its_steps() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(&mut file.as_file(), 1, 1_000).unwrap();
        let recording = stepline::formats::open(file.path(), &stepline::formats::Patient).unwrap();
        assert_eq!(recording.session().steps.len(), STEPS.len());
    }
}
