//! `stepline steps`: the steps of a session, as an agent's own list would number them.

use std::io::Write;

use serde_json::json;

use super::{CliError, Options, print, shapes, source};

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let opened = source::open(options)?;
    let session = opened.recording.session();
    if options.json {
        let steps: Vec<_> = session.steps.iter().map(|step| shapes::step(session, step)).collect();
        let document = json!({
            "session": shapes::session(session),
            "steps": steps,
            "warnings": session.report.problems,
        });
        return print::json(out, &document);
    }
    writeln!(out, "{}", print::session_line(session))?;
    for step in &session.steps {
        writeln!(out, "{}", print::step_line(session, step))?;
    }
    if session.steps.is_empty() {
        writeln!(out, "no steps: nobody has written a prompt in it")?;
    }
    if !session.report.problems.is_empty() {
        let count = session.report.problems.len();
        writeln!(out, "{count} noticed while reading; see stepline check")?;
    }
    Ok(())
}
