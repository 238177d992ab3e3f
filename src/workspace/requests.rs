//! What the window may ask for, and how it is done.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::bodies::{Slot, TextKey};
use super::command::Command;
use super::document::{Action, Document, DocumentId, Fold, State};
use super::jobs::{Failure, MarkJob, Message, Outbox, TextJob, cancel_flag};
use super::notices::Level;
use super::outline::Outlined;
use super::picker::Pick;
use super::player::Player;
use super::progress::{NowAndThen, Progress};
use super::reading;
use super::settings::Theme;
use super::text::TextPart;
use super::{Dialog, Workspace, found, search};
use crate::actions::{ActionError, RevertPlan, apply_fork, apply_revert, plan_fork, plan_revert, undo_revert};
use crate::formats::search::Query;
use crate::formats::{self, Cut, Observer, OpenError, Recording, SessionRef, Source};
use crate::model::{MarkerKind, Target};
use crate::store::{Watch, encode_png, find_receipts, now, write_atomically};

/// What the job of a search is called.
pub(super) const SEARCH: &str = "search";

/// Something that the user wants, about the active document unless it says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Run(Command),
    /// Open what these paths hold together: files, folders.
    Open(Vec<PathBuf>),
    OpenSession(SessionRef),
    ShowTab(usize),
    CloseTab(DocumentId),
    SelectStep(u32),
    SelectEvent(usize),
    /// A text is needed for drawing.
    Read(TextKey),
    /// Where the matches are in a text that is drawn.
    Mark(TextKey),
    /// Search for something else.
    Search(Query),
    /// Open or fold a part of an event.
    Expand(Fold),
    Fork(Cut),
    Revert(u32),
    /// Do the revert that is previewed.
    ConfirmRevert,
    Replay(u32),
    /// Work out what the export that is being chosen would replace.
    ReviewExport,
    /// Go back from the review to what was chosen.
    ChooseExport,
    /// Write the export that was reviewed.
    WriteExport,
    /// The text of a note.
    WriteNote(Target, String),
    /// Stop at this kind of marker, or no longer.
    ToggleStop(MarkerKind),
    CloseDialog,
    CloseNotice(u64),
    Copy(String),
    /// Copy a text that may be of any length, as it was recorded.
    CopyText(TextKey, TextPart),
    /// Take back the reading or the action that is going on.
    Cancel(DocumentId),
    /// A picture of the window, three bytes a pixel; saved before the window closes.
    SavePictureAndQuit {
        path: PathBuf,
        width: usize,
        height: usize,
        pixels: Vec<u8>,
    },
}

impl Workspace {
    /// Carries out a request.
    pub fn handle(&mut self, request: Request) {
        match request {
            Request::Run(command) => self.run(command),
            Request::Open(paths) => {
                self.dialog = None;
                self.open(&paths);
            }
            Request::OpenSession(reference) => self.open_session(reference),
            Request::ShowTab(index) => self.active = index.min(self.documents.len().saturating_sub(1)),
            Request::CloseTab(id) => self.close(id),
            Request::SelectStep(number) => self.with_active(|document| document.select_step(number)),
            Request::SelectEvent(index) => self.with_active(|document| document.select_event(index)),
            Request::Read(key) => self.read_text(key),
            Request::Mark(key) => self.mark_text(key),
            Request::Search(query) => self.search_for(query),
            Request::Expand(fold) => self.with_active(|document| {
                if !document.expanded.remove(&fold) {
                    document.expanded.insert(fold);
                }
            }),
            Request::Fork(cut) => self.fork(cut),
            Request::Revert(step) => self.plan_revert(step),
            Request::ConfirmRevert => self.confirm_revert(),
            Request::Replay(step) => self.start_replay(step),
            Request::ReviewExport => self.review_export(),
            Request::ChooseExport => self.choose_export(),
            Request::WriteExport => self.write_export(),
            Request::WriteNote(on, text) => self.write_note(on, &text),
            Request::ToggleStop(kind) => self.with_active(|document| {
                if let Some(player) = &mut document.player
                    && !player.stops.remove(&kind)
                {
                    player.stops.insert(kind);
                }
            }),
            Request::CloseDialog => self.close_dialog(),
            Request::CloseNotice(id) => self.notices.close(id),
            Request::Copy(text) => self.clipboard = Some(text),
            Request::CopyText(key, part) => self.copy_text(key, part),
            Request::Cancel(id) => {
                if let Some(document) = self.document(id) {
                    document.cancel();
                }
            }
            Request::SavePictureAndQuit { path, width, height, pixels } => {
                self.jobs.run("picture", None, move |outbox| {
                    let saved = encode_png(width, height, &pixels)
                        .map_err(|error| error.to_string())
                        .and_then(|png| write_atomically(&path, &png).map_err(|error| error.to_string()));
                    outbox.send(Message::PictureSaved(saved));
                });
            }
        }
    }

