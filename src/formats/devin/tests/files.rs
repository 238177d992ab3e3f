//! Which files are taken for Devin's, and what the desktop program's are asked for.

use std::path::Path;

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::build::{Made, answer, opened, prompt, system};
use crate::formats::detect::{Sample, choose};
use crate::formats::{OpenError, Patient, REGISTRY, open_session, sessions_of};
use crate::model::{Decision, EventKind, Evidence, Fact, FormatName, StepKind, ToolState};
use crate::store::SourceFile;

const COPY: &str = "0a1b2c3d-0000-4000-8000-000000000001";

fn chosen(path: &Path) -> Result<FormatName, String> {
    let sample = Sample::take(&SourceFile::open(path).unwrap()).unwrap();
    choose(REGISTRY, &sample).map(|format| format.name)
}

/// A copy of a session of the desktop program, with these messages.
fn copy(folder: &Path, messages: &[Value]) -> std::path::PathBuf {
    let folder = folder.join("User/acp-messages");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{COPY}.db"));
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA synchronous = OFF;
             CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
             CREATE TABLE messages(position INTEGER PRIMARY KEY, kind TEXT NOT NULL, payload TEXT NOT NULL);
             INSERT INTO meta VALUES('info', '{\"title\":\"Told by the desktop\"}'), ('truncated', '1')",
        )
        .unwrap();
    for message in messages {
        let kind = message["kind"].as_str().unwrap();
        let insert = "INSERT INTO messages(kind, payload) VALUES(?1, ?2)";
        connection.execute(insert, (kind, message.to_string())).unwrap();
    }
    path
}

/// A settings database, with these keys and values.
fn settings(folder: &Path, values: &[(&str, Value)]) -> std::path::PathBuf {
    let folder = folder.join("User/globalStorage");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("state.vscdb");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE ItemTable(key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)").unwrap();
    for (key, value) in values {
        connection.execute("INSERT INTO ItemTable VALUES(?1, ?2)", (key, value.to_string().into_bytes())).unwrap();
    }
    path
}

fn said(kind: &str, text: &str, id: Option<&str>) -> Value {
    let update = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text},
        "_meta": {"cognition.ai/clientMessageId": id, "timestamp": "2026-10-26T07:00:00Z"}});
    json!({"kind": kind, "content": [update]})
}

fn tool(id: &str, status: &str, meta: Value) -> Value {
    json!({"kind": "tool_call", "content": {"toolCallId": id, "title": "Ran it", "rawInput": {"command": "ls"}, "status": status,
        "content": [{"type": "content", "content": {"type": "text", "text": "out"}}], "_meta": meta}})
}

fn messages() -> Vec<Value> {
    vec![
        said("user_message", "go", Some("m1")),
        said("agent_thought", "hm", None),
        said("agent_message", "well", None),
        tool("a", "completed", json!({"cognition.ai/inferenceToolName": "exec"})),
        tool("b", "failed", json!({"cognition.ai/rejected": true})),
        tool("c", "in_progress", json!({})),
        json!({"kind": "plan", "content": {"entries": [{"content": "first"}, {"content": "second"}]}}),
        json!({"kind": "new thing", "content": 7}),
    ]
}

#[test]
fn a_database_is_told_by_its_tables_and_not_by_the_words_in_it() {
    let made = Made::chain(&[
        system("rules"),
        prompt("CREATE TABLE ItemTable (key) CREATE TABLE meta(a) CREATE TABLE messages(b)"),
    ]);
    assert_eq!(chosen(&made.path()), Ok(FormatName::DevinCli));

    // A schema that is longer than what is looked at of a file.
    let made = Made::new();
    made.connection.execute_batch("DROP TABLE message_nodes").unwrap();
    for number in 0..400 {
        let columns: Vec<String> = (0..40).map(|column| format!("a_column_with_a_long_name_{column}")).collect();
        made.connection.execute_batch(&format!("CREATE TABLE filler_{number}({})", columns.join(", "))).unwrap();
    }
    made.connection
        .execute_batch("CREATE TABLE message_nodes(session_id, node_id, parent_node_id, chat_message)")
        .unwrap();
    assert_eq!(chosen(&made.path()), Ok(FormatName::DevinCli));
}

