//! What huge things in one event cost the window: it is driven without a screen through each step of a transcript of
//! [`stepline_bench::transcript::huge`] as its user would, by the names that a screen reader hears. The yardstick is the
//! same transcript with everything in it a thousandth of its size.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use egui::{Event, Modifiers, PointerButton};
use stepline::workspace::bodies::TextKey;
use stepline::workspace::text::TextPart;
use stepline::workspace::{Command, Request};
use stepline_bench::measure;
use stepline_bench::transcript::huge::{STEPS, write};

use crate::frames::{CONVERSATION, INSPECTOR, Window};

/// What the yardstick is smaller by.
const SMALLER: usize = 1_000;
/// Frames drawn while scrolling in one thing.
const SCROLLED: usize = 60;
/// A button is looked for in so many screens.
const PAGES: usize = 12;
/// Where the pointer scrolls the conversation and none of the texts in it.
const MARGIN: egui::Pos2 = egui::pos2(330.0, 600.0);
/// Frames without anything to wait for, after which nothing more is coming.
const QUIET: usize = 12;
const PATIENCE: Duration = Duration::from_secs(120);
/// What the huge thing of each step is called on the screen: the end of `Show all of text …`.
const CALLED: [&str; 7] =
    [" of text ", " of output of ", " of output of ", " image: ", " of input of ", " of input of ", " of step "];
/// No frame may take longer.
const MOST: Duration = Duration::from_millis(50);

/// Writes the transcript, each thing in it `1 / divide` of its full size.
pub fn generate(path: &Path, seed: u64, divide: usize) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write(&mut out, seed, divide)?;
    out.into_inner()?.sync_all()?;
    Ok(())
}

/// Makes both files and prints what they cost, side by side.
pub fn report(seed: u64) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (small, huge) = (folder.path().join("small.jsonl"), folder.path().join("huge.jsonl"));
    generate(&small, seed, SMALLER)?;
    // In a process of its own: it needs memory that is not to be counted.
    let status = Process::new(std::env::current_exe()?)
        .args(["generate-huge", "--seed", &seed.to_string()])
        .arg(&huge)
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        bail!("the transcript was not written: {status}");
    }
    let (small, huge) = (measure(&small, false)?, measure(&huge, true)?);
    println!("longest frame, milliseconds of processor time; beside it the same where all is 1/{SMALLER} of the size");
    println!("{:<48}{:>8}{:>8}{:>8}{:>10}{:>10}{:>10}", "", "huge", "small", "wall", "copied", "peak", "after");
    let mut longest = Duration::ZERO;
    for phase in &huge {
        let yardstick = small.iter().find(|other| other.name == phase.name).map(Phase::longest);
        longest = longest.max(phase.longest());
        println!(
            "{:<48}{:>8}{:>8}{:>8}{:>10}{:>10}{:>10}",
            phase.name,
            milliseconds(Some(phase.longest())),
            milliseconds(yardstick),
            milliseconds(Some(phase.wall)),
            megabytes(phase.copied_bytes),
            megabytes(phase.peak_bytes),
            megabytes(phase.after_bytes),
        );
    }
    let verdict = if longest <= MOST { "holds" } else { "MISSED" };
    println!("longest of all {} ms; at most {} ms: {verdict}", milliseconds(Some(longest)), MOST.as_millis());
    Ok(())
}

fn milliseconds(time: Option<Duration>) -> String {
    time.map_or("-".to_owned(), |time| format!("{:.1}", time.as_secs_f64() * 1e3))
}

fn megabytes(bytes: Option<u64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| format!("{:.1} MB", bytes as f64 / 1e6))
}

/// One thing that was done, and what it needed.
#[derive(Default)]
struct Phase {
    name: String,
    frames: Vec<Duration>,
    /// The longest of these frames by the clock on the wall, which other programs make longer.
    wall: Duration,
    copied_bytes: Option<u64>,
    peak_bytes: Option<u64>,
    after_bytes: Option<u64>,
}

impl Phase {
    fn longest(&self) -> Duration {
        self.frames.iter().copied().max().unwrap_or_default()
    }
}

/// Opens the file and goes through its steps.
fn measure(path: &Path, is_huge: bool) -> Result<Vec<Phase>> {
    let mut driver =
        Driver { window: Window::open(&[path.to_owned()]), is_huge, now: Phase::default(), done: Vec::new() };
    driver.settle()?;
    driver.end("open the session");
    for (number, name) in (1..).zip(STEPS) {
        driver.step(number, name)?;
    }
    Ok(driver.done)
}

struct Driver {
    window: Window,
    is_huge: bool,
    now: Phase,
    done: Vec<Phase>,
}

impl Driver {
    fn frame(&mut self, events: Vec<Event>) {
        let start = Instant::now();
        let cost = self.window.frame(events);
        self.now.wall = self.now.wall.max(start.elapsed());
        self.now.frames.push(cost);
    }

