//! Files that change while they are open: nothing breaks, what is in memory stays, and one sentence says what happened.
//! Work that is called off: nothing of it is left.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use super::bodies::{Slot, TextKey};
use super::document::State;
use super::picker::{FilePicker, Pick};
use super::*;
use crate::formats::Cut;

const PATIENCE: Duration = Duration::from_secs(20);

struct NoDialog;

impl FilePicker for NoDialog {
    fn pick(&self, _: Pick) -> Result<Vec<PathBuf>, String> {
        Err("There is no file dialog here".to_owned())
    }
}

/// A workspace with a copy of the sample session open, and the folder with it.
struct Opened {
    workspace: Workspace,
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Opened {
    fn sample() -> Self {
        Self::with(&sample())
    }

    /// The sample with a first prompt of 16 MB: nothing about it is over at once.
    fn long() -> Self {
        let text = String::from_utf8(sample()).unwrap();
        let (before, after) = text.split_once("\"content\":\"").unwrap();
        Self::with(format!("{before}\"content\":\"{}{after}", "long ".repeat(16_000_000 / 5)).as_bytes())
    }

    fn with(content: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cart.jsonl");
        fs::write(&path, content).unwrap();
        let surroundings = Surroundings {
            wake: Arc::new(|| ()),
            picker: Arc::new(NoDialog),
            settings_path: None,
            claude_projects: None,
            databases: Vec::new(),
        };
        let mut workspace = Workspace::new(surroundings);
        workspace.open(std::slice::from_ref(&path));
        let mut opened = Self { workspace, folder, path };
        opened.wait_for("the session", |workspace| workspace.active().unwrap().is_whole());
        opened
    }

    fn wait_for(&mut self, what: &str, done: impl Fn(&Workspace) -> bool) {
        let start = Instant::now();
        while !done(&self.workspace) {
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}: {:?}", self.notices());
            std::thread::sleep(Duration::from_millis(5));
            self.workspace.drain(Duration::from_millis(50));
        }
    }

    fn notices(&self) -> Vec<String> {
        self.workspace.notices.history().map(|notice| notice.text.clone()).collect()
    }

    fn has_notice(workspace: &Workspace, part: &str) -> bool {
        workspace.notices.history().any(|notice| notice.text.contains(part))
    }

    /// Asks for all texts of the session; each comes, or a sentence why not.
    fn read_everything(&mut self) {
        let session = self.workspace.active().unwrap().session().unwrap();
        let mut keys: Vec<TextKey> = session.steps.iter().map(|step| TextKey::Prompt(step.number)).collect();
        for (index, event) in session.events.iter().enumerate() {
            keys.extend([TextKey::Event(index), TextKey::Raw(event.place)]);
        }
        for key in keys {
            self.workspace.handle(Request::Read(key));
            self.wait_for("a text", |workspace| {
                // A session that was read anew meanwhile has another text there, or none.
                match workspace.active().unwrap().bodies.get(key) {
                    Some(Slot::Failed(sentence)) => !sentence.is_empty(),
                    Some(Slot::Ready(_)) | None => true,
                    Some(Slot::Reading | Slot::Picture(_)) => false,
                }
            });
        }
    }

    /// Walks the session as its reader does: steps, markers, events.
    fn walk(&mut self) {
        for command in [Command::FirstStep, Command::NextMarker, Command::NextStep, Command::LastStep] {
            self.workspace.run(command);
        }
        let events = self.workspace.active().unwrap().session().unwrap().events.len();
        for index in [0, events / 2, events.saturating_sub(1), events + 10] {
            self.workspace.handle(Request::SelectEvent(index));
        }
        self.workspace.run(Command::Replay);
        self.workspace.run(Command::PlayNextMarker);
        self.workspace.run(Command::StopReplay);
    }

    fn files(&self) -> usize {
        fs::read_dir(self.folder.path()).unwrap().count()
    }

    fn cancel(&mut self) {
        let document = self.workspace.active().unwrap().id;
        self.workspace.handle(Request::Cancel(document));
    }

