//! The bars: tabs and menus on top, the state of things at the bottom, the replay above it.

use egui::{Align, Button, Color32, Frame, Layout, Margin, Panel, RichText, Role, Sense, Stroke, Ui, WidgetInfo, vec2};

use super::super::theme::{self, Theme, size, space};
use super::super::widgets::chips::Chip;
use super::super::widgets::command_button;
use super::super::widgets::icons::{self, Icon};
use super::super::words;
use crate::model::{MarkerKind, Session, duration_words};
use crate::workspace::document::{Document, State};
use crate::workspace::{Command, Request, Workspace};

const TOP_HEIGHT: f32 = 36.0;
const STATUS_HEIGHT: f32 = 26.0;
const REPLAY_HEIGHT: f32 = 40.0;
const TAB_MAX_WIDTH: f32 = 220.0;

/// Marker kinds that a replay can stop at, with the word on their chip.
const STOPS: [(MarkerKind, &str); 5] = [
    (MarkerKind::Question, "question"),
    (MarkerKind::Approval, "approval"),
    (MarkerKind::Denial, "denial"),
    (MarkerKind::Fallback, "fallback"),
    (MarkerKind::Failure, "failure"),
];

fn bar(fill: Color32) -> Frame {
    Frame::new().fill(fill).inner_margin(Margin::symmetric(10, 0))
}

/// Tabs left, what can be opened and shown right.
pub fn top(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    Panel::top("top").exact_size(TOP_HEIGHT).frame(bar(theme.panel)).show(ui, |ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::XS;
            let theme_word = if theme.dark { "Light" } else { "Dark" };
            command_button(ui, workspace, Command::Shortcuts, "?", requests);
            command_button(ui, workspace, Command::ToggleTheme, theme_word, requests);
            command_button(ui, workspace, Command::ToggleInspector, "Inspector", requests);
            command_button(ui, workspace, Command::Report, "Report", requests);
            command_button(ui, workspace, Command::Notices, "Notices", requests);
            recent_menu(ui, theme, workspace, requests);
            command_button(ui, workspace, Command::Open, "Open…", requests);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| tabs(ui, theme, workspace, requests));
        });
    });
}

fn recent_menu(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    egui::containers::menu::MenuButton::from_button(Button::new("Recent").frame_when_inactive(false)).ui(ui, |ui| {
        ui.set_min_width(320.0);
        if workspace.settings.recent_files.is_empty() {
            ui.label(RichText::new("Nothing opened yet").color(theme.weak));
        }
        for path in &workspace.settings.recent_files {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let entry = ui.add(Button::new(name).frame(false)).on_hover_text(path.display().to_string());
            if entry.clicked() {
                requests.push(Request::Open(path.clone()));
                ui.close();
            }
        }
        ui.separator();
        command_button(ui, workspace, Command::OpenPath, "Open path…", requests);
    });
}

fn tabs(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    ui.spacing_mut().item_spacing.x = 0.0;
    if workspace.documents().is_empty() {
        ui.label(RichText::new("Stepline").font(theme::bold(size::BASE)));
    }
    egui::ScrollArea::horizontal()
        .id_salt("tabs")
        .scroll_bar_visibility(egui::scroll_area::ScrollBarVisibility::AlwaysHidden)
        .show(ui, |ui| {
            for (index, document) in workspace.documents().iter().enumerate() {
                tab(ui, theme, document, index == workspace.active_index(), index, requests);
            }
        });
}

