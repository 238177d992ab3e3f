//! Chains that are broken, that lead astray, or that are larger than Outpost allows.

use proptest::prelude::*;

use super::*;

#[test]
fn missing_segments_are_told_and_the_rest_is_shown() {
    let store = Store::of(&example());
    std::fs::remove_file(store.path(3)).unwrap();
    let recording = store.open();
    let session = recording.session();
    adds_up(session);
    assert_eq!((session.nodes, session.steps.len()), (13, 3));
    assert_eq!(problem(session, ProblemKind::Structure, "at least 1 segment, at most 8"), store.keys[3]);
    assert_eq!(problem(session, ProblemKind::Structure, "not connected"), store.keys[4]);
    assert_eq!(recording.prompt(1).unwrap(), "A");
    let fork = recording.fork(Cut::After(2), Watch::none()).unwrap();
    assert!(fork.warnings.iter().any(|warning| warning.contains("are missing")));

    for number in 4..14 {
        let _ = std::fs::remove_file(store.path(number));
    }
    let recording = store.open();
    assert_eq!(recording.session().nodes, 3, "the head itself is gone");
    assert_eq!(problem(recording.session(), ProblemKind::Structure, "is missing"), store.keys[13]);
}

#[test]
fn segments_that_were_never_committed_are_left_out() {
    let store = Store::of(&example());
    store.index(json!({ "closed": false, "head": reference(&store.keys[11], "r11") }));
    let recording = store.open();
    let session = recording.session();
    adds_up(session);
    assert_eq!(session.nodes, 12);
    assert_eq!(session.steps[2].outcome, Outcome::Done);
    problem(session, ProblemKind::Structure, "never committed");
}

#[test]
fn every_second_segment_gone_is_told_once() {
    let store = Store::of(&long(600));
    for number in (0..599).step_by(2) {
        std::fs::remove_file(store.path(number)).unwrap();
    }
    let recording = store.open();
    let session = recording.session();
    assert_eq!((session.nodes, session.report.problems.len()), (300, 3), "{:?}", session.report.problems);
    problem(session, ProblemKind::Structure, "at 298 other places");
    let order: Vec<_> = session.events.all().iter().filter_map(|event| event.label.parse::<u32>().ok()).collect();
    assert!(order.is_sorted());
}

#[test]
fn an_index_without_a_head_has_nothing_committed() {
    let store = Store::of(&example());
    store.index(json!({ "closed": false, "head": null }));
    let recording = store.open();
    assert_eq!(recording.session().nodes, 0);
    problem(recording.session(), ProblemKind::Structure, "nor to 13 others");
    store.index(json!({ "closed": false, "head": 7 }));
    assert_eq!(store.open().session().nodes, 14);
    problem(store.open().session(), ProblemKind::Structure, "index cannot be read");
}

#[test]
fn what_does_not_fit_together_is_told_and_shown() {
    let store = Store::of(&example());
    // Another revision than the next segment names.
    let body = std::fs::read(store.path(2)).unwrap()[1024..].to_vec();
    write(store.root(), &store.keys[2], "other", &body);
    // A header that is no JSON, one that lies about the size, a body that is cut off.
    let bytes = std::fs::read(store.path(5)).unwrap();
    std::fs::write(store.path(5), [&vec![b' '; 1024], &bytes[1024..]].concat()).unwrap();
    let bytes = std::fs::read(store.path(6)).unwrap();
    std::fs::write(store.path(6), [bytes.as_slice(), b"  "].concat()).unwrap();
    let bytes = std::fs::read(store.path(9)).unwrap();
    std::fs::write(store.path(9), &bytes[..bytes.len() - 20]).unwrap();
    let recording = store.open();
    let session = recording.session();
    adds_up(session);
    assert_eq!((session.nodes, session.report.records.unreadable, session.steps.len()), (14, 1, 3));
    for (number, words) in
        [(2, "its revision is other"), (5, "header is no JSON"), (6, "its header says"), (9, "its header says")]
    {
        let key = &store.keys[number];
        let told = session.report.problems.iter().any(|problem| {
            problem.locator == Locator::Key(key.clone())
                && problem.kind == ProblemKind::Refused
                && problem.message.contains(words)
        });
        assert!(told, "{words}: {:?}", session.report.problems);
    }
    assert_eq!(problem(session, ProblemKind::Unreadable, "cannot be read"), store.keys[9]);
    let unreadable = session.events.all().iter().find(|event| event.kind == EventKind::Unreadable).unwrap();
    assert!(recording.body(unreadable).unwrap().text.contains("\"text\":\"ok\""));
}

