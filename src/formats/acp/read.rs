//! Reading a stream in one pass: every line counted once, every message given to the session that it belongs to.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::builder::Builder;
use super::envelope::{Moment, unwrap};
use super::route::{Message, Request, Routed, Router, text};
use super::stops;
use crate::formats::document::{self, Flaw};
use crate::formats::labels::marker_text;
use crate::formats::{Observer, json};
use crate::model::{Agent, EventKind, Locator, Problem, ProblemKind, Report};
use crate::store::{Found, Framing, ReadError, SourceFile, Span, scan};

/// Sessions of one stream.
const MAX_SESSIONS: usize = 10_000;
/// No session: a message that is everybody's.
pub const SHARED: u32 = u32::MAX;

/// A stream that was read.
pub struct Stream {
    pub file: Arc<SourceFile>,
    pub sessions: Vec<Builder>,
    /// Where each record lies, and whose it is.
    pub records: Vec<(Span, u32)>,
    /// Answers to the requests that open a session, as records of request and answer.
    pub openings: Vec<(u32, u32)>,
    pub report: Report,
    pub agent: Agent,
    /// Session, the session that was forked from it, and the node that it was forked at.
    pub forks: Vec<(String, String)>,
}

pub fn read(file: Arc<SourceFile>, observer: &dyn Observer) -> Result<Stream, ReadError> {
    let mut reader = Reader {
        router: Router::default(),
        index: HashMap::new(),
        last: None,
        stream: Stream {
            file: Arc::clone(&file),
            sessions: Vec::new(),
            records: Vec::new(),
            openings: Vec::new(),
            report: Report::default(),
            agent: Agent::default(),
            forks: Vec::new(),
        },
    };
    scan(&file, Framing::Lines, observer.watch(), &mut |found| reader.line(found))?;
    Ok(reader.stream)
}

struct Reader {
    router: Router,
    stream: Stream,
    index: HashMap<String, usize>,
    /// The session that spoke last: what belongs to none is told there.
    last: Option<usize>,
}

impl Reader {
    fn line(&mut self, found: Found<'_>) {
        if found.oversized {
            self.unreadable(found.span, ProblemKind::Unreadable, "too long to be read");
            return;
        }
        let readable = json::readable(found.bytes);
        let text = readable.text.as_ref();
        if is_header(text) {
            return;
        }
        let span = readable.span(found.span, 0, text.len());
        if let Some(repair) = readable.repair {
            self.problem(span, ProblemKind::Repaired, repair.to_owned());
        }
        if let Some(value) = self.whole(span, text) {
            self.record(span, value);
            return;
        }
        let parts = json::split_line(text);
        let last = parts.len().saturating_sub(1);
        for (index, (at, part)) in parts.into_iter().enumerate() {
            let part = part.trim_end();
            if is_header(part) {
                continue;
            }
            let span = readable.span(found.span, at, part.len());
            match self.whole(span, part) {
                Some(value) => self.record(span, value),
                None if !found.terminated && index == last => {
                    self.unreadable(span, ProblemKind::Torn, "the record is cut off");
                }
                None => self.unreadable(span, ProblemKind::Unreadable, "the line is no JSON"),
            }
        }
    }

    /// The object or list that a text is, if it is one from its start to its end.
    fn whole(&mut self, span: Span, text: &str) -> Option<Value> {
        if !text.starts_with(['{', '[']) {
            return None;
        }
        if let Ok(value) = serde_json::from_str(text) {
            return Some(value);
        }
        let document = document::parse(text.as_bytes())?;
        // What follows a value that was mended is not looked at there.
        let is_alone = json::split_line(text).len() <= 1;
        (document.flaw == Some(Flaw::Mended) && is_alone).then(|| {
            self.problem(span, ProblemKind::Repaired, Flaw::Mended.message());
            document.value
        })
    }

    fn number(&self) -> u32 {
        u32::try_from(self.stream.records.len()).unwrap_or(u32::MAX)
    }

    fn record(&mut self, span: Span, value: Value) {
        let number = self.number();
        let Some(wrapped) = unwrap(value) else {
            self.stream.report.records.count(ProblemKind::Unknown);
            self.problem(span, ProblemKind::Unknown, "the line holds no message of the protocol".to_owned());
            self.note(span, Moment::default(), EventKind::Unknown, "not a message of the protocol");
            return;
        };
        let routed = self.router.route(wrapped, number);
        let known = self.message(span, routed);
        if known {
            self.stream.report.records.count_read();
        } else {
            self.stream.report.records.count(ProblemKind::Unknown);
            self.problem(span, ProblemKind::Unknown, "message of an unknown kind".to_owned());
        }
    }

