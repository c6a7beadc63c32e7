//! Event types of the operator or a tenant, stored as documents under their names.

use bytes::Bytes;
use gancho_domain::{EventType, FieldError, event_type::is_reserved};
use gancho_schema::Schema;
use gancho_store::{CollectionLimit, Precondition, StoreError, VERSIONED_KIND};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Catalog, EventTypeError, EventTypeInfo, EventTypes, catalog};
use crate::Owner;

pub(super) const KIND: &str = VERSIONED_KIND;
/// Maximum number per owner, since they are cached in memory.
pub(super) const MAX_COUNT: usize = 1_000;
const LIMIT: CollectionLimit = CollectionLimit { max_count: MAX_COUNT, max_bytes: 16 << 20 };
/// Maximum that the patterns of all types of an owner take when compiled.
const MAX_PATTERN_BYTES: usize = 32 << 20;
/// A type whose patterns take no more than this is not refused for those of the others.
const EQUAL_PART_OF_PATTERNS: usize = MAX_PATTERN_BYTES / MAX_COUNT;
const MAX_DESCRIPTION_LENGTH: usize = 2_000;
const MAX_EXAMPLE_LENGTH: usize = 64 * 1024;

#[derive(Debug, Clone, Default)]
pub struct NewEventType {
    pub name: String,
    pub description: Option<String>,
    pub example: Option<Box<RawValue>>,
    pub schema: Option<Box<RawValue>>,
    pub is_archived: bool,
    pub metadata: Option<Box<RawValue>>,
}

/// The stored form. The name is the document's key.
#[derive(Serialize, Deserialize)]
pub(super) struct TypeDocument {
    description: String,
    example: Box<RawValue>,
    schema: Option<Box<RawValue>>,
    #[serde(default)]
    is_archived: bool,
    #[serde(default = "no_metadata")]
    metadata: Box<RawValue>,
    /// An estimate of what the schema's patterns take when compiled. 0 if the type is older than the estimate.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) pattern_bytes: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// An empty object.
pub(super) fn no_metadata() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl TypeDocument {
    pub fn into_info(self, name: &str, owner: Owner) -> EventTypeInfo {
        EventTypeInfo {
            name: name.to_owned(),
            description: self.description,
            example: self.example,
            schema: self.schema,
            metadata: self.metadata,
            catalog: match owner {
                Owner::Operator => Catalog::Operator,
                Owner::Tenant(_) => Catalog::Tenant,
            },
            is_archived: self.is_archived,
        }
    }
}

impl EventTypes {
    /// Creates an event type. If several callers create it at once, one succeeds.
    pub async fn create(
        &self,
        owner: impl Into<Owner>,
        new: NewEventType,
    ) -> Result<EventTypeInfo, EventTypeError> {
        self.write(owner.into(), new, Precondition::Nothing).await
    }

    /// Creates an event type, or replaces the one with that name.
    pub async fn put(
        &self,
        owner: impl Into<Owner>,
        new: NewEventType,
    ) -> Result<EventTypeInfo, EventTypeError> {
        self.write(owner.into(), new, Precondition::Anything).await
    }

    async fn write(
        &self,
        owner: Owner,
        new: NewEventType,
        expect: Precondition,
    ) -> Result<EventTypeInfo, EventTypeError> {
        let (new, checked) = self.validate(owner, new).await?;
        let checked = checked.map_err(EventTypeError::Faulty)?;
        self.check_patterns(owner, &new.name, checked.pattern_bytes).await?;
        let place = owner.collection(KIND);
        let body = serde_json::to_vec(&checked).map_err(|error| {
            EventTypeError::Faulty(vec![FieldError::new("malformed", "", error)])
        })?;
        let body = Bytes::from(body);
        let put = self.store.put_document_within(place, &new.name, body, expect, LIMIT).await?;
        if put.is_none() {
            let is_taken = expect == Precondition::Nothing
                && self.store.document(place, &new.name).await?.is_some();
            let too_many = EventTypeError::TooMany { limit: LIMIT };
            return Err(if is_taken { EventTypeError::Taken } else { too_many });
        }
        self.type_cache.forget(owner);
        Ok(checked.into_info(&new.name, owner))
    }

