//! What a session database has: its real tables, their columns, and values of whatever type.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Row, Rows};

use crate::model::Timestamp;
use crate::store::Fault;

/// Numbers from here on are milliseconds, smaller ones seconds.
const FIRST_MILLISECONDS: i64 = 100_000_000_000;

/// A table of the database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    columns: Vec<String>,
    /// What its rows are numbered by, in a query.
    row: &'static str,
}

impl Table {
    /// The table of that name, without columns when there is none. Views and virtual tables run code of the file's
    /// maker: they are no tables here, and generated columns are no columns.
    pub fn probe(connection: &Connection, name: &str) -> Result<Self, Fault> {
        let is_real = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?1";
        if connection.query_row(is_real, [name], |row| row.get::<_, i64>(0))? != 1 {
            return Ok(Self::default());
        }
        let mut columns = connection.prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0")?;
        let columns = columns.query_map([name], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let has_numbers = connection.prepare(&format!("SELECT rowid FROM {name}")).is_ok();
        Ok(Self { columns, row: if has_numbers { "rowid" } else { "0" } })
    }

    pub fn row(&self) -> &'static str {
        self.row
    }

    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|own| own.eq_ignore_ascii_case(column))
    }

    pub fn has_all(&self, columns: &[&str]) -> bool {
        columns.iter().all(|column| self.has(column))
    }

    /// The columns for a query, in this order; null for those that the table does not have.
    pub fn select(&self, columns: &[&str]) -> String {
        let column = |column: &&str| if self.has(column) { (*column).to_owned() } else { "NULL".to_owned() };
        columns.iter().map(column).collect::<Vec<_>>().join(", ")
    }
}

/// The next row; none where the database is damaged there, so that the rows before can be used.
pub(crate) fn next<'rows>(rows: &'rows mut Rows<'_>) -> Result<Option<&'rows Row<'rows>>, Fault> {
    match rows.next() {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => Ok(None),
        row => Ok(row?),
    }
}

/// A text, also where it is kept as a blob; bytes that are no UTF-8 become U+FFFD. Other types are absent.
pub(crate) fn text(row: &Row<'_>, column: usize) -> Result<Option<String>, Fault> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => None,
    })
}

/// A whole number; other types are absent.
pub(crate) fn integer(row: &Row<'_>, column: usize) -> Result<Option<i64>, Fault> {
    Ok(if let ValueRef::Integer(number) = row.get_ref(column)? { Some(number) } else { None })
}

/// A moment, in seconds or in milliseconds.
pub(crate) fn time(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>, Fault> {
    Ok(integer(row, column)?.map(moment))
}

pub(crate) fn moment(number: i64) -> Timestamp {
    Timestamp(if number >= FIRST_MILLISECONDS { number } else { number.saturating_mul(1000) })
}
