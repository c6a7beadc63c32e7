//! How much memory the endpoints of a tenant may take: every node that delivers for the tenant has all of them in memory.

use std::collections::HashMap;

use gancho_domain::{Endpoint, TenantId};
use parking_lot::Mutex;

use crate::registry::Targets;

/// Of all endpoints of a tenant.
pub const MAX_BYTES: usize = 64 << 20;
/// What an endpoint takes besides its texts.
const FIXED: usize = 1 << 10;
/// What a pattern of event types takes at most.
const PATTERN: usize = 160;
/// Tenants whose growth is remembered.
const MAX_TENANTS: usize = 10_000;

/// Returns about how much an endpoint takes in memory: its headers are there twice, encrypted and not.
pub fn bytes_of(endpoint: &Endpoint) -> usize {
    let events = endpoint.events.len() * PATTERN;
    let old: usize = endpoint.old_secrets.iter().map(|old| old.sealed.len() + 64).sum();
    FIXED
        + endpoint.name.len()
        + endpoint.external_id.as_ref().map_or(0, String::len)
        + 2 * endpoint.url.len()
        + events
        + endpoint.sealed_secret.len()
        + old
        + 2 * endpoint.sealed_headers.as_ref().map_or(0, Vec::len)
        + endpoint.metadata.len()
}

/// What this node has added to the endpoints of tenants since it last read them. Other nodes may add as much meanwhile: the
/// limit is for memory, and need not be exact.
#[derive(Default)]
pub struct EndpointGrowth(Mutex<HashMap<TenantId, Growth>>);

#[derive(Default, Clone, Copy)]
struct Growth {
    /// The version of the endpoints that it is added to.
    version: u64,
    bytes: usize,
}

impl EndpointGrowth {
    /// Whether the endpoints of the tenant may take `more` bytes.
    pub fn allows(&self, tenant: TenantId, known: &Targets, more: usize) -> bool {
        let growth = self.0.lock().get(&tenant).copied().unwrap_or_default();
        let added = if growth.version == known.version { growth.bytes } else { 0 };
        more == 0 || known.bytes + added + more <= MAX_BYTES
    }

    pub fn note(&self, tenant: TenantId, known: &Targets, more: usize) {
        let mut all = self.0.lock();
        if all.len() >= MAX_TENANTS && !all.contains_key(&tenant) {
            all.clear();
        }
        let growth = all.entry(tenant).or_default();
        if growth.version != known.version {
            *growth = Growth { version: known.version, bytes: 0 };
        }
        growth.bytes += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_counts_until_it_is_read() {
        let (growth, tenant) = (EndpointGrowth::default(), TenantId::from_bits(1));
        let known = |version, bytes| Targets { version, bytes, ..Targets::default() };
        let half = MAX_BYTES / 2;
        assert!(growth.allows(tenant, &known(1, half), half));
        growth.note(tenant, &known(1, half), half);
        assert!(!growth.allows(tenant, &known(1, half), 1));
        assert!(growth.allows(tenant, &known(1, half), 0), "it may become smaller");
        assert!(growth.allows(TenantId::from_bits(2), &known(1, 0), half), "others have their own");
        assert!(!growth.allows(tenant, &known(2, 2 * half), 1), "they were read");
        assert!(growth.allows(tenant, &known(3, half), half), "some were deleted");
    }
}