    /// Validates a new type. One with a schema is validated on a thread for checks, since compiling may take long.
    async fn validate(
        &self,
        owner: Owner,
        new: NewEventType,
    ) -> Result<(NewEventType, Result<TypeDocument, Vec<FieldError>>), StoreError> {
        let is_long = new.schema.is_some();
        let check = move || {
            let checked = validate(&new);
            (new, checked)
        };
        if !is_long {
            return Ok(check());
        }
        self.checks.run(owner.tenant(), check).await
    }

    /// Refuses a type whose patterns would exceed, with those of the others, what an owner's may take.
    async fn check_patterns(
        &self,
        owner: Owner,
        name: &str,
        bytes: usize,
    ) -> Result<(), EventTypeError> {
        if bytes <= EQUAL_PART_OF_PATTERNS {
            return Ok(());
        }
        let others = self.type_cache.pattern_bytes_without(owner, name).await?;
        if others + bytes <= MAX_PATTERN_BYTES {
            return Ok(());
        }
        let message = format!(
            "its patterns take {} KiB when compiled, and with those of the other event types more than {} MiB: use simpler patterns, or delete event types",
            bytes >> 10,
            MAX_PATTERN_BYTES >> 20
        );
        Err(EventTypeError::Faulty(vec![FieldError::new("schema_too_costly", "/schema", message)]))
    }

    pub async fn delete(&self, owner: impl Into<Owner>, name: &str) -> Result<(), EventTypeError> {
        let owner = owner.into();
        let was_there = self.store.delete_document(owner.collection(KIND), name).await?;
        self.type_cache.forget(owner);
        match was_there {
            true => Ok(()),
            false if catalog::get(name).is_some() => Err(EventTypeError::BuiltIn),
            false => Err(EventTypeError::NotFound),
        }
    }
}

fn validate(new: &NewEventType) -> Result<TypeDocument, Vec<FieldError>> {
    let mut errors = Vec::new();
    match new.name.parse::<EventType>() {
        Err(error) => errors.push(FieldError::new("malformed", "/name", error)),
        Ok(_) if is_reserved(&new.name) => errors.push(reserved("/name")),
        Ok(_) => {}
    }
    let description = new.description.clone().unwrap_or_default();
    if description.chars().count() > MAX_DESCRIPTION_LENGTH {
        let message =
            format!("the description must not have more than {MAX_DESCRIPTION_LENGTH} characters");
        errors.push(FieldError::new("too_long", "/description", message));
    }
    let example = new
        .example
        .clone()
        .or_else(|| catalog::get(&new.name).map(|type_cache| type_cache.shown.example.clone()));
    let example = example.unwrap_or_else(|| RawValue::NULL.to_owned());
    if example.get().len() > MAX_EXAMPLE_LENGTH {
        let message = format!("the example must not have more than {MAX_EXAMPLE_LENGTH} bytes");
        errors.push(FieldError::new("too_long", "/example", message));
    }
    let schema = new.schema.as_ref().map(|schema| Schema::compile_new(schema.get())).transpose();
    let pattern_bytes =
        schema.as_ref().ok().and_then(Option::as_ref).map_or(0, Schema::pattern_bytes);
    match schema {
        Err(error) => errors.push(error),
        Ok(Some(schema)) if new.example.is_some() => {
            let unfit = schema.errors(example.get().as_bytes()).into_iter().map(|error| {
                FieldError { pointer: error.pointer.replacen("/data", "/example", 1), ..error }
            });
            errors.extend(unfit);
        }
        Ok(_) => {}
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(TypeDocument {
        description,
        example,
        schema: new.schema.clone(),
        is_archived: new.is_archived,
        metadata: new.metadata.clone().unwrap_or_else(no_metadata),
        pattern_bytes,
    })
}

pub(super) fn reserved(pointer: &str) -> FieldError {
    let message = "event types that start with `webhook.` are reserved: choose another name";
    FieldError::new("reserved_event_type", pointer, message)
}
