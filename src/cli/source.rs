//! From what was named to the session that is meant: a file, a folder with several, standard input.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CliError, Options, print};
use crate::formats::{self, OpenError, Patient, Recording};

/// Standard input is read up to this many bytes.
const MAX_INPUT_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// A session that was opened, and what has to live as long as it is read.
pub struct Opened {
    pub recording: Arc<dyn Recording>,
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
    open_path(options.only_path("SOURCE")?, options.session.as_deref())
}

/// Opens the session of `source`, by id where it holds several.
pub fn open_path(source: &Path, session: Option<&str>) -> Result<Opened, CliError> {
    if source.as_os_str() == "-" {
        let spool = spool_input()?;
        let recording = formats::open(spool.path(), &Patient).map_err(unreadable)?;
        return Ok(Opened { recording, spool: Some(spool) });
    }
    if !source.is_dir() {
        let recording = formats::open(source, &Patient).map_err(unreadable)?;
        if let Some(wanted) = session
            && recording.session().id != wanted
        {
            let has = &recording.session().id;
            return Err(CliError::Usage(format!("no session {wanted}, only {has}: {}", source.display())));
        }
        return Ok(Opened { recording, spool: None });
    }
    let mut recordings = open_folder(source, session)?;
    match (recordings.len(), session) {
        (1, _) => Ok(Opened { recording: recordings.remove(0), spool: None }),
        (0, Some(wanted)) => Err(CliError::Usage(format!("no session {wanted}: {}", source.display()))),
        (0, None) => Err(CliError::Unreadable(format!(
            "no sessions found: looked for Claude Code transcripts and Outpost journals: {}",
            source.display()
        ))),
        (_, _) => {
            let list: Vec<String> =
                recordings.iter().map(|recording| print::session_line(recording.session())).collect();
            Err(CliError::Usage(format!(
                "several sessions; choose one with --session ID:\n{}\n{}",
                list.join("\n"),
                source.display()
            )))
        }
    }
}

/// All sessions of a source, newest last activity first.
pub fn open_all(options: &Options) -> Result<Vec<Arc<dyn Recording>>, CliError> {
    let source = options.only_path("SOURCE")?;
    if !source.is_dir() {
        return Ok(vec![open_path(source, options.session.as_deref())?.recording]);
    }
    let mut recordings = open_folder(source, options.session.as_deref())?;
    recordings.sort_by_key(|recording| std::cmp::Reverse(recording.session().ended_at));
    Ok(recordings)
}

/// The sessions below a folder. A file of that name is taken before all are opened to look for an id.
fn open_folder(folder: &Path, session: Option<&str>) -> Result<Vec<Arc<dyn Recording>>, CliError> {
    let formats::FolderFiles { files, is_cut } = formats::files_below(folder);
    if is_cut {
        eprintln!("stepline: only the first {} files are looked at: {}", files.len(), folder.display());
    }
    if let Some(wanted) = session
        && let Some(named) = files.iter().find(|file| file.file_stem().is_some_and(|stem| stem == wanted))
    {
        return Ok(vec![formats::open(named, &Patient).map_err(unreadable)?]);
    }
    let mut recordings = Vec::new();
    for file in files {
        match formats::open(&file, &Patient) {
            Ok(recording) if session.is_none_or(|wanted| recording.session().id == wanted) => {
                recordings.push(recording)
            }
            // Files of other kinds lie about in such folders.
            Ok(_) | Err(OpenError::Unknown { .. } | OpenError::Empty { .. }) => {}
            Err(error) => eprintln!("stepline: {error}"),
        }
    }
    Ok(recordings)
}

/// The files among `paths`, and in the folders among them, that hold the session with this id.
pub fn find_session(paths: &[PathBuf], session: &str) -> Result<Vec<PathBuf>, CliError> {
    let mut found = Vec::new();
    for path in paths {
        found.push(open_path(path, Some(session))?.recording.session().source.clone());
    }
    Ok(found)
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

pub fn unreadable(error: OpenError) -> CliError {
    CliError::Unreadable(error.to_string())
}
