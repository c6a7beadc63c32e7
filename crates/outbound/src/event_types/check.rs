//! Validates an event: whether its type may be published, is known where required, and whether its data
//! matches the schema.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{FieldError, Tenant, TenantScope, event_type::is_reserved};
use gancho_engine::off_thread;
use gancho_schema::SchemaCheckError;
use gancho_store::StoreError;

use super::{
    EventTypeError, EventTypes,
    own::reserved,
    type_cache::{CompiledType, InvalidSchema},
};

impl EventTypes {
    /// Checks an event. Most types have no schema, which makes this a cache look-up.
    pub async fn check(
        &self,
        scope: TenantScope,
        tenant: &Tenant,
        event_type: &str,
        data: &Bytes,
    ) -> Result<(), EventTypeError> {
        if is_reserved(event_type) {
            return Err(EventTypeError::Faulty(vec![reserved("/type")]));
        }
        let types = self.type_cache.of(scope).await?;
        let type_cache = types.find(event_type).filter(|type_cache| !type_cache.shown.is_archived);
        let Some(type_cache) = type_cache else {
            return if tenant.strict_event_types { Err(unknown(event_type)) } else { Ok(()) };
        };
        let errors = errors(type_cache, data)
            .await
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        if errors.is_empty() { Ok(()) } else { Err(EventTypeError::Faulty(errors)) }
    }
}

async fn errors(
    type_cache: Arc<CompiledType>,
    data: &Bytes,
) -> Result<Vec<FieldError>, SchemaCheckError> {
    let schema = match &type_cache.schema {
        None => return Ok(Vec::new()),
        Some(Err(InvalidSchema)) => return Err(SchemaCheckError),
        Some(Ok(schema)) => schema.clone(),
    };
    let data = data.clone();
    off_thread(data.len(), move || schema.errors(&data)).await.ok_or(SchemaCheckError)
}

fn unknown(event_type: &str) -> EventTypeError {
    let message = format!("`{event_type}` is not a registered event type: register it first");
    EventTypeError::Faulty(vec![FieldError::new("unknown_event_type", "/type", message)])
}
