//! The catalog of event types: those that are built in, those of the operator, and a tenant's own,
//! each with a description and an example, and with a JSON Schema where someone gave one.
//!
//! A tenant's own type stands before the operator's of the same name, and that before the built-in
//! one, so that `invoice.paid` can be given a schema. A type need not be known to be published,
//! unless the tenant asks for that.
//!
//! In reading order: [`catalog`] is what is built in; [`own`] keeps the others;
//! `type_cache` is all of it in memory; `check` judges an event.

pub mod catalog;
mod check;
pub mod own;
mod type_cache;

use std::sync::Arc;

use gancho_domain::{FieldError, field_error::joined};
use gancho_store::{Store, StoreError};
use serde_json::value::RawValue;
use thiserror::Error;

pub use self::own::NewEventType;
use self::type_cache::TypeCache;
use crate::Owner;

/// Where a type comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Catalog {
    Email,
    Agents,
    Saas,
    /// What the gateway itself tells.
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
    pub catalog: Catalog,
    /// No longer offered: it is not in the way of old events, and its schema is not asked.
    pub is_archived: bool,
}

#[derive(Debug, Error)]
pub enum EventTypeError {
    #[error("{}", joined(.0))]
    Faulty(Vec<FieldError>),
    #[error("no event type with this name exists")]
    NotFound,
    #[error("this event type is built in and cannot be deleted")]
    BuiltIn,
    #[error("the maximum of {most} event types is reached: delete or merge some")]
    TooMany { most: usize },
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub struct EventTypes {
    store: Arc<dyn Store>,
    type_cache: TypeCache,
}

impl EventTypes {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { type_cache: TypeCache::new(store.clone()), store }
    }

    /// All that a tenant can publish, by name, archived ones included; the operator sees what is
    /// everyone's.
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
