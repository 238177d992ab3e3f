//! The folder `objects` of a storage: which keys it may be asked for, where their files are, and what is below a key.
//!
//! The object of key `a/b` is the file `objects/a/b.object`. A key that a file holds never leads out of the folder, and
//! nothing is reached through a symbolic link: both are held by [`Objects::path`], which everything else goes through.

use std::fs;
use std::path::{Path, PathBuf};

use super::object::{self, Object, Stored};
use crate::store::{ReadError, SourceFile};

/// Bytes and characters of a key.
pub const MAX_KEY: usize = 512;
const ENDING: &str = ".object";

/// What Outpost stores below `objects`. Another program's `objects` folder has none of these.
const AREAS: [&str; 7] = ["logs", "checkpoints", "conversations", "runs", "artifacts", "resources", "speculations"];

/// Whether a key has the form that Outpost gives keys: no empty segment, none that begins with a dot.
pub fn is_key(key: &str) -> bool {
    let first = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_segment = |segment: &str| match segment.as_bytes() {
        [start, rest @ ..] => first(start) && rest.iter().all(|byte| first(byte) || *byte == b'.'),
        [] => false,
    };
    key.len() <= MAX_KEY && key.split('/').all(is_segment)
}

/// The first segment of a key: what kind of object it is.
pub fn area(key: &str) -> &str {
    key.split('/').next().unwrap_or_default()
}

/// A folder `objects`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objects {
    folder: PathBuf,
}

/// What is directly below a key.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Children {
    pub folders: Vec<String>,
    /// Without their ending.
    pub objects: Vec<String>,
}

impl Objects {
    /// The folder itself, or `None` when it is no storage's.
    fn storage(folder: PathBuf) -> Option<Self> {
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
        let is_storage = is_folder(&folder) && AREAS.iter().any(|area| is_folder(&folder.join(area)));
        is_storage.then_some(Self { folder })
    }

    /// That of a folder which is Outpost's storage, holds it, or is the folder `objects` itself.
    pub fn of(folder: &Path) -> Option<Self> {
        let below = [folder.join("objects"), folder.join(".outpost/storage/objects")];
        let own = (folder.file_name().is_some_and(|name| name == "objects")).then(|| folder.to_owned());
        below.into_iter().chain(own).find_map(Self::storage)
    }

    /// The one that the file of a key lies in; `None` where the file lies elsewhere than its key says.
    pub fn above(file: &Path, key: &str) -> Option<Self> {
        let depth = key.split('/').count();
        let folder = file.ancestors().nth(depth)?;
        let expected = folder.join(format!("{key}{ENDING}"));
        (is_key(key) && expected == file).then(|| Self { folder: folder.to_owned() })
    }

    /// The one in a storage's root, whether it is there or not.
    #[cfg(test)]
    pub fn below(root: &Path) -> Self {
        Self { folder: root.join("objects") }
    }

