//! Writes made-up Claude Code transcripts of any size, in the record shapes of the agent's version 2.1.

pub mod brief;
pub mod huge;
mod records;

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::prose;
use records::Chain;

/// How large the transcript becomes, and which one of all possible it is.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The transcript ends with the turn in which it reaches this many bytes.
    pub bytes: u64,
    pub seed: u64,
}

/// What was written: what a reader must find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub bytes: u64,
    pub records: u64,
    /// Prompts and answered questions on the active branch; everything else is counted on all branches.
    pub steps: u64,
    pub tool_calls: u64,
    /// Calls for which a person was asked.
    pub approvals: u64,
    pub fallbacks: u64,
    pub compactions: u64,
    /// Branches that a rewind left behind.
    pub branches: u64,
}

/// Writes one transcript, record by record.
pub fn write(out: &mut dyn Write, options: Options) -> io::Result<Summary> {
    let mut session = Session { chain: Chain::new(out, options.seed), summary: Summary::default() };
    session.run(options.bytes)?;
    Ok(session.summary)
}

struct Session<'a> {
    chain: Chain<'a>,
    summary: Summary,
}

impl Session<'_> {
    fn run(&mut self, bytes: u64) -> io::Result<()> {
        self.chain.loose(json!({"type": "mode", "mode": "normal"}))?;
        self.chain.loose(json!({"type": "permission-mode", "permissionMode": "default"}))?;
        let mut turns = 0;
        while self.chain.bytes < bytes {
            turns += 1;
            let before = (self.chain.leaf(), self.summary.steps);
            self.turn()?;
            // The last turn stays: what a rewind leaves without a following prompt is no branch.
            if turns % 90 == 0 && self.chain.bytes < bytes {
                self.chain.rewind(before.0);
                self.summary.steps = before.1;
                self.summary.branches += 1;
            }
            if turns % 120 == 0 {
                self.compact()?;
            }
        }
        self.chain.loose(json!({"type": "ai-title", "aiTitle": "Make the cart keep its total"}))?;
        self.summary.bytes = self.chain.bytes;
        self.summary.records = self.chain.records;
        Ok(())
    }

    /// A prompt and what the agent does about it.
    fn turn(&mut self) -> io::Result<()> {
        let chain = &mut self.chain;
        let words = chain.random.range(6, 80);
        let prompt = prose::sentence(&mut chain.random, words);
        chain.prompt(&prompt)?;
        self.summary.steps += 1;
        let responses = self.chain.random.range(1, 40);
        for _ in 0..responses {
            self.response()?;
        }
        let chain = &mut self.chain;
        if chain.random.once_in(12) {
            return chain.interruption();
        }
        let bytes = chain.random.range(200, 3000);
        let text = prose::answer(&mut chain.random, bytes);
        chain.assistant(vec![json!({"type": "text", "text": text})])?;
        chain.system("turn_duration", json!({"durationMs": 1000 * responses, "messageCount": 3 * responses}))?;
        Ok(())
    }

    /// One answer of the model: perhaps a thought, perhaps a word to the person, and tool calls with their results.
    fn response(&mut self) -> io::Result<()> {
        let chain = &mut self.chain;
        if chain.random.once_in(60) {
            for attempt in 1..=chain.random.range(1, 4) {
                chain.api_error(attempt)?;
            }
            if chain.random.once_in(3) {
                chain.fallback()?;
                self.summary.fallbacks += 1;
            }
        }
        let mut blocks = Vec::new();
        if chain.random.once_in(3) {
            let bytes = chain.random.range(200, 2500);
            let thinking = prose::answer(&mut chain.random, bytes);
            let signature = chain.random.base64(600);
            blocks.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
        }
        if chain.random.once_in(2) {
            let words = chain.random.range(8, 60);
            blocks.push(json!({"type": "text", "text": prose::sentence(&mut chain.random, words)}));
        }
        if chain.random.once_in(120) {
            return self.question(blocks);
        }
        let mut calls = Vec::new();
        for _ in 0..if chain.random.once_in(4) { 2 } else { 1 } {
            let call = Call::invent(chain);
            blocks.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}));
            calls.push(call);
        }
        let uuids = chain.assistant(blocks)?;
        let callers = uuids.iter().rev().take(calls.len()).rev();
        for (call, caller) in calls.iter().zip(callers) {
            self.result(call, caller)?;
        }
        Ok(())
    }

    fn result(&mut self, call: &Call, caller: &str) -> io::Result<()> {
        self.summary.tool_calls += 1;
        let asked = call.asks && self.chain.random.once_in(2);
        let denied = asked && self.chain.random.once_in(8);
        let decision = match (asked, denied) {
            (true, true) => json!({"decision": "reject", "source": "user_reject", "reasonCode": "unknown"}),
            (true, false) => {
                json!({"decision": "accept", "source": "user_temporary", "grantScope": "once", "reasonCode": "unknown"})
            }
            _ => json!({"decision": "accept", "source": "config", "reasonType": "mode"}),
        };
        self.summary.approvals += u64::from(asked);
        let mut fields = json!({"sourceToolAssistantUUID": caller, "permissionDecision": decision});
        if denied {
            let text = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was \
                        a file edit, the new_string was NOT written to the file).";
            fields["toolDenialKind"] = json!("user-rejected");
            fields["toolUseResult"] = json!(format!("Error: {text}"));
            return self.chain.tool_result(&call.id, json!(text), true, fields);
        }
        let failed = self.chain.random.once_in(15);
        fields["toolUseResult"] = call.detail.clone();
        self.chain.tool_result(&call.id, call.output.clone(), failed, fields)
    }

    /// A question to the person and the answer: a step.
    fn question(&mut self, mut blocks: Vec<Value>) -> io::Result<()> {
        let random = &mut self.chain.random;
        let question = format!("Which one? {}", prose::sentence(random, 8));
        let id = format!("toolu_{:016x}", random.next());
        let options =
            json!([{"label": "SQLite", "description": "One file"}, {"label": "JSON", "description": "Plain"}]);
        let questions = json!([{"question": question, "header": "Storage", "multiSelect": false, "options": options}]);
        let input = json!({"questions": questions});
        blocks.push(json!({"type": "tool_use", "id": id, "name": "AskUserQuestion", "input": input}));
        let uuids = self.chain.assistant(blocks)?;
        let mut answers = serde_json::Map::new();
        answers.insert(question.clone(), json!("SQLite"));
        let detail = json!({"questions": questions, "answers": answers, "annotations": {}});
        let fields = json!({"sourceToolAssistantUUID": uuids.last(), "toolUseResult": detail});
        let text = format!("User has answered your questions: \"{question}\"=\"SQLite\".");
        self.summary.steps += 1;
        self.chain.tool_result(&id, json!(text), false, fields)
    }

    fn compact(&mut self) -> io::Result<()> {
        let bytes = self.chain.random.range(4000, 12_000);
        let text = prose::answer(&mut self.chain.random, bytes);
        self.summary.compactions += 1;
        self.chain.compaction(&text)
    }
}

