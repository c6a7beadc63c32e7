//! Short ways to make parcels and to read their outcomes.

use std::sync::Arc;

use gancho_domain::{
    Clock, DeliveryId, IdMaker, Parcel, SystemClock, SystemRandom, TenantId, Time,
};
use gancho_store::{Accept, ClaimResult, Claiming, Job, NewParcel, NodeId, Settlement, TargetId};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{parcels, postgres::Database};

pub async fn open(database: &Database) -> Arc<PostgresStore> {
    PostgresStore::connect(&database.url(), Options::default()).await.unwrap()
}

pub fn now() -> Time {
    SystemClock.now()
}

pub struct ParcelGenerator(IdMaker);

impl ParcelGenerator {
    pub fn new() -> Self {
        Self(IdMaker::new(Arc::new(SystemClock), Arc::new(SystemRandom)))
    }

    pub fn tenant(&self) -> TenantId {
        self.0.make()
    }

    pub fn target(&self) -> TargetId {
        self.0.make()
    }

    /// Returns an event with one delivery that is due.
    pub fn event(&self, tenant: TenantId, target: TargetId) -> NewParcel {
        parcels::event(&self.0, tenant, target, now())
    }

    pub fn about(&self, tenant: TenantId, target: TargetId, subject: &str) -> NewParcel {
        let mut new = self.event(tenant, target);
        let parcel = Parcel { subject: Some(subject.into()), ..(*new.parcel).clone() };
        new.parcel = Arc::new(parcel);
        new.deliveries[0].in_order = true;
        new
    }
}

pub async fn claim(store: &PostgresStore, node: NodeId) -> ClaimResult {
    store.claim(parcels::claim(node, 50, now())).await.unwrap()
}

pub async fn accept(store: &PostgresStore, new: NewParcel, node: NodeId) -> DeliveryId {
    let id = new.deliveries[0].id;
    store.accept(vec![new], node).await.unwrap();
    id
}

pub fn delivered(job: &Job) -> Settlement {
    parcels::delivered(job, now())
}
