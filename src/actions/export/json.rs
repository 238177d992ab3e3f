//! An export as JSON: `{session, steps, warnings}` as `stepline steps` prints it, and in each step its `text` and, as
//! `turn`, the events that `stepline show` prints.

use std::io::{self, Write};

use serde_json::Value;

use super::Render;
use super::items::without_words;

#[derive(Default)]
pub struct Json {
    steps: usize,
    events: usize,
    warnings: Value,
}

impl Render for Json {
    fn session(&mut self, mut item: Value, out: &mut dyn Write) -> io::Result<()> {
        self.warnings = item.as_object_mut().and_then(|fields| fields.shift_remove("warnings")).unwrap_or_default();
        write!(out, "{{\"stepline\":\"{}\",\n\"session\":{item},\n\"steps\":[", env!("CARGO_PKG_VERSION"))
    }

    fn step(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()> {
        self.close_step(out)?;
        let separator = if self.steps > 0 { "," } else { "" };
        let text = without_words(item).to_string();
        // The object stays open for the events of its turn.
        let open = text.strip_suffix('}').unwrap_or(&text);
        write!(out, "{separator}\n{open},\"turn\":[")?;
        self.steps += 1;
        self.events = 0;
        Ok(())
    }

    fn event(&mut self, item: Value, out: &mut dyn Write) -> io::Result<()> {
        let separator = if self.events > 0 { "," } else { "" };
        self.events += 1;
        write!(out, "{separator}\n{}", without_words(item))
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.close_step(out)?;
        writeln!(out, "],\n\"warnings\":{}}}", self.warnings)
    }
}

impl Json {
    fn close_step(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.steps > 0 { write!(out, "]}}") } else { Ok(()) }
    }
}
