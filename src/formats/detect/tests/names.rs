//! Each kind of file that is known by name only, and the sample files where there are any.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::formats::testing;

#[test]
fn other_agents_files_are_named() {
    for (content, what) in [
        (r#"{"id":"a","timestamp":"t","instructions":null}"#, "a Codex rollout"),
        ("{\n\"session\":{},\"items\":[]}", "a Codex session of 2025"),
        (r#"{"data":{"sessionId":"s"},"type":"session.start"}"#, "a Copilot CLI session"),
        (r#"{"type":"session","id":"a","timestamp":"t","cwd":"/"}"#, "a Pi session"),
        (
            r#"{"type":"message","id":"0a1b2c3d","parentId":null,"timestamp":"t","message":{"role":"user"}}"#,
            "a Pi session",
        ),
        (r#"{"sessionId":"s","projectHash":"h"}"#, "a Gemini CLI session"),
        ("{\n\"messages\":[{\"type\":\"gemini\",\"content\":\"x\"}]}", "a Gemini CLI session"),
        (r#"[{"role":"model","parts":[{"text":"x"}]}]"#, "a Gemini CLI checkpoint"),
        ("{\"history\":[{\"role\":\"user\",\n\"parts\":[]}]}", "a Gemini CLI checkpoint"),
        (r#"{"uuid":"a","parentUuid":null,"message":{"parts":[]},"type":"user"}"#, "a Qwen Code session"),
        (r#"{"working_dir":"/","description":"x"}"#, "a Goose session"),
        ("{\"working_dir\":\"/\",\n\"conversation\":[]}", "a Goose session"),
        ("{\"info\":{\"id\":\"ses_1\"},\n\"messages\":[]}", "an OpenCode export"),
        (r#"{"id":"prt_1","messageID":"m","type":"step-start"}"#, "one file of OpenCode's storage folder"),
        (r#"[{"ts":1,"type":"say","say":"text"}]"#, "a Cline task"),
        (r#"[{"role":"user","content":[{"type":"text","text":"<task>x"}]}]"#, "the model's side of a Cline task"),
        (r#"{"version":1,"session_id":"s","source":"cli"}"#, "a Cline session"),
    ] {
        assert_named(content, what);
    }
}

#[test]
fn recordings_of_a_protocol_are_known_in_any_envelope() {
    for content in [
        r#"{"dir":"out","msg":{"jsonrpc":"2.0","method":"session/prompt"}}"#,
        r#"{"line":"{\"jsonrpc\":\"2.0\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}"}"#,
    ] {
        assert_eq!(chosen(&sample(content)), Ok(FormatName::Acp), "{content}");
    }
}

#[test]
fn captured_output_is_named() {
    for (content, what) in [
        (
            r#"{"type":"system","subtype":"init","session_id":"s"}"#,
            "the output of `claude -p` or `qwen` as a stream of JSON",
        ),
        (
            "{\"type\":\"session\",\"id\":\"a\",\"timestamp\":\"t\",\"cwd\":\"/\"}\n{\"type\":\"agent_start\"}",
            "the output of `pi --mode json`",
        ),
        (
            r#"{"type":"a.b","data":{},"id":"1","timestamp":"t","parentId":null,"ephemeral":true}"#,
            "the output of `copilot --output-format json`",
        ),
        (r#"{"type":"thread.started","thread_id":"t"}"#, "the output of `codex exec --json`"),
        (r#"{"type":"text","sessionID":"ses_1","part":{}}"#, "the output of `opencode run --format json`"),
        (r#"{"type":"init","session_id":"s","timestamp":"t"}"#, "the output of `gemini --output-format stream-json`"),
    ] {
        assert_named(content, what);
    }
}

#[test]
fn what_systems_keep_and_return_is_named() {
    for (content, what) in [
        (r#"{"status":409,"title":"Conflict"}"#, "an error that a server answered with"),
        ("SQLite format 3\0 CREATE TABLE IF NOT EXISTS ItemTable (key", "an editor's settings database"),
    ] {
        assert_named(content, what);
    }
}

#[test]
fn what_outpost_keeps_has_readers() {
    let checkpoint = r#"{"format":1,"identity":"i","executionId":"e","records":[]}"#;
    let held = format!(r#"{{"owner":null,"checkpoint":{checkpoint}}}"#);
    let observation = r#"{"seq":1,"at":"t","source":"git","scope":{},"event":{"kind":"phase"}}"#;
    for (content, format) in [
        (checkpoint, FormatName::OutpostCheckpoint),
        (&held, FormatName::OutpostCheckpoint),
        (observation, FormatName::OutpostObservations),
        (&format!("[{observation}]"), FormatName::OutpostObservations),
        (r#"{"kind":"dispatch-start","at":"t","label":"a"}"#, FormatName::OutpostLegacyLog),
        (r#"{"type":"session","version":2,"id":"a","model":"m","createdAt":"t"}"#, FormatName::OutpostTranscript),
        (r#"{"version":1,"kind":"dispatch","heartbeatAt":"t"}"#, FormatName::OutpostRun),
        (r#"{"version":2,"completed":true,"durationMs":1,"failedTools":[]}"#, FormatName::OutpostRun),
    ] {
        assert_eq!(chosen(&sample(content)), Ok(format), "{content}");
        assert_eq!(mixed_in(REGISTRY, &sample(content)), [""; 0], "{content}");
    }
}

#[test]
fn objects_are_what_their_keys_say() {
    let object = |key: &str, body: &str| {
        let header = format!(r#"{{"key":"{key}","revision":"r","size":{},"modifiedAt":"t"}}"#, body.len());
        format!("{header:<1024}{body}")
    };
    let observation = r#"{"seq":1,"observationSeq":2,"at":"t","source":"git","scope":{},"event":{"kind":"phase"}}"#;
    for (key, format) in [
        ("logs/a/b", FormatName::OutpostStorage),
        ("checkpoints/0a.json", FormatName::OutpostCheckpoint),
        ("conversations/harness/a/snapshots/b/manifest", FormatName::OutpostTranscript),
        ("runs/a/events/1", FormatName::OutpostRun),
    ] {
        for body in ["{}", observation, "no JSON"] {
            assert_eq!(chosen(&sample(object(key, body))), Ok(format), "{key}");
        }
    }
    assert_named(object("artifacts/0a.blob", "{}"), "an object of an Outpost storage folder");
}

#[test]
fn what_fruxon_returns_is_told_apart() {
    for (content, format) in [
        (r#"[{"from":"a","text":"b","at":1}]"#, FormatName::FruxonMessages),
        (r#"{"type":"message","from":"a","text":"b","at":1}"#, FormatName::FruxonStream),
        (r#"[{"role":"USER","content":"b","sessionId":"ts_1"}]"#, FormatName::FruxonTranscript),
        ("{\"items\":\n[{\"from\":\"a\",\"message\":\"b\",\"conversationId\":\"c\"}]}", FormatName::FruxonTranscript),
        ("{\"items\":\n[{\"gateType\":\"TOOL\",\"status\":\"PENDING\"}]}", FormatName::FruxonApprovals),
        (r#"[{"eventType":"REQUESTED","approvalRequestId":"a"}]"#, FormatName::FruxonApprovals),
        ("{\"status\":\"DONE\",\n\"trace\":{\"traces\":[]}}", FormatName::FruxonTrace),
        ("{\"status\":\"DONE\",\n\"trace\":{\"steps\":[]}}", FormatName::FruxonTrace),
        (r#"{"executionRecordId":"e","rawSpanCount":0,"traces":[]}"#, FormatName::FruxonTrace),
        (r#"{"resourceSpans":[]}"#, FormatName::FruxonTrace),
        ("Logging in…\n{\n\"agentExecutionRecordId\":\"e\",\n\"traces\":[\n]}", FormatName::FruxonTrace),
        (r#"{"rootExecutionId":"r","nodes":[],"totals":{}}"#, FormatName::FruxonRecord),
        (r#"{"response":"x","executionRecordId":"e","trace":{"traces":[]}}"#, FormatName::FruxonRecord),
        (r#"[{"id":"e","startTime":1,"status":"FAILED","agentId":"a"}]"#, FormatName::FruxonRecord),
        (r#"{"droppedRuns":1,"prefillText":"x"}"#, FormatName::FruxonRecord),
        (r#"{"copiedMessages":1,"prefillText":"x"}"#, FormatName::FruxonRecord),
        (": keep-alive\n\nevent: status\ndata: {}\n", FormatName::FruxonStream),
        (r#"{"type":"start","schema_version":2,"agent":"a"}"#, FormatName::FruxonStream),
    ] {
        assert_eq!(chosen(&sample(content)), Ok(format), "{content}");
    }
    let foreign = chosen(&sample("event: message_start\ndata: {}\n\n"));
    assert!(foreign.is_err(), "another system's stream");
}

#[test]
fn side_files_and_strangers_are_named() {
    for (content, what) in [
        (r#"{"agentType":"Explore","toolUseId":"t"}"#, "the side file of a Claude Code subagent"),
        (r#"{"type":"started","key":"v2:a","agentId":"a"}"#, "the journal of a Claude Code workflow"),
        (r#"{"display":"hi","timestamp":1,"project":"/","pastedContents":{}}"#, "Claude Code's log of prompts"),
        (r#"{"session_id":"s","ts":1,"text":"hi"}"#, "Codex's log of prompts"),
        (r#"{"id":"a","thread_name":"b","updated_at":"t"}"#, "Codex's list of session titles"),
        (r#"[{"sessionId":"s","messageId":0,"message":"hi"}]"#, "Gemini CLI's log of prompts"),
        ("{\"files_in_context\":[],\n\"model_usage\":[]}", "Cline's data about a task"),
        ("{\"backup\":\"b\",\n\"stepNumber\":1,\"revertedAt\":\"t\"}", "the receipt of a revert"),
        (r#"{"type":"session_start","id":"d"}"#, "a Factory Droid session"),
        (r#"{"type":"session","version":0,"id":"a","createdAt":1,"cwd":"/"}"#, "a dsh session"),
        (r#"{"role":"user","message":{"content":[]}}"#, "a Cursor transcript"),
        (r#"{"type":"user","content":[]}"#, "a Grok CLI history"),
        (r#"{"type":"metadata","protocol_version":"1.4"}"#, "a Kimi session"),
        (
            r#"{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
            "a recording of JSON-RPC that is not the Agent Client Protocol",
        ),
        (r#"{"messages":[{"role":"user","content":"x"}]}"#, "chat data for training a model"),
        (r#"[{"role":"system","content":"x"}]"#, "a plain list of chat messages"),
    ] {
        assert_named(content, what);
    }
    let named = |name, content: &str| chosen(&sample_named(name, content.as_bytes())).unwrap_err();
    assert!(named("workspace.yaml", "id: a\ncwd: /\n").contains("events.jsonl beside it"));
    assert!(named("a.events.jsonl", "{\"event\":\"userPromptSubmitted\"}\n").contains("Copilot hooks"));
    assert!(named("api_conversation_history.json", r#"[{"role":"user","content":"x"}]"#).contains("Cline"));
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.flat_map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { vec![entry.path()] }).collect()
}

/// The sample files that lie beside the program's folder on machines that have them.
pub(in crate::formats) fn samples() -> Vec<PathBuf> {
    testing::samples("").map(|folder| files(&folder)).unwrap_or_default()
}

/// What a sample must be taken for, by its path; `None` for files that are no samples.
fn expected(path: &str) -> Option<Result<FormatName, &'static str>> {
    const CLAUDE: Result<FormatName, &str> = Ok(FormatName::ClaudeCode);
    let table = [
        ("README", None),
        (".meta.json", Some(Err("Claude Code subagent"))),
        ("wf_demo01/journal.jsonl", Some(Err("Claude Code workflow"))),
        ("agents/claude-code/", Some(CLAUDE)),
        ("agents/pathological/", Some(CLAUDE)),
        ("lookalikes/chat-finetune", Some(Err("training"))),
        ("lookalikes/chat-messages", Some(Err("plain list"))),
        ("lookalikes/cursor", Some(Err("Cursor"))),
        ("lookalikes/droid", Some(Err("Droid"))),
        ("lookalikes/dsh", Some(Err("dsh"))),
        ("lookalikes/grok", Some(Err("Grok"))),
        ("lookalikes/iflow", Some(CLAUDE)),
        ("lookalikes/kimi", Some(Err("Kimi"))),
        ("lookalikes/openclaw", Some(Err("Pi session"))),
        ("agents/acp/", Some(Ok(FormatName::Acp))),
        ("agents/atif/", Some(Ok(FormatName::Atif))),
        ("agents/cline-roo/", Some(Err("Cline"))),
        ("agents/codex/", Some(Err("Codex rollout"))),
        ("agents/copilot-cli/", Some(Err("Copilot CLI session"))),
        ("agents/gemini-cli/", Some(Err("Gemini CLI session"))),
        ("agents/opencode/", Some(Err("OpenCode"))),
        ("agents/pi/", Some(Err("Pi session"))),
        ("agents/qwen-code/", Some(Err("Qwen Code session"))),
        ("rec-claude-stream", Some(Err("`claude -p`"))),
        ("rec-qwen-stream", Some(Err("`qwen`"))),
        ("rec-codex-exec", Some(Err("`codex exec"))),
        ("rec-copilot-output", Some(Err("`copilot"))),
        ("rec-gemini-stream", Some(Err("`gemini"))),
        ("rec-opencode-run", Some(Err("`opencode"))),
        ("rec-pi-mode", Some(Err("`pi"))),
        ("realistic/acp/", Some(Ok(FormatName::Acp))),
        ("cli/transcripts/", Some(Ok(FormatName::Atif))),
        ("cli/sessions.db", Some(Ok(FormatName::DevinCli))),
        ("acp-messages/", Some(Ok(FormatName::DevinDesktop))),
        ("realistic/User/globalStorage/state.vscdb", Some(Ok(FormatName::DevinDesktop))),
        ("state.vscdb", Some(Err("settings database"))),
        ("devin/", None),
        ("fruxon/13-", Some(Err("an error"))),
        ("fruxon/01-", Some(Ok(FormatName::FruxonMessages))),
        ("fruxon/02-", Some(Ok(FormatName::FruxonTrace))),
        ("fruxon/03-", Some(Ok(FormatName::FruxonRecord))),
        ("fruxon/04-", Some(Ok(FormatName::FruxonApprovals))),
        ("fruxon/06-", Some(Ok(FormatName::FruxonTrace))),
        ("fruxon/08-", Some(Ok(FormatName::FruxonRecord))),
        ("fruxon/09-", Some(Ok(FormatName::FruxonStream))),
        ("fruxon/10-", Some(Ok(FormatName::FruxonStream))),
        ("fruxon/11-", Some(Ok(FormatName::FruxonTranscript))),
        ("fruxon/15-", Some(Ok(FormatName::FruxonStream))),
        ("fruxon/17-", Some(Ok(FormatName::FruxonApprovals))),
        ("fruxon/", Some(Ok(FormatName::FruxonRecord))),
        ("43-replay/state/journal.json", Some(Ok(FormatName::OutpostJournal))),
        ("observations.jsonl", Some(Ok(FormatName::OutpostObservations))),
        ("objects/logs/", Some(Ok(FormatName::OutpostStorage))),
        ("objects/checkpoints/", Some(Ok(FormatName::OutpostCheckpoint))),
        ("objects/conversations/", Some(Ok(FormatName::OutpostTranscript))),
        ("13-approvals/state/", Some(Ok(FormatName::OutpostCheckpoint))),
    ];
    table.iter().find(|(part, _)| path.contains(part)).and_then(|(_, expected)| *expected)
}

#[test]
fn every_sample_is_taken_for_what_it_is() {
    let mut wrong = Vec::new();
    for path in samples() {
        let name = path.to_string_lossy();
        let Some(expected) = expected(&name) else { continue };
        let sample = Sample::take(&SourceFile::open(&path).unwrap()).unwrap();
        let got = chosen(&sample);
        let right = match (&got, expected) {
            (Ok(got), Ok(expected)) => *got == expected,
            (Err(sentence), Err(words)) => sentence.contains(words),
            _ => false,
        };
        let also = mixed_in(REGISTRY, &sample);
        if !right || (got.is_ok() && !also.is_empty() && !name.contains("mixed-formats")) {
            wrong.push(format!("{name}: {got:?}, with {also:?}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn samples_without_their_head_are_never_taken_for_another_format() {
    let mut wrong = Vec::new();
    for path in samples() {
        let name = path.to_string_lossy();
        let Some(expected) = expected(&name) else { continue };
        let content = fs::read(&path).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let cut_path = folder.path().join(path.file_name().unwrap());
        for step in 1..24 {
            // Spread over the file, at offsets that have nothing to do with its records.
            let cut = content.len() * step / 24 + step * 7;
            fs::write(&cut_path, content.get(cut..).unwrap_or_default()).unwrap();
            let sample = Sample::take(&SourceFile::open(&cut_path).unwrap()).unwrap();
            let got = chosen(&sample);
            if let Ok(got) = got
                && Ok(got) != expected
                && !name.contains("mixed-formats")
            {
                wrong.push(format!("{name} from byte {cut}: {got:?}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}
