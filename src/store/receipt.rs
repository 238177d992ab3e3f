//! Replacing a file so that it can be put back: a backup of the old bytes and a receipt beside the file.

use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::guard::{Busy, check_quiet, check_unchanged};
use super::rewrite::{replace, sync_folder, write_atomically};
use super::{Identity, ReadError, Rewrite, SourceFile, Watch};
use crate::model::Timestamp;

/// Ends the name of every receipt.
const RECEIPT_SUFFIX: &str = ".stepline-receipt.json";
const BACKUP_SUFFIX: &str = ".stepline-backup";

/// What a revert wrote, and how to take it back. In its file, `path` and `backup` are names beside it: a folder that is
/// moved takes its receipts along, and a receipt speaks of no other folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    pub version: u32,
    /// The file that was written, symbolic links resolved.
    pub path: PathBuf,
    /// Where its bytes from before are.
    pub backup: PathBuf,
    /// The step that was reverted, with everything after it.
    pub step_number: u32,
    /// RFC 3339.
    pub reverted_at: String,
    pub before: Identity,
    /// Of the whole file as it was before.
    pub before_crc32: u32,
    pub after: Identity,
    /// Set once it has been undone; it cannot be undone twice.
    pub undone_at: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    #[error("not a receipt of a revert ({reason}): {path}")]
    NotAReceipt { reason: String, path: PathBuf },
    #[error("this revert was undone already: {path}")]
    Undone { path: PathBuf },
    #[error("the backup is not there any more: {path}")]
    NoBackup { path: PathBuf },
    #[error("the backup is not what the revert kept; nothing was changed: {path}")]
    OtherBackup { path: PathBuf },
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Writes `rewrite` over its own source file and leaves a backup and a receipt beside it.
///
/// Refuses when the file changed since it was opened or when something writes it. The backup is the old file itself
/// under a second name where the file system can do that, so every byte, its times and its permissions are kept.
/// Backup and receipt are there before the file is another one: whenever the program is killed, there is either the old
/// file, or the new one and all that it takes to undo it. Returns the receipt and its path.
pub fn revert_file(
    rewrite: &Rewrite,
    step_number: u32,
    now: Timestamp,
    watch: Watch<'_>,
) -> Result<(Receipt, PathBuf), ReceiptError> {
    let opened = rewrite.source();
    let path = opened.path().canonicalize().unwrap_or_else(|_| opened.path().to_owned());
    check_unchanged(&path, opened.identity())?;
    let (backup, receipt_path) = free_names(&path, now);
    let mut receipt = None;
    let replaced = thread::scope(|scope| {
        // What is told of progress is the writing.
        let before_crc32 = scope.spawn(|| opened.whole_crc32(watch.without_progress()));
        replace(&path, rewrite, watch, |after| -> Result<(), ReceiptError> {
            let before_crc32 = before_crc32.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            check_quiet(&path, opened.identity(), opened.opened_at())?;
            // The last moment to call it off.
            watch.step(rewrite.total_bytes(), rewrite.total_bytes()).map_err(ReadError::from)?;
            keep(&path, &backup).map_err(failed(&backup))?;
            let planned = Receipt {
                version: 1,
                path: path.clone(),
                backup: backup.clone(),
                step_number,
                reverted_at: now.to_rfc3339(),
                before: opened.identity().clone(),
                before_crc32,
                after,
                undone_at: None,
            };
            save(&planned, &receipt_path)?;
            receipt = Some(planned);
            Ok(())
        })
    });
    match (replaced, receipt) {
        (Ok(()), Some(receipt)) => {
            // A record that came in between the last look and the rename went to the file that is now the backup.
            if let Err(busy) = still_as_opened(&backup, opened) {
                fs::rename(&backup, &path).map_err(failed(&path))?;
                let _ = fs::remove_file(&receipt_path);
                return Err(busy);
            }
            Ok((receipt, receipt_path))
        }
        (replaced, _) => {
            // The rename was not done: the file is as it was. A backup of it and a receipt of nothing would only puzzle.
            let _ = fs::remove_file(&backup);
            let _ = fs::remove_file(&receipt_path);
            Err(replaced.err().unwrap_or(ReceiptError::NoBackup { path: backup }))
        }
    }
}

