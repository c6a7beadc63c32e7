//! The bodies of an event type.

use gancho_outbound::event_types::NewEventType;
use serde_json::value::RawValue;

use crate::input::request;

request! {
    /// The settings of an event type.
    pub struct EventTypeBody {
        /// Human-readable description.
        optional description: String as prose(2_000),
        /// Example of the event's data. Test calls send it.
        optional example: Box<RawValue> as json(),
        /// JSON Schema that the event's data must match. External references are not allowed.
        nullable schema: Box<RawValue> as json_object(64 * 1024),
        /// Whether the event type is archived: no longer offered to users.
        optional is_archived: bool as flag(),
        /// Custom JSON object, stored with the event type.
        optional metadata: Box<RawValue> as json_object(64 * 1024),
    }
}

request! {
    /// A new event type.
    pub struct NewEventTypeBody {
        /// Dot-separated name, e.g. `invoice.paid`.
        required name: String as text(1, 128),
        flatten settings: EventTypeBody,
    }
}

impl EventTypeBody {
    pub fn named(self, name: String) -> NewEventType {
        NewEventType {
            name,
            description: self.description,
            example: self.example,
            schema: self.schema,
            is_archived: self.is_archived.unwrap_or(false),
            metadata: self.metadata,
        }
    }
}
