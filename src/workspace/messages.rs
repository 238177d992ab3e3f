//! Taking in what the jobs sent, and letting a replay go on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::command::Command;
use super::document::{Document, DocumentId, State};
use super::jobs::{Failure, Message};
use super::notices::Level;
use super::outline::Outlined;
use super::player::Played;
use super::requests::SEARCH;
use super::{Dialog, Workspace, words};
use crate::actions::{ForkReceipt, RevertDone};
use crate::formats::{self, Recording, SessionRef, Source};
use crate::store::Receipt;

/// So many files that are named together get a tab each.
const MOST_TABS: usize = 24;

impl Workspace {
    /// Takes in messages for at most `budget`; true when some are left.
    pub fn drain(&mut self, budget: Duration) -> bool {
        let start = Instant::now();
        while let Some(message) = self.jobs.next() {
            self.take(message);
            if start.elapsed() > budget {
                return true;
            }
        }
        false
    }

    #[expect(clippy::too_many_lines, reason = "one arm a message")]
    fn take(&mut self, message: Message) {
        match message {
            Message::ReadingProgress { document, done_bytes, total_bytes } => {
                if let Some(State::Reading(progress)) = self.document_mut(document).map(|document| &mut document.state)
                {
                    progress.reach(done_bytes, total_bytes);
                }
            }
            Message::Partial { document, read } => {
                if let Some(document) = self.document_mut(document)
                    && !document.is_whole()
                {
                    let id = document.id;
                    document.set_read(read);
                    self.search_again(id);
                }
            }
            Message::Opened { document, reference, result, receipts, took } => {
                self.opened(document, reference, result, receipts, took);
            }
            Message::Text { document, generation, key, slot } => {
                if let Some(document) = self.document_mut(document)
                    && document.generation == generation
                {
                    document.bodies.put(key, slot);
                }
            }
            Message::Searching { document, number, pattern } => {
                if let Some(document) = self.document_mut(document) {
                    document.search.take_pattern(number, pattern);
                }
            }
            Message::Hits { document, number, hits, ended } => {
                let moved =
                    self.document_mut(document).is_some_and(|document| document.take_hits(number, &hits, ended));
                self.reveal += u64::from(moved);
            }
            Message::Marked { document, number, key, marks } => {
                if let Some(document) = self.document_mut(document) {
                    document.search.take_marks(number, key, marks);
                }
            }
            Message::ActionProgress { document, done_bytes, total_bytes } => {
                if let Some(action) = self.document_mut(document).and_then(|document| document.action.as_mut()) {
                    action.progress.reach(done_bytes, total_bytes);
                }
            }
            Message::Forked { document, result } => {
                self.end_action(document);
                self.forked(result);
            }
            Message::RevertPlanned { document, result } => {
                self.end_action(document);
                match result {
                    Ok(planned) => {
                        if let Some(Dialog::Revert { document: shown, plan, .. }) = &mut self.dialog
                            && *shown == document
                        {
                            *plan = Some(planned);
                        }
                    }
                    Err(failure) => {
                        self.close_preview(document);
                        self.failed("Revert", failure);
                    }
                }
            }
            Message::Reverted { document, result } => {
                self.end_action(document);
                self.close_preview(document);
                self.reverted(document, result);
            }
            Message::Undone { document, result } => {
                self.end_action(document);
                self.undone(document, result);
            }
            Message::ExportPlanned { document, result } => {
                self.end_action(document);
                self.export_planned(document, result);
            }
            Message::Exported { document, plan, result } => {
                self.end_action(document);
                self.exported(document, plan, result);
            }
            Message::NotesRead { document, session_id, result } => self.notes_read(document, session_id, result),
            Message::NotesSaved { document, result } => self.notes_saved(document, result),
            Message::Picked(paths) => self.open(&paths),
            Message::NoDialog(sentence) => {
                self.dialog = Some(Dialog::Path { text: String::new(), reason: Some(sentence) });
            }
            Message::Listed { document, source } => self.listed(document, source),
            Message::Found(found) => self.found = Some(found),
            Message::Changed { document } => self.read_again(document),
            Message::BrokeDown { name, document } => self.broke_down(name, document),
            Message::PictureSaved(result) => {
                if let Err(sentence) = result {
                    log::error!("picture not saved: {sentence}");
                }
                self.quit = true;
            }
            Message::Copied { what, result } => match result {
                Ok(text) => {
                    self.notice(Level::Done, format!("{what} copied, {}", words::bytes(text.len() as u64)), None);
                    self.clipboard = Some(text);
                }
                Err(sentence) => self.notice(Level::Error, sentence, None),
            },
        }
    }

