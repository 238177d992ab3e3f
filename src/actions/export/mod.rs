//! Export: steps of a session as a page, a text or JSON for somebody else, with what is private taken out.
//!
//! The plan goes through all that would be written and lists what is replaced; it writes nothing. Whoever confirms it has
//! decided what is kept. What is written is read again before it gets its name: see [`crate::actions::redact`].

mod case;
mod html;
mod items;
mod json;
mod markdown;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde_json::Value;

use case::Case;

use super::fork::place_of;
use super::redact::{BadPattern, Check, List, RedactError, Redactor, Rules, Search, Secrets, Spot};
use crate::formats::{Recording, Refusal};
use crate::model::{Notes, Session};
use crate::store::{Cancelled, ReadError, Watch, create_new};

/// The form of what is handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    Markdown,
    Html,
    Json,
    /// The cut session in its own format, with notes and report, in one archive.
    Case,
}

impl Form {
    pub const ALL: [Self; 4] = [Self::Html, Self::Markdown, Self::Json, Self::Case];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Json => "json",
            Self::Case => "case",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == name)
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
            Self::Json => "json",
            Self::Case => "zip",
        }
    }
}

/// What is to be exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub form: Form,
    /// The first and the last step.
    pub first: u32,
    pub last: u32,
    pub rules: Rules,
    /// Where it goes; `None` for beside the session.
    pub out: Option<PathBuf>,
}

impl Wanted {
    /// All of a session, redacted, beside it.
    pub fn all(session: &Session, form: Form) -> Self {
        let last = u32::try_from(session.steps.len()).unwrap_or(u32::MAX);
        Self { form, first: 1, last, rules: Rules::default(), out: None }
    }
}

/// An export that is ready to be reviewed, and then to be written.
pub struct ExportPlan {
    pub wanted: Wanted,
    /// Where its file will be.
    pub path: PathBuf,
    /// The values that would be replaced; decisions about them are made here.
    pub secrets: Secrets,
    /// Where they stand.
    pub list: List,
    /// How many steps are told, and how many events.
    pub steps: u64,
    pub events: u64,
    /// The notes that go along.
    notes: Notes,
    case: Option<Case>,
}

/// What an export wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportReceipt {
    pub path: PathBuf,
    pub form: Form,
    pub steps: u64,
    pub bytes: u64,
    /// How many different values were replaced, and at how many places.
    pub replaced: u64,
    pub places: u64,
    /// How many different values were found and kept.
    pub kept: u64,
}

/// Why nothing was exported. The message is one sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Redact(#[from] RedactError),
    #[error(transparent)]
    Write(#[from] ReadError),
}

impl From<BadPattern> for ExportError {
    fn from(error: BadPattern) -> Self {
        Self::Redact(error.into())
    }
}

impl From<Cancelled> for ExportError {
    fn from(cancelled: Cancelled) -> Self {
        Self::Write(cancelled.into())
    }
}

impl ExportError {
    /// Whether the user took it back while it ran.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Write(ReadError::Cancelled(_)) | Self::Refused(Refusal::Read(ReadError::Cancelled(_))))
    }
}

