//! Renders an event type.

use gancho_outbound::event_types::EventTypeInfo;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::Json;

#[derive(Debug, Serialize, ToSchema)]
pub struct EventType {
    pub name: String,
    pub description: String,
    pub example: Json,
    /// JSON Schema that the event's data must match; null if any data is allowed.
    #[schema(value_type = Json)]
    pub schema: Option<Json>,
    /// Origin: `email`, `agents`, `saas`, `operations`, `operator` or `tenant`.
    pub catalog: &'static str,
    /// No longer offered to users; its schema is not enforced.
    pub is_archived: bool,
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
