//! What was named to be opened, and the sessions in it.
//!
//! A source is one file, several files, or a folder. A format that reads its files one by one makes a session of each; the
//! formats of a [`Family`] read the files that were opened together, and make of them as many sessions as there are.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::detect::{self, Sample, Shape};
use super::{Format, Observer, OpenError, REGISTRY, Reading, Recording, files_below};
use crate::model::{FormatName, Timestamp};
use crate::store::SourceFile;

/// A file of a source, or a folder that counts as one, and the format it is in.
#[derive(Clone)]
pub struct Part {
    pub path: PathBuf,
    pub shape: Shape,
    pub format: &'static Format,
    /// The start of the first prompt, where its first bytes have it.
    pub title: Option<String>,
}

impl Part {
    /// Tells a file, or a folder that counts as one, by its content.
    pub fn look(path: &Path) -> Result<Self, OpenError> {
        let sample = if path.is_dir() { Sample::folder(path) } else { Sample::take(&SourceFile::open(path)?)? };
        let format = choose(&sample)?;
        Ok(Self { path: path.to_owned(), shape: sample.shape, format, title: (format.first_prompt)(&sample) })
    }
}

/// Lists the sessions of parts. Reads no more of them than the list needs.
pub type List = fn(&[Part], &dyn Observer) -> Result<Vec<Listed>, OpenError>;

/// Reads the session with this key, or the only one; [`OpenError::Several`] when there are more.
pub type OpenTogether = fn(&[Part], Option<&str>, &dyn Observer) -> Result<Arc<dyn Recording>, OpenError>;

/// Formats of one system, whose files make sessions together.
pub struct Family {
    pub list: List,
    pub open: OpenTogether,
}

/// Names a session: enough to open it again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionRef {
    /// Files and folders it is read from, the one that it is called by first.
    pub paths: Vec<PathBuf>,
    /// Which of the sessions of these files; `None` where they hold one.
    pub key: Option<String>,
}

impl SessionRef {
    pub fn file(path: &Path) -> Self {
        Self { paths: vec![path.to_owned()], key: None }
    }

    /// The path that it is called by.
    pub fn path(&self) -> &Path {
        self.paths.first().map_or(Path::new(""), PathBuf::as_path)
    }
}

/// What a list says of a session that has not been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub reference: SessionRef,
    pub format: FormatName,
    /// `None` where only reading tells.
    pub id: Option<String>,
    pub title: Option<String>,
    pub cwd: Option<String>,
    pub model: Option<String>,
    pub started_at: Option<Timestamp>,
    /// When it was last worked on; the time of its file where nothing else is known.
    pub ended_at: Option<Timestamp>,
    /// How it stands, in its system's own word: `running`, `paused`, `done`.
    pub status: Option<String>,
    /// Helper sessions that their agent hides from its own lists.
    pub is_hidden: bool,
    /// How much is read when it is opened, in bytes.
    pub bytes: u64,
}

impl Listed {
    /// A session about which nothing is known but where it is.
    pub fn new(reference: SessionRef, format: FormatName) -> Self {
        let metadata = std::fs::metadata(reference.path()).ok();
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        let age = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            id: reference.key.clone(),
            reference,
            format,
            title: None,
            cwd: None,
            model: None,
            started_at: None,
            ended_at: age.and_then(|age| i64::try_from(age.as_millis()).ok()).map(Timestamp),
            status: None,
            is_hidden: false,
            bytes: metadata.map_or(0, |metadata| metadata.len()),
        }
    }

    /// One line that stands for it.
    pub fn name(&self) -> String {
        let file = || self.reference.path().file_name().map(|name| name.to_string_lossy().into_owned());
        self.title.clone().or_else(|| self.id.clone()).or_else(file).unwrap_or_default()
    }

    /// Whether it goes by this id or key, or by its file's name with or without the ending.
    pub fn is_named(&self, wanted: &str) -> bool {
        let path = self.reference.path();
        self.id.as_deref() == Some(wanted)
            || self.reference.key.as_deref() == Some(wanted)
            || [path.file_name(), path.file_stem()].into_iter().flatten().any(|name| name == wanted)
    }
}

/// The sessions of a source.
#[derive(Debug, Default)]
pub struct Source {
    /// What was worked on last comes first.
    pub sessions: Vec<Listed>,
    /// Files that look like sessions and could not be looked into.
    pub unread: Vec<OpenError>,
    /// There are more files than are looked at.
    pub is_cut: bool,
}

