//! What a field accepts, with the Rust types that can hold it.
//!
//! A [`Spec`] is a [`FieldKind`] with a marker type. [`FromValue`] connects markers and Rust types, so that a field whose
//! type does not fit its specification does not compile.

use std::{borrow::Cow, collections::BTreeMap, marker::PhantomData, str::FromStr, time::Duration};

use gancho_domain::Time;
use serde_json::value::RawValue;

use super::{FieldKind, Request, Value, field::ResourceKind};

/// What a field accepts.
pub struct Spec<M> {
    pub kind: FieldKind,
    marker: PhantomData<M>,
}

impl<M> Spec<M> {
    const fn new(kind: FieldKind) -> Self {
        Self { kind, marker: PhantomData }
    }
}

pub struct Text;
pub struct Choice;
pub struct Flag;
pub struct Count;
pub struct Moment;
pub struct Span;
pub struct Texts;
pub struct TextMap;
pub struct Json;
pub struct Object<R>(PhantomData<R>);
pub struct Objects;

/// A string of one line.
pub const fn text(min: usize, max: usize) -> Spec<Text> {
    Spec::new(FieldKind::Text { min, max })
}

/// A string of several lines.
pub const fn prose(max: usize) -> Spec<Text> {
    Spec::new(FieldKind::Prose { max })
}

/// A string that no response may repeat.
pub const fn secret(max: usize) -> Spec<Text> {
    Spec::new(FieldKind::Secret { max })
}

/// The id or name of an object.
pub const fn id(noun: ResourceKind) -> Spec<Text> {
    Spec::new(FieldKind::Id(noun))
}

/// The cursor of a page.
pub const fn cursor() -> Spec<Text> {
    Spec::new(FieldKind::Cursor)
}

/// One of these words. A type other than `String` must parse each of them.
pub const fn choice(words: &'static [&'static str]) -> Spec<Choice> {
    Spec::new(FieldKind::Choice(words))
}

/// The name of a [`Lane`](gancho_domain::Lane).
pub const fn lane() -> Spec<Choice> {
    choice(&["webhook", "dispatch", "email"])
}

/// The [`Status`](gancho_domain::Status) of a delivery.
pub const fn status() -> Spec<Choice> {
    choice(&["pending", "retrying", "delivered", "failed"])
}

pub const fn flag() -> Spec<Flag> {
    Spec::new(FieldKind::Flag)
}

/// An integer. Its Rust type must hold `max`.
pub const fn count(min: u64, max: u64) -> Spec<Count> {
    Spec::new(FieldKind::Count { min, max })
}

/// An RFC 3339 timestamp.
pub const fn time() -> Spec<Moment> {
    Spec::new(FieldKind::Time)
}

/// A duration, e.g. `30s`.
pub const fn span() -> Spec<Span> {
    Spec::new(FieldKind::Span)
}

/// An array of strings.
pub const fn texts(max: usize, max_length: usize) -> Spec<Texts> {
    Spec::new(FieldKind::Texts { max, max_length })
}

/// An object with string values.
pub const fn text_map(max: usize, max_length: usize) -> Spec<TextMap> {
    Spec::new(FieldKind::TextMap { max, max_length })
}

/// Any JSON value, kept as it was sent.
pub const fn json() -> Spec<Json> {
    Spec::new(FieldKind::Json)
}

/// Any JSON object, kept as it was sent.
pub const fn json_object(max: usize) -> Spec<Json> {
    Spec::new(FieldKind::JsonObject { max })
}

/// An object with the fields of a request type.
pub const fn object<R: Request<'static>>() -> Spec<Object<R>> {
    Spec::new(FieldKind::Object { name: R::NAME, fields: R::FIELDS })
}

/// An array of objects with the fields of a request type. They are parsed one by one, with
/// [`parse_item`](super::body::parse_item).
pub const fn objects<R: Request<'static>>(min: usize, max: usize) -> Spec<Objects> {
    Spec::new(FieldKind::Objects { name: R::NAME, fields: R::FIELDS, min, max })
}

/// A Rust type for fields with the marker `M`.
pub trait FromValue<'a, M>: Sized {
    /// Converts a value. `None` only for one that was parsed by another specification.
    fn from_value(value: Value<'a>) -> Option<Self>;
}

macro_rules! from_value {
    ($($marker:ty, $variant:ident => $type:ty;)*) => {$(
        impl<'a> FromValue<'a, $marker> for $type {
            fn from_value(value: Value<'a>) -> Option<Self> {
                match value {
                    Value::$variant(value) => Some(value.into()),
                    _ => None,
                }
            }
        }
    )*};
}

from_value! {
    Text, Text => Cow<'a, str>;
    Text, Text => String;
    Flag, Flag => bool;
    Count, Count => u64;
    Moment, Time => Time;
    Span, Span => Duration;
    Texts, Texts => Vec<String>;
    TextMap, TextMap => BTreeMap<String, String>;
    Json, Json => &'a str;
    Objects, Items => Vec<&'a str>;
}

impl<'a> FromValue<'a, Count> for u32 {
    fn from_value(value: Value<'a>) -> Option<Self> {
        <u64 as FromValue<'a, Count>>::from_value(value)?.try_into().ok()
    }
}

impl<'a, T: FromStr> FromValue<'a, Choice> for T {
    fn from_value(value: Value<'a>) -> Option<Self> {
        match value {
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a, Json> for Box<RawValue> {
    fn from_value(value: Value<'a>) -> Option<Self> {
        match value {
            Value::Json(json) => RawValue::from_string(json.to_owned()).ok(),
            _ => None,
        }
    }
}

impl<'a, R: Request<'a>> FromValue<'a, Object<R>> for R {
    fn from_value(value: Value<'a>) -> Option<Self> {
        match value {
            Value::Object(values) => R::from_slots(&mut values.into_slots()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use gancho_domain::{Lane, Status};

    use super::*;

    #[test]
    fn every_word_of_a_choice_parses() {
        let words = |spec: Spec<Choice>| match spec.kind {
            FieldKind::Choice(words) => words,
            kind => panic!("{kind:?}"),
        };
        assert!(words(lane()).iter().all(|word| word.parse::<Lane>().is_ok()));
        assert_eq!(words(lane()).len(), Lane::ALL.len());
        assert!(words(status()).iter().all(|word| word.parse::<Status>().is_ok()));
    }
}
