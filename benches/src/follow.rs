//! How long after a write what was written is on the screen, and what is read for it: `stepline-bench follow`.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use stepline::workspace::{Command, Request};
use stepline_bench::transcript::{self, Options};

use crate::frames::{CONVERSATION, Window};

/// So much is appended a second, for so long.
const RATE_BYTES: u64 = 10_000_000;
const SECONDS: u64 = 10;
/// Between two frames of a screen.
const FRAME: Duration = Duration::from_micros(16_667);
const PATIENCE: Duration = Duration::from_secs(120);

/// Follows a transcript that has `bytes` and grows.
pub fn report(bytes: u64, seed: u64) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(format!("00000000-0000-4000-8000-{seed:012x}.jsonl"));
    let mut whole = Vec::new();
    transcript::write(&mut whole, Options { bytes: bytes + RATE_BYTES * SECONDS, seed })?;
    let at = usize::try_from(bytes)?.min(whole.len());
    let record_end = whole.iter().skip(at).position(|byte| *byte == b'\n').context("nothing is left to append")?;
    let rest = whole.split_off(at + record_end + 1);
    fs::write(&path, &whole)?;
    drop(whole);

    let bell = Arc::new(Bell::default());
    let ring = Arc::clone(&bell);
    let mut window = Window::open_waking(std::slice::from_ref(&path), move || ring.ring());
    wait_for(&mut window, "the window did not finish reading", |window| !window.app.workspace.is_busy())?;
    // Its reader is at the end.
    window.app.workspace.handle(Request::Run(Command::LastStep));
    for _ in 0..12 {
        window.scroll(CONVERSATION, -1e6);
    }
    let steps = window.steps();
    let (read_before, start) = (bytes_read(), Instant::now());
    let written = Arc::new(Written::default());
    let writer = std::thread::spawn({
        let (written, path) = (Arc::clone(&written), path.clone());
        move || append(&path, &rest, &written)
    });
    let mut late = Vec::new();
    let mut frames = Vec::new();
    while !writer.is_finished() || !written.is_empty() {
        bell.wait();
        let begun = Instant::now();
        frames.push(window.frame(Vec::new()));
        let shown = shown_bytes(&window);
        late.extend(written.shown(shown, Instant::now()));
        if start.elapsed() > PATIENCE {
            bail!("what was written never showed: {shown} bytes did");
        }
        std::thread::sleep(FRAME.saturating_sub(begun.elapsed()));
    }
    let took = start.elapsed();
    let appended = writer.join().map_err(|_| anyhow::anyhow!("the writer broke down"))??;
    let read = bytes_read().zip(read_before).map(|(now, before)| now - before);
    late.sort_unstable();
    frames.sort_unstable();
    let share = |sorted: &[Duration], share: f64| {
        let index = (sorted.len().saturating_sub(1) as f64 * share).ceil() as usize;
        sorted.get(index).map_or(0.0, |late| late.as_secs_f64() * 1000.0)
    };
    println!("file          {:.1} MB, {steps} steps", bytes as f64 / 1e6);
    println!("appended      {:.1} MB in {:.1} s, {} writes", appended as f64 / 1e6, took.as_secs_f64(), late.len());
    println!(
        "on screen     {:.0} ms after the write in the middle, {:.0} ms at p99, {:.0} ms at most",
        share(&late, 0.5),
        share(&late, 0.99),
        share(&late, 1.0)
    );
    println!(
        "frames        {}, {:.1} ms at p99, {:.1} ms at most",
        frames.len(),
        share(&frames, 0.99),
        share(&frames, 1.0)
    );
    match read {
        Some(read) => println!(
            "read          {:.1} MB, {:.2} times what was appended",
            read as f64 / 1e6,
            read as f64 / appended as f64
        ),
        None => println!("read          this system does not tell"),
    }
    Ok(())
}

fn wait_for(window: &mut Window, complaint: &str, done: impl Fn(&Window) -> bool) -> Result<()> {
    let start = Instant::now();
    loop {
        window.frame(Vec::new());
        if done(window) {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            bail!("{complaint}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// How much of the file the recording that was drawn knows.
fn shown_bytes(window: &Window) -> u64 {
    let recording = window.app.workspace.active().and_then(|document| document.recording());
    recording.and_then(|recording| recording.files().first()).map_or(0, |file| file.len())
}

/// Appends whole records, each by a write of its own as agents do, at the rate that is asked for; gives how many bytes.
fn append(path: &Path, records: &[u8], written: &Written) -> Result<u64> {
    let mut file: File = OpenOptions::new().append(true).open(path)?;
    let before = file.metadata()?.len();
    let start = Instant::now();
    let mut sent = 0_u64;
    for record in records.split_inclusive(|byte| *byte == b'\n') {
        let due = Duration::from_secs_f64(sent as f64 / RATE_BYTES as f64);
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        file.write_all(record)?;
        sent += record.len() as u64;
        written.push(before + sent);
    }
    Ok(sent)
}

/// Writes that are not on the screen yet: where each ended, and when.
#[derive(Default)]
struct Written(Mutex<VecDeque<(u64, Instant)>>);

impl Written {
    fn push(&self, end: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back((end, Instant::now()));
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Takes those that end within what is shown; how long each took.
    fn shown(&self, bytes: u64, now: Instant) -> Vec<Duration> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = waiting.partition_point(|(end, _)| *end <= bytes);
        waiting.drain(..count).map(|(_, at)| now.saturating_duration_since(at)).collect()
    }
}

/// Rung from other threads when there is something to draw.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Waits until it rings, but not for ever: the writer may have ended.
    fn wait(&self) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(rung, Duration::from_millis(500), |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

/// What this process has read from files so far, cached or not.
fn bytes_read() -> Option<u64> {
    let io = fs::read_to_string("/proc/self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("rchar: "))?.trim().parse().ok()
}