#[test]
fn a_copy_is_read_message_by_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy(folder.path(), &messages());
    assert_eq!(chosen(&path), Ok(FormatName::DevinDesktop));
    let recording = crate::formats::open(&path, &Patient).unwrap();
    let session = recording.session();
    assert_eq!((session.id.as_str(), session.title.as_deref()), (COPY, Some("Told by the desktop")));
    assert_eq!((session.steps.len(), session.steps[0].kind), (1, StepKind::Prompt));
    assert!(session.steps[0].revert_refusal.is_some() && session.steps[0].fork_refusal.is_some());
    let events: Vec<_> =
        session.events.all().iter().map(|event| (event.kind, recording.body(event).unwrap())).collect();
    let kinds: Vec<EventKind> = events.iter().map(|(kind, _)| *kind).collect();
    use EventKind::{Approval, Notice, Text, Thinking, Tool, Unknown};
    assert_eq!(kinds, [Thinking, Text, Tool, Tool, Approval, Tool, Notice, Unknown]);
    assert_eq!((events[1].1.text.as_str(), events[6].1.text.as_str()), ("well", "plan: first; second"));
    assert_eq!(events[2].1.output.as_deref(), Some("out"));
    let states: Vec<ToolState> =
        session.events.all().iter().filter_map(|event| Some(event.tool.as_ref()?.state)).collect();
    assert_eq!(states, [ToolState::Done, ToolState::Denied, ToolState::Pending]);
    assert!(session.report.problems.iter().any(|problem| problem.message.contains("oldest messages are missing")));
}

#[test]
fn settings_are_asked_for_copies_only() {
    let folder = tempfile::tempdir().unwrap();
    copy(folder.path(), &messages());
    let own = "windsurf.acp.messageStore.session.acp/devin-cli/slug";
    let path = settings(
        folder.path(),
        &[
            ("secret://token", json!({"uuid": COPY})),
            ("windsurf.acp.messageStore.session.acp/devin-cli/away", json!({"uuid": "../../../etc/passwd"})),
            (
                "windsurf.acp.messageStore.session.acp/devin-cli/gone",
                json!({"uuid": "00000000-0000-4000-8000-000000000009"}),
            ),
            ("windsurf.acp.messageStore.session.acp0", json!({"uuid": COPY})),
            (own, json!({"uuid": COPY, "lastUpdated": 1_793_000_263_000_i64})),
            ("windsurf.acp.sessioninfo.session.acp/devin-cli/slug", json!({"info": {"title": "From the list"}})),
            ("windsurfSpace.sessionWorkspace/acp/devin-cli/slug", json!({"folders": ["file:///ws"]})),
        ],
    );
    assert_eq!(chosen(&path), Ok(FormatName::DevinDesktop));
    let found = sessions_of(&[path], &Patient).unwrap();
    let [only] = found.sessions.as_slice() else { panic!("{found:?}") };
    assert_eq!((only.id.as_deref(), only.title.as_deref()), (Some("slug"), Some("From the list")));
    assert_eq!(only.cwd.as_deref(), Some("/ws"));
    let session = open_session(&only.reference, &Patient).unwrap();
    assert_eq!((session.session().id.as_str(), session.session().steps.len()), ("slug", 1));

    let other = tempfile::tempdir().unwrap();
    let path = settings(other.path(), &[("secret://token", json!({"uuid": COPY}))]);
    assert!(chosen(&path).unwrap_err().contains("settings database"));
}

#[test]
fn a_copy_joins_the_session_that_it_is_of() {
    let folder = tempfile::tempdir().unwrap();
    let copied = copy(folder.path(), &messages());
    let made = Made::chain(&[system("rules"), prompt("go")]);
    made.session("t", 1);
    let found = sessions_of(&[made.path(), copied.clone()], &Patient).unwrap();
    let listed = found.sessions.iter().find(|session| session.is_named("s")).unwrap();
    let joined = open_session(&listed.reference, &Patient).unwrap();
    assert_eq!(joined.session().title.as_deref(), Some("Told by the desktop"), "a title wins over a first prompt");
    assert_eq!(joined.files().len(), 2);
    let listed = found.sessions.iter().find(|session| session.is_named("t")).unwrap();
    assert_eq!(open_session(&listed.reference, &Patient).unwrap().files().len(), 1);
    assert_eq!(opened(&copied, COPY).session().steps.len(), 1);
    assert!(matches!(
        crate::formats::open_session(&crate::formats::SessionRef::file(&made.path()), &Patient),
        Err(OpenError::Several { .. })
    ));
}

