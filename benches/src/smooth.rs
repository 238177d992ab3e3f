//! What a frame costs in a session of a million events, beside one of a thousand: `stepline-bench frames`.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use egui::{Event, Modifiers, PointerButton, Pos2, pos2};
use serde_json::{Value, json};
use stepline::workspace::{Command, Request};
use stepline_bench::transcript::brief;

use crate::frames::{CONVERSATION, STEPS, TIMELINE, Window};

/// The yardstick has so many events.
const FEW: u64 = 1_000;
/// Frames drawn of each kind.
const FRAMES: u16 = 300;
/// Between frames, as a screen leaves it: the texts that came into view are read meanwhile.
const PAUSE: Duration = Duration::from_millis(4);
const PATIENCE: Duration = Duration::from_secs(300);
/// The line of the whole session, and the lanes under it.
const DENSITY_Y: f32 = 47.0;
const LANES_Y: f32 = 75.0;

/// Measures both sessions and prints them beside each other.
pub fn report(events: u64, seed: u64) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let measure = |events: u64| -> Result<Value> {
        let path = folder.path().join(format!("{events}.jsonl"));
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        brief::write_events(&mut out, events, seed)?;
        out.into_inner()?.sync_all()?;
        run_apart(&path)
    };
    let (few, many) = (measure(FEW)?, measure(events)?);
    let count = |figures: &Value| figures["events"].as_u64().unwrap_or(0);
    println!("processor time of a frame, {FRAMES} frames each, in ms\n");
    println!("{:<34}{:^27}{:^27}", "", format!("{} events", count(&few)), format!("{} events", count(&many)));
    println!("{:<34}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}", "", "median", "p99", "most", "median", "p99", "most", "p99");
    for (name, of_few) in few["costs"].as_object().context("no costs were measured")? {
        let of_many = &many["costs"][name];
        let figure = |costs: &Value, which: &str| costs[which].as_f64().unwrap_or(f64::NAN);
        let three =
            |costs: &Value| ["median", "p99", "most"].map(|which| format!("{:>9.2}", figure(costs, which))).concat();
        let ratio = figure(of_many, "p99") / figure(of_few, "p99");
        println!("{name:<34}{}{}{:>9}", three(of_few), three(of_many), format!("× {ratio:.2}"));
    }
    println!("\nthe longest frame while it was being read: {} and {} ms", few["opening"], many["opening"]);
    Ok(())
}

fn run_apart(path: &Path) -> Result<Value> {
    let output =
        Process::new(std::env::current_exe()?).arg("measure-frames").arg(path).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("measuring the frames ended with {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("the measurement printed no figures")
}

/// Opens a file in the window, without a screen, and drives it as a user would.
pub fn measure(path: &Path) -> Result<Value> {
    let start = Instant::now();
    let mut window = Window::open(&[path.to_owned()]);
    let mut opening = Duration::ZERO;
    loop {
        opening = opening.max(window.frame(Vec::new()));
        if !window.app.workspace.is_busy() {
            break;
        }
        if start.elapsed() > PATIENCE {
            bail!("the window did not finish reading");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    for _ in 0..4 {
        opening = opening.max(window.frame(Vec::new()));
    }
    window.app.workspace.handle(Request::SelectStep(u32::try_from(window.steps() / 2)?));
    // Fonts, the first texts.
    for _ in 0..16 {
        window.scroll(CONVERSATION, -60.0);
    }
    let mut costs = serde_json::Map::new();
    let mut kind = |name: &str, window: &mut Window, frame: &mut dyn FnMut(&mut Window, u16) -> Duration| {
        let costs_of_kind = (0..FRAMES).map(|number| {
            std::thread::sleep(PAUSE);
            frame(window, number)
        });
        costs.insert(name.to_owned(), spread(costs_of_kind.collect()));
    };
    kind("scrolling the conversation", &mut window, &mut |window, _| window.scroll(CONVERSATION, -240.0));
    kind("scrolling it fast", &mut window, &mut |window, _| window.scroll(CONVERSATION, 2400.0));
    kind("scrolling the steps", &mut window, &mut |window, _| window.scroll(STEPS, -300.0));
    kind("zooming the timeline", &mut window, &mut |window, number| {
        window.scroll(TIMELINE, if (number / 60).is_multiple_of(2) { 60.0 } else { -60.0 })
    });
    kind("dragging over the whole session", &mut window, &mut |window, number| drag(window, number, DENSITY_Y));
    kind("dragging in the lanes", &mut window, &mut |window, number| drag(window, number, LANES_Y));
    window.app.workspace.handle(Request::Run(Command::TimelineShowAll));
    window.app.workspace.handle(Request::Run(Command::Replay));
    (0..6).for_each(|_| window.app.workspace.handle(Request::Run(Command::PlayFaster)));
    kind("playing back", &mut window, &mut |window, _| {
        std::thread::sleep(Duration::from_millis(8));
        let player = window.app.workspace.active_mut().and_then(|document| document.player.as_mut());
        // It stops at markers; here it goes on.
        player
            .into_iter()
            .filter(|player| !player.playing)
            .for_each(stepline::workspace::player::Player::play_or_pause);
        window.frame(Vec::new())
    });
    let session = window.app.workspace.active().and_then(|document| document.session());
    let events = session.map_or(0, |session| session.events.len());
    Ok(json!({"events": events, "costs": costs, "opening": rounded(opening)}))
}

/// One frame of a drag to and fro, begun in the first one and ended in the last.
fn drag(window: &mut Window, number: u16, y: f32) -> Duration {
    let x = |number: u16| {
        400.0 + f32::from(if (number / 150).is_multiple_of(2) { number % 150 } else { 150 - number % 150 }) * 4.0
    };
    let at = pos2(x(number), y);
    let mut events = vec![Event::PointerMoved(at)];
    if number == 0 {
        events.push(button(at, true));
    }
    if number + 1 == FRAMES {
        events.push(button(at, false));
    }
    window.frame(events)
}

fn button(pos: Pos2, pressed: bool) -> Event {
    Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }
}

fn spread(mut costs: Vec<Duration>) -> Value {
    costs.sort_unstable();
    let at = |share: f64| {
        let index = ((costs.len().saturating_sub(1)) as f64 * share).ceil() as usize;
        costs.get(index).map_or(0.0, |cost| rounded(*cost))
    };
    json!({"median": at(0.5), "p99": at(0.99), "most": at(1.0)})
}

/// In milliseconds.
fn rounded(cost: Duration) -> f64 {
    (cost.as_secs_f64() * 100_000.0).round() / 100.0
}
