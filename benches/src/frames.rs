//! The cost of a frame: the whole window without a screen, over the file, driven as a user would.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use egui::{
    Context, Event, Modifiers, MouseWheelSource, MouseWheelUnit, OutputCommand, Pos2, RawInput, Rect, TouchPhase, pos2,
    vec2,
};
use stepline::ui::app::App;
use stepline::workspace::picker::{FilePicker, Pick};
use stepline::workspace::{Command, Request, Surroundings};
use stepline_bench::measure;

use crate::probe::Figures;

const SIZE: (f32, f32) = (1440.0, 900.0);
/// Frames drawn of each kind.
const FRAMES: usize = 200;
/// Between frames, as a screen leaves it: the texts that came into view are read meanwhile.
const PAUSE: Duration = Duration::from_millis(4);
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the pointer is for each kind of movement.
pub const CONVERSATION: Pos2 = pos2(700.0, 600.0);
pub const STEPS: Pos2 = pos2(120.0, 600.0);
pub const TIMELINE: Pos2 = pos2(700.0, 100.0);
/// Where the conversation is from left to right, the bars above it, the bar below it, in points.
const CONVERSATION_X: std::ops::Range<f32> = 320.0..1100.0;
const TOP_PX: f32 = 180.0;
const BAR_PX: f32 = 24.0;
pub const INSPECTOR: Pos2 = pos2(1300.0, 700.0);

/// The whole window, without a screen.
pub struct Window {
    context: Context,
    pub app: App,
    time: f64,
    /// Width and height in points, before zooming.
    pub size: (f32, f32),
    /// How long the text is that went to the clipboard last.
    pub copied_bytes: Option<u64>,
}

struct NoDialog;

impl FilePicker for NoDialog {
    fn pick(&self, _: Pick) -> std::result::Result<Vec<PathBuf>, String> {
        Ok(Vec::new())
    }
}

impl Window {
    pub fn open(paths: &[PathBuf]) -> Self {
        Self::open_waking(paths, || {})
    }

    /// The same; `wake` is called from other threads when there is something to draw.
    pub fn open_waking(paths: &[PathBuf], wake: impl Fn() + Send + Sync + 'static) -> Self {
        let context = Context::default();
        let surroundings = Surroundings {
            wake: Arc::new(wake),
            picker: Arc::new(NoDialog),
            settings_path: None,
            claude_projects: None,
            databases: Vec::new(),
        };
        let app = App::new(&context, surroundings, paths, None);
        Self { context, app, time: 0.0, size: SIZE, copied_bytes: None }
    }

    /// Draws one frame; the processor time it took on this thread.
    pub fn frame(&mut self, events: Vec<Event>) -> Duration {
        let input = self.input(events);
        let before = measure::thread_time();
        let output = self.context.run_ui(input, |ui| self.app.frame(ui));
        let drawn = self.context.tessellate(output.shapes, output.pixels_per_point);
        std::hint::black_box(drawn.len());
        let after = measure::thread_time();
        for command in output.platform_output.commands {
            if let OutputCommand::CopyText(text) = command {
                self.copied_bytes = Some(text.len() as u64);
            }
        }
        after.zip(before).map_or(Duration::ZERO, |(after, before)| after.saturating_sub(before))
    }

    /// Turns the wheel over the conversation.
    pub fn scroll_conversation(&mut self, delta_px: f32) {
        self.scroll(CONVERSATION, delta_px);
    }

    fn input(&mut self, events: Vec<Event>) -> RawInput {
        self.time += 1.0 / 60.0;
        let size = vec2(self.size.0, self.size.1) / self.context.zoom_factor();
        RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)),
            time: Some(self.time),
            events,
            ..RawInput::default()
        }
    }

    /// The middle of what a screen reader calls by a name that `is_it`, in the conversation; draws a frame.
    pub fn find(&mut self, is_it: impl Fn(&str) -> bool) -> Option<Pos2> {
        self.context.enable_accesskit();
        let input = self.input(Vec::new());
        let output = self.context.run_ui(input, |ui| self.app.frame(ui));
        self.context.disable_accesskit();
        let nodes = output.platform_output.accesskit_update?.nodes;
        let found = nodes.iter().filter(|(_, node)| node.label().is_some_and(&is_it));
        let middles = found.filter_map(|(_, node)| {
            let bounds = node.bounds()?;
            Some(pos2(((bounds.x0 + bounds.x1) / 2.0) as f32, ((bounds.y0 + bounds.y1) / 2.0) as f32))
        });
        let bottom = self.size.1 - BAR_PX;
        let mut middles = middles.filter(|at| CONVERSATION_X.contains(&at.x) && (TOP_PX..bottom).contains(&at.y));
        middles.next()
    }

    /// The event of a step with the most text.
    pub fn event_of(&self, step: u32) -> Option<usize> {
        let session = self.app.workspace.active()?.session()?;
        let events = session.step(step)?.events.clone();
        events.max_by_key(|index| session.events.glance(*index).map_or(0, |event| event.text_bytes))
    }

    pub fn scroll(&mut self, at: Pos2, delta_px: f32) -> Duration {
        std::thread::sleep(PAUSE);
        self.frame(vec![
            Event::PointerMoved(at),
            Event::MouseWheel {
                unit: MouseWheelUnit::Point,
                delta: vec2(0.0, delta_px),
                phase: TouchPhase::Move,
                source: MouseWheelSource::Wheel,
                modifiers: Modifiers::NONE,
            },
        ])
    }

    pub fn steps(&self) -> usize {
        self.app.workspace.active().and_then(|document| document.session()).map_or(0, |session| session.steps.len())
    }
}

/// Frame costs, and when the first steps were on the screen.
pub fn measure_frames(path: &Path) -> Result<Figures> {
    let start = Instant::now();
    let mut window = Window::open(&[path.to_owned()]);
    let mut first_steps = None;
    loop {
        window.frame(Vec::new());
        if first_steps.is_none() && window.steps() > 0 {
            window.frame(Vec::new());
            first_steps = Some(start.elapsed());
        }
        if !window.app.workspace.is_busy() {
            break;
        }
        if start.elapsed() > PATIENCE {
            bail!("the window did not finish reading");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut costs = Vec::new();
    window.app.workspace.handle(Request::SelectStep(u32::try_from(window.steps() / 2)?));
    for _ in 0..8 {
        window.scroll(CONVERSATION, 0.0);
    }
    for (at, delta_px) in
        [(CONVERSATION, -240.0), (CONVERSATION, 2400.0), (STEPS, -300.0), (TIMELINE, 40.0), (TIMELINE, -40.0)]
    {
        for _ in 0..FRAMES {
            costs.push(window.scroll(at, delta_px));
        }
    }
    window.app.workspace.handle(Request::Run(Command::Replay));
    for _ in 0..FRAMES {
        std::thread::sleep(PAUSE);
        costs.push(window.frame(Vec::new()));
    }
    costs.sort_unstable();
    let at =
        |share: f64| costs.get(((costs.len() - 1) as f64 * share) as usize).map(|cost| cost.as_secs_f64() * 1000.0);
    Ok(Figures {
        first_steps_ms: first_steps.map(|time| time.as_secs_f64() * 1000.0),
        frame_median_ms: at(0.5),
        frame_p99_ms: at(0.99),
        frame_longest_ms: at(1.0),
        peak_bytes: measure::peak_memory(),
        steps: Some(window.steps() as u64),
        ..Figures::default()
    })
}
