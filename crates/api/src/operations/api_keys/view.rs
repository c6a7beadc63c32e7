//! Renders an API key, without its secret.

use gancho_access::ApiKey;
use gancho_domain::Time;
use serde::Serialize;
use utoipa::ToSchema;

use crate::render::{Timestamp, words};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub struct ApiKeyView {
    pub id: String,
    pub tenant_id: String,
    pub name: String,
    #[schema(value_type = Vec<words::ApiKeyScope>)]
    pub scopes: Vec<&'static str>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// When the key was last used, to the minute; null if never.
    pub last_used_at: Option<Timestamp>,
}

/// A new API key with its secret, which is not shown again.
#[derive(Serialize, ToSchema)]
pub struct NewApiKey {
    #[serde(flatten)]
    pub view: ApiKeyView,
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
