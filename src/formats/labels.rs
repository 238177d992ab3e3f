//! How much of a text the rows and markers of every format hold.

use crate::model::one_line;

/// Characters in the label of an event.
pub const LABEL_CHARS: usize = 160;
/// Bytes of a text kept inside a marker.
pub const MARKER_BYTES: usize = 2048;

/// One line that stands for a text.
pub fn line(text: &str) -> Box<str> {
    one_line(text, LABEL_CHARS).into()
}
