//! Recorded patches: which files a commit changes, and how, even though Outpost makes Git write every file as binary.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use similar::{ChangeTag, TextDiff};

use super::base85::{MAX_BLOB_BYTES, decode, inflate};
use super::delta::{self, Delta};

/// The object id of the empty blob, for which Git writes no hunk.
const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
/// Contents kept to apply later deltas to.
const MAX_BLOBS_BYTES: usize = 8 * MAX_BLOB_BYTES;
/// Contents unpacked for one text: a small patch can be packed so that it unfolds to gigabytes.
const MAX_UNPACKED_BYTES: usize = 32 * MAX_BLOB_BYTES;
/// Larger contents are not compared line by line.
const MAX_DIFF_BYTES: usize = 1024 * 1024;
/// A comparison that takes longer gives a coarser result, and so does each one when all of them together took longer.
const DIFF_TIME: Duration = Duration::from_millis(300);
const ALL_DIFFS_TIME: Duration = Duration::from_secs(3);

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    pub path: String,
    pub change: Change,
    pub old_mode: Option<String>,
    pub new_mode: Option<String>,
    /// Full object ids; zeros where there is no file.
    pub old_blob: String,
    pub new_blob: String,
    /// Bytes, where the patch tells.
    pub old_bytes: Option<usize>,
    pub new_bytes: Option<usize>,
    /// Lines added and removed, where both contents are known and are text.
    pub lines: Option<(usize, usize)>,
    /// The change as unified hunks.
    pub diff: Option<String>,
    /// A content that is known is no text.
    pub is_binary: bool,
    /// The change has only the pieces that are not the same on both sides.
    pub is_partial: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Deleted,
    Modified,
}

/// Contents by object id, known from earlier patches.
#[derive(Debug, Default)]
pub struct Blobs {
    known: HashMap<String, Vec<u8>>,
    bytes: usize,
    unpacked: usize,
    compared: Duration,
}

impl Blobs {
    fn keep(&mut self, id: &str, content: &[u8]) {
        if self.bytes + content.len() <= MAX_BLOBS_BYTES && !is_none(id) && !self.known.contains_key(id) {
            self.bytes += content.len();
            self.known.insert(id.to_owned(), content.to_vec());
        }
    }

    fn unpack(&mut self, hunk: &Hunk<'_>) -> Option<Vec<u8>> {
        if self.spend(hunk.bytes.min(MAX_BLOB_BYTES)) { inflate(&decode(&hunk.lines)?, hunk.bytes) } else { None }
    }

    /// Whether so many bytes more may be unpacked.
    fn spend(&mut self, bytes: usize) -> bool {
        self.unpacked = self.unpacked.saturating_add(bytes);
        self.unpacked <= MAX_UNPACKED_BYTES
    }

    fn get(&self, id: &str) -> Option<Vec<u8>> {
        if is_none(id) || id == EMPTY_BLOB { Some(Vec::new()) } else { self.known.get(id).cloned() }
    }
}

fn is_text(content: &[u8]) -> bool {
    !content.contains(&0) && std::str::from_utf8(content).is_ok()
}

/// What a file of this mode is, where it is no plain one.
fn mode_word(mode: &str) -> Option<&'static str> {
    match mode {
        "100755" => Some("executable"),
        "120000" => Some("symbolic link"),
        "160000" => Some("submodule"),
        _ => None,
    }
}

/// Whether an object id stands for no file.
fn is_none(id: &str) -> bool {
    id.bytes().all(|byte| byte == b'0')
}

/// One of the two hunks of a binary file: the whole content, or a delta from the other side.
struct Hunk<'a> {
    is_literal: bool,
    bytes: usize,
    lines: Vec<&'a str>,
}

/// A file's part of a patch, not unpacked.
struct Part<'a> {
    file: FilePatch,
    hunks: Vec<Hunk<'a>>,
    text: String,
}

/// The files of a patch with what is known of their contents. `blobs` takes in what later patches may build on.
pub fn read(patch: &str, blobs: &mut Blobs) -> Vec<FilePatch> {
    parts(patch)
        .into_iter()
        .map(|mut part| {
            part.unpack(blobs);
            part.file
        })
        .collect()
}

/// Takes in the contents of a patch that later ones may build on.
pub fn learn(patch: &str, blobs: &mut Blobs) {
    for mut part in parts(patch) {
        part.contents(blobs);
    }
}

/// The files of a patch and what it does to them, without unpacking anything.
pub fn list(patch: &str) -> Vec<(String, Change)> {
    parts(patch).into_iter().map(|part| (part.file.path, part.file.change)).collect()
}