/// A tool call before it is written.
struct Call {
    id: String,
    name: &'static str,
    input: Value,
    output: Value,
    /// What the agent keeps of the result for itself: much of the output once more.
    detail: Value,
    /// Whether a person may be asked first.
    asks: bool,
}

impl Call {
    fn invent(chain: &mut Chain<'_>) -> Self {
        let random = &mut chain.random;
        let path = prose::path(random);
        // Most results are short, some fill a screen, few are long.
        let bytes = match random.range(0, 20) {
            0 => random.range(10_000, 60_000),
            1..8 => random.range(1500, 8000),
            _ => random.range(20, 1500),
        };
        let id = format!("toolu_{:016x}", random.next());
        let (name, input, output, detail, asks) = match random.range(0, 20) {
            0 => {
                let image = random.base64(40_000);
                let source = json!({"type": "base64", "media_type": "image/png", "data": image});
                let detail = json!({"type": "image", "file": {"originalSize": 30_000}});
                ("Read", json!({"file_path": path}), json!([{"type": "image", "source": source}]), detail, false)
            }
            1..7 => {
                let text = prose::numbered(random, bytes);
                let file = json!({"filePath": path, "content": text, "numLines": 90, "startLine": 1});
                ("Read", json!({"file_path": path}), json!(text), json!({"type": "text", "file": file}), false)
            }
            7..11 => {
                let (old, new) = (prose::code(random, 400), prose::code(random, 500));
                let input = json!({"file_path": path, "old_string": old, "new_string": new});
                let patch = json!([{"oldStart": 10, "newStart": 10, "lines": [format!("-{old}"), format!("+{new}")]}]);
                let detail = json!({"filePath": path, "oldString": old, "newString": new, "structuredPatch": patch});
                ("Edit", input, json!(format!("The file {path} has been updated.")), detail, true)
            }
            11..13 => {
                let text = prose::output(random, bytes.min(8000));
                let input = json!({"pattern": "total|price", "path": "src", "output_mode": "content"});
                ("Grep", input, json!(text), json!({"mode": "content", "numFiles": 4, "content": text}), false)
            }
            13 => {
                let content = prose::code(random, bytes);
                let input = json!({"file_path": path, "content": content});
                let detail = json!({"type": "create", "filePath": path, "content": content, "structuredPatch": []});
                ("Write", input, json!(format!("File created successfully at: {path}")), detail, true)
            }
            _ => {
                let text = prose::output(random, bytes);
                let input = json!({"command": format!("cargo test -- {}", random.next()), "description": "Run tests"});
                let detail = json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false});
                ("Bash", input, json!(text), detail, true)
            }
        };
        Self { id, name, input, output, detail, asks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_transcript_is_one_chain_of_unique_records() {
        let mut bytes = Vec::new();
        let summary = write(&mut bytes, Options { bytes: 6_000_000, seed: 7 }).unwrap();
        assert_eq!(bytes.len() as u64, summary.bytes);
        assert!(summary.bytes < 9_000_000, "{summary:?}");
        assert!(summary.approvals > 0 && summary.steps > 5 && summary.tool_calls > summary.steps, "{summary:?}");

        let text = String::from_utf8(bytes).unwrap();
        let mut seen = HashSet::new();
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            assert_eq!(record["sessionId"], "00000000-0000-4000-8000-000000000007");
            if let Some(uuid) = record["uuid"].as_str() {
                let parent = record["parentUuid"].as_str().or(record["logicalParentUuid"].as_str());
                assert!(parent.is_none_or(|parent| seen.contains(parent)), "a parent stands before its children");
                assert!(seen.insert(uuid.to_owned()), "twice: {uuid}");
            }
        }
        assert_eq!(text.lines().count() as u64, summary.records);
        assert_eq!(text.lines().collect::<HashSet<_>>().len() as u64, summary.records, "no line is there twice");
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let made = |seed| {
            let mut bytes = Vec::new();
            write(&mut bytes, Options { bytes: 200_000, seed }).unwrap();
            bytes
        };
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
    }
}
