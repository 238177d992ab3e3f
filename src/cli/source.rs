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

/// Opens the session of `source`, by its id or its file's name where it holds several.
pub fn open_path(source: &Path, session: Option<&str>) -> Result<Opened, CliError> {
    if source.is_dir() {
        return Ok(Opened { recording: only_session_of(source, session)?, spool: None });
    }
    let spool = if is_input(source) { Some(spool_input()?) } else { None };
    let path = spool.as_ref().map_or(source, |spool| spool.path());
    let recording = formats::open(path, &Patient).map_err(|error| match &spool {
        // The copy of standard input is nothing that its user knows of.
        Some(spool) => CliError::Unreadable(error.to_string().replace(&*spool.path().to_string_lossy(), "-")),
        None => CliError::Unreadable(error.to_string()),
    })?;
    if let Some(wanted) = session
        && !is_named(&*recording, source, wanted)
    {
        let has = &recording.session().id;
        return Err(CliError::Usage(format!("no session {wanted}, only {has}: {}", source.display())));
    }
    Ok(Opened { recording, spool })
}

fn only_session_of(folder: &Path, session: Option<&str>) -> Result<Arc<dyn Recording>, CliError> {
    let mut only = None;
    let mut list = Vec::new();
    for_each_session(folder, session, &mut |recording| {
        let session = recording.session();
        let name = session.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        list.push(format!("{}  {name}", print::session_line(session)));
        // One at a time is held: a folder may have thousands.
        only = Some(recording);
        Ok(())
    })?;
    let folder = folder.display();
    match (only, list.as_slice(), session) {
        (Some(recording), [_], _) => Ok(recording),
        (None, ..) => Err(CliError::Usage(format!("no session {}: {folder}", session.unwrap_or_default()))),
        _ => {
            let list = list.join("\n");
            let sentence = "several sessions; choose one with --session ID (its id, or its file's name)";
            Err(CliError::Usage(format!("{sentence}:\n{list}\n{folder}")))
        }
    }
}

/// Hands the sessions of a source to `visit`, one after the other; those with another id or file name than `session`
/// are passed over.
pub fn for_each_session(
    source: &Path,
    session: Option<&str>,
    visit: &mut dyn FnMut(Arc<dyn Recording>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    if !source.is_dir() {
        return visit(open_path(source, session)?.recording);
    }
    let mut any = false;
    let mut visit = |recording| {
        any = true;
        visit(recording)
    };
    let formats::FolderFiles { files, is_cut } = formats::files_below(source);
    if is_cut {
        eprintln!("stepline: only the first {} files are looked at: {}", files.len(), source.display());
    }
    for file in files {
        match formats::open(&file, &Patient) {
            Ok(recording) if session.is_none_or(|wanted| is_named(&*recording, &file, wanted)) => visit(recording)?,
            // Files of other kinds lie about in such folders.
            Ok(_) | Err(OpenError::Unknown { .. } | OpenError::Empty { .. }) => {}
            Err(error) => eprintln!("stepline: {}", print::harmless(&error.to_string())),
        }
    }
    if any || session.is_some() {
        return Ok(());
    }
    // A folder that may not be looked into seems empty; it is not the same.
    std::fs::read_dir(source).map_err(|error| CliError::Unreadable(format!("{error}: {}", source.display())))?;
    let looked_for = "no sessions found: looked for Claude Code transcripts and Outpost journals";
    Err(CliError::Unreadable(format!("{looked_for}: {}", source.display())))
}

/// Forks of a journal keep its id: a file's name, with or without its ending, names a session too.
fn is_named(recording: &dyn Recording, file: &Path, wanted: &str) -> bool {
    recording.session().id == wanted
        || [file.file_name(), file.file_stem()].into_iter().flatten().any(|name| name == wanted)
}

/// The files among `paths`, and in the folders among them, that hold the session with this id.
pub fn find_session(paths: &[PathBuf], session: &str) -> Result<Vec<PathBuf>, CliError> {
    paths.iter().map(|path| Ok(open_path(path, Some(session))?.recording.session().source.clone())).collect()
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