fn tab(ui: &mut Ui, theme: &Theme, document: &Document, active: bool, index: usize, requests: &mut Vec<Request>) {
    let name = document.name();
    let colour = if active { theme.text } else { theme.weak };
    let mut job = egui::text::LayoutJob::simple_singleline(name.clone(), theme::base(), colour);
    job.wrap = egui::text::TextWrapping::truncate_at_width(TAB_MAX_WIDTH);
    let galley = ui.fonts_mut(|fonts| fonts.layout_job(job));
    let width = galley.size().x + 2.0 * space::M + space::ICON + space::S;
    let (rect, response) =
        ui.push_id(("tab", document.id), |ui| ui.allocate_exact_size(vec2(width, TOP_HEIGHT), Sense::click())).inner;
    response.widget_info(|| WidgetInfo::selected(Role::Tab, true, active, format!("Tab {name}")));
    let close_rect = egui::Rect::from_center_size(
        egui::pos2(rect.right() - space::M, rect.center().y),
        vec2(space::ICON + 6.0, space::ICON + 6.0),
    );
    let close = ui.interact(close_rect, ui.scope_id().with(("close", document.id)), Sense::click());
    close.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Close {name}")));
    let painter = ui.painter();
    painter.galley(egui::pos2(rect.left() + space::M, rect.center().y - galley.size().y / 2.0), galley, colour);
    if active {
        let line = egui::Rect::from_min_max(egui::pos2(rect.left(), rect.bottom() - 2.0), rect.right_bottom());
        painter.rect_filled(line, 0.0, theme.accent);
    }
    if active || response.hovered() || close.hovered() {
        let colour = if close.hovered() { theme.text } else { theme.faint };
        icons::paint(painter, Icon::Close, close_rect.center(), 9.0, colour);
    }
    if close.clicked() || response.middle_clicked() {
        requests.push(Request::CloseTab(document.id));
    } else if response.on_hover_text(document.path.display().to_string()).clicked() {
        requests.push(Request::ShowTab(index));
    }
}

/// Format, counts, what was noticed, what goes on; the session's length on the right.
pub fn status(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    Panel::bottom("status").exact_size(STATUS_HEIGHT).frame(bar(theme.panel)).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 18.0;
            let Some(document) = workspace.active() else {
                ui.label(weak(theme, "No session is open"));
                return;
            };
            if let Some(session) = document.session() {
                facts(ui, theme, session, document, requests);
            }
            work(ui, theme, document, requests);
            if let Some((_, step)) = document.receipts.first() {
                let text = format!("Undo revert of step {step}");
                command_button(ui, workspace, Command::UndoRevert, &text, requests);
            }
            if let Some(session) = document.session() {
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    ui.label(weak(theme, &length(session)));
                });
            }
        });
    });
}

fn weak(theme: &Theme, text: &str) -> RichText {
    RichText::new(text).font(theme::small()).color(theme.weak)
}

fn facts(ui: &mut Ui, theme: &Theme, session: &Session, document: &Document, requests: &mut Vec<Request>) {
    let version = session.agent.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    ui.label(weak(theme, &format!("{}{version}", session.format.title())));
    let steps = words::count(session.steps.len() as u64, "step", "steps");
    let branches = match session.branches.len() {
        0 => String::new(),
        number => format!(", {}", words::count(number as u64, "abandoned branch", "abandoned branches")),
    };
    ui.label(weak(theme, &format!("{steps}{branches}")));
    let records = &session.report.records;
    let report = ui.add(
        Button::new(weak(theme, &format!("{} read", words::count(records.total, "record", "records")))).frame(false),
    );
    let noticed = session.report.problems.len();
    let damaged = records.unreadable + records.torn;
    let mut clicked = report.on_hover_text("Every record accounted for").clicked();
    if damaged > 0 || noticed > 0 {
        let text =
            if damaged > 0 { format!("{} unreadable", words::figure(damaged)) } else { format!("{noticed} noticed") };
        let colour = if damaged > 0 { theme.fallback } else { theme.weak };
        let button = Button::new(RichText::new(text).font(theme::small()).color(colour)).frame(false);
        clicked |= ui.add(button).on_hover_text("Show the reading report").clicked();
    }
    if clicked {
        requests.push(Request::Run(Command::Report));
    }
    if document.is_whole() {
        let text = if document.is_reading() { "reading again" } else { "following the file" };
        ui.label(weak(theme, text)).on_hover_text("When the file grows it is read again; your place is kept");
    }
}

