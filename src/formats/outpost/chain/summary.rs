//! What a list says of a journal in objects: by its index and a few segments, however long it is.

use std::time::UNIX_EPOCH;

use serde::Deserialize;

use super::super::entry::Entry;
use super::super::kind::Kind;
use super::super::objects::Objects;
use super::Summary;
use super::segment::{Segment, index};
use crate::formats::json;
use crate::model::summarise;

/// Segments that are read from the newest back, and of the oldest files where that is not all.
const FROM_HEAD: usize = 128;
const FROM_START: usize = 16;

/// Looks at the journal whose objects are below the key `logs/<log>`.
pub fn summary(objects: &Objects, log: &str) -> Summary {
    let folder = format!("logs/{log}");
    let index_key = format!("{folder}/index");
    let mut keys = objects.keys_in(&folder);
    keys.retain(|key| *key != index_key);
    let index = objects.read(&index_key).ok().and_then(|object| index(&object.body));
    let files: Vec<(i64, &String, u64)> = keys.iter().filter_map(|key| stat(objects, key)).collect();
    let mut summary = Summary {
        id: log.to_owned(),
        status: if index.as_ref().is_some_and(|index| index.closed) { "closed" } else { "running or crashed" }
            .to_owned(),
        bytes: files.iter().map(|(.., bytes)| bytes).sum(),
        segments: keys.len(),
        ..Summary::default()
    };
    let mut glance = Glance { objects, summary: &mut summary, is_first: true };
    let is_closed = index.as_ref().is_some_and(|index| index.closed);
    let head = index.and_then(|index| index.head).map(|head| head.key);
    // Without an index, the file that was written last.
    let mut next = head.or_else(|| files.iter().max().map(|(_, key, _)| (*key).clone()));
    for _ in 0..FROM_HEAD {
        let Some(key) = next.take() else { break };
        next = glance.look(&key, is_closed);
    }
    if next.is_some() {
        let mut files = files;
        files.sort();
        for (_, key, _) in files.into_iter().take(FROM_START).rev() {
            glance.look(key, is_closed);
        }
    }
    summary
}

/// When an object was written, in milliseconds since 1970, its key, and its bytes.
fn stat<'a>(objects: &Objects, key: &'a String) -> Option<(i64, &'a String, u64)> {
    let metadata = objects.path(key).ok()?.metadata().ok()?;
    let age = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((i64::try_from(age.as_millis()).ok()?, key, metadata.len()))
}

struct Glance<'a> {
    objects: &'a Objects,
    summary: &'a mut Summary,
    /// No segment was looked at yet.
    is_first: bool,
}

impl Glance<'_> {
    /// Takes from a segment what it says; gives the key of the one before it. They come from the newest to the oldest.
    fn look(&mut self, key: &str, is_closed: bool) -> Option<String> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Body<'a> {
            #[serde(borrow)]
            event: Entry<'a>,
        }
        let object = self.objects.read(key).ok()?;
        let text = json::readable(&object.body).text;
        let mut spare = String::new();
        let body: Body = json::record(&text, &mut spare).unwrap_or_default();
        let entry = body.event;
        if let Some(at) = entry.time().or(object.modified_at) {
            self.summary.started_at = Some(self.summary.started_at.map_or(at, |known| known.min(at)));
            self.summary.ended_at = Some(self.summary.ended_at.map_or(at, |known| known.max(at)));
        }
        if let Some(id) = entry.scope.0.as_ref().and_then(|scope| scope.dispatch_id.to_owned_option()) {
            self.summary.id = id;
        }
        match entry.kind() {
            Kind::DispatchFinished if self.is_first && is_closed => {
                self.summary.status = entry.status.as_str().unwrap_or("closed").to_owned();
            }
            Kind::Prompt => {
                let text = entry.text.and_then(json::string).unwrap_or_default();
                self.summary.title = Some(summarise(&text)).filter(|title| !title.is_empty());
            }
            _ => {}
        }
        self.is_first = false;
        Segment::read(&object).previous.map(|previous| previous.key)
    }
}
