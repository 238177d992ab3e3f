//! The replay bar: play and hold, on to the next event, step or marker, what to stop at, speed.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{Align, Button, Layout, Panel, PopupCloseBehavior, RichText, Role, Stroke, Ui, WidgetInfo};

use super::super::theme::{self, Theme, space};
use super::super::widgets::chips::Chip;
use super::super::widgets::icons::{self, Icon};
use super::super::words;
use super::bars::bar;
use crate::model::{Glance, MarkerKind, Session};
use crate::workspace::document::Document;
use crate::workspace::player::Player;
use crate::workspace::{Command, Request};

const HEIGHT: f32 = 40.0;
/// The buttons at the left, and speed and end at the right.
const BUTTONS_PX: f32 = 152.0;
const RIGHT_PX: f32 = 148.0;

/// Draws the bar while a replay goes on. What has no room is said shorter, or goes into a menu; nothing overlaps.
pub fn show(ui: &mut Ui, theme: &Theme, document: &Document, requests: &mut Vec<Request>) {
    let (Some(player), Some(session)) = (document.player.as_ref(), document.session()) else { return };
    let kinds = document.outline().map_or(&[][..], |outline| &outline.kinds);
    Panel::bottom("replay").exact_size(HEIGHT).frame(bar(theme.raised).stroke(Stroke::NONE)).show(ui, |ui| {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::S;
            let state = state(player, session);
            let chips: Vec<Chip> = kinds.iter().map(|kind| chip(*kind, player, theme)).collect();
            let gap = ui.spacing().item_spacing.x;
            let stop_at = width(ui, "stop at") + gap;
            let chips_px = stop_at + chips.iter().map(|chip| chip.width(ui) + gap).sum::<f32>();
            let room = ui.available_width() - BUTTONS_PX - RIGHT_PX - width(ui, &state) - gap;
            let whole = format!("Replay from step {}, as recorded; nothing is run", player.from_step);
            let (short, shortest) = ("As recorded; nothing is run", "Nothing is run");
            let menu_px = 100.0;
            // That nothing is run is said in any window; the chips give way to it.
            let (said, inline) = [(&*whole, true), (short, true), (&whole, false), (short, false), (shortest, false)]
                .into_iter()
                .find(|(said, inline)| {
                    let rest = if *inline { chips_px } else { menu_px };
                    width(ui, said) + gap + rest <= room
                })
                .unwrap_or((shortest, false));
            buttons(ui, player, requests);
            let label = ui.label(RichText::new(said).color(theme.weak));
            label.widget_info(|| WidgetInfo::labeled(Role::Label, true, &whole));
            if said != whole {
                label.on_hover_text(&whole);
            }
            ui.label(RichText::new(state).color(theme.text));
            // Between the state and the speed, however much that is: what is placed from the left ends before it.
            let right = ui.max_rect().right() - RIGHT_PX;
            let own = if inline { chips_px } else { menu_px };
            ui.add_space((right - own - ui.cursor().left()).max(0.0));
            if inline && !chips.is_empty() {
                ui.label(RichText::new("stop at").color(theme.weak));
                for (kind, chip) in kinds.iter().zip(&chips) {
                    toggle(ui, *kind, chip, player, requests);
                }
            } else if !chips.is_empty() {
                stop_menu(ui, theme, kinds, player, requests);
            }
            speed(ui, theme, player, requests);
        });
    });
}

fn width(ui: &Ui, text: &str) -> f32 {
    ui.fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), theme::base(), egui::Color32::PLACEHOLDER).size().x)
}

/// Where the replay is, and why it holds there.
fn state(player: &Player, session: &Session) -> String {
    if player.is_at_end() {
        return "ended; Play starts over".to_owned();
    }
    let done = player.position().saturating_sub(player.range.start);
    let place = format!("event {} of {}", words::figure(done as u64), words::figure(player.range.len() as u64));
    let current = player.current().and_then(|index| session.events.glance(index)).filter(Glance::is_marked);
    match current.and_then(|event| event.marker) {
        Some(marker) if !player.playing => format!("{place}, stopped at {}", marker.word()),
        _ => place,
    }
}

fn buttons(ui: &mut Ui, player: &Player, requests: &mut Vec<Request>) {
    let (icon, name) = match (player.playing, player.is_at_end()) {
        (true, _) => (Icon::Pause, "Pause"),
        (false, false) => (Icon::Play, "Play"),
        (false, true) => (Icon::Play, "Play again from the start"),
    };
    for (icon, name, command) in [
        (icon, name, Command::PlayPause),
        (Icon::NextEvent, "Next event", Command::PlayNextEvent),
        (Icon::NextStep, "Play to next step", Command::PlayNextStep),
        (Icon::NextMarker, "Play to next marker", Command::PlayNextMarker),
    ] {
        if icons::button(ui, icon, name, true).clicked() {
            requests.push(Request::Run(command));
        }
    }
}

fn chip(kind: MarkerKind, player: &Player, theme: &Theme) -> Chip {
    let colour = if player.stops.contains(&kind) { theme.marker_kind(kind) } else { theme.weak };
    Chip::new(Icon::of_marker_kind(kind), kind.word(), colour)
}

fn toggle(ui: &mut Ui, kind: MarkerKind, chip: &Chip, player: &Player, requests: &mut Vec<Request>) {
    let on = player.stops.contains(&kind);
    let response = chip.show_toggle(ui, &format!("Stop at {}", kind.word()), on);
    let hint = if on { "Stops here; click to play on" } else { "Plays on; click to stop here" };
    if response.on_hover_text(hint).clicked() {
        requests.push(Request::ToggleStop(kind));
    }
}

/// The same choice where there is no room for chips.
fn stop_menu(ui: &mut Ui, theme: &Theme, kinds: &[MarkerKind], player: &Player, requests: &mut Vec<Request>) {
    let on = kinds.iter().filter(|kind| player.stops.contains(kind)).count();
    let button = Button::new(format!("Stop at {on} of {}", kinds.len())).truncate();
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    MenuButton::from_button(button).config(config).ui(ui, |ui| {
        ui.set_min_width(160.0);
        for kind in kinds {
            let mut on = player.stops.contains(kind);
            let text = RichText::new(format!("Stop at {}", kind.word())).color(theme.text);
            if ui.checkbox(&mut on, text).changed() {
                requests.push(Request::ToggleStop(*kind));
            }
        }
    });
}

fn speed(ui: &mut Ui, theme: &Theme, player: &Player, requests: &mut Vec<Request>) {
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        if icons::button(ui, Icon::Close, "End replay", true).clicked() {
            requests.push(Request::Run(Command::StopReplay));
        }
        if ui.add(Button::new("+").small()).on_hover_text("Faster").clicked() {
            requests.push(Request::Run(Command::PlayFaster));
        }
        ui.label(RichText::new(format!("{}×", player.speed())).color(theme.weak));
        if ui.add(Button::new("−").small()).on_hover_text("Slower").clicked() {
            requests.push(Request::Run(Command::PlaySlower));
        }
    });
}
