//! The window as a whole: how it is made, what it does each frame, how its panels lie.
//!
//! `logic` drains what the jobs sent and carries out what was asked for; `ui` only draws and asks.

mod bars;
mod keys;
mod layout;
mod logic;
mod replay;
mod screenshot;
mod search;
mod tabs;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use egui::Context;

use super::choose::ChooseState;
use super::conversation::ConversationState;
use super::inspector::InspectorState;
use super::steps::StepsState;
use super::theme;
use super::timeline::TimelineState;
use crate::formats::SessionRef;
use crate::workspace::document::DocumentId;
use crate::workspace::picker::{Complaints, Desktop, FilePicker};
use crate::workspace::settings::{Settings, Theme};
use crate::workspace::{Request, Surroundings, Workspace, found};
use screenshot::Screenshot;

/// The window's own state: where each document's panels are scrolled, what was asked for and is not done yet.
pub struct App {
    pub workspace: Workspace,
    views: HashMap<DocumentId, DocumentView>,
    tabs: tabs::TabsState,
    dialogs: super::dialogs::DialogsState,
    /// The inspector lies over the conversation of a narrow window.
    inspector_over: bool,
    /// Whether the settings had the inspector open in the last frame.
    inspects: Option<bool>,
    requests: Vec<Request>,
    /// When a replay was last let go on.
    last_tick: Option<Instant>,
    title: String,
    /// The step to select once the first document is open.
    first_step: Option<u32>,
    screenshot: Option<Screenshot>,
    /// Shown instead of the remembered one.
    theme: Option<Theme>,
}

/// What the window is opened with.
#[derive(Clone, Debug, Default)]
pub struct WindowOptions {
    /// Files and folders to open together.
    pub paths: Vec<PathBuf>,
    /// The session of them to open; without it, the one there is, or the list of them.
    pub session: Option<SessionRef>,
    /// The step of the first file to select.
    pub step: Option<u32>,
    /// Write a picture of the window to this file and leave. For documents and tests.
    pub screenshot: Option<PathBuf>,
    /// Width and height in points.
    pub size: Option<(f32, f32)>,
    /// Instead of the remembered theme.
    pub theme: Option<Theme>,
}

/// The panels' state for one document.
#[derive(Default)]
pub struct DocumentView {
    pub timeline: TimelineState,
    pub steps: StepsState,
    pub conversation: ConversationState,
    pub inspector: InspectorState,
    pub choose: ChooseState,
    search: search::SearchBar,
}

impl App {
    /// A window over `surroundings` with `paths` open.
    pub fn new(context: &Context, surroundings: Surroundings, paths: &[PathBuf], first_step: Option<u32>) -> Self {
        theme::install(context);
        context.options_mut(|options| options.zoom_with_keyboard = false);
        let mut workspace = Workspace::new(surroundings);
        workspace.open(paths);
        Self {
            workspace,
            views: HashMap::new(),
            tabs: tabs::TabsState::default(),
            dialogs: super::dialogs::DialogsState::default(),
            inspector_over: false,
            inspects: None,
            requests: Vec::new(),
            last_tick: None,
            title: String::new(),
            first_step,
            screenshot: None,
            theme: None,
        }
    }

    /// One frame: what `eframe` calls in two parts.
    pub fn frame(&mut self, ui: &mut egui::Ui) {
        self.logic(ui.ctx());
        self.ui(ui);
    }
}

impl eframe::App for App {
    fn logic(&mut self, context: &Context, _: &mut eframe::Frame) {
        App::logic(self, context);
    }

    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        App::ui(self, ui);
    }

    fn on_exit(&mut self, _: Option<&eframe::glow::Context>) {
        self.workspace.save_notes_and_wait();
        self.workspace.end();
    }
}

/// Opens the window and returns when it is closed; an error is one sentence with what to do.
pub fn open_window(options: WindowOptions) -> Result<(), String> {
    Complaints::install();
    let (width, height) = options.size.unwrap_or((1440.0, 900.0));
    let native = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("Stepline")
            .with_app_id("stepline")
            .with_inner_size([width, height])
            .with_min_inner_size([760.0, 480.0]),
        renderer: eframe::Renderer::Glow,
        ..Default::default()
    };
    let create = move |creation: &eframe::CreationContext<'_>| -> Result<Box<dyn eframe::App>, _> {
        let context = creation.egui_ctx.clone();
        let wake = context.clone();
        let picker: Arc<dyn FilePicker> = Arc::new(Desktop);
        let surroundings = Surroundings {
            wake: Arc::new(move || wake.request_repaint()),
            picker,
            settings_path: Settings::default_path(),
            claude_projects: found::claude_projects(),
            databases: found::devin_databases(),
        };
        let paths = if options.session.is_some() { &[][..] } else { &options.paths };
        let mut app = App::new(&context, surroundings, paths, options.step);
        options.session.clone().into_iter().for_each(|session| app.workspace.open_session(session));
        app.screenshot = options.screenshot.clone().map(Screenshot::new);
        app.theme = options.theme;
        Ok(Box::new(app))
    };
    eframe::run_native("stepline", native, Box::new(create)).map_err(|error| no_window(&error))
}

/// Why there is no window, and what to do about it.
fn no_window(error: &eframe::Error) -> String {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if cfg!(target_os = "linux") && !has_display {
        return "there is no display here; the commands work without one, see stepline --help".to_owned();
    }
    format!(
        "no window: {error}; if this machine has no OpenGL, try LIBGL_ALWAYS_SOFTWARE=1, or the commands of stepline --help"
    )
}
