//! Where the entries of an event log are kept, and how each is read again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::flatten;
use super::objects::Objects;
use crate::formats::{Origin, json, record};
use crate::model::Locator;
use crate::store::{Framing, ReadError, SourceFile, Span};

/// How an entry is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As journals have it: the event's fields with the envelope beside them.
    Flat,
    /// As observation logs have it: the event inside the envelope.
    Nested,
}

/// All entries of a log: the files they are in, and how to read one again.
#[derive(Clone, Debug)]
pub struct Entries {
    /// The files that tell whether something changed; entries that share a file are in the first.
    pub files: Vec<Arc<SourceFile>>,
    pub form: Form,
    pub layout: Layout,
    /// Whatever a new file made of these entries does not have, for the one who makes it.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug)]
pub enum Layout {
    /// One after the other in one file.
    File(Framing),
    /// Each in an object of its own.
    Objects(Arc<EntryObjects>),
    /// One, in an object that was taken out of its store.
    Loose,
}

/// The objects of a log: the entry with number N is in the one with the key N.
#[derive(Debug)]
pub struct EntryObjects {
    pub objects: Objects,
    pub keys: Vec<Box<str>>,
}

impl Entries {
    pub fn file(file: Arc<SourceFile>, framing: Framing, form: Form) -> Self {
        Self { files: vec![file], form, layout: Layout::File(framing), warnings: Vec::new() }
    }

    /// How the entries of the one file are separated; `None` for objects.
    pub fn framing(&self) -> Option<Framing> {
        match self.layout {
            Layout::File(framing) => Some(framing),
            Layout::Objects(_) | Layout::Loose => None,
        }
    }

    /// The file and its framing, where entries stand in it as a journal has them: its bytes can be copied.
    pub fn journal_file(&self) -> Option<(&Arc<SourceFile>, Framing)> {
        self.files.first().zip(self.framing()).filter(|_| self.form == Form::Flat)
    }

    /// The key of an entry's object.
    pub fn key(&self, number: u32) -> Option<&str> {
        match &self.layout {
            Layout::File(_) | Layout::Loose => None,
            Layout::Objects(stored) => stored.keys.get(number as usize).map(AsRef::as_ref),
        }
    }

    /// The file that an entry is in, opened for now.
    fn open(&self, number: u32) -> Result<Option<Arc<SourceFile>>, ReadError> {
        match &self.layout {
            Layout::File(_) | Layout::Loose => Ok(self.files.first().cloned()),
            Layout::Objects(stored) => {
                let Some(key) = stored.keys.get(number as usize) else { return Ok(None) };
                Ok(Some(Arc::new(stored.objects.open(key)?)))
            }
        }
    }

    /// An entry's text in the flat form, whatever form it is written in.
    pub fn text(&self, number: u32, span: Span) -> Result<String, ReadError> {
        let Some(file) = self.open(number)? else { return Ok(String::new()) };
        let bytes = file.read_at(span.offset, span.len as usize)?;
        let text = json::readable(&bytes).text;
        Ok(match self.form {
            Form::Flat => text.into_owned(),
            Form::Nested => {
                flatten::flatten(&text).map_or_else(|_| text.clone().into_owned(), |flat| flat.into_owned())
            }
        })
    }

    /// The start of what could not be read as an entry, which may be of any length.
    pub fn start_text(&self, number: u32, span: Span) -> Result<String, ReadError> {
        self.open(number)?.map_or(Ok(String::new()), |file| record::start_text(&file, span))
    }

    /// An entry as it stands in its file.
    pub fn raw(&self, number: u32, span: Span) -> Result<Vec<u8>, ReadError> {
        self.open(number)?.map_or(Ok(Vec::new()), |file| record::raw(&file, span))
    }

    /// Where an entry lies; `index` is its number in an array of its file.
    pub fn origin(&self, number: u32, index: u32, span: Span) -> Option<Origin> {
        let locator = match &self.layout {
            Layout::File(Framing::Lines) => Locator::Line(span.line.into()),
            Layout::File(Framing::Array { .. }) | Layout::Loose => Locator::Index(index.into()),
            Layout::Objects(_) => Locator::Key(self.key(number)?.to_owned()),
        };
        Some(Origin { path: self.path(number)?, locator, offset: Some(span.offset) })
    }

    fn path(&self, number: u32) -> Option<PathBuf> {
        match &self.layout {
            Layout::File(_) | Layout::Loose => self.files.first().map(|file| Path::to_owned(file.path())),
            Layout::Objects(stored) => stored.objects.path(self.key(number)?).ok(),
        }
    }
}
