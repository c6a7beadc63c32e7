//! How values look in responses: names in snake_case, timestamps as RFC 3339 with milliseconds, ids as
//! strings, lists as `data` and `next_cursor` ([`List`]).

mod list;
pub mod words;

use gancho_domain::Time;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        KnownFormat, RefOr, Schema, SchemaFormat,
        schema::{ObjectBuilder, SchemaType, Type},
    },
};

pub use list::List;

#[derive(Debug, Clone, Copy)]
pub struct Timestamp(pub Time);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some(
                "Time in RFC 3339, in UTC with milliseconds: `2026-01-31T12:00:00.000Z`.",
            ))
            .into()
    }
}

impl ToSchema for Timestamp {}

/// JSON from a caller, rendered as it was received.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Json(pub Box<RawValue>);

impl Json {
    /// Renders what is not JSON, such as some receipts, as a string.
    pub fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let raw = RawValue::from_string(text.clone().into_owned())
            .or_else(|_| serde_json::value::to_raw_value(&*text));
        Self(raw.unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl PartialSchema for Json {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::AnyValue)
            .default(Some(serde_json::Value::Null))
            .description(Some(
                "Any JSON value, as it was received. Data that is not JSON is a string.",
            ))
            .into()
    }
}

impl ToSchema for Json {}
