//! Accepted parcels are stored completely and unchanged.

use gancho_domain::{Lane, NextStep, State, parcel::ParcelKind};

use super::{
    Fixture,
    build::{DONE, World, attempt, number, placed, scope, secs, sorted},
};
use crate::{Job, Placement, Settlement};

pub async fn an_empty_batch_is_no_trouble<F: Fixture>() {
    let world = World::<F>::new().await;
    assert_eq!(world.accept_all(vec![]).await, []);
}

pub async fn answers_come_in_the_order_of_the_parcels<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];

    let accepted = world
        .accept_all(vec![
            world.event(acme).about("order-1").to(shop),
            world.event(acme),
            world.event(acme).about("order-1").to(shop).held_for(crm),
        ])
        .await;

    assert_eq!(number(&accepted[0]), Some(1));
    assert_eq!(placed(&accepted[0]), [Placement::Pending]);
    assert_eq!(number(&accepted[1]), None);
    assert_eq!(placed(&accepted[1]), []);
    assert_eq!(number(&accepted[2]), Some(2));
    assert_eq!(placed(&accepted[2]), [Placement::Pending, Placement::Leased]);
}

pub async fn a_parcel_without_deliveries_can_be_read_back<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let lonely = world.event(acme).about("order-1").named("inv-9").as_test();
    let (id, parcel) = (lonely.id(), lonely.parcel());
    world.accept(lonely).await;

    let view = world.see_event(acme, id).await;
    assert_eq!(*view.parcel, parcel);
    assert_eq!(view.number, Some(1));
    assert_eq!(view.deliveries, []);
}

pub async fn a_parcel_keeps_all_its_deliveries<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = (0..200).fold(world.event(acme), |draft, _| draft.to(world.target()));
    let made: Vec<_> = (0..200).map(|place| draft.delivery(place)).collect();
    let id = draft.id();
    let accepted = world.accept(draft).await;
    assert_eq!(placed(&accepted), [Placement::Pending; 200]);

    let view = world.see_event(acme, id).await;
    let seen = view.deliveries.iter().map(|row| row.id).collect();
    assert_eq!(sorted(seen), sorted(made));
}

pub async fn every_kind_and_lane_is_kept<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    for (kind, lane) in [
        (ParcelKind::Event, Lane::Webhook),
        (ParcelKind::Receipt, Lane::Dispatch),
        (ParcelKind::Email, Lane::Email),
    ] {
        let draft = world.event(acme).kind(kind).in_lane(lane, world.target());
        let (parcel, delivery) = (draft.parcel(), draft.delivery(0));
        world.accept(draft).await;
        let view = world.see(acme, delivery).await;
        assert_eq!(*view.parcel, parcel);
        assert_eq!(view.row.lane, lane);
    }
}

pub async fn a_new_delivery_reads_as_it_was_made<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let draft = world.event(acme).named("inv-9").as_test().to(shop);
    let (event, id) = (draft.parcel(), draft.delivery(0));
    world.accept(draft).await;
    world.pass(secs(60));

    let view = world.see(acme, id).await;
    let row = view.row;
    assert_eq!((row.id, row.event, row.target), (id, event.id, shop));
    assert_eq!(row.lane, Lane::Webhook);
    assert_eq!(row.event_type, event.event_type);
    assert_eq!(row.external_id, event.external_id);
    assert!(row.is_test);
    assert_eq!((row.state, row.attempts), (State::Pending, 0));
    assert_eq!((row.response_status, row.last_failure), (None, None));
    assert_eq!(row.delivered_at, None);
    assert_eq!(row.created_at, event.created_at);
    assert_eq!(view.attempts, []);
}

pub async fn a_held_delivery_is_its_holders_from_the_start<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let draft = world.event(acme).held_for(shop);
    let (parcel, delivery) = (draft.clone().done().parcel, draft.delivery(0));
    world.accept(draft).await;
    assert_eq!(world.see(acme, delivery).await.row.state, State::Leased);
    world.nothing_is_due().await;

    // The holder needs no claim: it knows everything that a claim would return.
    let job = Job {
        delivery,
        tenant: acme,
        lane: Lane::Webhook,
        target: shop,
        created_at: parcel.created_at,
        parcel,
        number: None,
        attempts: 0,
        attempts_before: 0,
        lost_leases: 0,
        is_replay: false,
        in_order: false,
    };
    let tried = attempt(&job, world.now());
    let settled =
        world.settle(Settlement::of(&job, world.now(), Some(tried), NextStep::Delivered)).await;
    assert_eq!(settled, DONE);
    assert_eq!(world.see(acme, delivery).await.row.state, State::Delivered);
}

pub async fn what_was_accepted_is_there_after_a_restart<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let drafts: Vec<_> =
        (0..30).map(|n| world.event(acme).about(&format!("order-{}", n % 3)).to(shop)).collect();
    world.accept_all(drafts.clone()).await;

    let world = world.reopen().await;
    assert!(world.store.tenant(acme).await.unwrap().is_some());
    for (n, draft) in (0..).zip(&drafts) {
        let view = world.see_event(acme, draft.id()).await;
        assert_eq!(*view.parcel, draft.parcel());
        assert_eq!(view.number, Some(n / 3 + 1));
        assert_eq!(view.deliveries[0].id, draft.delivery(0));
    }
    assert_eq!(world.take_all().await.len(), 30);
}

pub async fn leases_of_an_earlier_life_can_be_claimed_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let held = world.event(acme).held_for(shop);
    let held_id = held.delivery(0);
    world.accept(held).await;
    let claimed = world.due(acme, shop).await;
    assert_eq!(world.take_one().await.delivery, claimed);

    let world = world.reopen().await;
    world.rescue().await;
    let jobs = world.take_all().await;
    let found = jobs.iter().map(|job| job.delivery).collect();
    assert_eq!(sorted(found), sorted(vec![held_id, claimed]));
    for job in &jobs {
        assert_eq!((job.attempts, job.attempts_before), (0, 0));
        world.deliver(job).await;
    }
}

pub async fn an_id_that_was_never_stored_finds_nothing<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.due(acme, world.target()).await;
    assert_eq!(world.find_event(acme, world.id()).await, None);
    assert_eq!(world.find(acme, world.id()).await, None);
    let nobody = scope(world.id());
    assert_eq!(world.store.event(nobody, world.id()).await, Ok(None));
}