fn still_as_opened(path: &Path, opened: &SourceFile) -> Result<(), ReceiptError> {
    if Identity::at(path).map_err(failed(path))? == *opened.identity() {
        return Ok(());
    }
    let change = "written while it was being reverted".to_owned();
    Err(Busy::Changed { change, path: opened.path().to_owned() }.into())
}

/// Puts the file back as it was before the revert that wrote this receipt: every byte, and its permissions.
///
/// Refuses when the file was written since the revert: that work would be lost.
pub fn undo(receipt_path: &Path, now: Timestamp, watch: Watch<'_>) -> Result<Receipt, ReceiptError> {
    let mut receipt = load(receipt_path)?;
    if receipt.undone_at.is_some() {
        return Err(ReceiptError::Undone { path: receipt_path.to_owned() });
    }
    let is_file = fs::symlink_metadata(&receipt.backup).is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        // Killed after the rename of an undo, before it was noted down.
        if Identity::at(&receipt.path).is_ok_and(|now| now == receipt.before) {
            return Err(ReceiptError::Undone { path: receipt_path.to_owned() });
        }
        return Err(ReceiptError::NoBackup { path: receipt.backup });
    }
    let since = Instant::now();
    check_unchanged(&receipt.path, &receipt.after)?;
    let backup = SourceFile::open(&receipt.backup)?;
    if backup.whole_crc32(watch)? != receipt.before_crc32 {
        return Err(ReceiptError::OtherBackup { path: receipt.backup });
    }
    check_quiet(&receipt.path, &receipt.after, since)?;
    watch.step(backup.len(), backup.len()).map_err(ReadError::from)?;
    fs::rename(&receipt.backup, &receipt.path).map_err(failed(&receipt.path))?;
    if let Some(folder) = receipt.path.parent() {
        sync_folder(folder);
    }
    receipt.undone_at = Some(now.to_rfc3339());
    save(&receipt, receipt_path)?;
    Ok(receipt)
}

/// Receipts of reverts of this file that can be undone as it is now, newest first.
pub fn find_receipts(path: &Path) -> Vec<(PathBuf, Receipt)> {
    let Ok(path) = path.canonicalize() else { return Vec::new() };
    let Ok(now) = Identity::at(&path) else { return Vec::new() };
    let Some(entries) = path.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return Vec::new() };
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let is_ours = |file: &str| file.starts_with(name) && file.ends_with(RECEIPT_SUFFIX);
    let mut found: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours))
        .filter_map(|entry| Some((entry.path(), load(&entry.path()).ok()?)))
        .filter(|(_, receipt)| receipt.path == path && receipt.undone_at.is_none() && receipt.after == now)
        .collect();
    found.sort_by(|(_, a), (_, b)| b.reverted_at.cmp(&a.reverted_at));
    found
}

/// Gives the file a second name, or copies it where a file cannot have two. Never over a file that is there.
fn keep(path: &Path, backup: &Path) -> io::Result<()> {
    match fs::hard_link(path, backup) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => copy(path, backup),
        linked => linked,
    }
}

/// Copies a file with its time and permissions. Never over a file that is there.
fn copy(path: &Path, backup: &Path) -> io::Result<()> {
    let old = fs::metadata(path)?;
    let mut source = fs::File::open(path)?;
    let mut copy = fs::File::create_new(backup)?;
    io::copy(&mut source, &mut copy)?;
    copy.set_permissions(old.permissions())?;
    // The file is to come back with its time: it is a part of what it is known by.
    copy.set_modified(old.modified()?)?;
    copy.sync_all()
}

