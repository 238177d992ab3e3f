//! Tests over whole files: fixtures written for them, and the samples where they are found.

mod actions;
mod build;
mod cuts;
mod damage;
mod happenings;
mod samples;
mod shapes;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::formats::detect::Sample;
use crate::formats::{Patient, Recording};
use crate::store::SourceFile;

/// Opens a file as this format whatever it is.
fn open_path(path: &Path) -> Arc<dyn Recording> {
    let source = Arc::new(SourceFile::open(path).unwrap());
    let sample = Sample::take(&source).unwrap();
    super::open(source, &sample, &Patient).unwrap()
}

/// Opens content from a file of its own, named like a session.
fn open_bytes(content: &[u8]) -> (tempfile::TempDir, Arc<dyn Recording>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("5e551011-0000-4000-8000-000000000001.jsonl");
    std::fs::File::create(&path).unwrap().write_all(content).unwrap();
    let recording = open_path(&path);
    (folder, recording)
}

/// A session as text, to be looked at.
fn outline(recording: &dyn Recording) -> String {
    use std::fmt::Write;
    let session = recording.session();
    let mut out = String::new();
    writeln!(
        out,
        "id={} title={:?} {:?} version={:?} model={:?} head={:?} nodes={} parent={:?}",
        session.id,
        session.title,
        session.title_source,
        session.agent.version,
        session.model,
        session.head,
        session.nodes,
        session.parent
    )
    .unwrap();
    writeln!(out, "usage={:?}", session.usage).unwrap();
    for branch in &session.branches {
        writeln!(out, "branch {branch:?}").unwrap();
    }
    let events = |out: &mut String, events: &[crate::model::Event]| {
        for event in events {
            let tool = event.tool.as_ref().map(|tool| format!("{} {:?}", tool.name, tool.state));
            writeln!(
                out,
                "    {}{:?} {:?} {:?} {:?} {:?}",
                if event.folded { "+" } else { "" },
                event.kind,
                event.label,
                tool,
                event.duration_ms,
                event.marker.as_ref().map(|marker| (&marker.fact, marker.evidence))
            )
            .unwrap();
        }
    };
    events(&mut out, &session.events[..session.steps.first().map_or(session.events.len(), |step| step.events.start)]);
    for step in &session.steps {
        writeln!(
            out,
            "{} {:?} {:?} {:?} {} revert={:?} fork={:?} {:?} {:?} {:?}",
            step.number,
            step.kind,
            step.origin,
            step.summary,
            step.step_id,
            step.revert_target,
            step.fork_target,
            step.outcome,
            step.model,
            step.usage
        )
        .unwrap();
        events(&mut out, session.events_of(step));
    }
    for agent in &session.subagents {
        writeln!(
            out,
            "agent {} {:?} {:?} call={:?} {:?} {:?}",
            agent.id, agent.name, agent.status, agent.call_id, agent.path, agent.usage
        )
        .unwrap();
        events(&mut out, &agent.events);
    }
    writeln!(out, "{:?}", session.report.records).unwrap();
    for problem in session.report.problems.iter().take(12) {
        writeln!(out, "{problem:?}").unwrap();
    }
    out
}
