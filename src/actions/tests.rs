//! Actions that are called off midway, and files that change under them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::formats::{self, Cut, Observer, Patient, Recording};
use crate::model::Timestamp;
use crate::store::{Busy, Watch, find_receipts};

const NOW: Timestamp = Timestamp(1_796_000_000_000);
const STEPS: u32 = 20;

/// A session of about 1.5 MB in a folder of its own.
fn session() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let mut out = File::create(&path).unwrap();
    let mut parent = serde_json::Value::Null;
    for number in 0..STEPS {
        let (prompt, answer) = (format!("p{number}"), format!("a{number}"));
        let at = |second: u32| format!("2026-11-02T08:{:02}:{second:02}.000Z", number % 60);
        let told = json!({"parentUuid": parent, "isSidechain": false, "type": "user", "uuid": prompt, "sessionId": "s",
            "timestamp": at(1), "message": {"role": "user", "content": format!("Do thing {number}")}});
        let said = json!({"parentUuid": prompt, "isSidechain": false, "type": "assistant", "uuid": answer,
            "sessionId": "s", "timestamp": at(2), "message": {"id": format!("m{number}"), "role": "assistant",
            "model": "claude", "content": [{"type": "text", "text": "words \"and\" more\n".repeat(4_000)}]}});
        writeln!(out, "{told}\n{said}").unwrap();
        parent = json!(answer);
    }
    (folder, path)
}

fn open(path: &Path) -> Arc<dyn Recording> {
    formats::open(path, &Patient).unwrap()
}

