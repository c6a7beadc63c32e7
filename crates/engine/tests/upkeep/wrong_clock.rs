//! Nothing is removed or given up that is old only by a wrong clock. (faults.md 17)

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, Lane, State};
use gancho_engine::{Engine, LaneSetup, LaneTerms};
use gancho_store::{Accept, NodeId};

use crate::stage::{Play, Stage, seconds};

const YEAR: i64 = 365 * 24 * 3_600;

/// Starts an engine whose deliveries expire after half an hour, in the store too.
async fn engine(stage: &Stage) -> Arc<Engine> {
    let mut setup = stage.setup();
    setup.lanes = vec![LaneSetup {
        terms: LaneTerms { expiry: Some(Duration::from_mins(30)), ..LaneTerms::default() },
        expires_in_store: true,
        ..LaneSetup::new(Lane::Webhook, stage.actor.clone())
    }];
    Engine::start(setup).await.expect("it starts")
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_gives_nothing_up() {
    let stage = Stage::new(|_, attempt| if attempt < 3 { Play::Fail } else { Play::Deliver });
    let _engine = engine(&stage).await;
    let id = stage.accept().await;
    while stage.actor.calls.lock().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Both the second attempt and what follows from its failure see the wrong time.
    stage.clock.jump(24 * 3_600);
    seconds(60).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Delivered, 3));
}

#[tokio::test(start_paused = true)]
async fn a_clock_a_year_ahead_at_the_start_removes_nothing() {
    let stage = Stage::new(|_, _| Play::Deliver);
    let before = engine(&stage).await;
    let ended = stage.accept().await;
    seconds(3).await;
    assert_eq!(stage.view(ended).await.row.state, State::Delivered);
    before.stop(Duration::from_secs(5)).await;

    let mut later = stage.parcel(false);
    later.deliveries[0].due_at = stage.clock.now() + Duration::from_secs(2 * YEAR as u64);
    let waits = later.deliveries[0].id;
    stage.store.accept(vec![later], NodeId(0)).await.expect("the store works");
    let due = stage.accept().await;
    stage.clock.jump(YEAR);
    let _engine = engine(&stage).await;
    seconds(3_600).await;
    assert_eq!(stage.view(ended).await.row.state, State::Delivered, "it is still there");
    assert_eq!(stage.view(waits).await.row.state, State::Pending);
    assert_eq!(stage.view(due).await.row.state, State::Delivered, "it was tried");
}