/// Names for backup and receipt that no file has yet.
fn free_names(path: &Path, now: Timestamp) -> (PathBuf, PathBuf) {
    let stamp: String = now.to_rfc3339().chars().filter(char::is_ascii_alphanumeric).collect();
    let name = path.file_name().unwrap_or_default();
    let with = |suffix: String| {
        let mut file = name.to_owned();
        file.push(suffix);
        path.with_file_name(file)
    };
    let mut attempt = 0_u32;
    loop {
        let tag = if attempt == 0 { stamp.clone() } else { format!("{stamp}-{attempt}") };
        let names = (with(format!(".{tag}{BACKUP_SUFFIX}")), with(format!(".{tag}{RECEIPT_SUFFIX}")));
        if names.0.symlink_metadata().is_err() && names.1.symlink_metadata().is_err() {
            return names;
        }
        attempt += 1;
    }
}

fn load(path: &Path) -> Result<Receipt, ReceiptError> {
    let refuse = |reason: String| ReceiptError::NotAReceipt { reason, path: path.to_owned() };
    let source = SourceFile::open(path)?;
    if source.len() > 64 * 1024 {
        return Err(refuse("too long".into()));
    }
    let bytes = source.read_at(0, usize::try_from(source.len()).unwrap_or(0))?;
    let mut receipt: Receipt =
        serde_json::from_slice(&bytes).map_err(|_| refuse("it has not the fields of one".into()))?;
    if receipt.version != 1 {
        return Err(refuse(format!("version {}", receipt.version)));
    }
    let folder = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
    for named in [&mut receipt.path, &mut receipt.backup] {
        // A receipt only ever speaks of files beside it; one that does not was tampered with.
        if named.file_name() != Some(named.as_os_str()) {
            return Err(refuse("it names a file in another folder".into()));
        }
        *named = folder.join(&*named);
    }
    Ok(receipt)
}

