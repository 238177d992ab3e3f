//! The memory that an open session takes, and whether it is given back when its tab is closed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use stepline::workspace::Request;
use stepline_bench::measure;

use crate::frames::Window;
use crate::megabytes;

const PATIENCE: Duration = Duration::from_secs(120);
/// What comes back only once would be a leak: the session is opened and closed this often.
const TIMES: usize = 4;

/// Measures in a process of its own and prints what was in use.
pub fn report(path: &Path) -> Result<()> {
    let output =
        Command::new(std::env::current_exe()?).arg("measure-memory").arg(path).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the measurement ended with {}", output.status);
    }
    let readings: Vec<Value> = serde_json::from_slice(&output.stdout).context("a measurement printed no figures")?;
    let file_bytes = std::fs::metadata(path)?.len();
    println!("file          {}\n", megabytes(file_bytes));
    println!("{:<34}{:>12}{:>18}{:>14}", "resident memory of the window", "", "above the empty", "of the file");
    let mut empty = None;
    for reading in readings {
        let bytes = reading["bytes"].as_u64().unwrap_or(0);
        let above = bytes.saturating_sub(*empty.get_or_insert(bytes));
        println!(
            "{:<34}{:>12}{:>18}{:>12.2} %",
            reading["what"].as_str().unwrap_or_default(),
            megabytes(bytes),
            megabytes(above),
            above as f64 / file_bytes as f64 * 100.0,
        );
    }
    Ok(())
}

/// Measures in this process; what it prints is for the one that started it.
pub fn measure(path: &Path) -> Result<Value> {
    let mut window = Window::open(&[]);
    draw(&mut window, 0.0);
    let mut readings = vec![reading("empty")];
    for time in 1..=TIMES {
        window.app.workspace.open(&[path.to_owned()]);
        wait(&mut window)?;
        draw(&mut window, 2400.0);
        readings.push(reading(&format!("open, time {time}")));
        let document = window.app.workspace.active().context("nothing is open")?.id;
        window.app.workspace.handle(Request::CloseTab(document));
        draw(&mut window, 0.0);
        readings.push(reading(&format!("closed, time {time}")));
    }
    Ok(json!(readings))
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
