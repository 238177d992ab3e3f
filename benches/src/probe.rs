//! What is measured, each in a process of its own.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use stepline::formats::{self, Observer, Patient, Recording};
use stepline::store::Watch;
use stepline_bench::measure;

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Parsing every line to a value and dropping it: what reading the file costs a program that does nothing with it.
    Yardstick,
    /// Opening the file and waiting for all of it, as the command line does.
    Open,
    /// Opening it as the window does, which shows what has been read so far.
    OpenWithPartials,
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
}

impl Probe {
    const ALL: [Self; 3] = [Self::Yardstick, Self::Open, Self::OpenWithPartials];

    fn name(self) -> &'static str {
        match self {
            Self::Yardstick => "yardstick",
            Self::Open => "open",
            Self::OpenWithPartials => "open-with-partials",
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
        let (cpu, start) = (measure::cpu_time(), Instant::now());
        let (recording, first) = match self {
            Self::Yardstick => {
                yardstick(path)?;
                (None, None)
            }
            Self::Open => (Some(formats::open(path, &Patient)?), None),
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
        })
    }
}

impl Figures {
    pub fn to_json(self) -> Value {
        json!({
            "cpuMs": self.cpu_ms, "wallMs": self.wall_ms, "peakBytes": self.peak_bytes,
            "firstStepsMs": self.first_steps_ms, "steps": self.steps,
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
        })
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
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
