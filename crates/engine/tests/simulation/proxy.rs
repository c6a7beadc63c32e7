//! The real store, behind the connection of one process. Every call passes a tap before and after, where it
//! may be delayed, refused, or be the last thing its process does.

#![allow(clippy::similar_names, reason = "`self` and a collection")]

mod dead_letters;
mod deliveries;
mod endpoints;
mod statistics;
mod tenants;
mod work;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gancho_domain::{Lane, Time};
use gancho_store::{
    Accept, AcceptOutcome, Claim, ClaimResult, Claiming, EndedDelivery, LaneDepth, Lease,
    NewParcel, NodeFacts, NodeId, NodeRecord, Nodes, ParcelPart, Pause, Pauses, Placement,
    PruneStep, RescueCounts, Result, Settle, SettleOutcome, Settlement, Space, Store, Upkeep,
};
use gancho_store_sqlite::SqliteStore;
use tokio::sync::Notify;

use crate::tap::{Step, Tap};

pub struct Proxy {
    pub inner: Arc<SqliteStore>,
    pub tap: Tap,
}

/// Passes the tap, makes the call, and passes the tap again.
macro_rules! through {
    ($self:ident, $step:ident, $call:expr) => {{
        $self.tap.before(Step::$step).await?;
        let answer = $call.await;
        $self.tap.after(Step::$step).await?;
        answer
    }};
}
use through;

impl Store for Proxy {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn bell(&self) -> Arc<Notify> {
        self.inner.bell()
    }
}

#[async_trait]
impl Accept for Proxy {
    async fn accept(&self, parcels: Vec<NewParcel>, holder: NodeId) -> Result<Vec<AcceptOutcome>> {
        through!(self, Accept, self.tap.accept(&self.inner, parcels, holder))
    }

    async fn place_part(&self, part: ParcelPart, holder: NodeId) -> Result<Vec<Placement>> {
        through!(self, Accept, self.inner.place_part(part, holder))
    }

    async fn place_left_parts(&self, before: Time, max: usize) -> Result<usize> {
        through!(self, Rescue, self.inner.place_left_parts(before, max))
    }
}

#[async_trait]
impl Claiming for Proxy {
    async fn claim(&self, claim: Claim) -> Result<ClaimResult> {
        through!(self, Claim, self.tap.claim(&self.inner, claim))
    }

    async fn release(&self, node: NodeId, leases: Vec<Lease>) -> Result<()> {
        assert!(leases.iter().all(|lease| lease.since.is_some()), "a lease says since when");
        through!(self, Release, self.inner.release(node, leases))
    }

    async fn note_attempt(&self, node: NodeId, lease: Lease) -> Result<bool> {
        through!(self, Release, self.inner.note_attempt(node, lease))
    }
}

#[async_trait]
impl Settle for Proxy {
    async fn settle(
        &self,
        node: NodeId,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<SettleOutcome>> {
        assert!(settlements.iter().all(|one| one.leased_at.is_some()), "as does a result");
        through!(self, Settle, self.tap.settle(&self.inner, node, settlements))
    }
}

#[async_trait]
impl Nodes for Proxy {
    async fn join(&self, name: &str, now: Time) -> Result<NodeId> {
        through!(self, Join, self.tap.join(&self.inner, name, now))
    }

    async fn describe_node(&self, node: NodeId, facts: NodeFacts) -> Result<()> {
        through!(self, Join, self.inner.describe_node(node, facts))
    }

    async fn nodes(&self, max: usize) -> Result<Vec<NodeRecord>> {
        through!(self, Join, self.inner.nodes(max))
    }

    async fn heartbeat(&self, node: NodeId, now: Time) -> Result<()> {
        through!(self, Heartbeat, self.tap.heartbeat(&self.inner, node, now))
    }

    async fn leave(&self, node: NodeId, now: Time) -> Result<()> {
        through!(self, Leave, self.tap.leave(&self.inner, node, now))
    }

    async fn rescue(
        &self,
        caller: NodeId,
        silent_for: Duration,
        now: Time,
    ) -> Result<RescueCounts> {
        through!(self, Rescue, self.tap.rescue(&self.inner, caller, silent_for, now))
    }
}

#[async_trait]
impl Pauses for Proxy {
    async fn pause(&self, what: Pause, now: Time) -> Result<()> {
        through!(self, Pauses, self.inner.pause(what, now))
    }

    async fn resume(&self, what: Pause) -> Result<()> {
        through!(self, Pauses, self.inner.resume(what))
    }

    async fn pauses(&self) -> Result<Vec<Pause>> {
        through!(self, Pauses, self.inner.pauses())
    }
}

#[async_trait]
impl Upkeep for Proxy {
    async fn prune(&self, before: Time, max: usize, now: Time) -> Result<PruneStep> {
        through!(self, Upkeep, self.inner.prune(before, max, now))
    }

    async fn expire(
        &self,
        lane: Lane,
        before: Time,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>> {
        through!(self, Upkeep, self.inner.expire(lane, before, max, now))
    }

    async fn server_time(&self) -> Result<Option<Time>> {
        through!(self, Upkeep, async { Ok(self.tap.server_time()) })
    }

    async fn depths(&self) -> Result<Vec<LaneDepth>> {
        self.inner.depths().await
    }

    async fn space(&self) -> Result<Space> {
        self.inner.space().await
    }

    async fn last_written(&self) -> Result<Option<Time>> {
        self.inner.last_written().await
    }

    async fn highest_lead(&self) -> Result<i64> {
        self.inner.highest_lead().await
    }
}

impl gancho_store::Intake for Proxy {}
