//! The window without a display: found and driven by what a screen reader is told, judged by what it then shows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod changing;
mod dialogs;
mod growing;
mod handon;
mod pictures;
mod search;
mod session;
mod texts;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use stepline::ui::app::App;
use stepline::workspace::picker::{FilePicker, Pick};
use stepline::workspace::{Surroundings, Workspace};

/// How long anything may take to show.
const PATIENCE: Duration = Duration::from_secs(20);

/// A desktop that has no file dialog.
struct NoDialog;

impl FilePicker for NoDialog {
    fn pick(&self, _: Pick) -> Result<Vec<PathBuf>, String> {
        Err("There is no file dialog on this desktop".to_owned())
    }
}

/// A window and the folder with its files.
struct Window {
    harness: Harness<'static, Option<App>>,
    folder: tempfile::TempDir,
}

impl Window {
    /// A window of this size with copies of these files open.
    fn open(files: &[(&str, Vec<u8>)], size: [f32; 2]) -> Self {
        Self::open_with(files, size, |_| ())
    }

    /// The same, with more put into the folder before the window is there.
    fn open_with(files: &[(&str, Vec<u8>)], size: [f32; 2], prepare: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
        for (path, (_, content)) in paths.iter().zip(files) {
            fs::write(path, content).unwrap();
        }
        let settings = folder.path().join("config/settings.json");
        let projects = folder.path().join("projects");
        let harness = Harness::builder()
            .with_size(size)
            .with_max_steps(64)
            // The sample's Arabic and Japanese are drawn with the fonts of the system, and here there are none.
            .allow_missing_glyphs()
            .build_ui_state(
                move |ui, app: &mut Option<App>| {
                    let app = app.get_or_insert_with(|| {
                        let wake = ui.ctx().clone();
                        let surroundings = Surroundings {
                            wake: Arc::new(move || wake.request_repaint()),
                            picker: Arc::new(NoDialog),
                            settings_path: Some(settings.clone()),
                            claude_projects: Some(projects.clone()),
                            databases: vec![projects.with_file_name("sessions.db")],
                        };
                        App::new(ui.ctx(), surroundings, &paths, None)
                    });
                    app.frame(ui);
                },
                None,
            );
        let mut window = Self { harness, folder };
        window.wait_for("everything to be read", |window| !window.workspace().is_busy());
        window.settle();
        window
    }

    /// A window with a copy of the sample session.
    fn with_sample() -> Self {
        Self::open(&[("cart.jsonl", sample())], [1280.0, 800.0])
    }

    fn workspace(&self) -> &Workspace {
        &self.harness.state().as_ref().unwrap().workspace
    }

    /// Lets texts that are being read come in.
    fn settle(&mut self) {
        for _ in 0..12 {
            self.harness.run_steps(2);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn wait_for(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        self.harness.run_steps(1);
        while !done(self) {
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
            self.harness.run_steps(1);
            std::thread::sleep(Duration::from_millis(5));
        }
        self.harness.run_steps(2);
    }

    /// Clicks the one thing with this name.
    fn click(&mut self, name: &str) {
        self.harness.get_by_label(name).click();
        self.harness.run_steps(3);
    }

    /// Clicks the first thing whose name contains this: in the list of steps before the conversation.
    fn click_containing(&mut self, part: &str) {
        self.harness.get_all_by_label_contains(part).next().unwrap().click();
        self.harness.run_steps(3);
    }

    fn shows(&self, part: &str) -> bool {
        self.harness.query_all_by_label_contains(part).next().is_some()
    }

    fn press(&mut self, key: egui::Key) {
        self.harness.key_press(key);
        self.harness.run_steps(3);
    }

    fn selected(&self) -> Option<u32> {
        self.workspace().active()?.selected_step().map(|step| step.number)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The session that ships.
fn sample() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/cart-refactor.jsonl")).unwrap()
}
