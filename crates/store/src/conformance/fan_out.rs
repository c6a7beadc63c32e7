//! A parcel with very many deliveries: the store may place them part by part, and loses none.

use gancho_domain::{DeliveryId, TenantId};

use super::{
    Fixture,
    build::{Draft, World, hours, ids, number, parts, placed, scope, secs, sorted},
};
use crate::{AcceptOutcome, DeliveryFilter, NewParcel, PageRequest, TargetId};

const VERY_MANY: usize = 700;

fn wide<F: Fixture>(world: &World<F>, tenant: TenantId) -> Draft {
    (0..VERY_MANY).fold(world.event(tenant), |draft, _| draft.to(world.target()))
}

fn deliveries(new: &NewParcel) -> Vec<DeliveryId> {
    sorted(new.deliveries.iter().map(|one| one.id).collect())
}

/// Accepts it, and leaves what the store has not placed.
async fn begin<F: Fixture>(world: &World<F>, new: &NewParcel) -> AcceptOutcome {
    world.store.accept(vec![new.clone()], world.node).await.unwrap().remove(0)
}

async fn claimed<F: Fixture>(world: &World<F>) -> Vec<DeliveryId> {
    sorted(ids(&world.take_all().await))
}

async fn place_left<F: Fixture>(world: &World<F>) {
    while world.store.place_left_parts(world.now(), 100).await.unwrap() > 0 {}
}

pub async fn very_many_deliveries_are_placed_part_by_part<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let new = wide(&world, acme).done();
    let begun = begin(&world, &new).await;
    let first = placed(&begun).len();
    assert!((1..=VERY_MANY).contains(&first));
    assert_eq!(first, new.placed_at_once(world.store.max_placed()), "as the store says");
    for part in parts(&new, number(&begun), first) {
        let count = part.deliveries.len();
        assert_eq!(world.store.place_part(part, world.node).await.unwrap().len(), count);
    }
    assert_eq!(claimed(&world).await, deliveries(&new));
    let view = world.see_event(acme, new.parcel.id).await;
    assert_eq!(sorted(view.deliveries.iter().map(|row| row.id).collect()), deliveries(&new));
}

pub async fn a_part_is_placed_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let new = wide(&world, acme).done();
    let begun = begin(&world, &new).await;
    let parts = parts(&new, number(&begun), placed(&begun).len());
    for part in parts.iter().chain(&parts).rev() {
        world.store.place_part(part.clone(), world.node).await.unwrap();
    }
    assert_eq!(claimed(&world).await, deliveries(&new));
    for part in parts {
        assert_eq!(world.store.place_part(part, world.node).await.unwrap(), [], "it was placed");
    }
    assert_eq!(world.store.place_left_parts(world.now(), 100).await.unwrap(), 0);
}

pub async fn parts_that_were_left_are_placed_later<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (old, young) = (wide(&world, acme).done(), {
        world.pass(secs(60));
        wide(&world, acme).done()
    });
    let began = [begin(&world, &old).await, begin(&world, &young).await];
    let world = world.reopen().await;

    let before = world.now() - secs(30);
    while world.store.place_left_parts(before, 100).await.unwrap() > 0 {}
    let mut expected = deliveries(&old);
    expected.extend(young.deliveries[..placed(&began[1]).len()].iter().map(|one| one.id));
    assert_eq!(claimed(&world).await, sorted(expected), "the young one may still be in progress");

    world.pass(secs(60));
    place_left(&world).await;
    let rest = young.deliveries[placed(&began[1]).len()..].iter().map(|one| one.id).collect();
    assert_eq!(claimed(&world).await, sorted(rest));
}

/// The second of three parcels is not placed at once.
pub async fn later_ones_of_a_subject_wait_for_those_that_are_not_placed<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (shop, crm) = (world.target(), world.target());
    let ordered = |draft: Draft| draft.about("order-1").in_order_to(shop);
    let before = ordered(world.event(acme));
    let middle = ordered(wide(&world, acme));
    let after = ordered(world.event(acme)).in_order_to(crm);
    let turns = [before.delivery(0), middle.delivery(VERY_MANY), after.delivery(0)];
    let elsewhere = after.delivery(1);
    world.accept(before).await;
    let first = world.take_all().await;
    assert_eq!(ids(&first), turns[..1]);
    begin(&world, &middle.done()).await;
    world.accept(after).await;

    let mut taken = world.take_all().await;
    assert!(ids(&taken).contains(&elsewhere), "nothing comes before it there");
    world.deliver(&first[0]).await;
    taken.extend(world.take_all().await);
    world.pass(secs(60));
    place_left(&world).await;
    taken.extend(world.take_all().await);
    assert_eq!(taken.len(), VERY_MANY + 2, "all but the last in line");
    let second = taken.iter().find(|job| job.delivery == turns[1]);
    world.deliver(second.expect("it is second in line")).await;
    assert_eq!(ids(&world.take_all().await), turns[2..]);
}

async fn list<F: Fixture>(world: &World<F>, tenant: TenantId, target: TargetId) -> Vec<DeliveryId> {
    let filter = DeliveryFilter { endpoint: Some(target.cast()), ..DeliveryFilter::default() };
    let mut request = PageRequest::first(4);
    let mut all = Vec::new();
    loop {
        let page =
            world.store.deliveries(scope(tenant), filter.clone(), request.clone()).await.unwrap();
        all.extend(page.rows.into_iter().map(|row| row.id));
        let Some(next) = page.next else { return all };
        request.after = Some(next);
    }
}

pub async fn a_target_among_very_many_has_its_list<F: Fixture>() {
    let world = World::<F>::new().await;
    let (acme, other) = (world.tenant().await, world.tenant().await);
    let shop = world.target();
    let mut expected = Vec::new();
    for turn in 0..6 {
        let (draft, place) =
            if turn % 2 == 0 { (wide(&world, acme), VERY_MANY) } else { (world.event(acme), 0) };
        let draft = draft.to(shop);
        expected.insert(0, draft.delivery(place));
        world.accept(draft).await;
        world.pass(secs(1));
    }
    assert_eq!(list(&world, acme, shop).await, expected);
    assert_eq!(list(&world, other, shop).await, []);
}

pub async fn what_is_not_placed_is_not_pruned<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let new = wide(&world, acme).done();
    begin(&world, &new).await;
    for job in world.take_all().await {
        world.deliver(&job).await;
    }
    world.pass(hours(2));
    world.prune(world.now() - hours(1)).await;
    place_left(&world).await;
    for job in world.take_all().await {
        world.deliver(&job).await;
    }
    if let Some(view) = world.find_event(acme, new.parcel.id).await {
        assert_eq!(view.deliveries.len(), VERY_MANY, "none was lost");
        assert_eq!(world.prune(world.now() - hours(1)).await, 1);
    }
    assert!(world.find_event(acme, new.parcel.id).await.is_none());
}
