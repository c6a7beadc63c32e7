//! Reads the tenants' shares of the gateway, and caches them for all open pages.

use std::sync::Arc;

use super::range::Range;
use crate::{
    pages::list::List,
    params::Link,
    tenant_shares::{TenantShares, TenantStats},
    visit::Visit,
};

/// Maximum tenants that are read.
const MAX_READ: usize = 100;

/// Returns the shares of a range, if at least two tenants have sent something.
pub async fn read(visit: &Visit, range: Range) -> Option<Arc<TenantShares>> {
    let shares = shares(visit, range).await?;
    Some(shares).filter(|shares| shares.rows.len() > 1)
}

async fn shares(visit: &Visit, range: Range) -> Option<Arc<TenantShares>> {
    let (cache, now) = (&visit.dashboard.tenant_shares, visit.dashboard.clock.now());
    if let Some(shares) = cache.get(range.name(), now) {
        return Some(shares);
    }
    let link = Link::new("/v1/stats/tenants").with("range", range.name()).with("limit", MAX_READ);
    let list: List<TenantStats> = visit.get_as_operator(link).await.ok()?;
    let first = list.next_cursor.map(|_| list.data.len() as u64);
    let shares = Arc::new(TenantShares::of(list.data, first));
    cache.put(range.name(), shares.clone(), now);
    Some(shares)
}