    /// Runs a command, unless it says why it cannot be run.
    pub fn run(&mut self, command: Command) {
        if let Some(refusal) = command.refusal(self) {
            self.notice(Level::Information, format!("{}: {refusal}", command.info().text.trim_end_matches('…')), None);
            return;
        }
        let step = self.active().and_then(Document::selected_step).map(|step| step.number);
        match command {
            Command::Open => self.pick(Pick::Files),
            Command::OpenFolder => self.pick(Pick::Folder),
            Command::OpenPath => self.dialog = Some(Dialog::Path { text: String::new(), reason: None }),
            Command::Reload => self.reload(),
            Command::CloseTab => {
                if let Some(id) = self.active().map(|document| document.id) {
                    self.close(id);
                }
            }
            Command::NextTab => self.active = (self.active + 1) % self.documents.len().max(1),
            Command::PreviousTab => {
                let count = self.documents.len().max(1);
                self.active = (self.active + count - 1) % count;
            }
            Command::Fork => step.into_iter().for_each(|step| self.fork(Cut::After(step))),
            Command::ForkBefore => step.into_iter().for_each(|step| self.fork(Cut::Before(step))),
            Command::Revert => step.into_iter().for_each(|step| self.plan_revert(step)),
            Command::Export => self.open_export(),
            Command::Bookmark => self.toggle_bookmark(),
            Command::EditNote => self.edit_note(),
            Command::NextBookmark | Command::PreviousBookmark => self.move_bookmark(command),
            Command::Replay => step.into_iter().for_each(|step| self.start_replay(step)),
            Command::CopyPrompt => {
                step.into_iter().for_each(|step| self.copy_text(TextKey::Prompt(step), TextPart::Text));
            }
            Command::UndoRevert => {
                let document = self.active();
                let newest = document.and_then(|document| Some((document.id, document.receipts.first()?.0.clone())));
                if let Some((document, receipt)) = newest {
                    self.undo(document, receipt);
                }
            }
            Command::NextStep | Command::PreviousStep | Command::FirstStep | Command::LastStep => {
                self.move_step(command)
            }
            Command::NextMarker => self.move_marker(true),
            Command::PreviousMarker => self.move_marker(false),
            Command::Find => self.open_search(),
            Command::CloseSearch => self.with_active(|document| {
                document.search.is_open = false;
                document.search.stop();
            }),
            Command::NextMatch => self.move_match(true),
            Command::PreviousMatch => self.move_match(false),
            Command::PlayPause
            | Command::PlayNextEvent
            | Command::PlayNextStep
            | Command::PlayNextMarker
            | Command::PlayFaster
            | Command::PlaySlower
            | Command::StopReplay => self.play(command),
            Command::ToggleInspector => {
                self.settings.inspector = !self.settings.inspector;
                self.save_settings();
            }
            Command::ToggleTheme => {
                self.settings.theme = if self.settings.theme == Theme::Light { Theme::Dark } else { Theme::Light };
                self.save_settings();
            }
            Command::ZoomIn => self.zoom(1.1),
            Command::ZoomOut => self.zoom(1.0 / 1.1),
            Command::ZoomReset => self.zoom(1.0 / self.settings.zoom),
            Command::Report => self.dialog = Some(Dialog::Report),
            Command::Notices => self.dialog = Some(Dialog::Notices),
            Command::Shortcuts => self.dialog = Some(Dialog::Shortcuts),
            Command::Quit => self.quit = true,
            // The strip's own: its zoom is not the workspace's.
            Command::TimelineZoomIn
            | Command::TimelineZoomOut
            | Command::TimelinePanLeft
            | Command::TimelinePanRight
            | Command::TimelineShowAll
            | Command::TimelineScale => {}
        }
    }

    fn with_active(&mut self, change: impl FnOnce(&mut Document)) {
        if let Some(document) = self.active_mut() {
            change(document);
        }
    }

    fn zoom(&mut self, factor: f32) {
        self.settings.zoom = (self.settings.zoom * factor).clamp(0.5, 3.0);
        self.save_settings();
    }

