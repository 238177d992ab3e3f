//! What is beside an event's text: an image is named, and shown when its user asks for it.

use std::collections::HashMap;
use std::sync::Arc;

use egui::{ColorImage, TextureHandle, TextureOptions, Ui, vec2};

use super::super::theme::space;
use super::super::widgets::long_text::small_button;
use super::draw::{Draw, waiting, wrapped};
use crate::model::Event;
use crate::workspace::Request;
use crate::workspace::bodies::{Slot, TextKey};
use crate::workspace::document::Part;
use crate::workspace::picture::Picture;
use crate::workspace::text::{Attachment, EventText, visible};

/// An image is drawn no higher.
const MOST_PX: f32 = 520.0;

/// The images drawn in the last frame, as the graphics card has them; those out of view are given back.
#[derive(Default)]
pub struct Pictures {
    last: HashMap<TextKey, (Arc<Picture>, TextureHandle)>,
    now: HashMap<TextKey, (Arc<Picture>, TextureHandle)>,
}

impl Pictures {
    pub fn begin(&mut self) {
        self.last = std::mem::take(&mut self.now);
    }

    fn texture(&mut self, ui: &Ui, key: TextKey, picture: &Arc<Picture>) -> TextureHandle {
        let known = self.now.remove(&key).or_else(|| self.last.remove(&key));
        let texture = match known.filter(|(known, _)| Arc::ptr_eq(known, picture)) {
            Some((_, texture)) => texture,
            None => {
                let image = ColorImage::from_rgba_premultiplied([picture.width, picture.height], &picture.rgba);
                ui.ctx().load_texture(format!("{key:?}"), image, TextureOptions::LINEAR)
            }
        };
        self.now.insert(key, (Arc::clone(picture), texture.clone()));
        texture
    }
}

impl Draw<'_, '_> {
    /// The attachments of an event, below its text.
    pub fn attachments(&mut self, ui: &mut Ui, index: usize, event: &Event, text: &EventText) {
        for (number, attachment) in text.attachments.iter().enumerate() {
            ui.add_space(space::XS);
            if attachment.is_image {
                self.image(ui, index, event, (number, attachment));
            } else {
                wrapped(ui, &[(&attachment.words, false, self.theme.weak)]);
            }
        }
    }

    /// Changes when something has come that was asked for beside a row's own text: an image, a text in another form.
    pub fn extras_stamp(&self, key: TextKey) -> u64 {
        let TextKey::Event(event) = key else { return 0 };
        let count = self.texts.at_hand(key, self.document).map_or(0, |text| text.attachments.len());
        let images = (0..count).map(|attachment| TextKey::Image { event, attachment });
        let extras = images.chain([TextKey::Input(event), TextKey::IndentedOutput(event)]);
        let arrived = |key: &TextKey| !matches!(self.document.bodies.get(*key), None | Some(Slot::Reading));
        extras.filter(arrived).count() as u64
    }

    fn image(&mut self, ui: &mut Ui, index: usize, event: &Event, of: (usize, &Attachment)) {
        let (number, attachment) = of;
        let fold = Part::Image(number).of(event.place);
        let open = self.document.is_expanded(fold);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = space::M;
            wrapped(ui, &[(&attachment.words, false, self.theme.weak)]);
            let word = if open { "Hide image" } else { "Show image" };
            if small_button(ui, word, &format!("{word}: {}", attachment.words)) {
                self.ask(Request::Expand(fold));
            }
        });
        if !open {
            return;
        }
        let key = TextKey::Image { event: index, attachment: number };
        match self.document.bodies.get(key) {
            None => self.ask(Request::Read(key)),
            Some(Slot::Picture(picture)) => {
                let picture = Arc::clone(picture);
                self.picture(ui, key, &picture, &attachment.words);
                return;
            }
            Some(Slot::Failed(sentence)) => {
                let sentence = visible(sentence);
                wrapped(ui, &[("Not shown: ", false, self.theme.failure), (&sentence, false, self.theme.text)]);
                return;
            }
            Some(Slot::Reading | Slot::Ready(_)) => {}
        }
        waiting(ui, self.theme, "Decoding the image…");
    }

    fn picture(&mut self, ui: &mut Ui, key: TextKey, picture: &Arc<Picture>, words: &str) {
        let size = vec2(picture.width as f32, picture.height as f32);
        let room = vec2(ui.available_width().max(1.0), MOST_PX);
        // Small ones stay small: made larger they show no more.
        let scale = (room / size).min_elem().min(1.0);
        let texture = self.texts.pictures.texture(ui, key, picture);
        ui.add_space(space::XS);
        ui.add(egui::Image::from_texture((texture.id(), size * scale)).alt_text(format!("Image: {words}")));
    }
}
