//! What the window costs when nothing happens: `stepline-bench idle FILE`. The real program on a display of its own.
//!
//! Frames are not counted by the program, which could be wrong about itself. A frame needs the window's thread to wake
//! up, and the system counts how often a thread went to sleep: where it did not, no frame was drawn.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const WATCHED: Duration = Duration::from_secs(10);
/// The window is at rest when it has spent nothing for so long.
const REST: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(180);

/// A program that ends with the measurement.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the system has counted of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    /// Ticks of processor time, 10 ms each.
    ticks: u64,
    /// How often the window's thread went to sleep, and how often all threads did.
    window: u64,
    all: u64,
}

/// Opens the file and watches the program at rest.
pub fn report(path: &Path) -> Result<()> {
    let program = std::env::current_exe()?.with_file_name("stepline");
    let mut server = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "1600x1000x24", "-nolisten", "tcp", "-noreset"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("Xvfb is needed")?;
    let mut display = String::new();
    let output = server.stdout.take().context("Xvfb says nothing")?;
    let _server = Running(server);
    BufReader::new(output).read_line(&mut display)?;
    let home = tempfile::tempdir()?;
    let child = Command::new(&program)
        .arg(path)
        .env("DISPLAY", format!(":{}", display.trim()))
        .env("HOME", home.path())
        .env("LIBGL_ALWAYS_SOFTWARE", "1")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("XDG_CONFIG_HOME")
        .spawn()
        .with_context(|| format!("cannot start {}: build the whole workspace", program.display()))?;
    let id = child.id();
    let mut child = Running(child);
    let start = Instant::now();
    let mut last = (counts(id)?, Instant::now());
    while last.1.elapsed() < REST {
        std::thread::sleep(Duration::from_millis(200));
        if let Some(status) = child.0.try_wait()? {
            bail!("the window ended with {status}");
        }
        let now = counts(id)?;
        if now.ticks != last.0.ticks {
            last = (now, Instant::now());
        }
        if start.elapsed() > PATIENCE {
            bail!("the window never came to rest");
        }
    }
    let before = counts(id)?;
    std::thread::sleep(WATCHED);
    let after = counts(id)?;
    println!("file          {:.1} MB", fs::metadata(path)?.len() as f64 / 1e6);
    println!(
        "opening       {} ticks, the window's thread woke up {} times, all threads {} times",
        before.ticks, before.window, before.all
    );
    println!(
        "10 s at rest  {} ticks, the window's thread woke up {} times (a frame needs one), all threads {} times",
        after.ticks - before.ticks,
        after.window - before.window,
        after.all.saturating_sub(before.all)
    );
    Ok(())
}

fn counts(id: u32) -> Result<Counts> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).context("needs the /proc of Linux")?;
    // The second field is the program's name, in brackets; user and system time are the 14th and 15th.
    let fields = stat.rsplit_once(") ").context("unknown /proc")?.1.split(' ');
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    let sleeps = |path: &Path| -> u64 {
        let status = fs::read_to_string(path.join("status")).unwrap_or_default();
        let counted = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        counted.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    };
    let tasks = Path::new("/proc").join(id.to_string()).join("task");
    let all = fs::read_dir(&tasks)?.flatten().map(|task| sleeps(&task.path())).sum();
    Ok(Counts { ticks, window: sleeps(&tasks.join(id.to_string())), all })
}
