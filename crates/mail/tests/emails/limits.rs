//! Limits on concurrency and rate, in total and per tenant.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gancho_domain::{EmailId, Rate};
use gancho_engine::{LaneSetup, Preemption};
use gancho_mail::{
    Acceptance, EmailStatus, OutgoingMessage, TenantLimits, Transport, TransportError,
    limits::TenantLimit,
};
use gancho_testkit::wait_for;
use tokio::sync::Semaphore;

use crate::stage::{Setup, Stage, StoreKind, draft};

/// Accepts messages only as fast as the test allows.
struct Gate {
    let_in: Semaphore,
    inside: AtomicUsize,
    max: AtomicUsize,
    taken: AtomicUsize,
}

impl Gate {
    fn new(let_in: usize) -> Arc<Self> {
        Arc::new(Self {
            let_in: Semaphore::new(let_in),
            inside: AtomicUsize::new(0),
            max: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        })
    }
}

struct Guarded(Arc<Gate>);

#[async_trait]
impl Transport for Guarded {
    fn name(&self) -> &'static str {
        "gate"
    }

    async fn send(
        &self,
        letter: &OutgoingMessage,
        _: &Preemption,
    ) -> Result<Acceptance, TransportError> {
        let gate = &self.0;
        let inside = gate.inside.fetch_add(1, Ordering::SeqCst) + 1;
        gate.max.fetch_max(inside, Ordering::SeqCst);
        gate.let_in.acquire().await.unwrap().forget();
        gate.inside.fetch_sub(1, Ordering::SeqCst);
        gate.taken.fetch_add(1, Ordering::SeqCst);
        let message_id = letter.message_id.clone();
        Ok(Acceptance { message_id, status: 250, text: String::new() })
    }
}

async fn submit_many(stage: &Stage, count: usize) -> Vec<EmailId> {
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(stage.submit(draft("ana@example.com")).await);
    }
    ids
}

async fn at_once(setup: Setup, expected: usize) {
    let gate = Gate::new(0);
    let stage = Stage::with(StoreKind::Sqlite, Arc::new(Guarded(gate.clone())), setup).await;
    // A tenant without a history sends one e-mail at a time.
    gate.let_in.add_permits(1);
    let first = stage.submit(draft("ana@example.com")).await;
    stage.until(first, EmailStatus::Sent).await;
    let ids = submit_many(&stage, 20).await;
    let full = || async { (gate.inside.load(Ordering::SeqCst) == expected).then_some(()) };
    wait_for("as many as may", full).await;
    gate.let_in.add_permits(20);
    for id in ids {
        stage.until(id, EmailStatus::Sent).await;
    }
    assert_eq!(gate.max.load(Ordering::SeqCst), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_at_once_in_all() {
    at_once(Setup::default(), 5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fewer_of_one_tenant() {
    let everyone = TenantLimit { in_flight: 2, rate: None };
    let tenants = TenantLimits::of_all(everyone);
    at_once(Setup { tenants, ..Setup::default() }, 2).await;
}

/// While the clock stands still, as many are sent as a minute allows, and the rest waits.
async fn in_a_minute(setup: Setup, expected: usize) {
    let gate = Gate::new(1_000);
    let stage = Stage::with(StoreKind::Sqlite, Arc::new(Guarded(gate.clone())), setup).await;
    let ids = submit_many(&stage, expected + 5).await;
    let taken = || gate.taken.load(Ordering::SeqCst);
    wait_for("a minute's worth", || async { (taken() >= expected).then_some(()) }).await;
    // The order is not defined. Once the results of these are stored, the test sees that no more are sent.
    wait_for("their results", || async { (stage.sent(&ids).await >= expected).then_some(()) })
        .await;
    assert_eq!(taken(), expected, "no more than that");
    stage.clock.advance(Duration::from_secs(60));
    wait_for("the rest", || async { (taken() >= expected + 5).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_in_a_minute_in_all() {
    in_a_minute(Setup { lane: |lane: LaneSetup| lane, ..Setup::default() }, 100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fewer_in_a_minute_of_one_tenant() {
    let rate = Some(Rate { count: 10, per: Duration::from_secs(60) });
    let everyone = TenantLimit { in_flight: 64, rate };
    let tenants = TenantLimits::of_all(everyone);
    in_a_minute(Setup { tenants, ..Setup::default() }, 10).await;
}
