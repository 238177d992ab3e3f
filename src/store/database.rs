//! Reading SQLite files that their programs may be writing: no lock is held, nothing is written, and what is read is
//! of one moment.
//!
//! A writer never waits for us, because the locks of the connection are no-ops (`unix-none`) and its index of the
//! write-ahead log is kept in memory (exclusive mode), so that there is no `-shm` file. In return a checkpoint may
//! overwrite pages while they are read. That shows in the file's header, length or time, or in the header of the log,
//! and then everything is read again.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Cancelled, ReadError};

/// How often a database is read again that is written meanwhile.
const ATTEMPTS: u32 = 10;
/// Before each further attempt, times its number.
const PAUSE: Duration = Duration::from_millis(30);
/// File times are at least this exact: one that is older than this is changed by every write from now on.
const CLOCK_TICK: Duration = Duration::from_millis(20);
/// No value of a row is longer, in bytes.
const MAX_VALUE_BYTES: i32 = 512 * 1024 * 1024;
/// Tables whose names are looked at.
const MAX_TABLES: u32 = 1000;
/// Every database begins with a header of so many bytes.
const HEADER_BYTES: usize = 100;
const LOG_HEADER_BYTES: usize = 32;

/// An SQLite file.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    /// The connection of the last read, while the file is as it was then.
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    state: State,
    way: Way,
    connection: Connection,
}

/// Why reading stopped.
#[derive(Debug)]
pub enum Fault {
    Sql(rusqlite::Error),
    Read(ReadError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<Cancelled> for Fault {
    fn from(cancelled: Cancelled) -> Self {
        Self::Read(cancelled.into())
    }
}

/// What must not change while a database is read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    header: Vec<u8>,
    len: u64,
    modified: Option<SystemTime>,
    /// The header of the write-ahead log, which is another one each time the log begins anew; `None` without a log. That
    /// the log grows changes nothing in what was read.
    log: Option<Vec<u8>>,
}

/// How a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// With its write-ahead log.
    Whole,
    /// The file alone.
    Alone,
    /// The file alone, as far as it goes although its pages contradict each other.
    Salvage,
}

impl Database {
    /// Nothing is opened yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), kept: Mutex::new(None) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of its write-ahead log, whether there is one or not.
    pub fn log_path(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push("-wal");
        path.into()
    }

    /// Runs `work` over one consistent state of the database; more than once when that is written meanwhile.
    pub fn read<T>(&self, mut work: impl FnMut(&Connection) -> Result<T, Fault>) -> Result<T, ReadError> {
        for attempt in 0..ATTEMPTS {
            thread::sleep(PAUSE * attempt);
            let state = self.state_at_rest()?;
            let result = self.read_once(&state, &mut work);
            if let Err(Fault::Read(error @ ReadError::Cancelled(_))) = result {
                return Err(error);
            }
            if self.state()? == state {
                return result.map_err(|fault| match fault {
                    Fault::Read(error) => error,
                    Fault::Sql(error) => self.refuse(&sentence(&error)),
                });
            }
        }
        Err(self.refuse("the database is being written all the time; try again in a moment"))
    }

    /// The names of its tables.
    pub fn tables(&self) -> Result<Vec<String>, ReadError> {
        self.read(|connection| {
            let query = format!("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT {MAX_TABLES}");
            let mut names = connection.prepare(&query)?;
            let names = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Ok(names)
        })
    }

    /// What a person should know about the files: a log that is of another database, and one that is missing, unless the
    /// database is where its program keeps it. There it is missing after each clean end.
    pub fn notices(&self, is_at_home: bool) -> Vec<String> {
        let Ok(state) = self.state() else { return Vec::new() };
        let mut notices = Vec::new();
        if state.is_logged() && state.log.is_none() && !is_at_home {
            notices.push(
                "there is no -wal file beside the database: if it was copied without it, the last turns may be missing"
                    .to_owned(),
            );
        }
        if state.has_foreign_log() {
            notices.push("the -wal file beside the database is not its own: it was left out".to_owned());
        }
        match self.kept.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|kept| kept.way) {
            Some(Way::Alone) if state.has_log() && !state.has_foreign_log() => {
                notices.push("the -wal file beside the database does not fit to it: it was left out".to_owned());
            }
            Some(Way::Salvage) => {
                notices.push("the database is damaged: what can still be read of it is shown".to_owned());
            }
            _ => {}
        }
        notices
    }

    fn read_once<T>(&self, state: &State, work: &mut impl FnMut(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.state == *state) {
            return within(&kept.connection, work);
        }
        *kept = None;
        let mut first = None;
        for way in state.ways() {
            let result = self.connect(way).map_err(Fault::from).and_then(|connection| {
                let result = within(&connection, work)?;
                Ok((result, connection))
            });
            match result {
                Ok((result, connection)) => {
                    *kept = Some(Kept { state: state.clone(), way, connection });
                    return Ok(result);
                }
                Err(Fault::Sql(error)) if first.is_some() || is_damage(&error) => {
                    first.get_or_insert(Fault::Sql(error));
                }
                Err(fault) => return Err(fault),
            }
        }
        Err(first.unwrap_or(Fault::Sql(rusqlite::Error::InvalidQuery)))
    }

    fn connect(&self, way: Way) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(address(&self.path, way), flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
        // Before anything is read of the file: from its first look at the log on, the index of the log is in memory.
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "mmap_size", 0)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "query_only", true)?;
        if way == Way::Salvage {
            // A file that is shorter than its header says is read only so. Nothing can be written all the same.
            connection.pragma_update(None, "writable_schema", true)?;
        }
        Ok(connection)
    }

    /// The state, once every further write will show in it.
    fn state_at_rest(&self) -> Result<State, ReadError> {
        let state = self.state()?;
        let age = state.modified.and_then(|time| time.elapsed().ok());
        match age.and_then(|age| CLOCK_TICK.checked_sub(age)) {
            None => Ok(state),
            Some(rest) => {
                thread::sleep(rest);
                self.state()
            }
        }
    }

    fn state(&self) -> Result<State, ReadError> {
        let failed = |source| ReadError::Io { source, path: self.path.clone() };
        let metadata = std::fs::metadata(&self.path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(self.refuse("is not a regular file"));
        }
        let header = start(&self.path, HEADER_BYTES).map_err(failed)?;
        // SQLite deletes the log of a database that is empty. It must not get to see one.
        if header.len() < HEADER_BYTES || !header.starts_with(b"SQLite format 3\0") {
            return Err(self.refuse("is no SQLite database, or only the start of one"));
        }
        Ok(State {
            header,
            len: metadata.len(),
            modified: metadata.modified().ok(),
            log: start(&self.log_path(), LOG_HEADER_BYTES).ok(),
        })
    }

    fn refuse(&self, reason: &str) -> ReadError {
        ReadError::Open { reason: reason.to_owned(), path: self.path.clone() }
    }
}

