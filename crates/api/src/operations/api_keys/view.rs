//! Renders an API key, without its secret.

use gancho_access::ApiKey;
use gancho_domain::Time;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::{Timestamp, words};

/// An API key of a tenant, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub struct ApiKeyView {
    /// Id of the key (`key_…`).
    pub id: String,
    /// Id of the tenant that the key belongs to.
    pub tenant_id: String,
    /// Display name; empty if none was given.
    pub name: String,
    /// What the key may be used for.
    #[schema(value_type = Vec<words::ApiKeyScope>)]
    pub scopes: Vec<&'static str>,
    /// When the key was created.
    pub created_at: Timestamp,
    /// When the key expires or has expired; null if it never expires.
    pub expires_at: Option<Timestamp>,
    /// When the key was revoked; null if it was not.
    pub revoked_at: Option<Timestamp>,
    /// When the key was last used, to the minute; null if never.
    pub last_used_at: Option<Timestamp>,
}

/// A new API key with its secret, which is not shown again.
#[derive(Serialize, ToSchema)]
pub struct NewApiKey {
    #[serde(flatten)]
    pub view: ApiKeyView,
    /// The API key (`gk_…`), to be sent as `X-API-Key` or `Authorization: Bearer`. Store it: it is not shown again.
    pub key: String,
}

impl ApiKeyView {
    pub fn of(key: &ApiKey, last_used_at: Option<Time>) -> Self {
        Self {
            id: key.id.to_string(),
            tenant_id: key.tenant.to_string(),
            name: key.name.clone(),
            scopes: key.rights.names(),
            created_at: Timestamp(key.created_at),
            expires_at: key.expires_at.map(Timestamp),
            revoked_at: key.revoked_at.map(Timestamp),
            last_used_at: last_used_at.map(Timestamp),
        }
    }
}