#[test]
fn wrong_types_and_numbers_that_json_does_not_have_cost_one_entry() {
    let store = Store::of(&example());
    for (number, body) in [
        (1, r#"{"previous":7,"event":[1]}"#.to_owned()),
        (2, format!(r#"{{"previous":{},"event":{{"kind":"quota","x":NaN}}}}"#, reference(&store.keys[1], "r1"))),
        (6, format!(r#"{{"previous":{}}}"#, reference(&store.keys[5], "r5"))),
    ] {
        write(store.root(), &store.keys[number], &format!("r{number}"), body.as_bytes());
    }
    let session_of = store.open();
    let session = session_of.session();
    adds_up(session);
    assert_eq!((session.nodes, session.report.records.unreadable), (14, 3));
    assert_eq!(
        session.steps.len(),
        3,
        "the first one names none before it, but the oldest is there: {:?}",
        session.report.problems
    );
}

#[test]
fn chains_that_lead_round_or_away_end_there() {
    let store = Store::of(&example());
    store.body(0, &json!({ "previous": reference(&store.keys[13], "r13"), "event": example()[0] }));
    let recording = store.open();
    assert_eq!(recording.session().nodes, 14);
    assert_eq!(problem(recording.session(), ProblemKind::Refused, "comes back"), store.keys[13]);
    // Nothing leads into the circle.
    std::fs::remove_file(store.root().join(format!("objects/logs/{LOG}/index.object"))).unwrap();
    assert_eq!(store.open().session().nodes, 14);

    let secret = store.root().join("secret.object");
    std::fs::copy(store.path(3), &secret).unwrap();
    let store2 = Store::of(&example());
    for key in ["../secret", "../../secret", "/etc/passwd", "logs/../../secret", "logs\\x", ""] {
        store2.body(3, &json!({ "previous": reference(key, "r2"), "event": example()[3] }));
        let recording = store2.open();
        adds_up(recording.session());
        assert_eq!(problem(recording.session(), ProblemKind::Structure, "no key of an object"), key);
        assert_eq!(recording.session().nodes, 14, "the others are there, by their numbers");
    }
    // Not a log's.
    store2.body(3, &json!({ "previous": reference("checkpoints/a", "r2"), "event": example()[3] }));
    assert_eq!(problem(store2.open().session(), ProblemKind::Structure, "is missing"), "checkpoints/a");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let store = Store::of(&example());
    let away = store.root().join("away.object");
    std::fs::rename(store.path(5), &away).unwrap();
    std::os::unix::fs::symlink(&away, store.path(5)).unwrap();
    let recording = store.open();
    assert_eq!(recording.session().nodes, 13);
    assert_eq!(problem(recording.session(), ProblemKind::Structure, "is missing"), store.keys[5]);
}

/// A turn of this many entries.
fn long(entries: usize) -> Vec<Value> {
    let mut list = vec![json!({ "kind": "prompt", "text": "go" })];
    list.extend((2..entries).map(|number| json!({ "kind": "text", "text": format!("{number}") })));
    list.push(json!({ "kind": "summary", "tokens": { "input": 1, "cached": 0, "output": 1 } }));
    enveloped(json!(list))
}

#[test]
fn a_long_chain_is_read_in_time_that_grows_with_its_length() {
    let store = Store::of(&long(3_000));
    let recording = store.open();
    assert_eq!((recording.session().nodes, recording.session().report.problems.len()), (3_000, 0));
    assert_eq!(chain::summary(&store.objects(), LOG).segments, 3_000);
}

#[test]
#[ignore = "writes 100 001 files"]
fn more_than_outpost_reads_is_read_and_told() {
    let store = Store::of(&long(100_001));
    let start = std::time::Instant::now();
    let recording = store.open();
    println!("read in {:?}", start.elapsed());
    assert_eq!(recording.session().nodes, 100_001);
    assert!(problem(recording.session(), ProblemKind::Refused, "more than 100000").starts_with("logs/"));
}

#[test]
fn a_body_larger_than_outpost_allows_is_told() {
    let mut entries = example();
    entries[9]["text"] = json!("x".repeat(64 * 1024 * 1024));
    let store = Store::of(&entries);
    let recording = store.open();
    let session = recording.session();
    adds_up(session);
    assert_eq!((session.nodes, session.steps.len(), session.report.records.unreadable), (14, 3, 1));
    assert_eq!(problem(session, ProblemKind::Refused, "larger than 64 MiB"), store.keys[9]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn damaged_objects_never_bring_the_reader_down(
        damage in proptest::collection::vec((0..15_usize, 0..2_000_usize, any::<u8>(), any::<bool>()), 1..6),
    ) {
        let store = Store::of(&example());
        for (number, at, byte, cuts) in damage {
            let path = match number {
                14 => store.root().join(format!("objects/logs/{LOG}/index.object")),
                number => store.path(number),
            };
            let mut bytes = std::fs::read(&path).unwrap();
            if cuts {
                bytes.truncate(at);
            } else if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            std::fs::write(&path, bytes).unwrap();
        }
        let recording = store.open();
        let session = recording.session();
        adds_up(session);
        chain::summary(&store.objects(), LOG);
        for event in session.events.all() {
            recording.body(event).unwrap();
            recording.raw(event.place).unwrap();
            prop_assert!(recording.origin(event.place).is_some());
        }
        replayed_all(recording.as_ref());
        for step in &session.steps {
            let fork = recording.fork(Cut::After(step.number), Watch::none()).unwrap();
            let path = store.root().join(format!("fork-{}.json", step.number));
            write_new(&path, &fork.rewrite, Watch::none()).unwrap();
            prop_assert_eq!(formats::open(&path, &Patient).unwrap().session().steps.len() as u32, step.number);
        }
    }
}
