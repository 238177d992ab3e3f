//! The values that were found: what each is called, where else it is looked for, whether it is to be kept.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::detect::{Detector, Reach};
use super::escapes::{View, each_view};
use super::strings::{At, Cutter, Role, Token};
use super::{BadPattern, Kind, RedactError, Rules};

/// More different values are refused: nobody could review them.
pub const MAX_SECRETS: usize = 20_000;
const MAX_VALUE_BYTES: usize = 16 * 1024 * 1024;

/// A key under which agents keep what a file held before they changed it.
const OLD_CONTENTS: [&str; 4] = ["originalFile", "originalContent", "original_content", "originalFileContents"];

/// Begins what stands for what is left out.
pub(super) const LEFT_OUT: &str = "[left out: ";

/// How much of the start of a value is looked for at the end of a text that was cut off.
const MIN_START_BYTES: usize = 4;
const MAX_START_BYTES: usize = 256;

/// A number under the name of a secret that is shorter is no secret.
const MIN_NUMBER_BYTES: usize = 4;

/// Keys under which files lie in base64, and how long what lies there has to be to be one.
const DATA: [&str; 5] = ["data", "base64", "blob", "result", "bytes"];
const MIN_DATA_BYTES: usize = 256;

/// One value that looks like a secret.
#[derive(Clone, Debug)]
pub struct Secret {
    pub kind: Kind,
    pub value: String,
    /// From 1, among those of its kind.
    pub number: u32,
    /// How many places it stands at.
    pub hits: u64,
    /// It is to stay as it is: the decision of whoever reviewed it.
    pub keep: bool,
    pub(super) reach: Reach,
}

impl Secret {
    /// What it is replaced by: `[redacted email 1]`.
    pub fn placeholder(&self) -> String {
        format!("[redacted {} {}]", self.kind.word(), self.number)
    }
}

/// The first time through: gathers the values.
pub struct Search {
    detector: Detector,
    rules: Rules,
    secrets: Vec<Secret>,
    by_value: HashMap<String, u32>,
    /// Values that were only seen where a text was cut off.
    cut: Vec<String>,
    bytes: usize,
}

impl Search {
    pub fn new(rules: &Rules) -> Result<Self, BadPattern> {
        Ok(Self {
            detector: Detector::new(&rules.patterns)?,
            rules: rules.clone(),
            secrets: Vec::new(),
            by_value: HashMap::new(),
            cut: Vec::new(),
            bytes: 0,
        })
    }

    /// Goes through a text.
    pub fn text(&mut self, parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<(), RedactError> {
        let mut reader = self.reader();
        for part in parts {
            reader.feed(part.as_ref())?;
        }
        reader.finish()
    }

    /// Goes through a text that comes in parts.
    pub fn reader(&mut self) -> SearchReader<'_> {
        SearchReader { search: self, cutter: Cutter::new() }
    }

    fn token(&mut self, token: Token<'_>) -> Result<(), RedactError> {
        if self.rules.off || self.rules.left_out_as_a_whole(token).is_some() {
            return Ok(());
        }
        let mut found: Vec<Candidate> = Vec::new();
        each_text(token, &mut |text, _| gather(&self.detector, text, &mut found));
        for candidate in dominant(found) {
            self.add(candidate)?;
        }
        Ok(())
    }

    fn add(&mut self, found: Candidate) -> Result<(), RedactError> {
        if let Some(id) = self.by_value.get(&found.value) {
            if let Some(secret) = self.secrets.get_mut(*id as usize) {
                secret.reach = secret.reach.max(found.reach);
            }
            if !found.is_cut {
                self.cut.retain(|cut| *cut != found.value);
            }
            return Ok(());
        }
        self.bytes += found.value.len();
        if found.is_cut {
            self.cut.push(found.value.clone());
        }
        if self.secrets.len() >= MAX_SECRETS || self.bytes > MAX_VALUE_BYTES {
            return Err(RedactError::TooMany);
        }
        let id = u32::try_from(self.secrets.len()).unwrap_or(u32::MAX);
        self.by_value.insert(found.value.clone(), id);
        self.secrets.push(Secret {
            kind: found.kind,
            value: found.value,
            number: 0,
            hits: 0,
            keep: false,
            reach: found.reach,
        });
        Ok(())
    }

