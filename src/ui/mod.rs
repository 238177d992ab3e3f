//! The window: draws the workspace's state and turns input into requests. Parses nothing, touches no file.

pub mod app;
mod choose;
pub mod conversation;
mod dialogs;
mod home;
mod inspector;
mod notices;
mod steps;
#[cfg(test)]
mod tests;
pub mod theme;
pub mod timeline;
pub mod widgets;
pub use crate::workspace::words;

use crate::formats::Recording;
use crate::model::Session;
use crate::workspace::Request;
use crate::workspace::document::Document;
use theme::Theme;

/// What a panel draws from, and where it puts what its user asks for.
pub struct Scene<'a> {
    pub theme: &'static Theme,
    pub document: &'a Document,
    pub recording: &'a dyn Recording,
    pub session: &'a Session,
    pub requests: &'a mut Vec<Request>,
    /// See `Workspace::reveal`.
    pub reveal: u64,
}

impl Scene<'_> {
    pub fn ask(&mut self, request: Request) {
        self.requests.push(request);
    }
}
