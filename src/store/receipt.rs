//! Replacing a file so that it can be put back: a backup of the old bytes and a receipt beside the file.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::guard::{Busy, check_unchanged};
use super::rewrite::{replace, sync_folder, write_atomically};
use super::{Identity, ReadError, Rewrite, Watch};
use crate::model::Timestamp;

/// Ends the name of every receipt.
const RECEIPT_SUFFIX: &str = ".stepline-receipt.json";
const BACKUP_SUFFIX: &str = ".stepline-backup";

/// What a revert wrote, and how to take it back.
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
    pub after: Identity,
    /// Set once it has been undone; it cannot be undone twice.
    pub undone_at: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    #[error("not a receipt of a revert ({reason}): {path}")]
    NotAReceipt { reason: String, path: PathBuf },
    #[error("this revert was undone already, at {at}: {path}")]
    Undone { at: String, path: PathBuf },
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
/// under a new name where the file system can do that, so every byte, its times and its permissions are kept.
/// Returns the receipt and its path.
pub fn revert_file(
    rewrite: &Rewrite,
    step_number: u32,
    now: Timestamp,
    watch: Watch<'_>,
) -> Result<(Receipt, PathBuf), ReceiptError> {
    let opened = rewrite.source();
    let path =
        opened.path().canonicalize().map_err(|source| ReadError::Io { source, path: opened.path().to_owned() })?;
    check_unchanged(&path, opened.identity())?;
    let (backup, receipt_path) = free_names(&path, now);
    let failed = |source: io::Error| ReadError::Io { source, path: path.clone() };
    keep(&path, &backup).map_err(failed)?;
    let mut receipt = None;
    // The receipt is there before the file is another one: killed at any moment, what was done can be undone.
    let replaced = replace(&path, rewrite, watch, |after| -> Result<(), ReceiptError> {
        if Identity::at(&path).map_err(failed)? != *opened.identity() {
            return Err(
                Busy::Changed { change: "written while it was being reverted".to_owned(), path: path.clone() }.into()
            );
        }
        let planned = Receipt {
            version: 1,
            path: path.clone(),
            backup: backup.clone(),
            step_number,
            reverted_at: now.to_rfc3339(),
            before: opened.identity().clone(),
            after,
            undone_at: None,
        };
        save(&planned, &receipt_path)?;
        receipt = Some(planned);
        Ok(())
    });
    match (replaced, receipt) {
        (Ok(()), Some(receipt)) => Ok((receipt, receipt_path)),
        (replaced, _) => {
            // Where the file is as it was, a backup of it and a receipt of nothing would only puzzle. Where it is not
            // (the rename was done and the folder could not be flushed), they are all that is left of it.
            if Identity::at(&path).is_ok_and(|now| now == *opened.identity()) {
                let _ = std::fs::remove_file(&backup);
                let _ = std::fs::remove_file(&receipt_path);
            }
            Err(replaced.err().unwrap_or(ReceiptError::NoBackup { path: backup }))
        }
    }
}

/// Puts the file back as it was before the revert that wrote this receipt: every byte, and its permissions.
///
/// Refuses when the file was written since the revert: that work would be lost.
pub fn undo(receipt_path: &Path, now: Timestamp) -> Result<Receipt, ReceiptError> {
    let mut receipt = load(receipt_path)?;
    if let Some(at) = receipt.undone_at {
        return Err(ReceiptError::Undone { at, path: receipt_path.to_owned() });
    }
    let backup = Identity::at(&receipt.backup).map_err(|_| ReceiptError::NoBackup { path: receipt.backup.clone() })?;
    if !backup.same_content(&receipt.before) {
        return Err(ReceiptError::OtherBackup { path: receipt.backup });
    }
    check_unchanged(&receipt.path, &receipt.after)?;
    let failed = |source: io::Error| ReadError::Io { source, path: receipt.path.clone() };
    std::fs::rename(&receipt.backup, &receipt.path).map_err(failed)?;
    if let Some(folder) = receipt.path.parent() {
        sync_folder(folder).map_err(failed)?;
    }
    receipt.undone_at = Some(now.to_rfc3339());
    save(&receipt, receipt_path)?;
    Ok(receipt)
}

/// Receipts of reverts of this file that can be undone as it is now, newest first.
pub fn find_receipts(path: &Path) -> Vec<(PathBuf, Receipt)> {
    let Ok(path) = path.canonicalize() else { return Vec::new() };
    let Ok(now) = Identity::at(&path) else { return Vec::new() };
    let Some(entries) = path.parent().and_then(|folder| std::fs::read_dir(folder).ok()) else { return Vec::new() };
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let mut found: Vec<_> = entries
        .flatten()
        .filter(|entry| {
            entry.file_name().to_str().is_some_and(|entry| entry.starts_with(name) && entry.ends_with(RECEIPT_SUFFIX))
        })
        .filter_map(|entry| Some((entry.path(), load(&entry.path()).ok()?)))
        .filter(|(_, receipt)| receipt.path == path && receipt.undone_at.is_none() && receipt.after == now)
        .collect();
    found.sort_by(|(_, a), (_, b)| b.reverted_at.cmp(&a.reverted_at));
    found
}

/// Gives the file a second name, or copies it where a file cannot have two.
fn keep(path: &Path, backup: &Path) -> io::Result<()> {
    if std::fs::hard_link(path, backup).is_ok() {
        return Ok(());
    }
    std::fs::copy(path, backup)?;
    std::fs::File::open(backup)?.sync_all()
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
    let source = super::SourceFile::open(path)?;
    if source.len() > 64 * 1024 {
        return Err(refuse("too long".into()));
    }
    let bytes = source.read_at(0, usize::try_from(source.len()).unwrap_or(0))?;
    let receipt: Receipt = serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
    if receipt.version != 1 {
        return Err(refuse(format!("version {}", receipt.version)));
    }
    // A receipt only ever speaks of files beside it; one that does not was tampered with.
    let folder = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
    if [&receipt.path, &receipt.backup].iter().any(|named| named.parent() != folder.as_deref()) {
        return Err(refuse("it names a file in another folder".into()));
    }
    Ok(receipt)
}

fn save(receipt: &Receipt, path: &Path) -> Result<(), ReadError> {
    let text = serde_json::to_vec_pretty(receipt)
        .map_err(|error| ReadError::Open { reason: error.to_string(), path: path.to_owned() })?;
    write_atomically(path, &text)
}
