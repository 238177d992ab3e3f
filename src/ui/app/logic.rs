//! What happens each frame before anything is drawn.

use std::time::{Duration, Instant};

use egui::{Context, ThemePreference, ViewportCommand};

use super::{App, keys};
use crate::store::now;
use crate::workspace::settings::Theme;
use crate::workspace::{Command, Dialog, Request, Workspace};

/// Messages are taken in for at most this long a frame.
const DRAIN_BUDGET: Duration = Duration::from_millis(4);
/// A replay never jumps further than this at once, however long the window was away.
const LONGEST_TICK: Duration = Duration::from_millis(250);
/// While a replay plays, the window is drawn at least this often.
const PLAYING_INTERVAL: Duration = Duration::from_millis(33);

impl App {
    /// Takes in messages, carries out requests, lets a replay go on.
    pub fn logic(&mut self, context: &Context) {
        self.workspace.next_frame();
        // What was asked for in the last frame is about what that frame showed: it comes before anything changes that.
        self.take_input(context);
        for request in std::mem::take(&mut self.requests) {
            self.carry_out(request);
        }
        if self.workspace.drain(DRAIN_BUDGET) {
            context.request_repaint();
        }
        self.select_first_step();
        self.play(context);
        self.settle(context);
    }

    fn take_input(&mut self, context: &Context) {
        let dropped: Vec<std::path::PathBuf> =
            context.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        if !dropped.is_empty() {
            // What is dropped together belongs together.
            self.requests.push(Request::Open(dropped));
        }
        if context.input(|input| input.events.contains(&egui::Event::WindowFocused(true))) {
            self.workspace.look_at_files();
        }
        let open_dialog = self.workspace.dialog.is_some();
        let open_search = self.workspace.active().is_some_and(|document| document.search.is_open);
        self.requests.extend(keys::commands(context, open_dialog, open_search).into_iter().map(Request::Run));
    }

    fn carry_out(&mut self, request: Request) {
        if let Request::Run(command) = request
            && command.refusal(&self.workspace).is_none()
            && let Some(document) = self.workspace.active()
            && let Some(session) = document.session()
        {
            self.views.entry(document.id).or_default().run(command, session);
        }
        if request == Request::Run(Command::ToggleTheme) {
            // The theme of the command line gives way to the one chosen in the window.
            if let Some(theme) = self.theme.take() {
                self.workspace.settings.theme = theme;
            }
        }
        self.workspace.handle(request);
    }

    /// `--step N` selects in the first file once it has a step N.
    fn select_first_step(&mut self) {
        let Some(number) = self.first_step else { return };
        let Some(document) = self.workspace.active().filter(|_| self.workspace.active_index() == 0) else { return };
        if document.session().is_some_and(|session| session.step(number).is_some()) {
            self.first_step = None;
            self.workspace.handle(Request::SelectStep(number));
            self.workspace.reveal += 1;
        } else if document.is_whole() {
            self.first_step = None;
        }
    }

    fn play(&mut self, context: &Context) {
        let playing =
            self.workspace.active().and_then(|document| document.player.as_ref()).is_some_and(|player| player.playing);
        if !playing {
            self.last_tick = None;
            return;
        }
        let now = Instant::now();
        let elapsed = self.last_tick.map_or(Duration::ZERO, |last| now.duration_since(last));
        self.last_tick = Some(now);
        if let Some(wait) = self.workspace.tick(elapsed.min(LONGEST_TICK)) {
            context.request_repaint_after(wait.min(PLAYING_INTERVAL));
        }
    }

    /// Makes the window be what the workspace says: theme, size, title, clipboard, open or closed.
    fn settle(&mut self, context: &Context) {
        let preference = match self.theme.unwrap_or(self.workspace.settings.theme) {
            Theme::Dark => ThemePreference::Dark,
            Theme::Light => ThemePreference::Light,
            Theme::System => ThemePreference::System,
        };
        if context.options(|options| options.theme_preference) != preference {
            context.set_theme(preference);
        }
        if (context.zoom_factor() - self.workspace.settings.zoom).abs() > f32::EPSILON {
            context.set_zoom_factor(self.workspace.settings.zoom);
        }
        let title = title(&self.workspace);
        if title != self.title {
            context.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.title = title;
        }
        if let Some(text) = self.workspace.clipboard.take() {
            context.copy_text(text);
        }
        if let Some(wait) = self.workspace.notices.expire(now()) {
            context.request_repaint_after(wait);
        }
        if self.workspace.quit {
            context.send_viewport_cmd(ViewportCommand::Close);
        }
        if let Some(screenshot) = &mut self.screenshot {
            screenshot.advance(context, &self.workspace, &mut self.requests);
        }
        self.views.retain(|id, _| self.workspace.document(*id).is_some());
    }
}

/// What the window is called: the step that is selected and the file, so that a task list and a screen reader say both.
fn title(workspace: &Workspace) -> String {
    let Some(document) = workspace.active() else { return "Stepline".to_owned() };
    match &workspace.dialog {
        Some(Dialog::Revert { step_number, plan: Some(_), .. }) => {
            return format!("Revert step {step_number}? · {} · Stepline", document.name());
        }
        Some(Dialog::Forked(_)) if document.is_whole() => return format!("Forked · {} · Stepline", document.name()),
        _ => {}
    }
    let step = document.selected_step().zip(document.session());
    let step = step.map(|(step, session)| format!("Step {} of {} · ", step.number, session.steps.len()));
    format!("{}{} · Stepline", step.unwrap_or_default(), document.name())
}

impl super::DocumentView {
    /// The commands that are about how a panel shows the session.
    fn run(&mut self, command: Command, session: &crate::model::Session) {
        self.timeline.run(command, session);
    }
}
