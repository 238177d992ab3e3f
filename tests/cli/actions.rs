//! `fork`, `revert`, `undo`: what is on disk afterwards.

use super::*;

fn steps(path: &Path) -> Vec<Value> {
    stepline(["steps", text(path), "--json"]).json()["steps"].as_array().unwrap().clone()
}

/// Steps as a cut after the last of them must leave them: the same in everything. Only where a turn goes on over a
/// question is the last one shorter: a question's fork ends with its answer, a prompt's before the next question is
/// asked. Then what the turn brought is left out here.
fn kept(steps: &[Value], original: &[Value]) -> Vec<Value> {
    let mut steps = steps.to_vec();
    let last = steps.len() - 1;
    let asks = |index: usize| original.get(index).is_some_and(|step| step["kind"] == "questionAnswer");
    for (index, step) in steps.iter_mut().enumerate() {
        let fields = step.as_object_mut().unwrap();
        // The fork's last node has nothing after it.
        fields.remove("forkTargetNodeId");
        if index == last && (asks(last) || asks(last + 1)) {
            for field in ["endedAt", "events", "usage", "markers", "outcome", "model"] {
                fields.remove(field);
            }
        }
    }
    steps
}

#[test]
fn a_fork_of_every_step_holds_that_step_and_all_before_it() {
    let (folder, path) = copy_of_sample();
    let before = fs::read(&path).unwrap();
    let original = steps(&path);
    for number in 1..=original.len() {
        let receipt = stepline(["fork", text(&path), "--step", &number.to_string(), "--json"]).json();
        assert_eq!(receipt["steps"], number);
        assert_eq!(receipt["from"]["sessionId"], "5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10");
        assert_eq!(receipt["from"]["stepNumber"], number);
        let forked = PathBuf::from(receipt["path"].as_str().unwrap());
        assert_eq!(forked.parent(), Some(folder.path()), "beside the original");
        let id = receipt["sessionId"].as_str().unwrap();
        assert_eq!(forked.file_stem().unwrap(), id);
        assert!(receipt["resumeCommand"].as_str().unwrap().starts_with("claude --resume "));
        let document = stepline(["steps", text(&forked), "--json"]).json();
        assert_eq!(document["session"]["id"], id);
        assert_eq!(document["session"]["branches"], 0, "the active chain only");
        assert_eq!(document["session"]["parent"]["sessionId"], "5f0c2a9e-3b7d-4c1a-9e2f-7d1b6a4c8e10");
        let copies = kept(document["steps"].as_array().unwrap(), &original);
        assert_eq!(copies, kept(&original[..number], &original), "fork of {number}");
        assert_eq!(stepline(["check", text(&forked), "--json"]).json()["problems"], serde_json::json!([]));
    }
    assert_eq!(fs::read(&path).unwrap(), before, "the original is untouched");
}

#[test]
fn a_fork_of_a_fork_is_right_too() {
    let (folder, path) = copy_of_sample();
    let first = folder.path().join("first.jsonl");
    stepline(["fork", text(&path), "--step", "9", "--out", text(&first), "--json"]).json();
    let second = folder.path().join("second.jsonl");
    let receipt = stepline(["fork", text(&first), "--step", "4", "--out", text(&second), "--json"]).json();
    assert_eq!(receipt["steps"], 4);
    let original = steps(&path);
    assert_eq!(kept(&steps(&second), &original), kept(&original[..4], &original));
}

#[test]
fn a_fork_never_writes_over_a_file() {
    let (folder, path) = copy_of_sample();
    let taken = folder.path().join("taken.jsonl");
    fs::write(&taken, "mine").unwrap();
    let ended = stepline(["fork", text(&path), "--step", "2", "--out", text(&taken)]);
    assert_eq!(ended.status, 1);
    assert!(ended.err.contains("already"), "{}", ended.err);
    assert_eq!(fs::read_to_string(&taken).unwrap(), "mine");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
}

