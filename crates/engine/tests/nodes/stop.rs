//! Soft and hard stops.

use std::time::Duration;

use gancho_domain::State;
use gancho_engine::{Engine, StopSummary};

use crate::stage::{Play, Stage, seconds};

#[tokio::test(start_paused = true)]
async fn a_soft_stop_finishes_what_is_in_flight_and_gives_back_the_rest() {
    let stage = Stage::new(|_, _| Play::Take(3));
    let mut setup = stage.setup();
    setup.lanes[0].terms.concurrency = 4;
    let engine = Engine::start(setup).await.expect("it starts");
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(stage.accept().await);
    }
    seconds(1).await;
    let stopped = engine.stop(Duration::from_secs(10)).await;
    assert_eq!(stopped, StopSummary { unfinished: 0 });
    let mut states = Vec::new();
    for id in ids {
        states.push(stage.view(id).await.row.state);
    }
    let delivered = states.iter().filter(|state| **state == State::Delivered).count();
    let pending = states.iter().filter(|state| **state == State::Pending).count();
    assert_eq!((delivered, pending), (2, 3));
    assert!(engine.accept_one(stage.parcel(true)).await.is_err(), "it takes nothing any more");
    assert_eq!(engine.stop(Duration::ZERO).await, StopSummary { unfinished: 0 }, "twice is once");
}

#[tokio::test(start_paused = true)]
async fn a_soft_stop_does_not_wait_for_ever() {
    let stage = Stage::new(|_, _| Play::Take(3_600));
    let engine = stage.engine().await;
    let id = stage.accept().await;
    seconds(1).await;
    let started = tokio::time::Instant::now();
    assert_eq!(engine.stop(Duration::from_secs(5)).await, StopSummary { unfinished: 1 });
    assert!(started.elapsed() < Duration::from_secs(6));
    assert_eq!(stage.view(id).await.row.state, State::Pending, "its lease was given back");
}

#[tokio::test(start_paused = true)]
async fn a_hard_stop_ends_every_task_at_once() {
    let stage = Stage::new(|_, _| Play::Take(3_600));
    let engine = stage.engine().await;
    stage.accept().await;
    seconds(1).await;
    engine.abort();
    engine.abort();
    let started = tokio::time::Instant::now();
    engine.ended().await;
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(engine.held().jobs, 0, "what was held is dropped");
}
