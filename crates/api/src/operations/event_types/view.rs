//! Renders an event type.

use gancho_outbound::event_types::EventTypeInfo;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::Json;

/// An event type: a name for events, with a description, an example and optionally a schema.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventType {
    /// Name of the event type, e.g. `invoice.paid`.
    pub name: String,
    /// Human-readable description; empty if there is none.
    pub description: String,
    /// Example of the event's data. Test calls send it.
    pub example: Json,
    /// JSON Schema that the event's data must match; null if any data is allowed.
    #[schema(value_type = Json)]
    pub schema: Option<Json>,
    /// Catalog that the event type is from: `email`, `agents`, `saas` and `operations` are built in, `operator` and
    /// `tenant` have registered types.
    pub catalog: &'static str,
    /// Whether the event type is archived: it is no longer offered to users, and its schema is not enforced.
    pub is_archived: bool,
    /// Custom JSON object, stored with the event type.
    pub metadata: Json,
}

impl From<EventTypeInfo> for EventType {
    fn from(known: EventTypeInfo) -> Self {
        Self {
            name: known.name,
            description: known.description,
            example: Json(known.example),
            schema: known.schema.map(Json),
            catalog: known.catalog.name(),
            is_archived: known.is_archived,
            metadata: Json(known.metadata),
        }
    }
}
