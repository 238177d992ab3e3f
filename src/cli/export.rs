//! `stepline export`: steps of a session for somebody else, with what is private taken out.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::{CliError, Options, print, source};
use crate::actions::export::{
    ExportError, ExportPlan, ExportReceipt, Form, Wanted, apply_export, parse_steps, plan_export, print_export,
};
use crate::actions::redact::{Hit, Kind, RedactError, Rules, Secret, Secrets};
use crate::formats::{Recording, Refusal};
use crate::model::{Notes, words};
use crate::store::{ReadError, Watch, load_notes};

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    if options.preview && options.yes {
        return Err(CliError::Usage("an export is previewed or written: --preview or --yes, not both".to_owned()));
    }
    let form = form(options)?;
    let opened = source::open(options)?;
    let recording = &*opened.recording;
    if opened.is_from_input() && options.out.is_none() && !options.preview {
        return Err(CliError::Usage("an export of standard input needs --out PATH".to_owned()));
    }
    let wanted = wanted(options, form, recording)?;
    let notes = notes_on(recording)?;
    let mut plan = plan_export(recording, &notes, wanted, Watch::none()).map_err(refused)?;
    for kept in &options.keep {
        keep(&mut plan.secrets, kept)?;
    }
    // What was not seen was not confirmed.
    let is_reviewed = options.yes || (plan.list.hits.is_empty() && plan.left_out() == 0);
    if options.preview || !is_reviewed {
        if options.json {
            print::json(out, &with_list(plan_shape(&plan), recording, &plan))?;
        } else {
            write_plan(recording, &plan, out)?;
        }
        return if options.preview { Ok(()) } else { Err(not_confirmed()) };
    }
    let to_output = options.out.as_deref().is_some_and(|path| path == Path::new("-"));
    if to_output {
        if options.redact {
            // The export itself is all that goes to standard output.
            write_list(recording, &plan, &mut std::io::stderr())?;
        }
        print_export(recording, &plan, out, Watch::none()).map_err(refused)?;
        return Ok(());
    }
    let receipt = apply_export(recording, &plan, Watch::none()).map_err(refused)?;
    if options.json {
        let shape = receipt_shape(&receipt, &plan);
        let shape = if options.redact { with_list(shape, recording, &plan) } else { shape };
        return print::json(out, &shape);
    }
    if options.redact {
        write_list(recording, &plan, out)?;
    }
    writeln!(out, "{}: {}", receipt_words(&receipt), receipt.path.display())?;
    Ok(())
}

/// The notes beside a session; those that it came with, where there are none.
fn notes_on(recording: &dyn Recording) -> Result<Notes, CliError> {
    let session = recording.session();
    let notes = load_notes(&session.source).map_err(|error| CliError::Unreadable(error.to_string()))?.of(&session.id);
    Ok(if notes.is_empty() { recording.notes().cloned().unwrap_or_default() } else { notes })
}

fn form(options: &Options) -> Result<Form, CliError> {
    let names = Form::ALL.map(Form::as_str).join(", ");
    let Some(name) = options.form.as_deref() else {
        return Err(CliError::Usage(format!("--to is missing, one of {names}; see stepline --help")));
    };
    Form::parse(name).ok_or_else(|| CliError::Usage(format!("--to is one of {names}, not {name}")))
}

fn wanted(options: &Options, form: Form, recording: &dyn Recording) -> Result<Wanted, CliError> {
    let mut wanted = Wanted::all(recording.session(), form);
    if wanted.last == 0 {
        return Err(CliError::Refused("the session has no steps to export".to_owned()));
    }
    if let Some(steps) = &options.steps {
        let wrong = || CliError::Usage(format!("--steps is A..B, not {steps}"));
        (wanted.first, wanted.last) = parse_steps(steps, wanted.last).ok_or_else(wrong)?;
    }
    if options.no_redact && (options.redact || !options.patterns.is_empty()) {
        return Err(CliError::Usage("--no-redact goes with neither --redact nor --pattern".to_owned()));
    }
    wanted.rules = Rules {
        patterns: options.patterns.clone(),
        images: options.images,
        old_contents: options.old_contents,
        off: options.no_redact,
    };
    wanted.out.clone_from(&options.out);
    Ok(wanted)
}

/// Keeps what `--keep` names: a kind, `email`, or a value as the list calls it, `email 1`.
fn keep(secrets: &mut Secrets, wanted: &str) -> Result<(), CliError> {
    if let Some(kind) = Kind::SECRETS.into_iter().find(|kind| kind.word() == wanted) {
        secrets.decide_kind(kind, true);
        return Ok(());
    }
    let found = secrets.list().iter().position(|secret| name_of(secret) == wanted);
    let kinds = Kind::SECRETS.map(Kind::word).join(", ");
    let index = found
        .ok_or_else(|| CliError::Usage(format!("--keep names nothing that was found: {wanted} (kinds: {kinds})")))?;
    secrets.decide(index, true);
    Ok(())
}

/// What the list calls a value.
fn name_of(secret: &Secret) -> String {
    format!("{} {}", secret.kind.word(), secret.number)
}

fn not_confirmed() -> CliError {
    let sentence = "nothing was written: look through what would be replaced, then write it with --yes";
    CliError::Refused(sentence.to_owned())
}

/// An export that was not done, as a command's end.
fn refused(error: ExportError) -> CliError {
    let sentence = error.to_string();
    match error {
        ExportError::Redact(RedactError::Pattern(_)) => CliError::Usage(sentence),
        ExportError::Write(ReadError::Exists { .. } | ReadError::Rewritten { .. }) => CliError::Refused(sentence),
        ExportError::Write(_) | ExportError::Refused(Refusal::Read(_)) => CliError::Unreadable(sentence),
        ExportError::Redact(_) | ExportError::Refused(_) => CliError::Refused(sentence),
    }
}

