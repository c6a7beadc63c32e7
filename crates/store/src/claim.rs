//! Handing due deliveries to a node, fairly.
//!
//! A claim walks the targets that have due work, in turn, and takes a few from each; it never reads
//! the backlog in order of time, so a tenant with a million waiting does not hide one with a single
//! delivery. It costs the same from a short backlog as from a long one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use async_trait::async_trait;
use gancho_domain::{DeliveryId, EndpointId, Lane, Parcel, TenantId, Time};

use crate::{ClaimRound, ClaimTurn, NodeId, Result};

/// Where a delivery goes: an endpoint's id, or the id that takes its place in another lane.
pub type TargetId = EndpointId;

#[derive(Debug, Clone)]
pub struct Claim {
    pub node: NodeId,
    pub lane: Lane,
    pub now: Time,
    /// Maximum number of deliveries.
    pub max: usize,
    /// Maximum size of their bodies in bytes. The first is taken whatever its size.
    pub max_bytes: usize,
    pub per_target: usize,
    /// Maximum per target that is known to answer.
    pub per_proven: usize,
    pub per_tenant: usize,
    /// Targets that are known to answer.
    pub proven: Arc<BTreeSet<TargetId>>,
    /// Tenants and targets to skip: paused, resting or full.
    pub skip: Arc<ClaimExclusions>,
    /// Where the last claim of this lane stopped.
    pub cursor: ClaimCursor,
}

impl Claim {
    /// Maximum deliveries of a target, at least 1.
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

/// The place in the round, so that the next claim continues where this one stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimCursor {
    /// The last tenant whose turn has ended. `None`: the next is the first of all.
    pub tenant: Option<TenantId>,
    /// For tenants left with more targets than their turn allowed: the last target served.
    pub targets: BTreeMap<TenantId, TargetId>,
    /// The turn in the middle of which the last claim had scanned the maximum number of targets.
    pub turn: Option<ClaimTurn>,
    /// The round that is under way. `None`: it begins with the next claim. A caller that no longer
    /// skips a target sets it to `None`, so that the round is not complete without that target.
    pub round: Option<ClaimRound>,
    /// The lap that is under way, which goes on whatever the caller skips.
    pub lap: Option<ClaimRound>,
    /// For a store that is made of several.
    pub parts: ClaimParts,
}

/// The places in the rounds of the stores that a store is made of, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimParts {
    pub cursors: BTreeMap<u32, ClaimCursor>,
    /// Those whose last claim has seen nothing that was left, since the round over all of them began.
    pub caught_up: BTreeSet<u32>,
    /// Those that have ended a lap, since the lap over all of them began.
    pub laps: BTreeSet<u32>,
    /// The one that was asked first by the last claim.
    pub first: u32,
}

/// A leased delivery, with all that is needed to carry it.
#[derive(Debug, Clone)]
pub struct Job {
    pub delivery: DeliveryId,
    pub tenant: TenantId,
    pub lane: Lane,
    pub target: TargetId,
    pub parcel: Arc<Parcel>,
    /// The parcel's number among those of its subject.
    pub number: Option<u64>,
    /// Attempts made in its whole life.
    pub attempts: u32,
    /// Attempts made before it was last retried by hand or replayed: the plan counts from there.
    pub attempts_before: u32,
    /// How many nodes in a row died while they held it. From
    /// [`SUSPECT_LEASES`](crate::nodes::SUSPECT_LEASES) on: while they tried it.
    pub lost_leases: u32,
    /// It was given up once and is tried again: a dead letter waits for the outcome.
    pub is_replay: bool,
    /// Kept in order with others of its subject.
    pub in_order: bool,
    pub created_at: Time,
}

#[derive(Debug, Clone)]
pub struct ClaimResult {
    pub jobs: Vec<Job>,
    pub cursor: ClaimCursor,
    /// Something due and not skipped was left, or the walk ended before it was all the way round:
    /// claim again when there is room.
    pub more: bool,
    /// A whole round over all targets has seen nothing due that was left, apart from what `skip`
    /// covered: within this claim, or over several that continued one another by the cursor.
    pub caught_up: bool,
    /// Every tenant with anything pending has had its turn since a claim last said so.
    pub ends_lap: bool,
    /// The tenants with something due that was seen, not skipped and left.
    pub left: BTreeSet<TenantId>,
    /// When the next delivery falls due, of those that are not due yet. Only looked up where `more`
    /// is false.
    pub next_due: Option<Time>,
}

/// When a delivery that cannot be read is looked at again. Meanwhile it delays nobody else.
pub const UNREADABLE_DELAY: std::time::Duration = std::time::Duration::from_secs(300);

/// A delivery that a node holds, as it names it to write to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub tenant: TenantId,
    pub delivery: DeliveryId,
    /// A moment before it was leased. A store made of several refuses what was leased before the tenant moved, or before
    /// the node was given another number where the delivery is: the node may hold it again since then, by another lease.
    /// `None`: not known, and not looked at.
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

    /// Puts deliveries back that this node holds and will not carry: due as they were, no attempt
    /// counted.
    async fn release(&self, node: NodeId, leases: Vec<Lease>) -> Result<()>;

    /// Notes that this node is about to try a delivery that was lost at least
    /// [`SUSPECT_LEASES`](crate::nodes::SUSPECT_LEASES) times: it counts as lost once more, until it is
    /// settled. Returns whether the node holds it.
    async fn note_attempt(&self, node: NodeId, lease: Lease) -> Result<bool>;
}
