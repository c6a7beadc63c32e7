//! Metrics and health with a real store and engine.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{
    Clock, Code, Failure, IdMaker, Lane, Parcel, ParcelKind, RetryPlan, SystemClock, SystemRandom,
    Tenant, Verdict,
};
use gancho_engine::{
    AttemptResult, Carrier, Engine, EngineSetup, LaneSetup, Limits, Preemption, Terms,
};
use gancho_store::{Job, NewDelivery, NewParcel, NodeId, Store};
use gancho_testkit::stores::{StoreKind, StorePlace};

use super::{Watch, WatchSetup};
use crate::meter::Meter;

/// Delivers some, retries some, and fails some permanently.
struct Moody;

#[async_trait]
impl Carrier for Moody {
    fn terms(&self, _: &Job) -> Terms {
        Terms::of(Arc::new(RetryPlan::Schedule(vec![Duration::from_millis(1)])))
    }

    async fn carry(&self, job: &Job, _: u32, _: &Preemption) -> AttemptResult {
        let verdict = match &*job.parcel.event_type {
            "fine" => Verdict::Delivered,
            "never" => {
                Verdict::Never { failure: Failure::new(Code::TARGET_GONE, "the endpoint is gone") }
            }
            _ => {
                Verdict::Retry { failure: Failure::new(Code::http(503), "busy"), not_before: None }
            }
        };
        AttemptResult::new(verdict, Duration::from_millis(3))
    }
}

struct World {
    store: Arc<dyn Store>,
    engine: Arc<Engine>,
    watch: Arc<Watch>,
    ids: IdMaker,
    _place: StorePlace,
}

impl World {
    async fn new() -> Self {
        let place = StorePlace::new(StoreKind::Sqlite).await;
        let store = place.open().await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let lanes = vec![LaneSetup::new(Lane::Webhook, Arc::new(Moody))];
        let engine = Engine::start(EngineSetup {
            limits: Limits { poll: Duration::from_millis(20), ..Limits::default() },
            ..EngineSetup::new(store.clone(), clock.clone(), Arc::new(SystemRandom), lanes)
        })
        .await
        .unwrap();
        let parts = WatchSetup {
            store: store.clone(),
            engine: engine.clone(),
            clock: clock.clone(),
            inbound: None,
            data_dir: Some(std::env::temp_dir()),
        };
        let ids = IdMaker::new(clock, Arc::new(SystemRandom));
        Self { store, engine, watch: Watch::new(parts), ids, _place: place }
    }

    async fn tenant(&self, slug: &str) -> Tenant {
        let tenant = Tenant::new(self.ids.make(), slug, SystemClock.now());
        self.store.create_tenant(tenant.clone()).await.unwrap();
        tenant
    }

    async fn accept(&self, tenant: &Tenant, event_type: &str) {
        let now = SystemClock.now();
        let parcel = Parcel {
            id: self.ids.make(),
            tenant: tenant.id,
            kind: ParcelKind::Event,
            event_type: event_type.into(),
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
            target: self.ids.make(),
            due_at: now,
            in_order: false,
            hold: false,
        };
        let new = NewParcel {
            parcel: Arc::new(parcel),
            once: None,
            deliveries: vec![delivery],
            ledger: None,
        };
        self.store.accept(vec![new], NodeId(0)).await.unwrap();
    }

    /// Waits until the engine has made this many attempts.
    async fn attempts(&self, count: u64) {
        gancho_testkit::wait_for("the attempts are made", || async {
            let stats = self.engine.stats(Lane::Webhook).unwrap();
            (stats.delivered + stats.retried + stats.dead >= count).then_some(())
        })
        .await;
    }

    async fn scrape(&self) -> String {
        let page = self.watch.metrics(&Meter::default(), None).await;
        assert_eq!(page.status, 200);
        page.body
    }
}

