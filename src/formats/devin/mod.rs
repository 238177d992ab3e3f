//! Devin's sessions: the database of its command line, and the copies that its desktop program keeps.
//!
//! Rows of one session are read in one go (`rows`) into a small forest of messages (`chain`); the walk from the head
//! gives steps (`steps`), events (`scene`, `events`) and what else a session has. Texts are read again from the
//! database when they are wanted (`stored`).

mod branches;
mod calls;
mod chain;
mod desktop;
mod events;
mod family;
mod fork;
mod joined;
mod lock;
mod message;
mod pointers;
mod question;
mod recorded;
mod relatives;
mod replay;
mod revert;
mod rows;
mod scene;
mod session;
mod shown;
mod steps;
mod stored;
mod subagents;
mod tables;
mod workspace;

#[cfg(test)]
mod tests;

use super::detect::{Sample, Shape};
use super::{Format, Reading};
use crate::model::FormatName;
pub use family::FAMILY;

pub const CLI: Format = Format {
    name: FormatName::DevinCli,
    description: "Devin session database (sessions.db)",
    recognise: is_database,
    first_prompt: |_| None,
    read: Reading::Together(&FAMILY),
};

pub const DESKTOP: Format = Format {
    name: FormatName::DevinDesktop,
    description: "Devin Desktop message store (acp-messages, state.vscdb)",
    recognise: is_desktop,
    first_prompt: |_| None,
    read: Reading::Together(&FAMILY),
};

/// Whether an SQLite file has a table, by its sample.
fn has_table(sample: &Sample, name: &str) -> bool {
    let tables = sample.records.first().and_then(|record| record.get("tables")?.as_array());
    sample.shape == Shape::Sqlite
        && tables.is_some_and(|tables| tables.iter().any(|table| table.as_str() == Some(name)))
}

fn is_database(sample: &Sample) -> u32 {
    // Before the fifth layout messages were in another table.
    let is_own = has_table(sample, "message_nodes") || has_table(sample, "refinery_schema_history");
    if has_table(sample, "sessions") && is_own { 10 } else { 0 }
}

fn is_desktop(sample: &Sample) -> u32 {
    let is_copy = has_table(sample, "meta") && has_table(sample, "messages");
    // Settings databases of other editors have the same table.
    if is_copy || (has_table(sample, "ItemTable") && pointers::has_any(&sample.path)) { 10 } else { 0 }
}
