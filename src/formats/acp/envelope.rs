//! What recorders put around the messages of a stream. There is no standard form: this takes off what is known.

use serde_json::Value;

use crate::formats::document::{self, Flaw};
use crate::model::Timestamp;

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum From {
    Client,
    Agent,
}

impl From {
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Agent,
            Self::Agent => Self::Client,
        }
    }
}

/// When a message was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub at: Option<Timestamp>,
    /// Milliseconds on the recorder's own clock, where it wrote no time of day.
    clock: Option<i64>,
}

impl Moment {
    /// Milliseconds from `earlier` to this.
    pub fn since(self, earlier: Self) -> Option<i64> {
        let times = self.at.zip(earlier.at).map(|(to, from)| to.since(from));
        times.or_else(|| self.clock.zip(earlier.clock).map(|(to, from)| to.saturating_sub(from)))
    }
}

/// A message out of its envelope.
#[derive(Debug)]
pub struct Wrapped {
    pub from: Option<From>,
    pub moment: Moment,
    pub message: Value,
}

/// Where recorders put the message.
const INSIDE: [&str; 7] = ["msg", "message", "data", "payload", "line", "raw", "frame"];
/// Before this, a number of milliseconds is no time of day: 2001-09-09.
const FIRST_MS: i64 = 1_000_000_000_000;
/// Before this, a number of seconds is none: the same day.
const FIRST_S: i64 = 1_000_000_000;

/// The message of a record; `None` when it holds none.
pub fn unwrap(record: Value) -> Option<Wrapped> {
    if is_message(&record) {
        return Some(Wrapped { from: None, moment: Moment::default(), message: record });
    }
    let Value::Object(mut fields) = record else { return None };
    let message = INSIDE.iter().find_map(|key| match fields.get(*key)? {
        Value::Object(_) => fields.shift_remove(*key).filter(is_message),
        Value::String(text) => in_string(text),
        _ => None,
    })?;
    let word = |key: &str| fields.get(key).and_then(Value::as_str);
    let from = ["dir", "direction"].iter().find_map(|key| direction(word(key)?));
    let from = from.or_else(|| party(word("from")?)).or_else(|| party(word("to")?).map(From::other));
    Some(Wrapped { from, moment: moment(&fields), message })
}

/// JSON in a string, and in a string in that: some recorders quote twice.
fn in_string(text: &str) -> Option<Value> {
    let parse = |text: &str| match document::parse(text.as_bytes()) {
        Some(document::Document { value, flaw: None | Some(Flaw::Mended) }) => Some(value),
        _ => None,
    };
    let value = serde_json::from_str(text).ok().or_else(|| parse(text))?;
    let value = match &value {
        Value::String(inner) => parse(inner)?,
        _ => value,
    };
    Some(value).filter(is_message)
}

fn is_message(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let is_response = has("id") && (has("result") || has("error"));
    value.get("method").is_some_and(Value::is_string) || is_response || (has("jsonrpc") && value.is_object())
}

fn direction(word: &str) -> Option<From> {
    let word = word.trim().to_ascii_lowercase();
    match word.as_str() {
        "out" | "send" | "sent" | "outgoing" | "outbound" | "→" | "->" | ">" | ">>" | "stdin" | "c2a" | "c2s" => {
            Some(From::Client)
        }
        "in" | "recv" | "receive" | "received" | "incoming" | "inbound" | "←" | "<-" | "<" | "<<" | "stdout"
        | "a2c" | "s2c" => Some(From::Agent),
        _ => party(word.split(|c: char| !c.is_ascii_alphabetic()).next()?),
    }
}

fn party(word: &str) -> Option<From> {
    match word.to_ascii_lowercase().as_str() {
        "client" | "editor" | "user" => Some(From::Client),
        "agent" | "server" => Some(From::Agent),
        _ => None,
    }
}

fn moment(fields: &serde_json::Map<String, Value>) -> Moment {
    let mut moment = Moment::default();
    for key in ["ts", "timestamp", "time", "at", "ms"] {
        match fields.get(key) {
            Some(Value::String(text)) => moment.at = moment.at.or_else(|| Timestamp::parse(text)),
            Some(Value::Number(number)) => {
                let Some(number) = number.as_f64().filter(|number| number.is_finite()) else { continue };
                match number as i64 {
                    ms if ms >= FIRST_MS => moment.at = moment.at.or(Some(Timestamp(ms))),
                    s if s >= FIRST_S => moment.at = moment.at.or(Some(Timestamp((number * 1000.0) as i64))),
                    ms => moment.clock = moment.clock.or(Some(ms)),
                }
            }
            _ => {}
        }
    }
    moment
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_known_envelope_is_taken_off() {
        let message = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}});
        let quoted = message.to_string();
        let twice = Value::String(quoted.clone()).to_string();
        let day = Some(Timestamp(1_770_112_800_000));
        for (record, from, at) in [
            (message.clone(), None, None),
            (json!({"dir": "c2a", "ms": 7, "msg": message}), Some(From::Client), None),
            (json!({"ts": "2026-02-03T10:00:00Z", "dir": "agent->client", "msg": message}), Some(From::Agent), day),
            (json!({"timestamp": 1_770_112_800, "direction": "in", "payload": quoted}), Some(From::Agent), day),
            (json!({"timestamp": 1_770_112_800_000_i64, "direction": "→", "line": twice}), Some(From::Client), day),
            (json!({"time": "t", "from": "agent", "to": "client", "raw": quoted}), Some(From::Agent), None),
        ] {
            let wrapped = unwrap(record.clone()).unwrap();
            assert_eq!((wrapped.from, wrapped.moment.at), (from, at), "{record}");
            assert_eq!(wrapped.message, message, "{record}");
        }
        assert!(unwrap(json!({"a": 1})).is_none());
        assert!(unwrap(json!({"msg": {"a": 1}})).is_none());
        let wait = |ms: i64| unwrap(json!({"ms": ms, "msg": message})).unwrap().moment;
        assert_eq!(wait(50).since(wait(8)), Some(42));
    }
}
