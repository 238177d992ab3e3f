//! A transcript of many short events: what a session costs by their number and not by their texts.

use std::io::{self, Write};

use serde_json::json;

use super::records::Chain;
use crate::prose;

/// Writes turns of short texts and tool calls until there are at least so many events. Every record is whole: a reader
/// finds what a writer has flushed.
pub fn write_events(out: &mut dyn Write, events: u64, seed: u64) -> io::Result<()> {
    let mut writer = Brief::new(out, seed)?;
    while writer.events < events {
        writer.turn()?;
    }
    Ok(())
}

/// Writes such a transcript turn by turn.
pub struct Brief<'a> {
    chain: Chain<'a>,
    /// Events so far, but for those of a turn as a whole.
    pub events: u64,
}

impl<'a> Brief<'a> {
    pub fn new(out: &'a mut dyn Write, seed: u64) -> io::Result<Self> {
        let mut chain = Chain::new(out, seed);
        chain.loose(json!({"type": "permission-mode", "permissionMode": "default"}))?;
        Ok(Self { chain, events: 0 })
    }

    /// A prompt and some forty events.
    pub fn turn(&mut self) -> io::Result<()> {
        let prompt = prose::sentence(&mut self.chain.random, 12);
        self.chain.prompt(&prompt)?;
        for _ in 0..self.chain.random.range(2, 40) {
            self.response()?;
        }
        if self.chain.random.once_in(12) {
            return self.chain.interruption();
        }
        let words = self.chain.random.range(6, 60);
        self.text(words)
    }

    /// A tool call and its result, often with a word before it.
    pub fn response(&mut self) -> io::Result<()> {
        if self.chain.random.once_in(80) {
            self.chain.api_error(1)?;
            self.events += 1;
            if self.chain.random.once_in(3) {
                self.chain.fallback()?;
            }
        }
        if self.chain.random.once_in(2) {
            let words = self.chain.random.range(4, 20);
            self.text(words)?;
        }
        let random = &mut self.chain.random;
        let id = format!("toolu_{:016x}", random.next());
        let input = json!({"command": format!("cargo test -- {}", random.next()), "description": "Run tests"});
        self.chain.assistant(vec![json!({"type": "tool_use", "id": id, "name": "Bash", "input": input})])?;
        // The call, and what was decided about it.
        self.events += 2;
        let random = &mut self.chain.random;
        let fields = match random.range(0, 16) {
            0 => json!({
                "toolDenialKind": "user-rejected",
                "permissionDecision": {"decision": "reject", "source": "user_reject", "reasonCode": "unknown"},
            }),
            1..6 => json!({
                "permissionDecision": {"decision": "accept", "source": "user_temporary", "reasonCode": "unknown"},
            }),
            _ => json!({"permissionDecision": {"decision": "accept", "source": "config", "reasonType": "mode"}}),
        };
        let failed = random.once_in(20);
        let output = prose::sentence(random, 6);
        self.chain.tool_result(&id, json!(output), failed, fields)
    }

    fn text(&mut self, words: usize) -> io::Result<()> {
        let text = prose::sentence(&mut self.chain.random, words);
        self.chain.assistant(vec![json!({"type": "text", "text": text})]).map(drop)?;
        self.events += 1;
        Ok(())
    }
}
