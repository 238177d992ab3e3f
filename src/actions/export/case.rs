//! A support case: the session cut after a step, in its own format, with the notes on it and its reading report, in one
//! archive that opens again: see [`crate::formats::case`].

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{ExportError, ExportPlan, Wanted};
use crate::actions::redact::{Check, Kind, List, Redactor, Search, Secrets, Spot};
use crate::actions::shapes;
use crate::formats::case::{MANIFEST, NOTES, REPORT, SESSION, VERSION};
use crate::formats::{self, Cut, Fork, Patient, Recording, Refusal};
use crate::model::{Notes, NotesFile};
use crate::store::{Cancelled, Database, Piece, ReadError, Rewrite, Watch, each_made};

/// Bytes read at a time.
const PART_BYTES: usize = 256 * 1024;

/// The files of a case that is ready to be written.
pub struct Case {
    fork: Fork,
    /// In the order in which they are told; the session's own comes first.
    files: Vec<Entry>,
}

struct Entry {
    name: String,
    content: Content,
}

enum Content {
    Pieces(Rewrite),
    Whole(Vec<u8>),
}

impl Case {
    /// Cuts the session after the last step that is wanted. Where its format makes no cuts, all of a file of its own is
    /// taken if all steps are wanted.
    pub fn plan(
        recording: &dyn Recording,
        wanted: &Wanted,
        notes: &Notes,
        watch: Watch<'_>,
    ) -> Result<Self, ExportError> {
        let fork = match recording.fork(Cut::After(wanted.last), watch) {
            Err(Refusal::Rule(reason)) => whole(recording, wanted).ok_or(Refusal::Rule(reason))?,
            fork => fork?,
        };
        let session = recording.session();
        let mut files = vec![Entry {
            name: format!("{SESSION}{}", fork.file_name),
            content: Content::Pieces(fork.rewrite.clone()),
        }];
        for (path, rewrite) in &fork.companions {
            let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
            let content = Content::Pieces(rewrite.clone());
            files.push(Entry { name: format!("{SESSION}{}", parts.join("/")), content });
        }
        let report = json!({
            "session": shapes::session(session),
            "records": session.report.records,
            "problems": session.report.problems,
        });
        files.push(Entry { name: REPORT.to_owned(), content: Content::Whole(report.to_string().into_bytes()) });
        if !notes.is_empty() {
            let mut file = NotesFile::default();
            file.set(&fork.session_id, notes);
            files.push(Entry { name: NOTES.to_owned(), content: Content::Whole(file.to_bytes()) });
        }
        Ok(Self { fork, files })
    }

    /// Names of its files, in the order of [`Spot::File`].
    pub fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.name.clone()).collect()
    }

    pub fn steps(&self) -> u32 {
        self.fork.steps
    }

    pub fn warnings(&self) -> &[String] {
        &self.fork.warnings
    }

    /// Goes through all files and through their names, which may tell something too.
    pub fn search(&self, search: &mut Search, watch: Watch<'_>) -> Result<(), ExportError> {
        search.text([json!(self.names()).to_string()])?;
        for file in &self.files {
            let mut reader = search.reader();
            file.content.each(watch, &mut |part| Ok(reader.feed(part)?))?;
            reader.finish()?;
        }
        Ok(())
    }

    pub fn list(&self, list: &mut List, secrets: &mut Secrets, watch: Watch<'_>) -> Result<(), ExportError> {
        for (index, file) in self.files.iter().enumerate() {
            let spot = move |line, offset| Spot::File { file: index, line, offset };
            let mut reader = list.reader(secrets, &spot);
            file.content.each(watch, &mut |part| Ok(reader.feed(part)?))?;
            reader.finish()?;
        }
        Ok(())
    }

    /// Writes the archive.
    pub fn write(
        &self,
        recording: &dyn Recording,
        plan: &ExportPlan,
        out: &mut BufWriter<&File>,
        watch: Watch<'_>,
    ) -> Result<(), ExportError> {
        let failed = |source: io::Error| ReadError::Io { source, path: plan.path.clone() };
        let broken = |error: zip::result::ZipError| failed(io::Error::other(error));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(true);
        let mut zip = ZipWriter::new(out);
        zip.start_file(MANIFEST, options).map_err(broken)?;
        let manifest = Redactor::text(&plan.secrets, self.manifest(recording, plan).as_bytes())?;
        zip.write_all(&manifest).map_err(failed)?;
        for file in &self.files {
            zip.start_file(file.handed_on_name(&plan.secrets), options).map_err(broken)?;
            let mut redactor = Redactor::new(&plan.secrets);
            file.content.each(watch, &mut |part| {
                let ready = redactor.feed(part)?;
                zip.write_all(&ready).map_err(|error| failed(error).into())
            })?;
            zip.write_all(&redactor.finish()?).map_err(failed)?;
        }
        zip.finish().map_err(broken)?.flush().map_err(|error| failed(error).into())
    }

    fn manifest(&self, recording: &dyn Recording, plan: &ExportPlan) -> String {
        let session = recording.session();
        let name = self.files.first().map(|file| file.handed_on_name(&plan.secrets));
        let mut replaced = Map::new();
        for kind in Kind::SECRETS {
            let count = plan.secrets.list().iter().filter(|secret| secret.kind == kind && !secret.keep).count();
            if count > 0 {
                replaced.insert(kind.word().to_owned(), json!(count));
            }
        }
        let manifest = json!({
            "stepline": "case",
            "version": VERSION,
            "program": { "name": "stepline", "version": env!("CARGO_PKG_VERSION") },
            "format": session.format,
            "agent": session.agent,
            "session": { "id": self.fork.session_id, "file": name, "title": session.title },
            "from": { "sessionId": session.id },
            "steps": { "first": plan.wanted.first, "last": plan.wanted.last, "of": session.steps.len() },
            "redaction": {
                "on": !plan.wanted.rules.off,
                "replaced": replaced,
                "kept": plan.secrets.list().iter().filter(|secret| secret.keep).count(),
                "leftOut": { "images": plan.list.images, "oldContents": plan.list.old_contents },
            },
            "warnings": self.fork.warnings,
        });
        manifest.to_string()
    }

    /// Reads an archive that was written: no replaced value is in it, and the session in it opens with all its steps.
    pub fn check(&self, file: &File, plan: &ExportPlan, watch: Watch<'_>) -> Result<u64, ExportError> {
        let failed = |source: io::Error| ReadError::Io { source, path: plan.path.clone() };
        let broken = |error: zip::result::ZipError| failed(io::Error::other(error));
        let len = file.metadata().map_err(failed)?.len();
        let mut zip = ZipArchive::new(io::BufReader::new(file)).map_err(broken)?;
        let folder = tempfile::tempdir().map_err(failed)?;
        let mut buffer = vec![0; PART_BYTES];
        for index in 0..zip.len() {
            let mut entry = zip.by_index(index).map_err(broken)?;
            let name = entry.name().map_err(broken)?.into_owned();
            let path = folder.path().join(&name);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).map_err(failed)?;
            let mut unpacked = File::create_new(&path).map_err(failed)?;
            let mut check = Check::new(&plan.secrets)?;
            loop {
                watch.step(0, 0)?;
                let read = entry.read(&mut buffer).map_err(failed)?;
                let part = buffer.get(..read).unwrap_or_default();
                if part.is_empty() {
                    break;
                }
                check.feed(part, &name)?;
                unpacked.write_all(part).map_err(failed)?;
            }
            check.finish(&name)?;
        }
        let names = json!(
            zip.file_names().map(|name| name.map(|name| name.into_owned()).unwrap_or_default()).collect::<Vec<_>>()
        );
        let mut check = Check::new(&plan.secrets)?;
        check.feed(names.to_string().as_bytes(), "the names of the files")?;
        check.finish("the names of the files")?;
        let name = self.files.first().map(|file| file.handed_on_name(&plan.secrets)).unwrap_or_default();
        self.check_steps(&folder.path().join(name))?;
        Ok(len)
    }

    /// What was replaced may be a word that the format lives on, such as the name of a user who is called `type`.
    fn check_steps(&self, path: &Path) -> Result<(), ExportError> {
        let changed = |what: String| {
            let advice = "nothing was written; keep some of the values and try again";
            Refusal::Rule(format!("with these values replaced, the session {what}; {advice}")).into()
        };
        match formats::open(path, &Patient) {
            Ok(recording) if recording.session().steps.len() == self.fork.steps as usize => Ok(()),
            Ok(recording) => {
                Err(changed(format!("reads as {} steps, not {}", recording.session().steps.len(), self.fork.steps)))
            }
            Err(_) => Err(changed("cannot be read any more".to_owned())),
        }
    }
}

