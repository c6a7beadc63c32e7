//! Keeps the store small, and reports how full it is.

use async_trait::async_trait;
use gancho_domain::{DeliveryId, EventId, Lane, TenantId, Time};

use crate::{Result, TargetId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneDepth {
    pub lane: Lane,
    /// Pending deliveries, due now or later.
    pub pending: u64,
    /// Deliveries leased to nodes.
    pub leased: u64,
    /// Deliveries that wait for earlier ones of their subject.
    pub waiting: u64,
    /// Since when the oldest pending delivery has been due.
    pub oldest_due: Option<Time>,
}

/// One of several databases. It has no figures while it does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellFigures {
    pub name: String,
    pub depths: Option<Vec<LaneDepth>>,
    pub used_bytes: Option<u64>,
    /// Unknown while the database that has the directory does not answer.
    pub moves: Option<MoveCounts>,
}

/// Tenants that are being moved from one database to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MoveCounts {
    pub open: u64,
    /// Those of them whose last attempt has failed, or is delayed.
    pub troubled: u64,
}

/// Space in bytes. Without a configured limit, the limit is the capacity of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    pub used: u64,
    pub limit: Option<u64>,
}

/// The result of one pruning step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneStep {
    pub parcels: u64,
    /// Whether there is more to remove: run another step.
    pub more: bool,
}

/// Decides what is old enough to be pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutoff {
    /// Parcels created before this are pruned, if the tenant has no retention of its own.
    pub before: Time,
    /// A tenant's own retention counts back from this time.
    pub now: Time,
}

impl Cutoff {
    /// Selects everything, whatever the retention of its tenant.
    pub const ALL: Self = Self { before: Time::MAX, now: Time::MAX };
}

/// A delivery that was given up without an attempt. It is a dead letter now, unless it is a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedDelivery {
    pub tenant: TenantId,
    pub delivery: DeliveryId,
    pub parcel: EventId,
    pub target: TargetId,
    pub attempts: u32,
    pub is_test: bool,
    /// Whether it would have delivered a notice of the gateway itself.
    pub is_notice: bool,
}

/// Retention of a tenant's monthly usage.
pub const USAGE_KEPT: std::time::Duration = std::time::Duration::from_hours(24 * 400);

#[async_trait]
pub trait Upkeep: Send + Sync + 'static {
    /// Runs one pruning step, small enough not to delay other calls.
    ///
    /// Removes at most `max` parcels with their deliveries, attempts and spans, and their subjects if nothing
    /// else uses those. Parcels qualify if they were created before `before`, or longer before `now` than
    /// their tenant's own retention, and if all their deliveries have ended and left no dead letter. Also
    /// removes a few thousand of each of the other things that have expired at `now`: idempotency keys,
    /// documents, usage, dead nodes.
    ///
    /// `now` must be a time that can be trusted: no key expires before it was passed here.
    async fn prune(&self, before: Time, max: usize, now: Time) -> Result<PruneStep>;

    /// Gives up at most `max` pending or waiting deliveries of a lane created before `before`, as dead
    /// letters with the code `EXPIRED`. Deliveries that were not tried yet and are due later stay.
    async fn expire(
        &self,
        lane: Lane,
        before: Time,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>>;

    /// Returns the depth of each lane.
    async fn depths(&self) -> Result<Vec<LaneDepth>>;

    async fn space(&self) -> Result<Space>;

    /// Returns the figures of each cell; empty if the store is a single database.
    async fn cell_figures(&self) -> Result<Vec<CellFigures>> {
        Ok(Vec::new())
    }

    /// Changes the size above which the store refuses to grow. Stores without such a limit ignore it.
    fn set_space_limit(&self, limit: Option<u64>) {
        let _ = limit;
    }

    /// Returns when something was last accepted or settled, or a heartbeat was last written, as far as the
    /// store can tell. `None`: never. A process calls this before it writes anything itself, to compare the
    /// time with its clock. Stores that many nodes share use the database's clock.
    async fn last_written(&self) -> Result<Option<Time>>;

    /// Returns the time of the database's clock; `None` if it has none of its own.
    async fn server_time(&self) -> Result<Option<Time>> {
        Ok(None)
    }

    /// Returns the largest [`gancho_domain::id::lead`] of any id in the store, so that new ids are above it.
    async fn highest_lead(&self) -> Result<i64>;
}
