//! What is remembered between runs: one documented JSON file in the user's configuration folder, `stepline/settings.json`.
//!
//! Keys that this version does not know are kept. A file that cannot be read is put aside, never written over.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::store::{ReadError, write_atomically};

/// Recent files that are remembered.
const RECENT_FILES: usize = 12;

/// The settings. All keys are optional in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Settings {
    pub version: u32,
    /// `dark`, `light` or `system`.
    pub theme: Theme,
    /// Size of everything, 1 = normal.
    pub zoom: f32,
    pub inspector: bool,
    /// Newest first.
    pub recent_files: Vec<PathBuf>,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Theme {
    #[default]
    Dark,
    Light,
    System,
}

/// Settings as they were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub settings: Settings,
    /// One sentence, where something was wrong.
    pub complaint: Option<String>,
    /// False where saving would write over something that was not read.
    pub may_save: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: 1,
            theme: Theme::default(),
            zoom: 1.0,
            inspector: true,
            recent_files: Vec::new(),
            unknown: Map::new(),
        }
    }
}

impl Settings {
    /// Where the settings are: below `$XDG_CONFIG_HOME` or what the system has instead.
    pub fn default_path() -> Option<PathBuf> {
        Some(dirs::config_dir()?.join("stepline").join("settings.json"))
    }

    /// Reads the settings. A file that is not understood is renamed to `settings.json.unreadable`; one that cannot be
    /// read or put aside is left alone, and nothing is written over it.
    pub fn load(path: &Path) -> Loaded {
        let fresh = |complaint: Option<String>, may_save| Loaded { settings: Self::default(), complaint, may_save };
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return fresh(None, true),
            Err(error) => {
                let complaint = format!("Settings not read, and not saved: {error}: {}", path.display());
                return fresh(Some(complaint), false);
            }
        };
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(mut settings) => {
                settings.zoom = if settings.zoom.is_finite() { settings.zoom.clamp(0.5, 3.0) } else { 1.0 };
                Loaded { settings, complaint: None, may_save: true }
            }
            Err(error) => {
                let aside = path.with_extension("json.unreadable");
                let kept = std::fs::rename(path, &aside).is_ok();
                let fate = if kept { "put aside as" } else { "left alone and not saved; cannot be put aside as" };
                fresh(Some(format!("Settings not understood ({error}), {fate} {}", aside.display())), kept)
            }
        }
    }

    /// Writes the settings, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), ReadError> {
        let failed = |source: std::io::Error| ReadError::Io { source, path: path.to_owned() };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        write_atomically(path, &serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?)
    }

    /// Puts a file at the head of the recent ones. A name that is no text cannot be written down and is left out.
    pub fn remember(&mut self, path: &Path) {
        if path.to_str().is_none() {
            return;
        }
        self.recent_files.retain(|recent| recent != path);
        self.recent_files.insert(0, path.to_owned());
        self.recent_files.truncate(RECENT_FILES);
    }
}

/// Saves settings one after the other, the newest last, whichever thread comes first.
#[derive(Clone)]
pub struct Saver {
    path: PathBuf,
    /// How many tickets were given, and the number of the newest that was saved.
    state: Arc<Mutex<(u64, u64)>>,
}

/// Settings to be saved, in their order.
pub struct Ticket {
    number: u64,
    settings: Settings,
}

impl Saver {
    pub fn new(path: PathBuf) -> Self {
        Self { path, state: Arc::default() }
    }

    pub fn ticket(&self, settings: &Settings) -> Ticket {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        Ticket { number: state.0, settings: settings.clone() }
    }

    /// Saves, unless newer settings were saved already.
    pub fn save(&self, ticket: Ticket) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if ticket.number <= state.1 {
            return;
        }
        match ticket.settings.save(&self.path) {
            Ok(()) => state.1 = ticket.number,
            Err(error) => log::warn!("settings not saved: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_survive_and_damage_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stepline/settings.json");
        assert_eq!(Settings::load(&path), Loaded { settings: Settings::default(), complaint: None, may_save: true });

        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, r#"{"theme":"light","fromTheFuture":{"a":1}}"#).unwrap();
        let Loaded { mut settings, complaint, .. } = Settings::load(&path);
        assert_eq!(complaint, None);
        assert_eq!(settings.theme, Theme::Light);
        settings.remember(Path::new("/a"));
        settings.remember(Path::new("/b"));
        settings.remember(Path::new("/a"));
        settings.save(&path).unwrap();
        let saved: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(saved["fromTheFuture"]["a"], 1);
        assert_eq!(saved["recentFiles"], serde_json::json!(["/a", "/b"]));

        std::fs::write(&path, "{ not json").unwrap();
        let loaded = Settings::load(&path);
        assert_eq!(loaded.settings, Settings::default());
        assert!(loaded.may_save);
        assert!(loaded.complaint.unwrap().contains("put aside"));
        let aside = path.with_file_name("settings.json.unreadable");
        assert_eq!(std::fs::read_to_string(aside).unwrap(), "{ not json");

        // A folder in its place can be neither read nor written over.
        std::fs::create_dir(&path).unwrap();
        assert!(!Settings::load(&path).may_save);
        // Sizes that no window can have are none.
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, r#"{"zoom":0}"#).unwrap();
        assert_eq!(Settings::load(&path).settings.zoom, 0.5);
    }
}