#[test]
fn fork_before_leaves_the_step_out() {
    let (_folder, path) = copy_of_sample();
    let receipt = stepline(["fork", text(&path), "--step", "5", "--before", "--json"]).json();
    assert_eq!(receipt["steps"], 4);
    let refused = stepline(["fork", text(&path), "--step", "1", "--before"]);
    assert_eq!(refused.status, 1, "{}", refused.err);
}

#[test]
fn a_preview_lists_what_goes_and_writes_nothing() {
    let (folder, path) = copy_of_sample();
    let before = fs::read(&path).unwrap();
    let preview = stepline(["revert", text(&path), "--step", "9", "--preview", "--json"]).json();
    assert_eq!(preview["stepNumber"], 9);
    assert_eq!(preview["keepsSteps"], 8);
    assert_eq!(preview["drops"]["steps"], 7);
    assert_eq!(preview["prefillText"], "Now make it survive a restart");
    assert_eq!(preview["wouldRefuse"], Value::Null);
    let actions = preview["fileActions"].as_array().unwrap();
    let action = |path: &str| actions.iter().find(|action| action["path"] == path).map(|action| action["kind"].clone());
    assert_eq!(action("/home/ada/shop/src/cart.py"), Some("restore".into()));
    assert_eq!(action("/home/ada/shop/README.ja.md"), Some("delete".into()));
    let commands = preview["irreversible"].as_array().unwrap();
    assert!(commands.iter().any(|command| command["tool"] == "Bash"));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn revert_then_undo_is_the_identity() {
    let (folder, path) = copy_of_sample();
    let before = fs::read(&path).unwrap();
    set_mode(&path, 0o640);
    let original = steps(&path);
    for number in 2..=original.len() {
        let done = stepline(["revert", text(&path), "--step", &number.to_string(), "--yes", "--json"]).json();
        assert_eq!(done["keepsSteps"], number - 1);
        let receipt = PathBuf::from(done["receipt"].as_str().unwrap());
        assert_eq!(fs::read(done["backup"].as_str().unwrap()).unwrap(), before, "the backup is the old file");
        let left = steps(&path);
        assert_eq!(kept(&left, &original), kept(&original[..number - 1], &original), "revert of {number}");
        assert_eq!(mode(&path), 0o640, "permissions stay");
        let branches = stepline(["steps", text(&path), "--json"]).json()["session"]["branches"].as_u64().unwrap();
        assert!(branches <= 1, "revert of {number}: {branches} branches");

        let undone = stepline(["undo", text(&receipt), "--json"]).json();
        assert_eq!(undone["stepNumber"], number);
        assert_eq!(fs::read(&path).unwrap(), before, "undo of {number} restores every byte");
        assert_eq!(mode(&path), 0o640);
        let again = stepline(["undo", text(&receipt)]);
        assert_eq!(again.status, 1);
        assert!(again.err.contains("undone already"), "{}", again.err);
        fs::remove_file(&receipt).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn the_first_step_cannot_be_reverted_and_the_preview_says_why() {
    let (_folder, path) = copy_of_sample();
    let ended = stepline(["revert", text(&path), "--step", "1", "--preview", "--json"]);
    assert_eq!(ended.status, 1);
    let preview: Value = serde_json::from_str(&ended.out).unwrap();
    assert!(preview["wouldRefuse"].as_str().unwrap().contains("empty session"), "{preview}");
    assert_eq!(stepline(["revert", text(&path), "--step", "1", "--yes"]).status, 1);
}

#[test]
fn a_file_that_is_being_written_is_not_reverted() {
    let (_folder, path) = copy_of_sample();
    let before = fs::read(&path).unwrap();
    // Another process that holds the file open for appending, as an agent's log writer may.
    let mut writer = Command::new("sh")
        .args(["-c", "exec 3>>\"$1\"; echo ready; read -r line", "sh", text(&path)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(writer.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let ended = stepline(["revert", text(&path), "--step", "5", "--yes"]);
    assert_eq!(ended.status, 1, "{}", ended.err);
    assert!(ended.err.contains("open for writing"), "{}", ended.err);
    let preview = stepline(["revert", text(&path), "--step", "5", "--preview", "--json"]);
    assert_eq!(preview.status, 1);
    assert!(serde_json::from_str::<Value>(&preview.out).unwrap()["wouldRefuse"].is_string());
    drop(writer.stdin.take());
    writer.wait().unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn undo_refuses_when_the_file_was_written_since() {
    let (_folder, path) = copy_of_sample();
    let done = stepline(["revert", text(&path), "--step", "5", "--yes", "--json"]).json();
    let mut content = fs::read(&path).unwrap();
    content.extend(b"{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"x\"}\n");
    fs::write(&path, &content).unwrap();
    let ended = stepline(["undo", done["receipt"].as_str().unwrap()]);
    assert_eq!(ended.status, 1);
    assert!(ended.err.contains("has changed"), "{}", ended.err);
    assert_eq!(fs::read(&path).unwrap(), content, "the new work is still there");
}

#[test]
fn a_receipt_that_names_another_folder_is_refused() {
    let (folder, path) = copy_of_sample();
    let done = stepline(["revert", text(&path), "--step", "5", "--yes", "--json"]).json();
    let receipt = PathBuf::from(done["receipt"].as_str().unwrap());
    let elsewhere = tempfile::tempdir().unwrap();
    let victim = elsewhere.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let forged =
        fs::read_to_string(&receipt).unwrap().replace(&format!("\"{name}\""), &format!("\"{}\"", text(&victim)));
    fs::write(&receipt, forged).unwrap();
    let ended = stepline(["undo", text(&receipt)]);
    assert_eq!(ended.status, 3, "{}", ended.err);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    drop(folder);
}

#[test]
fn reverts_are_undone_newest_first_and_move_with_their_folder() {
    let (folder, path) = copy_of_sample();
    let before = fs::read(&path).unwrap();
    let first = stepline(["revert", text(&path), "--step", "9", "--yes", "--json"]).json();
    let second = stepline(["revert", text(&path), "--step", "5", "--yes", "--json"]).json();
    let early = stepline(["undo", first["receipt"].as_str().unwrap()]);
    assert_eq!(early.status, 1, "the file is not what the first revert left");
    let moved = tempfile::tempdir().unwrap();
    let elsewhere = moved.path().join("moved");
    fs::rename(folder.path(), &elsewhere).unwrap();
    for receipt in [second, first] {
        let name = Path::new(receipt["receipt"].as_str().unwrap()).file_name().unwrap().to_owned();
        stepline(["undo", text(&elsewhere.join(name)), "--json"]).json();
    }
    assert_eq!(fs::read(elsewhere.join(path.file_name().unwrap())).unwrap(), before);
}

#[test]
fn a_backup_that_was_changed_is_not_put_back() {
    let (_folder, path) = copy_of_sample();
    let done = stepline(["revert", text(&path), "--step", "5", "--yes", "--json"]).json();
    let backup = done["backup"].as_str().unwrap();
    let mut content = fs::read(backup).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(backup, content).unwrap();
    let left = fs::read(&path).unwrap();
    let ended = stepline(["undo", done["receipt"].as_str().unwrap()]);
    assert_eq!(ended.status, 1);
    assert!(ended.err.contains("backup is not what"), "{}", ended.err);
    assert_eq!(fs::read(&path).unwrap(), left);
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_resolved_before_a_revert() {
    let (folder, path) = copy_of_sample();
    let links = tempfile::tempdir().unwrap();
    let link = links.path().join("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    stepline(["revert", text(&link), "--step", "5", "--yes", "--json"]).json();
    assert!(link.symlink_metadata().unwrap().file_type().is_symlink(), "the link is still a link");
    assert_eq!(steps(&path).len(), 4);
    assert_eq!(fs::read_dir(links.path()).unwrap().count(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "backup and receipt are beside the file itself");
}

fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}