/// All of a session's own file, for formats that make no cuts of it.
fn whole(recording: &dyn Recording, wanted: &Wanted) -> Option<Fork> {
    let session = recording.session();
    let [file] = recording.files() else { return None };
    let is_all = wanted.last as usize == session.steps.len();
    if !is_all || Database::new(file.path()).tables().is_ok() {
        return None;
    }
    let mut rewrite = Rewrite::new(Arc::clone(file));
    rewrite.copy(0, file.len());
    Some(Fork {
        session_id: session.id.clone(),
        file_name: file.path().file_name()?.to_string_lossy().into_owned(),
        rewrite,
        companions: Vec::new(),
        steps: wanted.last,
        warnings: vec!["the session is whole: its format makes no cuts".to_owned()],
    })
}

impl Entry {
    /// Its name without what is private in it.
    fn handed_on_name(&self, secrets: &Secrets) -> String {
        let quoted = Value::from(self.name.as_str()).to_string();
        let redacted = Redactor::text(secrets, quoted.as_bytes()).ok();
        redacted.and_then(|name| serde_json::from_slice(&name).ok()).unwrap_or_else(|| format!("{SESSION}session"))
    }
}

impl Content {
    /// Hands it over in parts.
    fn each(
        &self,
        watch: Watch<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let rewrite = match self {
            Self::Whole(bytes) => return visit(bytes),
            Self::Pieces(rewrite) => rewrite,
        };
        let total = rewrite.total_bytes();
        let mut done = 0;
        for piece in rewrite.pieces() {
            watch.step(done, total)?;
            match piece {
                Piece::New(bytes) => {
                    visit(bytes)?;
                    done += bytes.len() as u64;
                }
                Piece::Copy { offset, len } => {
                    let (mut at, end) = (*offset, offset + len);
                    while at < end {
                        watch.step(done, total)?;
                        let part = usize::try_from(end - at).unwrap_or(PART_BYTES).min(PART_BYTES);
                        visit(&rewrite.source().read_at(at, part)?)?;
                        at += part as u64;
                        done += part as u64;
                    }
                }
                Piece::Made(made) => {
                    // The error of who takes it goes round the reader, which knows only its own.
                    let mut failed = None;
                    let result = each_made(&**made, rewrite.source(), |bytes, source_bytes| {
                        watch.step(done, total)?;
                        done += source_bytes;
                        visit(bytes).map_err(|error| {
                            failed = Some(error);
                            Cancelled.into()
                        })
                    });
                    failed.map_or_else(|| result.map_err(ExportError::from), Err)?;
                }
            }
        }
        Ok(rewrite.source().check_intact()?)
    }
}
