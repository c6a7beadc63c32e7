//! The body of an event type.

use gancho_outbound::event_types::NewType;

use crate::input::{Field, Kind, Values, body};

pub const NAME: Field =
    Field::new("name", Kind::Text { min: 1, max: 128 }, "Dot-separated name, e.g. `invoice.paid`.")
        .required();
const DESCRIPTION: Field =
    Field::new("description", Kind::Prose { max: 2_000 }, "Human-readable description.");
const EXAMPLE: Field =
    Field::new("example", Kind::Json, "Example of the event's data. Test calls send it.");
const SCHEMA: Field = Field::new(
    "schema",
    Kind::JsonObject { max: 64 * 1024 },
    "JSON Schema that the event's data must match. External references are not allowed.",
)
.nullable();
const IS_ARCHIVED: Field = Field::new(
    "is_archived",
    Kind::Flag,
    "Whether the event type is archived: no longer offered to users.",
);

pub const WITH_NAME: &[Field] = &[NAME, DESCRIPTION, EXAMPLE, SCHEMA, IS_ARCHIVED];
pub const WITHOUT_NAME: &[Field] = &[DESCRIPTION, EXAMPLE, SCHEMA, IS_ARCHIVED];

pub fn new_type(name: String, values: &Values<'_>) -> NewType {
    NewType {
        name,
        description: values.string("description"),
        example: values.json("example").and_then(body::raw),
        schema: values.json("schema").and_then(body::raw),
        is_archived: values.flag("is_archived").unwrap_or(false),
    }
}