    fn pick(&mut self, what: Pick) {
        let picker = Arc::clone(&self.picker);
        self.jobs.run("dialog", None, move |outbox| {
            outbox.send(match picker.pick(what) {
                Ok(paths) => Message::Picked(paths),
                Err(sentence) => Message::NoDialog(sentence),
            });
        });
    }

    pub(super) fn close(&mut self, id: DocumentId) {
        if let Some(index) = self.documents.iter().position(|document| document.id == id) {
            let mut document = self.documents.remove(index);
            document.cancel();
            document.search.stop();
            self.close_preview(id);
            self.save_last_notes(&document);
            self.followed.forget(id);
            if self.active > index || self.active >= self.documents.len() {
                self.active = self.active.saturating_sub(1);
            }
        }
    }

    /// A revert that is being worked out or done does not go on behind a closed preview.
    fn close_dialog(&mut self) {
        if let Some(Dialog::Revert { document, .. }) = self.dialog.take()
            && let Some(document) = self.document(document)
        {
            document.cancel_action();
        }
    }

    /// Looks for the sessions that agents keep on this machine.
    pub(super) fn find_sessions(&mut self) {
        let (projects, databases) = (self.claude_projects.clone(), self.databases.clone());
        self.found = None;
        self.jobs.run("find sessions", None, move |outbox| {
            let mut found = found::find_databases(&databases);
            if let Some(projects) = projects {
                found.extend(found::find_sessions(&projects, &formats::first_prompt));
            }
            outbox.send(Message::Found(found));
        });
    }

    /// Reads the file of a document, unless it is being read.
    pub(super) fn read(&mut self, id: DocumentId) {
        let Some(document) = self.document_mut(id) else { return };
        if document.is_reading() {
            document.changed_meanwhile = true;
            return;
        }
        let cancelled = cancel_flag();
        document.reading = Some(Arc::clone(&cancelled));
        let named = document.reference.clone();
        let former = document.recording().cloned();
        self.jobs.run("read", Some(id), move |outbox| {
            let start = Instant::now();
            let reader = Reader { outbox, document: id, cancelled: &cancelled, wants_partial: former.is_none() };
            let read = match former {
                Some(former) => reader.read_on(named, &*former),
                None => reader.open(named),
            };
            outbox.send(match read {
                Read::Session(reference, result) => {
                    let receipts = find_receipts(reference.path());
                    let receipts = receipts.into_iter().map(|(path, receipt)| (path, receipt.step_number)).collect();
                    let result = result.map(Outlined::new).map_err(|error| error.to_string());
                    Message::Opened { document: id, reference, result, receipts, took: start.elapsed() }
                }
                Read::Several(source) => Message::Listed { document: id, source },
            });
        });
    }

    fn reload(&mut self) {
        let Some(document) = self.active_mut() else { return };
        if document.is_reading() {
            return;
        }
        if !document.is_whole() {
            document.state = State::Reading(Progress::begin());
        }
        let id = document.id;
        self.read(id);
    }

    fn read_text(&mut self, key: TextKey) {
        let Some(document) = self.documents.get_mut(self.active) else { return };
        if document.bodies.get(key).is_some() {
            return;
        }
        let Some(recording) = document.recording().cloned() else { return };
        let (document_id, generation, cancelled) = (document.id, document.generation, cancel_flag());
        let flag = Arc::clone(&cancelled);
        if self.jobs.read_text(TextJob { document: document_id, generation, key, recording, cancelled: flag }) {
            document.bodies.reading(key, cancelled);
        }
    }

    /// The field for it is in the inspector.
    fn edit_note(&mut self) {
        self.settings.inspector = true;
        self.with_active(|document| document.noted.focus += 1);
    }

    fn mark_text(&mut self, key: TextKey) {
        let Some(document) = self.documents.get_mut(self.active) else { return };
        let Some(Slot::Ready(text)) = document.bodies.get(key).cloned() else { return };
        let Some(pattern) = document.search.pattern().cloned() else { return };
        let job = MarkJob { document: document.id, number: document.search.number(), key, text, pattern };
        if document.search.marks(key).1 && self.jobs.mark_text(job) {
            document.search.marking(key);
        }
    }

    /// Shows the bar; what was looked for before it was closed is looked for again.
    fn open_search(&mut self) {
        let Some(document) = self.active_mut() else { return };
        document.search.focus += 1;
        if !std::mem::replace(&mut document.search.is_open, true) {
            let id = document.id;
            self.search(id, true);
        }
    }

    fn search_for(&mut self, query: Query) {
        let Some(document) = self.active_mut() else { return };
        if document.search.query != query {
            document.search.query = query;
            let id = document.id;
            self.search(id, true);
        }
    }

