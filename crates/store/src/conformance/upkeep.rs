//! Counts: how deep the lanes are, how much space is used, and the highest id.

use gancho_domain::{Lane, id::lead};

use super::{
    Fixture,
    build::{World, scope, secs},
    endpoints::plain_endpoint,
};
use crate::LaneDepth;

pub async fn an_empty_store_has_empty_lanes<F: Fixture>() {
    let world = World::<F>::new().await;
    assert_eq!(world.store.depths().await.unwrap().len(), Lane::ALL.len());
    for lane in Lane::ALL {
        let empty = LaneDepth { lane, pending: 0, leased: 0, waiting: 0, oldest_due: None };
        assert_eq!(world.depth(lane).await, empty);
    }
}

pub async fn each_lane_is_counted_apart<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let start = world.now();
    // Two are claimed and settled, one is held.
    world.many_due(acme, shop, 3).await;
    let jobs = world.take_all().await;
    world.deliver(&jobs[0]).await;
    world.give_up(&jobs[1]).await;
    // One is due, one becomes due, two wait.
    let past = start - secs(100);
    world.accept(world.event(acme).to_at(crm, past)).await;
    let later = start + secs(100);
    world.accept(world.event(acme).to_at(crm, later)).await;
    for _ in 0..3 {
        let draft = world.event(acme).about("order-1").in_order_to(shop);
        world.accept(draft).await;
    }
    world.accept(world.event(acme).in_lane(Lane::Email, shop)).await;

    let webhook = LaneDepth {
        lane: Lane::Webhook,
        pending: 3,
        leased: 1,
        waiting: 2,
        oldest_due: Some(past),
    };
    assert_eq!(world.depth(Lane::Webhook).await, webhook);
    let email = world.depth(Lane::Email).await;
    assert_eq!((email.pending, email.oldest_due), (1, Some(start)));
    assert_eq!(world.depth(Lane::Dispatch).await.pending, 0);
}

pub async fn a_drained_lane_is_empty_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.many_due(acme, world.target(), 20).await;
    for job in world.take_all().await {
        world.deliver(&job).await;
    }
    let depth = world.depth(Lane::Webhook).await;
    assert_eq!((depth.pending, depth.leased, depth.waiting), (0, 0, 0));
    assert_eq!(depth.oldest_due, None);
}

pub async fn the_room_used_is_known<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.many_due(acme, world.target(), 10).await;
    let space = world.store.space().await.unwrap();
    assert!(space.used > 0);
    assert!(space.limit.is_none_or(|limit| limit >= space.used), "{space:?}");
}

pub async fn when_it_was_last_written_is_known_after_a_restart<F: Fixture>() {
    let fixture = F::open().await;
    assert_eq!(fixture.store().last_written().await.unwrap(), None, "nothing was written");
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.pass(secs(100));
    world.accept(world.event(acme).to(world.target())).await;
    let at = world.now();
    let world = world.reopen().await;
    let last = world.store.last_written().await.unwrap().unwrap();
    assert!(last >= at - secs(1), "{last} is before {at}");
}

/// A store whose row numbers do not come from ids may return 0: any new id is valid.
pub async fn the_highest_id_is_known<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = plain_endpoint(&world, acme);
    let shop_id = shop.id;
    world.store.save_endpoint(scope(acme), shop).await.unwrap();
    let mut leads = vec![lead(acme), lead(shop_id)];
    for _ in 0..3 {
        let draft = world.event(acme).to(shop_id);
        leads.extend([lead(draft.id()), lead(draft.delivery(0))]);
        world.accept(draft).await;
        let highest = world.store.highest_lead().await.unwrap();
        assert!(highest == 0 || leads.iter().all(|lead| *lead <= highest));
    }
    let world = world.reopen().await;
    let highest = world.store.highest_lead().await.unwrap();
    assert!(highest == 0 || leads.iter().all(|lead| *lead <= highest));
}
