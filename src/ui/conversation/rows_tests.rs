use std::collections::HashSet;

use super::tests::fixture::{Draft, cart, kinds, plain};
use crate::formats::Body;
use crate::model::{EventKind, ToolState};
use crate::workspace::outline::Outline;
use crate::workspace::outline::rows::{Listed, Row, RowKey, Table};

fn table(draft: &Draft) -> Table {
    Outline::of(&draft.fake.session).table
}

/// The rows that are listed.
fn rows(table: &Table, before_open: bool) -> Vec<Row> {
    let listed = Listed::new(table, before_open);
    (0..listed.len()).filter_map(|row| listed.get(row)).collect()
}

#[test]
fn every_step_has_a_header_a_card_and_its_events() {
    let draft = plain(2, 2);
    let rows = rows(&table(&draft), false);
    let expected = [
        Row::Header(0),
        Row::Card(0),
        Row::Event(0),
        Row::Event(1),
        Row::Header(1),
        Row::Card(1),
        Row::Event(2),
        Row::Event(3),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn the_events_before_the_first_step_are_one_line_until_it_is_opened() {
    let draft = cart();
    assert_eq!(rows(&table(&draft), false)[..2], [Row::Before, Row::Header(0)]);
    assert_eq!(rows(&table(&draft), true)[..4], [Row::Before, Row::Event(0), Row::Event(1), Row::Header(0)]);
    let (made, session) = (table(&draft), &draft.fake.session);
    let (folded, open) = (Listed::new(&made, false), Listed::new(&made, true));
    assert_eq!((folded.row_of_step(1), open.row_of_step(1)), (Some(1), Some(3)));
    assert_eq!((folded.row_of_event(1, session), open.row_of_event(1, session)), (Some(0), Some(2)));
    assert_eq!(folded.key(1), open.key(3));
    let mut alone = Draft::new();
    alone.says("no prompt was ever written");
    assert_eq!(rows(&table(&alone), false), [Row::Before, Row::Event(0)]);
}

#[test]
fn folded_events_have_no_row_and_belong_to_their_call() {
    let draft = cart();
    let session = &draft.fake.session;
    let table = table(&draft);
    let call = session
        .events
        .all()
        .iter()
        .position(|event| event.tool.as_ref().is_some_and(|tool| tool.name == "Edit"))
        .unwrap();
    assert_eq!(table.folded_into(call).collect::<Vec<_>>(), [call + 1]);
    assert!(!rows(&table, false).contains(&Row::Event(call as u32 + 1)));
    assert_eq!(
        Listed::new(&table, false).row_of_event(call + 1, session),
        Listed::new(&table, false).row_of_event(call, session)
    );
}

#[test]
fn approvals_of_parallel_calls_find_their_own() {
    let mut draft = plain(1, 0);
    let first = draft.tool("Bash", serde_json::json!({"command": "a"}), "", ToolState::Done);
    let second = draft.tool("Bash", serde_json::json!({"command": "b"}), "", ToolState::Done);
    draft.ruled(first, crate::model::Decision::Granted, "user", None, None);
    draft.ruled(second, crate::model::Decision::Auto, "rule", None, None);
    let table = table(&draft);
    assert_eq!(table.folded_into(first).collect::<Vec<_>>(), [2]);
    assert_eq!(table.folded_into(second).collect::<Vec<_>>(), [3]);
}

#[test]
fn the_question_of_a_step_is_in_its_card() {
    let draft = cart();
    let session = &draft.fake.session;
    let table = table(&draft);
    let asked = table.question(1);
    assert_eq!(kinds(session, asked.clone()), [EventKind::Question]);
    assert_eq!(
        rows(&table, false)[Listed::new(&table, false).row_of_event(asked.start, session).unwrap()],
        Row::Card(1)
    );
    assert!(!rows(&table, false).contains(&Row::Event(asked.start as u32)));
}

#[test]
fn quiet_runs_are_grouped_and_found_by_each_of_their_events() {
    let mut draft = plain(1, 0);
    for _ in 0..100 {
        draft.event(EventKind::Notice, "hook ran", Body::default());
    }
    draft.says("done");
    let table = table(&draft);
    assert_eq!(rows(&table, false)[2..], [Row::Group(0, 40), Row::Group(40, 80), Row::Group(80, 100), Row::Event(100)]);
    assert_eq!(Listed::new(&table, false).row_of_event(79, &draft.fake.session), Some(3));
    assert_eq!(Listed::new(&table, false).row_of_event(100, &draft.fake.session), Some(5));
}

#[test]
fn keys_are_different_even_where_events_share_a_record() {
    let mut draft = plain(3, 3);
    let place = draft.fake.session.events.all()[0].place;
    draft.fake.session.events.list_mut().iter_mut().for_each(|event| event.place = place);
    let table = table(&draft);
    let listed = Listed::new(&table, false);
    let keys: HashSet<RowKey> = (0..listed.len()).map(|row| listed.key(row)).collect();
    assert_eq!(keys.len(), listed.len());
}

#[test]
fn a_turn_without_events_says_so() {
    assert_eq!(rows(&table(&plain(1, 0)), false), [Row::Header(0), Row::Card(0), Row::Nothing(0)]);
}
