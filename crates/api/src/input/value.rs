//! What was read of a request: a value, or nothing, for each of its fields.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write, time::Duration};

use gancho_domain::Time;

use super::Field;

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
    /// Each as it was written.
    Items(Vec<&'a str>),
    /// JSON as it was written.
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

    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        let index = self.fields.iter().position(|field| field.name == name);
        debug_assert!(index.is_some(), "no field is called {name}");
        self.slots.get(index?)?.as_ref()
    }

    pub fn is_given(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(Option::is_none)
    }

    pub fn is_null(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Null))
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(ToOwned::to_owned)
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name) {
            Some(Value::Flag(flag)) => Some(*flag),
            _ => None,
        }
    }

    pub fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Count(count)) => Some(*count),
            _ => None,
        }
    }

    pub fn time(&self, name: &str) -> Option<Time> {
        match self.get(name) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        }
    }

    pub fn span(&self, name: &str) -> Option<Duration> {
        match self.get(name) {
            Some(Value::Span(span)) => Some(*span),
            _ => None,
        }
    }

    pub fn texts(&self, name: &str) -> Option<Vec<String>> {
        match self.get(name) {
            Some(Value::Texts(texts)) => Some(texts.clone()),
            _ => None,
        }
    }

    pub fn text_map(&self, name: &str) -> Option<BTreeMap<String, String>> {
        match self.get(name) {
            Some(Value::TextMap(map)) => Some(map.clone()),
            _ => None,
        }
    }

    pub fn object(&self, name: &str) -> Option<&Values<'a>> {
        match self.get(name) {
            Some(Value::Object(values)) => Some(values),
            _ => None,
        }
    }

    pub fn items(&self, name: &str) -> Option<&[&'a str]> {
        match self.get(name) {
            Some(Value::Items(items)) => Some(items),
            _ => None,
        }
    }

    pub fn json(&self, name: &str) -> Option<&'a str> {
        match self.get(name) {
            Some(Value::Json(json)) => Some(json),
            _ => None,
        }
    }

    /// All that was given but the page, spelled in one way: what a cursor is bound to.
    pub fn fingerprint(&self) -> String {
        let mut text = String::new();
        for (field, slot) in self.fields.iter().zip(&self.slots) {
            let Some(value) = slot else { continue };
            if matches!(field.name, "cursor" | "limit") {
                continue;
            }
            // Names and lengths stand before values, so that no two filters read the same.
            let shown = format!("{value:?}");
            let _ = write!(text, "{}={}:{shown};", field.name, shown.len());
        }
        text
    }
}
