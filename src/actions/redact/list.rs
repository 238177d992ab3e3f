//! The second time through: every place where a value stands, for review.

use super::secrets::{Secrets, What, shown};
use super::strings::{At, Cutter, Role, Token};
use super::{Kind, RedactError};

/// Places past this are counted, not listed; the first place of each value always is.
pub const MAX_LISTED: usize = 100_000;

/// Letters of a context, on each side.
const CONTEXT: usize = 48;

/// Where a hit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// In the facts about the session.
    Session,
    /// In a step's own text and fields, or in the event at this place of the session's events.
    Step { number: u32, event: Option<usize> },
    /// In this file of a support case.
    File { file: usize, line: u64, offset: u64 },
}

/// A place where a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The value's place in the list of [`Secrets`].
    pub secret: u32,
    pub spot: Spot,
    /// The key that it stands under, or in; empty for none.
    pub name: Box<str>,
    /// What stands before and after it.
    pub before: Box<str>,
    pub after: Box<str>,
}

/// Every place where a value stands, in order.
#[derive(Clone, Debug, Default)]
pub struct List {
    pub hits: Vec<Hit>,
    /// How many more places there are.
    pub unlisted: u64,
    /// How many images and old contents are left out.
    pub images: u64,
    pub old_contents: u64,
}

impl List {
    /// Goes through a piece of JSON text whose place `spot` tells, given the line and offset in it.
    pub fn text(
        &mut self,
        secrets: &mut Secrets,
        parts: impl IntoIterator<Item = impl AsRef<[u8]>>,
        spot: &dyn Fn(u64, u64) -> Spot,
    ) -> Result<(), RedactError> {
        let mut reader = self.reader(secrets, spot);
        for part in parts {
            reader.feed(part.as_ref())?;
        }
        reader.finish()
    }

    /// Goes through a text that comes in parts.
    pub fn reader<'a>(&'a mut self, secrets: &'a mut Secrets, spot: &'a dyn Fn(u64, u64) -> Spot) -> ListReader<'a> {
        ListReader { list: self, secrets, spot, cutter: Cutter::new() }
    }

    fn token(
        &mut self,
        secrets: &mut Secrets,
        at: At,
        token: Token<'_>,
        spot: &dyn Fn(u64, u64) -> Spot,
    ) -> Result<(), RedactError> {
        let (bytes, name) = match token {
            Token::String { content, role: Role::Value(name), .. } => (content, name.unwrap_or_default()),
            Token::String { content, role: Role::Key, .. } => (content, ""),
            Token::Between { bytes, name } => (bytes, name.unwrap_or_default()),
        };
        for mark in secrets.marks(token, true) {
            let id = match mark.what {
                What::LeftOut(Kind::Image) => {
                    self.images += 1;
                    continue;
                }
                What::LeftOut(_) => {
                    self.old_contents += 1;
                    continue;
                }
                What::Secret(id) => id,
            };
            let Some(secret) = secrets.list.get_mut(id as usize) else { continue };
            secret.hits += 1;
            if secret.hits > 1 && self.hits.len() >= MAX_LISTED {
                self.unlisted += 1;
                continue;
            }
            let line =
                at.line + memchr::memchr_iter(b'\n', bytes.get(..mark.range.start).unwrap_or_default()).count() as u64;
            self.hits.push(Hit {
                secret: id,
                spot: spot(line, at.offset + mark.range.start as u64),
                name: short(name).into(),
                before: before(bytes.get(..mark.range.start).unwrap_or_default()),
                after: after(bytes.get(mark.range.end..).unwrap_or_default()),
            });
        }
        Ok(())
    }
}

/// Feeds one text to the list.
pub struct ListReader<'a> {
    list: &'a mut List,
    secrets: &'a mut Secrets,
    spot: &'a dyn Fn(u64, u64) -> Spot,
    cutter: Cutter,
}

impl ListReader<'_> {
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), RedactError> {
        let (list, secrets, spot) = (&mut *self.list, &mut *self.secrets, self.spot);
        self.cutter.feed(bytes, &mut |at, token| list.token(secrets, at, token, spot))
    }

    pub fn finish(mut self) -> Result<(), RedactError> {
        let (list, secrets, spot) = (&mut *self.list, &mut *self.secrets, self.spot);
        self.cutter.finish(&mut |at, token| list.token(secrets, at, token, spot))
    }
}

fn short(name: &str) -> &str {
    name.get(..name.floor_char_boundary(80)).unwrap_or_default()
}

/// The last letters of what stands before a hit, on one line.
fn before(bytes: &[u8]) -> Box<str> {
    let tail = bytes.get(bytes.len().saturating_sub(CONTEXT * 6)..).unwrap_or_default();
    let text = on_one_line(tail);
    let skip = text.chars().count().saturating_sub(CONTEXT);
    text.chars().skip(skip).collect::<String>().into()
}

fn after(bytes: &[u8]) -> Box<str> {
    let head = bytes.get(..bytes.len().min(CONTEXT * 6)).unwrap_or_default();
    on_one_line(head).chars().take(CONTEXT).collect::<String>().into()
}

fn on_one_line(written: &[u8]) -> String {
    let text = String::from_utf8_lossy(written);
    shown(text.trim_matches(char::REPLACEMENT_CHARACTER)).replace(|c: char| c.is_whitespace() || c.is_control(), " ")
}
