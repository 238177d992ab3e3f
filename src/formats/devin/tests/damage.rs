//! Hostile and damaged databases: they open, or say why not, and never bring the program down.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::build::{Made, TABLES, answer, asks, call, chose, prompt, question, result, system};
use crate::formats::{Cut, OpenError, Patient, Recording, open_session, sessions_of};
use crate::model::{EventKind, ProblemKind, Session};
use crate::store::Watch;

fn adds_up(session: &Session) {
    let records = session.report.records;
    assert_eq!(records.total, records.read + records.unknown + records.duplicate + records.unreadable + records.torn);
}

/// Does everything with a session that the program can do.
fn exercise(recording: &dyn Recording) {
    let session = recording.session();
    adds_up(session);
    for event in session.events.all().iter().chain(session.subagents.iter().flat_map(|agent| agent.events.all())) {
        let _ = recording.body(event);
        let _ = recording.raw(event.place);
        let _ = recording.origin(event.place);
    }
    for step in &session.steps {
        assert!(step.events.start <= step.events.end && step.events.end <= session.events.len());
        let _ = recording.prompt(step.number);
        let _ = recording.replay(step.number, &mut |_| Ok(()));
        let _ = recording.fork(Cut::After(step.number), Watch::none());
        let _ = recording.fork(Cut::Before(step.number), Watch::none());
        let _ = recording.revert(step.number, Watch::none());
    }
    let _ = recording.replay_turns();
}

/// Opens everything that a file holds.
fn open_all(path: &Path) -> usize {
    let Ok(found) = sessions_of(&[path.to_owned()], &Patient) else { return 0 };
    let opened = found.sessions.iter().filter_map(|listed| open_session(&listed.reference, &Patient).ok());
    opened.map(|recording| exercise(&*recording)).count()
}

fn whole() -> Made {
    let made = Made::chain(&[
        system("rules"),
        prompt("first"),
        call("c", "exec"),
        result(
            "c",
            &"out ".repeat(500),
            json!({"chisel/undo": [{"kind": "restore_file", "path": "/x", "original_content": ""}]}),
        ),
        question(&[asks("q", "Which?")]),
        chose("q", "B"),
        answer("one"),
        prompt("second"),
        answer("two"),
    ]);
    made.state("c", &json!({"status": "completed"}));
    made.session("t", 1);
    made.raw_in("t", 0, None, &prompt("other").to_string(), "{}");
    made.raw_in("ghost", 0, None, &prompt("nobody's").to_string(), "{}");
    made
}

#[test]
fn values_of_another_type_are_absent() {
    let made = whole();
    made.connection
        .execute_batch(
            "UPDATE message_nodes SET parent_node_id = 'six' WHERE session_id = 's' AND node_id = 7;
             UPDATE message_nodes SET metadata = 17 WHERE session_id = 's' AND node_id = 6;
             UPDATE message_nodes SET chat_message = CAST(chat_message AS BLOB) WHERE session_id = 's' AND node_id = 8;
             UPDATE message_nodes SET chat_message = 5.5 WHERE session_id = 's' AND node_id = 3;
             INSERT INTO message_nodes(session_id, node_id, chat_message) VALUES('s', 'no number', '{}'), ('s', -4, '{}');
             INSERT INTO tool_call_state VALUES('s', 'bad', 'no json', NULL), ('s', 'null', NULL, 'null');
             UPDATE sessions SET created_at = 'yesterday', title = x'41', workspace_dirs = 'no list', hidden = 'yes';
             INSERT INTO subagent_heads VALUES('s', 'a', 'none', 0)",
        )
        .unwrap();
    let recording = made.open();
    let session = recording.session();
    exercise(&*recording);
    assert_eq!((session.steps.len(), session.title.as_deref(), session.started_at.is_some()), (1, Some("A"), true));
    assert_eq!(recording.prompt(1).unwrap(), "second");
    assert_eq!(session.report.records.unreadable, 4, "{:?}", session.report.problems);
    assert_eq!(session.nodes, 10);
}

