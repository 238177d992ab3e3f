use std::collections::HashSet;

use super::super::tests::fixture::{Draft, cart, kinds, plain};
use super::*;
use crate::formats::Body;

fn table(draft: &Draft, before_open: bool) -> Table {
    Table::new(&draft.fake.session, before_open)
}

#[test]
fn every_step_has_a_header_a_card_and_its_events() {
    let draft = plain(2, 2);
    let rows = table(&draft, false).rows;
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
    assert_eq!(table(&draft, false).rows[..2], [Row::Before, Row::Header(0)]);
    assert_eq!(table(&draft, true).rows[..4], [Row::Before, Row::Event(0), Row::Event(1), Row::Header(0)]);
    let mut alone = Draft::new();
    alone.says("no prompt was ever written");
    assert_eq!(table(&alone, false).rows, [Row::Before, Row::Event(0)]);
}

#[test]
fn folded_events_have_no_row_and_belong_to_their_call() {
    let draft = cart();
    let session = &draft.fake.session;
    let table = table(&draft, false);
    let call = session
        .events
        .all()
        .iter()
        .position(|event| event.tool.as_ref().is_some_and(|tool| tool.name == "Edit"))
        .unwrap();
    assert_eq!(table.folded_into(call).collect::<Vec<_>>(), [call + 1]);
    assert!(!table.rows.contains(&Row::Event(call as u32 + 1)));
    assert_eq!(table.row_of_event(call + 1, session), table.row_of_event(call, session));
}

#[test]
fn approvals_of_parallel_calls_find_their_own() {
    let mut draft = plain(1, 0);
    let first = draft.tool("Bash", serde_json::json!({"command": "a"}), "", ToolState::Done);
    let second = draft.tool("Bash", serde_json::json!({"command": "b"}), "", ToolState::Done);
    draft.ruled(first, crate::model::Decision::Granted, "user", None, None);
    draft.ruled(second, crate::model::Decision::Auto, "rule", None, None);
    let table = table(&draft, false);
    assert_eq!(table.folded_into(first).collect::<Vec<_>>(), [2]);
    assert_eq!(table.folded_into(second).collect::<Vec<_>>(), [3]);
}

#[test]
fn the_question_of_a_step_is_in_its_card() {
    let draft = cart();
    let session = &draft.fake.session;
    let table = table(&draft, false);
    let asked = table.question(1);
    assert_eq!(kinds(session, asked.clone()), [EventKind::Question]);
    assert_eq!(table.rows[table.row_of_event(asked.start, session).unwrap()], Row::Card(1));
    assert!(!table.rows.contains(&Row::Event(asked.start as u32)));
}

#[test]
fn quiet_runs_are_grouped_and_found_by_each_of_their_events() {
    let mut draft = plain(1, 0);
    for _ in 0..100 {
        draft.event(EventKind::Notice, "hook ran", Body::default());
    }
    draft.says("done");
    let table = table(&draft, false);
    assert_eq!(table.rows[2..], [Row::Group(0, 40), Row::Group(40, 80), Row::Group(80, 100), Row::Event(100)]);
    assert_eq!(table.row_of_event(79, &draft.fake.session), Some(3));
    assert_eq!(table.row_of_event(100, &draft.fake.session), Some(5));
}

#[test]
fn keys_are_different_even_where_events_share_a_record() {
    let mut draft = plain(3, 3);
    let place = draft.fake.session.events.all()[0].place;
    draft.fake.session.events.list_mut().iter_mut().for_each(|event| event.place = place);
    let table = table(&draft, false);
    let keys: HashSet<RowKey> = (0..table.rows.len()).map(|row| table.key(row)).collect();
    assert_eq!(keys.len(), table.rows.len());
}

#[test]
fn a_turn_without_events_says_so() {
    assert_eq!(table(&plain(1, 0), false).rows, [Row::Header(0), Row::Card(0), Row::Nothing(0)]);
}
