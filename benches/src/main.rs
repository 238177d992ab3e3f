//! Measures how Stepline opens a large session: `cargo run --release --locked -p stepline-bench`.
//!
//! Each measurement runs in a process of its own, so that its time and its peak memory are nobody else's: the program
//! starts itself again with `measure NAME FILE`.

mod actions;
mod database;
mod follow;
mod frames;
mod huge;
mod idle;
mod memory;
mod probe;
mod search;
mod smooth;

use std::ffi::OsString;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use lexopt::{Arg, Parser, ValueExt};
use probe::{Figures, Probe};
use stepline_bench::stores;
use stepline_bench::transcript::{self, Options, Summary};

const USAGE: &str = "\
stepline-bench [--mb N] [--seed N] [--runs N]    make a transcript of N MB (100) and measure opening it, N times (3)
stepline-bench [--runs N] FILE                   measure opening this file
stepline-bench systems [--mb N] [--runs N]       make a database of N MB (500) with 300 sessions and a journal of 64 MiB,
                                                 and measure listing and opening
stepline-bench search [--mb N] [--runs N] [FILE] measure searching a transcript of N MB (1000), or this file, beside ripgrep
stepline-bench frames [--events N] [--seed N]    measure the frames of a session of N events (1 000 000) beside those of one
                                                 of a thousand
stepline-bench follow [--mb N] [--seed N]        append 10 MB/s to a transcript of N MB (100) that the window follows, and
                                                 measure how long after a write it shows, and what is read for it
stepline-bench idle FILE                         open this file in the real window, under Xvfb, and measure 10 s at rest
stepline-bench actions [--mb N] [--runs N] [FILE]
                                                 make a transcript of N MB (1000), or copy this file, and measure fork,
                                                 revert and undo beside a copy of the file
stepline-bench memory [--mb N] [FILE]            make a transcript of N MB (1000), or take this file, and measure the
                                                 memory of the window before, while and after it is open
stepline-bench huge [--seed N]                   measure the window over a transcript of few and huge events
stepline-bench generate [--mb N] [--seed N] FILE write such a transcript
stepline-bench generate-huge [--seed N] FILE     write the transcript of huge events
";

const COMMANDS: [&str; 14] = [
    "measure",
    "measure-action",
    "measure-frames",
    "measure-memory",
    "generate",
    "systems",
    "search",
    "frames",
    "follow",
    "idle",
    "actions",
    "memory",
    "huge",
    "generate-huge",
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stepline-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments = Arguments::parse(Parser::from_env())?;
    match &*arguments.command {
        "measure" => {
            let [name, file] = arguments.values.as_slice() else { bail!("{USAGE}") };
            let probe = Probe::by_name(&name.to_string_lossy()).context(USAGE)?;
            println!("{}", probe.run(Path::new(file))?.to_json());
        }
        "measure-action" => {
            let [name, file] = arguments.values.as_slice() else { bail!("{USAGE}") };
            println!("{}", actions::measure(&name.to_string_lossy(), Path::new(file))?);
        }
        "measure-memory" => {
            let [small, file] = arguments.values.as_slice() else { bail!("{USAGE}") };
            println!("{}", memory::measure(Path::new(small), Path::new(file))?);
        }
        "actions" => with_file(&arguments, |path| actions::report(path, arguments.runs))?,
        "memory" => with_file(&arguments, memory::report)?,
        "generate" => {
            let [file] = arguments.values.as_slice() else { bail!("{USAGE}") };
            println!("{:?}", generate(Path::new(file), arguments.options)?);
        }
        "search" => {
            let file = arguments.values.first().map(PathBuf::from);
            search::report(file, arguments.options, arguments.runs)?;
        }
        "measure-frames" => {
            let [file] = arguments.values.as_slice() else { bail!("{USAGE}") };
            println!("{}", smooth::measure(Path::new(file))?);
        }
        "follow" => follow::report(arguments.options.bytes, arguments.options.seed)?,
        "idle" => {
            let [file] = arguments.values.as_slice() else { bail!("{USAGE}") };
            idle::report(Path::new(file))?;
        }
        "frames" => smooth::report(arguments.events, arguments.options.seed)?,
        "systems" => systems(arguments.options.bytes, arguments.options.seed, arguments.runs)?,
        "huge" => huge::report(arguments.options.seed)?,
        "generate-huge" => {
            let [file] = arguments.values.as_slice() else { bail!("{USAGE}") };
            huge::generate(Path::new(file), arguments.options.seed, 1)?;
            println!("{}", transcript::huge::STEPS.join(", "));
        }
        "help" => print!("{USAGE}"),
        _ => {
            let file = arguments.values.first().map(PathBuf::from);
            report(file, arguments.options, arguments.runs)?;
        }
    }
    Ok(())
}