/// Writes items in a form, each as it comes.
trait Render {
    fn session(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()>;
    fn step(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()>;
    fn event(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()>;
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

/// Plans an export: goes through all it would tell, twice, and lists what looks private. `notes` are those on the session;
/// the ones on its steps go along.
pub fn plan_export(
    recording: &dyn Recording,
    notes: &Notes,
    wanted: Wanted,
    watch: Watch<'_>,
) -> Result<ExportPlan, ExportError> {
    let session = recording.session();
    check_range(session, wanted.first, wanted.last)?;
    let chosen = wanted.first..=wanted.last;
    // A case holds all steps up to its last.
    let noted = if wanted.form == Form::Case { 1..=wanted.last } else { chosen.clone() };
    let notes = notes.within(session, noted);
    let mut search = Search::new(&wanted.rules)?;
    let mut list = List::default();
    let (secrets, case, told, events);
    if wanted.form == Form::Case {
        let planned = Case::plan(recording, &wanted, &notes, watch)?;
        planned.search(&mut search, watch)?;
        let mut found = search.finish()?;
        planned.list(&mut list, &mut found, watch)?;
        told = u64::from(planned.steps());
        events = session.steps.iter().take(planned.steps() as usize).map(|step| step.events.len() as u64).sum();
        (secrets, case) = (found, Some(planned));
    } else {
        items::each(recording, &notes, chosen.clone(), watch, &mut |_, value| Ok(search.text([value.to_string()])?))?;
        let mut found = search.finish()?;
        let mut counts = (0, 0);
        items::each(recording, &notes, chosen, watch, &mut |item, value| {
            counts.0 += u64::from(matches!(item, items::Item::Step(_)));
            counts.1 += u64::from(matches!(item, items::Item::Event { .. }));
            let spot = item.spot();
            Ok(list.text(&mut found, [value.to_string()], &|_, _| spot)?)
        })?;
        (told, events) = counts;
        (secrets, case) = (found, None);
    }
    let path = place_of(&file_name(session, &wanted, &secrets), &session.source, wanted.out.as_deref());
    Ok(ExportPlan { wanted, path, secrets, list, steps: told, events, notes, case })
}

/// Writes it, with all values replaced that were not decided to be kept. On an error nothing is left behind.
pub fn apply_export(
    recording: &dyn Recording,
    plan: &ExportPlan,
    watch: Watch<'_>,
) -> Result<ExportReceipt, ExportError> {
    let mut bytes = 0;
    create_new(
        &plan.path,
        &recording.session().source,
        |out| match &plan.case {
            Some(case) => case.write(recording, plan, out, watch),
            None => render(recording, plan, out, watch),
        },
        |file| {
            bytes = match &plan.case {
                Some(case) => case.check(file, plan, watch)?,
                None => check(file, plan, watch)?,
            };
            recording.files().iter().try_for_each(|file| file.check_intact()).map_err(ExportError::from)
        },
    )?;
    Ok(plan.receipt(bytes))
}

/// Writes it to a stream, such as standard output. It is written to a temporary file first: nothing of what fails the
/// check comes out.
pub fn print_export(
    recording: &dyn Recording,
    plan: &ExportPlan,
    out: &mut dyn Write,
    watch: Watch<'_>,
) -> Result<ExportReceipt, ExportError> {
    let failed = |source: io::Error| ReadError::Io { source, path: PathBuf::from("-") };
    if plan.case.is_some() {
        return Err(Refusal::Rule("a case is an archive: name a file for it".to_owned()).into());
    }
    let mut spool = tempfile::NamedTempFile::new().map_err(failed)?;
    render(recording, plan, &mut io::BufWriter::new(spool.as_file_mut()), watch)?;
    let mut file = spool.reopen().map_err(failed)?;
    let bytes = check(&file, plan, watch)?;
    io::Seek::rewind(&mut file).map_err(failed)?;
    io::copy(&mut file, out).map_err(failed)?;
    Ok(plan.receipt(bytes))
}

fn render(
    recording: &dyn Recording,
    plan: &ExportPlan,
    out: &mut dyn Write,
    watch: Watch<'_>,
) -> Result<(), ExportError> {
    let failed = |source: io::Error| ReadError::Io { source, path: plan.path.clone() };
    let mut form: Box<dyn Render> = match plan.wanted.form {
        Form::Markdown => Box::new(markdown::Markdown),
        Form::Html => Box::new(html::Html::default()),
        Form::Json | Form::Case => Box::new(json::Json::default()),
    };
    items::each(recording, &plan.notes, plan.wanted.first..=plan.wanted.last, watch, &mut |item, value| {
        let redacted = Redactor::text(&plan.secrets, value.to_string().as_bytes())?;
        // What was JSON still is; were it not, nothing of it may be shown.
        let value: Value = serde_json::from_slice(&redacted).unwrap_or_default();
        let written = match item {
            items::Item::Session => form.session(value, out),
            items::Item::Step(_) => form.step(value, out),
            items::Item::Event { .. } => form.event(value, out),
        };
        written.map_err(|error| failed(error).into())
    })?;
    form.end(out).and_then(|()| out.flush()).map_err(|error| failed(error).into())
}

/// Reads what was written once more, and gives its length in bytes.
fn check(mut file: &File, plan: &ExportPlan, watch: Watch<'_>) -> Result<u64, ExportError> {
    let failed = |source: io::Error| ReadError::Io { source, path: plan.path.clone() };
    let name = plan.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let total = file.metadata().map_err(failed)?.len();
    let mut check = Check::new(&plan.secrets)?;
    let mut buffer = vec![0; 256 * 1024];
    let mut done = 0;
    loop {
        watch.step(done, total)?;
        let read = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error).into()),
        };
        let part = buffer.get(..read).unwrap_or_default();
        match plan.wanted.form {
            Form::Json | Form::Case => check.feed(part, &name)?,
            // Pages and texts have their own escapes; what went into them was redacted as JSON.
            Form::Html | Form::Markdown => check.bytes(part, &name)?,
        }
        done += read as u64;
    }
    if plan.wanted.form == Form::Json {
        check.finish(&name)?;
    }
    Ok(done)
}

impl ExportPlan {
    /// Where a hit is, for a person.
    pub fn spot_words(&self, recording: &dyn Recording, spot: Spot) -> String {
        let names = self.case.as_ref().map(Case::names).unwrap_or_default();
        items::spot_words(recording, spot, &names)
    }

