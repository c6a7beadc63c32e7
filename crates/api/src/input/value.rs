//! The parsed values of a request, before they become its type: one slot for each field.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write, time::Duration};

use gancho_domain::Time;

use super::{Field, request::ParsedFields};

#[derive(Debug, Clone)]
pub enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    Flag(bool),
    Count(u64),
    Time(Time),
    Span(Duration),
    Texts(Vec<String>),
    TextMap(BTreeMap<String, String>),
    Object(Values<'a>),
    /// The items of an array, as they were sent.
    Items(Vec<&'a str>),
    /// JSON as it was sent.
    Json(&'a str),
}

#[derive(Debug, Clone)]
pub struct Values<'a> {
    fields: &'static [Field],
    slots: Vec<Option<Value<'a>>>,
}

impl<'a> Values<'a> {
    pub fn none(fields: &'static [Field]) -> Self {
        Self { fields, slots: fields.iter().map(|_| None).collect() }
    }

    pub(super) fn put(&mut self, index: usize, value: Value<'a>) {
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Some(value);
        }
    }

    pub(super) fn is_given(&self, index: usize) -> bool {
        self.slots.get(index).is_some_and(Option::is_some)
    }

    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(Option::is_none)
    }

    pub fn into_slots(self) -> ParsedFields<'a> {
        self.slots.into_iter()
    }

    /// Returns all values except those of the page, in a canonical form, which a cursor is bound to.
    pub fn fingerprint(&self) -> String {
        let mut text = String::new();
        for (field, slot) in self.fields.iter().zip(&self.slots) {
            let Some(value) = slot else { continue };
            if matches!(field.name, "cursor" | "limit") {
                continue;
            }
            // The length comes before the value, so that no two filters have the same form.
            let value = format!("{value:?}");
            let _ = write!(text, "{}={}:{value};", field.name, value.len());
        }
        text
    }
}
