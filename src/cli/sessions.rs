//! `stepline sessions`: the sessions a source holds.

use std::cmp::Reverse;
use std::io::Write;

use serde_json::json;

use super::{CliError, Options, print, shapes, source};

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let mut found = Vec::new();
    source::for_each_session(options.only_path("SOURCE")?, options.session.as_deref(), &mut |recording| {
        let session = recording.session();
        found.push((Reverse(session.ended_at), print::session_line(session), shapes::session(session)));
        Ok(())
    })?;
    // What was worked on last comes first.
    found.sort_by_key(|(ended, ..)| *ended);
    if options.json {
        let sessions: Vec<_> = found.into_iter().map(|(.., shape)| shape).collect();
        return print::json(out, &json!({ "sessions": sessions }));
    }
    for (_, line, _) in &found {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