    /// Takes a message; `false` when nobody knows its kind.
    fn message(&mut self, span: Span, routed: Routed) -> bool {
        let number = self.number();
        let own = self.session_of(&routed);
        let owner = own.and_then(|own| u32::try_from(own).ok()).unwrap_or(SHARED);
        self.stream.records.push((span, owner));
        self.last = own.or(self.last);
        let Routed { moment, message, .. } = routed;
        if let Message::Response { request: Some(request), outcome } = &message {
            self.opened(request, outcome, number);
        }
        let is_copilot = self.stream.agent.name.as_deref() == Some("Copilot");
        let builder = own.or(self.last).and_then(|index| self.stream.sessions.get_mut(index));
        let Some(builder) = builder else { return true };
        builder.at_record(number, span.line.saturating_sub(1), moment);
        match message {
            Message::Request { method, params } => stops::request(builder, &method, &params),
            Message::Notification { method, params } => stops::notification(builder, &method, &params),
            Message::Response { request: Some(request), outcome } => {
                if own.is_some() {
                    stops::response(builder, &request, &outcome, is_copilot);
                } else {
                    stops::error(builder, &request, &outcome);
                }
                true
            }
            Message::Response { request: None, .. } => {
                self.problem(span, ProblemKind::Structure, "a response without a request".to_owned());
                true
            }
        }
    }

    /// Notes what an answer says about the stream as a whole.
    fn opened(&mut self, request: &Request, outcome: &Result<Value, Value>, number: u32) {
        const OPENING: [&str; 5] = ["initialize", "authenticate", "session/new", "session/load", "session/resume"];
        let Ok(result) = outcome else { return };
        if OPENING.contains(&request.method.as_str()) {
            self.stream.openings.push((request.record, number));
        }
        if let Some(info) = result.get("agentInfo") {
            let name = text(info, "title").or_else(|| text(info, "name"));
            self.stream.agent = Agent { name: name.map(marker_text), version: text(info, "version").map(marker_text) };
        }
        if let (Some(session), Some(forked)) = (&request.session, text(result, "forkedSessionId"))
            && session != forked
        {
            self.stream.forks.push((session.clone(), forked.to_owned()));
        }
    }

    /// The session that a message belongs to. Only what is said in a session makes one: a request to load it may fail.
    fn session_of(&mut self, routed: &Routed) -> Option<usize> {
        let id = routed.session.as_deref()?;
        if let Some(index) = self.index.get(id) {
            return Some(*index);
        }
        let is_said = match &routed.message {
            Message::Request { method, .. } => {
                method == "session/prompt" || !method.starts_with("session/") || method == "session/request_permission"
            }
            Message::Notification { method, .. } => {
                method == "session/update" || method.starts_with("_cognition.ai/revert/")
            }
            Message::Response { outcome, request } => {
                let opens = |request: &Request| {
                    matches!(
                        request.method.as_str(),
                        "session/new" | "session/load" | "session/resume" | "session/fork"
                    )
                };
                outcome.is_ok() && request.as_ref().is_some_and(opens)
            }
        };
        if !is_said || self.stream.sessions.len() >= MAX_SESSIONS {
            return None;
        }
        self.stream.sessions.push(Builder::new(id));
        let index = self.stream.sessions.len() - 1;
        self.index.insert(id.to_owned(), index);
        Some(index)
    }

    /// Counts and shows a line that is no message.
    fn unreadable(&mut self, span: Span, fate: ProblemKind, reason: &str) {
        self.stream.report.records.count(fate);
        self.problem(span, fate, reason.to_owned());
        self.note(span, Moment::default(), EventKind::Unreadable, reason);
    }

    fn note(&mut self, span: Span, moment: Moment, kind: EventKind, words: &str) {
        let number = self.number();
        let owner = self.last.and_then(|last| u32::try_from(last).ok()).unwrap_or(SHARED);
        self.stream.records.push((span, owner));
        let Some(builder) = self.last.and_then(|last| self.stream.sessions.get_mut(last)) else { return };
        builder.at_record(number, span.line.saturating_sub(1), moment);
        let event = builder.push(kind, words);
        if let Some(event) = builder.event(event) {
            event.text_bytes = span.len;
        }
    }

    fn problem(&mut self, span: Span, kind: ProblemKind, message: String) {
        let locator = Locator::Line(span.line.into());
        self.stream.report.push(Problem { locator, offset: Some(span.offset), kind, message, file: None });
    }
}

/// A header of the framing that language servers use; it belongs to no message.
fn is_header(text: &str) -> bool {
    text.starts_with("Content-Length:") || text.starts_with("Content-Type:")
}
