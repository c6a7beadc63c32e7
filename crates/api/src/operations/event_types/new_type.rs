//! What may be given for an event type.

use gancho_outbound::event_types::NewEventType;

use crate::input::{Field, Kind, Values, body};

pub const NAME: Field =
    Field::new("name", Kind::Text { least: 1, most: 128 }, "Dotted, such as `invoice.paid`.")
        .required();
const DESCRIPTION: Field = Field::new("description", Kind::Prose { most: 2_000 }, "For people.");
const EXAMPLE: Field =
    Field::new("example", Kind::Json, "Data as such an event may have it; what a test call sends.");
const SCHEMA: Field = Field::new(
    "schema",
    Kind::JsonObject { most: 64 * 1024 },
    "A JSON Schema that the data must fit. It may not refer to anything outside of itself.",
)
.nullable();
const IS_ARCHIVED: Field = Field::new("is_archived", Kind::Flag, "No longer offered.");

pub const WITH_NAME: &[Field] = &[NAME, DESCRIPTION, EXAMPLE, SCHEMA, IS_ARCHIVED];
pub const WITHOUT_NAME: &[Field] = &[DESCRIPTION, EXAMPLE, SCHEMA, IS_ARCHIVED];

pub fn new_type(name: String, values: &Values<'_>) -> NewEventType {
    NewEventType {
        name,
        description: values.string("description"),
        example: values.json("example").and_then(body::raw),
        schema: values.json("schema").and_then(body::raw),
        is_archived: values.flag("is_archived").unwrap_or(false),
    }
}
