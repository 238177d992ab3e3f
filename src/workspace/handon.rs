//! Handing a session on: what is chosen in the dialog, the review of what is private, and the work behind it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::document::{Document, DocumentId};
use super::jobs::{Failure, Message, Outbox};
use super::notices::Level;
use super::{Dialog, Workspace};
use crate::actions::export::{ExportError, ExportPlan, ExportReceipt, Form, Wanted, apply_export, plan_export};
use crate::actions::redact::Kind;
use crate::store::Watch;

/// The dialog of an export.
pub struct ExportDialog {
    pub document: DocumentId,
    /// What is chosen; the review is of what was chosen when it was asked for.
    pub wanted: Wanted,
    /// Patterns of the user's own, one a line, as they are typed.
    pub patterns: String,
    pub phase: Phase,
    /// Why the last attempt came to nothing.
    pub said: Option<String>,
}

/// How far an export is.
pub enum Phase {
    /// Form, steps and rules are being chosen.
    Choosing,
    /// It is being worked out what would be replaced.
    Planning,
    Review(Review),
    Writing,
    Done(ExportReceipt),
}

/// The review of what would be replaced.
pub struct Review {
    pub plan: Box<ExportPlan>,
    /// Where it goes, as it is typed.
    pub path: String,
    /// Which hit is selected, by its place in the list.
    pub at: usize,
}

impl ExportDialog {
    /// Whether it waits for work that is going on.
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Planning | Phase::Writing)
    }
}

impl Review {
    fn new(plan: Box<ExportPlan>) -> Self {
        let path = plan.path.display().to_string();
        Self { plan, path, at: 0 }
    }

    /// How many different values of a kind there are, and how many of them are kept.
    pub fn count(&self, kind: Kind) -> (usize, usize) {
        let of_kind = || self.plan.secrets.list().iter().filter(move |secret| secret.kind == kind);
        (of_kind().count(), of_kind().filter(|secret| secret.keep).count())
    }

    /// Selects the next hit, or the one before; the first and the last have none.
    pub fn step(&mut self, forward: bool) {
        let last = self.plan.list.hits.len().saturating_sub(1);
        self.at = if forward { (self.at + 1).min(last) } else { self.at.saturating_sub(1) };
    }

    /// Keeps the value of the selected hit, or replaces it after all.
    pub fn toggle(&mut self, hit: usize) {
        let Some(secret) = self.plan.list.hits.get(hit).map(|hit| hit.secret as usize) else { return };
        let keep = self.plan.secrets.list().get(secret).is_some_and(|secret| secret.keep);
        self.plan.secrets.decide(secret, !keep);
    }
}

impl Workspace {
    /// Opens the dialog for the active document.
    pub(super) fn open_export(&mut self) {
        let Some(document) = self.active() else { return };
        let Some(session) = document.session() else { return };
        self.dialog = Some(Dialog::Export(Box::new(ExportDialog {
            document: document.id,
            wanted: Wanted::all(session, Form::Html),
            patterns: String::new(),
            phase: Phase::Choosing,
            said: None,
        })));
    }

    fn export_dialog(&mut self, id: DocumentId) -> Option<&mut ExportDialog> {
        match &mut self.dialog {
            Some(Dialog::Export(dialog)) if dialog.document == id => Some(dialog),
            _ => None,
        }
    }

    /// Works out what would be replaced.
    pub(super) fn review_export(&mut self) {
        let Some(Dialog::Export(dialog)) = &mut self.dialog else { return };
        let patterns = dialog.patterns.lines().map(str::trim).filter(|line| !line.is_empty());
        dialog.wanted.rules.patterns = patterns.map(str::to_owned).collect();
        let (id, wanted) = (dialog.document, dialog.wanted.clone());
        let notes = self.document(id).map(Document::notes).unwrap_or_default();
        let Some((recording, cancelled)) = self.begin(id, "Export review") else { return };
        if let Some(dialog) = self.export_dialog(id) {
            (dialog.phase, dialog.said) = (Phase::Planning, None);
        }
        self.jobs.run("plan export", Some(id), move |outbox| {
            let result = watched(outbox, id, &cancelled, |watch| plan_export(&*recording, &notes, wanted, watch));
            outbox.send(Message::ExportPlanned { document: id, result: result.map(Box::new) });
        });
    }

