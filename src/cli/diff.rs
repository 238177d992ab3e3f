//! `stepline diff`: two sessions side by side, aligned step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde_json::{Map, Value, json};

use super::{CliError, Options, print, shapes, source};
use crate::actions::diff::{Comparison, Pair, PairState, PartDiff, Segment, Totals, compare_sessions, diff_steps};
use crate::formats::Recording;
use crate::model::{Session, Step};
use crate::store::{ReadError, Watch};
use crate::workspace::words::{self, difference, duration_difference};

/// Characters of a part's changes that are printed.
const PART_CHARS: usize = 600;
/// Parts of a changed step that are printed with their words.
const PARTS: usize = 12;

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let (a, b) = options.two_sources()?;
    if source::is_input(a) && source::is_input(b) {
        return Err(CliError::Usage("standard input can be only one of A and B".to_owned()));
    }
    let session = options.session.as_deref();
    let other_session = options.other_session.as_deref().or(session);
    let a = source::open_paths(std::slice::from_ref(a), session)?;
    let b = source::open_paths(std::slice::from_ref(b), other_session)?;
    let (a, b) = (&*a.recording, &*b.recording);
    let comparison = compare_sessions(a, b, Watch::none()).map_err(unreadable)?;
    if options.json {
        print::json(out, &document(&comparison, a.session(), b.session()))?;
    } else {
        write_table(&comparison, a, b, out)?;
    }
    if comparison.first_divergence().is_some() { Err(CliError::Diverged) } else { Ok(()) }
}

fn unreadable(error: ReadError) -> CliError {
    CliError::Unreadable(error.to_string())
}

fn state_word(state: PairState) -> &'static str {
    match state {
        PairState::Same => "same",
        PairState::Changed => "changed",
        PairState::OnlyLeft => "onlyA",
        PairState::OnlyRight => "onlyB",
    }
}

fn steps_of<'s>(pair: &Pair, a: &'s Session, b: &'s Session) -> (Option<&'s Step>, Option<&'s Step>) {
    (pair.left.and_then(|number| a.step(number)), pair.right.and_then(|number| b.step(number)))
}

fn document(comparison: &Comparison, a: &Session, b: &Session) -> Value {
    let side = |step: Option<&Step>| {
        step.map(|step| {
            json!({
                "stepId": step.step_id, "kind": step.kind, "summary": step.summary, "at": step.at,
                "endedAt": step.ended_at, "model": step.model, "usage": step.usage, "outcome": step.outcome,
            })
        })
    };
    let steps: Vec<Value> = comparison
        .pairs
        .iter()
        .map(|pair| {
            let (left, right) = steps_of(pair, a, b);
            json!({
                "a": pair.left, "b": pair.right, "state": state_word(pair.state()),
                "differs": pair.differs.iter().map(|part| part.word()).collect::<Vec<_>>(),
                "stepA": side(left), "stepB": side(right),
            })
        })
        .collect();
    // Everything before it is the same, so its place among the pairs is the number of a step too.
    let first = comparison.first_divergence().map(|row| row + 1);
    json!({
        "a": shapes::session(a), "b": shapes::session(b),
        "steps": steps, "firstDivergence": first,
        "totals": { "a": totals(&comparison.left), "b": totals(&comparison.right) },
    })
}

fn totals(totals: &Totals) -> Value {
    let counts = |counts: &BTreeMap<String, u64>| -> Map<String, Value> {
        counts.iter().map(|(name, count)| (name.clone(), Value::from(*count))).collect()
    };
    json!({
        "steps": totals.steps, "usage": totals.usage,
        "agentMs": totals.time.agent_ms, "waitedMs": totals.time.waiting_ms, "idleMs": totals.time.idle_ms,
        "tools": counts(&totals.tools), "models": counts(&totals.models),
    })
}