    fn opened(
        &mut self,
        id: DocumentId,
        reference: SessionRef,
        result: Result<Outlined, String>,
        receipts: Vec<(PathBuf, u32)>,
        took: Duration,
    ) {
        self.followed.go_on(id);
        let Some(document) = self.document_mut(id) else { return };
        document.reference = reference;
        document.receipts = receipts;
        document.reading = None;
        let again = std::mem::take(&mut document.changed_meanwhile);
        let was_open = document.is_whole();
        match result {
            Ok(read) => {
                let path = document.path().to_owned();
                let (watched, appended) = (read.recording.watched(), read.recording.is_appended_to());
                let own = std::mem::take(&mut document.written_here);
                let loss =
                    document.recording().filter(|_| was_open && !own).and_then(|old| loss(&**old, &*read.recording));
                document.set_read(read);
                document.state = State::Whole;
                document.gone = false;
                self.followed.follow(id, watched, appended, took);
                self.search_again(id);
                self.read_notes(id);
                if !was_open {
                    self.settings.remember(&path);
                    self.save_settings();
                }
                if let Some(loss) = loss {
                    let text = format!("{loss}; what is shown is what the file holds now: {}", path.display());
                    self.notice(Level::Warning, text, None);
                }
            }
            // What was read before is still there to be looked at.
            Err(sentence) if was_open => {
                document.gone = true;
                let path = format!(": {}", document.path().display());
                let reason = sentence.strip_suffix(&path).unwrap_or(&sentence);
                let text = format!(
                    "What is shown was read before; now {reason}; put the file back and reload, or close the tab{path}"
                );
                self.notice(Level::Warning, text, None);
            }
            Err(sentence) => document.state = State::Failed(sentence),
        }
        if again {
            self.read(id);
        }
    }

    /// Closes the preview of a revert of this document, if it is what is shown.
    pub(super) fn close_preview(&mut self, id: DocumentId) {
        if matches!(&self.dialog, Some(Dialog::Revert { document, .. }) if *document == id) {
            self.dialog = None;
        }
    }

    /// A job ended by a fault of Stepline's own: nothing may wait for it any longer.
    fn broke_down(&mut self, name: &str, document: Option<DocumentId>) {
        let sentence = format!("Stepline failed at this ({name}); what it said is on standard error");
        if let Some(id) = document {
            self.close_preview(id);
            self.export_broke_down(id);
            if let Some(document) = self.document_mut(id) {
                if document.reading.take().is_some() && !document.is_whole() {
                    document.state = State::Failed(sentence.clone());
                }
                document.action = None;
                if name == SEARCH {
                    document.search.stop();
                    document.search.complaint = Some(sentence.clone());
                }
            }
        }
        self.found.get_or_insert_default();
        self.notice(Level::Error, sentence, None);
    }

    /// What was named holds several sessions: files that were named one by one get a tab each while they are few, else
    /// the tab lists what there is.
    fn listed(&mut self, id: DocumentId, source: Source) {
        self.followed.go_on(id);
        let Some(document) = self.document_mut(id) else { return };
        document.reading = None;
        document.changed_meanwhile = false;
        let named = document.reference.clone();
        let path = named.path().to_owned();
        if source.sessions.is_empty() {
            let error = source.unread.into_iter().next().unwrap_or_else(|| formats::nothing_in(&path));
            document.state = State::Failed(error.to_string());
            return;
        }
        for error in &source.unread {
            self.notice(Level::Warning, error.to_string(), None);
        }
        let is_named = |path: &PathBuf| source.sessions.iter().any(|listed| listed.reference == SessionRef::file(path));
        if named.paths.len() <= MOST_TABS && named.paths.iter().all(is_named) {
            self.close(id);
            let first = self.documents.len();
            named.paths.iter().for_each(|path| self.open_session(SessionRef::file(path)));
            self.active = first.min(self.documents.len().saturating_sub(1));
            return;
        }
        if let Some(document) = self.document_mut(id) {
            document.state = State::Choosing(Arc::new(source));
        }
        self.settings.remember(&path);
        self.save_settings();
    }

    fn forked(&mut self, result: Result<ForkReceipt, Failure>) {
        match result {
            Ok(receipt) => {
                for warning in &receipt.warnings {
                    self.notice(Level::Warning, warning.clone(), None);
                }
                self.open(std::slice::from_ref(&receipt.path));
                if let Some(document) = self.active_mut() {
                    document.want_step(receipt.steps);
                }
                self.dialog = Some(Dialog::Forked(receipt));
            }
            Err(failure) => self.failed("Fork", failure),
        }
    }

