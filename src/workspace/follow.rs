//! Noticing that an open file has changed on disk: the system says so where it can, and nothing is done until it does.
//!
//! A file that is only ever appended to is read on at once. One that is written anew is left alone until its writer
//! rests. Nothing is said of a document again until the reading that it led to has ended.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::document::DocumentId;
use super::jobs::{Jobs, Message};
use crate::store::Identity;

/// A file that was written anew is looked at this often until it has come to rest. A look reads 128 KiB of it.
const REST: Duration = Duration::from_millis(400);
/// One that keeps changing is read all the same after this many looks.
const PATIENCE: u32 = 5;
/// Where the system does not tell of changes, files are looked at this often. A look at one at rest is a stat.
const POLL: Duration = Duration::from_secs(1);

/// The files that are followed.
#[derive(Clone)]
pub struct Followed {
    documents: Arc<Mutex<HashMap<DocumentId, Follow>>>,
    /// Rung when there may be something to look at; it holds one ring.
    bell: Sender<()>,
    rung: Receiver<()>,
}

#[derive(Clone)]
struct Follow {
    /// Grows each time the document is followed from another state.
    number: u64,
    files: Vec<FollowedFile>,
    appended: bool,
    /// A change was said, and the reading that it led to has not ended.
    told: bool,
    /// It is not read again before.
    not_before: Instant,
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

/// What a look at a file gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Same,
    /// It is another one, and may be written still.
    Restless,
    Changed,
}

/// What a look at all files gives.
#[derive(Debug, Default, PartialEq, Eq)]
struct Looked {
    changed: Vec<DocumentId>,
    /// When to look again, though nobody says that anything changed.
    again: Option<Duration>,
}

impl Default for Followed {
    fn default() -> Self {
        let (bell, rung) = bounded(1);
        Self { documents: Arc::default(), bell, rung }
    }
}

impl Followed {
    /// Starts to follow. Ends with the program.
    pub fn start(&self, jobs: &Jobs) {
        let followed = self.clone();
        jobs.run("follow", None, move |outbox| {
            let mut folders = Folders::new(followed.clone());
            let mut again = None;
            loop {
                let rung = match again {
                    Some(wait) => followed.rung.recv_timeout(wait),
                    None => followed.rung.recv().map_err(RecvTimeoutError::from),
                };
                if rung == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
                // Watched before they are looked at: what changes in between is told.
                let all_are_watched = folders.watch(followed.folders());
                let looked = followed.look();
                looked.changed.into_iter().for_each(|document| outbox.send(Message::Changed { document }));
                again = if all_are_watched { looked.again } else { Some(looked.again.unwrap_or(POLL).min(POLL)) };
            }
        });
    }

    /// Looks at everything, whoever says that something changed.
    pub fn ring(&self) {
        let _ = self.bell.try_send(());
    }

    /// Whether a change of this file is news.
    fn waits_for(&self, path: &Path) -> bool {
        self.lock().values().any(|follow| !follow.told && follow.files.iter().any(|file| file.path == path))
    }

    fn folders(&self) -> HashSet<PathBuf> {
        let documents = self.lock();
        let files = documents.values().flat_map(|follow| &follow.files);
        files.filter_map(|file| file.path.parent()).map(Path::to_owned).collect()
    }