    /// The storage's root: the folder that this one is in.
    pub fn root(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    /// Where the object of a key belongs, whether it is there or not; an error for what is no key and for whatever leads
    /// through a symbolic link.
    pub fn path(&self, key: &str) -> Result<PathBuf, ReadError> {
        self.reach(key, &format!("{key}{ENDING}"))
    }

    /// The file of a key's object, where there is one.
    pub fn find(&self, key: &str) -> Option<PathBuf> {
        self.path(key).ok().filter(|path| path.is_file())
    }

    /// Where the objects are whose keys begin with this one.
    pub fn folder(&self, key: &str) -> Result<PathBuf, ReadError> {
        self.reach(key, key)
    }

    fn reach(&self, key: &str, relative: &str) -> Result<PathBuf, ReadError> {
        let path = self.folder.clone();
        let refuse = |reason: &str, path: PathBuf| ReadError::Open { reason: reason.to_owned(), path };
        if !is_key(key) {
            let shown: String = key.chars().take(MAX_KEY).collect();
            return Err(refuse(&format!("is no key of an object: {shown:?}"), path));
        }
        let no_link = |path: PathBuf| match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                Err(refuse("is a symbolic link; objects are not read through those", path))
            }
            _ => Ok(path),
        };
        let mut path = no_link(path)?;
        for segment in relative.split('/') {
            path = no_link(path.join(segment))?;
        }
        Ok(path)
    }

    /// The names of the folders, and of the objects, directly below a key; sorted. Symbolic links and unfinished writes
    /// are neither.
    pub fn children(&self, key: &str, limit: usize) -> Children {
        let mut found = Children::default();
        let Ok(folder) = self.folder(key) else { return found };
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(limit) {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind.is_dir() && is_key(&name) {
                found.folders.push(name);
            } else if let Some(name) = name.strip_suffix(ENDING).filter(|name| kind.is_file() && is_key(name)) {
                found.objects.push(name.to_owned());
            }
        }
        found.folders.sort();
        found.objects.sort();
        found
    }

    /// The keys of the objects directly below a key, sorted.
    pub fn keys_in(&self, key: &str) -> Vec<String> {
        let names = self.children(key, usize::MAX).objects.into_iter();
        names.map(|name| format!("{key}/{name}")).filter(|key| is_key(key)).collect()
    }

    pub fn open(&self, key: &str) -> Result<SourceFile, ReadError> {
        SourceFile::open(&self.path(key)?)
    }

    /// Reads the header of an object; `None` where there is no such object, or nothing of it can be read.
    pub fn look(&self, key: &str) -> Option<Stored> {
        object::look(&self.find(key)?).ok()
    }

    /// Reads an object whole.
    pub fn read(&self, key: &str) -> Result<Object, ReadError> {
        object::read(self.open(key)?, Some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_never_lead_out_of_their_folder() {
        for key in ["logs/a/index", "checkpoints/0a.json", "_a/-b.c/D", "a"] {
            assert!(is_key(key), "{key}");
        }
        let long = "a".repeat(513);
        for key in
            ["", "/", "/etc/passwd", "a/", "a//b", "..", "a/../b", "a/.b", ".a", "a b", "a\\b", "a/é", "a\0", &long]
        {
            assert!(!is_key(key), "{key}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("objects");
        let objects = Objects::below(folder.path());
        fs::create_dir_all(path.join("logs/a")).unwrap();
        fs::write(path.join("logs/a/index.object"), "").unwrap();
        fs::write(folder.path().join("out.object"), "").unwrap();
        let file = path.join("logs/a/index.object");
        assert_eq!(objects.find("logs/a/index").as_ref(), Some(&file));
        for key in ["../out", "logs/a/b", "logs/a", "logs/index/x"] {
            assert_eq!(objects.find(key), None, "{key}");
        }
        assert_eq!(Objects::above(&file, "logs/a/index"), Some(objects));
        assert_eq!(Objects::above(&file, "logs/b/index"), None);
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, objects) = (folder.path().join("objects"), Objects::below(folder.path()));
        fs::create_dir_all(path.join("logs")).unwrap();
        fs::create_dir_all(folder.path().join("out")).unwrap();
        fs::write(folder.path().join("out/index.object"), "").unwrap();
        std::os::unix::fs::symlink(folder.path().join("out"), path.join("logs/a")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("out/index.object"), path.join("logs/b.object")).unwrap();
        assert_eq!(objects.find("logs/a/index"), None);
        assert_eq!(objects.find("logs/b"), None);
        assert_eq!(objects.children("logs", 100), Children::default());
        assert_eq!(objects.children("logs/a", 100), Children::default());
    }

    #[test]
    fn other_programs_object_folders_are_no_storage() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".git/objects/pack")).unwrap();
        assert_eq!(Objects::of(&folder.path().join(".git")), None);
        let objects = folder.path().join(".outpost/storage/objects");
        fs::create_dir_all(objects.join("runs")).unwrap();
        for root in [folder.path(), &folder.path().join(".outpost/storage"), &objects] {
            assert_eq!(Objects::of(root), Some(Objects { folder: objects.clone() }));
        }
    }
}