/// The sessions of what was named. One file that holds none is an error; in a folder, those that are no sessions are
/// passed over.
pub fn sessions_of(paths: &[PathBuf], observer: &dyn Observer) -> Result<Source, OpenError> {
    let (parts, mut source) = parts_of(paths, observer)?;
    for (format, group) in groups(&parts) {
        match format.read {
            Reading::Alone(_) => source.sessions.extend(group.iter().map(listed_alone)),
            Reading::Together(family) => match (family.list)(&group, observer) {
                Ok(sessions) => source.sessions.extend(sessions),
                Err(error) if paths.len() == 1 && parts.len() == 1 => return Err(error),
                Err(error) => source.unread.push(error),
            },
        }
    }
    source.sessions.sort_by_key(|session| Reverse(session.ended_at));
    Ok(source)
}

/// Opens a session.
pub fn open_session(reference: &SessionRef, observer: &dyn Observer) -> Result<Arc<dyn Recording>, OpenError> {
    if let [path] = reference.paths.as_slice()
        && path.is_file()
    {
        let file = Arc::new(SourceFile::open(path)?);
        let sample = Sample::take(&file)?;
        let format = choose(&sample)?;
        if let Reading::Alone(open) = format.read {
            return open(file, &sample, observer);
        }
    }
    let (parts, source) = parts_of(&reference.paths, observer)?;
    let groups = groups(&parts);
    let key = reference.key.as_deref();
    match groups.as_slice() {
        [(Format { read: Reading::Together(family), .. }, group)] => (family.open)(group, key, observer),
        [(Format { read: Reading::Alone(_), .. }, group)] if let [part] = group.as_slice() => {
            open_session(&SessionRef::file(&part.path), observer)
        }
        [] => Err(source.unread.into_iter().next().unwrap_or_else(|| nothing_in(reference.path()))),
        _ => Err(OpenError::Several { path: reference.path().to_owned() }),
    }
}

/// An error for a source that has no session.
pub fn nothing_in(path: &Path) -> OpenError {
    let reason = format!("no sessions found: looked for those of {}", super::systems());
    OpenError::Empty { reason, path: path.to_owned() }
}

fn parts_of(paths: &[PathBuf], observer: &dyn Observer) -> Result<(Vec<Part>, Source), OpenError> {
    let mut source = Source::default();
    let mut parts = Vec::new();
    for path in paths {
        let is_folder = path.is_dir() && detect::folder_format(REGISTRY, path).is_none();
        let files = if is_folder { source.files_of(path) } else { vec![path.clone()] };
        for file in files {
            observer.watch().step(0, 0)?;
            match Part::look(&file) {
                Ok(part) => parts.push(part),
                // Files of other kinds lie about in folders.
                Err(OpenError::Unknown { .. } | OpenError::Empty { .. }) if is_folder => {}
                Err(error @ (OpenError::Read(_) | OpenError::Cancelled(_))) if !is_folder => return Err(error),
                Err(error) if !is_folder && paths.len() == 1 => return Err(error),
                Err(error) => source.unread.push(error),
            }
        }
    }
    Ok((parts, source))
}

impl Source {
    fn files_of(&mut self, folder: &Path) -> Vec<PathBuf> {
        let found = files_below(folder);
        self.is_cut |= found.is_cut;
        found.files
    }
}

fn choose(sample: &Sample) -> Result<&'static Format, OpenError> {
    detect::choose(REGISTRY, sample)
        .map_err(|explanation| OpenError::Unknown { explanation, path: sample.path.clone() })
}

/// The parts that are read together, and each other part alone, in the order of the registry.
fn groups(parts: &[Part]) -> Vec<(&'static Format, Vec<Part>)> {
    let mut groups: Vec<(&'static Format, Vec<Part>)> = Vec::new();
    for part in parts {
        let fits = |format: &Format| match (&format.read, &part.format.read) {
            (Reading::Together(family), Reading::Together(other)) => std::ptr::eq(*family, *other),
            _ => false,
        };
        match groups.iter_mut().find(|(format, _)| fits(format)) {
            Some((_, group)) => group.push(part.clone()),
            None => groups.push((part.format, vec![part.clone()])),
        }
    }
    groups
}

/// What a list says of a file that is a session of its own.
pub(super) fn listed_alone(part: &Part) -> Listed {
    Listed { title: part.title.clone(), ..Listed::new(SessionRef::file(&part.path), part.format.name) }
}
