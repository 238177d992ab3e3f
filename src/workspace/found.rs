//! Sessions found where agents keep them on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::model::Timestamp;

/// At most this many are listed, newest first.
const LISTED: usize = 200;

/// A session file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSession {
    pub path: PathBuf,
    /// The agent's name for the project folder it is in.
    pub project: String,
    /// The start of its first prompt, or its file name.
    pub title: String,
    pub modified: Timestamp,
    pub len: u64,
}

/// The folder where Claude Code keeps its sessions: `$CLAUDE_CONFIG_DIR` or `~/.claude`, below it `projects`.
pub fn claude_projects() -> Option<PathBuf> {
    let root = match std::env::var_os("CLAUDE_CONFIG_DIR") {
        Some(root) => PathBuf::from(root),
        None => dirs::home_dir()?.join(".claude"),
    };
    Some(root.join("projects"))
}

/// Where Devin's command line may keep its one database: below the user's data folder, and where older versions had it.
pub fn devin_databases() -> Vec<PathBuf> {
    let home = dirs::home_dir();
    let shared = home.as_ref().map(|home| home.join(".local/share"));
    let roots = [dirs::data_dir(), shared, dirs::config_dir(), home];
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in roots.into_iter().flatten().map(|root| root.join("devin/cli/sessions.db")) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Those of these databases that are there, as one entry each.
pub fn find_databases(paths: &[PathBuf]) -> Vec<FoundSession> {
    let found = paths.iter().filter_map(|path| {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(FoundSession {
            title: "All sessions of Devin".to_owned(),
            project: path.to_string_lossy().into_owned(),
            modified: modified(&metadata),
            len: metadata.len(),
            path: path.clone(),
        })
    });
    found.collect()
}

fn modified(metadata: &fs::Metadata) -> Timestamp {
    let age = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Timestamp(age.and_then(|age| i64::try_from(age.as_millis()).ok()).unwrap_or(0))
}

/// The session files directly inside the project folders of `projects`, newest first.
///
/// Subagents' files lie deeper and are not listed: they belong to their session. Symbolic links are not followed.
pub fn find_sessions(projects: &Path, title: &dyn Fn(&Path) -> Option<String>) -> Vec<FoundSession> {
    let mut found = Vec::new();
    for project in fs::read_dir(projects).into_iter().flatten().flatten() {
        if !project.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        for entry in fs::read_dir(project.path()).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_session = path.extension().is_some_and(|extension| extension == "jsonl")
                && !entry.file_name().to_string_lossy().starts_with("agent-");
            let Ok(metadata) = entry.metadata() else { continue };
            if !is_session || !metadata.is_file() || metadata.len() == 0 {
                continue;
            }
            found.push(FoundSession {
                project: project.file_name().to_string_lossy().into_owned(),
                title: String::new(),
                modified: modified(&metadata),
                len: metadata.len(),
                path,
            });
        }
    }
    found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    found.truncate(LISTED);
    for session in &mut found {
        let name = session.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        session.title = title(&session.path).unwrap_or(name);
    }
    found
}
