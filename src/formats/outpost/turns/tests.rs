//! The rules one by one, with the results that Outpost's replay rules give for them.

use serde_json::Value;

use super::*;

/// Takes entries given as a JSON array; a `source` of `agent` is added where none is given.
fn derive(entries: &str) -> (Turns, Vec<Role>) {
    let entries: Vec<Value> = serde_json::from_str(entries).unwrap();
    let mut turns = Turns::default();
    let mut roles = Vec::new();
    for (number, mut entry) in entries.into_iter().enumerate() {
        entry.as_object_mut().unwrap().entry("source").or_insert("agent".into());
        let text = entry.to_string();
        roles.push(turns.take(u32::try_from(number).unwrap(), &serde_json::from_str(&text).unwrap()));
    }
    (turns, roles)
}

fn tokens(input: u64, cached: u64, output: u64) -> Tokens {
    Tokens { input, cached, output, ..Tokens::default() }
}

#[test]
fn the_worked_example() {
    let (turns, roles) = derive(
        r#"[{"kind":"prompt","text":"A"},
            {"kind":"usage","tokens":{"input":10,"cached":0,"output":5}},
            {"kind":"quota","message":"limit"},
            {"kind":"fallback","from":{"index":0,"name":"claude"},"to":{"index":1,"name":"codex"},"failure":"quota","message":"limit"},
            {"kind":"prompt","text":"A"},
            {"kind":"conversation","id":"c9"},
            {"kind":"usage","tokens":{"input":3,"cached":0,"output":1}},
            {"kind":"stopped","reason":"steered"},
            {"kind":"steer","mode":"resumed","text":"Use tabs"},
            {"kind":"text","text":"ok"},
            {"kind":"usage","tokens":{"input":4,"cached":0,"output":2}},
            {"kind":"summary","tokens":{"input":7,"cached":0,"output":3}},
            {"kind":"workspace-commits","source":"git","unavailable":"x"},
            {"kind":"dispatch-finished","source":"sandbox","status":"done"}]"#,
    );
    let [first, second, third] = turns.list() else { panic!("three turns") };
    assert_eq!((first.start, first.prompt, first.end, first.events), (0, Some(0), Some(3), 2));
    assert_eq!((first.usage(), first.handover), (tokens(10, 0, 5), Some(3)));
    assert_eq!((second.start, second.end, second.events), (4, Some(8), 3));
    assert_eq!((second.usage(), second.conversation), (tokens(3, 0, 1), Some(5)));
    assert!(second.interrupted && second.continued);
    assert_eq!((third.start, third.prompt, third.end, third.events), (8, None, Some(11), 2));
    assert_eq!((third.usage(), third.changes), (tokens(4, 0, 2), Some(12)));
    assert_eq!(third.resumed_by, [8]);
    assert!(!third.interrupted && !third.continued);
    assert!(turns.list().iter().all(|turn| turns.cause(turn).is_none()));
    assert_eq!(
        roles,
        [
            Role::Starts,
            Role::Event,
            Role::Event,
            Role::HandsOver,
            Role::Starts,
            Role::Event,
            Role::Event,
            Role::Event,
            Role::Starts,
            Role::Event,
            Role::Event,
            Role::Ends,
            Role::Commits,
            Role::Finishes
        ]
    );
}

#[test]
fn only_agents_and_harnesses_make_turns() {
    let (turns, roles) = derive(
        r#"[{"kind":"text","text":"before any turn"},
            {"kind":"prompt","source":"git","text":"no"},
            {"kind":"prompt","source":"harness","text":"yes"},
            {"kind":"operation","id":"a","name":"x","status":"started"},
            {"kind":"phase","name":"running"},
            {"kind":"something-new"},
            {"kind":"something-new","source":"sandbox"},
            {"kind":"summary","tokens":{}},
            {"kind":"warning","message":"after the end"}]"#,
    );
    assert_eq!(turns.list().len(), 1);
    assert_eq!(turns.list()[0].events, 1);
    assert_eq!(roles[5], Role::Event);
    assert!([0, 1, 3, 4, 6, 8].iter().all(|number| roles[*number] == Role::Outside));
}

#[test]
fn instructions_delivered_together_are_one_prompt() {
    let (turns, _) = derive(
        r#"[{"kind":"prompt","text":"A"},{"kind":"text","text":"a"},
            {"kind":"steer","mode":"injected","text":"joins the running turn"},
            {"kind":"steer","mode":"resumed","text":"one"},
            {"kind":"steer","mode":"resumed","text":"two"},
            {"kind":"text","text":"b"},
            {"kind":"steer","mode":"resumed","text":"three"},
            {"kind":"prompt","text":"three, rendered"},
            {"kind":"summary","tokens":{"input":1,"cached":0,"output":1}}]"#,
    );
    let [first, second, third] = turns.list() else { panic!("three turns") };
    assert_eq!(first.events, 2);
    assert_eq!(second.resumed_by, [3, 4]);
    assert_eq!(second.prompt, None);
    assert_eq!((third.start, third.prompt), (6, Some(7)), "the prompt entry replaces the prompt, it starts no turn");
    assert_eq!(third.end, Some(8));
}

