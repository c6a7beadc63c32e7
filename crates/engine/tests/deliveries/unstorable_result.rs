//! A result that the store can never hold is written without one of its parts, and delays nothing else.
//! (faults.md, E3)

use std::time::Duration;

use gancho_domain::{Lane, State, TenantScope};
use gancho_engine::Engine;
use gancho_store::{Accept, DeliveryView, NodeId, Store};
use gancho_testkit::stores::{StoreKind, StorePlace};

use crate::stage::{Play, Stage, TENANT, seconds};

/// The parcel that follows has the id of one that is stored already.
#[tokio::test(start_paused = true)]
async fn what_cannot_follow_is_left_out() {
    let stage = Stage::new(|_, _| Play::Deliver);
    let taken = stage.parcel(false);
    stage.store.accept(vec![taken.clone()], NodeId(0)).await.expect("the store works");
    let engine = stage.engine().await;
    stage.actor.follow.lock().push(taken);
    seconds(3).await;
    let id = stage.accept().await;
    seconds(3).await;
    let view = stage.view(id).await;
    assert_eq!((view.row.state, view.attempts.len()), (State::Delivered, 1));
    let stats = engine.stats(Lane::Webhook).expect("it works the lane");
    assert_eq!((stats.unstorable, stats.settle_retries), (1, 0));
    assert_eq!(engine.held().jobs, 0, "its seat is free");
}

/// Makes the database refuse attempts: those with a certain reason, or all.
#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_cannot_be_stored_is_left_out() {
    for (refuse, play, state, attempts) in [
        ("reason <> 'as told'", Play::Refuse, State::Dead, 1),
        ("number > 1000", Play::Deliver, State::Delivered, 0),
        ("number > 1000", Play::Fail, State::Dead, 0),
    ] {
        let place = StorePlace::new(StoreKind::Postgres).await;
        let store = place.open().await;
        let database = place.database().expect("it is PostgreSQL");
        let client = database.client().await.expect("it connects");
        let check = format!("alter table attempts add constraint refuse check ({refuse})");
        client.batch_execute(&check).await.expect("it is added");

        let stage = Stage::new(move |_, _| play);
        let new = stage.parcel(false);
        let id = new.deliveries[0].id;
        store.accept(vec![new], NodeId(0)).await.expect("the store works");
        let engine = Engine::start(stage.setup_on(store.clone()));
        let engine = engine.await.expect("it starts");
        let view = ended(&*store, id).await;
        assert_eq!((view.row.state, view.attempts.len()), (state, attempts), "{refuse}");
        let stats = engine.stats(Lane::Webhook).expect("it works the lane");
        assert_eq!((stats.unstorable, stats.settle_retries), (1, 0));
        engine.abort();
        engine.ended().await;
    }
}

async fn ended(store: &dyn Store, id: gancho_domain::DeliveryId) -> DeliveryView {
    let look = async {
        loop {
            let view = store.delivery(TenantScope::internal(TENANT), id).await;
            let view = view.expect("the store works").expect("it is there");
            if view.row.state.is_final() {
                return view;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), look).await.expect("it ends")
}