    /// All that was found.
    pub fn finish(mut self) -> Result<Secrets, RedactError> {
        self.drop_cut();
        let mut counts: HashMap<Kind, u32> = HashMap::new();
        for secret in &mut self.secrets {
            let count = counts.entry(secret.kind).or_default();
            *count += 1;
            secret.number = *count;
        }
        let mut patterns = Vec::new();
        let mut by_value = HashMap::new();
        for (id, secret) in (0_u32..).zip(&self.secrets) {
            by_value.insert(secret.value.clone(), id);
        }
        for (id, secret) in (0_u32..).zip(&self.secrets) {
            for spelling in spellings(secret) {
                // A spelling that is another's value is that one's.
                by_value.entry(spelling.clone()).or_insert(id);
                if secret.reach > Reach::InPlace {
                    patterns.push((spelling, id));
                }
            }
        }
        let known = AhoCorasick::new(patterns.iter().map(|(pattern, _)| pattern));
        // Its own bounds are far above ours.
        let known = known.map_err(|_| RedactError::TooMany)?;
        let owners = patterns.iter().map(|(_, id)| *id).collect();
        let mut sorted = patterns;
        sorted.retain(|(pattern, _)| pattern.len() > MIN_START_BYTES);
        sorted.sort();
        Ok(Secrets { detector: self.detector, rules: self.rules, list: self.secrets, by_value, known, owners, sorted })
    }

    /// Drops values that were only seen where a text was cut off, and that are the start of another: they are that one.
    fn drop_cut(&mut self) {
        let mut values: Vec<&str> = self.secrets.iter().map(|secret| secret.value.as_str()).collect();
        values.sort_unstable();
        let is_start = |value: &String| {
            let next = values.get(values.partition_point(|other| *other <= value.as_str()));
            next.is_some_and(|next| next.starts_with(value.as_str()))
        };
        let dropped: HashSet<String> = std::mem::take(&mut self.cut).into_iter().filter(is_start).collect();
        self.secrets.retain(|secret| !dropped.contains(&secret.value));
    }
}

/// How a value may be written: a name also with a capital, or in capitals.
fn spellings(secret: &Secret) -> Vec<String> {
    let mut spellings = vec![secret.value.clone()];
    if secret.kind == Kind::User && secret.reach > Reach::InPlace {
        let lower = secret.value.to_lowercase();
        let mut rest = lower.chars();
        let capital = rest.next().map(|first| first.to_uppercase().chain(rest).collect::<String>());
        for spelling in [Some(lower.clone()), capital, Some(lower.to_uppercase())].into_iter().flatten() {
            if !spellings.contains(&spelling) {
                spellings.push(spelling);
            }
        }
    }
    spellings
}

impl Rules {
    /// Whether a string is left out whole, an image or what a file held before, and how long it is as written.
    fn left_out_as_a_whole(&self, token: Token<'_>) -> Option<(Kind, usize)> {
        let Token::String { content, role: Role::Value(Some(name)), .. } = token else { return None };
        if OLD_CONTENTS.contains(&name) {
            let is_there = !self.old_contents && !content.is_empty() && !content.starts_with(LEFT_OUT.as_bytes());
            return is_there.then_some((Kind::OldContents, content.len()));
        }
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-\\".contains(byte);
        let is_data =
            !self.images && content.len() >= MIN_DATA_BYTES && DATA.contains(&name) && content.iter().all(is_base64);
        is_data.then_some((Kind::Image, content.len()))
    }
}

/// A value in a text, by its place in the text as it is written.
struct Candidate {
    range: Range<usize>,
    kind: Kind,
    reach: Reach,
    value: String,
    /// It stands at the end of a text that was cut off there.
    is_cut: bool,
}

fn gather(detector: &Detector, text: Text<'_>, found: &mut Vec<Candidate>) {
    each_view(text.written, text.quoted, &mut |view, under| {
        let named = text.name.and_then(|name| Detector::look_at_value(name, view));
        for seen in detector.look(view).into_iter().chain(named).filter(|seen| !seen.kind.is_left_out()) {
            let value = view.get(seen.range.clone()).unwrap_or_default().to_owned();
            let is_cut = end_of_cut(view).is_some_and(|end| seen.range.end >= end);
            found.push(Candidate { range: under(&seen.range), kind: seen.kind, reach: seen.reach, value, is_cut });
        }
    });
}

