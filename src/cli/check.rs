//! `stepline check`: the reading report.

use std::io::Write;

use serde_json::json;

use super::{CliError, Options, print, shapes, source};
use crate::workspace::words::figure;

pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), CliError> {
    let opened = source::open(options)?;
    let session = opened.recording.session();
    let report = &session.report;
    if options.json {
        let document = json!({
            "session": shapes::session(session),
            "records": report.records,
            "problems": report.problems,
        });
        return print::json(out, &document);
    }
    let records = &report.records;
    writeln!(out, "{}", print::session_line(session))?;
    writeln!(
        out,
        "{} records: {} read, {} unknown, {} duplicate, {} unreadable, {} torn",
        figure(records.total),
        figure(records.read),
        figure(records.unknown),
        figure(records.duplicate),
        figure(records.unreadable),
        figure(records.torn),
    )?;
    for problem in &report.problems {
        writeln!(out, "{}", print::problem_line(problem))?;
    }
    Ok(())
}
