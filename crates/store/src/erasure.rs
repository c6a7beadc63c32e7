//! Deleting a tenant with all that it has.
//!
//! The tenant, its endpoints, its documents and its pauses go at once. What it sent may be a lot, and goes in steps;
//! until that is done, and for a while after, the store remembers the tenant as deleted.
//!
//! What stays: lines of the ledger and the audit log, counters that name nobody (usage and statistics, for as long as
//! they are kept), and hashes of idempotency keys, until they expire.

use async_trait::async_trait;
use gancho_domain::{TenantId, Time};

use crate::Result;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedTenant {
    pub id: TenantId,
    pub slug: String,
    pub deleted_at: Time,
    /// Nothing of it was left.
    pub is_erased: bool,
}

/// The result of one step of erasing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EraseStep {
    /// Removed parcels.
    pub parcels: u64,
    /// There is more to remove: run another step.
    pub more: bool,
    /// Nothing is left. With neither, something is held by a node, and can be removed later.
    pub is_clean: bool,
}

#[async_trait]
pub trait Erasure: Send + Sync + 'static {
    /// Returns whether the tenant existed. Its slug is free afterwards.
    async fn delete_tenant(&self, id: TenantId, now: Time) -> Result<bool>;

    /// At most `max` of those that are remembered, the first deleted first.
    async fn deleted_tenants(&self, max: usize) -> Result<Vec<DeletedTenant>>;

    /// Ends at most `max` of the deleted tenant's deliveries, and removes at most `max` of each kind of thing that
    /// it has left. Does nothing for a tenant that was not deleted.
    async fn erase(&self, id: TenantId, max: usize) -> Result<EraseStep>;

    async fn mark_erased(&self, id: TenantId) -> Result<()>;

    /// No longer remembers the deleted tenant.
    async fn forget_deleted(&self, id: TenantId) -> Result<()>;
}