fn write_table(
    comparison: &Comparison,
    a: &dyn Recording,
    b: &dyn Recording,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let (session_a, session_b) = (a.session(), b.session());
    writeln!(out, "A  {}", print::session_line(session_a))?;
    writeln!(out, "B  {}", print::session_line(session_b))?;
    write_deltas(&comparison.left, &comparison.right, out)?;
    writeln!(out, "\n{:>5} {:>5}  {:<8}", "A", "B", "state")?;
    let number = |number: Option<u32>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
    for pair in &comparison.pairs {
        let (left, right) = steps_of(pair, session_a, session_b);
        let summary = print::harmless(left.or(right).map_or("", |step| &step.summary));
        let differs = if pair.differs.is_empty() { String::new() } else { format!("  [{}]", pair.differs.words()) };
        let state = match pair.state() {
            PairState::OnlyLeft => "only A",
            PairState::OnlyRight => "only B",
            state => state_word(state),
        };
        let (left, right) = (number(pair.left), number(pair.right));
        writeln!(out, "{left:>5} {right:>5}  {state:<8}  {summary}{differs}")?;
        if let (PairState::Changed, Some(left), Some(right)) = (pair.state(), pair.left, pair.right) {
            let diff = diff_steps((a, left), (b, right)).map_err(unreadable)?;
            diff.parts.iter().take(PARTS).try_for_each(|part| write_part(part, out))?;
            if let Some(more) = diff.parts.len().checked_sub(PARTS).filter(|more| *more > 0) {
                writeln!(out, "               and {}", words::count(more as u64, "more part", "more parts"))?;
            }
        }
    }
    match comparison.first_divergence() {
        None => writeln!(out, "the same, step by step")?,
        Some(row) => writeln!(out, "first divergence at step {}", row + 1)?,
    }
    Ok(())
}

/// What the sides came to, each line only where they differ.
fn write_deltas(a: &Totals, b: &Totals, out: &mut dyn Write) -> Result<(), CliError> {
    let mut line = |name: &str, left: String, right: String, delta: String| {
        if left == right { Ok(()) } else { writeln!(out, "   {name:<18} {left:>12} → {right:>12}  {delta}") }
    };
    let figures = |left: u64, right: u64| (words::figure(left), words::figure(right), difference(left, right));
    let (left, right, delta) = figures(a.steps as u64, b.steps as u64);
    line("steps", left, right, delta)?;
    for (name, left, right) in a.usage.counters(&b.usage) {
        let figure = |value: Option<u64>| value.map_or_else(|| "–".to_owned(), words::figure);
        let delta = left.zip(right).map(|(left, right)| difference(left, right)).unwrap_or_default();
        line(name, figure(left), figure(right), delta)?;
    }
    for (name, left, right) in [
        ("agent at work", a.time.agent_ms, b.time.agent_ms),
        ("waiting", a.time.waiting_ms, b.time.waiting_ms),
        ("idle", a.time.idle_ms, b.time.idle_ms),
    ] {
        let words = [left, right].map(crate::model::duration_words);
        let [before, after] = words;
        line(name, before, after, duration_difference(left, right))?;
    }
    for (what, left, right) in [("calls", &a.tools, &b.tools), ("steps by", &a.models, &b.models)] {
        let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        for name in names {
            let count = |counts: &BTreeMap<String, u64>| counts.get(name).copied().unwrap_or(0);
            let (before, after, delta) = figures(count(left), count(right));
            let name = print::harmless(name);
            line(
                &if what == "calls" { format!("{name} calls") } else { format!("{what} {name}") },
                before,
                after,
                delta,
            )?;
        }
    }
    Ok(())
}

/// `prompt: add [-a test-]{+two tests+}`, cut where it is long.
fn write_part(part: &PartDiff, out: &mut dyn Write) -> Result<(), CliError> {
    let mut text = String::new();
    for segment in &part.segments {
        match segment {
            Segment::Same(same) => text.push_str(same),
            Segment::Gap => text.push('⋯'),
            Segment::Changed { left, right } => {
                if !left.is_empty() {
                    text.push_str(&format!("[-{}-]", start(left)));
                }
                if !right.is_empty() {
                    text.push_str(&format!("{{+{}+}}", start(right)));
                }
            }
        }
    }
    let text = start(&text);
    let text = print::harmless_lines(&text).lines().collect::<Vec<_>>().join("\n                 ");
    writeln!(out, "               {}: {text}", print::harmless(&part.title))?;
    Ok(())
}

fn start(text: &str) -> String {
    match text.char_indices().nth(PART_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