#[test]
fn json_is_mended_where_it_can_be() {
    let made = Made::chain(&[system("rules"), prompt("go"), answer("a"), answer("b"), answer("c")]);
    let twice =
        Value::String(answer("twice").to_string().replace("{\"role", "{\"message_id\":\"m2\",\"role")).to_string();
    let set = |id: i64, text: &str| {
        let update = "UPDATE message_nodes SET chat_message = ?1 WHERE node_id = ?2";
        made.connection.execute(update, (text, id)).unwrap();
    };
    set(2, &twice);
    set(
        3,
        r#"{"role":"assistant","message_id":"m3","content":"half \ud83d","metadata":{"metrics":{"input_tokens":NaN,"output_tokens":-Infinity}}}"#,
    );
    set(4, r#"{"role":"user","role":"assistant","message_id":"m4","content":"told twice"}"#);
    let recording = made.open();
    exercise(&*recording);
    let texts: Vec<String> = (recording.session().events.all().iter())
        .filter(|event| event.kind == EventKind::Text)
        .map(|event| recording.body(event).unwrap().text)
        .collect();
    assert_eq!(texts, ["twice", "half \u{fffd}", "told twice"]);
    let problems = &recording.session().report.problems;
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems.iter().all(|problem| problem.kind == ProblemKind::Repaired));
}

#[test]
fn a_clock_that_went_back_makes_no_duration() {
    let timing = json!({"chisel/tool_call_timing": {"duration_ms": -5}});
    let made = Made::chain(&[system("rules"), prompt("go"), call("c", "exec"), result("c", "x", timing)]);
    made.connection
        .execute(
            "UPDATE message_nodes SET chat_message = replace(chat_message, '07:03', '06:00') WHERE node_id = 3",
            [],
        )
        .unwrap();
    let recording = made.open();
    assert!(recording.session().events.all().iter().all(|event| event.duration_ms.is_none()));
}

#[test]
fn views_that_are_named_like_tables_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let tables =
        TABLES.replace("CREATE TABLE message_nodes(", "CREATE TABLE other(").replace("ON message_nodes", "ON other");
    connection.execute_batch(&tables).unwrap();
    connection
        .execute_batch(
            "CREATE VIEW message_nodes AS WITH RECURSIVE n(node_id) AS (SELECT 0 UNION ALL SELECT node_id + 1 FROM n)
             SELECT 's' AS session_id, node_id, NULL AS parent_node_id, '{}' AS chat_message FROM n",
        )
        .unwrap();
    let result = sessions_of(&[path], &Patient);
    assert!(
        matches!(&result, Err(OpenError::Empty { reason, .. }) if reason.contains("lacks the tables")),
        "{result:?}"
    );
}

#[test]
fn old_and_new_layouts_are_told() {
    let made = whole();
    made.connection.execute_batch("INSERT INTO refinery_schema_history VALUES(18, 'later')").unwrap();
    let notice = made.open().session().report.problems[0].message.clone();
    assert!(notice.contains("layout 18"), "{notice}");

    let made = whole();
    made.connection
        .execute_batch(
            "DROP TABLE message_nodes; DELETE FROM refinery_schema_history;
             INSERT INTO refinery_schema_history VALUES(4, 'add_metadata_column');
             CREATE TABLE messages(session_id, content)",
        )
        .unwrap();
    let error = sessions_of(&[made.path()], &Patient).unwrap_err();
    assert!(error.to_string().contains("before the fifth layout"), "{error}");

    // The fifth layout has neither titles nor states of calls.
    let made = whole();
    made.connection
        .execute_batch(
            "DROP TABLE tool_call_state; DROP TABLE subagent_heads; DROP TABLE refinery_schema_history;
             ALTER TABLE sessions DROP COLUMN title; ALTER TABLE sessions DROP COLUMN hidden;
             ALTER TABLE sessions DROP COLUMN workspace_dirs; ALTER TABLE message_nodes DROP COLUMN metadata",
        )
        .unwrap();
    made.head(Some(8));
    let recording = made.open();
    exercise(&*recording);
    assert_eq!((recording.session().steps.len(), recording.session().title.as_deref()), (3, Some("first")));
}

#[test]
fn ghosts_and_strangers_are_listed_and_named() {
    let made = whole();
    let found = sessions_of(&[made.path()], &Patient).unwrap();
    let names: Vec<_> =
        found.sessions.iter().map(|session| (session.id.as_deref().unwrap(), session.status.is_some())).collect();
    assert_eq!(names, [("s", false), ("t", false), ("ghost", true)]);
    let several = crate::formats::open(&made.path(), &Patient);
    assert!(matches!(several, Err(OpenError::Several { .. })));
    let nobody = crate::formats::SessionRef { paths: vec![made.path()], key: Some("nobody".to_owned()) };
    assert!(matches!(open_session(&nobody, &Patient), Err(OpenError::NoSession { .. })));
}