    /// Searches what is another session now, or was closed for a while, for the same.
    pub(super) fn search_again(&mut self, id: DocumentId) {
        if self.document(id).is_some_and(|document| document.search.is_open) {
            self.search(id, false);
        }
    }

    fn search(&mut self, id: DocumentId, goes_to_first: bool) {
        let Some(document) = self.document_mut(id) else { return };
        let recording = document.recording().cloned();
        let query = document.search.query.clone();
        let Some(recording) = recording.filter(|_| !query.text.is_empty()) else { return document.search.stop() };
        let (cancelled, number) = document.search.begin(goes_to_first);
        self.jobs.run(SEARCH, Some(id), move |outbox| {
            search::run(outbox, id, number, &*recording, &query, &cancelled);
        });
    }

    fn move_match(&mut self, forward: bool) {
        let Some(document) = self.active_mut() else { return };
        if !document.search.is_open {
            return self.open_search();
        }
        document.move_match(forward);
        self.reveal += 1;
    }

    /// Reads and copies away from the window's thread: making a copy of a huge text takes longer than a frame too.
    fn copy_text(&mut self, key: TextKey, part: TextPart) {
        let Some(document) = self.active() else { return };
        let Some(recording) = document.recording().cloned() else { return };
        let held = match document.bodies.get(key) {
            Some(Slot::Ready(text)) => Some(Arc::clone(text)),
            _ => None,
        };
        self.jobs.run("copy", None, move |outbox| {
            let result = reading::to_copy(&*recording, key, part, held).map_err(|error| error.to_string());
            outbox.send(Message::Copied { what: reading::word(key, part), result });
        });
    }

    fn move_step(&mut self, command: Command) {
        self.reveal += 1;
        self.with_active(|document| {
            let Some(session) = document.session() else { return };
            let last = u32::try_from(session.steps.len()).unwrap_or(u32::MAX);
            let now = document.selected_step().map_or(1, |step| step.number);
            let number = match command {
                Command::NextStep => (now + 1).min(last),
                Command::PreviousStep => now.saturating_sub(1).max(1),
                Command::FirstStep => 1,
                _ => last,
            };
            document.select_step(number);
        });
    }

    fn move_marker(&mut self, forward: bool) {
        self.reveal += 1;
        self.with_active(|document| {
            let Some(session) = document.session() else { return };
            let here = document
                .selected_event()
                .or_else(|| document.selected_step().map(|step| step.events.start.wrapping_sub(usize::from(forward))));
            let marked = |index: &usize| session.events.glance(*index).is_some_and(|event| event.is_marked());
            let found = match (forward, here) {
                (true, here) => (here.map_or(0, |here| here.wrapping_add(1))..session.events.len()).find(marked),
                (false, here) => (0..here.unwrap_or(0)).rev().find(marked),
            };
            if let Some(index) = found {
                document.select_event(index);
            }
        });
    }

    fn start_replay(&mut self, step: u32) {
        self.with_active(|document| {
            let Some(session) = document.session() else { return };
            if let Some(start) = session.step(step).map(|step| step.events.start) {
                let player = Player::new(step, start..session.events.len());
                document.select_step(step);
                document.player = Some(player);
            }
        });
    }

    /// Starts an action on a document, unless one is going on.
    pub(super) fn begin(
        &mut self,
        id: DocumentId,
        name: &'static str,
    ) -> Option<(Arc<dyn Recording>, Arc<AtomicBool>)> {
        let document = self.document_mut(id)?;
        if let Some(action) = &document.action {
            let sentence = format!("{} is going on; wait for it or cancel it", action.name);
            self.notice(Level::Information, sentence, None);
            return None;
        }
        let recording = Arc::clone(document.recording()?);
        let cancelled = cancel_flag();
        document.action = Some(Action { name, progress: Progress::begin(), cancelled: Arc::clone(&cancelled) });
        Some((recording, cancelled))
    }

    fn fork(&mut self, cut: Cut) {
        let Some(document) = self.active().map(|document| document.id) else { return };
        let Some((recording, cancelled)) = self.begin(document, "Fork") else { return };
        self.jobs.write("fork", document, move |outbox| {
            let result = watched(outbox, document, &cancelled, |watch| {
                let plan = plan_fork(&*recording, cut, None, watch)?;
                apply_fork(&plan, watch)
            });
            outbox.send(Message::Forked { document, result });
        });
    }

