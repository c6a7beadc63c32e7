//! How the fields of a request look in the documentation.

use utoipa::openapi::{
    KnownFormat, RefOr, Required, Schema, SchemaFormat,
    path::{Parameter, ParameterBuilder, ParameterIn},
    schema::{AdditionalProperties, Array, ArrayBuilder, Object, ObjectBuilder, SchemaType, Type},
};

use crate::input::{
    Field, Kind,
    field::{LONGEST_ID, Noun},
};

/// An object with these fields and no others.
pub fn object(fields: &[Field]) -> Object {
    let mut builder = ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
    for field in fields {
        builder = builder.property(field.name, of_field(field));
        if field.is_required {
            builder = builder.required(field.name);
        }
    }
    builder.build()
}

pub fn in_query(field: &Field) -> Parameter {
    ParameterBuilder::new()
        .name(field.name)
        .parameter_in(ParameterIn::Query)
        .required(if field.is_required { Required::True } else { Required::False })
        .description(Some(field.about))
        .schema(Some(of_kind(field.kind)))
        .build()
}

pub fn in_path(name: &str, noun: Noun) -> Parameter {
    let about = match noun {
        Noun::Tenant => "Slug or id of the tenant.".to_owned(),
        Noun::EventType => "Name of the event type.".to_owned(),
        Noun::Lane => "Name of the lane: `webhook`, `dispatch` or `email`.".to_owned(),
        Noun::Source => "Name of the partner.".to_owned(),
        Noun::Suppression => "E-mail address, e.g. `ana@example.com`.".to_owned(),
        noun => format!("Id of the {}.", noun.word()),
    };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(about))
        .schema(Some(text(1, LONGEST_ID)))
        .build()
}

fn of_field(field: &Field) -> RefOr<Schema> {
    let schema = match of_kind(field.kind) {
        RefOr::T(Schema::Object(mut object)) => {
            object.description = Some(field.about.to_owned());
            if field.is_nullable {
                object.schema_type = or_null(object.schema_type);
            }
            Schema::Object(object)
        }
        RefOr::T(Schema::Array(mut array)) => {
            array.description = Some(field.about.to_owned());
            if field.is_nullable {
                array.schema_type = or_null(array.schema_type);
            }
            Schema::Array(array)
        }
        other => return other,
    };
    RefOr::T(schema)
}

fn or_null(schema_type: SchemaType) -> SchemaType {
    match schema_type {
        SchemaType::Type(one) => SchemaType::Array(vec![one, Type::Null]),
        other => other,
    }
}

fn of_kind(kind: Kind) -> RefOr<Schema> {
    match kind {
        Kind::Text { least, most } => text(least, most),
        Kind::Prose { most } => text(0, most),
        Kind::Secret { most } => ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Password)))
            .max_length(Some(most))
            .into(),
        Kind::Flag => ObjectBuilder::new().schema_type(Type::Boolean).into(),
        Kind::Count { least, most } => ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(least as f64))
            .maximum(Some(most as f64))
            .into(),
        Kind::Time => ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .into(),
        Kind::Span => ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(40))
            .examples([serde_json::json!("30s")])
            .into(),
        Kind::Id(noun) => match noun.prefix() {
            Some(prefix) => ObjectBuilder::new()
                .schema_type(Type::String)
                .max_length(Some(LONGEST_ID))
                .pattern(Some(format!("^{prefix}_")))
                .into(),
            None => text(1, LONGEST_ID),
        },
        Kind::Cursor => text(1, 1_024),
        Kind::Choice(words) => {
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.to_vec())).into()
        }
        Kind::Texts { most, longest } => list(text(0, longest), None, most).into(),
        Kind::TextMap { most, longest } => ObjectBuilder::new()
            .schema_type(Type::Object)
            .max_properties(Some(most))
            .additional_properties(Some(text(0, longest)))
            .into(),
        Kind::Object(fields) => RefOr::T(Schema::Object(object(fields))),
        Kind::Objects { fields, least, most } => {
            list(RefOr::T(Schema::Object(object(fields))), Some(least), most).into()
        }
        Kind::Json => ObjectBuilder::new().schema_type(SchemaType::AnyValue).into(),
        Kind::JsonObject { .. } => ObjectBuilder::new()
            .schema_type(Type::Object)
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)))
            .into(),
    }
}

fn text(least: usize, most: usize) -> RefOr<Schema> {
    let builder = ObjectBuilder::new().schema_type(Type::String).max_length(Some(most));
    builder.min_length((least > 0).then_some(least)).into()
}

fn list(items: RefOr<Schema>, least: Option<usize>, most: usize) -> Array {
    ArrayBuilder::new().items(items).min_items(least).max_items(Some(most)).build()
}
