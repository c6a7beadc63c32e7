//! Leases due deliveries to a node, fairly.
//!
//! A claim visits the targets that have due work in turn, and takes a few deliveries from each. It never
//! reads the backlog in order of time, so a tenant with a million pending deliveries does not hide one with a
//! single delivery. Its cost does not depend on the length of the backlog.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use async_trait::async_trait;
use gancho_domain::{DeliveryId, EndpointId, Lane, Parcel, TenantId, Time};

use crate::{ClaimRound, ClaimTurn, NodeId, Result};

/// The target of a delivery: an endpoint's id, or its equivalent in another lane.
pub type TargetId = EndpointId;

#[derive(Debug, Clone)]
pub struct Claim {
    pub node: NodeId,
    pub lane: Lane,
    pub now: Time,
    /// Maximum number of deliveries.
    pub max: usize,
    /// Maximum size of their bodies in bytes. The first delivery may be larger.
    pub max_bytes: usize,
    pub per_target: usize,
    /// Maximum deliveries of a target that is known to respond.
    pub per_proven: usize,
    pub per_tenant: usize,
    /// Targets that are known to respond.
    pub proven: Arc<BTreeSet<TargetId>>,
    /// Tenants and targets to skip: paused, not allowed now, or full.
    pub skip: Arc<ClaimExclusions>,
    /// Targets to take from before the turns, up to [`Claim::max_first`]. They have their turns all the same.
    pub first: Vec<(TenantId, TargetId)>,
    /// Where the last claim of this lane stopped.
    pub cursor: ClaimCursor,
}

impl Claim {
    /// Returns how many deliveries may be taken before the turns: half of all.
    pub fn max_first(&self) -> usize {
        self.max.div_ceil(2)
    }

    /// Returns the maximum deliveries of a target, at least 1.
    pub fn share(&self, target: TargetId) -> usize {
        let share = if self.proven.contains(&target) { self.per_proven } else { self.per_target };
        share.max(1)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimExclusions {
    pub tenants: BTreeSet<TenantId>,
    pub targets: BTreeSet<TargetId>,
}

impl ClaimExclusions {
    pub fn covers(&self, tenant: TenantId, target: TargetId) -> bool {
        self.tenants.contains(&tenant) || self.targets.contains(&target)
    }
}

/// The position in the round, from which the next claim continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimCursor {
    /// The last tenant whose turn has ended. `None`: the next tenant is the first one.
    pub tenant: Option<TenantId>,
    /// The last target served, for tenants that had more targets than their turn allowed.
    pub targets: BTreeMap<TenantId, TargetId>,
    /// The turn in which the last claim reached the maximum number of scanned targets.
    pub turn: Option<ClaimTurn>,
    /// The current round. `None`: it begins with the next claim. A caller that no longer skips a target sets
    /// it to `None`, so that the round is not complete without that target.
    pub round: Option<ClaimRound>,
    /// The current lap, which continues whatever the caller skips.
    pub lap: Option<ClaimRound>,
    /// The positions in a store that consists of several.
    pub parts: ClaimParts,
}

/// The positions in the rounds of the stores that a store consists of, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimParts {
    pub cursors: BTreeMap<u32, ClaimCursor>,
    /// Stores whose last claim saw nothing left, since the round over all of them began.
    pub caught_up: BTreeSet<u32>,
    /// Stores that have ended a lap, since the lap over all of them began.
    pub laps: BTreeSet<u32>,
    /// The store that the last claim asked first.
    pub first: u32,
}

/// A leased delivery, with everything that is needed to carry it.
#[derive(Debug, Clone)]
pub struct Job {
    pub delivery: DeliveryId,
    pub tenant: TenantId,
    pub lane: Lane,
    pub target: TargetId,
    pub parcel: Arc<Parcel>,
    /// The parcel's number within its subject.
    pub number: Option<u64>,
    /// Attempts made in its whole life.
    pub attempts: u32,
    /// Attempts made before it was last retried by hand or replayed. The plan counts from there.
    pub attempts_before: u32,
    /// How many nodes in a row died while they held it. From [`SUSPECT_LEASES`](crate::nodes::SUSPECT_LEASES)
    /// on, it counts only nodes that died during an attempt.
    pub lost_leases: u32,
    /// Whether it was given up once and is tried again. In that case a dead letter waits for the outcome.
    pub is_replay: bool,
    /// Whether it is delivered in order with others of its subject.
    pub in_order: bool,
    pub created_at: Time,
}

#[derive(Debug, Clone)]
pub struct ClaimResult {
    pub jobs: Vec<Job>,
    pub cursor: ClaimCursor,
    /// Something due and not skipped was left, or the walk did not visit all targets: claim again when there
    /// is room.
    pub more: bool,
    /// A whole round over all targets has left nothing due, apart from what `skip` covers. The round may be
    /// this claim, or several that continued each other by the cursor.
    pub caught_up: bool,
    /// Every tenant with pending deliveries has had its turn since the last claim that returned this.
    pub ends_lap: bool,
    /// The tenants with due deliveries that were seen, not skipped and left.
    pub left: BTreeSet<TenantId>,
    /// When the next delivery becomes due, of those that are not due yet. Only set if `more` is false.
    pub next_due: Option<Time>,
}

/// How long a delivery that cannot be read is not claimed again. Meanwhile it delays no other delivery.
pub const UNREADABLE_DELAY: std::time::Duration = std::time::Duration::from_secs(300);

/// Identifies a delivery that a node holds, for writes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub tenant: TenantId,
    pub delivery: DeliveryId,
    /// A moment before it was leased.
    ///
    /// A store that consists of several refuses deliveries that were leased before the tenant moved, or
    /// before the node got another number in the delivery's database: the node may hold them again by another
    /// lease. `None`: unknown, and not checked.
    pub since: Option<Instant>,
}

impl From<(TenantId, DeliveryId)> for Lease {
    fn from((tenant, delivery): (TenantId, DeliveryId)) -> Self {
        Self { tenant, delivery, since: None }
    }
}

#[async_trait]
pub trait Claiming: Send + Sync + 'static {
    async fn claim(&self, claim: Claim) -> Result<ClaimResult>;

    /// Returns deliveries that this node holds and will not carry to the store: due as before, without a
    /// counted attempt.
    async fn release(&self, node: NodeId, leases: Vec<Lease>) -> Result<()>;

    /// Notes that this node is about to try a delivery that was lost at least
    /// [`SUSPECT_LEASES`](crate::nodes::SUSPECT_LEASES) times. It counts as lost once more, until it is
    /// settled. Returns whether the node holds it.
    async fn note_attempt(&self, node: NodeId, lease: Lease) -> Result<bool>;
}
