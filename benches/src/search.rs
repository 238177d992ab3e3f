//! Searching a large transcript, beside ripgrep on the same file in the same run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use stepline::formats::search::{Pattern, Query};
use stepline::formats::{self, Patient, Recording};
use stepline::store::{ReadError, Watch};
use stepline_bench::transcript::Options;

use crate::{generate, megabytes};

/// In no file.
const ABSENT: &str = "zyxquartjackdaw";
/// Characters of the words that occur once.
const RARE_CHARS: usize = 40;
const CHUNK_BYTES: usize = 1024 * 1024;

/// Measures and prints.
pub fn report(file: Option<PathBuf>, options: Options, runs: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = match file {
        Some(path) => path,
        None => {
            let path = folder.path().join(format!("00000000-0000-4000-8000-{:012x}.jsonl", options.seed));
            generate(&path, options)?;
            path
        }
    };
    let recording = formats::open(&path, &Patient)?;
    let rare = rare(&*recording, &path)?;
    let yardstick = Yardstick::find();
    println!("file          {}, in the page cache", megabytes(std::fs::metadata(&path)?.len()));
    println!("yardstick     {}", yardstick.words());
    println!("median of     {runs} runs each\n");
    println!("{:<34}{:>9}{:>12}{:>12}{:>10}{:>14}", "", "matches", "search", "yardstick", "ratio", "first after");
    let regex = format!("{rare}|{ABSENT}");
    for (name, text, match_case, is_regex) in [
        ("a phrase that occurs once", &*rare, true, false),
        ("  in any case", &rare, false, false),
        ("a word that does not occur", ABSENT, true, false),
        ("  in any case", ABSENT, false, false),
        ("a regular expression", &regex, true, true),
        ("a number that does not occur", "8462097351", true, false),
    ] {
        let query = Query { text: text.to_owned(), match_case, is_regex, whole_word: false };
        let pattern = Pattern::new(&query)?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            theirs.push(yardstick.run(&query, &path)?);
            ours.push(search(&*recording, &pattern)?);
        }
        ours.sort_by_key(|run| run.wall);
        theirs.sort();
        let (ours, theirs) = (&ours[runs / 2], theirs[runs / 2]);
        println!(
            "{name:<34}{:>9}{:>12}{:>12}{:>10.2}{:>14}",
            ours.matches,
            seconds(ours.wall),
            seconds(theirs),
            ours.wall.as_secs_f64() / theirs.as_secs_f64(),
            ours.first.map_or("-".to_owned(), seconds),
        );
    }
    everywhere(&*recording)?;
    Ok(())
}

/// A word that is in most records: all of them are taken apart.
fn everywhere(recording: &dyn Recording) -> Result<()> {
    let pattern = Pattern::new(&Query { text: "e".to_owned(), ..Query::default() })?;
    let run = search(recording, &pattern)?;
    println!("\na letter that is in every text: {} matches in {}", run.matches, seconds(run.wall));
    println!("  the first after {}", run.first.map_or("-".to_owned(), seconds));
    let mut waits: Vec<Duration> = (1..=20_u64)
        .map(|number| {
            let cancelled = AtomicBool::new(false);
            let after = run.wall.mul_f64(number as f64 / 22.0).min(Duration::from_millis(40 * number));
            std::thread::scope(|scope| {
                let canceller = scope.spawn(|| {
                    std::thread::sleep(after);
                    cancelled.store(true, Ordering::Relaxed);
                    Instant::now()
                });
                let result = recording.search(&pattern, Watch::new(&cancelled, &|_, _| {}), &mut |_| {});
                let returned = Instant::now();
                let asked = canceller.join().map_err(|_| anyhow::anyhow!("the canceller broke down"))?;
                match result {
                    Err(ReadError::Cancelled(_)) => Ok(returned.saturating_duration_since(asked)),
                    other => bail!("it was not called off: {other:?}"),
                }
            })
        })
        .collect::<Result<_>>()?;
    waits.sort();
    println!(
        "  from calling it off to its return: {} in the middle, {} at most",
        seconds(waits[10]),
        seconds(waits[19])
    );
    Ok(())
}

struct Run {
    wall: Duration,
    first: Option<Duration>,
    matches: usize,
}

fn search(recording: &dyn Recording, pattern: &Pattern) -> Result<Run> {
    let start = Instant::now();
    let (mut first, mut matches) = (None, 0);
    recording.search(pattern, Watch::none(), &mut |hit| {
        first.get_or_insert_with(|| start.elapsed());
        matches += hit.count;
    })?;
    Ok(Run { wall: start.elapsed(), first, matches })
}

/// Words of an event in the middle of the session that stand once in its file.
fn rare(recording: &dyn Recording, path: &Path) -> Result<String> {
    let session = recording.session();
    let middle = session.events.len() / 2;
    for event in session.events.iter().skip(middle).take(200) {
        let body = recording.body(&event)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == ' ';
        for run in body.text.split(|c: char| !is_plain(c)).map(str::trim) {
            let Some(words) = run.get(..RARE_CHARS.min(run.len())).map(str::trim).filter(|words| words.len() >= 20)
            else {
                continue;
            };
            if count(words.as_bytes(), path)? == 1 {
                return Ok(words.to_owned());
            }
        }
    }
    bail!("no phrase occurs once: {}", path.display())
}

/// What a search is measured by.
enum Yardstick {
    Ripgrep(String),
    /// One pass of `memmem` over the file on one thread, which cannot pass over case.
    Memmem,
}

impl Yardstick {
    fn find() -> Self {
        let output = Command::new("rg").arg("--version").stderr(Stdio::null()).output();
        let version = output.ok().filter(|output| output.status.success());
        let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
        version.and_then(|text| text.lines().next().map(str::to_owned)).map_or(Self::Memmem, Self::Ripgrep)
    }

    fn words(&self) -> String {
        match self {
            Self::Ripgrep(version) => format!("rg --count-matches ({version}), its start included"),
            Self::Memmem => "rg is not on the PATH: one pass of memmem over 1 MiB at a time, on one thread".to_owned(),
        }
    }

    fn run(&self, query: &Query, path: &Path) -> Result<Duration> {
        let start = Instant::now();
        match self {
            Self::Ripgrep(_) => {
                let mut command = Command::new("rg");
                command.args(["--no-config", "--count-matches"]);
                command.args(if query.is_regex { &[][..] } else { &["--fixed-strings"] });
                command.args(if query.match_case { &[][..] } else { &["--ignore-case"] });
                let output = command.arg("--").arg(&query.text).arg(path).output().context("rg did not start")?;
                // 1: nothing was found.
                if !matches!(output.status.code(), Some(0 | 1)) {
                    bail!("rg ended with {}", output.status);
                }
            }
            Self::Memmem => {
                count(query.text.as_bytes(), path)?;
            }
        }
        Ok(start.elapsed())
    }
}

/// How often a word stands in a file, but for those that a chunk's border cuts through.
fn count(word: &[u8], path: &Path) -> Result<usize> {
    let (mut file, mut chunk, mut count) = (File::open(path)?, vec![0; CHUNK_BYTES], 0);
    let finder = memchr::memmem::Finder::new(word);
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(count);
        }
        count += finder.find_iter(&chunk[..read]).count();
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}