impl State {
    /// Whether the database keeps a write-ahead log.
    fn is_logged(&self) -> bool {
        matches!(self.header.get(18..20), Some([_, 2] | [2, _]))
    }

    fn has_log(&self) -> bool {
        self.log.as_ref().is_some_and(|log| !log.is_empty())
    }

    /// Whether there is a log that cannot be of this database.
    fn has_foreign_log(&self) -> bool {
        let fits = |log: &[u8]| self.is_logged() && log_page_size(log) == Some(page_size(&self.header));
        self.log.as_deref().is_some_and(|log| !log.is_empty() && !fits(log))
    }

    /// How it can be opened, best first. Without a log SQLite must not look for it: it would make one.
    fn ways(&self) -> Vec<Way> {
        let mut ways = Vec::new();
        if !self.is_logged() || (self.log.is_some() && !self.has_foreign_log()) {
            ways.push(Way::Whole);
        }
        if self.log.is_some() || ways.is_empty() {
            ways.push(Way::Alone);
        }
        if self.has_foreign_log() {
            ways.retain(|way| *way != Way::Whole);
        }
        ways.push(Way::Salvage);
        ways
    }
}

/// Runs `work` in one transaction, so that all its queries see the same.
fn within<T>(connection: &Connection, work: &mut impl FnMut(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
    connection.execute_batch("BEGIN")?;
    let result = work(connection);
    // Fails only where the transaction is over already.
    let _ = connection.execute_batch("ROLLBACK");
    result
}

/// The address under which SQLite opens a file.
fn address(path: &Path, way: Way) -> String {
    let mut address = "file:".to_owned();
    if path.is_absolute() {
        // No host, which the path's own slashes could be taken for; a drive letter needs a slash before it.
        address.push_str(if cfg!(windows) { "///" } else { "//" });
    }
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => address.push(char::from(*byte)),
            b'\\' if cfg!(windows) => address.push('/'),
            b':' if cfg!(windows) => address.push(':'),
            byte => address.push_str(&format!("%{byte:02X}")),
        }
    }
    let system = if cfg!(windows) { "win32-none" } else { "unix-none" };
    let alone = if way == Way::Whole { "" } else { "&immutable=1" };
    format!("{address}?mode=ro&vfs={system}{alone}")
}

/// The first bytes of a file, as many as it has.
fn start(path: &Path, len: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len);
    File::open(path)?.take(len as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// In bytes, from the header of a database: 1 stands for 65536.
fn page_size(header: &[u8]) -> u32 {
    match header.get(16..18) {
        Some([0, 1]) => 65_536,
        Some([high, low]) => u32::from(*high) << 8 | u32::from(*low),
        _ => 0,
    }
}

/// In bytes, from the header of a write-ahead log; `None` where that is no such header, by its magic and its checksum.
fn log_page_size(header: &[u8]) -> Option<u32> {
    let word = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    let magic = word(0)?;
    if magic & !1 != 0x377F_0682 {
        return None;
    }
    // The magic says in which order the checksum reads bytes.
    let is_big_endian = magic & 1 == 1;
    let summed = |at: usize| word(at).map(|word| if is_big_endian { word } else { word.swap_bytes() });
    let (mut first, mut second) = (0_u32, 0_u32);
    for at in (0..24).step_by(8) {
        first = first.wrapping_add(summed(at)?).wrapping_add(second);
        second = second.wrapping_add(summed(at + 4)?).wrapping_add(first);
    }
    (word(24)? == first && word(28)? == second).then(|| word(8)).flatten()
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// What a person is told of an error of SQLite.
fn sentence(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "is no SQLite database, or an encrypted one".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => "the database is damaged, so that nothing of it can be read".to_owned(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
            "the database is in the middle of a write that its own program has to finish or to take back first"
                .to_owned()
        }
        Some(ErrorCode::TooBig) => "a value in the database is longer than 512 MiB".to_owned(),
        _ => format!("the database cannot be read ({error})"),
    }
}

#[cfg(test)]
mod tests;