fn parts(patch: &str) -> Vec<Part<'_>> {
    let mut parts: Vec<Part> = Vec::new();
    let mut lines = patch.lines();
    while let Some(line) = lines.next() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            parts.push(Part::new(names));
            continue;
        }
        let Some(part) = parts.last_mut() else { continue };
        let hunk = line.strip_prefix("literal ").map(|bytes| (true, bytes));
        if !part.text.is_empty() || line.starts_with("@@ ") {
            part.text.push_str(line);
            part.text.push('\n');
        } else if let Some((is_literal, bytes)) =
            hunk.or_else(|| line.strip_prefix("delta ").map(|bytes| (false, bytes)))
            && let Ok(bytes) = bytes.parse()
        {
            let lines = lines.by_ref().take_while(|line| !line.is_empty()).collect();
            part.hunks.push(Hunk { is_literal, bytes, lines });
        } else {
            part.header(line);
        }
    }
    parts
}

impl Part<'_> {
    fn new(names: &str) -> Self {
        Self {
            file: FilePatch {
                path: path(names),
                change: Change::Modified,
                old_mode: None,
                new_mode: None,
                old_blob: String::new(),
                new_blob: String::new(),
                old_bytes: None,
                new_bytes: None,
                lines: None,
                diff: None,
                is_binary: false,
                is_partial: false,
            },
            hunks: Vec::new(),
            text: String::new(),
        }
    }

    fn header(&mut self, line: &str) {
        let file = &mut self.file;
        if let Some(mode) = line.strip_prefix("new file mode ") {
            (file.change, file.new_mode) = (Change::Added, Some(mode.to_owned()));
        } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
            (file.change, file.old_mode) = (Change::Deleted, Some(mode.to_owned()));
        } else if let Some(mode) = line.strip_prefix("old mode ") {
            file.old_mode = Some(mode.to_owned());
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            file.new_mode = Some(mode.to_owned());
        } else if let Some((old, rest)) = line.strip_prefix("index ").and_then(|ids| ids.split_once("..")) {
            let (new, mode) = rest.split_once(' ').map_or((rest, None), |(new, mode)| (new, Some(mode)));
            (file.old_blob, file.new_blob) = (old.to_owned(), new.to_owned());
            if let Some(mode) = mode {
                (file.old_mode, file.new_mode) = (Some(mode.to_owned()), Some(mode.to_owned()));
            }
        }
    }

    /// Works out both contents and compares them.
    fn unpack(&mut self, blobs: &mut Blobs) {
        if !self.text.is_empty() {
            self.count_text();
            return;
        }
        let (old, new) = self.contents(blobs);
        self.file.is_binary = [&old, &new].into_iter().flatten().any(|content| !is_text(content));
        if let (Some(old), Some(new)) = (old, new) {
            self.compare(&old, &new, blobs);
        }
    }

    /// The contents before and after, as far as they are known.
    fn contents(&mut self, blobs: &mut Blobs) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        if self.file.old_blob.is_empty() {
            // Only the mode changed.
            return (None, None);
        }
        let data: Vec<Option<Vec<u8>>> = self.hunks.iter().map(|hunk| blobs.unpack(hunk)).collect();
        let side = |index: usize, id: &str, other: Option<&Vec<u8>>| -> Option<Vec<u8>> {
            let known = || blobs.get(id);
            let (Some(hunk), Some(Some(data))) = (self.hunks.get(index), data.get(index)) else { return known() };
            if hunk.is_literal {
                return Some(data.clone());
            }
            known().or_else(|| Delta::parse(data)?.apply(other?))
        };
        // Forward hunk first: it gives the new content, the other the old. Either may need the other side.
        let mut old = side(1, &self.file.old_blob, None);
        let new = side(0, &self.file.new_blob, old.as_ref());
        if old.is_none() {
            old = side(1, &self.file.old_blob, new.as_ref());
        }
        for (hunk, bytes) in self.hunks.iter().zip([&mut self.file.new_bytes, &mut self.file.old_bytes]) {
            *bytes = hunk.is_literal.then_some(hunk.bytes);
        }
        if old.is_none() && new.is_none() {
            self.read_deltas(&data, blobs);
        }
        blobs.spend([&old, &new].into_iter().flatten().map(Vec::len).sum());
        if let Some(new) = &new {
            blobs.keep(&self.file.new_blob, new);
            self.file.new_bytes = Some(new.len());
        }
        if let Some(old) = &old {
            blobs.keep(&self.file.old_blob, old);
            self.file.old_bytes = Some(old.len());
        }
        (old, new)
    }

    /// What two deltas tell though the content that they build on is not known.
    fn read_deltas(&mut self, data: &[Option<Vec<u8>>], blobs: &mut Blobs) {
        let mut deltas = self.hunks.iter().zip(data).map(|(hunk, data)| match data {
            Some(data) if !hunk.is_literal => Delta::parse(data),
            _ => None,
        });
        let (Some(Some(forward)), reverse) = (deltas.next(), deltas.next().flatten()) else { return };
        (self.file.old_bytes, self.file.new_bytes) = (Some(forward.old_len), Some(forward.new_len));
        let is_small = forward.old_len.max(forward.new_len) <= MAX_DIFF_BYTES;
        let is_wanted = is_small && blobs.spend(forward.old_len + forward.new_len);
        let pieces = reverse.filter(|_| is_wanted).and_then(|reverse| delta::pieces(&forward, &reverse));
        self.file.diff = pieces.filter(|pieces| !pieces.is_empty());
        self.file.is_partial = self.file.diff.is_some();
    }

    fn compare(&mut self, old: &[u8], new: &[u8], blobs: &mut Blobs) {
        if old.len().max(new.len()) > MAX_DIFF_BYTES || self.file.is_binary {
            return;
        }
        let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else { return };
        let start = Instant::now();
        let time = ALL_DIFFS_TIME.saturating_sub(blobs.compared).min(DIFF_TIME);
        let diff = TextDiff::configure().timeout(time).diff_lines(old, new);
        blobs.compared += start.elapsed();
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        self.file.lines = Some((count(ChangeTag::Insert), count(ChangeTag::Delete)));
        self.file.diff = Some(diff.unified_diff().context_radius(3).to_string()).filter(|diff| !diff.is_empty());
    }

    /// A patch with plain hunks already is what is shown.
    fn count_text(&mut self) {
        let count = |sign| self.text.lines().filter(|line| line.starts_with(sign)).count();
        self.file.lines = Some((count('+'), count('-')));
        self.file.diff = Some(std::mem::take(&mut self.text));
    }
}

