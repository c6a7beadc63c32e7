//! Deletes a tenant with all its data, and erases the content of single parcels.
//!
//! The tenant, its endpoints, its documents and its pauses are deleted at once. What it has sent may be a
//! lot, and is removed in steps; until that is done, and for a while after, the store remembers the tenant as
//! deleted.
//!
//! What stays: lines of the ledger and the audit log, counters without names (usage and statistics, until
//! they expire), and hashes of idempotency keys, until they expire.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{ParcelId, TenantId, TenantScope, Time};

use crate::Result;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedTenant {
    pub id: TenantId,
    pub slug: String,
    pub deleted_at: Time,
    /// Whether nothing of it was left.
    pub is_erased: bool,
}

/// The result of one step of erasing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EraseStep {
    /// The number of removed parcels.
    pub parcels: u64,
    /// Whether there is more to remove: run another step.
    pub more: bool,
    /// Whether nothing is left. If neither this nor `more` is set, a node holds something, which can be
    /// removed later.
    pub is_clean: bool,
}

/// The outcome of erasing the content of a parcel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentErasure {
    Erased,
    AlreadyErased,
    /// One of its deliveries has not ended. The parcel keeps its content; of one with very many deliveries, the
    /// first may have lost the content of their attempts.
    InFlight,
    Unknown,
}

/// The parcels of a subject that one step has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubjectScan {
    pub parcels: Vec<ParcelId>,
    /// Where the next step continues; `None` at the end.
    pub next: Option<ParcelId>,
}

#[async_trait]
pub trait Erasure: Send + Sync + 'static {
    /// Deletes a tenant. Returns whether it existed. Its slug is free afterwards.
    async fn delete_tenant(&self, id: TenantId, now: Time) -> Result<bool>;

    /// Returns at most `max` of the remembered tenants, those deleted first first.
    async fn deleted_tenants(&self, max: usize) -> Result<Vec<DeletedTenant>>;

    /// Ends at most `max` of the deleted tenant's deliveries, and removes at most `max` rows of each kind
    /// that it has left. Does nothing for a tenant that was not deleted.
    async fn erase(&self, id: TenantId, max: usize) -> Result<EraseStep>;

    async fn mark_erased(&self, id: TenantId) -> Result<()>;

    /// Forgets the deleted tenant.
    async fn forget_deleted(&self, id: TenantId) -> Result<()>;

    /// Replaces the body of a parcel, and removes its subject, its external id, the recorded request, the
    /// requests and responses of its attempts, its dead letters and the reports on it. Ids, times, states,
    /// codes and the ledger stay.
    async fn erase_content(
        &self,
        scope: TenantScope,
        id: ParcelId,
        replacement: Bytes,
        now: Time,
    ) -> Result<ContentErasure>;

    /// Returns the parcels of a subject, oldest first. A step reads at most `max` parcels.
    async fn parcels_about(
        &self,
        scope: TenantScope,
        subject: String,
        after: Option<ParcelId>,
        max: usize,
    ) -> Result<SubjectScan>;
}