#[test]
fn a_recording_of_the_protocol_says_who_allowed_what_the_database_only_shows_as_done() {
    let call = json!({"role": "assistant", "content": "",
        "tool_calls": [{"id": "c1", "name": "exec", "arguments": {"command": "ls"}, "index": 0, "kind": "function"}]});
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "files"});
    let made = Made::chain(&[system("rules"), prompt("go"), call, result, answer("Done.")]);
    made.session("t", 1);
    let path = made.folder.path().join("recorded.ndjson");
    let wire = |message: Value| {
        json!({"jsonrpc": "2.0"})
            .as_object()
            .unwrap()
            .clone()
            .into_iter()
            .chain(message.as_object().unwrap().clone())
            .collect::<serde_json::Map<_, _>>()
    };
    let messages = [
        json!({"id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "go"}]}}),
        json!({"id": 7, "method": "session/request_permission", "params": {"sessionId": "s",
            "toolCall": {"toolCallId": "c1", "title": "Run ls", "kind": "execute"},
            "options": [{"optionId": "a", "name": "Yes", "kind": "allow_once"}]}}),
        json!({"id": 7, "result": {"outcome": {"outcome": "selected", "optionId": "a"}}}),
        json!({"id": 1, "result": {"stopReason": "end_turn", "_meta": {"cognition.ai/userMessageId": "m1"}}}),
        // An error of something else than the prompt is nothing that happened in the session.
        json!({"id": 2, "method": "_cognition.ai/revert/listSteps", "params": {"sessionId": "s"}}),
        json!({"id": 2, "error": {"code": -32601, "message": "Method not found"}}),
    ];
    let lines: Vec<String> = messages.into_iter().map(|message| Value::Object(wire(message)).to_string()).collect();
    std::fs::write(&path, lines.join("\n")).unwrap();

    let found = sessions_of(&[made.path(), path.clone()], &Patient).unwrap();
    assert_eq!(found.sessions.len(), 2, "the recorded session is the stored one");
    let listed = found.sessions.iter().find(|session| session.is_named("s")).unwrap();
    let joined = open_session(&listed.reference, &Patient).unwrap();
    let session = joined.session();
    assert_eq!((session.format, session.steps.len()), (FormatName::DevinCli, 1));
    let marked: Vec<_> = session.events.all().iter().filter(|event| event.marker.is_some()).collect();
    assert_eq!(marked.len(), 1, "{marked:?}");
    let marker = marked[0].marker.as_ref().unwrap();
    assert_eq!(marker.evidence, Evidence::Recorded);
    let Fact::Approval { decision, by, tool_call_id, .. } = &marker.fact else { panic!("{marker:?}") };
    assert_eq!((*decision, by.as_deref(), tool_call_id.as_deref()), (Decision::Granted, Some("user"), Some("c1")));
    assert_eq!(joined.origin(marked[0].place).unwrap().path, path, "the inspector names the file it came from");
    let watched: Vec<_> = joined.watched().into_iter().map(|(path, _)| path).collect();
    assert!(watched.contains(&path) && watched.contains(&made.path()), "{watched:?}");
    assert!(watched.iter().any(|path| path.to_string_lossy().ends_with("sessions.db-wal")), "{watched:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_damaged_copy_is_survived(
        changes in proptest::collection::vec((0.0_f64..1.0, any::<u8>()), 0..12),
        cut in prop_oneof![3 => Just(1.0_f64), 1 => 0.0_f64..1.0],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = copy(folder.path(), &messages());
        let mut bytes = std::fs::read(&path).unwrap();
        let len = bytes.len() as f64;
        for (at, byte) in changes {
            if let Some(old) = bytes.get_mut((at * len) as usize) {
                *old = byte;
            }
        }
        bytes.truncate((cut * len) as usize);
        std::fs::write(&path, bytes).unwrap();
        let found = sessions_of(&[path], &Patient).map(|found| found.sessions).unwrap_or_default();
        for recording in found.iter().filter_map(|listed| open_session(&listed.reference, &Patient).ok()) {
            let records = recording.session().report.records;
            prop_assert_eq!(
                records.total,
                records.read + records.unknown + records.duplicate + records.unreadable + records.torn
            );
            for event in recording.session().events.all() {
                let _ = recording.body(event);
            }
            for step in &recording.session().steps {
                let _ = recording.prompt(step.number);
                let _ = recording.replay(step.number, &mut |_| Ok(()));
            }
        }
    }
}
