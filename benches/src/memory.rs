//! The memory that an open session takes, and whether it is given back when its tab is closed.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use stepline::workspace::Request;
use stepline_bench::measure;
use stepline_bench::transcript::{self, Options};

use crate::frames::Window;
use crate::megabytes;

const PATIENCE: Duration = Duration::from_secs(120);
/// What grew each time would be a leak: the session is opened and closed this often.
const TIMES: usize = 3;
/// Has glibc give back each large buffer when it is freed. Left alone it takes buffers of a size that was freed before
/// from its heaps, and keeps up to twice that size of each heap for the next ones.
const FREED_AT_ONCE: [(&str, &str); 2] = [("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")];

/// Measures in processes of their own and prints what was in use: once as it is, and once without what the allocator
/// keeps of memory that was freed, which leaves what the program still holds.
pub fn report(path: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let small = folder.path().join("00000000-0000-4000-8000-000000000000.jsonl");
    transcript::write(&mut File::create(&small)?, Options { bytes: 1_000_000, seed: 1 })?;
    let as_it_is = run_apart(&small, path, &[])?;
    let held = run_apart(&small, path, &FREED_AT_ONCE)?;
    let file_bytes = std::fs::metadata(path)?.len();
    println!("file          {}", megabytes(file_bytes));
    println!("baseline      a window in which 1 MB was open and is closed: with its fonts and what was laid out\n");
    println!("{:<18}{:>14}{:>24}{:>24}", "resident memory", "", "above the baseline", "of that freed by then");
    let baseline = |readings: &[Reading]| readings.get(1).map_or(0, |reading| reading.bytes);
    let (base, held_base) = (baseline(&as_it_is), baseline(&held));
    for (reading, held) in as_it_is.iter().zip(&held) {
        let above = reading.bytes.saturating_sub(base);
        let kept = above.saturating_sub(held.bytes.saturating_sub(held_base));
        let share = |bytes: u64| format!("{} {:>5.2} %", megabytes(bytes), bytes as f64 / file_bytes as f64 * 100.0);
        println!("{:<18}{:>14}{:>24}{:>24}", reading.what, megabytes(reading.bytes), share(above), share(kept));
    }
    println!("\nfreed by then: what the allocator keeps for the next session and the program does not hold");
    Ok(())
}

struct Reading {
    what: String,
    bytes: u64,
}

fn run_apart(small: &Path, path: &Path, environment: &[(&str, &str)]) -> Result<Vec<Reading>> {
    let output = Command::new(std::env::current_exe()?)
        .arg("measure-memory")
        .args([small, path])
        .envs(environment.iter().copied())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        bail!("the measurement ended with {}", output.status);
    }
    let readings: Vec<Value> = serde_json::from_slice(&output.stdout).context("a measurement printed no figures")?;
    let reading = |value: Value| Reading {
        what: value["what"].as_str().unwrap_or_default().to_owned(),
        bytes: value["bytes"].as_u64().unwrap_or(0),
    };
    Ok(readings.into_iter().map(reading).collect())
}

/// Measures in this process; what it prints is for the one that started it.
pub fn measure(small: &Path, path: &Path) -> Result<Value> {
    let mut window = Window::open(&[]);
    draw(&mut window, 0.0);
    let mut readings = vec![reading("empty window")];
    open(&mut window, small)?;
    close(&mut window)?;
    readings.push(reading("baseline"));
    for time in 1..=TIMES {
        open(&mut window, path)?;
        readings.push(reading(&format!("open, time {time}")));
        close(&mut window)?;
        readings.push(reading(&format!("closed, time {time}")));
    }
    Ok(json!(readings))
}

fn open(window: &mut Window, path: &Path) -> Result<()> {
    window.app.workspace.open(&[path.to_owned()]);
    wait(window)?;
    draw(window, 2400.0);
    Ok(())
}

fn close(window: &mut Window) -> Result<()> {
    let document = window.app.workspace.active().context("nothing is open")?.id;
    window.app.workspace.handle(Request::CloseTab(document));
    draw(window, 0.0);
    Ok(())
}

fn reading(what: &str) -> Value {
    json!({"what": what, "bytes": measure::memory()})
}

/// Scrolls a little: what is shown is read, and kept.
fn draw(window: &mut Window, delta_px: f32) {
    for _ in 0..50 {
        window.scroll_conversation(delta_px);
    }
}

fn wait(window: &mut Window) -> Result<()> {
    let start = Instant::now();
    loop {
        window.frame(Vec::new());
        if !window.app.workspace.is_busy() {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            bail!("the window did not finish reading");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