    /// Draws until `done` says so and nothing is being read any more.
    fn draw_until(&mut self, done: impl Fn(&Self) -> bool) -> Result<()> {
        let start = Instant::now();
        let mut quiet = 0;
        while quiet < QUIET {
            self.frame(Vec::new());
            std::thread::sleep(Duration::from_millis(4));
            let workspace = &self.window.app.workspace;
            let reads = workspace.active().is_some_and(|document| document.bodies.is_reading());
            quiet = if workspace.is_busy() || reads || !done(self) { 0 } else { quiet + 1 };
            if start.elapsed() > PATIENCE {
                bail!("what was waited for did not come");
            }
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        self.draw_until(|_| true)
    }

    fn scroll(&mut self, at: egui::Pos2) {
        for turn in 0..SCROLLED {
            let delta_px = match turn % 20 {
                0..10 => -400.0,
                10..15 => -20_000.0,
                _ => 8_000.0,
            };
            self.scroll_by(at, delta_px);
        }
    }

    fn scroll_by(&mut self, at: egui::Pos2, delta_px: f32) {
        let cost = self.window.scroll(at, delta_px);
        self.now.frames.push(cost);
    }

    /// Presses the button whose name begins with `word` and has `called` in it, scrolling down to it; false where there
    /// is none, which is an error in the huge transcript.
    fn press(&mut self, word: &str, called: &str) -> Result<bool> {
        let is_it = |name: &str| name.starts_with(word) && name.contains(called);
        let mut found = self.window.find(is_it);
        for _ in 0..PAGES {
            if found.is_some() {
                break;
            }
            self.scroll_by(MARGIN, -400.0);
            self.settle()?;
            found = self.window.find(is_it);
        }
        let Some(at) = found else {
            // What is small is shown whole, and has no buttons.
            if self.is_huge {
                bail!("no button `{word} … {called}`");
            }
            return Ok(false);
        };
        for pressed in [true, false] {
            let button =
                Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE };
            self.frame(vec![Event::PointerMoved(at), button]);
        }
        self.frame(Vec::new());
        Ok(true)
    }

    fn go_to(&mut self, step: u32) -> Result<()> {
        self.window.app.workspace.handle(Request::SelectStep(step));
        self.window.app.workspace.reveal += 1;
        self.settle()
    }

    /// Notes what was done since the last time.
    fn end(&mut self, name: &str) {
        let phase = std::mem::take(&mut self.now);
        let (peak_bytes, after_bytes) = (measure::peak_memory(), measure::memory());
        self.done.push(Phase { name: name.to_owned(), peak_bytes, after_bytes, ..phase });
        measure::forget_peak();
    }

    fn step(&mut self, number: u32, name: &str) -> Result<()> {
        let called = CALLED.get(number as usize - 1).copied().unwrap_or_default();
        self.go_to(number)?;
        self.press("Show ", called)?;
        self.settle()?;
        self.end(&format!("{name}: open"));
        self.scroll(CONVERSATION);
        self.end(&format!("{name}: scroll"));
        self.go_to(number)?;
        self.now = Phase::default();
        self.copy(number, called)?;
        self.end(&format!("{name}: copy"));
        if name.contains("JSON") {
            self.press("As recorded", "")?;
            self.settle()?;
            self.scroll(CONVERSATION);
            self.end(&format!("{name}: as it is recorded"));
            self.go_to(number)?;
        }
        for command in [Command::ZoomIn, Command::ZoomOut] {
            self.window.app.workspace.handle(Request::Run(command));
            self.frame(Vec::new());
            self.frame(Vec::new());
        }
        for width in [1100.0, 1300.0, 1440.0] {
            self.window.size.0 = width;
            self.frame(Vec::new());
            self.frame(Vec::new());
        }
        self.settle()?;
        self.end(&format!("{name}: zoom and resize"));
        if let Some(event) = self.window.event_of(number) {
            self.window.app.workspace.handle(Request::SelectEvent(event));
            self.settle()?;
            self.scroll(INSPECTOR);
            self.end(&format!("{name}: raw record"));
        }
        self.go_to(if number == 1 { 2 } else { 1 })?;
        self.end(&format!("{name}: leave it"));
        Ok(())
    }

    /// Copies what is shown; of an image, its record.
    fn copy(&mut self, step: u32, called: &str) -> Result<()> {
        self.window.copied_bytes = None;
        if called.contains("image") {
            let event = self.window.event_of(step);
            let session = self.window.app.workspace.active().and_then(|document| document.session());
            let event = event.zip(session).and_then(|(event, session)| session.events.get(event));
            let result = event.and_then(|event| event.tool.as_ref()?.result).context("the image has no record")?;
            self.window.app.workspace.handle(Request::CopyText(TextKey::Raw(result), TextPart::Text));
        } else if !self.press("Copy all", called)? {
            return Ok(());
        }
        self.draw_until(|driver| driver.window.copied_bytes.is_some())?;
        self.now.copied_bytes = self.window.copied_bytes;
        // The notice about it lies over what is to be pressed next.
        let notices: Vec<u64> = self.window.app.workspace.notices.open().map(|notice| notice.id).collect();
        notices.into_iter().for_each(|id| self.window.app.workspace.handle(Request::CloseNotice(id)));
        Ok(())
    }
}