fn value(text: &str, row: &str) -> f64 {
    let line =
        text.lines().find(|line| line.strip_prefix(row).is_some_and(|rest| rest.starts_with(' ')));
    let line = line.unwrap_or_else(|| panic!("no `{row}` in:\n{text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_is_counted() {
    let world = World::new().await;
    let tenant = world.tenant("m2").await;
    for event_type in ["fine", "fine", "never", "busy"] {
        world.accept(&tenant, event_type).await;
    }
    // `busy` is tried twice and then fails permanently.
    world.attempts(5).await;
    world.watch.accepted(4, Duration::from_millis(2));
    let text = world.scrape().await;
    for (row, expected) in [
        ("gancho_deliveries_total{lane=\"webhook\",outcome=\"delivered\"}", 2.0),
        ("gancho_deliveries_total{lane=\"webhook\",outcome=\"retried\"}", 1.0),
        ("gancho_deliveries_total{lane=\"webhook\",outcome=\"dead\"}", 2.0),
        ("retry_attempts_total{lane=\"webhook\",attempt=\"2\"}", 1.0),
        ("retry_attempts_total{lane=\"webhook\",attempt=\"more\"}", 0.0),
        ("retry_backoff_delay_seconds_count{lane=\"webhook\"}", 1.0),
        ("gancho_time_to_first_attempt_seconds_count{lane=\"webhook\"}", 4.0),
        ("gancho_endpoint_response_seconds_bucket{le=\"0.005\",lane=\"webhook\"}", 5.0),
        ("gancho_endpoint_response_seconds_bucket{le=\"+Inf\",lane=\"webhook\"}", 5.0),
        ("dlq_entries_total{lane=\"webhook\"}", 2.0),
        ("dlq_size{lane=\"webhook\"}", 2.0),
        ("dlq_by_error_code_total{lane=\"webhook\",code=\"HTTP_503\"}", 1.0),
        ("dlq_by_error_code_total{lane=\"webhook\",code=\"TARGET_GONE\"}", 1.0),
        ("dlq_by_company_total{lane=\"webhook\",tenant=\"m2\"}", 2.0),
        ("gancho_attempt_failures_total{lane=\"webhook\",code=\"HTTP_503\"}", 2.0),
        ("gancho_dead_letters_by_code{code=\"HTTP_503\"}", 1.0),
        ("gancho_dead_letters_by_tenant{tenant=\"m2\"}", 2.0),
        ("retry_success_rate{lane=\"webhook\",attempt=\"2\"}", 0.0),
        ("tenant_jobs_processed_total{lane=\"webhook\",tenant=\"m2\"}", 5.0),
        ("dlq_age_seconds_count", 2.0),
        ("gancho_refused_writes_total{reason=\"storage_full\"}", 0.0),
        ("gancho_queue_depth{lane=\"webhook\",state=\"pending\"}", 0.0),
        ("gancho_queue_age_seconds{lane=\"webhook\"}", 0.0),
        ("gancho_events_accepted_total", 4.0),
        ("gancho_accept_seconds_count", 1.0),
    ] {
        assert!((value(&text, row) - expected).abs() < 1e-9, "{row} is not {expected} in\n{text}");
    }
    for row in [
        "dlq_age_seconds_sum",
        "gancho_dlq_oldest_age_seconds",
        "tenant_last_processed_timestamp_seconds{lane=\"webhook\",tenant=\"m2\"}",
        "gancho_disk_free_bytes",
        "gancho_disk_size_bytes",
        "gancho_store_used_bytes",
        "process_resident_memory_bytes",
    ] {
        assert!(value(&text, row) > 0.0, "{row}");
    }
    for name in [
        "tenant_current_priority{",
        "tenant_consecutive_batch{",
        "tenant_rounds_without_processing{",
    ] {
        assert!(text.contains(name), "no {name} in\n{text}");
    }
    world.engine.stop(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_series_does_not_grow_with_the_tenants() {
    let world = World::new().await;
    for number in 0..120 {
        let tenant = world.tenant(&format!("t{number}")).await;
        world.accept(&tenant, "never").await;
    }
    world.attempts(120).await;
    let text = world.scrape().await;
    let named =
        text.lines().filter(|line| line.starts_with("gancho_dead_letters_by_tenant{")).count();
    assert_eq!(named, 51, "the largest fifty and the others");
    assert!((value(&text, "gancho_dead_letters_by_tenant{tenant=\"other\"}") - 70.0).abs() < 1e-9);
    let shares =
        text.lines().filter(|line| line.starts_with("tenant_jobs_processed_total{")).count();
    assert!(shares <= 51, "{shares}");
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(series < 1_000 && text.len() < 2 << 20, "{series} series, {} bytes", text.len());
    world.engine.stop(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ready_while_store_and_engine_work() {
    let world = World::new().await;
    assert_eq!(world.watch.healthz().body, r#"{"status":"ok"}"#);
    let ready = world.watch.readyz().await;
    assert_eq!(
        (ready.status.as_u16(), &*ready.body),
        (200, r#"{"checks":{"engine":"ok","store":"ok"},"status":"ready"}"#)
    );
    world.watch.stopping();
    let stopping = world.watch.readyz().await;
    assert_eq!(stopping.status, 503);
    assert!(stopping.body.contains("stopping"), "{}", stopping.body);
    world.engine.stop(Duration::from_secs(5)).await;
    assert!(world.watch.readyz().await.body.contains(r#""engine":"failed""#));
    assert_eq!(world.watch.healthz().status, 200);
}
