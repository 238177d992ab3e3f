//! Reading beside a writer, without a log, and from damaged files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn create(path: &Path, mode: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", mode).unwrap();
    connection.execute_batch("CREATE TABLE pairs(id INTEGER PRIMARY KEY, value INTEGER, filler TEXT)").unwrap();
    connection
}

/// Name, length and time of every file of a folder.
fn listing(folder: &Path) -> BTreeMap<String, (u64, SystemTime)> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| {
            let metadata = entry.metadata().unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, (metadata.len(), metadata.modified().unwrap()))
        })
        .collect()
}

fn count(database: &Database) -> Result<i64, ReadError> {
    database.read(|connection| Ok(connection.query_row("SELECT count(*) FROM pairs", [], |row| row.get(0))?))
}

/// Copies a database that is open elsewhere, with the named companions.
fn copy(path: &Path, folder: &Path, endings: &[&str]) -> PathBuf {
    for ending in endings {
        let name = format!("{}{ending}", path.file_name().unwrap().to_string_lossy());
        std::fs::copy(path.with_file_name(&name), folder.join(&name)).unwrap();
    }
    folder.join(path.file_name().unwrap())
}

#[test]
fn what_is_read_beside_a_writer_is_of_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a 100%?#.db");
    let writer = create(&path, "wal");
    writer.busy_timeout(Duration::ZERO).unwrap();
    writer.pragma_update(None, "synchronous", "off").unwrap();
    writer.pragma_update(None, "wal_autocheckpoint", 50).unwrap();
    for id in 0..200 {
        writer.execute("INSERT INTO pairs VALUES(?1, 0, ?2)", rusqlite::params![id, "x".repeat(3000)]).unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writing = {
        let stop = Arc::clone(&stop);
        thread::spawn(move || {
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                // Every commit keeps all values equal.
                writer.execute("UPDATE pairs SET value = ?1", [round]).unwrap();
                if round % 3 == 0 {
                    writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
                }
                thread::sleep(Duration::from_millis(30));
            }
            round
        })
    };
    let mut reads = 0;
    let started = std::time::Instant::now();
    while started.elapsed() < Duration::from_secs(3) {
        let database = Database::new(&path);
        let read = database.read(|connection| {
            let mut rows = connection.prepare("SELECT DISTINCT value FROM pairs")?;
            let values: Vec<i64> = rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            thread::sleep(Duration::from_millis(3));
            let again: i64 = connection.query_row("SELECT min(value) FROM pairs", [], |row| row.get(0))?;
            Ok((values, again))
        });
        // Too busy is no tear.
        if let Ok((values, again)) = read {
            assert_eq!(values, [again]);
            reads += 1;
        }
    }
    stop.store(true, Ordering::Relaxed);
    assert!(writing.join().unwrap() > 10);
    assert!(reads > 5, "{reads}");
}

#[test]
fn reading_leaves_no_trace() {
    for mode in ["wal", "delete"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let writer = create(&path, mode);
        writer.execute("INSERT INTO pairs VALUES(1, 1, '')", []).unwrap();
        let before = listing(folder.path());
        let database = Database::new(&path);
        assert_eq!(count(&database).unwrap(), 1, "{mode}");
        assert_eq!(count(&database).unwrap(), 1, "{mode}");
        drop(database);
        assert_eq!(listing(folder.path()), before, "{mode}");
        writer.execute("INSERT INTO pairs VALUES(2, 1, '')", []).unwrap();
        drop(writer);
        let closed = listing(folder.path());
        assert_eq!(closed.len(), 1, "the last one to leave cleans up: {closed:?}");
        let database = Database::new(&path);
        assert_eq!(count(&database).unwrap(), 2, "{mode}");
        assert_eq!(database.notices(false).len(), usize::from(mode == "wal"));
        assert_eq!(database.notices(true), [""; 0]);
        drop(database);
        assert_eq!(listing(folder.path()), closed, "{mode}: nothing was made anew");
    }
}