    fn plan_revert(&mut self, step_number: u32) {
        let Some(document) = self.active().map(|document| document.id) else { return };
        let Some((recording, cancelled)) = self.begin(document, "Revert preview") else { return };
        self.dialog = Some(Dialog::Revert { document, step_number, plan: None });
        self.jobs.run("plan revert", Some(document), move |outbox| {
            let result = watched(outbox, document, &cancelled, |watch| {
                plan_revert(&*recording, step_number, watch).map(Arc::new)
            });
            outbox.send(Message::RevertPlanned { document, result });
        });
    }

    fn confirm_revert(&mut self) {
        let Some(Dialog::Revert { document, plan: Some(plan), .. }) = &self.dialog else { return };
        let (document, plan): (_, Arc<RevertPlan>) = (*document, Arc::clone(plan));
        let Some((_, cancelled)) = self.begin(document, "Revert") else { return };
        self.jobs.write("revert", document, move |outbox| {
            let result = watched(outbox, document, &cancelled, |watch| apply_revert(&plan, now(), watch));
            outbox.send(Message::Reverted { document, result });
        });
    }

    fn undo(&mut self, document: DocumentId, receipt: PathBuf) {
        let Some((_, cancelled)) = self.begin(document, "Undo") else { return };
        self.jobs.write("undo", document, move |outbox| {
            let result = watched(outbox, document, &cancelled, |watch| undo_revert(&receipt, now(), watch));
            outbox.send(Message::Undone { document, result });
        });
    }
}

/// Runs an action with its progress going to the window.
fn watched<T>(
    outbox: &Outbox,
    document: DocumentId,
    cancelled: &AtomicBool,
    action: impl FnOnce(Watch<'_>) -> Result<T, ActionError>,
) -> Result<T, Failure> {
    let now_and_then = NowAndThen::default();
    let progress = |done_bytes, total_bytes| {
        if now_and_then.is_due() {
            outbox.send_if_room(Message::ActionProgress { document, done_bytes, total_bytes });
        }
    };
    action(Watch::new(cancelled, &progress))
        .map_err(|error| if error.is_cancelled() { Failure::Cancelled } else { Failure::Said(error.to_string()) })
}

/// Opens what was named for the window: progress and the part read so far go to it as they come.
struct Reader<'a> {
    outbox: &'a Outbox,
    document: DocumentId,
    cancelled: &'a AtomicBool,
    wants_partial: bool,
}

/// What came of opening.
enum Read {
    Session(SessionRef, Result<Arc<dyn Recording>, OpenError>),
    Several(Source),
}

impl Reader<'_> {
    /// Reads what was read before, once it has changed: on from its end where that tells all, else anew.
    fn read_on(&self, named: SessionRef, former: &dyn Recording) -> Read {
        let progress = |_, _| {};
        match former.grown(&Observing { reader: self, watch: Watch::new(self.cancelled, &progress) }) {
            Ok(Some(recording)) => Read::Session(named, Ok(recording)),
            // What is wrong with it, if anything is, is said by who reads all of it.
            Ok(None) | Err(_) => self.open(named),
        }
    }

    fn open(&self, named: SessionRef) -> Read {
        let now_and_then = NowAndThen::default();
        let progress = |done_bytes, total_bytes| {
            if now_and_then.is_due() {
                let message = Message::ReadingProgress { document: self.document, done_bytes, total_bytes };
                self.outbox.send_if_room(message);
            }
        };
        let observer = Observing { reader: self, watch: Watch::new(self.cancelled, &progress) };
        // The most usual cases need no list: one file, and a session that was chosen from a list before.
        let is_one = named.paths.len() == 1 && !named.path().is_dir();
        if is_one || named.key.is_some() {
            match formats::open_session(&named, &observer) {
                Err(OpenError::Several { .. }) => {}
                result => return Read::Session(named, result),
            }
        }
        match formats::sessions_of(&named.paths, &observer) {
            Ok(source) => match source.sessions.as_slice() {
                [only] => {
                    let reference = only.reference.clone();
                    let result = formats::open_session(&reference, &observer);
                    Read::Session(reference, result)
                }
                _ => Read::Several(source),
            },
            Err(error) => Read::Session(named, Err(error)),
        }
    }
}

struct Observing<'a> {
    reader: &'a Reader<'a>,
    watch: Watch<'a>,
}

impl Observer for Observing<'_> {
    fn watch(&self) -> Watch<'_> {
        self.watch
    }

    fn partial(&self, recording: Arc<dyn Recording>) {
        let read = Outlined::new(recording);
        self.reader.outbox.send(Message::Partial { document: self.reader.document, read });
    }

    fn wants_partial(&self) -> bool {
        self.reader.wants_partial
    }
}
