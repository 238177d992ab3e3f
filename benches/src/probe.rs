//! What is measured, each in a process of its own.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use stepline::cli;
use stepline::formats::{self, Observer, Patient, Recording};
use stepline::store::Watch;
use stepline_bench::measure;

use crate::{database, frames};

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Parsing every line to a value and dropping it: what reading the file costs a program that does nothing with it.
    Yardstick,
    /// Opening the file and waiting for all of it, as the command line does.
    Open,
    /// `stepline steps FILE --json`, with what it prints thrown away.
    Steps,
    /// Opening it as the window does, which shows what has been read so far.
    OpenWithPartials,
    /// The window itself, without a screen.
    Frames,
    /// Parsing a file that is one document to a value and dropping it.
    WholeYardstick,
    /// Listing the sessions of a database.
    List,
    /// What listing them costs a program that only selects the columns.
    ListYardstick,
    /// Opening the session of a database that was worked on last.
    OpenListed,
    /// What selecting that session's rows and parsing each message costs, with nothing kept.
    RowsYardstick,
}

/// What a measurement gave; `None` where the system does not tell, or where it makes no sense.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    pub cpu_ms: Option<f64>,
    pub wall_ms: Option<f64>,
    pub peak_bytes: Option<u64>,
    /// Until the first recording with steps arrived.
    pub first_steps_ms: Option<f64>,
    pub steps: Option<u64>,
    pub frame_median_ms: Option<f64>,
    pub frame_p99_ms: Option<f64>,
    pub frame_longest_ms: Option<f64>,
}

impl Probe {
    const ALL: [Self; 10] = [
        Self::Yardstick,
        Self::Open,
        Self::Steps,
        Self::OpenWithPartials,
        Self::Frames,
        Self::WholeYardstick,
        Self::List,
        Self::ListYardstick,
        Self::OpenListed,
        Self::RowsYardstick,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Yardstick => "yardstick",
            Self::Open => "open",
            Self::Steps => "steps",
            Self::OpenWithPartials => "open-with-partials",
            Self::Frames => "frames",
            Self::WholeYardstick => "whole-yardstick",
            Self::List => "list",
            Self::ListYardstick => "list-yardstick",
            Self::OpenListed => "open-listed",
            Self::RowsYardstick => "rows-yardstick",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|probe| probe.name() == name)
    }

    /// Measures in a process of its own.
    pub fn run_apart(self, path: &Path) -> Result<Figures> {
        let output = Command::new(std::env::current_exe()?)
            .args(["measure", self.name()])
            .arg(path)
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            bail!("the measurement `{}` ended with {}", self.name(), output.status);
        }
        Figures::from_json(&output.stdout)
    }

    /// Measures in this process.
    pub fn run(self, path: &Path) -> Result<Figures> {
        if self == Self::Frames {
            return frames::measure_frames(path);
        }
        let (cpu, start) = (measure::cpu_time(), Instant::now());
        let (recording, first) = match self {
            Self::Yardstick => {
                yardstick(path)?;
                (None, None)
            }
            Self::Steps => {
                steps(path)?;
                (None, None)
            }
            Self::WholeYardstick => {
                let value: Value = serde_json::from_reader(BufReader::with_capacity(256 * 1024, File::open(path)?))?;
                std::hint::black_box(&value);
                (None, None)
            }
            Self::List => {
                let sessions = formats::sessions_of(&[path.to_owned()], &Patient)?.sessions;
                std::hint::black_box(&sessions);
                (None, None)
            }
            Self::ListYardstick => {
                database::select_sessions(path)?;
                (None, None)
            }
            Self::OpenListed => {
                let key = Some(database::last_session(path)?);
                let reference = formats::SessionRef { paths: vec![path.to_owned()], key };
                (Some(formats::open_session(&reference, &Patient)?), None)
            }
            Self::RowsYardstick => {
                database::select_rows(path)?;
                (None, None)
            }
            Self::Open | Self::Frames => (Some(formats::open(path, &Patient)?), None),
            Self::OpenWithPartials => {
                let observer = FirstSteps { start, first: Mutex::new(None) };
                let recording = formats::open(path, &observer)?;
                // A small file is there at once, without anything partial before it.
                let first = observer.seen().unwrap_or_else(|| start.elapsed());
                (Some(recording), Some(first))
            }
        };
        let wall = start.elapsed();
        let spent = measure::cpu_time().zip(cpu).map(|(after, before)| after.saturating_sub(before));
        Ok(Figures {
            cpu_ms: spent.map(milliseconds),
            wall_ms: Some(milliseconds(wall)),
            peak_bytes: measure::peak_memory(),
            first_steps_ms: first.map(milliseconds),
            steps: recording.map(|recording| recording.session().steps.len() as u64),
            ..Figures::default()
        })
    }
}

impl Figures {
    pub fn to_json(self) -> Value {
        json!({
            "cpuMs": self.cpu_ms, "wallMs": self.wall_ms, "peakBytes": self.peak_bytes,
            "firstStepsMs": self.first_steps_ms, "steps": self.steps,
            "frameMedianMs": self.frame_median_ms, "frameP99Ms": self.frame_p99_ms,
            "frameLongestMs": self.frame_longest_ms,
        })
    }

    fn from_json(text: &[u8]) -> Result<Self> {
        let value: Value = serde_json::from_slice(text).context("a measurement printed no figures")?;
        Ok(Self {
            cpu_ms: value["cpuMs"].as_f64(),
            wall_ms: value["wallMs"].as_f64(),
            peak_bytes: value["peakBytes"].as_u64(),
            first_steps_ms: value["firstStepsMs"].as_f64(),
            steps: value["steps"].as_u64(),
            frame_median_ms: value["frameMedianMs"].as_f64(),
            frame_p99_ms: value["frameP99Ms"].as_f64(),
            frame_longest_ms: value["frameLongestMs"].as_f64(),
        })
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// What the command does, but for the terminal.
fn steps(path: &Path) -> Result<()> {
    let options = cli::Options { paths: vec![path.to_owned()], json: true, ..cli::Options::default() };
    cli::run(cli::CommandName::Steps, &options, &mut std::io::sink())
        .map_err(|error| anyhow::anyhow!("{}", error.sentence().unwrap_or_default()))
}

/// Lines that are no JSON are passed over; the measurement is of the others.
fn yardstick(path: &Path) -> Result<()> {
    let mut reader = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if let Ok(value) = serde_json::from_slice::<Value>(&line) {
            std::hint::black_box(&value);
        }
        line.clear();
    }
    Ok(())
}

/// Waits like a window: for the first recording that has steps to show.
struct FirstSteps {
    start: Instant,
    first: Mutex<Option<Duration>>,
}

impl FirstSteps {
    fn seen(&self) -> Option<Duration> {
        self.first.lock().map_or(None, |first| *first)
    }
}

impl Observer for FirstSteps {
    fn watch(&self) -> Watch<'_> {
        Watch::none()
    }

    fn partial(&self, recording: Arc<dyn Recording>) {
        if let Ok(mut first) = self.first.lock()
            && first.is_none()
            && !recording.session().steps.is_empty()
        {
            *first = Some(self.start.elapsed());
        }
    }

    fn wants_partial(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_survive_the_way_between_processes() {
        let figures = Figures { cpu_ms: Some(1.5), steps: Some(7), ..Figures::default() };
        assert_eq!(Figures::from_json(figures.to_json().to_string().as_bytes()).unwrap(), figures);
        assert_eq!(Probe::by_name("open"), Some(Probe::Open));
        assert_eq!(Probe::by_name("close"), None);
    }
}