    /// Looks at all files, without the lock: a disk may take its time, and the window needs the lock too.
    fn look(&self) -> Looked {
        let mut waiting: HashMap<DocumentId, Follow> = self.lock().clone();
        waiting.retain(|_, follow| !follow.told);
        let mut looked = Looked::default();
        for (id, follow) in &mut waiting {
            match follow.look(Instant::now()) {
                (true, _) => looked.changed.push(*id),
                (false, again) => looked.again = looked.again.into_iter().chain(again).min(),
            }
        }
        let mut documents = self.lock();
        for (id, follow) in waiting {
            // Unless it was followed anew, from another state, in the meantime.
            if let Some(now) = documents.get_mut(&id)
                && now.number == follow.number
            {
                *now = follow;
            }
        }
        looked
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<DocumentId, Follow>> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the files of a document from the state they were read in, in `took`; `None` for one that was not there.
    /// `appended` says that they are only ever appended to. For half as long as the reading took they are not read
    /// again: a writer without rest leaves a third of a processor free.
    pub fn follow(&self, document: DocumentId, read: Vec<(PathBuf, Option<Identity>)>, appended: bool, took: Duration) {
        let followed = |(path, read): (PathBuf, Option<Identity>)| FollowedFile {
            path,
            gone: read.is_none(),
            read,
            last: None,
            restless: 0,
        };
        let files = read.into_iter().map(followed).collect();
        let mut documents = self.lock();
        let number = documents.get(&document).map_or(0, |follow| follow.number + 1);
        let not_before = Instant::now() + took / 2;
        documents.insert(document, Follow { number, files, appended, told: false, not_before });
        drop(documents);
        self.ring();
    }

    /// The reading that a change led to came to nothing: the next change is said again.
    pub fn go_on(&self, document: DocumentId) {
        if let Some(follow) = self.lock().get_mut(&document) {
            follow.told = false;
        }
    }

    pub fn forget(&self, document: DocumentId) {
        self.lock().remove(&document);
        self.ring();
    }
}

impl Follow {
    /// Whether to read it again; if not, when to look again though nothing is said to have changed.
    fn look(&mut self, now: Instant) -> (bool, Option<Duration>) {
        if let Some(wait) = self.not_before.checked_duration_since(now).filter(|wait| !wait.is_zero()) {
            return (false, Some(wait));
        }
        let appended = self.appended;
        // All are looked at, even after the first that changed: that is said once.
        let looks: Vec<Look> = self.files.iter_mut().map(|file| file.look(appended)).collect();
        self.told = looks.contains(&Look::Changed);
        (self.told, looks.contains(&Look::Restless).then_some(REST))
    }
}

impl FollowedFile {
    /// Changed when the file is another one than was read and has come to rest (or will not), when it has grown and is
    /// only appended to, when it is gone, and when it is back; each is said once.
    fn look(&mut self, appended: bool) -> Look {
        let Ok(metadata) = std::fs::metadata(&self.path) else {
            return if std::mem::replace(&mut self.gone, true) { Look::Same } else { Look::Changed };
        };
        if std::mem::take(&mut self.gone) {
            return Look::Changed;
        }
        // Most looks end here, without opening the file.
        if self.last.is_none() && self.read.as_ref().is_some_and(|read| !Self::touched(&metadata, read)) {
            return Look::Same;
        }
        if appended && self.read.as_ref().is_some_and(|read| metadata.len() > read.len) {
            return Look::Changed;
        }
        let Ok(now) = Identity::at(&self.path) else { return Look::Same };
        if self.read.as_ref() == Some(&now) {
            self.last = None;
            return Look::Same;
        }
        let at_rest = self.last.as_ref() == Some(&now);
        self.restless += 1;
        self.last = Some(now.clone());
        if !at_rest && self.restless < PATIENCE {
            return Look::Restless;
        }
        self.restless = 0;
        self.last = None;
        self.read = Some(now);
        Look::Changed
    }

    fn touched(metadata: &std::fs::Metadata, read: &Identity) -> bool {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        metadata.len() != read.len || modified.is_none_or(|age| u64::try_from(age.as_nanos()) != Ok(read.modified_ns))
    }
}

/// The folders that the system watches: a file that is replaced or comes back is told of by its folder only.
struct Folders {
    /// `None` where the system has no such thing.
    watcher: Option<RecommendedWatcher>,
    /// Whether the system watches it.
    watched: HashMap<PathBuf, bool>,
}

impl Folders {
    fn new(followed: Followed) -> Self {
        let hear = move |event: notify::Result<notify::Event>| {
            let is_news = match event {
                // Somebody opens or reads it, most likely this program.
                Ok(event) if event.kind.is_access() => false,
                Ok(event) => event.need_rescan() || event.paths.iter().any(|path| followed.waits_for(path)),
                Err(_) => true,
            };
            if is_news {
                followed.ring();
            }
        };
        let watcher = notify::recommended_watcher(hear).inspect_err(|error| log::warn!("files are polled: {error}"));
        Self { watcher: watcher.ok(), watched: HashMap::new() }
    }

