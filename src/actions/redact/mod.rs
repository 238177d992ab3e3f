//! Redaction: secrets found in texts, listed for review, and replaced the same way wherever they stand.
//!
//! What is handed on goes through here as JSON, whatever its form will be: a session's own file as it is cut, and the
//! items of an export before they are written out. It goes through three times, one string of it in memory at a time:
//!
//! 1. [`Search`] gathers the values to replace ([`Secrets`]): by their form, by the name they go by, or by a pattern.
//! 2. [`List`] lists every place where one of them stands, for review. A decision to keep one holds for the value.
//! 3. [`Redactor`] writes the text with each value replaced by its placeholder, the same for the same value.
//!
//! It fails closed: what was written is gone through once more by [`Check`], and if a value is still in it, in whatever
//! escaped form, that is an error that says where.

mod detect;
mod escapes;
mod list;
mod names;
mod replace;
mod secrets;
mod strings;
#[cfg(test)]
mod tests;

pub use list::{Hit, List, MAX_LISTED, Spot};
pub use replace::{Check, Redactor};
pub use secrets::{MAX_SECRETS, Search, Secret, Secrets};

/// What is searched for, and what goes along although it is usually left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Regular expressions of values to replace: their first group, or all they match.
    pub patterns: Vec<String>,
    /// Images go along.
    pub images: bool,
    /// The old contents of files that agents keep for undo go along.
    pub old_contents: bool,
    /// Nothing is searched for; images and old contents are still left out unless asked for.
    pub off: bool,
}

/// What a secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A key that a service gave out, known by its beginning.
    Key,
    /// A token of a session: a JSON web token, what follows `Bearer`.
    Token,
    Password,
    /// A value whose name says that it is one.
    Secret,
    PrivateKey,
    Email,
    /// The name of a person's account, known from a path to their home folder.
    User,
    /// What one of the user's own patterns matches.
    Pattern,
    /// An image, or another file in base64. Left out, not replaced: it has no number.
    Image,
    /// What a file held before the agent changed it. Left out as well.
    OldContents,
}

impl Kind {
    /// Those of values that are replaced.
    pub const SECRETS: [Self; 8] = [
        Self::Key,
        Self::Token,
        Self::Password,
        Self::Secret,
        Self::PrivateKey,
        Self::Email,
        Self::User,
        Self::Pattern,
    ];

    /// The word in placeholders, lists and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Token => "token",
            Self::Password => "password",
            Self::Secret => "secret",
            Self::PrivateKey => "private key",
            Self::Email => "email",
            Self::User => "user",
            Self::Pattern => "pattern",
            Self::Image => "image",
            Self::OldContents => "old contents",
        }
    }

    /// Whether it is left out as a whole, and no value to be decided about.
    fn is_left_out(self) -> bool {
        matches!(self, Self::Image | Self::OldContents)
    }
}

/// A pattern of the user's that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern {pattern} cannot be used: {reason}")]
pub struct BadPattern {
    pub pattern: String,
    pub reason: String,
}

impl BadPattern {
    fn new(pattern: &str, error: &regex::Error) -> Self {
        // The crate's own message is a drawing of several lines; its last says what is wrong.
        let whole = error.to_string();
        let reason = whole.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Self { pattern: pattern.to_owned(), reason }
    }
}

/// Why a text was not redacted.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    #[error("more than {MAX_SECRETS} different values look like secrets; choose fewer steps")]
    TooMany,
    #[error("one text is longer than {} MiB", strings::MAX_STRING_BYTES / (1024 * 1024))]
    TooLong,
    #[error("a value that was to be replaced ({kind}) is still there at {place}; nothing was written")]
    Left { kind: &'static str, place: String },
}
