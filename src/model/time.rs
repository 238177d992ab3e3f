//! Moments and spans of time: integers of milliseconds, turned into text only at the edges.

use chrono::{DateTime, Local, SecondsFormat, Utc};
use serde::{Serialize, Serializer};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Reads an RFC 3339 time, as all formats write it. `None` for anything else: a damaged time is an absent one.
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|time| Self(time.timestamp_millis()))
    }

    /// RFC 3339 in UTC with milliseconds; years that RFC 3339 cannot write come out as the bare number.
    pub fn to_rfc3339(self) -> String {
        match DateTime::<Utc>::from_timestamp_millis(self.0) {
            Some(time) => time.to_rfc3339_opts(SecondsFormat::Millis, true),
            None => self.0.to_string(),
        }
    }

    /// Milliseconds from `earlier` to this moment; negative where the clock went back.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_rfc3339())
    }
}

/// The local wall-clock form of a moment, by a `chrono` pattern such as `"%H:%M:%S"`.
pub fn clock(at: Timestamp, pattern: &str) -> String {
    DateTime::<Utc>::from_timestamp_millis(at.0)
        .map_or_else(|| at.0.to_string(), |time| time.with_timezone(&Local).format(pattern).to_string())
}

/// A span as people say it: `0.4 s`, `41 s`, `1 min 52 s`, `2 h 10 min`, `3 d 4 h`. Negative spans read as `0 s`.
pub fn duration_words(ms: i64) -> String {
    let ms = ms.max(0);
    let seconds = ms / 1000;
    match seconds {
        _ if ms < 10_000 => format!("{}.{} s", seconds, ms % 1000 / 100),
        0..60 => format!("{seconds} s"),
        60..3600 if seconds % 60 == 0 => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 if seconds % 3600 < 60 => format!("{} h", seconds / 3600),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_rfc3339() {
        let time = Timestamp::parse("2026-09-29T17:13:11.521Z").unwrap();
        assert_eq!(time.0, 1_790_701_991_521);
        assert_eq!(time.to_rfc3339(), "2026-09-29T17:13:11.521Z");
        let offset = Timestamp::parse("2026-09-29T19:13:11.521+02:00").unwrap();
        assert_eq!(offset, time);
        assert_eq!(Timestamp::parse("yesterday"), None);
    }

    #[test]
    fn spans_read_as_people_say_them() {
        for (ms, words) in [
            (-5, "0.0 s"),
            (940, "0.9 s"),
            (41_000, "41 s"),
            (112_000, "1 min 52 s"),
            (120_000, "2 min"),
            (7_800_000, "2 h 10 min"),
            (3_600_000, "1 h"),
            (273_600_000, "3 d 4 h"),
        ] {
            assert_eq!(duration_words(ms), words, "{ms} ms");
        }
    }
}
