//! The third time through: each value replaced by its placeholder. And the fourth: that none is left.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::secrets::{LEFT_OUT, Mark, Secrets, What, scalars};
use super::strings::{At, Cutter, Token};
use super::{Kind, RedactError};

/// Writes JSON text with all values replaced that are not kept. What is JSON stays JSON: placeholders hold nothing that is
/// escaped, and one that stands for a number is a string.
pub struct Redactor<'a> {
    secrets: &'a Secrets,
    cutter: Cutter,
    ready: Vec<u8>,
}

impl<'a> Redactor<'a> {
    pub fn new(secrets: &'a Secrets) -> Self {
        Self { secrets, cutter: Cutter::new(), ready: Vec::new() }
    }

    /// Takes a part of the text and gives the redacted text as far as it is certain; the rest comes with [`Self::finish`].
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<u8>, RedactError> {
        let (secrets, ready) = (self.secrets, &mut self.ready);
        self.cutter.feed(bytes, &mut |_, token| {
            replace(secrets, token, ready);
            Ok(())
        })?;
        Ok(std::mem::take(&mut self.ready))
    }

    pub fn finish(mut self) -> Result<Vec<u8>, RedactError> {
        let (secrets, ready) = (self.secrets, &mut self.ready);
        self.cutter.finish(&mut |_, token| {
            replace(secrets, token, ready);
            Ok(())
        })?;
        Ok(self.ready)
    }

    /// A whole text at once.
    pub fn text(secrets: &'a Secrets, text: &[u8]) -> Result<Vec<u8>, RedactError> {
        let mut redactor = Self::new(secrets);
        let mut redacted = redactor.feed(text)?;
        redacted.extend(redactor.finish()?);
        Ok(redacted)
    }
}

fn replace(secrets: &Secrets, token: Token<'_>, out: &mut Vec<u8>) {
    let marks = secrets.marks(token, false);
    match token {
        Token::String { content, closed, .. } => {
            out.push(b'"');
            splice(secrets, content, &marks, "", out);
            out.extend(closed.then_some(b'"'));
        }
        Token::Between { bytes, .. } if marks.is_empty() => out.extend_from_slice(bytes),
        // A number in JSON can only be replaced whole, by a string.
        Token::Between { bytes, .. } if is_structure(bytes) => {
            splice(secrets, bytes, &whole_scalars(bytes, marks), "\"", out);
        }
        Token::Between { bytes, .. } => splice(secrets, bytes, &marks, "", out),
    }
}

fn splice(secrets: &Secrets, bytes: &[u8], marks: &[Mark], quote: &str, out: &mut Vec<u8>) {
    let mut copied = 0;
    for mark in marks {
        out.extend_from_slice(bytes.get(copied..mark.range.start).unwrap_or_default());
        out.extend_from_slice(quote.as_bytes());
        out.extend_from_slice(stand_in(secrets, mark).as_bytes());
        out.extend_from_slice(quote.as_bytes());
        copied = mark.range.end;
    }
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
}

fn stand_in(secrets: &Secrets, mark: &Mark) -> String {
    match mark.what {
        What::Secret(id) => secrets.list().get(id as usize).map(super::Secret::placeholder).unwrap_or_default(),
        What::LeftOut(kind) => format!("{LEFT_OUT}{}, {} bytes]", kind.word(), bytes_left_out(kind, &mark.range)),
    }
}

/// How many bytes what is left out had: base64 takes four for three.
fn bytes_left_out(kind: Kind, range: &Range<usize>) -> usize {
    if kind == Kind::Image { range.len() / 4 * 3 } else { range.len() }
}

/// Whether what stands between strings is what JSON has there.
fn is_structure(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_whitespace() || byte.is_ascii_alphanumeric() || b"{}[],:+-.".contains(byte))
        && scalars(bytes).all(|range| {
            let scalar = bytes.get(range).unwrap_or_default();
            matches!(scalar, b"true" | b"false" | b"null") || scalar.iter().any(u8::is_ascii_digit)
        })
}

