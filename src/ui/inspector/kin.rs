//! Where a session comes from and what parted from it: its parent, related sessions, abandoned branches.

use egui::{Button, RichText, Ui};

use super::super::Scene;
use super::super::theme::{self, size, space};
use super::super::words;
use crate::formats::SessionRef;
use crate::model::{Branch, Relative, clock};
use crate::workspace::Request;
use crate::workspace::text::visible;

/// So many branches are listed.
const LISTED: usize = 20;

/// Nothing for a session that stands alone.
pub fn show(ui: &mut Ui, scene: &mut Scene<'_>) {
    let session = scene.session;
    if session.parent.is_none() && session.relatives.is_empty() && session.branches.is_empty() {
        return;
    }
    super::separator(ui, scene);
    ui.label(RichText::new("Branches and forks").font(theme::bold(size::BASE)));
    ui.add_space(space::XS);
    if let Some(parent) = &session.parent {
        let step = parent.step_number.map(|step| format!(", at its step {step}")).unwrap_or_default();
        line(ui, scene, &format!("Forked from {}{step}", parent.session_id));
    }
    for relative in &session.relatives {
        related(ui, scene, relative);
    }
    for branch in session.branches.iter().take(LISTED) {
        line(ui, scene, &abandoned(branch));
    }
    if let Some(more) = session.branches.len().checked_sub(LISTED).filter(|more| *more > 0) {
        line(ui, scene, &format!("and {} more", words::count(more as u64, "branch", "branches")));
    }
}

/// Its source holds the related session: a click opens that.
fn related(ui: &mut Ui, scene: &mut Scene<'_>, relative: &Relative) {
    let name = relative.title.as_deref().unwrap_or(&relative.session_id);
    let text = match (relative.is_fork, relative.step_number) {
        (true, Some(step)) => format!("{name}: forked from this after step {step}"),
        (true, None) => format!("{name}: forked from this"),
        (false, Some(step)) => format!("{name}: shares steps up to {step}"),
        (false, None) => format!("{name}: shares its start"),
    };
    let button = Button::new(RichText::new(visible(&text)).color(scene.theme.accent)).frame(false).wrap();
    if ui.add(button).on_hover_text("Open it in a tab").clicked() {
        let paths = scene.document.reference.paths.clone();
        scene.ask(Request::OpenSession(SessionRef { paths, key: Some(relative.session_id.clone()) }));
    }
}

fn abandoned(branch: &Branch) -> String {
    let at = branch.at.map(|at| format!("{}  ", clock(at, "%H:%M"))).unwrap_or_default();
    let from = branch.parted_at.as_ref().map(|node| format!(", parted at {node}")).unwrap_or_default();
    let nodes = words::count(branch.nodes as u64, "node", "nodes");
    format!("{at}abandoned: {} ({nodes}{from})", branch.summary)
}

fn line(ui: &mut Ui, scene: &Scene<'_>, text: &str) {
    ui.add(egui::Label::new(RichText::new(visible(text)).color(scene.theme.weak)).wrap());
}
