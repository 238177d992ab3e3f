//! An export as Markdown. Texts of the session stand in quotes or in fences that they cannot end, so that nothing in them
//! is taken for the document's own.

use std::io::{self, Write};

use serde_json::Value;

use super::Render;
use super::items::{count_markers, field, readable, text};
use crate::model::{visible, words};

/// A tool's output is folded away from this many lines on, where the reader's program can fold.
const FOLD_LINES: usize = 12;

#[derive(Default)]
pub struct Markdown;

impl Render for Markdown {
    fn session(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()> {
        let title = item.get("title").and_then(Value::as_str).unwrap_or("Session");
        writeln!(out, "# {}\n", inline(title))?;
        for (name, value) in super::facts(&item) {
            writeln!(out, "- {name}: {}", inline(&value))?;
        }
        let warnings = item.get("warnings").and_then(Value::as_array).map_or(0, Vec::len);
        if warnings > 0 {
            let said = words::count(warnings as u64, "warning", "warnings");
            writeln!(out, "- {said} while reading (`stepline check` lists them)")?;
        }
        writeln!(out, "- written by Stepline {}", env!("CARGO_PKG_VERSION"))
    }

    fn step(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()> {
        let number = field(&item, "stepNumber");
        let kind = if text(&item, "kind") == "prompt" { "▸ prompt" } else { "◇ question" };
        writeln!(out, "\n<a id=\"step-{number}\"></a>\n\n## Step {number} · {kind}\n")?;
        let mut said: Vec<String> = ["clock", "model", "outcome"].map(|key| inline(text(&item, key))).into();
        said.extend(count_markers(field(&item, "markers")).into_iter().map(|(word, count)| match count {
            1 => format!("**{}**", inline(&word)),
            _ => format!("**{}** × {count}", inline(&word)),
        }));
        said.retain(|part| !part.is_empty());
        writeln!(out, "{}\n", said.join(" · "))?;
        super::note_of(&item).map_or(Ok(()), |note| writeln!(out, "**Note:**\n\n{}", quote(note)))?;
        writeln!(out, "{}", quote(text(&item, "text")))
    }

    fn event(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()> {
        let tool = field(&item, "tool").as_object();
        let name = tool.and_then(|tool| tool.get("name")).and_then(Value::as_str);
        let kind = text(&item, "kindWord");
        let mark = super::glyph(text(&item, "markerKind"));
        let head: Vec<String> = [
            Some(format!("**{}{}**", mark, inline(kind))),
            name.map(|name| format!("`{}`", name.replace('`', "'"))),
            Some(inline(text(&item, "state"))).filter(|state| state != "done"),
            Some(inline(text(&item, "markerWords"))),
            Some(inline(text(&item, "clock"))),
        ]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
        writeln!(out, "\n{}\n", head.join(" · "))?;
        super::note_of(&item).map_or(Ok(()), |note| writeln!(out, "**Note:**\n\n{}", quote(note)))?;
        let said = text(&item, "text");
        if !said.is_empty() {
            let prose = matches!(kind, "text" | "thinking");
            writeln!(out, "{}", if prose { quote(said) } else { fence(said) })?;
        }
        if let Some(tool) = tool {
            for (what, language) in [("input", "json"), ("output", "")] {
                let content = tool.get(what).map(readable).unwrap_or_default();
                if content.is_empty() {
                    continue;
                }
                let lines = content.lines().count();
                let fenced = fence_in(&content, language);
                if lines >= FOLD_LINES {
                    let lines = words::count(lines as u64, "line", "lines");
                    writeln!(out, "<details><summary>{what}, {lines}</summary>\n\n{fenced}\n\n</details>\n")?;
                } else {
                    writeln!(out, "{fenced}\n")?;
                }
            }
        }
        for attachment in field(&item, "attachments").as_array().into_iter().flatten().filter_map(Value::as_str) {
            writeln!(out, "- attachment: {}", inline(attachment))?;
        }
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// A text as part of a line: nothing in it is markup.
fn inline(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '\n' | '\t' => escaped.push(' '),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | '|' | '#' | '!' | '~' => {
                // Placeholders are to be read and searched for as they are.
                escaped.push('\\');
                escaped.push(character);
            }
            _ => escaped.push(character),
        }
    }
    escaped.replace("\\[redacted ", "[redacted ").replace("\\[left out: ", "[left out: ")
}

/// A text that may be Markdown itself, as a quote: its own headings and fences stay inside.
fn quote(text: &str) -> String {
    let harmless = visible(text).replace('&', "&amp;").replace('<', "&lt;");
    let mut quoted = String::with_capacity(harmless.len() + 16);
    for line in harmless.lines() {
        quoted.push_str("> ");
        quoted.push_str(&no_image(line));
        quoted.push('\n');
    }
    quoted
}

/// A reader's program would load an image from wherever it is: only its text and address are left.
fn no_image(line: &str) -> String {
    line.replace("![", "!\\[")
}

fn fence(text: &str) -> String {
    fence_in(text, "")
}

/// A text in a fence longer than any in it.
fn fence_in(text: &str, language: &str) -> String {
    let shown = visible(text);
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest.max(2) + 1);
    let end = if shown.ends_with('\n') { "" } else { "\n" };
    format!("{ticks}{language}\n{shown}{end}{ticks}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        assert_eq!(inline("a <b> & *c* [d](e)\n# f"), "a &lt;b&gt; &amp; \\*c\\* \\[d](e) \\# f");
        assert_eq!(inline("[redacted email 1]"), "[redacted email 1]");
        assert_eq!(quote("# a\n```\n<script>"), "> # a\n> ```\n> &lt;script>\n");
        assert_eq!(quote("![x](http://host/y.png)"), "> !\\[x](http://host/y.png)\n");
        assert_eq!(fence("a\n````\nb"), "`````\na\n````\nb\n`````");
        assert_eq!(fence("\u{1b}[1m"), "```\n⟨ESC⟩[1m\n```");
    }
}