/// The file that was named, or one that is made up.
fn with_file(arguments: &Arguments, measure: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if let Some(file) = arguments.values.first() {
        return measure(Path::new(file));
    }
    let folder = tempfile::tempdir()?;
    let path = made_up_path(folder.path(), arguments.options.seed);
    generate(&path, arguments.options)?;
    measure(&path)
}

struct Arguments {
    command: String,
    options: Options,
    runs: usize,
    events: u64,
    values: Vec<OsString>,
}

impl Arguments {
    fn parse(mut parser: Parser) -> Result<Self> {
        let options = Options { bytes: 100_000_000, seed: 1 };
        let mut arguments = Self { command: String::new(), options, runs: 3, events: 1_000_000, values: Vec::new() };
        let mut sized = false;
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("mb") => {
                    arguments.options.bytes = parser.value()?.parse::<u64>()? * 1_000_000;
                    sized = true;
                }
                Arg::Long("seed") => arguments.options.seed = parser.value()?.parse()?,
                Arg::Long("runs") => arguments.runs = parser.value()?.parse::<usize>()?.max(1),
                Arg::Long("events") => arguments.events = parser.value()?.parse()?,
                Arg::Long("help") | Arg::Short('h') => arguments.command = "help".to_owned(),
                Arg::Value(word)
                    if arguments.command.is_empty()
                        && arguments.values.is_empty()
                        && COMMANDS.iter().any(|command| word == *command) =>
                {
                    arguments.command = word.to_string_lossy().into_owned();
                }
                Arg::Value(value) => arguments.values.push(value),
                other => return Err(other.unexpected().into()),
            }
        }
        match &*arguments.command {
            "systems" if !sized => arguments.options.bytes = 500_000_000,
            "search" | "actions" | "memory" if !sized => arguments.options.bytes = 1_000_000_000,
            _ => {}
        }
        Ok(arguments)
    }
}

fn made_up_path(folder: &Path, seed: u64) -> PathBuf {
    folder.join(format!("00000000-0000-4000-8000-{seed:012x}.jsonl"))
}

pub(crate) fn generate(path: &Path, options: Options) -> Result<Summary> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let summary = transcript::write(&mut out, options)?;
    out.into_inner()?.sync_all()?;
    Ok(summary)
}

/// Measures everything and prints the table.
fn report(file: Option<PathBuf>, options: Options, runs: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (path, made) = match file {
        Some(path) => (path, None),
        None => {
            let path = made_up_path(folder.path(), options.seed);
            let made = generate(&path, options)?;
            (path, Some(made))
        }
    };
    let bytes = std::fs::metadata(&path)?.len();
    match made {
        Some(made) => println!(
            "file          {}, {} records, {} steps, {} tool calls, {} approvals, {} fallbacks, {} compactions, \
             {} branches",
            megabytes(bytes),
            made.records,
            made.steps,
            made.tool_calls,
            made.approvals,
            made.fallbacks,
            made.compactions,
            made.branches
        ),
        None => println!("file          {}", megabytes(bytes)),
    }
    println!("median of     {runs} runs each\n");
    println!("{:<16}{:>10}{:>10}{:>14}{:>12}", "", "cpu", "wall", "peak memory", "yardsticks");

    let yardstick = median(Probe::Yardstick, &path, runs)?;
    print_row("yardstick", &yardstick, &yardstick);
    let open = median(Probe::Open, &path, runs)?;
    print_row("open", &open, &yardstick);
    let steps = median(Probe::Steps, &path, runs)?;
    print_row("stepline steps", &steps, &yardstick);
    let following = median(Probe::OpenWithPartials, &path, runs)?;
    print_row("  in a window", &following, &yardstick);

    let frames = Probe::Frames.run_apart(&path)?;
    println!("\nfirst steps on screen after {}", seconds(frames.first_steps_ms));
    println!(
        "a frame while scrolling, zooming and playing back, processor time: {} in the middle, {} at p99, {} at most",
        milliseconds(frames.frame_median_ms),
        milliseconds(frames.frame_p99_ms),
        milliseconds(frames.frame_longest_ms),
    );

    println!("\nyardstick: every line parsed to a serde_json value and dropped, on one thread");
    if let (Some(made), Some(found)) = (made, open.steps)
        && made.steps != found
    {
        bail!("{} steps were written and {found} were found", made.steps);
    }
    Ok(())
}