    fn reverted(&mut self, id: DocumentId, result: Result<RevertDone, Failure>) {
        match result {
            Ok(RevertDone::Cut { receipt, receipt_path }) => {
                let step = receipt.step_number;
                let text =
                    format!("Step {step} and everything after it is gone from the file; Undo revert puts it back");
                self.notice(Level::Done, text, Some(receipt_path.display().to_string()));
                self.notices.newest_can_be_undone();
                if let Some(document) = self.document_mut(id) {
                    document.written_here = true;
                }
                self.read_again(id);
            }
            Ok(RevertDone::Export(receipt)) => self.forked(Ok(receipt)),
            Err(failure) => self.failed("Revert", failure),
        }
    }

    fn undone(&mut self, id: DocumentId, result: Result<Receipt, Failure>) {
        match result {
            Ok(receipt) => {
                let text = format!("Step {} and everything after it is back, byte for byte", receipt.step_number);
                self.notices.close_reverts();
                self.notice(Level::Done, text, None);
                if let Some(document) = self.document_mut(id) {
                    document.want_step(receipt.step_number);
                    document.written_here = true;
                }
                self.read_again(id);
            }
            Err(failure) => self.failed("Undo", failure),
        }
    }

    fn failed(&mut self, action: &str, failure: Failure) {
        match failure {
            Failure::Cancelled => {
                self.notice(Level::Information, format!("{action} cancelled; nothing was written"), None);
            }
            Failure::Said(sentence) => self.notice(Level::Error, format!("{action}: {sentence}"), None),
        }
    }

    fn end_action(&mut self, id: DocumentId) {
        if let Some(document) = self.document_mut(id) {
            document.action = None;
        }
    }

    fn read_again(&mut self, id: DocumentId) {
        if let Some(document) = self.document_mut(id)
            && matches!(document.state, State::Whole | State::Choosing(_))
        {
            self.read(id);
        }
    }

    /// Lets the active document's replay go on by `elapsed`; the time after which it wants to go on again.
    pub fn tick(&mut self, elapsed: Duration) -> Option<Duration> {
        let document = self.active_mut()?;
        let recording = Arc::clone(document.recording()?);
        let events = &recording.session().events;
        let player = document.player.as_mut()?;
        let played = player.advance(elapsed.as_secs_f64() * 1000.0, events);
        let wait = player.playing.then(|| Duration::from_secs_f64(player.due_in_ms(events) / 1000.0));
        self.follow_player(played);
        wait
    }

    /// A replay command on the active document's player.
    pub(super) fn play(&mut self, command: Command) {
        let Some(document) = self.active_mut() else { return };
        let Some(recording) = document.recording().cloned() else { return };
        let session = recording.session();
        let Some(player) = document.player.as_mut() else { return };
        let played = match command {
            Command::StopReplay => {
                document.player = None;
                return;
            }
            Command::PlayPause => {
                player.play_or_pause();
                Played::Waiting
            }
            Command::PlayFaster => {
                player.faster();
                Played::Waiting
            }
            Command::PlaySlower => {
                player.slower();
                Played::Waiting
            }
            Command::PlayNextEvent => player.next_event(),
            Command::PlayNextMarker => player.next_marker(&session.events),
            _ => {
                let position = player.position();
                let next = session.steps.partition_point(|step| step.events.start <= position);
                let next = session.steps.get(next).map(|step| step.events.start);
                player.next_step(next)
            }
        };
        self.follow_player(played);
    }

    /// Moves the selection to where the replay is.
    fn follow_player(&mut self, played: Played) {
        if played == Played::Waiting {
            return;
        }
        self.reveal += 1;
        if let Some(document) = self.active_mut() {
            let current = document.player.as_ref().and_then(super::player::Player::current);
            if let Some(current) = current {
                document.select_event(current);
            }
        }
    }
}

/// What of the session that was read before is not in its file any more, if something is not.
fn loss(old: &dyn Recording, new: &dyn Recording) -> Option<&'static str> {
    if old.session().id != new.session().id {
        return Some("The file was replaced by one of another session");
    }
    let len = |recording: &dyn Recording| recording.files().first().map(|file| file.len());
    (len(new) < len(old)).then_some("The file became shorter on disk")
}

impl Document {
    /// Whether the event at `index` lies before the replay's position, or there is no replay.
    pub fn has_played(&self, index: usize) -> bool {
        self.player.as_ref().is_none_or(|player| index < player.position())
    }
}
