//! Short ways to make parcels and to see what became of them.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{
    Attempt, Clock, DeliveryId, IdMaker, Kind, Lane, Next, Parcel, SystemClock, SystemRandom,
    TenantId, Time,
};
use gancho_store::{
    Accept, Claim, ClaimCursor, ClaimResult, Claiming, Job, NewDelivery, NewParcel, NodeId,
    Settlement, TargetId,
};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::postgres::Database;

pub async fn open(database: &Database) -> Arc<PostgresStore> {
    PostgresStore::connect(&database.url(), Options::default()).await.unwrap()
}

pub fn now() -> Time {
    SystemClock.now()
}

pub struct Maker(IdMaker);

impl Maker {
    pub fn new() -> Self {
        Self(IdMaker::new(Arc::new(SystemClock), Arc::new(SystemRandom)))
    }

    pub fn tenant(&self) -> TenantId {
        self.0.make()
    }

    pub fn target(&self) -> TargetId {
        self.0.make()
    }

    /// One event with one delivery that is due.
    pub fn event(&self, tenant: TenantId, target: TargetId) -> NewParcel {
        let now = now();
        NewParcel {
            parcel: Arc::new(Parcel {
                id: self.0.make(),
                tenant,
                kind: Kind::Event,
                event_type: "invoice.paid".into(),
                subject: None,
                external_id: None,
                is_test: false,
                body: Bytes::from_static(b"{}"),
                created_at: now,
                trace: None,
                erased_at: None,
            }),
            once: None,
            ledger: None,
            deliveries: vec![NewDelivery {
                id: self.0.make(),
                lane: Lane::Webhook,
                target,
                due_at: now,
                in_order: false,
                hold: false,
            }],
        }
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
    store
        .claim(Claim {
            node,
            lane: Lane::Webhook,
            now: now(),
            max: 50,
            max_bytes: 1 << 20,
            per_target: 50,
            per_proven: 50,
            per_tenant: 50,
            proven: Arc::default(),
            skip: Arc::default(),
            cursor: ClaimCursor::default(),
        })
        .await
        .unwrap()
}

pub async fn accept(store: &PostgresStore, new: NewParcel, node: NodeId) -> DeliveryId {
    let id = new.deliveries[0].id;
    store.accept(vec![new], node).await.unwrap();
    id
}

pub fn delivered(job: &Job) -> Settlement {
    let attempt = Attempt {
        number: job.attempts + 1,
        started_at: now(),
        latency: Duration::from_millis(5),
        request_headers: Bytes::new(),
        response_status: Some(200),
        response_headers: Bytes::new(),
        response_body: Bytes::new(),
        failure: None,
        next_at: None,
    };
    Settlement::of(job, now(), Some(attempt), Next::Delivered)
}