fn save(receipt: &Receipt, path: &Path) -> Result<(), ReadError> {
    let name = |path: &Path| PathBuf::from(path.file_name().unwrap_or_default());
    let written = Receipt { path: name(&receipt.path), backup: name(&receipt.backup), ..receipt.clone() };
    let text = serde_json::to_vec_pretty(&written)
        .map_err(|error| ReadError::Open { reason: error.to_string(), path: path.to_owned() })?;
    write_atomically(path, &text)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> ReadError {
    move |source| ReadError::Io { source, path: path.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    const NOW: Timestamp = Timestamp(1_796_000_000_000);

    fn file(content: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        fs::write(&path, content).unwrap();
        (folder, path)
    }

    /// The first `keep` bytes of a file, as a revert of it.
    fn shortened(path: &Path, keep: u64) -> Rewrite {
        let mut rewrite = Rewrite::new(Arc::new(SourceFile::open(path).unwrap()));
        rewrite.copy(0, keep);
        rewrite
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_revert_leaves_a_backup_and_a_receipt_and_undo_leaves_the_receipt() {
        let (folder, path) = file("one\ntwo\n");
        let (receipt, receipt_path) = revert_file(&shortened(&path, 4), 2, NOW, Watch::none()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
        assert_eq!(fs::read_to_string(&receipt.backup).unwrap(), "one\ntwo\n");
        assert_eq!(find_receipts(&path), [(receipt_path.clone(), receipt)]);
        undo(&receipt_path, NOW, Watch::none()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(find_receipts(&path), []);
        assert_eq!(names(folder.path()).len(), 2);
        assert!(matches!(undo(&receipt_path, NOW, Watch::none()), Err(ReceiptError::Undone { .. })));
    }

    #[test]
    fn what_is_appended_while_a_revert_is_written_is_not_lost() {
        let (folder, path) = file("one\ntwo\n");
        let rewrite = shortened(&path, 4);
        // The last call of `progress` comes when all is written and only the rename is left.
        let appended = AtomicBool::new(false);
        let never = AtomicBool::new(false);
        let progress = |done: u64, total: u64| {
            if done == total && !appended.swap(true, Ordering::Relaxed) {
                fs::write(&path, "one\ntwo\nthree\n").unwrap();
            }
        };
        let result = revert_file(&rewrite, 2, NOW, Watch::new(&never, &progress));
        assert!(matches!(result, Err(ReceiptError::Busy(Busy::Changed { .. }))), "{result:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(names(folder.path()), ["session.jsonl"], "nothing is left behind");
    }

    proptest::proptest! {
        // Each case waits twice for the file to be quiet.
        #![proptest_config(proptest::test_runner::Config { cases: 6, ..Default::default() })]
        #[test]
        fn revert_then_undo_is_the_identity(
            content in proptest::collection::vec(proptest::prelude::any::<u8>(), 1..200_000),
            share in 0.0..1.0_f64,
        ) {
            let (_folder, path) = file("");
            fs::write(&path, &content).unwrap();
            let before = Identity::at(&path).unwrap();
            let keep = (content.len() as f64 * share) as u64;
            let (_, receipt) = revert_file(&shortened(&path, keep), 1, NOW, Watch::none()).unwrap();
            assert_eq!(fs::read(&path).unwrap(), content[..keep as usize]);
            undo(&receipt, NOW, Watch::none()).unwrap();
            assert_eq!(fs::read(&path).unwrap(), content);
            assert_eq!(Identity::at(&path).unwrap(), before);
        }
    }

    #[test]
    fn a_cancelled_revert_leaves_nothing_behind() {
        let (folder, path) = file("one\ntwo\n");
        let cancelled = AtomicBool::new(true);
        let result = revert_file(&shortened(&path, 4), 2, NOW, Watch::new(&cancelled, &|_, _| {}));
        assert!(matches!(result, Err(ReceiptError::Read(ReadError::Cancelled(_)))), "{result:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(names(folder.path()), ["session.jsonl"]);
    }

    #[test]
    fn a_locked_file_is_refused() {
        let (_folder, path) = file("one\ntwo\n");
        let rewrite = shortened(&path, 4);
        let holder = fs::File::open(&path).unwrap();
        holder.lock().unwrap();
        let result = revert_file(&rewrite, 2, NOW, Watch::none());
        assert!(matches!(result, Err(ReceiptError::Busy(Busy::Locked { .. }))), "{result:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn an_undo_whose_note_was_not_written_is_known_as_done() {
        let (_folder, path) = file("one\ntwo\n");
        let (receipt, receipt_path) = revert_file(&shortened(&path, 4), 2, NOW, Watch::none()).unwrap();
        fs::rename(&receipt.backup, &path).unwrap();
        assert!(matches!(undo(&receipt_path, NOW, Watch::none()), Err(ReceiptError::Undone { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_copy_serves_where_a_file_cannot_have_two_names() {
        let (folder, path) = file("one\ntwo\n");
        let taken = folder.path().join("taken");
        fs::write(&taken, "mine").unwrap();
        assert!(keep(&path, &taken).is_err() && copy(&path, &taken).is_err());
        assert_eq!(fs::read_to_string(&taken).unwrap(), "mine", "never over a file");
        let backup = folder.path().join("backup");
        copy(&path, &backup).unwrap();
        assert_eq!(Identity::at(&backup).unwrap(), Identity::at(&path).unwrap(), "with its time");
    }

    #[cfg(unix)]
    #[test]
    fn a_backup_that_is_a_link_is_not_followed() {
        let (folder, path) = file("one\ntwo\n");
        let (receipt, receipt_path) = revert_file(&shortened(&path, 4), 2, NOW, Watch::none()).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&receipt.backup, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &receipt.backup).unwrap();
        assert!(matches!(undo(&receipt_path, NOW, Watch::none()), Err(ReceiptError::NoBackup { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
    }
}
