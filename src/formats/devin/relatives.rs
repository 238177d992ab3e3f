//! Sessions that were forked from each other: the database does not say so, but a fork keeps the ids of the messages.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use super::chain::Node;
use super::message::Role;
use super::recorded::{Recorded, object};
use super::rows::{Layout, Rows, SessionRow};
use super::session::Assembled;
use super::tables::{integer, text};
use crate::model::Relative;
use crate::store::{Fault, Watch};

/// A session has few forks; so many are looked into.
const MAX_RELATIVES: usize = 32;
/// A message longer than this is not read to learn its id, in bytes.
const MAX_MESSAGE_BYTES: i64 = 1024 * 1024;

/// A session that shares messages with the one that is read.
pub(super) struct Shared {
    session: SessionRow,
    /// The ids of its messages, by their nodes.
    messages: HashMap<i64, String>,
}

/// Finds the relatives of a session: those that have its first prompt in the same node, for forks keep the numbers of
/// nodes. One message of each session is looked at, and all those of relatives.
pub(super) fn find(
    layout: &Layout,
    connection: &Connection,
    rows: &Rows,
    watch: Watch<'_>,
) -> Result<Vec<Shared>, Fault> {
    let chain = rows.forest.chain(rows.session.head).nodes;
    let nodes = chain.iter().filter_map(|number| rows.forest.node(*number));
    let Some(first) = nodes.into_iter().find(|node| node.role() == Role::User && node.message_id().is_some()) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let sessions = layout.sessions(connection)?;
    let total = sessions.len() as u64;
    let query = format!(
        "SELECT chat_message FROM message_nodes \
         WHERE session_id = ?1 AND node_id = ?2 AND octet_length(chat_message) <= {MAX_MESSAGE_BYTES}"
    );
    let mut statement = connection.prepare(&query)?;
    for (done, session) in (0..).zip(sessions) {
        watch.step(done, total)?;
        if session.id == rows.session.id || found.len() >= MAX_RELATIVES {
            continue;
        }
        let other = statement.query_row((&session.id, first.id), |row| Ok(text(row, 0).ok().flatten())).optional();
        let other = other.ok().flatten().flatten();
        if other.as_deref().and_then(message_id).as_deref() == first.message_id() {
            let messages = messages(connection, &session.id, watch)?;
            found.push(Shared { session, messages });
        }
    }
    Ok(found)
}

/// The ids of a session's messages, by their nodes.
fn messages(connection: &Connection, session_id: &str, watch: Watch<'_>) -> Result<HashMap<i64, String>, Fault> {
    let query = format!(
        "SELECT node_id, chat_message FROM message_nodes \
         WHERE session_id = ?1 AND octet_length(chat_message) <= {MAX_MESSAGE_BYTES} ORDER BY node_id"
    );
    let mut statement = connection.prepare(&query)?;
    let mut rows = statement.query([session_id])?;
    let mut messages = HashMap::new();
    // Where the database is damaged, what came before it is enough.
    while let Ok(Some(row)) = rows.next() {
        watch.step(0, 0)?;
        if let (Some(node), Some(message)) = (integer(row, 0)?, text(row, 1)?)
            && let Some(id) = message_id(&message)
        {
            messages.insert(node, id);
        }
    }
    Ok(messages)
}

fn message_id(message: &str) -> Option<String> {
    let mut spare = String::new();
    object::<Recorded>(message, &mut spare)?.0.message_id.to_owned_option()
}

/// Says of each relative how far it goes with the session.
pub(super) fn name(assembled: &mut Assembled, rows: &Rows, shared: Vec<Shared>) {
    let chain: Vec<&Node> = assembled.chain.nodes.iter().filter_map(|number| rows.forest.node(*number)).collect();
    for other in shared {
        let is_shared = |node: &&&Node| {
            let id = other.messages.get(&node.id).map(String::as_str);
            id == node.message_id() && id.is_some()
        };
        let length = chain.iter().take_while(is_shared).count();
        let Some(last) = length.checked_sub(1).and_then(|last| chain.get(last)) else { continue };
        let whole = assembled.targets.iter().rposition(|targets| targets.fork < length);
        let (own, its) = (rows.session.created_at, other.session.created_at);
        let is_named_fork = |title: Option<&str>| title.is_some_and(|title| title.ends_with(" (fork)"));
        assembled.session.relatives.push(Relative {
            is_fork: match own.cmp(&its) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Greater => false,
                std::cmp::Ordering::Equal => is_named_fork(other.session.title.as_deref()),
            },
            session_id: other.session.id,
            title: other.session.title,
            shared_to: Some(last.node_id()),
            step_number: whole.and_then(|whole| u32::try_from(whole + 1).ok()),
        });
    }
}
