//! Deleting a tenant with all that it has, and erasing the content of single parcels.
//!
//! The tenant, its endpoints, its documents and its pauses go at once. What it sent may be a lot, and goes in steps;
//! until that is done, and for a while after, the store remembers the tenant as deleted.
//!
//! What stays: lines of the ledger and the audit log, counters that name nobody (usage and statistics, for as long as
//! they are kept), and hashes of idempotency keys, until they expire.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{ParcelId, TenantId, TenantScope, Time};

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

/// The outcome of erasing the content of a parcel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentErasure {
    Erased,
    AlreadyErased,
    /// A delivery of it has not ended. Nothing was erased.
    InFlight,
    Unknown,
}

/// Parcels of a subject that one step has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubjectScan {
    pub parcels: Vec<ParcelId>,
    /// Where the next step goes on; nothing at the end.
    pub next: Option<ParcelId>,
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

    /// Replaces the body of a parcel, and removes its subject, its external id, the request it came in, what its
    /// attempts sent and got, its dead letters and the reports on it. Ids, times, states, codes and the ledger stay.
    async fn erase_content(
        &self,
        scope: TenantScope,
        id: ParcelId,
        replacement: Bytes,
        now: Time,
    ) -> Result<ContentErasure>;

    /// The parcels of a subject, oldest first. A step reads at most `max` parcels.
    async fn parcels_about(
        &self,
        scope: TenantScope,
        subject: String,
        after: Option<ParcelId>,
        max: usize,
    ) -> Result<SubjectScan>;
}
