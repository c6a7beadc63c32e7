//! Keeping the store small and knowing how full it is.

use async_trait::async_trait;
use gancho_domain::{DeliveryId, EventId, Lane, TenantId, Time};

use crate::{Result, TargetId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneDepth {
    pub lane: Lane,
    /// Due or to be due.
    pub pending: u64,
    /// Leased to nodes.
    pub leased: u64,
    /// Behind others of their subject.
    pub waiting: u64,
    /// Since when the oldest pending one has been due.
    pub oldest_due: Option<Time>,
}

/// One of several databases. Without figures while it does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellFigures {
    pub name: String,
    pub depths: Option<Vec<LaneDepth>>,
    pub used_bytes: Option<u64>,
}

/// Bytes. Where no limit is set, the limit is what the disk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    pub used: u64,
    pub limit: Option<u64>,
}

/// The result of one pruning step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneStep {
    pub parcels: u64,
    /// There is more to remove: run another step.
    pub more: bool,
}

/// What is old enough to be pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutoff {
    /// What was made before, where its tenant has no retention of its own.
    pub before: Time,
    /// What the retention of a tenant is counted from.
    pub now: Time,
}

impl Cutoff {
    /// Everything, whatever the retention of its tenant.
    pub const ALL: Self = Self { before: Time::MAX, now: Time::MAX };
}

/// A delivery that was given up without an attempt: a dead letter now, unless it is a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedDelivery {
    pub tenant: TenantId,
    pub delivery: DeliveryId,
    pub parcel: EventId,
    pub target: TargetId,
    pub attempts: u32,
    pub is_test: bool,
    /// It was to deliver a notice of the gateway itself.
    pub is_notice: bool,
}

/// Retention of a tenant's monthly usage.
pub const USAGE_KEPT: std::time::Duration = std::time::Duration::from_hours(24 * 400);

#[async_trait]
pub trait Upkeep: Send + Sync + 'static {
    /// One pruning step, small enough not to delay other calls: at most `max` parcels
    /// made before `before`, or longer before `now` than their tenant's own retention, whose deliveries have all ended
    /// and left no dead letter, with their
    /// deliveries, attempts and spans, and their subjects where nothing of those is left; and a few
    /// thousand of each of the other things that are expired at `now`: once keys, records, usage,
    /// dead nodes.
    ///
    /// `now` must be a time that can be trusted: no key expires before it was passed here.
    async fn prune(&self, before: Time, max: usize, now: Time) -> Result<PruneStep>;

    /// Gives up at most `max` pending or waiting deliveries of a lane created before `before`, as dead
    /// letters with the code `EXPIRED`; what was not tried yet and is due later stays.
    async fn expire(
        &self,
        lane: Lane,
        before: Time,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>>;

    /// One for each lane.
    async fn depths(&self) -> Result<Vec<LaneDepth>>;

    async fn space(&self) -> Result<Space>;

    /// The figures of each cell; none where the store is a single database.
    async fn cell_figures(&self) -> Result<Vec<CellFigures>> {
        Ok(Vec::new())
    }

    /// Changes the size above which the store refuses to grow. Stores without such a limit ignore it.
    fn set_space_limit(&self, limit: Option<u64>) {
        let _ = limit;
    }

    /// When something was last accepted, settled or kept alive by a heartbeat, as far as the store can
    /// tell. `None`: never. A process asks before it writes anything itself, to compare with its
    /// clock. Stores that many nodes share go by the database's clock.
    async fn last_written(&self) -> Result<Option<Time>>;

    /// The clock of the database; `None` where it has none of its own.
    async fn server_time(&self) -> Result<Option<Time>> {
        Ok(None)
    }

    /// The largest [`gancho_domain::id::lead`] of any id in the store, so that new ids rise above it.
    async fn highest_lead(&self) -> Result<i64>;
}