impl FilePatch {
    /// One line: what happens to which file, and how much of it changes.
    pub fn headline(&self) -> String {
        let word = match self.change {
            Change::Added => "added",
            Change::Deleted => "deleted",
            Change::Modified => "changed",
        };
        let size = |bytes: Option<usize>| bytes.map_or_else(|| "?".to_owned(), |bytes| bytes.to_string());
        let mut line = format!("{word} {}", self.path);
        if let Some((added, removed)) = self.lines {
            line.push_str(&format!(" (+{added} −{removed})"));
        } else if !self.old_blob.is_empty() {
            let sizes = match self.change {
                Change::Added => size(self.new_bytes),
                Change::Deleted => size(self.old_bytes),
                Change::Modified => format!("{} → {}", size(self.old_bytes), size(self.new_bytes)),
            };
            line.push_str(&format!(" ({}{sizes} bytes)", if self.is_binary { "binary, " } else { "" }));
        }
        match (&self.old_mode, &self.new_mode) {
            (Some(old), Some(new)) if old != new => line.push_str(&format!(", mode {old} → {new}")),
            (_, Some(mode)) | (Some(mode), None) => {
                line.extend(mode_word(mode).map(|word| format!(", {word}")));
            }
            (None, None) => {}
        }
        if self.is_partial {
            line.push_str("; … is what stayed, which is not recorded");
        }
        line
    }
}

/// The path out of `a/PATH b/PATH`, where both are the same: Outpost has renames written as two files.
fn path(names: &str) -> String {
    if let Some(quoted) = names.strip_prefix('"') {
        return unquote(quoted).strip_prefix("a/").map(str::to_owned).unwrap_or_default();
    }
    let half = names.len().saturating_sub(1) / 2;
    let name = names.get(..half).unwrap_or(names);
    name.strip_prefix("a/").unwrap_or(name).to_owned()
}

/// A path as Git quotes it, up to the closing quote: C escapes, bytes above ASCII in octal.
fn unquote(quoted: &str) -> String {
    let mut bytes = Vec::new();
    let mut input = quoted.bytes().peekable();
    while let Some(byte) = input.next() {
        match byte {
            b'"' => break,
            b'\\' => match input.next() {
                Some(digit @ b'0'..=b'7') => {
                    let mut value = u32::from(digit - b'0');
                    for _ in 0..2 {
                        if let Some(digit) = input.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                            value = value * 8 + u32::from(digit - b'0');
                        }
                    }
                    bytes.push(u8::try_from(value & 0xFF).unwrap_or(b'?'));
                }
                Some(b'n') => bytes.push(b'\n'),
                Some(b't') => bytes.push(b'\t'),
                Some(b'r') => bytes.push(b'\r'),
                Some(b'a') => bytes.push(7),
                Some(b'b') => bytes.push(8),
                Some(b'v') => bytes.push(11),
                Some(b'f') => bytes.push(12),
                Some(other) => bytes.push(other),
                None => break,
            },
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
