//! Noticing that an open file has changed on disk.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::document::DocumentId;
use super::jobs::{Jobs, Message};
use crate::store::Identity;

/// Files are looked at this often. A look at a file at rest is one stat; one that changed is opened, and 128 KiB of it are
/// read.
const INTERVAL: Duration = Duration::from_millis(1000);
/// A file that keeps changing is read again after this many looks.
const PATIENCE: u32 = 5;

/// The files that are followed.
#[derive(Clone, Default)]
pub struct Followed {
    files: Arc<Mutex<HashMap<DocumentId, Follow>>>,
}

#[derive(Clone)]
struct Follow {
    /// Grows each time the document is followed from another state.
    number: u64,
    files: Vec<FollowedFile>,
}

#[derive(Clone)]
struct FollowedFile {
    path: PathBuf,
    /// What was read; `None` when it was not there.
    read: Option<Identity>,
    /// It was not there at the last look.
    gone: bool,
    last: Option<Identity>,
    restless: u32,
}

impl Followed {
    /// Starts looking. Ends with the program.
    pub fn start(&self, jobs: &Jobs) {
        let followed = self.clone();
        jobs.run("follow", None, move |outbox| {
            loop {
                thread::sleep(INTERVAL);
                for document in followed.look() {
                    outbox.send(Message::Changed { document });
                }
            }
        });
    }

    /// The documents whose files changed. The files are looked at without the lock: a disk may take its time, and the
    /// window needs the lock too.
    fn look(&self) -> Vec<DocumentId> {
        let mut looked: HashMap<DocumentId, Follow> = self.lock().clone();
        let changed = looked.iter_mut().filter_map(|(id, follow)| follow.look().then_some(*id)).collect();
        let mut files = self.lock();
        for (id, follow) in looked {
            // Unless it was followed anew, from another state, in the meantime.
            if let Some(now) = files.get_mut(&id)
                && now.number == follow.number
            {
                *now = follow;
            }
        }
        changed
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<DocumentId, Follow>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the files of a document from the state they were read in; `None` for one that was not there.
    pub fn follow(&self, document: DocumentId, read: Vec<(PathBuf, Option<Identity>)>) {
        let mut files = self.lock();
        let number = files.get(&document).map_or(0, |follow| follow.number + 1);
        let followed = |(path, read): (PathBuf, Option<Identity>)| FollowedFile {
            path,
            gone: read.is_none(),
            read,
            last: None,
            restless: 0,
        };
        files.insert(document, Follow { number, files: read.into_iter().map(followed).collect() });
    }

    pub fn forget(&self, document: DocumentId) {
        self.lock().remove(&document);
    }
}

impl Follow {
    fn look(&mut self) -> bool {
        // All are looked at, even after the first that changed: that is said once.
        self.files.iter_mut().filter_map(|file| file.look().then_some(())).count() > 0
    }
}

impl FollowedFile {
    /// True, once, when the file is another one than was read and has come to rest (or will not), when it is gone, and
    /// when it is back.
    fn look(&mut self) -> bool {
        let Ok(metadata) = std::fs::metadata(&self.path) else { return !std::mem::replace(&mut self.gone, true) };
        if std::mem::take(&mut self.gone) {
            return true;
        }
        // Most looks end here, without opening the file.
        if self.last.is_none() && self.read.as_ref().is_some_and(|read| !Self::touched(&metadata, read)) {
            return false;
        }
        let Ok(now) = Identity::at(&self.path) else { return false };
        if self.read.as_ref() == Some(&now) {
            self.last = None;
            return false;
        }
        let at_rest = self.last.as_ref() == Some(&now);
        self.restless += 1;
        self.last = Some(now.clone());
        if at_rest || self.restless >= PATIENCE {
            self.restless = 0;
            self.last = None;
            // Said once; the document is followed from its new state once it has been read again.
            self.read = Some(now);
            return true;
        }
        false
    }

    fn touched(metadata: &std::fs::Metadata, read: &Identity) -> bool {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        metadata.len() != read.len || modified.is_none_or(|age| u64::try_from(age.as_nanos()) != Ok(read.modified_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_said_once_it_has_come_to_rest_a_loss_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, "one\n").unwrap();
        let followed = Followed::default();
        let id = DocumentId(7);
        followed.follow(id, vec![(path.clone(), Identity::at(&path).ok())]);
        assert_eq!(followed.look(), []);
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(followed.look(), [], "it may still be being written");
        assert_eq!(followed.look(), [id]);
        assert_eq!(followed.look(), [], "said once");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(followed.look(), [id]);
        assert_eq!(followed.look(), []);
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(followed.look(), [id], "it is back");
        followed.forget(id);
        std::fs::write(&path, "other\n").unwrap();
        assert_eq!(followed.look(), []);
    }

    #[test]
    fn a_file_that_was_not_there_is_followed_too() {
        let folder = tempfile::tempdir().unwrap();
        let (path, later) = (folder.path().join("sessions.db"), folder.path().join("sessions.db-wal"));
        std::fs::write(&path, "one").unwrap();
        let followed = Followed::default();
        followed.follow(DocumentId(1), vec![(path.clone(), Identity::at(&path).ok()), (later.clone(), None)]);
        assert_eq!(followed.look(), []);
        std::fs::write(&later, "two").unwrap();
        assert_eq!(followed.look(), [DocumentId(1)], "it came");
    }

    #[test]
    fn a_file_that_never_rests_is_read_now_and_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, "0\n").unwrap();
        let followed = Followed::default();
        followed.follow(DocumentId(1), vec![(path.clone(), Identity::at(&path).ok())]);
        let mut said = 0;
        for number in 1..=10 {
            std::fs::write(&path, "x".repeat(number * 10)).unwrap();
            said += followed.look().len();
        }
        assert_eq!(said, 2, "each fifth look");
    }
}
