//! The catalog of event types: built-in types, the operator's and a tenant's own, each with a description,
//! an example and optionally a JSON Schema.
//!
//! A tenant's own type overrides the operator's of the same name, and that the built-in one, so that
//! `invoice.paid` can get a schema. Types that are not in the catalog can be published, unless the tenant
//! forbids it.
//!
//! In reading order: [`catalog`] has the built-in types; [`own`] stores the others; `type_cache` caches all
//! of them; `schema_cache` keeps compiled schemas in a bounded part of memory; `check` validates an event.

pub mod catalog;
mod check;
pub mod own;
mod schema_cache;
mod type_cache;

use std::sync::Arc;

use gancho_domain::{FieldError, field_error::joined};
use gancho_engine::CheckThreads;
use gancho_store::{CollectionLimit, Store, StoreError};
use serde_json::value::RawValue;
use thiserror::Error;

pub use self::own::NewEventType;
use self::type_cache::TypeCache;
use crate::Owner;

/// The origin of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Catalog {
    Email,
    Agents,
    Saas,
    /// Notices of the gateway itself.
    Operations,
    Operator,
    Tenant,
}

impl Catalog {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Agents => "agents",
            Self::Saas => "saas",
            Self::Operations => "operations",
            Self::Operator => "operator",
            Self::Tenant => "tenant",
        }
    }
}

#[derive(Debug, Clone)]
pub struct EventTypeInfo {
    pub name: String,
    pub description: String,
    pub example: Box<RawValue>,
    pub schema: Option<Box<RawValue>>,
    /// The owner's metadata: a JSON object.
    pub metadata: Box<RawValue>,
    pub catalog: Catalog,
    /// No longer offered. Its events can still be published, without a schema check.
    pub is_archived: bool,
}

#[derive(Debug, Error)]
pub enum EventTypeError {
    #[error("{}", joined(.0))]
    Faulty(Vec<FieldError>),
    #[error("the event type already exists; replace it with PUT, or choose another name")]
    Taken,
    #[error("no event type with this name exists")]
    NotFound,
    #[error("this event type is built in and cannot be deleted")]
    BuiltIn,
    #[error("the maximum of {} event types, or of {} MiB in all, is reached: delete or merge some", .limit.max_count, .limit.max_bytes >> 20)]
    TooMany { limit: CollectionLimit },
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub struct EventTypes {
    store: Arc<dyn Store>,
    type_cache: TypeCache,
    checks: CheckThreads,
}

impl EventTypes {
    pub fn new(store: Arc<dyn Store>) -> Self {
        let (type_cache, checks) = (TypeCache::new(store.clone()), CheckThreads::default());
        Self { store, type_cache, checks }
    }

    /// Returns all types that a tenant can publish, sorted by name, including archived ones. The operator
    /// gets those for all tenants.
    pub async fn list(
        &self,
        owner: impl Into<Owner>,
    ) -> Result<Vec<EventTypeInfo>, EventTypeError> {
        Ok(self.type_cache.of(owner.into()).await?.all().map(|one| one.shown.clone()).collect())
    }

    pub async fn get(
        &self,
        owner: impl Into<Owner>,
        name: &str,
    ) -> Result<EventTypeInfo, EventTypeError> {
        let types = self.type_cache.of(owner.into()).await?;
        types.find(name).map(|one| one.shown.clone()).ok_or(EventTypeError::NotFound)
    }
}
