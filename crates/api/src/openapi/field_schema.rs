//! OpenAPI schemas of request fields.

use utoipa::openapi::{
    KnownFormat, Ref, RefOr, Required, Schema, SchemaFormat,
    path::{Parameter, ParameterBuilder, ParameterIn},
    schema::{
        AdditionalProperties, Array, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, SchemaType,
        Type,
    },
};

use crate::input::{
    Field, FieldKind,
    field::{MAX_ID_LENGTH, ResourceKind},
};

/// Returns an object with these fields and no others.
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

/// Collects the objects in a body by their names, and those inside of them.
pub fn parts(fields: &[Field], all: &mut Vec<(String, RefOr<Schema>)>) {
    for field in fields {
        if let FieldKind::Object { name, fields } | FieldKind::Objects { name, fields, .. } =
            field.kind
        {
            let mut part = object(fields);
            part.description = Some(field.about.to_owned());
            all.push((part_name(name), Schema::Object(part).into()));
            parts(fields, all);
        }
    }
}

/// Returns the name of an object in a body: that of `RetryBody` is `RetryInput`, because the `Retry` in
/// responses may have other fields.
fn part_name(name: &str) -> String {
    format!("{}Input", name.strip_suffix("Body").unwrap_or(name))
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

pub fn in_path(name: &str, noun: ResourceKind) -> Parameter {
    let about = match noun {
        ResourceKind::Tenant => "Slug or id of the tenant.".to_owned(),
        ResourceKind::EventType => "Name of the event type.".to_owned(),
        ResourceKind::Lane => "Name of the lane: `webhook`, `dispatch` or `email`.".to_owned(),
        ResourceKind::Source => "Name of the partner.".to_owned(),
        ResourceKind::Suppression => "E-mail address, e.g. `ana@example.com`.".to_owned(),
        noun if noun.prefix().is_none() => format!("Name of the {}.", noun.word()),
        noun => format!("Id of the {}.", noun.word()),
    };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(about))
        .schema(Some(text(1, MAX_ID_LENGTH)))
        .example(Some(super::examples::of_noun(noun).into()))
        .build()
}

pub fn in_header(name: &str, about: &str, max: usize) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(about))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(max))
                .pattern(Some("^[!-~]+$")),
        ))
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
        RefOr::Ref(mut part) if !field.is_nullable => {
            field.about.clone_into(&mut part.description);
            return RefOr::Ref(part);
        }
        part => OneOfBuilder::new()
            .description(Some(field.about))
            .item(part)
            .item(Object::with_type(Type::Null))
            .build()
            .into(),
    };
    RefOr::T(schema)
}

fn or_null(schema_type: SchemaType) -> SchemaType {
    match schema_type {
        SchemaType::Type(one) => SchemaType::Array(vec![one, Type::Null]),
        other => other,
    }
}

fn of_kind(kind: FieldKind) -> RefOr<Schema> {
    match kind {
        FieldKind::Text { min, max } => text(min, max),
        FieldKind::Prose { max } => text(0, max),
        FieldKind::Secret { max } => ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Password)))
            .max_length(Some(max))
            .into(),
        FieldKind::Flag => ObjectBuilder::new().schema_type(Type::Boolean).into(),
        FieldKind::Count { min, max } => ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(min as f64))
            .maximum(Some(max as f64))
            .into(),
        FieldKind::Time => ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .into(),
        FieldKind::Span => ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(40))
            .examples([serde_json::json!("30s")])
            .into(),
        FieldKind::Id(noun) => match noun.prefix() {
            Some(prefix) => ObjectBuilder::new()
                .schema_type(Type::String)
                .max_length(Some(MAX_ID_LENGTH))
                .pattern(Some(format!("^{prefix}_")))
                .into(),
            None => text(1, MAX_ID_LENGTH),
        },
        FieldKind::Cursor => text(1, 1_024),
        FieldKind::Choice(words) => {
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.to_vec())).into()
        }
        FieldKind::Texts { max, max_length } => list(text(0, max_length), None, max).into(),
        FieldKind::TextMap { max, max_length } => ObjectBuilder::new()
            .schema_type(Type::Object)
            .max_properties(Some(max))
            .additional_properties(Some(text(0, max_length)))
            .into(),
        FieldKind::Object { name, .. } => Ref::from_schema_name(part_name(name)).into(),
        FieldKind::Objects { name, min, max, .. } => {
            list(Ref::from_schema_name(part_name(name)).into(), Some(min), max).into()
        }
        FieldKind::Json => ObjectBuilder::new().schema_type(SchemaType::AnyValue).into(),
        FieldKind::JsonObject { .. } => ObjectBuilder::new()
            .schema_type(Type::Object)
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)))
            .into(),
    }
}

fn text(min: usize, max: usize) -> RefOr<Schema> {
    let builder = ObjectBuilder::new().schema_type(Type::String).max_length(Some(max));
    builder.min_length((min > 0).then_some(min)).into()
}

fn list(items: RefOr<Schema>, min: Option<usize>, max: usize) -> Array {
    ArrayBuilder::new().items(items).min_items(min).max_items(Some(max)).build()
}
