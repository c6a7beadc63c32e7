//! Renders an event type, and reads the requested properties of one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    fields::{Fields, MaybeField},
    svix_metadata::{self, EventTypeExtras},
};

#[derive(Debug, Clone, Deserialize)]
pub struct EventTypeRow {
    pub name: String,
    pub description: String,
    pub example: Option<Box<RawValue>>,
    pub schema: Option<Box<RawValue>>,
    pub catalog: String,
    pub is_archived: bool,
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventTypeOut {
    pub name: String,
    pub description: String,
    pub archived: bool,
    pub deprecated: bool,
    pub schemas: Option<BTreeMap<String, Box<RawValue>>>,
    pub group_name: Option<String>,
    pub feature_flags: Vec<String>,
    pub feature_flag: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

/// The creation time of types without one, because Svix always has a time.
const LONG_AGO: &str = "1970-01-01T00:00:00Z";

impl EventTypeRow {
    /// Whether it is the operator's or a tenant's. Built-in types are not listed, because nobody created
    /// them.
    pub fn is_own(&self) -> bool {
        matches!(self.catalog.as_str(), "operator" | "tenant")
    }

    pub fn extras(&self) -> EventTypeExtras {
        svix_metadata::extras(&self.metadata)
    }

    pub fn into_out(self, with_content: bool) -> EventTypeOut {
        let extras = self.extras();
        let own = self.schema.map(|schema| BTreeMap::from([("1".to_owned(), schema)]));
        let schemas = extras.schemas.or(own).filter(|_| with_content);
        let created_at = extras.created_at.unwrap_or_else(|| LONG_AGO.to_owned());
        EventTypeOut {
            name: self.name,
            description: self.description,
            archived: self.is_archived,
            deprecated: extras.deprecated,
            schemas,
            group_name: extras.group_name,
            feature_flag: extras.feature_flags.first().cloned(),
            feature_flags: extras.feature_flags,
            updated_at: extras.updated_at.unwrap_or_else(|| created_at.clone()),
            created_at,
        }
    }
}

/// The requested properties of an event type.
#[derive(Debug, Clone, Default)]
pub struct EventTypeIn {
    pub description: Option<String>,
    pub archived: Option<bool>,
    pub deprecated: Option<bool>,
    pub group_name: MaybeField<String>,
    pub feature_flags: Option<Vec<String>>,
    pub schemas: MaybeField<BTreeMap<String, Box<RawValue>>>,
}

impl EventTypeIn {
    pub fn read(fields: &mut Fields, is_whole: bool) -> Self {
        let description =
            if is_whole { fields.require("description") } else { fields.take("description") };
        let flag: Option<String> = fields.take("featureFlag");
        let flags: Option<Vec<String>> = fields.take("featureFlags");
        let wanted = Self {
            description,
            archived: fields.take("archived"),
            deprecated: fields.take("deprecated"),
            group_name: fields.take_given("groupName"),
            feature_flags: flags.or_else(|| flag.map(|flag| vec![flag])),
            schemas: fields.take_given("schemas"),
        };
        if !is_whole {
            return wanted;
        }
        Self {
            archived: Some(wanted.archived.unwrap_or(false)),
            deprecated: Some(wanted.deprecated.unwrap_or(false)),
            group_name: Some(wanted.group_name.flatten()),
            feature_flags: Some(wanted.feature_flags.unwrap_or_default()),
            schemas: Some(wanted.schemas.flatten()),
            ..wanted
        }
    }

    /// Returns the body for the API. Schemas of Svix are stored and shown but not enforced, as at Svix.
    pub fn body(self, before: Option<&EventTypeRow>, now: String) -> Value {
        let mut extras = before.map_or_else(EventTypeExtras::default, EventTypeRow::extras);
        extras.created_at.get_or_insert_with(|| now.clone());
        extras.updated_at = Some(now);
        if let Some(deprecated) = self.deprecated {
            extras.deprecated = deprecated;
        }
        if let Some(name) = self.group_name {
            extras.group_name = name;
        }
        if let Some(flags) = self.feature_flags {
            extras.feature_flags = flags;
        }
        let mut example = before.and_then(|row| row.example.clone());
        if let Some(schemas) = self.schemas {
            example = schemas.as_ref().and_then(example_of).or(example);
            extras.schemas = schemas;
        }
        let own = before.map(|row| svix_metadata::own(&row.metadata)).unwrap_or_default();
        let description = self.description.or_else(|| before.map(|row| row.description.clone()));
        let archived = self.archived.or_else(|| before.map(|row| row.is_archived));
        let mut body = json!({
            "description": description.unwrap_or_default(),
            "is_archived": archived.unwrap_or(false),
            "metadata": svix_metadata::joined(own, &extras),
        });
        if let Some(example) = example.filter(|example| example.get() != "null") {
            body["example"] = serde_json::to_value(example).unwrap_or_default();
        }
        if let Some(schema) = before.and_then(|row| row.schema.as_ref()) {
            body["schema"] = serde_json::to_value(schema).unwrap_or_default();
        }
        body
    }
}

/// Returns the first example in the newest schema.
fn example_of(schemas: &BTreeMap<String, Box<RawValue>>) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Examples {
        examples: Vec<Box<RawValue>>,
    }
    let newest = schemas.iter().max_by_key(|(version, _)| version.parse::<u64>().unwrap_or(0))?.1;
    serde_json::from_str::<Examples>(newest.get()).ok()?.examples.into_iter().next()
}
