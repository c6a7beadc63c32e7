//! Nodes that die, and nodes that only seem to be dead.

use std::time::Duration;

use gancho_domain::{Clock, State};
use gancho_store::Nodes;

use crate::stage::{Play, Stage, seconds};

#[tokio::test(start_paused = true)]
async fn a_dead_nodes_work_is_taken_over() {
    let stage = Stage::new(|_, _| Play::Take(4));
    let first = stage.engine().await;
    let id = stage.accept().await;
    seconds(2).await;
    first.abort();
    first.ended().await;
    assert_eq!(stage.view(id).await.row.state, State::Leased);
    let _second = stage.engine().await;
    seconds(30).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Delivered, 1));
    assert_eq!(stage.actor.calls.lock().len(), 2, "it was on the wire when the node died");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_declared_dead_joins_again() {
    let stage = Stage::new(|_, _| Play::Take(2));
    let engine = stage.engine().await;
    let node = engine.node();
    let id = stage.accept().await;
    seconds(1).await;
    // Another node takes this one for silent.
    let other = stage.store.join("other", stage.clock.now()).await.expect("the store works");
    let rescued = stage.store.rescue(other, Duration::ZERO, stage.clock.now()).await;
    assert_eq!(rescued.expect("the store works").deliveries, 1);
    seconds(10).await;
    assert_ne!(engine.node(), node, "a new life has a new number");
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.row.attempts), (State::Delivered, 1), "settled once");
    let stats = engine.stats(gancho_domain::Lane::Webhook).expect("it works the lane");
    assert_eq!((stats.lease_lost, stats.delivered), (1, 1));
}
