//! The one place that asks what time it is.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::model::Timestamp;

/// The current moment.
pub fn now() -> Timestamp {
    let age = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}
