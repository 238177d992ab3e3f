//! Keys of stored objects, and where their files are. A key that a file holds never leads out of its `objects` folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::formats::detect::Sample;
use crate::store::SourceFile;

/// Characters of a key.
const MAX_KEY_CHARS: usize = 512;

/// What Outpost stores below `objects`. Another program's `objects` folder has none of these.
const AREAS: [&str; 7] = ["logs", "checkpoints", "conversations", "runs", "artifacts", "resources", "speculations"];

/// Whether a key has the form that Outpost gives keys: no empty segment, none that begins with a dot.
pub fn is_key(key: &str) -> bool {
    let first = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_segment = |segment: &str| match segment.as_bytes() {
        [start, rest @ ..] => first(start) && rest.iter().all(|byte| first(byte) || *byte == b'.'),
        [] => false,
    };
    key.len() <= MAX_KEY_CHARS && key.split('/').all(is_segment)
}

/// The file of a key below an `objects` folder; `None` for what is no key, is not there, or is reached by a symbolic link.
pub fn locate(objects: &Path, key: &str) -> Option<PathBuf> {
    if !is_key(key) {
        return None;
    }
    let mut path = objects.to_owned();
    let (folders, name) = key.rsplit_once('/').unwrap_or(("", key));
    for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
        path.push(folder);
        fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_dir)?;
    }
    path.push(format!("{name}.object"));
    fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    Some(path)
}

/// The names of the folders, and of the objects, directly below a key; sorted. Symbolic links are neither.
pub fn children(objects: &Path, key: &str, limit: usize) -> Children {
    let mut found = Children::default();
    let folder = if key.is_empty() { objects.to_owned() } else { objects.join(key) };
    if !key.is_empty() && !is_key(key) || is_linked(objects, key) {
        return found;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(limit) {
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() && is_key(&name) {
            found.folders.push(name);
        } else if let Some(name) = name.strip_suffix(".object").filter(|name| kind.is_file() && is_key(name)) {
            found.objects.push(name.to_owned());
        }
    }
    found.folders.sort();
    found.objects.sort();
    found
}

/// What is directly below a key.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Children {
    pub folders: Vec<String>,
    /// Without their ending.
    pub objects: Vec<String>,
}

/// Whether a folder on the way to a key is a symbolic link.
fn is_linked(objects: &Path, key: &str) -> bool {
    let mut path = objects.to_owned();
    key.split('/').any(|segment| {
        path.push(segment);
        fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink())
    })
}

/// The `objects` folder of a folder that is Outpost's storage, holds it, or is that folder itself.
pub fn objects_of(folder: &Path) -> Option<PathBuf> {
    let is_objects = |path: &Path| {
        let is_folder = |path: PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
        is_folder(path.to_owned()) && AREAS.iter().any(|area| is_folder(path.join(area)))
    };
    let below = [folder.join("objects"), folder.join(".outpost/storage/objects")];
    let own = (folder.file_name().is_some_and(|name| name == "objects")).then(|| folder.to_owned());
    below.into_iter().chain(own).find(|path| is_objects(path))
}

/// The `objects` folder that the file of a key lies in; `None` where the file lies elsewhere than its key says.
pub fn objects_above(file: &Path, key: &str) -> Option<PathBuf> {
    let depth = key.split('/').count();
    let objects = file.ancestors().nth(depth)?;
    let expected = objects.join(format!("{key}.object"));
    (is_key(key) && expected == file).then(|| objects.to_owned())
}

/// The key of the object that a sample is the start of; `None` where it is no object file.
pub fn key_of(sample: &Sample) -> Option<String> {
    let from_header = |header: &Value| {
        let has = |key: &str| header.get(key).is_some_and(Value::is_string);
        let is_header = has("revision") && has("modifiedAt") && header.get("size").is_some_and(Value::is_u64);
        header.get("key").and_then(Value::as_str).filter(|_| is_header).map(str::to_owned)
    };
    sample.records.first().and_then(from_header).or_else(|| {
        // A body that is no JSON, such as the rest of a line, hides the header before it.
        let is_named = sample.path.extension().is_some_and(|ending| ending == "object");
        let file = is_named.then(|| SourceFile::open(&sample.path).ok()).flatten()?;
        from_header(&serde_json::from_slice(&file.read_at(0, 1024).ok()?).ok()?)
    })
}

/// The first segment of a key: what kind of object it is.
pub fn area(key: &str) -> &str {
    key.split('/').next().unwrap_or_default()
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
        let objects = folder.path().join("objects");
        fs::create_dir_all(objects.join("logs/a")).unwrap();
        fs::write(objects.join("logs/a/index.object"), "").unwrap();
        fs::write(folder.path().join("out.object"), "").unwrap();
        assert_eq!(locate(&objects, "logs/a/index"), Some(objects.join("logs/a/index.object")));
        for key in ["../out", "logs/a/b", "logs/a", "logs/index/x"] {
            assert_eq!(locate(&objects, key), None, "{key}");
        }
        assert_eq!(objects_above(&objects.join("logs/a/index.object"), "logs/a/index"), Some(objects.clone()));
        assert_eq!(objects_above(&objects.join("logs/a/index.object"), "logs/b/index"), None);
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let objects = folder.path().join("objects");
        fs::create_dir_all(objects.join("logs")).unwrap();
        fs::create_dir_all(folder.path().join("out")).unwrap();
        fs::write(folder.path().join("out/index.object"), "").unwrap();
        std::os::unix::fs::symlink(folder.path().join("out"), objects.join("logs/a")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("out/index.object"), objects.join("logs/b.object")).unwrap();
        assert_eq!(locate(&objects, "logs/a/index"), None);
        assert_eq!(locate(&objects, "logs/b"), None);
        assert_eq!(children(&objects, "logs", 100), Children::default());
        assert_eq!(children(&objects, "logs/a", 100), Children::default());
    }

    #[test]
    fn other_programs_object_folders_are_no_storage() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".git/objects/pack")).unwrap();
        assert_eq!(objects_of(&folder.path().join(".git")), None);
        let objects = folder.path().join(".outpost/storage/objects");
        fs::create_dir_all(objects.join("runs")).unwrap();
        for root in [folder.path(), &folder.path().join(".outpost/storage"), &objects] {
            assert_eq!(objects_of(root).as_ref(), Some(&objects));
        }
    }
}
