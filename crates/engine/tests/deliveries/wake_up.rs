//! Nothing that is due waits for the poll: the store announces everything that becomes due. (faults.md 0b)

use std::{sync::Arc, time::Duration};

use gancho_domain::Lane;
use gancho_engine::{Engine, Limits};
use gancho_testkit::{
    stores::{StoreKind, StorePlace},
    wait_for,
};

use crate::stage::{Play, Stage};

const PUBLISHERS: usize = 64;
const EVENTS_OF_EACH: usize = 100;

/// Runs with real threads and a real store, because a wake-up is lost only between two threads. There is room
/// for few deliveries in memory, so that most of them wait in the store; and a first attempt that fails is
/// retried after a second.
async fn all_arrive_without_polling(kind: StoreKind) {
    let place = StorePlace::new(kind).await;
    let stage = Arc::new(Stage::new(|job, attempt| match job.delivery.bits() % 50 {
        0 if attempt == 1 => Play::Fail,
        _ => Play::Deliver,
    }));
    let mut setup = stage.setup_on(place.open().await);
    setup.limits =
        Limits { poll: Duration::from_hours(1), max_jobs: 16, batch: 8, ..Limits::default() };
    let engine = Engine::start(setup).await.expect("it starts");
    let publishers = (0..PUBLISHERS).map(|_| {
        let (stage, engine) = (stage.clone(), engine.clone());
        tokio::spawn(async move {
            for _ in 0..EVENTS_OF_EACH {
                stage.publish(&engine).await;
            }
        })
    });
    for publisher in publishers.collect::<Vec<_>>() {
        publisher.await.expect("it publishes");
    }
    wait_for("every event is delivered", async || {
        let stats = engine.stats(Lane::Webhook).expect("it works the lane");
        (stats.delivered == (PUBLISHERS * EVENTS_OF_EACH) as u64).then_some(())
    })
    .await;
    engine.stop(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_announces_all_that_is_due() {
    all_arrive_without_polling(StoreKind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_announces_all_that_is_due() {
    all_arrive_without_polling(StoreKind::Postgres).await;
}
