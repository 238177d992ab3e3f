//! `stepline sessions`: the sessions a source holds.

use std::io::Write;

use serde_json::json;

use super::{CliError, Options, print, shapes, source};

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let recordings = source::open_all(options)?;
    if options.json {
        let sessions: Vec<_> = recordings.iter().map(|recording| shapes::session(recording.session())).collect();
        return print::json(out, &json!({ "sessions": sessions }));
    }
    for recording in &recordings {
        writeln!(out, "{}", print::session_line(recording.session()))?;
    }
    Ok(())
}