    fn preview(&mut self, step: u32) {
        self.workspace.handle(Request::Revert(step));
        self.wait_for("the preview", |workspace| {
            matches!(workspace.dialog, Some(Dialog::Revert { plan: Some(_), .. }))
        });
    }
}

fn sample() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/cart-refactor.jsonl")).unwrap()
}

fn truncate(path: &Path, len: u64) {
    File::options().write(true).open(path).unwrap().set_len(len).unwrap();
}

#[test]
fn a_truncated_file_is_shown_as_it_is_now_and_one_sentence_says_so() {
    let mut opened = Opened::sample();
    truncate(&opened.path, 20_000);
    opened.read_everything();
    opened.walk();
    opened.wait_for("the word of it", |workspace| Opened::has_notice(workspace, "The file became shorter on disk"));
    let document = opened.workspace.active().unwrap();
    assert!(document.is_whole() && !document.gone);
    assert!(document.session().unwrap().steps.len() < 15);
    opened.read_everything();
    opened.walk();
}

#[test]
fn actions_on_a_file_that_was_just_truncated_are_refused_with_a_reason() {
    let mut opened = Opened::sample();
    truncate(&opened.path, 20_000);
    opened.workspace.handle(Request::Fork(Cut::After(9)));
    opened.wait_for("the refusal", |workspace| Opened::has_notice(workspace, "Fork: the file became shorter"));
    assert_eq!(opened.files(), 1, "nothing of the fork is left");
}

#[test]
fn an_emptied_file_leaves_what_was_read_and_refuses_actions() {
    let mut opened = Opened::sample();
    truncate(&opened.path, 0);
    opened.wait_for("the word of it", |workspace| workspace.active().unwrap().gone);
    assert!(Opened::has_notice(&opened.workspace, "What is shown was read before; now "), "{:?}", opened.notices());
    assert!(Opened::has_notice(&opened.workspace, "; put the file back and reload, or close the tab: "));
    opened.read_everything();
    opened.walk();
    assert_eq!(opened.workspace.active().unwrap().session().unwrap().steps.len(), 15);
    opened.workspace.run(Command::Fork);
    assert!(Opened::has_notice(&opened.workspace, "Fork: The file is gone"), "{:?}", opened.notices());
}

#[test]
fn a_replaced_file_is_shown_as_it_is_now_and_one_sentence_says_so() {
    let mut opened = Opened::sample();
    let other = opened.folder.path().join("other");
    let text = String::from_utf8(sample()).unwrap();
    fs::write(&other, text.replace("5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10", "00000000-0000-4000-8000-000000000009"))
        .unwrap();
    fs::rename(&other, &opened.path).unwrap();
    opened.read_everything();
    opened.walk();
    opened.wait_for("the word of it", |workspace| {
        Opened::has_notice(workspace, "The file was replaced by one of another session")
    });
    assert_eq!(opened.workspace.active().unwrap().session().unwrap().id, "00000000-0000-4000-8000-000000000009");
    opened.read_everything();
}

#[test]
fn a_deleted_file_leaves_what_was_read_refuses_actions_and_comes_back() {
    let mut opened = Opened::sample();
    opened.preview(9);
    fs::remove_file(&opened.path).unwrap();
    opened.workspace.handle(Request::ConfirmRevert);
    opened.wait_for("the refusal", |workspace| Opened::has_notice(workspace, "Revert: the file is not there any more"));
    opened.wait_for("the word of it", |workspace| workspace.active().unwrap().gone);
    opened.read_everything();
    opened.walk();
    for command in [Command::Fork, Command::Revert] {
        opened.workspace.run(command);
        assert!(command.refusal(&opened.workspace).unwrap().contains("put it back and reload"));
    }
    assert_eq!(opened.files(), 0);
    fs::write(&opened.path, sample()).unwrap();
    opened.wait_for("it to be back", |workspace| !workspace.active().unwrap().gone);
    assert!(Command::Fork.refusal(&opened.workspace).is_none());
}

