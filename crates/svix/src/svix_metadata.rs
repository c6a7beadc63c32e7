//! What Svix has and the gateway has no field for. It is in the metadata of an event type, below the key
//! `svix`, beside the caller's own keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

const KEY: &str = "svix";

/// The extras of an event type.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EventTypeExtras {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feature_flags: Vec<String>,
    /// The schemas by version, byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schemas: Option<BTreeMap<String, Box<RawValue>>>,
}

/// Returns the caller's own metadata as Svix shows it: texts by name.
pub fn own(metadata: &Map<String, Value>) -> BTreeMap<String, String> {
    let others = metadata.iter().filter(|(name, _)| *name != KEY);
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    others.map(|(name, value)| (name.clone(), text(value))).collect()
}

pub fn extras<T: for<'a> Deserialize<'a> + Default>(metadata: &Map<String, Value>) -> T {
    let stored = metadata.get(KEY).cloned();
    stored.and_then(|stored| serde_json::from_value(stored).ok()).unwrap_or_default()
}

/// Returns the metadata to store: the caller's own, and the extras unless there are none. The extras replace
/// a caller's key of the same name, which [`is_reserved`] prevents.
pub fn joined<T: Serialize>(own: BTreeMap<String, String>, extras: &T) -> Value {
    let mut all: Map<String, Value> =
        own.into_iter().map(|(name, text)| (name, Value::String(text))).collect();
    let extras = serde_json::to_value(extras).unwrap_or_default();
    if extras.as_object().is_some_and(|extras| !extras.is_empty()) {
        all.insert(KEY.to_owned(), extras);
    }
    Value::Object(all)
}

/// Whether the key is reserved, so that a caller may not use it.
pub fn is_reserved(name: &str) -> bool {
    name == KEY
}
