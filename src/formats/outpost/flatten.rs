//! Observations, each an event inside its envelope, brought into the flat form that the entries of journals have.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::entry::Raw;
use crate::formats::json;

/// The envelope, in the order that journals have it after the event's fields.
const ENVELOPE: [&str; 4] = ["at", "seq", "source", "scope"];

#[derive(Default, Deserialize)]
#[serde(default)]
struct Observation<'a> {
    /// Only of an entry that is flat already.
    #[serde(borrow)]
    kind: Raw<'a>,
    #[serde(borrow)]
    at: Raw<'a>,
    #[serde(borrow)]
    seq: Raw<'a>,
    #[serde(borrow)]
    source: Raw<'a>,
    #[serde(borrow)]
    scope: Raw<'a>,
    #[serde(borrow)]
    event: Raw<'a>,
}

/// The flat form of an observation: the event's fields as they are, and the envelope's over those of the same name. An
/// entry that has a kind of its own is flat already.
pub fn flatten(text: &str) -> Result<Cow<'_, str>, String> {
    let mut spare = String::new();
    let observation: Observation = json::record(text, &mut spare).map_err(|error| error.to_string())?;
    if observation.kind.is_some() {
        return Ok(Cow::Borrowed(text));
    }
    let Some(event) = observation.event.filter(|event| event.get().starts_with('{')) else {
        return Err("the observation has no event".to_owned());
    };
    let fields: Fields = serde_json::from_str(event.get()).map_err(|error| error.to_string())?;
    let outside = [observation.at, observation.seq, observation.source, observation.scope];
    let mut envelope: Vec<(&str, &RawValue)> =
        ENVELOPE.into_iter().zip(outside).filter_map(|(name, value)| Some((name, value?))).collect();
    let mut flat = String::with_capacity(text.len());
    flat.push('{');
    for (name, value) in fields.0 {
        let over = envelope.iter().position(|(other, _)| *other == name);
        let value = over.map_or(value, |index| envelope.remove(index).1);
        push(&mut flat, &name, value);
    }
    for (name, value) in envelope {
        push(&mut flat, name, value);
    }
    flat.push('}');
    Ok(Cow::Owned(flat))
}

fn push(flat: &mut String, name: &str, value: &RawValue) {
    if flat.len() > 1 {
        flat.push(',');
    }
    flat.push_str(&serde_json::Value::from(name).to_string());
    flat.push(':');
    flat.push_str(value.get());
}

/// The fields of an object in their order, their values not looked into.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor).map(Fields)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_comes_beside_the_events_fields() {
        let nested = r#"{"seq":7,"at":"t2","source":"agent","scope":{"dispatchId":"d"},"event":{"kind":"tool","at":"t1","pass":1,"n":1.50}}"#;
        assert_eq!(
            flatten(nested).unwrap(),
            r#"{"kind":"tool","at":"t2","pass":1,"n":1.50,"seq":7,"source":"agent","scope":{"dispatchId":"d"}}"#
        );
        let flat = r#"{"kind":"workflow","event":{"type":"start"}}"#;
        assert_eq!(flatten(flat).unwrap(), flat);
        assert_eq!(flatten(r#"{"event":{}}"#).unwrap(), "{}");
        assert!(flatten(r#"{"seq":1,"event":7}"#).is_err());
    }
}
