//! Transcripts written line by line for tests: invented words in the real shapes.

use serde_json::{Value, json};

pub const SESSION: &str = "5e551011-0000-4000-8000-000000000001";

/// A transcript that grows by one line at a time. Every record of the chain follows the one before, unless told otherwise.
#[derive(Default)]
pub struct Script {
    pub lines: Vec<String>,
    last: Option<String>,
    seconds: u32,
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn bytes(&self) -> Vec<u8> {
        (self.lines.join("\n") + "\n").into_bytes()
    }

    /// Adds a line as it is.
    pub fn raw(&mut self, line: &str) -> &mut Self {
        self.lines.push(line.to_owned());
        self
    }

    /// The next chain record hangs on this one.
    pub fn back_to(&mut self, uuid: &str) -> &mut Self {
        self.last = Some(uuid.to_owned()).filter(|uuid| !uuid.is_empty());
        self
    }

    /// Adds a record of the chain with the envelope that all of them have; `fields` come on top.
    pub fn chain(&mut self, uuid: &str, kind: &str, fields: Value) -> &mut Self {
        self.seconds += 1;
        let mut record = json!({
            "parentUuid": self.last,
            "isSidechain": false,
            "userType": "external",
            "cwd": "/home/u/shop",
            "sessionId": SESSION,
            "version": "2.1.332",
            "type": kind,
            "uuid": uuid,
            "timestamp": format!("2026-03-01T10:{:02}:{:02}.000Z", self.seconds / 60, self.seconds % 60),
        });
        if let (Value::Object(record), Value::Object(fields)) = (&mut record, fields) {
            record.extend(fields);
        }
        self.lines.push(record.to_string());
        self.last = Some(uuid.to_owned());
        self
    }

    pub fn prompt(&mut self, uuid: &str, text: &str) -> &mut Self {
        self.chain(uuid, "user", json!({"message": {"role": "user", "content": text}}))
    }

    /// A user record with more than the words.
    pub fn user(&mut self, uuid: &str, content: Value, more: Value) -> &mut Self {
        let mut fields = json!({"message": {"role": "user", "content": content}});
        if let (Value::Object(fields), Value::Object(more)) = (&mut fields, more) {
            fields.extend(more);
        }
        self.chain(uuid, "user", fields)
    }

    /// One content block of the response `message`, with output tokens so far.
    pub fn block(&mut self, uuid: &str, message: &str, block: Value, output: u64) -> &mut Self {
        self.chain(uuid, "assistant", answer(message, "claude-opus-5-5", block, output))
    }

    pub fn says(&mut self, uuid: &str, text: &str) -> &mut Self {
        self.block(uuid, &format!("msg_{uuid}"), json!({"type": "text", "text": text}), 10)
    }

    pub fn calls(&mut self, uuid: &str, call: &str, tool: &str, input: Value) -> &mut Self {
        self.block(uuid, &format!("msg_{uuid}"), tool_use(call, tool, input), 10)
    }

    /// A tool result with more fields beside the message.
    pub fn result(&mut self, uuid: &str, call: &str, text: &str, more: Value) -> &mut Self {
        self.user(uuid, json!([{"type": "tool_result", "tool_use_id": call, "content": text}]), more)
    }

    pub fn error(&mut self, uuid: &str, call: &str, text: &str, more: Value) -> &mut Self {
        self.user(uuid, json!([{"type": "tool_result", "tool_use_id": call, "content": text, "is_error": true}]), more)
    }

    pub fn ends(&mut self, uuid: &str) -> &mut Self {
        self.chain(uuid, "system", json!({"subtype": "turn_duration", "durationMs": 900}))
    }

    pub fn loose(&mut self, kind: &str, fields: Value) -> &mut Self {
        let mut record = json!({"type": kind, "sessionId": SESSION});
        if let (Value::Object(record), Value::Object(fields)) = (&mut record, fields) {
            record.extend(fields);
        }
        self.raw(&record.to_string())
    }
}

pub fn answer(message: &str, model: &str, block: Value, output: u64) -> Value {
    json!({"message": {
        "id": message,
        "role": "assistant",
        "model": model,
        "content": [block],
        "usage": {
            "input_tokens": 5,
            "cache_creation_input_tokens": 7,
            "cache_read_input_tokens": 100,
            "output_tokens": output,
            "output_tokens_details": {"thinking_tokens": 2}
        }
    }})
}

pub fn tool_use(call: &str, tool: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": call, "name": tool, "input": input})
}

/// The input of a question with two options.
pub fn ask(question: &str) -> Value {
    json!({"questions": [{"question": question, "header": "Q", "multiSelect": false, "options": [
        {"label": "SQLite", "description": "one file"}, {"label": "Postgres", "description": "a server"}
    ]}]})
}
