//! Bytes: reading files by position, cutting them into records, writing new ones so that nothing is ever half there.
//!
//! Nothing here knows a format. No file is mapped into memory: a mapped file that its writer truncates kills the process.

mod clock;
mod create;
mod database;
mod guard;
mod made;
mod notes;
mod png;
mod receipt;
mod records;
mod rewrite;
mod source;
mod watch;

pub use clock::now;
pub use create::create_new;
pub use database::{Database, Fault};
pub use guard::{Busy, check_quiet, check_unchanged};
pub use made::{Batches, Made, ReadAhead, each_made};
pub use notes::{NOTES_SUFFIX, load_notes, notes_path, save_notes};
pub use png::encode_png;
pub use receipt::{Receipt, ReceiptError, find_receipts, revert_file, undo};
pub use records::{Found, Framing, LineReader, MAX_RECORD_BYTES, Span, scan};
pub use rewrite::{Piece, Rewrite, write_atomically, write_new};
pub use source::{Identity, ReadError, SourceFile};
pub use watch::{Cancelled, Watch};