#[test]
fn the_log_counts_and_its_loss_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let writer = create(&path, "wal");
    writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    writer.execute("INSERT INTO pairs VALUES(1, 1, '')", []).unwrap();

    let whole = tempfile::tempdir().unwrap();
    let database = Database::new(&copy(&path, whole.path(), &["", "-wal"]));
    assert_eq!((count(&database).unwrap(), database.notices(false)), (1, Vec::<String>::new()));

    let alone = tempfile::tempdir().unwrap();
    let database = Database::new(&copy(&path, alone.path(), &[""]));
    assert_eq!(count(&database).unwrap(), 0);
    assert!(database.notices(false)[0].contains("may be missing"));
}

#[test]
fn the_log_of_another_database_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let writer = create(&path, "wal");
    writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let other = folder.path().join("other.db");
    let stranger = Connection::open(&other).unwrap();
    stranger.pragma_update(None, "page_size", 1024).unwrap();
    stranger.pragma_update(None, "journal_mode", "wal").unwrap();
    stranger.execute_batch("CREATE TABLE strange(x); INSERT INTO strange VALUES(1)").unwrap();

    let mixed = tempfile::tempdir().unwrap();
    let copied = copy(&path, mixed.path(), &[""]);
    for log in [std::fs::read(other.with_file_name("other.db-wal")).unwrap(), b"rubbish".repeat(100)] {
        std::fs::write(mixed.path().join("s.db-wal"), log).unwrap();
        let database = Database::new(&copied);
        assert_eq!(count(&database).unwrap(), 0);
        assert!(database.notices(false)[0].contains("not its own"), "{:?}", database.notices(false));
    }
}

#[test]
fn damaged_files_are_read_as_far_as_they_go_or_say_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let writer = create(&path, "delete");
    for id in 0..100 {
        writer.execute("INSERT INTO pairs VALUES(?1, 1, ?2)", rusqlite::params![id, "x".repeat(3000)]).unwrap();
    }
    drop(writer);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let database = Database::new(&path);
    let rows = database.read(|connection| {
        let mut rows = connection.prepare("SELECT id FROM pairs")?;
        let rows = rows.query_map([], |row| row.get::<_, i64>(0))?;
        Ok(rows.map_while(Result::ok).count())
    });
    assert!(rows.unwrap() > 10);
    assert!(database.notices(false)[0].contains("damaged"));

    for content in [&b""[..], b"SQLite format 3\0", &bytes[..99], b"just words"] {
        std::fs::write(&path, content).unwrap();
        assert!(count(&Database::new(&path)).unwrap_err().to_string().contains("no SQLite database"));
    }
    let mut garbage = bytes.clone();
    garbage[100..4096].fill(0xA5);
    std::fs::write(&path, garbage).unwrap();
    assert!(count(&Database::new(&path)).unwrap_err().to_string().contains("damaged"));
    assert!(count(&Database::new(folder.path())).is_err());
    assert!(count(&Database::new(&folder.path().join("none.db"))).is_err());
}

#[test]
fn a_write_that_was_interrupted_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let writer = create(&path, "delete");
    writer.pragma_update(None, "cache_size", 1).unwrap();
    writer.execute_batch("BEGIN").unwrap();
    for id in 0..500 {
        writer.execute("INSERT INTO pairs VALUES(?1, 1, ?2)", rusqlite::params![id, "x".repeat(3000)]).unwrap();
    }
    let left = tempfile::tempdir().unwrap();
    let copied = copy(&path, left.path(), &["", "-journal"]);
    let before = listing(left.path());
    let result = count(&Database::new(&copied));
    assert!(result.as_ref().is_err_and(|error| error.to_string().contains("middle of a write")), "{result:?}");
    assert_eq!(listing(left.path()), before);
}

#[test]
fn any_path_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    drop(create(&path, "delete"));
    let doubled = format!("/{}", path.display());
    assert_eq!(count(&Database::new(Path::new(&doubled))).unwrap(), 0);
    let odd = folder.path().join("a b?c#d&e=f%20g:h.db");
    std::fs::copy(&path, &odd).unwrap();
    assert_eq!(count(&Database::new(&odd)).unwrap(), 0);
    #[cfg(target_os = "linux")]
    {
        let bytes = std::os::unix::ffi::OsStrExt::from_bytes(b"\xFFname.db");
        let odd = folder.path().join::<&std::ffi::OsStr>(bytes);
        std::fs::copy(&path, &odd).unwrap();
        assert_eq!(count(&Database::new(&odd)).unwrap(), 0);
    }
}
