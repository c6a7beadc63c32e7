//! No tenant sees or changes another's data, by any method that takes a scope.

use gancho_domain::{Endpoint, State};

use super::{
    Fixture,
    build::{World, scope},
    endpoints::plain_endpoint,
};
use crate::{DeliveryFilter, EventFilter, PageRequest, RetryOutcome};

pub async fn events_and_deliveries_are_not_seen<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let draft = world.event(acme).about("order-1").named("inv-1");
    let draft = draft.to(world.target());
    let (event, delivery) = (draft.id(), draft.delivery(0));
    world.accept(draft).await;
    for stranger in [globex, world.id()] {
        assert_eq!(world.find_event(stranger, event).await, None);
        assert_eq!(world.find(stranger, delivery).await, None);
    }
}

pub async fn lists_hold_ones_own_only<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    let draft = world.event(acme).named("inv-1").to(shop);
    let event = draft.id();
    world.accept(draft).await;
    let own = world.due(globex, shop).await;

    let filters = [
        DeliveryFilter { event: Some(event), ..DeliveryFilter::default() },
        DeliveryFilter { external_id: Some("inv-1".to_owned()), ..DeliveryFilter::default() },
    ];
    for filter in filters {
        assert_eq!(world.list(acme, filter.clone()).await.len(), 1);
        assert_eq!(world.list(globex, filter).await, []);
    }
    for filter in [
        DeliveryFilter::default(),
        DeliveryFilter { endpoint: Some(shop), ..DeliveryFilter::default() },
    ] {
        let rows = world.list(globex, filter).await;
        let found: Vec<_> = rows.iter().map(|row| row.id).collect();
        assert_eq!(found, [own]);
    }
}

/// A position in one tenant's list is at most a position in another's: it never gives access to that list.
pub async fn a_place_in_a_list_opens_no_other<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    world.many_due(globex, shop, 3).await;
    world.many_due(acme, shop, 3).await;
    let all = DeliveryFilter::default;
    let store = &world.store;
    let first = PageRequest::first(1);
    let page = store.deliveries(scope(acme), all(), first).await.unwrap();
    let next = PageRequest::new(10, page.next);
    let page = store.deliveries(scope(globex), all(), next).await.unwrap();
    let own = world.list(globex, all()).await;
    assert!(page.rows.iter().all(|row| own.contains(row)));
}

pub async fn nothing_of_anothers_is_armed<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let id = world.due(acme, world.target()).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    let outcome = world.store.retry_now(scope(globex), id, world.now()).await;
    assert_eq!(outcome, Ok(RetryOutcome::Unknown));
    assert_eq!(world.see(acme, id).await.row.state, State::Delivered);
}

pub async fn endpoints_are_not_seen_or_touched<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = plain_endpoint(&world, acme);
    let id = shop.id;
    let store = &world.store;
    store.save_endpoint(scope(acme), shop.clone()).await.unwrap();

    assert_eq!(store.endpoint(scope(globex), id).await, Ok(None));
    assert_eq!(store.endpoints(scope(globex)).await, Ok(vec![]));
    assert_eq!(store.delete_endpoint(scope(globex), id).await, Ok(false));
    let change = Endpoint { name: "stolen".to_owned(), ..shop.clone() };
    assert_eq!(store.change_endpoint(scope(globex), change).await, Ok(false));
    // Whether the other tenant is refused or gets its own endpoint under that id, acme's stays.
    let stolen = Endpoint {
        id,
        url: "https://globex.example/stolen".to_owned(),
        ..plain_endpoint(&world, globex)
    };
    let _ = store.save_endpoint(scope(globex), stolen.clone()).await;
    let _ = store.add_endpoint(scope(globex), stolen, None).await;
    assert_eq!(store.endpoint(scope(acme), id).await, Ok(Some(shop)));
}

pub async fn lists_of_events_hold_ones_own_only<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    for event in [world.event(acme), world.event(acme).to(shop), world.event(globex).to(shop)] {
        world.accept(event.named("inv-1")).await;
    }
    let all = EventFilter::default;
    for filter in [
        all(),
        EventFilter { external_id: Some("inv-1".to_owned()), ..all() },
        EventFilter { event_type: Some("invoice.paid".to_owned()), ..all() },
    ] {
        assert_eq!(world.list_events(acme, filter.clone()).await.len(), 2);
        assert_eq!(world.list_events(globex, filter.clone()).await.len(), 1);
        assert_eq!(world.list_events(world.id(), filter).await, []);
    }
    let unmatched = EventFilter { is_unmatched: true, ..all() };
    assert_eq!(world.list_events(globex, unmatched).await, []);

    let store = &world.store;
    let page = store.events(scope(acme), all(), PageRequest::first(1)).await.unwrap();
    let next = PageRequest::new(10, page.next);
    let page = store.events(scope(globex), all(), next).await.unwrap();
    let own = world.list_events(globex, all()).await;
    assert!(page.rows.iter().all(|row| own.contains(row)), "a place opens no other list");
}

pub async fn nothing_of_anothers_is_sent_again<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let draft = world.event(acme);
    let event = draft.id();
    world.accept(draft).await;
    let new = world.to(world.target());
    assert!(!world.redeliver(globex, event, vec![new.clone()]).await);
    assert_eq!(world.see_event(acme, event).await.deliveries, []);
    for tenant in [acme, globex] {
        assert_eq!(world.find(tenant, new.id).await, None);
    }
    world.nothing_is_due().await;
}