/// Where a text ends that says that it was cut off: before its ellipsis.
fn end_of_cut(text: &str) -> Option<usize> {
    let stem = text.strip_suffix("...").or_else(|| text.strip_suffix('…'))?;
    Some(stem.trim_end().len())
}

/// Those that are values of their own. A value that is cut out of another by its name alone, because the text was read with
/// an escape too many, is none.
fn dominant(mut found: Vec<Candidate>) -> Vec<Candidate> {
    found.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
    let mut end = 0;
    found.retain(|found| {
        let inside = found.range.end <= end;
        end = end.max(found.range.end);
        !inside || !matches!(found.kind, Kind::Password | Kind::Secret)
    });
    found
}

/// What stands in a text at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The value of this number.
    Secret(u32),
    LeftOut(Kind),
}

/// A stretch of a text, as it is written, that is to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub range: Range<usize>,
    pub what: What,
}

/// All values that were found, and the decisions about them.
pub struct Secrets {
    detector: Detector,
    rules: Rules,
    pub(super) list: Vec<Secret>,
    by_value: HashMap<String, u32>,
    /// Finds all values that reach further than their place.
    known: AhoCorasick,
    /// Whose each of its patterns is.
    owners: Vec<u32>,
    /// The longer of these patterns in their order, and whose each is.
    sorted: Vec<(String, u32)>,
}

impl Secrets {
    pub fn list(&self) -> &[Secret] {
        &self.list
    }

    /// Decides about one value, by its place in the list.
    pub fn decide(&mut self, index: usize, keep: bool) {
        if let Some(secret) = self.list.get_mut(index) {
            secret.keep = keep;
        }
    }

    /// Decides about all values of a kind.
    pub fn decide_kind(&mut self, kind: Kind, keep: bool) {
        self.list.iter_mut().filter(|secret| secret.kind == kind).for_each(|secret| secret.keep = keep);
    }

    /// What is to be replaced in a piece of JSON, in order and apart from each other. With `all`, kept values are among it.
    pub(super) fn marks(&self, token: Token<'_>, all: bool) -> Vec<Mark> {
        if let Some((kind, len)) = self.rules.left_out_as_a_whole(token) {
            return vec![Mark { range: 0..len, what: What::LeftOut(kind) }];
        }
        let mut marks = Vec::new();
        each_text(token, &mut |text, offset| {
            self.mark(text, all, &mut |range, what| {
                marks.push(Mark { range: range.start + offset..range.end + offset, what });
            });
        });
        apart(marks)
    }

    fn mark(&self, text: Text<'_>, all: bool, found: &mut dyn FnMut(Range<usize>, What)) {
        let wanted = |id: u32| all || self.list.get(id as usize).is_some_and(|secret| !secret.keep);
        each_view(text.written, text.quoted, &mut |view, under| {
            let named = text.name.filter(|_| !self.rules.off).and_then(|name| Detector::look_at_value(name, view));
            for seen in self.detector.look(view).into_iter().chain(named) {
                let value = view.get(seen.range.clone()).unwrap_or_default();
                match seen.kind {
                    Kind::Image if !self.rules.images => found(under(&seen.range), What::LeftOut(Kind::Image)),
                    _ => match self.by_value.get(value) {
                        Some(id) if wanted(*id) => found(under(&seen.range), What::Secret(*id)),
                        _ => {}
                    },
                }
            }
            if let Some((range, id)) = self.cut_off(view).filter(|(_, id)| wanted(*id)) {
                found(under(&range), What::Secret(id));
            }
            for hit in self.known.find_overlapping_iter(view) {
                let Some(id) = self.owners.get(hit.pattern().as_usize()).copied().filter(|id| wanted(*id)) else {
                    continue;
                };
                let anywhere = self.list.get(id as usize).is_some_and(|secret| secret.reach == Reach::Anywhere);
                if anywhere || is_word(view, &hit.range()) {
                    found(under(&hit.range()), What::Secret(id));
                }
            }
        });
    }