/// The marks grown to the numbers that they are in.
fn whole_scalars(bytes: &[u8], marks: Vec<Mark>) -> Vec<Mark> {
    let mut whole: Vec<Mark> = Vec::new();
    for range in scalars(bytes) {
        let touched = marks.iter().find(|mark| mark.range.start < range.end && range.start < mark.range.end);
        whole.extend(touched.map(|mark| Mark { range, what: mark.what }));
    }
    whole
}

/// Looks whether a value that is replaced is still in what was written.
///
/// Twice, in two ways: by all that the search knows, string by string; and, for values that are told by their bytes
/// alone, by these bytes and their usual escaped forms, wherever they are.
pub struct Check<'a> {
    secrets: &'a Secrets,
    cutter: Cutter,
    bytes: Option<AhoCorasick>,
    kinds: Vec<Kind>,
    /// The end of what came before, long enough to hold the start of any value.
    tail: Vec<u8>,
    overlap: usize,
    offset: u64,
}

impl<'a> Check<'a> {
    pub fn new(secrets: &'a Secrets) -> Result<Self, RedactError> {
        let mut patterns = Vec::new();
        let mut kinds = Vec::new();
        for secret in secrets.replaced_anywhere() {
            for form in forms(&secret.value) {
                patterns.push(form);
                kinds.push(secret.kind);
            }
        }
        let overlap = patterns.iter().map(String::len).max().unwrap_or(0);
        let bytes = AhoCorasick::new(&patterns).map_err(|_| RedactError::TooMany)?;
        let bytes = (!patterns.is_empty()).then_some(bytes);
        Ok(Self { secrets, cutter: Cutter::new(), bytes, kinds, tail: Vec::new(), overlap, offset: 0 })
    }

    /// Goes through a part of JSON text.
    pub fn feed(&mut self, part: &[u8], name: &str) -> Result<(), RedactError> {
        self.bytes(part, name)?;
        let secrets = self.secrets;
        self.cutter.feed(part, &mut |at, token| left(secrets, at, token, name))
    }

    pub fn finish(mut self, name: &str) -> Result<(), RedactError> {
        let secrets = self.secrets;
        self.cutter.finish(&mut |at, token| left(secrets, at, token, name))
    }

    /// Goes through a part of any text, by the bytes of values only.
    pub fn bytes(&mut self, part: &[u8], name: &str) -> Result<(), RedactError> {
        let Some(bytes) = &self.bytes else { return Ok(()) };
        let start = self.offset - self.tail.len() as u64;
        self.tail.extend_from_slice(part);
        if let Some(hit) = bytes.find(&self.tail) {
            let kind = self.kinds.get(hit.pattern().as_usize()).map_or("value", |kind| kind.word());
            return Err(RedactError::Left { kind, place: format!("offset {} of {name}", start + hit.start() as u64) });
        }
        let keep = self.tail.len().saturating_sub(self.overlap);
        self.tail.drain(..keep);
        self.offset += part.len() as u64;
        Ok(())
    }
}

/// How the bytes of a value may stand in a file: as they are, as JSON writes them, as a page does.
fn forms(value: &str) -> Vec<String> {
    let quoted = |value: &str| {
        let json = serde_json::Value::from(value).to_string();
        json.get(1..json.len() - 1).unwrap_or_default().to_owned()
    };
    let once = quoted(value);
    let page = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let mut forms = vec![value.to_owned(), quoted(&once), once, page];
    forms.sort();
    forms.dedup();
    forms
}

fn left(secrets: &Secrets, at: At, token: Token<'_>, name: &str) -> Result<(), RedactError> {
    match secrets.marks(token, false).first() {
        None => Ok(()),
        Some(mark) => {
            let kind = match mark.what {
                What::Secret(id) => secrets.list().get(id as usize).map_or("value", |secret| secret.kind.word()),
                What::LeftOut(kind) => kind.word(),
            };
            let offset = at.offset + mark.range.start as u64;
            Err(RedactError::Left { kind, place: format!("line {}, offset {offset} of {name}", at.line) })
        }
    }
}
