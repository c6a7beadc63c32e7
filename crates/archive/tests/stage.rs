//! A store of either kind, and an engine that delivers nothing.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    Clock, Code, DeliveryId, Failure, IdMaker, Lane, ManualClock, Parcel, ParcelKind, RetryPlan,
    SeededRandom, State, Tenant, TenantId, TenantScope, Time, Verdict,
};
use gancho_engine::{
    Archive, AttemptResult, Carrier, Engine, EngineSetup, LaneSetup, Limits, Preemption, Terms,
};
use gancho_store::{DeadFilter, Job, NewDelivery, NewParcel, NodeId, Store};
use gancho_testkit::{
    stores::{StoreKind, StorePlace},
    wait_for,
};

pub const WEBHOOK: (Lane, ParcelKind, &str) = (Lane::Webhook, ParcelKind::Event, "invoice.paid");
pub const EMAIL: (Lane, ParcelKind, &str) = (Lane::Email, ParcelKind::Email, "email");
/// The engine archives nothing by itself; only the test does.
pub const NEVER: Duration = Duration::from_hours(1);

/// Refuses everything, with a response that is not text.
struct Refusal;

#[async_trait]
impl Carrier for Refusal {
    fn terms(&self, _: &Job) -> Terms {
        Terms::of(Arc::new(RetryPlan::DISPATCH))
    }

    async fn carry(&self, _: &Job, _: u32, _: &Preemption) -> AttemptResult {
        let failure = Failure::new(Code::http(410), "it is gone");
        AttemptResult {
            request_headers: Bytes::from_static(b"authorization: ***\ncontent-type: text/plain"),
            response_status: Some(410),
            response_headers: Bytes::from_static(b"server: a receiver"),
            response_body: Bytes::from_static(b"\xff\xfe"),
            ..AttemptResult::new(Verdict::Never { failure }, Duration::from_micros(1_500))
        }
    }
}

pub struct Stage {
    pub store: Arc<dyn Store>,
    pub clock: Arc<ManualClock>,
    pub ids: IdMaker,
    pub tenant: TenantId,
    /// Dropped after the store.
    pub place: StorePlace,
}

impl Stage {
    pub async fn new(on: StoreKind) -> Self {
        let clock = Arc::new(ManualClock::default());
        clock.set(Time::from_secs(1_769_903_999));
        let ids = IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(1)));
        let place = StorePlace::new(on).await;
        let store = place.open().await;
        let tenant: TenantId = ids.make();
        store.create_tenant(Tenant::new(tenant, "m2", clock.now())).await.unwrap();
        Self { store, clock, ids, tenant, place }
    }

    /// Starts an engine that archives every dead letter as soon as it can.
    pub async fn engine(&self, archive: Arc<dyn Archive>, every: Duration) -> Arc<Engine> {
        let carrier = Arc::new(Refusal);
        let lanes = Lane::ALL.map(|lane| LaneSetup::new(lane, carrier.clone())).into();
        let random = Arc::new(SeededRandom::new(2));
        Engine::start(EngineSetup {
            limits: Limits {
                poll: Duration::from_millis(10),
                upkeep: every,
                upkeep_step: 50,
                dead_letters_per_tenant: 0,
                ..Limits::default()
            },
            archive: Some(archive),
            ..EngineSetup::new(self.store.clone(), self.clock.clone(), random, lanes)
        })
        .await
        .unwrap()
    }

    /// Accepts a delivery, and waits until it was given up.
    pub async fn bury(
        &self,
        tenant: TenantId,
        (lane, kind, event_type): (Lane, ParcelKind, &str),
        body: &'static [u8],
    ) -> DeliveryId {
        let now = self.clock.now();
        let parcel = Parcel {
            id: self.ids.make(),
            tenant,
            kind,
            event_type: event_type.into(),
            subject: Some("order-1".into()),
            external_id: Some("inv-1".into()),
            is_test: false,
            body: Bytes::from_static(body),
            created_at: now,
            trace: None,
            erased_at: None,
        };
        let to = NewDelivery {
            id: self.ids.make(),
            lane,
            target: self.ids.make(),
            due_at: now,
            in_order: false,
            hold: false,
        };
        let id = to.id;
        let new =
            NewParcel { parcel: Arc::new(parcel), once: None, ledger: None, deliveries: vec![to] };
        self.store.accept(vec![new], NodeId(0)).await.unwrap();
        wait_for("it is given up", || async {
            let view = self.store.delivery(TenantScope::internal(tenant), id).await.unwrap();
            (view.unwrap().row.state == State::Dead).then_some(id)
        })
        .await
    }

    pub async fn in_store(&self) -> u64 {
        self.store.dead_stats(DeadFilter::default()).await.unwrap().total
    }
}