/// Measures what the other systems keep, at size.
fn systems(bytes: u64, seed: u64, runs: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let database = folder.path().join("sessions.db");
    let made = stores::write_database(&database, bytes, 300, seed)?;
    let journal = folder.path().join("journal.json");
    let turns = stores::write_journal(&journal, 64 * 1024 * 1024, seed)?;
    println!("database      {}, {} sessions", megabytes(std::fs::metadata(&database)?.len()), made.sessions);
    println!("journal       {}, {turns} turns", megabytes(std::fs::metadata(&journal)?.len()));
    println!("median of     {runs} runs each\n");
    println!("{:<16}{:>10}{:>10}{:>14}{:>12}", "", "cpu", "wall", "peak memory", "yardsticks");
    let mut opened = Vec::new();
    for (name, probe, yardstick, path) in [
        ("list sessions", Probe::List, Probe::ListYardstick, &database),
        ("open a session", Probe::OpenListed, Probe::RowsYardstick, &database),
        ("open journal", Probe::Open, Probe::WholeYardstick, &journal),
    ] {
        let yardstick = median(yardstick, path, runs)?;
        print_row("  its yardstick", &yardstick, &yardstick);
        let figures = median(probe, path, runs)?;
        print_row(name, &figures, &yardstick);
        opened.push(figures.steps);
    }
    println!(
        "\nyardsticks: the columns of the list selected; the session's rows selected and each message parsed to a"
    );
    println!("serde_json value; the journal parsed to one serde_json value; each dropped, on one thread");
    if opened != [None, Some(made.steps), Some(turns)] {
        bail!("{} and {turns} steps were written, {opened:?} were found", made.steps);
    }
    Ok(())
}

fn print_row(name: &str, figures: &Figures, yardstick: &Figures) {
    let ratio = match (figures.cpu_ms, yardstick.cpu_ms) {
        (Some(cpu), Some(yardstick)) if yardstick > 0.0 => format!("{:.2}", cpu / yardstick),
        _ => "-".to_owned(),
    };
    println!(
        "{name:<16}{:>10}{:>10}{:>14}{ratio:>12}",
        seconds(figures.cpu_ms),
        seconds(figures.wall_ms),
        figures.peak_bytes.map_or("-".to_owned(), megabytes),
    );
}

/// The run with the middle processor time of so many.
fn median(probe: Probe, path: &Path, runs: usize) -> Result<Figures> {
    let all = (0..runs).map(|_| probe.run_apart(path)).collect::<Result<Vec<_>>>()?;
    Ok(median_of(all, |figures| figures.cpu_ms.unwrap_or(0.0)))
}

/// The middle one by a figure; there is at least one.
fn median_of<T>(mut all: Vec<T>, figure: impl Fn(&T) -> f64) -> T {
    all.sort_by(|a, b| figure(a).total_cmp(&figure(b)));
    let middle = all.len() / 2;
    all.swap_remove(middle)
}

fn seconds(ms: Option<f64>) -> String {
    ms.map_or("-".to_owned(), |ms| format!("{:.3} s", ms / 1000.0))
}

fn milliseconds(ms: Option<f64>) -> String {
    ms.map_or("-".to_owned(), |ms| format!("{ms:.1} ms"))
}

pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
