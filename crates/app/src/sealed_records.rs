//! Counts which keys of the ring encrypt which stored secrets.

use std::collections::BTreeMap;

use gancho_domain::{Endpoint, Tenant, TenantScope};
use gancho_inbound::{SigningKeys, SigningKeysError, keys::reseal};
use gancho_store::Store;
use gancho_vault::KeyRing;

use crate::key_ring::RingSource;

/// Maximum tenants in one step.
const BATCH: usize = 200;

/// Returns the number of stored secrets that each key encrypts.
pub async fn keys_in_use(store: &dyn Store) -> anyhow::Result<BTreeMap<u32, u64>> {
    let mut counts = reseal::in_use(store).await?;
    let mut after = None;
    while let Some(tenants) = next_tenants(store, &mut after).await? {
        for tenant in tenants {
            for endpoint in store.endpoints(TenantScope::internal(tenant.id)).await? {
                for number in keys_of(&endpoint) {
                    *counts.entry(number).or_default() += 1;
                }
            }
        }
    }
    Ok(counts)
}

/// Returns the keys of the store that the ring lacks; all of them if it is another ring.
pub async fn missing_keys(store: &dyn Store, ring: &RingSource) -> anyhow::Result<Vec<u32>> {
    let used: Vec<u32> = keys_in_use(store).await?.into_keys().collect();
    let RingSource::Loaded(ring) = ring else { return Ok(used) };
    let known = ring.keys.numbers();
    let missing: Vec<u32> = used.iter().copied().filter(|key| !known.contains(key)).collect();
    // Keys of two rings have the same numbers.
    match SigningKeys::check(store, &ring.keys).await {
        Err(SigningKeysError::Store(error)) => Err(error.into()),
        Err(_) if missing.is_empty() => Ok(used),
        _ => Ok(missing),
    }
}

/// Returns the next tenants in the order of their slugs; none after the last.
pub async fn next_tenants(
    store: &dyn Store,
    after: &mut Option<String>,
) -> anyhow::Result<Option<Vec<Tenant>>> {
    let tenants = store.tenants(after.as_deref(), BATCH).await?;
    *after = tenants.last().map(|tenant| tenant.slug.clone());
    Ok((!tenants.is_empty()).then_some(tenants))
}

fn keys_of(endpoint: &Endpoint) -> Vec<u32> {
    let secrets = endpoint.old_secrets.iter().map(|old| &old.sealed);
    let all = secrets.chain([&endpoint.sealed_secret]).chain(&endpoint.sealed_headers);
    let mut keys: Vec<u32> = all.filter_map(|sealed| KeyRing::key_of(sealed)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}
