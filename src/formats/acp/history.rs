//! How the history of a session changes: an agent tells it again when it loads the session, and cuts it when the user
//! reverts.

use serde_json::Value;

use super::builder::{Builder, Draft, MAX_HEAD_BYTES, bytes};
use super::list::matches;
use super::route::{meta, text};
use crate::model::{Branch, NodeId, Outcome, StepKind, summarise};

/// A history that an agent tells again.
#[derive(Default)]
pub struct Retold {
    /// The first draft that it has not come to.
    next: usize,
    /// What is told is here already.
    pub is_known: bool,
    /// The prompt that is being told.
    message: Option<String>,
    pub in_prompt: bool,
    told: bool,
}

impl Builder {
    /// The agent is about to tell the history of the session.
    pub fn retell(&mut self) {
        self.growing = None;
        self.retold = Some(Retold::default());
    }

    /// It has told it; what it did not tell any more is no part of the session now.
    pub fn retold(&mut self, is_whole: bool) {
        if let Some(retold) = self.retold.take()
            && is_whole
            && retold.told
            && self.drafts.get(retold.next..).is_some_and(|rest| rest.iter().any(|one| one.kind == StepKind::Prompt))
        {
            self.rewind(retold.next);
        }
        self.growing = None;
    }

    pub fn end_retelling(&mut self) {
        self.retold = None;
    }

    /// A piece of a user's message: of a history that is told, or an echo of the prompt that runs.
    pub fn user_chunk(&mut self, update: &Value, words: &str) {
        let id = meta(update, "clientMessageId").and_then(Value::as_str).or_else(|| text(update, "messageId"));
        if self.retold.is_none() {
            if !self.running.is_empty() || self.is_echo(id, words) {
                return;
            }
            // The stream begins inside a history.
            let next = self.drafts.len();
            self.retold = Some(Retold { next, ..Retold::default() });
        }
        let Some(retold) = self.retold.as_mut() else { return };
        let goes_on = retold.in_prompt && retold.message.as_deref() == id;
        retold.message = id.map(str::to_owned);
        retold.in_prompt = true;
        retold.told = true;
        if goes_on {
            if !retold.is_known {
                self.more_of_prompt(words);
            }
            return;
        }
        let summary = summarise(words);
        let next = retold.next;
        let found = self.drafts.iter().enumerate().skip(next).find(|(_, draft)| {
            draft.kind == StepKind::Prompt
                && match (id, draft.message_id.as_deref()) {
                    (Some(id), Some(own)) => id == own,
                    _ => draft.summary == summary,
                }
        });
        if let Some((place, _)) = found {
            if let Some(retold) = self.retold.as_mut() {
                (retold.next, retold.is_known) = (place + 1, true);
            }
            return;
        }
        self.rewind(next);
        self.end_turn();
        self.growing = None;
        let mut draft = self.draft(StepKind::Prompt, summary, bytes(words));
        (draft.origin, draft.outcome) = (Some("replayed"), Outcome::Done);
        draft.message_id = id.map(str::to_owned);
        words.chars().take(MAX_HEAD_BYTES).for_each(|character| draft.head.push(character));
        self.drafts.push(draft);
        let next = self.drafts.len();
        if let Some(retold) = self.retold.as_mut() {
            (retold.next, retold.is_known) = (next, false);
        }
    }

    /// Whether a message is the last prompt once more; then it tells its id.
    fn is_echo(&mut self, id: Option<&str>, words: &str) -> bool {
        let last = self.drafts.iter_mut().rev().find(|draft| draft.kind == StepKind::Prompt);
        let Some(last) = last.filter(|draft| draft.origin != Some("replayed")) else { return false };
        let is_echo = last.summary == summarise(words) || (id.is_some() && last.message_id.as_deref() == id);
        if is_echo {
            last.message_id = last.message_id.take().or_else(|| id.map(str::to_owned));
        }
        is_echo
    }

    fn more_of_prompt(&mut self, words: &str) {
        let record = self.record;
        if let Some(draft) = self.drafts.last_mut() {
            draft.said.push(record);
            draft.text_bytes = draft.text_bytes.saturating_add(bytes(words));
            if draft.head.len() < MAX_HEAD_BYTES {
                draft.head.push_str(words);
                draft.summary = summarise(&draft.head);
            }
        }
    }

    /// The history ends before the draft at `place` now: it and what came after it are a dead branch.
    pub fn rewind(&mut self, place: usize) {
        let Some(first) = self.drafts.get(place) else { return };
        // The call that asked goes with its question.
        let asked = self.events.iter().rposition(|event| event.place.record < first.first).map_or(0, |last| last + 1);
        let (event, summary, at) = (first.event.min(asked), first.summary.clone(), first.at);
        let (first_record, first_line) = (first.first, NodeId::Number(self.line_of(first.event, first.first).into()));
        let last = self.events.last().map_or(first_line, |event| event.node.clone());
        let before = event.checked_sub(1).and_then(|before| self.events.get(before)).map(|event| event.node.clone());
        let nodes = usize::try_from(self.last_record.saturating_sub(first_record)).unwrap_or(0) + 1;
        self.branches.push(Branch { leaf: last, parted_at: before, summary, at, nodes });
        self.dead.push((first_record, self.last_record));
        self.end_turn();
        self.drafts.truncate(place);
        self.events.truncate(event);
        self.growing = None;
        self.calls.retain(|_, call| call.event < event);
        let keys: Vec<u32> = self.drafts.iter().map(|draft| draft.key).collect();
        self.running.retain(|(_, key)| keys.contains(key));
        self.asks.retain(|_, ask| ask.event() < event);
    }

    fn line_of(&self, event: usize, record: u32) -> u32 {
        self.events.get(event).map_or(record, |event| match event.node {
            NodeId::Number(line) => u32::try_from(line).unwrap_or(record),
            NodeId::Text(_) => record,
        })
    }

    /// The agent took back what the user reverted.
    pub fn history_rewound(&mut self, params: &Value) {
        let removed = text(params, "firstRemovedUserMessageId");
        let by_id = removed.and_then(|id| self.drafts.iter().position(|draft| draft.message_id.as_deref() == Some(id)));
        let place = by_id.or_else(|| {
            let (_, list) = self.list.as_ref()?;
            let is_listed = |draft: &Draft| list.iter().any(|step| matches(step, draft));
            // Commands are prompts that no list has: what comes after the last listed step is gone.
            Some(self.drafts.iter().rposition(is_listed).map_or(0, |last| last + 1))
        });
        if let Some(place) = place {
            self.rewind(place);
        }
    }
}