/// Gives the session an agent with a file of 300 KB, which a call of its first step started.
fn add_agent(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let call = json!({"parentUuid": "p0", "isSidechain": false, "type": "assistant", "uuid": "c0", "sessionId": "s",
        "timestamp": "2026-11-02T08:00:01.100Z", "message": {"id": "mc", "role": "assistant", "model": "claude",
        "content": [{"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "Look"}}]}});
    let result = json!({"parentUuid": "c0", "isSidechain": false, "type": "user", "uuid": "r0", "sessionId": "s",
        "timestamp": "2026-11-02T08:00:01.200Z", "message": {"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "seen"}]}});
    let rest = rest.replacen("\"parentUuid\":\"p0\"", "\"parentUuid\":\"r0\"", 1);
    fs::write(path, format!("{first}\n{call}\n{result}\n{rest}")).unwrap();
    let agents = path.with_extension("").join("subagents");
    fs::create_dir_all(&agents).unwrap();
    let said = json!({"parentUuid": null, "isSidechain": true, "agentId": "a1", "type": "assistant", "uuid": "x0",
        "sessionId": "s", "timestamp": "2026-11-02T08:00:01.150Z", "message": {"id": "mx", "role": "assistant",
        "model": "claude", "content": [{"type": "text", "text": "words ".repeat(50_000)}]}});
    fs::write(agents.join("agent-a1.jsonl"), format!("{said}\n")).unwrap();
    fs::write(agents.join("agent-a1.meta.json"), r#"{"toolUseId":"t1"}"#).unwrap();
}

/// All files in and below a folder with what is in them; folders have nothing.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(contents(&path));
            found.push((path, Vec::new()));
        } else {
            let content = fs::read(&path).unwrap();
            found.push((path, content));
        }
    }
    found.sort();
    found
}

fn fork(recording: &dyn Recording, watch: Watch<'_>) -> Result<ForkReceipt, ActionError> {
    apply_fork(&plan_fork(recording, Cut::After(STEPS), None, watch)?, watch)
}

fn revert(recording: &dyn Recording, step: u32, watch: Watch<'_>) -> Result<RevertDone, ActionError> {
    apply_revert(&plan_revert(recording, step, watch)?, NOW, watch)
}

/// Runs an action again and again, called off at its first report, at its second and so on, until it is not called off.
/// Each time but the last everything is as it was.
fn call_off_everywhere(folder: &Path, act: impl Fn(Watch<'_>) -> Result<(), ActionError>) {
    let before = contents(folder);
    let mut reports = 0;
    loop {
        let (seen, cancelled) = (AtomicU64::new(0), AtomicBool::new(false));
        let progress = |done: u64, total: u64| {
            assert!(done <= total, "{done} of {total}");
            if seen.fetch_add(1, Ordering::Relaxed) == reports {
                cancelled.store(true, Ordering::Relaxed);
            }
        };
        match act(Watch::new(&cancelled, &progress)) {
            Ok(()) => break,
            Err(error) => assert!(error.is_cancelled(), "{error}"),
        }
        assert!(contents(folder) == before, "called off after report {reports}");
        reports += 1;
    }
    assert!(reports >= 3, "{reports} reports on the way");
}

#[test]
fn an_action_that_is_called_off_leaves_nothing_behind() {
    let (folder, path) = session();
    let recording = open(&path);
    call_off_everywhere(folder.path(), |watch| fork(&*recording, watch).map(drop));
    call_off_everywhere(folder.path(), |watch| revert(&*recording, STEPS, watch).map(drop));
    let (receipt, _) = find_receipts(&path).remove(0);
    call_off_everywhere(folder.path(), |watch| undo_revert(&receipt, NOW, watch).map(drop));
}

#[test]
fn a_fork_with_companions_that_is_called_off_leaves_no_file_and_no_folder() {
    let (folder, path) = session();
    add_agent(&path);
    let recording = open(&path);
    assert_eq!(plan_fork(&*recording, Cut::After(STEPS), None, Watch::none()).unwrap().fork.companions.len(), 2);
    call_off_everywhere(folder.path(), |watch| fork(&*recording, watch).map(drop));
    let forks = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(forks, 4, "two sessions and the folder of each");
}

#[test]
fn a_fork_that_finds_a_file_in_its_place_leaves_that_alone() {
    let (folder, path) = session();
    add_agent(&path);
    let plan = plan_fork(&*open(&path), Cut::After(STEPS), None, Watch::none()).unwrap();
    let taken = folder.path().join(&plan.fork.companions[1].0);
    fs::create_dir_all(taken.parent().unwrap()).unwrap();
    fs::write(&taken, "mine").unwrap();
    let before = contents(folder.path());
    let error = apply_fork(&plan, Watch::none()).unwrap_err();
    assert!(error.to_string().starts_with("there is a file of that name already"), "{error}");
    assert!(contents(folder.path()) == before);
}

#[test]
fn progress_goes_up_to_all_of_it() {
    let (_folder, path) = session();
    add_agent(&path);
    let recording = open(&path);
    let plan = plan_fork(&*recording, Cut::After(STEPS), None, Watch::none()).unwrap();
    let (told, never) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let progress = |done: u64, total: u64| told.lock().unwrap().push((done, total));
    apply_fork(&plan, Watch::new(&never, &progress)).unwrap();
    let told = told.into_inner().unwrap();
    let total = told[0].1;
    assert!(told.is_sorted() && told.iter().all(|(_, now)| *now == total), "{told:?}");
    assert_eq!(told.last(), Some(&(total, total)));
    let len = fs::metadata(&path).unwrap().len();
    assert!(total > len, "the session and what its agent wrote");
}

/// What happens to a file while it is open.
fn truncate(path: &Path) {
    File::options().write(true).open(path).unwrap().set_len(1000).unwrap();
}

fn rewrite_shorter(path: &Path) {
    fs::write(path, "{\"type\":\"summary\",\"summary\":\"other\"}\n").unwrap();
}

fn rewrite_longer(path: &Path) {
    let len = fs::metadata(path).unwrap().len();
    fs::write(path, vec![b'x'; usize::try_from(len).unwrap() + 5000]).unwrap();
}

fn replace(path: &Path) {
    let other = path.with_extension("other");
    fs::write(&other, "{\"type\":\"summary\",\"summary\":\"other\"}\n").unwrap();
    fs::rename(&other, path).unwrap();
}

fn delete(path: &Path) {
    fs::remove_file(path).unwrap();
}

type Harm = fn(&Path);

const HARMS: [(&str, Harm); 5] = [
    ("truncated", truncate),
    ("written again, shorter", rewrite_shorter),
    ("written again, longer", rewrite_longer),
    ("replaced", replace),
    ("deleted", delete),
];

#[test]
fn a_file_that_changes_under_an_open_session_brings_nothing_down() {
    for (what, harm) in HARMS {
        let (folder, path) = session();
        let recording = open(&path);
        harm(&path);
        let before = contents(folder.path());
        let session = recording.session();
        // What is in memory is still there; texts come, or one sentence says why not.
        assert_eq!(session.steps.len(), STEPS as usize);
        for event in session.events.iter() {
            let (body, raw) = (recording.body(&event), recording.raw(event.place));
            if let (Err(a), Err(b)) = (&body, &raw) {
                assert!([a, b].iter().all(|error| error.to_string().contains("shorter")), "{what}: {a}; {b}");
            }
        }
        for step in &session.steps {
            let _ = recording.prompt(step.number);
            let _ = recording.replay(step.number, &mut |_| Ok(()));
        }
        let _ = recording.replay_turns();
        // The file behind the name is another one, or none: nothing is taken out of it.
        let plan = plan_revert(&*recording, STEPS, Watch::none());
        if let Ok(plan) = plan {
            assert!(plan.would_refuse.is_some(), "{what}");
            let error = apply_revert(&plan, NOW, Watch::none()).unwrap_err();
            assert!(!error.to_string().is_empty());
        }
        // A file that is read by its handle is still whole when its name is gone: then it can be forked.
        let kept = matches!(what, "replaced" | "deleted");
        match fork(&*recording, Watch::none()) {
            Ok(receipt) => {
                assert!(kept, "{what}");
                assert_eq!(open(&receipt.path).session().steps.len(), STEPS as usize);
                fs::remove_file(receipt.path).unwrap();
            }
            Err(error) => {
                assert!(!kept && error.to_string().starts_with("the file"), "{what}: {error}");
            }
        }
        assert!(contents(folder.path()) == before, "{what}: nothing is written and nothing left behind");
    }
}

#[test]
fn a_file_that_changes_while_it_is_forked_or_reverted_is_refused() {
    for (what, harm) in HARMS {
        for action in ["fork", "revert"] {
            let (folder, path) = session();
            let recording = open(&path);
            let (harmed, never) = (AtomicBool::new(false), AtomicBool::new(false));
            let progress = |done: u64, total: u64| {
                if done > total / 4 && done < total && !harmed.swap(true, Ordering::Relaxed) {
                    harm(&path);
                }
            };
            let watch = Watch::new(&never, &progress);
            let result = match action {
                "fork" => fork(&*recording, watch).map(|receipt| fs::remove_file(receipt.path).unwrap()),
                _ => plan_revert(&*recording, STEPS, Watch::none())
                    .and_then(|plan| apply_revert(&plan, NOW, watch))
                    .map(drop),
            };
            assert!(harmed.load(Ordering::Relaxed), "{action}, {what}: long enough to be harmed");
            let is_kept = action == "fork" && matches!(what, "replaced" | "deleted");
            assert_eq!(result.is_ok(), is_kept, "{action}, {what}: {result:?}");
            let names: Vec<_> = contents(folder.path()).into_iter().map(|(path, _)| path).collect();
            let left: &[PathBuf] = if what == "deleted" { &[] } else { std::slice::from_ref(&path) };
            assert_eq!(names, left, "{action}, {what}");
        }
    }
}

#[test]
fn the_reason_of_a_refused_revert_is_plain() {
    let (_folder, path) = session();
    let recording = open(&path);
    let plan = plan_revert(&*recording, STEPS, Watch::none()).unwrap();
    delete(&path);
    let error = apply_revert(&plan, NOW, Watch::none()).unwrap_err();
    assert_eq!(error.to_string(), format!("the file is not there any more: {}", path.display()));
    let (_folder, path) = session();
    let plan = plan_revert(&*open(&path), STEPS, Watch::none()).unwrap();
    truncate(&path);
    let error = apply_revert(&plan, NOW, Watch::none()).unwrap_err();
    assert!(matches!(&error, ActionError::Receipt(crate::store::ReceiptError::Busy(Busy::Changed { .. }))), "{error}");
}

/// Harms a file when a part of it has been read.
struct Harming<'a> {
    watch: Watch<'a>,
}

impl Observer for Harming<'_> {
    fn watch(&self) -> Watch<'_> {
        self.watch
    }

    fn partial(&self, recording: Arc<dyn Recording>) {
        let _ = recording.session().events.iter().map(|event| recording.body(&event)).filter(Result::is_err).count();
    }

    fn wants_partial(&self) -> bool {
        true
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_brings_nothing_down() {
    for (what, harm) in HARMS {
        let (_folder, path) = session();
        let (harmed, never) = (AtomicBool::new(false), AtomicBool::new(false));
        let progress = |done: u64, total: u64| {
            if done > total / 4 && !harmed.swap(true, Ordering::Relaxed) {
                harm(&path);
            }
        };
        let opened = formats::open(&path, &Harming { watch: Watch::new(&never, &progress) });
        assert!(harmed.load(Ordering::Relaxed), "{what}");
        match opened {
            Ok(recording) => {
                for event in recording.session().events.iter() {
                    let _ = (recording.body(&event), recording.raw(event.place));
                }
                let forked = fork(&*recording, Watch::none());
                assert!(matches!(what, "replaced" | "deleted") || forked.is_err(), "{what}");
            }
            Err(error) => assert!(error.to_string().contains("the file"), "{what}: {error}"),
        }
    }
}
