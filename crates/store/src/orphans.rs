//! What a deleted endpoint leaves behind: pending deliveries, and pauses.
//!
//! The deletion of an endpoint also removes its pause. Its deliveries may be many, so they are given up in
//! separate steps. A sweep finds those that became pending later, for instance because an attempt was in
//! flight while the endpoint was deleted.

use async_trait::async_trait;
use gancho_domain::{EndpointId, TenantId, TenantScope, Time};

use crate::{EndedDelivery, Result};

/// An endpoint and its tenant.
pub type TenantEndpoint = (TenantId, EndpointId);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrphanScan {
    /// The endpoints that do not exist.
    pub orphaned: Vec<TenantEndpoint>,
    /// Where to continue; `None` at the end.
    pub next: Option<TenantEndpoint>,
}

#[async_trait]
pub trait Orphans: Send + Sync + 'static {
    /// Scans `max` of the endpoints that have pending webhook deliveries, after `after`, and returns those
    /// that do not exist.
    async fn scan_orphans(&self, after: Option<TenantEndpoint>, max: usize) -> Result<OrphanScan>;

    /// Gives up at most `max` pending or waiting webhook deliveries to an endpoint that does not exist, as
    /// dead letters with the code `TARGET_GONE`. Gives up none if the endpoint exists.
    async fn give_up_orphans(
        &self,
        scope: TenantScope,
        endpoint: EndpointId,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>>;

    /// Lifts the pauses of endpoints that do not exist, and returns how many there were.
    async fn lift_orphaned_pauses(&self) -> Result<u64>;
}
