//! Events for many targets, which the store places in parts: in these tests, two at a time.

use gancho_domain::{DeliveryId, EndpointId, State};
use gancho_store::{Accept, NewDelivery, NewParcel, NodeId};

use crate::stage::{Play, Stage, TENANT, seconds};

const TARGETS: u128 = 9;

fn wide(stage: &Stage) -> (NewParcel, Vec<DeliveryId>) {
    let mut new = stage.parcel(true);
    let first = new.deliveries[0].clone();
    new.deliveries = (0..TARGETS)
        .map(|number| NewDelivery {
            id: stage.ids.make(),
            target: EndpointId::from_bits(1 << 80 | number),
            ..first.clone()
        })
        .collect();
    let ids = new.deliveries.iter().map(|one| one.id).collect();
    (new, ids)
}

#[tokio::test(start_paused = true)]
async fn every_part_is_placed_before_the_publisher_is_answered() {
    let stage = Stage::new(|_, _| Play::Take(60));
    let engine = stage.engine().await;
    seconds(1).await;
    let (new, ids) = wide(&stage);
    engine.accept_one(new).await.expect("the store works");
    for id in &ids {
        assert_eq!(stage.view(*id).await.row.state, State::Leased, "queued without a claim");
    }
    assert_eq!(engine.held().jobs, ids.len());
    seconds(70).await;
    for id in ids {
        assert_eq!(stage.view(id).await.row.state, State::Delivered);
    }
    assert_eq!(stage.actor.calls.lock().len() as u128, TARGETS, "each once");
    assert_eq!(engine.held().jobs, 0);
}

/// The state after a crash between two parts.
#[tokio::test(start_paused = true)]
async fn what_is_left_of_an_interrupted_one_is_delivered() {
    let stage = Stage::new(|_, _| Play::Deliver);
    let (new, ids) = wide(&stage);
    assert_eq!(new.parcel.tenant, TENANT);
    stage.store.accept(vec![new], NodeId(0)).await.expect("the store works");
    let _engine = stage.engine().await;
    seconds(10).await;
    assert_eq!(stage.actor.calls.lock().len(), 2, "the others may still be in progress");
    seconds(30).await;
    for id in ids {
        assert_eq!(stage.view(id).await.row.state, State::Delivered);
    }
}
