//! Pauses, breakers and room: what waits, and where.

use std::time::Duration;

use gancho_domain::{Clock as _, Lane, State};
use gancho_engine::{Engine, Limits, Pool};
use gancho_store::Pause;

use crate::stage::{Play, Stage, TARGET, TENANT, seconds};

#[tokio::test(start_paused = true)]
async fn pauses_hold_back_and_resumes_let_go() {
    for what in [Pause::Lane(Lane::Webhook), Pause::Tenant(TENANT), Pause::Endpoint(TENANT, TARGET)]
    {
        let stage = Stage::new(|_, _| Play::Deliver);
        let engine = stage.engine().await;
        seconds(1).await;
        engine.pause(what).await.expect("the store works");
        let (id, is_queued) = stage.publish(&engine).await;
        assert!(!is_queued, "nothing new is held for it");
        seconds(30).await;
        assert_eq!(stage.view(id).await.row.state, State::Pending, "{what:?}");
        engine.resume(what).await.expect("the store works");
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(stage.view(id).await.row.state, State::Delivered, "{what:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_only_fails_is_left_alone() {
    let stage = Stage::new(|_, _| Play::Fail);
    let engine = stage.engine().await;
    for _ in 0..100 {
        stage.accept().await;
    }
    seconds(9).await;
    let tried = stage.actor.calls.lock().len();
    assert!(tried <= 20, "{tried} were out before it was known to fail");
    let status = engine.target_status(Lane::Webhook, TENANT, TARGET).expect("it was tried");
    assert_eq!((status.pool, status.in_flight, status.queued), (Pool::Troubled, 0, 0));
    assert!(status.rests_until.is_some_and(|until| until > stage.clock.now()));
    seconds(3).await;
    assert_eq!(stage.actor.calls.lock().len(), tried + 1, "one went to see");
    let held = engine.held().jobs;
    assert!(held <= 1, "the others wait in the store, not here: {held}");
}

#[tokio::test(start_paused = true)]
async fn memory_is_bounded_and_nothing_is_lost() {
    let stage = Stage::new(|_, _| Play::Take(1));
    let mut setup = stage.setup();
    setup.limits = Limits { max_jobs: 10, ..Limits::default() };
    let engine = Engine::start(setup).await.expect("it starts");
    seconds(1).await;
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(stage.publish(&engine).await.0);
        assert!(engine.held().jobs <= 10);
    }
    assert!(!stage.publish(&engine).await.1, "there is no room");
    seconds(30).await;
    for id in ids {
        assert_eq!(stage.view(id).await.row.state, State::Delivered);
    }
    assert_eq!(engine.held().jobs, 0, "all room is free again");
    assert!(stage.publish(&engine).await.1);
}