#[test]
fn long_chains_many_copies_and_huge_messages_are_bounded() {
    const NODES: i64 = 100_000;
    let made = Made::new();
    made.connection.execute_batch("BEGIN").unwrap();
    for id in 0..NODES {
        let message = match id % 4 {
            0 => format!(r#"{{"role":"user","message_id":"u{id}","content":"go","metadata":{{"is_user_input":true}}}}"#),
            1 => format!(
                r#"{{"role":"assistant","message_id":"a{id}","tool_calls":[{{"id":"c","name":"ask_user_question","arguments":{{}}}}]}}"#
            ),
            2 => r#"{"role":"tool","tool_call_id":"c","metadata":{"extensions":{"chisel/user_question_answers":{"answers":[]}}}}"#.to_owned(),
            // Each is the end of a branch of its own.
            _ => format!(r#"{{"role":"user","message_id":"d{id}","content":"left","metadata":{{"is_user_input":true}}}}"#),
        };
        let parent = if id % 4 == 0 { id - 2 } else { id - 1 };
        let row = if id % 1000 == 5 { r#"{"summarized_from": 3}"# } else { "{}" };
        made.raw_in("s", id, (id > 0).then_some(parent), &message, row);
    }
    let huge = format!(r#"{{"role":"assistant","message_id":"h","content":"{}"}}"#, "x".repeat(64 * 1024 * 1024));
    made.raw_in("s", NODES, Some(NODES - 2), &huge, "{}");
    made.connection.execute_batch("COMMIT").unwrap();
    made.head(Some(NODES));
    let started = Instant::now();
    let recording = made.open();
    let session = recording.session();
    adds_up(session);
    assert!(session.steps.len() > 100 && session.report.records.read == 100_001, "{}", session.steps.len());
    let last = session.events.all().last().unwrap();
    assert_eq!(last.text_bytes, 64 * 1024 * 1024);
    assert!(recording.raw(last.place).unwrap().len() < 9 * 1024 * 1024);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_damage_is_survived(
        changes in proptest::collection::vec((0.0_f64..1.0, any::<u8>()), 0..12),
        cut in prop_oneof![3 => Just(1.0_f64), 1 => 0.0_f64..1.0],
    ) {
        static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let made = whole();
            std::fs::read(made.path()).unwrap()
        });
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = WHOLE.clone();
        let len = bytes.len() as f64;
        for (at, byte) in changes {
            if let Some(old) = bytes.get_mut((at * len) as usize) {
                *old = byte;
            }
        }
        bytes.truncate((cut * len) as usize);
        let damaged = folder.path().join("sessions.db");
        std::fs::write(&damaged, bytes).unwrap();
        open_all(&damaged);
    }

    #[test]
    fn any_message_is_survived(text in "[\\[{]?[\"a-z:{}\\[\\],0-9 ]{0,60}", key in 0_usize..8) {
        let keys = ["metadata", "tool_calls", "thinking", "content", "tool_call_id", "images", "role", "message_id"];
        let made = whole();
        let value = serde_json::from_str(&text).unwrap_or(Value::String(text.clone()));
        let mut message = call("x", "exec");
        message[keys[key]] = value;
        let update = "UPDATE message_nodes SET chat_message = ?1 WHERE session_id = 's' AND node_id = ?2";
        made.connection.execute(update, (message.to_string(), 2)).unwrap();
        made.connection.execute(update, (&text, 6)).unwrap();
        exercise(&*made.open());
    }
}

#[test]
fn a_whole_database_opens_whole() {
    let made = whole();
    assert_eq!(open_all(&made.path()), 3);
}

/// Calls everything off at once.
struct Hasty(std::sync::atomic::AtomicBool);

impl crate::formats::Observer for Hasty {
    fn watch(&self) -> Watch<'_> {
        Watch::new(&self.0, &|_, _| {})
    }

    fn partial(&self, _: std::sync::Arc<dyn Recording>) {}

    fn wants_partial(&self) -> bool {
        false
    }
}

#[test]
fn reading_can_be_called_off() {
    let made = whole();
    let hasty = Hasty(true.into());
    let reference = crate::formats::SessionRef { paths: vec![made.path()], key: Some("s".to_owned()) };
    assert!(matches!(open_session(&reference, &hasty), Err(OpenError::Cancelled(_))));
    let recording = made.open();
    let watch = crate::formats::Observer::watch(&hasty);
    assert!(recording.fork(Cut::After(1), watch).is_err());
    assert!(recording.revert(1, watch).is_err());
}
