//! API keys that are about to expire although they are in use, and that no other key replaces.

use std::time::Duration;

use gancho_domain::{TenantScope, Time};
use gancho_store::{Collection, Result, Store};

use crate::api_key::{ApiKey, COLLECTION, RETENTION_AFTER_END, USED_COLLECTION, used_at};

/// How recently a key must have been used to count as in use.
const IN_USE: Duration = Duration::from_hours(7 * 24);
const MAX_KEYS: usize = 500;

/// Returns keys of all tenants, among the first `max` that expire within this time, earliest first. A key
/// that was created later and is valid for longer replaces those before it.
pub async fn expiring_keys(
    store: &dyn Store,
    now: Time,
    within: Duration,
    max: usize,
) -> Result<Vec<ApiKey>> {
    let from = now + RETENTION_AFTER_END;
    let mut expiring = Vec::new();
    for document in store.documents_ending(COLLECTION, from, from + within, max).await? {
        let key = ApiKey::of_document(&document)?;
        let Some(end) = key.expires_at.filter(|_| key.is_valid(now)) else { continue };
        let scope = TenantScope::internal(key.tenant);
        let used = store.document(Collection::of(scope, USED_COLLECTION), &document.key).await?;
        let used = used.as_ref().and_then(used_at);
        if used.is_none_or(|at| now.since(at) > IN_USE) {
            continue;
        }
        let others = store.documents(Collection::of(scope, COLLECTION), None, MAX_KEYS).await?;
        let mut is_replaced = false;
        for other in &others {
            let other = ApiKey::of_document(other)?;
            is_replaced |= other.created_at > key.created_at
                && other.is_valid(now)
                && other.expires_at.is_none_or(|later| later > end);
        }
        if !is_replaced {
            expiring.push(key);
        }
    }
    Ok(expiring)
}
