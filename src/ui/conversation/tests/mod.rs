mod fixture;

use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};

use super::super::theme::{self, Theme};
use super::*;
use crate::formats::Cut;
use crate::workspace::player::Player;
use fixture::{Draft, cart, plain};

struct App {
    document: Document,
    state: ConversationState,
    requests: Vec<Request>,
    reveal: u64,
    applies: bool,
}

impl App {
    fn show(&mut self, ui: &mut Ui) {
        let recording = Arc::clone(self.document.recording().unwrap());
        let mut requests = Vec::new();
        let mut scene = Scene {
            theme: Theme::of(ui.ctx()),
            document: &self.document,
            recording: &*recording,
            session: recording.session(),
            requests: &mut requests,
            reveal: self.reveal,
        };
        show(ui, &mut scene, &mut self.state);
        if self.applies {
            for request in &requests {
                match request {
                    Request::Expand(place) => {
                        if !self.document.expanded.remove(place) {
                            self.document.expanded.insert(*place);
                        }
                    }
                    Request::SelectStep(number) => self.document.select_step(*number),
                    Request::SelectEvent(index) => self.document.select_event(*index),
                    _ => {}
                }
            }
        }
        self.requests.extend(requests);
    }
}

fn harness_of(document: Document, size: [f32; 2], dark: bool) -> Harness<'static, App> {
    let app = App { document, state: ConversationState::default(), requests: Vec::new(), reveal: 0, applies: true };
    let theme = if dark { egui::Theme::Dark } else { egui::Theme::Light };
    let mut harness = Harness::builder()
        .with_size(size)
        .with_theme(theme)
        .with_max_steps(60)
        .with_context_setup(theme::install)
        .build_ui_state(move |ui, app: &mut App| app.show(ui), app);
    harness.run();
    harness
}

fn harness(draft: Draft) -> Harness<'static, App> {
    harness_of(draft.document(true), [900.0, 700.0], true)
}

fn asked(harness: &Harness<'_, App>) -> Vec<Request> {
    harness.state().requests.iter().filter(|request| !matches!(request, Request::Read(_))).cloned().collect()
}

/// Pictures for looking at; they are compared with nothing.
#[test]
#[ignore = "writes pictures to the folder in STEPLINE_PICTURES"]
fn pictures() {
    let Ok(folder) = std::env::var("STEPLINE_PICTURES") else { return };
    for dark in [true, false] {
        for width in [560.0, 1000.0, 1400.0] {
            let mut document = cart().document(true);
            document.select_step(2);
            let mut harness = harness_of(document, [width, 900.0], dark);
            let name = |part: &str| format!("{folder}/{part}-{}-{width}.png", if dark { "dark" } else { "light" });
            harness.render().unwrap().save(name("question")).unwrap();
            harness.state_mut().document.select_step(3);
            harness.run();
            harness.render().unwrap().save(name("facts")).unwrap();
            harness.state_mut().document.select_step(1);
            harness.run();
            harness.render().unwrap().save(name("first")).unwrap();
        }
    }
}
