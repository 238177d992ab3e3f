//! A few pinned pictures, small enough to look at one by one. They need a renderer, though no display: Mesa's
//! (`apt-get install mesa-vulkan-drivers`, or `bash .ci/test`) draws the same everywhere.
//!
//! `UPDATE_SNAPSHOTS=1 cargo test --test panels pictures` writes them anew.

use egui_kittest::SnapshotOptions;
use stepline::model::MarkerKind;
use stepline::ui::theme::{self, Theme};
use stepline::ui::widgets::chips::Chip;
use stepline::ui::widgets::icons::{self, Icon};

use super::*;

fn options() -> SnapshotOptions {
    SnapshotOptions::new().output_path("tests/panels/pictures").max_failed_pixels(10)
}

/// Every shape once, and a chip for every kind of marker.
fn shapes(dark: bool) -> Harness<'static, ()> {
    Harness::builder()
        .with_size([360.0, 150.0])
        .with_theme(if dark { egui::Theme::Dark } else { egui::Theme::Light })
        .with_context_setup(theme::install)
        .build_ui_state(
            |ui, ()| {
                let theme = Theme::of(ui.ctx());
                ui.painter().rect_filled(ui.max_rect().expand(8.0), 0.0, theme.bg);
                ui.horizontal_wrapped(|ui| {
                    for icon in Icon::ALL {
                        icons::show(ui, icon, theme.text);
                    }
                });
                ui.horizontal_wrapped(|ui| {
                    for kind in MarkerKind::ALL {
                        Chip::new(Icon::of_marker_kind(kind), kind.word(), theme.marker_kind(kind)).show(ui);
                    }
                });
            },
            (),
        )
}

#[test]
fn shapes_in_the_dark() {
    shapes(true).snapshot_options("shapes-dark", &options());
}

#[test]
fn shapes_in_the_light() {
    shapes(false).snapshot_options("shapes-light", &options());
}

#[test]
fn the_empty_window() {
    let mut window = Window::open(&[], [760.0, 480.0]);
    window.harness.snapshot_options("empty-window", &options());
}
