//! From what was named to the session that is meant: a file, a folder or several files, standard input.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CliError, Options, print};
use crate::formats::{self, Listed, OpenError, Patient, Recording, SessionRef};

/// Standard input is read up to this many bytes.
const MAX_INPUT_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// A session that was opened, and what has to live as long as it is read.
pub struct Opened {
    pub recording: Arc<dyn Recording>,
    /// What opens it again.
    reference: SessionRef,
    /// The copy of standard input; goes with this.
    spool: Option<tempfile::NamedTempFile>,
}

impl Opened {
    /// Whether it came from standard input and therefore has no place of its own.
    pub fn is_from_input(&self) -> bool {
        self.spool.is_some()
    }
}

/// Opens the session that the options name.
pub fn open(options: &Options) -> Result<Opened, CliError> {
    open_paths(options.source()?, options.session.as_deref())
}

/// Opens the session of what was named, by its id or its file's name where that holds several.
pub fn open_paths(paths: &[PathBuf], session: Option<&str>) -> Result<Opened, CliError> {
    let (paths, spool) = match paths {
        [input] if is_input(input) => {
            let spool = spool_input()?;
            (vec![spool.path().to_owned()], Some(spool))
        }
        paths => (paths.to_vec(), None),
    };
    let (recording, reference) = only_session(&paths, session).map_err(|error| match &spool {
        // The copy of standard input is nothing that its user knows of.
        Some(spool) => error.naming(&spool.path().to_string_lossy(), "-"),
        None => error,
    })?;
    Ok(Opened { recording, reference, spool })
}

fn only_session(paths: &[PathBuf], wanted: Option<&str>) -> Result<(Arc<dyn Recording>, SessionRef), CliError> {
    // The most usual case by far needs no list.
    if let ([path], None) = (paths, wanted)
        && !path.is_dir()
    {
        match formats::open(path, &Patient) {
            Err(OpenError::Several { .. }) => {}
            result => return result.map(|recording| (recording, SessionRef::file(path))).map_err(unreadable),
        }
    }
    let sessions = sessions_of(paths)?;
    let all = sessions.len();
    let mut found = Vec::new();
    let mut only_id = None;
    for listed in sessions {
        match wanted {
            None if listed.is_hidden => {}
            None => found.push(listed),
            Some(wanted) if listed.is_named(wanted) => found.push(listed),
            // Only reading tells what it is called. One at a time is held: a folder may have thousands.
            Some(wanted) if listed.id.is_none() => match formats::open_session(&listed.reference, &Patient) {
                Ok(recording) if recording.session().id == wanted => found.push(listed),
                Ok(recording) => only_id = Some(recording.session().id.clone()),
                Err(error) => complain(&error),
            },
            Some(_) => only_id = listed.id,
        }
    }
    // An export goes by the id of the session that it is of: the stored session itself is meant.
    let is_stored = |listed: &&Listed| wanted.is_some() && listed.reference.key.as_deref() == wanted;
    if let [_, _, ..] = found.as_slice()
        && let [stored] = found.iter().filter(is_stored).collect::<Vec<_>>().as_slice()
    {
        found = vec![(*stored).clone()];
    }
    let path = paths.first().map_or(Path::new(""), PathBuf::as_path).display();
    match (found.as_slice(), wanted, only_id) {
        ([one], ..) => {
            let recording = formats::open_session(&one.reference, &Patient).map_err(unreadable)?;
            Ok((recording, one.reference.clone()))
        }
        ([], Some(wanted), Some(has)) if all == 1 => {
            Err(CliError::Usage(format!("no session {wanted}, only {has}: {path}")))
        }
        ([], Some(wanted), _) => Err(CliError::Usage(format!("no session {wanted}: {path}"))),
        ([], None, _) => {
            Err(CliError::Unreadable(format!("all its sessions are hidden ones; name one with --session ID: {path}")))
        }
        (several, ..) => {
            let list: Vec<String> = several.iter().map(line_of).collect();
            let sentence = "several sessions; choose one with --session ID (its id, or its file's name)";
            Err(CliError::Usage(format!("{sentence}:\n{}\n{path}", list.join("\n"))))
        }
    }
}

/// The line of a session in a list to choose from.
fn line_of(listed: &Listed) -> String {
    let name = listed.reference.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    if listed.id.is_some() {
        return print::listed_line(listed);
    }
    match formats::open_session(&listed.reference, &Patient) {
        Ok(recording) => format!("{}  {name}", print::session_line(recording.session())),
        Err(error) => format!("{name}  {error}"),
    }
}

/// The sessions of what was named, newest first; what could not be looked into is told on standard error.
pub fn sessions_of(paths: &[PathBuf]) -> Result<Vec<Listed>, CliError> {
    let source = formats::sessions_of(paths, &Patient).map_err(unreadable)?;
    let path = paths.first().map_or(Path::new(""), PathBuf::as_path);
    if source.is_cut {
        eprintln!("stepline: there are too many files, not all of them are looked at: {}", path.display());
    }
    source.unread.iter().for_each(complain);
    if source.sessions.is_empty() {
        // A folder that may not be looked into seems empty; it is not the same.
        if path.is_dir() {
            std::fs::read_dir(path).map_err(|error| CliError::Unreadable(format!("{error}: {}", path.display())))?;
        }
        return Err(CliError::Unreadable(formats::nothing_in(path).to_string()));
    }
    Ok(source.sessions)
}

pub fn unreadable(error: OpenError) -> CliError {
    CliError::Unreadable(error.to_string())
}

pub fn complain(error: &OpenError) {
    eprintln!("stepline: {}", print::harmless(&error.to_string()));
}

/// What `paths` and `session` name, for the window to open.
pub fn find_session(paths: &[PathBuf], session: &str) -> Result<SessionRef, CliError> {
    Ok(open_paths(paths, Some(session))?.reference)
}

/// Whether `path` stands for standard input.
pub fn is_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn spool_input() -> Result<tempfile::NamedTempFile, CliError> {
    let failed = |error: std::io::Error| CliError::Unreadable(format!("standard input: {error}"));
    let mut spool = tempfile::Builder::new().prefix("stepline-input-").suffix(".jsonl").tempfile().map_err(failed)?;
    let mut input = std::io::stdin().lock().take(MAX_INPUT_BYTES + 1);
    let copied = std::io::copy(&mut input, &mut spool).map_err(failed)?;
    if copied > MAX_INPUT_BYTES {
        return Err(CliError::Unreadable("standard input is longer than 4 GiB; save it to a file first".to_owned()));
    }
    Ok(spool)
}
