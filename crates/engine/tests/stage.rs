//! A store, an engine and a carrier that does what the test says.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    Clock, Code, DeliveryId, EndpointId, Failure, IdMaker, Lane, NextStep, Parcel, ParcelKind,
    RetryPlan, SeededRandom, TenantId, TenantScope, Time, Verdict,
};
use gancho_engine::{AttemptResult, Carrier, Engine, EngineSetup, LaneSetup, Preemption, Terms};
use gancho_store::{
    Accept, AcceptOutcome, Deliveries, DeliveryView, Job, NewDelivery, NewParcel, NodeId,
    Placement, Store, StoreError,
};
use gancho_store_sqlite::SqliteStore;
use parking_lot::Mutex;

use crate::clock::SimClock;

pub const TENANT: TenantId = TenantId::from_bits(1 << 80);
pub const TARGET: EndpointId = EndpointId::from_bits(1 << 80 | 1);

/// The scripted result of one attempt.
#[derive(Debug, Clone, Copy)]
pub enum Play {
    Deliver,
    Fail,
    Refuse,
    Break,
    /// Gives it up without contacting the target.
    Withhold,
    /// Defers it, because this node lacks a resource.
    Defer,
    /// Takes this number of seconds, then delivers.
    Take(u64),
}

type Script = Box<dyn Fn(&Job, u32) -> Play + Send + Sync>;

pub struct Actor {
    script: Script,
    pub plan: Arc<RetryPlan>,
    pub calls: Mutex<Vec<(DeliveryId, u32)>>,
    pub follow: Mutex<Vec<NewParcel>>,
    /// How often the carrier fails to say what follows.
    pub follow_refusals: AtomicU32,
}

#[async_trait]
impl Carrier for Actor {
    fn terms(&self, _job: &Job) -> Terms {
        Terms::of(self.plan.clone())
    }

    async fn carry(&self, job: &Job, attempt: u32, _: &Preemption) -> AttemptResult {
        self.calls.lock().push((job.delivery, attempt));
        let failure = |code| Failure::new(code, "as told");
        let verdict = match (self.script)(job, attempt) {
            Play::Deliver => Verdict::Delivered,
            Play::Fail => Verdict::Retry { failure: failure(Code::http(503)), not_before: None },
            Play::Refuse => Verdict::Never { failure: failure(Code::TARGET_GONE) },
            Play::Withhold => return AttemptResult::never(failure(Code::TARGET_GONE)),
            Play::Defer => return AttemptResult::deferred(failure(Code::CONNECT_FAILED)),
            Play::Break => std::panic::resume_unwind(Box::new("as told")),
            Play::Take(secs) => {
                tokio::time::sleep(Duration::from_secs(secs)).await;
                Verdict::Delivered
            }
        };
        AttemptResult {
            response_status: Some(200),
            ..AttemptResult::new(verdict, Duration::from_millis(1))
        }
    }

    async fn follow(
        &self,
        _: &Job,
        _: &AttemptResult,
        next: &NextStep,
        _: Time,
    ) -> Result<Vec<NewParcel>, StoreError> {
        if self.follow_refusals.load(Ordering::Relaxed) > 0 {
            self.follow_refusals.fetch_sub(1, Ordering::Relaxed);
            return Err(StoreError::Unavailable("as told".into()));
        }
        let is_delivered = *next == NextStep::Delivered;
        Ok(if is_delivered { std::mem::take(&mut *self.follow.lock()) } else { vec![] })
    }
}

pub struct Stage {
    pub store: Arc<SqliteStore>,
    pub clock: Arc<SimClock>,
    pub ids: IdMaker,
    pub actor: Arc<Actor>,
}

impl Stage {
    pub fn new(script: impl Fn(&Job, u32) -> Play + Send + Sync + 'static) -> Self {
        let clock = Arc::new(SimClock::new());
        Self {
            store: SqliteStore::inline().expect("a store in memory"),
            ids: IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(1))),
            clock,
            actor: Arc::new(Actor {
                script: Box::new(script),
                plan: Arc::new(RetryPlan::Schedule([1, 2].map(Duration::from_secs).to_vec())),
                calls: Mutex::default(),
                follow: Mutex::default(),
                follow_refusals: AtomicU32::new(0),
            }),
        }
    }

    pub fn setup(&self) -> EngineSetup {
        self.setup_on(self.store.clone())
    }

    pub fn setup_on(&self, store: Arc<dyn Store>) -> EngineSetup {
        let lanes = vec![LaneSetup::new(Lane::Webhook, self.actor.clone())];
        EngineSetup::new(store, self.clock.clone(), Arc::new(SeededRandom::new(2)), lanes)
    }

    pub async fn engine(&self) -> Arc<Engine> {
        Engine::start(self.setup()).await.expect("it starts")
    }

    pub fn parcel(&self, hold: bool) -> NewParcel {
        let now = self.clock.now();
        let parcel = Parcel {
            id: self.ids.make(),
            tenant: TENANT,
            kind: ParcelKind::Event,
            event_type: "a.b".into(),
            subject: None,
            external_id: None,
            is_test: false,
            body: Bytes::from_static(b"{}"),
            created_at: now,
            trace: None,
            erased_at: None,
        };
        let delivery = NewDelivery {
            id: self.ids.make(),
            lane: Lane::Webhook,
            target: TARGET,
            due_at: now,
            in_order: false,
            hold,
        };
        NewParcel { parcel: Arc::new(parcel), once: None, ledger: None, deliveries: vec![delivery] }
    }

    /// Accepts one parcel, to be claimed.
    pub async fn accept(&self) -> DeliveryId {
        let new = self.parcel(false);
        let id = new.deliveries[0].id;
        self.store.accept(vec![new], NodeId(0)).await.expect("the store works");
        id
    }

    /// Accepts one parcel through the engine. Returns whether it was queued at once.
    pub async fn publish(&self, engine: &Arc<Engine>) -> (DeliveryId, bool) {
        let new = self.parcel(true);
        let id = new.deliveries[0].id;
        let accepted = engine.accept_one(new).await.expect("the store works");
        let is_queued = matches!(
            &accepted,
            AcceptOutcome::New { placed, .. } if placed.as_ref() == [Placement::Leased]
        );
        (id, is_queued)
    }

    pub async fn view(&self, id: DeliveryId) -> DeliveryView {
        let view = self.store.delivery(TenantScope::internal(TENANT), id).await;
        view.expect("the store works").expect("it is there")
    }
}

pub async fn seconds(secs: u64) {
    tokio::time::sleep(Duration::from_secs(secs)).await;
}
