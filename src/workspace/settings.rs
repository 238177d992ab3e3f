//! What is remembered between runs: one documented JSON file in the user's configuration folder, `stepline/settings.json`.
//!
//! Keys that this version does not know are kept. A file that cannot be read is put aside, never written over.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::store::write_atomically;

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

    /// Reads the settings. An unreadable file is renamed to `settings.json.unreadable`; the sentence says so.
    pub fn load(path: &Path) -> (Self, Option<String>) {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (Self::default(), None),
            Err(error) => return (Self::default(), Some(format!("Settings not read: {error}: {}", path.display()))),
        };
        match serde_json::from_str(&text) {
            Ok(settings) => (settings, None),
            Err(error) => {
                let aside = path.with_extension("json.unreadable");
                let kept = std::fs::rename(path, &aside).is_ok();
                let fate = if kept { "put aside as" } else { "could not be put aside:" };
                let sentence = format!("Settings not understood ({error}), {fate} {}", aside.display());
                (Self::default(), Some(sentence))
            }
        }
    }

    /// Writes the settings, whole or not at all.
    pub fn save(&self, path: &Path) -> anyhow::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        write_atomically(path, &serde_json::to_vec_pretty(self)?)?;
        Ok(())
    }

    /// Puts a file at the head of the recent ones.
    pub fn remember(&mut self, path: &Path) {
        self.recent_files.retain(|recent| recent != path);
        self.recent_files.insert(0, path.to_owned());
        self.recent_files.truncate(RECENT_FILES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_survive_and_damage_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stepline/settings.json");
        assert_eq!(Settings::load(&path), (Settings::default(), None));

        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, r#"{"theme":"light","fromTheFuture":{"a":1}}"#).unwrap();
        let (mut settings, complaint) = Settings::load(&path);
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
        let (settings, complaint) = Settings::load(&path);
        assert_eq!(settings, Settings::default());
        assert!(complaint.unwrap().contains("put aside"));
        let aside = path.with_file_name("settings.json.unreadable");
        assert_eq!(std::fs::read_to_string(aside).unwrap(), "{ not json");
    }
}
