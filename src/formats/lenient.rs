//! Field types that accept what damaged and foreign records hold.
//!
//! A record whose `timestamp` is a number is still a record: these types read the value they expect and turn every
//! other one into `None`, where a derived `String` or `u64` would refuse the whole record.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A string; anything else is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

impl Text<'_> {
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The string, or `""`.
    pub fn or_empty(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    pub fn to_owned_option(&self) -> Option<String> {
        self.0.as_deref().map(str::to_owned)
    }

    pub fn is(&self, text: &str) -> bool {
        self.0.as_deref() == Some(text)
    }
}

/// A whole number that is not negative; anything else is `None`. Floats with no fraction count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(pub Option<u64>);

/// A number; anything else is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Float(pub Option<f64>);

/// `true`; anything else is false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

/// An object that reads as `T`; anything that is no object is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<T>(pub Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// An array whose elements read as `T`; anything that is no array is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Reads one kind of value and ignores all others.
trait Pick<'de>: Default {
    fn string(_: Cow<'de, str>) -> Self {
        Self::default()
    }
    fn number(_: f64) -> Self {
        Self::default()
    }
    fn unsigned(value: u64) -> Self {
        Self::number(value as f64)
    }
    fn boolean(_: bool) -> Self {
        Self::default()
    }
    fn map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn sequence<A: SeqAccess<'de>>(mut sequence: A) -> Result<Self, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

struct Picker<P>(PhantomData<P>);

impl<'de, P: Pick<'de>> Visitor<'de> for Picker<P> {
    type Value = P;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }
    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<P, E> {
        Ok(P::string(Cow::Borrowed(value)))
    }
    fn visit_str<E>(self, value: &str) -> Result<P, E> {
        Ok(P::string(Cow::Owned(value.to_owned())))
    }
    fn visit_string<E>(self, value: String) -> Result<P, E> {
        Ok(P::string(Cow::Owned(value)))
    }
    fn visit_u64<E>(self, value: u64) -> Result<P, E> {
        Ok(P::unsigned(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<P, E> {
        Ok(P::number(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<P, E> {
        Ok(P::number(value))
    }
    fn visit_bool<E>(self, value: bool) -> Result<P, E> {
        Ok(P::boolean(value))
    }
    fn visit_unit<E>(self) -> Result<P, E> {
        Ok(P::default())
    }
    fn visit_none<E>(self) -> Result<P, E> {
        Ok(P::default())
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<P, A::Error> {
        P::map(map)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<P, A::Error> {
        P::sequence(sequence)
    }
}

impl<'de> Pick<'de> for Text<'de> {
    fn string(value: Cow<'de, str>) -> Self {
        Self(Some(value))
    }
}

impl<'de> Pick<'de> for Count {
    fn number(value: f64) -> Self {
        // 2^53: the largest whole number that a float still tells from its neighbours.
        let whole = value.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&value);
        Self(whole.then_some(value as u64))
    }
    fn unsigned(value: u64) -> Self {
        Self(Some(value))
    }
}

impl<'de> Pick<'de> for Float {
    fn number(value: f64) -> Self {
        Self(Some(value))
    }
}

impl<'de> Pick<'de> for Flag {
    fn boolean(value: bool) -> Self {
        Self(value)
    }
}

impl<'de, T: Deserialize<'de>> Pick<'de> for Object<T> {
    fn map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Self(Some(value)))
    }
}

impl<'de, T: Deserialize<'de>> Pick<'de> for List<T> {
    fn sequence<A: SeqAccess<'de>>(mut sequence: A) -> Result<Self, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Self(items))
    }
}

macro_rules! deserialize_by_picking {
    ($($type:ty $(, $parameter:ident)?;)*) => {$(
        impl<'de $(, $parameter: Deserialize<'de>)?> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Picker::<Self>(PhantomData))
            }
        }
    )*};
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Picker::<Text<'de>>(PhantomData))
    }
}

deserialize_by_picking! {
    Count;
    Float;
    Flag;
    Object<T>, T;
    List<T>, T;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Record<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        count: Count,
        flag: Flag,
        inner: Object<Inner>,
        list: List<Count>,
    }

    #[derive(Deserialize, Default, PartialEq, Debug)]
    #[serde(default)]
    struct Inner {
        count: Count,
    }

    #[test]
    fn values_of_another_type_are_absent_not_errors() {
        let right = r#"{"text":"a","count":3,"flag":true,"inner":{"count":4.0},"list":[1,"x"],"more":1}"#;
        let record: Record = serde_json::from_str(right).unwrap();
        assert_eq!(record.text.as_str(), Some("a"));
        assert!(matches!(record.text.0, Some(Cow::Borrowed(_))), "text without escapes is not copied");
        assert_eq!(record.count, Count(Some(3)));
        assert!(record.flag.0);
        assert_eq!(record.inner, Object(Some(Inner { count: Count(Some(4)) })));
        assert_eq!(record.list.0, [Count(Some(1)), Count(None)]);

        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let wrong = format!(r#"{{"text":{deep},"count":-1,"flag":"yes","inner":[1],"list":{{"a":null}}}}"#);
        let record: Record = serde_json::from_str(&wrong).unwrap();
        assert_eq!(record.text.as_str(), None);
        assert_eq!(record.count, Count(None));
        assert!(!record.flag.0);
        assert_eq!(record.inner, Object(None));
        assert_eq!(record.list.0, []);
    }
}