    /// Watches these folders and no others; false when the system does not watch all of them.
    fn watch(&mut self, folders: HashSet<PathBuf>) -> bool {
        let Self { watcher, watched } = self;
        watched.retain(|folder, is_watched| {
            let stays = folders.contains(folder);
            if let Some(watcher) = watcher.as_mut().filter(|_| !stays && *is_watched) {
                let _ = watcher.unwatch(folder);
            }
            stays
        });
        for folder in folders {
            // One that could not be watched is tried again: it may not have been there.
            let is_watched = watched.entry(folder.clone()).or_insert(false);
            if let Some(watcher) = watcher.as_mut().filter(|_| !*is_watched) {
                *is_watched = watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok();
            }
        }
        watched.values().all(|is_watched| *is_watched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Duration = Duration::ZERO;

    fn follow(followed: &Followed, id: DocumentId, path: &Path, appended: bool) {
        followed.follow(id, vec![(path.to_owned(), Identity::at(path).ok())], appended, AT_ONCE);
    }

    /// What changed, the readings that earlier changes led to having ended.
    fn changed(followed: &Followed, id: DocumentId) -> Vec<DocumentId> {
        followed.go_on(id);
        followed.look().changed
    }

    #[test]
    fn a_change_is_said_once_it_has_come_to_rest_a_loss_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.json");
        std::fs::write(&path, "one\n").unwrap();
        let followed = Followed::default();
        let id = DocumentId(7);
        follow(&followed, id, &path, false);
        assert_eq!(followed.look(), Looked::default(), "nothing to come back for");
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(followed.look(), Looked { changed: vec![], again: Some(REST) }, "it may still be being written");
        assert_eq!(followed.look(), Looked { changed: vec![id], again: None });
        assert_eq!(changed(&followed, id), [], "said once");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(changed(&followed, id), [id]);
        assert_eq!(changed(&followed, id), []);
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(changed(&followed, id), [id], "it is back");
        followed.forget(id);
        std::fs::write(&path, "other\n").unwrap();
        assert_eq!(changed(&followed, id), []);
    }

    #[test]
    fn what_is_appended_is_said_at_once_and_not_again_before_it_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, "one\n").unwrap();
        let followed = Followed::default();
        let id = DocumentId(1);
        follow(&followed, id, &path, true);
        assert!(followed.waits_for(&path));
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(followed.look().changed, [id]);
        assert!(!followed.waits_for(&path), "its writer wakes nobody while it is read");
        let read = vec![(path.clone(), Identity::at(&path).ok())];
        std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
        assert_eq!(followed.look().changed, []);
        followed.follow(id, read, true, AT_ONCE);
        assert_eq!(followed.look().changed, [id], "what came while it was read");
        // What is no longer what it was is left to rest, whatever was said of it.
        follow(&followed, id, &path, true);
        std::fs::write(&path, "0\n").unwrap();
        assert_eq!(followed.look(), Looked { changed: vec![], again: Some(REST) });
    }

    #[test]
    fn for_half_as_long_as_a_reading_took_there_is_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, "one\n").unwrap();
        let followed = Followed::default();
        let read = vec![(path.clone(), Identity::at(&path).ok())];
        followed.follow(DocumentId(1), read, true, Duration::from_secs(3600));
        std::fs::write(&path, "one\ntwo\n").unwrap();
        let looked = followed.look();
        assert_eq!(looked.changed, []);
        assert!(looked.again.unwrap() > Duration::from_secs(1700), "but it is looked at then");
    }

    #[test]
    fn a_file_that_was_not_there_is_followed_too() {
        let folder = tempfile::tempdir().unwrap();
        let (path, later) = (folder.path().join("sessions.db"), folder.path().join("sessions.db-wal"));
        std::fs::write(&path, "one").unwrap();
        let followed = Followed::default();
        let files = vec![(path.clone(), Identity::at(&path).ok()), (later.clone(), None)];
        followed.follow(DocumentId(1), files, false, AT_ONCE);
        assert_eq!(followed.look(), Looked::default());
        std::fs::write(&later, "two").unwrap();
        assert_eq!(followed.look().changed, [DocumentId(1)], "it came");
    }

    #[test]
    fn a_file_that_never_rests_is_read_now_and_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.json");
        std::fs::write(&path, "0\n").unwrap();
        let followed = Followed::default();
        let id = DocumentId(1);
        follow(&followed, id, &path, false);
        let mut said = 0;
        for number in 1..=10 {
            std::fs::write(&path, "x".repeat(number * 10)).unwrap();
            said += changed(&followed, id).len();
        }
        assert_eq!(said, 2, "each fifth look");
    }
}
