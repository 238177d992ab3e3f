//! What fork, revert and undo of a large session cost beside a plain copy of its file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use stepline::actions::{apply_fork, apply_revert, plan_fork, plan_revert, undo_revert};
use stepline::cli;
use stepline::formats::{self, Cut, Patient, Recording};
use stepline::store::{Watch, find_receipts, now};
use stepline_bench::measure;

use crate::{median_of, megabytes, seconds};

/// One measurement, in a process of its own. The recording is open already, as it is in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// The program `cp`: the yardstick.
    Cp,
    /// A copy by the standard library, flushed to disk: what must be done at least to write a file that survives a power
    /// cut.
    Copy,
    ForkLast,
    RevertLast,
    Undo,
    RevertMiddle,
    UndoMiddle,
    /// `stepline fork FILE --step LAST`, opening included.
    Command,
}

const ALL: [(Doing, &str, &str); 8] = [
    (Doing::Cp, "cp", "cp"),
    (Doing::Copy, "copy", "copy and flush"),
    (Doing::ForkLast, "fork", "fork, last step"),
    (Doing::RevertLast, "revert", "revert, last step"),
    (Doing::Undo, "undo", "  undo"),
    (Doing::RevertMiddle, "revert-middle", "revert, middle step"),
    (Doing::UndoMiddle, "undo-middle", "  undo"),
    (Doing::Command, "command", "stepline fork …"),
];

#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    wall_ms: f64,
    /// Of this process: `cp` is another.
    cpu_ms: f64,
    /// Memory in use before, in bytes.
    before_bytes: u64,
    /// The most that was in use meanwhile.
    peak_bytes: u64,
}

/// Measures everything on a copy of `source` and prints the table.
pub fn report(source: &Path, runs: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(source.file_name().context("a file is wanted")?);
    fs::copy(source, &path)?;
    File::open(&path)?.sync_all()?;
    println!("file          {}", megabytes(fs::metadata(&path)?.len()));
    println!("median of     {runs} runs each, in turn\n");
    println!("{:<22}{:>10}{:>10}{:>8}{:>12}{:>16}", "", "wall", "cpu", "in cp", "in flushed", "memory on top");
    let mut costs = vec![Vec::new(); ALL.len()];
    for _ in 0..runs {
        for ((_, word, _), costs) in ALL.iter().zip(&mut costs) {
            costs.push(run_apart(word, &path)?);
        }
    }
    let costs: Vec<Cost> = costs.into_iter().map(|costs| median_of(costs, |cost| cost.wall_ms)).collect();
    let yardstick = |doing| {
        let rows = ALL.iter().zip(&costs);
        rows.filter(|((row, ..), _)| *row == doing).map(|(_, cost)| cost.wall_ms).next().unwrap_or(0.0)
    };
    let (cp, flushed) = (yardstick(Doing::Cp), yardstick(Doing::Copy));
    for ((_, _, title), cost) in ALL.iter().zip(&costs) {
        println!(
            "{title:<22}{:>10}{:>10}{:>8.2}{:>12.2}{:>16}",
            seconds(Some(cost.wall_ms)),
            seconds(Some(cost.cpu_ms)),
            cost.wall_ms / cp,
            cost.wall_ms / flushed,
            megabytes(cost.peak_bytes.saturating_sub(cost.before_bytes)),
        );
    }
    println!(
        "\nyardsticks: cp of the file; the file copied by the standard library and flushed to disk, as Stepline flushes"
    );
    println!("what it writes");
    Ok(())
}

fn run_apart(word: &str, path: &Path) -> Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .args(["measure-action", word])
        .arg(path)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        bail!("the measurement `{word}` ended with {}", output.status);
    }
    let value: Value = serde_json::from_slice(&output.stdout).context("a measurement printed no figures")?;
    let figure = |key: &str| value[key].as_u64().unwrap_or(0);
    Ok(Cost {
        wall_ms: value["wallMs"].as_f64().unwrap_or(0.0),
        cpu_ms: value["cpuMs"].as_f64().unwrap_or(0.0),
        before_bytes: figure("beforeBytes"),
        peak_bytes: figure("peakBytes"),
    })
}

/// Measures in this process; what it prints is for the one that started it.
pub fn measure(word: &str, path: &Path) -> Result<Value> {
    let Some((doing, ..)) = ALL.into_iter().find(|(_, known, _)| *known == word) else { bail!("no action {word}") };
    let open = || formats::open(path, &Patient);
    let mut made: Vec<PathBuf> = Vec::new();
    let cost = match doing {
        Doing::Cp => {
            let copy = path.with_extension("copy");
            made.push(copy.clone());
            timed(|| {
                let status = Command::new("cp").arg(path).arg(&copy).status()?;
                if status.success() { Ok(()) } else { bail!("cp ended with {status}") }
            })?
        }
        Doing::Copy => {
            let copy = path.with_extension("copy");
            made.push(copy.clone());
            timed(|| {
                fs::copy(path, &copy)?;
                Ok(File::options().write(true).open(&copy)?.sync_all()?)
            })?
        }
        Doing::ForkLast => {
            let recording = open()?;
            let last = last_step(&*recording)?;
            timed(|| {
                let plan = plan_fork(&*recording, Cut::After(last), None, Watch::none())?;
                made.push(apply_fork(&plan, Watch::none())?.path);
                Ok(())
            })?
        }
        Doing::RevertLast | Doing::RevertMiddle => {
            let recording = open()?;
            let last = last_step(&*recording)?;
            let step = if doing == Doing::RevertLast { last } else { last / 2 + 1 };
            timed(|| {
                let plan = plan_revert(&*recording, step, Watch::none())?;
                apply_revert(&plan, now(), Watch::none())?;
                Ok(())
            })?
        }
        Doing::Undo | Doing::UndoMiddle => {
            let (receipt, _) = find_receipts(path).into_iter().next().context("there is nothing to undo")?;
            made.push(receipt.clone());
            timed(|| {
                undo_revert(&receipt, now(), Watch::none())?;
                Ok(())
            })?
        }
        Doing::Command => {
            let out = path.with_extension("fork.jsonl");
            made.push(out.clone());
            let step = Some(last_step(&*open()?)?);
            let options =
                cli::Options { paths: vec![path.to_owned()], step, out: Some(out), ..cli::Options::default() };
            timed(|| {
                cli::run(cli::CommandName::Fork, &options, &mut std::io::sink())
                    .map_err(|error| anyhow::anyhow!("{}", error.sentence().unwrap_or_default()))
            })?
        }
    };
    for path in made {
        fs::remove_file(path)?;
    }
    Ok(json!({
        "wallMs": cost.wall_ms, "cpuMs": cost.cpu_ms,
        "beforeBytes": cost.before_bytes, "peakBytes": cost.peak_bytes,
    }))
}

fn last_step(recording: &dyn Recording) -> Result<u32> {
    Ok(recording.session().steps.last().context("the session has no steps")?.number)
}

fn timed(act: impl FnOnce() -> Result<()>) -> Result<Cost> {
    let before_bytes = measure::memory().unwrap_or(0);
    measure::forget_peak();
    let (cpu, start) = (measure::cpu_time(), Instant::now());
    act()?;
    let wall = start.elapsed();
    let cpu = measure::cpu_time().zip(cpu).map_or(Duration::ZERO, |(after, before)| after.saturating_sub(before));
    Ok(Cost {
        wall_ms: milliseconds(wall),
        cpu_ms: milliseconds(cpu),
        before_bytes,
        peak_bytes: measure::peak_memory().unwrap_or(0),
    })
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
