//! What becomes of hits that come in, and of the match that is looked at.

use crate::workspace::outline::Outlined;
use std::path::{Path, PathBuf};

use super::*;
use crate::formats::{self, Patient, SessionRef};
use crate::workspace::document::DocumentId;
use crate::workspace::text::EventText;

fn sample() -> Document {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/cart-refactor.jsonl");
    let mut document = Document::new(DocumentId(1), SessionRef { paths: vec![PathBuf::from("cart.jsonl")], key: None });
    document.set_read(Outlined::new(formats::open(&path, &Patient).unwrap()));
    document.search.is_open = true;
    document
}

fn hit(at: At, part: Part, count: usize) -> Hit {
    Hit { at, part, count, first: Vec::new() }
}

/// What is looked at: the number of the match, and what it is in.
fn looked_at(document: &Document) -> (usize, At) {
    (document.search.position().unwrap(), document.search.current().unwrap().0.at)
}

#[test]
fn matches_are_gone_through_one_by_one_and_around_the_ends() {
    let mut document = sample();
    let (_, number) = document.search.begin(true);
    assert!(!document.take_hits(number - 1, &[hit(At::Step(1), Part::Prompt, 9)], None), "of an older search");
    let second = document.session().unwrap().steps[1].events.start;
    assert!(document.take_hits(number, &[hit(At::Event(second), Part::Text, 2)], None));
    assert_eq!(looked_at(&document), (1, At::Event(second)), "the first that is found is gone to");
    // One that stands before it comes later.
    document.take_hits(number, &[hit(At::Step(2), Part::Prompt, 1), hit(At::Step(3), Part::Prompt, 1)], Some(Ok(())));
    assert_eq!(looked_at(&document), (2, At::Event(second)));
    assert_eq!(document.search.matches(), 4);
    assert_eq!(document.search.by_part().collect::<Vec<_>>(), [(Part::Prompt, 2), (Part::Text, 2)]);
    let mut seen = Vec::new();
    for _ in 0..4 {
        document.move_match(true);
        seen.push(looked_at(&document));
    }
    assert_eq!(seen, [(3, At::Event(second)), (4, At::Step(3)), (1, At::Step(2)), (2, At::Event(second))]);
    assert_eq!(document.selected_event(), Some(second));
    document.move_match(false);
    assert_eq!((looked_at(&document), document.selected_step().unwrap().number), ((1, At::Step(2)), 2));
    document.move_match(false);
    assert_eq!(looked_at(&document), (4, At::Step(3)));
    // From where its user went meanwhile.
    document.select_step(1);
    document.move_match(true);
    assert_eq!(looked_at(&document), (1, At::Step(2)));
}

#[test]
fn a_match_is_opened_and_found_again_when_the_file_has_grown() {
    let mut document = sample();
    let session = document.session().unwrap();
    let tool = session.events.iter().position(|event| event.tool.is_some()).unwrap();
    let place = session.events.get(tool).unwrap().place;
    let hits = [hit(At::Step(1), Part::Prompt, 1), hit(At::Event(tool), Part::Output, 3)];
    let (_, number) = document.search.begin(true);
    document.take_hits(number, &hits, Some(Ok(())));
    document.move_match(true);
    document.move_match(true);
    assert!(document.is_expanded(Folded::Output.of(place)));
    assert_eq!(document.search.position(), Some(3));
    let (recording, moves) = (document.recording().cloned().unwrap(), document.search.moves());
    document.set_read(Outlined::new(recording));
    let (_, number) = document.search.begin(false);
    assert!(!document.take_hits(number, &hits, Some(Ok(()))));
    assert_eq!((document.search.position(), document.search.moves()), (Some(3), moves), "and nothing moves");
}

#[test]
fn the_search_starts_from_where_its_user_is() {
    let mut document = sample();
    document.select_step(5);
    let (_, number) = document.search.begin(true);
    assert!(!document.take_hits(number, &[hit(At::Step(2), Part::Prompt, 1)], None), "it is before that");
    assert!(document.take_hits(number, &[hit(At::Step(7), Part::Prompt, 1)], None));
    assert_eq!(looked_at(&document), (2, At::Step(7)));
    let (_, number) = document.search.begin(true);
    assert!(document.take_hits(number, &[hit(At::Step(2), Part::Prompt, 1)], Some(Ok(()))), "there is no other");
}

#[test]
fn of_very_many_hits_all_are_counted_and_the_first_kept() {
    let mut document = sample();
    let (_, number) = document.search.begin(true);
    let hits = vec![hit(At::Step(1), Part::Prompt, 2); MOST_HITS / 2 + 1];
    for _ in 0..3 {
        document.take_hits(number, &hits, None);
    }
    assert_eq!(document.search.matches(), 6 * hits.len());
    assert_eq!(document.search.found().len(), MOST_HITS);
}

#[test]
fn matches_are_marked_in_what_is_drawn() {
    let pattern = Pattern::new(&Query { text: "cart".to_owned(), ..Query::default() }).unwrap();
    let session = sample();
    let event = &session.session().unwrap().events.get(0).unwrap();
    let text = |body: &str| {
        let body = formats::Body { text: body.to_owned(), ..formats::Body::default() };
        Marks::of(&EventText::prepare(event, body), &pattern)
    };
    let marks = text("A **cart** and\n\n```\nlet cart = 1;\n```\n\n| cart | x |\n|---|---|\n| a | Cart |");
    let pair = |range: &std::ops::Range<usize>| (range.start, range.end);
    let ranges: Vec<Vec<_>> = marks.markdown.iter().map(|ranges| ranges.iter().map(pair).collect()).collect();
    assert_eq!(ranges, [vec![(2, 6)], vec![(4, 8)], vec![(0, 4), (6, 10)]]);
    assert_eq!(marks.in_markdown(1), Some((1, 0)));
    assert_eq!(marks.in_markdown(9), Some((2, 1)), "no further than there are");
    assert_eq!(text("none").in_markdown(0), None);
}