    /// What is to be known about the session in a case: what its cut left out.
    pub fn warnings(&self) -> &[String] {
        self.case.as_ref().map(Case::warnings).unwrap_or_default()
    }

    /// How many images and old contents of files are left out.
    pub fn left_out(&self) -> u64 {
        self.list.images + self.list.old_contents
    }

    fn receipt(&self, bytes: u64) -> ExportReceipt {
        let (kept, replaced): (Vec<_>, Vec<_>) = self.secrets.list().iter().partition(|secret| secret.keep);
        ExportReceipt {
            path: self.path.clone(),
            form: self.wanted.form,
            steps: self.steps,
            bytes,
            replaced: replaced.len() as u64,
            places: replaced.iter().map(|secret| secret.hits).sum(),
            kept: kept.len() as u64,
        }
    }
}

/// An error unless there are steps `first` to `last`.
fn check_range(session: &Session, first: u32, last: u32) -> Result<(), Refusal> {
    let steps = session.steps.len();
    for step in [first, last] {
        if session.step(step).is_none() {
            return Err(Refusal::NoStep { step, steps });
        }
    }
    if first > last {
        return Err(Refusal::Rule(format!("step {first} comes after step {last}")));
    }
    Ok(())
}

/// A name that says nothing private: that of the session's file, unless a value that is replaced is in it.
fn file_name(session: &Session, wanted: &Wanted, secrets: &Secrets) -> String {
    let stem = session.source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let quoted = Value::from(stem.as_str()).to_string();
    let is_private = Redactor::text(secrets, quoted.as_bytes()).is_ok_and(|redacted| redacted != quoted.as_bytes());
    let stem = if stem.is_empty() || is_private { "session" } else { &stem };
    let whole = wanted.first == 1 && wanted.last as usize == session.steps.len();
    let whole = whole || (wanted.form == Form::Case && wanted.last as usize == session.steps.len());
    let steps = match (whole, wanted.first == wanted.last) {
        (true, _) => String::new(),
        (_, true) => format!("-step-{}", wanted.first),
        _ => format!("-steps-{}-{}", wanted.first, wanted.last),
    };
    let case = if wanted.form == Form::Case { ".case" } else { "" };
    format!("{stem}{steps}{case}.{}", wanted.form.ending())
}

/// What is said of a session at the head of a page: names and values that are there.
fn facts(item: &Value) -> Vec<(&'static str, String)> {
    let field = |key: &str| item.get(key).map(items::readable).filter(|value| !value.is_empty());
    let agent = item.get("agent").map(|agent| {
        let part = |key: &str| items::text(agent, key).to_owned();
        format!("{} {}", part("name"), part("version")).trim().to_owned()
    });
    let steps = match (field("firstStep"), field("lastStep"), field("steps")) {
        (Some(first), Some(last), Some(all)) => Some(format!("{first} to {last} of {all}")),
        (.., all) => all,
    };
    let facts = [
        ("session", field("id")),
        ("format", field("format")),
        ("agent", agent.filter(|agent| !agent.is_empty())),
        ("model", field("model")),
        ("folder", field("cwd")),
        ("started", field("startedAt")),
        ("ended", field("endedAt")),
        ("steps", steps),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The note on an item, where there is one.
fn note_of(item: &Value) -> Option<&str> {
    item.get("note").and_then(|note| note.get("text")).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The shape that goes with a marker's word; the same as in the window.
fn glyph(kind: &str) -> &'static str {
    match kind {
        "question" => "◇ ",
        "approval" | "auto approval" => "✓ ",
        "denial" => "⊘ ",
        "fallback" => "↷ ",
        "retry" => "↻ ",
        "failure" => "✕ ",
        "quota" => "⏲ ",
        "interruption" => "■ ",
        "steering" => "» ",
        "commits" => "−○− ",
        "compaction" => "⇊ ",
        "subagent" => "⑂ ",
        _ => "",
    }
}

/// The steps that a person named: `4`, `2..5`, `2..`, `..5`.
pub fn parse_steps(text: &str, steps: u32) -> Option<(u32, u32)> {
    match text.split_once("..") {
        None => text.trim().parse().ok().map(|step| (step, step)),
        Some((first, last)) => {
            let or = |part: &str, default: u32| match part.trim() {
                "" => Some(default),
                part => part.trim_start_matches('=').parse().ok(),
            };
            Some((or(first, 1)?, or(last, steps)?))
        }
    }
}
