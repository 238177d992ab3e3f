//! `--screenshot FILE`: waits until everything is read, pictures the window and leaves. For documents and tests.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use egui::{ColorImage, Context};

use crate::workspace::{Request, Workspace};

/// Texts and fonts come in for some frames after the file has been read.
const SETTLING: Duration = Duration::from_millis(900);

/// A picture on its way.
pub struct Screenshot {
    path: PathBuf,
    quiet_since: Option<Instant>,
    asked: bool,
    taken: Arc<Mutex<Option<Arc<ColorImage>>>>,
}

impl Screenshot {
    pub fn new(path: PathBuf) -> Self {
        Self { path, quiet_since: None, asked: false, taken: Arc::default() }
    }

    /// Called each frame: asks for the picture once the window is at rest, then for its being saved.
    pub fn advance(&mut self, context: &Context, workspace: &Workspace, requests: &mut Vec<Request>) {
        if let Some(image) = self.taken.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let pixels = image.pixels.iter().flat_map(|pixel| [pixel.r(), pixel.g(), pixel.b()]).collect();
            let [width, height] = image.size;
            requests.push(Request::SavePictureAndQuit { path: self.path.clone(), width, height, pixels });
            return;
        }
        context.request_repaint_after(Duration::from_millis(50));
        if workspace.is_busy() || self.asked {
            self.quiet_since = None;
            return;
        }
        if self.quiet_since.get_or_insert_with(Instant::now).elapsed() < SETTLING {
            return;
        }
        self.asked = true;
        let (taken, wake) = (Arc::clone(&self.taken), context.clone());
        context.request_screenshot(move |image| {
            *taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(image);
            wake.request_repaint();
        });
    }
}
