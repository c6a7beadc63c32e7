//! Validates an event: whether its type may be published, is known where required, and whether its data
//! matches the schema.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{FieldError, Tenant, TenantScope, event_type::is_reserved};
use gancho_engine::run_inline;
use gancho_schema::SchemaCheckError;
use gancho_store::{Account, Result, StoreError};
use tokio::task::coop;

use super::{
    EventTypeError, EventTypes, own::reserved, schema_cache::InvalidSchema, type_cache::CachedType,
};

/// The work after which a task uses up a part of its budget, so that a batch of many checks yields in between.
const WORK_PER_BUDGET: u64 = 2_000;

impl EventTypes {
    /// Checks an event. Most types have no schema, which makes this a cache look-up.
    pub async fn check(
        &self,
        scope: TenantScope,
        tenant: &Tenant,
        event_type: &str,
        data: &Bytes,
    ) -> std::result::Result<(), EventTypeError> {
        if is_reserved(event_type) {
            return Err(EventTypeError::Faulty(vec![reserved("/type")]));
        }
        let types = self.type_cache.of(scope).await?;
        let found = types.find(event_type).filter(|one| !one.shown.is_archived);
        let Some(found) = found else {
            return if tenant.strict_event_types { Err(unknown(event_type)) } else { Ok(()) };
        };
        let errors = self.errors(scope, found, data).await?;
        if errors.is_empty() { Ok(()) } else { Err(EventTypeError::Faulty(errors)) }
    }

    /// Returns the schema errors. What is little work is checked at once; what is more, and what a task must not
    /// do at all (compiling a schema, describing errors), is done on the threads for checks, in the tenant's turn.
    async fn errors(
        &self,
        scope: TenantScope,
        of_type: Arc<CachedType>,
        data: &Bytes,
    ) -> Result<Vec<FieldError>> {
        let Some(schema) = &of_type.schema else { return Ok(Vec::new()) };
        match schema.get() {
            Some(Err(InvalidSchema)) => return Err(invalid_schema()),
            Some(Ok(schema)) => {
                if let Some(work) = schema.inline_work(data)
                    && run_inline(|| schema.is_valid(data))?
                {
                    spend(work).await;
                    return Ok(Vec::new());
                }
            }
            None => {}
        }
        let data = data.clone();
        let check = move || match of_type.compile() {
            None => Ok(Vec::new()),
            Some(Ok(schema)) => Ok(schema.errors(&data)),
            Some(Err(InvalidSchema)) => Err(invalid_schema()),
        };
        self.checks.run(Account::Tenant(scope.tenant()), check).await?
    }
}

/// Lets other tasks run if this one has worked for long.
async fn spend(work: u64) {
    for _ in 0..=work / WORK_PER_BUDGET {
        coop::consume_budget().await;
    }
}

fn invalid_schema() -> StoreError {
    StoreError::Unavailable(SchemaCheckError.to_string())
}

fn unknown(event_type: &str) -> EventTypeError {
    let message = format!("`{event_type}` is not a registered event type: register it first");
    EventTypeError::Faulty(vec![FieldError::new("unknown_event_type", "/type", message)])
}