/// Progress of what goes on, with a way to take it back.
fn work(ui: &mut Ui, theme: &Theme, document: &Document, requests: &mut Vec<Request>) {
    let going_on = match (&document.state, &document.action) {
        (State::Reading { done_bytes, total_bytes }, _) => Some(("Reading", *done_bytes, *total_bytes)),
        (_, Some(action)) => Some((action.name, action.done_bytes, action.total_bytes)),
        _ => None,
    };
    let Some((name, done, total)) = going_on else { return };
    let text = if total == 0 {
        format!("{name}…")
    } else {
        format!("{name} {} of {}", words::bytes(done), words::bytes(total))
    };
    ui.label(RichText::new(text).font(theme::small()).color(theme.text));
    if total > 0 {
        ui.add(
            egui::ProgressBar::new(done as f32 / total as f32)
                .desired_width(120.0)
                .desired_height(6.0)
                .fill(theme.accent),
        );
    }
    if ui.add(Button::new(RichText::new("Cancel").font(theme::small())).small()).clicked() {
        requests.push(Request::Cancel(document.id));
    }
}

fn length(session: &Session) -> String {
    match (session.started_at, session.ended_at) {
        (Some(start), Some(end)) => duration_words(end.since(start)),
        _ => String::new(),
    }
}

/// Play, pause, on to the next event, step or marker, speed, and what to stop at.
pub fn replay(ui: &mut Ui, theme: &Theme, workspace: &Workspace, requests: &mut Vec<Request>) {
    let Some(player) = workspace.active().and_then(|document| document.player.as_ref()) else { return };
    Panel::bottom("replay").exact_size(REPLAY_HEIGHT).frame(bar(theme.raised).stroke(Stroke::NONE)).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            let run = |command, requests: &mut Vec<Request>| requests.push(Request::Run(command));
            let (icon, name) = if player.playing { (Icon::Pause, "Pause") } else { (Icon::Play, "Play") };
            for (icon, name, command) in [
                (icon, name, Command::PlayPause),
                (Icon::NextEvent, "Next event", Command::PlayNextEvent),
                (Icon::NextStep, "Play to next step", Command::PlayNextStep),
                (Icon::NextMarker, "Play to next marker", Command::PlayNextMarker),
            ] {
                if icons::button(ui, icon, name, true).clicked() {
                    run(command, requests);
                }
            }
            let done = player.position().saturating_sub(player.range.start);
            let total = player.range.len();
            ui.label(
                RichText::new(format!("Replay from step {}, as recorded; nothing is run", player.from_step))
                    .color(theme.weak),
            );
            let state = if player.is_at_end() {
                "ended".to_owned()
            } else {
                format!("event {} of {}", words::figure(done as u64), words::figure(total as u64))
            };
            ui.label(RichText::new(state).color(theme.weak));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if icons::button(ui, Icon::Close, "End replay", true).clicked() {
                    run(Command::StopReplay, requests);
                }
                if ui.add(Button::new("+").small()).on_hover_text("Faster").clicked() {
                    run(Command::PlayFaster, requests);
                }
                ui.label(RichText::new(format!("{}×", player.speed())).color(theme.weak));
                if ui.add(Button::new("−").small()).on_hover_text("Slower").clicked() {
                    run(Command::PlaySlower, requests);
                }
                for (kind, word) in STOPS.into_iter().rev() {
                    let on = player.stops.contains(&kind);
                    let colour = if on { theme.marker_kind(kind) } else { theme.faint };
                    let chip = Chip::new(Icon::of_marker_kind(kind), word, colour);
                    let response = chip.show_toggle(ui, &format!("Stop at {word}"), on);
                    if response
                        .on_hover_text(if on { "Stops here; click to play on" } else { "Plays on; click to stop here" })
                        .clicked()
                    {
                        requests.push(Request::ToggleStop(kind));
                    }
                }
                ui.label(RichText::new("stop at").color(theme.weak));
            });
        });
    });
}
