//! How an event type is shown.

use gancho_outbound::event_types::EventTypeInfo;
use serde::Serialize;
use utoipa::ToSchema;

use crate::show::Json;

#[derive(Debug, Serialize, ToSchema)]
pub struct EventType {
    pub name: String,
    pub description: String,
    pub example: Json,
    /// A JSON Schema that data of this type must fit; null where anything goes.
    #[schema(value_type = Json)]
    pub schema: Option<Json>,
    /// Where it comes from: `email`, `agents`, `saas`, `operations`, `operator` or `tenant`.
    pub catalog: &'static str,
    /// No longer offered; its schema is not asked.
    pub is_archived: bool,
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
        }
    }
}
