//! The storage contract: what every store must do, not how.
//!
//! Each method is one business step and one transaction, and takes a batch. Callers do not see transactions.
//! In the order of a delivery's life: [`tenants`] and [`endpoints`] say who wants what; [`accept`] stores a
//! parcel and its deliveries, [`idempotency`] deduplicates it, [`intake`] takes what applications have
//! stored; [`claim`] leases due deliveries to a node ([`round`] tracks how far a walk over all targets has
//! come); [`settle`] writes their results; [`dead_letters`] stores those that were given up, and
//! [`archiving`] moves them to an archive; [`deliveries`] reads all of it, and [`all_tenants`] for the
//! operator; [`nodes`] is the membership; [`pauses`] hold work back; [`orphans`] ends what waits for a
//! deleted endpoint; [`erasure`] deletes a tenant with all its data, and the content of parcels; [`upkeep`]
//! prunes, expires and counts; [`statistics`] are what plots show; [`usage`] counts towards plans; [`ledger`]
//! reads the record of received webhooks; [`replays`] are jobs that send again; [`email_reports`] and
//! [`suppressions`] store bounces and complaints of e-mails; [`audit`] is the log of who changed what;
//! [`documents`] stores small documents of configuration. [`retry_plan_codec`] and [`rotated_secrets_codec`]
//! encode values for storage; [`schema_version`] says how far a database was migrated; [`fair`] shares the
//! readers among tenants. [`cache`] is a read-through cache for callers.
//!
//! **The promise.** When `accept` or `settle` returns `Ok`, what it wrote is on stable storage. When it
//! returns an error, nothing of the call was written, except after [`StoreError::Broken`], where the outcome
//! is unknown until the store is opened again, and [`StoreError::TimedOut`] of `accept`, where what was accepted
//! is leased to no node.
//!
//! This crate has no SQL and knows no database. With the feature `conformance` it has the suite that every
//! store must pass.

pub mod accept;
pub mod all_tenants;
pub mod archiving;
pub mod audit;
pub mod cache;
pub mod claim;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod dead_letters;
pub mod deliveries;
pub mod documents;
pub mod email_reports;
pub mod endpoints;
pub mod erasure;
pub mod error;
pub mod fair;
pub mod idempotency;
pub mod intake;
pub mod ledger;
pub mod nodes;
pub mod orphans;
pub mod page;
pub mod pauses;
pub mod replays;
pub mod retry_plan_codec;
pub mod rotated_secrets_codec;
pub mod round;
pub mod schema_version;
pub mod settle;
pub mod states;
pub mod statistics;
pub mod suppressions;
pub mod tenants;
pub mod upkeep;
pub mod usage;

use std::sync::Arc;

use gancho_domain::TenantId;

pub use accept::{
    Accept, AcceptOutcome, LedgerReceipt, NewDelivery, NewParcel, ParcelPart, Placement,
};
pub use all_tenants::{AllTenants, TenantRow};
pub use archiving::{ArchiveSelection, ArchivedLetter, Archiving, FullDeadLetter, ImportOutcome};
pub use audit::{Actor, ActorKind, AuditEntry, AuditFilter, AuditId, AuditLog};
pub use cache::{CachePolicy, ReadCache};
pub use claim::{
    Claim, ClaimCursor, ClaimExclusions, ClaimParts, ClaimResult, Claiming, Job, Lease, TargetId,
};
pub use dead_letters::{DeadFilter, DeadLetter, DeadLetters, DeadStats, ReplayPage};
pub use deliveries::{
    Deliveries, DeliveryCounts, DeliveryFilter, DeliveryRow, DeliveryView, EventFilter,
    EventOutline, EventRow, EventView, MAX_SEARCHED_BYTES, RetryOutcome,
};
pub use documents::{
    Collection, CollectionLimit, Document, Documents, Precondition, VERSIONED_KIND,
};
pub use email_reports::{EmailReport, EmailReports, FailedEmails, NewEmailReport};
pub use endpoints::Endpoints;
pub use erasure::{ContentErasure, DeletedTenant, EraseStep, Erasure, SubjectScan};
pub use error::StoreError;
pub use fair::{Account, FairPermit, FairSemaphore};
pub use idempotency::IdempotencyKey;
pub use intake::{Intake, IntakeBatch, IntakeCounts, IntakeEvent, IntakeSettings, RejectedEvent};
pub use ledger::Ledger;
pub use nodes::{LeaseStatus, NodeFacts, NodeId, NodeRecord, Nodes, RescueCounts, SharedSettings};
pub use orphans::{OrphanScan, Orphans, TenantEndpoint};
pub use page::{ListOrder, MAX_PAGE_BYTES, Page, PageRequest};
pub use pauses::{Pause, Pauses};
pub use replays::{
    LeasedReplay, NewReplayJob, OpenReplayOutcome, ReplayCounts, ReplayEnd, ReplayJob, ReplayJobs,
    ReplayLease, ReplayLeaseOrigin, ReplayLimits, ReplayState, ReplayTotal,
};
pub use round::{ClaimProgress, ClaimRound, ClaimTurn};
pub use schema_version::SchemaVersion;
pub use settle::{Settle, SettleOutcome, Settlement};
pub use statistics::{
    FailingTarget, MinuteFigures, Series, Statistics, StatisticsBatch, StatisticsPoint,
    StatisticsStep, StatisticsWindow,
};
pub use suppressions::{NewSuppression, Suppression, Suppressions};
pub use tenants::Tenants;
pub use upkeep::{CellFigures, EndedDelivery, LaneDepth, MoveCounts, PruneStep, Space, Upkeep};
pub use usage::{PlanCharge, Usage};

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Everything a store does.
pub trait Store:
    Accept
    + AllTenants
    + Claiming
    + DeadLetters
    + Deliveries
    + EmailReports
    + Endpoints
    + Erasure
    + Archiving
    + AuditLog
    + Intake
    + Ledger
    + Nodes
    + Orphans
    + Pauses
    + Documents
    + ReplayJobs
    + Settle
    + Statistics
    + Suppressions
    + Tenants
    + Upkeep
    + Usage
{
    /// The name of the store in logs: `sqlite`, `postgres` or `cells`.
    fn name(&self) -> &'static str;

    /// The database in which a tenant lives, of a store that has several. One that hangs must not hold what the
    /// tenants of others need.
    fn shard(&self, tenant: TenantId) -> Option<u32> {
        let _ = tenant;
        None
    }

    /// Rings when work became due through another call or another node. A ring may be missed, so a waiter
    /// must also poll.
    fn bell(&self) -> Arc<tokio::sync::Notify>;
}
