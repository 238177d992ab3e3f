//! The real thing: the window on a display of its own, driven by keys from outside, judged by its title and by the files
//! on disk.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take to show.
const PATIENCE: Duration = Duration::from_secs(40);

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A display of its own, a window on it, and the folder with its file.
struct Desk {
    display: String,
    window: String,
    folder: tempfile::TempDir,
    session: PathBuf,
    program: std::cell::RefCell<Running>,
    _server: Running,
}

impl Desk {
    fn set_up() -> Self {
        // A server begins anew when its last client leaves, and has no time for others then; here clients come and go.
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb is missing: apt-get install xvfb xdotool, or run `bash .ci/test`");
        let mut number = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
        let display = format!(":{}", number.trim());

        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("cart.jsonl");
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/cart-refactor.jsonl"), &session).unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        let program = Command::new(env!("CARGO_BIN_EXE_stepline"))
            .arg(&session)
            .args(["--size", "1280x800"])
            .env("DISPLAY", &display)
            .env_remove("WAYLAND_DISPLAY")
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_RUNTIME_DIR", &home)
            .spawn()
            .unwrap();
        let mut desk = Self {
            display,
            window: String::new(),
            folder,
            session,
            program: Running(program).into(),
            _server: Running(server),
        };
        let window = desk.wait_for("a window", |desk| {
            let found = desk.xdotool(&["search", "--name", "Stepline"]);
            found.lines().next().map(str::to_owned)
        });
        desk.window = window;
        desk
    }

    fn xdotool(&self, arguments: &[&str]) -> String {
        let output = Command::new("xdotool")
            .args(arguments)
            .env("DISPLAY", &self.display)
            .output()
            .expect("xdotool is missing: apt-get install xdotool, or run `bash .ci/test`");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Presses keys in the window. No window manager is there to give it the focus, so it is given each time.
    fn press(&self, keys: &str) {
        self.xdotool(&["windowfocus", &self.window]);
        self.xdotool(&["key", keys]);
    }

    fn title(&self) -> String {
        self.xdotool(&["getwindowname", &self.window]).trim().to_owned()
    }

    fn wait_for<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            let ended = self.program.borrow_mut().0.try_wait().unwrap();
            assert_eq!(ended, None, "the program ended while {what} was waited for");
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}; the window is called {:?}", self.title());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn wait_for_title(&self, expected: &str) {
        self.wait_for(expected, |desk| desk.title().starts_with(expected).then_some(()));
    }

    /// Files beside the session, without it, whose names end so.
    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path()).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| *path != self.session && path.to_string_lossy().ends_with(ending)).collect()
    }
}

/// The number of steps of a session file, by the command line.
fn steps(path: &Path) -> u64 {
    let output = Command::new(env!("CARGO_BIN_EXE_stepline")).args(["steps", "--json"]).arg(path).output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    document["session"]["steps"].as_u64().unwrap()
}

#[test]
fn open_choose_fork_revert_undo_play() {
    let desk = Desk::set_up();
    let before = fs::read(&desk.session).unwrap();
    desk.wait_for_title("Step 1 of 15 · cart.jsonl");

    // Choose step 4, the question.
    for number in 2..=4 {
        desk.press("Down");
        desk.wait_for_title(&format!("Step {number} of 15"));
    }

    // Fork it: a new file with four steps, open in a tab of its own.
    desk.press("f");
    let fork = desk.wait_for("the fork's file", |desk| desk.files(".jsonl").into_iter().next());
    let name = fork.file_name().unwrap().to_str().unwrap().to_owned();
    desk.wait_for_title(&format!("Forked · {name}"));
    assert_eq!(steps(&fork), 4);
    assert_eq!(fs::read(&desk.session).unwrap(), before, "the original is untouched");
    desk.press("Escape");
    desk.wait_for_title(&format!("Step 4 of 4 · {name}"));
    desk.press("ctrl+Tab");
    desk.wait_for_title("Step 4 of 15 · cart.jsonl");

    // Revert step 4: the preview first, with Cancel chosen; then the button before it.
    desk.press("x");
    desk.wait_for_title("Revert step 4? · cart.jsonl");
    assert_eq!(fs::read(&desk.session).unwrap(), before, "a preview writes nothing");
    desk.press("shift+Tab");
    std::thread::sleep(Duration::from_millis(800));
    desk.press("space");
    desk.wait_for_title("Step 3 of 3 · cart.jsonl");
    assert_eq!(steps(&desk.session), 3);
    let backup = desk.files(".stepline-backup");
    assert_eq!(backup.len(), 1);
    assert_eq!(fs::read(&backup[0]).unwrap(), before);
    assert_eq!(desk.files(".stepline-receipt.json").len(), 1);

    // Undo: every byte is back.
    desk.press("ctrl+z");
    desk.wait_for_title("Step 4 of 15 · cart.jsonl");
    assert_eq!(fs::read(&desk.session).unwrap(), before);

    // Replay from step 4 on, to the next step and into it.
    desk.press("r");
    desk.press("shift+period");
    desk.press("period");
    desk.wait_for_title("Step 5 of 15 · cart.jsonl");
    desk.press("shift+r");
    desk.press("Home");
    desk.wait_for_title("Step 1 of 15 · cart.jsonl");
    assert_eq!(fs::read(&desk.session).unwrap(), before, "a replay runs nothing and writes nothing");

    desk.press("ctrl+q");
    let start = Instant::now();
    while desk.program.borrow_mut().0.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < PATIENCE, "the window does not close");
        std::thread::sleep(Duration::from_millis(50));
    }
}
