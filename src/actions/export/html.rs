//! An export as one page that needs nothing else: no script, no image, no font, no address that it would open by itself.
//!
//! Every text of the session is escaped; a policy in the page forbids everything but its own style, should one get
//! through all the same.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::Value;

use super::Render;
use super::items::{count_markers, field, readable, text};
use crate::model::{visible, words};

const STYLE: &str = include_str!("page.css");

/// A tool's input or output is folded away from this many lines on.
const FOLD_LINES: usize = 12;

#[derive(Default)]
pub struct Html {
    steps: usize,
}

impl Render for Html {
    fn session(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()> {
        let title = escape(item.get("title").and_then(Value::as_str).unwrap_or("Session"));
        let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
        write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<dl>\n"
        )?;
        for (name, value) in super::facts(&item) {
            writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&value))?;
        }
        let warnings = item.get("warnings").and_then(Value::as_array).map_or(0, Vec::len);
        if warnings > 0 {
            let said = words::count(warnings as u64, "warning", "warnings");
            writeln!(out, "<dt>reading</dt><dd>{said}; <code>stepline check</code> lists them</dd>")?;
        }
        writeln!(out, "</dl>")
    }

    fn step(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()> {
        if self.steps > 0 {
            writeln!(out, "</section>")?;
        }
        self.steps += 1;
        let number = escape(&readable(field(&item, "stepNumber")));
        let (class, kind) =
            if text(&item, "kind") == "prompt" { ("prompt", "▸ prompt") } else { ("question", "◇ question") };
        writeln!(out, "<section id=\"step-{number}\" class=\"{class}\">")?;
        writeln!(out, "<h2><a href=\"#step-{number}\">Step {number}</a> · {kind}</h2>")?;
        let mut said = String::new();
        for (word, count) in count_markers(field(&item, "markers")) {
            let count = if count > 1 { format!(" × {count}") } else { String::new() };
            said.push_str(&mark(&word, &format!("{}{count}", escape(&word))));
        }
        let facts: Vec<String> = ["clock", "model", "outcome"]
            .map(|key| escape(text(&item, key)))
            .into_iter()
            .filter(|fact| !fact.is_empty())
            .collect();
        writeln!(out, "<p class=\"said\">{said}{}</p>", facts.join(" · "))?;
        note(&item, out)?;
        writeln!(out, "<div class=\"prose\">{}</div>", escape(text(&item, "text")))
    }

    fn event(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()> {
        let kind = text(&item, "kindWord");
        let tool = field(&item, "tool").as_object();
        let name = tool.and_then(|tool| tool.get("name")).and_then(Value::as_str);
        let class = if kind == "thinking" { "event thinking" } else { "event" };
        let mut head = format!("<b>{}</b>", escape(kind));
        if let Some(name) = name {
            let _ = write!(head, " · <code>{}</code>", escape(name));
        }
        let (marker, words) = (text(&item, "markerKind"), text(&item, "markerWords"));
        if !marker.is_empty() {
            let _ = write!(head, " {} {}", mark(marker, &escape(marker)), escape(words));
        }
        for part in [Some(text(&item, "state")).filter(|state| *state != "done"), Some(text(&item, "clock"))] {
            if let Some(part) = part.filter(|part| !part.is_empty()) {
                let _ = write!(head, " · {}", escape(part));
            }
        }
        writeln!(out, "<div class=\"{class}\"><div class=\"head\">{head}</div>")?;
        note(&item, out)?;
        let said = text(&item, "text");
        if !said.is_empty() && matches!(kind, "text" | "thinking") {
            writeln!(out, "<div class=\"prose\">{}</div>", escape(said))?;
        } else {
            block("text", said, out)?;
        }
        for what in ["input", "output"] {
            block(what, &tool.and_then(|tool| tool.get(what)).map(readable).unwrap_or_default(), out)?;
        }
        for attachment in field(&item, "attachments").as_array().into_iter().flatten().filter_map(Value::as_str) {
            writeln!(out, "<p class=\"said\">attachment: {}</p>", escape(attachment))?;
        }
        writeln!(out, "</div>")
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.steps > 0 {
            writeln!(out, "</section>")?;
        }
        let version = env!("CARGO_PKG_VERSION");
        writeln!(out, "<footer>Written by Stepline {version}.</footer>\n</main>\n</body>\n</html>")
    }
}

fn note(item: &Value, out: &mut dyn Write) -> io::Result<()> {
    super::note_of(item).map_or(Ok(()), |note| writeln!(out, "<div class=\"note\">⚑ {}</div>", escape(note)))
}

fn block(what: &str, content: &str, out: &mut dyn Write) -> io::Result<()> {
    let lines = content.lines().count();
    match lines {
        0 => Ok(()),
        FOLD_LINES.. => {
            let lines = words::count(lines as u64, "line", "lines");
            writeln!(out, "<details><summary>{what}, {lines}</summary><pre>{}</pre></details>", escape(content))
        }
        _ => writeln!(out, "<pre>{}</pre>", escape(content)),
    }
}

/// A marker as a chip: its shape, and words that are escaped already.
fn mark(kind: &str, words: &str) -> String {
    let class = kind.split(' ').next().unwrap_or_default();
    let class: String = class.chars().filter(char::is_ascii_lowercase).collect();
    format!("<span class=\"mark m-{class}\">{}{words}</span>", super::glyph(kind))
}

/// A text of the session as text of a page, in whichever place: between tags or in an attribute's quotes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for character in visible(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}
