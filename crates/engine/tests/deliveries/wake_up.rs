//! Nothing that is due waits for the poll: whatever became due was announced. (faults.md 0b)

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

/// With real threads and a real store, since a wake-up is lost between two of them if at all. There is room
/// for few in memory, so that most go by way of the store; and a first attempt that fails comes back after a second.
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
