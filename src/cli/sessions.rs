//! `stepline sessions`: the sessions a source holds.

use std::io::Write;

use serde_json::{Value, json};

use super::{CliError, Options, print, shapes, source};
use crate::formats::{self, Listed, Patient};

/// A session that its source tells of beforehand is read for the list only if that reads no more bytes than this: what a
/// large database tells of its sessions is there at once, their steps are not.
const READ_FOR_LIST_BYTES: u64 = 16 * 1024 * 1024;

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let mut found: Vec<(_, String, Value)> = Vec::new();
    let mut hidden = 0;
    for listed in source::sessions_of(options.source()?)? {
        if listed.is_hidden && !options.hidden && options.session.is_none() {
            hidden += 1;
            continue;
        }
        let (ended_at, line, shape) = match described(&listed) {
            Ok(described) => described,
            Err(error) => {
                source::complain(&error);
                continue;
            }
        };
        let id = shape.get("id").and_then(Value::as_str);
        if options.session.as_deref().is_none_or(|wanted| listed.is_named(wanted) || id == Some(wanted)) {
            found.push((std::cmp::Reverse(ended_at), line, shape));
        }
    }
    // What was worked on last comes first.
    found.sort_by_key(|(ended, ..)| *ended);
    if options.json {
        let sessions: Vec<_> = found.into_iter().map(|(.., shape)| shape).collect();
        return print::json(out, &json!({ "sessions": sessions, "hidden": hidden }));
    }
    for (_, line, _) in &found {
        writeln!(out, "{line}")?;
    }
    if hidden > 0 {
        let words = crate::workspace::words::count(hidden, "hidden session", "hidden sessions");
        writeln!(out, "{words} not listed; --hidden lists them too")?;
    }
    Ok(())
}

type Described = (Option<crate::model::Timestamp>, String, Value);

fn described(listed: &Listed) -> Result<Described, formats::OpenError> {
    if listed.id.is_some() && listed.bytes > READ_FOR_LIST_BYTES {
        return Ok((listed.ended_at, print::listed_line(listed), shapes::listed(listed)));
    }
    let recording = formats::open_session(&listed.reference, &Patient)?;
    let session = recording.session();
    let mut shape = shapes::session(session);
    if let Some(fields) = shape.as_object_mut() {
        fields.insert("status".to_owned(), json!(listed.status));
        fields.insert("hidden".to_owned(), json!(listed.is_hidden));
    }
    Ok((session.ended_at.or(listed.ended_at), print::session_line(session), shape))
}