#[test]
fn a_revert_of_ones_own_is_no_surprise() {
    let mut opened = Opened::sample();
    opened.preview(9);
    opened.workspace.handle(Request::ConfirmRevert);
    opened.wait_for("the revert", |workspace| workspace.active().unwrap().session().unwrap().steps.len() == 8);
    opened.wait_for("rest", |workspace| !workspace.is_busy());
    assert!(!Opened::has_notice(&opened.workspace, "shorter"), "{:?}", opened.notices());
}

#[test]
fn a_file_that_is_gone_when_it_is_read_says_why_it_did_not_open() {
    let mut opened = Opened::sample();
    let never = opened.folder.path().join("never.jsonl");
    opened.workspace.open(&[never]);
    opened.wait_for("the sentence", |workspace| matches!(workspace.active().unwrap().state, State::Failed(_)));
}

#[test]
fn a_fork_that_is_called_off_leaves_nothing_and_says_so() {
    let mut opened = Opened::long();
    opened.workspace.handle(Request::Fork(Cut::After(15)));
    opened.cancel();
    opened.wait_for("the word of it", |workspace| {
        Opened::has_notice(workspace, "Fork cancelled; nothing was written") && !workspace.is_busy()
    });
    assert_eq!(opened.files(), 1);
    assert_eq!(opened.workspace.documents().len(), 1);
}

#[test]
fn a_revert_and_an_undo_that_are_called_off_leave_everything_as_it_was() {
    let mut opened = Opened::long();
    opened.preview(9);
    opened.workspace.handle(Request::ConfirmRevert);
    // Closing the preview means no.
    opened.workspace.handle(Request::CloseDialog);
    opened
        .wait_for("the word of it", |workspace| Opened::has_notice(workspace, "Revert cancelled; nothing was written"));
    assert_eq!(opened.files(), 1);

    opened.preview(9);
    opened.workspace.handle(Request::ConfirmRevert);
    opened.wait_for("the revert", |workspace| workspace.active().unwrap().session().unwrap().steps.len() == 8);
    let reverted = fs::read(&opened.path).unwrap();
    opened.wait_for("the receipt", |workspace| !workspace.active().unwrap().receipts.is_empty());
    opened.workspace.run(Command::UndoRevert);
    opened.cancel();
    opened.wait_for("the word of it", |workspace| Opened::has_notice(workspace, "Undo cancelled; nothing was written"));
    assert!(fs::read(&opened.path).unwrap() == reverted);
    assert_eq!(opened.files(), 3, "the file, its backup and the receipt");
}

#[test]
fn a_preview_that_is_closed_is_not_worked_out_any_further() {
    let mut opened = Opened::sample();
    opened.workspace.handle(Request::Revert(9));
    opened.workspace.handle(Request::CloseDialog);
    opened.wait_for("rest", |workspace| workspace.active().unwrap().action.is_none());
    assert!(opened.workspace.dialog.is_none());
}

#[test]
fn opening_that_is_called_off_keeps_the_tab_and_says_so() {
    let mut opened = Opened::long();
    let path = opened.path.clone();
    let document = opened.workspace.active().unwrap().id;
    opened.workspace.handle(Request::CloseTab(document));
    opened.workspace.open(&[path]);
    opened.cancel();
    opened.wait_for("the word of it", |workspace| {
        matches!(&workspace.active().unwrap().state, State::Failed(sentence) if sentence.contains("cancelled"))
    });
}

#[test]
fn the_end_of_the_program_waits_for_what_is_written_to_be_cleaned_up() {
    let mut opened = Opened::long();
    opened.workspace.handle(Request::Fork(Cut::After(15)));
    opened.workspace.end();
    assert_eq!(opened.files(), 1);
    // A tab that was closed in the middle of it, too.
    let mut opened = Opened::long();
    opened.workspace.handle(Request::Fork(Cut::After(15)));
    let document = opened.workspace.active().unwrap().id;
    opened.workspace.handle(Request::CloseTab(document));
    opened.workspace.end();
    assert_eq!(opened.files(), 1);
}
