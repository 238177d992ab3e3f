//! What a step shows of a turn beside what the replay rules derive: the start of its prompt, its times, its model.

use super::entry::Entry;
use super::kind::Kind;
use crate::formats::json;
use crate::model::Timestamp;

/// UTF-16 units of a prompt that its summary is made from.
const PROMPT_HEAD: usize = 400;

/// What a step needs of a turn beside what its derivation knows.
#[derive(Clone, Debug, Default)]
pub struct TurnDetails {
    /// The start of the prompt.
    pub head: String,
    pub prompt_bytes: u32,
    /// The start of all steering that resumed into it, and its bytes.
    pub steered: String,
    pub steered_bytes: u32,
    pub at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub origin: Option<&'static str>,
    pub model: Option<String>,
    /// Index of its first event.
    pub first_event: usize,
    /// Its text mentions an interaction.
    pub may_ask: bool,
}

impl TurnDetails {
    /// Takes a prompt's text: the first one, one that replaces it, or a further instruction of a resuming steer.
    pub fn prompted(&mut self, entry: &Entry<'_>) {
        let mut head = entry.text.and_then(|raw| json::string_start(raw, PROMPT_HEAD)).unwrap_or_default();
        // A prompt may begin with more white space than a summary's worth of text.
        if head.trim().is_empty()
            && let Some(whole) = entry.text.and_then(json::string)
        {
            head = whole.trim_start().chars().take(PROMPT_HEAD).collect();
        }
        let bytes = entry.text.map_or(0, json::string_bytes);
        if entry.kind() != Kind::Steer {
            self.head = head;
            self.prompt_bytes = bytes;
            return;
        }
        if self.steered.len() < PROMPT_HEAD {
            self.steered.push_str(&head);
            self.steered.push_str("\n\n");
        }
        self.steered_bytes = self.steered_bytes.saturating_add(bytes);
        self.head.clone_from(&self.steered);
        self.prompt_bytes = self.steered_bytes;
    }
}
