//! Which files are journals.

use serde_json::json;

use super::*;
use crate::formats::detect::{Sample, Shape};

fn points(shape: Shape, records: Value) -> u32 {
    let Value::Array(records) = records else { panic!("a list of records") };
    (crate::formats::outpost::JOURNAL.recognise)(&Sample { path: PathBuf::new(), shape, records })
}

#[test]
fn journals_are_recognised_by_their_entries() {
    let array = Shape::Array { start: 0 };
    let entry = json!([{ "at": "2026-02-03T10:00:00.000Z", "kind": "dispatch-start", "seq": 1, "source": "sandbox", "scope": {} }]);
    assert_eq!(points(array, entry.clone()), 10);
    assert_eq!(points(Shape::Lines, entry.clone()), 10);
    assert_eq!(points(array, json!([7, { "kind": "later", "seq": 1, "source": "later", "scope": {} }])), 10);
    assert_eq!(points(array, json!([{ "kind": "prompt", "source": "agent", "pass": 1, "text": "Say hi." }])), 6);
    let old = json!([{ "at": "2026-02-03T10:00:00.000Z", "kind": "tool", "name": "Bash" }]);
    assert_eq!((points(array, old.clone()), points(Shape::Lines, old)), (4, 0));
    assert_eq!(points(Shape::Document, entry), 0);
}

#[test]
fn what_is_no_journal_is_not_taken_for_one() {
    let nested = json!([{ "seq": 1, "at": "2026-02-03T10:00:00.000Z", "source": "agent", "scope": {}, "event": { "kind": "prompt" } }]);
    assert_eq!(points(Shape::Lines, nested), 0);
    for records in [
        json!([]),
        json!([1, "two", [3]]),
        json!([{ "kind": 7, "at": "x", "source": "agent", "seq": 1 }]),
        json!([{ "kind": "prompt", "source": "somewhere" }]),
        json!([{ "kind": "animal", "at": "noon" }]),
        json!([{ "type": "user", "uuid": "u", "message": {} }]),
    ] {
        assert_eq!(points(Shape::Lines, records.clone()), 0, "{records}");
    }
}
