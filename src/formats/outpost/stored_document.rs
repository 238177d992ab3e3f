//! Files that hold one document: bare, or as the body of an object.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::object;
use crate::formats::OpenError;
use crate::formats::document::{self, Flaw};
use crate::model::{Locator, Problem, ProblemKind, Report};
use crate::store::SourceFile;

/// A document, and the file to find it in.
pub struct StoredDocument {
    pub file: Arc<SourceFile>,
    pub value: Value,
    /// What was noticed while it was read; its records are still to be counted.
    pub report: Report,
}

/// Reads the document of a bare file.
pub fn bare(path: &Path) -> Result<StoredDocument, OpenError> {
    let file = Arc::new(SourceFile::open(path)?);
    let read = document::read(&file)?;
    with_report(file, 0, read)
}

/// Reads the document that an object's body is.
pub fn in_object(path: &Path) -> Result<StoredDocument, OpenError> {
    let object = object::look(path)?;
    let read = document::parse(&object.bytes()?);
    let mut document = with_report(object.file.clone(), object.body.offset, read)?;
    for problem in &object.flaws {
        document.report.notice(notice("object", ProblemKind::Structure, problem));
    }
    Ok(document)
}

fn with_report(
    file: Arc<SourceFile>,
    start: u64,
    read: Option<document::Document>,
) -> Result<StoredDocument, OpenError> {
    let Some(read) = read else {
        let reason = "nothing of the document can be read".to_owned();
        return Err(OpenError::Empty { reason, path: file.path().to_owned() });
    };
    let mut report = Report::default();
    if let Some(flaw) = read.flaw {
        let (kind, at) = match flaw {
            Flaw::Mended => (ProblemKind::Repaired, None),
            Flaw::Cut { at } => (ProblemKind::Torn, Some(at)),
            Flaw::Broken { at } => (ProblemKind::Unreadable, Some(at)),
        };
        // What is missing behind the break was something: it counts as one record.
        report.records.count(kind);
        report.push(Problem { offset: at.map(|at| start + at), ..notice("document", kind, &flaw.message()) });
    }
    Ok(StoredDocument { file, value: read.value, report })
}

/// A remark about a part of a document.
pub fn notice(key: &str, kind: ProblemKind, message: &str) -> Problem {
    Problem { locator: Locator::Key(key.to_owned()), offset: None, kind, message: message.to_owned(), file: None }
}