    /// Writes what was reviewed.
    pub(super) fn write_export(&mut self) {
        let Some(Dialog::Export(dialog)) = &mut self.dialog else { return };
        let id = dialog.document;
        let Phase::Review(mut review) = std::mem::replace(&mut dialog.phase, Phase::Writing) else { return };
        review.plan.path = review.path.trim().into();
        let Some((recording, cancelled)) = self.begin(id, "Export") else {
            self.back_to_review(id, review.plan, None);
            return;
        };
        self.jobs.run("export", Some(id), move |outbox| {
            let plan = review.plan;
            let result = watched(outbox, id, &cancelled, |watch| apply_export(&*recording, &plan, watch));
            outbox.send(Message::Exported { document: id, plan, result });
        });
    }

    /// Goes back from the review to what was chosen for it.
    pub(super) fn choose_export(&mut self) {
        if let Some(Dialog::Export(dialog)) = &mut self.dialog {
            (dialog.phase, dialog.said) = (Phase::Choosing, None);
        }
    }

    pub(super) fn export_planned(&mut self, id: DocumentId, result: Result<Box<ExportPlan>, Failure>) {
        let Some(dialog) = self.export_dialog(id) else { return };
        match result {
            Ok(plan) => dialog.phase = Phase::Review(Review::new(plan)),
            Err(failure) => {
                (dialog.phase, dialog.said) = (Phase::Choosing, Some(sentence(failure)));
            }
        }
    }

    pub(super) fn exported(&mut self, id: DocumentId, plan: Box<ExportPlan>, result: Result<ExportReceipt, Failure>) {
        match result {
            Ok(receipt) => {
                let path = receipt.path.display().to_string();
                match self.export_dialog(id) {
                    Some(dialog) => (dialog.phase, dialog.said) = (Phase::Done(receipt), None),
                    // The dialog was closed while it was written.
                    None => self.notice(Level::Done, format!("Exported to {path}"), Some(path)),
                }
            }
            Err(failure) => {
                let sentence = sentence(failure);
                if self.export_dialog(id).is_some() {
                    self.back_to_review(id, plan, Some(sentence));
                } else {
                    self.notice(Level::Error, format!("Export: {sentence}"), None);
                }
            }
        }
    }

    /// An export that broke down: there is nothing to wait for any more.
    pub(super) fn export_broke_down(&mut self, id: DocumentId) {
        if let Some(dialog) = self.export_dialog(id)
            && matches!(dialog.phase, Phase::Planning | Phase::Writing)
        {
            dialog.phase = Phase::Choosing;
        }
    }

    fn back_to_review(&mut self, id: DocumentId, plan: Box<ExportPlan>, said: Option<String>) {
        if let Some(dialog) = self.export_dialog(id) {
            (dialog.phase, dialog.said) = (Phase::Review(Review::new(plan)), said);
        }
    }
}

fn sentence(failure: Failure) -> String {
    match failure {
        Failure::Cancelled => "cancelled; nothing was written".to_owned(),
        Failure::Said(sentence) => sentence,
    }
}

/// Runs a part of an export with its progress going to the window.
fn watched<T>(
    outbox: &Outbox,
    document: DocumentId,
    cancelled: &Arc<AtomicBool>,
    action: impl FnOnce(Watch<'_>) -> Result<T, ExportError>,
) -> Result<T, Failure> {
    let progress = |done_bytes, total_bytes| {
        outbox.send_if_room(Message::ActionProgress { document, done_bytes, total_bytes });
    };
    action(Watch::new(cancelled, &progress))
        .map_err(|error| if error.is_cancelled() { Failure::Cancelled } else { Failure::Said(error.to_string()) })
}