fn plan_shape(plan: &ExportPlan) -> Value {
    json!({
        "form": plan.wanted.form.as_str(),
        "path": plan.path.to_string_lossy(),
        "firstStep": plan.wanted.first,
        "lastStep": plan.wanted.last,
        "steps": plan.steps,
        "events": plan.events,
        "redacted": !plan.wanted.rules.off,
        "leftOut": { "images": plan.list.images, "oldContents": plan.list.old_contents },
        "warnings": plan.warnings(),
    })
}

fn receipt_shape(receipt: &ExportReceipt, plan: &ExportPlan) -> Value {
    let mut shape = plan_shape(plan);
    if let Some(fields) = shape.as_object_mut() {
        fields.insert("bytes".to_owned(), json!(receipt.bytes));
        fields.insert("replaced".to_owned(), json!({ "values": receipt.replaced, "places": receipt.places }));
        fields.insert("kept".to_owned(), json!(receipt.kept));
    }
    shape
}

/// The shape with the review list: the values, and each place of each.
fn with_list(mut shape: Value, recording: &dyn Recording, plan: &ExportPlan) -> Value {
    let values: Vec<Value> = plan.secrets.list().iter().map(value_shape).collect();
    let hits: Vec<Value> = plan.list.hits.iter().filter_map(|hit| hit_shape(recording, plan, hit)).collect();
    if let Some(fields) = shape.as_object_mut() {
        fields.insert("values".to_owned(), Value::from(values));
        fields.insert("hits".to_owned(), Value::from(hits));
        fields.insert("unlisted".to_owned(), json!(plan.list.unlisted));
    }
    shape
}

fn value_shape(secret: &Secret) -> Value {
    json!({
        "kind": secret.kind.word(),
        "number": secret.number,
        "value": secret.value,
        "placeholder": secret.placeholder(),
        "places": secret.hits,
        "decision": decision(secret),
    })
}

fn hit_shape(recording: &dyn Recording, plan: &ExportPlan, hit: &Hit) -> Option<Value> {
    let secret = plan.secrets.list().get(hit.secret as usize)?;
    Some(json!({
        "kind": secret.kind.word(),
        "number": secret.number,
        "value": secret.value,
        "placeholder": secret.placeholder(),
        "decision": decision(secret),
        "place": plan.spot_words(recording, hit.spot),
        "key": if hit.name.is_empty() { Value::Null } else { Value::from(&*hit.name) },
        "before": hit.before,
        "after": hit.after,
    }))
}

fn decision(secret: &Secret) -> &'static str {
    if secret.keep { "keep" } else { "replace" }
}

fn write_plan(recording: &dyn Recording, plan: &ExportPlan, out: &mut dyn Write) -> Result<(), CliError> {
    let steps = words::count(plan.steps, "step", "steps");
    let events = words::count(plan.events, "event", "events");
    let form = plan.wanted.form.as_str();
    writeln!(out, "would write {steps}, {events} as {form}: {}", plan.path.display())?;
    for warning in plan.warnings() {
        writeln!(out, "note: {}", print::harmless(warning))?;
    }
    write_list(recording, plan, out)
}

fn write_list(recording: &dyn Recording, plan: &ExportPlan, out: &mut dyn Write) -> Result<(), CliError> {
    let list = &plan.list;
    for (count, one, many) in [
        (list.images, "image left out (--images takes them along)", "images left out (--images takes them along)"),
        (
            list.old_contents,
            "old content of a file left out (--old-contents takes them along)",
            "old contents of files left out (--old-contents takes them along)",
        ),
    ] {
        if count > 0 {
            writeln!(out, "{}", words::count(count, one, many))?;
        }
    }
    if plan.wanted.rules.off {
        writeln!(out, "nothing is replaced: redaction is off")?;
        return Ok(());
    }
    let values = plan.secrets.list();
    let places: u64 = values.iter().map(|secret| secret.hits).sum();
    writeln!(
        out,
        "{} at {} may be private",
        words::count(values.len() as u64, "value", "values"),
        words::count(places, "place", "places"),
    )?;
    for secret in values {
        writeln!(
            out,
            "{:<7} {:<14} {} {}",
            decision(secret),
            name_of(secret),
            words::count(secret.hits, "place", "places"),
            crate::model::one_line(&secret.value, 120),
        )?;
    }
    for hit in &list.hits {
        let Some(secret) = values.get(hit.secret as usize) else { continue };
        let key = if hit.name.is_empty() { String::new() } else { format!(" · {}", hit.name) };
        let place = plan.spot_words(recording, hit.spot);
        let line =
            format!("{place}{key}: …{}⟦{}⟧{}…", hit.before, crate::model::one_line(&secret.value, 60), hit.after);
        writeln!(out, "  {}: {}", name_of(secret), print::harmless(&line))?;
    }
    if list.unlisted > 0 {
        writeln!(out, "{} of the same values not listed", words::count(list.unlisted, "more place", "more places"))?;
    }
    Ok(())
}

fn receipt_words(receipt: &ExportReceipt) -> String {
    let steps = words::count(receipt.steps, "step", "steps");
    let replaced = match receipt.replaced {
        0 => String::new(),
        values => format!(
            ", {} replaced at {}",
            words::count(values, "value", "values"),
            words::count(receipt.places, "place", "places")
        ),
    };
    format!("{steps} written as {}{replaced}", receipt.form.as_str())
}