#[test]
fn a_summary_covers_the_pass_and_its_last_turn_gets_the_rest() {
    let (turns, _) = derive(
        r#"[{"kind":"prompt","text":"A"},
            {"kind":"usage","tokens":{"input":10,"cached":4,"output":5,"cacheCreated":2}},
            {"kind":"usage","tokens":{"input":1,"cached":1,"output":1}},
            {"kind":"steer","mode":"resumed","text":"one"},
            {"kind":"usage","tokens":{"input":2,"cached":0,"output":50}},
            {"kind":"steer","mode":"resumed","text":"two"},
            {"kind":"message-usage","tokens":{"input":999,"cached":0,"output":999}},
            {"kind":"summary","tokens":{"input":20,"cached":6,"output":40,"cacheCreated":5}}]"#,
    );
    let [first, second, third] = turns.list() else { panic!("three turns") };
    assert_eq!(first.usage(), Tokens { cache_created: Some(2), ..tokens(11, 5, 6) });
    assert_eq!(second.usage(), tokens(2, 0, 50));
    // 20−11−2, 6−5, 40−6−50 but not below zero, 5−2.
    assert_eq!(third.usage(), Tokens { cache_created: Some(3), ..tokens(7, 1, 0) });
}

#[test]
fn a_turn_without_an_end_has_the_error_of_the_dispatch_and_no_usage() {
    let (turns, _) = derive(
        r#"[{"kind":"prompt","text":"A"},
            {"kind":"usage","tokens":{"input":10,"cached":0,"output":5}},
            {"kind":"failure","message":"crashed"},
            {"kind":"prompt","text":"B"},
            {"kind":"dispatch-finished","source":"sandbox","status":"failed","error":{"code":"timeout","message":"late"}}]"#,
    );
    assert_eq!(turns.list()[0].usage(), Tokens::default());
    assert_eq!(turns.cause(&turns.list()[0]), Some(Cause::Dispatch(4)));
    assert_eq!(turns.cause(&turns.list()[1]), Some(Cause::Dispatch(4)));
    assert!(!turns.is_open());

    let (turns, _) = derive(
        r#"[{"kind":"prompt","text":"A"},{"kind":"failure","message":"crashed"},
            {"kind":"dispatch-finished","source":"sandbox","status":"failed"},{"kind":"text","text":"too late"}]"#,
    );
    assert_eq!(turns.cause(&turns.list()[0]), Some(Cause::Event(1)));
    assert_eq!(turns.list()[0].events, 1);

    let (turns, _) = derive(r#"[{"kind":"prompt","text":"A"},{"kind":"text","text":"a"}]"#);
    assert_eq!(turns.cause(&turns.list()[0]), Some(Cause::Nothing));
    assert!(turns.is_open());
}

#[test]
fn later_commits_overwrite_and_close_the_turn() {
    let (turns, roles) = derive(
        r#"[{"kind":"workspace-commits","source":"git","unavailable":"nothing to hang it on"},
            {"kind":"prompt","text":"A"},
            {"kind":"workspace-commits","source":"git","unavailable":"x"},
            {"kind":"text","text":"too late"},
            {"kind":"workspace-commits","source":"git","baseline":{"commit":"c","tree":"t"},"commits":[]}]"#,
    );
    assert_eq!(turns.list()[0].changes, Some(4));
    assert_eq!(turns.list()[0].end, Some(2));
    assert_eq!(turns.list()[0].events, 0);
    assert_eq!(roles[0], Role::Outside);
    assert!(turns.replayable);
}

#[test]
fn decisions_stand_between_events_and_are_none() {
    let (turns, roles) = derive(
        r#"[{"kind":"decision","source":"decision","status":"started"},
            {"kind":"prompt","source":"harness","text":"A"},
            {"kind":"decision","source":"decision","status":"started"},
            {"kind":"other","source":"decision"},
            {"kind":"step","source":"harness","index":1},
            {"kind":"decision","source":"decision","status":"finished"}]"#,
    );
    assert_eq!((turns.list()[0].events, turns.list()[0].decisions), (1, 2));
    assert_eq!(roles, [Role::Outside, Role::Starts, Role::Decision, Role::Outside, Role::Event, Role::Decision]);
}

#[test]
fn a_fallback_outside_a_turn_is_nothing() {
    let (turns, roles) = derive(r#"[{"kind":"prompt","text":"A"},{"kind":"summary","tokens":{}},{"kind":"fallback"}]"#);
    assert_eq!(turns.list()[0].handover, None);
    assert_eq!(roles[2], Role::Outside);
}

#[test]
fn entries_of_old_releases_have_no_source() {
    let mut turns = Turns::default();
    for (number, text) in [
        r#"{"kind":"dispatch-start"}"#,
        r#"{"kind":"prompt","text":"A"}"#,
        r#"{"kind":"text","text":"a"}"#,
        r#"{"kind":"new"}"#,
    ]
    .iter()
    .enumerate()
    {
        turns.take(u32::try_from(number).unwrap(), &serde_json::from_str(text).unwrap());
    }
    assert_eq!(turns.list().len(), 1);
    assert_eq!(turns.list()[0].events, 1);
    assert!(!turns.sourced);
}

#[test]
fn codes_that_replay_does_not_know_are_process() {
    assert_eq!(known_code(Some("timeout")), "timeout");
    assert_eq!(known_code(Some("guard")), "process");
    assert_eq!(known_code(None), "process");
}