    /// The start of a value at the end of a text that was cut off there, as summaries are.
    fn cut_off(&self, text: &str) -> Option<(Range<usize>, u32)> {
        let end = end_of_cut(text)?;
        let stem = text.get(..end)?;
        let longest = end.min(MAX_START_BYTES);
        (MIN_START_BYTES..=longest).rev().find_map(|len| {
            let start = stem.get(end - len..)?;
            let at = self.sorted.partition_point(|(pattern, _)| pattern.as_str() < start);
            let (pattern, id) = self.sorted.get(at)?;
            let apart = !stem.get(..end - len)?.ends_with(char::is_alphanumeric);
            (apart && pattern.starts_with(start)).then_some((end - len..end, *id))
        })
    }

    /// The values that are replaced and are looked for wherever their bytes are.
    pub(super) fn replaced_anywhere(&self) -> impl Iterator<Item = &Secret> {
        self.list.iter().filter(|secret| !secret.keep && secret.reach == Reach::Anywhere)
    }
}

/// Marks in order; those that overlap become one, of what the longest of them is.
fn apart(mut marks: Vec<Mark>) -> Vec<Mark> {
    marks.sort_by_key(|mark| (mark.range.start, std::cmp::Reverse(mark.range.end)));
    let mut apart: Vec<(Mark, usize)> = Vec::new();
    for mark in marks {
        let len = mark.range.len();
        match apart.last_mut() {
            Some((last, longest)) if mark.range.start < last.range.end => {
                last.range.end = last.range.end.max(mark.range.end);
                if len > *longest {
                    (last.what, *longest) = (mark.what, len);
                }
            }
            _ => apart.push((mark, len)),
        }
    }
    apart.into_iter().map(|(mark, _)| mark).collect()
}

/// Whether nothing that belongs to a word stands right before or after a stretch.
fn is_word(text: &str, range: &Range<usize>) -> bool {
    let joins = |c: char| c.is_alphanumeric();
    let before = text.get(..range.start).and_then(|before| before.chars().next_back());
    let after = text.get(range.end..).and_then(|after| after.chars().next());
    !before.is_some_and(joins) && !after.is_some_and(joins)
}

/// A text to look at.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    pub written: &'a str,
    /// It is the content of a JSON string, with its escapes.
    quoted: bool,
    /// The name that it goes by.
    name: Option<&'a str>,
}

/// Hands over the texts of a piece of JSON, with their offset in it: the content of a string; of what is between strings
/// all of it, and each number that goes by a name. Bytes that are no UTF-8 part one text from the next.
pub(super) fn each_text(token: Token<'_>, visit: &mut dyn FnMut(Text<'_>, usize)) {
    let (bytes, quoted, name) = match token {
        Token::String { content, role: Role::Value(name), .. } => (content, true, name),
        Token::String { content, role: Role::Key, .. } => (content, true, None),
        Token::Between { bytes, .. } => (bytes, false, None),
    };
    let mut offset = 0;
    for chunk in bytes.utf8_chunks() {
        if !chunk.valid().is_empty() {
            visit(Text { written: chunk.valid(), quoted, name }, offset);
        }
        offset += chunk.valid().len() + chunk.invalid().len();
    }
    if let Token::Between { bytes, name: Some(name) } = token {
        for range in scalars(bytes) {
            let number = bytes.get(range.clone()).and_then(|number| std::str::from_utf8(number).ok());
            if let Some(written) = number.filter(|number| number.len() >= MIN_NUMBER_BYTES) {
                visit(Text { written, quoted: false, name: Some(name) }, range.start);
            }
        }
    }
}

/// The numbers and words in what stands between strings.
pub(super) fn scalars(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..)?;
        let start = at + rest.iter().position(is_part)?;
        let len = bytes.get(start..)?.iter().take_while(|byte| is_part(byte)).count();
        at = start + len;
        Some(start..at)
    })
}

/// Feeds one text to the search.
pub struct SearchReader<'a> {
    search: &'a mut Search,
    cutter: Cutter,
}

impl SearchReader<'_> {
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), RedactError> {
        let search = &mut *self.search;
        self.cutter.feed(bytes, &mut |_: At, token| search.token(token))
    }

    pub fn finish(mut self) -> Result<(), RedactError> {
        let search = &mut *self.search;
        self.cutter.finish(&mut |_: At, token| search.token(token))
    }
}

/// The text of a stretch of a string with one layer of escapes off, for showing.
pub(super) fn shown(written: &str) -> String {
    View::of(written).map_or_else(|| written.to_owned(), |view| view.text)
}
