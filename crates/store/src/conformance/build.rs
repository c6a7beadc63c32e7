//! Helpers of the cases: a store, a clock that stands still, and short ways to make tenants, parcels and
//! deliveries and to read their outcomes.

mod carry;
mod draft;
mod outcome;
mod read;

use std::{sync::Arc, time::Duration};

use gancho_domain::{
    Clock, DeliveryId, EventId, Id, IdMaker, Lane, ManualClock, SeededRandom, Tenant, TenantId,
    TenantScope, Time,
};

pub use self::{
    draft::Draft,
    outcome::{attempt, delivered, failed, given_up, timeout, tried_again},
};
use super::Fixture;
use crate::{
    AcceptOutcome, Job, NewDelivery, NewParcel, NodeId, ParcelPart, Placement, RescueCounts,
    SettleOutcome, Store, TargetId,
};

/// Neither a whole second nor a whole millisecond, because a store keeps microseconds.
pub const START: Time = Time::from_micros(1_760_000_000_123_456);

pub struct World<F> {
    pub store: Arc<dyn Store>,
    /// The node that makes the world's own calls.
    pub node: NodeId,
    clock: Arc<ManualClock>,
    ids: Arc<IdMaker>,
    fixture: F,
}

impl<F: Fixture> World<F> {
    pub async fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        clock.set(START);
        let ids = IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(1)));
        Self::begin(F::open().await, clock, Arc::new(ids)).await
    }

    /// Opens the same data as another node, as after a restart of the process.
    pub async fn reopen(self) -> Self {
        let Self { store, clock, ids, fixture, .. } = self;
        drop(store);
        Self::begin(fixture.reopen().await, clock, ids).await
    }

    async fn begin(fixture: F, clock: Arc<ManualClock>, ids: Arc<IdMaker>) -> Self {
        let store = fixture.store();
        let node = store.join("the first", clock.now()).await.unwrap();
        Self { store, node, clock, ids, fixture }
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    pub fn pass(&self, span: Duration) {
        self.clock.advance(span);
    }

    pub fn id<K>(&self) -> Id<K> {
        self.ids.make()
    }

    pub fn target(&self) -> TargetId {
        self.id()
    }

    /// Returns a delivery of a stored parcel, due now.
    pub fn to(&self, target: TargetId) -> NewDelivery {
        NewDelivery {
            id: self.id(),
            lane: Lane::Webhook,
            target,
            due_at: self.now(),
            in_order: false,
            hold: false,
        }
    }

    pub async fn redeliver(
        &self,
        tenant: TenantId,
        event: EventId,
        deliveries: Vec<NewDelivery>,
    ) -> bool {
        self.store.redeliver(scope(tenant), event, deliveries).await.unwrap()
    }

    pub async fn tenant(&self) -> TenantId {
        let id: TenantId = self.id();
        let tenant = Tenant::new(id, id.to_string(), self.now());
        self.store.create_tenant(tenant).await.unwrap();
        id
    }

    /// Returns tenants that one round of claims visits.
    pub async fn tenants_of_a_round(&self, count: usize) -> Vec<TenantId> {
        let mut tenants = vec![self.tenant().await];
        while tenants.len() < count {
            let other = self.tenant().await;
            if self.fixture.share_a_round(tenants[0], other) {
                tenants.push(other);
            }
        }
        tenants
    }

    pub async fn join(&self) -> NodeId {
        self.store.join("another", self.now()).await.unwrap()
    }

    /// Declares every other node dead.
    pub async fn rescue(&self) -> RescueCounts {
        self.store.rescue(self.node, Duration::ZERO, self.now()).await.unwrap()
    }

    /// Prunes until nothing more can be removed. Returns the number of parcels removed.
    pub async fn prune(&self, before: Time) -> u64 {
        let mut gone = 0;
        for _ in 0..1_000 {
            let step = self.store.prune(before, 100, self.now()).await.unwrap();
            gone += step.parcels;
            if !step.more {
                return gone;
            }
        }
        panic!("there is always more to remove");
    }

    /// Starts an event that is created now, without a subject and without deliveries.
    pub fn event(&self, tenant: TenantId) -> Draft {
        Draft::new(self.ids.clone(), tenant, self.now())
    }

    pub async fn accept_all(&self, drafts: Vec<Draft>) -> Vec<AcceptOutcome> {
        let count = drafts.len();
        let parcels: Vec<NewParcel> = drafts.into_iter().map(Draft::done).collect();
        let mut accepted = self.store.accept(parcels.clone(), self.node).await.unwrap();
        assert_eq!(accepted.len(), count, "one answer for each parcel");
        for (new, outcome) in parcels.iter().zip(&mut accepted) {
            if let AcceptOutcome::New { number, placed } = outcome {
                for part in parts(new, *number, placed.len()) {
                    placed.extend(self.store.place_part(part, self.node).await.unwrap());
                }
            }
        }
        accepted
    }

    pub async fn accept(&self, draft: Draft) -> AcceptOutcome {
        self.accept_all(vec![draft]).await.remove(0)
    }

    /// Accepts an event with one delivery that is due now.
    pub async fn due(&self, tenant: TenantId, target: TargetId) -> DeliveryId {
        self.many_due(tenant, target, 1).await[0]
    }

    /// Accepts `count` events, each with one delivery that is due now, in large batches.
    pub async fn many_due(
        &self,
        tenant: TenantId,
        target: TargetId,
        count: usize,
    ) -> Vec<DeliveryId> {
        let drafts: Vec<_> = (0..count).map(|_| self.event(tenant).to(target)).collect();
        let ids = drafts.iter().map(|draft| draft.delivery(0)).collect();
        for batch in drafts.chunks(1_000) {
            self.accept_all(batch.to_vec()).await;
        }
        ids
    }
}

/// The result was written, and nothing followed.
pub const DONE: SettleOutcome = SettleOutcome::Done { follow: Vec::new() };

pub const fn scope(tenant: TenantId) -> TenantScope {
    TenantScope::internal(tenant)
}

pub const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub const fn hours(count: u64) -> Duration {
    secs(count * 3_600)
}

/// Returns the parts of a parcel that are left after the store has placed the first `placed` deliveries.
pub fn parts(new: &NewParcel, number: Option<u64>, placed: usize) -> Vec<ParcelPart> {
    let parts = new.deliveries.chunks(placed.max(1)).enumerate().skip(1);
    parts
        .map(|(turn, deliveries)| ParcelPart {
            parcel: new.parcel.clone(),
            number,
            first: turn * placed,
            deliveries: deliveries.to_vec(),
        })
        .collect()
}

pub fn number(accepted: &AcceptOutcome) -> Option<u64> {
    match accepted {
        AcceptOutcome::New { number, .. } => *number,
        other => panic!("the parcel is new: {other:?}"),
    }
}

pub fn placed(accepted: &AcceptOutcome) -> &[Placement] {
    match accepted {
        AcceptOutcome::New { placed, .. } => placed,
        other => panic!("the parcel is new: {other:?}"),
    }
}

pub fn ids(jobs: &[Job]) -> Vec<DeliveryId> {
    jobs.iter().map(|job| job.delivery).collect()
}

pub fn sorted<T: Ord>(mut rows: Vec<T>) -> Vec<T> {
    rows.sort_unstable();
    rows
}
